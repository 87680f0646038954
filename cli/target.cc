// SPDX-License-Identifier: MIT
#include "target.h"

#include <batchfeed/speech_writer.h>
#include <batchfeed/subset.h>
#include <fmt/format.h>

#include <algorithm>

#include "command.h"
#include "convert.h"
#include "sequences.h"

namespace batchfeed::cli {

void HeaderOptions::add_to(CLI::App& app, const char* group) {
  app.add_option("--parameter-kind", parameter_kind,
                 "Kind in the headers of HTK features (default: that of the HTK files they come from, else USER)")
      ->type_name("MFCC_0_D_A")
      ->group(group);
  app.add_option("--frame-period", frame_period,
                 "Period in the headers of HTK features, in 100 ns (default: as for the kind, else 100000)")
      ->check(CLI::Range(1u, 10'000'000u))
      ->type_name("N")
      ->group(group);
}

void HeaderOptions::set(ConvertOptions& options, const std::vector<Format>& formats,
                        const std::vector<const Setup*>& corpora) const {
  options.frame_period = frame_period;
  if (!parameter_kind.empty()) options.parameter_kind = as_asked([&] { return htk_kind(parameter_kind); });
  if (std::any_of(formats.begin(), formats.end(), [](Format f) { return f == Format::scp || f == Format::htk; }))
    as_asked([&] { set_header(options, corpora); });
}

void TargetOptions::add_to(CLI::App& app, const char* what) {
  const char* const group = "Output";
  if (what != nullptr) app.add_option("-o,--output", output, what)->type_name("FILE")->group(group);
  app.add_option("--to", to, "Format of the file: ctf, cbf, scp, htk or mlf (default: by its name)")
      ->check(CLI::IsMember({"cbf", "ctf", "scp", "htk", "mlf"}))
      ->type_name("FORMAT")
      ->group(group);
  app.add_option("--streams", streams, "Streams to keep, in this order (default: all)")
      ->delimiter(',')
      ->type_name("A,B")
      ->group(group);
  header.add_to(app, group);
  app.add_flag("--force", force, "Replace a file that exists")->group(group);
  app.add_flag("--verify", verify, "Read what was written back and compare")->group(group);
  app.add_flag("--json", json, "As JSON")->group(group);
}

ConvertOptions TargetOptions::options(const std::vector<Format>& formats, const CorpusArguments& corpus,
                                      const std::vector<const Setup*>& setups) const {
  ConvertOptions out;
  out.to = formats.front();
  out.streams = streams;
  out.force = force;
  out.verify = verify;
  out.jobs = corpus.threads.value_or(0);
  for (const Setup* setup : setups) {
    if (std::find(formats.begin(), formats.end(), Format::mlf) == formats.end()) break;
    std::vector<std::string> names = label_names(corpus.state_list, *setup, streams);
    if (names.size() > out.labels.size()) out.labels = std::move(names);  // others are its beginning
  }
  header.set(out, formats, setups);
  warn_of_comments(setups, setups.front()->report);
  if (setups.size() == 1) keep_ids(out, *setups.front());
  return out;
}

void SequenceOptions::add_to(CLI::App& app) {
  target.add_to(app, "Write them into a new corpus, whole or not at all");
  app.add_option("--format", format, "Without -o: view, ctf or jsonl (default: view on a terminal, else ctf)")
      ->check(CLI::IsMember({"view", "ctf", "jsonl"}))
      ->type_name("FORMAT")
      ->group("Output");
}

void SequenceOptions::check() const {
  if (to_file() && !format.empty())
    throw UsageError(
        fmt::format("--format {} is for standard output; hint: --to says what -o writes: ctf, cbf or scp", format));
  if (to_file()) return;
  if (!target.to.empty())
    throw UsageError(fmt::format("--to {} is for a file, and none is named; hint: -o FILE", target.to));
  if (target.verify) throw UsageError("--verify reads a file back, and none is named; hint: -o FILE");
  if (target.json && !format.empty() && format != "jsonl")
    throw UsageError(fmt::format("--json and --format {}: give one of them", format));
}

int put_sequences(const std::shared_ptr<const Source>& source, const SequenceOptions& options,
                  const CorpusArguments& corpus, const Setup& setup, Console& console) {
  if (options.to_file()) {
    const TargetOptions& target = options.target;
    const Format to = target_format(target.to, target.output);
    return run_conversion(*source, target.output, target.options({to}, corpus, {&setup}), target.json, console);
  }
  const std::shared_ptr<const Source> shown = options.target.streams.empty() ? source : as_asked([&] {
    return std::shared_ptr<const Source>(select_streams(source, options.target.streams));
  });
  const std::string format = !options.format.empty()  ? options.format
                             : options.target.json    ? "jsonl"
                             : console.terminal_out() ? "view"
                                                      : "ctf";
  console.clear_progress();
  Output output;
  // Text has ids if the corpus has them, and if sequences of several lines need them.
  const bool ids = format == "ctf" && (has_ids(setup) || has_own_keys(*source) || !one_sample_each(*source));
  const std::unique_ptr<SequenceText> text = sequence_text(format, *shown, console, ids);
  std::string piece;
  Chunk chunk;
  std::vector<SequenceInfo> table;
  std::uint64_t damaged = 0;
  for (std::uint32_t c = 0; c < shown->chunks().size(); ++c) {
    shown->read(c, chunk);
    shown->sequences(c, table);
    for (const SequenceInfo& sequence : table) {
      if (chunk.is_invalid(sequence.row)) {
        ++damaged;
        if (format != "view") continue;  // damaged sequences are shown to people only
      }
      piece.clear();
      text->append(chunk, c, sequence, piece);
      output.append(piece);
      output.breathe();
    }
  }
  output.flush();
  if (damaged != 0 && !console.quiet)
    console.say(fmt::format("batchfeed: {} {}; hint: batchfeed check lists the faults", plural(damaged, "sequence"),
                            format == "view" ? (damaged == 1 ? "is damaged" : "are damaged") : "left out, damaged"));
  return kDone;
}

}  // namespace batchfeed::cli
