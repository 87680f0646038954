// SPDX-License-Identifier: MIT
//
// What infer() found of a file, kept on disk, so that the next run need not read all of the data.
#pragma once

#include <batchfeed/tools.h>

#include <optional>
#include <span>
#include <string>

#include "io/file.h"

namespace batchfeed::ctf {

// The streams of a whole file: those that were kept of it, if nothing about the data and the file that keeps them is
// odd, else inferred, and kept where that can be done. Throws as infer() does.
Inferred kept_or_inferred(const io::File& file, const InferCache& cache, const Progress& progress, const Limits& limits,
                          const FileSystem& file_system);

// As a text of bytes, little-endian: u64 sequences, u8 has_ids + 2 text_ids; then of each stream u32 bytes of its name,
// the name, u64 dim, u8 sparse + 2 integral + 4 one_hot, f64 least and greatest value, u64 samples, values, odd ones,
// sequences and the byte where it is met first.
std::string encode(const Inferred& inferred);
// Nothing unless encode() could have written it of a file of `size` bytes.
std::optional<Inferred> decode(std::span<const std::byte> bytes, std::uint64_t size, const Limits& limits);

}  // namespace batchfeed::ctf
