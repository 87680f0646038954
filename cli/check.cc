// SPDX-License-Identifier: MIT
//
// `batchfeed check`: every fault of a corpus, in one go.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "command.h"
#include "corpus.h"
#include "fix.h"
#include "format.h"
#include "hints.h"
#include "jsonl.h"

namespace batchfeed::cli {

namespace {

using nlohmann::ordered_json;

struct CheckArguments {
  CorpusArguments corpus;
  std::uint64_t max_faults = 1000;
  std::string fix;  // the mended file to write
  bool force = false, json = false;
};

// Prints findings to standard output as they come.
class Findings {
 public:
  Findings(Output& output, Console& console, bool json) : output_(output), console_(console), json_(json) {}

  void add(const Notice& notice) {
    if (notice.severity == Severity::info && !console_.verbose) return;
    if (notice.severity == Severity::warning && console_.quiet) return;
    const std::lock_guard lock(mutex_);
    count(notice);
    if (json_) {
      all_.push_back(notice_json(notice));
      return;
    }
    console_.clear_progress();
    output_.append(text(notice));
    output_.breathe();
  }

  // The counts of the findings so far.
  CheckResult counts() const { return counts_; }
  ordered_json take() { return all_.is_null() ? ordered_json::array() : std::move(all_); }

 private:
  std::string text(const Notice& notice) const {
    const std::string line = finding_text(notice);
    if (!console_.colour_out()) return line + "\n";
    return fmt::format("\033[{}m{}\033[0m\n", notice.severity == Severity::error ? 31 : 33, line);
  }

  void count(const Notice& notice) {
    if (notice.severity == Severity::info) return;
    ++(notice.severity == Severity::error ? counts_.faults : counts_.warnings);
    ++counts_.by_id[notice.fault.id];
  }

