// SPDX-License-Identifier: MIT
//
// What the speech readers and deserializers share: features and labels from a
// stream's section.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/binder.h"

namespace batchfeed::config {

enum class StreamKind : std::uint8_t { feature, label, hmm, lattice };

// An entry of an old-style reader section that describes a stream.
struct SpeechStream {
  StreamKind kind = StreamKind::feature;
  std::string key;  // as spelled
  const Section* section = nullptr;
};

// By the keys a sub-section has itself; in alphabetical order. Others are left out.
std::vector<SpeechStream> classify(const Section& reader);

// Keys of one feature stream but definesMBSize and maxSequenceSize, which the
// deserializer reads elsewhere.
HtkOptions bind_feature(Binder& binder, const Section& stream, const std::string& name);

// Keys of one label stream. `list_only`: mlfFileList is always a file of paths.
MlfOptions bind_label(Binder& binder, const Section& stream, const std::string& name, bool list_only);

// prefixPathInSCP as it is put before paths: '/' only, one at the end; "/" is none.
std::string normal_prefix(std::string_view prefix);

// `randomize` of the old speech readers: none (0), auto (kWholeSet) or a window in frames.
std::uint64_t bind_frames_window(Binder& binder, const Section& reader);

}  // namespace batchfeed::config
