// SPDX-License-Identifier: MIT
//
// RELIABILITY 3.7: for every minibatch of runs of every kind a state is taken, and
// restored in a new process, which reads the same rest. This program is also those
// processes: `resume_test --rest CONFIG FOLDER THREADS` and others below.
#include <batchfeed/tools.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

#include "resume/configs.h"
#include "support/batch_hash.h"
#include "support/fault_of.h"

namespace batchfeed::resume {
namespace {

using ::batchfeed::testing::id_of;
using testing::fold;
using testing::hash_of;

constexpr std::size_t kMost = 60;  // minibatches of a run

// Of the minibatches from where `reader` stands, `most` at most.
std::uint64_t hash_of_rest(Reader& reader, std::size_t most) {
  std::uint64_t hash = 0;
  Minibatch batch;
  for (std::size_t i = 0; i < most && reader.read(batch); ++i) hash = fold(hash, hash_of(batch));
  return hash;
}

// A new process of this program; its output.
class Child {
 public:
  explicit Child(const std::vector<std::string>& arguments) {
    // Made before the fork: a child may wait for good for memory whose lock another thread of the parent held.
    std::vector<std::string> all = {"resume_test"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& a : all) argv.push_back(a.data());
    argv.push_back(nullptr);
    int ends[2] = {};
    if (::pipe(ends) != 0) throw std::runtime_error("pipe");
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::close(ends[0]);
      ::close(ends[1]);
      ::execv("/proc/self/exe", argv.data());
      ::_exit(99);
    }
    ::close(ends[1]);
    from_ = ends[0];
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (from_ >= 0) ::close(from_);
    if (pid_ > 0) wait();
  }

  std::string output() const {
    std::string out;
    std::array<char, 4096> block{};
    for (ssize_t n = 0; (n = ::read(from_, block.data(), block.size())) > 0;)
      out.append(block.data(), static_cast<std::size_t>(n));
    return out;
  }
  void kill() const { ::kill(pid_, SIGKILL); }
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return status;
  }

 private:
  pid_t pid_ = 0;
  int from_ = -1;
};

class Resume : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = (std::filesystem::temp_directory_path() / ("batchfeed_resume_" + std::to_string(::getpid()))).string();
    std::filesystem::create_directories(folder_);
    write_data(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string states_file() const { return folder_ + "/states"; }

  std::string folder_;
};

TEST_F(Resume, EveryPlaceGoesOnExactlyInANewProcess) {
  const std::vector<Config> all = configs();
  ASSERT_GE(all.size(), 24u);
  for (std::size_t c = 0; c < all.size(); ++c) {
    std::vector<std::uint64_t> hashes;
    std::vector<std::string> states;
    {
      Reader reader = open(all[c], folder_);
      Minibatch batch;
      states.push_back(reader.state());  // before the first
      while (hashes.size() < kMost && reader.read(batch)) {
        hashes.push_back(hash_of(batch));
        states.push_back(reader.state());  // also behind the last
        EXPECT_LE(states.back().size(), 4096u) << all[c].name;
      }
    }
    ASSERT_GT(hashes.size(), 4u) << all[c].name;
    std::ofstream(states_file()) << [&] {
      std::string text;
      for (const std::string& state : states) text += state + '\n';
      return text;
    }();
    std::string want;
    for (std::size_t at = 0; at < states.size(); ++at) {
      std::uint64_t hash = 0;
      for (std::size_t i = at; i < hashes.size(); ++i) hash = fold(hash, hashes[i]);
      want += std::to_string(hash) + '\n';
    }
    for (const char* threads : {"0", "1", "4"}) {
      const Child child({"--rest", std::to_string(c), folder_, threads, std::to_string(hashes.size())});
      EXPECT_EQ(child.output(), want) << all[c].name << ", threads " << threads;
    }
  }
}

// What 4 workers left, any number takes up: minibatch by minibatch the same sequences.
TEST_F(Resume, TheUnionOverRanksIsTheSameForAnyNumberOfWorkers) {
  const std::vector<Config> all = configs();
  std::size_t elastic = 0;
  for (std::size_t c = 0; c < all.size(); ++c) {
    Config config = all[c];
    if (config.options.shard != Shard::even || config.options.pack.kind == Packing::truncated) continue;
    ++elastic;
    config.options.workers = 4;
    config.options.rank = 2;
    Reader four = open(config, folder_);
    Minibatch batch;
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(four.read(batch)) << config.name;
    std::ofstream(states_file()) << four.state() << '\n';
    std::string first;
    for (const std::uint64_t workers : {4u, 1u, 3u, 8u}) {
      std::vector<std::string> unions(10);
      for (std::uint64_t rank = 0; rank < workers; ++rank) {
        const Child child({"--keys", std::to_string(c), folder_, std::to_string(workers), std::to_string(rank)});
        std::istringstream lines(child.output());
        std::string line;
        for (std::size_t i = 0; std::getline(lines, line); ++i) {
          ASSERT_LT(i, unions.size());
          unions[i] += line;
        }
      }
      std::string text;
      for (const std::string& u : unions) text += u + '\n';
      if (first.empty()) first = text;
      EXPECT_EQ(text, first) << config.name << ", " << workers << " workers";
    }
    EXPECT_GT(first.size(), 20u);
  }
  EXPECT_GE(elastic, 6u);
}

