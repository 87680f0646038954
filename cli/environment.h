// SPDX-License-Identifier: MIT
//
// The rank of this process and the number of workers, as launchers set them in the environment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace batchfeed::cli {

struct World {
  std::uint64_t workers = 1, rank = 0;
  std::string from;  // the variables and their launcher: "RANK, WORLD_SIZE (torchrun)"
};

// torchrun, Slurm, Open MPI, MPICH, in this order; nothing if no pair is set.
// Throws UsageError if a pair makes no sense.
std::optional<World> world_from_environment();

}  // namespace batchfeed::cli
