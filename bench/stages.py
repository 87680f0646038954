#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each stage compared to the least work that it could be, in one run: the micro-benchmarks as one table.

    python3 bench/stages.py FOLDER [--runs 5] [--record]

FOLDER holds the inputs (bench/make_inputs.py). Ratios are of processor time, medians of repetitions
that take turns.
"""
import argparse
import json
import os

import machine

# Stage: its benchmark; the benchmark of its limit; goals as the ratio limit / stage, for each tier of kernels.
TEXT = {
    "reading dense text": ("read/dense", "floor/dense", {"scalar": 1.3, "avx2": 2.1, "avx512": 5}),
    "reading small integers": ("read/mnist", "floor/mnist", {"scalar": 1.3, "avx2": 2.1, "avx512": 5}),
    "reading 6 to 9 digits": ("read/digits", "floor/digits", {"scalar": 1.2, "avx2": 3.2, "avx512": 4.8}),
    "reading numbers as Python prints them": ("read/repr", "floor/repr", {"scalar": 1.2, "avx2": 1.2, "avx512": 1.2}),
    "reading numbers with exponents": ("read/exponents", "floor/exponents", {"scalar": 1.2, "avx2": 1.2, "avx512": 1.2}),
    "reading sparse text": ("read/sparse", "floor/sparse", {"scalar": 1.2, "avx2": 1.4, "avx512": 2.8}),
    "reading short lines": ("read/seq", "floor/seq", {"scalar": 1.2, "avx2": 1.3, "avx512": 1.3}),
    "index of long lines": ("index/dense", "lines/dense", {"scalar": 0.8, "avx2": 0.9, "avx512": 0.9}),
    "index of short lines": ("index/seq", "ids/seq", {"scalar": 0.9, "avx2": 1.2, "avx512": 1.2}),
}
LIMITS = {"floor": "a bare loop of fast_float", "lines": "reading and counting newlines", "ids": "a loop of memchr that reads ids"}


def times(name, runs, environment):
    """{benchmark: milliseconds of processor time, the median}"""
    text, *_ = machine.run([machine.program(name), f"--benchmark_repetitions={runs}", "--benchmark_enable_random_interleaving=true", "--benchmark_min_time=0.1",
                            "--benchmark_report_aggregates_only=true", "--benchmark_format=json"], environment)
    found = json.loads(text[text.index("{\n"):])["benchmarks"]
    return {run["run_name"].split("/repeats")[0]: run["cpu_time"] for run in found if run.get("aggregate_name") == "median"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--record", action="store_true", help="in bench/history")
    a = parser.parse_args()
    folder = machine.corpus(a.folder, ["dense.ctf", "digits.ctf", "repr.ctf", "exponents.ctf", "dense.cbf", "sparse.cbf"])
    print(f"kernels: {machine.tier()}, load {os.getloadavg()[0]:.1f}\n")
    print("| stage | ms | limit | ms | ratio | goal |")
    print("|---|---|---|---|---|---|")
    figures = {}

    def row(stage, own, limit, goal, of):
        print(f"| {stage} | {own:.0f} | {of} | {limit:.0f} | {limit / own:.2f} | {goal or '-'} |", flush=True)
        figures[stage] = {"ratio": round(limit / own, 3), "of": of, "goal": goal}

    found = times("formats_ctf_bench", a.runs, {"BATCHFEED_BENCH_DATA": str(folder)})
    for stage, (own, limit, goals) in TEXT.items():
        row(stage, found[own], found[limit], goals[machine.tier()], LIMITS[limit.split("/")[0]])
    for kind in ("dense", "sparse"):
        found = times("formats_cbf_bench", a.runs, {"BATCHFEED_BENCH_CBF": str(folder / f"{kind}.cbf")})
        row(f"reading {kind} binary data", found["read_chunks"], found["pread_same_bytes"], 0.95, "pread")
    text, *_ = machine.run([machine.program("speech_bench"), "--runs", str(a.runs)])
    lines = {name.strip(): float(rest.split()[0]) for line in text.splitlines() for name, rest in [(line[:40], line[40:])] if rest.split() and rest.split()[0].replace(".", "").isdigit()}
    row("reading speech features", lines["source: utterances to float32"], lines["pread and byte swap"], 0.9, "pread and byte swap")
    row("shuffled frames, packed", lines["epoch: frames shuffled, 512"], lines["bare gather of shuffled windows, 512"], 0.9, "a bare gather of the same windows")
    found = times("pack_bench", a.runs, {})
    for rows, goal in (("3136", 1.0), ("400", 1.0), ("160", 1.0), ("windows", 0.9)):
        name = "packing windows of 11 frames" if rows == "windows" else f"packing rows of {rows} bytes"
        row(name, found[f"pack/{rows}"], found[f"gather/{rows}"], goal, "a bare gather of the same")
    if a.record:
        machine.record(figures)


if __name__ == "__main__":
    machine.end_with(main)
