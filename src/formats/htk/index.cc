// SPDX-License-Identifier: MIT
#include "formats/htk/index.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/saturate.h"
#include "formats/htk/archive.h"
#include "formats/htk/scp.h"
#include "io/lines.h"
#include "io/path_policy.h"
#include "io/room.h"

namespace batchfeed::htk {
namespace {

constexpr unsigned kChecksum = 010000, kChecksumBytes = 2;  // _K
constexpr std::uint32_t kNoFile = 0xFFFFFFFFu;
constexpr std::uint64_t kNamed = 4;  // of files that are not there
constexpr std::uint64_t kLegacyMaxFrames = 65535, kLegacyChunkUtterances = 65535;

std::string plural(std::uint64_t n, const char* one, const char* many) {
  return std::to_string(n) + ' ' + (n == 1 ? one : many);
}

// The list's line helps more than the file's name alone.
Fault listed(Fault fault, const Position& at, const std::string& key) {
  if (at.line == 0) return fault;
  fault.what += " (listed at " + at.file + ':' + std::to_string(at.line) + ", key '" + key + "')";
  if (fault.id != "io.open") return fault;
  if (const std::string rule = io::map_beside(fault.at.file, at.file); !rule.empty())
    fault.hint = "a file of that name lies beside the list: `path_map = " + rule + "`";
  return fault;
}

class Builder {
 public:
  Builder(const HtkOptions& options, const OpenContext& context, FaultSink& faults)
      : options_(options), context_(context), faults_(faults) {}

  Index build() {
    for (const std::string& list : options_.scp_files) read_list(list);
    read_files();
    index_.list_first.push_back(index_.utterances.size());
    if (options_.legacy) {
      refuse_if_most_are_gone();
    } else {
      drop_duplicates();
    }
    check_archives();
    if (index_.utterances.empty()) {
      std::string why;
      for (const Notice& n : index_.notices) why += (why.empty() ? ": " : "; ") + n.fault.what;
      throw Error(Fault{.kind = FaultKind::format,
                        .id = "htk.no-utterances",
                        .at = {.file = options_.first_file()},
                        .what = "no utterance is left of " + plural(entries_, "entry", "entries") + why,
                        .hint = too_long_ == 0 ? "" : raise_length(),
                        .stream = options_.name});
    }
    cut();
    return std::move(index_);
  }

 private:
  void count(const char* id, std::uint64_t n, std::string what, std::string hint = {}) {
    if (n == 0) return;
    index_.notices.push_back({Severity::warning, Fault{.kind = FaultKind::format,
                                                       .id = id,
                                                       .at = {.file = options_.first_file()},
                                                       .what = std::move(what),
                                                       .hint = std::move(hint),
                                                       .stream = options_.name}});
  }
  // Of what single() told one by one; check has listed each.
  void sum(const char* id, std::uint64_t n, std::string what, std::string hint = {}) {
    if (!context_.check) count(id, n, std::move(what), std::move(hint));
  }
  // One of those that are counted: listed by check, and for the curious.
  void single(Fault fault) {
    fault.stream = options_.name;
    if (context_.check) {
      faults_.warning(std::move(fault));
    } else {
      faults_.info(std::move(fault));
    }
  }

  // In check mode a damage is reported and passed over.
  template <class Do>
  void tolerant(Do&& action) {
    if (!context_.check) return action();
    try {
      action();
    } catch (const Error& e) {
      Fault fault = e.fault();
      fault.stream = options_.name;
      faults_.error(std::move(fault));
    }
  }

  void read_list(const std::string& list);
  void read_files();
  void add(const ScpEntry& entry, const Position& at);
  std::uint64_t whole_frames(std::uint32_t file);
  void drop_duplicates();
  void refuse_if_most_are_gone();
  const char* raise_length() const {
    return options_.legacy ? "raise `maxUtteranceLength`" : "raise `maxSequenceSize`";
  }
  void check_archives();
  void cut();
  // Leaves out utterances for which gone(number, utterance) says so.
  template <class Gone>
  void remove(Gone gone);

