// SPDX-License-Identifier: MIT
//
// What the reader's tests share: the corpora of minibatch.md 18, and minibatches as text.
#pragma once

#include <batchfeed/reader.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/fault_of.h"
#include "support/memory_source.h"

namespace batchfeed::reader {

using ::batchfeed::testing::id_of;
using Driver = ReaderOptions::Driver;

// The corpora of minibatch.md 18.
inline const std::vector<std::vector<std::uint32_t>> kA = {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}};
inline const std::vector<std::vector<std::uint32_t>> kD = {{2, 3}, {4}, {1, 2, 2}};
inline const std::vector<std::vector<std::uint32_t>> kV = {{3, 1, 2}, {2, 2}, {4, 1, 1}};

inline Reader open(const std::vector<std::vector<std::uint32_t>>& corpus, ReaderOptions options) {
  return Reader(std::make_shared<MemorySource>(corpus), options);
}

inline ReaderOptions reference(OrderKind order, std::uint64_t minibatch) {
  ReaderOptions o;
  o.order.kind = order;
  o.order.window = 2;
  o.shard = Shard::chunk;
  o.minibatch_size = {minibatch};
  o.threads = 2;
  return o;
}

inline std::string flags(const Minibatch& b) {
  return std::string(b.end_of_sweep ? "s" : "") + (b.end_of_epoch ? "e" : "");
}

// "{k0@0[0,2) gap@0[2,3)}"
inline std::string layout_text(const Minibatch& b) {
  std::string out = "{";
  if (!b.empty()) {
    for (const LayoutEntry& e : b.streams[0].layout.entries) {
      if (out.size() > 1) out += ' ';
      out += (e.sequence == LayoutEntry::kGap ? "gap" : 'k' + std::to_string(b.keys[e.sequence])) + '@' +
             std::to_string(e.row) + '[' + std::to_string(e.begin) + ',' + std::to_string(e.end) + ')';
    }
  }
  return out + "}";
}

// "[4 0]" with keys, or the layout for truncated packing.
inline std::string text(const Minibatch& b, bool layout) {
  if (layout) return layout_text(b) + flags(b);
  std::string out = "[";
  for (std::size_t i = 0; i < b.keys.size(); ++i) out += (i == 0 ? "" : " ") + std::to_string(b.keys[i]);
  return out + "]" + flags(b);
}

// Reads answers until the epoch ends, or `most` of them.
inline std::string run(Reader& reader, std::size_t most, bool layout = false) {
  std::string out;
  Minibatch batch;
  for (std::size_t i = 0; i < most && reader.read(batch); ++i) {
    out += (i == 0 ? "" : " ") + text(batch, layout);
    if (batch.end_of_epoch) break;
  }
  return out;
}

inline ReaderOptions truncated(std::uint64_t minibatch, std::uint64_t length, std::uint64_t splice = 0) {
  ReaderOptions o = reference(OrderKind::file, minibatch);
  o.pack = {Packing::truncated, length, splice};
  return o;
}

// What the rest of a run looks like, values included.
inline std::string tail(Reader& reader, std::size_t answers) {
  std::string out;
  Minibatch batch;
  for (std::size_t i = 0; i < answers && reader.read(batch); ++i) {
    out += text(batch, false) + '@' + std::to_string(batch.position);
    for (const StreamBatch& s : batch.streams) {
      for (const LayoutEntry& e : s.layout.entries) out += ' ' + std::to_string(e.row) + ':' + std::to_string(e.begin);
      out.append(reinterpret_cast<const char*>(s.values.data()), s.values.size());
    }
  }
  return out;
}

inline std::vector<ReaderOptions> every_kind() {
  std::vector<ReaderOptions> out;
  for (const OrderKind order : {OrderKind::file, OrderKind::cntk, OrderKind::uniform}) {
    for (const Packing pack : {Packing::sequences, Packing::frames, Packing::truncated}) {
      for (const Driver driver : {Driver::epochs, Driver::timeline}) {
        ReaderOptions o = reference(order, 4);
        o.order.seed = 7;
        o.pack = {pack, pack == Packing::truncated ? 2u : 0u, 0};
        o.driver = driver;
        o.epoch_samples = driver == Driver::timeline ? ~0ull : 9;
        out.push_back(o);
        o.shard = Shard::even;
        out.push_back(o);
      }
    }
  }
  return out;
}

// The id of the fault that opening and reading with `o` gives; "" if none does.
inline std::string refusal(const std::vector<std::vector<std::uint32_t>>& corpus, const ReaderOptions& o) {
  return id_of([&] {
    Reader reader = open(corpus, o);
    Minibatch batch;
    for (int i = 0; i < 9 && reader.read(batch); ++i) {
    }
  });
}

}  // namespace batchfeed::reader
