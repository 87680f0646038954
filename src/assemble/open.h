// SPDX-License-Identifier: MIT
//
// Options to sources: formats.cc is the one place that knows which formats there are.
#pragma once

#include <batchfeed/options.h>
#include <batchfeed/source.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/open_context.h"

namespace batchfeed::assemble {

// One source of a setup; several files of one corpus become one source. A shared
// Source is passed through.
std::unique_ptr<Source> open_one(const SourceOptions& options, const OpenContext& context);

// What a join has to know of a source's format.
struct Nature {
  bool is_speech = false;    // utterances, which have as many labels as frames
  bool may_be_first = true;  // of several, and so give order and chunks
  bool is_numbered = false;  // its keys count its sequences, whatever it calls them
  bool has_numbers = false;  // a source of the caller's own, whose keys are numbers
  // Leaves out sequences, by their numbers over all chunks, and cuts chunks anew; null: chunks stay as cut.
  void (*leave_out)(Source& source, const std::vector<std::uint64_t>& gone) = nullptr;
  std::uint64_t (*too_long)(const Source& source) = nullptr;  // sequences it left out for their length
};
Nature nature_of(const SourceOptions& options);

// All sources, joined by key as a reader does it. Notices of what was left out
// go to the context's report: in a check one for each thing, unless `only_sums`.
std::unique_ptr<Source> open_all(const Setup& setup, const OpenContext& context, bool only_sums = false);

// All corpora of a setup, one behind the other.
std::unique_ptr<Source> open_as_one(const Setup& setup, const OpenContext& context, bool only_sums = false);

// The corpora of a mixture, else the one there is; each as open_all().
std::vector<std::shared_ptr<const Source>> open_corpora(const Setup& setup, const OpenContext& context);

// One setup for each corpus of a mixture, else the setup as it is.
std::vector<Setup> corpora_of(const Setup& setup);

// Shell patterns in a list of files replaced by the files they name, sorted. Folders that
// are closed to us are left out, which is reported.
std::vector<std::string> expand(const std::vector<std::string>& names, const FileSystem& file_system = {},
                                const Limits& limits = {}, const Report& report = {});

// The context a setup asks for.
OpenContext context_of(const Setup& setup);

}  // namespace batchfeed::assemble