  const HtkOptions& options_;
  const OpenContext& context_;
  FaultSink& faults_;
  Index index_;
  io::FileNumbers file_number_{index_.paths, context_.file_system.roots};
  std::uint64_t entries_ = 0, too_long_ = 0, empty_ = 0, blank_lines_ = 0, blanks_ = 0;
};

template <class Gone>
void Builder::remove(Gone gone) {
  auto& all = index_.utterances;
  std::size_t kept = 0, list = 0;
  for (std::size_t i = 0; i <= all.size(); ++i) {
    while (list < index_.list_first.size() && index_.list_first[list] == i) index_.list_first[list++] = kept;
    if (i < all.size() && !gone(i, all[i])) all[kept++] = all[i];
  }
  all.resize(kept);
}

void Builder::read_list(const std::string& list) {
  index_.list_first.push_back(index_.utterances.size());
  const io::File file(list, context_.file_system, context_.limits);
  ScpRules rules{.prefix = normalise_prefix(options_.prefix),
                 .directory = std::string(io::directory_of(list)),
                 .path_map = options_.path_map,
                 .limits = context_.limits};
  io::LineReader lines(file, io::LineEnd::any, context_.limits.list_line_bytes, "list_line_bytes");
  io::IndexRoom room(file, context_.limits);
  while (lines.next()) {
    std::string_view text = lines.text();
    Position at{.file = list, .byte = lines.begin(), .line = lines.number(), .column = 1, .has_byte = true};
    if (lines.number() == 1 && text.starts_with("\xEF\xBB\xBF")) {
      text.remove_prefix(3);
      at.byte += 3;
      at.column += 3;
    }
    if (text.find_first_not_of(" \t\v\f\r") == text.npos) {
      ++blank_lines_;
      continue;
    }
    if (++entries_ > context_.limits.scp_entries) {
      throw Error(Fault{.kind = FaultKind::limit,
                        .id = "limit.scp-entries",
                        .at = at,
                        .what = "more than " + std::to_string(context_.limits.scp_entries) + " entries",
                        .hint = "raise limits.scp_entries"});
    }
    const std::size_t files = index_.paths.size();
    std::uint64_t bytes = sizeof(Utterance) + io::IndexRoom::kKey;
    tolerant([&] {
      const ScpEntry entry = parse_scp_line(text, rules, at);
      bytes += entry.key.size();
      add(entry, at);
    });
    if (index_.paths.size() > files) bytes += io::IndexRoom::kPath + 2 * index_.paths.back().size();
    room.take(bytes, at);
  }
  if (context_.progress) context_.progress(file.size(), file.size());
}

// Parameter files without a list: behind those of the lists.
void Builder::read_files() {
  if (options_.files.empty()) return;
  index_.list_first.push_back(index_.utterances.size());
  for (const std::string& path : options_.files) {
    ++entries_;
    const Position at{.file = path};
    ScpEntry entry{.key = std::string(without_extension(path)), .path = path, .whole = true};
    if (entry.key.empty()) entry.key = path;
    tolerant([&] { add(entry, at); });
  }
}

void Builder::add(const ScpEntry& entry, const Position& at) {
  blanks_ += entry.blanks ? 1 : 0;
  const std::optional<std::uint64_t> key = context_.keys->key(entry.key);
  if (!key) {
    throw Error(Fault{.kind = FaultKind::format,
                      .id = "htk.numeric-key",
                      .at = at,
                      .what = "key '" + entry.key + "' does not begin with a number",
                      .hint = "set `useNumericSequenceKeys = false`",
                      .stream = options_.name});
  }
  const std::uint32_t file = file_number_(entry.path, at);
  std::uint64_t frames = entry.frames;
  if (entry.whole) {
    try {
      frames = Archive(entry.path, true, context_.file_system).header().frames;
    } catch (const Error& e) {
      throw Error(listed(e.fault(), at, entry.key));
    }
    if (frames > context_.limits.sequence_samples) {
      throw Error(Fault{.kind = FaultKind::limit,
                        .id = "limit.sequence",
                        .at = at,
                        .what = "'" + entry.path + "' has " + std::to_string(frames) + " frames, the limit is " +
                                std::to_string(context_.limits.sequence_samples),
                        .hint = "raise limits.sequence_samples"});
    }
  }
  const auto left_out = [&](const char* id, std::uint64_t& counter, std::string why) {
    ++counter;
    single({.kind = FaultKind::format,
            .id = id,
            .at = at,
            .what = "utterance '" + entry.key + "' " + std::move(why) + "; left out"});
  };
  if (frames == 0) return left_out("htk.empty-utterance", empty_, "has no frames");
  std::uint64_t longest = options_.max_sequence_frames;
  if (options_.legacy) longest = std::min({longest, options_.max_utterance_frames, kLegacyMaxFrames});
  if (frames > longest) {
    return left_out("htk.too-long", too_long_,
                    "has " + std::to_string(frames) + " frames, more than " + std::to_string(longest));
  }
  index_.utterances.push_back({.key = *key,
                               .file = file,
                               .first = entry.first,
                               .frames = static_cast<std::uint32_t>(frames),
                               .line = static_cast<std::uint32_t>(std::min<std::uint64_t>(at.line, 0xFFFFFFFFu))});
}

void Builder::drop_duplicates() {
  const auto no_later = [](const Utterance& a, const Utterance& b) { return a.key >= b.key; };
  const auto& all = index_.utterances;
  if (std::adjacent_find(all.begin(), all.end(), no_later) == all.end()) return;
  std::vector<std::uint64_t> keys;
  keys.reserve(index_.utterances.size());
  for (const Utterance& u : index_.utterances) keys.push_back(u.key);
  std::sort(keys.begin(), keys.end());
  std::vector<std::uint64_t> repeated;
  for (std::size_t i = 1; i < keys.size(); ++i) {
    if (keys[i] == keys[i - 1] && (repeated.empty() || repeated.back() != keys[i])) repeated.push_back(keys[i]);
  }
  if (repeated.empty()) return;
  std::uint64_t dropped = 0;
  remove([&](std::size_t i, const Utterance& u) {
    if (!std::binary_search(repeated.begin(), repeated.end(), u.key)) return false;
    const std::string key = context_.keys->text(u.key);
    ++dropped;
    Position at = index_.place(i, options_);
    single({.kind = FaultKind::format,
            .id = "htk.duplicate-key",
            .at = std::move(at),
            .what = "key '" + key + "' occurs more than once; left out, all occurrences",
            .hint = "keys must be unique in the list"});
    return true;
  });
  std::string named;
  for (std::size_t i = 0; i < repeated.size() && i < 3; ++i)
    named += (i == 0 ? "" : ", ") + context_.keys->text(repeated[i]);
  sum("htk.duplicate-key", dropped,
      plural(dropped, "entry", "entries") + " with a key that occurs more than once were left out, all occurrences (" +
          named + (repeated.size() > 3 ? ", ...)" : ")"),
      "keys must be unique in the list");
}

void Builder::refuse_if_most_are_gone() {
  if (too_long_ <= entries_ / 2) return;
  throw Error(Fault{.kind = FaultKind::format,
                    .id = "htk.most-skipped",
                    .at = {.file = options_.first_file()},
                    .what = std::to_string(too_long_) + " of " + plural(entries_, "utterance", "utterances") +
                            " are too long and would be left out",
                    .hint = raise_length(),
                    .stream = options_.name});
}

void Builder::check_archives() {
  struct Need {
    std::uint64_t end = 0;  // frames that the utterances want
    bool bad = false;
  };
  std::vector<Need> needs(index_.paths.size());
  for (const Utterance& u : index_.utterances)
    needs[u.file].end = std::max(needs[u.file].end, std::uint64_t{u.first} + u.frames);
  std::uint32_t first = kNoFile;
  std::vector<std::uint64_t> held(index_.paths.size());
  index_.identities.resize(index_.paths.size());
  std::vector<Fault> missing;  // the first few
  std::uint64_t gone = 0;
  bool any_bad = false;
  const auto damage = [&](std::uint32_t file, Fault fault) {
    fault.stream = options_.name;
    faults_.error(std::move(fault));
    needs[file].bad = any_bad = true;
  };
  std::vector<std::uint8_t> seen(index_.paths.size(), 0);
  // In the order of first use, so that the first utterance's archive is the model.
  for (const Utterance& u : index_.utterances) {
    if (std::exchange(seen[u.file], 1) != 0) continue;
    const std::string& path = index_.paths[u.file];
    try {
      const Archive archive(path, true, context_.file_system);
      const Header& h = archive.header();
      index_.identities[u.file] = archive.file().identity();
      if (first == kNoFile) {
        first = u.file;
        index_.header = h;
      } else {
        check_same(index_.header, index_.paths[first], h, path);
      }
      held[u.file] = std::min(h.frames, h.held);
      if (h.held < h.frames) {
        faults_.warning({.kind = FaultKind::format,
                         .id = "htk.cut-short",
                         .at = {.file = path, .byte = archive.file().size(), .has_byte = true},
                         .what = "the header counts " + std::to_string(h.frames) + " frames, the file ends after " +
                                 std::to_string(h.held),
                         .hint = "it may have been cut off",
                         .stream = options_.name});
      } else if ((h.kind_code & kChecksum) != 0 &&
                 archive.file().size() < h.data + h.frames * h.frame_bytes + kChecksumBytes) {
        faults_.warning({.kind = FaultKind::format,
                         .id = "htk.no-checksum",
                         .at = {.file = path, .byte = archive.file().size(), .has_byte = true},
                         .what = "its kind says that a checksum follows the frames (_K), the file ends before it",
                         .hint = "it may have been cut off",
                         .stream = options_.name});
      }
    } catch (const Error& e) {
      Fault fault = listed(e.fault(), index_.place(static_cast<std::uint64_t>(&u - index_.utterances.data()), options_),
                           context_.keys->text(u.key));
      if (fault.kind == FaultKind::io && !context_.check) {
        if (++gone <= kNamed) missing.push_back(std::move(fault));
        continue;
      }
      damage(u.file, std::move(fault));
    }
  }
  if (!missing.empty()) {
    Fault fault = missing.front();
    fault.stream = options_.name;
    if (gone > 1) {
      fault.what += "; so it is with " + std::to_string(gone - 1) + " more of the " +
                    std::to_string(index_.paths.size()) + " files listed";
      for (std::size_t i = 1; i < missing.size(); ++i) fault.what += (i == 1 ? ": " : ", ") + missing[i].at.file;
    }
    throw Error(std::move(fault));
  }
  std::uint64_t outside = 0;
  remove([&](std::size_t i, const Utterance& u) {
    if (needs[u.file].bad) return true;
    if (needs[u.file].end <= held[u.file] || std::uint64_t{u.first} + u.frames <= held[u.file]) return false;
    ++outside;
    Fault fault{.kind = FaultKind::format,
                .id = "htk.range",
                .at = index_.place(i, options_),
                .what = "utterance '" + context_.keys->text(u.key) + "' wants frames " + std::to_string(u.first) +
                        " to " + std::to_string(std::uint64_t{u.first} + u.frames - 1) + " of '" +
                        index_.paths[u.file] + "', which has " + std::to_string(held[u.file]),
                .hint = "frames count from 0",
                .stream = options_.name};
    faults_.error(std::move(fault));
    return true;
  });
  count("htk.blank-lines", blank_lines_, plural(blank_lines_, "blank line was", "blank lines were") + " passed over");
  count("htk.blanks", blanks_,
        plural(blanks_, "entry has", "entries have") +
            " blanks around '=' or before '[', which are no part of key or path");
  sum("htk.empty-utterance", empty_, plural(empty_, "utterance", "utterances") + " without frames left out");
  sum("htk.too-long", too_long_, plural(too_long_, "utterance", "utterances") + " left out, longer than allowed",
      options_.legacy ? "see `maxUtteranceLength`" : "see `maxSequenceSize`");
}

void Builder::cut() {
  std::uint64_t frames = 0;
  for (std::size_t i = 0; i < index_.utterances.size(); ++i) {
    const bool full = frames > options_.chunk_frames || (options_.legacy && !index_.chunk_first.empty() &&
                                                         i - index_.chunk_first.back() >= kLegacyChunkUtterances);
    if (index_.chunk_first.empty() || full) {
      index_.chunk_first.push_back(i);
      frames = 0;
    }
    frames += index_.utterances[i].frames;
  }
  index_.chunk_first.push_back(index_.utterances.size());
}

}  // namespace

Position Index::place(std::uint64_t utterance, const HtkOptions& options) const {
  const auto behind = std::upper_bound(list_first.begin(), list_first.end(), utterance);
  const std::size_t list = behind == list_first.begin() ? 0 : static_cast<std::size_t>(behind - list_first.begin()) - 1;
  if (list >= options.scp_files.size()) return {.file = paths[utterances[utterance].file]};
  return {.file = options.scp_files[list], .line = utterances[utterance].line};
}

void check_same(const Header& first, const std::string& first_path, const Header& header, const std::string& path) {
  std::string what;
  if (header.dim != first.dim) {
    what = "frames of " + std::to_string(header.dim) + " values, those of '" + first_path + "' have " +
           std::to_string(first.dim);
  } else if (header.kind != first.kind) {
    what = "kind " + header.kind + ", that of '" + first_path + "' is " + first.kind;
  } else if (header.period != first.period) {
    what = "a frame period of " + std::to_string(header.period) + " (in 100 ns), that of '" + first_path + "' is " +
           std::to_string(first.period);
  } else {
    return;
  }
  throw Error(Fault{.kind = FaultKind::format,
                    .id = "htk.mixed",
                    .at = {.file = path, .byte = 0, .has_byte = true},
                    .what = std::move(what),
                    .hint = "the files of one stream must agree in kind, dimension and period"});
}

Index build_index(const HtkOptions& options, const OpenContext& context, FaultSink& faults) {
  return Builder(options, context, faults).build();
}

}  // namespace batchfeed::htk
