// SPDX-License-Identifier: MIT
//
// For tests: label files of a few lines, and the classes they give each frame.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "formats/mlf/mlf.h"
#include "support/each_sequence.h"
#include "support/faulty_sys.h"

namespace batchfeed::mlf {

using Classes = std::vector<int>;
inline const Classes kInvalid{-1};

class Mlf : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.name = "labels";
    options_.dim = 3;
    options_.mapping_file = folder_.write("states", "a\nb\nc\n");
  }
  static std::string one(const std::string& lines, const std::string& key = "u.lab") {
    return "#!MLF!#\n\"" + key + "\"\n" + lines + ".\n";
  }

  std::unique_ptr<Source> open(const std::vector<std::string>& contents) {
    options_.files.clear();
    for (std::size_t i = 0; i < contents.size(); ++i)
      options_.files.push_back(folder_.write("mlf" + std::to_string(i), contents[i]));
    return open();
  }
  std::unique_ptr<Source> open() {
    OpenContext context;
    context.keys = std::make_shared<KeyTable>(KeyMode::text);
    context.check = check_;
    context.lists_all = lists_all_;
    context.limits = limits_;
    context.report = [this](const Notice& n) {
      const std::lock_guard lock(mutex_);
      if (n.severity != Severity::info) reported_.push_back(n.fault);
    };
    return mlf::open(options_, context);
  }
  // Classes of each frame by key; kInvalid for an invalid utterance.
  std::map<std::string, Classes> read(const std::string& content) { return read(*open({content})); }
  std::map<std::string, Classes> read(const Source& source,
                                      std::map<std::string, std::vector<double>>* values = nullptr) {
    std::map<std::string, Classes> out;
    ::batchfeed::testing::each_sequence(source, [&](const Chunk& chunk, const SequenceInfo& s) {
      const std::string key = source.key_text(s.key);
      if (chunk.is_invalid(s.row)) {
        out[key] = kInvalid;
        return;
      }
      const Column& column = chunk.columns[0];
      EXPECT_EQ(column.storage, Storage::sparse);
      EXPECT_EQ(column.samples(s.row), s.samples);
      for (std::uint32_t n = column.first_sample[s.row]; n < column.first_sample[s.row + 1]; ++n) {
        for (std::uint32_t v = column.first_value[n]; v < column.first_value[n + 1]; ++v) {
          out[key].push_back(column.indices[v]);
          if (values != nullptr)
            (*values)[key].push_back(column.element == Element::f32 ? double{column.as<float>()[v]}
                                                                    : column.as<double>()[v]);
        }
      }
    });
    return out;
  }
  Fault fault(const std::string& content) {
    try {
      read(content);
    } catch (const Error& e) {
      return e.fault();
    }
    ADD_FAILURE() << "accepted:\n" << content;
    return {};
  }
  std::map<std::string, std::string> told(const Source& source) {
    std::map<std::string, std::string> out;
    for (const Notice& n : source.notices()) out[n.fault.id] = n.fault.what;
    return out;
  }

  testing::ScratchFolder folder_;
  MlfOptions options_;
  Limits limits_;
  std::mutex mutex_;
  std::vector<Fault> reported_;
  bool check_ = false, lists_all_ = false;
};

}  // namespace batchfeed::mlf
