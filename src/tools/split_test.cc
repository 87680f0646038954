// SPDX-License-Identifier: MIT
#include <batchfeed/compare.h>
#include <batchfeed/split.h>
#include <batchfeed/subset.h>
#include <batchfeed/survey.h>
#include <batchfeed/tools.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <set>

#include "support/fault_of.h"
#include "support/faulty_sys.h"

namespace batchfeed {
namespace {

using ::batchfeed::testing::id_of;
using testing::ScratchFolder;

// n sequences with keys "s<k/5>/<k>" of two samples; every tenth is of class 2, the others of classes 0 and 1.
std::shared_ptr<const Source> corpus(const ScratchFolder& folder, int n, const std::string& name = "a.ctf",
                                     std::uint64_t chunk_bytes = 500) {
  std::string out;
  for (int k = 0; k < n; ++k) {
    const std::string key = "s" + std::to_string(k / 5) + "/" + std::to_string(k);
    const int label = k % 10 == 0 ? 2 : k % 2;
    out += key + " |v " + std::to_string(k) + " 1 |l " + std::to_string(label) + ":1\n" + key + " |v 0 0\n";
  }
  CtfOptions options;
  options.files = {folder.write(name, out)};
  options.streams = {{.name = "v", .dim = 2}, {.name = "l", .storage = Storage::sparse, .dim = 3}};
  options.chunk_bytes = chunk_bytes;
  return open_source(options, {}, {}, KeyMode::text);
}

std::vector<std::uint64_t> sizes(const Parts& parts, std::size_t n) {
  std::vector<std::uint64_t> out(n);
  for (const auto& chunk : parts) {
    for (const std::uint8_t part : chunk) ++out.at(part);
  }
  return out;
}

TEST(Split, ByKeyIsNearTheFractionsAndDoesNotDependOnTheRest) {
  const ScratchFolder folder;
  const SplitOptions options{.fractions = {0.9, 0.1}};
  const Parts parts = split_parts(*corpus(folder, 2000), options);
  EXPECT_NEAR(static_cast<double>(sizes(parts, 2)[1]), 200, 60);
  // The first half of the corpus alone, in other chunks, gets the same parts.
  const Parts half = split_parts(*corpus(folder, 1000, "b.ctf", 4000), options);
  std::vector<std::uint8_t> a, b;
  for (const auto& chunk : parts) a.insert(a.end(), chunk.begin(), chunk.end());
  for (const auto& chunk : half) b.insert(b.end(), chunk.begin(), chunk.end());
  a.resize(1000);
  EXPECT_EQ(a, b);
  EXPECT_NE(split_parts(*corpus(folder, 2000), {.fractions = {0.9, 0.1}, .seed = 1}), parts);
}

TEST(Split, ExactIsExact) {
  const ScratchFolder folder;
  const auto source = corpus(folder, 997);
  EXPECT_EQ(sizes(split_parts(*source, {.fractions = {0.8, 0.1, 0.1}, .exact = true}), 3),
            (std::vector<std::uint64_t>{798, 99, 100}));
  EXPECT_EQ(sizes(split_parts(*source, {.fractions = {0.5, 0.5}, .seed = 3, .exact = true}), 2)[0], 499u);
}

TEST(Split, StratifiedIsExactInEveryClass) {
  const ScratchFolder folder;
  const auto source = corpus(folder, 1000);
  for (const unsigned jobs : {1u, 3u}) {
    const Parts parts = split_parts(*source, {.fractions = {0.75, 0.25}, .stratify = "l", .jobs = jobs});
    std::vector<std::uint64_t> test(3);
    std::uint64_t k = 0;
    for (const auto& chunk : parts) {
      for (const std::uint8_t part : chunk) {
        test[k % 10 == 0 ? 2 : k % 2] += part;
        ++k;
      }
    }
    EXPECT_EQ(test, (std::vector<std::uint64_t>{100, 125, 25}));
  }
}

// For a dense stream the class is the index of the largest value. Damaged sequences, and those without the stream,
// are classes of their own.
TEST(Split, ClassesOfDenseStreamsAndOfWhatIsDamaged) {
  const ScratchFolder folder;
  std::string text;
  for (int k = 0; k < 40; ++k) {
    text += std::to_string(k) + " |v 1";
    if (k % 4 == 1) text += " |p 1 5 2";
    if (k % 4 == 2) text += " |p 7 5 2";
    if (k % 4 == 3) text += " |p 1 x 2";
    text += "\n";
  }
  for (const Element element : {Element::f32, Element::f64}) {
    CtfOptions options;
    options.files = {folder.write("a.ctf", text)};
    options.streams = {{.name = "v", .dim = 1, .defines_mb_size = true}, {.name = "p", .dim = 3}};
    options.chunk_bytes = 100;
    options.element = element;
    options.max_errors = 100;
    const auto source = open_source(options);
    std::uint64_t told = 0;
    const Parts parts = split_parts(
        *source,
        {.fractions = {0.5, 0.5}, .stratify = "p", .jobs = 2, .progress = [&](std::uint64_t done, std::uint64_t all) {
           EXPECT_LE(done, all);
           told = done;
         }});
    EXPECT_EQ(told, text.size());
    std::vector<std::vector<int>> of_class(4, std::vector<int>(2));
    std::size_t k = 0;
    for (const auto& chunk : parts) {
      for (const std::uint8_t part : chunk) ++of_class[k++ % 4][part];
    }
    EXPECT_EQ(of_class[1], (std::vector<int>{5, 5}));
    EXPECT_EQ(of_class[2], (std::vector<int>{5, 5}));
    EXPECT_EQ(of_class[0][0] + of_class[3][0], 10);

    // Damaged sequences go into no target, and are counted together.
    const auto results = split(*source, parts, {folder / "x.ctf", folder / "y.ctf"}, {Format::unknown, Format::unknown},
                               {.to = Format::ctf, .streams = {"v"}, .force = true});
    EXPECT_EQ(results[0].sequences, 10u);
    EXPECT_EQ(results[1].sequences, 10u);
    EXPECT_EQ(results[0].left_out, 20u);
  }
}

TEST(Split, AnExistingTargetIsKeptUnlessForced) {
  const ScratchFolder folder;
  const auto source = corpus(folder, 20);
  const Parts parts = split_parts(*source, {.fractions = {0.5, 0.5}, .exact = true});
  const std::vector<std::string> targets = {folder / "x.ctf", folder.write("y.ctf", "mine")};
  const auto write = [&](const ConvertOptions& how) {
    return split(*source, parts, targets, {Format::ctf, Format::ctf}, how);
  };
  try {
    write({});
    ADD_FAILURE() << "replaced";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault().id, "convert.exists");
    EXPECT_EQ(error.fault().at.file, targets[1]);
  }
  EXPECT_EQ(testing::content_of(targets[1]), "mine");
  EXPECT_EQ(write({.force = true})[1].sequences, 10u);
}

TEST(Split, AllTargetsAreRefusedForOneThatCameMeanwhile) {
  const ScratchFolder folder;
  const auto source = corpus(folder, 20);
  const Parts parts = split_parts(*source, {.fractions = {0.5, 0.5}, .exact = true});
  const std::vector<std::string> targets = {folder / "x.cbf", folder / "y.ctf"};
  const auto meanwhile = [&](std::uint64_t, std::uint64_t) { folder.write("y.ctf", "mine"); };
  EXPECT_EQ(id_of([&] {
              split(*source, parts, targets, {Format::cbf, Format::ctf}, {.progress = meanwhile});
            }),
            "convert.exists");
  EXPECT_EQ(testing::content_of(targets[1]), "mine");
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"a.ctf", "y.ctf"}));
}

