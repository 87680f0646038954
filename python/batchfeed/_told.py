# SPDX-License-Identifier: MIT
"""Notices and progress, which are reported while work goes on."""
from __future__ import annotations

import logging
from dataclasses import replace
from typing import Callable, Optional, Union

from ._convert import library
from ._errors import Fault, usage
from ._given import function

Report = Callable[[Fault], None]
Progress = Union[Callable[[int, int], None], bool]  # True: a bar
_log = logging.getLogger("batchfeed")
_LEVELS = {"info": logging.DEBUG, "warning": logging.WARNING, "error": logging.ERROR}


def log(fault: Fault) -> None:
    """Where notices go unless `report` is given: the logger "batchfeed"."""
    _log.log(_LEVELS[fault.severity], "%s", fault)


def notice(id: str, what: str, hint: Optional[str] = None, path: Optional[str] = None, report: Report = log) -> None:
    """Warns of something that is done although the caller may not want it."""
    report(replace(usage(id, what, hint, path=path).fault, severity="warning"))


def told(progress: Optional[Progress]) -> Optional[Callable[[int, int], None]]:
    """`progress` as a function of the bytes done and in all, or None; for True, one that draws a tqdm bar."""
    if not isinstance(progress, bool):
        function("progress", progress, "True, or a function of the bytes done and in all")
        return progress
    if not progress:
        return None
    bar = library("tqdm.auto", "progress=True").tqdm(unit="B", unit_scale=True, leave=False)

    def update(done: int, total: int) -> None:
        bar.total, bar.n = total or None, done
        bar.refresh()
        if total and done >= total:
            bar.close()

    return update
