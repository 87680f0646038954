// SPDX-License-Identifier: MIT
//
// Text to the binary format and back: the same keys, samples and values each time.
#include <batchfeed/convert.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "formats/ctf/fuzz_testing.h"
#include "support/fuzz_file.h"

namespace {

using namespace batchfeed;

struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("batchfeed-convert-" + std::to_string(::getpid()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

std::string bits(const Column& c, std::size_t i) {
  const std::size_t n = size_of(c.element);
  return {reinterpret_cast<const char*>(c.values.data()) + i * n, n};
}

void put_sample(const Column& c, std::uint32_t row, std::uint32_t i, std::string& out) {
  if (c.storage == Storage::dense) {
    for (std::size_t v = 0; v < c.dim; ++v) out += bits(c, static_cast<std::size_t>(c.begin[row] + i * c.step) + v);
    return;
  }
  // Sorted, since the binary writer sorts the indices of a sample.
  std::vector<std::pair<std::int32_t, std::string>> entries;
  const std::size_t n = c.first_sample[row] + i;
  for (std::uint32_t v = c.first_value[n]; v < c.first_value[n + 1]; ++v)
    entries.emplace_back(c.indices[v], bits(c, v));
  std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [index, value] : entries) out += std::to_string(index) + ':' + value;
}

// Whole sequences with their keys, in order.
std::string all_of(const Source& source) {
  std::string out;
  Chunk chunk;
  std::vector<SequenceInfo> table;
  for (std::uint32_t k = 0; k < source.chunks().size(); ++k) {
    source.read(k, chunk);
    source.sequences(k, table);
    for (const SequenceInfo& s : table) {
      std::uint64_t samples = 0;
      for (const Column& c : chunk.columns) samples += c.samples(s.row);
      if (chunk.is_invalid(s.row) || samples == 0) continue;
      out += source.key_text(s.key) + '\n';
      for (const Column& c : chunk.columns) {
        for (std::uint32_t i = 0; i < c.samples(s.row); ++i) {
          put_sample(c, s.row, i, out);
          out += ';';
        }
        out += '\n';
      }
    }
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > (1u << 14)) return 0;
  static const Folder folder;
  const std::string binary = (folder.path / "x.cbf").string(), text = (folder.path / "x.ctf").string();
  const ctf::FuzzCase c = ctf::fuzz_case(data, size);
  const testing::MemoryFile file(c.text);
  CtfOptions from = c.options;
  from.files = {file.path()};
  from.chunk_bytes = 1 + c.block;
  from.trace_level = 0;
  std::unique_ptr<Source> source;
  std::string wanted;
  ConvertOptions to{
      .chunk_bytes = 1 + c.block, .keys = ConvertOptions::Keys::keep, .jobs = 2, .force = true, .verify = true};
  try {
    source = open_source(from, {}, {}, c.keys);
    wanted = all_of(*source);
    convert(*source, binary, to);
  } catch (const Error& error) {
    testing::check_fault(error);
    return 0;
  }
  CbfOptions middle;
  middle.files = {binary};
  middle.element = from.element;
  const auto compressed = open_source(middle);
  testing::require(all_of(*compressed) == wanted);
  to.to = Format::ctf;
  try {
    convert(*compressed, text, to);
  } catch (const Error& error) {
    testing::check_fault(error);  // such as an infinity, or a key with blanks, which text cannot hold
    return 0;
  }
  from.files = {text};
  from.skip_sequence_ids = false;
  for (StreamSpec& stream : from.streams) stream.alias.clear();  // streams are written under their names
  testing::require(all_of(*open_source(from, {}, {}, c.keys)) == wanted);
  return 0;
}
