// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstdio>
#include <stdexcept>

#include "base/hash.h"
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

TEST(ReaderState, WhatIsTakenBackComesAgain) {
  for (const ReaderOptions& o : every_kind()) {
    const auto source = std::make_shared<MemorySource>(kV, o.pack.kind == Packing::frames);
    Reader whole(source, o), interrupted(source, o);
    Minibatch batch;
    interrupted.take_back();  // nothing
    for (int answer = 0; answer < 8; ++answer) {
      const std::string before = whole.state();
      ASSERT_TRUE(whole.read(batch));
      const std::string given = text(batch, true);
      for (int again = 0; again < 1 + answer % 2; ++again) {
        ASSERT_TRUE(interrupted.read(batch));
        ASSERT_EQ(text(batch, true), given);
        interrupted.take_back();
        ASSERT_EQ(interrupted.state(), before);
        interrupted.take_back();
        ASSERT_EQ(interrupted.state(), before) << "one at a time";
      }
      ASSERT_TRUE(interrupted.read(batch));
      ASSERT_EQ(interrupted.state(), whole.state());
    }
    ASSERT_EQ(tail(interrupted, 10), tail(whole, 10));
  }
}

TEST(ReaderState, NothingIsTakenBackOfAReaderThatWasMoved) {
  const auto source = std::make_shared<MemorySource>(kV);
  for (const std::uint64_t epoch : {1u, 0u}) {
    Reader reader(source, {.minibatch_size = {4}});
    while (reader.next()) {
    }
    reader.begin_epoch(epoch);
    const std::string there = reader.state();
    reader.take_back();
    EXPECT_EQ(reader.state(), there);
  }
}

const std::vector<std::vector<std::uint32_t>> kJagged = {{1, 3}, {5, 1, 2}, {2, 2}, {1, 1, 4}, {3, 2}, {2, 5}};

// Epochs that overshoot their end make the reference shuffle a sweep again (Timeline::next_epoch).
TEST(ReaderState, RemembersThatASweepWasReorderedBetweenEpochs) {
  std::size_t reordered = 0;
  for (const Packing pack : {Packing::sequences, Packing::truncated}) {
    for (const std::uint64_t workers : {1u, 2u}) {
      ReaderOptions o = reference(OrderKind::cntk, 4);
      o.order.window = 1;
      o.order.seed = 7;
      o.pack = {pack, pack == Packing::truncated ? 2u : 0u, 0};
      o.epoch_samples = 5;
      o.workers = workers;
      const auto source = std::make_shared<MemorySource>(kJagged);
      std::size_t told = 0;
      Reader whole(source, o, {}, [&](const Notice& n) { told += n.fault.id == "reader.reordered"; });
      std::vector<std::string> states = {whole.state()};
      for (Minibatch batch; states.size() <= 40 && whole.read(batch);) states.push_back(whole.state());
      const std::string end = tail(whole, 20);
      EXPECT_EQ(told, 1u) << "once a reader, whatever comes";
      for (std::size_t at = 0; at < states.size(); ++at) {
        reordered += states[at].find("\"past\":[1,") != std::string::npos;
        Reader again(source, o);
        again.restore(states[at]);
        Minibatch batch;
        for (std::size_t next = at + 1; next < states.size(); ++next) {
          ASSERT_TRUE(again.read(batch));
          ASSERT_EQ(again.state(), states[next]) << "resumed behind " << at;
        }
        ASSERT_EQ(tail(again, 20), end) << "resumed behind " << at;
      }
    }
  }
  EXPECT_GT(reordered, 20u);
}

// Epochs that end inside of sweeps.
ReaderOptions short_epochs(Packing pack) {
  ReaderOptions o = reference(OrderKind::cntk, 4);
  o.order.window = 1;
  o.order.seed = 7;
  o.pack = {pack, pack == Packing::truncated ? 2u : 0u, 0};
  o.epoch_samples = 5;
  return o;
}

// What is told of a sweep in another order may end the call, as an interrupt does.
TEST(ReaderState, AReportThatThrowsCostsNoAnswer) {
  for (const Packing pack : {Packing::sequences, Packing::truncated}) {
    const auto source = std::make_shared<MemorySource>(kJagged);
    Reader whole(source, short_epochs(pack));
    std::size_t thrown = 0;
    Reader reader(source, short_epochs(pack), {}, [&](const Notice& n) {
      if (n.fault.id != "reader.reordered") return;
      ++thrown;
      throw std::runtime_error("interrupted");
    });
    Minibatch batch, want;
    for (int answer = 0; answer < 40; ++answer) {
      ASSERT_TRUE(whole.read(want));
      try {
        ASSERT_TRUE(reader.read(batch));
      } catch (const std::runtime_error&) {
        ASSERT_TRUE(reader.read(batch));
      }
      ASSERT_EQ(text(batch, true), text(want, true)) << answer;
      ASSERT_EQ(reader.state(), whole.state()) << answer;
    }
    EXPECT_EQ(thrown, 1u);
  }
}

