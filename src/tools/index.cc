// SPDX-License-Identifier: MIT
//
// Index caches built ahead of need, as `batchfeed index` does, and looked for.
#include <batchfeed/tools.h>

#include "assemble/open.h"
#include "formats/ctf/ctf.h"

namespace batchfeed {

namespace {

IndexBuild of_text(const CtfOptions& options, const std::string& file, const OpenContext& context, bool rebuild) {
  const ctf::IndexBuild built = ctf::build_index(options, file, context, rebuild);
  return {.file = file,
          .cache = built.path,
          .was_valid = built.was_valid,
          .why = built.why,
          .sequences = built.sequences,
          .samples = built.samples,
          .chunks = built.chunks,
          .bytes = built.bytes};
}

// Other formats are opened, which writes their cache if their options say so.
IndexBuild of_other(const SourceOptions& options, const OpenContext& context) {
  const std::unique_ptr<Source> source = assemble::open_one(options, context);
  const Description about = describe(*source);
  return {.sequences = about.sequences, .samples = about.samples, .chunks = about.chunks, .bytes = about.bytes};
}

// Of every corpus of a mixture, else of the one there is.
std::vector<SourceOptions> sources_of(const Setup& setup) {
  std::vector<SourceOptions> out;
  for (const Setup& corpus : assemble::corpora_of(setup))
    out.insert(out.end(), corpus.sources.begin(), corpus.sources.end());
  return out;
}

}  // namespace

std::vector<IndexBuild> build_indexes(const Setup& setup, bool rebuild) {
  const OpenContext context = assemble::context_of(setup);
  std::vector<IndexBuild> out;
  for (const SourceOptions& options : sources_of(setup)) {
    if (const auto* text = std::get_if<CtfOptions>(&options)) {
      for (const std::string& file : assemble::expand(text->files))
        out.push_back(of_text(*text, file, context, rebuild));
    } else {
      out.push_back(of_other(options, context));
    }
  }
  return out;
}

std::vector<IndexBuild> find_indexes(const Setup& setup) {
  const OpenContext context = assemble::context_of(setup);
  std::vector<IndexBuild> out;
  for (const SourceOptions& options : sources_of(setup)) {
    const auto* text = std::get_if<CtfOptions>(&options);
    if (text == nullptr) continue;
    for (const std::string& file : assemble::expand(text->files)) {
      const ctf::IndexBuild found = ctf::find_index(*text, file, context);
      out.push_back({.file = file,
                     .cache = found.path,
                     .was_valid = found.was_valid,
                     .why = found.why,
                     .sequences = found.sequences});
    }
  }
  return out;
}

}  // namespace batchfeed
