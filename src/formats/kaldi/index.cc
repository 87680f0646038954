// SPDX-License-Identifier: MIT
#include "formats/kaldi/index.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "base/counted.h"
#include "base/quoted.h"
#include "base/saturate.h"
#include "io/file_cache.h"
#include "io/list.h"
#include "io/path_policy.h"
#include "model/repeats.h"
#include "model/waiting_names.h"

namespace batchfeed::kaldi {
namespace {

[[noreturn]] void fail(const Position& at, const char* id, std::string what, std::string hint = {}) {
  throw Error(Fault{.kind = FaultKind::format, .id = id, .at = at, .what = std::move(what), .hint = std::move(hint)});
}

template <class T>
bool whole_number(std::string_view text, T& out) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
  return !text.empty() && code == std::errc() && end == text.data() + text.size();
}

class Builder {
 public:
  Builder(const KaldiOptions& options, const OpenContext& context, FaultSink& faults)
      : options_(options), context_(context), faults_(faults), cache_([this](std::uint32_t n) { return open(n); }) {}

  Index build() {
    for (const std::string& path : options_.files) {
      if (is_list(path)) {
        read_scp(path);
      } else {
        read_ark(path);
      }
    }
    names_.number_new(index_.entries);
    drop_duplicates();
    note("kaldi.no-rows", empty_,
         empty_ == 1 ? " utterance without rows was left out" : " utterances without rows were left out");
    if (index_.entries.empty())
      fail({.file = options_.files.front()}, "kaldi.no-utterances", "there is no utterance in it");
    cut();
    return std::move(index_);
  }

 private:
  void note(const char* id, std::uint64_t n, const char* what) {
    if (n == 0) return;
    index_.notices.push_back({Severity::warning, Fault{.kind = FaultKind::format,
                                                       .id = id,
                                                       .at = {.file = options_.files.front()},
                                                       .what = std::to_string(n) + what,
                                                       .stream = options_.name}});
  }

  // `at`: the position that names the file.
  std::uint32_t file_number(const std::string& path, const Position& at) {
    const std::uint32_t number = file_number_(path, at);
    index_.identities.resize(index_.paths.size());
    return number;
  }

  io::File open(std::uint32_t number) {
    io::Identity& known = index_.identities[number];
    if (!(known == io::Identity{})) return reopen(index_, number, context_.file_system);
    io::File file(index_.paths[number], context_.file_system);
    known = file.identity();
    return file;
  }

  // In check mode damage is reported and passed over.
  template <class Do>
  bool tolerant(Do&& action) {
    if (!context_.check) {
      action();
      return true;
    }
    try {
      action();
      return true;
    } catch (const Error& e) {
      Fault fault = e.fault();
      fault.stream = options_.name;
      faults_.error(std::move(fault));
      return false;
    }
  }

  void add(std::string_view key, const Position& at, std::uint32_t file, std::uint64_t offset, const Item& item,
           const ScpLine* range) {
    if (key.size() > context_.limits.key_bytes) {
      throw Error(Fault{.kind = FaultKind::limit,
                        .id = "limit.key",
                        .at = at,
                        .what = "the key has " + counted(key.size(), "byte") + ", the limit is " +
                                std::to_string(context_.limits.key_bytes),
                        .hint = "raise limits.key_bytes"});
    }
    if (names_.many()) names_.number_new(index_.entries);
    const std::optional<std::uint64_t> number = names_.add(key);
    if (!number)
      fail(at, "kaldi.numeric-key",
           "key '" + std::string(key) + "' does not begin with a number, 0 to 18446744073709551615",
           "read keys as text");
    Entry entry{.key = *number,
                .offset = offset,
                .end = item.end,
                .file = file,
                .frames = static_cast<std::uint32_t>(std::min<std::uint64_t>(item.rows, 0xFFFFFFFFu))};
    if (range != nullptr && range->has_range) {
      if (range->last >= item.rows)
        fail(at, "kaldi.range",
             "key '" + std::string(key) + "' wants rows " + std::to_string(range->first) + " to " +
                 std::to_string(range->last) + ", there are " + std::to_string(item.rows));
      entry.first = range->first;
      entry.frames = range->last - range->first + 1;
    }
    if (options_.alignment && entry.frames > context_.limits.label_frames) {
      throw Error(Fault{.kind = FaultKind::limit,
                        .id = "limit.label-frames",
                        .at = at,
                        .what = "labels for frames: " + std::to_string(entry.frames) + ", the limit is " +
                                std::to_string(context_.limits.label_frames),
                        .hint = "raise limits.label_frames"});
    }
    if (entry.frames == 0) {
      ++empty_;
      return;
    }
    if (index_.entries.empty() && index_.dim == 0) {
      index_.dim = item.cols;
    } else if (item.cols != index_.dim) {
      fail(at, "kaldi.mixed",
           "key '" + std::string(key) + "' has rows of " + counted(item.cols, "value") + ", those before have " +
               std::to_string(index_.dim));
    }
    index_.entries.push_back(entry);
  }

