// SPDX-License-Identifier: MIT
//
// Chunks become a file. The modern layout goes straight to its place; the older
// one, whose header stands in front and grows with the number of chunks, is
// collected in a second temporary file first.
#include <batchfeed/writer.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/counted.h"
#include "formats/cbf/build.h"
#include "formats/cbf/decode.h"
#include "formats/cbf/faults.h"
#include "formats/cbf/keys.h"
#include "io/atomic_file.h"
#include "io/file.h"

namespace batchfeed {
namespace cbf {
namespace {

class Bytes {
 public:
  template <class T>
  Bytes& put(T value) {
    const T stored = as_stored(value);
    out_.append(std::as_bytes(std::span(&stored, 1)).data(), sizeof(T));
    return *this;
  }
  Bytes& text(const std::string& text) {
    out_.append(std::as_bytes(std::span(text)).data(), text.size());
    return *this;
  }
  std::span<const std::byte> span() const { return out_.span(); }

 private:
  Buffer<std::byte> out_;
};

struct Row {
  std::uint64_t offset = 0;
  std::uint32_t sequences = 0, samples = 0;
};

std::uint8_t code(Storage storage) { return storage == Storage::dense ? 0 : 1; }
std::uint8_t code(Element element) { return element == Element::f32 ? 0 : 1; }

// What follows the chunks of the modern layout.
Bytes modern_tail(const std::vector<StreamInfo>& streams, const std::vector<Row>& rows, std::uint64_t at) {
  Bytes out;
  out.put(kMagic).put(static_cast<std::uint32_t>(rows.size())).put(static_cast<std::uint32_t>(streams.size()));
  for (const StreamInfo& s : streams) {
    out.put(code(s.storage)).put(static_cast<std::uint32_t>(s.name.size())).text(s.name);
    out.put(code(s.element)).put(static_cast<std::uint32_t>(s.dim));
  }
  for (const Row& row : rows) out.put(row.offset).put(row.sequences).put(row.samples);
  out.put(at);
  return out;
}

// What precedes the chunks of the older layout.
Bytes legacy_head(const std::vector<StreamInfo>& streams, const std::vector<Row>& rows) {
  Bytes out;
  out.put(std::int64_t{1}).put(static_cast<std::uint64_t>(rows.size())).put(static_cast<std::int32_t>(streams.size()));
  for (const StreamInfo& s : streams) {
    out.put(static_cast<std::uint32_t>(s.name.size())).text(s.name).put(std::int32_t{code(s.storage)});
    if (s.storage == Storage::sparse) out.put(std::int32_t{0});
    out.put(std::int32_t{code(s.element)});
    if (s.storage == Storage::sparse) out.put(std::int32_t{1});
    out.put(static_cast<std::uint32_t>(s.dim));
  }
  for (const Row& row : rows) out.put(row.offset).put(row.sequences).put(row.samples);
  return out;
}

}  // namespace
}  // namespace cbf

struct CbfWriter::Impl {
  Impl(std::string file, CbfWriterOptions wanted)
      : path(std::move(file)),
        options(std::move(wanted)),
        layout(options.legacy ? cbf::Layout::legacy : cbf::Layout::modern),
        out((cbf::check_streams(options.streams, path), path),
            {.durable = options.durable, .replace = options.replace}),
        builder(options.streams, layout) {
    if (options.legacy) {
      spool.emplace(path, io::AtomicFileOptions{.durable = false, .plain = true});
    } else {
      out.append(cbf::Bytes().put(cbf::kMagic).put(cbf::kVersion).span());
    }
    if (options.keys) cbf::refuse_foreign_keys(path);
    if (options.keys) keys.emplace(cbf::keys_path(path), io::AtomicFileOptions{.durable = options.durable});
    if (options.keys) keys->append(cbf::kKeysHead);
  }

  io::AtomicFile& data() { return spool ? *spool : out; }

