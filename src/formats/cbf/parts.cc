// SPDX-License-Identifier: MIT
#include "formats/cbf/parts.h"

#include <algorithm>

#include "formats/cbf/stream_job.h"

namespace batchfeed::cbf {
namespace {

// Rows of a chunk, as if it had no others.
void copy_rows(const Chunk& from, RowRange rows, const std::vector<StreamInfo>& streams, Chunk& out) {
  out.reset(streams);
  const std::uint32_t count = rows.last - rows.first;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const Column& whole = from.columns[i];
    Column& part = out.columns[i];
    const std::size_t width = size_of(whole.element);
    const std::uint32_t first = whole.first_sample[rows.first], last = whole.first_sample[rows.last];
    part.first_sample.resize(std::size_t{count} + 1);
    for (std::uint32_t r = 0; r <= count; ++r) part.first_sample[r] = whole.first_sample[rows.first + r] - first;
    if (whole.storage == Storage::dense) {
      const std::uint64_t begin = whole.begin[rows.first];
      const std::uint64_t end = whole.begin[rows.last - 1] + whole.samples(rows.last - 1) * whole.dim;
      part.begin.resize(count);
      for (std::uint32_t r = 0; r < count; ++r) part.begin[r] = whole.begin[rows.first + r] - begin;
      part.values.append(whole.values.data() + begin * width, static_cast<std::size_t>(end - begin) * width);
    } else {
      const std::uint32_t begin = whole.first_value[first], end = whole.first_value[last];
      part.first_value.resize(std::size_t{last - first} + 1);
      for (std::uint32_t n = first; n <= last; ++n) part.first_value[n - first] = whole.first_value[n] - begin;
      part.values.append(whole.values.data() + begin * width, (end - begin) * width);
      part.indices.append(whole.indices.data() + begin, end - begin);
    }
  }
}

bool have_lengths(const Column& column, const Lengths& lengths) {
  for (std::uint32_t r = 0; r + 1 < column.first_sample.size(); ++r) {
    if (column.samples(r) != lengths[r]) return false;
  }
  return true;
}

// The bytes that a stream takes in the file.
std::uint64_t bytes_of(const FileStream& stream, const Column& column) {
  const std::uint64_t rows = column.first_sample.size() - 1, samples = column.first_sample.back();
  const std::uint64_t width = size_of(stream.element);
  if (stream.storage == Storage::dense) return rows * 4 + samples * stream.dim * width;
  return rows * 8 + samples * 4 + column.first_value.back() * (width + 4);
}

}  // namespace

struct Parts::Ahead {
  explicit Ahead(FaultSink& sink) : held(sink) {}

  HeldReports held;
  std::uint64_t begin = 0;           // offset of the rows in the sparse stream, if there is one
  std::optional<std::uint64_t> end;  // none: the rows have to be decoded again
};

bool Parts::can(const Which& which) const {
  if (decoder_.header.chunks[which.in_header].sequences == 1) return true;
  {
    const std::lock_guard lock(mutex_);
    if (can_[which.chunk] != Answer::unknown) return can_[which.chunk] == Answer::yes;
  }
  bool can = false;
  try {
    can = forecast(decoder_.header, which.in_header, which.lengths, decoder_.limits, file_).has_value();
  } catch (const Error&) {  // reading the chunk will throw it again
  }
  const std::lock_guard lock(mutex_);
  can_[which.chunk] = can ? Answer::yes : Answer::no;
  return can;
}

Parts::State& Parts::state_of(const Which& which) const {
  State& state = [&]() -> State& {
    const std::lock_guard lock(mutex_);
    return states_[which.chunk];
  }();
  const std::lock_guard lock(state.mutex);
  if (state.made) return state;
  // None now, or another than can() found: the file has changed, which reading the whole chunk reports.
  std::optional<Forecast> fresh = forecast(decoder_.header, which.in_header, which.lengths, decoder_.limits, file_);
  state.odd = !fresh || !is_true(*fresh, decoder_.header, which.in_header, which.lengths, file_);
  if (fresh) state.forecast = *std::move(fresh);
  state.known.emplace(0, 0);
  for (std::size_t i = 0; i < state.forecast.streams.size(); ++i) {
    const FileStream& stream = decoder_.header.streams[i];
    if (stream.storage == Storage::dense) continue;
    state.known[0] = state.forecast.streams[i].begin;
    state.walk.emplace(stream, state.forecast.streams[i], decoder_.header.chunks[which.in_header].sequences);
  }
  state.made = true;
  return state;
}