  void read_scp(const std::string& list) {
    const io::File file(list, context_.file_system, context_.limits);
    io::ListReader lines(file, entries_, index_.paths, context_.limits);
    while (lines.next()) {
      const Position& at = lines.at();
      std::string key;
      tolerant([&] {
        const ScpLine entry = parse_scp_line(lines.text(), at, context_.limits);
        key = entry.key;
        const std::uint32_t number = file_number(entry.path, at);
        try {
          add(entry.key, at, number, entry.offset, item_of(number, entry.offset, at), &entry);
        } catch (const Error& e) {
          if (e.fault().at.file == at.file) throw;
          Fault fault = e.fault();  // of the file that the line names
          fault.what += " (listed at " + at.file + ':' + std::to_string(at.line) + ", key '" + key + "')";
          throw Error(std::move(fault));
        }
      });
      lines.keep(sizeof(Entry), key);
    }
  }

  // The object that a line names. To know its size, a text has to be read to its end; long texts are remembered, as
  // many lines may name ranges of one. In a sound list texts do not overlap, so the bytes read are limited to a few
  // times the file: not to once, as offsets may point in front of the blanks of an object or behind them.
  Item item_of(std::uint32_t number, std::uint64_t offset, const Position& at) {
    constexpr std::uint64_t kLong = 512, kTimes = 4;
    const auto file = cache_.open(number);
    const io::Identity& identity = file->identity();
    Texts& texts = texts_[file->is_remote() ? std::pair(~std::uint64_t{0}, std::uint64_t{number})
                                            : std::pair<std::uint64_t, std::uint64_t>(identity.device, identity.inode)];
    if (const auto known = texts.found.find(offset); known != texts.found.end()) return known->second;
    if (texts.looked_at > kTimes * file->size())
      fail(at, "kaldi.overlap",
           "the texts that lists name in '" + file->path() + "' overlap: " + counted(texts.looked_at, "byte") +
               " of them in a file of " + counted(file->size(), "byte"),
           "an offset is that of the byte after the key of an object");
    std::uint64_t length = 0;
    const auto count = [&] {
      if (length > kLong) texts.looked_at += length;
    };
    try {
      const Item item = read_item(*file, offset, options_.alignment, context_.limits, {}, &length);
      count();
      if (length > kLong) texts.found.emplace(offset, item);
      return item;
    } catch (const Error& e) {
      count();
      throw Error(io::of_archive(e.fault(), *file));
    }
  }

