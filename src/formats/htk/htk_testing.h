// SPDX-License-Identifier: MIT
//
// Lists of HTK archives in a folder of their own, opened and read.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "formats/htk/htk.h"
#include "support/each_sequence.h"
#include "support/faulty_sys.h"

namespace batchfeed::htk {

using Frames = std::vector<std::vector<double>>;

class Htk : public ::testing::Test {
 protected:
  // Writes a list with these lines, in which FOLDER stands for the test's folder.
  std::string scp(std::string lines, const std::string& name = "x.scp") {
    for (std::size_t at; (at = lines.find("FOLDER")) != std::string::npos;)
      lines.replace(at, 6, folder_.path().string());
    return folder_.write(name, lines);
  }
  std::unique_ptr<Source> open(const std::string& lines, HtkOptions options = {}) {
    options.name = "features";
    options.scp_files = {scp(lines)};
    return open(options);
  }
  std::unique_ptr<Source> open(const HtkOptions& options) {
    OpenContext context;
    context.keys = keys_ = std::make_shared<KeyTable>(KeyMode::text);
    context.check = check_;
    context.limits = limits_;
    context.report = [this](const Notice& n) {
      const std::lock_guard lock(mutex_);
      reported_.push_back(n.fault);
    };
    return htk::open(options, context);
  }
  Fault fault(const std::string& lines, HtkOptions options = {}) {
    try {
      const auto source = open(lines, std::move(options));
      Chunk chunk;
      for (std::uint32_t c = 0; c < source->chunks().size(); ++c) source->read(c, chunk);
    } catch (const Error& e) {
      return e.fault();
    }
    ADD_FAILURE() << "no fault";
    return {};
  }
  // The frames of every utterance as they are delivered, by key.
  static std::map<std::string, Frames> read(const Source& source) {
    std::map<std::string, Frames> out;
    ::batchfeed::testing::each_sequence(source, [&](const Chunk& chunk, const SequenceInfo& s) {
      const Column& column = chunk.columns[0];
      EXPECT_EQ(column.samples(s.row), s.samples);
      Frames& frames = out[source.key_text(s.key)];
      for (std::uint32_t i = 0; i < s.samples; ++i) {
        std::vector<double>& frame = frames.emplace_back();
        for (std::uint64_t k = 0; k < column.dim; ++k) {
          const std::size_t at = static_cast<std::size_t>(column.begin[s.row] + i * column.step + k);
          frame.push_back(column.element == Element::f32 ? double{column.as<float>()[at]} : column.as<double>()[at]);
        }
      }
    });
    return out;
  }

  batchfeed::testing::ScratchFolder folder_;
  std::shared_ptr<KeyTable> keys_;
  std::mutex mutex_;
  std::vector<Fault> reported_;
  Limits limits_;
  bool check_ = false;
};

}  // namespace batchfeed::htk
