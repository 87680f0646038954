#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Several processes build one index cache at once, some are killed, the data change now
and then: every survivor reads the data as they are, and so does who comes later.

    cache_race.py BATCHFEED [--processes 8] [--rounds 200] [--rows 3000] [--seed 0] [--record]
"""
import argparse
import datetime
import hashlib
import json
import os
import pathlib
import random
import signal
import subprocess
import tempfile
import time


def write(path, rows, version):
    draw = random.Random(version)
    fresh = path.with_suffix(".new")
    fresh.write_text("".join(f"{row} |F {draw.randrange(1000)} {version} |S {draw.randrange(50)}:1\n" for row in range(rows)))
    os.rename(fresh, path)


def start(binary, data):
    return subprocess.Popen([binary, "read", data.name, "--cache-index", "--order", "cntk", "--format", "jsonl"], cwd=data.parent,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "XDG_CACHE_HOME": "/dev/null/none"})


def finish(process):
    out, err = process.communicate(timeout=120)
    return process.returncode, hashlib.sha256(out).hexdigest(), err.decode("utf-8", "replace")


def run(binary, processes, rounds, rows, seed):
    """Counts: processes killed, caches found whole at a round's end."""
    draw = random.Random(seed)
    counts = {"killed": 0, "survived": 0, "whole": 0}
    with tempfile.TemporaryDirectory(prefix="batchfeed-race-") as folder:
        data = pathlib.Path(folder, "d.ctf")
        cache = pathlib.Path(folder, "d.ctf.bfindex")
        write(data, rows, 0)
        begin = time.monotonic()
        code, due, err = finish(start(binary, data))
        took = time.monotonic() - begin
        assert code == 0, err
        for number in range(1, rounds + 1):
            if number % 4 == 0:
                write(data, rows, number)
                cache_then = cache.read_bytes() if cache.exists() else None
                cache.unlink(missing_ok=True)
                code, due, err = finish(start(binary, data))
                assert code == 0, err
                if cache_then is not None:
                    cache.write_bytes(cache_then)  # one of other data
            elif draw.random() < 0.5:
                cache.unlink(missing_ok=True)
            running = [start(binary, data) for _ in range(processes)]
            doomed = [p for p in running if draw.random() < 0.5]
            for process in doomed:
                time.sleep(draw.random() * took / processes)
                process.send_signal(signal.SIGKILL)
            for process in running:
                code, got, err = finish(process)
                if code == -signal.SIGKILL and process in doomed:
                    counts["killed"] += 1
                    continue
                counts["survived"] += 1
                assert code == 0 and got == due, (number, code, err)
            before = cache.read_bytes() if cache.exists() else None
            code, got, err = finish(start(binary, data))
            assert code == 0 and got == due, (number, code, err)
            counts["whole"] += before is not None and before == cache.read_bytes()
            for path in pathlib.Path(folder).iterdir():
                name = path.name
                kept = ("d.ctf.bfindex", "d.ctf.bfstreams")
                assert name in ("d.ctf", *kept) or name.startswith(tuple(f"{one}.tmp." for one in kept)), name
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", action="store_true", help="in tests/results/cache_race.json")
    a = parser.parse_args()
    counts = run(a.binary, a.processes, a.rounds, a.rows, a.seed)
    print(f"{a.rounds} rounds of {a.processes} processes: {counts['killed']} killed, {counts['survived']} read the data as they are; "
          f"a cache was whole and used after {counts['whole']} rounds")
    if a.record:
        record = {"date": str(datetime.date.today()), "rounds": a.rounds, "processes": a.processes, **counts, "wrong": 0}
        (pathlib.Path(__file__).parents[1] / "results/cache_race.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