void Parts::read(const Which& which, RowRange rows, Chunk& out) const {
  if (rows.first == 0 && rows.last == decoder_.header.chunks[which.in_header].sequences)
    return whole_(which.chunk, 0, out);
  State& state = state_of(which);
  std::optional<std::uint64_t> at;  // of the rows in the sparse stream, if all of them are known
  bool odd = false;
  {
    const std::lock_guard lock(state.mutex);
    const auto found = state.known.find(rows.first);
    odd = state.odd;
    if (!odd && found != state.known.end() && state.known.rbegin()->first >= rows.last) at = found->second;
  }
  if (at) {
    HeldReports held(decoder_.sink);
    if (decode(state.forecast, which, rows, *at, held, out)) return tell(state, rows, held);
  }
  Turns::Turn turn(state.turns, rows.first);
  Ahead ahead(decoder_.sink);
  if (!odd) read_ahead(state, which, rows, ahead, out);
  turn.wait();
  std::uint64_t warned_to = 0;
  if (!state.odd) {
    if (go_on(state, which, rows, ahead, out)) return;
    const std::lock_guard lock(state.mutex);
    state.odd = true;
    warned_to = state.known.rbegin()->second;
  }
  const std::shared_ptr<const Chunk> chunk = whole(which, rows, warned_to);
  if (state.known.size() > 1) refuse_two_readings(state.forecast, which, *chunk);
  copy_rows(*chunk, rows, decoder_.streams, out);
}

// Throws if a stream of `chunk` (read whole) does not begin where the forecast says, by which rows were delivered.
void Parts::refuse_two_readings(const Forecast& forecast, const Which& which, const Chunk& chunk) const {
  const FileChunk& stored = decoder_.header.chunks[which.in_header];
  std::uint64_t begin = stored.begin + std::uint64_t{stored.sequences} * 4;
  for (std::size_t i = 0; i < forecast.streams.size(); ++i) {
    const FileStream& stream = decoder_.header.streams[i];
    if (begin != forecast.streams[i].begin) {
      decoder_.faults.fail("cbf.two-readings", begin,
                           "chunk " + std::to_string(which.in_header) + ": stream '" + printable(stream.name) +
                               "' begins here; byte " + std::to_string(forecast.streams[i].begin) +
                               ", where it would if sequences had the lengths announced, has data that look the same",
                           "its first sequences were read from there; write the file anew with `convert()`",
                           stream.name);
    }
    begin += bytes_of(stream, chunk.columns[i]);
  }
}

void Parts::read_ahead(State& state, const Which& which, RowRange rows, Ahead& ahead, Chunk& out) const {
  const Forecast& forecast = state.forecast;
  if (!state.walk) {
    ahead.end = decode(forecast, which, rows, nullptr, ahead.held, out);
    return;
  }
  const Forecast::Stream& sparse = forecast.streams[decoder_.header.sparse_stream()];
  const Nearby::Lease lease = nearby_.part(sparse.begin, sparse.end);
  Feed feed = lease.feed();
  try {
    if (!state.walk->find(rows, feed)) return;
  } catch (const Error&) {
    return;
  }
  ahead.begin = feed.at();
  ahead.end = decode(forecast, which, rows, &feed, ahead.held, out);
}

// Decodes from the last row known up to `rows`, and these unless read_ahead() did. False: something differs.
bool Parts::go_on(State& state, const Which& which, RowRange rows, Ahead& ahead, Chunk& out) const {
  const auto known = std::prev(state.known.upper_bound(rows.first));
  std::uint32_t row = known->first;
  std::uint64_t at = known->second;
  const bool seen_before =
      state.known.rbegin()->first > row;  // a reader of later rows has reported the faults of these
  Chunk passed;
  const auto learn = [&](std::uint32_t last, std::uint64_t end) {
    if (state.walk) state.walk->learn(last, end);
    const std::lock_guard lock(state.mutex);
    state.known.emplace(last, end);
    if (last <= rows.first && !seen_before) state.reported.add({row, last});
    row = last;
    at = end;
  };
  // Faults of rows that are passed are reported now, and not when those rows are read, so that they come in order.
  while (row < rows.first) {
    HeldReports held(decoder_.sink);
    const std::uint32_t last = row + std::min(rows.first - row, rows.last - rows.first);
    const auto end = decode(state.forecast, which, {row, last}, at, held, passed);
    if (!end) return false;
    if (!seen_before) held.release();
    learn(last, *end);
  }
  if (ahead.end && ahead.begin == at) {
    tell(state, rows, ahead.held);
    learn(rows.last, *ahead.end);
    return true;
  }
  HeldReports held(decoder_.sink);
  const auto end = decode(state.forecast, which, rows, at, held, out);
  if (!end) return false;
  tell(state, rows, held);
  learn(rows.last, *end);
  return true;
}

