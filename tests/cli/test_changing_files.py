# SPDX-License-Identifier: MIT
"""Data that are cut, grown, rewritten or replaced while they are read: the run ends with
a fault, or goes on with what it had opened; what it delivers is never of other data."""
import gzip
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
    if kind == "ctf.gz":
        (folder / "c.ctf.gz").write_bytes(gzip.compress(text()))
        (folder / "c.cntk").write_text('reader = [ readerType = "CNTKTextFormatReader" ; file = "c.ctf.gz" ; randomize = false ; chunkSizeInBytes = 4000\n'
                                       'input = [ a = [ dim = 2 ; format = "dense" ] ] ]')
        return folder / "c.ctf.gz", ["c.cntk"]
    if kind.startswith("mlf"):
        (folder / "c.ctf").write_bytes("".join(f"{i} |a {(i * 7 + k // 5) % 50}:1\n" for i in range(800) for k in range(30)).encode())
    else:
        (folder / "c.ctf").write_bytes(text())
    name = {"htk": "c.scp"}.get(kind, f"c.{kind}")
    subprocess.run([BINARY, "-q", "convert", "c.ctf", name, "--chunk-size", "4000"], cwd=folder, check=True)
    if kind == "htk":
        (features,) = (path for path in folder.rglob("*") if path.is_file() and path.name not in ("c.ctf", "c.scp"))
        return features, [name, "--order", "file"]
    return folder / name, [name, "--order", "file"]


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
        part = len(data) * 3 // 4
        path.write_bytes(text(5)[: len(data)].ljust(len(data), b"\n") if path.suffix == ".ctf" else data[:part] + data[part:][::-1])
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
@pytest.mark.parametrize("kind", ["ctf", "ctf.gz", "cbf", "cbf.zst", "htk", "mlf", "mlf.zst"])
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
    # Of speech so few bytes are one piece, which is read already.
    if how in ("cut", "empty", "rewritten") and kind in ("ctf", "ctf.gz", "cbf", "cbf.zst"):
        assert reading.returncode == 3, "it must have been noticed"


def reading(path):
    command = [BINARY, "read", path.name, "--format", "jsonl", "--threads", "1"]
    return subprocess.Popen(command, cwd=path.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def holds_open(pid, path):
    try:
        return any(os.path.realpath(f"/proc/{pid}/fd/{fd}") == str(path) for fd in os.listdir(f"/proc/{pid}/fd"))
    except FileNotFoundError:
        return False


def test_a_file_replaced_between_a_look_at_its_streams_and_reading(tmp_path):
    """Without a configuration it is opened twice: what is read is of the file whose streams were found."""
    path, other = tmp_path / "c.ctf", tmp_path / "other.ctf"
    path.write_text("".join(f"{i} |a 1 {i}\n" for i in range(1_000_000)))
    other.write_text("".join(f"{i} |a 1 {i} |b 2\n" for i in range(500_000)))
    run = reading(path)
    while not holds_open(run.pid, path):
        assert run.poll() is None
    os.rename(other, path)
    out, err = run.communicate(timeout=60)
    if run.returncode == 0:  # the first look, at its format, was at the other already
        assert out == reading(path).communicate()[0]
    else:
        assert run.returncode == 3 and b"c.ctf: changed or was replaced since it was looked at: " in err, err
