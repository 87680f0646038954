// SPDX-License-Identifier: MIT
#include <batchfeed/convert.h>
#include <batchfeed/speech_writer.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/fault_of.h"
#include "support/faulty_sys.h"
#include "support/speech.h"

namespace batchfeed {
namespace {

using ::batchfeed::testing::content_of;
using ::batchfeed::testing::fault_of;
using ::batchfeed::testing::htk_file;
using ::batchfeed::testing::id_of;
using ::batchfeed::testing::ramp;
using ::batchfeed::testing::ScratchFolder;

class SetHeader : public ::testing::Test {
 protected:
  batchfeed::Setup features(const std::string& name, std::uint32_t period, std::uint16_t kind) {
    folder_.write(name + ".htk", htk_file(ramp(6), {.dim = 2, .period = period, .kind = kind}));
    batchfeed::Setup setup;
    setup.reader.keys = KeyMode::text;
    setup.sources = infer_speech({folder_.write(name, "u.htk=.../" + name + ".htk[0,2]\n")});
    return setup;
  }
  static ConvertOptions of(const std::vector<const batchfeed::Setup*>& corpora,
                           ConvertOptions options = {.to = Format::scp}) {
    set_header(options, corpora);
    return options;
  }
  ScratchFolder folder_;
};

TEST_F(SetHeader, IsThatOfTheFilesUnlessItIsGiven) {
  const batchfeed::Setup a = features("a", 50'000, 0406);
  ConvertOptions options = of({&a});
  EXPECT_EQ(options.frame_period, 50'000u);
  EXPECT_EQ(options.parameter_kind, 0406);
  convert(*open_sources(a), folder_ / "o.scp", options);
  EXPECT_EQ(content_of(folder_ / "o.htk"), content_of(folder_ / "a.htk"));
  options = of({&a}, {.to = Format::scp, .parameter_kind = 9});
  EXPECT_EQ(options.frame_period, 50'000u);
  EXPECT_EQ(options.parameter_kind, 9);
}

TEST_F(SetHeader, IsOfTheStreamThatIsWritten) {
  batchfeed::Setup both = features("a", 50'000, 0406);
  both.sources.push_back(features("b", 100'000, 7).sources.front());
  std::get<HtkOptions>(both.sources[1]).name = "second";
  EXPECT_EQ(of({&both}, {.to = Format::scp, .streams = {"second"}}).parameter_kind, 7);
  EXPECT_FALSE(of({&both}, {.to = Format::scp, .streams = {"third"}}).parameter_kind);
}

TEST_F(SetHeader, WindowsAreNotOfTheKindOfTheirFrames) {
  batchfeed::Setup a = features("a", 50'000, 0406);
  std::get<HtkOptions>(a.sources[0]).context = {1, 1};
  EXPECT_EQ(of({&a}).parameter_kind, htk_kind("USER"));
  EXPECT_EQ(of({&a}).frame_period, 50'000u);
}

TEST_F(SetHeader, APeriodThatCannotBeWrittenIsLeft) {
  const batchfeed::Setup a = features("a", 0, 6);
  EXPECT_FALSE(of({&a}).frame_period);
  EXPECT_EQ(of({&a}).parameter_kind, 6);
}

TEST_F(SetHeader, OfCorporaThatDifferHasToBeGiven) {
  const batchfeed::Setup a = features("a", 50'000, 6), kind = features("kind", 50'000, 7),
                         period = features("period", 100'000, 6);
  const Fault fault = fault_of([&] { of({&a, &kind}); });
  EXPECT_EQ(fault.id, "convert.header-differs");
  EXPECT_EQ(fault.at.file, folder_ / "kind");
  EXPECT_NE(fault.what.find("kind FBANK, those of"), std::string::npos) << fault.what;
  EXPECT_EQ(id_of([&] { of({&a, &period}); }), "convert.header-differs");
  EXPECT_EQ(of({&a, &kind}, {.to = Format::scp, .parameter_kind = 9}).frame_period, 50'000u);
  EXPECT_EQ(of({&a, &period}, {.to = Format::scp, .frame_period = 1}).parameter_kind, 6);
  of({&kind, &period}, {.to = Format::scp, .frame_period = 1, .parameter_kind = 9});
  const batchfeed::Setup none;
  EXPECT_FALSE(of({&none}).parameter_kind);
}

}  // namespace
}  // namespace batchfeed
