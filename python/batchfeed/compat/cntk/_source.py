# SPDX-License-Identifier: MIT
"""Minibatch sources, on batchfeed's reader."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Optional, Union

import numpy as np

from ... import _core
from ..._errors import Fault, StateError
from ..._files import file_system, working_directory
from ..._open import FromSetup
from ..._given import shown, whole, wrong
from ..._options import ENDLESS, apply
from ..._reader import Reader
from ..._told import log
from ..._source import Source
from ..._sources import StreamSpec
from ._data import Minibatch, Position, Read, StreamInformation, Streams
from ._deserializers import Deserializer, config_text

INFINITELY_REPEAT = (1 << 64) - 1
FULL_DATA_SWEEP = (1 << 64) - 2
DEFAULT_RANDOMIZATION_WINDOW_IN_CHUNKS = 128

# Keywords of the betas of CNTK 2.0, and what came in their place.
OF_BETAS = {
    "epoch_size": "max_samples=n for so many samples, max_sweeps=n for so many sweeps",
    "randomization_window": "randomization_window_in_chunks=n, or randomization_window_in_samples=n",
    "sample_based_randomization_window": "randomization_window_in_samples=n for a window in samples",
    "distributed_after": "next_minibatch(num_data_partitions=n, partition_index=i) shares the data from there on",
}

Given = Union[Deserializer, "UserDeserializer", Sequence[Any]]


class UserDeserializer:
    """A corpus of your own: stream_infos(), num_chunks() and get_chunk(chunk_id).

    A chunk is {name: data}; data are an array or a scipy.sparse matrix, each row a sequence of one sample,
    or a list of such, one for each sequence. Every chunk is asked for once when the source is made, to learn
    the lengths of its sequences.
    """

    def stream_infos(self) -> list[StreamInformation]:
        """Its streams."""
        raise NotImplementedError(f"{type(self).__name__} does not say its stream_infos()")

    def num_chunks(self) -> int:
        """How many chunks there are."""
        raise NotImplementedError(f"{type(self).__name__} does not say num_chunks()")

    def get_chunk(self, chunk_id: int) -> Mapping[str, Any]:
        """{name of the stream: data of all sequences} of a chunk; called from other threads."""
        raise NotImplementedError(f"{type(self).__name__} does not get_chunk()")


def _sequences(data: Any) -> list[Any]:
    """The data of each sequence: rows of one sample, or a list."""
    if isinstance(data, list):
        return [_sequence(one) for one in data]
    if hasattr(data, "tocsr"):
        matrix = data.tocsr()
        return [matrix[i : i + 1] for i in range(matrix.shape[0])]
    rows = np.asarray(data)
    if rows.ndim == 0:
        raise TypeError(f"the data of a stream are an array, a matrix or a list of sequences, not {data!r}")
    return [row[None] for row in rows]


def _sequence(data: Any) -> Any:
    """The samples of one sequence, of a list of such."""
    samples = data if hasattr(data, "tocsr") else np.asarray(data)
    if samples.ndim == 0:
        raise TypeError(f"a sequence is an array [samples, ...] or a matrix, not {data!r}")
    return samples


class _Adapted(Source):
    """A UserDeserializer as a source."""

    def __init__(self, user: UserDeserializer) -> None:
        if not hasattr(user, "stream_infos"):
            raise TypeError(f"a MinibatchSource reads deserializers, such as CTFDeserializer(...) makes, not {user!r}")
        self._user = user
        self._infos = {info.name: info for info in user.stream_infos()}
        self._lengths = [self._measure(user.get_chunk(i)) for i in range(user.num_chunks())]

    def _measure(self, chunk: Mapping[str, Any]) -> list[int]:
        lengths = [[s.shape[0] for s in _sequences(chunk[name])] for name in self._infos]
        if len(set(map(len, lengths))) > 1:
            told = ", ".join(f"{name!r} {len(own)}" for name, own in zip(self._infos, lengths))
            raise ValueError(f"the streams of a chunk differ in sequences: {told}")
        return [max(row) for row in zip(*lengths)]

    def streams(self) -> dict[str, StreamSpec]:
        return {
            name: StreamSpec(info.storage_format, int(np.prod(info.shape)), None, info.defines_mb_size)
            for name, info in self._infos.items()
        }

    def chunks(self) -> list[list[int]]:
        return self._lengths

    def read(self, chunk: int) -> dict[str, Any]:
        data = self._user.get_chunk(chunk)
        flat = {name: [s if hasattr(s, "tocsr") else np.reshape(s, (len(s), -1)) for s in _sequences(data[name])] for name in self._infos}
        return flat


def _flat(given: Any) -> list[Any]:
    """One deserializer or several; factories for speech give a list."""
    if isinstance(given, (list, tuple)):
        return [one for part in given for one in _flat(part)]
    return [given]


def _setup(deserializers: list[Any], options: Mapping[str, Any], trace_level: int, folder: str) -> Any:
    native = [d for d in deserializers if isinstance(d, Deserializer)]
    keys, loaded = "numeric", _core.Setup()
    if native:
        flags = {"frameMode": options["pack"] == "frames", "precision": "float", "traceLevel": trace_level}
        text = "reader = " + config_text({**flags, "deserializers": native})
        files = file_system({} if "://" in text else None, (), {}, folder)
        loaded = _core.load_config([], [text], "reader", None, log, files, _core.Limits()).setup
        keys = loaded.reader.keys
    setup = _core.Setup()
    setup.file_system = loaded.file_system
    apply(setup.reader, {**options, "keys": keys})
    setup.set_report(log)
    taken = 0
    for one in deserializers:
        if isinstance(one, Deserializer):
            setup.add_from(loaded, taken)
            taken += 1
        else:
            source = one if isinstance(one, Source) else _Adapted(one)
            setup.add(source._options(setup)[0])
    return setup


def _infos(input_map: Any) -> dict[Any, StreamInformation]:
    if not isinstance(input_map, Mapping) or not all(isinstance(info, StreamInformation) for info in input_map.values()):
        raise TypeError(f"input_map is {input_map!r}, expected {{variable: source.streams.features, ...}}")
    return dict(input_map)


def _shape(dim: int, declared: Optional[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape as declared, unless it does not fit `dim`: features with a context window are declared by one frame."""
    return declared if declared is not None and int(np.prod(declared)) == dim else (dim,)


