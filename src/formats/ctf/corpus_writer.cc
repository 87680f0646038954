// SPDX-License-Identifier: MIT
#include <batchfeed/writer.h>

#include <algorithm>
#include <utility>

#include "base/byte_order_mark.h"
#include "formats/ctf/write.h"
#include "io/atomic_file.h"

namespace batchfeed {

namespace {

// The id as a reader of numeric keys takes it: 007 is 7. Empty: it is no number.
std::string_view number_in(std::string_view id) {
  if (!std::all_of(id.begin(), id.end(), [](char c) { return c >= '0' && c <= '9'; })) return {};
  return id.substr(std::min(id.find_first_not_of('0'), id.size() - 1));
}

}  // namespace

struct CtfText::Impl {
  Impl(CtfWriterOptions given, std::string where)
      : path(std::move(where)), streams(std::move(given.streams)), ids(given.ids), text(streams, ids) {}

  [[noreturn]] void refuse(const char* id, std::string what, std::string hint, std::string stream = {}) const {
    throw Error(Fault{.kind = FaultKind::usage,
                      .id = id,
                      .at = {.file = path},
                      .what = std::move(what),
                      .hint = std::move(hint),
                      .stream = std::move(stream)});
  }

  std::string path;
  std::vector<StreamInfo> streams;
  bool ids;
  ctf::Writer text;
  std::string last;
  bool numbers = true;  // all ids so far are
  std::uint64_t sequences = 0, samples = 0;
};

CtfText::CtfText(CtfWriterOptions options, std::string name)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(name))) {}
CtfText::CtfText(CtfText&&) noexcept = default;
CtfText& CtfText::operator=(CtfText&&) noexcept = default;
CtfText::~CtfText() = default;

void CtfText::append(const Chunk& chunk, std::uint32_t row, std::string_view key, std::string& out) {
  Impl& self = *impl_;
  std::string id = key.empty() ? std::to_string(self.sequences) : std::string(key);
  const std::string_view number = number_in(id);
  const bool numbers = self.numbers && !number.empty();
  if (self.ids && self.sequences != 0 && (id == self.last || (numbers && number == number_in(self.last)))) {
    const std::string other = id == self.last ? std::string() : ", as '" + self.last + "' is the same number,";
    self.refuse("ctf.write-same-id",
                "two sequences with the id '" + id + "'" + other + " follow each other and would become one",
                "give each its own id, or none, and they are numbered");
  }
  std::uint32_t longest = 0;
  for (std::size_t i = 0; i < chunk.columns.size(); ++i) {
    longest = std::max(longest, chunk.columns[i].samples(row));
    if (chunk.columns[i].samples(row) > 0) continue;
    self.refuse("ctf.write-no-sample",
                "stream '" + self.streams[i].name + "' has no sample in sequence '" + id + "', which text cannot say",
                "leave the stream out, or write the binary format", self.streams[i].name);
  }
  const std::size_t before = out.size();
  try {
    // One in front of the first id would be taken for the file's.
    if (self.ids && self.sequences == 0 && utf8_mark_bytes(id) != 0) out += kUtf8Mark;
    self.text.sequence(chunk, row, id, out);
  } catch (const Error& error) {
    out.resize(before);
    throw Error(ctf::of_sequence(error.fault(), self.path, key.empty() ? id : "'" + id + "'"));
  } catch (...) {
    out.resize(before);
    throw;
  }
  self.numbers = numbers;
  self.last = std::move(id);
  ++self.sequences;
  self.samples += longest;
}

std::uint64_t CtfText::sequences() const noexcept { return impl_->sequences; }
std::uint64_t CtfText::samples() const noexcept { return impl_->samples; }

struct CtfWriter::Impl {
  Impl(std::string path, bool replace, CtfWriterOptions options)
      : text(std::move(options), path), file(std::move(path), {.replace = replace}) {}

  CtfText text;
  io::AtomicFile file;
  std::string encoded;
};

CtfWriter::CtfWriter(std::string path, CtfWriterOptions options)
    : impl_(std::make_unique<Impl>(std::move(path), options.replace, std::move(options))) {}
CtfWriter::CtfWriter(CtfWriter&&) noexcept = default;
CtfWriter& CtfWriter::operator=(CtfWriter&&) noexcept = default;
CtfWriter::~CtfWriter() = default;

void CtfWriter::append(const Chunk& chunk, std::uint32_t row, std::string_view key) {
  impl_->encoded.clear();
  impl_->text.append(chunk, row, key, impl_->encoded);
  impl_->file.append(std::string_view(impl_->encoded));
}

void CtfWriter::commit() { impl_->file.commit(); }
std::uint64_t CtfWriter::sequences() const noexcept { return impl_->text.sequences(); }
std::uint64_t CtfWriter::samples() const noexcept { return impl_->text.samples(); }

}  // namespace batchfeed
