// SPDX-License-Identifier: MIT
//
// Work on whole corpora: check, describe, index, infer. (convert.h writes them.)
//
// All functions throw Error, and may be called from several threads at once.
#pragma once

#include <batchfeed/names.h>
#include <batchfeed/options.h>
#include <batchfeed/source.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace batchfeed {

// Called now and then with bytes (or sequences) done and in all (0 = unknown): by any thread that works, one at a time.
using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;

// The formats batchfeed knows.
enum class Format : std::uint8_t { unknown, ctf, cbf, htk, scp, mlf, kaldi, config };
template <>
struct Names<Format> {
  static constexpr std::string_view all[] = {"unknown", "ctf", "cbf", "htk", "scp", "mlf", "kaldi", "config"};
};
// By content; the file's name is looked at only where bytes do not decide.
Format detect_format(const std::string& path, const FileSystem& file_system = {}, const Limits& limits = {});
// The format of the first of several files, which are shards, read one after the other. Throws Error(usage) where that
// is text or binary data and a later local file is the other of the two.
Format detect_format(const std::vector<std::string>& files, const FileSystem& file_system = {},
                     const Limits& limits = {});

// The first bytes of a file, or of what it unpacks to (gzip, zstd). Throws Error.
struct FirstBytes {
  std::string bytes = {};
  bool compressed = false;
  bool whole = false;  // there are no more
};
FirstBytes first_bytes(const std::string& path, std::size_t most, const Limits& limits = {});

// Shell patterns in a list of files replaced by the files they name, sorted. What
// is no pattern, names a file that exists, or fits no file, stays as it is. Throws
// Error(limit) if the patterns look at names of more than limits.pattern_bytes, Error(io)
// if one leads out of file_system.roots. `report` is told which folders may not be read.
std::vector<std::string> expand_files(const std::vector<std::string>& names, const FileSystem& file_system = {},
                                      const Limits& limits = {}, const Report& report = {});

// Opens one source: indexes it, or loads its index cache.
std::unique_ptr<Source> open_source(const SourceOptions& options, const Limits& limits = {}, const Report& report = {},
                                    KeyMode keys = KeyMode::numeric);
// All sources of a setup, joined by key as a reader would.
std::unique_ptr<Source> open_sources(const Setup& setup);
// What a Reader of the setup reads: the corpora of its mixture, else its only corpus.
std::vector<std::shared_ptr<const Source>> open_corpora(const Setup& setup);
// The same for looking at data: damage is reported and left out, whatever the setup tolerates.
std::unique_ptr<Source> open_to_look(const Setup& setup);

struct CheckResult {
  std::uint64_t faults = 0, warnings = 0;
  std::map<std::string, std::uint64_t> by_id = {};      // faults and warnings
  std::uint64_t sequences = 0, samples = 0, bytes = 0;  // of all sources, each by itself
  std::uint64_t sources = 0;
  bool complete = true;  // false: a source or chunk could not be read to its end
};
struct CheckOptions {
  std::uint64_t max_faults = 1000;  // reported; further ones are only counted
  Progress progress = {};
};
// Reads all of the corpus and reports every fault, damaged data included.
CheckResult check(const Setup& setup, const CheckOptions& options, const Report& report);
// A text corpus from a stream (`-`): checked while it passes, never held whole.
CheckResult check_stream(int descriptor, const std::string& name, const CtfOptions& options, const CheckOptions& check,
                         const Report& report, const Limits& limits = {});

// What became of the index of one file.
struct IndexBuild {
  std::string file = {};   // empty: of all files of a source whose format keeps no cache of its own for each
  std::string cache = {};  // where it is kept; empty: nowhere
  bool was_valid = false;  // a valid cache was there; nothing was written
  std::string why = {};    // why a cache that was there is not valid
  // No cache is ever kept: the format has none, or the labels have no utterance or lack their last end line, which
  // every run is to report.
  bool nothing_to_keep = false;
  std::uint64_t sequences = 0, samples = 0, chunks = 0, bytes = 0;
};
// Makes sure that every text corpus and label file of a setup has an index cache.
std::vector<IndexBuild> build_indexes(const Setup& setup, bool rebuild = false);
// The index caches there are, one for each text or label file of a setup, without building
// any: `was_valid`, or `why` not; neither where there is none.
std::vector<IndexBuild> find_indexes(const Setup& setup);

// Guesses streams of a text corpus that comes without a configuration: names,
// storage, dims, from all of the file or its first `bytes`.
struct Inferred {
  struct Stream {
    StreamSpec spec;
    bool integral = true;     // all values are whole numbers
    double min = 0, max = 0;  // of the values
    std::uint64_t samples = 0, values = 0;
    std::uint64_t odd = 0;        // samples that are damaged by `spec`, other than by indices beyond dim
    bool one_hot = false;         // sparse with one value 1 everywhere
    std::uint64_t sequences = 0;  // that have it
    std::string file = {};        // where it is met first
    std::uint64_t first_byte = 0;
  };
  std::vector<Stream> streams = {};
  std::vector<Stream> rare = {};  // in fewer than one sequence in ten: taken for slips, and not declared
  std::map<std::string, FileIdentity> seen = {};  // the files as they were, for CtfOptions::seen
  std::uint64_t sequences = 0;
  bool has_ids = false;
  bool text_ids = false;  // most ids are no numbers of 64 bits, or the first begins with no digit
  bool whole_file = true;
};
Inferred infer_ctf(const std::string& path, std::uint64_t bytes = ~0ull, const Progress& progress = {},
                   const Limits& limits = {}, const FileSystem& file_system = {});