class MinibatchSource:
    """Minibatches of one deserializer or several, in CNTK's order: one long run over `max_samples` or `max_sweeps`."""

    _cross_sweeps: Optional[bool] = None  # the default of a timeline: a minibatch may span two sweeps

    def __init__(
        self,
        deserializers: Given,
        max_samples: int = INFINITELY_REPEAT,
        max_sweeps: int = INFINITELY_REPEAT,
        randomization_window_in_chunks: int = DEFAULT_RANDOMIZATION_WINDOW_IN_CHUNKS,
        randomization_window_in_samples: int = 0,
        randomization_seed: int = 0,
        trace_level: int = 1,
        multithreaded_deserializer: Optional[bool] = None,
        frame_mode: bool = False,
        truncation_length: int = 0,
        randomize: bool = True,
        max_errors: int = 0,
        **unknown: Any,
    ) -> None:
        for name in unknown:
            hint = f": {OF_BETAS[name]}" if name in OF_BETAS else ""
            raise TypeError(f"unexpected keyword argument {name!r}{hint}")
        for name, value, least in (
            ("max_samples", max_samples, 1),
            ("max_sweeps", max_sweeps, 1),
            ("randomization_window_in_chunks", randomization_window_in_chunks, 0),
            ("randomization_window_in_samples", randomization_window_in_samples, 0),
            ("randomization_seed", randomization_seed, 0),
            ("trace_level", trace_level, 0),
            ("truncation_length", truncation_length, 0),
            ("max_errors", max_errors, 0),
        ):
            whole(name, value, least)
        for name, value in (("frame_mode", frame_mode), ("randomize", randomize)):
            if value not in (True, False):
                raise wrong(name, value, "True or False")
        if max_samples != INFINITELY_REPEAT and max_sweeps != INFINITELY_REPEAT:
            raise ValueError("max_samples and max_sweeps are both given; give one of them")
        if randomization_window_in_chunks and randomization_window_in_samples:
            raise ValueError("both windows are given; set randomization_window_in_chunks=0 for a window in samples")
        if frame_mode and truncation_length:
            raise ValueError("frame_mode and truncation_length exclude each other")
        window = randomization_window_in_chunks or randomization_window_in_samples
        options: dict[str, Any] = {
            "order": "cntk" if randomize and window else "file",
            "window": window,
            "window_in_samples": bool(randomization_window_in_samples),
            "seed": randomization_seed,
            "pack": "frames" if frame_mode else "truncated" if truncation_length else "sequences",
            "truncation_length": truncation_length,
            "shard": "chunk",
            "driver": "timeline",
            "max_invalid": max_errors,
            "cross_sweeps": self._cross_sweeps,
        }
        if max_sweeps != INFINITELY_REPEAT:
            options["epoch_sweeps"] = max_sweeps
        elif max_samples == FULL_DATA_SWEEP:
            options["epoch_sweeps"] = 1
        else:
            options["epoch_samples"] = ENDLESS if max_samples == INFINITELY_REPEAT else max_samples
        given = _flat(deserializers)
        shapes = {name: shape for d in given if isinstance(d, Deserializer) for name, shape in d.shapes.items()}
        for d in given:
            if isinstance(d, UserDeserializer):
                shapes.update({info.name: info.shape for info in d.stream_infos()})
        self._reader = Reader._of(FromSetup(partial(_setup, given, options, trace_level, working_directory()), "MinibatchSource"), log)
        self._streams = Streams(
            [
                StreamInformation(s.name, i, s.storage, s.element, _shape(s.dim, shapes.get(s.name)), s.defines_mb_size)
                for i, s in enumerate(self._reader.streams.values())
            ]
        )
        self._infinite = max_samples == max_sweeps == INFINITELY_REPEAT
        self._share = (1, 0)
        self._size: Optional[int] = None

    @property
    def streams(self) -> Streams:
        """Its streams, as attributes and by name: what `input_map` and minibatches go by."""
        return self._streams

    def stream_infos(self) -> list[StreamInformation]:
        """Its streams."""
        return list(self._streams.values())

    def stream_info(self, name: str) -> StreamInformation:
        """The stream of that name."""
        return self._streams[name]

    def is_infinite(self) -> bool:
        """Whether neither max_samples nor max_sweeps ends the run."""
        return self._infinite

    __iter__ = None  # not iterable, as a run may have no end: use next_minibatch()

    def __getitem__(self, name: str) -> StreamInformation:
        return self._streams[name]

    def next_minibatch(
        self,
        minibatch_size_in_samples: int,
        input_map: Optional[Mapping[Any, StreamInformation]] = None,
        device: Any = None,
        num_data_partitions: Optional[int] = None,
        partition_index: Optional[int] = None,
    ) -> Minibatch:
        """{stream: MinibatchData}, or by the keys of `input_map`; empty when the run is over, and from then on.

        The size counts samples over all partitions.
        """
        size = whole("minibatch_size_in_samples", minibatch_size_in_samples, 1)
        partitions = 1 if num_data_partitions is None else whole("num_data_partitions", num_data_partitions, 1)
        share = (partitions, 0 if partition_index is None else whole("partition_index", partition_index))
        if share[1] >= partitions:
            raise wrong("partition_index", partition_index, f"a whole number below num_data_partitions ({partitions})")
        wanted = {info: info for info in self._streams.values()} if input_map is None or input_map == {} else _infos(input_map)
        self._ask_for(size, share)
        batch = self._reader.read()
        if batch is None or (batch.end_of_epoch and not batch):
            return Minibatch()
        return Minibatch({key: Read(batch.get(info.name), info, batch.end_of_sweep) for key, info in wanted.items()})

    def _ask_for(self, size: int, share: tuple[int, int]) -> None:
        if share != self._share:
            self._reader.set_workers(*share)
            self._share = share
        if size != self._size:
            self._reader.set_minibatch_size(size)
            self._size = size

    @property
    def current_position(self) -> Position:
        """get_checkpoint_state(), which counts as its number: the samples that all partitions have been given.

        It may be set to such a state: restore_from_checkpoint().
        """
        return Position(self.get_checkpoint_state())

    @current_position.setter
    def current_position(self, position: Mapping[str, Any]) -> None:
        self.restore_from_checkpoint(position)

    def get_checkpoint_state(self) -> dict[str, Any]:
        """The place behind the minibatch last handed out: numbers and texts, fit for JSON and pickle."""
        state = self._reader.state_dict()
        return {"minibatchSourcePosition": state["position"], "batchfeed": state}

    def restore_from_checkpoint(self, checkpoint: Mapping[str, Any]) -> None:
        """Goes on exactly there; raises StateError for other data, and for a checkpoint of CNTK's own.

        The size of minibatches and the partition are the checkpoint's, until next_minibatch() is asked for others.
        """
        if not isinstance(checkpoint, Mapping):
            raise TypeError(f"a checkpoint is what get_checkpoint_state() or current_position gives, not {checkpoint!r}")
        if "batchfeed" not in checkpoint:
            what = "the checkpoint is not batchfeed's: it has no 'batchfeed' in it"
            hint = "a run begun with CNTK cannot be gone on with; begin a new one"
            raise StateError(Fault("state", "python.checkpoint", what, f"batchfeed: {what}; hint: {hint}", hint=hint))
        state = checkpoint["batchfeed"]
        given = state if isinstance(state, Mapping) else {}
        numbers = [str(given.get(name, "")) for name in ("minibatch_size", "workers", "rank")]
        if all(number.isdecimal() for number in numbers):  # a state is for the size and the share that it was made with
            size, *share = map(int, numbers)
            self._ask_for(size, (share[0], share[1]))
        self._reader.load_state_dict(state)

    def __repr__(self) -> str:
        return f"MinibatchSource({', '.join(map(repr, self._streams.values()))})"


