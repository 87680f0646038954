#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`batchfeed read` made of the Python package's arrays: the same arguments, the same JSON lines.

So whatever compares the command's output with something can compare what Python users get.
"""
import argparse
import json
import math
import sys

import batchfeed as bf


def parse(argv):
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["read"])
    parser.add_argument("config")
    parser.add_argument("--section", default="")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--precision", choices=["float", "double"])
    parser.add_argument("--format", choices=["jsonl"], default="jsonl")
    parser.add_argument("--minibatch-size", type=lambda t: [int(n) for n in t.split(",")])
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--start-epoch", type=int, default=0)
    parser.add_argument("--epoch-size", default="")
    parser.add_argument("--epoch-sweeps", type=int, default=0)
    parser.add_argument("--cross-sweeps", action="store_true", default=None)
    parser.add_argument("--no-cross-sweeps", dest="cross_sweeps", action="store_false")
    parser.add_argument("--driver", choices=["reader", "minibatch-source"], default="reader")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--switch", type=lambda t: [int(n) for n in t.split(":")])
    parser.add_argument("--limit", type=int)
    parser.add_argument("--save-state")
    parser.add_argument("--after", type=lambda t: tuple(int(n) for n in t.split(":")))
    parser.add_argument("--state")
    return parser.parse_args(argv)


def options(a):
    timeline = a.driver == "minibatch-source"
    out = {"driver": "timeline" if timeline else "epochs", "workers": a.workers, "rank": a.rank, "start_epoch": a.start_epoch}
    if a.minibatch_size:
        out["minibatch_size"] = a.minibatch_size
    if a.epoch_sweeps:
        out["epoch_sweeps"] = a.epoch_sweeps
    elif a.epoch_size == "inf":
        out["epoch_samples"] = math.inf
    elif a.epoch_size and int(a.epoch_size):
        out["epoch_samples"] = int(a.epoch_size)
    else:
        out["epoch_samples"] = 0
        if timeline:
            out["epoch_sweeps"] = 1
    if a.cross_sweeps is not None:
        out["cross_sweeps"] = a.cross_sweeps
    return out


def number(x):
    if math.isfinite(x):
        return x
    return "nan" if math.isnan(x) else "inf" if x > 0 else "-inf"


def stream_object(stream, keys):
    layout = stream.layout
    entries = []
    for sequence, row, begin, end in layout.entries:
        head = {"gap": 1} if sequence is None else {"id": sequence, "key": keys[sequence]}
        entries.append({**head, "s": row, "b": begin, "e": end})
    out = {
        "name": stream.name,
        "storage": "sparse_csc" if stream.is_sparse else "dense",
        "shape": [stream.dim],
        "S": layout.rows,
        "T": layout.steps,
        "layout": entries,
    }
    if stream.is_sparse:
        matrix = stream.cntk()
        out["nnz"] = int(matrix.nnz)
        out["values"] = [number(x) for x in matrix.data.tolist()]
        out["rows"] = matrix.indices.tolist()
        out["cols"] = matrix.indptr.tolist()
    else:
        out["columns"] = [[number(x) for x in column] for column in stream.cntk().tolist()]
    return out


def show(batch):
    keys = batch.sequence_keys
    line = {
        "epoch": batch.epoch,
        "mb": batch.index,
        "eoe": batch.end_of_epoch,
        "eos": batch.end_of_sweep,
        "position": batch.position,
        "streams": [stream_object(s, keys) for s in batch.values()],
    }
    print(json.dumps(line, separators=(",", ":")))


def save(path, reader):
    with open(path, "w") as file:
        json.dump(reader.state_dict(), file)


def run(a, reader):
    timeline = a.driver == "minibatch-source"
    end = a.start_epoch + a.epochs
    given = in_epoch = 0

    def save_if(epoch, minibatches):
        if a.after == (epoch, minibatches):
            save(a.save_state, reader)

    if not a.state:
        save_if(a.start_epoch, 0)
    while a.limit != 0:
        if a.switch and given == a.switch[0]:
            reader.set_workers(a.switch[1], a.switch[2])
        batch = reader.read()
        if batch is None or (not timeline and batch.epoch >= end):
            break
        if timeline and batch.end_of_epoch and not batch:
            break
        given += 1
        show(batch)
        save_if(batch.epoch, batch.index + 1)
        in_epoch += 1
        if not batch.end_of_epoch and in_epoch != a.limit:
            continue
        in_epoch = 0
        if timeline or batch.epoch + 1 >= end:
            break
        if not batch.end_of_epoch:
            reader.begin_epoch(batch.epoch + 1)
        save_if(batch.epoch + 1, 0)
    if a.save_state and not a.after:
        save(a.save_state, reader)


def main(argv):
    a = parse(argv)
    precision = {None: None, "float": "float32", "double": "float64"}[a.precision]
    try:
        with bf.open(a.config, section=a.section, set=a.set, dtype=precision, **options(a)) as reader:
            if a.state:
                with open(a.state) as file:
                    reader.load_state_dict(json.load(file))
            run(a, reader)
    except bf.Error as error:
        sys.stdout.flush()
        print(error, file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
