// SPDX-License-Identifier: MIT
#include <batchfeed/convert.h>
#include <batchfeed/subset.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/counted.h"
#include "base/hash.h"
#include "base/rng.h"
#include "base/saturate.h"
#include "base/threads.h"
#include "io/folder.h"
#include "model/total.h"
#include "tools/buckets.h"
#include "tools/in_order.h"
#include "tools/own_limits.h"
#include "tools/refuse.h"
#include "tools/row_hash.h"
#include "tools/selected.h"
#include "tools/target.h"

namespace batchfeed {
namespace {

namespace fs = std::filesystem;

// One chunk of the source, read and encoded.
struct Item {
  Chunk chunk;
  std::vector<SequenceInfo> table;
  Batch batch;
  std::vector<std::uint64_t> hashes;
  std::uint64_t left_out = 0;
  bool closes_up = false;  // a row behind one that was left out gets another number
};

// Thrown when keys were not to be written because they are the sequences' numbers, and sequences left out change these.
struct OtherNumbers {};

// A hash of all rows of a corpus; `ordered`: it depends on their order.
class Content {
 public:
  explicit Content(bool ordered) : ordered_(ordered) {}
  void add(std::uint64_t row) {
    ++rows_;
    ordered_ ? static_cast<void>(print_.add(row)) : static_cast<void>(sum_ += mix64(row));
  }
  bool operator==(const Content& other) const {
    return rows_ == other.rows_ && sum_ == other.sum_ && print_.value() == other.print_.value();
  }
  std::uint64_t rows() const { return rows_; }

 private:
  bool ordered_;
  std::uint64_t rows_ = 0, sum_ = 0;
  Fingerprint print_;
};

struct KeyUse {
  bool write = false;
  bool number = false;  // keys are the sequences' numbers in the source, instead of its keys
};

KeyUse key_use(const Source& source, const ConvertOptions& options) {
  const bool text = options.to == Format::ctf;
  const bool speech = options.to == Format::scp || options.to == Format::mlf;
  if (options.to == Format::htk) return {};
  if (speech && options.keys == ConvertOptions::Keys::none) {
    refuse("convert.needs-keys", {}, "lists of features and labels name every utterance",
           "keep keys, or number the sequences");
  }
  if (speech) return {.write = true, .number = options.keys == ConvertOptions::Keys::number};
  switch (options.keys) {
    case ConvertOptions::Keys::keep: return {.write = true};
    case ConvertOptions::Keys::number: return {.write = text, .number = true};
    case ConvertOptions::Keys::none: return {};
    case ConvertOptions::Keys::automatic: break;
  }
  if (has_own_keys(source)) return {.write = true};
  return {.write = text && !one_sample_each(source), .number = text};  // of shards, each of which counts from 0
}

// How samples are read back: features are dense and labels sparse, whatever the source has.
RowHash::Zeros zeros_of(Format to) {
  if (to == Format::mlf) return RowHash::Zeros::left_out;
  return to == Format::scp || to == Format::htk ? RowHash::Zeros::added : RowHash::Zeros::as_stored;
}

// Whether features are read by a list other than `target`: it may name only a part of what their files hold.
bool has_other_list(const Source& source, const std::string& target, Format to) {
  if (to != Format::scp && to != Format::htk) return false;
  const std::vector<std::string> files = source.files();
  std::error_code none;
  const bool read = std::any_of(files.begin(), files.end(),
                                [&](const std::string& file) { return fs::equivalent(file, target, none); });
  return files.size() > 1 && !(to == Format::scp && read);
}

// Notices that something in a source's files is not among its sequences.
constexpr std::array<std::string_view, 11> kLeavesOut = {"ctf.left-out",        "errors-skipped",  "htk.duplicate-key",
                                                         "htk.too-long",        "join.no-partner", "join.other-length",
                                                         "kaldi.duplicate-key", "mlf.cut-short",   "mlf.damaged",
                                                         "mlf.duplicate-key",   "mlf.unquoted-key"};

bool leaves_out(const Source& source) {
  const std::vector<Notice> notices = source.notices();
  return std::any_of(notices.begin(), notices.end(), [](const Notice& notice) {
    return std::find(kLeavesOut.begin(), kLeavesOut.end(), notice.fault.id) != kLeavesOut.end();
  });
}

// Throws Error if only some of the data would replace the files they are read from: the others would be lost.
void expect_no_part(const Source& source, const std::string& target, const std::string& beside,
                    const ConvertOptions& options) {
  const bool part = options.part || (!options.streams.empty() && options.streams.size() < source.streams().size()) ||
                    leaves_out(source);
  if (!options.force || (!part && !has_other_list(source, target, options.to))) return;
  for (const std::string& path : {target, beside}) expect_not_read(source, path);
}

class Conversion {
 public:
  Conversion(const Source& source, const std::string& path, const ConvertOptions& options)
      : source_(borrowed(source), options.streams, options.renames),
        options_(options),
        use_(key_use(source, options)),
        target_(path, source_.streams(), options, use_.write),
        jobs_(threads_of(options.jobs)),
        content_(!options.shuffle) {
    for (const ChunkInfo& chunk : source_.chunks()) {
      first_.push_back(sequences_);
      sequences_ += chunk.sequences;
      bytes_ += chunk.bytes;
    }
  }