class UserMinibatchSource:
    """A minibatch source of your own: stream_infos() and next_minibatch(num_samples, number_of_workers, worker_rank).

    What it returns is {StreamInformation: anything}; `read` is what a trainer calls on any source.
    """

    def stream_infos(self) -> list[StreamInformation]:
        """Its streams."""
        raise NotImplementedError(f"{type(self).__name__} does not say its stream_infos()")

    def next_minibatch(self, num_samples: int, number_of_workers: int = 1, worker_rank: int = 0, device: Any = None) -> Mapping[Any, Any]:
        """{StreamInformation: anything}, empty when the run is over."""
        raise NotImplementedError(f"{type(self).__name__} has no next_minibatch()")

    def get_checkpoint_state(self) -> dict[str, Any]:
        """What restore_from_checkpoint() needs."""
        return {}

    def restore_from_checkpoint(self, state: Mapping[str, Any]) -> None:
        """Goes on where get_checkpoint_state() was asked; of an empty state nothing is to be done."""
        if not state:
            return
        raise NotImplementedError(f"{type(self).__name__} cannot restore_from_checkpoint()")

    def is_infinite(self) -> bool:
        """Whether it has no end."""
        return False

    @property
    def streams(self) -> Streams:
        """Its streams, as attributes and by name."""
        return Streams(self.stream_infos())

    def stream_info(self, name: str) -> StreamInformation:
        """The stream of that name."""
        return self.streams[name]

    def __getitem__(self, name: str) -> StreamInformation:
        return self.streams[name]


