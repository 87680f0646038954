// SPDX-License-Identifier: MIT
//
// Builds index caches ahead of need, and looks for them, as `batchfeed index` does.
#include <batchfeed/tools.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "assemble/open.h"
#include "formats/ctf/ctf.h"
#include "formats/mlf/cache.h"
#include "io/file.h"

namespace batchfeed {

namespace {

IndexBuild of_labels(const MlfOptions& options, const std::string& file, const OpenContext& context) {
  const mlf::CacheState found = mlf::find_cache(options, file, context);
  return {.file = file, .cache = found.path, .was_valid = found.valid, .why = found.why, .sequences = found.utterances};
}

// Builds the index of one label file: each file has a cache of its own.
IndexBuild build_labels(MlfOptions options, const std::string& file, OpenContext context, bool rebuild) {
  IndexBuild out = of_labels(options, file, context);
  std::error_code none;
  if (rebuild && out.was_valid) std::filesystem::remove(out.cache, none);
  options.files = {file};
  options.cache_index = true;
  options.trace_level = std::max(options.trace_level, 1);
  bool refused = false;
  context.report = [&refused, report = context.report](const Notice& notice) {
    refused = refused || notice.fault.id == "index.not-kept";
    if (report) report(notice);
  };
  const Description about = describe(*assemble::open_one(options, context));
  const mlf::CacheState after = mlf::find_cache(options, file, context);
  out.was_valid = out.was_valid && !rebuild;
  out.cache = after.valid ? after.path : "";
  out.nothing_to_keep = !after.valid && !refused;
  out.sequences = about.sequences;
  out.samples = about.samples;
  out.chunks = about.chunks;
  out.bytes = io::File(file, context.file_system).size();
  return out;
}

// For formats without an index cache: only counts, from opening the source.
IndexBuild of_other(const SourceOptions& options, const OpenContext& context) {
  const std::unique_ptr<Source> source = assemble::open_one(options, context);
  const Description about = describe(*source);
  return {.nothing_to_keep = true,
          .sequences = about.sequences,
          .samples = about.samples,
          .chunks = about.chunks,
          .bytes = about.bytes};
}

// The sources of all corpora of a mixture, or of the only corpus.
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
        out.push_back(ctf::build_index(*text, file, context, rebuild));
    } else if (const auto* labels = std::get_if<MlfOptions>(&options)) {
      for (const std::string& file : labels->files) out.push_back(build_labels(*labels, file, context, rebuild));
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
    for (const std::string& file : assemble::expand(text->files, context.file_system, context.limits, context.report))
      out.push_back(ctf::find_index(*text, file, context));
  }
  return out;
}

}  // namespace batchfeed
