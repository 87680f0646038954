# SPDX-License-Identifier: MIT
"""Summaries of corpora."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Optional

from . import _core
from ._errors import Error
from ._words import counted


@dataclass(frozen=True)
class StreamDescription:
    name: str
    storage: str
    dim: int
    dtype: str
    # Only of a text corpus whose streams were inferred:
    samples: Optional[int] = None
    values: Optional[int] = None
    min: Optional[float] = None
    max: Optional[float] = None
    integral: Optional[bool] = None
    one_hot: Optional[bool] = None
    odd: Optional[int] = None  # samples that a reader of this stream takes for damaged


@dataclass(frozen=True, repr=False)
class Info:
    """A summary of a corpus, which is printed as a table."""

    streams: list[StreamDescription]
    sequences: int
    samples: int
    chunks: int
    bytes: int
    lengths: dict[str, float]  # of the sequences: min, max, mean, p50, p90, p99
    # (samples, sequences that have at most so many, and more than the step before)
    steps: list[tuple[int, int]] = field(default_factory=list)
    reader_section: Optional[str] = None  # of an inferred corpus: to paste into a configuration

    def table(self) -> list[tuple[str, ...]]:
        """Rows of text, a head first; columns of which nothing is known are left out."""
        head = ("stream", "storage", "dim", "type", "samples", "values", "range")
        rows = [_row(s) for s in self.streams]
        known = [i for i in range(len(head)) if any(row[i] for row in rows)]
        return [tuple(row[i] for i in known) for row in [head, *rows]]

    def __str__(self) -> str:
        rows = self.table()
        widths = [max(map(len, column)) for column in zip(*rows)]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in rows]
        return "\n".join(lines + self._remarks())

    def _remarks(self) -> list[str]:
        length = self.lengths
        odd = [(s.name, s.odd) for s in self.streams if s.odd]
        return [
            *(f"{name}: {counted(n, 'sample')} cannot be read as such; bf.check() says where" for name, n in odd),
            f"{counted(self.sequences, 'sequence')}, {counted(self.samples, 'sample')} in {counted(self.chunks, 'chunk')}",
            f"samples of a sequence: {length['min']:g} to {length['max']:g}, mean {length['mean']:.1f}",
        ]

    __repr__ = __str__

    def _repr_html_(self) -> str:
        cells = [["td" if i else "th", row] for i, row in enumerate(self.table())]
        body = "".join("<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) + "</tr>" for tag, row in cells)
        tail = "<br>".join(map(escape, self._remarks()))
        return f"<table>{body}</table><p>{tail}</p>{self.plot()}"

    def plot(self) -> str:
        """Sequences by length, as SVG; its text has the colour of the page's."""
        highest = max((n for _, n in self.steps), default=1)
        name = "sequences, by their number of samples"
        bars = []
        for i, (most, n) in enumerate(self.steps):
            height = round(80 * n / highest, 1)
            bars.append(
                f'<rect x="{i * 56}" y="{99 - height}" width="48" height="{height}" fill="#4878a8"/>'
                f'<text x="{i * 56 + 24}" y="{95 - height}" text-anchor="middle">{n}</text>'
                f'<text x="{i * 56 + 24}" y="113" text-anchor="middle">to {most}</text>'
            )
        size = f'width="{max(56 * len(self.steps), 240)}" height="136" font-size="11" fill="currentColor"'
        caption = f'<text x="0" y="132">{name}</text>'
        return f'<svg xmlns="http://www.w3.org/2000/svg" {size}><title>{name}</title>{"".join(bars)}{caption}</svg>'


def _row(s: StreamDescription) -> tuple[str, ...]:
    seen = "" if s.samples is None else str(s.samples)
    values = "" if s.values is None else str(s.values)
    span = "" if not s.values else "one-hot" if s.one_hot else f"{s.min:g} ... {s.max:g}"
    return (s.name, s.storage, str(s.dim), s.dtype, seen, values, span)


def _section(files: Sequence[str], inferred: _core.Inferred) -> Optional[str]:
    try:
        return _core.reader_section(list(files), inferred)
    except Error as error:
        if error.id != "infer.no-section":
            raise
        return None


def glance(about: _core.Description, inferred: Optional[_core.Inferred] = None, files: Sequence[str] = ()) -> Info:
    """An Info of a description, and of what was inferred from the values of a text corpus without declared streams."""
    seen = {s.spec.name: s for s in inferred.streams} if inferred else {}
    names = ("samples", "values", "min", "max", "integral", "one_hot", "odd")
    streams = [
        StreamDescription(
            s.name, s.storage, s.dim, s.element, **{n: getattr(seen[s.name], n) for n in names if s.name in seen}
        )
        for s in about.streams
    ]
    lengths = {n: float(getattr(about.lengths, n)) for n in ("min", "max", "mean", "p50", "p90", "p99")}
    text = _section(files, inferred) if inferred else None
    return Info(streams, about.sequences, about.samples, about.chunks, about.bytes, lengths, about.steps, text)
