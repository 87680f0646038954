// SPDX-License-Identifier: MIT
#include "config/testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace batchfeed::config::testing {

std::string lines(std::string_view text) {
  std::string out;
  constexpr std::string_view kBreak = " | ";
  while (true) {
    const std::size_t at = text.find(kBreak);
    out += text.substr(0, at);
    if (at == std::string_view::npos) return out;
    out += '\n';
    text.remove_prefix(at + kBreak.size());
  }
}

Document& World::load() {
  notices.clear();
  doc = std::make_unique<Document>(limits, [this](const Notice& notice) { notices.push_back(notice); });
  doc->collect_faults(all_faults);
  std::vector<Input> inputs{{.name = "c.cntk", .text = {}, .is_file = true}};
  for (std::size_t i = 0; i < set.size(); ++i) {
    inputs.push_back({.name = "set#" + std::to_string(i + 1), .text = set[i], .is_file = false});
  }
  doc->load(inputs, [this](const std::string& path) {
    const auto file = files.find(path);
    if (file == files.end()) {
      throw Error({.kind = FaultKind::io, .id = "io.open", .at = {.file = path}, .what = "no such file"});
    }
    return file->second;
  });
  return *doc;
}

LoadedConfig World::bind(const std::string& section) {
  ConfigRequest request;
  request.section = section;
  request.precision = precision;
  request.limits = limits;
  return config::load(load(), request);
}

bool World::reported(std::string_view id) const {
  return std::any_of(notices.begin(), notices.end(), [&](const Notice& notice) { return notice.fault.id == id; });
}

std::string dump(const Section& section) {
  std::string out;
  for (const auto& [key, entry] : section.entries()) {
    const auto value = section.own(key);
    out += (out.empty() ? "" : " ") + entry.key + "='" + std::string(value->text.bytes()) + '\'';
  }
  return out;
}

const Section& at(const Section& root, std::string_view path) {
  const Section* section = &root;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    std::string_view step = path.substr(0, dot);
    path.remove_prefix(dot == std::string_view::npos ? path.size() : dot + 1);
    if (!step.ends_with(']')) {
      section = &section->child(step);
      continue;
    }
    const std::size_t bracket = step.find('[');
    const std::size_t index = static_cast<std::size_t>(step[bracket + 1] - '0');
    step = step.substr(0, bracket);
    section = section->elements(step, *section->find(step)).at(index);
  }
  return *section;
}

