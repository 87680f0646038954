// SPDX-License-Identifier: MIT
#include "formats/ctf/source.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/counted.h"
#include "base/hash.h"
#include "formats/ctf/ctf.h"
#include "formats/ctf/faults.h"
#include "io/room.h"
#include "model/places.h"
#include "model/total.h"

namespace batchfeed::ctf {
namespace {

// What an index depends on: the data, the names, how ids are read; and the
// version of these rules.
index_cache::Binding bind(const Schema& schema, const CtfOptions& options, bool text_keys, const io::File& file) {
  std::string text = "ctf 2 ";
  text += options.skip_sequence_ids ? 'L' : 'S';
  text += text_keys ? 'T' : 'N';
  for (std::size_t i = 0; i < schema.size(); ++i) {
    text += static_cast<int>(i) == schema.main() ? " !" : " |";  // no alias has a blank in it
    text += schema.alias(i);
  }
  return {.options = std::move(text),
          .size = file.size(),
          .mtime_ns = file.identity().mtime_ns,
          .fingerprint = index_cache::content_fingerprint(file)};
}

std::string encode(const Start& start, const IndexNotes& notes) {
  const std::uint64_t fields[6] = {
      start.line_mode ? 1u : 0u, start.line_begin, start.begin, start.lines, notes.left_out, notes.first_left_out};
  std::string out;
  for (const std::uint64_t field : fields) {
    const std::uint64_t stored = as_stored(field);
    out.append(reinterpret_cast<const char*>(&stored), sizeof stored);
  }
  return out;
}

bool decode(const std::string& extra, Start& start, IndexNotes& notes) {
  if (extra.size() != 48) return false;
  const auto field = [&](std::size_t i) { return load<std::uint64_t>(extra.data() + 8 * i); };
  start = {.line_mode = field(0) != 0, .line_begin = field(1), .begin = field(2), .lines = field(3)};
  notes = {};
  notes.left_out = field(4);
  notes.first_left_out = field(5);
  return true;
}

// Whether an index could have been made with these limits. If the data themselves are beyond one, indexing them again
// gives the fault, with its place.
bool within_limits(const IndexEntries& entries, const TextList& texts, const io::File& file, const Limits& limits) {
  if (entries.size() > io::room_for_index(file, limits).bytes / sizeof(IndexEntry)) return false;
  const auto is_long = [&limits](std::uint32_t length) { return length > limits.key_bytes; };
  if (std::ranges::any_of(texts.lengths().span(), is_long)) return false;
  for (std::size_t i = 0; i < entries.size();) {
    if (const auto whole = entries.stretch(i); whole.entries != 0 && whole.samples <= limits.sequence_samples) {
      i += whole.entries;
      continue;
    }
    std::array<IndexEntry, 32> some;  // NOLINT(cppcoreguidelines-pro-type-member-init): read() fills it
    for (const IndexEntry& e : std::span(some).first(entries.read(i, some))) {
      if (e.samples > limits.sequence_samples) return false;
      ++i;
    }
  }
  return true;
}

std::string others_like_it(std::uint64_t more) {
  if (more == 0) return "";
  return "; " + std::to_string(more) + (more == 1 ? " more sequence has the id" : " more sequences have the ids") +
         " of an earlier one";
}

}  // namespace

// Warns of a file that was not written, or not fetched, to its end: it has a last line that breaks off before its first
// sample, or zeros where the system had not yet written when it went down. Both are blank to a reader, so sequences
// would be missing without a word.
void CtfSource::look_at_end() {
  std::string end(static_cast<std::size_t>(std::min<std::uint64_t>(file_.size(), 4096)), '\0');
  file_.read(file_.size() - end.size(), std::as_writable_bytes(std::span(end)));
  const auto tell = [&](std::size_t from, const char* what) {
    const std::uint64_t byte = file_.size() - end.size() + from;
    sink_.warning(torn_end(file_.path(), byte, lines_.line_of(byte), what));
  };
  const std::size_t written = end.find_last_not_of('\0') + 1;
  ends_in_nul_ = written != end.size();
  if (ends_in_nul_) return tell(written, "from here on, at the latest, it holds nothing but NUL bytes");
  const std::size_t line = end.rfind('\n') + 1;
  if (line == 0 && end.size() != file_.size()) return;  // a long one
  const bool is_blank = end.find_first_not_of(" \t\r\x1A", line) == end.npos;
  if (!is_blank && end.find('|', line) == end.npos) tell(line, "the last line has neither a sample nor an end");
}

CtfSource::CtfSource(const CtfOptions& options, const std::string& file, const OpenContext& context,
                     const Tuning& tuning)
    : schema_(options, context.limits),
      element_(options.element),
      trace_level_(options.trace_level),
      context_(context),
      file_(file, context.file_system, context.limits),
      tuning_(tuning),
      sink_(file, context.check ? ~0ull : options.max_errors,
            context.check ? std::max(options.trace_level, 1) : options.trace_level, context.report,
            context.check ? 0 : FaultSink::kPerId, context.count_only),
      lines_(file_) {
  if (const auto before = options.seen.find(file); before != options.seen.end()) file_.expect_same(before->second);
  if (file_.size() == 0) throw Error(empty_file(file));
  file_.warn_if_slow(context.report);
  // A check looks at every line.
  if ((options.cache_index && !context.check) || tuning_.cache_index) {
    const index_cache::Binding binding = bind(schema_, options, text_keys(), file_);
    const std::vector<std::string> places = index_cache::places(file, options.cache_dir, context_.file_system);
    if (!load_index(binding, places)) {
      make_index(options.skip_sequence_ids);
      store_index(binding, places);
    }
  } else {
    make_index(options.skip_sequence_ids);
  }
  // With an index from a cache, the end of a compressed or remote file is still to be unpacked or fetched.
  if (indexed_ || !(file_.is_compressed() || file_.is_remote())) look_at_end();
  if (!start_.line_mode) notes_.repeated = find_repeated(index_.entries);
  chunks_ = cut_chunks(index_, std::min(options.chunk_bytes, file_.size()));
  counted_once_.emplace(index_.entries.size());
}

void CtfSource::make_index(bool skip_sequence_ids) {
  indexed_ = true;
  start_ = find_start(file_, skip_sequence_ids, context_.keys->mode(), context_.limits);
  IndexResult result = index_file(file_, start_, schema_, context_, tuning_.range, tuning_.every_line);
  file_.expect_unchanged();
  index_ = std::move(result.index);
  notes_ = result.notes;
}

bool CtfSource::load_index(const index_cache::Binding& binding, const std::vector<std::string>& places) {
  if (tuning_.rebuild_cache) return false;
  index_cache::Loaded loaded = index_cache::load(places, binding);
  const auto refuse = [&](const std::string& why) {
    cache_.why = why;
    sink_.warning(Fault{.kind = FaultKind::stale,
                        .id = "ctf.index-rebuilt",
                        .at = {.file = loaded.path},
                        .what = "the index cache was not used: " + why,
                        .hint = "it is being built again"});
    return false;
  };
  if (!loaded.payload) return loaded.why.empty() ? false : refuse(loaded.why);
  if (loaded.payload->entries.empty() || !decode(loaded.payload->extra, start_, notes_)) return refuse("it is damaged");
  if (!within_limits(loaded.payload->entries, loaded.payload->texts, file_, context_.limits))
    return refuse("it tells of sequences beyond a limit");
  index_.entries = std::move(loaded.payload->entries);
  if (text_keys()) {
    if (!are_places(index_.entries, loaded.payload->texts)) return refuse("it is damaged");
    context_.keys->expect(loaded.payload->texts.size());
    number_places(index_.entries, loaded.payload->texts, *context_.keys);
  }
  cache_ = {.used = true, .path = loaded.path, .why = {}};
  return true;
}

void CtfSource::store_index(const index_cache::Binding& binding, const std::vector<std::string>& places) {
  index_cache::Payload payload{.entries = index_.entries, .texts = {}, .extra = encode(start_, notes_)};
  if (text_keys()) put_places(payload.entries, payload.texts, *context_.keys);
  const index_cache::Stored stored = index_cache::store(places, binding, payload, file_.path());
  cache_.path = stored.path;
  if (stored.path.empty()) sink_.warning(index_cache::not_kept(file_.path(), stored));
}

Place CtfSource::place(std::uint32_t chunk, std::uint32_t row) const {
  const IndexEntry e = index_.entries[static_cast<std::size_t>(index_.chunk_first[chunk]) + row];
  const std::uint64_t end = e.begin + e.bytes;
  return {.file = file_.path(),
          .begin = e.begin,
          .end = end,
          .first_line = lines_.line_of(e.begin),
          .last_line = lines_.line_of(end - 1)};
}

std::uint64_t CtfSource::fingerprint() const {
  Fingerprint print;
  print.add(index_cache::content_fingerprint(file_));
  RunningHash hash;
  for (const IndexEntry& e : index_.entries) hash.add(&e, sizeof e);
  print.add(hash.value());
  for (std::size_t i = 0; i < schema_.size(); ++i) {
    const StreamInfo& s = schema_.streams()[i];
    print.add(s.name)
        .add(schema_.alias(i))
        .add(s.dim)
        .add(static_cast<std::uint64_t>(s.storage))
        .add(static_cast<std::uint64_t>(s.element))
        .add(s.defines_mb_size ? 1 : 0);
  }
  return print.value();
}

std::vector<Notice> CtfSource::notices() const {
  std::vector<Notice> out;
  if (notes_.above > 0) {
    Fault fault = id_range(file_.path(), notes_.above_id, notes_.first_above, lines_.line_of(notes_.first_above));
    if (notes_.above > 1) fault.what += "; " + counted(notes_.above - 1, "more sequence") + " too";
    out.push_back({Severity::error, std::move(fault)});
  }
  if (notes_.left_out > 0) {
    out.push_back({Severity::info,
                   Fault{.kind = FaultKind::format,
                         .id = "ctf.left-out",
                         .at = {.file = file_.path(),
                                .byte = notes_.first_left_out,
                                .line = lines_.line_of(notes_.first_left_out),
                                .has_byte = true},
                         .what = std::to_string(notes_.left_out) + (notes_.left_out == 1 ? " sequence" : " sequences") +
                                 " without a sample of " +
                                 (schema_.main() == Schema::kNone
                                      ? "any declared input"
                                      : "'" + schema_.alias(static_cast<std::size_t>(schema_.main())) + "'") +
                                 (notes_.left_out == 1 ? " was left out" : " were left out, the first is here")}});
  }
  if (notes_.repeated && (context_.check || trace_level_ > 0)) {
    out.push_back({Severity::warning, Fault{.kind = FaultKind::format,
                                            .id = "ctf.repeated-id",
                                            .at = {.file = file_.path(),
                                                   .byte = notes_.repeated->second,
                                                   .line = lines_.line_of(notes_.repeated->second),
                                                   .column = 1,
                                                   .has_byte = true},
                                            .what = "sequence id " + key_text(notes_.repeated->key) +
                                                    " comes back; it was used from line " +
                                                    std::to_string(lines_.line_of(notes_.repeated->first)) + " on" +
                                                    others_like_it(notes_.repeated->sequences - 1),
                                            .hint = "each run of lines with one id is a sequence of its own"}});
  }
  const std::vector<Notice> faults = sink_.finish();
  out.insert(out.end(), faults.begin(), faults.end());
  return out;
}

IndexBuild build_index(const CtfOptions& options, const std::string& file, const OpenContext& context, bool rebuild) {
  const CtfSource source(options, file, context, {.cache_index = true, .rebuild_cache = rebuild});
  const ChunkInfo all = total(source.chunks());
  return {.file = file,
          .cache = source.cache().path,
          .was_valid = source.cache().used,
          .why = source.cache().why,
          .sequences = source.index().entries.size(),
          .samples = all.samples,
          .chunks = source.chunks().size(),
          .bytes = all.bytes};
}

IndexBuild find_index(const CtfOptions& options, const std::string& file, const OpenContext& context) {
  const io::File data(file, context.file_system, context.limits);
  const index_cache::Binding binding =
      bind(Schema(options, context.limits), options, context.keys->mode() != KeyMode::numeric, data);
  const index_cache::Loaded found =
      index_cache::load(index_cache::places(file, options.cache_dir, context.file_system), binding);
  return {.file = file,
          .cache = found.path,
          .was_valid = found.payload.has_value(),
          .why = found.why,
          .sequences = found.payload ? found.payload->entries.size() : 0};
}

std::unique_ptr<Source> open(const CtfOptions& options, const std::string& file, const OpenContext& context) {
  return std::make_unique<CtfSource>(options, file, context);
}

}  // namespace batchfeed::ctf
