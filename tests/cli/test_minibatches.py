# SPDX-License-Identifier: MIT
"""How minibatches are cut and what fills them: sizes, buckets, mixtures, shards (docs/reference/cli.md)."""
import pytest


def keys_of(batch):
    return [x["key"] for stream in batch["streams"][:1] for x in stream["layout"] if "id" in x]


def lengths_of(batch):
    return [x["e"] - x["b"] for stream in batch["streams"][:1] for x in stream["layout"] if "id" in x]


def text(lengths, first=0):
    """A corpus of sequences of these lengths."""
    return "".join(f"{first + key} |v {key} {step}\n" for key, n in enumerate(lengths) for step in range(n))


def test_sizes_count_sequences_or_cells(batchfeed, write):
    write("a.ctf", text([3, 1, 2, 2, 2, 4, 1, 1]))
    lines = batchfeed("read", "a.ctf", "--minibatch-size", 3, "--size-unit", "sequences").lines
    assert [len(keys_of(x)) for x in lines] == [3, 3, 2]
    lines = batchfeed("read", "a.ctf", "--minibatch-size", 6, "--size-unit", "cells").lines
    assert all(len(keys_of(x)) * max(lengths_of(x)) <= 6 for x in lines)
    assert sum(len(keys_of(x)) for x in lines) == 8


def test_sequences_longer_than_a_minibatch(batchfeed, write):
    write("a.ctf", text([1, 5, 2, 1]))
    read = ("read", "a.ctf", "--minibatch-size", 3, "--long-sequence")
    assert [keys_of(x) for x in batchfeed(*read, "alone").lines] == [["0"], ["1"], ["2", "3"]]
    done = batchfeed(*read, "skip")
    assert [keys_of(x) for x in done.lines] == [["0"], ["2", "3"]], "no minibatch without data in its place"
    assert "1 sequence left out, as --long-sequence" in done.err
    assert lengths_of(batchfeed(*read, "split").lines[1]) == [3, 2]
    done = batchfeed(*read, "error")
    assert done.code == 3
    error = done.lines[-1]["error"]
    assert error["what"] == "sequence '1' has 5 samples, the minibatch 3"
    assert (error["file"], error["line"]) == ("a.ctf", 2)


def test_what_cannot_be_packed_is_named_with_its_place(batchfeed, write):
    write("odd.ctf", "".join(f"{i} |a 1 |b 1\n{i} |a 2 |b 2\n" for i in range(3)) + "7 |a 1 |b 1\n7 |a 2\n")
    config = """R = [ MODE ; randomize = false ; deserializers = ( [ type = CNTKTextFormatDeserializer ; module = CNTKTextFormatReader
      file = "odd.ctf" ; input = [ a = [ dim = 1 ; format = dense ] ; b = [ dim = 1 ; format = dense ] ] ] ) ]"""
    for mode, message in (
        ("truncated=true;truncationLength=2", "odd.ctf:7: sequence '7' has 1 sample in stream 'b', but 2 in others; truncated packing needs"),
        ("frameMode=true", "odd.ctf:1: sequence '0' has 2 samples in stream 'a', expected 1 in frame mode"),
    ):
        write("one.cntk", config.replace("MODE", mode))
        done = batchfeed("read", "one.cntk", "--format", "none")
        assert done.code == 3 and message in done.err, done.err
    # As many as are tolerated are left out.
    write("one.cntk", config.replace("MODE", "truncated=true;truncationLength=2;maxErrors=1"))
    done = batchfeed("read", "one.cntk", "--minibatch-size", 8)
    assert done.code == 0 and "1 sequence left out, as it is damaged" in done.err, done.err
    assert [keys_of(x) for x in done.lines] == [["0", "2"], ["1"]]  # a row looks ahead
    write("odd.ctf", "8 |a 1\n8 |a 2 |b 1\n" + open(batchfeed.folder / "odd.ctf").read())
    assert "2 damaged sequences, maxErrors tolerates 1" in batchfeed("read", "one.cntk", "--format", "none").err


def test_the_last_minibatch(batchfeed, write):
    write("a.ctf", text([1] * 5))
    read = ("read", "a.ctf", "--minibatch-size", 2, "--last-minibatch")
    assert [len(keys_of(x)) for x in batchfeed(*read, "keep").lines] == [2, 2, 1]
    done = batchfeed(*read, "drop")
    assert [len(keys_of(x)) for x in done.lines] == [2, 2, 0]
    assert "1 sequence left out" in done.err
    lines = batchfeed(*read, "cross", "--epoch-sweeps", 2).lines
    assert [keys_of(x) for x in lines] == [["0", "1"], ["2", "3"], ["4", "0"], ["1", "2"], ["3", "4"]]
    assert batchfeed(*read, "cross", "--no-cross-sweeps").code == 3


