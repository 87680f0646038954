// SPDX-License-Identifier: MIT
#include "fix.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "convert.h"
#include "format.h"

namespace batchfeed::cli {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t kShownPlaces = 5;  // places that are shown of each kind of repair

// The files of a setup's only source, if that is text or binary; else null.
std::vector<std::string>* files_of(Setup& setup) {
  if (setup.sources.size() != 1) return nullptr;
  if (auto* ctf = std::get_if<CtfOptions>(&setup.sources.front())) return &ctf->files;
  if (auto* cbf = std::get_if<CbfOptions>(&setup.sources.front())) return &cbf->files;
  return nullptr;
}

std::string plural_of(const char* word, std::uint64_t n) { return fmt::format("{}{} ", word, n == 1 ? "" : "s"); }

std::string places(const Fix& fix) {
  std::string out;
  for (std::size_t i = 0; i < fix.places.size() && i < kShownPlaces; ++i) {
    const Position& at = fix.places[i];
    const std::string before = i == 0 ? plural_of(at.line != 0 ? "line" : "byte", fix.count) : ", ";
    out += fmt::format("{}{}", before, at.line != 0 ? at.line : at.byte);
  }
  return out + (fix.count > kShownPlaces ? " ..." : "");
}

}  // namespace

std::string Mended::text() const {
  const std::string old = printable(from, kPathLength), copy = printable(to, kPathLength);
  if (fixes.empty()) return fmt::format("{}: nothing that --fix mends; {} is a copy\n\n", old, copy);
  std::string out = fmt::format("{} mended, as {}:\n", old, copy);
  for (const Fix& fix : fixes) out += fmt::format("  {:>9}  {} ({})\n", count_text(fix.count), fix.what, places(fix));
  return out + "\n";
}

ordered_json Mended::json() const {
  ordered_json out = ordered_json::array();
  for (const Fix& fix : fixes) {
    ordered_json all = ordered_json::array();
    for (const Position& at : fix.places)
      all.push_back({{"line", at.line == 0 ? ordered_json() : ordered_json(at.line)}, {"byte", at.byte}});
    out.push_back({{"id", fix.id}, {"what", fix.what}, {"count", fix.count}, {"places", std::move(all)}});
  }
  return out;
}

void Mended::point(Setup& setup) const {
  if (std::vector<std::string>* files = files_of(setup)) *files = {to};
}

bool can_mend(const Corpus& corpus, const CorpusArguments& arguments) try {
  Setup setup = corpus.setup;
  const std::vector<std::string>* const names = files_of(setup);
  if (names == nullptr) return false;
  const std::vector<std::string> files = expand_files(*names, setup.file_system, setup.limits);
  return files.size() == 1 && (corpus.config || files == arguments.files) &&
         !first_bytes(files.front(), 1, setup.limits).compressed;
} catch (const Error&) {
  return false;
}

Mended mend(const CorpusArguments& arguments, const std::string& target, bool force, Console& console) {
  Mended out{.to = target, .arguments = arguments};
  FixOptions options;
  options.limits = arguments.limits();
  options.file_system.roots = arguments.roots;
  const Format format =
      arguments.files.front() == "-" ? Format::unknown : detect_format(arguments.files.front(), {}, options.limits);
  if (format == Format::config || !arguments.section.empty() || !arguments.set.empty()) {
    Corpus corpus = load_corpus(arguments, console, [](const Notice&) {});
    std::vector<std::string> files;
    if (const auto* names = files_of(corpus.setup); names != nullptr && !names->empty())
      files = expand_files(*names, corpus.setup.file_system, corpus.setup.limits);
    if (files.size() != 1)
      throw UsageError("--fix mends one text or binary file, the configuration has others; hint: name the file itself");
    out.from = files.front();
    options.keys = corpus.setup.reader.keys;
    if (const auto* text = std::get_if<CtfOptions>(&corpus.setup.sources.front()))
      options.skip_sequence_ids = text->skip_sequence_ids;
  } else if (arguments.files.size() == 1 && format != Format::unknown) {
    out.from = arguments.files.front();
    out.arguments.files = {target};
  } else {
    throw UsageError("--fix mends one text or binary file; hint: batchfeed check train.ctf --fix mended.ctf");
  }
  expect_absent(target, force);
  options.force = force;
  interrupt::deferred(true);
  options.progress = interrupt::at_steps(console.progress("mending"));
  out.fixes = as_asked([&] { return fix_file(out.from, target, options); });
  interrupt::deferred(false);
  console.clear_progress();
  if (!arguments.roots.empty()) out.arguments.roots.push_back(target);  // the copy may be read wherever it lies
  return out;
}

}  // namespace batchfeed::cli