TEST(Split, GroupsStayTogether) {
  const ScratchFolder folder;
  const Parts parts = split_parts(*corpus(folder, 1000), {.fractions = {0.5, 0.5}, .group = "/"});
  std::uint64_t k = 0;
  std::vector<std::set<int>> of_group(200);
  for (const auto& chunk : parts) {
    for (const std::uint8_t part : chunk) of_group[k++ / 5].insert(part);
  }
  for (const auto& parts_of_one : of_group) EXPECT_EQ(parts_of_one.size(), 1u);
  EXPECT_NEAR(static_cast<double>(sizes(parts, 2)[0]), 500, 150);
}

TEST(Split, WhatMakesNoSenseIsRefused) {
  const ScratchFolder folder;
  const auto source = corpus(folder, 10);
  for (const SplitOptions& options : std::vector<SplitOptions>{{},
                                                               {.fractions = {0.5, 0.6}},
                                                               {.fractions = {1.5, -0.5}},
                                                               {.fractions = {0.5, 0.5}, .stratify = "nothing"},
                                                               {.fractions = std::vector<double>(256, 1.0 / 256)},
                                                               {.fractions = {0.5, 0.5}, .stratify = "l", .group = "/"},
                                                               {.fractions = {0.5, 0.5}, .exact = true, .group = "/"}})
    EXPECT_THROW((void)split_parts(*source, options), Error);  // split.fractions, split.no-classes, split.group
}

