# SPDX-License-Identifier: MIT
"""Which of how many workers this process is."""
from __future__ import annotations

import os
import sys
from typing import TypedDict

from ._errors import usage

# (launcher, variable of the rank, variable of the number of workers). To a batch script itself Slurm also gives rank 0
# of all tasks, but no step, so that it reads everything.
LAUNCHERS = (
    ("torchrun", "RANK", "WORLD_SIZE"),
    ("Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    ("Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("MPICH", "PMI_RANK", "PMI_SIZE"),
)


class World(TypedDict):
    workers: int
    rank: int


def world() -> World:
    """{"workers": N, "rank": K} for a Reader: ``bf.open("train.cntk", **bf.world())``.

    From torch.distributed or jax.distributed if one is at work, else from the environment that torchrun, Slurm,
    Open MPI or MPICH sets; one worker if there is nothing of the kind.
    """
    torch = sys.modules.get("torch")
    if torch is not None and torch.distributed.is_available() and torch.distributed.is_initialized():
        return {"workers": torch.distributed.get_world_size(), "rank": torch.distributed.get_rank()}
    jax = sys.modules.get("jax")
    # Older versions have no is_initialized(), and jax.process_count() would start a backend too early for jax.distributed.
    begun = getattr(getattr(jax, "distributed", None), "is_initialized", None)
    if jax is not None and begun is not None and begun():
        return {"workers": jax.process_count(), "rank": jax.process_index()}
    for who, rank_name, workers_name in LAUNCHERS:
        rank, workers = os.environ.get(rank_name), os.environ.get(workers_name)
        if not rank or not workers:
            continue
        if not (rank.isdecimal() and workers.isdecimal() and int(rank) < int(workers)):
            raise usage(
                "python.world",
                f"{rank_name} is {rank!r} and {workers_name} is {workers!r}, expected a number below another ({who})",
                "give workers= and rank=",
            )
        return {"workers": int(workers), "rank": int(rank)}
    return {"workers": 1, "rank": 0}
