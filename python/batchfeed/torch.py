# SPDX-License-Identifier: MIT
"""PyTorch: a dataset whose items are minibatches of tensors.

    from torch.utils.data import DataLoader
    import batchfeed.torch

    dataset = batchfeed.torch.Dataset("train.cntk", section="Train.reader", minibatch_samples=256)
    for batch in DataLoader(dataset, batch_size=None, num_workers=2):
        loss = model(batch["features"], batch["labels"])

batchfeed reads ahead and parses on threads of its own, so num_workers=0 is usually as fast. With more the
stream is the same, minibatch by minibatch.
"""
from __future__ import annotations

import copy
import multiprocessing
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from multiprocessing.context import get_spawning_popen
from typing import TYPE_CHECKING, Any, Callable, Optional, SupportsIndex, Union

import torch
from torch.utils.data import IterableDataset, get_worker_info

from ._batch import Batch
from ._errors import Fault, StateError, usage
from ._convert import need_form
from ._files import Limits, StorageOptions
from ._given import Path, flag, function, mapping, whole
from ._iterations import Iterations
from ._open import What, look_at, opening_of
from ._options import ReaderKeywords, show_keywords, unexpected
from ._reader import Reader
from ._told import log
from ._world import World, world

if TYPE_CHECKING:
    from typing_extensions import Unpack

OWN = ("stride", "offset")  # keywords of a reader that this module sets itself
Form = Union[str, Mapping[str, str]]


