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

}  // namespace
}  // namespace batchfeed
