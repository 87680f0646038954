// SPDX-License-Identifier: MIT
//
// A file system for URLs whose files are in memory, which counts the bytes read; and a writer of
// gzip that needs no zlib: it stores blocks of 64 KiB uncompressed, and reading can begin at each.
#pragma once

#include <batchfeed/files.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace batchfeed::testing {

struct CountedFiles {
  std::map<std::string, std::string> content = {};  // by URL
  std::string version = "1";
  std::atomic<std::uint64_t> bytes_read = 0;

  FileSystem file_system() {
    return {.open = [this](const std::string& url) {
      const std::string& text = content.at(url);
      return std::make_shared<const RemoteFile>(
          RemoteFile{.size = text.size(), .version = version, .read = [&](std::uint64_t at, std::span<std::byte> out) {
                       bytes_read += out.size();
                       std::memcpy(out.data(), text.data() + at, out.size());
                     }});
    }};
  }
};

inline std::string stored_gzip(std::string_view text) {
  std::string out("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10);
  const auto number = [&](std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
  };
  std::uint32_t check = 0xFFFFFFFF;
  for (const char c : text) {
    check ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) check = check >> 1 ^ (check & 1 ? 0xEDB88320u : 0);
  }
  for (std::size_t at = 0; at < text.size(); at += 0xFFFF) {
    const std::string_view block = text.substr(at, 0xFFFF);
    out += at + block.size() == text.size() ? '\1' : '\0';
    number(block.size(), 2);
    number(~block.size(), 2);
    out += block;
  }
  number(~check, 4);
  number(text.size(), 4);
  return out;
}

}  // namespace batchfeed::testing
