// SPDX-License-Identifier: MIT
#include <batchfeed/split.h>
#include <batchfeed/subset.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <optional>
#include <set>
#include <system_error>
#include <tuple>

#include "base/hash.h"
#include "base/rng.h"
#include "base/threads.h"
#include "io/folder.h"
#include "model/total.h"
#include "tools/in_order.h"
#include "tools/refuse.h"
#include "tools/selected.h"
#include "tools/target.h"

namespace batchfeed {

namespace {

constexpr std::size_t kMostParts = 255;

// Throws Error if two targets name one file: the second would replace the first.
void expect_files_of_their_own(const std::vector<std::unique_ptr<Target>>& targets) {
  std::set<std::filesystem::path> files;
  for (const auto& target : targets) {
    for (const std::string& file : {target->path(), target->companion()}) {
      if (file.empty()) continue;
      std::error_code none;
      const std::filesystem::path place =
          std::filesystem::weakly_canonical(std::filesystem::absolute(file, none), none);
      if (!files.insert(place).second)
        refuse("split.same-target", file, "two parts would be written to it", "a file for each part");
    }
  }
}

// The number that each chunk's first sequence has in the whole, where keys only number the sequences of each shard from
// 0, so that one key may stand for several; else empty.
std::vector<std::uint64_t> numbers_of_whole(const Source& source) {
  std::vector<std::uint64_t> out;
  if (has_own_keys(source)) return out;
  out.push_back(0);
  for (const ChunkInfo& chunk : source.chunks()) out.push_back(out.back() + chunk.sequences);
  return out;
}

std::uint64_t key_hash(std::string_view key, const SplitOptions& options) {
  if (!options.group.empty()) key = key.substr(0, key.find_last_of(options.group));
  return mix64(hash_text(key, options.seed));
}

// The end of each part in [0, 1]; the last is 1. Throws Error.
std::vector<double> ends_of(const SplitOptions& options) {
  std::vector<double> out(options.fractions.size());
  std::partial_sum(options.fractions.begin(), options.fractions.end(), out.begin());
  const bool negative =
      std::any_of(options.fractions.begin(), options.fractions.end(), [](double f) { return !(f >= 0); });
  if (out.size() > kMostParts)
    refuse("split.too-many-parts", {},
           std::to_string(out.size()) + " parts, expected at most " + std::to_string(kMostParts), "split a part again");
  if (out.empty() || negative || std::abs(out.back() - 1) > 1e-6)
    refuse("split.fractions", {}, "fractions must be positive and sum to 1", "such as 0.9 and 0.1");
  if (!options.group.empty() && (options.exact || !options.stratify.empty()))
    refuse("split.group", {}, "groups that stay together cannot give exact sizes", "leave out one of the two");
  out.back() = 1;
  return out;
}

// The class of a sequence: the index of the largest value of its first sample.
template <class T>
std::uint64_t class_of(const Column& column, std::uint32_t row) {
  if (column.samples(row) == 0) return ~1ull;
  const std::size_t n = column.first_sample[row];
  const bool dense = column.storage == Storage::dense;
  const T* const values = column.as<T>() + (dense ? column.begin[row] : column.first_value[n]);
  const std::size_t count =
      dense ? static_cast<std::size_t>(column.dim) : column.first_value[n + 1] - column.first_value[n];
  if (count == 0) return ~1ull;
  const auto largest = static_cast<std::size_t>(std::max_element(values, values + count) - values);
  return dense ? largest : static_cast<std::uint64_t>(column.indices[column.first_value[n] + largest]);
}

class Divider {
 public:
  Divider(const Source& source, const SplitOptions& options)
      : source_(source),
        options_(options),
        ends_(ends_of(options)),
        numbers_(numbers_of_whole(source)),
        out_(source.chunks().size()) {}

  Parts run() {
    if (options_.exact || !options_.stratify.empty()) {
      rank();
    } else {
      by_key();
    }
    return std::move(out_);
  }

 private:
  struct Ranked {
    std::uint64_t kind, hash;
    std::uint32_t chunk, place;
  };

  std::uint8_t part_at(double where) const {
    const auto end = std::upper_bound(ends_.begin(), ends_.end(), where);
    return static_cast<std::uint8_t>(std::min<std::ptrdiff_t>(end - ends_.begin(), std::ssize(ends_) - 1));
  }

  void by_key() {
    std::vector<SequenceInfo> table;
    for (std::uint32_t c = 0; c < out_.size(); ++c) {
      source_.sequences(c, table);
      for (std::size_t place = 0; place < table.size(); ++place)
        out_[c].push_back(part_at(std::ldexp(static_cast<double>(hash(c, table, place)), -64)));
    }
  }

