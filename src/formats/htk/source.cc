// SPDX-License-Identifier: MIT
//
// HTK features as columns: each utterance's frames once, with copies of the first
// and last frame at its ends, so that every context window is one slice.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/saturate.h"
#include "formats/htk/archive.h"
#include "formats/htk/htk.h"
#include "formats/htk/index.h"
#include "io/block.h"
#include "io/file_cache.h"
#include "model/context_window.h"
#include "model/row_source.h"
#include "model/stream_faults.h"

namespace batchfeed::htk {
namespace {

class HtkSource final : public RowSource {
 public:
  HtkSource(const HtkOptions& options, const OpenContext& context)
      : RowSource(options.first_file(), options.trace_level, context),
        options_(options),
        index_(build_index(options_, context, faults_)),
        window_(
            context_window(options_.name, options_.first_file(), options_.dim, options_.context, index_.header.dim)),
        cache_([this](std::uint32_t file) { return reopen(file); }) {
    set_stream({.name = options_.name,
                .dim = mul_sat(index_.header.dim, window_.frames()),
                .storage = Storage::dense,
                .element = options_.element,
                .defines_mb_size = options_.defines_mb_size,
                .broadcast = options_.expand_to_utterance});
    left_out_ = std::move(index_.notices);
    if (options_.expand_to_utterance) expect_single_frames();
    remote_ = std::any_of(index_.paths.begin(), index_.paths.end(), is_url);
    add_chunks();
  }

  Facts facts() const { return {index_.header.kind, index_.header.dim, index_.header.period, index_.paths.size()}; }

  std::uint64_t too_long() const { return index_.too_long; }
  void leave_out(const std::vector<std::uint64_t>& gone) {
    index_.leave_out(gone, options_);
    drop_chunks();
    add_chunks();
  }

  bool splits_frames() const override { return true; }

  const RowReader* row_reader(std::uint32_t /*chunk*/) const override {
    return remote_ ? nullptr : by_rows();  // each read of a remote file is a request, so whole chunks are better
  }

  Place place(std::uint32_t chunk, std::uint32_t row) const override {
    const Utterance& u = index_.utterances[first(chunk) + row];
    const io::Piece frames = piece(u, cache_.open(u.file)->header());
    return {.file = index_.paths[u.file], .begin = frames.begin, .end = frames.end};
  }
  std::vector<std::string> files() const override {
    std::vector<std::string> out = options_.scp_files;
    out.insert(out.end(), index_.paths.begin(), index_.paths.end());
    return out;
  }

 private:
  void add_chunks() {
    for (std::size_t c = 0; c + 1 < index_.chunk_first.size(); ++c) {
      ChunkInfo info{.sequences = index_.chunk_first[c + 1] - index_.chunk_first[c]};
      for (std::uint64_t u = index_.chunk_first[c]; u < index_.chunk_first[c + 1]; ++u)
        info.samples += index_.utterances[u].frames;
      if (mul_sat(info.samples, index_.header.dim) > limits_.chunk_values) too_many_values(c, info.samples);
      info.bytes = info.samples * index_.header.frame_bytes;
      add_chunk(info);
    }
  }

  [[noreturn]] void too_many_values(std::size_t chunk, std::uint64_t frames) const {
    throw Error(Fault{.kind = FaultKind::limit,
                      .id = "limit.chunk-values",
                      .at = index_.place(index_.chunk_first[chunk], options_),
                      .what = "the chunk that begins here has " + counted(frames, "frame") + " of " +
                              counted(index_.header.dim, "value") + ", the limit is " +
                              counted(limits_.chunk_values, "value"),
                      .hint = "raise limits.chunk_values",
                      .stream = options_.name});
  }

  void table(Run run, std::vector<SequenceInfo>& out) const override {
    list_rows(index_.utterances, &Utterance::frames, run.from, run.to, out);
  }

  void fetch(Run run, Chunk& out) const override {
    out.reset(streams());
    if (options_.element == Element::f32) {
      read_as<float>(run, out.columns[0]);
    } else {
      read_as<double>(run, out.columns[0]);
    }
  }

  // The bytes of an utterance's frames in its file.
  static io::Piece piece(const Utterance& u, const Header& h) {
    const std::uint64_t begin = h.data + std::uint64_t{u.first} * h.frame_bytes;
    return {.begin = begin, .end = begin + std::uint64_t{u.frames} * h.frame_bytes};
  }
  static bool is_held(const Utterance& u, const Header& h) {
    return std::uint64_t{u.first} + u.frames <= std::min(h.frames, h.held);
  }

  // Opens a file that the cache had closed. Throws Error if it has changed.
  Archive reopen(std::uint32_t file) const {
    io::File again(index_.paths[file], file_system_);
    again.expect_same(index_.identities[file]);
    return Archive(std::move(again));
  }

