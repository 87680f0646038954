# SPDX-License-Identifier: MIT
"""The epoch, on which the worker processes of a PyTorch DataLoader have to agree."""
from __future__ import annotations

import multiprocessing
import multiprocessing.util
import os
import time
import weakref
from collections.abc import Mapping
from multiprocessing.context import get_spawning_popen
from typing import Any, Optional

import torch
from torch.utils.data import get_worker_info

from ._reader import Reader


class Iterations:
    """The epoch on which the worker processes of a DataLoader, new ones for each iteration, have to agree.

    It lies in shared memory. Worker 0 decides it, when it opens its reader or loads a state; the others wait for that.
    The number of an iteration is the one that Python's multiprocessing gave worker 0 among its parent's processes. The
    numbers of the other workers follow it, unless other threads make processes meanwhile. (The DataLoader's seed does
    not identify an iteration: it may be that of another one.)

    An iteration is over when the loop has seen its end, not when the processes have: these read ahead. Only when a
    process exits does it know what the loop has taken (_was_heard).

    The memory belongs to the process that makes loaders. A copy has memory of its own, and so has a process that is not
    a loader's worker; they go on from where this one was when they were made.
    """

    MOST = 1024  # worker processes of a loader, at most
    # Codes in place of an iteration's number: there was none; set_epoch(), or this process, which reads without workers,
    # has chosen the epoch; load_state_dict() was called; the epoch is over.
    FIRST, CHOSEN, LOADED, OVER = -1, -2, -3, -4

    def __init__(self) -> None:
        self._share(self.FIRST, 0)

    def _share(self, number: int, epoch: int) -> None:
        """Makes memory that is shared with the workers of this process."""
        self._owner, self._made = os.getpid(), (number, epoch)
        _living.add(self)
        # [number of the iteration or a code, its epoch, whether it went on from a loaded state, worker 0's pid, workers]
        self._now = torch.tensor([number, epoch, 0, 0, 0], dtype=torch.int64).share_memory_()  # type: ignore[no-untyped-call, unused-ignore]
        # By worker: [number of the iteration that it has finished, 0 if the loop knows that; else the worker's pid]
        self._finished = torch.full((self.MOST, 2), self.FIRST, dtype=torch.int64).share_memory_()  # type: ignore[no-untyped-call, unused-ignore]
        # Of processes that persist, by the number of their first iteration: [iterations since, epoch of the last]
        self._again = torch.zeros((self.MOST, 2), dtype=torch.int64).share_memory_()  # type: ignore[no-untyped-call, unused-ignore]
        self._mine = self.FIRST  # the iteration that this process was made for
        self._more = 0  # iterations since that one, if it persists
        self._ended = False  # whether it has come to the end of the last of them
        self._tells = False  # whether _leave() will be called at its exit

    def part(self) -> None:
        """Makes memory of its own if this was copied by a fork into a process that is not a loader's worker."""
        if self._owner != os.getpid() and get_worker_info() is None:
            self._share(*self._made)

    def before_another(self) -> None:
        """Notes where another process, or a copy, that is about to be made would go on."""
        self.part()
        self._made = self._coming()

    def __getstate__(self) -> dict[str, Any]:
        self.before_another()
        return self.__dict__ if get_spawning_popen() else {"_made": self._made}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_now" in state and self._now.is_shared():  # shared with this process, which was spawned
            _living.add(self)
        else:
            self._share(*self._made)

    def choose(self, epoch: int) -> None:
        self.part()
        self._now[1] = epoch
        self._now[0] = self.CHOSEN

    def load(self, worker: Any, state: Mapping[str, Any]) -> None:
        if worker is None:
            self.part()
            self._now[0] = self.LOADED
        elif self._leads(worker):
            self._publish(worker, int(state["epoch"]), True)

    def are_of_workers(self) -> bool:
        self.part()
        return int(self._now[0]) >= 0

    def begin(
        self, worker: Any, state: Optional[Mapping[str, Any]], reader: Reader, *, own: bool
    ) -> tuple[Optional[Mapping[str, Any]], int]:
        """(state to load or None, epoch to begin) for a new `reader`. `own`: the state is for this process alone."""
        if worker is None:
            self.part()
            return (state if self._now[0] == self.LOADED else None), self._decide(None, reader)[0]
        if not self._leads(worker):
            self._await(worker)
        elif self._mine == self.FIRST:
            self._publish(worker, *self._decide(state, reader))
        return (state if own or self._now[2] else None), int(self._now[1])

    def again(self, worker: Any, epoch: int) -> int:
        """The epoch of another iteration of processes that persist; `epoch`: the one that this process would read.

        All read worker 0's: after an iteration that was left early some are at the end of their epoch, and some are not.
        """
        now, parent, began = self._again[self._mine % self.MOST], os.getppid(), time.monotonic()
        self._more += 1
        self._ended = False
        self._finished[worker.id] = self.FIRST
        if self._leads(worker):
            if self._now[0] == self._mine:
                self._now[1] = epoch
            now[1] = epoch
            now[0] = self._more
        while now[0] < self._more:
            if time.monotonic() - began > 60:
                return epoch  # worker 0 has failed
            _pause(parent)
        return int(now[1])

    def _leads(self, worker: Any) -> bool:
        """Whether this process decides: worker 0 does, or each if it has made a dataset of its own."""
        return worker.id == 0 or self._owner == os.getpid()

    def _publish(self, worker: Any, epoch: int, loaded: bool) -> None:
        self._mine = _number()
        self._again[self._mine % self.MOST] = 0
        self._now[0] = self.FIRST  # so that no process sees the old number beside new values
        self._now[1:] = torch.tensor([epoch, loaded, os.getpid(), worker.num_workers])
        self._now[0] = self._mine  # now the others may look

    def _await(self, worker: Any) -> None:
        number, parent, began = _number(), os.getppid(), time.monotonic()
        while True:
            workers, self._mine = int(self._now[4]), int(self._now[0])  # in this order (_publish)
            if workers == worker.num_workers:
                # The number of an earlier iteration with as many workers would be further away.
                if number - workers - worker.id < self._mine <= number:
                    return
                if time.monotonic() - began > 1 and 0 <= self._mine <= number and _lives(int(self._now[3])):
                    return  # many processes were made between worker 0's and this
            _pause(parent)

    def _coming(self) -> tuple[int, int]:
        """(code, epoch) from which the next iteration goes on: OVER or CHOSEN for an iteration that is over or was left."""
        number, epoch, _, _, workers = self._now.tolist()
        if number < 0:
            return number, epoch
        # A process that was killed has not noted whether the loop knows: it counts as finished.
        finished = self._finished[:workers].tolist()
        over = all(own == number and (process == 0 or not _lives(process)) for own, process in finished)
        return self.OVER if over else self.CHOSEN, epoch

    def _decide(self, state: Optional[Mapping[str, Any]], reader: Reader) -> tuple[int, bool]:
        """(epoch to read, whether it goes on from the state)"""
        number, epoch = self._coming()
        if number == self.LOADED and state is not None:
            epoch = int(state["epoch"])
            return (reader._after(epoch), False) if state["ended"] else (epoch, True)
        if number == self.OVER:
            return reader._after(epoch), False
        return epoch if number == self.CHOSEN else reader.epoch, False

    def end(self, worker: Any, *, surely: bool = False) -> None:
        """Notes that this process has come to the end of its loop. `surely`: and that the loop knows, as it is a restored
        one that asks for no more."""
        self._ended = True
        if self._finished[worker.id].tolist() != [self._mine, 0]:
            self._finished[worker.id] = torch.tensor([self._mine, 0 if surely or _channels() is None else os.getpid()])
        if not self._tells:
            self._tells = True
            multiprocessing.util.Finalize(None, self._leave, args=(worker.id,), exitpriority=10)

    def _leave(self, place: int) -> None:
        """At the exit of this process, notes whether the loop knows that it has come to its end."""
        channels = _channels()
        if channels is None or not self._ended or self._finished[place, 0] not in (self._mine, self.FIRST):
            return
        self._finished[place] = torch.tensor([self._mine if _was_heard(*channels) else self.FIRST, 0])


