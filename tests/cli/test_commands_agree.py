# SPDX-License-Identifier: MIT
"""What one command writes the others read, and what one says of a corpus the others find: on corpora that are drawn."""
import collections
import gzip
import json
import random

import pytest
from random_corpora import speech_corpus, text_corpus

SEEDS = range(30)
pytestmark = pytest.mark.parametrize("seed", SEEDS)


def well(done):
    assert done.code == 0, done.err + done.out
    return done


def without_names(done):
    """Minibatches but for what streams are called: a section of a configuration cannot have every name."""
    return [
        {**batch, "streams": sorted(json.dumps({k: v for k, v in s.items() if k != "name"}, sort_keys=True) for s in batch["streams"])}
        for batch in done.lines
    ]


def sequences(done):
    """What `cat` writes: {key: its lines, each a sorted list of samples}."""
    out = collections.defaultdict(list)
    key = None
    for line in done.out.splitlines():
        front, *samples = line.split("|")
        key = front.strip() or key
        out[key].append(sorted(sample.strip() for sample in samples))
    return out


def test_the_configuration_that_schema_writes_reads_the_same(batchfeed, write, seed):
    write("a.ctf", text_corpus(seed).text)
    well(batchfeed("check", "a.ctf"))
    well(batchfeed("schema", "a.ctf", "-o", "a.cntk"))
    assert without_names(well(batchfeed("read", "a.cntk", "--order", "file"))) == without_names(well(batchfeed("read", "a.ctf")))


def test_every_format_holds_the_corpus(batchfeed, write, seed):
    text = text_corpus(seed)
    write("a.ctf", text.text)
    keep = ["--keys", "keep"] if text.keys != "none" else []
    target = random.Random(seed).choice(["b.cbf", "b.cbf.zst", "b.ctf.zst", "b.ctf"])
    well(batchfeed("convert", "a.ctf", target, "--verify", *keep, "--chunk-size", 1000))
    well(batchfeed("diff", "a.ctf", target))
    well(batchfeed("convert", target, "back.ctf", *keep))
    if text.keys != "none":
        assert sequences(batchfeed("cat", "back.ctf")) == sequences(batchfeed("cat", "a.ctf"))
    (batchfeed.folder / "a.ctf.gz").write_bytes(gzip.compress(text.text.encode()))
    well(batchfeed("index", "a.ctf"))
    whole = well(batchfeed("cat", "a.ctf")).out
    assert well(batchfeed("cat", "a.ctf.gz")).out == whole == well(batchfeed("cat", "a.ctf", "--cache-index")).out


def test_parts_and_shuffles_hold_every_sequence_once(batchfeed, write, seed):
    text = text_corpus(seed)
    write("a.ctf", text.text)
    keep = ["--keys", "keep"] if text.keys != "none" else []
    well(batchfeed("split", "a.ctf", "--part", "one.ctf", "--part", "two.ctf=0.5", "--exact"))
    well(batchfeed("merge", "one.ctf", "two.ctf", "-o", "both.ctf", *keep))
    well(batchfeed("shuffle", "a.ctf", "-o", "shuffled.ctf", "--seed", seed))
    whole = well(batchfeed("cat", "a.ctf"))
    for other in ("both.ctf", "shuffled.ctf"):
        found = well(batchfeed("cat", other))
        if text.keys == "none":
            assert sorted(line[line.index("|"):] for line in found.out.splitlines()) == sorted(line[line.index("|"):] for line in whole.out.splitlines())
        else:
            assert sequences(found) == sequences(whole)
    if text.keys != "none":
        key = whole.out.split()[0]
        assert list(sequences(well(batchfeed("grep", "a.ctf", "--key", key, "--format", "ctf")))) == [key]


def test_what_is_planned_is_what_is_read_and_states_go_on_there(batchfeed, write, seed):
    write("a.ctf", text_corpus(seed).text)
    draw = random.Random(seed)
    workers = draw.randint(1, 3)
    rank = draw.randrange(workers)
    options = ["--order", draw.choice(["file", "cntk", "uniform"]), "--minibatch-size", draw.randint(1, 9), "--shard", draw.choice(["chunk", "even"]),
               "--size-unit", draw.choice(["samples", "sequences", "cells"]), "--last-minibatch", draw.choice(["keep", "drop"]),
               "--long-sequence", draw.choice(["alone", "skip"])]
    read = batchfeed("read", "a.ctf", *options, "--workers", workers, "--rank", rank)
    if "every sequence of a sweep is longer" in read.err:
        return
    batches = well(read).out.splitlines()
    load = well(batchfeed("plan", "a.ctf", *options, "--workers", workers, "--json")).json["ranks"][rank]
    with_data = [json.loads(batch) for batch in batches if json.loads(batch)["streams"]]
    assert load["minibatches"] - load["without_data"] == len(with_data)
    run = ["read", "a.ctf", *options, "--workers", workers, "--rank", rank]
    for stop in range(1, min(len(batches), 4)):
        well(batchfeed(*run, "--after", f"0:{stop}", "--save-state", "state.json", "--limit", stop))
        assert well(batchfeed(*run, "--state", "state.json")).out.splitlines() == batches[stop:]


def test_stats_are_those_of_the_numbers(batchfeed, write, seed):
    text = text_corpus(seed)
    write("a.ctf", text.text)
    values, samples = collections.defaultdict(list), collections.Counter()
    for line in well(batchfeed("cat", "a.ctf")).out.splitlines():
        for sample in line[line.index("|") + 1:].split(" |"):
            name, *words = sample.split()
            samples[name] += 1
            values[name] += [float(word.rpartition(":")[2]) for word in words]
    for stream in well(batchfeed("stats", "a.ctf", "--json")).json["streams"]:
        name = stream["name"]
        assert stream["samples"] == samples[name]
        if stream["storage"] == "dense":
            found = values[name]
            assert (stream["min"], stream["max"]) == pytest.approx((min(found), max(found)), rel=1e-6)
            assert stream["mean"] == pytest.approx(sum(found) / len(found), rel=1e-5)


def test_speech_files_hold_what_the_text_does(batchfeed, write, seed):
    text = speech_corpus(seed)
    write("a.ctf", text.text)
    draw = random.Random(seed)
    features, labels = text.names
    well(batchfeed("convert", "a.ctf", "o.scp", "--streams", features, "--layout", draw.choice(["archive", "files"])))
    well(batchfeed("convert", "a.ctf", "o.mlf", "--streams", labels, "--layout", draw.choice(["text", "binary"])))
    assert "no fault" in well(batchfeed("check", "o.scp", "o.mlf")).out
    assert well(batchfeed("info", "o.scp", "o.mlf", "--json")).json["sequences"] == text.sequences
    well(batchfeed("schema", "o.scp", "o.mlf", "-o", "o.cntk"))
    assert without_names(well(batchfeed("read", "o.cntk", "--order", "file"))) == without_names(well(batchfeed("read", "o.scp", "o.mlf", "--order", "file")))
    well(batchfeed("convert", "o.scp", "o.mlf", "back.ctf"))

    def values(name):
        return {key: [sorted(s.split(None, 1)[1] for s in line) for line in lines] for key, lines in sequences(well(batchfeed("cat", name))).items()}

    assert values("back.ctf") == values("a.ctf")
