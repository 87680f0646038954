// SPDX-License-Identifier: MIT
//
// Infers the streams of a text corpus that comes without a declaration.
#include <batchfeed/tools.h>

#include <algorithm>
#include <map>

#include "assemble/open.h"
#include "base/counted.h"
#include "base/quoted.h"
#include "formats/ctf/ctf.h"
#include "formats/ctf/kept_streams.h"
#include "formats/ctf/line_map.h"
#include "tools/expect_text.h"

namespace batchfeed {

namespace {
// Widens `all`, inferred of the shards so far, so that it also fits `one`, inferred of the next shard.
void add(const Inferred& one, Inferred& all) {
  // Whether lines begin with ids is decided for each file by its first line.
  all.has_ids = all.has_ids || one.has_ids;
  all.text_ids = all.text_ids || one.text_ids;
  for (const Inferred::Stream& stream : one.streams) {
    const auto known = std::find_if(all.streams.begin(), all.streams.end(),
                                    [&](const Inferred::Stream& s) { return s.spec.name == stream.spec.name; });
    if (known == all.streams.end()) {
      all.streams.push_back(stream);
      continue;
    }
    if (stream.values != 0) {
      known->min = known->values == 0 ? stream.min : std::min(known->min, stream.min);
      known->max = known->values == 0 ? stream.max : std::max(known->max, stream.max);
    }
    if (stream.spec.storage == Storage::dense) known->spec.storage = Storage::dense;
    known->spec.dim = std::max(known->spec.dim, stream.spec.dim);
    known->integral = known->integral && stream.integral;
    known->one_hot = known->one_hot && stream.one_hot;
    known->samples += stream.samples;
    known->odd += stream.odd;
    known->values += stream.values;
    known->sequences += stream.sequences;
  }
  all.sequences += one.sequences;
  all.seen.insert(one.seen.begin(), one.seen.end());
}

// Moves streams that fewer than one sequence in ten has to `rare`. They are taken for typing errors: if such a stream
// were declared, a reader would drop all sequences without it.
void set_rare_apart(Inferred& inferred) {
  constexpr std::uint64_t kRareOf = 10;
  const auto is_common = [&](const Inferred::Stream& s) { return s.sequences * kRareOf >= inferred.sequences; };
  const auto from = std::stable_partition(inferred.streams.begin(), inferred.streams.end(), is_common);
  if (from == inferred.streams.begin()) return;  // all are rare, so none is an exception
  inferred.rare.assign(std::make_move_iterator(from), std::make_move_iterator(inferred.streams.end()));
  inferred.streams.erase(from, inferred.streams.end());
}

}  // namespace

std::vector<Notice> rare_streams(const Inferred& inferred, const Limits& limits, const FileSystem& file_system) {
  std::vector<Notice> out;
  for (const Inferred::Stream& stream : inferred.rare) {
    const io::File file(stream.file, file_system, limits);
    const std::uint64_t line = ctf::LineMap(file).line_of(stream.first_byte);
    out.push_back(
        {Severity::warning,
         Fault{.kind = FaultKind::format,
               .id = "infer.rare-stream",
               .at = {.file = stream.file, .byte = stream.first_byte, .line = line, .has_byte = true},
               .what = "stream " + quoted(stream.spec.name) + " stands in " + std::to_string(stream.sequences) +
                       " of " + counted(inferred.sequences, "sequence") + " only; taken for a slip and not read",
               .hint = "mend the name, or declare the stream in a configuration (`reader_section()` writes one)",
               .stream = stream.spec.name}});
  }
  return out;
}

Inferred infer_ctf(const std::string& path, std::uint64_t bytes, const Progress& progress, const Limits& limits,
                   const FileSystem& file_system) {
  const bool whole = bytes == ~0ull;
  const io::File file(path, file_system, limits);
  if (whole) tools::expect_text(file);
  Inferred out = ctf::infer(file, bytes, progress, limits);
  if (whole) tools::expect_values(path, out);
  set_rare_apart(out);
  return out;
}

Inferred infer_ctf(const std::vector<std::string>& files, const Progress& progress, const Limits& limits,
                   const FileSystem& file_system, const InferCache& cache) {
  Inferred all;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const io::File file(files[i], file_system, limits);
    if (!file.is_remote()) tools::expect_text(file);  // for a remote file it would cost one more request
    Inferred one = ctf::kept_or_inferred(file, cache, progress, limits, file_system);
    if (i == 0) {
      all = std::move(one);
    } else {
      add(one, all);
    }
  }
  if (!files.empty()) tools::expect_values(files.front(), all);
  set_rare_apart(all);
  return all;
}

void fit_inferred(std::vector<std::vector<SourceOptions>>& mix, const Limits& limits, const FileSystem& file_system) {
  fit_labels(mix, limits, file_system);
  std::map<std::string, StreamSpec> fits;
  const auto each_stream = [&](const auto& function) {
    for (std::vector<SourceOptions>& corpus : mix) {
      for (SourceOptions& source : corpus) {
        auto* const text = std::get_if<CtfOptions>(&source);
        if (text == nullptr || text->seen.empty()) continue;
        for (StreamSpec& stream : text->streams) function(stream);
      }
    }
  };
  each_stream([&](const StreamSpec& stream) {
    StreamSpec& fit = fits.try_emplace(stream.name, stream).first->second;
    fit.dim = std::max(fit.dim, stream.dim);
    if (stream.storage == Storage::dense) fit.storage = Storage::dense;
  });
  each_stream([&](StreamSpec& stream) {
    const StreamSpec& fit = fits.find(stream.name)->second;
    stream.dim = fit.dim;
    stream.storage = fit.storage;
  });
}

std::vector<std::string> expand_files(const std::vector<std::string>& names, const FileSystem& file_system,
                                      const Limits& limits, const Report& report) {
  return assemble::expand(names, file_system, limits, report);
}

}  // namespace batchfeed