  // Reads the key at `at` and moves `at` behind it; blank lines between texts are passed over. Nothing at the end of
  // the file.
  std::optional<std::string> read_key(const io::File& file, std::uint64_t& at) {
    const Position start{.file = file.path(), .byte = at, .has_byte = true};
    std::string key;
    while (at < file.size()) {
      std::array<char, 512> raw;
      const std::size_t n = static_cast<std::size_t>(std::min<std::uint64_t>(raw.size(), file.size() - at));
      file.read(at, std::as_writable_bytes(std::span(raw).first(n)));
      std::string_view piece(raw.data(), n);
      if (key.empty()) {
        const std::size_t blank = std::min(piece.find_first_not_of('\n'), n);
        piece.remove_prefix(blank);
        at += blank;
        if (piece.empty()) continue;
      }
      const std::size_t end = piece.find_first_of(std::string_view(" \t\n\r\0", 5));
      key += piece.substr(0, end);
      at += std::min(end, piece.size());
      if (key.size() > context_.limits.key_bytes) {
        throw Error(Fault{.kind = FaultKind::limit,
                          .id = "limit.key",
                          .at = start,
                          .what = "a key of more than " + counted(context_.limits.key_bytes, "byte"),
                          .hint = "is this a Kaldi archive? else raise limits.key_bytes"});
      }
      if (end == piece.npos) continue;
      const char stop = piece[end];
      const bool is_line = stop == '\n' || stop == '\r' || stop == '\0';
      if (is_line && !(options_.alignment && stop != '\0'))
        fail({.file = file.path(), .byte = at, .has_byte = true}, "kaldi.key",
             "no blank behind the key '" + std::string(clipped(key)) + "'", "is this a Kaldi archive?");
      if (key.empty()) fail(start, "kaldi.key", "no key where one is due", "is this a Kaldi archive?");
      if (!is_line) ++at;
      return key;
    }
    if (key.empty()) return std::nullopt;
    fail(start, "kaldi.short", "the file ends behind the key '" + std::string(clipped(key)) + "'",
         "was the file cut off?");
  }

  // Reads an archive: keys and objects, one behind the other.
  void read_ark(const std::string& path) {
    const std::uint32_t number = file_number(path, {.file = path});
    const auto file = cache_.open(number);
    const auto named = [&](auto&& part) {
      try {
        return part();
      } catch (const Error& e) {
        throw Error(io::of_archive(e.fault(), *file));
      }
    };
    std::uint64_t at = 0, reported = 0;
    for (;;) {
      const Position start{.file = path, .byte = at, .has_byte = true};
      std::optional<std::string> key;
      if (!tolerant([&] { key = named([&] { return read_key(*file, at); }); }) || !key) return;
      Item item;
      // Behind a damaged object the next one cannot be found.
      const auto read = [&] { return read_item(*file, at, options_.alignment, context_.limits); };
      if (!tolerant([&] { item = named(read); })) return;
      tolerant([&] { add(*key, start, number, at, item, nullptr); });
      at = item.end;
      if (context_.progress && at - reported > (16u << 20)) context_.progress(reported = at, file->size());
    }
  }

  // Removes the entries of a repeated key except the first.
  void drop_duplicates() {
    auto& all = index_.entries;
    const std::vector<std::size_t> repeated = repeats(all, [](const Entry& e) { return e.key; });
    if (context_.check) {
      for (const std::size_t i : repeated) {
        faults_.warning({.kind = FaultKind::format,
                         .id = "kaldi.duplicate-key",
                         .at = {.file = index_.paths[all[i].file], .byte = all[i].offset, .has_byte = true},
                         .what = "utterance '" + context_.keys->text(all[i].key) + "' occurs here a second time",
                         .hint = "the first one is used",
                         .stream = options_.name});
      }
    }
    std::size_t i = 0;
    auto next = repeated.begin();
    std::erase_if(all, [&](const Entry&) {
      const bool drop = next != repeated.end() && *next == i++;
      if (drop) ++next;
      return drop;
    });
    if (context_.check) return;
    note("kaldi.duplicate-key", repeated.size(),
         repeated.size() == 1 ? " utterance with a repeated key was left out"
                              : " utterances with repeated keys were left out");
  }

