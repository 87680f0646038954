# SPDX-License-Identifier: MIT
"""Builds the library that lets system calls fail, and names the faults that are tried."""
import errno
import os
import pathlib
import subprocess
import tempfile

SHORT = -1
# Those that nobody must notice, and those that must be told or make no difference.
INVISIBLE = {"pread": [SHORT, errno.EINTR], "write": [SHORT, errno.EINTR], "open": [errno.EINTR]}
FAULTS = {
    "open": [errno.EACCES, errno.ENOENT, errno.EMFILE, errno.ENFILE, errno.EIO],
    "fstat": [errno.EIO, errno.ESTALE],
    "pread": [errno.EIO, errno.ESTALE, errno.EAGAIN, errno.EISDIR],
    "write": [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO],
    "fsync": [errno.EIO, errno.ENOSPC],
    "close": [errno.EIO],
    "rename": [errno.EXDEV, errno.EPERM],
    "mkostemp": [errno.EACCES, errno.EROFS],
    "ftruncate": [errno.EIO],
}


def build():
    """The library's path; made once for these sources."""
    source = pathlib.Path(__file__).with_name("shim.c")
    library = pathlib.Path(tempfile.gettempdir(), f"batchfeed-shim-{os.getuid()}-{source.stat().st_mtime_ns}.so")
    if not library.exists():
        fresh = f"{library}.{os.getpid()}"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o", fresh, str(source), "-ldl"], check=True)
        os.rename(fresh, library)
    return str(library)
