# SPDX-License-Identifier: MIT
"""What the worker processes of a PyTorch DataLoader have to agree on."""
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
    """What the worker processes of a DataLoader, new for each iteration, have to agree on: the epoch.

    It lies in shared memory. Worker 0 decides, when it opens its reader or is told a state; the others wait for it.
    An iteration is known by the number that Python gave worker 0 among its parent's processes. Those of the others
    follow it, but for processes that other threads make meanwhile. (Seeds may be those of another iteration.)

    It is over when the loop has seen the end, not when the processes have: they read ahead of it. What the loop has taken
    they know when they leave (_was_heard).

    The memory is of the process that makes loaders. A copy has its own, and so has a process that is no loader's worker: they go
    on where this was when they were made.
    """

    MOST = 1024  # worker processes
    # In place of a number: nothing yet; set_epoch(), or this process reads without workers; load_state_dict(); the epoch is over.
    FIRST, CHOSEN, LOADED, OVER = -1, -2, -3, -4

    def __init__(self) -> None:
        self._share(self.FIRST, 0)

    def _share(self, number: int, epoch: int) -> None:
        """Makes memory that is shared with the workers of this process."""
        self._owner, self._made = os.getpid(), (number, epoch)
        _living.add(self)
        # Number of the iteration, its epoch, whether it went on from a loaded state, worker 0's process, how many workers.
        self._now = torch.tensor([number, epoch, 0, 0, 0], dtype=torch.int64).share_memory_()  # type: ignore[no-untyped-call, unused-ignore]
        # By worker: the number of the iteration that it has finished, and the process that cannot say yet whether the loop knows (0: it does).
        self._finished = torch.full((self.MOST, 2), self.FIRST, dtype=torch.int64).share_memory_()  # type: ignore[no-untyped-call, unused-ignore]
        # By number of the first iteration of processes that persist: how many they have had since, and the epoch of the last.
        self._again = torch.zeros((self.MOST, 2), dtype=torch.int64).share_memory_()  # type: ignore[no-untyped-call, unused-ignore]
        self._mine = self.FIRST  # the iteration that this process works for
        self._more = 0  # those since, if it persists
        self._ended = False  # it has come to the end of the last of them
        self._tells = False  # it will say at its exit what came of that

    def part(self) -> None:
        """From another process: what that shares with its workers is not for this one's."""
        if self._owner != os.getpid() and get_worker_info() is None:
            self._share(*self._made)

    def before_another(self) -> None:
        """Another process is to be made, a worker or one that reads for itself; or a copy."""
        self.part()
        self._made = self._coming()

    def __getstate__(self) -> dict[str, Any]:
        self.before_another()
        return self.__dict__ if get_spawning_popen() else {"_made": self._made}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_now" in state and self._now.is_shared():  # with a process that was spawned
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
        """The state to load, or else the epoch to begin. `reader`: a new one; `own`: the state is this process's alone."""
        if worker is None:
            self.part()
            return (state if self._now[0] == self.LOADED else None), self._decide(None, reader)[0]
        if not self._leads(worker):
            self._await(worker)
        elif self._mine == self.FIRST:
            self._publish(worker, *self._decide(state, reader))
        return (state if own or self._now[2] else None), int(self._now[1])

    def again(self, worker: Any, epoch: int) -> int:
        """The epoch of another iteration of processes that persist, which is `epoch` to this one.

        Worker 0's word counts: of an iteration that was left early, some are at the end and some are not.
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
        """Worker 0 does; of a dataset that each has made for itself, each."""
        return worker.id == 0 or self._owner == os.getpid()

    def _publish(self, worker: Any, epoch: int, loaded: bool) -> None:
        self._mine = _number()
        self._again[self._mine % self.MOST] = 0
        self._now[0] = self.FIRST  # so that nobody sees an older number with what is new
        self._now[1:] = torch.tensor([epoch, loaded, os.getpid(), worker.num_workers])
        self._now[0] = self._mine  # now the others may look

    def _await(self, worker: Any) -> None:
        number, parent, began = _number(), os.getppid(), time.monotonic()
        while True:
            workers, self._mine = int(self._now[4]), int(self._now[0])  # in this order (_publish)
            if workers == worker.num_workers:
                # Of as many workers, one of an iteration before is further away.
                if number - workers - worker.id < self._mine <= number:
                    return
                if time.monotonic() - began > 1 and 0 <= self._mine <= number and _lives(int(self._now[3])):
                    return  # many processes were made between worker 0's and this
            _pause(parent)

    def _coming(self) -> tuple[int, int]:
        """What stands in place of a number once the iteration is over or was left, and its epoch."""
        number, epoch, _, _, workers = self._now.tolist()
        if number < 0:
            return number, epoch
        # One that was killed has not said it.
        finished = self._finished[:workers].tolist()
        over = all(own == number and (process == 0 or not _lives(process)) for own, process in finished)
        return self.OVER if over else self.CHOSEN, epoch

    def _decide(self, state: Optional[Mapping[str, Any]], reader: Reader) -> tuple[int, bool]:
        """The epoch, and whether it goes on from the state."""
        number, epoch = self._coming()
        if number == self.LOADED and state is not None:
            epoch = int(state["epoch"])
            return (reader._after(epoch), False) if state["ended"] else (epoch, True)
        if number == self.OVER:
            return reader._after(epoch), False
        return epoch if number == self.CHOSEN else reader.epoch, False

    def end(self, worker: Any, *, surely: bool = False) -> None:
        """`surely`: of a loop that is restored, and known not to ask for more."""
        self._ended = True
        if self._finished[worker.id].tolist() != [self._mine, 0]:
            self._finished[worker.id] = torch.tensor([self._mine, 0 if surely or _channels() is None else os.getpid()])
        if not self._tells:
            self._tells = True
            multiprocessing.util.Finalize(None, self._leave, args=(worker.id,), exitpriority=10)

    def _leave(self, place: int) -> None:
        channels = _channels()
        if channels is None or not self._ended or self._finished[place, 0] not in (self._mine, self.FIRST):
            return
        self._finished[place] = torch.tensor([self._mine if _was_heard(*channels) else self.FIRST, 0])


# Those that a fork concerns: nobody asks a dataset before a loader makes its workers.
_living: weakref.WeakSet[Iterations] = weakref.WeakSet()


def _before_fork() -> None:
    for one in list(_living):
        one.before_another()


os.register_at_fork(before=_before_fork)


def _number() -> int:
    """Of this process among its parent's: they rise."""
    return int(multiprocessing.current_process()._identity[-1])


def _channels() -> Optional[tuple[Any, Any]]:
    """What a DataLoader gave this process: the queue of what it answers, and the event that is set when the loader goes away."""
    given: Any = getattr(multiprocessing.current_process(), "_args", ())
    if len(given) < 5 or not hasattr(given[3], "qsize") or not hasattr(given[4], "is_set"):
        return None
    return given[3], given[4]


def _was_heard(answers: Any, gone: Any) -> bool:
    """Whether the loader has taken all that this process, which leaves, has answered.

    A loader lets go of a process whose end it has heard of before it goes away itself; and if it goes away behind the last end
    that it waited for, no answer is left.
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
