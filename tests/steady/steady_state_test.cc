// SPDX-License-Identifier: MIT
//
// What a reader needs it has after its first epochs: a minibatch more asks for no
// memory, an epoch more leaves nothing behind, and all of it is little more than the chunks
// of the window and those being read ahead.
#include <batchfeed/reader.h>
#include <batchfeed/writer.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "support/allocations.h"
#include "support/faulty_sys.h"
#include "support/memory_source.h"
#include "support/speech.h"

namespace batchfeed::testing {
namespace {

struct Corpus {
  std::string name;
  std::function<Setup(const ScratchFolder&)> make;
};

Setup text(const ScratchFolder& f) {
  std::string lines;
  for (int i = 0; i < 2000; ++i) {
    const std::string n = std::to_string(i);
    lines += n + " |a " + n + ".5 -1 |b " + std::to_string(i % 7) + ":2\n";
    if (i % 3 == 0) lines += n + " |b 6:" + n + '\n';
  }
  Setup setup;
  setup.sources = {CtfOptions{.files = {f.write("c.ctf", lines)},
                              .streams = {{.name = "a", .dim = 2}, {.name = "b", .storage = Storage::sparse, .dim = 7}},
                              .chunk_bytes = 8000}};
  return setup;
}

// Two hundred utterances of ten frames in one archive, and their labels.
Setup speech(const ScratchFolder& f, bool labels) {
  std::string list, mlf = "#!MLF!#\n";
  const std::string archive = f.write("a.htk", htk_file(ramp(200 * 10 * 2), {.dim = 2}));
  for (int u = 0; u < 200; ++u) {
    const std::string name = "u" + std::to_string(u);
    list += name + ".mfc=" + archive + "[" + std::to_string(10 * u) + "," + std::to_string(10 * u + 9) + "]\n";
    mlf += "\"*/" + name + ".lab\"\n0 500000 s 0\n500000 1000000 t 1\n.\n";
  }
  HtkOptions features;
  features.name = "features";
  features.scp_files = {f.write("x.scp", list)};
  features.dim = 2;
  features.chunk_frames = 300;
  features.context = {{1, 1}};
  Setup setup;
  setup.sources = {features};
  setup.reader.keys = KeyMode::text;
  if (!labels) return setup;
  MlfOptions states;
  states.name = "labels";
  states.files = {f.write("x.mlf", mlf)};
  states.mapping_file = f.write("states", "s\nt\n");
  states.dim = 2;
  setup.sources.push_back(states);
  return setup;
}

Setup frames(const ScratchFolder& f) {
  Setup setup = speech(f, true);
  setup.reader.pack.kind = Packing::frames;
  return setup;
}

Setup truncated(const ScratchFolder& f) {
  Setup setup = speech(f, true);
  setup.reader.pack = {.kind = Packing::truncated, .truncation_length = 5};
  return setup;
}

// Sequences of a dense and a sparse stream.
Setup binary(const ScratchFolder& f, std::uint32_t sequences, std::uint64_t dim, std::uint64_t chunk_bytes) {
  CbfOptions options;
  options.files = {f / "c.cbf"};
  CbfWriter writer(options.files[0],
                   {.streams = {{.name = "a", .dim = dim}, {.name = "b", .dim = 7, .storage = Storage::sparse}},
                    .chunk_bytes = chunk_bytes});
  const std::vector<float> values(dim, 0.5F);
  for (std::uint32_t i = 0; i < sequences; ++i) {
    const auto index = static_cast<std::int32_t>(i % 7);
    const std::uint32_t entries = 1;
    const SequenceData data[] = {{.samples = 1, .values = values.data()},
                                 {.samples = 1, .values = values.data(), .indices = &index, .entries = &entries}};
    writer.append(data);
  }
  writer.commit();
  Setup setup;
  setup.sources = {options};
  return setup;
}

const std::vector<Corpus>& corpora() {
  static const std::vector<Corpus> all = {
      {"text", text},
      {"speech", [](const ScratchFolder& f) { return speech(f, false); }},
      {"joined", [](const ScratchFolder& f) { return speech(f, true); }},
      {"frames", frames},
      {"truncated", truncated},
      {"binary", [](const ScratchFolder& f) { return binary(f, 2000, 2, 8000); }},
  };
  return all;
}

struct Case {
  std::string name;
  const Corpus* corpus;
  OrderKind order;
  std::uint64_t window;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::vector<Case> cases() {
  std::vector<Case> out;
  for (const Corpus& corpus : corpora()) {
    out.push_back({corpus.name + "_file", &corpus, OrderKind::file, 1});
    out.push_back({corpus.name + "_cntk", &corpus, OrderKind::cntk, kWholeSet});
    out.push_back({corpus.name + "_cntk_window", &corpus, OrderKind::cntk, 3});
    out.push_back({corpus.name + "_uniform", &corpus, OrderKind::uniform, 3});
  }
  return out;
}

std::uint64_t epoch(Reader& reader, std::uint64_t number, Minibatch& batch, bool own = false) {
  reader.begin_epoch(number);
  std::uint64_t minibatches = 0;
  while (own && reader.next()) ++minibatches;
  while (reader.next(batch)) ++minibatches;
  return minibatches;
}

class SteadyState : public ::testing::TestWithParam<Case> {
 protected:
  batchfeed::Setup setup(std::uint64_t size, unsigned threads) const {
    batchfeed::Setup out = GetParam().corpus->make(folder_);
    out.reader.order.kind = GetParam().order;
    out.reader.order.window = GetParam().window;
    out.reader.minibatch_size = {size};
    out.reader.prefetch = threads != 0;
    out.reader.threads = threads;
    return out;
  }