  Output& output_;
  Console& console_;
  bool json_;
  std::mutex mutex_;
  CheckResult counts_;
  ordered_json all_;
};

// A hint at --fix, if it can mend what was found.
std::string next_step(const CheckResult& result) {
  std::string kinds;
  for (const char* id : {"cbf.unsorted-indices", "ctf.repeated-id"}) {
    if (result.by_id.contains(id)) kinds += (kinds.empty() ? "" : ", ") + std::string(id);
  }
  return kinds.empty() ? "" : fmt::format("  --fix FILE writes a copy in which that is mended: {}\n", kinds);
}

// `mends`: whether --fix accepts what was checked.
std::string summary(const CheckResult& result, const CheckArguments& a, bool mends) {
  std::string out;
  if (!result.by_id.empty()) {
    Table table({"count", "rule"});
    for (const auto& [id, count] : result.by_id) table.row({count_text(count), id});
    out += "\n" + table.text();
    if (result.faults + result.warnings > a.max_faults) {
      out += fmt::format("  only the first {} are listed; --max-faults N lists more\n", count_text(a.max_faults));
    }
    if (mends) out += next_step(result);
    out += "\n";
  }
  out += fmt::format("checked {} in {}", plural(result.samples, "sample"), plural(result.sequences, "sequence"));
  if (result.sources > 1) out += fmt::format(" of {}", plural(result.sources, "source"));
  if (result.bytes != 0) out += fmt::format(", {}", bytes_text(result.bytes));
  out += result.faults == 0 ? ": no fault" : fmt::format(": {}", plural(result.faults, "fault"));
  if (result.warnings != 0) out += fmt::format(", {}", plural(result.warnings, "warning"));
  if (!result.complete) out += result.sequences == 0 ? "; the data could not be read" : "; not all of it could be read";
  return out + "\n";
}

ordered_json summary_json(const CheckResult& result, ordered_json findings, ordered_json fixes) {
  ordered_json out;
  out["faults"] = result.faults;
  out["warnings"] = result.warnings;
  out["by_id"] = ordered_json::object();
  for (const auto& [id, count] : result.by_id) out["by_id"][id] = count;
  out["sequences"] = result.sequences;
  out["samples"] = result.samples;
  out["bytes"] = result.bytes;
  out["sources"] = result.sources;
  out["complete"] = result.complete;
  out["findings"] = std::move(findings);
  out["fixes"] = std::move(fixes);
  return out;
}

// Checks text from a pipe, whose streams are inferred from its beginning. If even that is damaged, it is a finding, as
// for a file.
CheckResult check_input(const CheckArguments& a, const CheckOptions& options, const Report& report) {
  CtfOptions ctf;
  ctf.element = a.corpus.precision.value_or(Element::f32);
  try {
    return check_stream(STDIN_FILENO, "-", ctf, options, report, a.corpus.limits());
  } catch (const Error& error) {
    Fault fault = error.fault();
    if (fault.kind == FaultKind::io || fault.kind == FaultKind::internal) throw;
    if (fault.at.file.empty()) fault.at.file = "-";
    report({.severity = Severity::error, .fault = fault});
    CheckResult result;
    result.faults = 1;
    result.by_id[fault.id] = 1;
    result.complete = false;
    return result;
  }
}

// The corpus to check; nothing if the configuration or the file is at fault, which has been added to
// `findings`.
std::optional<Corpus> load(CorpusArguments corpus, Console& console, Findings& findings, const Report& report) {
  corpus.all_faults = true;
  corpus.cache_index = false;  // a check looks at all data
  corpus.cache_dir.clear();
  try {
    return load_corpus(corpus, console, report);
  } catch (const Error& error) {
    const Fault& fault = error.fault();
    if (fault.kind == FaultKind::io) throw;
    if (findings.counts().faults != 0) return std::nullopt;
    // A file that asks for more than a limit is at fault, too.
    if (fault.kind != FaultKind::format && (fault.kind != FaultKind::limit || fault.at.file.empty())) throw;
    findings.add({.severity = Severity::error, .fault = fault});
    return std::nullopt;
  }
}

void add(CheckResult& sum, const CheckResult& one) {
  sum.faults += one.faults;
  sum.warnings += one.warnings;
  for (const auto& [id, count] : one.by_id) sum.by_id[id] += count;
  sum.sequences += one.sequences;
  sum.samples += one.samples;
  sum.bytes += one.bytes;
  sum.sources += one.sources;
  sum.complete = sum.complete && one.complete;
}

// Checks one corpus, and counts the faults of its configuration, too. `mends`: see summary().
CheckResult look_at(const CheckArguments& a, const std::optional<Mended>& mended, Console& console, Findings& findings,
                    bool& mends) {
  const Report report = [&](const Notice& notice) { findings.add(notice); };
  CheckOptions options;
  options.max_faults = a.max_faults;
  if (a.corpus.files.front() == "-") {
    options.progress = console.progress("checking");
    return check_input(a, options, report);
  }
  CheckResult result;
  std::optional<Corpus> corpus = load(mended ? mended->arguments : a.corpus, console, findings, report);
  if (corpus && mended) mended->point(corpus->setup);
  console.clear_progress();
  const CheckResult configuration = findings.counts();
  if (corpus) {
    if (corpus->config && !corpus->config->minibatch_size.empty())
      corpus->setup.reader.minibatch_size = corpus->config->minibatch_size;
    options.progress = console.progress("checking");
    result = check(corpus->setup, options, report);
    mends = !mended && !next_step(result).empty() && can_mend(*corpus, a.corpus);
  }
  result.complete = result.complete && corpus.has_value();
  add(result, configuration);
  return result;
}

// Checks each reader section of a configuration that has several, one after the other; JSON has all of them together.
int check_sections(const CheckArguments& a, const std::vector<std::string>& sections, Console& console) {
  Output output;
  CheckResult all;
  ordered_json told = ordered_json::array();
  for (const std::string& section : sections) {
    CheckArguments one = a;
    one.corpus.section = section;
    if (!a.json) output.append(fmt::format("{}{}:\n", &section == &sections.front() ? "" : "\n", section));
    Findings findings(output, console, a.json);
    bool mends = false;
    const CheckResult result = look_at(one, {}, console, findings, mends);
    console.clear_progress();
    add(all, result);
    for (ordered_json& finding : findings.take()) told.push_back(std::move(finding));
    if (!a.json) output.append(summary(result, one, false));
  }
  if (a.json) output.append(dump(summary_json(all, std::move(told), {}), 2) + "\n");
  output.flush();
  return all.faults == 0 ? kDone : kFaults;
}

// Throws UsageError for options that do not apply to text from a pipe: it is neither a configuration nor labels, and
// names no files.
void expect_for_input(const CorpusArguments& corpus) {
  const char* const unused = !corpus.section.empty()      ? "--section"
                             : !corpus.set.empty()        ? "--set"
                             : !corpus.state_list.empty() ? "--state-list"
                             : !corpus.map_path.empty()   ? "--map-path"
                                                          : nullptr;
  if (unused != nullptr)
    throw UsageError(
        fmt::format("{} is not for standard input, which is text without a configuration; hint: leave "
                    "it out, or name files",
                    unused));
}

int run_check(const CheckArguments& a, Console& console) {
  if (a.corpus.files.size() > 1 && std::ranges::find(a.corpus.files, "-") != a.corpus.files.end())
    throw UsageError("standard input (-) is checked by itself; hint: cat FILE... | batchfeed check -");
  if (a.corpus.files.front() == "-") expect_for_input(a.corpus);
  if (a.fix.empty()) {
    const std::vector<std::string> sections = sections_to_choose(a.corpus);
    if (!sections.empty()) return check_sections(a, sections, console);
  }
  Output output;
  std::optional<Mended> mended;
  if (!a.fix.empty()) {
    mended = mend(a.corpus, a.fix, a.force, console);
    if (!a.json) output.append(mended->text());
  }
  Findings findings(output, console, a.json);
  bool mends = false;
  const CheckResult result = look_at(a, mended, console, findings, mends);
  console.clear_progress();
  output.append(a.json ? dump(summary_json(result, findings.take(), mended ? mended->json() : ordered_json()), 2) + "\n"
                       : summary(result, a, mends));
  output.flush();
  return result.faults == 0 ? kDone : kFaults;
}

}  // namespace

Run add_check(CLI::App& app, Console& console) {
  auto arguments = std::make_shared<CheckArguments>();
  CLI::App& command =
      add_command(app, "check", "Every fault of a corpus or configuration, with place, cause and cure",
                  "batchfeed check train.cntk                     # all that its reader sections name\n"
                  "batchfeed check train.ctf                      # streams as the file suggests\n"
                  "batchfeed check train.ctf.gz                   # compressed with gzip or zstd\n"
                  "some-program | batchfeed check -               # from a pipe\n"
                  "batchfeed check train.cntk --json > faults.json\n"
                  "batchfeed check train.ctf --fix mended.ctf     # a mended copy, checked as well\n"
                  "\n"
                  "Exit status: 0 no fault, 1 faults found or data that cannot be read, 3 no such file.");
  arguments->corpus.add_to(command, false);
  command.add_option("--max-faults", arguments->max_faults, "List at most so many (default 1000); all are counted")
      ->type_name("N");
  command
      .add_option(
          "--fix", arguments->fix,
          "Write a mended copy and check it; mended are line ends, lines of one id that are apart, unsorted sparse "
          "entries and wrong chunk tables")
      ->type_name("FILE");
  command.add_flag("--force", arguments->force, "--fix may replace a file");
  command.add_flag("--json", arguments->json, "As JSON");
  return [arguments, &console] { return run_check(*arguments, console); };
}

}  // namespace batchfeed::cli
