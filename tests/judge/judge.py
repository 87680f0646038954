# SPDX-License-Identifier: MIT
"""Runs the command on generated files and compares with what the slow readers say; and on
generated options, and compares the minibatches with those that are made slowly, also behind a state.

    python3 tests/judge/judge.py --cases 1000000 --record     # a long night, other files than in those on record
"""
import argparse
import concurrent.futures
import datetime
import functools
import itertools
import json
import os
import pathlib
import random
import re
import struct
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import cbf_slow  # noqa: E402
import ctf_random  # noqa: E402
import ctf_slow  # noqa: E402
import htk_slow  # noqa: E402
import joined_random  # noqa: E402
import legacy_random  # noqa: E402
import minibatch_random  # noqa: E402
import mlf_slow  # noqa: E402
import speech_random  # noqa: E402
from minibatch_slow import Entry, cells  # noqa: E402
from starter import Starter, settled_copy  # noqa: E402

BINARY = os.environ.get("BATCHFEED", str(pathlib.Path(__file__).parents[2] / "build/release/bin/batchfeed"))


STARTED = []  # by this process
COPIED = []  # the command as it was when the first comparison began, and the folder it is in


def program():
    """Processes that begin later run the same command, though it be built anew meanwhile."""
    if not COPIED:
        folder = tempfile.TemporaryDirectory(prefix="batchfeed-judged-")
        COPIED[:] = [settled_copy(BINARY, folder.name), folder]
    return COPIED[0]


def command():
    """The command that reads c.cntk of a folder."""
    if not STARTED or STARTED[0].owner != os.getpid():
        STARTED[:] = [Starter([program(), "read", "c.cntk", "--format", "jsonl"])]
    return STARTED[0]


