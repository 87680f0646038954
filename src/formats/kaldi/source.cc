// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/saturate.h"
#include "formats/kaldi/index.h"
#include "formats/kaldi/kaldi.h"
#include "io/block.h"
#include "io/file_cache.h"
#include "model/context_window.h"
#include "model/row_source.h"
#include "model/stream_faults.h"

namespace batchfeed::kaldi {
namespace {

class KaldiSource final : public RowSource {
 public:
  KaldiSource(const KaldiOptions& options, const OpenContext& context)
      : RowSource(options.files.front(), options.trace_level, context),
        options_(options),
        index_(build_index(options_, context, faults_)),
        cache_([this](std::uint32_t file) { return reopen(index_, file, file_system_); }) {
    StreamInfo stream{.name = options_.name,
                      .dim = options_.dim,
                      .element = options_.element,
                      .defines_mb_size = options_.defines_mb_size,
                      .broadcast = options_.expand_to_utterance};
    if (options_.alignment) {
      if (options_.dim == 0) bad_options(options_.name, "kaldi.dim", "the number of classes is not given", "set dim");
      stream.storage = Storage::sparse;
    } else {
      window_ = context_window(options_.name, options_.files.front(), options_.dim, options_.context,
                               std::max<std::uint64_t>(index_.dim, 1));
      stream.dim = mul_sat(index_.dim, window_.frames());
    }
    set_stream(stream);
    left_out_ = std::move(index_.notices);
    if (options_.expand_to_utterance) expect_single_rows();
    remote_ = std::any_of(index_.paths.begin(), index_.paths.end(), is_url);
    for (std::size_t c = 0; c + 1 < index_.chunk_first.size(); ++c) {
      ChunkInfo info{.sequences = index_.chunk_first[c + 1] - index_.chunk_first[c]};
      std::vector<const Entry*> all;
      for (std::uint64_t i = index_.chunk_first[c]; i < index_.chunk_first[c + 1]; ++i) {
        info.samples += index_.entries[i].frames;
        all.push_back(&index_.entries[i]);
      }
      std::sort(all.begin(), all.end(), [](const Entry* a, const Entry* b) { return before_in_file(*a, *b); });
      shares_objects_.push_back(std::adjacent_find(all.begin(), all.end(), [](const Entry* a, const Entry* b) {
                                  return same_object(*a, *b);
                                }) != all.end());
      info.bytes = info.samples * index_.dim * 4;
      add_chunk(info);
    }
  }

  bool splits_frames() const override { return !options_.alignment; }

  // Null, so that whole chunks are read, for remote files, and where several entries are ranges of one object,
  // which is then read once.
  const RowReader* row_reader(std::uint32_t chunk) const override {
    return remote_ || shares_objects_[chunk] ? nullptr : by_rows();
  }

  Place place(std::uint32_t chunk, std::uint32_t row) const override {
    const Entry& e = index_.entries[first(chunk) + row];
    return {.file = index_.paths[e.file], .begin = e.offset, .end = e.end};
  }
  std::vector<std::string> files() const override {
    std::vector<std::string> out = options_.files;
    out.insert(out.end(), index_.paths.begin(), index_.paths.end());
    return out;
  }

 private:
  void table(Run run, std::vector<SequenceInfo>& out) const override {
    list_rows(index_.entries, &Entry::frames, run.from, run.to, out);
  }

  void fetch(Run run, Chunk& out) const override {
    out.reset(streams());
    const bool f32 = options_.element == Element::f32;
    if (options_.alignment) {
      f32 ? read_labels<float>(run, out) : read_labels<double>(run, out);
    } else {
      f32 ? read_features<float>(run, out.columns[0]) : read_features<double>(run, out.columns[0]);
    }
  }

  // The object of an entry. Throws Error if it is not the one that was indexed.
  Item item_of(const io::File& file, const Entry& e, const io::Block& block) const {
    const Item item = read_item(file, e.offset, options_.alignment, limits_, block);
    if (item.cols == index_.dim && std::uint64_t{e.first} + e.frames <= item.rows) return item;
    throw Error(Fault{.kind = FaultKind::stale,
                      .id = "kaldi.changed",
                      .at = {.file = file.path(), .byte = e.offset, .has_byte = true},
                      .what = "utterance '" + keys_->text(e.key) + "' is not what was indexed",
                      .hint = "open the reader again",
                      .stream = options_.name});
  }

