// SPDX-License-Identifier: MIT
//
// Runs catalogue.txt: every case with blocks of 1, 2, 3, 7 bytes and of the
// usual size, so that a block's end falls on every byte there is.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "formats/ctf/ctf.h"
#include "formats/ctf/printed_testing.h"
#include "formats/ctf/slow_model_testing.h"
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

std::string result_of(const Case& c, const std::string& path, std::size_t block) {
  OpenContext context;
  context.keys = std::make_shared<KeyTable>(c.keys);
  context.threads = block < 8 ? 3 : 1;
  CtfOptions options = c.options;
  options.max_errors = 1000;
  return read_all(options, path, context, block);
}

TEST(Catalogue, EveryCaseWithEveryBlock) {
  const std::vector<Case> cases = load_cases();
  ASSERT_GE(cases.size(), 151u);
  const batchfeed::testing::ScratchFolder dir;
  for (const Case& c : cases) {
    const std::string path = dir.write(c.id, c.input);
    expect_stream_check_agrees(c, path);
    if (c.expected.find("{chunk") == std::string::npos) {
      const Schema schema(c.options, {});
      model::Reader slow(schema, c.options.element, c.options.skip_sequence_ids, c.keys != KeyMode::numeric);
      EXPECT_EQ(slow.read(c.input), c.expected) << c.id;
    }
    for (const std::size_t block :
         {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{7}, std::size_t{512} << 10}) {
      EXPECT_EQ(result_of(c, path, block), c.expected) << c.id << " with blocks of " << block;
    }
  }
}

}  // namespace
}  // namespace batchfeed::ctf
