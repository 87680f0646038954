// SPDX-License-Identifier: MIT
//
// A source of a text that a test writes, for the tests of sources.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "formats/ctf/source.h"
#include "formats/ctf/testing.h"
#include "support/faulty_sys.h"

namespace batchfeed::ctf {

struct Opened {
  batchfeed::testing::ScratchFolder folder;
  Collector collector;
  std::unique_ptr<CtfSource> source;

  Opened(const std::string& content, const CtfOptions& options, KeyMode keys = KeyMode::numeric)
      : source(std::make_unique<CtfSource>(options, folder.write("t.ctf", content), collector.context(keys))) {}
  Chunk read(std::uint32_t chunk = 0) const {
    Chunk out;
    source->read(chunk, out);
    return out;
  }
  Fault fault(std::uint32_t chunk = 0) const {
    try {
      read(chunk);
    } catch (const Error& e) {
      return e.fault();
    }
    ADD_FAILURE() << "no error";
    return {};
  }
};

inline Fault open_fault(const std::string& content, const CtfOptions& options, KeyMode keys = KeyMode::numeric) {
  try {
    const Opened opened(content, options, keys);
  } catch (const Error& e) {
    return e.fault();
  }
  ADD_FAILURE() << "no error";
  return {};
}

}  // namespace batchfeed::ctf
