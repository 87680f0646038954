// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reader/testing.h"

namespace batchfeed::reader {
namespace {

TEST(ReaderErrors, ArriveAtTheirPlaceAndStay) {
  auto source = std::make_shared<MemorySource>(kA);
  source->bad_chunk = 2;
  for (const bool prefetch : {true, false}) {
    ReaderOptions o = reference(OrderKind::file, 2);
    o.prefetch = prefetch;
    Reader reader(source, o);
    Minibatch batch;
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(reader.read(batch)) << i;
    EXPECT_EQ(batch.keys, (std::vector<std::uint64_t>{4, 5}));
    for (int i = 0; i < 2; ++i) EXPECT_THROW(reader.read(batch), Error);
  }
}

TEST(ReaderErrors, DamagedSequencesAreLeftOutUpToTheBudget) {  // X9
  auto source = std::make_shared<MemorySource>(kV);
  source->damaged_key = 3;
  ReaderOptions o = reference(OrderKind::file, 16);
  o.max_invalid = 1;
  Reader tolerant(source, o);
  Minibatch batch;
  ASSERT_TRUE(tolerant.read(batch));
  EXPECT_EQ(batch.keys, (std::vector<std::uint64_t>{0, 1, 2, 4, 5, 6, 7}));
  EXPECT_EQ(batch.invalid, 1u);
  o.max_invalid = 0;
  Reader strict(source, o);
  EXPECT_THROW(strict.read(batch), Error);
}

TEST(ReaderStop, AnyMomentIsAGoodOneToLeave) {
  for (unsigned batches = 0; batches < 12; ++batches) {
    auto source = std::make_shared<MemorySource>(kV);
    source->delay_ms = 1;
    Reader reader(source, reference(OrderKind::cntk, 2));
    Minibatch batch;
    for (unsigned i = 0; i < batches; ++i) ASSERT_TRUE(reader.read(batch));
  }
}

TEST(ReaderStop, AForkedChildIsToldToOpenItsOwn) {
  Reader reader = open(kV, reference(OrderKind::cntk, 2));
  Minibatch batch;
  ASSERT_TRUE(reader.read(batch));
  const pid_t child = ::fork();
  if (child == 0) {
    int code = 1;
    try {
      reader.read(batch);
    } catch (const Error& error) {
      code = error.fault().id == "reader.forked" ? 0 : 2;
    }
    { const Reader gone = std::move(reader); }  // must not wait for threads that are not here
    ::_exit(code);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace batchfeed::reader