TEST(Split, ThePartsTogetherAreTheWhole) {
  const ScratchFolder folder;
  const auto source = corpus(folder, 300);
  const Parts parts = split_parts(*source, {.fractions = {0.7, 0.3}, .exact = true});
  const auto results =
      split(*source, parts, {folder / "x.ctf", folder / "y.cbf"}, {Format::ctf, Format::cbf}, {.jobs = 3});
  EXPECT_EQ(results[0].sequences, 210u);
  EXPECT_EQ(results[1].samples, 180u);
  CtfOptions text;
  text.files = {folder / "x.ctf"};
  text.streams = {{.name = "v", .dim = 2}, {.name = "l", .storage = Storage::sparse, .dim = 3}};
  CbfOptions binary;
  binary.files = {folder / "y.cbf"};
  const std::shared_ptr<const Source> both =
      concatenate({open_source(text, {}, {}, KeyMode::text), open_source(binary)});
  const Comparison found = compare(source, both);
  EXPECT_TRUE(found.keys);
  EXPECT_EQ(found.same, 300u);
  EXPECT_EQ(found.changed + found.only_a + found.only_b, 0u);
  EXPECT_FALSE(keys_repeat(*both));
}

// Sequence k of six is line k of text without ids, in shards of so many lines each.
std::shared_ptr<const Source> shards_of(const ScratchFolder& folder, int lines) {
  CtfOptions options;
  options.skip_sequence_ids = true;
  options.streams = {{.name = "v", .dim = 1}};
  for (int k = 0; k < 6;) {
    std::string text;
    for (const int end = k + lines; k < end; ++k) text += "|v " + std::to_string(k) + "\n";
    options.files.push_back(folder.write("s" + std::to_string(k) + ".ctf", text));
  }
  return open_source(options);
}

TEST(Subset, SequencesOfShardsWithoutIdsAreNumbered) {
  const ScratchFolder folder;
  for (const int lines : {1, 2, 6}) {
    const auto source = shards_of(folder, lines);
    Rows rows(source->chunks().size());
    for (auto& chunk : rows) chunk.push_back(static_cast<std::uint32_t>(lines) - 1);  // the last line of each
    const auto some = subset(source, rows);
    std::string expected;
    for (int k = lines - 1; k < 6; k += lines) expected += std::to_string(k) + " |v " + std::to_string(k) + "\n";
    convert(*some, folder / "x.ctf", {.to = Format::ctf, .keys = ConvertOptions::Keys::keep, .force = true});
    EXPECT_EQ(testing::content_of(folder / "x.ctf"), expected);
  }
}

// Each shard counts from 0. Two sequences with one id, one behind the other, would be one.
TEST(Split, SequencesOfShardsWithoutIdsAreNumbered) {
  const ScratchFolder folder;
  const auto source = shards_of(folder, 1);
  const Parts parts = split_parts(*source, {.fractions = {0.5, 0.5}, .exact = true});
  EXPECT_EQ(sizes(parts, 2), (std::vector<std::uint64_t>{3, 3}));
  split(*source, parts, {folder / "x.ctf", folder / "y.ctf"}, {Format::ctf, Format::ctf}, {});
  std::string both;
  for (const char* const part : {"x.ctf", "y.ctf"}) both += testing::content_of(folder / part);
  for (int k = 0; k < 6; ++k) {
    const std::string number = std::to_string(k);
    EXPECT_NE(both.find(number + " |v " + number + "\n"), both.npos) << both;
  }
}

