# SPDX-License-Identifier: MIT
"""Files behind URLs (s3://, gs://, https://, memory:// ...), read through fsspec in ranges that are fetched ahead."""
from __future__ import annotations

import errno
import os
import random
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Callable, Optional, TypeVar, Union

from . import _core
from ._convert import library
from ._errors import Fault, exception, usage
from ._given import mapping, path, whole, wrong

if TYPE_CHECKING:  # imported for remote files only, as that takes long
    from concurrent.futures import Future

T = TypeVar("T")


@dataclass(frozen=True)
class Remote:
    """How files behind URLs are read; wherever `storage_options` may be given.

    `storage_options` is what fsspec.filesystem() takes, such as {"anon": True} or {"key": ..., "secret": ...};
    where URLs of several kinds occur, {"s3": {...}, "https": {...}}.
    """

    storage_options: Mapping[str, Any] = field(default_factory=dict)
    part_bytes: int = 8 << 20  # bytes of one request, at most
    read_ahead: int = 32 << 20  # bytes that are requested ahead of each place that is read
    retries: int = 5  # so many times a request that failed is repeated, at growing intervals, or when the server says (Retry-After)

    def __post_init__(self) -> None:
        mapping("storage_options", self.storage_options, '{"anon": True}')
        whole("part_bytes", self.part_bytes, 1)
        whole("read_ahead", self.read_ahead)
        whole("retries", self.retries)


StorageOptions = Union[Mapping[str, Any], Remote, None]
# Bounds of docs/reference/limits.md by name; and "roots": the folders (or URLs of
# folders) in which every file that is opened must lie.
Limits = Mapping[str, Union[int, Sequence[str]]]

FIRST = 64 << 10  # bytes fetched for a read that was not announced; twice as many if the next one continues it
RUNS = 64  # runs of a file that are kept, at most
# Errors that repeating a request does not cure.
LASTING = (FileNotFoundError, PermissionError, IsADirectoryError, NotImplementedError, ImportError, TypeError, ValueError)
# What servers tell about a file's content, under the names that various of them use; and about its time.
VERSIONS = ("ETag", "etag", "md5Hash", "Content-MD5", "Digest", "crc32c", "checksum", "generation", "version_id", "VersionId")
TIMES = ("LastModified", "Last-Modified", "last_modified", "updated", "mtime", "modified", "created")


def need_storage(storage: StorageOptions) -> None:
    if storage is not None and not isinstance(storage, (Mapping, Remote)):
        raise wrong("storage_options", storage, 'a mapping such as {"anon": True}, or a bf.Remote')


