// SPDX-License-Identifier: MIT
#include "formats/cbf/header.h"

#include "base/counted.h"
#include "base/hex.h"
#include "formats/cbf/faults.h"
#include "formats/cbf/feed.h"
#include "formats/cbf/header_parts.h"

namespace batchfeed::cbf {
namespace {

constexpr std::uint64_t kSmallest = kPrefixBytes + kHeaderBytes + kTrailerBytes;
constexpr std::uint64_t kStreamBytes = 10;  // of one, without its name

FileStream read_stream(Feed& feed, const HeaderParts& parts, std::size_t number) {
  const std::string who = "stream " + std::to_string(number);
  const auto room = [&](std::uint64_t bytes, const char* field) {
    if (feed.left() < bytes) {
      parts.faults.fail("cbf.header-truncated", feed.at(),
                        who + ": " + field + " needs " + counted(bytes, "byte") + ", " + std::to_string(feed.left()) +
                            " left in the header");
    }
  };
  FileStream stream;
  room(5, "encoding and name length");
  const std::uint64_t encoding_at = feed.at();
  const auto encoding = feed.get<std::uint8_t>();
  if (encoding > 1) {
    parts.faults.fail("cbf.unknown-encoding", encoding_at,
                      who + ": encoding " + std::to_string(encoding) + ", expected 0 (dense) or 1 (sparse)");
  }
  stream.storage = encoding == 0 ? Storage::dense : Storage::sparse;
  const std::uint64_t length_at = feed.at();
  const auto length = feed.get<std::uint32_t>();
  if (length > feed.left()) {
    parts.faults.fail("cbf.bad-name-length", length_at,
                      who + ": name length " + std::to_string(length) + ", only " + counted(feed.left(), "byte") +
                          " left in the header");
  }
  stream.name = parts.name(feed, length_at, length, who);
  room(5, "element type and dimension");
  stream.element_at = feed.at();
  stream.element = parts.element(feed.get<std::uint8_t>(), stream);
  const std::uint64_t dim_at = feed.at();
  stream.dim = parts.dim(feed.get<std::uint32_t>(), dim_at, stream);
  return stream;
}

std::vector<FileChunk> read_table(Feed& feed, const HeaderParts& parts, std::uint32_t chunks, std::uint64_t chunks_at,
                                  std::uint64_t data_end) {
  const std::uint64_t left = feed.left();
  if (chunks > left / kRowBytes) {
    parts.faults.fail("cbf.bad-chunk-table", chunks_at,
                      "number of chunks " + std::to_string(chunks) + " needs " + counted(chunks * kRowBytes, "byte") +
                          ", only " + std::to_string(left) + " left for the chunk table");
  }
  if (chunks * kRowBytes != left) {
    parts.sink.warning(parts.faults.make("cbf.bad-chunk-table", chunks_at,
                                         "number of chunks " + std::to_string(chunks) + " needs " +
                                             counted(chunks * kRowBytes, "byte") + ", the chunk table has " +
                                             std::to_string(left),
                                         "the rest is ignored"));
  }
  std::vector<FileChunk> rows(chunks);
  for (FileChunk& row : rows) {
    row.at = feed.at();
    const auto offset = feed.get<std::int64_t>();
    row.sequences = feed.get<std::uint32_t>();
    row.samples = feed.get<std::uint32_t>();
    const std::uint64_t least = &row == rows.data() ? kPrefixBytes : (&row - 1)->begin;
    if (offset < 0 || static_cast<std::uint64_t>(offset) < least || static_cast<std::uint64_t>(offset) > data_end) {
      parts.faults.fail("cbf.bad-chunk-offset", row.at,
                        "chunk " + std::to_string(&row - rows.data()) + ": offset " + std::to_string(offset) +
                            ", expected " + std::to_string(least) + " to " + std::to_string(data_end) +
                            " (the start of the header)");
    }
    row.begin = static_cast<std::uint64_t>(offset);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    FileChunk& row = rows[i];
    row.end = i + 1 < rows.size() ? rows[i + 1].begin : data_end;
    if (row.sequences > (row.end - row.begin) / 4) {
      parts.faults.fail("cbf.chunk-too-small", row.at + 8,
                        "chunk " + std::to_string(i) + ": 4 bytes each needed for the lengths of " +
                            counted(row.sequences, "sequence") + ", the chunk has " +
                            counted(row.end - row.begin, "byte"));
    }
  }
  return rows;
}

Header read_modern(const io::File& file, const HeaderParts& parts, Buffer<std::byte>& scratch) {
  if (file.size() < kSmallest) {
    parts.faults.fail("cbf.too-small", file.size(),
                      "file has " + counted(file.size(), "byte") + ", the smallest has " + std::to_string(kSmallest),
                      "it was cut off; write it again");
  }
  const std::uint64_t trailer_at = file.size() - kTrailerBytes;
  Feed ends(file, 8, kPrefixBytes, scratch);
  const auto version = ends.get<std::uint32_t>();
  if (version != kVersion) {
    parts.faults.fail("cbf.unsupported-version", 8, "version " + std::to_string(version) + ", expected 1");
  }
  Feed trailer(file, trailer_at, file.size(), scratch);
  const auto offset = trailer.get<std::int64_t>();
  const std::uint64_t last = trailer_at - kHeaderBytes;
  if (offset < static_cast<std::int64_t>(kPrefixBytes) || static_cast<std::uint64_t>(offset) > last) {
    parts.faults.fail("cbf.bad-header-offset", trailer_at,
                      "header offset " + std::to_string(offset) + ", expected 12 to " + std::to_string(last),
                      "the file was cut off or something was appended; write it again");
  }
  const auto header_at = static_cast<std::uint64_t>(offset);
  Feed feed(file, header_at, trailer_at, scratch);
  if (feed.get<std::uint64_t>() != kMagic) {
    parts.faults.fail("cbf.bad-header-magic", header_at,
                      "no header where the last 8 bytes of the file say it starts (expected 'nib_ktnc')",
                      "the file was cut off or something was appended; write it again");
  }
  const std::uint64_t counts_at = feed.at();
  const auto chunks = feed.get<std::uint32_t>();
  const auto streams = feed.get<std::uint32_t>();
  if (streams == 0 || streams > feed.left() / kStreamBytes) {
    parts.faults.fail("cbf.bad-stream-count", counts_at + 4,
                      "number of streams " + std::to_string(streams) + ", expected 1 to " +
                          std::to_string(feed.left() / kStreamBytes) + " (" + counted(feed.left(), "byte") +
                          " of header left)");
  }
  parts.limit_streams(streams, counts_at + 4);
  Header header;
  for (std::uint32_t i = 0; i < streams; ++i) header.streams.push_back(read_stream(feed, parts, i));
  header.chunks = read_table(feed, parts, chunks, counts_at, header_at);
  return header;
}

// The first 8 bytes, for a message.
std::string bytes_text(std::uint64_t word) {
  std::string out;
  for (int i = 0; i < 8; ++i, word >>= 8) {
    if (i != 0) out += ' ';
    append_hex(out, static_cast<unsigned char>(word));
  }
  return out;
}

}  // namespace

std::size_t Header::sparse_stream() const {
  return static_cast<std::size_t>(std::ranges::find(streams, Storage::sparse, &FileStream::storage) - streams.begin());
}

Header read_header(const io::File& file, const Limits& limits, FaultSink& sink) {
  const Faults faults(file.path());
  const HeaderParts parts{faults, limits, sink};
  if (file.size() < 20) {
    faults.fail("cbf.too-small", file.size(),
                "file has " + counted(file.size(), "byte") + ", too few for a CNTK binary file",
                "it was cut off or is of another format");
  }
  Buffer<std::byte> scratch;
  const auto first = Feed(file, 0, 8, scratch).get<std::uint64_t>();
  Header header;
  if (first == kMagic) {
    header = read_modern(file, parts, scratch);
  } else if (first == 1) {
    header = read_legacy(file, parts, scratch);
  } else {
    faults.fail("cbf.not-cbf", 0,
                "starts with " + bytes_text(first) +
                    ", expected 6e 69 62 5f 6b 74 6e 63 ('nib_ktnc') or, in the older layout, "
                    "01 00 00 00 00 00 00 00",
                first == byte_swap(kMagic) ? "the bytes are those of a big-endian machine; convert the file there"
                                           : "this is no CNTK binary file");
  }
  for (std::size_t i = 0; i < header.streams.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (header.streams[i].name != header.streams[k].name) continue;
      faults.fail("cbf.duplicate-stream", header.streams[i].element_at,
                  "streams " + std::to_string(k) + " and " + std::to_string(i) + " have one name, '" +
                      printable(header.streams[i].name) + "'",
                  "names must differ", header.streams[i].name);
    }
  }
  return header;
}

}  // namespace batchfeed::cbf
