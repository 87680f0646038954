// SPDX-License-Identifier: MIT
//
// Sequences of a text file into a chunk.
#include <algorithm>
#include <span>

#include "formats/ctf/blocks.h"
#include "formats/ctf/faults.h"
#include "formats/ctf/parse.h"
#include "formats/ctf/source.h"
#include "model/errors_ahead.h"

namespace batchfeed::ctf {
namespace {

// Reads the sequences of a run, block by block.
template <class T>
struct RunReader {
  static constexpr std::uint64_t kFew = 16 << 10;  // bytes that a few rows take
  static constexpr std::uint64_t kTold = ~0ull;

  Parser<T>& parser;
  FaultLog& log;
  const CountedOnce::Before& counted;
  Chunk& out;
  // The index cache, or null: its lengths, by which minibatches are made, are compared with the text.
  const std::string* const cache;
  IndexEntries::Iterator next;
  const std::uint64_t begin, end;  // of them all in the file
  const std::size_t rows;
  std::size_t& row;  // of the next one
  std::uint64_t few = begin + kFew;
  bool first_block = true;
  bool open = false;  // the next one begins in a block before

  void read(const LineBlocks& blocks) {
    log.block(blocks.begin(), blocks.offset());
    parser.block(blocks.end());
    // A newline added at the end of the file lies behind the last sequence's bytes.
    const std::uint64_t stop = blocks.offset_of(blocks.end()) - (blocks.closed_by_end_of_file() ? 1 : 0);
    while (row < rows && next->begin < stop) {
      if (next->begin >= few) [[unlikely]] {
        foretell(stop, next->begin);
        few = kTold;
      }
      std::size_t read = 0;
      if (!open) {
        if (!counted.each.empty()) log.be_quiet(counted.each[row]);
        read = parser.one_lines(place_of(blocks), at_once(), stop);
        if (cache != nullptr) expect_ones(next.ready().first(read));
      }
      if (read == 0) {
        if (!read_next(blocks, stop)) break;
        read = 1;
      }
      row += read;
      next.skip(read);
    }
    if (!first_block) return;
    foretell(end, stop);
    few = kTold;
    first_block = false;
  }

  // Makes room for what there will be up to `place`, by what there was up to `read`: by the first rows for the first
  // block, and by that for all.
  void foretell(std::uint64_t place, std::uint64_t read) {
    parser.expect(static_cast<double>(place - begin) / static_cast<double>(read - begin), row, rows);
  }

  // Sequences that may be read together: one by one where some of them are quiet, and until the rest is foretold.
  std::span<const IndexEntry> at_once() const noexcept {
    const std::span<const IndexEntry> ready = next.ready();
    return ready.first(few != kTold || !counted.each.empty() ? 1 : std::min(ready.size(), rows - row));
  }
  // Throws if the index says another length of one of these sequences, which have one line.
  void expect_ones(std::span<const IndexEntry> sequences) const {
    for (const IndexEntry& e : sequences) {
      if (e.samples != 1) log.other_length(e.key, e.begin, e.samples, *cache);
    }
  }
  const char* place_of(const LineBlocks& blocks) const noexcept {
    return blocks.begin() + (next->begin - blocks.offset());
  }