// Reports the faults of rows, unless a reader that passed them has.
void Parts::tell(State& state, RowRange rows, HeldReports& held) {
  {
    const std::lock_guard lock(state.mutex);
    if (state.reported.take(rows)) return;
  }
  held.release();
}

void Parts::RowSet::add(RowRange rows) {
  if (const auto before = ends_.upper_bound(rows.first);
      before != ends_.begin() && std::prev(before)->second == rows.first) {
    std::prev(before)->second = rows.last;
  } else {
    ends_.emplace(rows.first, rows.last);
  }
}

bool Parts::RowSet::take(RowRange rows) {
  const auto behind = ends_.upper_bound(rows.first);
  if (behind == ends_.begin() || std::prev(behind)->second < rows.last) return false;
  const auto [first, last] = *std::prev(behind);
  ends_.erase(std::prev(behind));
  if (first < rows.first) ends_.emplace(first, rows.first);
  if (rows.last < last) ends_.emplace(rows.last, last);
  return true;
}

// `at`: the offset at which the rows begin in the sparse stream, if there is one.
std::optional<std::uint64_t> Parts::decode(const Forecast& forecast, const Which& which, RowRange rows,
                                           std::uint64_t at, HeldReports& held, Chunk& out) const {
  const std::size_t sparse = decoder_.header.sparse_stream();
  if (sparse == forecast.streams.size()) return decode(forecast, which, rows, nullptr, held, out);
  const Nearby::Lease lease = nearby_.part(at, forecast.streams[sparse].end);
  Feed feed = lease.feed();
  return decode(forecast, which, rows, &feed, held, out);
}

// `sparse` stands at the begin of the rows; null without such a stream. Returns the offset behind them (0 without
// one); none if anything is not as the forecast says.
std::optional<std::uint64_t> Parts::decode(const Forecast& forecast, const Which& which, RowRange rows, Feed* sparse,
                                           HeldReports& held, Chunk& out) const {
  const Header& header = decoder_.header;
  const Decoder decoder{header, decoder_.streams, decoder_.limits, decoder_.faults, held.sink()};
  FileChunk part = header.chunks[which.in_header];
  const bool to_the_end = rows.last == part.sequences;
  part.sequences = rows.last - rows.first;
  out.reset(decoder_.streams);
  try {
    for (std::size_t i = 0; i < header.streams.size(); ++i) {
      const FileStream& stream = header.streams[i];
      Column& column = out.columns[i];
      if (stream.storage == Storage::sparse) {
        decode_sparse({decoder, which.in_header, part, stream, Lengths(), *sparse, out, column, rows.first});
        if (to_the_end && sparse->left() != 0) return {};
        continue;
      }
      const Lengths lengths = forecast.lengths(which.lengths, i, rows);
      const Nearby::Lease lease = nearby_.part(forecast.at(header, which.lengths, i, rows.first),
                                               forecast.at(header, which.lengths, i, rows.last));
      Feed feed = lease.feed();
      decode_dense({decoder, which.in_header, part, stream, lengths, feed, out, column, rows.first});
      if (feed.left() != 0 || !have_lengths(column, lengths)) return {};
    }
  } catch (const Error&) {  // reading the whole chunk makes the right message
    return {};
  }
  return sparse != nullptr ? sparse->at() : 0;
}

// The whole chunk, for a reader of these rows. The last kKept chunks are kept until all their rows were asked for.
std::shared_ptr<const Chunk> Parts::whole(const Which& which, RowRange rows, std::uint64_t warned_to) const {
  const auto asked = [&](Kept& kept) {
    kept.left -= std::min<std::uint64_t>(kept.left, rows.last - rows.first);
    std::shared_ptr<const Chunk> data = kept.data;
    if (kept.left == 0) kept_.erase(kept_.begin() + (&kept - kept_.data()));
    return data;
  };
  {
    const std::lock_guard lock(mutex_);
    for (Kept& kept : kept_) {
      if (kept.chunk == which.chunk) return asked(kept);
    }
  }
  const auto fresh = std::make_shared<Chunk>();
  whole_(which.chunk, warned_to, *fresh);
  const std::lock_guard lock(mutex_);
  if (kept_.size() == kKept) kept_.erase(kept_.begin());
  kept_.push_back({which.chunk, fresh, decoder_.header.chunks[which.in_header].sequences});
  return asked(kept_.back());
}

}  // namespace batchfeed::cbf
