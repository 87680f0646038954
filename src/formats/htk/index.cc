// SPDX-License-Identifier: MIT
#include "formats/htk/index.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/counted.h"
#include "base/saturate.h"
#include "formats/htk/archive.h"
#include "formats/htk/archives.h"
#include "formats/htk/missing_files.h"
#include "formats/htk/scp.h"
#include "io/list.h"
#include "io/path_policy.h"
#include "model/repeats.h"
#include "model/waiting_names.h"

namespace batchfeed::htk {
namespace {

constexpr std::uint64_t kLegacyChunkUtterances = 65535;

// Removes the utterances for which gone(number, utterance) is true.
template <class Gone>
void remove(Index& index, Gone gone) {
  auto& all = index.utterances;
  std::size_t kept = 0, list = 0;
  for (std::size_t i = 0; i <= all.size(); ++i) {
    while (list < index.list_first.size() && index.list_first[list] == i) index.list_first[list++] = kept;
    if (i < all.size() && !gone(i, all[i])) all[kept++] = all[i];
  }
  all.resize(kept);
}

class Builder {
 public:
  Builder(const HtkOptions& options, const OpenContext& context, FaultSink& faults)
      : options_(options), context_(context), faults_(faults) {}

  Index build() {
    for (const std::string& list : options_.scp_files) read_list(list);
    read_files();
    missing_files_.refuse(index_.paths.size());
    names_.number_new(index_.utterances);
    index_.list_first.push_back(index_.utterances.size());
    if (options_.legacy) {
      refuse_if_most_are_gone();
    } else {
      drop_duplicates();
    }
    check_archives();
    tell_what_was_left_out();
    if (index_.utterances.empty()) {
      std::string why = index_.damage.empty() ? "" : ": " + index_.damage;
      for (const Notice& n : index_.notices) why += (why.empty() ? ": " : "; ") + n.fault.what;
      throw Error(Fault{.kind = FaultKind::format,
                        .id = "htk.no-utterances",
                        .at = {.file = options_.first_file()},
                        .what = "no utterance is left of " + counted(entries_, "entry") + why,
                        .hint = index_.too_long == 0 ? "" : raise_length(),
                        .stream = options_.name});
    }
    index_.cut(options_);
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
  // One notice for n entries that single() has told one by one; not in check mode, which has listed each.
  void sum(const char* id, std::uint64_t n, std::string what, std::string hint = {}) {
    if (!context_.check) count(id, n, std::move(what), std::move(hint));
  }
  // One of the entries that sum() counts: a warning in check mode, else only an info.
  void single(Fault fault) {
    fault.stream = options_.name;
    if (context_.check) {
      faults_.warning(std::move(fault));
    } else {
      faults_.info(std::move(fault));
    }
  }

  // In check mode, damage is reported and passed over.
  template <class Do>
  void tolerant(Do&& action) {
    if (!context_.check) return action();
    try {
      action();
    } catch (const Error& e) {
      Fault fault = e.fault();
      fault.stream = options_.name;
      if (index_.damage.empty()) index_.damage = fault.what;
      faults_.error(std::move(fault));
    }
  }

  void read_list(const std::string& list);
  void read_files();
  void add(const ScpEntry& entry, const Position& at);
  std::optional<std::uint64_t> frames_of_file(const ScpEntry& entry, std::uint32_t file, const Position& at,
                                              bool is_new);
  std::uint64_t look_into(const Archive& archive, std::uint32_t file);
  void drop_duplicates();
  void refuse_if_most_are_gone();
  const char* raise_length() const {
    return options_.legacy ? "raise `maxUtteranceLength`" : "raise `maxSequenceSize`";
  }
  void check_archives();
  void tell_what_was_left_out();

  const HtkOptions& options_;
  const OpenContext& context_;
  FaultSink& faults_;
  Index index_;
  io::FileNumbers file_number_{index_.paths, context_.file_system};
  WaitingNames names_{*context_.keys};
  MissingFiles missing_files_{context_.file_system};
  std::optional<Header> first_;  // of the first file that was opened to count its frames
  std::vector<Held> known_;      // what such files hold, by file number
  std::uint64_t entries_ = 0, empty_ = 0, blank_lines_ = 0, blanks_ = 0;
};

void Builder::read_list(const std::string& list) {
  index_.list_first.push_back(index_.utterances.size());
  const io::File file(list, context_.file_system, context_.limits);
  ScpRules rules{.prefix = normalise_prefix(options_.prefix),
                 .directory = std::string(io::directory_of(list)),
                 .path_map = options_.path_map,
                 .limits = context_.limits};
  io::ListReader lines(file, entries_, index_.paths, context_.limits);
  while (lines.next()) {
    std::string key;
    tolerant([&] {
      const ScpEntry entry = parse_scp_line(lines.text(), rules, lines.at());
      key = entry.key;
      add(entry, lines.at());
    });
    lines.keep(sizeof(Utterance), key);
  }
  blank_lines_ += lines.blank_lines();
  if (context_.progress) context_.progress(file.size(), file.size());
}

// Adds the parameter files that are named without a list, behind the utterances of the lists.
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

// The number of frames of an entry that is a whole file. Nothing if the file is missing: that has been reported, or is
// kept for one message about all missing files.
std::optional<std::uint64_t> Builder::frames_of_file(const ScpEntry& entry, std::uint32_t file, const Position& at,
                                                     bool is_new) {
  const auto told = [&](const Fault& fault) {
    Fault out = listed(fault, at, entry.key, options_, context_.file_system);
    out.stream = options_.name;
    return out;
  };
  if (const Fault* const gone = missing_files_.expected(entry.path)) {
    if (context_.check) {
      faults_.error(gone->id, [&] { return told(*gone); });
    } else if (is_new) {
      missing_files_.keep(told(*gone));
    }
    return std::nullopt;
  }
  std::uint64_t frames = 0;
  try {
    frames = look_into(Archive(io::File(entry.path, context_.file_system)), file);
    missing_files_.opened();
  } catch (const Error& e) {
    missing_files_.failed(e.fault());
    if (e.fault().kind != FaultKind::io || context_.check) throw Error(told(e.fault()));
    if (is_new) missing_files_.keep(told(e.fault()));
    return std::nullopt;
  }
  if (frames > context_.limits.sequence_samples) {
    throw Error(Fault{.kind = FaultKind::limit,
                      .id = "limit.sequence",
                      .at = at,
                      .what = "'" + entry.path + "' has " + counted(frames, "frame") + ", the limit is " +
                              std::to_string(context_.limits.sequence_samples),
                      .hint = "raise limits.sequence_samples"});
  }
  return frames;
}

// Notes what look_at_archives() has to know of a file, so that it need not be opened again; returns its frames.
std::uint64_t Builder::look_into(const Archive& archive, std::uint32_t file) {
  const Header& header = archive.header();
  if (!first_) first_ = header;
  if (file >= known_.size()) known_.resize(file + 1);
  known_[file] = {.frames = std::min(header.frames, header.held), .usual = is_usual(archive, *first_)};
  if (file >= index_.identities.size()) index_.identities.resize(file + 1);
  index_.identities[file] = archive.file().identity();
  return header.frames;
}

void Builder::add(const ScpEntry& entry, const Position& at) {
  blanks_ += entry.blanks ? 1 : 0;
  if (names_.many()) names_.number_new(index_.utterances);
  const std::optional<std::uint64_t> key = names_.add(entry.key);
  if (!key) {
    throw Error(Fault{.kind = FaultKind::format,
                      .id = "htk.numeric-key",
                      .at = at,
                      .what = "key '" + entry.key + "' does not begin with a number, 0 to 18446744073709551615",
                      .hint = "set `useNumericSequenceKeys = false`",
                      .stream = options_.name});
  }
  const std::size_t files = index_.paths.size();
  const std::uint32_t file = file_number_(entry.path, at);
  std::uint64_t frames = entry.frames;
  if (entry.whole) {
    const std::optional<std::uint64_t> found = frames_of_file(entry, file, at, index_.paths.size() != files);
    if (!found) return;
    frames = *found;
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
  if (options_.legacy) longest = std::min(longest, options_.max_utterance_frames);
  if (frames > longest) {
    return left_out("htk.too-long", index_.too_long,
                    "has " + counted(frames, "frame") + ", more than " + std::to_string(longest));
  }
  index_.utterances.push_back({.key = *key,
                               .file = file,
                               .first = entry.first,
                               .frames = static_cast<std::uint32_t>(frames),
                               .line = static_cast<std::uint32_t>(std::min<std::uint64_t>(at.line, 0xFFFFFFFFu))});
}

void Builder::drop_duplicates() {
  std::vector<std::uint64_t> repeated;
  for (const std::size_t i : repeats(index_.utterances, [](const Utterance& u) { return u.key; }))
    repeated.push_back(index_.utterances[i].key);
  if (repeated.empty()) return;
  std::sort(repeated.begin(), repeated.end());
  std::uint64_t dropped = 0;
  remove(index_, [&](std::size_t i, const Utterance& u) {
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
      counted(dropped, "entry") + " with a key that occurs more than once left out, all occurrences (" + named +
          (repeated.size() > 3 ? ", ...)" : ")"),
      "keys must be unique in the list");
}

void Builder::refuse_if_most_are_gone() {
  if (index_.too_long <= entries_ / 2) return;
  throw Error(Fault{.kind = FaultKind::format,
                    .id = "htk.most-skipped",
                    .at = {.file = options_.first_file()},
                    .what = std::to_string(index_.too_long) + " of " + counted(entries_, "utterance") +
                            " are too long and would be left out",
                    .hint = raise_length(),
                    .stream = options_.name});
}

void Builder::check_archives() {
  const std::vector<Held> held = look_at_archives(index_, options_, context_, faults_, std::move(known_));
  // The last frame wanted of each file. Only if a file has fewer, its utterances are looked at one by one.
  std::vector<std::uint64_t> wanted(held.size());
  for (const Utterance& u : index_.utterances)
    wanted[u.file] = std::max(wanted[u.file], std::uint64_t{u.first} + u.frames);
  remove(index_, [&](std::size_t i, const Utterance& u) {
    const Held& file = held[u.file];
    if (file.damaged) return true;
    if (wanted[u.file] <= file.frames || std::uint64_t{u.first} + u.frames <= file.frames) return false;
    faults_.error({.kind = FaultKind::format,
                   .id = "htk.range",
                   .at = index_.place(i, options_),
                   .what = "utterance '" + context_.keys->text(u.key) + "' wants frames " + std::to_string(u.first) +
                           " to " + std::to_string(std::uint64_t{u.first} + u.frames - 1) + " of '" +
                           index_.paths[u.file] + "', which has " + std::to_string(file.frames),
                   .hint = "frames count from 0",
                   .stream = options_.name});
    return true;
  });
}

void Builder::tell_what_was_left_out() {
  count("htk.blank-lines", blank_lines_, counted(blank_lines_, "blank line") + " passed over");
  count("htk.blanks", blanks_,
        counted(blanks_, "entry") + " with blanks around '=' or before '[', which are no part of key or path");
  sum("htk.empty-utterance", empty_, counted(empty_, "utterance") + " without frames left out");
  sum("htk.too-long", index_.too_long, counted(index_.too_long, "utterance") + " left out, longer than allowed",
      options_.legacy ? "see `maxUtteranceLength`" : "see `maxSequenceSize`");
}

}  // namespace

void Index::cut(const HtkOptions& options) {
  chunk_first.clear();
  std::uint64_t frames = 0;
  for (std::size_t i = 0; i < utterances.size(); ++i) {
    const bool full = frames > options.chunk_frames ||
                      (options.legacy && !chunk_first.empty() && i - chunk_first.back() >= kLegacyChunkUtterances);
    if (chunk_first.empty() || full) {
      chunk_first.push_back(i);
      frames = 0;
    }
    frames += utterances[i].frames;
  }
  chunk_first.push_back(utterances.size());
}

void Index::leave_out(const std::vector<std::uint64_t>& gone, const HtkOptions& options) {
  auto next = gone.begin();
  remove(*this, [&](std::size_t i, const Utterance&) {
    if (next == gone.end() || *next != i) return false;
    ++next;
    return true;
  });
  cut(options);
}

Position Index::place(std::uint64_t utterance, const HtkOptions& options) const {
  const auto behind = std::upper_bound(list_first.begin(), list_first.end(), utterance);
  const std::size_t list = behind == list_first.begin() ? 0 : static_cast<std::size_t>(behind - list_first.begin()) - 1;
  if (list >= options.scp_files.size()) return {.file = paths[utterances[utterance].file]};
  return {.file = options.scp_files[list], .line = utterances[utterance].line};
}

Index build_index(const HtkOptions& options, const OpenContext& context, FaultSink& faults) {
  return Builder(options, context, faults).build();
}

}  // namespace batchfeed::htk
