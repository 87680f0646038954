# SPDX-License-Identifier: MIT
"""Builds the library that lets system calls fail, and names the faults that are tried."""
import errno
import pathlib

import preloaded

SHORT = -1
# Those that nobody must notice, and those that must be told or make no difference.
INVISIBLE = {"pread": [SHORT, errno.EINTR], "write": [SHORT, errno.EINTR], "open": [errno.EINTR]}
FAULTS = {
    "open": [errno.EACCES, errno.EROFS, errno.ENOENT, errno.EMFILE, errno.ENFILE, errno.EIO],
    "fstat": [errno.EIO, errno.ESTALE],
    "pread": [errno.EIO, errno.ESTALE, errno.EAGAIN, errno.EISDIR],
    "write": [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO],
    "fsync": [errno.EIO, errno.ENOSPC],
    "close": [errno.EIO],
    "rename": [errno.EXDEV, errno.EPERM],
    "ftruncate": [errno.EIO],
}


def build():
    """The library's path."""
    return preloaded.build(pathlib.Path(__file__).with_name("shim.c"))