  // Reads what the block, which ends at `stop`, has of the next sequence; false if that goes on behind it.
  bool read_next(const LineBlocks& blocks, std::uint64_t stop) {
    const IndexEntry& e = *next;
    const std::uint64_t e_end = e.begin + e.bytes;
    const bool begins = !open, ends = e_end <= stop, whole = begins && ends;
    const char* const p = begins ? place_of(blocks) : blocks.begin();
    if (begins) parser.begin(e.key, e.begin);
    parser.lines(p, e_end >= stop ? blocks.end() : blocks.begin() + (e_end - blocks.offset()));
    open = !ends;
    if (open) return false;
    if (!parser.end()) {
      if (out.invalid.empty()) out.invalid.assign(rows, Chunk::kValid);
      out.invalid[row] = Chunk::kPaid;
    } else {
      if (cache != nullptr && !parser.lasts(e.samples)) log.other_length(e.key, e.begin, e.samples, *cache);
      if (whole) parser.learn(p);
    }
    return true;
  }
};

}  // namespace

void CtfSource::sequences(Run run, std::vector<SequenceInfo>& out) const {
  out.resize(run.last - run.first);
  auto e = index_.entries.from(run.first, out.size());
  for (std::size_t i = 0; i < out.size(); ++i, ++e)
    out[i] = {.key = e->key, .row = static_cast<std::uint32_t>(i), .samples = e->samples};
}

// Only where that is cheap: a thousand faults may ask for it.
std::string CtfSource::line_at(std::uint64_t byte) const {
  if (file_.is_remote() || file_.is_compressed()) return {};
  std::string out(static_cast<std::size_t>(std::min(FaultLog::kGuessed, file_.size() - byte)), '\0');
  file_.read(byte, std::as_writable_bytes(std::span(out)));
  return out.substr(0, out.find('\n'));
}

template <class T>
void CtfSource::parse(Run run, Chunk& out, const CountedOnce::Before& counted, std::size_t& row) const {
  FaultLog log({.schema = &schema_,
                .sink = &sink_,
                .file = file_.path(),
                .line_of = [this](std::uint64_t byte) { return lines_.line_of(byte); },
                .key_text = [this](std::uint64_t key) { return key_text(key); },
                .line_at = [this](std::uint64_t byte) { return line_at(byte); },
                .first_short =
                    [this, &run](std::size_t stream) {
                      const std::lock_guard lock(short_mutex_);
                      return told_short_.emplace(run.chunk, stream).second;
                    },
                .first_begin = start_.begin,
                .before_first = start_.begin - start_.line_begin,
                .told_end = ends_in_nul_ ? file_.size() : ~0ull,
                .line_mode = start_.line_mode,
                .quiet = counted.all,
                .trace_level = trace_level_});
  Parser<T> parser(schema_, !start_.line_mode && text_keys(), log, context_.limits, out.columns);
  if (context_.check) parser.look_closely();

  const std::size_t rows = run.last - run.first;
  const auto first = index_.entries.from(run.first, rows);
  const IndexEntry last = index_.entries[run.last - 1];
  const std::uint64_t begin = first->begin, end = last.begin + last.bytes;
  parser.text(end - begin);
  file_.will_read(begin, end);
  SpareBlock buffer;
  LineBlocks blocks(fill_from(file_, begin, end), begin, *buffer, file_.path(),
                    io::room_for_line(file_, context_.limits), tuning_.block);
  RunReader<T> reader{.parser = parser,
                      .log = log,
                      .counted = counted,
                      .out = out,
                      .cache = cache_.used ? &cache_.path : nullptr,
                      .next = first,
                      .begin = begin,
                      .end = end,
                      .rows = rows,
                      .row = row};
  while (blocks.next()) reader.read(blocks);
  parser.finish();
  if (row != rows) {
    throw Error(Fault{.kind = FaultKind::stale,
                      .id = "io.changed",
                      .at = {.file = file_.path()},
                      .what = "ends before its last sequence",
                      .hint = "open it again"});
  }
}

void CtfSource::read(Run run, Chunk& out) const {
  const CountedOnce::Before counted = counted_once_->claim(run.first, run.last);
  try {
    read(run, out, counted);
  } catch (...) {
    close_ahead(run, counted);
    throw;
  }
  close_ahead(run, counted);
}

void CtfSource::read(Run run, Chunk& out, const CountedOnce::Before& counted) const {
  out.reset(schema_.streams());
  std::size_t row = 0;
  try {
    if (element_ == Element::f32) {
      parse<float>(run, out, counted, row);
    } else {
      parse<double>(run, out, counted, row);
    }
    file_.expect_unchanged();
  } catch (...) {
    counted_once_->give_back(run.first, run.first + row, run.last, counted);
    throw;
  }
}

void CtfSource::close_ahead(Run run, const CountedOnce::Before& counted) const {
  ErrorsAhead* const ahead = ErrorsAhead::current();
  if (ahead == nullptr) return;
  ahead->close(
      sink_,
      [this, run, counted] {
        Chunk chunk;
        read(run, chunk, counted);
      },
      [this, run, counted] { counted_once_->give_back(run.first, run.first, run.last, counted); });
}

// Looks at the text of the first sequence: values without a sign or a point, as pixels are, or labels.
bool CtfSource::may_be_narrow(std::uint32_t chunk, std::size_t stream) const {
  const IndexEntry e = index_.entries[run_of(chunk).first];
  std::string text(static_cast<std::size_t>(std::min<std::uint64_t>(e.bytes, 4096)), '\0');
  file_.read(e.begin, std::as_writable_bytes(std::span(text)));
  const std::string name = "|" + schema_.alias(stream);
  for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    const std::size_t values = at + name.size();
    const std::size_t end = std::min(text.find_first_of("|\r\n", values), text.size());
    if (text.find_first_of(" \t", values) != values || end - values < 2) continue;
    if (schema_.streams()[stream].storage == Storage::sparse) {
      const std::size_t colon = text.find_first_not_of("0123456789", values + 1);
      return colon < end && text.compare(colon, 2, ":1") == 0 && text.find_first_not_of(" \t", colon + 2) >= end;
    }
    return text.find_first_not_of("0123456789 \t", values) >= end;
  }
  return false;
}

}  // namespace batchfeed::ctf
