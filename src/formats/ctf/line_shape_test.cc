// SPDX-License-Identifier: MIT
//
// Corpora of rows, one or several to a sequence, almost all alike, as the model reads them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "formats/ctf/opened_testing.h"
#include "formats/ctf/printed_testing.h"
#include "formats/ctf/slow_model_testing.h"
#include "formats/ctf/testing.h"
#include "support/faulty_sys.h"
#include "support/tier.h"

namespace batchfeed::ctf {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Rows {
 public:
  explicit Rows(std::uint64_t seed) : draw_(seed), odd_(below(4) == 0 ? 0 : 2 + below(60)) {
    for (const char* stream :
         {"A:d2", "B:s8", "C=CC:d6", "D:s100000", "E=a-longer-name:d1", "F=a-name-of-16-bytes:d1"}) {
      if (below(3) == 0) declared_.emplace_back(stream);
    }
    if (declared_.empty()) declared_.emplace_back("A:d3");
    if (below(3) == 0) declared_[below(declared_.size())] += '!';
    for (const std::string& stream : declared_) streams_.push_back(parse_stream(stream));
    for (std::size_t i = 0; i < streams_.size(); ++i) order_.push_back(i);
    std::shuffle(order_.begin(), order_.end(), draw_);
    blank_ = below(4) == 0 ? "\t" : " ";
    ids_ = below(2) == 0;
    other_ = below(4);
    note_ = below(12);
    lines_ = below(2) == 0 ? 1 : 1 + below(12);
    once_ = below(4) == 0;
    end_ = below(4) == 0 ? "\r\n" : "\n";
    comment_ = below(5) == 0 ? " |# a note" : "";
    alike_ = below(2) == 0;
    id_ = std::array<std::uint64_t, 3>{below(10), 99'999'990, 9'999'999'999'999'990}[below(3)];
  }

  const std::vector<std::string>& declared() const { return declared_; }
  std::uint64_t below(std::uint64_t n) { return draw_() % n; }

  std::string text(std::size_t lines) {
    std::string out;
    for (std::size_t n = 0; n < lines; ++n) {
      const bool begins = n % lines_ == 0;
      if (ids_ && (begins || below(4) != 0)) {
        if (begins && !odd()) ++id_;
        out += (odd() ? "0" : "") + std::to_string(id_) + (odd() ? "\t" : blank_);
      }
      if (odd() && odd() && !out.empty()) out += pick({"x", " ", "7", std::string(1, '\0'), "|", "|# before "});
      std::vector<std::size_t> order = order_;
      if (odd()) std::shuffle(order.begin(), order.end(), draw_);
      if (!begins && once_ && order.size() > 1) order.pop_back();
      if (odd()) order.pop_back();
      if (odd()) order.push_back(order_.front());
      for (std::size_t i = 0; i < order.size(); ++i) {
        if (odd()) out += "|# goes on\n";
        if (i == other_) out += "|Q 1 2 3" + blank_;
        if (i == note_) out += "|# of " + std::string(below(16) == 0 ? below(200) : below(9), 'x') + blank_;
        out += sample(streams_[order[i]]) + (i + 1 == order.size() && below(2) == 0 ? ""
                                             : odd()                                ? pick({"", "  ", "\t"})
                                                                                    : blank_);
      }
      out += odd() ? pick({"|# now and then", "y", "|Q", std::string(1, '\0')}) : comment_;
      out += odd() ? pick({"\n", "\r\n", "\n\n", "\n|# alone\n"}) : end_;
    }
    if (below(2) == 0) out.pop_back();
    return out;
  }

 private:
  bool odd() { return odd_ != 0 && below(odd_ * 8) == 0; }
  std::string pick(const std::vector<std::string>& from) { return from[below(from.size())]; }
  std::string number() {
    if (odd()) return pick({"1e999", "-", "+5", ".", "1.", ".5", "x", "nan", "0x1", "1e3", "123456789.25", "-0"});
    if (alike_) return (below(4) == 0 ? "-0." : "0.") + std::to_string(100 + below(900));
    std::string out = std::to_string(static_cast<double>(below(2'000'000)) / 1e5 - 10);
    out.resize(out.size() - below(6));
    return out;
  }
  std::string sample(const StreamSpec& spec) {
    std::string out = "|" + (spec.alias.empty() ? spec.name : spec.alias);
    const bool sparse = spec.storage == Storage::sparse;
    std::uint64_t n = sparse ? (spec.dim == 8 ? 1 : below(12)) : spec.dim;
    if (odd()) n = below(spec.dim + 2);
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(n, 20); ++i) {
      out += odd() ? pick({"\t", "  ", ""}) : " ";
      if (sparse) out += std::to_string(odd() ? spec.dim : below(spec.dim)) + (odd() ? " :" : ":");
      out += sparse && spec.dim == 8 ? std::to_string(below(12)) : number();
    }
    return out;
  }

