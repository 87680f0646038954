// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/saturate.h"
#include "formats/kaldi/index.h"
#include "formats/kaldi/kaldi.h"
#include "io/file_cache.h"
#include "model/context_window.h"
#include "model/row_source.h"

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
      bool shares = false;
      for (std::uint64_t i = index_.chunk_first[c]; i < index_.chunk_first[c + 1]; ++i) {
        info.samples += index_.entries[i].frames;
        shares = shares || (i > index_.chunk_first[c] && same_object(index_.entries[i - 1], index_.entries[i]));
      }
      shares_objects_.push_back(shares);
      info.bytes = info.samples * index_.dim * 4;
      add_chunk(info);
    }
  }

  bool splits_frames() const override { return !options_.alignment; }

  // What has to be fetched is better read in large parts, and an object of which several entries
  // are ranges is read once.
  const RowReader* row_reader(std::uint32_t chunk) const override {
    return remote_ || shares_objects_[chunk] ? nullptr : by_rows();
  }

  Place place(std::uint32_t chunk, std::uint32_t row) const override {
    const Entry& e = index_.entries[first(chunk) + row];
    return {.file = index_.paths[e.file],
            .begin = e.offset,
            .end = read_item(*cache_.open(e.file), e.offset, options_.alignment, limits_).end};
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

  // An object of which several entries in a row may want ranges. A text is read from its
  // beginning for each, so it is kept then.
  template <class Value>
  struct Object {
    const Entry* entry = nullptr;  // the last one
    Item item;
    std::vector<Value> values;  // all of them, or none
  };

  static bool same_object(const Entry& a, const Entry& b) noexcept { return a.file == b.file && a.offset == b.offset; }

  // Whether the text of entry i is worth being kept for the entries behind it.
  template <class Value>
  bool keeps(std::uint64_t i, std::uint64_t chunk_end, const Item& item) const {
    constexpr std::uint64_t kMost = 64u << 20;
    return (item.kind == Kind::text_matrix || item.kind == Kind::text_integers) && i + 1 < chunk_end &&
           same_object(index_.entries[i], index_.entries[i + 1]) &&
           mul_sat(mul_sat(item.rows, item.cols), sizeof(Value)) <= kMost;
  }

  // Goes on to the object of an entry, which must still be what was indexed.
  template <class Value>
  void go_to(const io::File& file, const Entry& e, Object<Value>& object) const {
    if (object.entry == nullptr || !same_object(*object.entry, e)) {
      object.item = read_item(file, e.offset, options_.alignment, limits_);
      object.values.clear();
    }
    object.entry = &e;
    const Item& item = object.item;
    if (item.cols == index_.dim && std::uint64_t{e.first} + e.frames <= item.rows) return;
    throw Error(Fault{.kind = FaultKind::stale,
                      .id = "kaldi.changed",
                      .at = {.file = file.path(), .byte = e.offset, .has_byte = true},
                      .what = "utterance '" + keys_->text(e.key) + "' is not what was indexed",
                      .hint = "open the reader again",
                      .stream = options_.name});
  }

  // Whether entry i is the last of its file before the chunk's end or another file.
  bool last_of_file(std::uint64_t i, std::uint64_t chunk_end) const {
    return i + 1 == chunk_end || index_.entries[i + 1].file != index_.entries[i].file;
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
  void warn_not_finite(const io::File& file, const Entry& e, const T* values, std::size_t dim) const {
    const T* const end = values + e.frames * dim;
    const T* const odd = std::find_if_not(values, end, [](T v) { return std::isfinite(v); });
    if (odd == end) return;
    faults_.warning({.kind = FaultKind::format,
                     .id = "kaldi.not-finite",
                     .at = {.file = file.path(), .byte = e.offset, .has_byte = true},
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
    Buffer<std::byte> scratch;
    Object<T> object;
    T* at = column.as<T>();
    for (std::uint64_t i = from; i < to; ++i) {
      const Entry& e = index_.entries[i];
      const auto file = cache_.open(e.file);
      T* rows = at + window_.left * dim;
      go_to(*file, e, object);
      if (object.values.empty() && keeps<T>(i, to, object.item)) {
        object.values.resize(static_cast<std::size_t>(object.item.rows) * dim);
        read_rows(*file, object.item, 0, object.item.rows, object.values.data(), scratch);
      }
      if (object.values.empty()) {
        read_rows(*file, object.item, e.first, e.frames, rows, scratch);
      } else {
        std::copy_n(object.values.data() + e.first * dim, e.frames * dim, rows);
      }
      if (last_of_file(i, to)) file->expect_unchanged();
      warn_not_finite(*file, e, rows, dim);
      repeat_edges(rows, e.frames, dim, window_);
      column.begin.push_back(static_cast<std::uint64_t>(at - column.as<T>()));
      column.first_sample.push_back(column.first_sample.back() + e.frames);
      at = rows + (e.frames + window_.right) * dim;
    }
  }

  template <class T>
  void read_labels(Run run, Chunk& out) const {
    Column& column = out.columns[0];
    std::vector<std::int32_t> labels;
    Object<std::int32_t> object;
    const std::uint64_t to = run.to;
    for (std::uint64_t i = run.from; i < to; ++i) {
      const Entry& e = index_.entries[i];
      const auto file = cache_.open(e.file);
      go_to(*file, e, object);
      if (object.values.empty() && keeps<std::int32_t>(i, to, object.item))
        read_integers(*file, object.item, 0, object.item.rows, object.values);
      if (object.values.empty()) {
        read_integers(*file, object.item, e.first, e.frames, labels);
      } else {
        const auto from = object.values.begin() + e.first;
        labels.assign(from, from + e.frames);
      }
      if (last_of_file(i, to)) file->expect_unchanged();
      const auto wrong = std::find_if(labels.begin(), labels.end(), [&](std::int32_t v) {
        return v < 0 || static_cast<std::uint64_t>(v) >= options_.dim;
      });
      if (wrong != labels.end()) {
        Fault fault{.kind = FaultKind::format,
                    .id = "kaldi.class-range",
                    .at = {.file = file->path(), .byte = e.offset, .has_byte = true},
                    .what = "utterance '" + keys_->text(e.key) + "': class " + std::to_string(*wrong) + " in frame " +
                            std::to_string(wrong - labels.begin()) + " is not from 0 to below dim " +
                            std::to_string(options_.dim),
                    .hint = "classes count from 0",
                    .stream = options_.name};
        if (!check_) throw Error(std::move(fault));
        faults_.error(std::move(fault));
        if (out.invalid.empty()) out.invalid.assign(static_cast<std::size_t>(to - run.from), 0);
        out.invalid[static_cast<std::size_t>(i - run.from)] = Chunk::kUnpaid;
        labels.clear();
      }
      for (const std::int32_t label : labels) {
        column.indices.push_back(label);
        column.first_value.push_back(static_cast<std::uint32_t>(column.indices.size()));
      }
      column.first_sample.push_back(static_cast<std::uint32_t>(column.indices.size()));
    }
    column.values.resize(column.indices.size() * sizeof(T));
    std::fill_n(column.as<T>(), column.indices.size(), T{1});
  }

  KaldiOptions options_;
  Index index_;
  bool remote_ = false;
  std::vector<bool> shares_objects_;  // of each chunk: neighbours are ranges of one object
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