// As one file of all lines would be, and not every first line alike.
TEST(Split, ShardsWithoutIdsAreDealtAsTheWhole) {
  const ScratchFolder folder;
  std::string lines;
  CtfOptions shards{.streams = {{.name = "v", .dim = 1}}};
  for (int k = 0; k < 40; ++k) {
    const std::string line = "|v " + std::to_string(k) + "\n";
    lines += line;
    shards.files.push_back(folder.write("s" + std::to_string(k) + ".ctf", line));
  }
  CtfOptions whole = shards;
  whole.files = {folder.write("whole.ctf", lines)};
  const auto deal = [](const CtfOptions& text, bool exact) {
    std::vector<std::uint8_t> out;
    for (const auto& chunk : split_parts(*open_source(text), {.fractions = {0.5, 0.5}, .exact = exact}))
      out.insert(out.end(), chunk.begin(), chunk.end());
    return out;
  };
  for (const bool exact : {false, true}) EXPECT_EQ(deal(shards, exact), deal(whole, exact));
  EXPECT_NE(deal(shards, true), std::vector<std::uint8_t>(40, 0));
}

TEST(Split, NoPartTakesThePlaceOfTheWhole) {
  const ScratchFolder folder;
  const auto source = corpus(folder, 50);
  const Parts parts = split_parts(*source, {.fractions = {0.5, 0.5}, .exact = true});
  std::filesystem::create_symlink("a.ctf", folder / "other name.ctf");
  const std::string before = testing::content_of(folder / "a.ctf");
  for (const char* const name : {"a.ctf", "other name.ctf"}) {
    try {
      split(*source, parts, {folder / "x.ctf", folder / name}, {}, {.force = true});
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.fault().id, "convert.part-of-source");
    }
    EXPECT_FALSE(std::filesystem::exists(folder / "x.ctf"));
  }
  EXPECT_EQ(testing::content_of(folder / "a.ctf"), before);
}

TEST(Split, AllTargetsAppearOrNone) {
  const ScratchFolder folder;
  const auto source = corpus(folder, 50);
  const Parts parts = split_parts(*source, {.fractions = {0.5, 0.5}, .exact = true});
  std::vector<std::string> before = folder.names();
  std::uint64_t renames = 0;
  {
    const testing::FaultySys sys(
        [&](const testing::Call& call) { return call.name == "rename_new" && ++renames == 2 ? EIO : 0; });
    EXPECT_THROW(split(*source, parts, {folder / "x.ctf", folder / "y.ctf"}, {Format::ctf, Format::ctf}, {}), Error);
  }
  EXPECT_EQ(renames, 2u);
  EXPECT_EQ(folder.names(), before);
  EXPECT_THROW(split(*source, Parts(parts.size(), std::vector<std::uint8_t>(50)), {folder / "x.ctf", folder / "y.ctf"},
                     {Format::ctf, Format::ctf}, {}),
               Error);  // split.empty
  EXPECT_EQ(folder.names(), before);
}

// The last chunk of a binary file is written only when the file is finished; if that fails, the older files stay.
TEST(Split, ForcedPartsStayUnlessAllAreWritten) {
  const ScratchFolder folder;
  const auto source = corpus(folder, 50);
  const std::vector<std::string> targets = {folder / "x.cbf", folder / "y.cbf"};
  const auto write = [&](double first, const testing::FaultySys::Rule& rule) {
    const Parts parts = split_parts(*source, {.fractions = {first, 1 - first}, .exact = true});
    const testing::FaultySys sys(rule);
    split(*source, parts, targets, {Format::cbf, Format::cbf}, {.force = true});
  };
  const auto contents = [&] {
    std::vector<std::string> out;
    for (const std::string& name : folder.names()) out.push_back(name + '\n' + testing::content_of(folder / name));
    return out;
  };
  write(0.5, nullptr);
  const std::vector<std::string> before = contents();
  ASSERT_EQ(before.size(), 5u);  // the corpus, and two parts with a file of keys each
  std::uint64_t writes = 0, renames = 0;
  const auto of_y = [](const testing::Call& call) { return call.path.find("y.cbf") != std::string::npos; };
  EXPECT_THROW(
      write(0.2,
            [&](const testing::Call& call) { return call.name == "write" && of_y(call) && ++writes > 2 ? ENOSPC : 0; }),
      Error);
  EXPECT_GT(writes, 2u);
  EXPECT_EQ(contents(), before);
  // If a rename fails, a part that has replaced its older file stays.
  EXPECT_THROW(
      write(0.2,
            [&](const testing::Call& call) { return call.name == "rename" && of_y(call) && ++renames == 1 ? EIO : 0; }),
      Error);
  EXPECT_EQ(renames, 1u);
  const std::vector<std::string> after = contents();
  ASSERT_GE(after.size(), 4u);
  EXPECT_NE(after[1], before[1]);
  EXPECT_EQ(after[3], before[3]);
}