// Wherever it was left, and whatever had been drawn ahead there.
TEST(ReaderState, AnEpochBegunInsideOfAnotherIsThatOfAReaderOfItsOwn) {
  for (const Packing pack : {Packing::sequences, Packing::truncated}) {
    ReaderOptions o = short_epochs(pack);
    const auto source = std::make_shared<MemorySource>(kJagged);
    for (std::uint64_t left = 0; left < 9; ++left) {
      o.start_epoch = left;
      Reader reader(source, o);
      Minibatch batch;
      ASSERT_TRUE(reader.read(batch));
      if (batch.end_of_epoch) continue;
      o.start_epoch = left + 1;
      Reader own(source, o);
      reader.begin_epoch(left + 1);
      ASSERT_EQ(tail(reader, 12), tail(own, 12)) << "left in epoch " << left;
    }
  }
}

TEST(ReaderState, AnEpochThatIsAskedForFollowsTheOneBeforeAsIfItHadNotBeen) {
  for (const Packing pack : {Packing::sequences, Packing::truncated}) {
    const ReaderOptions o = short_epochs(pack);
    const auto source = std::make_shared<MemorySource>(kJagged);
    Reader straight(source, o), asking(source, o);
    for (std::uint64_t epoch = 0; epoch < 12; ++epoch) {
      std::string want, got;
      Minibatch batch;
      do {
        ASSERT_TRUE(straight.read(batch));
        if (!batch.empty()) want += text(batch, true);
      } while (!batch.end_of_epoch);
      asking.begin_epoch(epoch);
      asking.begin_epoch(epoch);
      EXPECT_GT(asking.num_minibatches(epoch), 0u);
      if (epoch % 3 == 1) {
        Reader resumed(source, o);
        resumed.restore(asking.state());
        asking = std::move(resumed);
      }
      while (asking.next(batch)) got += text(batch, true);
      EXPECT_EQ(got, want) << "epoch " << epoch;
      EXPECT_NO_THROW(Reader(source, o).restore(asking.state())) << "epoch " << epoch;
    }
  }
}

TEST(ReaderState, ALastMinibatchThatWasEvenedOutOverTheEndOfASweepComesAgainWithItsFlags) {
  const std::vector<std::vector<std::uint32_t>> corpus = {{4, 4, 4, 4}, {4, 4, 4, 4}};  // 32 samples
  for (const SizeUnit unit : {SizeUnit::samples, SizeUnit::sequences}) {
    const bool frames = unit == SizeUnit::samples;
    ReaderOptions o;
    o.order.kind = OrderKind::file;
    o.pack.kind = frames ? Packing::frames : Packing::sequences;
    o.size_unit = unit;
    o.minibatch_size = {frames ? 16u : 4u};
    o.epoch_samples = 99;  // three sweeps and a little
    o.cross_sweeps = true;
    const auto source = std::make_shared<MemorySource>(corpus, frames);
    Reader whole(source, o);
    std::vector<std::string> answers, states;
    Minibatch batch;
    while (states.size() < 7 && whole.read(batch)) {
      answers.push_back(std::to_string(batch.position) + flags(batch));
      states.push_back(whole.state());
    }
    EXPECT_EQ(answers[5], frames ? "89" : "92");
    EXPECT_EQ(answers[6], frames ? "99se" : "100se") << "the end of the third sweep, at 96, moved along";
    for (std::size_t at = 0; at < states.size(); ++at) {
      Reader again(source, o);
      again.restore(states[at]);
      for (std::size_t next = at + 1; next < answers.size(); ++next) {
        ASSERT_TRUE(again.read(batch));
        EXPECT_EQ(std::to_string(batch.position) + flags(batch), answers[next]) << "resumed after " << at;
      }
    }
  }
}

