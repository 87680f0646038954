// SPDX-License-Identifier: MIT
//
// Index caches built ahead of need, as `batchfeed index` does, and looked for.
#include <batchfeed/tools.h>

#include <filesystem>
#include <system_error>

#include "assemble/open.h"
#include "formats/ctf/ctf.h"
#include "formats/mlf/cache.h"
#include "io/file.h"

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

IndexBuild of_labels(const MlfOptions& options, const std::string& file, const OpenContext& context) {
  const mlf::CacheState found = mlf::find_cache(options, file, context);
  return {.file = file, .cache = found.path, .was_valid = found.valid, .why = found.why, .sequences = found.utterances};
}

std::vector<IndexBuild> build_labels(MlfOptions options, const OpenContext& context, bool rebuild) {
  options.cache_index = true;
  std::vector<IndexBuild> out;
  for (const std::string& file : options.files) {
    const IndexBuild before = of_labels(options, file, context);
    std::error_code none;
    if (rebuild && before.was_valid) std::filesystem::remove(before.cache, none);
    out.push_back(before);
  }
  const std::unique_ptr<Source> source = assemble::open_one(options, context);
  for (IndexBuild& one : out) {
    const IndexBuild after = of_labels(options, one.file, context);
    one.was_valid = one.was_valid && !rebuild;
    one.cache = after.cache;
    one.sequences = after.sequences;
    one.bytes = io::File(one.file, context.file_system).size();
  }
  if (out.size() == 1) {
    const Description about = describe(*source);
    out.front().samples = about.samples;
    out.front().chunks = about.chunks;
  }
  return out;
}

// Other formats keep no cache; opening them says how large they are.
IndexBuild of_other(const SourceOptions& options, const OpenContext& context) {
  const std::unique_ptr<Source> source = assemble::open_one(options, context);
  const Description about = describe(*source);
  return {.sequences = about.sequences, .samples = about.samples, .chunks = about.chunks, .bytes = about.bytes};
}

// Of every corpus of a mixture, else of the one there is.
std::vector<SourceOptions> all_sources(const Setup& setup) {
  std::vector<SourceOptions> out;
  for (const Setup& corpus : assemble::corpora_of(setup))
    out.insert(out.end(), corpus.sources.begin(), corpus.sources.end());
  return out;
}

}  // namespace

std::vector<IndexBuild> build_indexes(const Setup& setup, bool rebuild) {
  const OpenContext context = assemble::context_of(setup);
  std::vector<IndexBuild> out;
  for (const SourceOptions& options : all_sources(setup)) {
    if (const auto* text = std::get_if<CtfOptions>(&options)) {
      for (const std::string& file : assemble::expand(text->files, context.file_system, context.limits, context.report))
        out.push_back(of_text(*text, file, context, rebuild));
    } else if (const auto* labels = std::get_if<MlfOptions>(&options)) {
      for (IndexBuild& one : build_labels(*labels, context, rebuild)) out.push_back(std::move(one));
    } else {
      out.push_back(of_other(options, context));
    }
  }
  return out;
}

std::vector<IndexBuild> find_indexes(const Setup& setup) {
  const OpenContext context = assemble::context_of(setup);
  std::vector<IndexBuild> out;
  for (const SourceOptions& options : all_sources(setup)) {
    if (const auto* labels = std::get_if<MlfOptions>(&options)) {
      for (const std::string& file : labels->files) out.push_back(of_labels(*labels, file, context));
    }
    const auto* text = std::get_if<CtfOptions>(&options);
    if (text == nullptr) continue;
    for (const std::string& file : assemble::expand(text->files, context.file_system, context.limits, context.report)) {
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
