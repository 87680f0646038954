// SPDX-License-Identifier: MIT
//
// From any source to a text or binary corpus, to HTK features or MLF labels.
// Streamed: memory is bounded by a few chunks. The target appears whole or not at
// all; its bytes do not depend on the number of threads.
#pragma once

#include <batchfeed/names.h>
#include <batchfeed/source.h>
#include <batchfeed/tools.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace batchfeed {

struct ConvertOptions {
  // cbf; ctf; htk: one parameter file; scp: a list and its features; mlf: labels.
  Format to = Format::cbf;
  bool legacy = false;                      // cbf: the older layout
  std::uint64_t chunk_bytes = 32ull << 20;  // cbf: where a chunk is closed
  // cbf: close chunks as ctf2bin does, by the bytes of samples alone. `true`: as the original,
  // which does not reset the count, so that all chunks but the first have one sequence.
  std::optional<bool> ctf2bin_chunks = {};
  std::vector<std::string> streams = {};                          // those to keep, in this order; empty: all
  std::vector<std::pair<std::string, std::string>> renames = {};  // from, to
  enum class Keys : std::uint8_t {
    automatic,  // kept, unless they are the sequences' numbers and each sequence has one sample
    keep,       // ctf: ids; cbf: a file PATH.keys
    number,     // ctf: ids 0, 1, 2 ...
    none,
  } keys = Keys::automatic;
  std::optional<std::uint64_t> shuffle = {};    // seed of a global shuffle
  std::uint64_t shuffle_memory = 256ull << 20;  // bytes shuffled at a time
  unsigned jobs = 0;                            // threads that read and encode; 0 = one per core
  // scp and htk: one stream of floats. Header fields that are not given are those that set_header() finds, else 10 ms
  // and USER.
  std::optional<std::uint32_t> frame_period = {};    // of a frame, in 100 ns; 1 to 10'000'000
  std::optional<std::uint16_t> parameter_kind = {};  // see htk_kind()
  bool file_for_each_sequence = false;               // scp: not one archive
  // mlf: one stream that is one-hot.
  bool binary_labels = false;
  std::vector<std::string> labels = {};  // names of the classes; empty: numbers
  // Replace an existing target; of a symbolic link, the link itself. A file that the source reads is not replaced where
  // `streams` leaves some of its streams out, or the source is only a `part` of what its files hold, as a subset() is;
  // nor where reading leaves out damaged or repeated sequences.
  bool force = false;
  bool part = false;
  bool verify = false;     // read the target back and compare
  Progress progress = {};  // bytes of the source; may throw to give up
  Report report = {};
};
template <>
struct Names<ConvertOptions::Keys> {
  static constexpr std::string_view all[] = {"automatic", "keep", "number", "none"};
};

struct ConvertResult {
  std::vector<StreamInfo> streams = {};  // as written
  std::uint64_t sequences = 0, samples = 0;
  std::uint64_t left_out = 0;  // damaged sequences, or without any sample
  std::uint64_t bytes = 0;     // of the target
  bool keys = false;           // whether keys were written
  bool verified = false;
};

// The format to write a file in: `to` if it is given, else by the extension of `path`, a .zst aside. Throws
// Error(usage) if neither names a format, and if `path` ends in .gz.
Format target_format(const std::string& path, const std::string& to = {});

// For features that come from HTK files: sets a period and kind that are not given to those of the files; but the kind
// to USER where frames are delivered in windows, which no kind describes. `corpora`: what is written, one after the
// other. Throws Error(usage) if their headers differ.
void set_header(ConvertOptions& options, const std::vector<const Setup*>& corpora);

// Where a text of these corpora has comments: warns that those are not written (convert.comments), once, of the first
// that is found in the first MiB of the first 64 texts. To be called before the target, which may replace the text,
// is written. Throws Error if a text cannot be read.
void warn_of_comments(const std::vector<const Setup*>& corpora, const Report& report);

// Throws Error; the target is then as it was before, except where `verify` found that the new target does not read back
// as written: that one stays in place.
ConvertResult convert(const Source& source, const std::string& target, const ConvertOptions& options);

}  // namespace batchfeed
