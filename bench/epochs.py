#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Speed and memory of whole epochs of packed minibatches, compared to the reference reader's.

    python3 bench/epochs.py FOLDER [ROW...] [--runs 5] [--record]

FOLDER holds the inputs (bench/make_inputs.py). The reference's figures were measured earlier, on another machine
of this kind ("there"). They are scaled by the speed of a bare loop of fast_float over dense text, which was
0.515 GB/s there and is measured here between the rows. As there, figures are of the first epoch's wall time
without opening, the best of the runs (their median is shown too); memory is the peak of the whole process.

The limit is measured between the rows too (bench/limit.cc): two threads read the same bytes and write those of
the same minibatches, and do nothing else. Goals above that limit are marked "beyond".
"""
import argparse
import json
import pathlib
import re

import machine

LOOP_THERE = 0.515  # GB/s
# Row: section of bench.cntk, minibatch size; then pairs (file order, shuffled): the reference's MB/s, its peak of
# memory in MB, and the goals as multiples of its speed.
ROWS = {
    "dense.ctf": ("dense", 256, (471, 414), (55, 167), (8, 8)),
    "mnist.ctf": ("mnist", 256, (236, 210), (138, 389), (10, 10)),
    "sparse.ctf": ("sparse", 256, (333, 239), (112, 343), (8, 8)),
    "seq.ctf": ("seq", 2048, (224, 205), (86, 216), (10, 10)),
    "dense.cbf": ("dense_cbf", 256, (1816, 1430), (93, 164), (5, 5)),
    "sparse.cbf": ("sparse_cbf", 256, (457, 311), (138, 282), (8, 8)),
    "HTK frames": ("htk_frame", 512, (322, 107), (106, 380), (4, 10)),
    "HTK utterances": ("htk_seq", 8192, (398, 341), (128, 345), (4, 4)),
    "HTK truncated": ("htk_bptt", 640, (364, 351), (108, 309), (None, None)),
    "legacy reader": ("htk_frame_legacy", 512, (None, 153), (None, 278), (None, 8)),  # shuffles always
}
ORDERS = ("file order", "shuffled")


def loop_of_the_day(folder):
    """GB/s of the bare loop of fast_float over dense.ctf, one thread, wall time."""
    text, *_ = machine.run([machine.program("formats_ctf_bench"), "--benchmark_filter=floor/dense", "--benchmark_format=json", "--benchmark_min_time=0.3"],
                           {"BATCHFEED_BENCH_DATA": str(folder)})
    found = json.loads(text[text.index("{"):])["benchmarks"][0]
    return (folder / "dense.ctf").stat().st_size / (found["real_time"] * 1e-3) * 1e-9


def epoch(folder, section, minibatch, shuffled):
    """What bench/epoch.cc prints of a first epoch, and the process's peak of memory in MB as "peak"."""
    randomize = f"randomize={str(shuffled).lower()}"
    text, _, _, peak = machine.run([machine.program("epoch"), "bench.cntk", section, minibatch, 1, randomize], folder=folder / "c")
    return {**json.loads(text.splitlines()[1]), "peak": peak}


def limit(folder, row, shuffled, told):
    """MB/s of the row's corpus if its bytes are only moved (bench/limit.cc); told: what epoch() returned for it."""
    file = folder / (row if "." in row else "htk/bench.feat")
    window = told["delivered"] if row.endswith(".ctf") else file.stat().st_size
    text, *_ = machine.run([machine.program("limit"), "shuffled" if shuffled else "file", window, told["delivered"], told["samples"],
                            told["delivered"] // told["minibatches"], file])
    return told["bytes"] * 1e-6 / json.loads(text)["wall"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("rows", nargs="*", metavar="ROW", default=list(ROWS), help="of " + ", ".join(ROWS))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--record", action="store_true", help="in bench/history")
    a = parser.parse_args()
    folder = machine.corpus(a.folder, ["dense.ctf", "c/bench.cntk"])
    for row in a.rows:
        if row not in ROWS:
            parser.error(f"no row '{row}'; there are: {', '.join(ROWS)}")
    loops, found, limits = [], {}, {}
    for _ in range(a.runs):  # in turns, so that other load on the machine meets all rows alike
        for row in a.rows:
            section, minibatch, *_ = ROWS[row]
            for order in ORDERS[0 if ROWS[row][2][0] else 1 :]:
                told = epoch(folder, section, minibatch, order == "shuffled")
                found.setdefault((row, order), []).append(told)
                limits.setdefault((row, order), []).append(limit(folder, row, order == "shuffled", told))
        loops.append(loop_of_the_day(folder))
    loop = max(loops)
    scale = loop / LOOP_THERE
    print(f"bare loop of fast_float: {loop:.3f} GB/s (there {LOOP_THERE}), so the reference's figures are taken times {scale:.2f}\n")
    print("| input | order | MB/s, best (median) | limit | of it | processor s | times the reference | limit | goal | MB of memory | there |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    figures = {}
    for (row, order), runs in found.items():
        which = ORDERS.index(order)
        _, _, rates, memory, goals = ROWS[row]
        best, middle = max(r["MB/s"] for r in runs), machine.median([r["MB/s"] for r in runs])
        most = max(limits[row, order])
        ratio, usual = best / (rates[which] * scale), middle / (rates[which] * scale)
        peak, cpu = max(r["peak"] for r in runs), min(r["cpu"] for r in runs)
        allowed = most / (rates[which] * scale)
        goal = "-" if not goals[which] else f"{goals[which]}, beyond" if goals[which] > allowed else f"{goals[which]}"
        print(f"| {row} | {order} | {best:,.0f} ({middle:,.0f}) | {most:,.0f} | {best / most:.2f} | {cpu:.2f} | {ratio:.1f} ({usual:.1f}) | {allowed:.1f} | {goal} "
              f"| {peak:.0f} | {memory[which]} |", flush=True)
        figures[f"epoch of {row}, {order}"] = {"ratio": round(ratio, 2), "median": round(usual, 2), "of": "the reference reader, scaled", "goal": goals[which], "limit": round(allowed, 2),
                                              "MB": round(peak), "MB there": memory[which]}
    if a.record:
        machine.record(figures)


if __name__ == "__main__":
    machine.end_with(main)
