// SPDX-License-Identifier: MIT
#include "formats/mlf/mlf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "support/faulty_sys.h"
#include "support/speech.h"

namespace batchfeed::mlf {
namespace {

using ::batchfeed::testing::le16;
using ::batchfeed::testing::le32;
using ::batchfeed::testing::ScratchFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

using Classes = std::vector<int>;
const Classes kInvalid{-1};

class Mlf : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.name = "labels";
    options_.dim = 3;
    options_.mapping_file = folder_.write("states", "a\nb\nc\n");
  }
  static std::string one(const std::string& lines, const std::string& key = "u.lab") {
    return "#!MLF!#\n\"" + key + "\"\n" + lines + ".\n";
  }

  std::unique_ptr<Source> open(const std::vector<std::string>& contents) {
    options_.files.clear();
    for (std::size_t i = 0; i < contents.size(); ++i)
      options_.files.push_back(folder_.write("mlf" + std::to_string(i), contents[i]));
    OpenContext context;
    context.keys = std::make_shared<KeyTable>(KeyMode::text);
    context.check = check_;
    context.limits = limits_;
    context.report = [this](const Notice& n) {
      const std::lock_guard lock(mutex_);
      if (n.severity != Severity::info) reported_.push_back(n.fault);
    };
    return mlf::open(options_, context);
  }
  // Classes of each frame by key; kInvalid for an invalid utterance.
  std::map<std::string, Classes> read(const std::string& content) { return read(*open({content})); }
  std::map<std::string, Classes> read(const Source& source,
                                      std::map<std::string, std::vector<double>>* values = nullptr) {
    std::map<std::string, Classes> out;
    std::vector<SequenceInfo> table;
    Chunk chunk;
    for (std::uint32_t c = 0; c < source.chunks().size(); ++c) {
      source.sequences(c, table);
      source.read(c, chunk);
      const Column& column = chunk.columns[0];
      EXPECT_EQ(column.storage, Storage::sparse);
      for (const SequenceInfo& s : table) {
        const std::string key = source.key_text(s.key);
        if (chunk.is_invalid(s.row)) {
          out[key] = kInvalid;
          continue;
        }
        EXPECT_EQ(column.samples(s.row), s.samples);
        for (std::uint32_t n = column.first_sample[s.row]; n < column.first_sample[s.row + 1]; ++n) {
          for (std::uint32_t v = column.first_value[n]; v < column.first_value[n + 1]; ++v) {
            out[key].push_back(column.indices[v]);
            if (values != nullptr)
              (*values)[key].push_back(options_.element == Element::f32 ? double{column.as<float>()[v]}
                                                                        : column.as<double>()[v]);
          }
        }
      }
    }
    return out;
  }
  Fault fault(const std::string& content) {
    try {
      read(content);
    } catch (const Error& e) {
      return e.fault();
    }
    ADD_FAILURE() << "accepted:\n" << content;
    return {};
  }
  std::map<std::string, std::string> told(const Source& source) {
    std::map<std::string, std::string> out;
    for (const Notice& n : source.notices()) out[n.fault.id] = n.fault.what;
    return out;
  }

  ScratchFolder folder_;
  MlfOptions options_;
  Limits limits_;
  std::mutex mutex_;
  std::vector<Fault> reported_;
  bool check_ = false;
};