  ConvertResult run() {
    options_.shuffle ? shuffled() : straight();
    result_.streams = source_.streams();
    result_.sequences = target_.sequences();
    result_.samples = target_.samples();
    result_.keys = target_.keys();
    if (result_.sequences == 0) {
      throw Error(Fault{.kind = FaultKind::format,
                        .id = "convert.nothing",
                        .what = "no sequence to write",
                        .hint = "check the source first"});
    }
    if (options_.force && (result_.left_out != 0 || leaves_out(source_))) {
      for (const std::string& path : {target_.path(), target_.companion()}) expect_not_read(source_, path);
    }
    target_.commit();
    result_.bytes = target_.companion_bytes();
    return std::move(result_);
  }

  void verify(const std::string& path, ConvertResult& result) {
    const std::unique_ptr<Source> back = open_source(target_.reopen(), own_limits(), {}, target_.key_mode());
    Content found(!options_.shuffle);
    const std::uint64_t all = total(back->chunks()).bytes;
    std::uint64_t done = 0;
    in_order<Item>(
        back->chunks().size(), jobs_,
        [&](std::uint64_t i, Item& item) { collect(*back, static_cast<std::uint32_t>(i), item, use_.write); },
        [&](std::uint64_t i, Item& item) {
          for (const std::uint64_t h : item.hashes) found.add(h);
          done += back->chunks()[static_cast<std::size_t>(i)].bytes;
          if (options_.progress) options_.progress(done, all);
        });
    if (found == content_) {
      result.verified = true;
      return;
    }
    throw Error(Fault{.kind = FaultKind::internal,
                      .id = "convert.differs",
                      .at = {.file = path},
                      .what = "reads back differently from what was written (" + counted(content_.rows(), "sequence") +
                              " written, " + std::to_string(found.rows()) + " read)",
                      .hint = "please report this"});
  }

 private:
  // Reads a chunk and collects its rows, without those that have no data.
  void collect(const Source& source, std::uint32_t chunk, Item& item, bool keys) {
    source.read(chunk, item.chunk);
    source.sequences(chunk, item.table);
    item.batch.rows.clear();
    item.hashes.clear();
    item.left_out = 0;
    item.closes_up = false;
    RowHash hash(zeros_of(options_.to));
    for (std::size_t i = 0; i < item.table.size(); ++i) {
      const SequenceInfo& s = item.table[i];
      if (!has_data(item.chunk, s.row)) {
        ++item.left_out;
        continue;
      }
      item.closes_up = item.left_out != 0;
      RowRef& row = item.batch.rows.emplace_back();
      row.chunk = &item.chunk;
      row.row = s.row;
      row.id = s.key;
      if (keys && use_.number && &source == &source_) {
        row.id = first_[chunk] + i;
        row.key = std::to_string(row.id);
      } else if (keys) {
        row.key = source.key_text(s.key);
      }
      if (options_.verify) item.hashes.push_back(hash(item.chunk, s.row, row.key));
    }
  }

  void advance(std::uint64_t chunk, const Item& item) {
    result_.left_out += item.left_out;
    for (const std::uint64_t h : item.hashes) content_.add(h);
    done_ += source_.chunks()[static_cast<std::size_t>(chunk)].bytes;
    tell();
  }

  // The callback may throw to end the conversion.
  void tell() const {
    if (options_.progress) options_.progress(done_, options_.shuffle ? 2 * bytes_ : bytes_);
  }

  void straight() {
    in_order<Item>(
        source_.chunks().size(), jobs_,
        [&](std::uint64_t i, Item& item) {
          collect(source_, static_cast<std::uint32_t>(i), item, use_.write);
          target_.encode(item.batch);
        },
        [&](std::uint64_t i, Item& item) {
          const bool moved = item.closes_up || (result_.left_out != 0 && !item.batch.rows.empty());
          if (moved && !use_.write && options_.keys == ConvertOptions::Keys::automatic) throw OtherNumbers();
          target_.write(item.batch, [this] { tell(); });
          advance(i, item);
        });
  }

