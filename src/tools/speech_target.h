// SPDX-License-Identifier: MIT
//
// Converted sequences as speech files: one stream of frames into HTK features, or
// one of classes into labels.
#pragma once

#include <batchfeed/convert.h>
#include <batchfeed/speech_writer.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/seen.h"

namespace batchfeed {

class SpeechTarget {
 public:
  // Throws Error(usage) for streams that such a file cannot hold.
  SpeechTarget(const std::string& path, const std::vector<StreamInfo>& streams, const ConvertOptions& options);

  void write(const Chunk& chunk, std::uint32_t row, const std::string& key);
  void seal();
  void commit();
  // Path of the file or folder beside a list of features, else empty.
  std::string companion() const;
  // Bytes of the feature files and their list together; 0 for labels.
  std::uint64_t companion_bytes() const noexcept { return features_ ? features_->bytes() : 0; }
  // Options that read the target back; the key of HtkLayout::single gets lost.
  SourceOptions reopen() const;

 private:
  void write_features(const Column& column, std::uint32_t row, const std::string& key);
  template <class T>
  void write_labels(const Column& column, std::uint32_t row, const std::string& key);
  // The class of a sample that is one-hot; its value is 1, or 2 where a phone begins.
  template <class T>
  std::uint32_t label(const Column& column, std::uint32_t row, std::uint32_t sample, const std::string& key,
                      bool& begins) const;

  std::string path_;
  StreamInfo stream_;
  ConvertOptions options_;
  std::optional<HtkWriter> features_;
  std::optional<MlfWriter> labels_;
  Seen keys_;
  std::vector<float> dense_;
  std::vector<MlfSegment> segments_;
  std::optional<bool> boundaries_;  // whether values of 2 mark where phones begin
};

}  // namespace batchfeed
