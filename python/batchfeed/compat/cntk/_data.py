# SPDX-License-Identifier: MIT
"""What next_minibatch() gives."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from numbers import Number
from typing import Any, Optional, Union

import numpy as np
import numpy.typing as npt

from ..._batch import Stream


class StreamInformation:
    """A stream of a source, and the key of its data in a minibatch; equal ones are the same key."""

    def __init__(self, name: str, stream_id: int, storage_format: str, dtype: Any, shape: Union[int, Sequence[int]], defines_mb_size: bool = False) -> None:
        self.name = self.m_name = name
        self.id = self.m_id = stream_id
        self.storage_format = storage_format  # "dense" or "sparse"
        self.dtype = np.dtype(dtype)
        self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.defines_mb_size = defines_mb_size

    @property
    def is_sparse(self) -> bool:
        """Whether samples are pairs of index and value."""
        return self.storage_format == "sparse"

    def _value(self) -> tuple[Any, ...]:
        return (self.name, self.id, self.storage_format, self.dtype, self.shape, self.defines_mb_size)

    def __eq__(self, other: object) -> bool:
        return self._value() == other._value() if isinstance(other, StreamInformation) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.name, self.id))

    def __repr__(self) -> str:
        return f"StreamInformation({self.name!r}, {self.storage_format}, {self.shape})"


class MinibatchData:
    """One stream of a minibatch.

    A UserMinibatchSource makes its own: `value` is an array [sequences, steps, ...], or a list with the samples of
    each sequence.
    """

    def __init__(self, value: Any, num_sequences: int, num_samples: int, sweep_end: bool) -> None:
        self._value = value
        self.num_sequences = num_sequences
        self.num_samples = num_samples
        self.end_of_sweep = self.sweep_end = sweep_end

    @property
    def data(self) -> Any:
        """The value; for data that a MinibatchSource has read, the object itself, where CNTK had a Value."""
        return self._value

    @property
    def is_sparse(self) -> bool:
        """Whether samples are pairs of index and value."""
        return any(hasattr(s, "tocsr") for s in self.as_sequences()[:1])

    @property
    def shape(self) -> tuple[int, ...]:
        """(sequences, steps, ...)"""
        if not isinstance(self.data, (list, tuple)):
            return tuple(np.shape(self.data))
        rest = np.shape(self.data[0])[1:] if self.data else ()
        return (len(self.data), int(self._lengths().max(initial=0)), *rest)

    def as_sequences(self, variable: Any = None) -> list[Any]:
        """The samples of each sequence: arrays [samples, ...], or scipy.sparse matrices [samples, dim]."""
        return list(self.data)

    def asarray(self) -> npt.NDArray[Any]:
        """[sequences, steps, ...], zeros where a sequence is shorter."""
        if not isinstance(self.data, (list, tuple)):
            return np.asarray(self.data)
        sequences = [s.toarray() if hasattr(s, "tocsr") else np.asarray(s) for s in self.data]
        out = np.zeros(self.shape, dtype=np.result_type(*sequences) if sequences else np.float32)
        for row, sequence in zip(out, sequences):
            row[: len(sequence)] = sequence
        return out

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> npt.NDArray[Any]:
        """asarray(): NumPy would make an object of it."""
        if copy is False:
            raise ValueError("minibatch data are made an array by a copy")
        return self.asarray().astype(dtype, copy=False) if dtype is not None else self.asarray()

    @property
    def value(self) -> Any:
        """asarray(), or as_sequences() of a sparse stream."""
        return self.as_sequences() if self.is_sparse else self.asarray()

    @property
    def mask(self) -> npt.NDArray[np.uint8]:
        """[sequences, steps]: 2 where a sequence begins, 1 at its other samples, 0 behind its end.

        A sequence that began in an earlier minibatch (truncation_length) has no 2.
        """
        lengths = self._lengths()
        out = (np.arange(lengths.max(initial=0)) < lengths[:, None]).astype(np.uint8)
        if out.size:
            out[self._begun_here(), 0] *= 2
        return out

    def _begun_here(self) -> Any:
        """An index of the sequences whose first sample is in this minibatch."""
        return slice(None)

    def _lengths(self) -> npt.NDArray[np.int64]:
        """Samples of each sequence."""
        return np.array([np.shape(s)[0] for s in self.as_sequences()], dtype=np.int64)

    def __len__(self) -> int:
        return self.num_sequences

    def __repr__(self) -> str:
        ends = ", end of sweep" if self.sweep_end else ""
        counts = zip((self.num_sequences, self.num_samples), ("sequence", "sample"))
        return f"MinibatchData({self._name()}{', '.join(f'{n} {word}' + 's' * (n != 1) for n, word in counts)}{ends})"

    def _name(self) -> str:
        return ""


class Read(MinibatchData):
    """One stream of a minibatch that a MinibatchSource has read."""

    def __init__(self, stream: Optional[Stream], info: StreamInformation, sweep_end: bool) -> None:
        """`stream`: None if this partition has no data in the minibatch."""
        self._stream, self._info = stream, info
        super().__init__(None, 0 if stream is None else stream.num_sequences, 0 if stream is None else stream.num_samples, sweep_end)

    @property
    def data(self) -> MinibatchData:
        """The object itself, where CNTK had a Value."""
        return self

    @property
    def is_sparse(self) -> bool:
        """Whether samples are pairs of index and value."""
        return self._info.is_sparse

    @property
    def shape(self) -> tuple[int, ...]:
        """(sequences, steps, ...)"""
        return (self.num_sequences, int(self._lengths().max(initial=0)), *self._info.shape)

    def as_sequences(self, variable: Any = None) -> list[Any]:
        """The samples of each sequence: arrays [samples, ...], or scipy.sparse matrices [samples, dim]."""
        sequences = [] if self._stream is None else self._stream.sequences()
        return sequences if self.is_sparse else [s.reshape(len(s), *self._info.shape) for s in sequences]

    def asarray(self) -> npt.NDArray[Any]:
        """[sequences, steps, ...], zeros where a sequence is shorter."""
        if self._stream is None:
            return np.zeros(self.shape, dtype=self._info.dtype)
        return self._stream.padded().values.reshape(self.shape)

    def _lengths(self) -> npt.NDArray[np.int64]:
        return np.zeros(0, np.int64) if self._stream is None else self._stream.lengths

    def _begun_here(self) -> Any:
        return slice(None) if self._stream is None else [begin >= 0 for _, _, begin, _ in self._stream.entries[: self.num_sequences]]

    def _name(self) -> str:
        return f"{self._info.name!r}, "


class Minibatch(dict[Any, MinibatchData]):
    """{StreamInformation, or what input_map says: MinibatchData}; streams are found by name too."""

    def __missing__(self, key: Any) -> MinibatchData:
        for info, data in self.items():
            if getattr(info, "name", None) == key:
                return data
        there = ", ".join(repr(getattr(info, "name", info)) for info in self)
        raise KeyError(f"no stream {key!r}; there are {there}" if there else f"no stream {key!r}: the minibatch is empty, the run is over")


class Position(dict[str, Any]):
    """A checkpoint that counts as the number of samples before it: scripts compare it, and compute with it."""

    def __int__(self) -> int:
        return int(self["minibatchSourcePosition"])

    __index__ = __int__

    def __float__(self) -> float:
        return float(int(self))

    def __eq__(self, other: object) -> bool:
        return bool(int(self) == _number(other)) if isinstance(other, Number) else dict.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: Any) -> bool:
        return bool(int(self) < _number(other))

    def __le__(self, other: Any) -> bool:
        return bool(int(self) <= _number(other))

    def __gt__(self, other: Any) -> bool:
        return bool(int(self) > _number(other))

    def __ge__(self, other: Any) -> bool:
        return bool(int(self) >= _number(other))

    def __add__(self, other: Any) -> Any:
        return int(self) + _number(other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return int(self) - _number(other)

    def __rsub__(self, other: Any) -> Any:
        return _number(other) - int(self)

    def __mul__(self, other: Any) -> Any:
        return int(self) * _number(other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return int(self) / _number(other)

    def __rtruediv__(self, other: Any) -> Any:
        return _number(other) / int(self)

    def __floordiv__(self, other: Any) -> Any:
        return int(self) // _number(other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _number(other) // int(self)

    def __mod__(self, other: Any) -> Any:
        return int(self) % _number(other)

    def __rmod__(self, other: Any) -> Any:
        return _number(other) % int(self)

    def __format__(self, form: str) -> str:
        return format(int(self), form)


def _number(given: Any) -> Any:
    return int(given) if isinstance(given, Position) else given


class Streams(Mapping[str, StreamInformation]):
    """source.streams.features, or source.streams["features"]"""

    def __init__(self, infos: list[StreamInformation]) -> None:
        self._infos = {info.name: info for info in infos}

    def __getitem__(self, name: str) -> StreamInformation:
        if name not in self._infos:
            raise KeyError(_no_stream(name, self._infos))
        return self._infos[name]

    def __getattr__(self, name: str) -> StreamInformation:
        infos: dict[str, StreamInformation] = self.__dict__.get("_infos", {})  # none yet where it is unpickled
        if name not in infos:
            raise AttributeError(_no_stream(name, infos))
        return infos[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._infos)

    def __len__(self) -> int:
        return len(self._infos)

    def __repr__(self) -> str:
        return f"Streams({', '.join(map(repr, self._infos.values()))})"


def _no_stream(name: str, infos: Mapping[str, StreamInformation]) -> str:
    return f"there is no stream {name!r}; there are {', '.join(map(repr, infos)) or 'none'}"