TEST_F(Mlf, TakesTimesAndFrameNumbers) {
  const std::map<std::string, Classes> cases = {
      {"0 300000 a\n300000 500000 b\n", {0, 0, 0, 1, 1}},
      {"0 3 a\n3 5 b\n", {0, 0, 0, 1, 1}},
      {"0 3 a -1.5 ph -9 word\n3 5 b\n", {0, 0, 0, 1, 1}},
      {"0 250000 a\n250000 400000 b\n", {0, 0, 0, 1}},
      {"0 99999 a\n", {0}},
      {"0 1e5 a\n1e5 3e5 b\n", {0, 1, 1}},
      {"+0 +2 a\n2 4.9 c\n", {0, 0, 2, 2}},
      {"0 2 a\n2 2 b\n2 4 c\n", {0, 0, 2, 2}},
      {"0  3 a\n", {0, 0, 0}},
      {"0\t3\ta\n", {0, 0, 0}},
      {"0 2x a\n", {0, 0}},
      {"\n0 2 a\n\n2 3 b\n\n", {0, 0, 1}},
      {"0 100000 a\n100000 150000 b\n", kInvalid},
      {"0 2 a\n3 5 b\n", kInvalid},
      {"0 3 a\n2 5 b\n", kInvalid},
      {"1 3 a\n", kInvalid},
      {"5 3 a\n", kInvalid},
      {"0 5 a\n5 3 b\n3 6 a\n", kInvalid},
  };
  for (const auto& [lines, classes] : cases) {
    SCOPED_TRACE(lines);
    EXPECT_THAT(read(one(lines)), ElementsAre(Pair("u", classes)));
    EXPECT_EQ(reported_.size(), classes == kInvalid ? 1u : 0u);
    reported_.clear();
  }
  limits_.label_frames = 200000;
  EXPECT_EQ(read(one("0 99998 a\n"))["u"].size(), 99998u);
}

TEST_F(Mlf, SaysWhereAnUtteranceIsInvalid) {
  read(one("0 2 a\n3 5 b\n"));
  ASSERT_EQ(reported_.size(), 1u);
  EXPECT_EQ(reported_[0].id, "mlf.gap");
  EXPECT_EQ(reported_[0].at.line, 4u);
  EXPECT_EQ(reported_[0].at.byte, 8u + 8 + 6);
  EXPECT_THAT(reported_[0].what, HasSubstr("'u'"));
  read(one("1 2 a\n"));
  EXPECT_EQ(reported_[1].id, "mlf.start");
  read(one("5 3 a\n"));
  EXPECT_EQ(reported_[2].id, "mlf.reversed");
  EXPECT_EQ(read(*open({one("1 3 a\n") + "\"v\"\n0 1 b\n.\n"})),
            (std::map<std::string, Classes>{{"u", kInvalid}, {"v", {1}}}));
}

TEST_F(Mlf, LocatesWhatNoUtteranceMayHave) {
  struct Bad {
    std::string lines, id;
    std::uint64_t line, column;
  };
  const std::vector<Bad> cases = {
      {"0 2 a\n2 4 d\n", "mlf.unknown-label", 4, 5},
      {"0 2\n", "mlf.columns", 3, 1},
      {"0\n", "mlf.columns", 3, 1},
      {"0 x a\n", "mlf.time", 3, 3},
      {"0 x a\n0 1 a\n", "mlf.time", 3, 3},
      {"nan 1 a\n", "mlf.time", 3, 1},
      {"0 inf a\n", "mlf.time", 3, 3},
      {"-5 1 a\n", "mlf.time", 3, 1},
      {"0 1e99 a\n", "mlf.time", 3, 3},
      {"0 4e12 a\n", "limit.label-frames", 2, 1},
  };
  for (const Bad& c : cases) {
    SCOPED_TRACE(c.lines);
    const Fault f = fault(one(c.lines));
    EXPECT_EQ(f.id, c.id) << f.text();
    EXPECT_EQ(f.at.line, c.line);
    EXPECT_EQ(f.at.column, c.column);
    EXPECT_TRUE(f.at.has_byte);
  }
  options_.dim = 2;
  EXPECT_EQ(fault(one("0 2 c\n")).id, "mlf.class-range");
  limits_.label_frames = ~0ull;
  limits_.sequence_samples = 10;
  EXPECT_EQ(fault(one("0 11 a\n")).id, "limit.sequence");
  limits_.key_bytes = 2;
  EXPECT_EQ(fault(one("0 1 a\n", "long.lab")).id, "limit.key");
}

