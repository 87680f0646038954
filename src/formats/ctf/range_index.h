// SPDX-License-Identifier: MIT
//
// What the index needs of one range of a file, so that ranges may be read side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/text_list.h"
#include "formats/ctf/blocks.h"
#include "formats/ctf/bytes.h"
#include "formats/ctf/index.h"
#include "formats/ctf/line.h"
#include "formats/ctf/line_begins.h"
#include "formats/ctf/names.h"
#include "formats/ctf/prefix.h"

namespace batchfeed::ctf {

// A sequence whose end has not been seen.
struct Open {
  bool has_id = false;
  std::uint64_t id = 0;
  std::string text;  // the id in the modes text and hashed, or one above 2^64 - 1
  std::uint64_t begin = 0;
  std::uint64_t rows = 0;             // lines with a declared input (with the main stream, where there is one)
  std::vector<std::uint64_t> tokens;  // how often each stream is named; empty where there is a main stream
  bool damaged = false;               // known only while there is no row and no main stream

  bool same_id(const Open& other) const { return id == other.id && text == other.text; }
  bool has_id_of(const LineFront& line, bool is_text) const {
    return has_id && (is_text ? text == line.text() : id == line.id);
  }
};

// What one range of the file holds. Its first lines may belong to a sequence that began
// before it, its last sequence may go on behind it. In the first range only the last
// sequence is left open, as `first`.
struct Part {
  std::uint64_t lines = 0;
  std::optional<Open> head;         // lines before the first id
  std::optional<Open> first, last;  // the first and the last sequence with an id here; `last` only if it is another
  std::uint64_t second_begin = 0;   // where `first` ends, if `last` is set
  IndexEntries middle;              // whole sequences between them; in line mode all (keys count from the range)
  TextList texts;                   // ids of `middle`, key = place in here
  IndexNotes notes;
};

class RangeIndexer {
  static constexpr std::size_t kAtOnce = 64;            // pieces
  static constexpr std::size_t kLongestId = 16;         // bytes of an id and the one behind it that Prefix can compare,
  static constexpr std::size_t kLongestName = 16;       // of the first name with the bytes around it,
  static constexpr std::size_t kLongestFront = 32;      // and of both together
  static constexpr std::ptrdiff_t kLongest = 32 << 10;  // bytes of a sequence that may be read twice at most,
  static constexpr int kMostOdd = 8;  // and such sequences in a block before names are looked for in the rest

 public:
  // `every_line`: looks at each line by itself; for tests to compare with.
  RangeIndexer(const io::File& file, const Start& start, const Schema& schema, const OpenContext& context,
               bool every_line = false);

  // The lines that begin in [begin, end).
  Part run(std::uint64_t begin, std::uint64_t end, const std::function<void(std::uint64_t)>& passed);

  // Lists a sequence that ends at `end`, unless it is left out: then `notes` counts it and the result is false.
  bool close(const Open& open, std::uint64_t end, std::uint64_t key, IndexNotes& notes, IndexEntries& out);
  // Appends an entry, within room_. `more`: bytes of memory that it takes beside the entry.
  void list(const IndexEntry& entry, std::uint64_t more, IndexEntries& out) {
    const std::uint64_t bytes = sizeof(IndexEntry) + more;
    if (bytes > room_) [[unlikely]]
      too_large(entry.begin);
    room_ -= bytes;
    out.push_back(entry);
  }
  void merge(Open& into, const Open& from) const;

