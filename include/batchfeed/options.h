// SPDX-License-Identifier: MIT
//
// Everything that can be asked of batchfeed, as plain aggregates: defaults stand
// in the declarations, there are no string keys. A `.cntk` reader section is
// translated into these once (config.h).
#pragma once

#include <batchfeed/error.h>
#include <batchfeed/files.h>
#include <batchfeed/limits.h>
#include <batchfeed/names.h>
#include <batchfeed/schema.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace batchfeed {

class Source;

// 2^62 - 1: "the whole data set" as an epoch size or a window.
inline constexpr std::uint64_t kWholeSet = (1ull << 62) - 1;

// How sequence keys are read and compared across the sources of a reader.
enum class KeyMode : std::uint8_t {
  numeric,  // unsigned 64-bit numbers
  text,     // any bytes, compared as text; numbered in order of first appearance
  hashed,   // any bytes, compared by a 64-bit hash; collisions are reported
};
template <>
struct Names<KeyMode> {
  static constexpr std::string_view all[] = {"numeric", "text", "hashed"};
};

// One stream as declared by the user for a text corpus.
struct StreamSpec {
  std::string name = {};
  std::string alias = {};  // its name in the file; empty = `name`
  Storage storage = Storage::dense;
  std::uint64_t dim = 0;         // values of a dense sample; exclusive bound of sparse indices
  bool defines_mb_size = false;  // minibatches count samples of this stream; sequences without it are left out
};

// CNTK text format (docs/reference/formats/ctf.md).
struct CtfOptions {
  std::vector<std::string> files = {};      // several: shards of one corpus, read one after the other
  std::vector<StreamSpec> streams = {};     // delivered in this order
  Element element = Element::f32;           // of all streams, as delivered
  bool skip_sequence_ids = false;           // every line is a sequence, whose key is its number from 0
  std::uint64_t max_errors = 0;             // damaged samples tolerated over the life of the source, in each file
  int trace_level = 1;                      // 0 failures only, 1 warnings, 2 notes
  std::uint64_t chunk_bytes = 32ull << 20;  // of text, at which a chunk is closed
  bool cache_index = false;                 // keep the index on disk (docs/reference/formats/index-cache.md)
  std::string cache_dir = {};               // empty: beside the data, else the user's cache directory
  // The files that `streams` were inferred from (Inferred::seen): if one has changed when it is opened, that is
  // Error(stale). Files that are not in it are not compared.
  std::map<std::string, FileIdentity> seen = {};
};

// CNTK binary format, both layouts (docs/reference/formats/cbf.md).
struct CbfOptions {
  struct Rename {
    std::string name = {};   // as delivered
    std::string alias = {};  // as in the file
  };
  std::vector<std::string> files = {};  // several: shards of one corpus
  std::vector<Rename> renames = {};     // the others keep their names
  Element element = Element::f32;
  bool convert_element = false;  // convert to `element` if the file holds the other type; else that is a fault
  int trace_level = 1;
};

// HTK feature archives listed by an scp file (docs/reference/formats/htk.md).
struct HtkOptions {
  std::string name = {};  // of the stream
  std::vector<std::string> scp_files = {};
  // Parameter files, each one utterance whose key is its path without the extension.
  std::vector<std::string> files = {};
  std::string prefix = {};  // prefixPathInSCP
  // Values of one frame. Without `context`, an odd multiple of the files' dimension asks for a symmetric window.
  std::uint64_t dim = 0;
  // Frames before and behind each that are delivered with it, oldest first: dim x (before + 1 + behind) values.
  std::optional<std::pair<std::uint32_t, std::uint32_t>> context = {};
  bool expand_to_utterance = false;           // entries have one frame, which stands for all of their utterance
  std::uint64_t max_sequence_frames = ~0ull;  // longer utterances are left out
  std::uint64_t chunk_frames = 90'000;        // with more, a chunk is closed
  bool defines_mb_size = false;               // minibatches count samples of this stream
  bool frame_mode = false;                    // frames will be drawn one by one
  Element element = Element::f32;
  int trace_level = 1;
  // The legacy reader: every scp form, utterances joined by line, its own filters.
  bool legacy = false;
  std::uint64_t max_utterance_frames = 65'535;                     // legacy: longer utterances are left out
  std::vector<std::pair<std::string, std::string>> path_map = {};  // prefix in the scp -> prefix on this machine

  const std::string& first_file() const { return scp_files.empty() ? files.front() : scp_files.front(); }
};