// Whether and where the streams of each file are kept on disk, as CtfOptions has it for its index.
struct InferCache {
  bool keep = false;
  std::string directory = {};
  bool rebuild = false;  // what was kept does not count
};
// Of several shards of one corpus: what fits all of them.
Inferred infer_ctf(const std::vector<std::string>& files, const Progress& progress = {}, const Limits& limits = {},
                   const FileSystem& file_system = {}, const InferCache& cache = {});
// For the corpora of a mixture: gives inferred streams (CtfOptions::seen) of one name the storage and dim that fit all
// of them, as infer_ctf() does for shards; then does the same for labels by fit_labels().
void fit_inferred(std::vector<std::vector<SourceOptions>>& mix, const Limits& limits = {},
                  const FileSystem& file_system = {});
// For corpora that are used together: makes inferred labels (MlfOptions::inferred) of one name number their classes
// alike: by the list of states of one of them, else by the class names of all, sorted. Throws Error(usage) where two
// lists of states give one number to two names; one may be longer.
void fit_labels(std::vector<std::vector<SourceOptions>>& corpora, const Limits& limits = {},
                const FileSystem& file_system = {});
// A notice for each of its `rare` streams, with the line where the stream is met first.
std::vector<Notice> rare_streams(const Inferred& inferred, const Limits& limits = {},
                                 const FileSystem& file_system = {});
// The reader section that fits, ready to paste. Throws Error(usage) for names that no section can say.
std::string reader_section(const std::vector<std::string>& files, const Inferred& inferred);
// The same for any setup that files without a configuration gave; `streams` are
// those of the opened source. Throws Error(usage) for what no section can say.
std::string reader_section(const Setup& setup, const std::vector<StreamInfo>& streams);

// A corpus at a glance.
struct Description {
  struct Lengths {
    std::uint64_t min = 0, max = 0, p50 = 0, p90 = 0, p99 = 0;
    double mean = 0;
  };
  std::vector<StreamInfo> streams = {};
  std::uint64_t sequences = 0, samples = 0, chunks = 0, bytes = 0;
  std::uint64_t largest_chunk_bytes = 0, smallest_chunk_bytes = 0;
  Lengths lengths;
  // Sequences by length: those up to 1, 2, 5, 10, 20, 50 ... samples that are longer than the step before.
  struct Step {
    std::uint64_t most = 0, sequences = 0;
  };
  std::vector<Step> steps = {};  // from the first to the last that has any
  std::vector<Notice> notices = {};
};
Description describe(const Source& source);

// Speech sources of a setup, each by itself and whole: what a join leaves out of
// them is counted too. Reads all labels; damaged ones are not counted. Throws Error.
struct SpeechStream {
  std::string stream = {};
  std::string kind = {};  // of features as HTK spells it ("FBANK_D_A"); "MLF", "binary MLF", "Kaldi"
  std::uint64_t files = 0, utterances = 0, frames = 0;
  double frame_seconds = 0.01;  // of labels, and where the files do not say, 10 ms
  bool has_labels = false;
  struct Label {
    std::string name = {};  // empty where classes have numbers only
    std::uint64_t frames = 0, segments = 0;
  };
  std::uint64_t classes = 0;
  static constexpr std::uint64_t kMostLabels = 1u << 17;
  std::vector<Label> labels = {};  // of every class, in order; empty where there are more classes than kMostLabels
};
std::vector<SpeechStream> describe_speech(const Setup& setup);

// How speech files that come without a configuration are read: scp lists and HTK
// files, MLF labels, Kaldi scp and ark files; one source for the features and one
// for the labels. Of labels all are read: their names or numbers give the classes,
// unless a list of states does. `report`: as of expand_files(). Throws Error.
std::vector<SourceOptions> infer_speech(const std::vector<std::string>& files, const std::string& state_list = {},
                                        Element element = Element::f32, const Limits& limits = {},
                                        const FileSystem& file_system = {}, const Report& report = {});

// The names of classes in a list of states (labelMappingFile), in order.
std::vector<std::string> read_state_list(const std::string& path, const Limits& limits = {},
                                         const FileSystem& file_system = {});

// A file with these bytes: it appears whole or not at all, in place of an older one if it may `replace` that.
void save_file(const std::string& path, std::string_view bytes, bool replace = true);

// A saved state on disk, likewise. load_state() refuses more
// than limits.state_bytes.
void save_state(const std::string& path, std::string_view state);
std::string load_state(const std::string& path, const Limits& limits = {});

}  // namespace batchfeed
