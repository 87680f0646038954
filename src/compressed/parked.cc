// SPDX-License-Identifier: MIT
#include "compressed/parked.h"

#include <algorithm>
#include <iterator>
#include <list>
#include <mutex>
#include <thread>
#include <utility>

#include "base/fork_safe.h"

namespace batchfeed::compressed {
namespace {

struct Entry {
  const Parked* owner = nullptr;
  std::unique_ptr<Decoder> decoder;
  std::size_t bytes = 0;
};

constinit std::mutex mutex;

// All parked decoders. Used with the mutex held; decoders that are moved out are freed after it is released.
struct Lot {
  std::list<Entry> all;  // least recently parked first
  std::size_t bytes = 0;

  void move_out(std::list<Entry>& to, std::list<Entry>::iterator one) noexcept {
    bytes -= one->bytes;
    to.splice(to.end(), all, one);
  }
};

// Never destroyed: static objects that own files may be destroyed after everything else.
Lot& lot() {
  static Lot& made = *new Lot;
  return made;
}

// The most decoders of one file: one for each reading thread, and some more.
std::size_t most_of_one() noexcept {
  static const std::size_t most = std::clamp<std::size_t>(2 * std::thread::hardware_concurrency(), 4, 32);
  return most;
}

}  // namespace

std::unique_ptr<Decoder> Parked::take(std::uint64_t from, std::uint64_t to) const noexcept {
  std::list<Entry> out;
  {
    const auto lock = hold<mutex>();
    Lot& parked = lot();
    auto found = parked.all.end(), oldest = found;
    std::size_t own = 0;
    for (auto one = parked.all.begin(); one != parked.all.end(); ++one) {
      if (one->owner != this) continue;
      if (own++ == 0) oldest = one;
      const std::uint64_t at = one->decoder->at();
      if (at >= from && at <= to && (found == parked.all.end() || at > found->decoder->at())) found = one;
    }
    if (found == parked.all.end() && (own >= most_of_one() || parked.bytes >= kMostParked)) found = oldest;
    if (found != parked.all.end()) parked.move_out(out, found);
  }
  return out.empty() ? nullptr : std::move(out.front().decoder);
}

void Parked::add(std::unique_ptr<Decoder> decoder) const {
  std::list<Entry> one, gone;
  const std::size_t bytes = decoder->bytes();
  one.push_back({this, std::move(decoder), bytes});
  const auto lock = hold<mutex>();
  Lot& parked = lot();
  while (!parked.all.empty() && parked.bytes + bytes > kMostParked) parked.move_out(gone, parked.all.begin());
  const auto is_own = [this](const Entry& other) { return other.owner == this; };
  const auto own = static_cast<std::size_t>(std::count_if(parked.all.begin(), parked.all.end(), is_own));
  if (own >= most_of_one()) parked.move_out(gone, std::find_if(parked.all.begin(), parked.all.end(), is_own));
  parked.all.splice(parked.all.end(), one);
  parked.bytes += bytes;
}

void Parked::clear() const noexcept {
  std::list<Entry> gone;
  const auto lock = hold<mutex>();
  Lot& parked = lot();
  for (auto one = parked.all.begin(); one != parked.all.end();) {
    const auto at = one++;
    if (at->owner == this) parked.move_out(gone, at);
  }
}

std::size_t parked_bytes() noexcept {
  const auto lock = hold<mutex>();
  return lot().bytes;
}

}  // namespace batchfeed::compressed