def working_directory() -> str:
    """The working directory; "" if it does not exist any more."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def file_system(storage: StorageOptions, names: Iterable[Any], limits: Limits, folder: str) -> _core.FileSystem:
    """The library's FileSystem. It opens URLs if there are any among `names`, or if `storage` is given.

    Relative paths count from `folder`, even if the process has changed its working directory, or in another process.
    Where `folder` does not exist (any more, or on another machine), they count from the working directory.
    """
    need_storage(storage)
    if storage is None and not any(_is_url(os.fsdecode(name)) for name in names if isinstance(name, (str, bytes, os.PathLike))):
        files = _core.FileSystem()
    else:
        remote = _Files(storage if isinstance(storage, Remote) else Remote(storage or {}))
        getattr(_made, "files", []).append(remote)
        files = _core.FileSystem(remote)
    roots = limits.get("roots", ())
    if not isinstance(roots, (list, tuple)):
        raise usage("python.roots", f"limits['roots'] is {roots!r}", "give a list of folders")
    files.roots = [path("one of limits['roots']", root) for root in roots]
    files.folder = folder if os.path.isdir(folder) else ""
    return files


_made = threading.local()


@contextmanager
def made() -> Iterator[list[_Files]]:
    """What file_system() makes in this thread meanwhile."""
    _made.files = []
    try:
        yield _made.files
    finally:
        del _made.files


def _is_url(name: str) -> bool:
    """Whether a name is a URL; also for a name that is refused later."""
    return _core.is_url(name.encode(errors="replace").decode())


def names_in(what: Any) -> list[Any]:
    """The paths that a source, or a list of sources and paths, mentions."""
    if isinstance(what, (str, bytes, os.PathLike)):
        return [what]
    if isinstance(what, (list, tuple)):
        return [name for one in what for name in names_in(one)]
    if is_dataclass(what):
        mine = ("files", "scp_files", "mapping_file", "target_mapping_file", "prefix")
        moved = getattr(what, "path_map", None)
        new = names_in(list(moved.values())) if isinstance(moved, Mapping) else []
        return new + [name for f in fields(what) if f.name in mine for name in names_in(getattr(what, f.name))]
    return []


def _status(error: BaseException) -> Optional[int]:
    """The HTTP status that a web server has answered; None if the error has none, or 0, as that of too many redirections."""
    status = getattr(error, "status", None)
    return status if isinstance(status, int) and status else None


def _timed_out(error: BaseException) -> bool:
    """Whether it is a timeout. Before Python 3.11 asyncio has an error of its own, which only occurs if it is imported."""
    asyncio = sys.modules.get("asyncio")
    return isinstance(error, TimeoutError) or (asyncio is not None and isinstance(error, asyncio.TimeoutError))


def _reason(error: Exception) -> Exception:
    """The real error: fsspec reports any failure of a web server as a missing file."""
    cause = error.__cause__
    if not isinstance(error, FileNotFoundError) or not isinstance(cause, Exception) or isinstance(cause, FileNotFoundError):
        return error
    status = _status(cause)
    told = status not in (404, 410) if status is not None else isinstance(cause, OSError) or _timed_out(cause)
    return cause if told or type(cause).__name__ == "ServerDisconnectedError" else error


def _hint(error: BaseException) -> Optional[str]:
    status = _status(error)
    if isinstance(error, PermissionError):
        return "storage_options= takes the credentials"
    if status in (401, 403, 407):
        return 'storage_options= takes the credentials, such as {"headers": {"Authorization": ...}}; some servers say so of what is not there, too'
    if status == 416:
        return "the file became shorter than it was when it was opened; open it again"
    if status == 429:
        return "it was asked too often; try again later"
    if status is not None and status >= 500:
        return "the server is at fault; try again later, or longer with bf.Remote(retries=...)"
    if isinstance(error, ConnectionError) or _timed_out(error) or hasattr(error, "os_error"):
        return "is the address right, and can the server be reached from here?"
    return None


def fault(path: str, action: str, error: BaseException) -> Exception:
    """The FileError for a failure of fsspec or a server, with `error` as its cause."""
    said = type(error).__name__ if getattr(error, "status", None) == 0 else str(error).strip() or type(error).__name__
    if _status(error) is not None:
        said = f"the server answers {_status(error)} {getattr(error, 'message', '')}".rstrip()
    missing = isinstance(error, FileNotFoundError)
    said_number = errno.ENOENT if missing else getattr(error, "errno", None)
    number = said_number if isinstance(said_number, int) else None  # anything may be given to OSError()
    what = f"cannot {action}: {os.strerror(errno.ENOENT) if missing else said}"
    hint = _hint(error)
    text = f"{path}: {what}" + (f"; hint: {hint}" if hint else "")
    raised = exception(Fault(kind="io", id=f"io.{action}", what=what, text=text, path=path, hint=hint, errno=number))
    raised.__cause__ = error
    return raised


def retried(remote: Remote, path: str, action: str, work: Callable[[], T]) -> T:
    """What `work` returns, repeated after errors that may pass. Raises FileError for others, or after the last retry."""
    for attempt in range(remote.retries + 1):
        try:
            return work()
        except Exception as told:
            error = _reason(told)
            status = _status(error)
            lasting = isinstance(error, LASTING) or (status is not None and 400 <= status < 500 and status not in (408, 425, 429))
            if lasting or attempt == remote.retries:
                raise fault(path, action, error) from error
            from ._fetching import asked_to_wait

            time.sleep(max(min(0.1 * 2 ** min(attempt, 6), 5.0) * random.uniform(0.5, 1.0), asked_to_wait(error)))
    raise AssertionError("no try")


def closed() -> Exception:
    return ValueError("the reader is closed")


class _InProcess:
    """What begins anew in a forked child: fsspec's connections do not work there, the threads that fetch are gone, and
    locks that other threads held are never released."""

    def __init__(self) -> None:
        self._begin()
        self._pid = os.getpid()

    def _begin(self) -> None:
        raise NotImplementedError

    def _here(self) -> None:
        if self._pid != os.getpid():
            with _beginning:
                if self._pid != os.getpid():
                    self._begin()
                    self._pid = os.getpid()


class _Files(_InProcess):
    """The library's FileSystem: opens URLs, and finds those that a pattern names."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self._stopped = False
        super().__init__()

    def _begin(self) -> None:
        self._known: dict[Any, Any] = {}
        self._lock, self._asking = threading.Lock(), threading.Lock()
        self._asked: dict[Future[Any], tuple[str, str]] = {}  # and not answered yet: the URL, and what is done with it

    def open(self, url: str) -> RemoteFile:
        return RemoteFile(self, url, self._remote)

    def find(self, url: str) -> tuple[Any, str]:
        """fsspec's file system for a URL, and the path in it."""
        self._here()
        return retried(self._remote, url, "open", lambda: self._find(url))

    def ask(self, url: str, action: str, work: Callable[[], T]) -> Future[T]:
        """What `work` returns, repeated after errors that may pass, in another thread."""
        from ._fetching import fetch, settle

        def tried() -> T:
            if self._stopped:
                raise closed()
            return work()

        with self._asking:
            try:
                future = fetch(lambda: retried(self._remote, url, action, tried))
            except RuntimeError as error:  # Python ends, and begins no threads any more
                raise fault(url, action, error) from error
            self._asked[future] = url, action
        future.add_done_callback(self._answered)
        if self._stopped:
            settle(future, error=fault(url, action, closed()))
        return future

    def _answered(self, future: Future[Any]) -> None:
        with self._asking:
            self._asked.pop(future, None)

    def stop(self) -> None:
        """Nobody waits any longer: a server may let a request wait for minutes."""
        from ._fetching import settle

        self._here()
        self._stopped = True
        with self._asking:
            asked = [*self._asked.items()]
        for future, (url, action) in asked:
            settle(future, error=fault(url, action, closed()))

    def glob(self, pattern: str) -> list[str]:
        fs, path = self.find(pattern)
        found: Sequence[str] = retried(self._remote, pattern, "list", lambda: fs.glob(path))
        if "::" in pattern:
            head, tail = pattern.split("::", 1)
            prefix = head.split("://")[0]
            if "://" in head:  # zip://*.ctf::s3://...
                return sorted(f"{prefix}://{name}::{tail}" for name in found)
            return sorted(f"{head}::{self._unstrip(fs, name)}" for name in found)
        return sorted(self._unstrip(fs, name) for name in found)

    @staticmethod
    def _unstrip(fs: Any, name: str) -> str:
        url: str = fs.unstrip_protocol(name)
        return url

    def _options(self, protocol: str) -> Mapping[str, Any]:
        given = self._remote.storage_options
        own = given.get(protocol)
        if isinstance(own, Mapping):
            return own
        return given if not given or not all(isinstance(v, Mapping) for v in given.values()) else {}

    def _find(self, url: str) -> tuple[Any, str]:
        fsspec = library("fsspec", url)
        if "::" in url:  # each protocol takes its own
            key: Any = url
            with self._lock:
                if key not in self._known:
                    self._known[key] = fsspec.core.url_to_fs(url, **self._remote.storage_options)
                fs, path = self._known[key]
            return fs, path
        protocol = url.split("://", 1)[0]
        kind = fsspec.get_filesystem_class(protocol)
        options = {**kind._get_kwargs_from_urls(url), **self._options(protocol)}
        key = (protocol, repr(sorted(options.items())))
        with self._lock:
            if key not in self._known:
                self._known[key] = fsspec.filesystem(protocol, **options)
            fs = self._known[key]
        return fs, kind._strip_protocol(url)