  void add(std::string_view key) {
    if (state != State::open) io::refuse_written(path);
    if (key.find('\n') != std::string_view::npos) {
      throw Error(Fault{.kind = FaultKind::usage,
                        .id = "cbf.write-bad-key",
                        .at = {.file = path},
                        .what = "a key with a line break cannot stand in a file of keys",
                        .hint = "write without keys"});
    }
    all_or_done([&] {
      if (builder.sequences() > 0 && builder.size_with(pieces) > options.chunk_bytes) flush();
      builder.append(pieces, {path, sequences});
      ++sequences;
      if (!measured && builder.size() > options.chunk_bytes / kMeasured) {
        measured = true;
        builder.expect(kMeasured + 1);
      }
      if (keys) {
        if (key.empty())
          key_lines.append(std::to_string(sequences - 1));
        else
          key_lines.append(key);
        key_lines.push_back('\n');
        if (key_lines.size() > (std::size_t{1} << 20)) flush_keys();
      }
    });
  }

  // Where memory runs out, some streams may have a sequence and others not: nothing can follow.
  template <class Change>
  void all_or_done(const Change& change) {
    try {
      change();
    } catch (const Error&) {
      throw;
    } catch (...) {
      state = State::done;
      throw;
    }
  }

  void flush() {
    if (builder.sequences() == 0) return;
    measured = true;  // the builder keeps its memory for the next chunk
    rows.push_back({data().size(), builder.sequences(), static_cast<std::uint32_t>(builder.samples())});
    samples += builder.samples();
    builder.flush([&](std::span<const std::byte> bytes) { data().append(bytes); });
  }

  void flush_keys() {
    keys->append(key_lines);
    key_lines.clear();
  }

  // The collected chunks, behind their header.
  void copy_spool() {
    out.append(cbf::legacy_head(options.streams, rows).span());
    spool->seal();
    const io::File from(spool->temporary());
    Buffer<std::byte> piece;
    for (std::uint64_t at = 0; at < from.size(); at += piece.size()) {
      piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(from.size() - at, std::uint64_t{4} << 20)));
      from.read(at, {piece.data(), piece.size()});
      out.append(std::span<const std::byte>(piece.span()));
    }
  }

  void seal() {
    if (state == State::sealed) return;
    if (state != State::open) io::refuse_written(path);
    state = State::done;  // stays so if anything below throws
    flush();
    // The reference's converter leaves one empty chunk where there is nothing to write.
    if (rows.empty() && !spool) rows.push_back({out.size(), 0, 0});
    if (spool) {
      copy_spool();
      spool->discard();
    } else {
      out.append(cbf::modern_tail(options.streams, rows, out.size()).span());
    }
    if (keys) {
      flush_keys();
      keys->append(cbf::keys_trailer(sequences, out.size()));
      keys->seal();
    }
    out.seal();
    state = State::sealed;
  }

  void commit() {
    seal();
    cbf::commit_without_keys(out, options.replace);
    state = State::done;
    if (keys) keys->commit();
  }

  std::string path;
  CbfWriterOptions options;
  cbf::Layout layout;
  io::AtomicFile out;
  std::optional<io::AtomicFile> spool;
  std::optional<io::AtomicFile> keys;
  std::string key_lines;
  cbf::ChunkBuilder builder;
  std::vector<cbf::Row> rows;
  std::vector<cbf::Piece> pieces;
  std::uint64_t sequences = 0, samples = 0;
  bool measured = false;  // the builder has reserved memory for a chunk
  enum class State { open, sealed, done } state = State::open;

  // Once 1/kMeasured of the first chunk is there, memory for the rest is reserved, by the sizes of its streams so far.
  static constexpr std::uint64_t kMeasured = 16;
};

CbfWriter::CbfWriter(std::string path, CbfWriterOptions options)
    : impl_(std::make_unique<Impl>(std::move(path), std::move(options))) {}
