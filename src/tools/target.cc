// SPDX-License-Identifier: MIT
#include "tools/target.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/byte_order_mark.h"
#include "formats/cbf/keys.h"
#include "tools/refuse.h"

namespace batchfeed {
namespace {

constexpr std::uint64_t kStep = 64;  // sequences

// The bytes of a row's samples, as CNTK's ctf2bin counts them to close chunks.
std::uint64_t sample_bytes(const Chunk& chunk, std::uint32_t row) {
  std::uint64_t bytes = 0;
  for (const Column& column : chunk.columns) {
    const std::uint64_t width = size_of(column.element);
    const std::uint64_t samples = column.samples(row);
    if (column.storage == Storage::dense) {
      bytes += samples * column.dim * width;
    } else {
      const std::uint32_t* const first = column.first_value.data() + column.first_sample[row];
      bytes += (first[samples] - first[0]) * (width + 4) + samples * 4;
    }
  }
  return bytes;
}

[[gnu::always_inline]] inline void ask_for([[maybe_unused]] const void* from) noexcept {
#ifdef __GNUC__
  __builtin_prefetch(from);
#endif
}

[[gnu::always_inline]] inline void ask_for(const std::byte* from, std::uint64_t bytes) noexcept {
  constexpr std::uint64_t kLine = 64, kMost = 2 << 10;  // the CPU's own prefetcher continues from there
  for (const std::byte *line = from, *end = from + std::min(bytes, kMost); line < end; line += kLine) ask_for(line);
}

// Rows in random order lie anywhere in memory, so they are prefetched before row i is used: first the offsets of a
// later row, then its values. Forced inline, as GCC would drop calls of a function that only prefetches.
[[gnu::always_inline]] inline void ask_ahead(const std::vector<RowRef>& rows, std::size_t i) noexcept {
  constexpr std::size_t kRows = 16;
  if (i + 3 * kRows < rows.size()) {
    const RowRef& row = rows[i + 3 * kRows];
    for (const Column& c : row.chunk->columns) {
      ask_for(c.first_sample.data() + row.row);
      if (c.storage == Storage::dense) ask_for(c.begin.data() + row.row);
    }
  }
  if (i + 2 * kRows < rows.size()) {
    const RowRef& row = rows[i + 2 * kRows];
    for (const Column& c : row.chunk->columns) {
      if (c.storage == Storage::sparse) ask_for(c.first_value.data() + c.first_sample[row.row]);
    }
  }
  if (i + kRows >= rows.size()) return;
  const RowRef& row = rows[i + kRows];
  for (const Column& c : row.chunk->columns) {
    const std::uint64_t width = size_of(c.element);
    if (c.storage == Storage::dense) {
      ask_for(c.values.data() + c.begin[row.row] * width, c.samples(row.row) * c.dim * width);
      continue;
    }
    const std::uint32_t first = c.first_value[c.first_sample[row.row]];
    const std::uint64_t values = c.first_value[c.first_sample[row.row + 1]] - first;
    ask_for(c.values.data() + first * width, values * width);
    ask_for(reinterpret_cast<const std::byte*>(c.indices.data() + first), values * sizeof(std::int32_t));
  }
}

std::string name_of(const RowRef& row) { return row.key.empty() ? std::to_string(row.id) : "'" + row.key + "'"; }

}  // namespace

void expect_not_read(const Source& source, const std::string& target) {
  std::error_code none;
  if (target.empty() || !std::filesystem::exists(target, none)) return;
  for (const std::string& file : source.files()) {
    if (!std::filesystem::equivalent(file, target, none)) continue;
    refuse("convert.part-of-source", target, "is what is read, and only a part of it would be left",
           "choose another name");
  }
}

bool has_data(const Chunk& chunk, std::uint32_t row) {
  return !chunk.is_invalid(row) &&
         std::any_of(chunk.columns.begin(), chunk.columns.end(), [row](const Column& c) { return c.samples(row) > 0; });
}

Target::Target(const std::string& path, std::vector<StreamInfo> streams, const ConvertOptions& options, bool keys)
    : path_(path), streams_(std::move(streams)), options_(options), keys_(keys) {
  for (const StreamInfo& s : streams_) {
    if (s.element == streams_.front().element) continue;
    refuse("convert.mixed-precision", path,
           "streams '" + streams_.front().name + "' and '" + s.name + "' differ in precision", "ask for one precision",
           s.name);
  }
  if (options.to == Format::ctf) {
    text_.emplace(streams_, keys);
    file_.emplace(path, io::AtomicFileOptions{.replace = options.force});
  } else if (options.to != Format::cbf) {
    speech_.emplace(path, streams_, options);
  } else {
    binary_.emplace(path, CbfWriterOptions{.streams = streams_,
                                           .chunk_bytes = options.ctf2bin_chunks ? ~0ull : options.chunk_bytes,
                                           .legacy = options.legacy,
                                           .keys = keys,
                                           .replace = options.force});
  }
}

void Target::encode(Batch& batch) const {
  batch.encoded = 0;
  encode_part(batch);
}

void Target::encode_part(Batch& batch) const {
  batch.text.clear();
  if (!text_) return;
  for (; batch.encoded < batch.rows.size() && batch.text.size() < batch.part; ++batch.encoded) {
    const RowRef& row = batch.rows[batch.encoded];
    ask_ahead(batch.rows, batch.encoded);
    expect_samples(row);
    try {
      write_data([&] { text_->sequence(*row.chunk, row.row, row.key, batch.text); });
    } catch (const Error& error) {
      throw Error(ctf::of_sequence(error.fault(), path_, name_of(row)));
    }
  }
}

// Throws Error if a stream has no sample in the sequence: a reader of the text would drop the sequence.
void Target::expect_samples(const RowRef& row) const {
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (row.chunk->columns[i].samples(row.row) > 0) continue;
    refuse_data(
        "convert.no-sample", path_,
        "stream '" + streams_[i].name + "' has no sample in sequence " + name_of(row) + ", which text cannot say",
        "leave the stream out, or write the binary format", streams_[i].name);
  }
}