  ScratchFolder folder_;
};

constexpr std::uint64_t kWarm = 4, kLast = 8;  // epochs

// The fewest allocations of an epoch when all is warm, and its minibatches.
struct Counted {
  std::uint64_t allocations = ~0ULL, minibatches = 0;
};

Counted count(const batchfeed::Setup& setup, bool own) {
  Reader reader(setup);
  Minibatch batch;
  Counted out;
  for (std::uint64_t e = 0; e < kLast; ++e) {
    const std::uint64_t before = allocations;
    out.minibatches = epoch(reader, e, batch, own);
    if (e >= kWarm) out.allocations = std::min(out.allocations, allocations - before);
  }
  return out;
}

// An epoch may take some for its chunks and its order, whatever the size of its minibatches. With threads as many
// answers more may be under way at once than in the epochs before. So too where each is the caller's own and let go of.
TEST_P(SteadyState, AMinibatchAsksForNoMemory) {
  for (const unsigned threads : {0U, 2U}) {
    for (const bool own : {false, true}) {
      const Counted few = count(setup(200, threads), own), many = count(setup(10, threads), own);
      ASSERT_GE(many.minibatches, few.minibatches + 90);
      const std::uint64_t more = many.minibatches - few.minibatches;
      EXPECT_LE(many.allocations, few.allocations + (threads == 0 ? more / 8 : more * 7 / 8))
          << threads << " threads" << (own ? ", own" : "");
    }
  }
}

// Of this thread, where everything is done: the fewest bytes held after an epoch do not grow.
TEST_P(SteadyState, AnEpochLeavesNothingBehind) {
  Reader reader(setup(50, 0));
  Minibatch batch;
  std::size_t early = ~std::size_t{0}, late = early;
  for (std::uint64_t e = 0; e < 3 * kLast; ++e) {
    epoch(reader, e, batch);
    const struct mallinfo2 held = ::mallinfo2();
    std::size_t& least = e < kLast ? early : late;
    if (e >= kWarm) least = std::min(least, held.uordblks + held.hblkhd);
  }
  if (early == 0) GTEST_SKIP() << "this allocator does not tell what is held";
  EXPECT_LE(late, early + 5000);
}

std::uint64_t resident_bytes() {
  std::uint64_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// What is touched alone counts as resident: the kernel joins pages of memory that asks for large ones where it finds
// time, and then 2 MiB of them are.
class SmallPages {
 public:
  SmallPages() { EXPECT_EQ(::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0); }
  ~SmallPages() { ::prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0); }
  SmallPages(const SmallPages&) = delete;
  SmallPages& operator=(const SmallPages&) = delete;
};

// Of the whole process, minibatches and tables included: 48 MB in chunks of 8.
TEST(SteadyMemory, IsThatOfTheWindowAndWhatIsReadAhead) {
  if (const struct mallinfo2 held = ::mallinfo2(); held.uordblks + held.hblkhd == 0)
    GTEST_SKIP() << "this allocator keeps what is given back";
  const SmallPages small_pages;
  const ScratchFolder folder;
  const batchfeed::Setup setup = binary(folder, 12000, 1000, 8'000'000);
  for (const auto& [order, window] :
       {std::pair(OrderKind::uniform, std::uint64_t{2}), std::pair(OrderKind::cntk, kWholeSet),
        std::pair(OrderKind::file, std::uint64_t{1})}) {
    const std::uint64_t before = resident_bytes();
    batchfeed::Setup one = setup;
    one.reader.order.kind = order;
    one.reader.order.window = window;
    one.reader.minibatch_size = {
        16};  // so that those that wait are few beside pieces of 2 MiB, seven in the files' order
    one.reader.threads = 2;
    Reader reader(one);
    Minibatch batch;
    for (std::uint64_t e = 0; e < kWarm; ++e) epoch(reader, e, batch);
    const std::uint64_t bound = reader.memory_needed() + reader.memory_needed() / 5;
    EXPECT_LE(reader.memory_peak(), bound);
    constexpr std::uint64_t kThreads = 1'000'000;  // their stacks, and what the allocator keeps for each
    EXPECT_LE(resident_bytes() - before, bound + kThreads) << static_cast<int>(order);
    if (window == kWholeSet) {
      EXPECT_GE(resident_bytes() - before, 40'000'000u);  // that it is measured
    }
  }
}

// Each plan lists its window: 512 of them would be 250 MB here.
TEST(SteadyMemory, PlansOfWideWindowsAreFew) {
  ReaderOptions options;
  options.order.kind = OrderKind::cntk;
  options.order.window = kWholeSet;
  options.minibatch_size = {1};
  const auto source = std::make_shared<reader::MemorySource>(
      std::vector<std::vector<std::uint32_t>>(120'000, std::vector<std::uint32_t>{1}));
  const struct mallinfo2 before = ::mallinfo2();
  Reader reader(source, options);
  Minibatch batch;
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(reader.read(batch));
  const struct mallinfo2 after = ::mallinfo2();
  if (after.uordblks + after.hblkhd == 0) GTEST_SKIP() << "this allocator does not tell what is held";
  EXPECT_LE(after.uordblks + after.hblkhd - before.uordblks - before.hblkhd, 120'000'000u);
}

INSTANTIATE_TEST_SUITE_P(Corpora, SteadyState, ::testing::ValuesIn(cases()),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace batchfeed::testing
