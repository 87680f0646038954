// SPDX-License-Identifier: MIT
#include "in_memory.h"

#include <cstring>
#include <string_view>
#include <utility>

namespace batchfeed::cli {

namespace {

constexpr std::string_view kScheme = "memory://";

void strip(std::string& text) {
  for (std::size_t at; (at = text.find(kScheme)) != std::string::npos;) text.erase(at, kScheme.size());
}

}  // namespace

std::string memory_name(const std::string& file) { return std::string(kScheme) + file; }

std::string own_name(const std::string& name) { return name.starts_with(kScheme) ? name.substr(kScheme.size()) : name; }

FileSystem memory_files(std::shared_ptr<const std::string> text) {
  FileSystem out;
  out.open = [text = std::move(text)](const std::string&) {
    auto file = std::make_shared<RemoteFile>();
    file->size = text->size();
    file->read = [text](std::uint64_t offset, std::span<std::byte> to) {
      std::memcpy(to.data(), text->data() + offset, to.size());
    };
    return file;
  };
  return out;
}

Fault under_own_name(Fault fault) {
  fault.at.file = own_name(fault.at.file);
  strip(fault.what);
  strip(fault.hint);
  return fault;
}

Report under_own_name(Report report) {
  return [report = std::move(report)](const Notice& notice) {
    Notice told = notice;
    told.fault = under_own_name(told.fault);
    report(told);
  };
}

}  // namespace batchfeed::cli
