#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Costs that do not grow with the bytes: those of a minibatch, of starting the command, of opening with an index
cache; and the gain of a second core.

    python3 bench/costs.py FOLDER [--runs 7] [--record]

FOLDER holds the inputs (bench/make_inputs.py). Best of the runs, the median in brackets.
"""
import argparse
import json
import os
import pathlib
import tempfile
import time

import machine

SEQUENCES = 1_000_000
CONFIG = """
small = [ reader = [ readerType = "CNTKTextFormatReader" ; file = "small.ctf" ; randomize = {randomize} ; traceLevel = 0
  input = [ x = [ dim = 4 ; format = "dense" ] ; y = [ dim = 10 ; format = "sparse" ] ] ] ]
cached = [ reader = [ readerType = "CNTKTextFormatReader" ; file = "cached.ctf" ; randomize = true ; traceLevel = 0 ; cacheIndex = true
  input = [ x = [ dim = 4 ; format = "dense" ] ] ] ]
"""


def epochs(section, minibatch, count, settings=(), folder=None, cores=None):
    """(what bench/epoch.cc printed of opening, [what it printed of each epoch])"""
    command = [machine.program("epoch"), "bench.cntk", section, minibatch, count, *settings]
    if cores:
        command = ["taskset", "-c", ",".join(map(str, cores)), *command]
    text, *_ = machine.run(command, folder=folder)
    opened, *found = map(json.loads, text.splitlines())
    return opened, found


def shown(values, digits=2):
    return f"{min(values):.{digits}f} ({machine.median(values):.{digits}f})"


def two_cores(folder, runs, figures):
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        return print("one core only: nothing to compare")
    print("\n| text, file order, later epochs | one core, ms | two cores, ms | ratio | goal |")
    print("|---|---|---|---|---|")
    for section, minibatch in (("dense", 256), ("mnist", 256), ("sparse", 256), ("seq", 2048)):
        one, two = [], []
        for _ in range(runs):
            for cores_used, into in ((cores[:1], one), (cores, two)):
                _, found = epochs(section, minibatch, 4, ["randomize=false"], folder / "c", cores_used)
                into.append(1000 * min(line["wall"] for line in found[1:]))
        ratio = min(one) / min(two)
        print(f"| {section} | {shown(one, 0)} | {shown(two, 0)} | {ratio:.2f} | 1.8 |", flush=True)
        figures[f"two cores against one, {section}"] = {"ratio": round(ratio, 2), "of": "one core", "goal": 1.8}


def fixed_cost(folder, runs, figures):
    rows = {"shuffled, prefetched": ("true", ""), "file order, prefetched": ("false", "")}
    print("\n| minibatches of one sample of 4 values and one entry | us each | goal |")
    print("|---|---|---|")
    for name, (randomize, _) in rows.items():
        (folder / "bench.cntk").write_text(CONFIG.format(randomize=randomize))
        each = []
        for _ in range(runs):
            _, found = epochs("small", 1, 3, folder=folder)
            each.append(min(1e6 * line["wall"] / line["minibatches"] for line in found[1:]))
        print(f"| {name} | {shown(each)} | 3 |", flush=True)
        figures[f"a minibatch, {name}"] = {"value": round(min(each), 2), "unit": "us", "goal": 3}


def start(runs, figures):
    command = machine.ROOT / "build/release/bin/batchfeed"
    if not command.exists():
        return print(f"{command} is not there: its start is not measured")
    found = {}
    for _ in range(20 * runs):
        for name, words in (("/bin/true", ["/bin/true"]), ("batchfeed --version", [str(command), "--version"]), ("batchfeed read --help", [str(command), "read", "--help"])):
            began = time.perf_counter()
            child = os.posix_spawn(words[0], words, os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
            os.waitpid(child, 0)
            found.setdefault(name, []).append(1000 * (time.perf_counter() - began))
    print("\n| command, start to finish | ms | goal |")
    print("|---|---|---|")
    for name, values in found.items():
        print(f"| {name} | {shown(values, 1)} | {'-' if name == '/bin/true' else 10} |", flush=True)
    figures["start of the command"] = {"value": round(min(found["batchfeed --version"]), 2), "unit": "ms", "goal": 10}


def opening(folder, runs, figures):
    with open(folder / "cached.ctf", "w") as text:
        for i in range(SEQUENCES):
            text.write(f"{i} |x 1 2 3 {i % 10}\n{i} |x 4 5 6 7\n")
    (folder / "bench.cntk").write_text(CONFIG.format(randomize="true"))
    first, _ = epochs("cached", 256, 0, folder=folder)
    later = [1000 * epochs("cached", 256, 0, folder=folder)[0]["open"] for _ in range(3 * runs)]
    print(f"\nopening {SEQUENCES:,} sequences with a valid index cache: {shown(later, 1)} ms (goal 50); indexing them: {1000 * first['open']:.0f} ms", flush=True)
    figures["opening with an index cache, 10^6 sequences"] = {"value": round(min(later), 2), "unit": "ms", "goal": 50}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--record", action="store_true", help="in bench/history")
    a = parser.parse_args()
    data = machine.corpus(a.folder, ["dense.ctf", "c/bench.cntk"])
    figures = {}
    two_cores(data, a.runs, figures)
    with tempfile.TemporaryDirectory(prefix="batchfeed-costs-") as name:
        folder = pathlib.Path(name)
        (folder / "small.ctf").write_text("".join(f"|x 1 2 3 {i % 10} |y {i % 7}:1\n" for i in range(200_000)))
        fixed_cost(folder, a.runs, figures)
        start(a.runs, figures)
        opening(folder, a.runs, figures)
    if a.record:
        machine.record(figures)


if __name__ == "__main__":
    machine.end_with(main)
