// SPDX-License-Identifier: MIT
//
// `batchfeed report`: a corpus on one page.
#include <fmt/format.h>

#include <memory>

#include "command.h"
#include "convert.h"
#include "format.h"
#include "report_facts.h"

namespace batchfeed::cli {

namespace {

struct ReportArguments {
  CorpusArguments corpus;
  RunOptions run;
  std::string output;
  bool json = false;
};

int run_report(const ReportArguments& a, Console& console) {
  if (!a.corpus.mix_weights.empty()) throw UsageError("--mix-weights: a page is of one corpus; hint: a page for each");
  const bool to_file = !a.output.empty() && a.output != "-";
  if (to_file && a.json) expect_own(a.output, "{\n  \"files\"", "report", "\n  \"advice\": [");
  if (to_file && !a.json) expect_own(a.output, "<!doctype html>", "report", " - batchfeed report</title>");
  const Facts facts = gather_facts(a.corpus, a.run, console);
  const std::string text = a.json ? report_json(facts) : report_page(facts);
  if (!to_file) return put_text(text);
  save_file(a.output, text);
  console.say(fmt::format("{}: {}, {}, {} of advice", printable(a.output, kPathLength),
                          plural(facts.survey.sequences, "sequence"), plural(facts.survey.check.faults, "fault"),
                          plural(facts.advice.size(), "piece")));
  return kDone;
}

}  // namespace

Run add_report(CLI::App& app, Console& console) {
  auto arguments = std::make_shared<ReportArguments>();
  CLI::App& command =
      add_command(app, "report", "A corpus on one page: streams, values, lengths, shuffle, faults, advice",
                  "batchfeed report train.ctf -o report.html        # open it in any browser\n"
                  "batchfeed report train.cntk --minibatch-size 512 -o report.html\n"
                  "batchfeed report train.cntk --json | jq .advice");
  arguments->corpus.add_to(command, true);
  arguments->run.add_to(command);
  command.add_option("-o,--output", arguments->output, "The page (default: standard output)")->type_name("FILE");
  command.add_flag("--json", arguments->json, "The figures as JSON instead");
  return [arguments, &console] { return run_report(*arguments, console); };
}

}  // namespace batchfeed::cli