TEST(Split, RefusesWhatDoesNotFitTogether) {
  const ScratchFolder folder;
  const auto source = corpus(folder, 3);
  const auto refused = [&](const Parts& parts, const std::vector<std::string>& targets, std::vector<Format> formats) {
    return testing::fault_of([&] { split(*source, parts, targets, formats, {}); }).id;
  };
  ASSERT_EQ(source->chunks().size(), 1u);
  const std::vector<std::string> two = {folder / "x.ctf", folder / "y.ctf"};
  EXPECT_EQ(split(*source, {{0, 0, 1}}, two, {}, {.to = Format::ctf, .force = true}).size(), 2u)
      << "no format: all alike";
  EXPECT_EQ(refused({{0, 0, 1}}, two, {Format::ctf}), "split.parts");
  EXPECT_EQ(refused({{0, 0, 1}}, {folder / "z.ctf"}, {}), "split.parts");
  EXPECT_EQ(refused({{0, 0}}, two, {}), "split.parts");
  EXPECT_EQ(refused({}, two, {}), "split.parts");
  const std::vector<std::string> before = folder.names();
  EXPECT_EQ(refused({{0, 0, 1}}, {folder / "z.ctf", folder / "./z.ctf"}, {Format::ctf, Format::ctf}),
            "split.same-target");
  EXPECT_EQ(folder.names(), before);
}

TEST(Subset, AndItsLikeRefuseSourcesThatAreNullAndRowsThatAreNot) {
  const ScratchFolder folder;
  const auto source = corpus(folder, 3);
  const auto refused = [&](auto&& act) { return testing::fault_of(act).id; };
  EXPECT_EQ(refused([&] { (void)compare(source, nullptr); }), "tools.null-source");
  EXPECT_EQ(refused([&] { (void)concatenate({source, nullptr}); }), "tools.null-source");
  EXPECT_EQ(refused([&] { (void)subset(nullptr, {}); }), "tools.null-source");
  EXPECT_EQ(refused([&] { (void)select_streams(nullptr, {}); }), "tools.null-source");
  for (const Rows& rows : {Rows{{3}}, Rows{{}, {0}}, Rows{{1, 1}}, Rows{{2, 0}}})
    EXPECT_EQ(refused([&] { (void)subset(source, rows); }), "subset.rows");
  EXPECT_EQ(concatenate({source})->key_text(99), "99");
  EXPECT_EQ(refused([&] { (void)detect_format(std::vector<std::string>{}); }), "infer.no-file");
  EXPECT_TRUE(ValueCounts().bars(0, 10, false, 0).empty());
}

// Sequences without samples in some streams, as a join gives them where partners are missing.
class Hollow final : public Source {
 public:
  const std::vector<StreamInfo>& streams() const override { return streams_; }
  const std::vector<ChunkInfo>& chunks() const override { return chunks_; }
  void sequences(std::uint32_t, std::vector<SequenceInfo>& out) const override {
    out = {{0, 0, 1}, {1, 1, 1}, {2, 2, 1}};
  }
  void read(std::uint32_t, Chunk& out) const override {
    out.reset(streams_);
    Column& column = out.columns[0];
    const float value = 7;
    for (const std::uint32_t samples : {1u, 0u, 1u}) {
      column.begin.push_back(column.values.size() / sizeof value);
      column.first_sample.push_back(column.first_sample.back() + samples);
      if (samples != 0) column.values.append(reinterpret_cast<const std::byte*>(&value), sizeof value);
    }
  }

 private:
  std::vector<StreamInfo> streams_ = {{.name = "v", .dim = 1}};
  std::vector<ChunkInfo> chunks_ = {{.sequences = 3, .samples = 3, .bytes = 12}};
};

