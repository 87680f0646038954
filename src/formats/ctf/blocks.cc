// SPDX-License-Identifier: MIT
#include "formats/ctf/blocks.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/counted.h"

namespace batchfeed::ctf {

Fill fill_from(const io::File& file, std::uint64_t begin, std::uint64_t end) {
  struct State {
    const io::File* file;
    std::uint64_t at, end;
    std::optional<io::File> fresh;
  };
  auto state = std::make_shared<State>(State{&file, begin, end, std::nullopt});
  return [state](char* to, std::size_t size) -> std::size_t {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(size, state->end - state->at));
    if (n == 0) return 0;
    const auto out = std::as_writable_bytes(std::span(to, n));
    try {
      state->file->read(state->at, out);
    } catch (const Error& error) {
      if (error.fault().kind != FaultKind::io || state->fresh || state->file->is_remote() ||
          state->file->is_compressed())
        throw;
      state->fresh.emplace(state->file->reopened());
      if (state->fresh->identity() != state->file->identity()) {
        throw Error(Fault{.kind = FaultKind::stale,
                          .id = "io.changed",
                          .at = {.file = state->file->path()},
                          .what = "was replaced while it was being read",
                          .hint = "open it again"});
      }
      state->file = &*state->fresh;
      state->file->read(state->at, out);
    }
    state->at += n;
    return n;
  };
}

LineBlocks::LineBlocks(Fill fill, std::uint64_t offset, Buffer<char>& buffer, const std::string& file, io::Room line,
                       std::size_t block)
    : fill_(std::move(fill)),
      buffer_(buffer),
      file_(file),
      line_(line),
      block_(std::max<std::size_t>(block, 1)),
      offset_(offset) {}

bool LineBlocks::skip_line(std::uint64_t stop) {
  buffer_.reserve(kFront + block_ + 1);
  while (offset_ < stop) {
    buffer_.resize(kFront);
    const std::size_t got =
        fill_(buffer_.data() + kFront, static_cast<std::size_t>(std::min<std::uint64_t>(block_, stop - offset_)));
    if (got == 0) return false;
    filled_ = kFront + got;
    buffer_.resize(filled_);
    const void* const newline = std::memchr(buffer_.data() + kFront, '\n', got);
    if (newline == nullptr) {
      offset_ += got;
      continue;
    }
    begin_ = end_ = static_cast<std::size_t>(static_cast<const char*>(newline) - buffer_.data()) + 1;
    offset_ += end_ - kFront;
    skipped_ = true;
    return offset_ < stop;
  }
  return false;
}

bool LineBlocks::next() {
  offset_ += end_ - begin_;
  const std::size_t rest = filled_ - end_;
  buffer_.reserve(kFront + block_ + 1);
  if (rest != 0) std::memmove(buffer_.data() + kFront, buffer_.data() + end_, rest);
  begin_ = end_ = kFront;
  filled_ = kFront + rest;
  std::size_t searched = filled_;  // what was left holds no newline, but behind skip_line()
  if (std::exchange(skipped_, false)) {
    if (const void* const last = ::memrchr(buffer_.data() + kFront, '\n', rest); last != nullptr) {
      end_ = static_cast<std::size_t>(static_cast<const char*>(last) - buffer_.data()) + 1;
      return true;
    }
  }
  while (!at_end_) {
    buffer_.resize(filled_);
    // Fill the block; where a line is longer than that, double it, up to what a line may have.
    const std::size_t have = filled_ - kFront;
    const std::size_t most = static_cast<std::size_t>(std::max<std::uint64_t>({have, line_.bytes, kBlock})) + 1;
    const std::size_t want = (have < block_ ? block_ : std::min(have * 2, most)) - have;
    buffer_.reserve(filled_ + want + 1);
    const std::size_t got = fill_(buffer_.data() + filled_, want);
    filled_ += got;
    buffer_.resize(filled_);
    at_end_ = got == 0;
    const void* const last = got == 0 ? nullptr : ::memrchr(buffer_.data() + searched, '\n', filled_ - searched);
    if (last != nullptr) {
      end_ = static_cast<std::size_t>(static_cast<const char*>(last) - buffer_.data()) + 1;
      return true;
    }
    searched = filled_;
    if (filled_ - kFront > std::max<std::uint64_t>(line_.bytes, kBlock)) {  // kBlock, however small block_ is
      throw Error(Fault{.kind = FaultKind::limit,
                        .id = "limit.line",
                        .at = {.file = file_, .byte = offset_, .has_byte = true},
                        .what = "a line of more than " + counted(line_.bytes, "byte") + " starts here",
                        .hint = std::string("raise limits.") + line_.limit + ", or check that this is a text corpus"});
    }
  }
  if (filled_ == kFront) return false;
  buffer_.push_back('\n');
  end_ = ++filled_;
  added_newline_ = true;
  return true;
}

}  // namespace batchfeed::ctf
