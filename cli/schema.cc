// SPDX-License-Identifier: MIT
//
// `batchfeed schema`: the streams of files that come without a configuration, and
// the reader section that reads them.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>

#include "command.h"
#include "convert.h"
#include "corpus.h"
#include "format.h"
#include "jsonl.h"
#include "look.h"
#include "stats.h"

namespace batchfeed::cli {

namespace {

using nlohmann::ordered_json;

struct SchemaArguments {
  CorpusArguments corpus;
  std::string output, section = "Train";
  bool force = false, json = false;
};

// Comments such as "# features: 0 ... 255, whole numbers" for a text corpus; the values of other
// formats have not been read.
std::string remarks(const Inferred& inferred) {
  std::string out;
  for (const Inferred::Stream& s : inferred.streams)
    out += fmt::format("# {}: {}, {}\n", printable(s.spec.name), plural(s.samples, "sample"), range_text(s));
  return out;
}

// The list of the names of classes that labels have themselves, to be written beside the configuration, which names it;
// empty: there is none.
struct StateList {
  std::string file, text;
};

// Lets labels that have names of classes themselves take them from a list beside the configuration. Throws Error.
StateList take_names(Setup& setup, const std::string& output, bool force) {
  StateList out;
  const auto has_labels = [](const SourceOptions& source) { return std::holds_alternative<MlfOptions>(source); };
  if (std::all_of(setup.sources.begin(), setup.sources.end(), has_labels)) return out;  // no section can be written
  for (SourceOptions& source : setup.sources) {
    auto* mlf = std::get_if<MlfOptions>(&source);
    if (mlf == nullptr || !mlf->mapping_file.empty() || mlf->labels.empty()) continue;
    if (output.empty())
      throw UsageError(
          fmt::format("{}: its classes have names, which a reader section takes from a list; hint: "
                      "--state-list FILE, or -o writes one",
                      mlf->files.front()));
    out.file = output + ".states";
    expect_absent(out.file, force);
    expect_no_source(out.file, Format::config, setup, "nothing of it would be left");
    out.text.clear();
    for (const std::string& name : mlf->labels) out.text += name + "\n";
    mlf->mapping_file = out.file;
    mlf->labels.clear();
  }
  return out;
}

// Writes the configuration, and before it the list that it names; none is left of a new list if the configuration
// cannot be written.
void save(const std::string& output, const std::string& text, const StateList& states, bool force) {
  std::error_code none;
  const bool added = !states.file.empty() && !std::filesystem::exists(states.file, none);
  if (!states.file.empty()) as_asked([&] { save_file(states.file, states.text, force); });
  try {
    as_asked([&] { save_file(output, text, force); });
  } catch (...) {
    if (added) std::filesystem::remove(states.file, none);
    throw;
  }
}

int run_schema(const SchemaArguments& a, Console& console) {
  const bool to_file = !a.output.empty() && a.output != "-";
  if (a.section.empty() || a.section.find_first_of("=\"$#,;:+[](){}\r\n") != a.section.npos)
    throw UsageError(fmt::format("--name '{}': expected the name of a section, such as Train", printable(a.section)));
  if (to_file) expect_absent(a.output, a.force);
  Damage damage(console);
  CorpusArguments looking = a.corpus;
  looking.unpacked_text = kLookedAtText;
  Corpus corpus = load_corpus(looking, console, damage.report());
  if (corpus.config)
    throw UsageError(fmt::format("{} is a configuration; hint: batchfeed config show --resolved says what it means",
                                 a.corpus.files.front()));
  const std::vector<StreamInfo> streams = open_to_look(corpus.setup)->streams();
  console.clear_progress();
  damage.expect_allowed();
  damage.tell_rest();
  if (to_file) expect_no_source(a.output, Format::config, corpus.setup, "nothing of it would be left");
  const StateList states = take_names(corpus.setup, to_file ? a.output : std::string(), a.force);
  const std::string section = as_asked([&] { return reader_section(corpus.setup, streams); });
  std::string text =
      fmt::format("# Streams as the data suggest them.\n{}{} = [\n{}]\n",
                  corpus.inferred ? remarks(*corpus.inferred) : "", a.section, indented(section, "    "));
  if (to_file) {
    save(a.output, text, states, a.force);
    if (!a.json) {
      console.say(fmt::format("{0}: {1}; batchfeed read {0} reads it", printable(a.output, kPathLength),
                              plural(streams.size(), "stream")));
      return kDone;
    }
  }
  if (a.json) {
    ordered_json out;
    out["files"] = a.corpus.files;
    out["format"] = name(corpus.format);
    out["streams"] = ordered_json::array();
    for (const StreamInfo& s : streams) {
      out["streams"].push_back(
          {{"name", s.name}, {"storage", name(s.storage)}, {"dim", s.dim}, {"dtype", name(s.element)}});
    }
    out["reader_section"] = section;
    out["configuration"] = text;
    text = dump(out, 2) + "\n";
  }
  return put_text(text);
}

}  // namespace

Run add_schema(CLI::App& app, Console& console) {
  auto a = std::make_shared<SchemaArguments>();
  CLI::App& command = add_command(app, "schema", "A configuration for files that come without one",
                                  "batchfeed schema train.ctf > train.cntk\n"
                                  "batchfeed schema train.ctf -o train.cntk && batchfeed read train.cntk --limit 1\n"
                                  "batchfeed schema train.scp train.mlf --state-list state.list\n"
                                  "batchfeed schema train.cbf --json | jq .streams");
  a->corpus.add_to(command, false);
  command.add_option("-o,--output", a->output, "File to write, whole or not at all (default: standard output)")
      ->type_name("FILE");
  command.add_option("--name", a->section, "The section around the reader section (default Train)")->type_name("NAME");
  command.add_flag("--force", a->force, "Replace a file that exists");
  command.add_flag("--json", a->json, "As JSON");
  return [a, &console] { return run_schema(*a, console); };
}

}  // namespace batchfeed::cli