namespace {

std::string of(Element element) { return element == Element::f32 ? " f32" : " f64"; }
std::string number(std::uint64_t value) {
  return value == ~0ull ? "unlimited" : value == kWholeSet ? "everything" : std::to_string(value);
}

std::string describe(const CtfOptions& o) {
  std::string out = "ctf";
  for (const std::string& file : o.files) out += " file=" + file;
  out += of(o.element) + " errors=" + number(o.max_errors) + " trace=" + std::to_string(o.trace_level) +
         " chunk=" + number(o.chunk_bytes);
  if (o.skip_sequence_ids) out += " skip-ids";
  if (o.cache_index) out += " cache";
  for (const StreamSpec& s : o.streams) {
    out += ' ' + s.name + (s.alias.empty() || s.alias == s.name ? "" : "<" + s.alias) + ':' + number(s.dim) +
           (s.storage == Storage::dense ? "d" : "s") + (s.defines_mb_size ? "!" : "");
  }
  return out;
}

std::string describe(const CbfOptions& o) {
  std::string out = "cbf";
  for (const std::string& file : o.files) out += " file=" + file;
  out += of(o.element);
  for (const CbfOptions::Rename& r : o.renames) out += ' ' + r.alias + "->" + r.name;
  return out;
}

std::string describe(const HtkOptions& o) {
  std::string out = "htk " + o.name + " scp=" + o.scp_files.front() + of(o.element) + " dim=" + number(o.dim);
  if (!o.prefix.empty()) out += " prefix=" + o.prefix;
  if (o.context) out += " context=" + std::to_string(o.context->first) + ',' + std::to_string(o.context->second);
  if (o.expand_to_utterance) out += " expand";
  if (o.max_sequence_frames != ~0ull) out += " max=" + number(o.max_sequence_frames);
  if (o.legacy && o.max_utterance_frames != 65'535)
    out += " max-utterance=" + (o.max_utterance_frames == ~0ull ? std::string("any") : number(o.max_utterance_frames));
  if (o.defines_mb_size) out += " !";
  if (o.trace_level != 1) out += " trace=" + std::to_string(o.trace_level);
  if (o.legacy) out += " legacy";
  return out + (o.frame_mode ? " frames" : " whole");
}

std::string describe(const MlfOptions& o) {
  std::string out = "mlf " + o.name;
  for (const std::string& file : o.files) out += " file=" + file;
  out += of(o.element) + " dim=" + number(o.dim);
  if (!o.mapping_file.empty()) out += " map=" + o.mapping_file;
  if (o.binary) out += " binary";
  if (o.phone_boundaries) out += " boundaries";
  if (o.cache_index) out += " cache";
  if (o.trace_level != 1) out += " trace=" + std::to_string(o.trace_level);
  if (o.legacy) out += " legacy";
  return out + (o.frame_mode ? " frames" : " whole");
}

std::string describe(const KaldiOptions&) { return "kaldi"; }
std::string describe(const std::shared_ptr<const Source>&) { return "user"; }

}  // namespace

std::string summary(const Setup& setup) {
  std::string out;
  for (const SourceOptions& source : setup.sources) {
    out += std::visit([](const auto& options) { return describe(options); }, source) + " | ";
  }
  const ReaderOptions& r = setup.reader;
  out += r.order.kind == OrderKind::file ? "in order" : name(r.order.kind);
  out += " window=" + number(r.order.window) + (r.order.window_in_samples ? " samples" : " chunks");
  out += " seed=" + number(r.order.seed) + " | ";
  out += name(r.pack.kind);
  if (r.pack.kind == Packing::truncated)
    out += '=' + number(r.pack.truncation_length) + '+' + number(r.pack.right_splice);
  out += ' ';
  out += name(r.keys);
  out += r.local_timeline ? " local" : " global";
  if (r.shard != Shard::chunk) out += " even";
  if (r.max_invalid != 0) out += " invalid=" + number(r.max_invalid);
  if (r.keep_in_memory) out += " keep";
  if (!r.prefetch) out += " no-prefetch";
  if (r.legacy_speech) out += " legacy";
  if (r.rolling_window) out += " rolling";
  if (r.full_minibatches) out += " full";
  if (r.one_sequence) out += " one-sequence";
  for (std::size_t i = 0; i < r.rows_per_epoch.size(); ++i)
    out += (i == 0 ? " rows=" : ":") + number(r.rows_per_epoch[i]);
  return out;
}

void check(const BindCase& c, World& world, const std::string& section) {
  SCOPED_TRACE(std::string(c.id) + ": " + c.text);
  const std::string made = outcome([&] { return summary(world.bind(section).setup); });
  std::string_view rest = c.expected;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(", ");
    const std::string_view words = rest.substr(0, comma);
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 2);
    if (words.starts_with('!')) {
      EXPECT_EQ(made, words);
    } else if (words.starts_with('~')) {
      EXPECT_TRUE(world.reported(words.substr(1))) << words;
    } else {
      EXPECT_NE((' ' + made + " . ").find(' ' + std::string(words) + ' '), std::string::npos)
          << words << " not in " << made;
    }
  }
}

void run(const BindCase& c, const std::string& section) {
  World world(c.text);
  check(c, world, section);
}

std::string text_reader(const std::string& more, const std::string& input) {
  return "reader=[ | file=t | " + more + " | input=[" + input + "] | ]";
}

std::string composite(const std::string& reader, const std::string& element, const std::string& input) {
  return "reader=[ | " + reader +
         " | deserializers=([type=CNTKTextFormatDeserializer;module=CNTKTextFormatReader;file=t;" + element +
         ";input=[" + input + "]]) | ]";
}

}  // namespace batchfeed::config::testing
