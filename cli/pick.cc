// SPDX-License-Identifier: MIT
//
// `batchfeed head`, `cat` and `sample`: the first sequences, all of them, or some
// drawn at random.
#include <batchfeed/subset.h>
#include <fmt/format.h>

#include <memory>

#include "command.h"
#include "convert.h"
#include "corpus.h"
#include "format.h"
#include "in_memory.h"
#include "look.h"
#include "target.h"

namespace batchfeed::cli {

namespace {

constexpr std::size_t kFirstLook = 1u << 20, kLastLook = 64u << 20;  // bytes of a text that head_of_text() tries

struct PickArguments {
  CorpusArguments corpus;
  SequenceOptions output;
  std::uint64_t count = 10, from = 0, seed = 0;
  std::optional<double> fraction;
};

std::uint64_t sequences_of(const Source& source) {
  std::uint64_t n = 0;
  for (const ChunkInfo& chunk : source.chunks()) n += chunk.sequences;
  return n;
}

// Writes the sequences that rows_of(source) chooses. With `look`, sequences that are only shown may be damaged; those
// written to a file may not.
template <class RowsOf>
int run_pick(const PickArguments& a, bool look, Console& console, const RowsOf& rows_of) {
  if (look && !a.output.to_file()) {
    const Looked looked = look_at(a.corpus, console, true);
    const int code = put_sequences(rows_of(looked.source), a.output, a.corpus, looked.corpus.setup, console);
    looked.damage->tell_rest();
    return code;
  }
  if (a.output.to_file()) expect_absent(a.output.target.output, a.output.target.force);
  Setup setup;
  const std::shared_ptr<const Source> source = open_for_conversion(a.corpus, console, &setup);
  if (a.output.to_file())
    expect_no_source(a.output.target.output, target_format(a.output.target.to, a.output.target.output), setup);
  return put_sequences(rows_of(source), a.output, a.corpus, setup, console);
}

// `head` of a text file, which reads only the beginning that has these sequences. Returns no exit code if that would
// be most of the file, or if the beginning is damaged.
std::optional<int> head_of_text(const PickArguments& a, Console& console) {
  const std::vector<std::string> files = expand_files(a.corpus.files, {}, a.corpus.limits());
  const bool bare = files.size() == 1 && files == a.corpus.files && a.corpus.section.empty() && a.corpus.set.empty() &&
                    a.corpus.roots.empty();
  if (!bare || a.output.to_file() || a.corpus.cache_index || !a.corpus.cache_dir.empty() ||
      detect_format(files.front(), {}, a.corpus.limits()) != Format::ctf)
    return std::nullopt;
  for (std::size_t most = kFirstLook; most <= kLastLook; most *= 8) {
    FirstBytes first = first_bytes(files.front(), most, a.corpus.limits());
    if (first.whole) break;
    first.bytes.resize(first.bytes.rfind('\n') + 1);
    if (first.bytes.empty()) continue;
    CorpusArguments beginning = a.corpus;
    beginning.text = std::make_shared<const std::string>(std::move(first.bytes));
    Damage damage(console);
    std::vector<Notice> notices;  // held until it is known whether the beginning is long enough
    bool enough = false;
    const Report told = under_own_name(damage.report());
    const Report report = [&](const Notice& notice) {
      if (enough) return told(notice);
      notices.push_back(notice);
    };
    Corpus corpus;
    std::shared_ptr<const Source> source;
    try {
      corpus = load_corpus(beginning, console, report);
      source = open_to_look(corpus.setup);
    } catch (const Error&) {
      continue;  // if longer beginnings fail, too, the whole file is read, and its fault is told
    }
    // The last sequence may continue behind the bytes read, so one more than wanted must be there.
    if (sequences_of(*source) <= a.count || sequences_of(*source) - a.count <= a.from) continue;
    enough = true;
    for (const Notice& notice : notices) told(notice);
    try {
      const auto rows = std::shared_ptr<const Source>(subset(source, rows_from(*source, a.from, a.count)));
      const int code = put_sequences(rows, a.output, a.corpus, corpus.setup, console);
      damage.tell_rest();
      return code;
    } catch (const Error& error) {
      throw Error(under_own_name(error.fault()));
    }
  }
  return std::nullopt;
}

void tell_of_all(std::uint64_t all, const char* what, Console& console) {
  if (console.quiet) return;
  console.say(fmt::format("batchfeed: there {} only {}; {}", all == 1 ? "is" : "are", plural(all, "sequence"), what));
}

int run_head(const PickArguments& a, Console& console) {
  a.output.check();
  if (const std::optional<int> done = head_of_text(a, console)) return *done;
  return run_pick(a, true, console, [&](const std::shared_ptr<const Source>& source) {
    const std::uint64_t all = sequences_of(*source);
    if (a.from != 0 && a.from >= all) tell_of_all(all, "none is left to show", console);
    return std::shared_ptr<const Source>(subset(source, rows_from(*source, a.from, a.count)));
  });
}

int run_cat(const PickArguments& a, Console& console) {
  a.output.check();
  return run_pick(a, false, console, [&](const std::shared_ptr<const Source>& source) { return source; });
}

int run_sample(const PickArguments& a, Console& console) {
  a.output.check();
  if (a.fraction && !(*a.fraction > 0 && *a.fraction <= 1))
    throw UsageError("--fraction: expected a number above 0 and up to 1; hint: --fraction 0.01");
  return run_pick(a, true, console, [&](const std::shared_ptr<const Source>& source) {
    const std::uint64_t all = sequences_of(*source);
    const std::uint64_t most = a.fraction ? sample_count(*source, *a.fraction) : a.count;
    if (most == 0 && a.fraction && all != 0) {
      throw UsageError(fmt::format("--fraction: {} of {} is not one; hint: --fraction {:.1g}, or -n 1", *a.fraction,
                                   plural(all, "sequence"), 1 / static_cast<double>(all)));
    }
    if (most > all) tell_of_all(all, "all are taken", console);
    return std::shared_ptr<const Source>(subset(source, sample_rows(*source, most, a.seed)));
  });
}

CLI::App& add_pick(CLI::App& app, PickArguments& a, const char* name, const char* summary, const char* examples) {
  CLI::App& command = add_command(app, name, summary, examples);
  a.corpus.add_to(command, false);
  a.output.add_to(command);
  return command;
}

}  // namespace

Run add_head(CLI::App& app, Console& console) {
  auto a = std::make_shared<PickArguments>();
  CLI::App& command = add_pick(app, *a, "head", "The first sequences of a corpus",
                               "batchfeed head train.ctf\n"
                               "batchfeed head train.cbf -n 3 --format jsonl\n"
                               "batchfeed head train.cntk -n 1000 -o small.ctf      # a corpus to try things on\n"
                               "batchfeed head train.ctf --from 5000 -n 1           # sequence number 5000");
  command.add_option("-n,--count", a->count, "How many (default 10)")->type_name("N");
  command.add_option("--from", a->from, "Number of the first, from 0 (default 0)")->type_name("N");
  return [a, &console] { return run_head(*a, console); };
}

Run add_cat(CLI::App& app, Console& console) {
  auto a = std::make_shared<PickArguments>();
  add_pick(app, *a, "cat", "All sequences of a corpus, as text",
           "batchfeed cat train.cbf > train.ctf                  # any format as text\n"
           "batchfeed cat train.cntk --streams labels | sort | uniq -c\n"
           "batchfeed cat train.ctf --format jsonl | jq .key");
  return [a, &console] { return run_cat(*a, console); };
}

Run add_sample(CLI::App& app, Console& console) {
  auto a = std::make_shared<PickArguments>();
  CLI::App& command =
      add_pick(app, *a, "sample", "Sequences drawn at random, in the order of the corpus",
               "batchfeed sample train.ctf -n 3\n"
               "batchfeed sample train.cntk -n 10000 --seed 7 -o small.cbf   # the same ones every time\n"
               "batchfeed sample train.cbf --fraction 0.01 > small.ctf");
  auto* count = command.add_option("-n,--count", a->count, "How many (default 10)")->type_name("N");
  command.add_option("--fraction", a->fraction, "Fraction of all sequences instead, such as 0.01")
      ->type_name("PART")
      ->excludes(count);
  command.add_option("--seed", a->seed, "The same seed draws the same ones (default 0)")->type_name("N");
  return [a, &console] { return run_sample(*a, console); };
}

}  // namespace batchfeed::cli
