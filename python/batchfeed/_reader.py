# SPDX-License-Identifier: MIT
"""The reader: a stream of minibatches that can stop and go on anywhere."""
from __future__ import annotations

import atexit
import itertools
import json
import os
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from operator import index
from typing import TYPE_CHECKING, Any, Callable, Optional, Union

from . import _core, _files, _open
from ._batch import Batch, Stream
from ._errors import ConfigError, Error, usage
from ._files import Limits, StorageOptions
from ._given import Path, Paths, function, path as as_path, paths, texts, whole
from ._info import Info, glance
from ._options import ENDLESS, ReaderKeywords, show_keywords
from ._sources import moved_paths
from ._told import Progress, Report, log, told
from ._words import counted

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._open import Joined, Mix


class Reader:
    """Minibatches from one source, or from several joined by their sequences' keys.

        with bf.Reader(bf.CTF("train.ctf"), minibatch_samples=256, seed=1) as reader:
            for batch in reader:
                batch["features"].numpy()

    Iterating gives one epoch (one sweep, unless epoch_samples or epoch_sweeps say otherwise); iterating
    again gives the next. After a loop that was left early, the next loop begins the same epoch again; after
    load_state_dict(), begin_epoch() or next() a loop goes on from that place.

    `report` is called with each notice (default: the logger "batchfeed"), `progress` with bytes done and
    in all while the sources are indexed (True: a tqdm bar). `limits` changes bounds on what files may ask for
    (docs/reference/limits.md). Paths may be URLs; `storage_options` are fsspec's for them, or a bf.Remote.

    Several threads may share a reader, or one iterator of it: each minibatch goes to one of them. Functions that it
    calls (`report`, `progress`, the read() of a source) must not use it meanwhile (ConfigError reader.busy). A forked
    or unpickled reader opens its files again and goes on from the same place. Raises ConfigError for options that
    cannot be used, FileError if a file cannot be read, and FormatError for its content. What is found while reading
    is raised by the loop, at the first minibatch that needs the chunk, and again by every later call.
    """

    def __init__(
        self,
        sources: Union[Joined, Mix],
        *,
        report: Optional[Report] = log,
        progress: Optional[Progress] = None,
        limits: Optional[Limits] = None,
        storage_options: StorageOptions = None,
        **options: Unpack[ReaderKeywords],
    ) -> None:
        what = sources if isinstance(sources, _open.Mix) else _open.as_list(sources)
        self._opening: _open.Opening = _open.FromSources(what, _open.given_limits(limits), dict(options), storage_options)
        self._start(report, progress)

    @classmethod
    def _of(cls, opening: _open.Opening, report: Optional[Report], progress: Optional[Progress] = None) -> Reader:
        self = cls.__new__(cls)
        self._opening = opening
        self._start(report, progress)
        return self

    def _start(self, report: Optional[Report], progress: Optional[Progress] = None) -> None:
        function("report", report, "a function of a Fault, or None")
        self._report = report
        with _files.made() as self._remote:
            setup = self._opening.setup(report)
        setup.set_report(report)
        setup.set_progress(told(progress))
        self._core = _core.ReaderCore(setup, Batch, Stream)
        if self._remote:
            self._core.state()  # looks at the data, which close() would wait for
        # (epoch, whether it is over, minibatches of it or, if it is over, of the next)
        self._length: Optional[tuple[int, bool, int]] = None
        _alive.add(self)

    # What there is.

    @property
    def streams(self) -> dict[str, _core.StreamInfo]:
        """{name: StreamInfo}, in the order of the sources."""
        return {s.name: s for s in self._here().streams}

    @property
    def num_samples(self) -> int:
        """Samples of one sweep, of all workers."""
        return self._here().num_samples

    @property
    def num_sequences(self) -> int:
        """Sequences of one sweep, of all workers."""
        return self._here().num_sequences

    @property
    def options(self) -> _core.ReaderOptions:
        """The options in effect, a copy."""
        return self._here().options

    @property
    def memory_needed(self) -> int:
        """The most bytes of chunks that the window needs, counted as they are in the files."""
        return self._here().memory_needed

    @property
    def memory_held(self) -> int:
        """Bytes of the chunks that are in memory now."""
        return self._here().memory_held

    @property
    def skipped(self) -> int:
        """Sequences left out so far because long_sequence or last_minibatch ask for it."""
        return self._here().skipped

    @property
    def invalid(self) -> int:
        """Sequences left out so far because they are damaged: this worker's; with pack='truncated' and shard='even',
        those of all workers."""
        return self._here().invalid

    @property
    def padding(self) -> _core.Padding:
        """What bucketing (bucket_minibatches) has saved so far, in cells of padded rectangles, over all workers: those in
        use, those of the minibatches as they came, and those of minibatches without bucketing."""
        return self._here().padding

    @property
    def epoch(self) -> int:
        """The number of the current epoch; at its end it stays the same until the next begins."""
        return self._core.epoch

    def __len__(self) -> int:
        """Minibatches of this worker in the epoch; in the next one if it is over. Planned without reading data: with
        damaged sequences there may be fewer. Raises TypeError for a run without an end."""
        core = self._here()
        epoch, over = core.epoch, core.over
        if self._length is None or self._length[:2] != (epoch, over):
            left = core.remaining_of(self._after(epoch)) if over else core.remaining
            if left == ENDLESS:
                raise TypeError("the run has no end, so no length")
            options = core.options
            if not over and core.read != 0:
                if options.workers == 1 and options.last_minibatch != "drop":
                    left += len(range(options.offset, core.read, options.stride))  # `read` counts those of all offsets
                else:  # some of those read may have had no data: none for this worker, or dropped ones
                    left = core.remaining_of(epoch)
            self._length = (epoch, over, left)
        return self._length[2]

    def __bool__(self) -> bool:
        """Always True: `if reader` asks whether there is one, and must not plan an epoch for its length."""
        return True

    def __contains__(self, name: object) -> bool:
        """Whether there is a stream of that name."""
        return isinstance(name, str) and name in self.streams

    # Reading.

    def next(self) -> Optional[Batch]:
        """The next minibatch that has data; None at the end of the epoch, until begin_epoch() or a loop begins another."""
        return self._give(False)

    def read(self) -> Optional[Batch]:
        """The next answer as CNTK's reader gives it: minibatches without data, too, and one epoch after the other.

        None when a run with driver='timeline' is over.
        """
        return self._give(True)

    def _give(self, every: bool) -> Optional[Batch]:
        core = self._here()
        core.loop = 0
        batch: Optional[Batch] = core.next(every)
        return batch

    def __iter__(self) -> Iterator[Batch]:
        epoch = self._coming()
        if epoch is not None:
            self.begin_epoch(epoch)
        return _core.Loop(self)

    def _coming(self) -> Optional[int]:
        """The epoch that the next loop begins with; None: it goes on where the reader is."""
        core = self._here()
        if core.over:
            return self._after(core.epoch)
        return core.epoch if core.loop else None  # a loop was left early

    def _step(self, loop: _core.Loop) -> Optional[Batch]:
        """The next minibatch of a loop that begins, or goes on in a forked process. Raises ConfigError for a loop that
        another one, or a call that moved the reader, has ended."""
        core = self._here()
        if not loop.number:
            core.loop = next(_loops)
        elif core.loop != loop.number:
            what = "another iteration, next(), begin_epoch() or load_state_dict() has moved the reader: this loop is over"
            hint = "begin another loop, or use a reader for each; threads that share one share an iterator of it, or call next()"
            raise usage("python.iteration", what, hint)
        loop.begin(core, core.loop)
        batch: Optional[Batch] = core.next(False)
        if batch is None:
            core.loop = 0
        return batch

    def epochs(self, count: Optional[int] = None, *, until: Optional[int] = None) -> Iterator[Batch]:
        """The minibatches of `count` epochs: what is left of the current one counts as one. Threads may share it.

        `until` instead: up to, not including, the epoch of that number; so a script that loads a state
        does as many epochs in all as one that does not. Neither: without end, but ConfigError if a hundred
        epochs and two sweeps in a row have no data for this rank.
        """
        if count is not None and until is not None:
            raise usage("python.option", "count and until are both given", "give one of them")
        return _Epochs(self, None if count is None else whole("count", count), None if until is None else whole("until", until))

    def _expect_data(self, empty: int) -> None:
        """Raises ConfigError if there will never be data, judged by the last `empty` epochs, which had none. Of a timeline
        one is enough, as its epochs are all alike."""
        options = self._core.options
        alike = options.driver == "timeline"
        samples = empty * (options.epoch_samples or self.num_samples)
        if not empty or (not alike and (empty < 100 or samples < 2 * self.num_samples)):
            return
        raise usage(
            "python.no-data",
            f"no minibatch for rank {options.rank} of {options.workers} in {counted(empty, 'epoch')}: this would go on without end",
            "let minibatch size, workers and what is left out fit the corpus, or give epochs() a count",
        )

    def _after(self, epoch: int) -> int:
        return 0 if self._core.options.driver == "timeline" else epoch + 1

    def begin_epoch(self, epoch: int) -> None:
        """Goes to the beginning of an epoch."""
        epoch = whole("epoch", epoch)
        self._here().begin_epoch(epoch)
        self._moved(epoch, 0, False)

    def _moved(self, epoch: int, read: int, over: bool) -> None:
        core = self._core
        core.epoch, core.read, core.over, core.loop = epoch, read, over, 0
        self._length = None

    def set_workers(self, workers: int, rank: int) -> None:
        """Goes on as worker `rank`, from 0, of `workers`, from the next minibatch on."""
        given = (whole("workers", workers), whole("rank", rank))
        self._here().set_workers(*given)
        self._workers, self._length = given, None

    def set_minibatch_size(self, size: int) -> None:
        """The size of minibatches, in size_unit and over all workers, from the next one on."""
        size = whole("size", size)
        self._here().set_minibatch_size(size)
        self._size, self._length = size, None

    def stats(self) -> Info:
        """A summary of what is read: streams, counts and lengths; in a notebook, a table and a plot."""
        return glance(self._here().describe())

    def plan(self, minibatches: int) -> list[_open.BatchPlan]:
        """What the next minibatches of the epoch, at most so many, will consist of; without reading data."""
        return [
            _open.BatchPlan([_open.PlanItem(*item) for item in items], position, epoch_ends, sweep_ends)
            for items, position, epoch_ends, sweep_ends in self._here().plan(whole("minibatches", minibatches))
        ]

    # State.

    def state_dict(self) -> dict[str, Any]:
        """The place behind the minibatch last handed out: numbers and texts that JSON can hold. Works when closed, too."""
        try:
            told = self._core.state()
        except ConfigError as error:
            if error.id != "reader.closed" or self._left is None:
                raise
            told = self._left
        state: dict[str, Any] = json.loads(told)
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on exactly where state_dict() was called, also with another number of workers. Raises StateError if the
        state belongs to other data or options."""
        if not isinstance(state, Mapping):
            raise TypeError(f"a state is a mapping, as state_dict() gives it; got {type(state).__name__}")
        if not state:
            raise TypeError("a state is a mapping, as state_dict() gives it; got an empty one")
        core = self._here()
        try:
            told = json.dumps(dict(state), separators=(",", ":"), default=index)  # NumPy's numbers too
        except TypeError as error:
            raise TypeError(f"a state is numbers and texts, as state_dict() gives it: {error}") from None
        core.restore(told)
        self._moved(int(state["epoch"]), int(state["minibatch"]), bool(state["ended"]))

    def __reduce__(self) -> Any:
        report = self._report if self._report is log or self._report is None else log
        return _unpickle, (self._opening, report, self.state_dict(), self._workers, self._size)

    _left: Optional[str] = None  # its state when it was closed, as JSON
    # As set_workers() and set_minibatch_size() have set them.
    _workers: Optional[tuple[int, int]] = None
    _size: Optional[int] = None

    def _set_again(self) -> None:
        if self._workers is not None:
            self._core.set_workers(*self._workers)
        if self._size is not None:
            self._core.set_minibatch_size(self._size)

    def _here(self) -> _core.ReaderCore:
        """The library's reader, opened again in a forked child."""
        before = self._core
        before.expect_idle()
        if not before.forked:
            return before
        self._start(self._report)
        self._set_again()
        self._core.restore(before.state())
        self._moved(before.epoch, before.read, before.over)
        self._core.loop = before.loop
        return self._core

    # Ending.

    def close(self) -> None:
        """Ends its threads and closes its files; minibatches that it gave stay as they are."""
        try:
            with suppress(Error):  # it is closed already, or was forked while another thread read
                self._left = self._core.state()
        finally:
            self._stop_waiting()
            self._core.close()

    def _stop_waiting(self) -> None:
        for files in self._remote:
            files.stop()

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        try:
            streams = ", ".join(f"{s.name!r}: {s.storage} {s.dim}" for s in self._here().streams)
            about = f"{counted(self.num_sequences, 'sequence')}, {counted(self.num_samples, 'sample')}; {streams}"
        except ConfigError as error:
            about = "closed" if error.id == "reader.closed" else str(error)
        except Exception as error:
            about = str(error)
        return f"<Reader of {self._opening}: {about}>"


