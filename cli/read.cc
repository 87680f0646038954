// SPDX-License-Identifier: MIT
//
// `batchfeed read`: minibatches, as a trainer would get them.
#include <batchfeed/reader.h>
#include <batchfeed/tools.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "command.h"
#include "convert.h"
#include "corpus.h"
#include "drive.h"
#include "explain.h"
#include "format.h"
#include "jsonl.h"
#include "print.h"

namespace batchfeed::cli {

namespace {

struct ReadArguments {
  CorpusArguments corpus;
  DriveOptions drive;
  std::optional<std::uint64_t> epochs;  // 1 if not given
  std::string change;                   // of --switch, M:N:K
  std::optional<std::uint64_t> limit;
  std::string save_state, after, state, format;
  std::optional<std::uint64_t> explain;
  std::size_t sequences = 4;
};

std::vector<std::uint64_t> parse_colons(std::string_view text, std::size_t parts, const char* option,
                                        const char* form) {
  std::vector<std::uint64_t> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t colon = std::min(text.find(':', at), text.size());
    out.push_back(parse_number(text.substr(at, colon - at), option));
    at = colon + 1;
  }
  if (out.size() != parts) throw UsageError(fmt::format("{}: '{}' should be {}", option, printable(text), form));
  return out;
}

struct Switch {
  std::uint64_t after = 0, workers = 1, rank = 0;
};
struct Mark {
  std::uint64_t epoch = 0, minibatches = 0;
};

// The run that the arguments ask for, computed before it begins.
struct Plan {
  bool timeline = false;
  std::uint64_t end_epoch = 1;  // first epoch not to be read
  bool over = false;            // the state to go on from stands behind all epochs
  bool no_sweeps = false;       // epochs of no sweeps: each ends at once (minibatch.md 3)
  std::optional<Switch> change;
  std::optional<Mark> save_after;
};

Plan make_plan(const ReadArguments& a) {
  Plan plan;
  if (a.epochs == 0u) throw UsageError("--epochs 0: expected 1 or more; hint: --limit 0 reads nothing");
  plan.timeline = a.drive.timeline();
  plan.no_sweeps = a.drive.epoch_sweeps == 0u;
  plan.end_epoch = a.drive.start_epoch + std::min(a.epochs.value_or(1), ~a.drive.start_epoch);
  if (!a.change.empty()) {
    const auto n = parse_colons(a.change, 3, "--switch", "M:N:K, go on after M minibatches as rank K of N workers");
    if (n[2] >= n[1])
      throw UsageError(fmt::format("--switch: rank {} must be below the number of workers, {}", n[2], n[1]));
    plan.change = Switch{.after = n[0], .workers = n[1], .rank = n[2]};
  }
  if (a.explain && !a.save_state.empty())
    throw UsageError("--explain reads nothing, so there is no state to save; hint: leave out --save-state");
  if (!a.after.empty()) {
    if (a.save_state.empty()) throw UsageError("--after says when to save a state; hint: give --save-state FILE too");
    const auto n = parse_colons(a.after, 2, "--after", "E:M, when M minibatches of epoch E have been read");
    plan.save_after = Mark{.epoch = n[0], .minibatches = n[1]};
  }
  return plan;
}

// The epoch in which a state goes on. The state has been restored before, so it is sound.
std::uint64_t next_epoch(const std::string& state) {
  const nlohmann::json said = nlohmann::json::parse(state);
  return said.value("epoch", std::uint64_t{0}) + said.value("ended", std::uint64_t{0});
}

// One run over the minibatches, handing each to `show`, which may leave them in `output` for a while.
class Session {
 public:
  Session(Reader& reader, const ReadArguments& a, const Plan& plan, Output& output)
      : reader_(reader), a_(a), plan_(plan), output_(output) {}

  template <class Show>
  void go(const Show& show) {
    if (a_.state.empty()) save_if(a_.drive.start_epoch, 0);
    if (plan_.no_sweeps) end_at_once(show);
    Minibatch batch;
    while (a_.limit != 0u && !plan_.over && !plan_.no_sweeps) {
      if (plan_.change && given_ == plan_.change->after) {
        reader_.set_workers(plan_.change->workers, plan_.change->rank);
        changed_ = true;
      }
      const bool any = reader_.read(batch);
      interrupt::check();
      if (any) invalid += batch.invalid;
      if (!any || (plan_.timeline && batch.end_of_epoch && batch.empty())) {
        // The answer that ends the epoch counts, as other ranks may have data in it.
        if (batch.end_of_epoch) save_if(batch.epoch, batch.index + 1);
        break;
      }
      ++given_;
      minibatches += 1;
      samples += batch.num_samples;
      sequences += batch.num_sequences;
      show(batch);
      save_if(batch.epoch, batch.index + 1);
      if (!step(batch)) break;
    }
    finish();
  }

  // Whether the run reached the place of --switch, if that was given.
  bool switched() const { return changed_ || !plan_.change; }

  std::uint64_t minibatches = 0, samples = 0, sequences = 0, invalid = 0;

