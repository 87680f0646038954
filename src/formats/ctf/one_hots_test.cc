// SPDX-License-Identifier: MIT
#include "formats/ctf/one_hots.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <regex>

#include "formats/ctf/marks.h"
#include "formats/ctf/source.h"
#include "formats/ctf/testing.h"
#include "support/faulty_sys.h"
#include "support/tier.h"

namespace batchfeed::ctf {
namespace {

using ::batchfeed::testing::ScratchFolder;

// Streams, those of them that are looked for, and within how many bytes of a sample if there is a limit.
struct Case {
  std::vector<std::string> streams;
  std::size_t count;
  std::string names;
  std::ptrdiff_t name_and_index;
  std::size_t margin;  // bytes that are looked at from a mark on
};
const std::array<Case, 2> kCases = {
    Case{{"a:s100", "word:s9999999", "dense:d2", "b=label:s12", "far=beyond_thirteen:s5"}, 3, "a|word|label", 10, 16},
    Case{{"a:s100", "word:s9999999", "b=label:s12", "longer:s5", "source_words:s9999999", "word13letters:s9", "ab:s3",
          "w8_bytes:s99", "ninth:s3"},
         8,
         "a|word|label|longer|source_words|word13letters|ab|w8_bytes",
         99,
         32}};

std::string sample(std::mt19937& random) {
  const auto one_of = [&](const std::vector<std::string>& all) { return all[random() % all.size()]; };
  const auto mostly = [&](const std::string& usual, const std::vector<std::string>& others) {
    return random() % 8 != 0 ? usual : one_of(others);
  };
  const std::string name =
      mostly(one_of({"a", "word", "label", "a", "word", "label", "source_words", "word13letters", "w8_bytes"}),
             {"b", "ab", "wor", "words", "longer", "dense", "source_word", "word13letters_", "w8_byte", "#", ""});
  const std::string digits = std::to_string(random() >> random() % 32);
  const std::string index = mostly(digits, {"", "0", "000012", "9999999", "12345678", "-1", "1.5", "\xC3"});
  const std::string value = mostly(std::to_string(random() % 10), {"", "10", "-1", "0.5", "1e3", "x", "1 2:1"});
  return '|' + name + mostly(" ", {"", "  ", "\t"}) + index + mostly(":", {"", "::", " :"}) + value +
         mostly(one_of({"", " ", "\t"}), {"  ", "\r", " \r", " |# 1:1 "});
}

// At a mark, by the letter of one_hots.h.
std::string obvious(const char* mark, const Case& of, const std::regex& form) {
  if (*mark == '\n') return "newline";
  std::cmatch found;
  const std::string bytes(mark, of.margin);
  if (!std::regex_search(bytes.c_str(), found, form, std::regex_constants::match_continuous)) return "other";
  if (found[1].length() + found[2].length() > of.name_and_index) return "other";
  return found[1].str() + ' ' + std::to_string(std::stoi(found[2])) + ' ' + found[3].str();
}

void expect_found(const Case& of) {
  const std::regex form("\\|(" + of.names + ") ([0-9]{1,7}):([0-9])[ \\t]?([|\\n]|\\r\\n)");
  CtfOptions options = options_for(of.streams);
  const Limits limits;
  const Schema schema(options, limits);
  const OneHotNames names(schema);
  ASSERT_EQ(names.count, of.count);  // no dense one, none with a long name, and no ninth
  for (const char* tier : {"scalar", "avx2", "avx512", "neon"}) {
    const FindOneHots find = find_one_hots(tier);
    const ListMarks list = list_marks(tier);
    std::mt19937 random(5);
    std::size_t samples = 0;
    const std::array<std::string, 2> ends = {"\n", "\r\n"};
    for (int round = 0; round < 1000; ++round) {
      std::string text;
      for (std::size_t n = 1 + random() % 9; n > 0; --n)
        text += random() % 4 == 0 ? ends[random() % 2] + "12 " : sample(random);
      text += ends[random() % 2];
      // Exactly as much memory as may be looked at.
      const auto memory = std::make_unique<char[]>(text.size() + of.margin);
      std::memset(memory.get(), '1', text.size() + of.margin);
      std::memcpy(memory.get(), text.data(), text.size());
      const std::size_t pieces = (text.size() + 63) / 64;
      std::string padded = text;
      padded.resize(pieces * 64 + 1, '1');
      std::vector<std::uint16_t> marks(kMostMarks + 64);
      const std::size_t count = list(padded.data(), pieces, marks.data());
      std::vector<std::int32_t> index(count + 32);
      std::vector<std::int16_t> note(count + 32);
      marks.resize(count + 32);
      std::size_t wanted = 0;
      const std::size_t found = find(memory.get(), marks.data(), count, names, {index.data(), note.data()});
      for (std::size_t i = 0; i < count; ++i) {
        const std::string due = obvious(memory.get() + mark_distance(marks[i]), of, form);
        wanted += due != "other" && due != "newline" ? 1u : 0u;
        const OneHot hot{.index = index[i], .note = note[i]};
        const std::string is = hot.kind() == OneHot::kNewline ? "newline"
                               : hot.kind() == OneHot::kOther
                                   ? "other"
                                   : schema.alias(static_cast<std::size_t>(hot.kind())) + ' ' +
                                         std::to_string(hot.index) + ' ' + std::to_string(hot.value());
        ASSERT_EQ(is, due) << tier << ", byte " << mark_distance(marks[i]) << " of " << text;
      }
      // Up to three are looked at twice.
      ASSERT_GE(found, wanted);
      ASSERT_LE(found, wanted + 3);
      samples += wanted;
    }
    EXPECT_GT(samples, 600u);  // that it is not all others
  }
}

TEST(OneHots, AreFoundWhereTheFormIsThatOfTheHeader) {
  for (const Case& of : kCases) expect_found(of);
}

// All that a source gives of a file, and tells of it.
std::string all_of(const std::string& path, const CtfOptions& options, std::uint64_t block) {
  Collector told;
  std::string out;
  const auto tell = [&out](const Fault& fault) { out += fault.id + ' ' + std::to_string(fault.at.line) + '\n'; };
  try {
    const CtfSource source(options, path, told.context(), {.block = block});
    Chunk chunk;
    for (std::uint32_t c = 0; c < source.chunks().size(); ++c) {
      source.read(c, chunk);
      const auto bytes = [&out](const auto& buffer) {
        out.append(reinterpret_cast<const char*>(buffer.data()), buffer.size() * sizeof(*buffer.data()));
        out += ';';
      };
      for (const Column& column : chunk.columns) {
        bytes(column.first_sample);
        bytes(column.begin);
        bytes(column.first_value);
        bytes(column.values);
        bytes(column.indices);
      }
      out.append(chunk.invalid.begin(), chunk.invalid.end());
    }
  } catch (const Error& e) {
    tell(e.fault());
  }
  for (const Notice& n : told.notices) tell(n.fault);
  return out;
}

std::string with_names(const std::string& text, const std::string& prefix) {
  return std::regex_replace(text, std::regex("\\|(word|label)(?=[ \\t\\r\\n|])"), "|" + prefix + "$1");
}

// Lines alike, with others in between: of other ids, in another order, short of a stream, with one twice, too
// long an index, or damage. The same with names that are too long to be looked for is read one by one.
TEST(OneHots, GiveWhatIsReadOneByOne) {
  const ScratchFolder folder;
  std::mt19937 random(23);
  for (int round = 0; round < 100; ++round) {
    const std::size_t odd = round % 3 == 0 ? 0 : 3 + random() % 60;
    const auto now = [&] { return odd != 0 && random() % odd == 0; };
    const bool comments = random() % 2 == 0, values = random() % 2 == 0;
    const auto value = [&] { return ':' + std::to_string(values || now() ? random() % 10 : 1) + ' '; };
    const std::string end = random() % 2 == 0 ? "\n" : "\r\n";
    std::string text;
    // Ids of a few bytes, and of as many as may be remembered, or one more.
    const std::uint64_t first =
        std::array<std::uint64_t, 5>{0, 1000000, 10000000, 10000000000000, 1000000000000000}[random() % 5];
    for (unsigned id = 0; id < 60; ++id) {
      for (std::size_t lines = 1 + random() % (random() % 5 == 0 ? 200 : 20); lines > 0; --lines) {
        const std::string word =
            "|word " + std::to_string(now() ? 99999999 : random() % 70000) + value() + (comments ? "|# w\t" : "");
        const std::string tag =
            "|label " + std::to_string(random() % (now() ? 20 : 12)) + value() + (comments ? "|# t" : "");
        if (!now())
          text += (now() ? "0" : "") + std::to_string(first + (now() ? id + 1 : id)) + (now() ? " junk " : "\t");
        text += now()   ? tag + word
                : now() ? word
                : now() ? word + word + tag
                : now() ? sample(random) + word + tag
                        : word + tag;
        text += now() ? "\n\n" : end;
      }
    }
    const bool words_first = now(), ends = random() % 2 == 0;
    const auto options = [&](const std::string& prefix) {
      const std::string word = "w=" + prefix + "word:s70000", label = "l=" + prefix + "label:s12";
      CtfOptions o =
          options_for(words_first ? std::vector{word, label + '!'} : std::vector{label, word}, ends ? 0 : ~0ull);
      o.element = round % 2 == 0 ? Element::f32 : Element::f64;
      o.trace_level = 2;
      return o;
    };
    const std::string beyond = "beyond_thirteen_";
    const std::string due = all_of(folder.write("beyond.ctf", with_names(text, beyond)), options(beyond), 1 << 20);
    for (const char* prefix : {"", "long"}) {
      const std::string path = folder.write("found.ctf", with_names(text, prefix));
      for (const char* tier : {"scalar", "avx2", ""}) {
        const testing::Tier forced(tier);
        ASSERT_EQ(all_of(path, options(prefix), 1u + random() % 5000), due) << prefix << ", round " << round;
      }
    }
  }
}

}  // namespace
}  // namespace batchfeed::ctf
