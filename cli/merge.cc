// SPDX-License-Identifier: MIT
//
// `batchfeed merge` and `shuffle`: several corpora as one, or one in random order.
#include <batchfeed/split.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "command.h"
#include "convert.h"
#include "corpus.h"
#include "target.h"

namespace batchfeed::cli {

namespace {

struct MergeArguments {
  CorpusArguments corpus;
  TargetOptions target;
  std::string keys = "auto";
  std::optional<std::uint64_t> seed, memory;  // for shuffling; memory in bytes
  bool shuffle = false;
};

void expect_target(const MergeArguments& a, const char* example) {
  if (a.target.output.empty() || a.target.output == "-")
    throw UsageError(fmt::format("no file to write is named; hint: batchfeed {}", example));
  expect_absent(a.target.output, a.target.force);
}

int run_merge(const MergeArguments& a, Console& console) {
  expect_target(a, "merge a.ctf b.ctf -o all.ctf");
  if (!a.shuffle && (a.seed || a.memory))
    throw UsageError(fmt::format("{} without --shuffle changes nothing; hint: add --shuffle, or leave it out",
                                 a.seed ? "--seed" : "--memory"));
  const std::vector<CorpusArguments> each =
      one_by_one(a.corpus, expand_files(a.corpus.files, {}, a.corpus.limits(), console.report()));
  std::vector<Corpus> loaded = load_corpora(each, console);
  std::vector<std::shared_ptr<const Source>> corpora;
  std::vector<const Setup*> setups;
  const Format to = target_format(a.target.to, a.target.output);
  for (const Corpus& corpus : loaded) {
    expect_no_source(a.target.output, to, corpus, a.target.streams);
    setups.push_back(&corpus.setup);
  }
  ConvertOptions options = a.target.options({to}, a.corpus, setups);
  options.keys = keys_of(a.keys);
  options.report = console.report();
  for (std::size_t i = 0; i < each.size(); ++i) {
    corpora.push_back(open_for_conversion(std::move(loaded[i]), each[i], console));
    console.clear_progress();
  }
  const std::unique_ptr<Source> all = as_asked([&] { return merge(std::move(corpora), options); });
  if (a.shuffle) options.shuffle = a.seed.value_or(0);
  options.shuffle_memory = a.memory.value_or(kShuffleMemory);
  return run_conversion(*all, a.target.output, options, a.target.json, console);
}

int run_shuffle(const MergeArguments& a, Console& console) {
  expect_target(a, "shuffle train.ctf -o shuffled.ctf");
  const Format to = target_format(a.target.to, a.target.output);
  Corpus corpus = load_corpus(a.corpus, console);
  expect_no_source(a.target.output, to, corpus, a.target.streams);
  const Setup setup = corpus.setup;
  const std::unique_ptr<Source> source = open_for_conversion(std::move(corpus), a.corpus, console);
  ConvertOptions options = a.target.options({to}, a.corpus, {&setup});
  options.shuffle = a.seed.value_or(0);
  options.keys = keys_of(a.keys);
  keep_ids(options, setup);
  options.shuffle_memory = a.memory.value_or(kShuffleMemory);
  return run_conversion(*source, a.target.output, options, a.target.json, console);
}

}  // namespace

Run add_merge(CLI::App& app, Console& console) {
  auto a = std::make_shared<MergeArguments>();
  CLI::App& command = add_command(app, "merge", "Several corpora as one",
                                  "batchfeed merge a.ctf b.cbf -o all.cbf           # formats may differ\n"
                                  "batchfeed merge 'part-*.ctf' -o all.ctf --keys number\n"
                                  "batchfeed merge old.ctf new.ctf -o all.ctf --shuffle --seed 1");
  a->corpus.add_to(command, false);
  command.get_option("file")->description("Corpora: each a configuration or a file; one after the other");
  a->target.add_to(command, "The file to write, whole or not at all");
  command
      .add_option(
          "--keys", a->keys,
          "keep, or number the sequences; auto (default) keeps keys that are all different and not just 0, 1, 2 ...")
      ->check(CLI::IsMember({"auto", "keep", "number"}))
      ->type_name("HOW")
      ->group("Output");
  command.add_flag("--shuffle", a->shuffle, "In random order, all orders being equally likely")->group("Output");
  command.add_option("--seed", a->seed, "Of the shuffle (default 0)")->type_name("N")->group("Output");
  command.add_option("--memory", a->memory, "Bytes shuffled at a time (default 256M)")
      ->type_name("BYTES")
      ->group("Output");
  return [a, &console] { return run_merge(*a, console); };
}

Run add_shuffle(CLI::App& app, Console& console) {
  auto a = std::make_shared<MergeArguments>();
  CLI::App& command =
      add_command(app, "shuffle", "A corpus in random order, once and for all",
                  "batchfeed shuffle train.ctf -o shuffled.ctf --seed 1\n"
                  "batchfeed shuffle train.cntk -o shuffled.cbf --memory 2G    # larger than memory is fine");
  a->corpus.add_to(command, false);
  a->target.add_to(command, "The file to write, whole or not at all");
  command
      .add_option(
          "--keys", a->keys,
          "keep, number, none, or auto (default), which keeps the ids of text, and other keys that are not just "
          "0, 1, 2 ...")
      ->check(CLI::IsMember({"auto", "keep", "number", "none"}))
      ->type_name("HOW")
      ->group("Output");
  command.add_option("--seed", a->seed, "The same seed gives the same order (default 0)")
      ->type_name("N")
      ->group("Output");
  command.add_option("--memory", a->memory, "Bytes shuffled at a time (default 256M)")
      ->type_name("BYTES")
      ->group("Output");
  return [a, &console] { return run_shuffle(*a, console); };
}

}  // namespace batchfeed::cli
