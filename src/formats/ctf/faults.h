// SPDX-License-Identifier: MIT
//
// The cold half of reading text: codes and positions become faults that people
// understand. Line numbers are found only here.
#pragma once

#include <batchfeed/error.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/quoted.h"
#include "formats/ctf/scan.h"
#include "formats/ctf/schema.h"
#include "model/fault_sink.h"

namespace batchfeed::ctf {

// Faults of opening.
Fault not_utf8(const std::string& file);
Fault empty_file(const std::string& file);
Fault no_sequence(const std::string& file, const std::string& why);
Fault torn_end(const std::string& file, std::uint64_t byte, std::uint64_t line, const std::string& how);
Fault no_id(const std::string& file, std::uint64_t byte, std::uint64_t line, std::uint64_t column, const char* at);
Fault keys_need_ids(const std::string& file, std::uint64_t byte, std::uint64_t line, std::uint64_t column,
                    const char* at);
Fault id_range(const std::string& file, std::string_view id, std::uint64_t line_begin, std::uint64_t line);
Fault long_key(const std::string& file, std::uint64_t limit, std::uint64_t line_begin, std::uint64_t line);

using batchfeed::quoted;
// The text at p up to a blank, pipe or line end.
std::string quoted(const char* p);

// Reports to the sink what the parser meets, while it is in one block of one file.
class FaultLog {
 public:
  static constexpr std::uint64_t kGuessed = 16 << 10;
  struct Context {
    const Schema* schema;
    FaultSink* sink;
    std::string file;
    std::function<std::uint64_t(std::uint64_t byte)> line_of;
    std::function<std::string(std::uint64_t key)> key_text;
    // The number of the line the parser is in, where it is known without counting; may be empty.
    std::function<std::uint64_t()> line_now = {};
    // The text of the line at a byte, up to kGuessed bytes, to guess what was meant; may be empty.
    std::function<std::string(std::uint64_t byte)> line_at = {};
    // Whether a short sample of this stream is the first of its chunk, of which several logs may read parts; may be
    // empty.
    std::function<bool(std::size_t stream)> first_short = {};
    // Where the first sequence begins, and how many blank bytes stand before it in its line: the block begins behind
    // these, but columns count them.
    std::uint64_t first_begin = 0, before_first = 0;
    // A hole that ends at this byte was reported when the file was opened.
    std::uint64_t told_end = ~0ull;
    bool line_mode = false;  // ids are passed over
    bool quiet = false;      // these sequences were read before: nothing is counted or told again
    int trace_level = 1;
  };
  explicit FaultLog(Context context) : context_(std::move(context)), told_short_(context_.schema->size()) {}

  // The text that positions point into, and its place in the file.
  void block(const char* begin, std::uint64_t offset) noexcept {
    block_ = begin;
    last_at_ = nullptr;
    offset_ = offset;
  }
  void sequence(std::uint64_t key, std::uint64_t begin) noexcept {
    key_ = key;
    sequence_begin_ = begin;
  }
  void be_quiet(bool quiet) noexcept { context_.quiet = quiet; }
  std::uint64_t offset_of(const char* at) const noexcept { return offset_ + static_cast<std::uint64_t>(at - block_); }
  bool curious() const noexcept { return context_.trace_level >= 2 && !context_.quiet; }

  // Errors: each costs one of the budget and may throw.
  void bad_sample(ScanCode code, std::size_t stream, const char* name, const char* at);
  void garbage(const char* at, bool front);
  void hole(const char* nul);
  void empty_name(const char* pipe);
  void repeated(std::size_t stream, std::uint64_t samples, std::uint64_t rows, std::uint64_t byte, std::uint64_t line,
                std::uint64_t column);
  void missing(std::size_t stream);
  // Warnings and notes.
  void too_short(std::size_t stream, std::uint64_t values, const char* name);
  void overflow(std::size_t stream, const char* name);
  void duplicate_index(std::size_t stream, std::int32_t index, const char* name);
  void crowded_row(std::uint64_t samples, const char* at);
  void unknown(const char* name);
  void loaded(std::uint64_t rows);
  // Bounds of memory: throws.
  [[noreturn]] void too_much(std::size_t stream, std::uint64_t limit);
  [[noreturn]] void too_short_rows(std::size_t stream, std::uint64_t limit);
  [[noreturn]] void too_many_lost(std::uint64_t limit);
  // The sequence has not so many samples as the index cache says: throws.
  [[noreturn]] void other_length(std::uint64_t key, std::uint64_t begin, std::uint64_t kept,
                                 const std::string& cache) const;

  std::uint64_t column_of(const char* at) const noexcept;
  std::uint64_t line_now() const { return context_.line_now ? context_.line_now() : 0; }

 private:
  Fault fault(const char* id, const char* at, std::string what, std::string hint = {},
              int stream = Schema::kNone) const;
  Fault sample_fault(ScanCode code, std::size_t stream, const char* name, const char* at) const;
  std::string of_sequence() const;
  std::string nearly_named(std::size_t stream) const;
  const StreamInfo& stream(std::size_t i) const { return context_.schema->streams()[i]; }

  Context context_;
  const char* block_ = nullptr;
  mutable const char* last_at_ = nullptr;  // of column_of(), and the line it lies in
  mutable const char* last_line_ = nullptr;
  std::uint64_t offset_ = 0;
  std::uint64_t key_ = 0, sequence_begin_ = 0;
  std::vector<bool> told_short_;
};

}  // namespace batchfeed::ctf