TEST(ReaderState, RowsThatChangeFromMinibatchToMinibatchGoOnToo) {
  ReaderOptions o = truncated(6, 3);
  o.minibatch_size = {6, 12};
  o.driver = Driver::timeline;
  o.epoch_samples = 60;
  const auto source = std::make_shared<MemorySource>(kV);
  for (std::size_t at = 0; at <= 4; ++at) {
    Reader whole(source, o), again(source, o);
    Minibatch batch;
    for (std::size_t i = 0; i < at; ++i) ASSERT_TRUE(whole.read(batch));
    again.restore(whole.state());
    EXPECT_EQ(tail(again, 9), tail(whole, 9)) << at;
    EXPECT_GT(whole.skipped(), 0u) << "what waited in the rows of the first size is given up, and counted";
    EXPECT_EQ(again.skipped(), whole.skipped()) << at;
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
  Reader victim = open(kV, o);
  for (std::size_t i = 0; i < state.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = state;
      flipped[i] = static_cast<char>(flipped[i] ^ (1 << bit));
      EXPECT_THROW(victim.restore(flipped), Error) << "bit " << bit << " of byte " << i;
    }
    EXPECT_THROW(victim.restore(state.substr(0, i)), Error) << i;
  }
  EXPECT_EQ(refusal(open(kV, o), "{}").substr(0, 13), "state.damaged");
  EXPECT_EQ(refusal(open(kV, o), std::string((16u << 20) + 1, ' ')).substr(0, 11), "limit.state");
  std::string newer = state;
  newer.replace(newer.find("state\":1"), 8, "state\":9");
  EXPECT_EQ(refusal(open(kV, o), newer).substr(0, 11), "state.newer");
}

TEST(ReaderState, TheSeedBelongsToAStateInTheFilesOrderTooWhereItDecidesWhatComes) {
  const auto source = std::make_shared<MemorySource>(kJagged);
  ReaderOptions plain = reference(OrderKind::file, 4), bucketed = plain, mixed = plain;
  bucketed.bucket_minibatches = 3;
  mixed.mix_weights = {1, 2};
  const auto refusal = [&](ReaderOptions o) {
    const std::vector<std::shared_ptr<const Source>> corpora(std::max<std::size_t>(1, o.mix_weights.size()), source);
    const std::string state = Reader(corpora, o).state();
    o.order.window = 3;
    EXPECT_NO_THROW(Reader(corpora, o).restore(state)) << "there is no window";
    o.order.seed = 5;
    return id_of([&] { Reader(corpora, o).restore(state); });
  };
  EXPECT_EQ(refusal(plain), "");
  EXPECT_EQ(refusal(bucketed), "state.other-options");
  EXPECT_EQ(refusal(mixed), "state.other-options");
}

// The state with the value of a number replaced and the checksum made to fit.
std::string forged(const std::string& state, std::size_t at, std::size_t length, const std::string& value) {
  std::string out = state;
  out.replace(at, length, value);
  out.erase(out.rfind(",\"check\""));
  char check[17] = {};
  std::snprintf(check, sizeof check, "%016llx", static_cast<unsigned long long>(hash_text(out)));
  return out + ",\"check\":\"" + check + "\"}";
}

TEST(ReaderState, PaddingThatCannotBeIsRefused) {
  ReaderOptions o = reference(OrderKind::uniform, 6);
  o.bucket_minibatches = 2;
  Reader reader = open(kV, o);
  Minibatch batch;
  ASSERT_TRUE(reader.read(batch));
  const std::string state = reader.state();
  const std::size_t at = state.find("\"padding\":[") + 11, length = state.find(']', at) - at;
  EXPECT_NO_THROW(open(kV, o).restore(forged(state, at, length, state.substr(at, length))));
  for (const char* padding : {"16,1,0", "2,1,3", "3,4,2", "0,0,0", "1,2"}) {
    EXPECT_THROW(open(kV, o).restore(forged(state, at, length, padding)), Error) << padding;
  }
}

