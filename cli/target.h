// SPDX-License-Identifier: MIT
//
// Options about the corpus to be written, which `head`, `cat`, `sample`, `grep`, `split`, `merge` and
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

// What to write into the headers of HTK features.
struct HeaderOptions {
  std::string parameter_kind;
  std::optional<std::uint32_t> frame_period;

  void add_to(CLI::App& app, const char* group);
  // If a target holds HTK features: sets kind and period, which, if not given, are those of the corpora. Throws Error.
  void set(ConvertOptions& options, const std::vector<Format>& formats, const std::vector<const Setup*>& corpora) const;
};

struct TargetOptions {
  std::string output, to;
  std::vector<std::string> streams;
  HeaderOptions header;
  bool force = false, verify = false, json = false;

  // `what`: the description of -o; null for a command that names its targets in another way.
  void add_to(CLI::App& app, const char* what);
  // The options of a conversion to targets of these formats; its `to` is the first. Throws Error.
  ConvertOptions options(const std::vector<Format>& formats, const CorpusArguments& corpus,
                         const std::vector<const Setup*>& setups) const;
};

// Where sequences go: into a new corpus with -o, else to standard output.
struct SequenceOptions {
  TargetOptions target;
  std::string format;  // view, ctf, jsonl; empty: view on a terminal, else ctf

  void add_to(CLI::App& app);
  // Throws UsageError if an option does not apply to where the sequences go.
  void check() const;
  bool to_file() const { return !target.output.empty() && target.output != "-"; }
};

// Writes all sequences of a source, in its order. A target file must not exist: expect_absent(). Returns the exit code.
int put_sequences(const std::shared_ptr<const Source>& source, const SequenceOptions& options,
                  const CorpusArguments& corpus, const Setup& setup, Console& console);

}  // namespace batchfeed::cli