class _Epochs:
    """Iterates over several epochs of a reader; threads may share it. It is not a generator, as an interrupt would end that
    for good."""

    def __init__(self, reader: Reader, count: Optional[int], until: Optional[int]) -> None:
        self._reader, self._count, self._until = reader, count, until
        self._loop: Optional[Iterator[Batch]] = None  # over the epoch that is under way
        self._empty = 0  # epochs in a row without data
        self._turn, self._pid = threading.RLock(), os.getpid()

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        if os.getpid() != self._pid:  # the thread that held the lock may not exist in this forked process
            self._turn, self._pid = threading.RLock(), os.getpid()
        with self._turn:
            return self._following()

    def _following(self) -> Batch:
        while True:
            if self._loop is None:
                self._loop = self._another()
                self._empty += 1
            batch = next(self._loop, None)
            if batch is not None:
                self._empty = 0  # nothing is called between next() and return: an interrupt there would lose the minibatch
                return batch
            self._loop = None
            if self._count is not None:
                self._count -= 1
            else:
                self._reader._expect_data(self._empty)

    def _another(self) -> Iterator[Batch]:
        core = self._reader._core
        # A timeline is a single epoch, number 0: beginning it again would never reach `until`.
        alone = core.over and core.options.driver == "timeline"
        if self._count == 0 or (self._until is not None and (alone or core.epoch + core.over >= self._until)):
            raise StopIteration
        return iter(self._reader)


