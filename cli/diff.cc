// SPDX-License-Identifier: MIT
//
// `batchfeed diff`: do two corpora hold the same sequences?
#include <batchfeed/compare.h>
#include <batchfeed/subset.h>
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "command.h"
#include "convert.h"
#include "corpus.h"
#include "format.h"
#include "jsonl.h"
#include "sequences.h"

namespace batchfeed::cli {

namespace {

using nlohmann::ordered_json;

struct DiffArguments {
  CorpusArguments corpus;
  std::string section_b;
  std::vector<std::string> streams;
  double tolerance = 0;
  std::uint64_t most = 10;
  bool ignore_keys = false, json = false;
};

std::string place_of(const Located& located) {
  Place at = located.at;
  if (located.line != 0) at.first_line = at.last_line = located.line;
  if (at.file.empty()) return fmt::format("sequence {}", located.number);
  // Without lines, the sequence's number is of more use than a range of bytes that has many sequences.
  return at.first_line != 0 ? place_text(at, false)
                            : fmt::format("{} sequence {}", printable(at.file, kPathLength), located.number);
}

std::string text(const Difference& difference, bool keys) {
  const auto key = [&](const Located& l) { return keys ? fmt::format(" (key {})", printable(l.key)) : ""; };
  if (!difference.b) return fmt::format("< {}{}: only here\n", place_of(*difference.a), key(*difference.a));
  if (!difference.a) return fmt::format("> {}{}: only here\n", place_of(*difference.b), key(*difference.b));
  return fmt::format("! {} | {}{}: {}\n", place_of(*difference.a), place_of(*difference.b), key(*difference.a),
                     printable(difference.what, kPathLength));
}

std::string text(const DiffArguments& a, const Comparison& c) {
  std::string out;
  for (const std::string& what : c.streams) out += "! " + printable(what, kPathLength) + "\n";
  for (const Difference& difference : c.differences) out += text(difference, c.keys);
  const std::uint64_t all = c.changed + c.only_a + c.only_b;
  if (all > c.differences.size() && a.most != 0)
    out += fmt::format("  ... {} more; --max-differences N lists more\n", count_text(all - c.differences.size()));
  if (c.order) {
    out += fmt::format(
        "! from {} | {} on in another order{}\n", place_of(*c.order->a), place_of(*c.order->b),
        c.keys ? fmt::format(": keys {} and {}", printable(c.order->a->key), printable(c.order->b->key)) : "");
  }
  if (c.equal()) {
    return out + fmt::format("the same: {}{}\n", plural(c.same, "sequence"),
                             c.keys          ? ""
                             : a.ignore_keys ? "; keys ignored"
                                             : "; keys are not compared: they are mere numbers in one");
  }
  out += fmt::format("{} the same{}", plural(c.same, "sequence"), c.same_order ? "" : " but in another order");
  if (c.changed != 0) out += fmt::format(", {} different", count_text(c.changed));
  if (c.only_a != 0) out += fmt::format(", {} only in {}", count_text(c.only_a), printable(a.corpus.files[0], 200));
  if (c.only_b != 0) out += fmt::format(", {} only in {}", count_text(c.only_b), printable(a.corpus.files[1], 200));
  return out + "\n";
}

ordered_json json(const std::optional<Located>& located) {
  if (!located) return {};
  const auto known = [](std::uint64_t n) { return n == 0 ? ordered_json() : ordered_json(n); };
  return {{"number", located->number},
          {"key", located->key},
          {"file", located->at.file.empty() ? ordered_json() : ordered_json(located->at.file)},
          {"first_line", known(located->at.first_line)},
          {"last_line", known(located->at.last_line)},
          {"line", known(located->line)}};
}

ordered_json json(const Comparison& c) {
  ordered_json out;
  out["equal"] = c.equal();
  out["streams"] = c.streams;
  out["keys_compared"] = c.keys;
  out["sequences"] = {c.sequences_a, c.sequences_b};
  out["same"] = c.same;
  out["changed"] = c.changed;
  out["only_first"] = c.only_a;
  out["only_second"] = c.only_b;
  out["same_order"] = c.same_order;
  out["order_differs_at"] =
      c.order ? ordered_json{{"first", json(c.order->a)}, {"second", json(c.order->b)}} : ordered_json();
  out["differences"] = ordered_json::array();
  for (const Difference& d : c.differences)
    out["differences"].push_back({{"first", json(d.a)},
                                  {"second", json(d.b)},
                                  {"what", d.what.empty() ? ordered_json() : ordered_json(d.what)}});
  return out;
}

int run_diff(const DiffArguments& a, Console& console) {
  if (a.corpus.files.size() != 2)
    throw UsageError(
        "two corpora are needed; hint: batchfeed diff train.ctf train.cbf; a pattern in quotes names shards");
  if (!(a.tolerance >= 0)) throw UsageError("--tolerance: expected a number of at least 0");
  CompareOptions options;
  options.tolerance = a.tolerance;
  options.ignore_keys = a.ignore_keys;
  options.most = a.most;
  options.jobs = a.corpus.threads.value_or(0);
  const auto format_of = [&](const std::string& file) {
    return detect_format(expand_files({file}, {}, a.corpus.limits()).front(), {}, a.corpus.limits());
  };
  const Format formats[] = {format_of(a.corpus.files[0]), format_of(a.corpus.files[1])};
  std::vector<CorpusArguments> both;
  for (std::size_t i = 0; i < 2; ++i) {
    both.emplace_back(a.corpus).files = {a.corpus.files[i]};
    options.sparse_dims = options.sparse_dims && formats[i] != Format::ctf;  // dims of text are inferred
  }
  for_configurations_alone(both);
  if (!a.section_b.empty()) both[1].section = a.section_b;
  std::vector<Corpus> corpora = load_corpora(both, console);
  std::vector<std::shared_ptr<const Source>> sources;
  for (std::size_t i = 0; i < 2; ++i) {
    sources.push_back(open_for_conversion(std::move(corpora[i]), both[i], console));
    console.clear_progress();
  }
  if (!a.streams.empty()) {
    for (auto& source : sources) source = as_asked([&] { return select_streams(source, a.streams); });
  }
  options.progress = console.progress("comparing");
  const Comparison found = compare(sources[0], sources[1], options);
  console.clear_progress();
  put_text(a.json ? dump(json(found), 2) + "\n" : text(a, found));
  return found.equal() ? kDone : kFaults;
}

}  // namespace

Run add_diff(CLI::App& app, Console& console) {
  auto a = std::make_shared<DiffArguments>();
  CLI::App& command = add_command(app, "diff", "Whether two corpora hold the same sequences",
                                  "batchfeed diff train.ctf train.cbf            # formats may differ\n"
                                  "batchfeed diff old.ctf new.ctf --max-differences 100\n"
                                  "batchfeed diff a.cntk b.cntk --section Train.reader --tolerance 1e-6\n"
                                  "batchfeed diff 'part-*.ctf' all.cbf --json | jq .equal\n"
                                  "\n"
                                  "Exit status: 0 the same, 1 different, 2 or 3 trouble.");
  a->corpus.add_to(command, false);
  command.get_option("file")->description("Two configurations or corpora")->type_name("FIRST SECOND");
  const char* const group = "Comparison";
  command.add_option("--section-second", a->section_b, "Reader section of the second (default: as --section)")
      ->type_name("A.B")
      ->group(group);
  command.add_option("--streams", a->streams, "Streams to compare (default: all)")
      ->delimiter(',')
      ->type_name("A,B")
      ->group(group);
  command
      .add_option("--tolerance", a->tolerance,
                  "Values are the same if they differ by at most X times the larger of the two, or X where both are "
                  "below 1 (default 0)")
      ->type_name("X")
      ->group(group);
  command.add_flag("--ignore-keys", a->ignore_keys, "Compare data only")->group(group);
  command.add_option("--max-differences", a->most, "List at most so many (default 10); all are counted")
      ->type_name("N")
      ->group(group);
  command.add_flag("--json", a->json, "As JSON");
  return [a, &console] { return run_diff(*a, console); };
}

}  // namespace batchfeed::cli
