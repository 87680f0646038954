#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the loop in Python costs over the same loop in C++ (bench/loop.cc), side by side in one run.

    python_loop.py --loop build/bench/bin/loop [--minibatch 256] [--rounds 4] [--epochs 8] FILE...

A FILE is a corpus, or a section of a configuration: c/bench.cntk:htk_frame (paths in it are taken from its folder).
Each loop is a process of its own, a new one for each round. They take turns epoch by epoch, in an order drawn anew each
time, so that other load on the machine meets all of them alike; under `taskset -c 1` all threads share one core, so
that the scheduler's choice of cores does not matter. Printed is the processor time for a minibatch of 256 (--minibatch)
samples in the loop of README.md in C++; then for each other loop the median, and in brackets the quartiles, of the
ratios of its epochs to that loop's epochs of the same turns. The others are: a C++ loop that reuses the memory of one
minibatch, one that holds a minibatch while it asks for the next as `for` in Python does, the Python loop, and a Python
loop that makes an array of every stream.
"""
import argparse
import json
import pathlib
import random
import statistics
import subprocess
import sys
import time

FORMS = {"C++": "own", "memory again": "again", "holding one": "held"}  # of bench/loop.cc
PYTHON = ("Python", "with arrays")


def python_loop(path, section, size, arrays):
    """The counterpart of bench/loop.cc: for each line of input an epoch, and a line of JSON of the same form."""
    import batchfeed as bf

    reader = bf.open(path, section=section, shuffle=False, minibatch_samples=size, report=None)
    for epoch, _ in enumerate(sys.stdin):
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
        print(json.dumps({"samples": samples, "wall": wall, "cpu": cpu}), flush=True)


class Loop:
    """A process with one of the loops; epoch() lets it run an epoch and returns what it printed of it."""

    def __init__(self, command, folder):
        self.process = subprocess.Popen(command, text=True, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def epoch(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def one_round(path, program, size, epochs, turns):
    """{name of a loop: [what it printed of each epoch]}; the epochs of one turn have the same index in all lists."""
    file, *section = path.split(":")
    folder, file = pathlib.Path(file).parent, pathlib.Path(file).name
    commands = {name: [program, form, file, str(size), *section] for name, form in FORMS.items()}
    for name in PYTHON:
        here = [sys.executable, pathlib.Path(__file__).resolve(), "--only", name, "--minibatch", str(size)]
        commands[name] = [*here, ":".join([file, *section])]
    loops = {name: Loop(command, folder) for name, command in commands.items()}
    told = {name: [] for name in loops}
    for _ in range(epochs + 1):
        for name in turns.sample(list(loops), len(loops)):
            told[name].append(loops[name].epoch())
    for loop in loops.values():
        loop.end()
    assert len({epoch["samples"] for of_one in told.values() for epoch in of_one}) == 1
    return {name: of_one[1:] for name, of_one in told.items()}  # the first epoch fills the file cache


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loop")
    parser.add_argument("--minibatch", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--only", choices=PYTHON, help="that loop alone, in this process")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    if options.only:
        path, _, section = options.files[0].partition(":")
        return python_loop(path, section, options.minibatch, options.only == "with arrays")
    if not options.loop:
        parser.error("--loop names the program made of bench/loop.cc")
    program, turns = pathlib.Path(options.loop).resolve(), random.Random(0)
    for path in options.files:
        told = {name: [] for name in (*FORMS, *PYTHON)}
        for _ in range(options.rounds):
            for name, epochs in one_round(path, program, options.minibatch, options.epochs, turns).items():
                told[name] += epochs
        base = told["C++"]
        batches = -(-base[0]["samples"] // options.minibatch)
        each = statistics.median(epoch["cpu"] for epoch in base) / batches
        line = [f"{path}: C++ {each * 1e6:.1f} us a minibatch"]
        for name in (name for name in told if name != "C++"):
            ratios = {what: [mine[what] / its[what] for mine, its in zip(told[name], base)] for what in ("cpu", "wall")}
            low, middle, high = statistics.quantiles(ratios["cpu"], n=4)
            line.append(f"{name} {middle:.3f} ({low:.2f} to {high:.2f}; wall {statistics.median(ratios['wall']):.2f})")
        print("; ".join(line), flush=True)


if __name__ == "__main__":
    main()
