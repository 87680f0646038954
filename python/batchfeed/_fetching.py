# SPDX-License-Identifier: MIT
"""Threads that wait for the answers of servers; imported for remote files only, as concurrent.futures takes long."""
from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future, InvalidStateError, wait
from contextlib import suppress
from typing import Any, Callable, Optional, TypeVar

T = TypeVar("T")
CONNECTIONS = 16  # requests of a process at a time
LONGEST_WAIT = 60.0  # seconds before a request is repeated, at most, whatever the server says


def asked_to_wait(error: BaseException) -> float:
    """The seconds after which a server wants to be asked again (Retry-After: a number, or a date); 0 if it says nothing."""
    headers = getattr(error, "headers", None)
    said = headers.get("Retry-After") if isinstance(headers, Mapping) else None
    if not isinstance(said, str):
        return 0.0
    if said.strip().isdecimal():
        return min(float(said), LONGEST_WAIT)
    from email.utils import parsedate_to_datetime

    try:
        return min(max(parsedate_to_datetime(said).timestamp() - time.time(), 0.0), LONGEST_WAIT)
    except (TypeError, ValueError, OverflowError):
        return 0.0


def settle(future: Future[Any], value: Any = None, error: Optional[BaseException] = None) -> None:
    """Ends waiting for it, unless it is over."""
    with suppress(InvalidStateError):
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)


def answer(future: Future[T]) -> T:
    """Its result. Waits in turns: an interrupt that comes when Python has looked for one and not begun to wait ends only the next."""
    while not future.done():
        wait([future], 0.1)
    return future.result()


class _Pool:
    """Threads for requests. Python does not wait for them when it ends, as it does for those of concurrent.futures."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0

    def submit(self, work: Callable[[], T]) -> Future[T]:
        future: Future[T] = Future()
        with self._lock:
            if self._threads < CONNECTIONS:
                self._begin()
        self._work.put((future, work))
        return future

    def _begin(self) -> None:
        try:
            threading.Thread(target=self._run, name="batchfeed-fetch", daemon=True).start()
            self._threads += 1
        except RuntimeError:  # there may be no more, or Python ends
            if self._threads == 0:
                raise

    def _run(self) -> None:
        while True:
            future, work = self._work.get()
            try:
                settle(future, work())
            except BaseException as error:
                settle(future, error=error)
            del future, work


_pools: dict[int, _Pool] = {}  # by process: threads do not survive a fork
_pools_lock = threading.Lock()


def fetch(work: Callable[[], T]) -> Future[T]:
    """What `work` returns, in another thread. Raises RuntimeError if there is none to be had."""
    with _pools_lock:
        pid = os.getpid()
        if pid not in _pools:
            _pools.clear()
            _pools[pid] = _Pool()
        pool = _pools[pid]
    return pool.submit(work)


def _after_fork() -> None:
    global _pools_lock
    _pools_lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)
