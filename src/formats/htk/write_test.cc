// SPDX-License-Identifier: MIT
#include <batchfeed/error.h>
#include <batchfeed/speech_writer.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "formats/htk/header.h"
#include "formats/htk/htk.h"
#include "support/fault_of.h"
#include "support/faulty_sys.h"
#include "support/speech.h"

namespace batchfeed {
namespace {

using ::batchfeed::testing::be16;
using ::batchfeed::testing::be32;
using ::batchfeed::testing::Call;
using ::batchfeed::testing::content_of;
using ::batchfeed::testing::FaultySys;
using ::batchfeed::testing::id_of;
using ::batchfeed::testing::nth_call;
using ::batchfeed::testing::ScratchFolder;

const float kFrames[] = {1, 2, 3, 4};
const std::string kBody = be32(0x3F800000) + be32(0x40000000) + be32(0x40400000) + be32(0x40800000);

std::string refusal(const HtkWriterOptions& options, const std::string& key, std::uint64_t frames,
                    const std::string& name = "x.scp") {
  const ScratchFolder folder;
  try {
    HtkWriter writer(folder / name, options);
    writer.append(key, frames, kFrames);
  } catch (const Error& e) {
    EXPECT_TRUE(folder.names().empty());
    return e.fault().id;
  }
  return "";
}

TEST(HtkWriter, WritesAParameterFileByteForByte) {
  const ScratchFolder folder;
  HtkWriter writer(folder / "u.htk", {.dim = 2, .layout = HtkLayout::single});
  writer.append("", 2, kFrames);
  writer.commit();
  EXPECT_EQ(content_of(folder / "u.htk"), be32(2) + be32(100'000) + be16(8) + be16(9) + kBody);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"u.htk"});
}

TEST(HtkWriter, OfWritersThatMayNotReplaceTheFirstWinsWithAllItsFiles) {
  for (const HtkLayout layout : {HtkLayout::archive, HtkLayout::files, HtkLayout::single}) {
    const ScratchFolder folder;
    const HtkWriterOptions options{.dim = 2, .layout = layout, .replace = false};
    {
      HtkWriter first(folder / "x.scp", options), second(folder / "x.scp", options);
      first.append("late", 1, kFrames);
      second.append("u", 2, kFrames);
      second.commit();
      EXPECT_EQ(id_of([&] { first.commit(); }), "convert.exists");
      EXPECT_EQ(id_of([&] { const HtkWriter third(folder / "x.scp", options); }), "convert.exists");
    }
    EXPECT_EQ(folder.names().size(), layout == HtkLayout::single ? 1u : 2u);
    if (layout == HtkLayout::single) continue;
    EXPECT_EQ(content_of(folder / "x.scp").substr(0, 5), "u.htk");
    // If only the list's name is taken meanwhile, the frames are removed again.
    HtkWriter third(folder / "y.scp", options);
    third.append("u", 2, kFrames);
    folder.write("y.scp", "mine");
    EXPECT_EQ(id_of([&] { third.commit(); }), "convert.exists");
    EXPECT_EQ(content_of(folder / "y.scp"), "mine");
    EXPECT_FALSE(std::filesystem::exists(folder / "y.htk"));
  }
}

TEST(HtkWriter, ListsTheRangesOfAnArchive) {
  const ScratchFolder folder;
  HtkWriter writer(folder / "x.scp", {.dim = 2, .period = 50'000, .kind = htk_kind("MFCC_0")});
  writer.append("dir/u.v", 1, kFrames);
  writer.append("w", 1, kFrames + 2);
  writer.commit();
  EXPECT_EQ(content_of(folder / "x.scp"), "dir/u.v.htk=.../x.htk[0,0]\nw.htk=.../x.htk[1,1]\n");
  EXPECT_EQ(content_of(folder / "x.htk"), be32(2) + be32(50'000) + be16(8) + be16(8198) + kBody);
  EXPECT_EQ(writer.bytes(), 28u + content_of(folder / "x.scp").size());
}

TEST(HtkWriter, WritesAFileForEachUtterance) {
  const ScratchFolder folder;
  HtkWriter writer(folder / "x.scp", {.dim = 2, .layout = HtkLayout::files});
  writer.append("dir/u", 1, kFrames);
  writer.append("w", 2, kFrames);
  EXPECT_FALSE(std::filesystem::exists(folder / "x.htk"));
  writer.commit();
  EXPECT_EQ(content_of(folder / "x.scp"), "dir/u.htk=.../x.htk/dir/u.htk[0,0]\nw.htk=.../x.htk/w.htk[0,1]\n");
  EXPECT_EQ(content_of(folder / "x.htk/w.htk"), be32(2) + be32(100'000) + be16(8) + be16(9) + kBody);
  HtkWriter again(folder / "x.scp", {.dim = 2, .layout = HtkLayout::files});
  again.append("v", 1, kFrames);
  again.commit();
  EXPECT_FALSE(std::filesystem::exists(folder / "x.htk/w.htk"));
  EXPECT_TRUE(std::filesystem::exists(folder / "x.htk/v.htk"));
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"x.htk/v.htk", "x.scp"}));
}

TEST(HtkWriter, LeavesNothingWithoutCommitOrAfterAFailure) {
  const ScratchFolder folder;
  for (const HtkLayout layout : {HtkLayout::archive, HtkLayout::files, HtkLayout::single}) {
    HtkWriter(folder / "x.scp", {.dim = 2, .layout = layout}).append("u", 2, kFrames);
    EXPECT_TRUE(folder.names().empty());
  }
  for (std::uint64_t n = 1; n < 12; ++n) {
    const FaultySys faulty(nth_call(n, EIO));
    try {
      HtkWriter writer(folder / "x.scp", {.dim = 2});
      writer.append("u", 2, kFrames);
      writer.commit();
    } catch (const Error& e) {
      EXPECT_EQ(e.fault().kind, FaultKind::io);
      if (!std::filesystem::exists(folder / "x.scp")) {
        EXPECT_TRUE(folder.names().empty()) << "call " << n;
      }
    }
    std::filesystem::remove(folder / "x.htk");
    std::filesystem::remove(folder / "x.scp");
  }
}

TEST(HtkWriter, AnOlderListThatCannotBeRemovedKeepsItsFrames) {
  for (const HtkLayout layout : {HtkLayout::archive, HtkLayout::files}) {
    const ScratchFolder folder;
    const auto write = [&](const char* key) {
      HtkWriter writer(folder / "x.scp", {.dim = 2, .layout = layout});
      writer.append(key, 2, kFrames);
      writer.commit();
    };
    write("old");
    const std::vector<std::string> names = folder.names();
    const std::string list = folder / "x.scp", before = content_of(list);
    {
      const FaultySys faulty([&](const Call& call) { return call.path == list && call.name != "open" ? EPERM : 0; });
      const Fault fault = ::batchfeed::testing::fault_of([&] { write("new"); });
      EXPECT_EQ(fault.id, "io.remove");
      EXPECT_EQ(fault.at.file, list);
    }
    EXPECT_EQ(content_of(list), before);
    EXPECT_EQ(folder.names(), names);
  }
}

// What another writer has in place, or half in place, at any call of commit() is never mixed with what this one writes.
TEST(HtkWriter, OfTwoWritersAtOnceNoListNamesTheFramesOfTheOther) {
  namespace fs = std::filesystem;
  for (const HtkLayout layout : {HtkLayout::archive, HtkLayout::files}) {
    std::uint64_t refused = 0, whole = 0;
    for (const bool listed : {false, true}) {
      for (std::uint64_t n = 1;; ++n) {
        const ScratchFolder folder, other;
        HtkWriter theirs(other / "x.scp", {.dim = 2, .layout = layout});
        theirs.append("theirs", 2, kFrames);
        theirs.commit();
        HtkWriter ours(folder / "x.scp", {.dim = 2, .layout = layout});
        ours.append("ours", 1, kFrames);
        ours.seal();
        const auto come = [&] {
          fs::remove(folder / "x.scp");
          fs::remove_all(folder / "x.htk");
          fs::rename(other / "x.htk", folder / "x.htk");
          if (listed) fs::rename(other / "x.scp", folder / "x.scp");
        };
        std::string id;
        bool came = false;
        {
          const FaultySys between([&](const Call& call) {
            if (call.number == n) come(), came = true;
            return 0;
          });
          id = id_of([&] { ours.commit(); });
        }
        if (!came) break;
        // The list, if there is one, is of whoever has the frames.
        const fs::path frames = layout == HtkLayout::files ? folder / "x.htk/ours.htk" : folder / "x.htk";
        const bool is_ours = fs::exists(frames) && content_of(frames).starts_with(be32(1)),
                   is_listed = fs::exists(folder / "x.scp");
        EXPECT_EQ(id.empty(), is_ours) << "call " << n;
        // No folder takes the place of one that is there only now.
        EXPECT_TRUE(id.empty() || id == "htk.write-raced" || (id == "io.rename" && layout == HtkLayout::files)) << id;
        EXPECT_TRUE(is_listed || !is_ours) << "call " << n;
        if (is_listed) {
          EXPECT_EQ(content_of(folder / "x.scp").substr(0, 4), is_ours ? "ours" : "thei") << "call " << n;
        }
        (is_ours ? whole : refused) += 1;
      }
    }
    EXPECT_GT(refused, 0u);
    EXPECT_GT(whole, 0u);
  }
}

TEST(HtkWriter, AppearsWhereItsRelativePathLedAtFirst) {
  for (const HtkLayout layout : {HtkLayout::archive, HtkLayout::files}) {
    const ScratchFolder here, elsewhere;
    elsewhere.write("x.scp", "theirs");
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(here.path());
    HtkWriter writer("x.scp", {.dim = 1, .layout = layout});
    std::filesystem::current_path(elsewhere.path());
    const float value = 1;
    writer.append("u", 1, &value);
    writer.commit();
    std::filesystem::current_path(before);
    const std::vector<std::string> written = {layout == HtkLayout::files ? "x.htk/u.htk" : "x.htk", "x.scp"};
    EXPECT_EQ(here.names(), written);
    EXPECT_EQ(elsewhere.names(), std::vector<std::string>{"x.scp"});
  }
}

TEST(HtkWriter, NoListHasANulInItsName) {
  const ScratchFolder folder;
  for (const HtkLayout layout : {HtkLayout::archive, HtkLayout::files, HtkLayout::single}) {
    const std::string path = folder / std::string("x\0y.scp", 7);
    EXPECT_EQ(::batchfeed::testing::fault_of([&] { HtkWriter(path, {.dim = 2, .layout = layout}); }).id, "io.create");
  }
  EXPECT_TRUE(folder.names().empty());
}

TEST(HtkWriter, WhatLacksFramesGetsNoNameLater) {
  for (const HtkLayout layout : {HtkLayout::archive, HtkLayout::single}) {
    const ScratchFolder folder;
    {
      HtkWriter writer(folder / "x.scp", {.dim = 2, .layout = layout});
      {
        const FaultySys full(::batchfeed::testing::every("write", ENOSPC));
        EXPECT_EQ(::batchfeed::testing::fault_of([&] { writer.append("u", 2, kFrames); }).kind, FaultKind::io);
      }
      EXPECT_EQ(::batchfeed::testing::fault_of([&] { writer.append("v", 2, kFrames); }).id, "io.written");
      EXPECT_EQ(::batchfeed::testing::fault_of([&] { writer.commit(); }).id, "io.written");
    }
    EXPECT_TRUE(folder.names().empty());
  }
}

TEST(HtkWriter, SealedItGetsItsNameByCommitAlone) {
  for (const HtkLayout layout : {HtkLayout::archive, HtkLayout::files, HtkLayout::single}) {
    const ScratchFolder folder;
    HtkWriter writer(folder / "x.scp", {.dim = 2, .layout = layout});
    writer.append("u", 2, kFrames);
    writer.seal();
    writer.seal();
    EXPECT_EQ(::batchfeed::testing::fault_of([&] { writer.append("v", 2, kFrames); }).id, "io.written");
    EXPECT_FALSE(std::filesystem::exists(folder / "x.scp"));
    writer.commit();
    EXPECT_EQ(::batchfeed::testing::fault_of([&] { writer.commit(); }).id, "io.written");
    EXPECT_TRUE(std::filesystem::exists(folder / "x.scp"));
  }
}

TEST(HtkWriter, RefusesWhatCannotBeReadBack) {
  EXPECT_EQ(refusal({.dim = 0}, "u", 1), "htk.write-dim");
  EXPECT_EQ(refusal({.dim = 16384}, "u", 1), "htk.write-dim");
  EXPECT_EQ(refusal({.dim = 2}, "u", 0), "htk.write-empty");
  EXPECT_EQ(refusal({.dim = 1}, "u", 0x80000000u), "htk.write-too-many");
  for (const char* name : {"x[1].scp", "x\n.scp", "x\r.scp"})
    EXPECT_EQ(refusal({.dim = 2}, "u", 1, name), "htk.write-name");
  for (const std::uint16_t kind :
       std::vector<std::uint16_t>{0, 5, 12, 9 | 02000, 9 | 010000, 9 | 040000})  // compressed, checksum, quantised
    EXPECT_EQ(refusal({.dim = 2, .kind = kind}, "u", 1), "htk.write-kind") << kind;
  for (const std::uint32_t period : {0u, 10'000'001u, 0x90000000u})
    EXPECT_EQ(refusal({.dim = 2, .period = period}, "u", 1), "htk.write-period") << period;
  for (const char* key : {"", " u", "u ", "a=b", "a\nb"})
    EXPECT_EQ(refusal({.dim = 2}, key, 1), "htk.write-key") << key;
  for (const char* key : {"../u", "/u", "a//b", "a/./b", "a[b"})
    EXPECT_EQ(refusal({.dim = 2, .layout = HtkLayout::files}, key, 1), "htk.write-name") << key;
  const ScratchFolder folder;
  HtkWriter archive(folder / "a.scp", {.dim = 1});
  archive.append("u", 1, kFrames);
  archive.append("v", 1, kFrames);
  EXPECT_EQ(id_of([&] { archive.append("u", 1, kFrames); }), "htk.write-repeated") << "two utterances of one key";
  EXPECT_EQ(::batchfeed::testing::fault_of([&] { archive.append("w", 1, nullptr); }).id, "htk.write-no-data");
  HtkWriter one(folder / "u.htk", {.dim = 1, .layout = HtkLayout::single});
  one.append("", 1, kFrames);
  EXPECT_EQ(id_of([&] { one.append("", 1, kFrames); }), "htk.write-single") << "two utterances in one file";
}

TEST(HtkWriter, SpellsKindsAsHtkDoes) {
  EXPECT_EQ(htk_kind("USER"), 9);
  EXPECT_EQ(htk_kind("FBANK_D_A_Z"), 2823);
  EXPECT_EQ(htk_kind("MFCC_E_D_A"), 838);
  EXPECT_EQ(htk::kind_text(htk_kind("PLP_0_T")), "PLP_T_0");
  for (const char* text : {"", "MELSPEC", "MFCC_C", "MFCC_K", "MFCC_V", "MFCC_E_E", "MFCC_", "mfcc"}) {
    EXPECT_EQ(id_of([&] { htk_kind(text); }), "htk.kind-text");
  }
}

// Any bits, also those of a NaN, are read back unchanged.
TEST(HtkWriter, WhatIsWrittenIsReadBackBitForBit) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint32_t>& bits) {
    RC_PRE(!bits.empty());
    std::vector<float> values(bits.size());
    std::memcpy(values.data(), bits.data(), 4 * bits.size());
    const ScratchFolder folder;
    HtkWriter writer(folder / "x.scp", {.dim = 1});
    writer.append("first", bits.size(), values.data());
    writer.append("second", 1, values.data());
    writer.commit();
    OpenContext context;
    context.keys = std::make_shared<KeyTable>(KeyMode::text);
    const auto source = htk::open({.name = "x", .scp_files = {folder / "x.scp"}}, context);
    Chunk chunk;
    source->read(0, chunk);
    RC_ASSERT(source->chunks()[0].samples == bits.size() + 1);
    RC_ASSERT(std::memcmp(chunk.columns[0].values.data(), bits.data(), 4 * bits.size()) == 0);
  }));
}

}  // namespace
}  // namespace batchfeed
