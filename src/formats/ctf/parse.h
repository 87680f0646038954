// SPDX-License-Identifier: MIT
//
// Rows into columns: the values of a chunk, appended where they will stay.
#pragma once

#include <batchfeed/limits.h>
#include <batchfeed/source.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "formats/ctf/faults.h"
#include "formats/ctf/kernels.h"
#include "formats/ctf/line.h"
#include "formats/ctf/marks.h"
#include "formats/ctf/prefix.h"
#include "formats/ctf/row_forms.h"
#include "formats/ctf/schema.h"
#include "model/index.h"

namespace batchfeed::ctf {

// Samples of a stream in a chunk that are read several at a time or by the shape of their line; where there may be
// more, the parser reads one by one and reports it.
inline constexpr std::uint64_t kMostSamples = 0xFFFFFFF0u;

// T is the element type. Not thread-safe; one a chunk.
//   text(); for each block of it: block();
//   for each sequence: begin(); lines() for each block of its text; end(); or one_lines() for several;
//   after the last one: finish(). Until then the columns' sizes lag behind.
template <class T>
class Parser {
 public:
  // `text_ids`: ids are any text (key modes text and hashed).
  Parser(const Schema& schema, bool text_ids, FaultLog& log, const Limits& limits, std::vector<Column>& columns);

  // The text up to finish() or discard_values() has so many bytes, which bounds what it can hold.
  void text(std::uint64_t bytes);
  void begin(std::uint64_t key, std::uint64_t offset);
  // The lines to come lie in a block that ends here, one behind the other.
  void block(const char* end) noexcept { marks_.block(end); }
  // Whole lines of one sequence, [p, end).
  void lines(const char* p, const char* end);
  // Reads the next sequences, the first of which begins at p, for as long as they end at `stop`, a place in the file,
  // or before, and are lines like the one that learn() saw. Returns how many; the others leave nothing changed.
  std::size_t one_lines(const char* p, std::span<const IndexEntry> sequences, std::uint64_t stop) {
    return shape_.alone && !log_.curious() ? read_rows(p, sequences, stop) : 0;
  }
  // Learns how the lines of sequences look from the one that ended last, which is whole and begins at p.
  void learn(const char* p) {
    if (!shape_.parts.empty()) return;
    if (shape_.wait == 0) return look_at(p);
    --shape_.wait;
  }
  // Reads one line, wherever it belongs; returns the next one.
  const char* line(const char* p);
  // Checks the sequence; a dropped one leaves rows without samples, unless look_closely() was called. Returns whether
  // it is whole.
  bool end();
  // Whether the sequence that ended has the length that an index says; true for a damaged one, as its length is
  // unknown.
  bool lasts(std::uint64_t samples) const noexcept;
  // For checks: keeps the samples of invalid sequences, and reports an index that occurs twice in a sample.
  void look_closely() noexcept { closely_ = true; }

  // Makes room at once for `parts` times what was read so far; for dense streams that have one sample in each of the
  // `rows` read, exactly for `all_rows`.
  void expect(double parts, std::uint64_t rows, std::uint64_t all_rows);

  // Gives the columns their sizes.
  void finish();

  // Forgets the values read so far, not the counts: for checking without keeping.
  void discard_values();

 private:
  struct StreamState {
    Column* column;
    std::uint64_t dim;
    std::uint32_t name_length;
    bool sparse;
    bool vector;                // samples are long enough for a kernel; for sparse streams: the last one was
    std::uint64_t samples = 0;  // of the running sequence, well-formed
    std::uint64_t stored = 0;   // samples in the column
    std::uint64_t values = 0;   // values in the column
    std::uint64_t begin_stored = 0, begin_values = 0;  // where the running sequence starts
    // The column's memory, and how much fits.
    T* out = nullptr;
    std::int32_t* indices = nullptr;
    std::uint64_t capacity = 0;
    std::uint64_t most = 0;  // values that the column may have
    std::uint32_t* first_value = nullptr;
    std::uint64_t first_capacity = 0;
    KernelMemory memory;
  };

  // How a line looks in which no stream occurs twice.
  struct Shape {
    static constexpr int kMostCredit = 64, kPrice = 4;

    struct Part {
      int stream = Schema::kNone;  // kNone: a comment or an undeclared input, which is left out
      Prefix<kLongestName> name;
      std::size_t length = 0;  // of the name and the pipe
      std::size_t bytes = 0;   // up to the next mark, in the line that was looked at
      std::size_t numbers = 0;

      bool left_out() const noexcept { return stream == Schema::kNone; }
    };
    std::vector<Part> parts;  // in order; empty: none is known
    bool alone = false;       // the line is a whole sequence, with all streams; else it is one line of several
    bool id = false;
    // Sequences until learn() looks at one again: the more, the more often its shape was of no use.
    unsigned wait = 0, misses = 0;
    int credit = 0;  // if not `alone`: a line of the shape earns one, another line costs kPrice
  };

