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

OWN = ("stride", "offset")  # keywords of a reader that are this module's to give
Form = Union[str, Mapping[str, str]]


class Dataset(IterableDataset[Any]):
    """Minibatches as {name: tensor}; for DataLoader(dataset, batch_size=None).

    `what` is what open() or Reader() take, and so are the keywords. `form`: how tensors look ("packed",
    "padded", "nested", "coo", "classes"; or one for each stream, {"x": "padded"}; see Stream.torch). `transform`:
    instead of that, a function that makes an item of a Batch, which knows the lengths of its sequences too. `pin_memory`: where CUDA is there, tensors (not what
    `transform` makes) are copied to pinned memory; not in the worker processes of a DataLoader, which pins what
    they send if its own `pin_memory` says so. No test has had CUDA: they put stand-ins for it.

    Rank and world come from torch.distributed, or from the environment (batchfeed.world), unless `workers`
    and `rank` are given (the processes of a DataLoader are its num_workers); minibatch sizes count samples over
    all ranks. Iterating again gives the next epoch. A copy, or a rank that is forked or spawned with it, goes on by
    itself from where it was.

    Options, configurations and local files are looked at here, so that what is wrong with them is not first told
    by a worker process; a corpus is opened where it is read.
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
        self._world: Optional[tuple[int, World]] = None  # of the process that has spawned this one
        if "workers" in options:
            self._share(0)
        self._form, self._transform, self._pin_memory = form, transform, flag("pin_memory", pin_memory)
        self._report = report
        self._iterations = Iterations()
        self._reader: Optional[Reader] = None
        self._pid = os.getpid()  # whose reader it is
        self._offset = 0  # its minibatches are this one of every num_workers
        self._state: Optional[Mapping[str, Any]] = None  # where the next loop goes on
        self._rest: Optional[Iterator[Batch]] = None  # of the loop that a StatefulDataLoader has restored in this process

    def _world_here(self) -> World:
        """This process's; a worker that was spawned cannot ask torch.distributed, and is told by the process that made it."""
        given = self._opening.options
        if "workers" in given and ("rank" in given or given["workers"] == 1):
            return {"workers": given["workers"], "rank": given.get("rank", 0)}
        parent = multiprocessing.parent_process()
        if self._world is not None and get_worker_info() is not None and parent is not None and parent.pid == self._world[0]:
            return self._world[1]
        return world()

    def _share(self, offset: int) -> dict[str, int]:
        """Which part of the stream is this process's."""
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
        """This process's reader, at the place where it should go on. `offset`: where a StatefulDataLoader restores that place."""
        worker, reader = get_worker_info(), self._reader
        if reader is None or os.getpid() != self._pid:
            reader = self._open(_place(worker) if offset is None else offset)
            self._state, epoch = self._iterations.begin(worker, self._state, reader, own=offset is not None)
            if offset is None and worker is not None and self._state is not None:
                # Every other loader asks worker 0 for the first minibatch, whatever its number.
                offset = (worker.id + int(self._state["minibatch"])) % worker.num_workers
                if offset != self._offset:
                    reader = self._open(offset)
            reader.begin_epoch(epoch)
        elif worker is None and self._iterations.are_of_workers():  # they have read since this process did
            self._state, epoch = self._iterations.begin(worker, None, reader, own=False)
            if (_coming(reader), reader._core.read, reader._core.loop) != (epoch, 0, 0):  # else it is there
                reader.begin_epoch(epoch)
        if self._state is not None:
            reader.load_state_dict(self._state)
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
            if worker.dataset is self:  # not of a dataset around it, whose loops may be many in one
                epoch = self._iterations.again(worker, epoch)
            if self._offset != worker.id:  # it began in mid-epoch
                reader = self._open(worker.id)
            reader.begin_epoch(epoch)
        return iter(reader)

    def _restored(self, offset: int) -> Iterator[Batch]:
        """What a restored loop has left: nothing at its epoch's end, as the next epoch is for the next loop."""
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

        # At its last minibatch: a loader that was saved behind the loop does not ask whether there are more.
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
        """The number of the epoch that the next loop reads; inside a loop, of that one.

        `while dataset.epoch < 10:` around a loop with num_workers=0 does as many epochs in all whether a state was loaded
        or not. Where worker processes have read it, ConfigError: `for epoch in range(10):` counts loops there.
        """
        self._expect_own_reader("count loops, and save the count beside the loader's state")
        return _coming(self._here())

    def set_epoch(self, epoch: int) -> None:
        """The next iteration reads the epoch of this number; worker processes that persist do not hear of it."""
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
        """The next iteration goes on there, with any number of worker processes; those that persist do not hear of it.

        Behind the last minibatch of an epoch that is with the next epoch. (A StatefulDataLoader with a state of there
        ends that epoch first, with nothing, as without the stop; with a state of behind the loop it does not.)
        """
        worker, given = get_worker_info(), mapping("a state", state, "state_dict() gives")
        for name in ("epoch", "minibatch", "ended"):  # what is needed before there is a reader to look at it
            if not isinstance(given.get(name), SupportsIndex):
                raise _state_error("state.damaged", f"the saved state is damaged: no number '{name}'", "use another saved state")
        self._state = given
        self._iterations.load(worker, self._state)
        if worker is not None:  # a StatefulDataLoader's
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
    """A loop over a dataset. A StatefulDataLoader saves and restores it too, and so tells one that goes on from a new one."""

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
        return self._data._item(batch)

    def _begin(self) -> Iterator[Batch]:
        if self._batches is None:
            self._batches = self._data._loop()
        return self._batches

    def state_dict(self) -> dict[str, Any]:
        self._begin()  # the dataset's state is to be that of the place where it begins
        return {"begun": True}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if get_worker_info() is None:  # in worker processes it is known by the dataset's state
            self._batches = self._data._restored(0)


def _state_error(id: str, what: str, hint: str) -> StateError:
    return StateError(Fault("state", id, what, f"batchfeed: {what}; hint: {hint}", hint=hint))


def _coming(reader: Reader) -> int:
    """The epoch of which the next loop reads what is left, or all."""
    coming = reader._coming()
    return reader.epoch if coming is None else coming


def _place(worker: Any) -> int:
    """In the order in which a DataLoader asks its workers."""
    return 0 if worker is None else int(worker.id)


def _pinned(tensor: Any) -> Any:
    """A copy in pinned memory. Of sparse and nested tensors by their parts: not every version of PyTorch does it for the whole."""
    if tensor.layout == torch.sparse_csr:
        rows, columns, values = (part.pin_memory() for part in (tensor.crow_indices(), tensor.col_indices(), tensor.values()))
        return torch.sparse_csr_tensor(rows, columns, values, tensor.shape, check_invariants=False)
    if tensor.layout == torch.sparse_coo:
        indices, values = tensor._indices().pin_memory(), tensor._values().pin_memory()
        return torch.sparse_coo_tensor(indices, values, tensor.shape, check_invariants=False, is_coalesced=tensor.is_coalesced())
    if tensor.is_nested:
        return torch.nested.nested_tensor_from_jagged(tensor.values().pin_memory(), tensor.offsets().pin_memory())
    return tensor.pin_memory()
