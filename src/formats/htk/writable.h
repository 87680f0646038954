// SPDX-License-Identifier: MIT
//
// Checks what parameter files and their list can hold: all of these throw Error(usage) for
// what they cannot; `path` is that of what is written.
#pragma once

#include <batchfeed/speech_writer.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace batchfeed::htk {

// Dimension, kind and period.
void check_head(const HtkWriterOptions& options, const std::string& path);
// The name of the archive or the folder, which stands in every line of the list.
void check_companion(const std::string& name, const std::string& path);
// Whether an scp line gives this key back, its extension taken off.
void check_key(std::string_view key, const std::string& path);
// Keys become names of files beneath one folder, never above it.
void check_name(std::string_view key, const std::string& path);
// `before`: frames that are in the same file already.
void check_frames(std::string_view key, std::uint64_t count, const float* values, std::uint64_t before,
                  const std::string& path);

[[noreturn]] void refuse_second(const std::string& path);
[[noreturn]] void refuse_repeated(std::string_view key, const std::string& path);
// `features`: the archive or folder, which another writer has put its own in the place of.
[[noreturn]] void refuse_raced(const std::string& features);
[[noreturn]] void refuse_same_name(std::string_view key, const std::string& path);

}  // namespace batchfeed::htk
