// SPDX-License-Identifier: MIT
#include "io/lines.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include "base/byte_order_mark.h"
#include "base/counted.h"
#include "base/piece.h"
#include "compressed/compressed.h"

namespace batchfeed::io {
namespace {
constexpr std::size_t kBlock = piece_bytes(256 << 10);
}

void expect_text(std::string_view text, const std::string& path) {
  const Position first{.file = path, .line = 1, .column = 1, .has_byte = true};
  if (is_utf16(text)) {
    throw Error(Fault{.kind = FaultKind::format,
                      .id = "io.utf16",
                      .at = first,
                      .what = "starts with a mark of UTF-16, expected ASCII or UTF-8",
                      .hint = "convert it, for example with iconv -t UTF-8"});
  }
  const compressed::Codec codec =
      compressed::codec_of(std::as_bytes(std::span(text)).first(std::min(text.size(), compressed::kHeadBytes)));
  if (codec != compressed::Codec::none) {
    throw Error(Fault{.kind = FaultKind::format,
                      .id = "io.compressed-text",
                      .at = first,
                      .what = std::string("is a ") + compressed::name(codec) + " file, expected text",
                      .hint = "unpack it"});
  }
}

LineReader::LineReader(const File& file, LineEnd ends, std::uint64_t limit, const char* limit_name)
    : file_(&file), ends_(ends), limit_(limit), limit_name_(limit_name), stop_(file.size()) {}

void LineReader::seek(std::uint64_t offset, std::uint64_t end, std::uint64_t line) {
  buffer_at_ = offset;
  have_ = next_ = from_ = size_ = raw_ = 0;
  stop_ = std::min(end, file_->size());
  next_number_ = line;
}

// Reads more bytes behind those from next_ on; false at the end of the file.
bool LineReader::fill() {
  const std::uint64_t at = buffer_at_ + have_;
  if (at >= stop_) return false;
  if (have_ == 0) file_->will_read(at, stop_);
  if (next_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + next_, have_ - next_);
    buffer_at_ += next_;
    have_ -= next_;
    next_ = 0;
  }
  const std::size_t n = static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, stop_ - at));
  if (buffer_.size() < have_ + n) buffer_.resize(have_ + n);
  file_->read(at, std::as_writable_bytes(std::span(buffer_).subspan(have_, n)));
  have_ += n;
  if (at == 0) expect_text(std::string_view(buffer_.data(), have_), file_->path());
  return true;
}

namespace {

// The first byte that ends a line, or null. A file may have one kind of them only, so that no search for one goes far
// beyond the other.
const char* first_end(const char* from, std::size_t size, LineEnd ends) {
  constexpr std::size_t kStep = 256;
  const auto find = [](const char* at, char what, std::size_t n) {
    return static_cast<const char*>(std::memchr(at, what, n));
  };
  if (ends == LineEnd::lf) return find(from, '\n', size);
  for (const char* const end = from + size; from < end;) {
    const std::size_t step = std::min(kStep, static_cast<std::size_t>(end - from));
    const char* const lf = find(from, '\n', step);
    const char* const cr = find(from, '\r', lf != nullptr ? static_cast<std::size_t>(lf - from) : step);
    if (cr != nullptr || lf != nullptr) return cr != nullptr ? cr : lf;
    from += step;
  }
  return nullptr;
}

}  // namespace

// Where in the buffer the line that begins at next_ ends; reads more of it, up to its limit.
std::size_t LineReader::find_end() {
  terminated_ = false;
  for (std::size_t searched = 0;; searched = have_ - next_) {
    if (searched > 0 && (searched > limit_ || !fill())) return have_;
    const char* const hit = first_end(buffer_.data() + next_ + searched, have_ - next_ - searched, ends_);
    if (hit == nullptr) continue;
    terminated_ = true;
    const std::size_t size = static_cast<std::size_t>(hit - buffer_.data()) - next_;
    // A CR at the very end of what is there: only the next byte tells whether it is CRLF.
    if (*hit == '\r' && next_ + size + 1 == have_) fill();
    return next_ + size;
  }
}

bool LineReader::next() {
  if (next_ == have_ && !fill()) return false;
  const std::size_t end = find_end();
  begin_ = buffer_at_ + next_;
  number_ = next_number_++;
  if (end - next_ > limit_) {
    throw Error(Fault{.kind = FaultKind::limit,
                      .id = "limit.line",
                      .at = {.file = file_->path(), .byte = begin_, .line = number_, .has_byte = true},
                      .what = "the line has more than " + counted(limit_, "byte"),
                      .hint = std::string("is this a text file? else raise limits.") + limit_name_});
  }
  from_ = next_;
  size_ = end - next_;
  std::size_t behind = end;
  if (terminated_) {
    behind = end + 1;
    if (buffer_[end] == '\r' && behind < have_ && buffer_[behind] == '\n') ++behind;
  }
  raw_ = behind - next_;
  next_ = behind;
  if (size_ > 0 && buffer_[from_ + size_ - 1] == '\r') --size_;
  return true;
}

}  // namespace batchfeed::io