  std::mt19937_64 draw_;
  std::uint64_t odd_;
  std::vector<std::string> declared_;
  std::vector<StreamSpec> streams_;
  std::vector<std::size_t> order_;
  std::string blank_, end_, comment_;
  bool ids_ = false, alike_ = false;
  std::uint64_t other_ = 0, note_ = 0, lines_ = 1, id_ = 0;
  bool once_ = false;  // the last stream stands in the first line of a sequence alone
};

std::string as_the_model(const std::string& text, const CtfOptions& options, KeyMode keys, std::size_t block,
                         const std::string& path) {
  const Schema schema(options, {});
  OpenContext context;
  context.keys = std::make_shared<KeyTable>(keys);
  model::Reader slow(schema, options.element, options.skip_sequence_ids, keys != KeyMode::numeric);
  const std::string fast = read_all(options, path, context, block), model = slow.read(text);
  return fast == model ? "" : "read:  " + fast + "\nmodel: " + model;
}

TEST(OneLine, RowsAreReadAsTheModelSays) {
  const batchfeed::testing::ScratchFolder folder;
  for (std::uint64_t seed = 0; seed < 1'200; ++seed) {
    Rows rows(seed);
    const std::string text = rows.text(seed % 50 == 0 ? 3'000 : 1 + rows.below(200));
    CtfOptions options = options_for(rows.declared(), 100'000);
    options.element = rows.below(2) == 0 ? Element::f32 : Element::f64;
    options.skip_sequence_ids = rows.below(6) == 0;
    options.trace_level = rows.below(8) == 0 ? 2 : 0;
    const KeyMode keys = text.front() != '|' && rows.below(3) == 0 ? KeyMode::text : KeyMode::numeric;
    const batchfeed::testing::Tier forced(std::array{"scalar", "avx2", "avx512"}[seed % 3]);
    const std::size_t block = rows.below(3) == 0 ? 1 + rows.below(300) : 1 << 16;
    ASSERT_EQ(as_the_model(text, options, keys, block, folder.write("t", text)), "")
        << "seed " << seed << ", blocks of " << block << '\n'
        << text.substr(0, 3'000);
  }
}

// Behind rows of known forms, one that goes on in the next block.
TEST(OneLine, LongSequencesMayFollowRows) {
  const batchfeed::testing::ScratchFolder folder;
  const CtfOptions options = options_for({"A:d2", "B:s8"}, 100'000);
  std::string text;
  for (std::uint64_t id = 0; id < 600; ++id) {
    const std::uint64_t lines = id % 23 == 22 ? 40 : 1;
    for (std::uint64_t n = 0; n < lines; ++n) {
      text += std::to_string(id) + " |A 0." + std::to_string(100 + id) + " -" + std::to_string(n % 10) + " |B " +
              std::to_string(id % 8) + ":1\n";
    }
  }
  const std::string path = folder.write("t", text);
  for (const char* tier : {"avx2", "avx512"}) {
    const batchfeed::testing::Tier forced(tier);
    for (std::size_t block = 200; block < 1'000; block += 7)
      ASSERT_EQ(as_the_model(text, options, KeyMode::numeric, block, path), "") << tier << ", blocks of " << block;
  }
}

// Sequences of more than one line say nothing of those of one, nor does damage.
TEST(OneLine, OnlyWholeLinesAreLearned) {
  const batchfeed::testing::ScratchFolder folder;
  const CtfOptions options = options_for({"A:d2", "B:s8"}, 100'000);
  // @: another id, &: the same again
  for (const char* lines : {"@ |A 1 2\n& |B 3:1\n@ |A 1 2\n@ |A 1 2 |B 3:1\n", "@ |A 1 2\n|B 3:1\n@ |B 3:1\n@ |A 1 2\n",
                            "@ |A x |A 1 2 |B 3:1\n@ |A 1 2 |A 1 2 |B 3:1\n", "@ |# c\n|A 1 2 |B 3:1\n@ |# c |\n"}) {
    std::string text;
    std::uint64_t id = 0;
    for (int i = 0; i < 200; ++i) {
      for (const char* p = lines; *p != '\0'; ++p) {
        if (*p == '@') ++id;
        text += *p == '@' || *p == '&' ? std::to_string(id) : std::string(1, *p);
      }
    }
    EXPECT_EQ(as_the_model(text, options, KeyMode::numeric, 1 << 16, folder.write("t", text)), "") << lines;
  }
}

// What is told of a line is told of one that is like those before.
TEST(OneLine, NothingIsReadInSilence) {
  const auto told = [](const std::string& text, int trace_level) {
    CtfOptions options = options_for({"A:d2", "B:s8", "C:d4", "D:s100"}, 10);
    options.element = Element::f32;
    options.trace_level = trace_level;
    const Opened opened(text, options);
    opened.read();
    return opened.collector.ids();
  };
  const std::string row = "|A 1 2 |B 3:1 |C 1 2 3 4 |D 1:1 2:1 3:1 4:1 |Q 7\n";
  std::string rows;
  for (int i = 0; i < 8; ++i) rows += row;
  EXPECT_THAT(told(rows, 1), IsEmpty());
  const std::vector<std::string> all = told(rows, 2);
  EXPECT_EQ(std::count(all.begin(), all.end(), "ctf.unknown-input"), 8);
  EXPECT_EQ(std::count(all.begin(), all.end(), "ctf.loaded"), 8);
  for (int i = 0; i < 100; ++i) rows += row;
  for (const char* before : {"|A 1 ", "|B 3:", "|C 1 2 3 ", "2:1 3:1 4:"}) {
    std::string odd = row;
    odd.replace(odd.find(before) + std::strlen(before), 1, "1e99");
    EXPECT_THAT(told(rows + odd + rows, 1), ElementsAre("ctf.overflow")) << odd;
  }
}

// The first ten of a kind are told, here those of the first ten rows, six of which were read before.
TEST(OneLine, RowsAreToldOfBehindQuietOnes) {
  CtfOptions options = options_for({"A:d2"}, 10);
  options.trace_level = 2;
  std::string rows;
  for (int i = 0; i < 400; ++i) rows += "|A 1 2\n";
  Chunk chunk;  // with room for all, without which no row is read the short way
  Opened(rows, options).source->read(0, chunk);
  const Opened opened(rows, options);
  opened.source->row_reader(0)->read(0, RowRange{.first = 0, .last = 6}, chunk);
  opened.source->read(0, chunk);
  std::vector<std::uint64_t> lines;
  for (const Notice& notice : opened.collector.notices) {
    if (notice.fault.id == "ctf.loaded") lines.push_back(notice.fault.at.line);
  }
  EXPECT_THAT(lines, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
}

}  // namespace
}  // namespace batchfeed::ctf