# All Iterations, for _before_fork(): a loader that forks its workers does not tell the dataset.
_living: weakref.WeakSet[Iterations] = weakref.WeakSet()


def _before_fork() -> None:
    for one in list(_living):
        one.before_another()


os.register_at_fork(before=_before_fork)


def _number() -> int:
    """The number of this process among its parent's processes, which are numbered in the order they are made."""
    return int(multiprocessing.current_process()._identity[-1])


def _channels() -> Optional[tuple[Any, Any]]:
    """What a DataLoader gave this process: the queue of its answers, and the event that is set when the loader goes away."""
    given: Any = getattr(multiprocessing.current_process(), "_args", ())
    if len(given) < 5 or not hasattr(given[3], "qsize") or not hasattr(given[4], "is_set"):
        return None
    return given[3], given[4]


def _was_heard(answers: Any, gone: Any) -> bool:
    """Whether the loader has taken all answers of this process, which is about to exit.

    A loader that has heard of a process's end lets it exit before it goes away itself (`gone` is not set). If the loader
    goes away because that was the last end it waited for, no answer is left in the queue.
    """
    return not gone.is_set() or answers.qsize() == 0


def _pause(parent: int) -> None:
    if os.getppid() != parent:
        raise SystemExit("the process of the DataLoader is gone")
    time.sleep(0.001)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True
