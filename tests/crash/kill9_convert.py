#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills `batchfeed convert` at random instants: the target is absent, old or complete.

    kill9_convert.py BATCHFEED [--rounds 40] [--rows 20000] [--seed 0]

Complete means: byte for byte what an undisturbed run writes, and its keys likewise
or not there. Leftovers must be temporary names of this target only.
"""
import argparse
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

VARIANTS = ([], ["--chunk-size", "1M"], ["--layout", "legacy"], ["--to", "ctf"], ["--shuffle", "3", "--shuffle-memory", "4M"])


def corpus(path, rows):
    draw = random.Random(1)
    with open(path, "w", encoding="ascii") as out:
        for row in range(rows):
            values = " ".join(f"0.{draw.randrange(10000):04}" for _ in range(40))
            out.write(f"{3 * row} |F {values} |S {draw.randrange(1000)}:1\n")


def convert(binary, source, target, options):
    return subprocess.Popen([binary, "convert", str(source), str(target), "--force", "-q", *options], stdout=subprocess.DEVNULL)


def content(path):
    return path.read_bytes() if path.exists() else None


class Undisturbed:
    """What a run with some options writes when it is left alone, and how long it takes."""

    def __init__(self, binary, source, folder, options):
        target = folder / "whole.cbf"
        began = time.monotonic()
        if convert(binary, source, target, options).wait() != 0:
            raise RuntimeError(f"convert {options} failed")
        self.seconds = time.monotonic() - began
        self.data, self.keys = content(target), content(folder / "whole.cbf.keys")
        (folder / "whole.cbf.keys").unlink(missing_ok=True)


def state_of(target, whole):
    data, keys = content(target), content(target.with_name(target.name + ".keys"))
    state = "absent" if data is None else "old" if data == b"old" else "complete" if data == whole.data else "torn"
    if keys is not None and (state != "complete" or keys != whole.keys):
        state += ", with keys of other data"
    return state


def one_round(binary, folder, options, whole, draw):
    """The state of the target after a kill; raises RuntimeError if it cannot be so."""
    source, target = folder / "in.ctf", folder / "out.cbf"
    old = draw.random() < 0.5
    for name in ("out.cbf", "out.cbf.keys"):
        (folder / name).unlink(missing_ok=True)
    if old:
        target.write_bytes(b"old")
    child = convert(binary, source, target, options)
    time.sleep(draw.random() * whole.seconds * 1.1)
    child.send_signal(signal.SIGKILL)
    child.wait()
    state = state_of(target, whole)
    if state not in ("complete", "old" if old else "absent"):
        raise RuntimeError(f"{options}: the target is {state}")
    for entry in folder.iterdir():
        if entry.name in ("in.ctf", "whole.cbf", "out.cbf", "out.cbf.keys"):
            continue
        if not re.fullmatch(r"out\.cbf(\.keys)?\.tmp\.\w{6}", entry.name):
            raise RuntimeError(f"{options}: a stranger is left: {entry.name}")
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    return state


def run(binary, rounds, rows, seed):
    """How often the target was in which state."""
    draw = random.Random(seed)
    counts = {"absent": 0, "old": 0, "complete": 0}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        corpus(folder / "in.ctf", rows)
        undisturbed = [Undisturbed(binary, folder / "in.ctf", folder, options) for options in VARIANTS]
        for number in range(rounds):
            which = number % len(VARIANTS)
            counts[one_round(binary, folder, VARIANTS[which], undisturbed[which], draw)] += 1
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("batchfeed")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--rows", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    try:
        counts = run(args.batchfeed, args.rounds, args.rows, args.seed)
    except RuntimeError as error:
        print(error)
        return 1
    print("kill -9: " + ", ".join(f"{n} {state}" for state, n in counts.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
