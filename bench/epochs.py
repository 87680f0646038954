#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whole epochs through packed minibatches, beside the reference reader's on such a machine.

    python3 bench/epochs.py FOLDER [ROW...] [--runs 5] [--record]

FOLDER holds the inputs (bench/make_inputs.py). The reference's figures are of another day:
they are scaled by the bare loop of fast_float over dense text, which ran there at 0.515 GB/s
and is measured here between the rows. As there: wall time of the first epoch, opening not counted, best
of the runs (their median is shown too); memory is the whole process's, as /usr/bin/time tells it.
"""
import argparse
import json
import pathlib
import re

import machine

LOOP_THERE = 0.515  # GB/s
# Row: section of bench.cntk, minibatch; MB/s in file order and shuffled; peak MB; goals.
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
    """(MB/s, seconds of wall and of processor time, peak MB) of a first epoch."""
    randomize = f"randomize={str(shuffled).lower()}"
    text, _, _, peak = machine.run([machine.program("epoch"), "bench.cntk", section, minibatch, 1, randomize], folder=folder / "c")
    found = json.loads(text.splitlines()[1])
    return found["MB/s"], found["wall"], found["cpu"], peak


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
    loops, found = [], {}
    for _ in range(a.runs):  # in turns, so that an hour of noise meets all rows
        for row in a.rows:
            section, minibatch, *_ = ROWS[row]
            for order in ORDERS[0 if ROWS[row][2][0] else 1 :]:
                found.setdefault((row, order), []).append(epoch(folder, section, minibatch, order == "shuffled"))
        loops.append(loop_of_the_day(folder))
    loop = max(loops)
    scale = loop / LOOP_THERE
    print(f"bare loop of fast_float: {loop:.3f} GB/s (there {LOOP_THERE}), so the reference's figures are taken times {scale:.2f}\n")
    print("| input | order | MB/s, best (median) | processor s | times the reference | goal | MB of memory | there |")
    print("|---|---|---|---|---|---|---|---|")
    figures = {}
    for (row, order), runs in found.items():
        which = ORDERS.index(order)
        _, _, rates, memory, goals = ROWS[row]
        best, middle = max(r[0] for r in runs), machine.median([r[0] for r in runs])
        ratio, usual = best / (rates[which] * scale), middle / (rates[which] * scale)
        peak, cpu = max(r[3] for r in runs), min(r[2] for r in runs)
        print(f"| {row} | {order} | {best:,.0f} ({middle:,.0f}) | {cpu:.2f} | {ratio:.1f} ({usual:.1f}) | {goals[which] or '-'} | {peak:.0f} | {memory[which]} |", flush=True)
        figures[f"epoch of {row}, {order}"] = {"ratio": round(ratio, 2), "median": round(usual, 2), "of": "the reference reader, scaled", "goal": goals[which],
                                              "MB": round(peak), "MB there": memory[which]}
    if a.record:
        machine.record(figures)


if __name__ == "__main__":
    machine.end_with(main)
