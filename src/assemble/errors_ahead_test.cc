// SPDX-License-Identifier: MIT
//
// Where maxErrors ends a run, and with which fault, does not depend on how far ahead chunks are read.
#include "model/errors_ahead.h"

#include <batchfeed/reader.h>

#include <mutex>

#include "assemble/testing.h"
#include "model/fault_sink.h"

namespace batchfeed::assemble {
namespace {

class TooManyErrors : public Opening {
 protected:
  // 2,000 sequences in some 60 chunks; every 50th has a sample that is no number.
  CtfOptions damaged(const std::string& stream, const std::string& name, std::uint64_t tolerated) {
    std::string text;
    for (int i = 0; i < 2000; ++i)
      text += std::to_string(i) + " |" + stream + (i % 50 == 7 ? " oops |" + stream : "") + " 1.5\n";
    CtfOptions o = corpus({write(name, text)}, stream);
    o.max_errors = tolerated;
    o.chunk_bytes = 400;
    return o;
  }

  struct End {
    std::size_t minibatches = 0;
    std::string fault;
    std::vector<std::string> told = {};
  };
  End end_of(const std::shared_ptr<const Source>& source, const ReaderOptions& options, bool restores = false) {
    End end;
    Reader reader(source, options);
    Minibatch batch;
    try {
      while (reader.next(batch)) {
        ++end.minibatches;
        if (restores && end.minibatches % 3 == 0) reader.restore(reader.state());
      }
    } catch (const Error& error) {
      end.fault = error.fault().text();
      end.told = told_;
      EXPECT_THROW(reader.next(batch), Error) << "for good";
    }
    return end;
  }
  std::shared_ptr<const Source> open(const std::vector<SourceOptions>& sources) {
    told_.clear();
    batchfeed::Setup setup;
    setup.sources = sources;
    setup.report = [this](const Notice& notice) {
      if (notice.severity != Severity::error) return;  // warnings are told as soon as they are found
      const std::lock_guard lock(mutex_);
      told_.push_back(notice.fault.text());
    };
    return open_sources(setup);
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> told_;
};

TEST_F(TooManyErrors, EndARunAtOnePlaceWhateverIsReadAhead) {
  const std::vector<SourceOptions> one = {damaged("A", "a.ctf", 20)};
  const std::vector<SourceOptions> two = {damaged("A", "a.ctf", 90), damaged("B", "b.ctf", 20)};
  for (const auto& sources : {one, two}) {
    for (const OrderKind order : {OrderKind::file, OrderKind::cntk, OrderKind::uniform}) {
      ReaderOptions o;
      o.order = {.kind = order, .window = 5};
      o.minibatch_size = {10};
      o.prefetch = false;
      o.threads = 1;
      const End alone = end_of(open(sources), o);
      EXPECT_GT(alone.minibatches, 50u);
      EXPECT_NE(alone.fault.find("one error more than the 20 that maxErrors tolerates"), std::string::npos)
          << alone.fault;
      EXPECT_GE(alone.told.size(), FaultSink::kPerId);
      o.prefetch = true;
      for (const unsigned threads : {1u, 2u, 8u, 8u, 8u}) {
        o.threads = threads;
        const End end = end_of(open(sources), o);
        EXPECT_EQ(end.minibatches, alone.minibatches) << threads << " threads, " << name(order);
        EXPECT_EQ(end.fault, alone.fault);
        EXPECT_EQ(end.told, alone.told);
      }
      EXPECT_EQ(end_of(open(sources), o, true).fault, alone.fault) << "what was read ahead of a state counts once";
    }
  }
  // In the file's order the 21st error is the one too many.
  ReaderOptions o;
  o.order.kind = OrderKind::file;
  o.minibatch_size = {10};
  o.threads = 8;
  EXPECT_NE(end_of(open(one), o).fault.find("a.ctf:1008:9"), std::string::npos) << end_of(open(one), o).fault;
}

TEST_F(TooManyErrors, DoNotCountTwiceInLaterEpochs) {
  ReaderOptions o;
  o.order = {.kind = OrderKind::uniform, .window = 5};
  o.driver = ReaderOptions::Driver::timeline;
  o.epoch_sweeps = 4;
  o.threads = 8;
  const End end = end_of(open({damaged("A", "a.ctf", 40)}), o);
  EXPECT_EQ(end.fault, "");
  EXPECT_GT(end.minibatches, 0u);
}

// A reader that is destroyed early has found errors in chunks that it read ahead and never delivered. These do not
// count: the source's next reader finds them again.
TEST_F(TooManyErrors, AreForgottenWithChunksThatNobodyGot) {
  const std::shared_ptr<const Source> source = open({damaged("A", "a.ctf", 20)});
  ReaderOptions o;
  o.order.kind = OrderKind::file;
  o.minibatch_size = {10};
  o.threads = 8;
  Minibatch batch;
  for (int i = 0; i < 20; ++i) {
    Reader reader(source, o);
    for (int n = 0; n < 5; ++n) ASSERT_TRUE(reader.next(batch));
  }
  const End end = end_of(source, o);
  EXPECT_NE(end.fault.find("a.ctf:1008:9"), std::string::npos) << end.minibatches << ' ' << end.fault;
}

// Of many errors only the first few are kept and told, and then how many more there were.
TEST(ErrorsAhead, KeepNoMoreThanIsTold) {
  std::size_t told = 0, made = 0;
  FaultSink sink("f", 100'000, 1, [&](const Notice&) { ++told; });
  const auto make = [&] {
    ++made;
    return Fault{.kind = FaultKind::format, .id = "test.bad", .at = {.file = "f"}, .what = "bad"};
  };
  ErrorsAhead ahead;
  {
    const ErrorsAhead::Scope scope(ahead);
    for (int i = 0; i < 50'000; ++i) sink.error("test.bad", make);
  }
  ahead.settle();
  EXPECT_EQ(sink.errors(), 50'000u);
  EXPECT_EQ(told, FaultSink::kPerId);
  EXPECT_EQ(made, FaultSink::kPerId);
  ErrorsAhead later;
  {
    const ErrorsAhead::Scope scope(later);
    for (int i = 0; i < 100; ++i) sink.error("test.bad", make);
  }
  later.settle();
  EXPECT_EQ(made, FaultSink::kPerId) << "nobody would be told of more";
  ASSERT_EQ(sink.finish().size(), 2u);
  EXPECT_EQ(sink.finish()[0].fault.what, "50090 further notices of 'test.bad' were not shown");
}

TEST(ErrorsAhead, CountOnceAndWithTheFirstOfThem) {
  std::vector<std::string> told;
  FaultSink sink("f", 5, 1, [&](const Notice& n) { told.push_back(n.fault.what); });
  const auto find = [&](int from) {
    for (int i = from; i < from + 3; ++i) {
      sink.error(Fault{.kind = FaultKind::format,
                       .id = "test.bad",
                       .at = {.file = "f", .line = 7, .column = 1},
                       .what = std::to_string(i)});
    }
  };
  const auto find_ahead = [&](ErrorsAhead& to, int from) {
    const ErrorsAhead::Scope scope(to);
    find(from);
    to.close(
        sink, [&find, from] { find(from); }, [] {});
  };
  ErrorsAhead late, early, both;
  find_ahead(late, 10);
  find_ahead(early, 0);
  EXPECT_EQ(sink.errors(), 0u);
  EXPECT_TRUE(told.empty());
  both.add(early);
  both.add(early);
  both.settle();
  early.settle();
  EXPECT_EQ(sink.errors(), 3u);
  try {
    late.settle();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.fault().what.substr(0, 2), "12");
  }
  EXPECT_EQ(told, (std::vector<std::string>{"0", "1", "2", "10", "11"})) << "once, and up to the fault";
  EXPECT_EQ(ErrorsAhead::current(), nullptr);
}

}  // namespace
}  // namespace batchfeed::assemble