TEST_F(Mlf, WithoutAStateListTheFourthColumnIsTheClass) {
  options_.mapping_file.clear();
  options_.dim = 10;
  EXPECT_EQ(read(one("0 550 dr1 0\n"))["u"], Classes(550, 0));
  EXPECT_EQ(read(one("0 2 x 7z\n"))["u"], (Classes{7, 7}));
  EXPECT_EQ(fault(one("0 550 dr1 0 more\n")).id, "mlf.columns");
  EXPECT_EQ(fault(one("0 550 dr1\n")).id, "mlf.columns");
  EXPECT_EQ(fault(one("0 2 x -5\n")).id, "mlf.class");
  EXPECT_EQ(fault(one("0 2 x 70000\n")).id, "mlf.class");
  EXPECT_EQ(fault(one("0 2 x y\n")).id, "mlf.class");
  EXPECT_EQ(fault(one("0 2 x 10\n")).id, "mlf.class-range");
}

TEST_F(Mlf, NamesUtterances) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"*/u.lab", "u"},   {"*/d/u.rec", "d/u"}, {"u", "u"},      {"x.y/u", "x.y/u"},
      {"a.b.lab", "a.b"}, {"*/", "*/"},         {"/u.lab", "/u"}};
  for (const auto& [spelled, key] : cases)
    EXPECT_THAT(read(one("0 1 a\n", spelled)), ElementsAre(Pair(key, Classes{0}))) << spelled;
  EXPECT_THAT(read("#!MLF!#\n\"u.lab\" \n0 1 a\n. \n\"v\"\n0 1 b\n.\n"),
              UnorderedElementsAre(Pair("u", Classes{0}), Pair("v", Classes{1})));
}

TEST_F(Mlf, AKeyWithoutQuotesIsToldByItsBeginning) {
  check_ = true;
  open({"#!MLF!#\n" + std::string(80, 'k') + "rest\n0 1 a\n.\n\"u\"\n0 1 a\n.\n"});
  ASSERT_EQ(reported_.size(), 1u);
  EXPECT_EQ(reported_[0].what, "'" + std::string(80, 'k') + "' is no key in quotes; the entry is left out");
}

TEST_F(Mlf, LeavesOutWhatHasNoLabelsAndCounts) {
  const auto source =
      open({"#!MLF!#\nunquoted\n0 1 a\n.\n\"e\"\n.\n\"z\"\n0 0 a\n.\n\"u\"\n0 1 a\n.\n\"u\"\n0 1 "
            "b\n.\n#!MLF!#\n\"v\"\n0 1 c\n.\n\"cut\"\n0 1 a"});
  EXPECT_THAT(read(*source), UnorderedElementsAre(Pair("u", Classes{0}), Pair("v", Classes{2})));
  EXPECT_THAT(told(*source), UnorderedElementsAre(Pair("mlf.unquoted-key", HasSubstr("1 entry")),
                                                  Pair("mlf.no-labels", HasSubstr("1 utterance")),
                                                  Pair("mlf.no-frames", HasSubstr("1 utterance")),
                                                  Pair("mlf.duplicate-key", HasSubstr("1 repeated")),
                                                  Pair("mlf.cut-short", HasSubstr("1 utterance"))));
}

TEST_F(Mlf, KeepsACompleteLastUtterance) {
  EXPECT_EQ(read("#!MLF!#\n\"u\"\n0 1 a\n."), (std::map<std::string, Classes>{{"u", {0}}}));
  EXPECT_THAT(reported_, IsEmpty());
  EXPECT_EQ(read("#!MLF!#\n\"u\"\n0 1 a\n"), (std::map<std::string, Classes>{{"u", {0}}}));
  ASSERT_EQ(reported_.size(), 1u);
  EXPECT_EQ(reported_[0].id, "mlf.no-end-line");
}

