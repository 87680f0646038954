# SPDX-License-Identifier: MIT
"""Builds the libraries that tests load into a process in front of others."""
import os
import pathlib
import subprocess
import tempfile


def build(source):
    """The path of one C file as a library; made once for these sources."""
    library = pathlib.Path(tempfile.gettempdir(), f"batchfeed-{source.stem}-{os.getuid()}-{source.stat().st_mtime_ns}.so")
    if not library.exists():
        fresh = f"{library}.{os.getpid()}"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o", fresh, str(source), "-ldl"], check=True)
        os.rename(fresh, library)
    return str(library)
