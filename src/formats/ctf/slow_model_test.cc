// SPDX-License-Identifier: MIT
//
// Random text against the slow model: fragments of good and bad corpora thrown
// together, read with random blocks and ranges.
#include <gtest/gtest.h>

#include <random>

#include "formats/ctf/printed_testing.h"
#include "formats/ctf/slow_model_testing.h"
#include "formats/ctf/testing.h"
#include "support/faulty_sys.h"

namespace batchfeed::ctf {
namespace {

std::string random_text(std::mt19937_64& draw) {
  static const std::string fragments[] = {"1 ",
                                          "2 ",
                                          "3",
                                          "1 ",
                                          "|A 1",
                                          "|A 2.5 3",
                                          "|A -1e3",
                                          " |B 1:1",
                                          "|B 3:0.5 7:-2",
                                          "|B",
                                          "|CC 1 2 3",
                                          "|C 4",
                                          "|#",
                                          "|# c ",
                                          "\n",
                                          "\n",
                                          "\n",
                                          "\r\n",
                                          " ",
                                          "\t",
                                          "x",
                                          "-",
                                          "1:",
                                          ":",
                                          ".5",
                                          "5.e1",
                                          "1-2+3",
                                          "|",
                                          "||",
                                          "| ",
                                          "99999999999999999999",
                                          "0",
                                          "9",
                                          "e",
                                          ".",
                                          "\x01",
                                          "\xC3\xA4",
                                          "|A",
                                          "1 |A 1 |B 1:1\n",
                                          "2 |A 1 |B 2:2 |CC 7\n",
                                          "|A 7|B 0:1\n",
                                          "\0",
                                          "17.25",
                                          "123456789.123456789 "};
  constexpr std::size_t kFragments = sizeof fragments / sizeof fragments[0];
  std::string text;
  if (draw() % 3 == 0) text = draw() % 2 == 0 ? "1 |A 1" : "|A 1";
  if (draw() % 40 == 0) text = "\xEF\xBB\xBF" + text;
  for (std::uint64_t n = draw() % 40; n > 0; --n) text += fragments[draw() % kFragments];
  return text;
}

TEST(Model, RandomTextReadsAsTheModelSays) {
  const batchfeed::testing::ScratchFolder folder;
  const std::vector<std::vector<std::string>> shapes = {{"A:d2", "B:s8"},  {"A:d1"},
                                                        {"A:d2!", "B:s8"}, {"A:d1", "B:s8!", "C=CC:d3"},
                                                        {"B:s8"},          {"A:d1", "B:s4", "C=CC:d3", "D:d1"}};
  std::mt19937_64 draw(7);
  for (int i = 0; i < 1500; ++i) {
    const std::string text = random_text(draw);
    CtfOptions options = options_for(shapes[draw() % shapes.size()], 100'000);
    options.skip_sequence_ids = draw() % 5 == 0;
    options.element = draw() % 2 == 0 ? Element::f32 : Element::f64;
    options.trace_level = static_cast<int>(draw() % 3);
    const KeyMode keys = draw() % 4 == 0 ? KeyMode::text : KeyMode::numeric;
    OpenContext context;
    context.keys = std::make_shared<KeyTable>(keys);
    context.threads = static_cast<unsigned>(1 + draw() % 4);
    const std::size_t block = draw() % 2 == 0 ? 1 + draw() % 40 : 1 << 16;
    const Schema schema(options, {});
    model::Reader slow(schema, options.element, options.skip_sequence_ids, keys != KeyMode::numeric);
    ASSERT_EQ(read_all(options, folder.write("t", text), context, block), slow.read(text))
        << "case " << i << ", blocks of " << block << '\n'
        << text;
  }
}

}  // namespace
}  // namespace batchfeed::ctf
