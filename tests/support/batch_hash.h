// SPDX-License-Identifier: MIT
//
// A hash of everything in a minibatch, the same on every machine.
#pragma once

#include <batchfeed/minibatch.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/cursor.h"
#include "base/hash.h"

namespace batchfeed::testing {

inline std::uint64_t hash_of(const Minibatch& batch) {
  std::string all;
  const auto add = [&](auto value) {
    if constexpr (std::endian::native == std::endian::big && sizeof value > 1) value = byte_swap(value);
    all.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  add(batch.epoch);
  add(batch.index);
  add(batch.position);
  add(static_cast<std::uint8_t>(batch.end_of_epoch));
  add(static_cast<std::uint8_t>(batch.end_of_sweep));
  add(batch.num_samples);
  for (const std::uint64_t key : batch.keys) add(key);
  const auto add_all = [&](const auto* values, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) add(values[i]);
  };
  for (const StreamBatch& stream : batch.streams) {
    all += stream.name;
    add(stream.layout.rows);
    add(stream.layout.steps);
    for (const LayoutEntry& entry : stream.layout.entries) {
      add(entry.sequence);
      add(entry.row);
      add(entry.begin);
      add(entry.end);
    }
    add_all(stream.offsets.data(), stream.offsets.size());
    if (stream.element == Element::f32) {
      add_all(stream.as<float>(), stream.values.size() / sizeof(float));
    } else {
      add_all(stream.as<double>(), stream.values.size() / sizeof(double));
    }
    add_all(stream.indices.data(), stream.indices.size());
    add_all(stream.sample_begin.data(), stream.sample_begin.size());
  }
  return hash_text(all);
}

inline std::uint64_t fold(std::uint64_t hash, std::uint64_t next) { return (hash ^ next) * 0x9E3779B97F4A7C15ull + 1; }

}  // namespace batchfeed::testing
