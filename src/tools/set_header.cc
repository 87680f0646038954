// SPDX-License-Identifier: MIT
//
// Features read from HTK files and written as HTK keep the parameter kind and frame period of their headers.
#include <batchfeed/convert.h>
#include <batchfeed/speech_writer.h>

#include <algorithm>
#include <string>

#include "assemble/open.h"
#include "formats/htk/htk.h"
#include "tools/refuse.h"

namespace batchfeed {

namespace {

struct Said {
  std::string file;
  std::string kind;
  std::uint32_t period = 0;  // in 100 ns; 0: none, or one that cannot be written
};

Said said_by(const HtkOptions& options, const OpenContext& context) {
  constexpr std::uint32_t kMostPeriod = 10'000'000;
  htk::Facts facts;
  const std::unique_ptr<Source> source = htk::open(options, context, &facts);
  Said out{.file = options.first_file(), .kind = "USER", .period = facts.period > kMostPeriod ? 0 : facts.period};
  if (source->streams().front().dim == facts.dim) out.kind = facts.kind.substr(0, facts.kind.find(';'));
  return out;
}

// The headers of the features that are written: those of the first of `streams`, or of all if that is empty.
std::vector<Said> said_by(const Setup& setup, const std::vector<std::string>& streams) {
  std::vector<Said> out;
  OpenContext context = assemble::context_of(setup);
  context.report = {};  // notices are reported when the setup is opened, not here
  for (const Setup& corpus : assemble::corpora_of(setup)) {
    for (const SourceOptions& source : corpus.sources) {
      const auto* const htk = std::get_if<HtkOptions>(&source);
      if (htk == nullptr || (!streams.empty() && streams.front() != htk->name)) continue;
      out.push_back(said_by(*htk, context));
    }
  }
  return out;
}

}  // namespace

void set_header(ConvertOptions& options, const std::vector<const Setup*>& corpora) {
  if (options.frame_period && options.parameter_kind) return;
  std::vector<Said> all;
  for (const Setup* corpus : corpora) {
    for (Said& one : said_by(*corpus, options.streams)) all.push_back(std::move(one));
  }
  if (all.empty()) return;
  const Said& first = all.front();
  for (const Said& other : all) {
    const bool kinds = !options.parameter_kind && other.kind != first.kind;
    if (!kinds && (options.frame_period || other.period == first.period)) continue;
    const auto of = [&](const Said& s) {
      return kinds ? "kind " + s.kind : "a frame period of " + std::to_string(s.period) + " (in 100 ns)";
    };
    refuse("convert.header-differs", other.file,
           "its features have " + of(other) + ", those of '" + first.file + "' " + of(first) +
               ", and a file has one for all",
           "say what to write: `parameter_kind = USER`, `frame_period = 100000`");
  }
  if (!options.parameter_kind) options.parameter_kind = htk_kind(first.kind);
  if (!options.frame_period && first.period != 0) options.frame_period = first.period;
}

}  // namespace batchfeed
