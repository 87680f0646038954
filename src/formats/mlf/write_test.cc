// SPDX-License-Identifier: MIT
#include <batchfeed/error.h>
#include <batchfeed/speech_writer.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "formats/mlf/mlf.h"
#include "support/fault_of.h"
#include "support/faulty_sys.h"

namespace batchfeed {
namespace {

using ::batchfeed::testing::content_of;
using ::batchfeed::testing::ScratchFolder;

const std::vector<MlfSegment> kSegments = {
    {.label = 0, .frames = 3}, {.label = 2, .frames = 0}, {.label = 1, .frames = 2}};

std::string written(const MlfWriterOptions& options, const std::string& key, const std::vector<MlfSegment>& segments) {
  const ScratchFolder folder;
  MlfWriter writer(folder / "x.mlf", options);
  writer.append(key, segments);
  writer.commit();
  return content_of(folder / "x.mlf");
}

std::string refusal(const MlfWriterOptions& options, const std::string& key, const std::vector<MlfSegment>& segments) {
  const ScratchFolder folder;
  try {
    MlfWriter writer(folder / "x.mlf", options);
    writer.append(key, segments);
  } catch (const Error& e) {
    EXPECT_TRUE(folder.names().empty());
    return e.fault().id;
  }
  return "";
}

TEST(MlfWriter, WritesTextWithNamesOrNumbers) {
  EXPECT_EQ(written({.names = {"sil", "a_s2", "b"}}, "dir/u.v", kSegments),
            "#!MLF!#\n\"*/dir/u.v.lab\"\n0 300000 sil\n300000 500000 a_s2\n.\n");
  EXPECT_EQ(written({}, "u", kSegments), "#!MLF!#\n\"*/u.lab\"\n0 300000 0 0\n300000 500000 1 1\n.\n");
}

TEST(MlfWriter, WritesTheBinaryForm) {
  EXPECT_EQ(written({.binary = true}, "u", {{.label = 0, .frames = 2}, {.label = 1, .frames = 1}}),
            std::string("MLF\2\0\1\0u\3\0\0\0\2\0\0\0\2\0\1\0\1\0", 22));
}

TEST(MlfWriter, CutsRunsThatAreTooLongForTheBinaryForm) {
  EXPECT_EQ(written({.binary = true}, "u", {{.label = 7, .frames = 65537}}),
            std::string("MLF\2\0\1\0u\1\0\1\0\2\0\7\0\xFF\xFF\7\0\2\0", 22));
}

TEST(MlfWriter, KeysAndLabelsComeBackAsTheyWere) {
  const ScratchFolder folder;
  const std::vector<std::string> keys = {"u", "*/v", "a.b/c.d", "with blank", "\"quoted\""};
  MlfWriter writer(folder / "x.mlf", {});
  for (const std::string& key : keys) writer.append(key, kSegments);
  EXPECT_EQ(writer.utterances(), keys.size());
  writer.commit();
  OpenContext context;
  context.keys = std::make_shared<KeyTable>(KeyMode::text);
  const auto source = mlf::open({.name = "x", .files = {folder / "x.mlf"}, .dim = 3}, context);
  std::vector<SequenceInfo> table;
  source->sequences(0, table);
  ASSERT_EQ(table.size(), keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(source->key_text(table[i].key), keys[i]);
  Chunk chunk;
  source->read(0, chunk);
  EXPECT_EQ(std::vector<std::int32_t>(chunk.columns[0].indices.data(), chunk.columns[0].indices.data() + 5),
            (std::vector<std::int32_t>{0, 0, 0, 1, 1}));
}

TEST(MlfWriter, RefusesWhatTheFormHasNoPlaceFor) {
  EXPECT_EQ(refusal({.names = {"a b"}}, "u", kSegments), "mlf.write-name");
  EXPECT_EQ(refusal({}, "", kSegments), "mlf.write-key");
  EXPECT_EQ(refusal({}, "a\nb", kSegments), "mlf.write-key");
  EXPECT_EQ(refusal({.binary = true}, std::string(257, 'k'), kSegments), "mlf.write-key");
  EXPECT_EQ(refusal({.names = {"a", "b"}}, "u", {{.label = 2, .frames = 1}}), "mlf.write-class");
  EXPECT_EQ(refusal({}, "u", {{.label = 65536, .frames = 1}}), "mlf.write-class");
  std::vector<std::string> many(65537);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = "s" + std::to_string(i);
  EXPECT_EQ(refusal({.names = many}, "u", {{.label = 65536, .frames = 1}}), "");
  EXPECT_EQ(refusal({.binary = true, .names = many}, "u", {{.label = 65536, .frames = 1}}), "mlf.write-class");
  EXPECT_EQ(refusal({}, "u", {}), "mlf.write-frames");
  EXPECT_EQ(refusal({.binary = true}, "u", std::vector<MlfSegment>(65536, {.label = 0, .frames = 1})),
            "mlf.write-runs");
}

TEST(MlfWriter, RefusesAKeyThatComesAgain) {
  const ScratchFolder folder;
  for (const bool binary : {false, true}) {
    MlfWriter writer(folder / "x.mlf", {.binary = binary});
    writer.append("u", kSegments);
    const Fault fault = ::batchfeed::testing::fault_of([&] { writer.append("u", kSegments); });
    EXPECT_EQ(fault.id, "mlf.write-repeated");
    EXPECT_EQ(fault.at.file, folder / "x.mlf");
    EXPECT_THROW(writer.append("v", {}), Error);
    writer.append("v", kSegments);  // the refused utterance does not count as written
    EXPECT_EQ(writer.utterances(), 2u);
  }
}

TEST(MlfWriter, WhatLacksUtterancesGetsNoNameLater) {
  const ScratchFolder folder;
  {
    MlfWriter writer(folder / "x.mlf", {});
    {
      const ::batchfeed::testing::FaultySys full(::batchfeed::testing::every("write", ENOSPC));
      const std::string longest(2 << 20, 'k');  // longer than the writer's buffer, so that it is written at once
      EXPECT_EQ(::batchfeed::testing::fault_of([&] { writer.append(longest, kSegments); }).kind, FaultKind::io);
    }
    EXPECT_EQ(::batchfeed::testing::fault_of([&] { writer.commit(); }).id, "io.written");
  }
  EXPECT_TRUE(folder.names().empty());
}

TEST(MlfWriter, OfWritersThatMayNotReplaceTheFirstWins) {
  const ScratchFolder folder;
  MlfWriter first(folder / "x.mlf", {.replace = false}), second(folder / "x.mlf", {.replace = false});
  second.append("second", kSegments);
  second.commit();
  EXPECT_THROW(first.commit(), Error);
  EXPECT_NE(content_of(folder / "x.mlf").find("second"), std::string::npos);
}

}  // namespace
}  // namespace batchfeed
