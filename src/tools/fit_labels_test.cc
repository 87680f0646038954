// SPDX-License-Identifier: MIT
#include <batchfeed/tools.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/fault_of.h"
#include "support/faulty_sys.h"

namespace batchfeed {
namespace {

using ::batchfeed::testing::fault_of;
using ::batchfeed::testing::ScratchFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FitLabels : public ::testing::Test {
 protected:
  std::vector<SourceOptions> bare(const std::string& file, const std::string& lines) {
    return infer_speech({folder_.write(file, "#!MLF!#\n\"" + file + "\"\n" + lines + ".\n")});
  }
  // Labels with a list of states, as from a configuration.
  std::vector<SourceOptions> listed(const std::string& list, const std::string& names, std::uint64_t dim = 4) {
    return {MlfOptions{.name = "labels", .files = {"x"}, .mapping_file = folder_.write(list, names), .dim = dim}};
  }
  static const MlfOptions& of(const std::vector<SourceOptions>& corpus) { return std::get<MlfOptions>(corpus.at(0)); }

  ScratchFolder folder_;
};

TEST_F(FitLabels, NamesOfAllGiveTheNumbers) {
  std::vector<std::vector<SourceOptions>> mix = {bare("a", "0 1 b\n1 2 a\n"), bare("b", "0 1 c\n1 2 b\n"),
                                                 bare("n", "0 1 x 7\n")};
  fit_inferred(mix);
  EXPECT_THAT(of(mix[0]).labels, ElementsAre("a", "b", "c"));
  EXPECT_EQ(of(mix[1]).labels, of(mix[0]).labels);
  EXPECT_THAT(of(mix[2]).labels, IsEmpty()) << "has numbers";
  for (const auto& corpus : mix) EXPECT_EQ(of(corpus).dim, 8u);
  mix.push_back(bare("d", "0 1 aa\n"));
  fit_inferred(mix);
  EXPECT_THAT(of(mix[0]).labels, ElementsAre("a", "aa", "b", "c")) << "one more corpus changes all";
}

TEST_F(FitLabels, AListThatIsGivenGoesForTheOthers) {
  std::vector<std::vector<SourceOptions>> mix = {bare("a", "0 1 b\n"), listed("list", "c\nb\n"),
                                                 listed("longer", "\nc\nb\na\n", 5)};
  fit_labels(mix);
  EXPECT_THAT(of(mix[0]).labels, ElementsAre("c", "b", "a"));
  EXPECT_EQ(of(mix[0]).dim, 5u);
  EXPECT_EQ(of(mix[1]).dim, 4u) << "as it was given";
}

TEST_F(FitLabels, ListsThatContradictEachOtherAreRefused) {
  std::vector<std::vector<SourceOptions>> mix = {listed("one", "a\nb\nc\n"), listed("two", "\na\r\nc\n")};
  Fault fault = fault_of([&] { fit_inferred(mix); });
  EXPECT_EQ(fault.id, "mlf.other-states");
  EXPECT_EQ(fault.at.file, folder_ / "two");
  EXPECT_EQ(fault.at.line, 3u);
  EXPECT_THAT(fault.what, HasSubstr("class 1 of 'labels' is 'c' here and 'b' in " + folder_ / "one" + ":2"));
  std::get<MlfOptions>(mix[1].front()).name = "others";
  fit_labels(mix);  // labels of another stream need not agree

  mix = {{MlfOptions{.name = "l", .files = {"x"}, .labels = {"a", "b"}, .dim = 2}},
         {MlfOptions{.name = "l", .files = {"y"}, .labels = {"b"}, .dim = 2}}};
  fault = fault_of([&] { fit_labels(mix); });
  EXPECT_EQ(fault.id, "mlf.other-states");
  EXPECT_EQ(fault.at.file, "y");
}

TEST_F(FitLabels, ListsThatDecideNothingAreNotRead) {
  const MlfOptions same{.name = "l", .files = {"x"}, .mapping_file = folder_ / "none", .dim = 2};
  std::vector<std::vector<SourceOptions>> mix = {{same}, {same}};
  fit_labels(mix);
  MlfOptions targets = same;
  targets.mapping_file = folder_ / "neither";
  targets.target_mapping_file = folder_ / "bits";
  mix.push_back({targets});
  fit_labels(mix);  // delivers targets instead of classes, so its classes need not agree
}

}  // namespace
}  // namespace batchfeed
