#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Other libraries' readers of numeric text, compared to batchfeed in one run on the same numbers.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install numpy pandas polars duckdb scikit-learn xgboost
    /tmp/peers/bin/python bench/peers.py FOLDER [--runs 5] [--record]

FOLDER has dense.ctf and sparse.ctf (bench/make_inputs.py). Their samples are written to a
temporary folder as CSV and as svmlight; each reader reads its file whole, in a fresh process,
in turns with the others, with as many threads as it starts by default. batchfeed opens and
indexes the text, shuffles it and packs all of it into minibatches of 256, which the others do
not do. Libraries that are not installed are left out and named.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import machine

DENSE, SPARSE = 794, 51  # values of a sample, the label's included
SAMPLES = {"dense": 45_000, "sparse": 330_000}

# Reader: (imports, which are not timed; expression that reads the file `path` and counts its values). Each runs in
# a process of its own (CHILD).
READERS = {
    "dense": {
        "numpy.loadtxt": ("import numpy", "numpy.loadtxt(path, dtype=numpy.float32, delimiter=',').size"),
        "pandas.read_csv": ("import numpy, pandas", "pandas.read_csv(path, header=None, dtype=numpy.float32, engine='c').size"),
        "pyarrow.csv": ("import pyarrow, pyarrow.csv as c; names = [f'c{i}' for i in range(794)]; o = c.ConvertOptions(column_types={n: pyarrow.float32() for n in names})",
                        "(lambda t: t.num_rows * t.num_columns)(c.read_csv(path, c.ReadOptions(column_names=names), convert_options=o))"),
        "polars.read_csv": ("import polars; schema = {f'c{i}': polars.Float32 for i in range(794)}",
                            "(lambda t: t.height * t.width)(polars.read_csv(path, has_header=False, schema=schema))"),
        "DuckDB read_csv": ("import duckdb; columns = ', '.join(f\"'c{i}': 'FLOAT'\" for i in range(794))",
                            "(duckdb.sql(f\"create table t as select * from read_csv('{path}', header=false, auto_detect=false, delim=',', columns={{{columns}}})\"), "
                            "duckdb.sql('select count(*) from t').fetchall()[0][0] * 794)[1]"),
        "xgboost.DMatrix": ("import xgboost", "xgboost.DMatrix(path + '?format=csv&label_column=0').num_row() * 794"),
    },
    "sparse": {
        "scikit-learn": ("import numpy, sklearn.datasets as d", "(lambda x: x[0].nnz + len(x[1]))(d.load_svmlight_file(path, dtype=numpy.float32, n_features=1_000_000))"),
        "xgboost.DMatrix": ("import xgboost", "(lambda m: m.num_nonmissing() + m.num_row())(xgboost.DMatrix(path + '?format=libsvm'))"),
    },
}
CHILD = """
import json, resource, sys, time
path = sys.argv[1]
{imports}
wall, cpu = time.perf_counter(), time.process_time()
values = {call}
print(json.dumps([int(values), time.perf_counter() - wall, time.process_time() - cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 976.6]))
"""
CONFIG = """
reader = [ readerType = "CNTKTextFormatReader" ; file = "{kind}.ctf" ; randomize = true ; traceLevel = 0
  input = [ {first} ; {second} ] ]
"""
STREAMS = {
    "dense": ('features = [ dim = 784 ; format = "dense" ]', 'labels = [ dim = 10 ; format = "dense" ]'),
    "sparse": ('x = [ dim = 1000000 ; format = "sparse" ]', 'y = [ dim = 1 ; format = "dense" ]'),
}


def write_inputs(source, folder, kind):
    """Copies SOURCE/KIND.ctf to FOLDER and writes its samples to FOLDER/KIND, as CSV (dense) or svmlight (sparse)."""
    with open(source / f"{kind}.ctf") as lines, open(folder / f"{kind}.ctf", "w") as text, open(folder / kind, "w") as other:
        for line, _ in zip(lines, range(SAMPLES[kind])):
            text.write(line)
            parts = {name: values.split() for name, _, values in (part.partition(" ") for part in line.split("|")[1:])}
            if kind == "dense":
                other.write(",".join(parts["labels"] + parts["features"]) + "\n")
            else:
                # Some readers refuse an index that occurs twice in a sample: the last of its values is kept.
                entries = dict(pair.split(":") for pair in parts["x"])
                other.write(parts["y"][0] + " " + " ".join(f"{i}:{v}" for i, v in entries.items()) + "\n")
    (folder / f"{kind}.cntk").write_text(CONFIG.format(kind=kind, first=STREAMS[kind][0], second=STREAMS[kind][1]))


def own(folder, kind):
    """(values, seconds of wall and of processor time, peak MB) of opening and of one epoch."""
    text, _, _, peak = machine.run([machine.program("epoch"), f"{kind}.cntk", "reader", 256, 1], folder=folder)
    opened, epoch = map(json.loads, text.splitlines())
    return epoch["samples"] * {"dense": DENSE, "sparse": SPARSE}[kind], opened["open"] + epoch["wall"], opened["cpu"] + epoch["cpu"], peak


def other(folder, kind, name):
    imports, call = READERS[kind][name]
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", CHILD.format(imports=imports, call=call), str(folder / kind)], capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        return done.stderr.strip().splitlines()[-1]
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--record", action="store_true", help="in bench/history")
    a = parser.parse_args()
    source = machine.corpus(a.folder, ["dense.ctf", "sparse.ctf"])
    figures = {}
    with tempfile.TemporaryDirectory(prefix="batchfeed-peers-") as name:
        folder = pathlib.Path(name)
        for kind, readers in READERS.items():
            write_inputs(source, folder, kind)
            runs, absent = {"batchfeed": []}, {}
            for _ in range(a.runs):
                runs["batchfeed"].append(own(folder, kind))
                for reader in readers:
                    if reader in absent:
                        continue
                    found = other(folder, kind, reader)
                    if isinstance(found, str):
                        absent[reader] = found
                    else:
                        runs.setdefault(reader, []).append(found)
            size = (folder / kind).stat().st_size
            print(f"\n{kind}: {SAMPLES[kind]:,} samples, {size * 1e-6:.0f} MB as {'CSV' if kind == 'dense' else 'svmlight'}; best of {a.runs}\n")
            print("| reader | million values/s | batchfeed is faster | less processor time | MB of memory |")
            print("|---|---|---|---|---|")
            best = {reader: [min(column) for column in zip(*found)] for reader, found in runs.items()}
            _, wall, cpu, _ = best["batchfeed"]
            for reader, (values, seconds, processor, peak) in sorted(best.items(), key=lambda item: item[1][1]):
                ratio = "" if reader == "batchfeed" else f"{seconds / wall:.1f} times"
                less = "" if reader == "batchfeed" else f"{processor / cpu:.1f} times"
                print(f"| {reader} | {values / seconds * 1e-6:.1f} | {ratio} | {less} | {peak:.0f} |")
                if reader != "batchfeed":
                    figures[f"{kind} text against {reader}"] = {"ratio": round(seconds / wall, 2), "processor time": round(processor / cpu, 2), "of": reader, "goal": None}
            for reader, why in absent.items():
                print(f"\n{reader} was left out: {why}")
    if a.record:
        machine.record(figures)


if __name__ == "__main__":
    machine.end_with(main)