// MLF labels, text or binary (docs/reference/formats/mlf.md).
struct MlfOptions {
  std::string name = {};
  std::vector<std::string> files = {};
  bool binary = false;
  std::string mapping_file = {};         // state list; empty: the fourth column is the class
  std::vector<std::string> labels = {};  // or the names of the classes themselves, in order
  bool inferred = false;                 // `labels` and `dim` are what the files hold: fit_inferred() may add to them
  std::uint64_t dim = 0;                 // number of classes, at most 65535
  bool phone_boundaries = false;         // the first frame of a segment has the value 2, not 1
  std::uint64_t chunk_bytes = 64ull << 20;  // of the file, at which a chunk is closed
  bool cache_index = false;
  std::string cache_dir = {};  // empty: beside the data, else the user's cache directory
  bool frame_mode = false;     // as in HtkOptions
  Element element = Element::f32;
  int trace_level = 1;
  bool legacy = false;                   // columns by runs of blanks; dense one-hot; faults are fatal
  std::string target_mapping_file = {};  // legacy labelToTargetMappingFile
  std::uint64_t target_dim = 0;
};

// Kaldi matrices and integer alignments by scp or ark (docs/reference/formats/kaldi.md).
struct KaldiOptions {
  std::string name = {};
  std::vector<std::string> files = {};  // .scp or .ark
  bool alignment = false;               // integers per frame -> one-hot sparse of dimension `dim`
  std::uint64_t dim = 0;                // 0: from the data (features)
  std::optional<std::pair<std::uint32_t, std::uint32_t>> context = {};  // as in HtkOptions
  bool expand_to_utterance = false;     // one row each, which stands for every frame of the utterance
  std::uint64_t chunk_frames = 90'000;  // this and the others as in HtkOptions
  bool defines_mb_size = false;
  bool frame_mode = false;
  Element element = Element::f32;
  int trace_level = 1;
};

// One source: a built-in format or the user's own.
using SourceOptions =
    std::variant<CtfOptions, CbfOptions, HtkOptions, MlfOptions, KaldiOptions, std::shared_ptr<const Source>>;

enum class OrderKind : std::uint8_t {
  file,     // as in the files
  cntk,     // the reference's windowed shuffle, bit-exact
  uniform,  // unbiased inside the window, independent for every (seed, sweep)
};
template <>
struct Names<OrderKind> {
  static constexpr std::string_view all[] = {"file", "cntk", "uniform"};
};

enum class Shard : std::uint8_t {
  chunk,  // the reference's: shuffled by chunk position, unshuffled by sequence number
  // Every global minibatch is cut evenly, by samples, among the workers, so that
  // minibatches are the same for every number of workers. A last minibatch of less
  // than half the size is evened out with the one before it. A worker goes without
  // data only where a minibatch has fewer sequences than there are workers: never if
  // half a minibatch has enough.
  even,
};
template <>
struct Names<Shard> {
  static constexpr std::string_view all[] = {"chunk", "even"};
};

// What a minibatch is made of.
enum class Packing : std::uint8_t {
  sequences,  // whole ones
  frames,     // single samples of speech, each a sequence of its own
  truncated,  // pieces of PackOptions::truncation_length steps, row after row: for truncated backpropagation
};
template <>
struct Names<Packing> {
  static constexpr std::string_view all[] = {"sequences", "frames", "truncated"};
};

// How a minibatch's size is counted; cells are those of the padded rectangle, sequences times longest.
enum class SizeUnit : std::uint8_t { samples, sequences, cells };
template <>
struct Names<SizeUnit> {
  static constexpr std::string_view all[] = {"samples", "sequences", "cells"};
};

// What becomes of a sequence that is longer than the minibatch of all workers (sizes that count samples or cells).
enum class LongSequence : std::uint8_t {
  alone,  // a minibatch of its own, as the reference does
  skip,   // left out; Reader::skipped() counts
  split,  // a minibatch of its own, cut into pieces of the minibatch's size, each of which is a sequence
  error,
};
template <>
struct Names<LongSequence> {
  static constexpr std::string_view all[] = {"alone", "skip", "split", "error"};
};

// What becomes of samples at the end of a sweep that do not fill a minibatch.
enum class LastMinibatch : std::uint8_t {
  keep,   // a smaller minibatch; Shard::even: see there
  drop,   // left out; Reader::skipped() counts. Where minibatches cross sweeps: the last of an epoch
  cross,  // filled up from the next sweep (as cross_sweeps = true)
};
template <>
struct Names<LastMinibatch> {
  static constexpr std::string_view all[] = {"keep", "drop", "cross"};
};

struct OrderOptions {
  OrderKind kind = OrderKind::uniform;
  std::uint64_t window = 128;  // chunks, or samples if window_in_samples, among which sequences are shuffled
  bool window_in_samples = false;
  std::uint64_t seed = 0;
};

struct PackOptions {
  Packing kind = Packing::sequences;
  std::uint64_t truncation_length = 0;  // truncated: steps of a minibatch
  std::uint64_t right_splice = 0;       // truncated: samples of a piece that the next one gives again
};

