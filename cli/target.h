// SPDX-License-Identifier: MIT
//
// A corpus to be written: what `head`, `cat`, `sample`, `grep`, `split`, `merge` and
// `shuffle` share.
#pragma once

#include <batchfeed/convert.h>

#include <CLI/App.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "corpus.h"

namespace batchfeed::cli {

// What the headers of HTK features are told to say.
struct HeaderOptions {
  std::string parameter_kind;
  std::optional<std::uint32_t> frame_period;

  void add_to(CLI::App& app, const char* group);
  // What is not told is as in the corpora, if any of the targets' formats holds such features. Throws Error.
  void set(ConvertOptions& options, const std::vector<Format>& formats, const std::vector<const Setup*>& corpora) const;
};

struct TargetOptions {
  std::string output, to;
  std::vector<std::string> streams;
  HeaderOptions header;
  bool force = false, verify = false, json = false;

  // `what` describes -o; without it a command has other ways to name its targets.
  void add_to(CLI::App& app, const char* what);
  // For targets of these formats, the first of which options.to is. Throws Error.
  ConvertOptions options(const std::vector<Format>& formats, const CorpusArguments& corpus,
                         const std::vector<const Setup*>& setups) const;
};

// Sequences for people and programs: into a new corpus with -o, else to standard output.
struct SequenceOptions {
  TargetOptions target;
  std::string format;  // view, ctf, jsonl; empty: view on a terminal, else ctf

  void add_to(CLI::App& app);
  // That no option is for another place than where the sequences go. Throws UsageError.
  void check() const;
  bool to_file() const { return !target.output.empty() && target.output != "-"; }
};

// All sequences of a source, in its order, to where nothing stands: expect_absent(). Exit code.
int put_sequences(const std::shared_ptr<const Source>& source, const SequenceOptions& options,
                  const CorpusArguments& corpus, const Setup& setup, Console& console);

}  // namespace batchfeed::cli