 private:
  [[noreturn]] void too_large(std::uint64_t begin) const;
  // Of a sequence; an entry counts them in 32 bits.
  std::uint64_t most_samples() const noexcept {
    return std::min<std::uint64_t>(context_.limits.sequence_samples, 0xFFFFFFFFu);
  }
  void clear(std::uint64_t begin);
  void enter(Part& part, const char* line, std::uint64_t at);
  void switch_to(Part& part, const LineFront& front, std::uint64_t at);
  // [p, stop): whole lines, one by one, with every rule there is.
  void lines(Part& part, const LineBlocks& blocks, const char* p, const char* stop);
  // The same, as fast as what stands there allows.
  void block(Part& part, const LineBlocks& blocks, const char* p, const char* stop);
  // Sequences whose lines all begin with the id and one name: each line is a sample, whatever follows, and only
  // newlines are looked for. Up to the first sequence that is not so, or does not end before `stop`.
  const char* alike(Part& part, const LineBlocks& blocks, const char* p, const char* stop);
  // The same where every line is a sequence.
  const char* alike_lines(Part& part, const LineBlocks& blocks, const char* p, const char* stop);
  // Enters the sequence that begins at p, if its first line is so and it is not the running one.
  bool enter_alike(Part& part, const LineBlocks& blocks, const char* p);
  // The running sequence has `rows` such lines and ends at p: lists it and enters the next one, if that begins as it
  // did but for the id, which is text.
  bool go_on_text(Part& part, const LineBlocks& blocks, const char* p, std::uint64_t rows);
  // The same for ids of both kinds.
  bool go_on_alike(Part& part, const LineBlocks& blocks, const char* p, std::uint64_t rows);
  // Where lines begin, counted from `from`.
  struct Lines {
    const char* from;
    const std::uint32_t *first, *last;
  };
  struct Running {
    const std::uint32_t* line;  // its last one that was looked at
    const char* begin;
    std::uint64_t rows = 0;  // that end before that line
  };
  struct Number {
    std::uint64_t id = 0;
    std::size_t digits = 0;
  };
  bool take_number(const char* p, Number& out) const;
  // The first of the lines begins the running sequence. Each line behind it may go on with it, or begin another one
  // that differs only in the number; stops at the first that does neither. Which of the two takes no branch where the
  // number is one more and only its last digit differs.
  Running count_on(Part& part, const LineBlocks& blocks, Lines lines);
  // Remembers how a line begins, whose id ends at `id` and whose first name is at `name`. False if that is no name that
  // counts, or is too long.
  bool take_front(const char* line, const char* id, const char* name);
  // Behind the lines that begin with the same id as the one at p; `stop` if they are many.
  const char* behind(const char* p, const char* stop) const;
  // Whole lines [p, stop), by pieces; lines without a name are left to lines().
  void pieces(Part& part, const LineBlocks& blocks, const char* p, const char* stop);
  void sequence_by_sequence(Part& part, const LineBlocks& blocks, std::span<const Piece> pieces, const char* stop);
  void line_by_line(Part& part, const LineBlocks& blocks, std::span<const Piece> pieces, const char* line,
                    const char* stop);
  void enter(Part& part, const LineBlocks& blocks, const Piece& piece, const char* p, std::uint64_t& added);
  void add(const Piece& piece, std::uint64_t bytes);
  const Piece* add_up_to(const Piece* piece, const Piece* last, const char* p);

  const io::File& file_;
  const Start& start_;
  const Schema& schema_;
  const OpenContext& context_;
  bool every_line_;
  bool text_;
  Names names_;
  FindNames find_;
  LineBegins begins_;
  bool inside_ = false;  // there is a range before this one
  Open current_;
  Prefix<kLongestId> id_;  // of a line with the running sequence's id, up to the byte behind it
  // How a line of sequences alike begins: the id and the first name, up to the byte behind it.
  Prefix<kLongestFront> front_;
  std::size_t last_digit_ = 0;    // place of the id's last digit in front_
  Prefix<kLongestName> name_;     // what stands behind the id in front_, if it is not too long
  std::size_t name_length_ = 0;   // bytes of it
  std::size_t front_stream_ = 0;  // the stream of that name
  int likely_ = 0;
  std::uint64_t room_;  // bytes that entries of the index may still take
};

}  // namespace batchfeed::ctf
