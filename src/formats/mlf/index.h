// SPDX-License-Identifier: MIT
//
// What MLF files say there is: utterances, their lengths and where they stand.
#pragma once

#include <batchfeed/options.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/mlf/labels.h"
#include "io/file.h"
#include "io/room.h"
#include "model/fault_sink.h"
#include "model/index.h"
#include "model/open_context.h"
#include "model/waiting_names.h"

namespace batchfeed::mlf {

// An entry's bytes: of a text file from the key line through the end line (`aux`
// is the key line's number); of a binary file from the number of segments through
// the last segment.
struct MlfIndex : Index {
  std::vector<std::uint32_t> chunk_file;  // chunks never span files
  std::vector<Notice> notices;            // counts of what was left out
};

// Collects the utterances of one file after the other.
class IndexBuilder {
 public:
  IndexBuilder(const MlfOptions& options, const OpenContext& context, FaultSink& faults)
      : options_(options), context_(context), faults_(faults) {}

  // The file must stay open until the next one begins, or the last utterance was added.
  void begin_file(const io::File& file);
  // A file that was read before, as file number `earlier`: counts all its utterances as repeated ones.
  void repeat_file(const io::File& file, std::size_t earlier);
  // `at` is the place of the key, for messages.
  void add(std::string_view key, const Position& at, std::uint64_t begin, std::uint64_t bytes, std::uint64_t samples);
  // An utterance out of a cache, whose key is a number of the key table already.
  void add(const IndexEntry& entry, const Position& at);
  // Whether add() would take all these entries, as the first ones of this file.
  bool within_limits(const IndexEntries& entries, const io::File& file) const;
  // Reports an utterance that is left out, or another fault; counts those whose id is in counts_.
  void skip(Fault fault);
  // The file ends without the end line of its last utterance.
  void ends_open() { open_end_ = true; }
  MlfIndex finish();

  // Of the file that was begun last.
  IndexEntries entries_of_file();
  bool open_end() const noexcept { return open_end_; }
  // How many were left out so far, by reason; add_counts() is false if these are not such numbers.
  std::vector<std::uint64_t> counts() const;
  bool add_counts(const std::vector<std::uint64_t>& counts, const std::string& file);

  const OpenContext& context() const noexcept { return context_; }
  FaultSink& faults() noexcept { return faults_; }

 private:
  struct Count {
    const char* id;
    const char* one;
    const char* many;
    std::uint64_t n;
    std::string first_file = {};  // that has one
  };

  // The fault of an utterance that is beyond a limit, else none. `frames`: those of its file up to its end; `room`: for
  // its bytes.
  std::optional<Fault> beyond_limit(const IndexEntry& entry, const Position& at, std::uint64_t frames,
                                    std::uint64_t file_bytes, const io::Room& room) const;
  // Adds its frames to the file's, unless it is beyond a limit, which is told.
  bool check(const IndexEntry& entry, const Position& at);
  void tell_limit(Fault fault);  // throws it, unless all faults are listed: then the utterance is left out
  // Gives the waiting utterances the keys of their names, and moves them to index_.
  void take_waiting();
  void refuse(Fault fault);  // throws it, or reports it in check mode
  void drop_duplicates();
  void cut();

  const MlfOptions& options_;
  const OpenContext& context_;
  FaultSink& faults_;
  MlfIndex index_;
  WaitingNames names_{*context_.keys};
  std::vector<IndexEntry> waiting_;  // those that follow the ones of `index_`; their names are in names_
  bool open_end_ = false;
  std::optional<io::IndexRoom> room_;  // of the file that was begun last, which is open
  io::Room utterance_room_;            // of the file that was begun last
  std::uint64_t file_frames_ = 0;      // of the file that was begun last
  std::vector<std::uint64_t> file_first_;
  std::vector<std::uint64_t> file_bytes_;
  std::vector<std::string> paths_;
  std::vector<Count> counts_{
      {"mlf.unquoted-key", "entry whose key is not in quotes was", "entries whose keys are not in quotes were", 0},
      {"mlf.no-labels", "utterance without labels was", "utterances without labels were", 0},
      {"mlf.no-frames", "utterance without frames was", "utterances without frames were", 0},
      {"mlf.cut-short", "utterance that the file ends in was", "utterances that a file ends in were", 0},
      {"mlf.duplicate-key", "repeated utterance was", "repeated utterances were", 0},
      {"mlf.damaged", "damaged utterance was", "damaged utterances were", 0}};
};

// Throws Error if the header of this text ends in CR alone, so that all of the file is one line.
void expect_lf(const io::File& file);
void index_text(const io::File& file, const LabelRules& rules, IndexBuilder& builder);
void index_binary(const io::File& file, IndexBuilder& builder);

}  // namespace batchfeed::mlf