 private:
  // Shows one empty answer for each epoch, and none for a timeline.
  template <class Show>
  void end_at_once(const Show& show) {
    for (Minibatch batch; !plan_.timeline && a_.limit != 0u && minibatches < plan_.end_epoch - a_.drive.start_epoch;) {
      interrupt::check();
      batch.epoch = a_.drive.start_epoch + minibatches++;
      batch.end_of_epoch = true;
      show(batch);
    }
  }

  // Counts a minibatch that was shown, and begins the next epoch where --limit cut this one. False at the end of the
  // run.
  bool step(const Minibatch& batch) {
    ++in_epoch_;
    const bool cut = a_.limit && in_epoch_ == *a_.limit;
    if (!batch.end_of_epoch && !cut) return true;
    in_epoch_ = 0;
    if (plan_.timeline || batch.epoch + 1 >= plan_.end_epoch) return false;
    if (!batch.end_of_epoch) reader_.begin_epoch(batch.epoch + 1);
    save_if(batch.epoch + 1, 0);
    return true;
  }

  void save_if(std::uint64_t epoch, std::uint64_t minibatches_read) {
    if (!plan_.save_after || plan_.save_after->epoch != epoch || plan_.save_after->minibatches != minibatches_read)
      return;
    save();
    saved_ = true;
  }

  // A state is of minibatches that were given out: a run that goes on from it does not give them again.
  void save() {
    output_.flush();
    save_state(a_.save_state, reader_.state());
  }

  void finish() {
    if (a_.save_state.empty() || saved_) return;
    if (plan_.save_after) {
      throw UsageError(
          fmt::format("no state saved: the run ended before minibatch {} of epoch {}; hint: give --after E:M a "
                      "place inside the run, or none for its end",
                      plan_.save_after->minibatches, plan_.save_after->epoch));
    }
    save();
  }

