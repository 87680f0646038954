# SPDX-License-Identifier: MIT
"""Files written to URLs: made on disk first, then sent whole."""
from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from typing import Optional

from . import _core
from ._convert import library
from ._errors import Error, exception, usage
from ._files import Remote, StorageOptions, _Files, _version, fault, retried

_Old = tuple[Optional[str], Optional[str]]  # keys that are replaced: a copy of them, and the version of their data


class Upload:
    """A file to be written to the path `local`; send() makes it appear at `url`, complete or not at all.

    `local`, and a file of keys that may lie beside it, are in a temporary folder of their own, which needs as much
    room as the target.
    """

    def __init__(self, url: str, storage: StorageOptions, form: str, force: bool) -> None:
        if form not in ("ctf", "cbf"):
            raise usage("python.target", f"{form} is written to a path of the system, not to a URL", "copy it from there", path=url)
        if "::" in url:
            raise usage("python.target", "a chain of URLs is read, not written", "write to one URL", path=url)
        self._url = url
        self._remote = storage if isinstance(storage, Remote) else Remote(storage or {})
        self._fs, self._path = _Files(self._remote).find(url)
        if not force and retried(self._remote, url, "open", lambda: self._exists(self._path)):
            raise usage("python.exists", "the file exists", "force=True replaces it", path=url)
        folder = tempfile.mkdtemp(prefix="batchfeed-")
        self.local = os.path.join(folder, self._path.rstrip("/").rsplit("/", 1)[-1])
        self._clean = weakref.finalize(self, _remove, folder, os.getpid())

    def _exists(self, path: str) -> bool:
        """As fsspec's exists(), but raises if the server cannot be asked, instead of returning False."""
        self._fs.invalidate_cache(path)
        try:
            self._fs.info(path)
        except FileNotFoundError:
            return False
        return True

    @contextmanager
    def named(self) -> Iterator[None]:
        """Makes faults of the local file name the URL, except for failures of the disk."""
        try:
            yield
        except Error as error:
            if error.path != self.local or error.kind == "io":
                raise
            text = error.fault.text.replace(self.local, self._url)
            raise exception(replace(error.fault, path=self._url, text=text)) from None

    def send(self) -> None:
        """Sends the file of keys, then the data: keys without data do no harm. Raises FileError; then the target and its keys
        are those of before."""
        keys, theirs, url = self.local + ".keys", self._path + ".keys", self._url + ".keys"
        old: Optional[_Old] = None
        try:
            try:
                if os.path.exists(keys):
                    with suppress(Exception):  # some servers do not tell what is there
                        old = self._kept(theirs)
                    self._put(keys, theirs, url)
                    old = old or (None, None)
                elif self._url.endswith((".cbf", ".bin", ".cbf.zst", ".bin.zst")):  # keys of the file that is replaced
                    old = retried(self._remote, url, "write", lambda: self._kept(theirs))
                    if old is not None:
                        retried(self._remote, url, "write", lambda: self._fs.rm_file(theirs))
                self._put(self.local, self._path, self._url)
            except BaseException:
                if old is not None:
                    self._restore(old, theirs)
                raise
        finally:
            self.discard()

    def _kept(self, keys: str) -> Optional[_Old]:
        """The file of keys that is about to be replaced, with a copy of it; None if there is none."""
        if not self._exists(keys):
            return None
        copy = os.path.join(os.path.dirname(self.local), "before-" + secrets.token_hex(4))
        self._fs.get_file(keys, copy)
        return copy, self._version_there()

    def _restore(self, old: _Old, keys: str) -> None:
        """Puts back the keys of before, if the data are surely those of before, too: else they might be taken for those of
        other data."""
        with suppress(Exception):
            copy, version = old
            if copy is not None and version is not None and self._version_there() == version:
                self._fs.put_file(copy, keys)
                return
        with suppress(Exception):
            self._fs.rm_file(keys)

    def _version_there(self) -> Optional[str]:
        """A text that changes with the data at the URL; None if there are none, or the server does not tell."""
        return _version(self._fs.info(self._path)) or None if self._exists(self._path) else None

    def discard(self) -> None:
        self._clean()

    def _put(self, local: str, path: str, url: str) -> None:
        # An object store shows a file only when all of it was sent. Elsewhere it is sent under another name, then moved.
        at_once = getattr(self._fs, "async_impl", False)
        beside = path if at_once else f"{path}.part-{secrets.token_hex(4)}"
        try:
            retried(self._remote, url, "write", lambda: self._fs.put_file(local, beside))
            wanted, found = os.path.getsize(local), retried(self._remote, url, "write", lambda: self._size(beside))
            if found != wanted:
                raise fault(url, "write", OSError(f"{wanted} bytes were sent, and {found} are there"))
            if not at_once:
                retried(self._remote, url, "write", lambda: self._move(beside, path))
        except BaseException:
            if not at_once:
                with suppress(Exception):
                    self._fs.rm_file(beside)
            raise

    def _move(self, old: str, new: str) -> None:
        if getattr(type(self._fs), "mv", None) is not library("fsspec.spec", "files behind URLs").AbstractFileSystem.mv:
            self._fs.mv(old, new)
            return
        self._fs.cp_file(old, new)  # as fsspec's own mv() does, but that takes "[1]" in a name for a pattern
        self._fs.rm_file(old)

    def _size(self, path: str) -> Optional[int]:
        self._fs.invalidate_cache(path)
        size: Optional[int] = self._fs.info(path).get("size")
        return size


def upload_for(target: str, storage: StorageOptions, form: str, force: bool) -> Optional[Upload]:
    """An Upload for a URL; None for a path of the system."""
    return Upload(target, storage, form, force) if _core.is_url(target) else None


def named(upload: Optional[Upload]) -> AbstractContextManager[None]:
    return upload.named() if upload else nullcontext()


def _remove(folder: str, pid: int) -> None:
    if os.getpid() == pid:  # not a forked child's
        shutil.rmtree(folder, ignore_errors=True)
