// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/piece.h"
#include "formats/mlf/binary.h"
#include "formats/mlf/cache.h"
#include "formats/mlf/index.h"
#include "formats/mlf/mlf.h"
#include "formats/mlf/states.h"
#include "io/file_cache.h"
#include "model/row_source.h"
#include "model/stream_faults.h"

namespace batchfeed::mlf {
namespace {

// So many bytes of a chunk are read at once: what lies between two utterances may be far more than they, in a
// compressed file from next to nothing.
constexpr std::uint64_t kPart = piece_bytes(64 << 20);

void check_options(const MlfOptions& o) {
  if (o.name.empty()) bad_options(o.name, "mlf.no-name", "the stream has no name");
  if (o.files.empty()) bad_options(o.name, "mlf.no-file", "no MLF file", "set mlfFile or mlfFileList");
  if (o.dim == 0 && o.target_mapping_file.empty())
    bad_options(o.name, "mlf.dim", "the number of classes is not given", "set `labelDim`");
  if (o.dim > 65535)
    bad_options(o.name, "mlf.dim", "labelDim is " + std::to_string(o.dim) + ", expected at most 65535");
  if (o.phone_boundaries && o.frame_mode)
    bad_options(o.name, "mlf.phone-boundaries", "phoneBoundaries needs whole utterances", "set `frameMode = false`");
  if (o.phone_boundaries && o.binary)
    bad_options(o.name, "mlf.phone-boundaries", "a binary MLF cannot tell phone boundaries", "use the text form");
  if (!o.target_mapping_file.empty() && (o.mapping_file.empty() || o.target_dim == 0))
    bad_options(o.name, "mlf.targets", "labelToTargetMappingFile needs labelMappingFile and targetDim");
}

class MlfSource final : public RowSource {
 public:
  MlfSource(const MlfOptions& options, const OpenContext& context)
      : RowSource(options.files.front(), options.trace_level, context),
        options_(options),
        cache_([this](std::uint32_t file) { return reopen(file); }) {
    if (!options_.binary) read_states(context);
    rules_ = {.states = states_.get(),
              .classes = targets_.empty() ? options_.dim : states_->size(),
              .whole_numbers = options_.legacy,
              .phone_boundaries = options_.phone_boundaries};
    index_ = index_files(context);
    left_out_ = std::move(index_.notices);
    set_stream({.name = options_.name,
                .dim = targets_.empty() ? options_.dim : options_.target_dim,
                .storage = Storage::sparse,
                .element = options_.element});
    add_chunks();
  }

  const RowReader* row_reader(std::uint32_t chunk) const override {
    // Remote and compressed files are better read in large parts.
    return in_place_[index_.chunk_file[chunk]] ? by_rows() : nullptr;
  }

  RowMemory row_memory(std::uint32_t /*chunk*/) const override { return RowMemory::far_more; }

  Place place(std::uint32_t chunk, std::uint32_t row) const override {
    const IndexEntry e = index_.entries[first(chunk) + row];
    return {.file = options_.files[index_.chunk_file[chunk]],
            .begin = e.begin,
            .end = e.begin + e.bytes,
            .first_line = e.aux,
            .last_line = 0};
  }
  std::vector<std::string> files() const override { return options_.files; }

 private:
  void read_states(const OpenContext& context) {
    if (!options_.mapping_file.empty()) {
      states_ = std::make_unique<StateList>(options_.mapping_file, context.limits, context.file_system);
      if (options_.target_mapping_file.empty()) return;
      targets_ = read_targets(options_.target_mapping_file, *states_, options_.target_dim, context.limits,
                              context.file_system);
    } else if (!options_.labels.empty()) {
      states_ = std::make_unique<StateList>(options_.labels, options_.files.front(), context.limits);
    }
  }

  MlfIndex index_files(const OpenContext& context) {
    IndexBuilder builder(options_, context, faults_);
    // The number of each local file by device and inode: a file that is listed again is not read again.
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> read;
    for (const std::string& path : options_.files) {
      const io::File file(path, context.file_system, context.limits);
      file.warn_if_slow(context.report);
      identities_.push_back(file.identity());
      in_place_.push_back(!file.is_remote() && !file.is_compressed());
      if (!file.is_remote()) {
        const auto [at, first_time] =
            read.emplace(std::pair(file.identity().device, file.identity().inode), identities_.size() - 1);
        if (!first_time) {
          builder.repeat_file(file, at->second);
          continue;
        }
      }
      const auto index = [&] { options_.binary ? index_binary(file, builder) : index_text(file, rules_, builder); };
      // A check looks at every line, so it uses no cache.
      options_.cache_index && !context.check ? index_cached(file, options_, index, faults_, builder) : index();
    }
    return builder.finish();
  }

  void add_chunks() {
    for (std::uint32_t c = 0; c < index_.chunks(); ++c) {
      const std::uint64_t from = index_.chunk_first[c], to = index_.chunk_first[c + 1];
      ChunkInfo info{.sequences = to - from};
      auto e = index_.entries.from(from);
      const std::uint64_t begin = e->begin;
      for (std::uint64_t i = from; i < to; ++i, ++e) {
        info.samples += e->samples;
        info.bytes = e->begin + e->bytes - begin;
      }
      add_chunk(info);
    }
  }

  void table(Run run, std::vector<SequenceInfo>& out) const override {
    out.resize(static_cast<std::size_t>(run.to - run.from));
    auto e = index_.entries.from(run.from);
    for (std::uint32_t row = 0; row < out.size(); ++row, ++e) out[row] = {e->key, row, e->samples};
  }