  // Neighbours in a line of that shape: samples that are read at once, and what is left out between them.
  struct Group {
    std::array<StreamState*, kRowSamples> streams{};
    std::size_t samples = 0;
    RowForms<T> forms;
    RowNumbers<T> numbers{};           // of the last line
    const RowForm<T>* form = nullptr;  // the one they are of

    std::span<StreamState* const> all() const noexcept { return std::span(streams).first(samples); }
  };

  // What a line holds so far.
  struct Row {
    bool at_front = false;  // no id and no pipe yet
    bool declared = false;  // a declared input
    bool counted = false;   // one that counts
    std::uint64_t samples = 0;
  };

  void short_lines(const char* p, const char* end);
  // Whether a line at p, with its first mark at `mark`, has the id of the last line, or none.
  bool begins_like_the_last(const char* p, const char* mark) const noexcept {
    return mark == p || (p + id_length_ == mark && id_.same(p));
  }
  void remember_id(const char* p, std::size_t length) noexcept;
  LineFront front(const char* p);
  const char* rest(const char* p, Row& row);
  const char* named(const char* name, Row& row);
  void count(std::size_t stream, Row& row) noexcept;
  bool append(const OneHot& found, const char* name, Row& row);
  const char* alike_lines(const char* p, const char* end);
  std::size_t read_rows(const char* p, std::span<const IndexEntry> sequences, std::uint64_t stop);
  bool like_the_last(const char* p, const char* end, bool look);
  void forget_shape() noexcept {
    shape_.parts.clear();
    shape_.alone = false;
    groups_ = {};
  }
  bool take_shape(const char* mark, bool alone);
  bool take_part(const char* pipe, typename Shape::Part& part) const;
  void look_at(const char* p);
  // Of lines in groups (row_groups.cc).
  void cut_into_groups();
  Group& add_group();
  void leave_groups() noexcept { groups_ = {}; }
  // Whether it pays to look at the forms of the next line.
  bool worth_a_look() noexcept {
    for (Group& group : groups_) {
      if (!group.forms.use()) return false;
    }
    return !groups_.empty();
  }
  const char* groups(const char* p);
  bool append_groups();
  bool learn_forms(const char* p);
  const char* known_lines(const char* p, const char* end);
  bool known_row(const char* p, const char* end);
  std::uint64_t rows_of_room() const;
  void enter_rows();
  const char* values(const char* p, StreamState& s);
  void attach(StreamState& s) const;
  void set_sizes(StreamState& s) const;
  void make_room(StreamState& s, std::size_t stream, std::uint64_t values);
  const char* sample(const char* name, std::size_t stream);
  const char* dense(const char* name, StreamState& s, std::size_t stream);
  const char* sparse(const char* name, StreamState& s, std::size_t stream);
  void added(StreamState& s, std::size_t stream, const char* name);
  void note_repeat(std::size_t stream, const char* name);
  void tell_duplicate(std::span<const std::int32_t> indices, std::size_t stream, const char* name);

  // For the pairs of the next sample, behind those in the column.
  static SparseRoom<T> room_of(StreamState& s) noexcept {
    return {.values = s.out,
            .indices = s.indices,
            .capacity = s.capacity,
            .dim = s.dim,
            .memory = s.memory,
            .count = s.values};
  }
  // Pairs of a sample that are read faster by a kernel.
  static bool many_pairs(std::uint64_t pairs) noexcept { return pairs >= 3; }

  const Schema& schema_;
  const bool text_ids_;
  FaultLog& log_;
  const Kernels<T> kernels_;
  MarkList marks_;
  const std::uint64_t max_values_, max_implied_;
  // Of the text at hand: places of dropped sequences in the columns, and values filled in for rows that are too short;
  // how many there may be.
  std::uint64_t lost_ = 0, filled_ = 0, max_lost_ = ~0ull, max_filled_ = ~0ull;
  // By which a sparse column grows: little for a short text, as there may be very many of them in memory.
  static constexpr std::uint64_t kMoreValues = 1024;
  std::uint64_t more_values_ = kMoreValues;
  std::vector<StreamState> streams_;
  int likely_ = 0;
  bool short_ = false;  // the last lines were short ones
  Shape shape_;
  std::span<Group> groups_;          // of lines of the shape, in order; empty: lines are not read in groups
  std::vector<Group> group_memory_;  // its first ones are groups_
  std::uint32_t new_rows_ = 0;       // sequences read in groups since enter_rows()
  std::uint64_t rows_of_room_ = 0;   // lines for which no column grows
  // How the last line began: an id of up to 15 bytes and a blank.
  std::size_t id_length_ = 0;
  Prefix<16> id_;
  std::uint64_t rows_ = 0;     // with a declared input
  std::uint64_t counted_ = 0;  // rows that bound the samples: `rows_`, or those with the main stream
  bool damaged_ = false;       // an error was counted in this sequence
  bool closely_ = false;
  struct Repeat {
    bool seen = false;
    std::size_t stream = 0;
    std::uint64_t byte = 0, line = 0, column = 0;  // line 0: not known yet
  } repeat_;
};

extern template class Parser<float>;
extern template class Parser<double>;

}  // namespace batchfeed::ctf