TEST(Subset, StreamsThatAreChosenHaveTheDataOfTheirSource) {
  const ScratchFolder folder;
  const auto one = corpus(folder, 5), same = corpus(folder, 5, "b.ctf");
  std::string other = testing::content_of(folder / "a.ctf");
  other.replace(other.find(" 1 |l"), 2, " 2");
  CtfOptions options;
  options.files = {folder.write("c.ctf", other)};
  options.streams = {{.name = "v", .dim = 2}, {.name = "l", .storage = Storage::sparse, .dim = 3}};
  options.chunk_bytes = 500;
  const auto print = [](const std::shared_ptr<const Source>& source, const std::vector<std::string>& keep) {
    return select_streams(source, keep)->fingerprint();
  };
  EXPECT_EQ(print(one, {"v"}), print(same, {"v"}));
  EXPECT_NE(print(one, {"v"}), print(one, {"l"}));
  EXPECT_NE(print(one, {"v"}), print(open_source(options, {}, {}, KeyMode::text), {"v"}));
}

TEST(Split, LeavesOutWhatHasNoSample) {
  const ScratchFolder folder;
  const auto parts = split(Hollow(), {{0, 0, 1}}, {folder / "x.cbf", folder / "y.cbf"}, {Format::cbf, Format::cbf}, {});
  EXPECT_EQ(parts[0].sequences, 1u);
  EXPECT_EQ(parts[1].sequences, 1u);
  EXPECT_EQ(parts[0].left_out, 1u);
}

TEST(Concatenate, StreamsMayComeInAnotherOrderButMustBeThere) {
  const ScratchFolder folder;
  const auto a = corpus(folder, 5), b = corpus(folder, 4, "b.ctf");
  const std::shared_ptr<const Source> turned = select_streams(b, {"l", "v"});
  const auto all = concatenate({a, turned});
  EXPECT_EQ(all->key_text(5), "s0/0");
  EXPECT_TRUE(keys_repeat(*all));
  Chunk chunk;
  all->read(static_cast<std::uint32_t>(a->chunks().size()), chunk);
  EXPECT_EQ(chunk.columns[0].storage, Storage::dense);
  for (const auto& [keep, rename] :
       std::vector<std::pair<std::vector<std::string>, std::pair<std::string, std::string>>>{
           {{"v"}, {"v", "v"}}, {{"v", "l"}, {"l", "m"}}}) {
    const std::shared_ptr<const Source> other = select_streams(b, keep, {rename});
    EXPECT_THROW((void)concatenate({a, other}), Error);  // merge.streams
    EXPECT_THROW((void)concatenate({other, a}), Error);
  }
}

TEST(Merge, KeepsKeysThatAreAllDifferentAndTellsWhereTheyAreLost) {
  using Keys = ConvertOptions::Keys;
  const ScratchFolder folder;
  const auto a = corpus(folder, 5), same = corpus(folder, 4, "b.ctf");
  std::vector<std::string> told;
  const auto keys = [&](const std::vector<std::shared_ptr<const Source>>& corpora, Keys wanted) {
    ConvertOptions options{.to = Format::ctf, .keys = wanted};
    options.report = [&](const Notice& notice) { told.push_back(notice.fault.id); };
    EXPECT_NE(merge(corpora, options), nullptr);
    return options.keys;
  };
  EXPECT_EQ(keys({a}, Keys::automatic), Keys::keep);
  EXPECT_EQ(keys({a, same}, Keys::number), Keys::number);
  EXPECT_EQ(keys({a, same}, Keys::none), Keys::none);
  EXPECT_TRUE(told.empty());
  EXPECT_EQ(keys({a, same}, Keys::automatic), Keys::number);
  EXPECT_EQ(told, std::vector<std::string>{"merge.numbered"});
  EXPECT_EQ(id_of([&] { keys({a, same}, Keys::keep); }), "merge.same-keys");
}

TEST(Merge, OfSomeStreamsIsOnlyAPartOfItsFiles) {
  const ScratchFolder folder;
  const auto a = corpus(folder, 5);
  for (const std::vector<std::string>& streams : {std::vector<std::string>{"l"}, {"l", "v"}}) {
    ConvertOptions options{.to = Format::ctf, .streams = streams, .force = true};
    const auto all = merge({a}, options);
    EXPECT_EQ(all->streams().size(), streams.size());
    EXPECT_EQ(id_of([&] { convert(*all, folder / "a.ctf", options); }),
              streams.size() == 1 ? "convert.part-of-source" : "");
  }
}

}  // namespace
}  // namespace batchfeed
