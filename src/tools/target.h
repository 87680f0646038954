// SPDX-License-Identifier: MIT
//
// Where converted sequences go: a text or a binary file, or one of speech. Encoding is apart from
// writing, so that several threads can do it.
#pragma once

#include <batchfeed/convert.h>
#include <batchfeed/writer.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/ctf/write.h"
#include "io/atomic_file.h"
#include "tools/speech_target.h"

namespace batchfeed {

struct RowRef {
  const Chunk* chunk = nullptr;
  std::uint32_t row = 0;
  std::uint64_t id = 0;  // the source's key, to name it where no text is written
  std::string key;       // empty if none is written
};

// Whether a row is sound and has a sample. Others are left out, and counted.
bool has_data(const Chunk& chunk, std::uint32_t row);

// Throws Error (usage) if the target is a file of the source: it would be replaced by a part of itself.
void expect_not_read(const Source& source, const std::string& target);

// Some sequences on their way to a target.
struct Batch {
  std::vector<RowRef> rows;
  std::string text;                // of a part of the rows, made by Target::encode()
  std::size_t encoded = 0;         // rows whose text was made
  std::size_t part = 64ull << 20;  // about the most bytes of `text`: that of all rows may be many times a chunk
};

class Target {
 public:
  // `keys`: ids in a text file, a side file for a binary one.
  Target(const std::string& path, std::vector<StreamInfo> streams, const ConvertOptions& options, bool keys);

  // Makes the text of the first rows, ahead of write(), which makes that of the others part by part. Thread-safe.
  void encode(Batch& batch) const;
  // In order. `step` is called every few sequences, as this takes long if each becomes a file; it may throw.
  void write(Batch& batch, const std::function<void()>& step);
  // All of commit() that is likely to fail.
  void seal();
  void commit();

  const std::string& path() const noexcept { return path_; }
  bool keys() const noexcept { return keys_; }
  std::uint64_t sequences() const noexcept { return sequences_; }
  std::uint64_t samples() const noexcept { return samples_; }
  // Options that read the target back; keys are numbers if all were.
  SourceOptions reopen() const;
  KeyMode key_mode() const noexcept { return speech_ || (text_ && !numeric_) ? KeyMode::text : KeyMode::numeric; }
  // Path of the file or folder beside a list of features, else empty.
  std::string companion() const { return speech_ ? speech_->companion() : std::string(); }
  // Bytes of feature files and their list together; 0 for another target.
  std::uint64_t companion_bytes() const noexcept { return speech_ ? speech_->companion_bytes() : 0; }

 private:
  void encode_part(Batch& batch) const;
  void append_text(std::string_view text);
  void expect_samples(const RowRef& row) const;
  void count(const RowRef& row);
  void write_binary(const RowRef& row);

  std::string path_;
  std::vector<StreamInfo> streams_;
  ConvertOptions options_;
  bool keys_;
  std::optional<ctf::Writer> text_;
  std::optional<io::AtomicFile> file_;
  bool begun_ = false;  // file_ has bytes
  std::optional<CbfWriter> binary_;
  std::optional<SpeechTarget> speech_;
  std::uint64_t sequences_ = 0, samples_ = 0;
  std::uint64_t estimate_ = 0;           // of the open chunk, as ctf2bin counts
  std::optional<std::string> last_key_;  // of the sequence before
  bool numeric_ = true;
};

}  // namespace batchfeed
