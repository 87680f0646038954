// SPDX-License-Identifier: MIT
#include "tools/speech_target.h"

#include <algorithm>

#include "base/counted.h"
#include "tools/refuse.h"

namespace batchfeed {
namespace {

HtkLayout layout_of(const ConvertOptions& options) {
  if (options.to == Format::htk) return HtkLayout::single;
  return options.file_for_each_sequence ? HtkLayout::files : HtkLayout::archive;
}

}  // namespace

SpeechTarget::SpeechTarget(const std::string& path, const std::vector<StreamInfo>& streams,
                           const ConvertOptions& options)
    : path_(path), options_(options) {
  const bool labels = options.to == Format::mlf;
  if (streams.size() != 1) {
    std::string names;
    for (const StreamInfo& s : streams) names += (names.empty() ? "'" : ", '") + s.name + "'";
    refuse("convert.one-stream", path,
           "a file of " + std::string(labels ? "labels" : "features") + " holds one stream, there are " +
               std::to_string(streams.size()) + ": " + names,
           streams.empty() ? "" : "name one: `streams = " + streams.front().name + "`");
  }
  stream_ = streams.front();
  if (labels) {
    labels_.emplace(
        path, MlfWriterOptions{.binary = options.binary_labels, .names = options.labels, .replace = options.force});
    return;
  }
  if (stream_.element != Element::f32) {
    refuse("convert.doubles", path, "stream '" + stream_.name + "' holds doubles, a parameter file floats",
           "ask for `precision = float`", stream_.name);
  }
  features_.emplace(path, HtkWriterOptions{.dim = stream_.dim,
                                           .period = options.frame_period.value_or(100'000),
                                           .kind = options.parameter_kind.value_or(9),
                                           .layout = layout_of(options),
                                           .replace = options.force});
}

void SpeechTarget::write(const Chunk& chunk, std::uint32_t row, const std::string& key) {
  const Column& column = chunk.columns.front();
  if (options_.to != Format::htk && !keys_.add(key)) {
    refuse_data("convert.same-key", path_,
                "two sequences with the key '" + key + "', of which readers would leave one out", "`keys = number`");
  }
  if (features_) return write_features(column, row, key);
  column.element == Element::f32 ? write_labels<float>(column, row, key) : write_labels<double>(column, row, key);
}

void SpeechTarget::write_features(const Column& column, std::uint32_t row, const std::string& key) {
  const std::uint32_t frames = column.samples(row);
  const std::size_t dim = static_cast<std::size_t>(column.dim);
  const float* values = nullptr;
  if (column.storage == Storage::dense && column.step == column.dim) {
    values = column.as<float>() + column.begin[row];
  } else {
    dense_.assign(frames * dim, 0.0f);
    for (std::uint32_t i = 0; i < frames; ++i) {
      float* const out = dense_.data() + i * dim;
      if (column.storage == Storage::dense) {
        std::copy_n(column.as<float>() + column.begin[row] + i * column.step, dim, out);
        continue;
      }
      const std::size_t n = std::size_t{column.first_sample[row]} + i;
      for (std::uint32_t v = column.first_value[n]; v < column.first_value[n + 1]; ++v)
        out[column.indices[v]] = column.as<float>()[v];  // the last value of a repeated index counts
    }
    values = dense_.data();
  }
  features_->append(key, frames, values);
}

template <class T>
std::uint32_t SpeechTarget::label(const Column& column, std::uint32_t row, std::uint32_t sample, const std::string& key,
                                  bool& begins) const {
  std::uint64_t entries = 0;
  std::uint64_t at = 0;
  T value = 0;
  const auto see = [&](std::uint64_t index, T v) {
    if (v == 0) return;
    ++entries;
    at = index;
    value = v;
  };
  if (column.storage == Storage::dense) {
    const T* const from = column.as<T>() + column.begin[row] + sample * column.step;
    for (std::uint64_t i = 0; i < column.dim; ++i) see(i, from[i]);
  } else {
    const std::size_t n = std::size_t{column.first_sample[row]} + sample;
    for (std::uint32_t v = column.first_value[n]; v < column.first_value[n + 1]; ++v)
      see(static_cast<std::uint64_t>(column.indices[v]), column.as<T>()[v]);
  }
  if (entries != 1 || (value != 1 && value != 2)) {
    refuse_data("convert.not-labels", path_,
                "stream '" + stream_.name + "', sequence '" + key + "', frame " + std::to_string(sample) + ": " +
                    (entries == 1 ? "a value that is not 1" : counted(entries, "value") + " that are not 0") +
                    ", a label is one 1",
                "labels come from one-hot streams; write other streams as features", stream_.name);
  }
  begins = value == 2;
  return static_cast<std::uint32_t>(at);
}

template <class T>
void SpeechTarget::write_labels(const Column& column, std::uint32_t row, const std::string& key) {
  segments_.clear();
  for (std::uint32_t i = 0; i < column.samples(row); ++i) {
    bool begins = false;
    const std::uint32_t now = label<T>(column, row, i, key, begins);
    if (!boundaries_) boundaries_ = begins;
    const bool fresh = segments_.empty() || segments_.back().label != now;
    // Either every run of a label begins with a 2, or no frame has one.
    if (*boundaries_ ? fresh && !begins : begins) {
      refuse_data("convert.boundaries", path_,
                  "stream '" + stream_.name + "', sequence '" + key + "', frame " + std::to_string(i) +
                      ": a value of 2 marks where a phone begins, here it is " + (begins ? "there" : "missing") +
                      " unlike before",
                  "", stream_.name);
    }
    if (fresh || begins) segments_.push_back({.label = now});
    ++segments_.back().frames;
  }
  labels_->append(key, segments_);
}

void SpeechTarget::seal() { features_ ? features_->seal() : labels_->seal(); }
void SpeechTarget::commit() { features_ ? features_->commit() : labels_->commit(); }

std::string SpeechTarget::companion() const {
  return features_ ? HtkWriter::companion(path_, layout_of(options_)) : std::string();
}

SourceOptions SpeechTarget::reopen() const {
  if (features_) {
    HtkOptions options;
    options.name = stream_.name;
    (options_.to == Format::htk ? options.files : options.scp_files) = {path_};
    return options;
  }
  MlfOptions options;
  options.name = stream_.name;
  options.files = {path_};
  options.binary = options_.binary_labels;
  options.dim = stream_.dim;
  options.labels = options_.labels;
  options.phone_boundaries = boundaries_.value_or(false);
  options.element = stream_.element;
  return options;
}

}  // namespace batchfeed