class RemoteFile(_InProcess):
    """An open file behind a URL, which several threads may read.

    It is read in runs of bytes, front to back: announced by will_read(), or guessed from the reads before. Some parts
    ahead of each run's place are being fetched; parts that were read are dropped.
    """

    def __init__(self, files: _Files, url: str, remote: Remote) -> None:
        self._files, self._url, self._remote = files, url, remote
        self._came = self._compared = 0  # reads whose bytes came; those of them before unchanged() last asked the server
        self._changed = False
        super().__init__()
        info = self._info()
        if info.get("type") == "directory":
            raise fault(url, "open", IsADirectoryError("is a folder, expected a file"))
        if info.get("size") is None:
            raise fault(url, "open", OSError("the server does not tell the file's size; simplecache::URL copies it first"))
        try:
            self.size = int(info["size"])
        except (TypeError, ValueError, OverflowError):
            self.size = -1
        if not 0 <= self.size < 1 << 63:
            raise fault(url, "open", OSError(f"the server tells a size that no file has, {info['size']!r}; simplecache::URL copies it first"))
        self.version = _version(info)

    def _begin(self) -> None:
        self._fs, self._path = self._files.find(self._url)
        self._lock = threading.Lock()  # of the runs
        self._runs: deque[_Run] = deque()  # least recently used first
        self._checking = threading.Lock()
        # File systems that are not asynchronous may have one connection only, and do not promise to be thread-safe.
        self._alone: Optional[threading.Lock] = None if getattr(self._fs, "async_impl", False) else threading.Lock()

    def _info(self) -> Mapping[str, Any]:
        from ._fetching import answer

        def look() -> Mapping[str, Any]:
            self._fs.invalidate_cache(self._path)
            info: Mapping[str, Any] = self._fs.info(self._path)
            return info

        return answer(self._files.ask(self._url, "open", look))

    def read(self, offset: int, out: memoryview) -> None:
        """Fills all of `out`."""
        from ._fetching import answer

        self._here()
        end = offset + len(out)
        with self._lock:
            run = self._run(offset, end)
            parts = run.parts_of(offset, end, self._remote, self._ask)
            if end == run.end and run.end - run.begin > FIRST:  # it is read to its end
                self._runs.remove(run)
        try:
            for begin, future in parts:
                data = answer(future)
                first, last = max(offset, begin), min(end, begin + len(data))
                out[first - offset : last - offset] = memoryview(data)[first - begin : last - begin]
        except BaseException:  # the next read there must ask the server again
            with self._lock:
                if run in self._runs:
                    self._runs.remove(run)
            raise
        with self._lock:
            self._came += 1

    def will_read(self, begin: int, end: int) -> None:
        """Bytes [begin, end) are about to be read, front to back."""
        self._here()
        with self._lock:
            if not any(run.covers(begin, end) for run in self._runs):
                self._add(_Run(begin, end)).ask(begin + self._remote.read_ahead, self._remote, self._ask)

    def unchanged(self) -> bool:
        """False if the file is no longer the one that was opened. Asks the server only if bytes came since it was last asked."""
        self._here()
        with self._checking:
            came = self._came  # what comes while the server answers is compared by the next call
            if came != self._compared and not self._changed:
                info = self._info()
                self._changed = info.get("size") != self.size or _version(info) != self.version
                self._compared = came
            return not self._changed

    def _run(self, begin: int, end: int) -> _Run:
        for run in reversed(self._runs):
            if run.covers(begin, end):
                self._runs.remove(run)
                self._runs.append(run)
                return run
        size = FIRST
        for run in self._runs:
            if run.end == begin and not run.announced:  # this read continues that run
                size = min(2 * (run.end - run.begin), self._remote.part_bytes)
                self._runs.remove(run)
                break
        return self._add(_Run(begin, min(max(end, begin + size), self.size), announced=False))

    def _add(self, run: _Run) -> _Run:
        self._runs.append(run)
        if len(self._runs) > RUNS:
            self._runs.popleft()
        return run

    def _ask(self, begin: int, end: int) -> Future[bytes]:
        return self._files.ask(self._url, "read", lambda: self._fetch(begin, end))

    def _fetch(self, begin: int, end: int) -> bytes:
        # One byte more than the last shows whether the file is longer than the server told.
        until = end + 1 if end == self.size else end
        if self._alone is not None:
            with self._alone:
                data: bytes = self._fs.cat_file(self._path, start=begin, end=until)
        else:
            data = self._fs.cat_file(self._path, start=begin, end=until)
        if len(data) == end - begin:
            return data
        if len(data) == until - begin or len(data) > self.size:
            raise ValueError(f"it is longer than the {self.size} bytes that the server told; simplecache::URL copies it first")
        if len(data) == self.size and self.size <= self._remote.part_bytes:  # the server knows no ranges
            return data[begin:end]
        if len(data) == self.size:
            raise ValueError("the server sends the whole file for a range; simplecache::URL copies it first")
        raise OSError(f"{len(data)} bytes came of the {end - begin} at {begin}")


