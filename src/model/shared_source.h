// SPDX-License-Identifier: MIT
//
// Forwards to a source behind a shared pointer: to own one, and as the base of sources that
// change a part of what another gives. A class that gives other rows, or reads them in
// another way, must override row_reader(), too.
#pragma once

#include <batchfeed/source.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace batchfeed {

class SharedSource : public Source {
 public:
  explicit SharedSource(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

  const std::vector<StreamInfo>& streams() const override { return source_->streams(); }
  const std::vector<ChunkInfo>& chunks() const override { return source_->chunks(); }
  void sequences(std::uint32_t chunk, std::vector<SequenceInfo>& out) const override { source_->sequences(chunk, out); }
  void read(std::uint32_t chunk, Chunk& out) const override { source_->read(chunk, out); }
  const RowReader* row_reader(std::uint32_t chunk) const override { return source_->row_reader(chunk); }
  std::string key_text(std::uint64_t key) const override { return source_->key_text(key); }
  Place place(std::uint32_t chunk, std::uint32_t row) const override { return source_->place(chunk, row); }
  std::vector<Place> places(std::uint32_t chunk, std::uint32_t row) const override {
    return source_->places(chunk, row);
  }
  std::vector<std::string> files() const override { return source_->files(); }
  bool splits_frames() const override { return source_->splits_frames(); }
  std::uint64_t fingerprint() const override { return source_->fingerprint(); }
  std::vector<Notice> notices() const override { return source_->notices(); }

 protected:
  const Source& source() const noexcept { return *source_; }

 private:
  std::shared_ptr<const Source> source_;
};

// Does not own the source, which must outlive the users of the pointer.
inline std::shared_ptr<const Source> borrowed(const Source& source) { return {std::shared_ptr<void>(), &source}; }

}  // namespace batchfeed
