// SPDX-License-Identifier: MIT
#include "print.h"

#include <fmt/format.h>

#include <algorithm>

#include "format.h"
#include "numbers.h"

namespace batchfeed::cli {

namespace {

template <class T>
void dense_sample(const StreamBatch& stream, std::uint64_t sample, std::size_t room, Text& out) {
  const T* value = stream.as<T>() + sample * stream.dim;
  const std::size_t start = out.view().size();
  out.add('[');
  for (std::uint64_t d = 0; d < stream.dim; ++d) {
    if (d != 0) out.add(' ');
    if (out.view().size() - start >= room) {
      out.add("...");
      break;
    }
    out.real(value[d], "");
  }
  out.add(']');
}

template <class T>
void sparse_sample(const StreamBatch& stream, std::uint64_t sample, std::size_t room, Text& out) {
  const T* value = stream.as<T>();
  const std::size_t start = out.view().size();
  out.add('{');
  for (std::int64_t i = stream.sample_begin[sample]; i < stream.sample_begin[sample + 1]; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (i != stream.sample_begin[sample]) out.add(' ');
    if (out.view().size() - start >= room) {
      out.add("...");
      break;
    }
    out.integer(stream.indices[at]);
    out.add(':');
    out.real(value[at], "");
  }
  out.add('}');
}

// Appends the samples of one sequence, on one line of at most `width`.
void samples_line(const StreamBatch& stream, std::size_t entry, std::size_t width, Text& out) {
  const auto first = static_cast<std::uint64_t>(stream.offsets[entry]);
  const auto last = static_cast<std::uint64_t>(stream.offsets[entry + 1]);
  for (std::uint64_t sample = first; sample < last; ++sample) {
    const std::size_t used = out.view().size();
    if (used + 8 >= width && sample != first) {
      out.add(fmt::format(" ... {} more", last - sample));
      return;
    }
    out.add(' ');
    const std::size_t room = used + 12 < width ? width - used - 12 : 4;
    const bool single = stream.element == Element::f32;
    if (stream.storage == Storage::dense) {
      single ? dense_sample<float>(stream, sample, room, out) : dense_sample<double>(stream, sample, room, out);
    } else {
      single ? sparse_sample<float>(stream, sample, room, out) : sparse_sample<double>(stream, sample, room, out);
    }
  }
}

std::string sequence_head(const StreamBatch& stream, std::size_t e, const Minibatch& batch, const Reader& reader) {
  const LayoutEntry& entry = stream.layout.entries[e];
  std::string out = fmt::format("    key {}", printable(reader.key_text(batch.keys.at(entry.sequence)), 40));
  // Only a part of a truncated sequence lies in this minibatch.
  if (entry.begin < 0) out += fmt::format(" from {}", -entry.begin);
  if (entry.end > static_cast<std::int64_t>(stream.layout.steps)) out += " goes on";
  return out;
}

void stream_block(const StreamBatch& stream, const Minibatch& batch, const Reader& reader, const PrintOptions& options,
                  std::string& out) {
  const Layout& layout = stream.layout;
  out += fmt::format("  {}{}{}  {} {}{}, {} in {} parallel x {}", options.colour ? "\033[1m" : "",
                     printable(stream.name), options.colour ? "\033[0m" : "", name(stream.storage), stream.dim,
                     stream.element == Element::f64 ? " double" : "", plural(stream.samples(), "sample"), layout.rows,
                     plural(layout.steps, "step"));
  if (stream.storage == Storage::sparse) out += fmt::format(", {}", plural(stream.indices.size(), "value"));
  out += '\n';
  const std::size_t shown = options.sequences == 0 ? layout.sequences : std::min(options.sequences, layout.sequences);
  std::size_t head_width = 0;
  for (std::size_t e = 0; e < shown; ++e)
    head_width = std::max(head_width, sequence_head(stream, e, batch, reader).size());
  for (std::size_t e = 0; e < shown; ++e) {
    Text line;
    line.add(fmt::format("{:<{}} ", sequence_head(stream, e, batch, reader), head_width));
    samples_line(stream, e, options.width, line);
    out += line.view();
    out += '\n';
  }
  if (shown < layout.sequences) out += fmt::format("    ... {} more\n", plural(layout.sequences - shown, "sequence"));
}

}  // namespace

std::string print(const Minibatch& batch, const Reader& reader, const PrintOptions& options) {
  std::string out =
      fmt::format("epoch {} minibatch {}: {}, {}, position {}{}{}\n", batch.epoch, batch.index,
                  plural(batch.num_sequences, "sequence"), plural(batch.num_samples, "sample"), batch.position,
                  batch.end_of_sweep ? ", end of sweep" : "", batch.end_of_epoch ? ", end of epoch" : "");
  if (batch.empty()) out += "  nothing for this rank\n";
  for (const StreamBatch& stream : batch.streams) stream_block(stream, batch, reader, options, out);
  return out;
}

}  // namespace batchfeed::cli