struct ReaderOptions {
  OrderOptions order = {};
  PackOptions pack = {};
  Shard shard = Shard::even;
  std::uint64_t workers = 1;  // readers, mostly in processes of their own, that share the data
  std::uint64_t rank = 0;     // which of them this is
  // Delivers only number `offset` of every `stride` minibatches, so that several
  // processes that load for one worker share its stream without changing it.
  std::uint64_t stride = 1;
  std::uint64_t offset = 0;

  std::vector<std::uint64_t> minibatch_size = {256};  // per epoch (Driver::timeline: per minibatch); the last repeats
  SizeUnit size_unit = SizeUnit::samples;
  bool local_timeline = true;  // Shard::chunk: sizes are shared among workers; false: every worker counts all samples
  std::uint64_t epoch_samples = 0;  // 0 = one sweep
  std::uint64_t epoch_sweeps = 0;   // if not 0, used instead
  std::uint64_t start_epoch = 0;
  // The reference's two ways of driving a reader. Epochs: each epoch is a new
  // start, minibatches never cross a sweep. Timeline: one long run over sweeps,
  // `epoch_samples` (0 = one sweep, ~0 = endless) or `epoch_sweeps` bound all of it.
  enum class Driver : std::uint8_t { epochs, timeline } driver = Driver::epochs;
  std::optional<bool> cross_sweeps = {};  // default: only with the timeline driver

  LongSequence long_sequence = LongSequence::alone;
  LastMinibatch last_minibatch = LastMinibatch::keep;

  // Bucketing by length, to cut padding: the sequences of the order's next so many
  // minibatches are sorted by length and cut into minibatches of similar lengths, which
  // come in random order. 0 = off; 16 saves most of what can be saved. Needs Shard::even
  // or one worker, and one minibatch size. Reader::padding() tells what it saves.
  std::uint64_t bucket_minibatches = 0;
  // Several corpora mixed into one endless stream (Setup::mix): the share of the samples that
  // each gives, relative to the sum. Needs Shard::even or one worker. Every corpus
  // runs through sweeps of its own; an epoch of size 0 has as many samples as all
  // corpora together.
  std::vector<double> mix_weights = {};

  // Invalid sequences tolerated over the life of the reader (maxErrors of the composite); in frame mode each frame
  // counts, as in the reference.
  std::uint64_t max_invalid = 0;
  bool keep_in_memory = false;       // a chunk once read stays: later epochs read no file
  bool prefetch = true;              // false: all work is done in the caller's thread
  std::uint64_t prefetch_depth = 4;  // packed minibatches that wait
  unsigned threads = 0;              // that read and parse; 0 = one per core
  // Bytes for chunks and waiting minibatches; 0 = what the window needs. Decoded chunks of joined sources, which are
  // kept for rows that come later, take as much again at most.
  std::uint64_t memory_limit = 0;
  KeyMode keys = KeyMode::numeric;
  // HTKMLFReader's minibatches (docs/reference/formats/htk.md).
  bool legacy_speech = false;
  bool full_minibatches = false;                   // minibatchMode = full
  std::vector<std::uint64_t> rows_per_epoch = {};  // nbruttsineachrecurrentiter, where it shapes minibatches
  bool rolling_window = false;
  // Each minibatch is one sequence, whatever minibatch_size is, and a source's sequence of a single sample stands for
  // all samples of its partner in the first source (HTKMLFReader with action = write). Needs Packing::sequences.
  bool one_sequence = false;
};
template <>
struct Names<ReaderOptions::Driver> {
  static constexpr std::string_view all[] = {"epochs", "timeline"};
};

// A corpus and how to read it: what a reader section says.
struct Setup {
  std::vector<SourceOptions> sources = {};  // joined by key; the first is primary: it gives order and chunks
  // Instead of `sources`: several corpora with the same streams, each of sources to
  // be joined, mixed as ReaderOptions::mix_weights says.
  std::vector<std::vector<SourceOptions>> mix = {};
  ReaderOptions reader = {};
  Limits limits = {};
  FileSystem file_system = {};  // reads URLs: of sources, and of what their lists name
  Report report = {};           // receives notices; may be empty
  // Called now and then while sources are indexed, with bytes done and in all
  // (0 = unknown); may be empty, may throw to give up.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};
};

// Every source of a setup, those of each corpus of a mixture too. The pointers are valid until its lists of sources
// change.
inline std::vector<SourceOptions*> sources_of(Setup& setup) {
  std::vector<SourceOptions*> out;
  for (SourceOptions& source : setup.sources) out.push_back(&source);
  for (std::vector<SourceOptions>& corpus : setup.mix) {
    for (SourceOptions& source : corpus) out.push_back(&source);
  }
  return out;
}

}  // namespace batchfeed