TEST_F(Mlf, WantsItsHeader) {
  for (const std::string content :
       {"", "\"u\"\n0 1 a\n.\n", "#!MLF!# \n\"u\"\n0 1 a\n.\n", "#!mlf!#\n", "\n#!MLF!#\n"}) {
    const Fault f = fault(content);
    EXPECT_EQ(f.id, "mlf.header") << content;
    EXPECT_EQ(f.at.line, 1u);
  }
  EXPECT_THAT(read("#!MLF!#\n"), IsEmpty());
  EXPECT_EQ(told(*open({"#!MLF!#\n"})).count("mlf.no-utterances"), 1u);
}

TEST_F(Mlf, ReadsCrLf) {
  std::string text = one("0 3 a\n3 5 b\n") + "\"v\"\n0 1 c\n.\n";
  std::string dos;
  for (const char c : text) dos += c == '\n' ? std::string("\r\n") : std::string(1, c);
  EXPECT_EQ(read(dos), read(text));
  EXPECT_EQ(read(dos).size(), 2u);
}

TEST_F(Mlf, ReadsStateLists) {
  folder_.write("states", "a\n\nb\r\nc\n");
  EXPECT_EQ(read(one("0 1 a\n1 2 b\n2 3 c\n"))["u"], (Classes{0, 1, 2}));
  folder_.write("states", "a\n\nb\r\nc");
  EXPECT_EQ(read(one("0 1 a\n1 2 b\n2 3 c\n"))["u"], (Classes{0, 1, 2}));
  folder_.write("states",
                "\xEF\xBB\xBF"
                "a\nb\nc\n");
  EXPECT_EQ(read(one("0 1 a\n1 2 b\n2 3 c\n"))["u"], (Classes{0, 1, 2}));
  folder_.write("states", "a\nb\na\n");
  const Fault twice = fault(one("0 1 a\n"));
  EXPECT_EQ(twice.id, "mlf.repeated-state");
  EXPECT_EQ(twice.at.line, 3u);
  folder_.write("states", "\n\n");
  EXPECT_EQ(fault(one("0 1 a\n")).id, "mlf.no-states");
  folder_.write("states", "a\nb\n");
  limits_.mlf_states = 1;
  EXPECT_EQ(fault(one("0 1 a\n")).id, "limit.mlf-states");
}

TEST_F(Mlf, MarksPhoneBoundaries) {
  options_.phone_boundaries = true;
  for (const Element element : {Element::f32, Element::f64}) {
    options_.element = element;
    std::map<std::string, std::vector<double>> values;
    read(*open({one("0 300000 a\n300000 500000 a\n")}), &values);
    EXPECT_THAT(values["u"], ElementsAre(2, 1, 1, 2, 1));
  }
  EXPECT_EQ(read(one("0 3 a\n3 3 b\n"))["u"], kInvalid);
  EXPECT_EQ(reported_.back().id, "mlf.empty-segment");
  options_.frame_mode = true;
  EXPECT_EQ(fault(one("0 3 a\n")).id, "mlf.phone-boundaries");
  options_.frame_mode = false;
  options_.binary = true;
  EXPECT_EQ(fault(one("0 3 a\n")).id, "mlf.phone-boundaries");
}

TEST_F(Mlf, ReadsSeveralFiles) {
  const auto source = open({one("0 1 a\n", "u"), "#!MLF!#\n\"u\"\n0 1 b\n.\n\"v\"\n0 1 c\n.\n"});
  EXPECT_THAT(read(*source), UnorderedElementsAre(Pair("u", Classes{0}), Pair("v", Classes{2})));
  EXPECT_THAT(told(*source)["mlf.duplicate-key"], HasSubstr("1 repeated"));
  EXPECT_EQ(source->chunks().size(), 2u);
  options_.legacy = true;
  EXPECT_THROW(open({one("0 1 a\n", "u"), one("0 1 a\n", "u")}), Error);
}