  // Reads the rows of a run's entries: those of entry i into out[i - run.from]. Each text is read once for all of its
  // entries; for an entry of a binary object, one(file, block, item, entry, out) reads the rows.
  template <class T, class One>
  void read_all(Run run, const std::vector<T*>& out, const One& one) const {
    std::vector<std::uint64_t> order(out.size());
    std::iota(order.begin(), order.end(), run.from);
    std::stable_sort(order.begin(), order.end(), [&](std::uint64_t a, std::uint64_t b) {
      return before_in_file(index_.entries[a], index_.entries[b]);
    });
    std::vector<Wanted<T>> wanted;  // the ranges of the current object, if it is a text
    io::Block block;
    std::uint64_t next_block = 0;
    for (std::size_t n = 0; n < order.size();) {
      const Entry& object = index_.entries[order[n]];
      const auto file = cache_.open(object.file);
      if (n >= next_block) {
        // Texts are not read in blocks; behind a text, the next object is probably one, too.
        const io::Together together = io::read_together(n, wanted.empty() ? order.size() : n, [&](std::uint64_t other) {
          const Entry& e = index_.entries[order[static_cast<std::size_t>(other)]];
          return e.file == object.file ? io::Piece{e.offset, e.end} : io::Piece();
        });
        together.behind == n + 1 ? block.clear() : block.fill(*file, together.all);
        next_block = together.behind;
      }
      Item item;
      wanted.clear();
      for (; n < order.size() && same_object(object, index_.entries[order[n]]); ++n) {
        const Entry& e = index_.entries[order[n]];
        T* const rows = out[static_cast<std::size_t>(order[n] - run.from)];
        if (&e == &object || std::uint64_t{e.first} + e.frames > item.rows) item = item_of(*file, e, block);
        // Rows of such an object cannot be read apart, so it is read once for all its entries.
        if (item.kind == Kind::cm1 && block.find({item.data, item.end}) == nullptr && n + 1 < order.size() &&
            same_object(object, index_.entries[order[n + 1]]))
          block.fill(*file, {item.data, item.end});
        is_text(item) ? wanted.push_back({e.first, e.frames, rows}) : one(*file, block, item, e, rows);
      }
      if (!wanted.empty()) read_text<T>(*file, item, wanted);
      if (n == order.size() || index_.entries[order[n]].file != object.file) file->expect_unchanged();
    }
  }

  void expect_single_rows() const {
    for (const Entry& e : index_.entries) {
      if (e.frames == 1) continue;
      throw Error(Fault{.kind = FaultKind::format,
                        .id = "kaldi.expand",
                        .at = {.file = index_.paths[e.file], .byte = e.offset, .has_byte = true},
                        .what = "stream '" + options_.name + "' is expanded to utterances, but '" + keys_->text(e.key) +
                                "' has " + counted(e.frames, "row") + ", expected 1",
                        .hint = "expand_to_utterance is for one vector per utterance",
                        .stream = options_.name});
    }
  }

  template <class T>
  void warn_not_finite(const Entry& e, const T* values, std::size_t dim) const {
    const T* const end = values + e.frames * dim;
    const T* const odd = std::find_if_not(values, end, [](T v) { return std::isfinite(v); });
    if (odd == end) return;
    faults_.warning({.kind = FaultKind::format,
                     .id = "kaldi.not-finite",
                     .at = {.file = index_.paths[e.file], .byte = e.offset, .has_byte = true},
                     .what = "utterance '" + keys_->text(e.key) +
                             "' has values that are not finite, first in its frame " +
                             std::to_string(static_cast<std::size_t>(odd - values) / dim),
                     .hint = "they are passed on",
                     .stream = options_.name});
  }