def test_a_small_last_minibatch_is_evened_out_for_workers_that_share_evenly(batchfeed, write):
    write("a.ctf", text([1] * 33))
    for rank in range(4):
        lines = batchfeed("read", "a.ctf", "--shard", "even", "--minibatch-size", 16, "--workers", 4, "--rank", rank).lines
        assert all(keys_of(x) for x in lines), "nobody is without data"
    plan = batchfeed("plan", "a.ctf", "--shard", "even", "--minibatch-size", 16, "--workers", 4, "--json").json
    assert [x["without_data"] for x in plan["ranks"]] == [0] * 4


def test_bucketing_saves_padding_and_says_so(batchfeed, write):
    write("a.ctf", text([1 + (7 * i) % 30 for i in range(300)]))
    bucketed = ("a.ctf", "--minibatch-size", 200, "--bucket-minibatches", 16)
    done = batchfeed("read", *bucketed)
    keys = [int(k) for x in done.lines for k in keys_of(x)]
    assert sorted(keys) == list(range(300))
    assert "bucketing saved" in done.err
    plan = batchfeed("plan", *bucketed, "--json").json["padding"]
    cells = sum(len(keys_of(x)) * max(lengths_of(x)) for x in done.lines)
    assert plan["cells"] == cells
    assert plan["samples"] == sum(sum(lengths_of(x)) for x in done.lines)
    assert plan["unbucketed"] > cells
    assert plan["saved"] > 0.7
    assert "without bucketing" in batchfeed("plan", *bucketed).out
    done = batchfeed("read", *bucketed, "--cross-sweeps")
    assert done.code == 3
    assert "bucket_minibatches cannot make minibatches that span two sweeps" in done.err


def test_bucketing_goes_on_from_a_state(batchfeed, write):
    write("a.ctf", text([1 + (7 * i) % 30 for i in range(300)]))
    run = ("read", "a.ctf", "--order", "uniform", "--minibatch-size", 200, "--bucket-minibatches", 4)
    whole = batchfeed(*run).lines
    assert batchfeed(*run, "--limit", 5, "--save-state", "s.json").code == 0
    assert batchfeed(*run, "--state", "s.json").lines == whole[5:]
    done = batchfeed("read", "a.ctf", "--order", "uniform", "--minibatch-size", 200, "--state", "s.json")
    assert done.code == 3
    assert "bucket_minibatches = 4, the reader has 0" in done.err


def test_a_mixture_takes_each_file_as_a_corpus(batchfeed, write):
    write("a.ctf", text([1] * 100))
    write("b.ctf", text([1] * 50, first=1000))
    mix = ("a.ctf", "b.ctf", "--mix-weights", "3,1", "--order", "uniform")
    keys = [int(k) for x in batchfeed("read", *mix, "--epoch-size", 70000).lines for k in keys_of(x)]
    assert len(keys) == 70000
    assert sum(k < 1000 for k in keys) == pytest.approx(52500, abs=500)
    assert len([k for x in batchfeed("read", *mix).lines for k in keys_of(x)]) == 150, "as many as there are"
    assert [x["file"] for x in batchfeed("plan", *mix, "--json").json["mixture"]] == ["a.ctf", "b.ctf"]
    whole = batchfeed("read", *mix, "--minibatch-size", 10).lines
    batchfeed("read", *mix, "--minibatch-size", 10, "--limit", 4, "--save-state", "s.json")
    assert batchfeed("read", *mix, "--minibatch-size", 10, "--state", "s.json").lines == whole[4:]
    done = batchfeed("read", "a.ctf", "b.ctf", "--mix-weights", "3,2", "--minibatch-size", 10, "--order", "uniform",
                     "--state", "s.json")
    assert "mix_weights = 3:1, the reader has 3:2" in done.err


def test_streams_of_a_mixture_are_inferred_so_that_they_fit_all(batchfeed, write):
    write("a.ctf", "".join(f"{i} |x {i % 4}:1 |y 1 2\n" for i in range(100)))
    write("b.ctf", "".join(f"{i} |x {i % 9}:1 |y 1 2\n" for i in range(100)))
    lines = batchfeed("read", "a.ctf", "b.ctf", "--mix-weights", "1,1", "--order", "uniform").lines
    assert {tuple(s["shape"]) for x in lines for s in x["streams"]} == {(9,), (2,)}


