#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills `batchfeed convert` at every single system call it makes (strace injects the
signal), and looks at what is left: the target absent, as it was before, or complete.

    python3 tests/crash/kill_every_syscall.py       # needs strace; some minutes
"""
import collections
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BINARY = os.environ.get("BATCHFEED", str(pathlib.Path(__file__).parents[2] / "build/release/bin/batchfeed"))
RUNS = [["--jobs", "1"], ["--shuffle", "1"], ["--layout", "legacy"], ["--keys", "keep"]]
END = {"exit_group", "exit", "execve"}  # nothing comes behind these


def traced(folder, args, *inject, log=os.devnull):
    command = [BINARY, "convert", "in.ctf", "out.cbf", "--force", *args]
    return subprocess.run(["strace", "-f", "-qq", "-o", log, "-e", "signal=none", *inject, *command], cwd=folder, capture_output=True)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else None


def empty(folder):
    for path in folder.iterdir():
        if path.name != "in.ctf":
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def outcomes(folder, args, old):
    """How often the target was found absent, old, new or BAD."""
    empty(folder)
    log = folder.parent / "calls"
    done = traced(folder, args, log=log)
    assert done.returncode == 0, done.stderr.decode()
    target = folder / "out.cbf"
    new = digest(target)
    calls = collections.Counter(m.group(1) for m in re.finditer(r"^\d+ +(\w+)\(", log.read_text(), re.M))
    found = collections.Counter()
    for name in calls.keys() - END:
        for k in range(1, calls[name] + 1):
            empty(folder)
            if old:
                target.write_bytes(b"old")
            traced(folder, args, "-e", f"inject={name}:signal=KILL:when={k}")
            now = digest(target)
            found["absent" if now is None else "new" if now == new else "old" if old and target.read_bytes() == b"old" else "BAD"] += 1
    return found


def main():
    bad = 0
    with tempfile.TemporaryDirectory(prefix="batchfeed-kill-") as scratch:
        folder = pathlib.Path(scratch, "work")
        folder.mkdir()
        (folder / "in.ctf").write_text("".join(f"{i} |f {i % 7} 0.{i} |l {i % 10}:1\n" for i in range(3000)))
        for args in RUNS:
            for old in (False, True):
                found = outcomes(folder, args, old)
                bad += found["BAD"] + found["absent" if old else "old"]
                print(f"convert {' '.join(args)}, {'onto an older file' if old else 'no file before'}: killed {sum(found.values())} times: {dict(found)}", flush=True)
    print("every target was whole" if bad == 0 else f"{bad} were not")
    sys.exit(bad != 0)


if __name__ == "__main__":
    main()
