// SPDX-License-Identifier: MIT
#include "environment.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "command.h"

namespace batchfeed::cli {

namespace {

struct Launcher {
  const char* name;
  const char* rank;
  const char* workers;
};
// Slurm sets SLURM_PROCID to 0 for a batch script itself, too, but no number of tasks of a step: that reads everything.
constexpr std::array<Launcher, 4> kLaunchers = {{
    {"torchrun", "RANK", "WORLD_SIZE"},
    {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"MPICH", "PMI_RANK", "PMI_SIZE"},
}};

std::uint64_t number(const char* variable, std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) {
    throw UsageError(fmt::format("environment variable {} is '{}', expected a number; hint: give --workers and --rank",
                                 variable, text));
  }
  return value;
}

}  // namespace

std::optional<World> world_from_environment() {
  for (const Launcher& launcher : kLaunchers) {
    const char* rank = std::getenv(launcher.rank);
    const char* workers = std::getenv(launcher.workers);
    if (rank == nullptr || workers == nullptr || *rank == '\0' || *workers == '\0') continue;
    World world{.workers = number(launcher.workers, workers),
                .rank = number(launcher.rank, rank),
                .from = fmt::format("{} and {} ({})", launcher.rank, launcher.workers, launcher.name)};
    if (world.rank >= world.workers) {
      throw UsageError(fmt::format("{} = {} must be below {} = {}; hint: give --workers and --rank", launcher.rank,
                                   world.rank, launcher.workers, world.workers));
    }
    return world;
  }
  return std::nullopt;
}

}  // namespace batchfeed::cli
