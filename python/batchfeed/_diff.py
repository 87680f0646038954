# SPDX-License-Identifier: MIT
"""Whether two corpora hold the same sequences."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional, Union

from . import _core, _open
from ._errors import written_out
from ._files import Limits, StorageOptions
from ._given import Path, number, text, texts, whole
from ._open import What, openings_of
from ._sources import fill
from ._told import Progress, log, told
from ._words import counted

SHOWN = 20  # differences in a Diff's repr(), at most


@dataclass(frozen=True)
class Located:
    """One sequence, as a corpus has it. Lines count from 1, and are None where there are none or they are not known."""

    number: int  # in the order of the corpus, from 0
    key: str
    file: Optional[str]  # None: it is in no file
    first_line: Optional[int]
    last_line: Optional[int]
    line: Optional[int]  # of the sample that differs

    def __str__(self) -> str:
        if self.file is None:
            return f"sequence {self.number}"
        lines = self.line or self.first_line
        if lines is None:
            return f"{self.file} sequence {self.number}"
        several = self.line is None and self.last_line != self.first_line
        return f"{self.file}:{lines}-{self.last_line}" if several else f"{self.file}:{lines}"


@dataclass(frozen=True)
class Difference:
    """A sequence that is another one in the two corpora, or that only one of them has: the other is None."""

    first: Optional[Located]
    second: Optional[Located]
    what: Optional[str]  # if both have it: "stream 'v', sample 2: [1] is 3.5 and 3.25"; samples and indices count from 0

    def __str__(self) -> str:
        here, there = self.first, self.second
        if here and there:
            key = f" (key {here.key})" if here.key == there.key else ""
            return written_out(f"! {here} | {there}{key}: {self.what}")
        only = here or there
        return written_out(f"{'<' if here else '>'} {only} (key {only.key if only else ''}): only here")


@dataclass(frozen=True, repr=False)
class Diff:
    """How two corpora differ. It counts as False where they are the same: `if bf.diff(a, b): ...`.

    The counts are of sequences. All of them are counted, `differences` has the first ones: those that are different or
    only in the first corpus, in its order, then those only in the second.
    """

    streams: list[str]  # how streams differ, such as "stream 'y' is only in the first"; these are not compared further
    keys_compared: bool  # else keys are mere numbers in one of the corpora, or ignored
    sequences: tuple[int, int]  # of the first and the second corpus; (0, 0) if they have no stream in common
    same: int  # in both, wherever they stand
    changed: int
    only_first: int
    only_second: int
    same_order: bool  # of those in both
    order_differs_at: Optional[Difference]  # where their order differs first, and what each corpus has there
    differences: list[Difference]

    def __bool__(self) -> bool:
        return bool(self.streams or self.changed or self.only_first or self.only_second or not self.same_order)

    def __repr__(self) -> str:
        if self.sequences == (0, 0):
            return written_out("\n".join(["<no stream in common>", *(f"  ! {what}" for what in self.streams)]))
        found = f"{counted(self.same, 'sequence')} the same{'' if self.same_order else ' but in another order'}"
        for n, what in ((self.changed, "different"), (self.only_first, "only in the first"), (self.only_second, "only in the second")):
            found += f", {n} {what}" if n else ""
        lines = [f"<{found}{'' if self.keys_compared else '; keys not compared'}>", *(f"  ! {what}" for what in self.streams)]
        lines += [f"  {one}" for one in self.differences[:SHOWN]]
        if self.changed + self.only_first + self.only_second > min(len(self.differences), SHOWN):
            lines.append("  ...")
        if self.order_differs_at is not None:
            here, there = self.order_differs_at.first, self.order_differs_at.second
            lines.append(f"  ! from {here} | {there} on in another order")
        return written_out("\n".join(lines))


def _located(one: Optional[_core.Located]) -> Optional[Located]:
    if one is None:
        return None
    return Located(one.number, one.key, one.file or None, one.first_line or None, one.last_line or None, one.line or None)


def _difference(one: _core.Difference) -> Difference:
    return Difference(_located(one.a), _located(one.b), one.what or None)


def diff(
    first: Union[What, _open.FromSources],
    second: Union[What, _open.FromSources],
    *,
    section: str = "",
    section_second: str = "",
    set: Sequence[str] = (),
    dtype: Any = None,
    state_list: Optional[Path] = None,
    path_map: Optional[Mapping[str, str]] = None,
    streams: Sequence[str] = (),
    tolerance: float = 0.0,
    ignore_keys: bool = False,
    max_differences: int = 10,
    jobs: int = 0,
    limits: Optional[Limits] = None,
    storage_options: StorageOptions = None,
    progress: Optional[Progress] = None,
) -> Diff:
    """Compares the sequences of two corpora, of whatever formats, chunks and files.

    Each is a configuration, corpus files, or sources. Sequences are matched by key where both corpora have keys of their
    own, or the same keys; else, and with `ignore_keys`, by their data alone. Values are the same if they differ by at most
    `tolerance` times the larger of 1 and their absolute values; NaN equals NaN. Entries of a sparse sample may come in any
    order, and doubles are compared with floats as floats. Dims of sparse streams that were inferred from text are not
    compared. `streams`: those to compare; none: all. At most `max_differences` are listed; all are counted. `section` and
    `set` are for the configurations among the two, `section_second` is the section of the second, if it is another.

    Both are read once, side by side, and again what differs; memory: some chunks, and from the first difference on 32
    bytes a sequence of each. The result is plain values, and keeps nothing open. Raises FileError, FormatError or
    ConfigError as open() does, FormatError also for damaged data, unless their source leaves them out: then such
    sequences count as missing. Other threads run meanwhile.
    """
    options = fill(
        _core.CompareOptions(),
        tolerance=number("tolerance", tolerance, "a number, at least 0", lambda n: n >= 0),
        ignore_keys=ignore_keys,
        max_differences=whole("max_differences", max_differences),
        jobs=jobs,
    )
    names, bar = texts("streams", streams), told(progress)
    sections = {1: text("section_second", section_second)}
    openings = openings_of((first, second), section, set, dtype, limits, storage_options, state_list, path_map, sections)
    setups = [one.setup(log) for one in openings]
    for setup in setups:
        setup.set_report(log)
        setup.set_progress(bar)
    found = _core.compare(setups[0], setups[1], names, options, bar)
    return Diff(
        found.streams,
        found.keys,
        (found.sequences_a, found.sequences_b),
        *(found.same, found.changed, found.only_a, found.only_b, found.same_order),
        None if found.order is None else _difference(found.order),
        [_difference(one) for one in found.differences],
    )