  void fetch(Run run, Chunk& out) const override {
    out.reset(streams());
    Column& column = out.columns[0];
    const std::shared_ptr<const io::File> file = cache_.open(index_.chunk_file[run.chunk]);
    const std::uint64_t from = run.from, to = run.to;
    Buffer<std::byte> bytes;
    std::uint64_t base = 0, end = 0;  // of the part in `bytes`
    std::size_t frames = 0;
    for (auto e = index_.entries.from(from); e != index_.entries.end() && e.number() < to; ++e) frames += e->samples;
    column.first_value.reserve(frames + 1);
    column.indices.reserve(frames);
    thread_local Labels labels;  // kept from chunk to chunk, for its memory
    auto entry = index_.entries.from(from);
    for (std::uint64_t i = from; i < to; ++i, ++entry) {
      const IndexEntry& e = *entry;
      if (e.begin + e.bytes > end) {
        base = e.begin;
        end = part_end(i, to);
        bytes.resize(static_cast<std::size_t>(end - base));
        file->read(base, {bytes.data(), bytes.size()});
        file->expect_unchanged();
      }
      const bool sound = parse(
          file->path(), e,
          bytes.span().subspan(static_cast<std::size_t>(e.begin - base), static_cast<std::size_t>(e.bytes)), labels);
      if (sound && options_.element == Element::f32) append<float>(labels, column);
      if (sound && options_.element == Element::f64) append<double>(labels, column);
      if (!sound && out.invalid.empty()) out.invalid.assign(static_cast<std::size_t>(to - from), 0);
      if (!sound) out.invalid[static_cast<std::size_t>(i - from)] = Chunk::kUnpaid;
      column.first_sample.push_back(static_cast<std::uint32_t>(column.first_value.size() - 1));
    }
  }

  // Where the part ends that begins with this row: at most kPart behind, or one utterance.
  std::uint64_t part_end(std::uint64_t from, std::uint64_t to) const {
    const auto end_of = [](const IndexEntry& e) { return e.begin + e.bytes; };
    const std::uint64_t most = index_.entries[from].begin + kPart, all = end_of(index_.entries[to - 1]);
    if (all <= most) return all;
    auto e = index_.entries.from(from);
    std::uint64_t end = end_of(*e);
    while (++from < to && end_of(*++e) <= most) end = end_of(*e);
    return end;
  }

  // Opens a file that the cache had closed. Throws Error if it has changed.
  io::File reopen(std::uint32_t number) const {
    io::File file(options_.files[number], file_system_, limits_);
    file.expect_same(identities_[number]);
    return file;
  }

  // False if the utterance is damaged, after reporting that.
  bool parse(const std::string& path, const IndexEntry& e, std::span<const std::byte> bytes, Labels& labels) const {
    const std::string key = keys_->text(e.key);
    Position at{.file = path, .byte = e.begin, .has_byte = true};
    try {
      if (options_.binary) {
        parse_binary(bytes, at, key, e.samples, rules_.classes, labels);
      } else {
        std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        const std::size_t line = std::min(text.find('\n'), text.size() - 1) + 1;  // behind the key
        at.byte += line;
        at.line = e.aux + 1;
        at.column = 1;
        parse_labels(text.substr(line), at, key, rules_, labels);
        if (!labels.invalid && labels.frames != e.samples) {
          throw Error(Fault{.kind = FaultKind::stale,
                            .id = "mlf.changed",
                            .at = at,
                            .what = "utterance '" + key + "' has " + counted(labels.frames, "frame") + ", it had " +
                                    std::to_string(e.samples) + " when the file was indexed",
                            .hint = "open the reader again"});
        }
      }
    } catch (const Error& error) {
      // For HTKMLFReader damaged labels are no fault if no list names the utterance. Else the row, as kUnpaid, ends the
      // run when it is delivered.
      if ((!check_ && !options_.legacy) || error.fault().kind != FaultKind::format) throw;
      labels.invalid = error.fault();
    }
    if (!labels.invalid) return true;
    labels.invalid->stream = options_.name;
    if (check_) {
      faults_.error(std::move(*labels.invalid));
    } else {
      labels.invalid->what += "; the utterance is not delivered";
      faults_.warning(std::move(*labels.invalid));
    }
    return false;
  }

  template <class T>
  void append(const Labels& labels, Column& column) const {
    for (const Segment& s : labels.segments) {
      const std::size_t first = column.indices.size();
      for (std::uint32_t f = 0; f < s.frames; ++f) {
        if (targets_.empty()) {
          column.indices.push_back(static_cast<std::int32_t>(s.state));
        } else {
          column.indices.append(targets_[s.state].data(), targets_[s.state].size());
        }
        column.first_value.push_back(expect_offset(column.indices.size()));
      }
      column.values.resize(column.indices.size() * sizeof(T));
      std::fill(column.as<T>() + first, column.as<T>() + column.indices.size(), T{1});
      if (options_.phone_boundaries && s.frames > 0) column.as<T>()[first] = T{2};
    }
  }

  MlfOptions options_;
  std::unique_ptr<StateList> states_;
  std::vector<std::vector<std::int32_t>> targets_;  // per class, if there is a target mapping
  LabelRules rules_;
  std::vector<io::Identity> identities_;
  std::vector<bool> in_place_;  // by file: neither remote nor compressed
  mutable io::FileCache<io::File> cache_;
  MlfIndex index_;
};

}  // namespace

std::unique_ptr<Source> open(const MlfOptions& options, const OpenContext& context) {
  check_options(options);
  return std::make_unique<MlfSource>(options, context);
}

}  // namespace batchfeed::mlf
