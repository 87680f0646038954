// SPDX-License-Identifier: MIT
//
// `batchfeed ctf2bin`: the reference's converter, with its own arguments.
#include <batchfeed/convert.h>
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <memory>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "command.h"
#include "convert.h"
#include "raise.h"

namespace batchfeed::cli {

namespace {

struct Ctf2BinArguments {
  std::string input, header, output, precision = "float";
  std::uint64_t chunk_size = 0;
  bool reference_chunks = false;
  std::vector<std::string> raise;  // FIELD=N, for limits
};

Fault bad_line(const std::string& file, std::uint64_t line, std::string what) {
  return {.kind = FaultKind::format,
          .id = "ctf2bin.bad-header",
          .at = {.file = file, .line = line, .column = 1},
          .what = std::move(what),
          .hint = "a line is: NAME ALIAS dense|sparse DIM"};
}

// Reads the header file: one stream a line. A repeated alias replaces the earlier definition, and takes its place.
std::vector<StreamSpec> read_header(const std::string& path) {
  const std::uint64_t most = Limits().config_bytes;
  FirstBytes read = first_bytes(path, static_cast<std::size_t>(most));
  if (!read.whole) {
    throw Error(Fault{.kind = FaultKind::limit,
                      .id = "limit.file",
                      .at = {.file = path},
                      .what = fmt::format("has more than {} bytes, the limit", most),
                      .hint = "is it a header file? It has a line for each stream: NAME ALIAS dense|sparse DIM"});
  }
  std::istringstream in(std::move(read.bytes));
  std::map<std::string, std::size_t> places;  // by alias
  std::vector<StreamSpec> out;
  std::string text;
  for (std::uint64_t line = 1; std::getline(in, text); ++line) {
    std::istringstream words(text);
    std::vector<std::string> fields;
    for (std::string word; words >> word;) fields.push_back(word);
    if (fields.size() != 4) throw Error(bad_line(path, line, fmt::format("{} fields, expected 4", fields.size())));
    for (char& c : fields[2]) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const auto storage = named<Storage>(fields[2]);
    if (!storage) throw Error(bad_line(path, line, fmt::format("kind '{}', expected dense or sparse", fields[2])));
    StreamSpec spec;
    spec.name = fields[0];
    spec.alias = fields[1];
    spec.storage = *storage;
    constexpr std::uint64_t kMostDim = 0x7FFFFFFF;
    bool number = true;
    for (const char c : fields[3]) {
      number = number && c >= '0' && c <= '9' && spec.dim <= kMostDim;
      if (number) spec.dim = spec.dim * 10 + static_cast<std::uint64_t>(c - '0');
    }
    if (!number || spec.dim == 0 || spec.dim > kMostDim)
      throw Error(bad_line(path, line, fmt::format("dimension '{}', expected 1 to {}", fields[3], kMostDim)));
    const auto [place, added] = places.emplace(spec.alias, out.size());
    added ? out.push_back(std::move(spec)) : static_cast<void>(out[place->second] = std::move(spec));
  }
  if (out.empty()) throw Error(bad_line(path, 1, "no streams"));
  return out;
}

// Opens the text with ids compared as text, as the original does. If lines have no ids, each is a sequence.
std::unique_ptr<Source> open_text(const CtfOptions& text, const Limits& limits, const Report& report) {
  try {
    return open_source(text, limits, report, KeyMode::text);
  } catch (const Error& error) {
    if (error.fault().id != "ctf.keys-need-ids") throw;
    return open_source(text, limits, report, KeyMode::numeric);
  }
}

// A report that throws Error for an input that the header does not declare, as the original ends there; a reader only
// reports it, as a notice.
Report no_unknown_input(const Report& report, const std::string& header) {
  return [report, header](const Notice& notice) {
    if (notice.fault.id == "ctf.unknown-input") {
      Fault fault = notice.fault;
      fault.what = fault.what.substr(0, fault.what.find(" and was skipped"));
      fault.hint = fmt::format("add it to '{}', in a line: NAME ALIAS dense|sparse DIM{}{}", header,
                               fault.hint.empty() ? "" : "; or ", fault.hint);
      throw Error(std::move(fault));
    }
    if (notice.fault.id != "ctf.loaded" && report) report(notice);
  };
}

int run_ctf2bin(const Ctf2BinArguments& a, Console& console) {
  expect_absent(a.output, true);
  for (const std::string& read : {a.input, a.header}) {
    std::error_code none;
    if (std::filesystem::equivalent(read, a.output, none))
      throw UsageError(fmt::format("'{}' is what is read, and would be replaced; hint: choose another name",
                                   printable(a.output, std::string::npos)));
  }
  CtfOptions text;
  text.files = {a.input};
  text.streams = read_header(a.header);
  text.element = a.precision == "double" ? Element::f64 : Element::f32;
  text.trace_level = 2;
  const std::unique_ptr<Source> source =
      open_text(text, raised(a.raise, {}), no_unknown_input(console.report(), a.header));
  ConvertOptions options;
  options.to = Format::cbf;
  options.chunk_bytes = a.chunk_size;
  options.ctf2bin_chunks = a.reference_chunks;
  options.keys = ConvertOptions::Keys::none;
  options.force = true;
  return run_conversion(*source, a.output, options, false, console);
}

}  // namespace

Run add_ctf2bin(CLI::App& app, Console& console) {
  auto a = std::make_shared<Ctf2BinArguments>();
  CLI::App& command =
      add_command(app, "ctf2bin", "Text to binary, called as CNTK's ctf2bin.py",
                  "batchfeed ctf2bin --input train.ctf --header streams.txt --chunk_size 33554432 --output train.cbf");
  command.add_option("--input", a->input, "Corpus in CNTK's text format")->required()->type_name("FILE");
  command.add_option("--header", a->header, "Streams, one a line: NAME ALIAS dense|sparse DIM")
      ->required()
      ->type_name("FILE");
  command.add_option("--chunk_size", a->chunk_size, "Bytes of samples after which a chunk is closed")
      ->required()
      ->type_name("BYTES");
  command.add_option("--output", a->output, "File to write; replaced if it exists")->required()->type_name("FILE");
  command.add_option("--precision", a->precision, "float or double")
      ->check(CLI::IsMember({"float", "double"}))
      ->type_name("TYPE");
  command.add_flag("--reference-chunks", a->reference_chunks,
                   "Chunks as ctf2bin.py leaves them: after the first, each sequence is one");
  add_raise(command, a->raise);
  return [a, &console] { return run_ctf2bin(*a, console); };
}

}  // namespace batchfeed::cli
