#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the loop in Python costs over the same loop in C++ (bench/loop.cc), side by side in one run.

    python_loop.py --loop build/bench/bin/loop [--minibatch 256] [--rounds 5] [--epochs 6] FILE...

A FILE is a corpus, or a section of a configuration: c/bench.cntk:htk_frame (paths in it are taken from its folder).
Each loop is a process of its own, and they take turns. Printed is the processor time of the loop of README.md in C++ for
256 (--minibatch) samples, and the ratios to it of a C++ loop that uses the memory of one minibatch again and again,
of the Python loop, and of one that makes an array of every stream: the medians of all epochs behind the first, and in
brackets the lowest and highest of a round.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

FORMS = {"C++": "own", "memory again": "again"}  # of bench/loop.cc


def python_loop(path, section, size, epochs, arrays):
    """Prints what bench/loop.cc does."""
    import batchfeed as bf

    reader = bf.open(path, section=section, shuffle=False, minibatch_samples=size, report=None)
    for epoch in range(epochs):
        samples, wall, cpu = 0, time.perf_counter(), time.process_time()
        reader.begin_epoch(epoch)
        if arrays:
            for batch in reader:
                for stream in batch.values():
                    stream.values
                samples += batch.num_samples
        else:
            for batch in reader:
                samples += batch.num_samples
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        if epoch:
            print(json.dumps({"samples": samples, "wall": wall, "cpu": cpu}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loop")
    parser.add_argument("--minibatch", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--only", choices=["Python", "with arrays"], help="that loop alone, in this process")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    if options.only:
        path, _, section = options.files[0].partition(":")
        return python_loop(path, section, options.minibatch, options.epochs, options.only == "with arrays")
    if not options.loop:
        parser.error("--loop names the program made of bench/loop.cc")
    options.loop, program = pathlib.Path(options.loop).resolve(), pathlib.Path(__file__).resolve()

    def run(name, path):
        numbers = ["--minibatch", str(options.minibatch), "--epochs", str(options.epochs)]
        file, *section = path.split(":")
        folder, file = pathlib.Path(file).parent, pathlib.Path(file).name
        command = [sys.executable, program, "--only", name, *numbers, ":".join([file, *section])]
        if name in FORMS:
            command = [options.loop, FORMS[name], file, str(options.minibatch), str(options.epochs), *section]
        return [json.loads(line) for line in subprocess.check_output(command, text=True, cwd=folder).splitlines()]

    for path in options.files:
        names = (*FORMS, "Python", "with arrays")
        rounds = [{name: run(name, path) for name in names} for _ in range(options.rounds)]
        assert len({epoch["samples"] for runs in rounds for epochs in runs.values() for epoch in epochs}) == 1

        def middle(name, what, rounds=rounds):
            return statistics.median(epoch[what] for runs in rounds for epoch in runs[name])

        batches = -(-rounds[0]["C++"][0]["samples"] // options.minibatch)
        told = [f"{path}: C++ {middle('C++', 'cpu') / batches * 1e6:.1f} us a minibatch"]
        for name in names[1:]:
            each = sorted(middle(name, "cpu", [runs]) / middle("C++", "cpu", [runs]) for runs in rounds)
            ratio, wall = (middle(name, what) / middle("C++", what) for what in ("cpu", "wall"))
            told.append(f"{name} {ratio:.3f} ({each[0]:.3f} to {each[-1]:.3f}; wall {wall:.2f})")
        print("; ".join(told), flush=True)


if __name__ == "__main__":
    main()