// Of a million rows only those up to the last that holds anything are written. States of before name them all.
TEST(ReaderState, RowsBehindTheLastThatHoldsAnythingTakeNoRoom) {
  ReaderOptions o = truncated(1'000'000, 1);
  for (std::size_t at = 1; at <= 3; ++at) {
    Reader whole = open(kV, o), again = open(kV, o), padded = open(kV, o);
    Minibatch batch;
    for (std::size_t i = 0; i < at; ++i) ASSERT_TRUE(whole.read(batch));
    const std::string state = whole.state();
    EXPECT_LT(state.size(), 1000u) << at;
    again.restore(state);
    const std::size_t end = state.find(",1]", state.find("\"queue\""));  // the 1 behind the rows
    ASSERT_NE(end, std::string::npos);
    padded.restore(forged(state, end, 0, ",0,0,0,0"));
    const std::string rest = tail(whole, 9);
    EXPECT_EQ(tail(again, 9), rest) << at;
    EXPECT_EQ(tail(padded, 9), rest) << at;
  }
  o = truncated(4, 1);
  Reader few = open(kV, o);
  Minibatch batch;
  ASSERT_TRUE(few.read(batch));
  const std::string state = few.state();
  const std::size_t end = state.find(']', state.find("\"queue\""));
  EXPECT_EQ(id_of([&] { open(kV, o).restore(state); }), "");
  Reader more = open(kV, o);
  more.restore(forged(state, end, 0, ",0,0"));
  EXPECT_EQ(id_of([&] { more.read(batch); }), "state.damaged") << "five rows, where there are four";
}

// A state that somebody wrote: the checksum fits, and what it says cannot be.
TEST(ReaderState, WhatCannotBeIsRefusedWithTheReason) {
  ReaderOptions o = reference(OrderKind::cntk, 4);
  o.epoch_samples = 5;
  Reader reader = open(kV, o);
  Minibatch batch;
  ASSERT_TRUE(reader.read(batch));
  const std::string state = reader.state();
  const auto refusal = [&](const std::string& text) -> std::string {
    try {
      open(kV, o).restore(text);
    } catch (const Error& error) {
      return error.fault().id + ": " + error.fault().what;
    }
    return "accepted";
  };
  const auto with = [&](const std::string& more) { return forged(state, state.rfind(",\"check\""), 0, more); };
  EXPECT_EQ(refusal(with("")), "accepted");
  EXPECT_EQ(refusal(with("") + "\n \n"), "accepted") << "as editors leave it";
  EXPECT_EQ(refusal(with("") + "\n x"), "state.damaged: the saved state is damaged: text behind the object");
  EXPECT_EQ(refusal(with(",\"follows\":0")), "accepted");
  const auto set = [](const std::string& text, const std::string& field, const std::string& value) {
    const std::size_t at = text.find("\"" + field + "\":") + field.size() + 3;
    return forged(text, at, text.find_first_of(",}", at) - at, value);
  };
  const std::string follows = with(",\"follows\":1");
  for (const std::string& text :
       {follows, set(set(follows, "begun", "0"), "epoch", "0"), set(set(follows, "begun", "0"), "ended", "1")})
    EXPECT_NE(refusal(text).find("an epoch that follows one has begun"), std::string::npos) << text;
  // What stands in it twice, or behind the checksum, is not of us.
  EXPECT_NE(refusal(with(",\"position\":4")).find("field 'position' stands in it twice"), std::string::npos);
  for (const char* more : {",\"position\":4", ",\"later\":4", ",\"x\":01", ",\"q\":[[[[]", ",\"z\":\"\xff\""}) {
    std::string text = state;
    EXPECT_EQ(refusal(text.insert(text.rfind('}'), more)).substr(0, 13), "state.damaged") << more;
  }
  EXPECT_EQ(refusal(with(",\"later\":4")), "accepted") << "a field of a newer writer";
  for (const char* more :
       {",\"x\":01", ",\"x\":-1", ",\"q\":[[[[]", ",\"q\":[1,,2]", ",\"z\":\"\xff\"", ",\"z\":\"\\u0\""})
    EXPECT_EQ(refusal(with(more)).substr(0, 13), "state.damaged") << more;
  EXPECT_NE(refusal(set(state, "position", "[4]")).find("position is not a number"), std::string::npos);
  EXPECT_NE(refusal(set(state, "position", "04")).find("not a number: '04'"), std::string::npos);
  std::string many;
  for (int i = 0; i < 100; ++i) many += ",\"f" + std::to_string(i) + "\":1";
  EXPECT_NE(refusal(with(many)).find("it has more than 100 fields"), std::string::npos);
  for (const char* past : {"", "1", "2,0", "0,1,2,3"})
    EXPECT_NE(refusal(with(",\"past\":[" + std::string(past) + "]")).find("past is two or three numbers"),
              std::string::npos)
        << past;
  EXPECT_EQ(refusal(with(",\"past\":[0,0]")), "accepted");
  EXPECT_EQ(refusal(with(",\"past\":[0,0,1]")), "accepted");
  for (const char* past : {"0,99", "0,0,7"})
    EXPECT_NE(refusal(with(",\"past\":[" + std::string(past) + "]")).find("its past lies ahead"), std::string::npos);
  // The epoch has 5 samples, the sweep 16, and the last sequence may go beyond the end.
  const auto changed = [&](const std::string& field, const std::string& value) {
    const std::size_t at = state.find("\"" + field + "\":") + field.size() + 3;
    return refusal(forged(state, at, state.find_first_of(",}", at) - at, value));
  };
  EXPECT_NE(changed("position", "22").find("position 22 lies outside epoch 0"), std::string::npos);
  EXPECT_NE(changed("position", "18446744073709551615").find("lies outside epoch 0"), std::string::npos);
  EXPECT_NE(changed("epoch", "3").find("lies outside epoch 3"), std::string::npos);
  EXPECT_NE(changed("epoch", "1844674407370955161").find("there is no epoch 1844674407370955161"), std::string::npos);
  EXPECT_NE(changed("begun", "7").find("begun is 0 or 1, found 7"), std::string::npos);
  EXPECT_NE(changed("begun", "0").find("an epoch that has not begun, and a place in it"), std::string::npos);
  EXPECT_NE(changed("batchfeed_state", "0").find("there is no state version 0"), std::string::npos);
  EXPECT_NE(refusal(with(",\"queue\":[0,0,1]")).find("a queue, where no sequence waits"), std::string::npos);
  // A field that is missing is named.
  for (const char* field : {"position", "minibatch", "data"}) {
    const std::size_t at = state.find("\"" + std::string(field) + "\":");
    ASSERT_NE(at, std::string::npos) << field;
    EXPECT_NE(refusal(forged(state, at + 1, 1, "X")).find("no field '" + std::string(field) + "'"), std::string::npos)
        << field;
  }
  const std::size_t seed = state.find("\"seed\":");
  ASSERT_NE(seed, std::string::npos);
  EXPECT_NE(refusal(forged(state, seed + 1, 1, "S")).find("seed = (not set)"), std::string::npos);
}

