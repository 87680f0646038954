// SPDX-License-Identifier: MIT
//
// For tests: configurations from texts, and results as short texts to compare.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/load.h"
#include "config/parse.h"
#include "config/section.h"

namespace batchfeed::config::testing {

// " | " stands for a line break.
std::string lines(std::string_view text);

// A document over texts; what it reports is kept.
struct World {
  std::map<std::string, std::string> files;  // by path; the first input is "c.cntk"
  std::vector<std::string> set;
  Limits limits;
  std::optional<Element> precision;
  bool all_faults = false;
  std::vector<Notice> notices;
  std::unique_ptr<Document> doc;

  explicit World(std::string_view text) { files["c.cntk"] = lines(text); }

  Document& load();
  LoadedConfig bind(const std::string& section = {});
  bool reported(std::string_view id) const;  // "config.unknown-key"
};

// key='text' for each entry in order; groups as they stand.
std::string dump(const Section& section);

// The section at a dotted path; "a[1]" is an element of an array.
const Section& at(const Section& root, std::string_view path);

// What a Setup says, in words: "ctf file=f f32 ... | cntk 128 chunks | sequences".
std::string summary(const Setup& setup);

// Runs `work` and gives its text, or "!id" of the Error it throws.
template <class Work>
std::string outcome(Work work) {
  try {
    return work();
  } catch (const Error& error) {
    return '!' + error.fault().id;
  }
}

// A section bound, and the words that its summary holds, with ", " between them, "." at its end;
// "!id" is an error, "~id" a warning.
struct BindCase {
  const char* id;
  std::string text;
  const char* expected;
};
void check(const BindCase& c, World& world, const std::string& section);
void run(const BindCase& c, const std::string& section = {});

// Reader sections with one dense stream A, and more.
std::string text_reader(const std::string& more, const std::string& input = "A=[dim=1;format=dense]");
std::string composite(const std::string& reader, const std::string& element = "",
                      const std::string& input = "A=[dim=1;format=dense]");

}  // namespace batchfeed::config::testing