class _InMemory(UserDeserializer):
    def __init__(self, data_streams: Mapping[str, Any]) -> None:
        self._data = {name: data[0] if isinstance(data, tuple) else data for name, data in data_streams.items()}

    def stream_infos(self) -> list[StreamInformation]:
        out = []
        for i, (name, data) in enumerate(self._data.items()):
            if isinstance(data, list) and not data:
                raise ValueError(f"stream {name!r} has no sequence")
            first = data[0] if isinstance(data, list) else data
            sparse = hasattr(first, "tocsr")
            shape = tuple(int(n) for n in np.shape(first)[1:]) or (1,)
            out.append(StreamInformation(name, i, "sparse" if sparse else "dense", np.float32, shape))
        return out

    def num_chunks(self) -> int:
        return 1

    def get_chunk(self, chunk_id: int) -> Mapping[str, Any]:
        return self._data


class MinibatchSourceFromData(MinibatchSource):
    """Data in memory, in their own order: {name: array or scipy.sparse matrix, a sequence a row, or a list of sequences}.

    Without max_samples it starts over at the end, for ever; a minibatch ends where the data do. FULL_DATA_SWEEP reads
    the data once.
    """

    _cross_sweeps = False

    def __init__(self, data_streams: Mapping[str, Any], max_samples: int = INFINITELY_REPEAT) -> None:
        if not isinstance(data_streams, Mapping):
            raise TypeError(f"data_streams is {shown(data_streams)}, expected {{name: data}}")
        if not data_streams:
            raise ValueError("data_streams is empty, expected at least one stream")
        super().__init__(_InMemory(data_streams), max_samples=max_samples, randomize=False)
