// SPDX-License-Identifier: MIT
//
// The older layout's header, at the start of the file. Every failure has one id:
// a file that merely begins with the number 1 ends up here too.
#include "base/counted.h"
#include "formats/cbf/header_parts.h"

namespace batchfeed::cbf {
namespace {

class LegacyHeader {
 public:
  LegacyHeader(const io::File& file, const HeaderParts& parts, Buffer<std::byte>& scratch)
      : parts_(parts), feed_(file, 8, file.size(), scratch), size_(file.size()) {}

  Header read() {
    const std::uint64_t chunks_at = feed_.at();
    const std::int64_t chunks = field<std::int64_t>("number of chunks");
    const std::uint64_t streams_at = feed_.at();
    const std::int64_t streams = field<std::int32_t>("number of streams");
    if (chunks < 0) bad(chunks_at, "number of chunks " + std::to_string(chunks) + ", expected 0 or more");
    if (streams < 1 || static_cast<std::uint64_t>(streams) > feed_.left() / 16) {
      bad(streams_at,
          "number of streams " + std::to_string(streams) + ", expected 1 to " + std::to_string(feed_.left() / 16));
    }
    parts_.limit_streams(static_cast<std::uint64_t>(streams), streams_at);
    Header header;
    header.layout = Layout::legacy;
    for (std::int64_t i = 0; i < streams; ++i) header.streams.push_back(stream(i));
    if (static_cast<std::uint64_t>(chunks) > feed_.left() / kRowBytes) {
      bad(chunks_at, "number of chunks " + std::to_string(chunks) + " needs 16 bytes each, only " +
                         std::to_string(feed_.left()) + " left for the chunk table");
    }
    header.chunks = table(static_cast<std::size_t>(chunks));
    return header;
  }

 private:
  [[noreturn]] void bad(std::uint64_t at, const std::string& what) const {
    parts_.faults.fail("cbf.bad-legacy-header", at, what, "the file was cut off or is of another format");
  }

  template <class T>
  T field(const char* name) {
    if (feed_.left() < sizeof(T)) {
      bad(feed_.at(),
          std::string(name) + " needs " + counted(sizeof(T), "byte") + ", " + std::to_string(feed_.left()) + " left");
    }
    return feed_.get<T>();
  }
  std::int32_t number(const char* name, std::int32_t least, std::int32_t most) {
    const std::uint64_t at = feed_.at();
    const auto value = field<std::int32_t>(name);
    if (value < least || value > most) {
      bad(at, std::string(name) + ' ' + std::to_string(value) + ", expected " + std::to_string(least) + " to " +
                  std::to_string(most));
    }
    return value;
  }

  FileStream stream(std::int64_t i) {
    const std::uint64_t length_at = feed_.at();
    const std::int32_t length = number("name length", 0, 0x7FFFFFFF);
    if (static_cast<std::uint64_t>(length) > feed_.left()) {
      bad(length_at, "name length " + std::to_string(length) + ", only " + counted(feed_.left(), "byte") + " left");
    }
    FileStream out;
    out.name = parts_.name(feed_, length_at, static_cast<std::uint32_t>(length), "stream " + std::to_string(i));
    out.storage = number("kind of stream (0 dense, 1 sparse)", 0, 1) == 0 ? Storage::dense : Storage::sparse;
    if (out.storage == Storage::sparse) number("storage type", 0, 0);
    out.element_at = feed_.at();
    out.element = number("element type (0 float, 1 double)", 0, 1) == 0 ? Element::f32 : Element::f64;
    if (out.storage == Storage::sparse) number("is-sequence flag", 0, 1);
    const std::uint64_t dim_at = feed_.at();
    out.dim = parts_.dim(static_cast<std::uint32_t>(number("dimension", 1, 0x7FFFFFFF)), dim_at, out);
    return out;
  }

  std::vector<FileChunk> table(std::size_t chunks) {
    const std::uint64_t data = feed_.at() + chunks * kRowBytes;
    std::vector<FileChunk> out(chunks);
    std::uint64_t least = 0;
    for (std::size_t i = 0; i < chunks; ++i) {
      const std::string who = "chunk " + std::to_string(i);
      FileChunk& row = out[i];
      row.at = feed_.at();
      const auto offset = field<std::int64_t>("chunk offset");
      const std::int32_t sequences = number("number of sequences", 0, 0x7FFFFFFF);
      const std::int32_t samples = number("number of samples", 0, 0x7FFFFFFF);
      if (offset < 0 || static_cast<std::uint64_t>(offset) < least ||
          static_cast<std::uint64_t>(offset) > size_ - data) {
        bad(row.at, who + ": offset " + std::to_string(offset) + ", expected " + std::to_string(least) + " to " +
                        std::to_string(size_ - data));
      }
      least = static_cast<std::uint64_t>(offset);
      row.begin = data + least;
      row.sequences = static_cast<std::uint32_t>(sequences);
      row.samples = static_cast<std::uint32_t>(samples);
    }
    for (std::size_t i = 0; i < chunks; ++i) out[i].end = i + 1 < chunks ? out[i + 1].begin : size_;
    return out;
  }

  const HeaderParts& parts_;
  Feed feed_;
  std::uint64_t size_;
};

}  // namespace

Header read_legacy(const io::File& file, const HeaderParts& parts, Buffer<std::byte>& scratch) {
  return LegacyHeader(file, parts, scratch).read();
}

}  // namespace batchfeed::cbf
