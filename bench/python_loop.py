#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the loop in Python costs over the same loop in C++ (bench/loop.cc), side by side in one run.

    python_loop.py --loop build/bench/bin/loop [--minibatch 256] [--rounds 5] FILE...

Rounds alternate; printed are the medians of processor time, and the ratios of the Python loop, and of one that
makes an array of every stream, to the C++ loop.
"""
import argparse
import json
import statistics
import subprocess
import time

import batchfeed as bf


def python_loop(path, size, arrays):
    reader = bf.open(path, shuffle=False, minibatch_samples=size, report=None)
    for epoch in range(2):
        samples, wall, cpu = 0, time.perf_counter(), time.process_time()
        reader.begin_epoch(epoch)
        for batch in reader:
            if arrays:
                for stream in batch.values():
                    stream.values
            samples += batch.num_samples
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"samples": samples, "wall": wall, "cpu": cpu}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loop", required=True)
    parser.add_argument("--minibatch", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    for path in options.files:
        ours, arrays, theirs = [], [], []
        for _ in range(options.rounds):
            theirs.append(json.loads(subprocess.check_output([options.loop, path, str(options.minibatch)])))
            ours.append(python_loop(path, options.minibatch, False))
            arrays.append(python_loop(path, options.minibatch, True))
        assert {r["samples"] for r in ours} == {r["samples"] for r in theirs}

        def middle(runs, what):
            return statistics.median(r[what] for r in runs)

        base = middle(theirs, "cpu")
        batches = -(-ours[0]["samples"] // options.minibatch)
        told = [f"{path}: C++ {base:.3f} s, {base / batches * 1e6:.0f} us a minibatch"]
        for name, runs in (("Python", ours), ("with arrays", arrays)):
            told.append(f"{name} {middle(runs, 'cpu') / base:.3f} (wall {middle(runs, 'wall') / middle(theirs, 'wall'):.3f})")
        print("; ".join(told), flush=True)


if __name__ == "__main__":
    main()