  template <class T>
  void read_features(Run run, Column& column) const {
    const std::size_t dim = static_cast<std::size_t>(index_.dim);
    const auto [chunk, from, to] = run;
    std::uint64_t samples = 0;
    for (std::uint64_t i = from; i < to; ++i) samples += index_.entries[i].frames;
    const std::size_t frames = static_cast<std::size_t>(samples + (to - from) * (window_.frames() - 1));
    column.step = options_.expand_to_utterance ? 0 : dim;
    column.values.resize(frames * dim * sizeof(T));
    std::vector<T*> rows;
    T* at = column.as<T>();
    for (std::uint64_t i = from; i < to; ++i) {
      const Entry& e = index_.entries[i];
      rows.push_back(at + window_.left * dim);
      column.begin.push_back(static_cast<std::uint64_t>(at - column.as<T>()));
      column.first_sample.push_back(expect_offset(std::uint64_t{column.first_sample.back()} + e.frames));
      at = rows.back() + (e.frames + window_.right) * dim;
    }
    Buffer<std::byte> scratch;
    read_all(run, rows, [&](const io::File& file, const io::Block& block, const Item& item, const Entry& e, T* out) {
      read_rows(file, block, item, e.first, e.frames, out, scratch);
    });
    for (std::uint64_t i = from; i < to; ++i) {
      const Entry& e = index_.entries[i];
      T* const first = rows[static_cast<std::size_t>(i - from)];
      warn_not_finite(e, first, dim);
      repeat_edges(first, e.frames, dim, window_);
    }
  }

  template <class T>
  void read_labels(Run run, Chunk& out) const {
    Column& column = out.columns[0];
    const std::uint64_t to = run.to;
    std::uint64_t frames = 0;
    for (std::uint64_t i = run.from; i < to; ++i) frames += index_.entries[i].frames;
    std::vector<std::int32_t> all(static_cast<std::size_t>(frames));
    std::vector<std::int32_t*> rows;
    std::int32_t* at = all.data();
    for (std::uint64_t i = run.from; i < to; ++i) {
      rows.push_back(at);
      at += index_.entries[i].frames;
    }
    Buffer<std::byte> scratch;
    read_all(run, rows,
             [&](const io::File& file, const io::Block& block, const Item& item, const Entry& e, std::int32_t* first) {
               read_integers(file, block, item, e.first, e.frames, first, scratch);
             });
    for (std::uint64_t i = run.from; i < to; ++i) {
      const Entry& e = index_.entries[i];
      std::span<const std::int32_t> labels(rows[static_cast<std::size_t>(i - run.from)], e.frames);
      const auto wrong = std::find_if(labels.begin(), labels.end(), [&](std::int32_t v) {
        return v < 0 || static_cast<std::uint64_t>(v) >= options_.dim;
      });
      if (wrong != labels.end()) {
        Fault fault{.kind = FaultKind::format,
                    .id = "kaldi.class-range",
                    .at = {.file = index_.paths[e.file], .byte = e.offset, .has_byte = true},
                    .what = "utterance '" + keys_->text(e.key) + "': class " + std::to_string(*wrong) + " in frame " +
                            std::to_string(wrong - labels.begin()) + " is not from 0 to below dim " +
                            std::to_string(options_.dim),
                    .hint = "classes count from 0",
                    .stream = options_.name};
        if (!check_) throw Error(std::move(fault));
        faults_.error(std::move(fault));
        if (out.invalid.empty()) out.invalid.assign(static_cast<std::size_t>(to - run.from), 0);
        out.invalid[static_cast<std::size_t>(i - run.from)] = Chunk::kUnpaid;
        labels = {};
      }
      for (const std::int32_t label : labels) {
        column.indices.push_back(label);
        column.first_value.push_back(static_cast<std::uint32_t>(column.indices.size()));
      }
      column.first_sample.push_back(expect_offset(column.indices.size()));
    }
    column.values.resize(column.indices.size() * sizeof(T));
    std::fill_n(column.as<T>(), column.indices.size(), T{1});
  }

  KaldiOptions options_;
  Index index_;
  bool remote_ = false;
  std::vector<bool> shares_objects_;  // by chunk: several entries are ranges of one object
  ContextWindow window_;
  mutable io::FileCache<io::File> cache_;
};

}  // namespace

std::unique_ptr<Source> open(const KaldiOptions& options, const OpenContext& context) {
  if (options.files.empty()) bad_options(options.name, "kaldi.no-file", "no scp or ark file");
  if (options.name.empty()) bad_options(options.name, "kaldi.no-name", "the stream has no name");
  return std::make_unique<KaldiSource>(options, context);
}

}  // namespace batchfeed::kaldi