def scratch():
    """A folder for the files of one case; in memory if possible, as a disk takes longer to remove them than all else takes."""
    return tempfile.TemporaryDirectory(prefix="batchfeed-judge-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)


def file_list(count):
    """Of a corpus of so many files, which lie in the folder as data0, data1 ..."""
    return "files = ( " + " : ".join(f'"data{i}"' for i in range(count)) + " )"


def put(folder, files):
    for i, data in enumerate(files):
        pathlib.Path(folder, f"data{i}").write_bytes(data)


def ctf_config(streams, skip_ids, errors, files=1):
    inputs = "".join(
        f"{s.name} = [ dim = {s.dim} ; format = \"{'sparse' if s.sparse else 'dense'}\"{f' ; alias = {chr(34)}{s.alias}{chr(34)}' if s.alias else ''}"
        f"{' ; definesMBSize = true' if s.main else ''} ]\n" for s in streams)
    return (f'reader = [\n readerType = "CNTKTextFormatReader" ; {file_list(files)} ; randomize = false ; precision = "double" ; maxErrors = {errors}\n'
            f"skipSequenceIds = {str(skip_ids).lower()}\n input = [\n{inputs} ] ]\n")


def numbers(values):
    return list(map(float, values))


def delivered(batches):
    """[(key, {stream: samples})] of the printed minibatches, in order."""
    out = []
    for batch in batches:
        found = {}
        for stream in batch["streams"]:
            if stream["storage"] != "dense":
                pairs, at = list(zip(stream["rows"], numbers(stream["values"]))), list(map(int, stream["cols"]))
            for entry in stream["layout"]:
                if "gap" in entry:
                    continue
                columns = [int(t * stream["S"] + entry["s"]) for t in range(int(entry["b"]), int(entry["e"]))]
                if stream["storage"] == "dense":
                    samples = [numbers(stream["columns"][c]) for c in columns]
                else:
                    samples = [pairs[at[c] : at[c + 1]] for c in columns]
                found.setdefault(entry["id"], (entry["key"], {}))[1][stream["name"]] = samples
        out += [found[i] for i in sorted(found)]
    return out


def run(folder, text):
    """What the command reads by a configuration: delivered sequences, or what it complains of."""
    return run_counting(folder, text)[0]


def run_counting(folder, text):
    """As run(), and the damaged places that were skipped in each of the files."""
    lines, said = printed(folder, text)
    skipped = {name: int(count) for name, count in re.findall(r"^(data[0-9]+): ([0-9]+) damaged place", said, re.MULTILINE)}
    if isinstance(lines, str):
        return lines, skipped
    return lines[-1]["error"]["what"] if lines and "error" in lines[-1] else delivered(lines), skipped


def printed(folder, text, arguments=("--minibatch-size", "1000000")):
    """The objects that the command prints by a configuration, or of its end if that is neither success nor a fault; and what it says."""
    pathlib.Path(folder, "c.cntk").write_text(text, "utf-8")
    status, out, said = command().run(folder, arguments)
    said = said.decode("utf-8", "replace")
    if status not in (0, 3):
        return f"exit status {status}: {said}", said
    lines = [json.loads(line, parse_int=float) for line in out.splitlines()]  # an integer would lose the sign of -0
    if (status == 3) != bool(lines and "error" in lines[-1]):
        return f"exit status {status}, but another last line: {said}", said
    return lines, said


def refused(got):
    return isinstance(got, str) and not got.startswith("exit")


def bits(sequences, element="d"):
    """Comparable to the bit, minus zero included; `element` is d or f. All that is no number is alike."""
    def pack(value):
        return struct.pack("<" + element, value) if value == value else b"nan"

    def of(sample):
        if sample and isinstance(sample[0], tuple):
            return [(i, pack(v)) for i, v in sample]
        return [pack(v) for v in sample]
    return [(key, {name: [of(s) for s in samples] for name, samples in streams.items()}) for key, streams in sequences]


def ctf_disagreement(folder, files, streams, skip_ids):
    """What the command and the slow reader say of a corpus, if they differ; else None. Files that
    cannot be read to their end are read alone, as nothing is read behind the first of them."""
    def read(files, errors):
        put(folder, files)
        return run_counting(folder, ctf_config(streams, skip_ids, errors, len(files)))

    good, errors, expected = [], {}, []
    for data in files:
        try:
            found, sequences = ctf_slow.read(data, streams, skip_ids)
        except ctf_slow.OpenFailure as failure:
            got, _ = read([data], 1000)
            if not refused(got):
                return f"expected a failure ({failure})\n     got {got}"
            continue
        if found:
            errors[f"data{len(good)}"] = found
        good.append(data)
        expected += [(str(s.key), s.samples) for s in sequences]
    if not good:
        return None
    most = max(errors.values(), default=0)  # maxErrors holds for each file
    got, skipped = read(good, most)
    if isinstance(got, str) or bits(got) != bits(expected):
        return f"with maxErrors = {most}\nexpected {expected}\n     got {got}"
    if skipped != errors:
        return f"expected errors {errors}\n     got {skipped}"
    if most and not refused(read(good, most - 1)[0]):
        return f"{most} errors expected, but maxErrors = {most - 1} is enough"
    return None


def without_parts(parts, wrong):
    """The smallest bytes or list, made from `parts` by leaving pieces out, that is still wrong."""
    size = max(1, len(parts) // 2)
    while size:
        at = 0
        while at < len(parts):
            smaller = parts[:at] + parts[at + size :]
            if smaller and wrong(smaller):
                parts = smaller
            else:
                at += size
        size //= 2
    return parts


def only_once(first):
    """Of a disagreement that does not come again: a process that was killed, say."""
    return f"not again; at first {first}"


def ctf_shrunk(folder, files, streams, skip_ids):
    """The fewest and smallest files of the corpus that they still differ on."""
    differ = lambda files: ctf_disagreement(folder, files, streams, skip_ids)
    files = without_parts(files, differ)
    for i in range(len(files)):
        files[i] = without_parts(files[i], lambda data: differ([*files[:i], data, *files[i + 1 :]]))
    return files


def judge_ctf(seed):
    files, streams, skip_ids = ctf_random.corpus(seed)
    with scratch() as folder:
        first = ctf_disagreement(folder, files, streams, skip_ids)
        if first is None:
            return None
        small = ctf_shrunk(folder, files, streams, skip_ids)
        return f"seed {seed}: {small!r}\n{ctf_config(streams, skip_ids, 0, len(small))}{ctf_disagreement(folder, small, streams, skip_ids) or only_once(first)}\n"


def cbf_disagreement(folder, files, precision):
    """As ctf_disagreement. Of a damaged file, which is read alone, a complaint or data are right, and nothing else."""
    config = lambda count: f'reader = [ readerType = "CNTKBinaryReader" ; {file_list(count)} ; randomize = false ; precision = "{precision}" ]'
    good = [(data, sequences) for data, sequences in files if sequences is not None]
    for data in (data for data, sequences in files if sequences is None):
        put(folder, [data])
        got, _ = printed(folder, config(1))
        if isinstance(got, str):
            return got
    if not good:
        return None
    put(folder, [data for data, _ in good])
    expected = [(str(key), streams) for _, sequences in good for key, streams in enumerate(sequences)]
    got = run(folder, config(len(good)))
    if isinstance(got, str) or bits(got, precision[0]) != bits(expected, precision[0]):
        return f"expected {str(expected)[:400]}\n     got {str(got)[:400]}"
    return None


def judge_cbf(seed):
    files, precision = cbf_slow.corpus(seed)
    with scratch() as folder:
        first = cbf_disagreement(folder, files, precision)
        if first is None:
            return None
        small = without_parts(files, lambda files: cbf_disagreement(folder, files, precision))
        return f"seed {seed}: {[data.hex()[:400] for data, _ in small]}\n{cbf_disagreement(folder, small, precision) or only_once(first)}\n"


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
    if isinstance(expected, str):
        return None if refused(got) else f"expected a failure ({expected}), got {got}"
    if refused(got):
        return None if not expected else f"expected {expected}\n     got {got}"
    got = got if isinstance(got, str) else [(key, {"x": streams["x"]}) for key, streams in got]
    return None if not isinstance(got, str) and bits(got, "f") == bits(expected, "f") else f"expected {expected}\n     got {got}"


def speech_shrunk(folder, files, config, slow):
    """The smallest files they still differ on, one after the other."""
    for name in sorted(set(files) - {"states"}):
        files = {**files, name: without_parts(files[name], lambda data: speech_disagreement(folder, {**files, name: data}, config, slow))}
    return files


def judge_speech(seed, files, config, slow):
    with scratch() as folder:
        first = speech_disagreement(folder, files, config, slow)
        if first is None:
            return None
        small = speech_shrunk(folder, files, config, slow)
        return f"seed {seed}: {small}\n{config}{speech_disagreement(folder, small, config, slow) or only_once(first)}\n"


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


def laid_out(stream):
    """Of a printed stream its rows, steps, entries with keys, and samples by row and step."""
    rows, steps = int(stream["S"]), int(stream["T"])
    entries = [(Entry(None if "gap" in e else int(e["id"]), int(e["s"]), int(e["b"]), int(e["e"])), e.get("key")) for e in stream["layout"]]
    if stream["storage"] == "dense":
        columns = [numbers(values) for values in stream["columns"]]
    else:
        pairs = list(zip(map(int, stream["rows"]), numbers(stream["values"])))
        columns = [pairs[int(begin) : int(end)] for begin, end in itertools.pairwise(stream["cols"])]
    return rows, steps, entries, {(row, step): columns[step * rows + row] for row, step in cells([e for e, _ in entries], steps)}


def minibatches_of(lines):
    return [(int(b["epoch"]), b["eoe"], b["eos"], int(b["position"]), {s["name"]: laid_out(s) for s in b["streams"]}) for b in lines]


def first_difference(expected, got):
    return next((f"minibatch {i}: expected {e}\n     got {g}" for i, (e, g) in enumerate(itertools.zip_longest(expected, got)) if e != g), None)


def run_disagreement(folder, case, kind, stop):
    """Of the minibatches of a reader, the first on which the command and the slow ones differ. `stop`: in which part of the
    run a state is saved; another process goes on from there."""
    for name, data in kind.files(case).items():
        pathlib.Path(folder, name).write_bytes(data)
    expected = kind.minibatches(case)
    config = pathlib.Path(folder, "c.cntk").read_text("utf-8")
    state = pathlib.Path(folder, "state")
    state.unlink(missing_ok=True)
    known = expected or []
    given = int(stop * (len(known) + 1))
    epoch = known[max(given, 1) - 1][0] if known else 0
    mark = f"{epoch}:{sum(m[0] == epoch for m in known[:given])}"
    lines, said = printed(folder, config, [*kind.arguments(case), "--save-state", "state", *(["--after", mark] if known else [])])
    if refused_as_expected(expected, lines, said):
        return None
    if isinstance(lines, str) or (lines and "error" in lines[-1]):
        return said
    whole = first_difference(known, kind.compared(minibatches_of(lines)))
    if whole or not state.exists():
        return whole or f"no state, {said}"
    lines, said = printed(folder, config, [*kind.arguments(case, given), "--state", "state"])
    if isinstance(lines, str) or (lines and "error" in lines[-1]):
        return f"resumed at {mark}: {said}"
    rest = first_difference(known[given:], kind.compared(minibatches_of(lines)))
    return rest and f"resumed at {mark}, {rest}"


def refused_as_expected(expected, lines, said):
    """For sources without a key in common, or nothing but damage."""
    if isinstance(lines, str) or not lines or "error" not in lines[-1]:
        return False
    return expected is None or ("every sequence of a sweep is damaged" in said and not any(m[-1] for m in expected))


def judge_runs(name, seed):
    kind = RUNS[name]
    case, stop = kind.case(seed), random.Random(seed).random()
    differ = lambda case: run_disagreement(folder, case, kind, stop)
    with scratch() as folder:
        first = differ(case)
        if first is None:
            return None
        small = kind.shrunk(case, lambda parts, of: without_parts(parts, lambda parts: differ(of(parts))))
        return f"seed {seed}: {small}\n{kind.files(small)['c.cntk'].decode()}{' '.join(kind.arguments(small))}\n{differ(small) or only_once(first)}\n"


RUNS = {"minibatches": minibatch_random, "joined": joined_random, "legacy": legacy_random}  # of which minibatches are compared
JUDGES = {"ctf": judge_ctf, "cbf": judge_cbf, "htk": judge_htk, "mlf": judge_mlf, "mlf_binary": judge_mlf_binary, **{name: functools.partial(judge_runs, name) for name in RUNS}}
# Files, utterances of a label file, or epochs of minibatches, that one case compares.
FILES_EACH = {"ctf": ctf_random.FILES, "cbf": cbf_slow.FILES, "htk": speech_random.UTTERANCES, "mlf": speech_random.UTTERANCES, "mlf_binary": speech_random.UTTERANCES,
              **{name: kind.EPOCHS for name, kind in RUNS.items()}}


def compare(name, cases, seed=0, jobs=None):
    """Yields a text for each case of format `name` on which they differ."""
    program()  # before there are processes, for all of them
    with concurrent.futures.ProcessPoolExecutor(jobs or os.cpu_count()) as pool:
        runs = -(-cases // FILES_EACH[name])
        yield from (what for what in pool.map(JUDGES[name], range(seed, seed + runs), chunksize=4) if what is not None)


class Record:
    """Sums of all runs that were recorded, and the seed behind the last of them, by format."""

    PATH = pathlib.Path(__file__).parents[1] / "results/judge.json"

    def __init__(self):
        self.formats = json.loads(self.PATH.read_text()) if self.PATH.exists() else {}

    def next_seed(self, name):
        return self.formats.get(name, {}).get("next_seed", 0)

    def add(self, name, cases, seed, found):
        of = self.formats.setdefault(name, {"files": 0, "differences": 0})
        of |= {"date": str(datetime.date.today()), "next_seed": seed + -(-cases // FILES_EACH[name]), "files": of["files"] + cases, "differences": of["differences"] + found}
        self.PATH.write_text(json.dumps(self.formats, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("formats", nargs="*", default=list(JUDGES), metavar="FORMAT", help="of " + ", ".join(JUDGES))
    parser.add_argument("--cases", type=int, default=1000, help="files of each format")
    parser.add_argument("--minutes", type=float, default=1e9, help="of each format; then the files compared so far count")
    parser.add_argument("--seed", type=int, default=None, help="default: 0, or with --record the next one")
    parser.add_argument("--jobs", type=int, default=None)
    parser.add_argument("--most", type=int, default=10, help="differences to print")
    parser.add_argument("--record", action="store_true", help="add to tests/results/judge.json, for scripts/reliability")
    a = parser.parse_args()
    wrong, record = 0, Record()
    for name in a.formats:
        seed = a.seed if a.seed is not None else record.next_seed(name) if a.record else 0
        found, done, begin = 0, 0, time.monotonic()
        while done < a.cases and (time.monotonic() - begin) / 60 < a.minutes:
            some, before = min(a.cases - done, 20000), found
            for what in compare(name, some, seed, a.jobs):
                found += 1
                if found <= a.most:
                    print(what, flush=True)
            done += some
            if a.record:
                record.add(name, some, seed, found - before)
            seed += -(-some // FILES_EACH[name])
        print(f"{name}: {done} {'epochs' if name in RUNS else 'files'}, {found} differences", flush=True)
        wrong += found
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
