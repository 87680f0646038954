# SPDX-License-Identifier: MIT
"""Statistics of the values of a corpus."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional, Union

import numpy as np
import numpy.typing as npt

from . import _core, _open
from ._errors import usage
from ._files import Limits, StorageOptions
from ._given import Path
from ._open import What, opening_of
from ._told import Progress, log, told


@dataclass(frozen=True, eq=False)
class Columns:
    """Figures of each column of a stream, as arrays of length dim."""

    mean: npt.NDArray[np.float64]
    deviation: npt.NDArray[np.float64]  # of all values, as numpy.std
    min: npt.NDArray[np.float64]
    max: npt.NDArray[np.float64]
    not_zero: npt.NDArray[np.int64]  # samples whose value is not 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Columns):
            return NotImplemented
        return all(np.array_equal(mine, theirs, equal_nan=True) for mine, theirs in zip(vars(self).values(), vars(other).values()))


@dataclass(frozen=True)
class StreamStats:
    """Figures of the values of a stream: mean, deviation, min, max and the quantiles of finite ones."""

    name: str
    storage: str
    dim: int
    samples: int
    values: int  # as stored: the entries of sparse samples, all elements of dense ones
    zeros: int  # of these values, as are:
    nans: int
    infinities: int
    min: float
    max: float
    mean: float
    deviation: float
    p01: float  # quantiles to within 1 %
    p50: float
    p99: float
    integral: bool
    one_hot: bool  # every sample is a label
    density: float  # the part of all elements that is not 0
    _columns: Optional[Columns] = field(repr=False)

    @property
    def columns(self) -> Columns:
        """Figures of each column; values that a sparse sample does not hold count as 0. Raises ConfigError if this stream
        and those before it have more than 2**20 columns."""
        if self._columns is None:
            what = f"{self.name}: {self.dim} columns are more than are looked at one by one (2**20 in all)"
            raise usage("python.columns", what, "CTF(..., streams={...}) or bf.convert(..., streams=[...]) leaves out streams of no interest")
        return self._columns


@dataclass(frozen=True, repr=False)
class Stats:
    """Figures of a corpus, printed as a table; stats["name"] has those of a stream."""

    streams: list[StreamStats]
    sequences: int
    samples: int
    bytes: int
    duplicates: int  # sequences whose data are those of one before
    duplicates_estimated: bool  # from a part of the sequences, as there are very many
    invalid: int  # sequences that are damaged, and left out of the figures
    faults: int
    complete: bool  # False: a source or chunk could not be read to its end

    def __getitem__(self, name: str) -> StreamStats:
        found = next((s for s in self.streams if s.name == name), None)
        if found is None:
            raise KeyError(f"no stream {name!r}; there are {', '.join(repr(s.name) for s in self.streams)}")
        return found

    def __iter__(self) -> Iterator[str]:
        return iter([s.name for s in self.streams])

    def __contains__(self, name: object) -> bool:
        return any(s.name == name for s in self.streams)

    def __str__(self) -> str:
        head = ("stream", "storage", "dim", "samples", "not 0", "min", "median", "max", "mean", "deviation", "NaN, inf")
        rows = [head, *map(_row, self.streams)]
        widths = [max(map(len, column)) for column in zip(*rows)]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in rows]
        counts = [f"{n} {word}{'' if n == 1 else 's'}" for n, word in ((self.sequences, "sequence"), (self.samples, "sample"))]
        if self.faults:
            counts.append(f"{self.faults} fault{'' if self.faults == 1 else 's'}; bf.check() lists them")
        return "\n".join([*lines, ", ".join(counts)])

    __repr__ = __str__


def _row(s: StreamStats) -> tuple[str, ...]:
    figures = (s.min, s.p50, s.max, s.mean, s.deviation)
    texts = (f"{value:.6g}" if s.values else "-" for value in figures)
    return (s.name, s.storage, str(s.dim), str(s.samples), f"{100 * s.density:.3g} %", *texts, str(s.nans + s.infinities))


def _of_stream(s: _core.StreamSurvey) -> StreamStats:
    columns = Columns(s.column_mean, s.column_deviation, s.column_min, s.column_max, s.not_zero) if s.has_columns else None
    same = ("samples", "values", "zeros", "nans", "infinities", "min", "max", "mean", "deviation", "integral", "one_hot", "density")
    given: dict[str, Any] = {name: getattr(s, name) for name in same}
    given.update((name, s.quantile(q)) for name, q in (("p01", 0.01), ("p50", 0.5), ("p99", 0.99)))
    return StreamStats(name=s.stream.name, storage=s.stream.storage, dim=s.stream.dim, _columns=columns, **given)


def stats(
    what: Union[What, _open.FromSources],
    *,
    section: str = "",
    set: Sequence[str] = (),
    dtype: Any = None,
    state_list: Optional[Path] = None,
    path_map: Optional[Mapping[str, str]] = None,
    limits: Optional[Limits] = None,
    storage_options: StorageOptions = None,
    progress: Optional[Progress] = None,
) -> Stats:
    """Reads all of a corpus and computes statistics of the values of each stream, and of each of its columns.

    `what` is a configuration, corpus files, or sources. Every sample counts; the order and the minibatches of a
    configuration play no part. `stats(what)["features"].columns` has the mean and deviation to normalise
    features by. Damaged sequences are left out and counted. Memory: 48 bytes a column and thread, and half a MiB a stream and
    thread. Raises FileError, FormatError or ConfigError as open() does. Other threads run meanwhile.
    """
    setup = opening_of(what, section, set, dtype, limits, storage_options, {}, state_list, path_map).setup(log)
    bar = told(progress)
    setup.set_progress(bar)
    found = _core.survey(setup, bar)
    return Stats(
        [_of_stream(s) for s in found.streams],
        *(found.sequences, found.samples, found.bytes, found.duplicates, found.duplicates_estimated, found.invalid),
        *(found.check.faults, found.check.complete),
    )