TEST(ReaderState, OptionsOfTheLegacyReaderAreToldApart) {
  ReaderOptions o = reference(OrderKind::cntk, 6);
  o.legacy_speech = true;
  o.rows_per_epoch = {2, 3};
  const std::string state = open(kV, o).state();
  for (const auto& change : std::vector<void (*)(ReaderOptions&)>{[](ReaderOptions& r) { r.full_minibatches = true; },
                                                                  [](ReaderOptions& r) {
                                                                    r.rows_per_epoch = {2, 4};
                                                                  }}) {
    ReaderOptions other = o;
    change(other);
    EXPECT_EQ(id_of([&] { open(kV, other).restore(state); }), "state.other-options");
  }
}

TEST(ReaderState, ForgedNumbersAreRefusedOrHarmless) {
  std::vector<ReaderOptions> kinds = every_kind();
  ReaderOptions legacy = reference(OrderKind::cntk, 6);
  legacy.legacy_speech = true;
  legacy.rows_per_epoch = {2};
  kinds.push_back(legacy);
  legacy.pack.kind = Packing::truncated;
  kinds.push_back(legacy);
  ReaderOptions bucketed = reference(OrderKind::uniform, 6);
  bucketed.bucket_minibatches = 2;
  kinds.push_back(bucketed);
  for (ReaderOptions o : kinds) {
    o.prefetch = false;
    const auto source = std::make_shared<MemorySource>(kV, o.pack.kind == Packing::frames);
    Reader reader(source, o);
    Minibatch batch;
    ASSERT_TRUE(reader.read(batch));
    const std::string state = reader.state();
    Reader taken(source, o);
    taken.restore(forged(state, state.find("\"epoch\":") + 8, 1, "0"));  // the checksum is right
    const std::size_t numbers_end = state.find(",\"order\"");
    for (std::size_t at = state.find("\"epoch\""); at < numbers_end;) {
      const std::size_t length = state.find_first_not_of("0123456789", at) - at;
      if (length == 0) {
        ++at;
        continue;
      }
      for (const char* value : {"0", "1", "3", "1000", "4294967296", "4611686018427387903", "18446744073709551615"}) {
        Reader victim(source, o);
        try {
          victim.restore(forged(state, at, length, value));
          for (int i = 0; i < 3 && victim.read(batch); ++i) {
          }
        } catch (const Error&) {
        }
      }
      at += length;
    }
  }
}

}  // namespace
}  // namespace batchfeed::reader