void Target::write(Batch& batch, const std::function<void()>& step) {
  for (std::size_t i = 0; i < batch.rows.size(); ++i) {
    const RowRef& row = batch.rows[i];
    if (sequences_ % kStep == 0) step();
    if (text_ && i == batch.encoded) {
      append_text(batch.text);
      encode_part(batch);
    }
    if (!text_) ask_ahead(batch.rows, i);
    count(row);
    write_data([&] {
      if (binary_) write_binary(row);
      if (speech_) speech_->write(*row.chunk, row.row, row.key);
    });
  }
  if (file_) append_text(batch.text);
}

// A mark in front of the first id would be taken for the file's, and be lost.
void Target::append_text(std::string_view text) {
  if (!begun_ && utf8_mark_bytes(text) != 0) file_->append(kUtf8Mark);
  begun_ = begun_ || !text.empty();
  file_->append(text);
}

void Target::count(const RowRef& row) {
  std::uint32_t longest = 0;
  for (const Column& column : row.chunk->columns) longest = std::max(longest, column.samples(row.row));
  ++sequences_;
  samples_ += longest;
  if (!keys_) return;
  numeric_ = numeric_ && !row.key.empty() && row.key.size() < 20 && (row.key[0] != '0' || row.key.size() == 1) &&
             std::all_of(row.key.begin(), row.key.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (text_ && last_key_ == row.key) {
    refuse_data("convert.same-id", path_,
                "two sequences with the id '" + row.key + "' follow each other and would become one",
                "`keys = number` numbers the sequences");
  }
  last_key_ = row.key;
}

void Target::write_binary(const RowRef& row) {
  binary_->append(*row.chunk, row.row, row.key);
  if (!options_.ctf2bin_chunks) return;
  estimate_ += sample_bytes(*row.chunk, row.row);
  if (estimate_ < options_.chunk_bytes) return;
  binary_->end_chunk();
  if (!*options_.ctf2bin_chunks) estimate_ = 0;
}

void Target::seal() {
  if (binary_) return binary_->seal();
  if (speech_) return speech_->seal();
  file_->seal();
}

void Target::commit() {
  if (binary_) return binary_->commit();
  if (speech_) return speech_->commit();
  cbf::commit_without_keys(*file_, options_.force);
}

SourceOptions Target::reopen() const {
  if (speech_) return speech_->reopen();
  if (binary_) {
    CbfOptions options;
    options.files = {path_};
    options.element = streams_.front().element;
    return options;
  }
  CtfOptions options;
  options.files = {path_};
  options.element = streams_.front().element;
  options.skip_sequence_ids = !keys_;
  for (const StreamInfo& s : streams_) {
    StreamSpec& spec = options.streams.emplace_back();
    spec.name = s.name;
    spec.storage = s.storage;
    spec.dim = s.dim;
  }
  return options;
}

}  // namespace batchfeed