def _unpickle(
    opening: _open.Opening,
    report: Optional[Report],
    state: Mapping[str, Any],
    workers: Optional[tuple[int, int]] = None,
    size: Optional[int] = None,
) -> Reader:
    reader = Reader._of(opening, report)
    reader._workers, reader._size = workers, size
    reader._set_again()
    reader.load_state_dict(state)
    return reader


def open(
    path: Paths,
    *,
    section: str = "",
    set: Sequence[str] = (),
    dtype: Any = None,
    state_list: Optional[Path] = None,
    path_map: Optional[Mapping[str, str]] = None,
    report: Optional[Report] = log,
    progress: Optional[Progress] = None,
    limits: Optional[Limits] = None,
    storage_options: StorageOptions = None,
    **options: Unpack[ReaderKeywords],
) -> Reader:
    """A reader for a `.cntk` configuration (several: later ones override), or for corpus files without one.

    These are text or binary corpora, or speech: scp lists, HTK files, MLF labels and Kaldi files, of which
    one source gives the features and one the labels (`state_list`: the file that names their classes).

    `section`: the reader section, such as "Train.reader"; not needed where there is only one.
    `set`: configuration text that overrides, such as "Train=[reader=[randomize=false]]".
    `path_map`: {"beginning of a path in an scp list": "beginning of it here"}.
    `dtype`: float32 or float64, instead of every precision key. `options`: the keywords of a Reader;
    they override what the configuration says. Paths may be URLs that fsspec reads (s3://, gs://, https:// ...);
    `storage_options` are fsspec's for them, or a bf.Remote.
    """
    path = _open.several(path)
    _open.need_files(path)
    states = None if state_list is None else as_path("state_list", state_list)
    files, bounds, moved = paths(path, "path"), _open.given_limits(limits), moved_paths(path_map)
    opening = _open.FromFile(files, section, texts("set", set), dtype, bounds, dict(options), states, storage_options, path_map=moved)
    return Reader._of(opening, report, progress)


# A reader's threads may call Python, so they have to end before the interpreter does. Daemon threads that are still
# reading sleep from then on.
_alive: weakref.WeakSet[Reader] = weakref.WeakSet()


def _close_all() -> None:
    _core.end_begins()
    for reader in list(_alive):
        if not reader._core.forked:
            reader._stop_waiting()
            reader.close()
    _core.end_waits(2.0)


_loops = itertools.count(1)
atexit.register(_close_all)
show_keywords(Reader.__init__, Reader)
show_keywords(open)