CbfWriter::CbfWriter(CbfWriter&&) noexcept = default;
CbfWriter& CbfWriter::operator=(CbfWriter&&) noexcept = default;
CbfWriter::~CbfWriter() = default;

void CbfWriter::append(std::span<const SequenceData> sequence, std::string_view key) {
  const std::vector<StreamInfo>& streams = impl_->options.streams;
  if (sequence.size() != streams.size()) {
    throw Error(
        Fault{.kind = FaultKind::usage,
              .id = "cbf.write-stream-count",
              .at = {.file = impl_->path},
              .what = counted(sequence.size(), "stream") + " given, the file has " + std::to_string(streams.size()),
              .hint = "give one element for each stream, in their order"});
  }
  impl_->pieces.resize(streams.size());
  for (std::size_t i = 0; i < streams.size(); ++i) {
    cbf::Piece& piece = impl_->pieces[i];
    piece.samples = sequence[i].samples;
    piece.values = static_cast<const std::byte*>(sequence[i].values);
    piece.element = streams[i].element;
    piece.step = streams[i].dim;
    piece.indices = sequence[i].indices;
    piece.entries.clear();
    piece.nnz = 0;
    if (streams[i].storage == Storage::sparse) {
      if (sequence[i].entries != nullptr)
        piece.entries.assign(sequence[i].entries, sequence[i].entries + piece.samples);
      for (const std::uint32_t n : piece.entries) piece.nnz += n;
    }
  }
  impl_->add(key);
}

void CbfWriter::append(const Chunk& chunk, std::uint32_t row, std::string_view key) {
  const std::vector<StreamInfo>& streams = impl_->options.streams;
  if (chunk.columns.size() != streams.size()) {
    throw Error(Fault{.kind = FaultKind::usage,
                      .id = "cbf.write-stream-count",
                      .at = {.file = impl_->path},
                      .what = "a chunk of " + counted(chunk.columns.size(), "stream") + ", the file has " +
                              std::to_string(streams.size())});
  }
  impl_->pieces.resize(streams.size());
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const Column& column = chunk.columns[i];
    if (column.storage != streams[i].storage || (column.storage == Storage::dense && column.dim != streams[i].dim)) {
      throw Error(Fault{.kind = FaultKind::usage,
                        .id = "cbf.write-stream-kind",
                        .at = {.file = impl_->path},
                        .what = "stream '" + cbf::printable(streams[i].name) +
                                "': storage or dimension differ from what was announced",
                        .stream = streams[i].name});
    }
    cbf::Piece& piece = impl_->pieces[i];
    const std::size_t width = size_of(column.element);
    piece.samples = column.samples(row);
    piece.element = column.element;
    piece.step = column.step;
    piece.entries.clear();
    piece.nnz = 0;
    if (column.storage == Storage::dense) {
      piece.values = column.values.data() + column.begin[row] * width;
      continue;
    }
    const std::uint32_t* const first = column.first_value.data() + column.first_sample[row];
    piece.values = column.values.data() + first[0] * width;
    piece.indices = column.indices.data() + first[0];
    piece.nnz = first[piece.samples] - first[0];
    piece.entries.resize(piece.samples);
    for (std::uint32_t n = 0; n < piece.samples; ++n) piece.entries[n] = first[n + 1] - first[n];
  }
  impl_->add(key);
}

void CbfWriter::end_chunk() {
  impl_->all_or_done([this] { impl_->flush(); });
}
void CbfWriter::seal() { impl_->seal(); }
void CbfWriter::commit() { impl_->commit(); }
std::uint64_t CbfWriter::sequences() const noexcept { return impl_->sequences; }
std::uint64_t CbfWriter::samples() const noexcept { return impl_->samples + impl_->builder.samples(); }
std::uint64_t CbfWriter::chunk_size() const noexcept { return impl_->builder.size(); }

}  // namespace batchfeed
