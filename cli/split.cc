// SPDX-License-Identifier: MIT
//
// `batchfeed split`: a corpus divided into training and test data.
#include <batchfeed/split.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>

#include "command.h"
#include "convert.h"
#include "corpus.h"
#include "format.h"
#include "jsonl.h"
#include "target.h"

namespace batchfeed::cli {

namespace {

using nlohmann::ordered_json;

struct SplitArguments {
  CorpusArguments corpus;
  TargetOptions target;
  std::vector<std::string> parts;
  SplitOptions split;
};

struct Named {
  std::vector<std::string> targets;
  std::vector<double> fractions;
};

// The file that a part is written to, with links resolved; for a list of features, the file of the features.
std::filesystem::path file_of(const std::string& part) {
  std::error_code none;
  std::filesystem::path out = std::filesystem::weakly_canonical(std::filesystem::absolute(part, none), none);
  if (out.extension() == ".scp") out.replace_extension(".htk");
  return out;
}

// The parts, given as FILE=FRACTION; one may be only FILE, and takes the rest.
Named parts_of(const SplitArguments& a) {
  Named out;
  std::size_t rest = a.parts.size();
  double sum = 0;
  if (a.parts.size() < 2) throw UsageError("two parts are needed; hint: --part train.ctf --part test.ctf=0.1");
  for (std::size_t i = 0; i < a.parts.size(); ++i) {
    const std::string& part = a.parts[i];
    const std::size_t equals = part.rfind('=');
    const std::string name = part.substr(0, equals);
    const auto same = std::find_if(out.targets.begin(), out.targets.end(),
                                   [&](const std::string& target) { return file_of(target) == file_of(name); });
    if (same != out.targets.end())
      throw UsageError(fmt::format("--part {}: this file is named twice{}", part,
                                   *same == name ? "" : fmt::format(", as {} is the same or writes it too", *same)));
    out.targets.push_back(name);
    out.fractions.push_back(0);
    if (equals == std::string::npos) {
      if (rest != a.parts.size())
        throw UsageError(fmt::format("--part {}: only one part takes the rest; hint: {}=0.1", part, part));
      rest = i;
      continue;
    }
    char* end = nullptr;
    const double fraction = std::strtod(part.c_str() + equals + 1, &end);
    if (end == part.c_str() + equals + 1 || *end != '\0' || !(fraction > 0 && fraction < 1))
      throw UsageError(fmt::format("--part {}: expected FILE=FRACTION, above 0 and below 1", part));
    out.fractions.back() = fraction;
    sum += fraction;
  }
  if (rest != a.parts.size()) out.fractions[rest] = 1 - sum;
  if (rest == a.parts.size() ? std::abs(sum - 1) > 1e-6 : sum >= 1)
    throw UsageError(fmt::format("the parts sum to {:g}, expected 1; hint: one --part FILE alone takes the rest", sum));
  return out;
}

std::string summary(const Named& named, const std::vector<ConvertResult>& results, double seconds) {
  std::uint64_t all = 0;
  for (const ConvertResult& result : results) all += result.sequences;
  Table table({"file", "sequences", "part", "samples", "size"});
  for (std::size_t i = 0; i < results.size(); ++i) {
    const ConvertResult& r = results[i];
    table.row({printable(named.targets[i], kPathLength), count_text(r.sequences),
               fmt::format("{:.4g} %", 100 * static_cast<double>(r.sequences) / static_cast<double>(all)),
               count_text(r.samples), bytes_text(r.bytes)});
  }
  return table.text("") +
         (results.front().left_out == 0
              ? ""
              : fmt::format("{} left out, damaged\n", plural(results.front().left_out, "sequence"))) +
         fmt::format("{}\n", seconds_text(seconds));
}

ordered_json json(const Named& named, const std::vector<Format>& formats, const std::vector<ConvertResult>& results,
                  double seconds) {
  ordered_json out;
  out["parts"] = ordered_json::array();
  for (std::size_t i = 0; i < results.size(); ++i) {
    out["parts"].push_back({{"target", named.targets[i]},
                            {"format", name(formats[i])},
                            {"fraction", named.fractions[i]},
                            {"sequences", results[i].sequences},
                            {"samples", results[i].samples},
                            {"bytes", results[i].bytes}});
  }
  out["left_out"] = results.front().left_out;
  out["seconds"] = seconds;
  return out;
}

int run_split(SplitArguments a, Console& console) {
  const Named named = parts_of(a);
  std::vector<Format> formats;
  for (const std::string& target : named.targets) {
    formats.push_back(target_format(a.target.to, target));
    expect_absent(target, a.target.force);
  }
  Setup setup;
  const std::shared_ptr<const Source> source = open_for_conversion(a.corpus, console, &setup);
  for (std::size_t i = 0; i < formats.size(); ++i) expect_no_source(named.targets[i], formats[i], setup);
  const auto began = std::chrono::steady_clock::now();
  console.clear_progress();
  interrupt::deferred(true);
  a.split.fractions = named.fractions;
  a.split.jobs = a.corpus.threads.value_or(0);
  a.split.progress = interrupt::at_steps(console.progress("looking at labels"));
  const Parts parts = as_asked([&] { return split_parts(*source, a.split); });
  console.clear_progress();
  ConvertOptions options = a.target.options(formats, a.corpus, {&setup});
  options.progress = interrupt::at_steps(console.progress("writing"));
  const std::vector<ConvertResult> results =
      as_asked([&] { return split(*source, parts, named.targets, formats, options); });
  console.clear_progress();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return put_text(a.target.json ? dump(json(named, formats, results, seconds), 2) + "\n"
                                : summary(named, results, seconds));
}

}  // namespace

Run add_split(CLI::App& app, Console& console) {
  auto a = std::make_shared<SplitArguments>();
  CLI::App& command =
      add_command(app, "split", "Divides a corpus into parts: training and test data",
                  "batchfeed split all.ctf --part train.ctf --part test.ctf=0.1\n"
                  "batchfeed split all.ctf --part train.cbf=0.8 --part valid.cbf=0.1 --part test.cbf=0.1 --exact\n"
                  "batchfeed split all.cntk --part train.ctf --part test.ctf=0.2 --stratify labels\n"
                  "batchfeed split all.scp --part train.scp --part test.scp=0.1 --group /    # speakers stay together");
  a->corpus.add_to(command, false);
  const char* const group = "Parts";
  command.add_option("--part", a->parts, "A file to write, and its part of the sequences; one without takes the rest")
      ->take_all()
      ->allow_extra_args(false)
      ->type_name("FILE[=FRACTION]")
      ->group(group);
  command.add_option("--seed", a->split.seed, "Another seed divides otherwise (default 0)")
      ->type_name("N")
      ->group(group);
  command.add_flag("--exact", a->split.exact, "Exactly these fractions, instead of by each key alone")->group(group);
  command.add_option("--stratify", a->split.stratify, "Exact within each class of this stream of labels")
      ->type_name("STREAM")
      ->group(group);
  command
      .add_option("--group", a->split.group,
                  "Sequences whose keys agree up to the last of these characters stay together")
      ->type_name("CHARS")
      ->group(group);
  a->target.add_to(command, nullptr);
  command.remove_option(command.get_option("--verify"));
  return [a, &console] { return run_split(*a, console); };
}

}  // namespace batchfeed::cli
