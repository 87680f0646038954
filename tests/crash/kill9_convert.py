#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills `batchfeed convert` at random instants: the target is absent, old or complete.

    kill9_convert.py BATCHFEED [--rounds 20] [--rows 60000] [--seed 0]

Complete means: byte for byte what an undisturbed run writes. Leftovers must be
temporary names of this target only.
"""
import argparse
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time


def corpus(path, rows):
    draw = random.Random(1)
    with open(path, "w", encoding="ascii") as out:
        for row in range(rows):
            values = " ".join(f"0.{draw.randrange(10000):04}" for _ in range(40))
            out.write(f"{row // 3} |F {values} |S {draw.randrange(1000)}:1\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("batchfeed")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--rows", type=int, default=60000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    draw = random.Random(args.seed)
    counts = {"absent": 0, "old": 0, "complete": 0}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        source, whole, target = folder / "in.ctf", folder / "whole.cbf", folder / "out.cbf"
        corpus(source, args.rows)
        variants = ([], ["--layout", "modern", "--chunk-size", "1M"], ["--shuffle", "3", "--shuffle-memory", "4M"])
        for number in range(args.rounds):
            options = variants[number % len(variants)]
            began = time.monotonic()
            subprocess.run([args.batchfeed, "convert", str(source), str(whole), "--force", "-q", *options], check=True, stdout=subprocess.DEVNULL)
            seconds = time.monotonic() - began
            expected = whole.read_bytes()
            old = draw.random() < 0.5
            target.unlink(missing_ok=True)
            if old:
                target.write_bytes(b"old")
            child = subprocess.Popen([args.batchfeed, "convert", str(source), str(target), "--force", "-q", *options], stdout=subprocess.DEVNULL)
            time.sleep(draw.random() * seconds * 1.1)
            child.send_signal(signal.SIGKILL)
            child.wait()
            if not target.exists():
                state = "absent"
            elif target.read_bytes() == b"old":
                state = "old"
            elif target.read_bytes() == expected:
                state = "complete"
            else:
                print(f"round {number}: the target is torn: {target.stat().st_size} of {len(expected)} bytes")
                return 1
            if (state == "absent" and old) or (state == "old" and not old):
                print(f"round {number}: the target is {state}, which it cannot be")
                return 1
            counts[state] += 1
            for entry in folder.iterdir():
                if entry.name in ("in.ctf", "whole.cbf", "whole.cbf.keys", "out.cbf", "out.cbf.keys"):
                    continue
                if not re.fullmatch(r"out\.cbf(\.keys)?\.tmp\.\w{6}", entry.name):
                    print(f"round {number}: a stranger is left: {entry.name}")
                    return 1
                subprocess.run(["rm", "-rf", str(entry)], check=True)
    print("kill -9: " + ", ".join(f"{n} {state}" for state, n in counts.items()))
    if os.environ.get("KILL9_EXPECT_ALL") and not all(counts.values()):
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
