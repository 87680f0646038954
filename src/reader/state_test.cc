// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "reader/testing.h"

namespace batchfeed::reader {
namespace {

TEST(ReaderState, EveryPlaceOfEveryKindOfRunGoesOnExactly) {
  for (const ReaderOptions& o : every_kind()) {
    const bool frames = o.pack.kind == Packing::frames;
    const auto source = std::make_shared<MemorySource>(kV, frames);
    constexpr std::size_t kAnswers = 24;
    for (std::size_t at = 0; at <= 14; ++at) {
      Reader whole(source, o);
      Minibatch batch;
      for (std::size_t i = 0; i < at; ++i) ASSERT_TRUE(whole.read(batch));
      const std::string state = whole.state();
      const std::string want = tail(whole, kAnswers);
      ReaderOptions other = o;
      other.threads = static_cast<unsigned>(1 + at % 3);
      other.prefetch = at % 2 == 0;
      Reader again(source, other);
      again.restore(state);
      ASSERT_EQ(tail(again, kAnswers), want) << "order " << static_cast<int>(o.order.kind) << " pack "
                                             << static_cast<int>(o.pack.kind) << " after " << at << ": " << state;
      ASSERT_LT(state.size(), 1000u);
    }
  }
}

TEST(ReaderState, IsRefusedByNameWhereItDoesNotBelong) {
  ReaderOptions o = reference(OrderKind::cntk, 4);
  Reader reader = open(kV, o);
  Minibatch batch;
  ASSERT_TRUE(reader.read(batch));
  const std::string state = reader.state();
  const auto refusal = [&](Reader other, const std::string& text) -> std::string {
    try {
      other.restore(text);
    } catch (const Error& error) {
      return error.fault().id + ": " + error.fault().what;
    }
    return "accepted";
  };
  EXPECT_EQ(refusal(open(kA, o), state).substr(0, 16), "state.other-data");
  o.order.seed = 3;
  EXPECT_EQ(
      refusal(open(kV, o), state).find("state.other-options: the state was saved with seed = 0, the reader has 3"), 0u);
  o.order.seed = 0;
  for (std::size_t i = 0; i < state.size(); ++i) {
    std::string flipped = state;
    flipped[i] = static_cast<char>(flipped[i] ^ 1);
    EXPECT_NE(refusal(open(kV, o), flipped), "accepted") << i;
    EXPECT_NE(refusal(open(kV, o), state.substr(0, i)), "accepted") << i;
  }
  EXPECT_EQ(refusal(open(kV, o), "{}").substr(0, 13), "state.damaged");
  EXPECT_EQ(refusal(open(kV, o), std::string(70'000, ' ')).substr(0, 11), "limit.state");
  std::string newer = state;
  newer.replace(newer.find("state\":1"), 8, "state\":9");
  EXPECT_EQ(refusal(open(kV, o), newer).substr(0, 11), "state.newer");
}

}  // namespace
}  // namespace batchfeed::reader