  // There are at most kMost buckets, so for a large corpus each may need more than shuffle_memory.
  void warn_of_memory() const {
    const std::uint64_t needed = estimate() / Buckets::kMost;
    if (!options_.report || needed <= options_.shuffle_memory) return;
    options_.report(
        {Severity::warning, Fault{.kind = FaultKind::limit,
                                  .id = "convert.shuffle-memory",
                                  .at = {.file = path()},
                                  .what = "so large a corpus is shuffled " + counted(needed, "byte") +
                                          " at a time, not " + std::to_string(options_.shuffle_memory),
                                  .hint = "give it that much: `shuffle_memory = " + std::to_string(needed) + "`"}});
  }

  void shuffled() {
    warn_of_memory();
    Buckets buckets(path(), source_.streams(), use_.write, estimate(), options_.shuffle_memory, *options_.shuffle);
    in_order<Item>(
        source_.chunks().size(), jobs_,
        [&](std::uint64_t i, Item& item) { collect(source_, static_cast<std::uint32_t>(i), item, use_.write); },
        [&](std::uint64_t i, Item& item) {
          for (const RowRef& row : item.batch.rows) buckets.add(row);
          advance(i, item);
        });
    buckets.close();
    constexpr std::size_t kSlice = 4096;  // rows encoded at a time
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      const Buckets::Loaded bucket = buckets.load(b, jobs_);
      buckets.drop(b);
      in_order<Batch>((bucket.size() + kSlice - 1) / kSlice, jobs_,
                      [&](std::uint64_t i, Batch& batch) {
                        const std::size_t first = static_cast<std::size_t>(i) * kSlice;
                        batch.rows.resize(std::min(kSlice, bucket.size() - first));
                        for (std::size_t k = 0; k < batch.rows.size(); ++k) bucket.row(first + k, batch.rows[k]);
                        target_.encode(batch);
                      },
                      [&](std::uint64_t, Batch& batch) {
                        target_.write(batch, [this] { tell(); });
                        // Writing counts as much progress as reading.
                        done_ = bytes_ + static_cast<std::uint64_t>(share_written() * static_cast<double>(bytes_));
                        tell();
                      });
    }
  }

  const std::string& path() const { return target_.path(); }

  // About how many bytes the corpus takes in memory: text may grow when it is parsed.
  std::uint64_t estimate() const {
    std::uint64_t dense = 0;
    for (const StreamInfo& s : source_.streams())
      dense = add_sat(dense, s.storage == Storage::dense ? mul_sat(s.dim, size_of(s.element)) : 0);
    const std::uint64_t samples = total(source_.chunks()).samples;
    return std::max(mul_sat(samples, add_sat(dense, 16)), add_sat(bytes_, bytes_ / 2));
  }
  double share_written() const {
    return static_cast<double>(target_.sequences()) / static_cast<double>(std::max<std::uint64_t>(sequences_, 1));
  }

  Selected source_;
  const ConvertOptions& options_;
  KeyUse use_;
  Target target_;
  unsigned jobs_;
  Content content_;
  ConvertResult result_;
  std::vector<std::uint64_t> first_;  // number of each chunk's first sequence
  std::uint64_t sequences_ = 0, bytes_ = 0, done_ = 0;
};

}  // namespace

ConvertResult convert(const Source& source, const std::string& target, const ConvertOptions& options) {
  constexpr std::array kTargets = {Format::ctf, Format::cbf, Format::htk, Format::scp, Format::mlf};
  if (std::find(kTargets.begin(), kTargets.end(), options.to) == kTargets.end()) {
    refuse("convert.format", {}, "a corpus cannot be written as " + std::string(name(options.to)),
           "choose ctf, cbf, htk, scp or mlf");
  }
  std::error_code none;
  const std::string beside =
      options.to == Format::scp ? HtkWriter::companion(target, HtkLayout::archive) : std::string();
  for (const std::string& path : {target, beside}) {
    if (!options.force && !path.empty() && fs::exists(fs::symlink_status(path, none))) io::refuse_existing(path);
  }
  expect_no_part(source, target, beside, options);
  const auto once = [&](const ConvertOptions& how) {
    Conversion conversion(source, target, how);
    ConvertResult result = conversion.run();
    if (result.bytes == 0) result.bytes = io::size_or_none(target);
    if (how.verify) conversion.verify(target, result);
    return result;
  };
  try {
    return once(options);
  } catch (const OtherNumbers&) {
    ConvertOptions with_keys = options;
    with_keys.keys = options.to == Format::ctf ? ConvertOptions::Keys::number : ConvertOptions::Keys::keep;
    return once(with_keys);
  }
}

}  // namespace batchfeed
