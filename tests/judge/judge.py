# SPDX-License-Identifier: MIT
"""Runs the command on generated files and compares with what the slow readers say.

    python3 tests/judge/judge.py --cases 1000000 --seed 1     # a long night
"""
import argparse
import concurrent.futures
import datetime
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
import htk_slow  # noqa: E402
import mlf_slow  # noqa: E402
import speech_random  # noqa: E402

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
    """Comparable to the bit, minus zero included; `element` is d or f. All that is no number is alike."""
    def pack(value):
        return struct.pack("<" + element, value) if value == value else b"nan"

    def of(sample):
        if sample and isinstance(sample[0], tuple):
            return [(i, pack(v)) for i, v in sample]
        return [pack(v) for v in sample]
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


def deserializer(kind, name, stream):
    return f'[ type = "{kind}" ; module = "HTKDeserializers" ; input = [ {name} = [ {stream} ] ] ]'


def speech_config(*deserializers):
    return f"reader = [ randomize = false ; frameMode = false ; maxErrors = 1000\n deserializers = ( {' : '.join(deserializers)} ) ]\n"


def speech_disagreement(folder, files, config, slow):
    """As ctf_disagreement, of a corpus; slow() gives the sequences of stream x and may add files, or refuses."""
    files = dict(files)
    try:
        expected = [(key, {"x": samples}) for key, samples in slow(files)]
    except htk_slow.Refusal as refusal:
        expected = str(refusal)
    for name, data in files.items():
        pathlib.Path(folder, name).write_bytes(data)
    got = run(folder, config)
    refused = isinstance(got, str) and not got.startswith("exit")
    if isinstance(expected, str):
        return None if refused else f"expected a failure ({expected}), got {got}"
    if refused:
        return None if not expected else f"expected {expected}\n     got {got}"
    got = got if isinstance(got, str) else [(key, {"x": streams["x"]}) for key, streams in got]
    return None if not isinstance(got, str) and bits(got, "f") == bits(expected, "f") else f"expected {expected}\n     got {got}"


def speech_shrunk(folder, files, config, slow):
    """The smallest files they still differ on, one after the other."""
    for name in sorted(set(files) - {"states"}):
        data, size = files[name], max(1, len(files[name]) // 2)
        while size:
            at = 0
            while at < len(data):
                smaller = data[:at] + data[at + size :]
                if speech_disagreement(folder, {**files, name: smaller}, config, slow):
                    data = smaller
                else:
                    at += size
            size //= 2
        files = {**files, name: data}
    return files


def judge_speech(seed, files, config, slow):
    with tempfile.TemporaryDirectory(prefix="batchfeed-judge-") as folder:
        if speech_disagreement(folder, files, config, slow) is None:
            return None
        small = speech_shrunk(folder, files, config, slow)
        return f"seed {seed}: {small}\n{config}{speech_disagreement(folder, small, config, slow)}\n"


def judge_htk(seed):
    files, dim, (left, right) = speech_random.features(seed)
    config = speech_config(deserializer("HTKFeatureDeserializer", "x", f'dim = {dim} ; scpFile = "x.scp" ; contextWindow = {left}:{right}'))
    return judge_speech(seed, files, config, lambda files: htk_slow.read(files, "x.scp", dim, left, right))


def with_features(files, labels):
    """Labels come second: puts features of their lengths first. The sequences that are delivered."""
    files["f.scp"], files["f.fea"] = b"none=f.fea[0,0]\n", struct.pack(">iIHH", 1000, 1, 4, 9) + bytes(4000)
    lengths = []  # of what stands before a damage too, or the engine would complain of partners alone
    try:
        return [(key, samples) for key, samples in labels(lengths) if key and len(samples) <= 1000]
    finally:
        first = {}
        for key, n in lengths:
            first.setdefault(key, n)
        files["f.scp"] += "".join(f"{key}.mfc=f.fea[0,{n - 1}]\n" for key, n in first.items() if key and 0 < n <= 1000).encode("latin-1")


FEATURES = deserializer("HTKFeatureDeserializer", "f", 'dim = 1 ; scpFile = "f.scp"')


def judge_mlf(seed):
    data, named, boundaries = speech_random.labels_text(seed)
    files = {"x.mlf": data, "states": "\n".join(speech_random.STATES).encode()}
    mapping = 'labelMappingFile = "states" ; ' if named else ""
    labels = deserializer("HTKMLFDeserializer", "x", f'labelDim = 5 ; mlfFile = "x.mlf" ; {mapping}phoneBoundaries = {str(boundaries).lower()}')
    states = speech_random.STATES if named else None
    slow = lambda files: with_features(files, lambda lengths: mlf_slow.read_text(files["x.mlf"], states, 5, boundaries, lengths))
    return judge_speech(seed, files, speech_config(FEATURES, labels), slow)


def judge_mlf_binary(seed):
    labels = deserializer("HTKMLFBinaryDeserializer", "x", 'labelDim = 5 ; mlfFile = "x.mlf"')
    slow = lambda files: with_features(files, lambda lengths: mlf_slow.read_binary(files["x.mlf"], 5, lengths))
    return judge_speech(seed, {"x.mlf": speech_random.labels_binary(seed)}, speech_config(FEATURES, labels), slow)


JUDGES = {"ctf": judge_ctf, "cbf": judge_cbf, "htk": judge_htk, "mlf": judge_mlf, "mlf_binary": judge_mlf_binary}
# Files, or utterances of a label file, that one case of the format compares.
FILES_EACH = {"htk": speech_random.UTTERANCES, "mlf": speech_random.UTTERANCES, "mlf_binary": speech_random.UTTERANCES}


def compare(name, cases, seed=0, jobs=None):
    """Yields a text for each case of format `name` on which they differ."""
    with concurrent.futures.ProcessPoolExecutor(jobs or os.cpu_count()) as pool:
        runs = -(-cases // FILES_EACH.get(name, 1))
        yield from (what for what in pool.map(JUDGES[name], range(seed, seed + runs), chunksize=20) if what is not None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("formats", nargs="*", default=list(JUDGES), metavar="FORMAT", help="of " + ", ".join(JUDGES))
    parser.add_argument("--cases", type=int, default=1000, help="files of each format")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=None)
    parser.add_argument("--most", type=int, default=10, help="differences to print")
    parser.add_argument("--record", action="store_true", help="in tests/results/judge.json")
    a = parser.parse_args()
    wrong = 0
    for name in a.formats:
        found = 0
        for what in compare(name, a.cases, a.seed, a.jobs):
            found += 1
            if found <= a.most:
                print(what, flush=True)
        print(f"{name}: {a.cases} files, {found} differences", flush=True)
        wrong += found
    if a.record:
        record = {"date": str(datetime.date.today()), "seed": a.seed, "files": {name: a.cases for name in a.formats}, "differences": wrong}
        (pathlib.Path(__file__).parents[1] / "results/judge.json").write_text(json.dumps(record, indent=1) + "\n")
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