  Reader& reader_;
  const ReadArguments& a_;
  const Plan& plan_;
  Output& output_;
  std::uint64_t given_ = 0, in_epoch_ = 0;
  bool saved_ = false, changed_ = false;
};

// Names the options that can have made the reader leave sequences out.
const char* why_skipped(const ReaderOptions& o) {
  if (o.full_minibatches) return "miniBatchMode = full asks";
  if (o.pack.kind == Packing::truncated)
    return "another minibatch size or number of workers gives up what waits in rows";
  return "--long-sequence or --last-minibatch asks";
}

// Warns of differences between what was asked for and what was read.
void say_what_differs(const Reader& reader, const Session& session, const ReadArguments& a, Console& console) {
  if (!session.switched()) {
    console.warn({.kind = FaultKind::usage,
                  .id = "cli.unused",
                  .what = fmt::format("--switch {} changes nothing: the run ended after {}", a.change,
                                      plural(session.minibatches, "minibatch"))});
  }
  if (session.invalid != 0) {
    console.say(fmt::format("batchfeed: {} left out, as {} damaged; hint: batchfeed check says where",
                            plural(session.invalid, "sequence"), session.invalid == 1 ? "it is" : "they are"));
  }
  if (reader.skipped() != 0) {
    console.say(fmt::format("batchfeed: {} left out, as {}", plural(reader.skipped(), "sequence"),
                            why_skipped(reader.options())));
  }
  if (const Padding padding = reader.padding(); padding.unbucketed != 0) {
    console.say(fmt::format("batchfeed: bucketing saved {:.0f} % of the padding: {} cells for {}, {} without it",
                            100 * padding.saved(), count_text(padding.cells), plural(padding.samples, "sample"),
                            count_text(padding.unbucketed)));
  }
}

void run_session(Reader& reader, const ReadArguments& a, const Plan& plan, const std::string& format,
                 Console& console) {
  Output output;
  Text text;
  const PrintOptions print_options{.width = console.width(), .sequences = a.sequences, .colour = console.colour_out()};
  const auto began = std::chrono::steady_clock::now();
  Session session(reader, a, plan, output);
  std::set<std::string> told;  // notices that were told when the reader was opened
  for (const Notice& notice : reader.source().notices()) told.insert(notice.fault.text());
  try {
    session.go([&](const Minibatch& batch) {
      if (format == "none") return;
      if (format == "jsonl") {
        text.clear();
        append_jsonl(batch, reader, text);
        output.append(text.view());
      } else {
        output.append(print(batch, reader, print_options));
      }
      output.breathe();
    });
  } catch (...) {
    output.flush();  // writes the minibatches before the error
    throw;
  }
  output.flush();
  console.clear_progress();
  for (const Notice& notice : reader.source().notices()) {
    if (!told.contains(notice.fault.text())) console.notice(notice);
  }
  say_what_differs(reader, session, a, console);
  if (format == "none") {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    console.say(fmt::format("batchfeed: {}, {}, {} in {} ({} samples/s)", plural(session.minibatches, "minibatch"),
                            plural(session.sequences, "sequence"), plural(session.samples, "sample"),
                            seconds_text(seconds),
                            count_text(static_cast<std::uint64_t>(static_cast<double>(session.samples) / seconds))));
  }
}

int run_read(const ReadArguments& a, Console& console) {
  const std::string format = !a.format.empty() ? a.format : console.terminal_out() ? "text" : "jsonl";
  Plan plan = make_plan(a);
  if (plan.timeline && a.epochs) {
    console.warn({.kind = FaultKind::usage,
                  .id = "cli.unused",
                  .what = "--epochs changes nothing: the driver minibatch-source has no epochs",
                  .hint = "--epoch-sweeps or --epoch-size says where it ends"});
  }
  if (!a.save_state.empty()) expect_own(a.save_state, "{\"batchfeed_state\"", "state");
  try {
    Corpus corpus = load_corpus(a.corpus, console);
    a.drive.apply(corpus, corpus.setup.reader, console);
    Reader reader(corpus.setup);
    console.clear_progress();
    if (!a.state.empty()) {
      const std::string state = load_state(a.state, a.corpus.limits());
      restore(reader, state, a.state);
      const std::uint64_t next = next_epoch(state);
      if (!plan.timeline && next >= plan.end_epoch && !plan.over) {
        plan.over = true;
        console.say(
            fmt::format("batchfeed: nothing is left to read: the state goes on in epoch {}; hint: --epochs {} reads it",
                        next, next + 1 - a.drive.start_epoch));
      }
    }
    interrupt::deferred(true);
    if (a.explain) {
      put_text(explain(reader, *a.explain, format == "jsonl"));
    } else {
      run_session(reader, a, plan, format, console);
    }
  } catch (const Error& error) {
    console.clear_progress();
    if (format == "jsonl") {
      nlohmann::ordered_json line;
      line["error"] = fault_json(error.fault());
      put_text(dump(line) + "\n");
    }
    throw;
  }
  return kDone;
}

void add_run_options(CLI::App& command, ReadArguments& a) {
  const char* const run = "Run";
  command.add_option("--epochs", a.epochs, "Epochs to read (default 1)")->type_name("N")->group(run);
  command.add_option("--limit", a.limit, "Minibatches of each epoch at most")->type_name("N")->group(run);
  command.add_option("--switch", a.change, "After M minibatches, go on as rank K of N workers")
      ->type_name("M:N:K")
      ->group("Workers");
  const char* const state = "Resume";
  // An empty name, as from a shell variable that is not set, would silently mean that nothing is read or saved.
  const auto named = [](const std::string& file) {
    return std::string(file.empty() || file == "-" ? "expected the name of a file" : "");
  };
  command.add_option("--save-state", a.save_state, "Write the state at the end of the run, or where --after says")
      ->check(named)
      ->type_name("FILE")
      ->group(state);
  command.add_option("--after", a.after, "The state when M minibatches of epoch E have been read")
      ->type_name("E:M")
      ->group(state);
  command.add_option("--state", a.state, "Resume from a saved state; numbers of epochs and minibatches continue")
      ->check(named)
      ->type_name("FILE")
      ->group(state);
  const char* const shown = "Output";
  command
      .add_option("--format", a.format,
                  "text, jsonl (one object a minibatch) or none (default: text on a terminal, else jsonl)")
      ->check(CLI::IsMember({"text", "jsonl", "none"}))
      ->type_name("FORMAT")
      ->group(shown);
  command.add_option("--sequences", a.sequences, "Sequences of each stream that text shows (default 4, 0 = all)")
      ->type_name("N")
      ->group(shown);
  command
      .add_option(
          "--explain", a.explain,
          "Instead of data: the file, lines and sequences that minibatch K (from 0, where the run starts) consists "
          "of, on every rank")
      ->type_name("K")
      ->group(shown);
}

}  // namespace

Run add_read(CLI::App& app, Console& console) {
  auto arguments = std::make_shared<ReadArguments>();
  CLI::App& command = add_command(
      app, "read", "Minibatches, as a trainer would get them",
      "batchfeed read train.ctf --limit 2                      # no configuration needed\n"
      "batchfeed read train.cntk --section Train.reader --minibatch-size 64\n"
      "batchfeed read train.cntk --format jsonl --epochs 2 > minibatches.jsonl\n"
      "batchfeed read train.cntk --workers 4 --rank 0 --limit 10\n"
      "batchfeed read train.cntk --limit 100 --save-state at100.json\n"
      "batchfeed read train.cntk --state at100.json            # resumes exactly there\n"
      "batchfeed read train.cntk --explain 7                   # where minibatch 7 comes from\n"
      "batchfeed read train.ctf --minibatch-size 64 --size-unit sequences --bucket-minibatches 16\n"
      "batchfeed read 'part-*.ctf' --order uniform             # shards of one corpus, read as one\n"
      "batchfeed read a.ctf b.ctf --mix-weights 3,1 --limit 9  # two corpora, three samples of a for one of b");
  arguments->corpus.add_to(command, true);
  arguments->drive.add_to(command);
  add_run_options(command, *arguments);
  return [arguments, &console] { return run_read(*arguments, console); };
}

}  // namespace batchfeed::cli
