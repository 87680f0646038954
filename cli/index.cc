// SPDX-License-Identifier: MIT
//
// `batchfeed index`: builds index caches, so that later runs start at once.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "command.h"
#include "corpus.h"
#include "format.h"
#include "jsonl.h"

namespace batchfeed::cli {

namespace {

using nlohmann::ordered_json;

struct IndexArguments {
  CorpusArguments corpus;
  bool rebuild = false, json = false;
};

ordered_json json(const std::vector<IndexBuild>& builds, double seconds) {
  ordered_json out;
  out["seconds"] = seconds;
  out["sources"] = ordered_json::array();
  const auto text = [](const std::string& s) { return s.empty() ? ordered_json() : ordered_json(s); };
  for (const IndexBuild& build : builds) {
    out["sources"].push_back({{"file", text(build.file)},
                              {"cache", text(build.cache)},
                              {"was_valid", build.was_valid},
                              {"why", text(build.why)},
                              {"sequences", build.sequences},
                              {"samples", build.samples},
                              {"chunks", build.chunks},
                              {"bytes", build.bytes}});
  }
  return out;
}

// `reasons`: why the index of a file could not be kept, which -q does not tell.
std::string text(const IndexBuild& build, const std::map<std::string, std::string>& reasons) {
  std::string out =
      fmt::format("{}{}{}, {}, {}\n", printable(build.file, kPathLength), build.file.empty() ? "" : ": ",
                  plural(build.sequences, "sequence"), plural(build.samples, "sample"), plural(build.chunks, "chunk"));
  if (build.was_valid) return out + fmt::format("  the index in {} is valid\n", printable(build.cache, kPathLength));
  if (!build.why.empty()) out += fmt::format("  built anew: {}\n", printable(build.why, kPathLength));
  if (!build.cache.empty()) return out + fmt::format("  kept in {}\n", printable(build.cache, kPathLength));
  if (const auto reason = reasons.find(build.file); reason != reasons.end() && !build.nothing_to_keep)
    return out + fmt::format("  {}; --cache-dir DIR names another folder\n", printable(reason->second, kPathLength));
  return out + (build.file.empty()       ? "  nothing to keep for this format\n"
                : !build.nothing_to_keep ? "  could not be kept: no folder takes it; --cache-dir DIR names another\n"
                : build.sequences == 0
                    ? "  nothing to keep: there is no utterance in it\n"
                    : "  not kept: its last utterance has no end line, and every run shall say so\n");
}

int run_index(const IndexArguments& a, Console& console) {
  CorpusArguments arguments = a.corpus;
  arguments.cache_index = true;
  arguments.rebuild_cache = a.rebuild;
  Corpus corpus = load_corpus(arguments, console);
  std::map<std::string, std::string> reasons;
  corpus.setup.report = [&, tell = corpus.setup.report](const Notice& notice) {
    if (notice.fault.id == "index.not-kept") reasons[notice.fault.at.file] = notice.fault.what;
    if (tell) tell(notice);
  };
  const auto began = std::chrono::steady_clock::now();
  const std::vector<IndexBuild> builds = build_indexes(corpus.setup, a.rebuild);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  console.clear_progress();
  Output output;
  if (a.json) {
    output.append(dump(json(builds, seconds), 2) + "\n");
  } else {
    for (const IndexBuild& build : builds) output.append(text(build, reasons));
    output.append(fmt::format("{}\n", seconds_text(seconds)));
  }
  output.flush();
  const bool kept = std::none_of(builds.begin(), builds.end(), [](const IndexBuild& build) {
    return !build.was_valid && build.cache.empty() && !build.nothing_to_keep;
  });
  return kept ? kDone : kInput;
}

}  // namespace

Run add_index(CLI::App& app, Console& console) {
  auto arguments = std::make_shared<IndexArguments>();
  CLI::App& command =
      add_command(app, "index", "Builds the index cache, so that later runs start at once",
                  "batchfeed index train.ctf\n"
                  "batchfeed index train.cntk --section Train.reader\n"
                  "batchfeed index train.ctf --cache-dir /tmp/indexes   # where the data folder is read-only");
  arguments->corpus.add_to(command, false);
  command.add_flag("--rebuild", arguments->rebuild, "Build it anew even if it is valid");
  command.add_flag("--json", arguments->json, "As JSON");
  return [arguments, &console] { return run_index(*arguments, console); };
}

}  // namespace batchfeed::cli