  std::uint64_t hash(std::uint32_t chunk, const std::vector<SequenceInfo>& table, std::size_t place) const {
    return key_hash(numbers_.empty() ? source_.key_text(table[place].key) : std::to_string(numbers_[chunk] + place),
                    options_);
  }

  // Sorts each class by hash, and cuts it into parts one after the other.
  void rank() {
    std::vector<Ranked> all = ranked();
    std::sort(all.begin(), all.end(), [](const Ranked& a, const Ranked& b) {
      return std::tie(a.kind, a.hash, a.chunk, a.place) < std::tie(b.kind, b.hash, b.chunk, b.place);
    });
    for (auto first = all.begin(); first != all.end();) {
      const auto last = std::find_if(first, all.end(), [&](const Ranked& r) { return r.kind != first->kind; });
      const auto n = static_cast<double>(last - first);
      std::size_t part = 0;
      for (auto at = first; at != last; ++at) {
        while (part + 1 < ends_.size() && static_cast<double>(at - first) >= std::round(ends_[part] * n)) ++part;
        out_[at->chunk][at->place] = static_cast<std::uint8_t>(part);
      }
      first = last;
    }
  }

  std::vector<Ranked> ranked() {
    struct Item {
      Chunk chunk;
      std::vector<SequenceInfo> table;
      std::vector<Ranked> ranked;
    };
    std::vector<Ranked> all;
    const std::size_t stream = label_stream();
    const std::uint64_t bytes = total(source_.chunks()).bytes;
    std::uint64_t done = 0;
    in_order<Item>(
        out_.size(), threads_of(options_.jobs),
        [&](std::uint64_t i, Item& item) {
          const auto c = static_cast<std::uint32_t>(i);
          source_.sequences(c, item.table);
          item.ranked.clear();
          if (!options_.stratify.empty()) source_.read(c, item.chunk);
          for (std::uint32_t place = 0; place < item.table.size(); ++place) {
            const SequenceInfo& s = item.table[place];
            item.ranked.push_back({.kind = options_.stratify.empty() ? 0 : kind(item.chunk, s.row, stream),
                                   .hash = hash(c, item.table, place),
                                   .chunk = c,
                                   .place = place});
          }
        },
        [&](std::uint64_t i, Item& item) {
          out_[static_cast<std::size_t>(i)].resize(item.table.size());
          all.insert(all.end(), item.ranked.begin(), item.ranked.end());
          done += source_.chunks()[static_cast<std::size_t>(i)].bytes;
          if (options_.progress) options_.progress(done, bytes);
        });
    return all;
  }

  static std::uint64_t kind(const Chunk& chunk, std::uint32_t row, std::size_t stream) {
    if (chunk.is_invalid(row)) return ~0ull;
    const Column& column = chunk.columns[stream];
    return column.element == Element::f32 ? class_of<float>(column, row) : class_of<double>(column, row);
  }

  std::size_t label_stream() const {
    if (options_.stratify.empty()) return 0;
    const std::vector<StreamInfo>& streams = source_.streams();
    const auto found =
        std::find_if(streams.begin(), streams.end(), [&](const StreamInfo& s) { return s.name == options_.stratify; });
    if (found == streams.end() || found->dim < 2) {
      refuse("split.no-classes", {},
             "no stream '" + options_.stratify + "'" + (found == streams.end() ? "" : " with at least two classes"),
             "name a stream of labels", options_.stratify);
    }
    return static_cast<std::size_t>(found - streams.begin());
  }

  const Source& source_;
  const SplitOptions& options_;
  std::vector<double> ends_;
  std::vector<std::uint64_t> numbers_;
  Parts out_;
};

// Gives all targets their names, or none: seal() does first whatever is likely to fail. If naming one fails all the
// same, new targets named before are removed; a target that has replaced an older file stays, as that file is gone.
void commit(const std::vector<std::unique_ptr<Target>>& targets) {
  for (const auto& target : targets) target->seal();
  std::error_code none;
  std::vector<const Target*> added;
  try {
    for (const auto& target : targets) {
      const bool replaces = std::filesystem::exists(target->path(), none);
      target->commit();
      if (!replaces) added.push_back(target.get());
    }
  } catch (...) {
    for (const Target* const target : added) {
      const std::string& path = target->path();
      for (const std::string& one : {path, path + ".keys", target->companion()})
        if (!one.empty()) std::filesystem::remove_all(one, none);
    }
    throw;
  }
}

// Throws Error unless each sequence has a part, each part a target, and each target a format (or none has).
void expect_fitting(const Source& source, const Parts& parts, std::size_t targets, std::size_t formats) {
  bool fit = parts.size() == source.chunks().size() && (formats == 0 || formats == targets);
  for (std::size_t c = 0; fit && c < parts.size(); ++c) {
    fit = parts[c].size() == source.chunks()[c].sequences &&
          std::ranges::all_of(parts[c], [&](std::uint8_t part) { return part < targets; });
  }
  if (fit) return;
  refuse("split.parts", {}, "the parts, the targets and the formats do not fit each other",
         "a part for each sequence, as split_parts() gives them, and a target for each part");
}

// The sequences of a chunk, distributed to the targets.
struct Dealt {
  Chunk chunk;
  std::vector<SequenceInfo> table;
  std::vector<Batch> batches;  // one for each target
  std::uint64_t left_out = 0;