TEST_F(Mlf, CutsChunksByBytes) {
  std::string text = "#!MLF!#\n";
  for (int i = 0; i < 10; ++i) text += "\"u" + std::to_string(i) + "\"\n0 3 a\n.\n";
  const auto all = read(text);
  EXPECT_EQ(all.size(), 10u);
  options_.chunk_bytes = 30;  // 14 bytes each
  EXPECT_EQ(open({text})->chunks().size(), 5u);
  EXPECT_EQ(read(text), all);
  options_.chunk_bytes = 1;
  EXPECT_EQ(open({text})->chunks().size(), 10u);
  options_.chunk_bytes = 1000;
  limits_.label_frames = 6;
  EXPECT_EQ(open({text})->chunks().size(), 5u);
  EXPECT_EQ(read(text), all);
}

TEST_F(Mlf, ReplacesClassesByTargets) {
  options_.legacy = true;
  options_.target_dim = 2;
  folder_.write("states", "a\nb\n");
  options_.target_mapping_file = folder_.write("targets", "a 10\nb 01\n");
  const auto source = open({one("0 1 a\n1 2 b\n")});
  EXPECT_EQ(source->streams()[0].dim, 2u);
  EXPECT_EQ(read(*source)["u"], (Classes{0, 1}));
  for (const std::string bad : {"a 1x\nb 01\n", "b 01\na 10\n", "a 10\n", "a 10\nb 011\n", "a 10\nb 01\nc 11\n"}) {
    folder_.write("targets", bad);
    EXPECT_EQ(fault(one("0 1 a\n")).id, "mlf.targets") << bad;
  }
  options_.target_dim = 0;
  EXPECT_EQ(fault(one("0 1 a\n")).id, "mlf.targets");
}

std::string binary(const std::string& entries, int version = 2) {
  return "MLF" + le16(static_cast<std::uint16_t>(version)) + entries;
}
std::string runs(std::uint32_t frames, const std::vector<std::pair<int, int>>& segments) {
  std::string out = le32(frames) + le16(static_cast<std::uint16_t>(segments.size()));
  for (const auto& [state, n] : segments)
    out += le16(static_cast<std::uint16_t>(state)) + le16(static_cast<std::uint16_t>(n));
  return out;
}

TEST_F(Mlf, ReadsTheBinaryForm) {
  options_.binary = true;
  options_.mapping_file.clear();
  const std::string u = le16(1) + "u" + runs(3, {{0, 2}, {1, 1}});
  EXPECT_EQ(read(binary(u)), (std::map<std::string, Classes>{{"u", {0, 0, 1}}}));
  EXPECT_EQ(read(binary(le32(12) + runs(1, {{2, 1}}), 1)), (std::map<std::string, Classes>{{"12", {2}}}));
  EXPECT_EQ(read(binary(le16(7) + "*/u.lab" + runs(1, {{2, 1}}))).count("*/u.lab"), 1u);
  EXPECT_EQ(fault(binary(u, 3)).id, "mlf.binary-version");
  EXPECT_EQ(fault("MLX" + le16(2) + u).id, "mlf.binary-header");
  EXPECT_EQ(fault("ML").id, "mlf.binary-header");
  EXPECT_EQ(fault(binary(le16(1) + "u" + runs(4, {{0, 2}, {1, 1}}))).id, "mlf.binary-frames");
  EXPECT_EQ(fault(binary(le16(1) + "u" + runs(0, {}))).id, "mlf.binary-frames");
  const Fault range = fault(binary(u + le16(1) + "v" + runs(1, {{5, 1}})));
  EXPECT_EQ(range.id, "mlf.class-range");
  EXPECT_EQ(range.at.byte, 5 + u.size() + 3 + 6);
  EXPECT_THAT(range.what, HasSubstr("'v'"));
  EXPECT_EQ(fault(binary(le16(257) + std::string(300, 'k'))).id, "mlf.binary-key");
  EXPECT_EQ(fault(binary(u + le16(1) + "v" + le32(1))).id, "mlf.binary-short");
  EXPECT_EQ(fault(binary(u + le16(1) + "v" + le32(1) + le16(2) + le32(0))).id, "mlf.binary-short");
  const auto cut = open({binary(u + le16(9) + "v")});
  EXPECT_EQ(read(*cut).size(), 1u);
  EXPECT_THAT(told(*cut)["mlf.cut-short"], HasSubstr("1 utterance"));
}

