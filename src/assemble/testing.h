// SPDX-License-Identifier: MIT
//
// What the tests of opening share: a folder of small corpora, and why a setup is refused.
#pragma once

#include <batchfeed/tools.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "support/fault_of.h"

namespace batchfeed::assemble {

class Opening : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("batchfeed_open_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  static CtfOptions corpus(std::vector<std::string> files, const std::string& stream = "A") {
    CtfOptions o;
    o.files = std::move(files);
    o.streams = {{.name = stream, .dim = 1}};
    return o;
  }
  static std::string refusal(const batchfeed::Setup& setup) {
    return ::batchfeed::testing::id_of([&] { static_cast<void>(open_sources(setup)); });
  }

  std::filesystem::path folder_;
};

}  // namespace batchfeed::assemble
