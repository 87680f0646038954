# SPDX-License-Identifier: MIT
"""Feeds `batchfeed` with hostile inputs under limits of memory and time.

Whatever the bytes: it ends by itself in time, with a result or one located message
and exit status 3; memory stays within the promise; nothing else happens.
"""
import json
import os
import pathlib
import re
import resource
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from make_hostile import CASES, COSTLY  # noqa: E402

BINARY = os.environ.get("BATCHFEED", str(pathlib.Path(__file__).parents[2] / "build/release/bin/batchfeed"))
SECONDS = 60  # a hang, not slowness, is what it is for
MEBIBYTE = 1 << 20
# FILE[:LINE[:COLUMN]][ (byte N)]: WHAT
LOCATED = re.compile(r"^\S.*?(:\d+)?(:\d+)?( \(byte \d+\))?: \S")


def promised_memory(folder):
    """Address space that is enough: 64 MiB and four times the input, beside code and stacks."""
    size = sum(p.lstat().st_size for p in folder.rglob("*") if p.is_file() and not p.is_symlink())
    return 512 * MEBIBYTE + 4 * min(size, 512 * MEBIBYTE)


def target(folder):
    """The configuration, or where there is none the corpus itself."""
    return next(name for name in ("config.cntk", "data.ark", "data.scp", "data.mlf") if (folder / name).exists())


def run(folder, *args):
    limit = promised_memory(folder)

    def limits():
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    return subprocess.run([BINARY, *args], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, preexec_fn=limits)


def expect_clean(done):
    """No crash, no sanitizer, one message that a person can use."""
    errors = done.stderr.decode("utf-8", "replace")
    assert done.returncode in (0, 3), f"exit status {done.returncode}\n{errors[-2000:]}"
    if done.returncode == 3:
        last = [line for line in errors.split("\n") if line.strip()][-1]
        assert LOCATED.match(last), f"not the grammar of messages: {last!r}"
    assert len(errors) < 64 * 1024, "floods of messages"


@pytest.mark.parametrize("name", CASES)
def test_read(name, tmp_path):
    make, outcome, words = CASES[name]
    make(tmp_path)
    before = sorted(p.name for p in tmp_path.iterdir())
    done = run(tmp_path, "read", target(tmp_path), "--format", "jsonl", "--limit", "20", "--minibatch-size", "16")
    expect_clean(done)
    if outcome in ("ok", "passed over"):
        assert done.returncode == 0, done.stderr.decode()
    elif outcome != "either":
        assert done.returncode == 3, "was read without a complaint"
        error = json.loads(done.stdout.decode().strip().split("\n")[-1])["error"]
        assert error["kind"] == outcome, error
        assert re.search(words, error["what"] + " " + (error.get("hint") or "")), error
    # Reading writes nothing, and no name in a file is a command.
    assert sorted(p.name for p in tmp_path.iterdir()) == before


# Lengths that files say before there is anything of that length: sequences are cut by them, and drawn into a rectangle.
@pytest.mark.parametrize("name", [name for name in CASES if name not in COSTLY])
def test_read_in_parts(name, tmp_path):
    CASES[name][0](tmp_path)
    expect_clean(run(tmp_path, "read", target(tmp_path), "--format", "none", "--limit", "20", "--minibatch-size", "2", "--long-sequence", "split"))


@pytest.mark.parametrize("name", CASES)
def test_check(name, tmp_path):
    make, outcome, _ = CASES[name]
    make(tmp_path)
    done = run(tmp_path, "check", target(tmp_path), "--max-faults", "20")
    errors = done.stderr.decode("utf-8", "replace")
    assert done.returncode in (0, 1, 3), f"exit status {done.returncode}\n{errors[-2000:]}"
    if outcome == "ok":
        assert done.returncode == 0, errors + done.stdout.decode()
    elif outcome == "passed over":
        assert done.returncode == 1, "was found good"
    elif outcome != "either":
        assert done.returncode in (1, 3), "was found good"


# Whose memory is that of a line of a gibibyte, or of 80 MB of ids beside what was unpacked.
LARGE = ("ctf_is_a_sparse_giant", "gz_of_ids_that_are_long")


@pytest.mark.parametrize("name", [name for name in CASES if name not in LARGE])
@pytest.mark.parametrize("command", ["info", "stats"])
def test_look(command, name, tmp_path):
    CASES[name][0](tmp_path)
    done = run(tmp_path, command, target(tmp_path))
    expect_clean(done)
    assert b"out of memory" not in done.stderr


# The child of a small process, as the peak of a process begins with that of the one it came from.
MEASURE = "import os, sys; pid = os.spawnvp(os.P_NOWAIT, sys.argv[1], sys.argv[1:]); _, status, used = os.wait4(pid, 0); " \
          "print(os.waitstatus_to_exitcode(status), used.ru_maxrss, file=open('../measured', 'w'))"
SANITIZED = b"__asan_init" in pathlib.Path(BINARY).read_bytes()


@pytest.mark.skipif(SANITIZED, reason="its memory is that of the sanitizer")
@pytest.mark.parametrize("name", COSTLY)
@pytest.mark.parametrize("command", ["info", "check", "stats", "read"])
def test_cost(command, name, tmp_path):
    """Few bytes may take at most 64 MiB and four times their size. Each takes a second or so; one that took time by the square would not end."""
    folder = tmp_path / "in"
    folder.mkdir()
    CASES[name][0](folder)
    size = sum(p.stat().st_size for p in folder.iterdir()) / MEBIBYTE
    options = {"read": ["--format", "none"], "check": ["--max-faults", "20"]}.get(command, [])
    subprocess.run([sys.executable, "-S", "-E", "-c", MEASURE, BINARY, command, target(folder), *options], cwd=folder,
                   stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=True)
    status, peak = (tmp_path / "measured").read_text().split()
    assert int(status) in (0, 1, 3)
    assert int(peak) / 1024 <= 64 + 4 * size


def test_ids_that_would_meet_in_one_bucket():
    """Multiples of a prime that a hash table of the standard library has as its size, from a pipe."""
    text = "".join(f"{i * 351061} |a 1\n" for i in range(345_000))
    done = subprocess.run([BINARY, "check", "-"], input=text.encode(), capture_output=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
