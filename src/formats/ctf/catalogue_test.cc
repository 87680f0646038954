// SPDX-License-Identifier: MIT
//
// Runs catalogue.txt: every case with blocks of 1, 2, 3, 7 bytes and of the
// usual size, so that a block's end falls on every byte there is.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "formats/ctf/ctf.h"
#include "formats/ctf/source.h"
#include "formats/ctf/testing.h"
#include "support/faulty_sys.h"

namespace batchfeed::ctf {
namespace {

struct Case {
  std::string id, streams, input, expected;
  CtfOptions options;
  KeyMode keys = KeyMode::numeric;
};

std::string trim(const std::string& s) {
  const std::size_t a = s.find_first_not_of(' ');
  return a == std::string::npos ? "" : s.substr(a);
}

std::vector<Case> load_cases() {
  std::ifstream in("src/formats/ctf/catalogue.txt");
  std::vector<Case> cases;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    Case c;
    std::istringstream words(line);
    words >> c.id;
    c.options.element = Element::f64;
    for (std::string word; words >> word;) {
      if (word == "skipSequenceIds=true") {
        c.options.skip_sequence_ids = true;
      } else if (word == "useNumericSequenceKeys=false") {
        c.keys = KeyMode::text;
      } else if (word == "precision=float") {
        c.options.element = Element::f32;
      } else if (word.rfind("chunkSizeInBytes=", 0) == 0) {
        c.options.chunk_bytes = std::stoull(word.substr(17));
      } else {
        c.options.streams.push_back(parse_stream(word));
      }
    }
    std::getline(in, line);
    line = trim(line);
    c.input = unescape(line.substr(1, line.size() - 2));
    std::getline(in, line);
    c.expected = trim(line);
    // Results name the streams in the order of their names.
    std::sort(c.options.streams.begin(), c.options.streams.end(),
              [](const StreamSpec& a, const StreamSpec& b) { return a.name < b.name; });
    cases.push_back(std::move(c));
  }
  return cases;
}

std::string number(const Column& column, std::size_t i) {
  const double value =
      column.element == Element::f32 ? static_cast<double>(column.as<float>()[i]) : column.as<double>()[i];
  char text[64];
  const bool whole = value == std::floor(value) && std::abs(value) < 1e15;
  const auto end = whole ? std::to_chars(text, text + sizeof text, value, std::chars_format::fixed)
                         : std::to_chars(text, text + sizeof text, value);
  return {text, end.ptr};
}

void print_sample(const Column& c, std::uint32_t row, std::uint32_t i, std::string& out) {
  const std::size_t n = c.first_sample[row] + i;
  out += c.storage == Storage::dense ? '(' : '{';
  if (c.storage == Storage::dense) {
    for (std::size_t v = 0; v < c.dim; ++v)
      out += (v == 0 ? "" : " ") +
             number(c, static_cast<std::size_t>(c.begin[row]) + i * static_cast<std::size_t>(c.step) + v);
    out += ')';
  } else {
    for (std::uint32_t v = c.first_value[n]; v < c.first_value[n + 1]; ++v)
      out += (v == c.first_value[n] ? "" : " ") + std::to_string(c.indices[v]) + ':' + number(c, v);
    out += '}';
  }
}

// A check of the passing text counts the same errors and finds the same sequences.
void expect_stream_check_agrees(const Case& c, const std::string& path) {
  CtfOptions options = c.options;
  const int fd = ::open(path.c_str(), O_RDONLY);
  const CheckResult result = check_stream(fd, path, options, {}, {}, nullptr, c.keys);
  ::close(fd);
  if (c.expected.rfind("FAIL ", 0) == 0) {
    EXPECT_EQ(result.faults, 1u) << c.id;
    EXPECT_EQ(result.by_id.count(c.expected.substr(5)), 1u) << c.id;
    return;
  }
  EXPECT_EQ(result.faults, std::stoull(c.expected)) << c.id;
  EXPECT_EQ(result.bytes, c.input.size()) << c.id;
  OpenContext context;
  context.keys = std::make_shared<KeyTable>(c.keys);
  const CtfSource source(options, path, context);
  std::uint64_t sequences = 0, samples = 0;
  for (const ChunkInfo& chunk : source.chunks()) {
    sequences += chunk.sequences;
    samples += chunk.samples;
  }
  EXPECT_EQ(result.sequences, sequences) << c.id;
  EXPECT_EQ(result.samples, samples) << c.id;
}

std::string run(const Case& c, const std::string& path, std::size_t block) {
  OpenContext context;
  context.keys = std::make_shared<KeyTable>(c.keys);
  context.threads = block < 8 ? 3 : 1;
  CtfOptions options = c.options;
  options.files = {path};
  options.max_errors = 1000;
  try {
    const CtfSource source(options, path, context, {.block = block, .range = block});
    std::string out;
    Chunk chunk;
    std::vector<SequenceInfo> table;
    for (std::uint32_t k = 0; k < source.chunks().size(); ++k) {
      source.read(k, chunk);
      source.sequences(k, table);
      if (!out.empty() && source.chunks().size() > 1) out += ' ';
      if (source.chunks().size() > 1) out += "{chunk " + std::to_string(k) + "} ";
      std::uint64_t samples = 0;
      for (std::size_t r = 0; r < table.size(); ++r) {
        if (r > 0) out += "; ";
        out += source.key_text(table[r].key) + '(' + std::to_string(table[r].samples) + "):";
        samples += table[r].samples;
        if (chunk.is_invalid(table[r].row)) {
          out += " DROPPED";
          continue;
        }
        for (std::size_t s = 0; s < chunk.columns.size(); ++s) {
          out += ' ' + source.streams()[s].name + '=';
          for (std::uint32_t i = 0; i < chunk.columns[s].samples(table[r].row); ++i)
            print_sample(chunk.columns[s], table[r].row, i, out);
        }
      }
      EXPECT_EQ(samples, source.chunks()[k].samples);
      EXPECT_EQ(table.size(), source.chunks()[k].sequences);
    }
    return std::to_string(source.errors()) + " -> " + out;
  } catch (const Error& error) {
    return "FAIL " + error.fault().id;
  }
}

TEST(Catalogue, EveryCaseWithEveryBlock) {
  const std::vector<Case> cases = load_cases();
  ASSERT_GE(cases.size(), 151u);
  const batchfeed::testing::ScratchFolder dir;
  for (const Case& c : cases) {
    const std::string path = dir.write(c.id, c.input);
    expect_stream_check_agrees(c, path);
    for (const std::size_t block :
         {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{7}, std::size_t{512} << 10}) {
      EXPECT_EQ(run(c, path, block), c.expected) << c.id << " with blocks of " << block;
    }
  }
}

}  // namespace
}  // namespace batchfeed::ctf