class _Run:
    """Bytes [begin, end) of a file that are read front to back, and fetched in parts."""

    def __init__(self, begin: int, end: int, announced: bool = True) -> None:
        self.begin, self.end, self.announced = begin, end, announced
        self._asked = begin  # all bytes before it were requested
        self._parts: deque[tuple[int, int, Future[bytes]]] = deque()  # (begin, end, bytes) of those not read past yet

    def covers(self, begin: int, end: int) -> bool:
        first = self._parts[0][0] if self._parts else self._asked
        return first <= begin and end <= self.end

    def ask(self, until: int, remote: Remote, fetch: Callable[[int, int], Future[bytes]]) -> None:
        until = min(until, self.end)
        while self._asked < until:
            end = min(self._asked + remote.part_bytes, self.end)
            self._parts.append((self._asked, end, fetch(self._asked, end)))
            self._asked = end

    def parts_of(
        self, begin: int, end: int, remote: Remote, fetch: Callable[[int, int], Future[bytes]]
    ) -> list[tuple[int, Future[bytes]]]:
        """(begin, bytes) of the parts that hold [begin, end)."""
        while self._parts and self._parts[0][1] <= begin:
            self._parts.popleft()
        if not self._parts:
            self._asked = max(self._asked, begin)
        self.ask(end + remote.read_ahead, remote, fetch)
        return [(first, future) for first, last, future in self._parts if first < end and last > begin]


def _version(info: Mapping[str, Any]) -> str:
    """A text that changes with the file's bytes: what the server tells about its content, or else its times."""
    for names in (VERSIONS, TIMES):
        told = [f"{name}={info[name]}" for name in names if info.get(name) is not None]
        if told:
            return " ".join(told)
    return ""


_beginning = threading.RLock()


def _after_fork() -> None:
    global _beginning
    _beginning = threading.RLock()


os.register_at_fork(after_in_child=_after_fork)
