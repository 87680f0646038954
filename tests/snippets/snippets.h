// SPDX-License-Identifier: MIT
//
// Where the snippets of the documents run: a folder of its own, with a corpus and its configuration.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/faulty_sys.h"

namespace batchfeed::testing {

class Snippets : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::current_path(folder_.path());
    std::ofstream("train.ctf") << "|features 1 2\n|features 3 4\n";
    std::ofstream("train.cntk") << R"(Train = [ reader = [
      readerType = "CNTKTextFormatReader" ; file = "train.ctf"
      input = [ features = [ dim = 2 ; format = "dense" ] ] ] ])";
  }
  void TearDown() override { std::filesystem::current_path(before_); }

  static void expect(void (*run)(), const std::string& prints) {
    ::testing::internal::CaptureStdout();
    EXPECT_NO_THROW(run());
    EXPECT_EQ(::testing::internal::GetCapturedStdout(), prints);
  }

 private:
  std::filesystem::path before_ = std::filesystem::current_path();
  ScratchFolder folder_;
};

}  // namespace batchfeed::testing

using batchfeed::testing::Snippets;