  void expect_single_frames() const {
    for (std::uint64_t i = 0; i < index_.utterances.size(); ++i) {
      const Utterance& u = index_.utterances[i];
      if (u.frames == 1) continue;
      throw Error(Fault{.kind = FaultKind::format,
                        .id = "htk.expand",
                        .at = index_.place(i, options_),
                        .what = "stream '" + options_.name + "' is expanded to utterances, but '" + keys_->text(u.key) +
                                "' has " + counted(u.frames, "frame") + ", expected 1",
                        .hint = "`expandToUtterance` is for one vector per utterance",
                        .stream = options_.name});
    }
  }

  template <class T>
  void read_as(Run run, Column& column) const {
    const std::size_t dim = index_.header.dim;
    const std::size_t left = static_cast<std::size_t>(window_.left) * dim,
                      right = static_cast<std::size_t>(window_.right) * dim;
    const auto [chunk, from, to] = run;
    std::uint64_t samples = 0;
    for (std::uint64_t i = from; i < to; ++i) samples += index_.utterances[i].frames;
    expect_offset(samples);
    const std::size_t values =
        static_cast<std::size_t>(samples) * dim + static_cast<std::size_t>(to - from) * (left + right);
    column.step = options_.expand_to_utterance ? 0 : dim;
    column.values.resize(values * sizeof(T));
    column.first_sample.reserve(static_cast<std::size_t>(to - from) + 1);
    column.begin.reserve(static_cast<std::size_t>(to - from));
    thread_local Buffer<std::byte> scratch;  // both are kept from chunk to chunk, for their memory
    thread_local io::Block block;
    block.clear();
    std::uint64_t next_block = from;
    std::shared_ptr<const Archive> archive;
    std::uint32_t open = 0;
    T* at = column.as<T>();
    for (std::uint64_t i = from; i < to; ++i) {
      const Utterance& u = index_.utterances[i];
      if (!archive || open != u.file) {
        if (archive) archive->file().expect_unchanged();
        archive.reset();  // before another is opened, so that this thread holds one descriptor only
        archive = cache_.open(u.file);
        open = u.file;
      }
      const Header& h = archive->header();
      if (!is_held(u, h)) {
        throw Error(Fault{.kind = FaultKind::stale,
                          .id = "htk.changed",
                          .at = {.file = index_.paths[u.file]},
                          .what = "it has fewer frames than when the list was read; '" + keys_->text(u.key) +
                                  "' wants up to " + std::to_string(std::uint64_t{u.first} + u.frames),
                          .hint = "open the reader again",
                          .stream = options_.name});
      }
      if (i == next_block) {
        const io::Together together = io::read_together(i, to, [&](std::uint64_t other) {
          const Utterance& o = index_.utterances[other];
          return o.file == open && is_held(o, h) ? piece(o, h) : io::Piece();
        });
        together.behind == i + 1 ? block.clear() : block.fill(archive->file(), together.all);
        next_block = together.behind;
      }
      T* frames = at + left;
      const std::size_t n = std::size_t{u.frames} * dim;
      const std::byte* const there = block.find(piece(u, h));
      const bool finite =
          there != nullptr ? archive->take(there, u.frames, frames) : archive->read(u.first, u.frames, frames, scratch);
      if (!finite) warn_not_finite(u, h, frames, dim);
      repeat_edges(frames, u.frames, dim, window_);
      column.begin.push_back(static_cast<std::uint64_t>(at - column.as<T>()));
      column.first_sample.push_back(column.first_sample.back() + u.frames);
      at = frames + n + right;
    }
    if (archive) archive->file().expect_unchanged();
  }

  template <class T>
  void warn_not_finite(const Utterance& u, const Header& h, const T* values, std::size_t dim) const {
    std::size_t i = 0;
    while (std::isfinite(values[i])) ++i;
    const std::uint64_t frame = u.first + i / dim;
    faults_.warning({.kind = FaultKind::format,
                     .id = "htk.not-finite",
                     .at = {.file = index_.paths[u.file], .byte = h.data + frame * h.frame_bytes, .has_byte = true},
                     .what = "utterance '" + keys_->text(u.key) +
                             "' has values that are not finite, first in its frame " + std::to_string(i / dim),
                     .hint = "they are passed on",
                     .stream = options_.name});
  }

  HtkOptions options_;
  Index index_;
  bool remote_ = false;
  ContextWindow window_;
  mutable io::FileCache<Archive> cache_;
};

}  // namespace

std::unique_ptr<Source> open(const HtkOptions& options, const OpenContext& context, Facts* facts) {
  if (options.scp_files.empty() && options.files.empty()) bad_options(options.name, "htk.no-list", "no scp file");
  if (options.name.empty()) bad_options(options.name, "htk.no-name", "the stream has no name");
  auto source = std::make_unique<HtkSource>(options, context);
  if (facts != nullptr) *facts = source->facts();
  return source;
}

std::uint64_t too_long(const Source& source) { return dynamic_cast<const HtkSource&>(source).too_long(); }

void leave_out(Source& source, const std::vector<std::uint64_t>& gone) {
  dynamic_cast<HtkSource&>(source).leave_out(gone);
}

}  // namespace batchfeed::htk
