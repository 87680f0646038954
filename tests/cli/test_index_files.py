# SPDX-License-Identifier: MIT
"""Whatever lies where the index cache should be: the data are read as they are, nothing waits and nothing else is touched."""
import os
import resource
import shutil
import struct
import subprocess

import pytest

from conftest import BINARY

CACHE = "a.ctf.bfindex"


def text(first=0):
    return "".join(f"{i} |a {i + first} 2\n" for i in range(2000))


def read(folder):
    """With less memory than a cache may claim to need."""
    limits = lambda: resource.setrlimit(resource.RLIMIT_AS, (700 << 20,) * 2)  # noqa: E731
    return subprocess.run([BINARY, "cat", "a.ctf", "--cache-index"], cwd=folder, capture_output=True, text=True, timeout=60, preexec_fn=limits,
                          env={**os.environ, "HOME": "", "XDG_CACHE_HOME": ""})


def counts_that_lie(field):
    """More than there is memory for, in a file that is as large as it says and takes no room."""
    def put(path):
        header = bytearray(path.read_bytes())
        count, each = {"options": (40, 1), "extra": (48, 1), "entries": (56, 32), "bytes of texts": (72, 1)}[field]
        more = (1 << 36) // each
        struct.pack_into("<Q", header, count, struct.unpack_from("<Q", header, count)[0] + more)
        path.write_bytes(header)
        os.truncate(path, len(header) + more * each)
    return put


def of_other_data(path):
    (path.parent / "b.ctf").write_text(text(7))
    subprocess.run([BINARY, "-q", "index", "b.ctf"], cwd=path.parent, check=True, capture_output=True)
    os.rename(path.parent / "b.ctf.bfindex", path)


def instead(put):
    def replace(path):
        path.unlink()
        put(path)
    return replace


KINDS = {
    "a folder": instead(os.mkdir),
    "a pipe": instead(os.mkfifo),
    "a link to itself": instead(lambda p: os.symlink(CACHE, p)),
    "a link to nothing": instead(lambda p: os.symlink("nowhere", p)),
    "a link to a file": instead(lambda p: os.symlink("victim", p)),
    "a link to zeros without end": instead(lambda p: os.symlink("/dev/zero", p)),
    "nothing": instead(lambda p: p.write_bytes(b"")),
    "a tebibyte of zeros": instead(lambda p: (p.write_bytes(b""), os.truncate(p, 1 << 40))),
    "a cache and a tebibyte of zeros": lambda p: os.truncate(p, 1 << 40),
    "the cache of other data": instead(of_other_data),
    "the data": instead(lambda p: shutil.copy(p.parent / "a.ctf", p)),
    **{f"a count of {field} that lies": counts_that_lie(field) for field in ("options", "extra", "entries", "bytes of texts")},
}


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_no_cache(kind, tmp_path):
    (tmp_path / "a.ctf").write_text(text())
    (tmp_path / "victim").write_text("precious")
    assert read(tmp_path).stdout == text()
    KINDS[kind](tmp_path / CACHE)
    done = read(tmp_path)
    assert (done.returncode, done.stdout) == (0, text())
    assert f"{CACHE}: the index cache was not used: " in done.stderr
    assert (tmp_path / "victim").read_text() == "precious"
    again = read(tmp_path)
    assert (again.returncode, again.stdout) == (0, text())
    if kind in ("a folder", "a pipe", "a link to zeros without end"):  # no file takes their place
        assert f"a.ctf: the index could not be kept: {CACHE}: " in done.stderr
    else:
        assert again.stderr == "", "it was not written again"


def test_a_folder_that_cannot_be_written_is_said_once(tmp_path):  # index.not-kept
    (tmp_path / "a.ctf").write_text(text())
    done = subprocess.run([BINARY, "cat", "a.ctf", "--cache-dir", "a.ctf"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, text())
    assert done.stderr.count("a.ctf: the index could not be kept: ") == 1 and "--cache-dir" in done.stderr


def test_inferred_streams_are_kept_beside_the_index(tmp_path):
    """What is kept counts instead of the data, but not for a check, nor once it is odd or to be made anew."""
    def run(*words):
        done = subprocess.run([BINARY, *words], cwd=tmp_path, capture_output=True, text=True, timeout=60)
        return done.stdout + done.stderr

    (tmp_path / "a.ctf").write_text(text())
    plain = run("schema", "a.ctf")
    run("index", "a.ctf")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.ctf", CACHE, "a.ctf.bfstreams"]
    assert run("schema", "a.ctf", "--cache-index") == plain
    # The same size and time, and a fingerprint that does not look at this place.
    big = "".join(f"{i} |a 1 2\n" for i in range(100_000))
    (tmp_path / "a.ctf").write_text(big)
    run("index", "a.ctf")
    before = os.stat(tmp_path / "a.ctf")
    (tmp_path / "a.ctf").write_text(big.replace("\n9901 |a 1 2\n", "\n9901 |a 777\n"))
    os.utime(tmp_path / "a.ctf", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "777" in run("schema", "a.ctf") and "777" not in run("schema", "a.ctf", "--cache-index")
    run("index", "a.ctf", "--rebuild")
    assert "777" in run("schema", "a.ctf", "--cache-index")
    kept = tmp_path / "a.ctf.bfstreams"
    for lie in (b"", kept.read_bytes()[:-1], b"x" * 200):
        kept.write_bytes(lie)
        assert run("schema", "a.ctf", "--cache-index") == run("schema", "a.ctf")
        assert len(kept.read_bytes()) > 100, "made anew"
    kept.unlink()
    run("check", "a.ctf", "--cache-index")
    assert not kept.exists()


def test_why_an_index_cannot_be_kept_is_told_also_quietly(batchfeed, write):
    write("a.ctf", "0 |v 1\n")
    write("file", "")
    for how in ([], ["-q"]):
        done = batchfeed("index", *how, "a.ctf", "--cache-dir", "file/folder")
        assert done.code == 3 and "file/folder: cannot create: Not a directory" in done.out and "--cache-dir" in done.out, done.out
        assert bool(done.err) != bool(how)