def test_mixtures_that_cannot_be(batchfeed, write):
    write("a.ctf", text([1] * 10))
    write("b.ctf", "0 |w 1\n")
    assert "1 weight for 2 files" in batchfeed("read", "a.ctf", "b.ctf", "--mix-weights", "3").err
    assert "other streams than the first: 'w' (" in batchfeed("read", "a.ctf", "b.ctf", "--mix-weights", "3,1").err
    assert "not a positive number: -1e-09; " in batchfeed("read", "a.ctf", "a.ctf", "--mix-weights", "3,-1e-9").err
    assert "shard = even" in batchfeed("read", "a.ctf", "a.ctf", "--mix-weights", "3,1", "--shard", "chunk", "--workers",
                                       2, "--rank", 0).err


def test_several_files_and_patterns_are_shards_of_one_corpus(batchfeed, write):
    for shard in range(3):
        write(f"part-{shard}.ctf", f"{shard} |v {shard}\n{shard + 10} |v {shard} {shard}\n")
    by_pattern = batchfeed("read", "part-*.ctf")
    assert keys_of(by_pattern.lines[0]) == ["0", "10", "1", "11", "2", "12"]
    assert batchfeed("read", "part-0.ctf", "part-1.ctf", "part-2.ctf").out == by_pattern.out
    assert batchfeed("read", "part-1.ctf", "part-0.ctf").lines[0]["streams"][0]["layout"][0]["key"] == "1", "as listed"


def test_the_memory_limit_has_units_and_is_kept(batchfeed, write):
    write("a.ctf", text([3] * 2000))
    assert batchfeed("read", "a.ctf", "--memory-limit", "64M", "--format", "none").code == 0
    done = batchfeed("read", "a.ctf", "--memory-limit", "4K", "--format", "none")
    assert done.code == 3
    assert "memory_limit is 4096" in done.err and "or raise --memory-limit" in done.err


def test_a_window_in_samples(batchfeed, write):
    write("a.ctf", text([3] * 20))
    run = ("read", "a.ctf", "--order", "cntk")
    assert batchfeed(*run, "--window-samples", 12).code == 0
    assert batchfeed(*run, "--window-samples", 12, "--window-chunks", 3).code == 2


def test_plan_tells_the_memory_of_a_run(batchfeed, write):
    """With what is read ahead, as the files have it, and against the limit that the run would have."""
    write("a.ctf", text([1] * 200))
    how = ("a.ctf", "--order", "uniform", "--window-chunks", 2, "--minibatch-size", 10)
    told = batchfeed("plan", *how, "--json").json["memory_bytes"]
    refused = batchfeed("plan", *how, "--memory-limit", told - 1)
    assert refused.code != 0 and f"may take {told:,} bytes, memory_limit is {told - 1}" in refused.err
    assert refused.err.endswith("or raise --memory-limit\n")
    assert batchfeed("plan", *how, "--memory-limit", told).code == 0


def test_parts_of_a_damaged_sequence_end_where_it_does(batchfeed, write):
    """Samples that are tolerated as damaged are missing, and nothing stands in for them."""
    write("a.ctf", "1 |v 1 2\n1 |v 3 4 5\n1 |v 6 7\n2 |v 8 9\n")
    config = write("a.cntk", "T = [ reader = [ readerType = CNTKTextFormatReader ; file = a.ctf ; maxErrors = 10 ; randomize = false\n"
                             "input = [ v = [ dim = 2 ; format = dense ] ] ] ]\n")
    done = batchfeed("read", config, "--minibatch-size", 2, "--long-sequence", "split")
    assert done.code == 0
    assert [(keys_of(x), lengths_of(x)) for x in done.lines] == [(["1"], [2]), (["2"], [1])]


def test_each_shard_says_itself_whether_it_has_ids(batchfeed, write):
    write("a.ctf", "4 |v 1\n4 |v 2\n5 |v 3\n")
    write("b.ctf", "|v 1\n|v 2\n")
    for files in (("a.ctf", "b.ctf"), ("b.ctf", "a.ctf")):
        done = batchfeed("check", *files, "--json")
        assert (done.code, done.json["sequences"], done.json["samples"]) == (0, 4, 5)
