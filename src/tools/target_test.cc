// SPDX-License-Identifier: MIT
#include "tools/target.h"

#include <gtest/gtest.h>

#include "tools/testing.h"

namespace batchfeed {
namespace {

using ::batchfeed::testing::content_of;
using ::batchfeed::testing::ragged;
using ::batchfeed::testing::ragged_text;
using ::batchfeed::testing::ScratchFolder;

// A chunk may have many times its bytes in text: windows of frames overlap.
TEST(Target, TextIsMadePartByPart) {
  const ScratchFolder folder;
  const auto source = ragged(folder, "in.ctf", ragged_text(20), 1 << 20);
  Chunk chunk;
  source->read(0, chunk);
  std::vector<SequenceInfo> table;
  source->sequences(0, table);
  for (const std::size_t part : {1u, 100u, 1u << 20}) {
    Batch batch;
    batch.part = part;
    for (const SequenceInfo& s : table)
      batch.rows.push_back({.chunk = &chunk, .row = s.row, .id = s.key, .key = source->key_text(s.key)});
    Target target(folder / "out.ctf", source->streams(), {.to = Format::ctf, .force = true}, true);
    target.encode(batch);
    EXPECT_EQ(batch.encoded == 20, part > 100) << part;
    EXPECT_LT(batch.text.size(), part + 100) << "a part and a sequence at most";
    target.write(batch, [] {});
    EXPECT_EQ(batch.encoded, 20u);
    EXPECT_EQ(target.sequences(), 20u);
    target.commit();
    EXPECT_EQ(content_of(folder / "out.ctf"), content_of(folder / "in.ctf")) << part;
  }
}

// What reading leaves out would be lost: damaged sequences, which only reading finds, and repeated utterances.
TEST(Target, AFileIsNotReplacedByWhatReadingLeavesOfIt) {
  const ScratchFolder folder;
  const std::string text = "0 |v 1 2 |t 3:1\n1 |v x |t 4:1\n2 |v 5 6 |t 5:1\n";
  const auto damaged = ragged(folder, "in.ctf", text, 64, Element::f32, 10);
  const ConvertOptions to_text{.to = Format::ctf, .force = true};
  EXPECT_EQ(refusal(*damaged, folder / "in.ctf", to_text), "convert.part-of-source");
  EXPECT_EQ(content_of(folder / "in.ctf"), text);
  EXPECT_EQ(refusal(*damaged, folder / "out.ctf", to_text), "");
  EXPECT_EQ(refusal(*damaged, folder / "out.ctf", to_text), "") << "not what is read";

  CtfOptions half{.files = {folder.write("half.ctf", "0 |v 1\n1 |t 2\n")}, .streams = {{.name = "v", .dim = 1}}};
  EXPECT_EQ(refusal(*open_source(half), folder / "half.ctf", to_text), "convert.part-of-source");

  const std::string labels =
      "#!MLF!#\n\"*/1.lab\"\n0 200000 0 0\n.\n\"*/2.lab\"\n0 100000 1 1\n.\n\"*/1.lab\"\n0 300000 1 1\n.\n";
  MlfOptions options;
  options.files = {folder.write("in.mlf", labels)};
  options.name = "labels";
  options.dim = 2;
  const std::shared_ptr<const Source> repeated = open_source(options);
  const ConvertOptions to_labels{.to = Format::mlf, .force = true};
  EXPECT_EQ(refusal(*repeated, folder / "in.mlf", to_labels), "convert.part-of-source");
  EXPECT_EQ(content_of(folder / "in.mlf"), labels);
  EXPECT_EQ(refusal(*repeated, folder / "out.mlf", to_labels), "");
}

}  // namespace
}  // namespace batchfeed
