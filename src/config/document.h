// SPDX-License-Identifier: MIT
//
// What one run of load_config shares: the joined text, its source map, the
// limits, and the notices made on the way. Internals take texts, so tests and
// the fuzzer need no disk.
#pragma once

#include <batchfeed/limits.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/quoted.h"
#include "config/text.h"

namespace batchfeed::config {

// One thing given to the loader, in order: a file, or text of the command line.
struct Input {
  std::string name;  // path; for text: how it is called in messages
  std::string text;  // text inputs only
  bool is_file = true;
};

// Content of a file by its path as written; throws Error.
using Open = std::function<std::string(const std::string& path)>;

class Section;

class Document {
 public:
  Document(Limits limits, Report report);
  ~Document();
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

  // Reads inputs and their includes into one text (lex.cc).
  void load(const std::vector<Input>& inputs, const Open& open);

  // Content of a file, by the `open` that load() was given: for lists that keys name.
  std::string open(const std::string& path) const { return open_(path); }

  const Text& text() const noexcept { return text_; }
  const SourceMap& map() const noexcept { return map_; }
  const Limits& limits() const noexcept { return limits_; }
  Position position(Origin at) const { return map_.position(at); }

  // Throws Error(config) at `at`.
  [[noreturn]] void fail(Origin at, std::string id, std::string what, std::string hint = {}) const;
  // Throws Error(limit); `field` is the name in Limits.
  [[noreturn]] void over_limit(Origin at, const char* field, std::uint64_t limit, std::string what) const;

  // While faults are collected, each that is held is reported as an error, and the work goes on.
  void collect_faults(bool collect) noexcept { collect_ = collect; }
  bool collects_faults() const noexcept { return collect_; }
  // To be called in a handler of Error: holds its fault. Throws it again while quiet, if faults
  // are not collected, if it is an internal one, or if kFaults are held.
  void hold(const Error& error);
  // Before another section is bound: drops the faults held, and gives it a budget of $variables$ and elements of its
  // own, within that of all sections. Warnings given stay noted, so that none comes twice.
  void start_anew() noexcept;
  // The faults held, in the order in which they were met.
  const std::vector<Fault>& faults() const noexcept { return faults_; }

  // The same warning at the same place is given once.
  void warn(Origin at, std::string id, std::string what, std::string hint = {});
  void note(Origin at, std::string id, std::string what, std::string hint = {});

  // Count what a few bytes of text can make many of; throw Error(limit) beyond the budget.
  void count_expansion(Origin at, std::size_t bytes);
  void count_copy(Origin at, std::size_t bytes);           // by a variable, or by sections that inherit it
  void count_elements(Origin at, std::uint64_t elements);  // of arrays and lists
  // While quiet, notices are dropped: for looking around before the real reading.
  void set_quiet(bool quiet) noexcept { quiet_ = quiet; }

  // Sections live as long as the document.
  Section& keep(std::unique_ptr<Section> section);

 private:
  friend class Lexer;
  void tell(Severity severity, Origin at, std::string id, std::string what, std::string hint);

  Limits limits_;
  Report report_;
  Open open_;
  SourceMap map_;
  Text text_;
  bool quiet_ = false;
  bool collect_ = false;
  std::vector<Fault> faults_;
  static constexpr std::uint64_t kNoticesPerId = 100;
  static constexpr std::size_t kFaults = 1000;  // that are held of a section; each is compared with those before it
  static constexpr std::uint64_t kBudgets = 2;  // all sections together may spend this many times the limit of one
  std::set<std::pair<Origin, std::string>> told_;
  std::map<std::string, std::uint64_t> given_;  // notices by id
  struct Budget {
    std::uint64_t spent = 0, before = 0;  // of this section, and of those before it
    // False beyond `limit`.
    bool take(std::uint64_t n, std::uint64_t limit) noexcept {
      spent += n;
      return spent <= limit && (before + spent) / kBudgets <= limit;
    }
    void start_anew() noexcept { before += std::exchange(spent, 0); }
  };
  Budget expansions_, copied_bytes_, elements_;
  std::vector<std::unique_ptr<Section>> sections_;
};

}  // namespace batchfeed::config
