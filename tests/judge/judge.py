# SPDX-License-Identifier: MIT
"""Runs the command on generated files and compares with what the slow readers say.

    python3 tests/judge/judge.py --cases 1000000 --seed 1     # a long night
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import cbf_slow  # noqa: E402
import ctf_random  # noqa: E402
import ctf_slow  # noqa: E402

BINARY = os.environ.get("BATCHFEED", str(pathlib.Path(__file__).parents[2] / "build/release/bin/batchfeed"))


def ctf_config(streams, skip_ids, errors):
    inputs = "".join(
        f"{s.name} = [ dim = {s.dim} ; format = \"{'sparse' if s.sparse else 'dense'}\"{f' ; alias = {chr(34)}{s.alias}{chr(34)}' if s.alias else ''}"
        f"{' ; definesMBSize = true' if s.main else ''} ]\n" for s in streams)
    return (f'reader = [\n readerType = "CNTKTextFormatReader" ; file = "data" ; randomize = false ; precision = "double" ; maxErrors = {errors}\n'
            f"skipSequenceIds = {str(skip_ids).lower()}\n input = [\n{inputs} ] ]\n")


def numbers(values):
    return [float(v) for v in values]


def delivered(batches):
    """[(key, {stream: samples})] of the printed minibatches, in order."""
    out = []
    for batch in batches:
        found = {}
        for stream in batch["streams"]:
            for entry in stream["layout"]:
                if "gap" in entry:
                    continue
                columns = [t * stream["S"] + entry["s"] for t in range(entry["b"], entry["e"])]
                if stream["storage"] == "dense":
                    samples = [numbers(stream["columns"][c]) for c in columns]
                else:
                    samples = [[(stream["rows"][i], float(stream["values"][i])) for i in range(stream["cols"][c], stream["cols"][c + 1])] for c in columns]
                found.setdefault(entry["id"], (entry["key"], {}))[1][stream["name"]] = samples
        out += [found[i] for i in sorted(found)]
    return out


def run(folder, text):
    """What the command reads by a configuration: delivered sequences, or what it complains of."""
    pathlib.Path(folder, "c.cntk").write_text(text, "utf-8")
    done = subprocess.run([BINARY, "-q", "read", "c.cntk", "--minibatch-size", "1000000", "--format", "jsonl"], cwd=folder, capture_output=True, timeout=60)
    if done.returncode not in (0, 3):
        return f"exit status {done.returncode}: {done.stderr.decode('utf-8', 'replace')}"
    lines = [json.loads(line, parse_int=lambda text: -0.0 if text == "-0" else int(text)) for line in done.stdout.splitlines()]
    return lines[-1]["error"]["what"] if done.returncode == 3 else delivered(lines)


def bits(sequences, element="d"):
    """Comparable to the bit, minus zero included; `element` is d or f."""
    def of(sample):
        if sample and isinstance(sample[0], tuple):
            return [(i, struct.pack("<" + element, v)) for i, v in sample]
        return [struct.pack("<" + element, v) for v in sample]
    return [(key, {name: [of(s) for s in samples] for name, samples in streams.items()}) for key, streams in sequences]


def ctf_disagreement(folder, data, streams, skip_ids):
    """What the command and the slow reader say of a file, if they differ; else None."""
    pathlib.Path(folder, "data").write_bytes(data)
    try:
        errors, sequences = ctf_slow.read(data, streams, skip_ids)
    except ctf_slow.OpenFailure as failure:
        got = run(folder, ctf_config(streams, skip_ids, 1000))
        return None if isinstance(got, str) and not got.startswith("exit") else f"expected a failure ({failure}), got {got}"
    expected = [(str(s.key), s.samples) for s in sequences]
    got = run(folder, ctf_config(streams, skip_ids, errors))
    if isinstance(got, str) or bits(got) != bits(expected):
        return f"with maxErrors = {errors}\nexpected {expected}\n     got {got}"
    if errors > 0:
        got = run(folder, ctf_config(streams, skip_ids, errors - 1))
        if not isinstance(got, str) or got.startswith("exit"):
            return f"{errors} errors expected, but maxErrors = {errors - 1} is enough"
    return None


def ctf_shrunk(folder, data, streams, skip_ids):
    """The smallest part of `data` that they still differ on."""
    size = max(1, len(data) // 2)
    while size:
        at = 0
        while at < len(data):
            smaller = data[:at] + data[at + size :]
            if smaller and ctf_disagreement(folder, smaller, streams, skip_ids):
                data = smaller
            else:
                at += size
        size //= 2
    return data


def judge_ctf(seed):
    data, streams, skip_ids = ctf_random.corpus(seed)
    with tempfile.TemporaryDirectory(prefix="batchfeed-judge-") as folder:
        what = ctf_disagreement(folder, data, streams, skip_ids)
        if what is None:
            return None
        small = ctf_shrunk(folder, data, streams, skip_ids)
        return f"seed {seed}: {small!r}\n{ctf_config(streams, skip_ids, 0)}{ctf_disagreement(folder, small, streams, skip_ids)}\n"


def judge_cbf(seed):
    data, precision, expected = cbf_slow.case(seed)
    with tempfile.TemporaryDirectory(prefix="batchfeed-judge-") as folder:
        pathlib.Path(folder, "data").write_bytes(data)
        got = run(folder, f'reader = [ readerType = "CNTKBinaryReader" ; file = "data" ; randomize = false ; precision = "{precision}" ]')
    if expected is None:  # damaged: a complaint or data, nothing else
        return f"seed {seed}: {got}\n" if isinstance(got, str) and got.startswith("exit") else None
    if isinstance(got, str) or bits(got, precision[0]) != bits(expected, precision[0]):
        return f"seed {seed}: {data.hex()[:400]}\nexpected {str(expected)[:400]}\n     got {str(got)[:400]}\n"
    return None


JUDGES = {"ctf": judge_ctf, "cbf": judge_cbf}


def compare(name, cases, seed=0, jobs=None):
    """Yields a text for each case of format `name` on which they differ."""
    with concurrent.futures.ProcessPoolExecutor(jobs or os.cpu_count()) as pool:
        yield from (what for what in pool.map(JUDGES[name], range(seed, seed + cases), chunksize=20) if what is not None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("formats", nargs="*", default=list(JUDGES), metavar="FORMAT", help="of " + ", ".join(JUDGES))
    parser.add_argument("--cases", type=int, default=1000, help="of each format")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=None)
    parser.add_argument("--most", type=int, default=10, help="differences to print")
    a = parser.parse_args()
    wrong = 0
    for name in a.formats:
        found = 0
        for what in compare(name, a.cases, a.seed, a.jobs):
            found += 1
            if found <= a.most:
                print(what, flush=True)
        print(f"{name}: {a.cases - found} files alike, {found} not", flush=True)
        wrong += found
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