// A process that saves a state every other minibatch is killed at some moment; what
// it left goes on exactly.
TEST_F(Resume, AKilledRunGoesOnFromItsLastState) {
  const std::vector<Config> all = configs();
  for (std::size_t c = 0; c < all.size(); c += 3) {
    std::vector<std::uint64_t> hashes;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> numbers;
    {
      Reader reader = open(all[c], folder_);
      Minibatch batch;
      while (hashes.size() < kMost && reader.read(batch)) {
        hashes.push_back(hash_of(batch));
        numbers.emplace_back(batch.epoch, batch.index);
      }
    }
    std::filesystem::remove(states_file());
    {
      Child child({"--run", std::to_string(c), folder_});
      while (!std::filesystem::exists(states_file())) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::this_thread::sleep_for(std::chrono::milliseconds(c % 7));
      child.kill();
      child.wait();
    }
    Reader again = open(all[c], folder_);
    again.restore(load_state(states_file()));
    Minibatch batch;
    if (!again.read(batch)) continue;  // it had come to the end
    const auto at = std::find(numbers.begin(), numbers.end(), std::pair{batch.epoch, batch.index});
    if (at == numbers.end()) continue;  // beyond what was recorded
    for (auto i = static_cast<std::size_t>(at - numbers.begin()); i < hashes.size(); ++i) {
      ASSERT_EQ(hash_of(batch), hashes[i]) << all[c].name << ", minibatch " << i;
      if (!again.read(batch)) break;
    }
  }
}

TEST_F(Resume, OtherDataOrOptionsAreRefusedByNameForEveryKindOfRun) {
  const std::vector<Config> all = configs();
  for (const Config& config : all) {
    Reader reader = open(config, folder_);
    Minibatch batch;
    ASSERT_TRUE(reader.read(batch));
    const std::string state = reader.state();
    const auto refusal = [&](const Config& other) -> std::string {
      try {
        open(other, folder_).restore(state);
      } catch (const Error& error) {
        return error.fault().id + ' ' + error.fault().what;
      }
      return "accepted";
    };
    EXPECT_EQ(refusal(config), "accepted") << config.name;
    Config other = config;
    other.options.minibatch_size = {31};
    EXPECT_NE(refusal(other).find("state.other-options the state was saved with minibatch_size"), std::string::npos);
    other = config;
    other.options.order.seed = 5;
    if (config.options.order.kind != OrderKind::file) {
      EXPECT_NE(refusal(other).find("with seed = 11"), std::string::npos);
    }
    other = config;
    other.options.last_minibatch = LastMinibatch::cross;
    if (config.options.bucket_minibatches == 0) {
      EXPECT_NE(refusal(other).find("last_minibatch"), std::string::npos);
    }
    std::string damaged = state;
    damaged[damaged.find("position") + 11] ^= 1;
    Reader again = open(config, folder_);
    EXPECT_THROW(again.restore(damaged), Error) << config.name;
  }
  // The same options over other data.
  Config config = all[0];
  Reader reader = open(config, folder_);
  const std::string state = reader.state();
  std::ofstream(folder_ + "/t.ctf", std::ios::app) << "160 |t 1:1\n";
  std::ofstream(folder_ + "/v.ctf", std::ios::app) << "160 |v 1 1\n";
  EXPECT_EQ(id_of([&] { open(config, folder_).restore(state); }), "state.other-data");
}

int rest(const std::vector<std::string>& a) {
  Config config = configs()[std::stoul(a[1])];
  config.options.threads = static_cast<unsigned>(std::stoul(a[3]));
  config.options.prefetch = config.options.threads != 0;
  config.options.prefetch_depth = 1 + 2 * config.options.threads;
  const std::size_t in_all = std::stoul(a[4]);
  std::ifstream states(a[2] + "/states");
  std::string state;
  for (std::size_t at = 0; std::getline(states, state); ++at) {
    Reader reader = open(config, a[2]);
    reader.restore(state);
    std::cout << hash_of_rest(reader, in_all - at) << '\n';
  }
  return 0;
}

int keys(const std::vector<std::string>& a) {
  Config config = configs()[std::stoul(a[1])];
  config.options.workers = std::stoul(a[3]);
  config.options.rank = std::stoul(a[4]);
  Reader reader = open(config, a[2]);
  reader.restore(load_state(a[2] + "/states"));
  Minibatch batch;
  for (int i = 0; i < 10 && reader.read(batch); ++i) {
    for (const std::uint64_t key : batch.keys) std::cout << key << ' ';
    std::cout << '\n';
  }
  return 0;
}

int run(const std::vector<std::string>& a) {
  Reader reader = open(configs()[std::stoul(a[1])], a[2]);
  Minibatch batch;
  for (std::size_t i = 0; reader.read(batch); ++i) {
    if (i % 2 == 0) save_state(a[2] + "/states", reader.state());
    std::this_thread::sleep_for(std::chrono::microseconds(300));
  }
  return 0;
}

}  // namespace
}  // namespace batchfeed::resume

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty()) {
    if (arguments[0] == "--rest") return batchfeed::resume::rest(arguments);
    if (arguments[0] == "--keys") return batchfeed::resume::keys(arguments);
    if (arguments[0] == "--run") return batchfeed::resume::run(arguments);
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
