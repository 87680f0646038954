# SPDX-License-Identifier: MIT
"""What next_minibatch() gives."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Optional, Union

import numpy as np
import numpy.typing as npt

from ..._batch import Stream


class StreamInformation:
    """A stream of a source; the key of its data in a minibatch. Two that say the same are one key."""

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
    """One stream of a minibatch."""

    def __init__(
        self, stream: Optional[Stream], info: StreamInformation, num_sequences: int, num_samples: int, sweep_end: bool
    ) -> None:
        self._stream, self._info = stream, info
        self.num_sequences = num_sequences
        self.num_samples = num_samples
        self.end_of_sweep = self.sweep_end = sweep_end

    @property
    def is_sparse(self) -> bool:
        """Whether samples are pairs of index and value."""
        return self._info.is_sparse

    @property
    def shape(self) -> tuple[int, ...]:
        """(sequences, steps, ...)"""
        steps = 0 if self._stream is None else int(self._stream.lengths.max(initial=0))
        return (self.num_sequences, steps, *self._info.shape)

    @property
    def data(self) -> MinibatchData:
        """Itself: in CNTK a value was in it."""
        return self

    def as_sequences(self, variable: Any = None) -> list[Any]:
        """The samples of each sequence: arrays [samples, ...], or scipy.sparse matrices [samples, dim]."""
        if self._stream is None:
            return []
        sequences = self._stream.sequences()
        return sequences if self.is_sparse else [s.reshape(len(s), *self._info.shape) for s in sequences]

    def asarray(self) -> npt.NDArray[Any]:
        """[sequences, steps, ...], zeros where a sequence is shorter."""
        if self._stream is None:
            return np.zeros(self.shape, dtype=self._info.dtype)
        return self._stream.padded().values.reshape(self.shape)

    @property
    def value(self) -> Any:
        """asarray(), or as_sequences() of a sparse stream."""
        return self.as_sequences() if self.is_sparse else self.asarray()

    @property
    def mask(self) -> npt.NDArray[np.uint8]:
        """[sequences, steps]: 2 where a sequence begins, 1 at its other samples, 0 behind its end."""
        if self._stream is None:
            return np.zeros(self.shape[:2], dtype=np.uint8)
        out = self._stream.padded().mask.astype(np.uint8)
        if out.size:
            out[:, 0] *= 2
        return out

    def __len__(self) -> int:
        return self.num_sequences

    def __repr__(self) -> str:
        ends = ", end of sweep" if self.sweep_end else ""
        return f"MinibatchData({self._info.name!r}, {self.num_sequences} sequences, {self.num_samples} samples{ends})"


class Minibatch(dict[Any, MinibatchData]):
    """{StreamInformation, or what input_map says: MinibatchData}; streams are found by name too."""

    def __missing__(self, key: Any) -> MinibatchData:
        for info, data in self.items():
            if getattr(info, "name", None) == key:
                return data
        raise KeyError(key)


class Streams(Mapping[str, StreamInformation]):
    """source.streams.features, or source.streams["features"]"""

    def __init__(self, infos: list[StreamInformation]) -> None:
        self._infos = {info.name: info for info in infos}

    def __getitem__(self, name: str) -> StreamInformation:
        return self._infos[name]

    def __getattr__(self, name: str) -> StreamInformation:
        try:
            return self.__dict__["_infos"][name]
        except KeyError:
            raise AttributeError(f"there is no stream {name!r}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._infos)

    def __len__(self) -> int:
        return len(self._infos)
