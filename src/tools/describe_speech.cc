// SPDX-License-Identifier: MIT
//
// A summary of features and labels: kinds, hours, how often each class occurs.
#include <batchfeed/tools.h>

#include "assemble/open.h"
#include "formats/htk/htk.h"
#include "formats/mlf/states.h"
#include "model/read_chunk.h"
#include "model/total.h"

namespace batchfeed {

namespace {

void count_sequences(const Source& source, SpeechStream& out) {
  out.stream = source.streams().front().name;
  const ChunkInfo all = total(source.chunks());
  out.utterances += all.sequences;
  out.frames += all.samples;
}

void count_labels(const Chunk& chunk, SpeechStream& out) {
  const Column& column = chunk.columns.front();
  for (std::uint32_t row = 0; row + 1 < column.first_sample.size(); ++row) {
    if (chunk.is_invalid(row)) continue;
    const std::uint32_t first = column.first_sample[row];
    const std::uint32_t from = column.first_value[first];
    const std::uint32_t to = column.first_value[column.first_sample[row + 1]];
    for (std::uint32_t i = from; i < to; ++i) {
      const auto label = static_cast<std::size_t>(column.indices[i]);
      ++out.labels[label].frames;
      if (i == from || column.indices[i - 1] != column.indices[i]) ++out.labels[label].segments;
    }
  }
}

// Counts the frames and segments (runs of equal labels) of each class; with several bits a frame, of each bit.
void count_labels(const Source& source, SpeechStream& out) {
  out.has_labels = true;
  out.classes = source.streams().front().dim;
  if (out.classes > SpeechStream::kMostLabels) return;  // a single number in a small file can claim so many
  out.labels.resize(static_cast<std::size_t>(out.classes));
  Chunk chunk;
  for (std::uint32_t c = 0; c < source.chunks().size(); ++c) {
    read_in_parts(source, c, chunk, [&](std::uint32_t) { count_labels(chunk, out); });
  }
}

struct Describe {
  const OpenContext& context;

  std::optional<SpeechStream> operator()(const HtkOptions& o) const {
    htk::Facts facts;
    const std::unique_ptr<Source> source = htk::open(o, context, &facts);
    SpeechStream out{.kind = facts.kind,
                     .files = facts.files,
                     .frame_seconds = facts.period == 0 ? 0.01 : static_cast<double>(facts.period) * 1e-7};
    count_sequences(*source, out);
    return out;
  }
  std::optional<SpeechStream> operator()(const MlfOptions& o) const {
    const std::unique_ptr<Source> source = assemble::open_one(o, context);
    SpeechStream out{.kind = o.binary ? "binary MLF" : "MLF", .files = o.files.size()};
    count_sequences(*source, out);
    count_labels(*source, out);
    if (!o.target_mapping_file.empty()) return out;
    if (!o.labels.empty()) {
      for (std::size_t i = 0; i < o.labels.size() && i < out.labels.size(); ++i) out.labels[i].name = o.labels[i];
    } else if (!o.mapping_file.empty()) {
      const mlf::StateList states(o.mapping_file, context.limits, context.file_system);
      for (std::size_t i = 0; i < states.size() && i < out.labels.size(); ++i) out.labels[i].name = states.name(i);
    }
    return out;
  }
  std::optional<SpeechStream> operator()(const KaldiOptions& o) const {
    const std::unique_ptr<Source> source = assemble::open_one(o, context);
    SpeechStream out{.kind = "Kaldi", .files = o.files.size()};
    count_sequences(*source, out);
    if (o.alignment) count_labels(*source, out);
    return out;
  }
  template <class Other>
  std::optional<SpeechStream> operator()(const Other&) const {
    return std::nullopt;
  }
};

}  // namespace

std::vector<SpeechStream> describe_speech(const Setup& setup) {
  OpenContext context = assemble::context_of(setup);
  context.check = true;
  context.report = {};  // notices are reported when the setup is opened, not here
  std::vector<SpeechStream> out;
  for (const Setup& corpus : assemble::corpora_of(setup)) {
    for (const SourceOptions& options : corpus.sources) {
      if (std::optional<SpeechStream> one = std::visit(Describe{context}, options)) out.push_back(std::move(*one));
    }
  }
  return out;
}

}  // namespace batchfeed
