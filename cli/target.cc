// SPDX-License-Identifier: MIT
#include "target.h"

#include <batchfeed/subset.h>
#include <fmt/format.h>

#include <algorithm>

#include "convert.h"
#include "sequences.h"

namespace batchfeed::cli {

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
  app.add_flag("--force", force, "Replace a file that exists")->group(group);
  app.add_flag("--verify", verify, "Read what was written back and compare")->group(group);
  app.add_flag("--json", json, "As JSON")->group(group);
}

ConvertOptions TargetOptions::options(const std::string& target, const CorpusArguments& corpus,
                                      const Setup& setup) const {
  ConvertOptions out;
  out.to = target_format(to, target);
  out.streams = streams;
  out.force = force;
  out.verify = verify;
  out.jobs = corpus.threads.value_or(0);
  if (out.to == Format::mlf) out.labels = label_names(corpus.state_list, setup, streams);
  keep_ids(out, setup);
  return out;
}

int write_corpus(const Source& source, const TargetOptions& options, const CorpusArguments& corpus, const Setup& setup,
                 Console& console) {
  expect_absent(options.output, options.force);
  return run_conversion(source, options.output, options.options(options.output, corpus, setup), options.json, console);
}

void SequenceOptions::add_to(CLI::App& app) {
  target.add_to(app, "Write them into a new corpus, whole or not at all");
  app.add_option("--format", format, "Without -o: view, ctf or jsonl (default: view on a terminal, else ctf)")
      ->check(CLI::IsMember({"view", "ctf", "jsonl"}))
      ->type_name("FORMAT")
      ->group("Output");
}

int put_sequences(const std::shared_ptr<const Source>& source, const SequenceOptions& options,
                  const CorpusArguments& corpus, const Setup& setup, Console& console) {
  if (options.to_file()) return write_corpus(*source, options.target, corpus, setup, console);
  const std::shared_ptr<const Source> shown = options.target.streams.empty() ? source : as_asked([&] {
    return std::shared_ptr<const Source>(select_streams(source, options.target.streams));
  });
  const std::string format = !options.format.empty()  ? options.format
                             : options.target.json    ? "jsonl"
                             : console.terminal_out() ? "view"
                                                      : "ctf";
  console.clear_progress();
  Output output;
  const std::unique_ptr<SequenceText> text = sequence_text(format, *shown, console, has_ids(setup));
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
        if (format != "view") continue;  // people want to see it
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