// A few bytes may stand for 4 Mi frames; more take a byte for every label_ratio of them.
TEST_F(Mlf, FramesBesideBytesAreBounded) {
  options_.mapping_file.clear();
  options_.dim = 3;
  for (const bool text : {false, true}) {
    options_.binary = !text;
    const std::uint64_t any = std::uint64_t{1} << 22;
    const auto file = [&](std::uint64_t frames) {
      const std::string n = std::to_string(frames * 100'000);
      return text ? one("0 " + n + " x 0\n") : binary(le16(1) + "u" + runs(static_cast<std::uint32_t>(frames), {}));
    };
    limits_ = {};
    if (text) limits_.sequence_samples = limits_.label_frames = ~0ull;
    EXPECT_NO_THROW(open({file(any), file(any)}));  // each file for itself
    const Fault f = fault(file(any + 1));
    EXPECT_EQ(f.kind, FaultKind::limit);
    EXPECT_EQ(f.id, "limit.label-ratio");
    EXPECT_THAT(f.hint, HasSubstr("limits.label_ratio"));
    EXPECT_EQ(f.at.byte, text ? 8u : 5u);
    const std::uint64_t bytes = file(any + 1).size();
    limits_.label_ratio = any / bytes + 1;
    EXPECT_EQ(open({file(any + 1)})->chunks().size(), 1u);
    EXPECT_EQ(open({file(bytes * limits_.label_ratio)})->chunks().size(), 1u);
    EXPECT_EQ(fault(file(bytes * limits_.label_ratio + 1)).id, "limit.label-ratio");
  }
}

TEST_F(Mlf, CheckReportsAllAndGoesOn) {
  check_ = true;
  const auto source =
      open({"#!MLF!#\n\"u\"\n0 1 zz\n.\n\"v\"\n0 x a\n.\n\"w\"\n1 2 a\n.\n\"x\"\n0 1 a\n.\n\"e\"\n.\n"});
  EXPECT_EQ(read(*source), (std::map<std::string, Classes>{{"u", kInvalid}, {"w", kInvalid}, {"x", {0}}}));
  std::vector<std::string> ids;
  for (const Fault& f : reported_) ids.push_back(f.id);
  EXPECT_THAT(ids, ElementsAre("mlf.damaged", "mlf.time", "mlf.no-labels", "mlf.unknown-label", "mlf.start"));
}

TEST_F(Mlf, ChecksItsOptions) {
  const auto id = [&] { return fault(one("0 1 a\n")).id; };
  options_.dim = 0;
  EXPECT_EQ(id(), "mlf.dim");
  options_.dim = 65536;
  EXPECT_EQ(id(), "mlf.dim");
  options_.dim = 3;
  options_.name = "";
  EXPECT_EQ(id(), "mlf.no-name");
  EXPECT_THROW(mlf::open({.name = "l", .dim = 3}, {}), Error);  // mlf.no-file
}

TEST_F(Mlf, NoticesFilesThatChange) {
  options_.chunk_bytes = 1;
  const auto source = open({one("0 3 a\n")});
  folder_.write("mlf0", one("0 4 a\n"));
  Chunk chunk;
  try {
    source->read(0, chunk);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault().id, "mlf.changed");
  }
}

TEST_F(Mlf, NumbersKeysOnRequest) {
  options_.files = {folder_.write("m", one("0 1 a\n", "x7.lab"))};
  OpenContext context;
  context.keys = std::make_shared<KeyTable>(KeyMode::numeric);
  try {
    mlf::open(options_, context);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.fault().id, "mlf.numeric-key");
  }
  folder_.write("m", one("0 1 a\n", " 7x.lab"));
  std::vector<SequenceInfo> table;
  mlf::open(options_, context)->sequences(0, table);
  EXPECT_EQ(table[0].key, 7u);
}

}  // namespace
}  // namespace batchfeed::mlf
