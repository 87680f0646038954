// SPDX-License-Identifier: MIT
//
// What the headers of both layouts have in common: the checks of single fields.
#pragma once

#include <batchfeed/limits.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "formats/cbf/faults.h"
#include "formats/cbf/feed.h"
#include "formats/cbf/header.h"
#include "model/fault_sink.h"

namespace batchfeed::cbf {

struct HeaderParts {
  const Faults& faults;
  const Limits& limits;
  FaultSink& sink;

  // The next `length` bytes (at most feed.left()) as a stream's name; the length
  // stood at `at`. A name ends at its first NUL.
  std::string name(Feed& feed, std::uint64_t at, std::uint32_t length, const std::string& who) const;
  Element element(std::uint64_t code, const FileStream& stream) const;
  std::uint32_t dim(std::uint32_t dim, std::uint64_t at, const FileStream& stream) const;
  void limit_streams(std::uint64_t streams, std::uint64_t at) const;
};

// The header of the older layout; the file has at least 20 bytes.
Header read_legacy(const io::File& file, const HeaderParts& parts, Buffer<std::byte>& scratch);

}  // namespace batchfeed::cbf
