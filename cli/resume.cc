// SPDX-License-Identifier: MIT
//
// `batchfeed resume`: whether a saved state fits a corpus, and what would come next.
#include <batchfeed/reader.h>
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "command.h"
#include "drive.h"
#include "format.h"
#include "hints.h"
#include "jsonl.h"
#include "sequences.h"

namespace batchfeed::cli {

namespace {

using nlohmann::ordered_json;

struct ResumeArguments {
  CorpusArguments corpus;
  DriveOptions drive;
  bool json = false;
};

struct Next {
  std::uint64_t epoch = 0, minibatch = 0, position = 0;
  bool new_epoch = false;                  // the state was saved at the end of the epoch before
  std::optional<std::uint64_t> left = {};  // minibatches left in the epoch, the next included; none: it has no end
  std::optional<BatchPlan> plan = {};      // of the next minibatch; none: the run is over
  std::uint64_t samples = 0;
};

// What comes next after a state. The state has been restored before, so it is sound.
Next next_of(Reader& reader, const std::string& state) {
  const ordered_json said = ordered_json::parse(state);
  Next out{.epoch = said.value("epoch", std::uint64_t{0}),
           .minibatch = said.value("minibatch", std::uint64_t{0}),
           .position = said.value("position", std::uint64_t{0})};
  std::vector<BatchPlan> plans = reader.plan(1);
  const bool timeline = reader.options().driver == ReaderOptions::Driver::timeline;
  if (said.value("ended", 0) != 0 && !timeline) {
    out.new_epoch = true;
    out.minibatch = 0;
    reader.begin_epoch(++out.epoch);
    plans = reader.plan(1);
  }
  if (const std::uint64_t left = reader.remaining(); left != ~0ull) out.left = left;
  if (plans.empty()) return out;
  out.plan = std::move(plans.front());
  for (const BatchPlan::Item& item : out.plan->items) out.samples += item.samples;
  return out;
}

std::string first_place(const Reader& reader, const BatchPlan& plan) {
  const BatchPlan::Item& item = plan.items.front();
  return fmt::format("key {}, {}", printable(reader.key_text(item.key)),
                     place_text(reader.source().place(item.chunk, item.row)));
}

std::string text(const ResumeArguments& a, const Reader& reader, const Next& next) {
  std::string out =
      fmt::format("{} fits {}\n", printable(a.corpus.files[0], kPathLength), printable(a.corpus.files[1], kPathLength));
  out += fmt::format("  it stands at sample {} of the run, behind ", count_text(next.position));
  out += next.new_epoch        ? fmt::format("the end of epoch {}\n", next.epoch - 1)
         : next.minibatch == 0 ? fmt::format("the beginning of epoch {}\n", next.epoch)
                               : fmt::format("{} of epoch {}\n", plural(next.minibatch, "minibatch"), next.epoch);
  if (!next.plan) return out + "  the run is over; nothing comes next\n";
  out += fmt::format("  next is minibatch {} of epoch {}: {}, {}{}\n", next.minibatch, next.epoch,
                     plural(next.plan->items.size(), "sequence"), plural(next.samples, "sample"),
                     reader.options().workers > 1 ? fmt::format(" for rank {}", reader.options().rank) : "");
  if (!next.plan->items.empty()) out += fmt::format("  its first: {}\n", first_place(reader, *next.plan));
  if (next.left) out += fmt::format("  {} of the epoch left, this one included\n", plural(*next.left, "minibatch"));
  return out;
}

ordered_json json(const Reader& reader, const Next& next) {
  ordered_json out;
  out["fits"] = true;
  out["why"] = nullptr;
  out["epoch"] = next.epoch;
  out["minibatch"] = next.minibatch;
  out["position"] = next.position;
  out["left"] = next.left ? ordered_json(*next.left) : ordered_json();
  out["next"] = nullptr;
  if (!next.plan) return out;
  out["next"] = {{"sequences", next.plan->items.size()}, {"samples", next.samples}, {"keys", ordered_json::array()}};
  for (const BatchPlan::Item& item : next.plan->items) out["next"]["keys"].push_back(reader.key_text(item.key));
  return out;
}

ordered_json refused(const Fault& fault) {
  return {{"fits", false},       {"why", fault.what + (fault.hint.empty() ? "" : "; hint: " + fault.hint)},
          {"epoch", nullptr},    {"minibatch", nullptr},
          {"position", nullptr}, {"left", nullptr},
          {"next", nullptr}};
}

int run_verify(const ResumeArguments& a, Console& console) {
  if (a.corpus.files.size() < 2)
    throw UsageError("a state and a corpus are needed; hint: batchfeed resume verify at100.json train.cntk");
  CorpusArguments arguments = a.corpus;
  arguments.files.erase(arguments.files.begin());
  const std::string state = load_state(a.corpus.files.front(), a.corpus.limits());
  Corpus corpus = load_corpus(arguments, console);
  a.drive.apply(corpus, corpus.setup.reader, console);
  corpus.setup.reader.prefetch = false;
  Reader reader(corpus.setup);
  console.clear_progress();
  try {
    restore(reader, state, a.corpus.files.front());
  } catch (const Error& error) {
    if (error.fault().kind != FaultKind::state) throw;
    const Fault fault = in_flags(error.fault());
    put_text(a.json ? dump(refused(fault), 2) + "\n"
                    : printable(fmt::format("{} does not fit {}: {}", a.corpus.files[0], a.corpus.files[1],
                                            fault.what + (fault.hint.empty() ? "" : "; hint: " + fault.hint)),
                                kPathLength) +
                          "\n");
    return kFaults;
  }
  const Next next = next_of(reader, state);
  return put_text(a.json ? dump(json(reader, next), 2) + "\n" : text(a, reader, next));
}

}  // namespace

Run add_resume(CLI::App& app, Console& console) {
  auto a = std::make_shared<ResumeArguments>();
  CLI::App& command = add_command(app, "resume", "Whether a run can resume from a saved state",
                                  "batchfeed resume verify at100.json train.cntk");
  command.require_subcommand(1);
  CLI::App& verify =
      add_command(command, "verify", "Does a state fit a corpus, and what would come next? No data are read",
                  "batchfeed resume verify at100.json train.cntk --section Train.reader\n"
                  "batchfeed resume verify at100.json train.ctf --minibatch-size 64 --json | jq .fits\n"
                  "\n"
                  "Give it the options of the run that saved the state. Exit status: 0 fits, 1 does not.");
  a->corpus.add_to(verify, true);
  verify.get_option("file")
      ->description("A saved state, then the configuration or corpus")
      ->type_name("STATE CONFIG|FILE");
  a->drive.add_to(verify);
  verify.add_flag("--json", a->json, "As JSON");
  return [a, &console] { return run_verify(*a, console); };
}

}  // namespace batchfeed::cli
