# SPDX-License-Identifier: MIT
"""Data that are cut, grown, rewritten or replaced while they are read: the run ends with
a fault, or goes on with what it had opened; what it delivers is never of other data."""
import os
import shutil
import subprocess

import pytest

from conftest import BINARY

ROWS = 6000


def text(first=0):
    return "".join(f"{i} |a {i + first} {i % 97}.25\n" for i in range(ROWS)).encode()


def corpus(folder, kind):
    """The file that will change, and the arguments that read it."""
    if kind == "ctf":
        (folder / "c.ctf").write_bytes(text())
        (folder / "c.cntk").write_text('reader = [ readerType = "CNTKTextFormatReader" ; file = "c.ctf" ; randomize = false ; chunkSizeInBytes = 4000\n'
                                       'input = [ a = [ dim = 2 ; format = "dense" ] ] ]')
        return folder / "c.ctf", ["c.cntk"]
    (folder / "c.ctf").write_bytes(text())
    subprocess.run([BINARY, "-q", "convert", "c.ctf", "c.cbf", "--chunk-size", "4000"], cwd=folder, check=True)
    return folder / "c.cbf", ["c.cbf", "--order", "file"]


def change(path, how):
    data = path.read_bytes()
    later = os.stat(path).st_mtime_ns + 10**9
    if how == "cut":
        os.truncate(path, len(data) // 3)
    elif how == "empty":
        os.truncate(path, 0)
    elif how == "grown":
        with open(path, "ab") as file:
            file.write(data[-40:])
    elif how == "rewritten":  # in place, as large
        path.write_bytes(text(5) [: len(data)].ljust(len(data), b"\n") if path.suffix == ".ctf" else data[:-8] + data[-4:] + data[-8:-4])
    elif how == "replaced":
        other = path.with_suffix(".other")
        shutil.copy(path, other)
        with open(other, "r+b") as file:
            file.seek(-8, os.SEEK_END)
            file.write(b"\n" * 8 if path.suffix == ".ctf" else bytes(8))
        os.rename(other, path)
    elif how == "removed":
        path.unlink()
        return
    os.utime(path, ns=(later, later))


@pytest.mark.parametrize("how", ["cut", "empty", "grown", "rewritten", "replaced", "removed"])
@pytest.mark.parametrize("kind", ["ctf", "cbf"])
def test_data_that_change_while_they_are_read(tmp_path, kind, how):
    path, arguments = corpus(tmp_path, kind)
    command = [BINARY, "read", *arguments, "--format", "jsonl", "--minibatch-size", "20", "--threads", "1", "--prefetch-depth", "1"]
    due = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True).stdout.splitlines(keepends=True)
    assert sum(map(len, due)) > 200_000  # a pipe does not hold it: the reader must wait
    reading = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    got = [reading.stdout.readline() for _ in range(3)]
    change(path, how)
    got += reading.stdout.readlines()
    err = reading.stderr.read()
    reading.wait(timeout=60)
    if reading.returncode == 0:
        assert got == due  # of the file that it had opened
    else:
        assert reading.returncode == 3 and path.name in err.decode(), err
        assert b'"error"' in got[-1] and got[:-1] == due[: len(got) - 1] and len(got) < len(due)
    if how in ("cut", "empty", "rewritten"):
        assert reading.returncode == 3, "it must have been noticed"
