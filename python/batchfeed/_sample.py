# SPDX-License-Identifier: MIT
"""Sequences of a corpus drawn at random, as a corpus of their own."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Callable, Optional, Union

from . import _core, _open
from ._errors import FormatError, Fault, usage
from ._files import Limits, StorageOptions
from ._given import Path, number, path, whole, wrong
from ._open import What, opening_of
from ._told import Progress, log, notice, told
from ._tools import Converted, expect_absent, form_of, target_options, written


def sample(
    what: Union[What, _open.FromSources],
    target: Path,
    *,
    count: Optional[int] = None,
    fraction: Optional[float] = None,
    seed: int = 0,
    to: Optional[str] = None,
    section: str = "",
    set: Sequence[str] = (),
    dtype: Any = None,
    state_list: Optional[Path] = None,
    path_map: Optional[Mapping[str, str]] = None,
    streams: Sequence[str] = (),
    keys: str = "automatic",
    chunk_bytes: int = 32 << 20,
    frame_period: Optional[int] = None,
    parameter_kind: Union[int, str, None] = None,
    labels: Sequence[str] = (),
    jobs: int = 0,
    force: bool = False,
    verify: bool = False,
    limits: Optional[Limits] = None,
    storage_options: StorageOptions = None,
    report: Optional[Callable[[Fault], None]] = log,
    progress: Optional[Progress] = None,
) -> Converted:
    """Writes sequences of a corpus that are drawn at random, each at most once, in the order of the corpus.

    Either exactly `count` are drawn, or all of them where there are no more, of which `report` is told; or a `fraction` of
    all, above 0 and up to 1, rounded. All choices of so many sequences are equally likely, and the same `seed` makes the
    same one everywhere, for any number of threads. Only chunks that have any of them are read.

    The target and all other options are those of convert(), and so are the errors. A file of the corpus itself is not
    replaced, not even with `force`.
    """
    if (count is None) == (fraction is None):
        given = "neither count nor fraction is given" if count is None else f"count is {count!r}, and fraction {fraction!r}"
        raise usage("python.option", given, "count=1000, or fraction=0.01")
    wanted = 0 if count is None else whole("count", count, 1)
    part = None if fraction is None else number("fraction", fraction, "a number above 0 and up to 1", lambda n: 0 < n <= 1)
    file = path("target", target)
    form = form_of(file, to)
    options = target_options(
        form,
        report,
        streams=streams,
        keys=keys,
        chunk_bytes=chunk_bytes,
        frame_period=frame_period,
        parameter_kind=parameter_kind,
        labels=labels,
        jobs=jobs,
        force=force,
        part=True,
        verify=verify,
    )
    draw = whole("seed", seed)
    expect_absent(file, force)
    setup = opening_of(what, section, set, dtype, limits, storage_options, {}, state_list, path_map).setup(report)
    setup.set_report(report)
    try:
        done = written(file, options, storage_options, lambda local: _core.sample(setup, local, wanted, part, draw, options, report, told(progress)))
    except FormatError as error:
        if error.id != "convert.nothing" or part is None:
            raise
        raise wrong("fraction", fraction, "more, as that is not one sequence of the corpus") from None
    all_there = done.sequences + done.left_out
    if all_there < wanted and report is not None:
        plural = "is 1 sequence" if all_there == 1 else f"are {all_there} sequences"
        notice("python.all-drawn", f"there {plural}, and count is {wanted}: all are taken", report=report)
    return done