class Dataset(IterableDataset[Any]):
    """Minibatches as {name: tensor}; for DataLoader(dataset, batch_size=None).

    `what` is what open() or Reader() take, and so are the keywords. `form`: the form of the tensors ("packed",
    "padded", "nested", "coo", "classes"; or one for each stream, {"x": "padded"}; see Stream.torch). `transform`:
    instead of that, a function that makes an item of a Batch, which has the lengths of its sequences, too.
    `pin_memory`: if CUDA is available, tensors (not what `transform` makes) are copied to pinned memory; not in the
    worker processes of a DataLoader, which pins what they send if its own `pin_memory` says so. This was tested with
    stand-ins for CUDA only.

    Rank and world come from torch.distributed, or from the environment (batchfeed.world), unless `workers`
    and `rank` are given (the processes of a DataLoader are its num_workers); minibatch sizes count samples over
    all ranks. Iterating again gives the next epoch. A copy, or the dataset in a rank that was forked or spawned with
    it, goes on by itself from the same place.

    Options, each by itself, configurations and local files are checked here, so that their errors are not raised first in
    a worker process; a corpus is opened, and options that exclude each other are refused, in the process that reads it.
    """

    def __init__(
        self,
        what: What,
        *,
        form: Form = "packed",
        transform: Optional[Callable[[Batch], Any]] = None,
        pin_memory: bool = False,
        section: str = "",
        set: Sequence[str] = (),
        dtype: Any = None,
        state_list: Optional[Path] = None,
        path_map: Optional[Mapping[str, str]] = None,
        limits: Optional[Limits] = None,
        storage_options: StorageOptions = None,
        report: Optional[Callable[[Fault], None]] = log,
        **options: Unpack[ReaderKeywords],
    ) -> None:
        super().__init__()
        for one in form.values() if isinstance(form, Mapping) else [form]:
            need_form(one)
        function("transform", transform, "a function of a bf.Batch, or None")
        function("report", report, "a function of a Fault, or None")
        for name in options:
            if name not in ReaderKeywords.__annotations__ or name in OWN:
                raise unexpected(name, but=OWN)
        self._opening = opening_of(what, section, set, dtype, limits, storage_options, options, state_list, path_map)
        look_at(self._opening)
        self._world: Optional[tuple[int, World]] = None  # id and world of the process that spawned this one
        if "workers" in options:
            self._share(0)
        self._form, self._transform, self._pin_memory = form, transform, flag("pin_memory", pin_memory)
        self._report = report
        self._iterations = Iterations()
        self._reader: Optional[Reader] = None
        self._pid = os.getpid()  # the process that opened the reader
        self._offset = 0  # which of every num_workers minibatches the reader gives
        self._state: Optional[Mapping[str, Any]] = None  # where the next loop goes on
        self._rest: Optional[Iterator[Batch]] = None  # of the loop that a StatefulDataLoader has restored in this process

    def _world_here(self) -> World:
        """This process's rank and number of workers. A spawned worker of a DataLoader cannot ask torch.distributed, and
        takes those that its parent process found."""
        given = self._opening.options
        if "workers" in given and ("rank" in given or given["workers"] == 1):
            return {"workers": given["workers"], "rank": given.get("rank", 0)}
        parent = multiprocessing.parent_process()
        if self._world is not None and get_worker_info() is not None and parent is not None and parent.pid == self._world[0]:
            return self._world[1]
        return world()

    def _share(self, offset: int) -> dict[str, int]:
        """The options of a reader that reads this process's part of the minibatches."""
        given, here = self._opening.options, self._world_here()
        if "rank" not in given and given.get("workers", here["workers"]) != here["workers"]:
            hint = "every rank says its own, rank=0 ...; the processes of a DataLoader are its num_workers="
            raise usage("python.option", f"workers is {given['workers']}, and no rank is given", hint)
        out: dict[str, Any] = {**here, **given}
        info = get_worker_info()
        if info is not None and info.num_workers > 1:
            out.update(stride=info.num_workers, offset=offset)
        if info is not None and "threads" not in given:
            out["threads"] = max(1, (os.cpu_count() or 1) // info.num_workers)
        return out

    def _open(self, offset: int) -> Reader:
        self._reader = Reader._of(replace(self._opening, options=self._share(offset)), self._report)
        self._pid, self._offset = os.getpid(), offset
        return self._reader

    def _here(self, offset: Optional[int] = None) -> Reader:
        """This process's reader, at the place where the next loop goes on. `offset`: given if a StatefulDataLoader
        restores that place."""
        worker, reader = get_worker_info(), self._reader
        if reader is None or os.getpid() != self._pid:
            reader = self._open(_place(worker) if offset is None else offset)
            self._state, epoch = self._iterations.begin(worker, self._state, reader, own=offset is not None)
            if offset is None and worker is not None and self._state is not None:
                # Any other loader takes its first minibatch from worker 0, also in mid-epoch: offsets count from there.
                offset = (worker.id + int(self._state["minibatch"])) % worker.num_workers
                if offset != self._offset:
                    reader = self._open(offset)
            reader.begin_epoch(epoch)
        elif worker is None and self._iterations.are_of_workers():  # worker processes have read since this one did
            self._state, epoch = self._iterations.begin(worker, None, reader, own=False)
            if (_coming(reader), reader._core.read, reader._core.loop) != (epoch, 0, 0):  # else the reader is there already
                reader.begin_epoch(epoch)
        if self._state is not None:
            reader.load_state_dict(self._state)
            given = self._opening.options
            leaves_out = given.get("last_minibatch") == "drop" or given.get("long_sequence") == "skip"
            if worker is None and offset is None and leaves_out and reader._core.remaining == 0:
                # Nothing comes of this epoch but what is left out: the next loop is not to be an empty one.
                reader.begin_epoch(_coming(reader) + (0 if reader._core.over else 1))
                self._state = None
        return reader

    def _loop(self) -> Iterator[Batch]:
        """The minibatches of the next loop."""
        rest, self._rest = self._rest, None
        if rest is not None:
            return rest
        worker, reader = get_worker_info(), self._here()
        self._state = None
        epoch = reader._coming()
        if worker is None:
            self._iterations.choose(_coming(reader))
        elif epoch is not None:
            if worker.dataset is self:  # not if a dataset around it may loop over it several times
                epoch = self._iterations.again(worker, epoch)
            if self._offset != worker.id:  # the loop before began in mid-epoch
                reader = self._open(worker.id)
            reader.begin_epoch(epoch)
        return iter(reader)

    def _restored(self, offset: int) -> Iterator[Batch]:
        """The rest of a restored loop: nothing at the end of its epoch, as the next epoch is for the next loop."""
        worker, reader = get_worker_info(), self._here(offset)
        self._state = None
        if worker is None:
            self._iterations.choose(_coming(reader))
            return iter(()) if reader._core.over else iter(reader)
        left = 0 if reader._core.over else reader._core.remaining

        def rest() -> Iterator[Batch]:
            for number, batch in enumerate(reader, 1):
                if number == left:
                    self._iterations.end(worker, surely=True)
                yield batch

        # rest() notes the end with the last minibatch, as a loader that was saved behind the loop asks for no more.
        if left == 0:
            self._iterations.end(worker, surely=True)
        return iter(()) if reader._core.over else rest()

    def _end(self) -> None:
        """A loop has come to its end."""
        worker = get_worker_info()
        if worker is not None:
            self._iterations.end(worker)
        elif self._reader is not None:
            self._iterations.choose(_coming(self._reader))

    def __iter__(self) -> Iterator[Any]:
        return _Loop(self)

    def _item(self, batch: Batch) -> Any:
        if self._transform is not None:
            return self._transform(batch)
        tensors = batch.torch(self._form)
        # A forked worker must not touch CUDA.
        if self._pin_memory and get_worker_info() is None and torch.cuda.is_available():
            return {name: _pinned(tensor) for name, tensor in tensors.items()}
        return tensors

    def _give_back(self, batch: Batch) -> None:
        if self._reader is not None and os.getpid() == self._pid:
            self._reader._core.give_back(batch)

    def __len__(self) -> int:
        """Minibatches of this rank in the epoch."""
        return len(self._here())

    def __bool__(self) -> bool:
        return True

    def __contains__(self, name: object) -> bool:
        """Whether there is a stream of that name."""
        return name in self._here()

    @property
    def epoch(self) -> int:
        """The number of the epoch that the next loop reads; inside a loop, of the epoch that this one reads.

        `while dataset.epoch < 10:` around a loop with num_workers=0 does as many epochs in all whether a state was loaded
        or not. Raises ConfigError if worker processes have read the dataset: there `for epoch in range(10):` counts loops.
        """
        self._expect_own_reader("count loops, and save the count beside the loader's state")
        return _coming(self._here())

    def set_epoch(self, epoch: int) -> None:
        """The next loop reads the epoch of this number. Persistent worker processes that are there already do not."""
        epoch = whole("epoch", epoch)
        self._iterations.choose(epoch)
        self._state = None
        if self._reader is not None and os.getpid() == self._pid:
            self._reader.begin_epoch(epoch)

    # Checkpoints: torchdata's StatefulDataLoader and torch.distributed.checkpoint ask for these.

    def state_dict(self) -> dict[str, Any]:
        """The place behind the last item that was handed out.

        Where worker processes of a DataLoader read, only a torchdata.stateful_dataloader.StatefulDataLoader knows
        which item that is: ConfigError then, and its own state_dict() tells.
        """
        worker = get_worker_info()
        self._expect_own_reader("torchdata's StatefulDataLoader keeps the place: take its state_dict()")
        if worker is not None:
            return {**self._here().state_dict(), "offset": self._offset, "num_workers": worker.num_workers}
        return dict(self._state) if self._state is not None else self._here().state_dict()

    def _expect_own_reader(self, hint: str) -> None:
        if get_worker_info() is None and self._iterations.are_of_workers():
            what = "worker processes read this dataset, ahead of what their DataLoader has handed out"
            raise usage("python.state-of-workers", what, hint)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The next loop goes on where the state was taken, with any number of worker processes. Persistent ones that are
        there already do not. Raises StateError for a state that is damaged.

        A state from behind the last minibatch of an epoch goes on with the next epoch. (In a StatefulDataLoader a state
        from inside the loop then gives a loop without items first, which ends the epoch as without the stop; a state
        from behind the loop does not.)
        """
        worker, given = get_worker_info(), mapping("a state", state, "state_dict() gives")
        for name in ("epoch", "minibatch", "ended"):  # needed before there is a reader, which checks the state
            if not isinstance(given.get(name), SupportsIndex):
                raise _state_error("state.damaged", f"the saved state is damaged: no number '{name}'", "use another saved state")
        self._state = given
        self._iterations.load(worker, self._state)
        if worker is not None:  # a StatefulDataLoader restores this worker
            own = dict(given)
            offset, before = int(own.pop("offset")), int(own.pop("num_workers", worker.num_workers))
            self._state = own
            if before != worker.num_workers:
                what = f"the state is of a StatefulDataLoader with num_workers={before}, this one has num_workers={worker.num_workers}"
                hint = f"give this one num_workers={before}; only a state of the dataset itself, read with num_workers=0, goes on with any"
                raise _state_error("python.state-workers", what, hint)
            self._rest = self._restored(offset)

    def __getstate__(self) -> dict[str, Any]:
        state = {**self.__dict__, "_reader": None}
        if get_spawning_popen():
            return {**state, "_world": (os.getpid(), self._world_here())}
        return {**state, "_iterations": copy.copy(self._iterations)}

    def __repr__(self) -> str:
        return f"<batchfeed.torch.Dataset of {self._opening}>"


show_keywords(Dataset.__init__, Dataset, but=OWN)


class _Loop:
    """A loop over a dataset. A StatefulDataLoader saves and restores it, too: so a restored loop is told from a new one."""

    def __init__(self, data: Dataset) -> None:
        self._data = data
        self._batches: Optional[Iterator[Batch]] = None

    def __iter__(self) -> _Loop:
        return self

    def __next__(self) -> Any:
        batch = next(self._begin(), None)
        if batch is None:
            self._data._end()
            raise StopIteration
        try:
            return self._data._item(batch)
        except StopIteration as error:  # would end the loop, as if all were read
            raise RuntimeError("StopIteration was raised in transform") from error
        except Exception:
            raise
        except BaseException:  # Ctrl-C: this minibatch is the next one again
            self._data._give_back(batch)
            raise

    def _begin(self) -> Iterator[Batch]:
        if self._batches is None:
            self._batches = self._data._loop()
        return self._batches

    def state_dict(self) -> dict[str, Any]:
        self._begin()  # so that the dataset's state is the place where this loop begins
        return {"begun": True}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if get_worker_info() is None:  # in worker processes the dataset's state restores the loop
            self._batches = self._data._restored(0)


def _state_error(id: str, what: str, hint: str) -> StateError:
    return StateError(Fault("state", id, what, f"batchfeed: {what}; hint: {hint}", hint=hint))


def _coming(reader: Reader) -> int:
    """The epoch that the next loop reads, or reads the rest of."""
    coming = reader._coming()
    return reader.epoch if coming is None else coming


def _place(worker: Any) -> int:
    """The place of this process in the order in which a DataLoader asks its workers."""
    return 0 if worker is None else int(worker.id)


def _pinned(tensor: Any) -> Any:
    """A copy in pinned memory. Sparse and nested tensors are pinned by their parts, as not every version of PyTorch can pin
    them whole."""
    if tensor.layout == torch.sparse_csr:
        rows, columns, values = (part.pin_memory() for part in (tensor.crow_indices(), tensor.col_indices(), tensor.values()))
        return torch.sparse_csr_tensor(rows, columns, values, tensor.shape, check_invariants=False)
    if tensor.layout == torch.sparse_coo:
        indices, values = tensor._indices().pin_memory(), tensor._values().pin_memory()
        return torch.sparse_coo_tensor(indices, values, tensor.shape, check_invariants=False, is_coalesced=tensor.is_coalesced())
    if tensor.is_nested:
        return torch.nested.nested_tensor_from_jagged(tensor.values().pin_memory(), tensor.offsets().pin_memory())
    return tensor.pin_memory()