  // `first`: the number of the chunk's first sequence, where keys are the sequences' numbers.
  void deal(const Source& source, const std::vector<std::uint8_t>& parts, std::size_t targets,
            std::optional<std::uint64_t> first) {
    batches.resize(targets);
    for (Batch& batch : batches) batch.rows.clear();
    left_out = 0;
    for (std::size_t place = 0; place < table.size(); ++place) {
      const SequenceInfo& s = table[place];
      if (!has_data(chunk, s.row)) {
        ++left_out;
        continue;
      }
      const std::uint64_t id = first ? *first + place : s.key;
      batches[parts.at(place)].rows.push_back(
          {.chunk = &chunk, .row = s.row, .id = id, .key = first ? std::to_string(id) : source.key_text(id)});
    }
  }
};

ConvertResult result_of(const Target& target, const std::vector<StreamInfo>& streams, std::uint64_t left_out) {
  ConvertResult result;
  result.streams = streams;
  result.sequences = target.sequences();
  result.samples = target.samples();
  result.left_out = left_out;
  result.bytes = target.companion_bytes() != 0 ? target.companion_bytes() : io::size_or_none(target.path());
  result.keys = target.keys();
  return result;
}

}  // namespace

Parts split_parts(const Source& source, const SplitOptions& options) { return Divider(source, options).run(); }

std::vector<ConvertResult> split(const Source& source, const Parts& parts, const std::vector<std::string>& targets,
                                 const std::vector<Format>& formats, const ConvertOptions& options) {
  expect_fitting(source, parts, targets.size(), formats.size());
  const Selected selected(borrowed(source), options.streams, options.renames);
  std::vector<std::unique_ptr<Target>> open;
  for (std::size_t t = 0; t < targets.size(); ++t) {
    ConvertOptions one = options;
    if (!formats.empty() && formats[t] != Format::unknown) one.to = formats[t];
    open.push_back(std::make_unique<Target>(targets[t], selected.streams(), one, true));
  }
  expect_files_of_their_own(open);
  for (const auto& target : open) {
    for (const std::string& file : {target->path(), target->companion()}) expect_not_read(source, file);
  }
  const std::uint64_t bytes = total(source.chunks()).bytes;
  const std::vector<std::uint64_t> numbers = numbers_of_whole(source);
  std::uint64_t left_out = 0, done = 0;
  const auto tell = [&] {
    if (options.progress) options.progress(done, bytes);
  };
  in_order<Dealt>(
      source.chunks().size(), threads_of(options.jobs),
      [&](std::uint64_t i, Dealt& item) {
        const auto c = static_cast<std::uint32_t>(i);
        selected.read(c, item.chunk);
        selected.sequences(c, item.table);
        item.deal(source, parts.at(c), open.size(), numbers.empty() ? std::nullopt : std::optional(numbers[c]));
        for (std::size_t t = 0; t < open.size(); ++t) open[t]->encode(item.batches[t]);
      },
      [&](std::uint64_t i, Dealt& item) {
        for (std::size_t t = 0; t < open.size(); ++t) open[t]->write(item.batches[t], tell);
        left_out += item.left_out;
        done += source.chunks()[static_cast<std::size_t>(i)].bytes;
        tell();
      });
  for (std::size_t t = 0; t < open.size(); ++t) {
    if (open[t]->sequences() != 0) continue;
    refuse_data("split.empty", targets[t], "no sequence falls into this part",
                "a larger fraction, another seed, or exact sizes");
  }
  commit(open);
  std::vector<ConvertResult> out;
  for (const auto& target : open) out.push_back(result_of(*target, selected.streams(), left_out));
  return out;
}

}  // namespace batchfeed
