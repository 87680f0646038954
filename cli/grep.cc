// SPDX-License-Identifier: MIT
//
// `batchfeed grep`: sequences by key or value.
#include <batchfeed/find.h>
#include <batchfeed/subset.h>
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <system_error>

#include "command.h"
#include "convert.h"
#include "corpus.h"
#include "format.h"
#include "jsonl.h"
#include "look.h"
#include "numbers.h"
#include "sequences.h"
#include "target.h"

namespace batchfeed::cli {

namespace {

struct GrepArguments {
  CorpusArguments corpus;
  SequenceOptions output;
  std::vector<std::string> keys, values;
  bool invert = false, count = false;
};

// Appends the value with the fewest digits that give the same number in the stream's precision.
void append_value(const Hit& hit, std::string_view quote, Text& out) {
  hit.element == Element::f32 ? out.real(static_cast<float>(hit.value), quote) : out.real(hit.value, quote);
}

// "train.ctf:17: key 12: features[3] = 300 (sample 2; 4 values in all)"
std::string located(const Source& source, const Hit& hit) {
  Place at = hit.at;
  if (hit.line != 0) at.first_line = at.last_line = hit.line;
  std::string out = at.file.empty() ? "" : place_text(at, at.first_line == 0) + ": ";
  out += fmt::format("key {}", printable(source.key_text(hit.sequence.key)));
  if (hit.values == 0) return out + fmt::format(", {}\n", plural(hit.sequence.samples, "sample"));
  Text value;
  append_value(hit, "", value);
  out += fmt::format(": {}[{}] = {}", printable(hit.stream), hit.index, value.view());
  const std::string sample = hit.sequence.samples > 1 ? fmt::format("sample {}", hit.sample) : "";
  const std::string all = hit.values > 1 ? fmt::format("{} in all", plural(hit.values, "value")) : "";
  if (!sample.empty() || !all.empty())
    out += fmt::format(" ({}{}{})", sample, sample.empty() || all.empty() ? "" : "; ", all);
  return out + "\n";
}

std::string located_json(const Source& source, const Hit& hit) {
  Text out;
  out.add("{\"key\":");
  append_string(source.key_text(hit.sequence.key), out);
  append_place(hit.at, out);
  out.field("samples", hit.sequence.samples);
  out.add(",\"hit\":");
  if (hit.values == 0) {
    out.add("null}\n");
    return std::string(out.view());
  }
  out.add("{\"stream\":");
  append_string(hit.stream, out);
  out.field("sample", hit.sample);
  out.field("index", hit.index);
  out.add(",\"value\":");
  append_value(hit, "\"", out);
  out.field("values", hit.values);
  out.add(",\"line\":");
  hit.line == 0 ? out.add("null") : out.integer(hit.line);
  out.add("}}\n");
  return std::string(out.view());
}

FindOptions find_options(const GrepArguments& a) {
  FindOptions out;
  if (a.keys.empty() && a.values.empty())
    throw UsageError("nothing to look for; hint: --key PATTERN or --value 'STREAM > NUMBER'");
  out.keys = a.keys;
  for (const std::string& value : a.values) out.values.push_back(as_asked([&] { return parse_value_test(value); }));
  out.invert = a.invert;
  out.jobs = a.corpus.threads.value_or(0);
  return out;
}

// Throws UsageError, with the right command, for `grep PATTERN FILE`, as one calls grep.
void expect_files(const GrepArguments& a) {
  std::error_code none;
  const std::string& first = a.corpus.files.front();
  if (a.corpus.files.size() > 1 && a.keys.empty() && a.values.empty() && !std::filesystem::exists(first, none))
    throw UsageError(fmt::format("there is no file '{}'; hint: batchfeed grep --key '{}' {}", printable(first),
                                 printable(first), printable(a.corpus.files[1])));
}

int run_grep(const GrepArguments& a, Console& console) {
  expect_files(a);
  FindOptions options = find_options(a);
  const bool whole = a.output.to_file() || !a.output.format.empty();  // gives the sequences, not just their places
  a.output.check();
  if (whole && a.count)
    throw UsageError(fmt::format("--count prints a number only, {} gives the sequences; hint: leave one of them out",
                                 a.output.to_file() ? "-o" : "--format"));
  if (!whole && !a.output.target.streams.empty())
    throw UsageError("--streams chooses from sequences, and none are shown; hint: --format view, or -o FILE");
  if (a.output.to_file()) expect_absent(a.output.target.output, a.output.target.force);
  Setup setup;
  std::shared_ptr<Damage> damage;  // set if the corpus is only looked at
  std::shared_ptr<const Source> source;
  if (a.output.to_file()) {
    source = open_for_conversion(a.corpus, console, &setup);
    expect_no_source(a.output.target.output, target_format(a.output.target.to, a.output.target.output), setup);
  } else {
    Looked looked = look_at(a.corpus, console, true);
    source = std::move(looked.source);
    setup = std::move(looked.corpus.setup);
    damage = std::move(looked.damage);
  }
  console.clear_progress();
  options.progress = console.progress("searching");
  Output output;
  Rows rows(source->chunks().size());
  std::uint64_t hits = 0;
  as_asked([&] {
    find(*source, options, [&](const Hit& hit) {
      ++hits;
      if (whole) rows[hit.chunk].push_back(hit.place);
      if (whole || a.count) return;
      console.clear_progress();
      output.append(a.output.target.json ? located_json(*source, hit) : located(*source, hit));
      output.breathe();
    });
  });
  console.clear_progress();
  if (damage) damage->tell_rest();
  if (a.count) output.append(fmt::format("{}\n", hits));
  output.flush();
  if (hits == 0) return kFaults;
  if (!whole) return kDone;
  return put_sequences(subset(source, std::move(rows)), a.output, a.corpus, setup, console);
}

}  // namespace

Run add_grep(CLI::App& app, Console& console) {
  auto a = std::make_shared<GrepArguments>();
  CLI::App& command = add_command(app, "grep", "Sequences by key or value, each with its place",
                                  "batchfeed grep --key 4711 train.ctf                   # where is it?\n"
                                  "batchfeed grep --key 'speaker1/*' train.scp --format view\n"
                                  "batchfeed grep --value 'features > 255' train.ctf     # who is out of range?\n"
                                  "batchfeed grep --value 'labels[7] = 1' train.ctf -o sevens.ctf\n"
                                  "batchfeed grep --value 'length > 500' --invert train.cntk -o shorter.cbf\n"
                                  "\n"
                                  "Exit status: 0 found, 1 nothing found, 3 cannot be read.");
  a->corpus.add_to(command, false);
  const char* const group = "What to look for";
  command.add_option("--key", a->keys, "Keys that fit this shell pattern (* ? [a-z]); repeatable: any of them")
      ->take_all()
      ->allow_extra_args(false)
      ->type_name("PATTERN")
      ->group(group);
  command
      .add_option(
          "--value", a->values,
          "STREAM[INDEX] or length, one of = != < <= > >=, and a number, nan, inf or -inf, such as 'x[3] > 0'; without "
          "[INDEX] any stored value may fit; repeatable: all of them must fit")
      ->take_all()
      ->allow_extra_args(false)
      ->type_name("TEST")
      ->group(group);
  command.add_flag("--invert", a->invert, "The sequences that do not fit instead")->group(group);
  a->output.add_to(command);
  command.get_option("--format")
      ->description(
          "The sequences themselves: view, ctf or jsonl (default: where they are, and the first value that fits)");
  command.add_flag("--count", a->count, "Print only how many fit")->group("Output");
  return [a, &console] { return run_grep(*a, console); };
}

}  // namespace batchfeed::cli