  void cut() {
    std::uint64_t frames = 0;
    for (std::size_t i = 0; i < index_.entries.size(); ++i) {
      if (index_.chunk_first.empty() || frames > options_.chunk_frames) {
        index_.chunk_first.push_back(i);
        frames = 0;
      }
      const Entry& e = index_.entries[i];
      frames += e.frames;
      const std::uint64_t values = mul_sat(frames, index_.dim), most = context_.limits.chunk_values;
      if (values <= most) continue;
      throw Error(Fault{.kind = FaultKind::limit,
                        .id = "limit.chunk-values",
                        .at = {.file = index_.paths[e.file], .byte = e.offset, .has_byte = true},
                        .what = "the chunk up to this utterance has " + counted(values, "value") + ", the limit is " +
                                std::to_string(most),
                        .hint = "raise limits.chunk_values",
                        .stream = options_.name});
    }
    index_.chunk_first.push_back(index_.entries.size());
  }

  const KaldiOptions& options_;
  const OpenContext& context_;
  FaultSink& faults_;
  Index index_;
  io::FileNumbers file_number_{index_.paths, context_.file_system};
  WaitingNames names_{*context_.keys};
  io::FileCache<io::File> cache_;
  struct Texts {
    std::uint64_t looked_at = 0;  // bytes of long texts that were read
    std::map<std::uint64_t, Item> found;
  };
  std::map<std::pair<std::uint64_t, std::uint64_t>, Texts> texts_;  // by device and inode
  std::uint64_t entries_ = 0, empty_ = 0;
};

}  // namespace

bool is_list(std::string_view path) noexcept {
  for (const std::string_view compressed : {".gz", ".zst"}) {
    if (path.ends_with(compressed)) path.remove_suffix(compressed.size());
  }
  return path.ends_with(".scp");
}

ScpLine parse_scp_line(std::string_view line, const Position& at, const Limits& limits) {
  constexpr std::string_view kBlanks = " \t\r";
  line = line.substr(0, line.find_last_not_of(kBlanks) + 1);
  const std::size_t key = std::min(line.find_first_not_of(kBlanks), line.size());
  const std::size_t blank = line.find_first_of(kBlanks, key);
  if (blank == line.npos) fail(at, "kaldi.scp", "the line has a key and no file", "lines are: key path[:offset]");
  ScpLine out;
  out.key = line.substr(key, blank - key);
  std::string_view path = line.substr(line.find_first_not_of(kBlanks, blank));
  io::check_data_path(path, at);
  if (path.ends_with(']')) {
    const std::size_t open = path.rfind('[');
    const std::string_view range = open == path.npos ? "" : path.substr(open + 1, path.size() - open - 2);
    const std::size_t colon = range.find(':');
    if (colon == range.npos || !whole_number(range.substr(0, colon), out.first) ||
        !whole_number(range.substr(colon + 1), out.last) || out.last < out.first) {
      fail(at, "kaldi.scp", "'" + std::string(range) + "' is not a range of rows",
           "a range is [first:last], both counted from 0; ranges of columns are not read");
    }
    if (out.last - out.first >= limits.sequence_samples) {
      throw Error(Fault{.kind = FaultKind::limit,
                        .id = "limit.sequence",
                        .at = at,
                        .what = "the range has more than " + counted(limits.sequence_samples, "row"),
                        .hint = "raise limits.sequence_samples"});
    }
    out.has_range = true;
    path = path.substr(0, open);
  }
  const std::size_t colon = path.rfind(':');
  if (colon != path.npos && whole_number(path.substr(colon + 1), out.offset)) path = path.substr(0, colon);
  io::check_data_path(path, at);
  out.path = io::path_in_list(path, io::directory_of(at.file));
  return out;
}

io::File reopen(const Index& index, std::uint32_t number, const FileSystem& file_system) {
  io::File file(index.paths[number], file_system);
  file.expect_same(index.identities[number]);
  return file;
}

Index build_index(const KaldiOptions& options, const OpenContext& context, FaultSink& faults) {
  return Builder(options, context, faults).build();
}

}  // namespace batchfeed::kaldi
