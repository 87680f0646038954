# SPDX-License-Identifier: MIT
import inspect
import math
import os
import re

import numpy as np
import pytest
from conftest import ROOT, Corpus, keys_of

import batchfeed as bf
from batchfeed import _core, _options


def test_every_sample_comes_once_with_its_own_values(corpus):
    seen = []
    with corpus.reader(seed=3) as reader:
        assert len(reader) == len(list(reader))
        reader.begin_epoch(0)
        for batch in reader:
            assert batch.num_samples == len(batch["x"]) == len(batch["y"])
            for key, x, y in zip(map(int, batch.sequence_keys), batch["x"].sequences(), batch["y"].sequences()):
                np.testing.assert_array_equal(x, corpus.dense[key])
                np.testing.assert_array_equal(y.toarray().argmax(axis=1), corpus.label[key])
                seen.append(key)
    assert sorted(seen) == list(range(len(corpus.lengths)))
    assert seen != sorted(seen), "shuffled by default"


def test_what_a_reader_says_of_itself(corpus):
    reader = corpus.reader()
    assert (reader.num_sequences, reader.num_samples) == (len(corpus.lengths), sum(corpus.lengths))
    assert list(reader.streams) == ["x", "y"]
    assert (reader.streams["y"].storage, reader.streams["y"].dim) == ("sparse", corpus.classes)
    assert repr(reader) == "<Reader of CTF: 15 sequences, 77 samples; 'x': dense 3, 'y': sparse 5>"
    batch = next(iter(reader))
    assert re.fullmatch(r"<Batch 0 of epoch 0: (1 sequence|\d+ sequences), \d+ samples; 'x': dense \d+ x 3, 'y': .*>", repr(batch))
    assert re.fullmatch(r"<Stream 'x': dense, (1 sequence|\d+ sequences), \d+ samples of 3, float32>", repr(batch["x"]))
    assert reader.memory_needed > 0 and reader.memory_held > 0
    assert reader.options.minibatch_size == [7]


def test_streams_are_inferred(corpus):
    for reader in (bf.open(corpus.path), bf.Reader(corpus.path), bf.Reader(bf.CTF(corpus.path))):
        streams = {name: (s.storage, s.dim) for name, s in reader.streams.items()}
        assert streams == {"x": ("dense", 3), "y": ("sparse", corpus.classes)}
        assert reader.num_sequences == len(corpus.lengths)


def test_text_ids_are_inferred(tmp_path):
    path = tmp_path / "t.ctf"
    path.write_text("utt-a |x 1\nutt-b |x 2\n")
    assert [key for batch in bf.open(path, shuffle=False) for key in batch.sequence_keys] == ["utt-a", "utt-b"]


def test_a_stream_may_have_another_name_in_the_file(tmp_path):
    path = tmp_path / "t.ctf"
    path.write_text("|f 1 2 |l 3:1\n")
    source = bf.CTF(path, streams={"features": bf.dense(2, alias="f"), "labels": bf.sparse(5, alias="l")}, dtype=np.float64)
    batch = next(iter(bf.Reader(source)))
    assert batch["features"].dtype == np.float64
    assert batch["labels"].classes().tolist() == [3]


def test_a_configuration_says_what_keywords_do_not(corpus, tmp_path):
    config = tmp_path / "train.cntk"
    config.write_text(
        f"""Train = [ SGD = [ minibatchSize = 5 ]
  reader = [ readerType = "CNTKTextFormatReader" ; file = "{corpus.path}" ; randomize = false
    input = [ x = [ dim = 3 ; format = "dense" ] ; y = [ dim = 5 ; format = "sparse" ] ] ] ]"""
    )
    reader = bf.open(config)
    assert (reader.options.minibatch_size, reader.options.order.kind) == ([5], "file")
    assert [k for b in reader for k in b.sequence_keys] == [str(k) for k in range(len(corpus.lengths))]
    reader = bf.open(config, section="Train.reader", minibatch_samples=9, shuffle=True, seed=4, dtype="float64")
    assert (reader.options.minibatch_size, reader.options.order.kind, reader.options.order.seed) == ([9], "uniform", 4)
    assert next(iter(reader))["x"].dtype == np.float64
    randomized = bf.open(config, set=["Train=[reader=[randomize=true]]"])
    assert randomized.options.order.kind == "cntk"


def fields(struct):
    header = (ROOT / "include/batchfeed/options.h").read_text()
    body = re.search(rf"struct {struct} {{\n(.*?)\n}};", header, re.S).group(1)
    body = re.sub(r"  struct \w+ {.*?\n  };", "", body, flags=re.S)
    body = re.sub(r"//.*|enum class \w+ : [\w:]+ {.*?}|\w+ \w+\(\) const {.*?}\n", "", body, flags=re.M)
    return re.findall(r"(\w+)\s*=\s*[^;{]*?(?:{[^}]*})?[^;]*;", re.sub(r"\s+", " ", body))


@pytest.mark.parametrize(
    "struct, source, other",
    [
        ("CtfOptions", bf.CTF, {"element": "dtype", "seen": None}),
        ("CbfOptions", bf.CBF, {"element": "dtype", "convert_element": "dtype", "renames": "streams"}),
        ("HtkOptions", bf.HTKFeatures, {"element": "dtype", "frame_mode": None}),
        ("MlfOptions", bf.MLF, {"element": "dtype", "frame_mode": None, "inferred": None}),
        ("KaldiOptions", bf.Kaldi, {"element": "dtype", "frame_mode": None}),
    ],
)
def test_every_field_of_a_source_can_be_given(struct, source, other):
    given = set(inspect.signature(source).parameters)
    assert {other.get(name, name) for name in fields(struct)} - {None} <= given
    assert all(hasattr(getattr(_core, struct)(), name) for name in fields(struct))


def test_options_and_padding_say_what_they_are(corpus):
    assert repr(_core.ReaderOptions()) == "<ReaderOptions: the defaults>"
    reader = corpus.reader(order="file", window=3, minibatch_samples=5)
    assert repr(reader.options) == "<ReaderOptions: order='file', window=3, minibatch_size=[5], threads=2>"
    assert repr(corpus.reader(window=math.inf).options).startswith("<ReaderOptions: window=inf, ")
    assert repr(reader.padding) == "Padding(samples=0, cells=0, unbucketed=0, saved=0.000)"


def test_every_field_of_the_options_is_a_keyword():
    nested = {pair for pair in _options.NESTED.values()}
    assert {("order", f) for f in fields("OrderOptions")} | {("pack", f) for f in fields("PackOptions")} == nested
    flat = {name for name in _options.NAMES if name not in _options.NESTED} - {"minibatch_samples", "shuffle"}
    assert set(fields("ReaderOptions")) - {"order", "pack"} == flat
    assert {"order", "seed", "minibatch_samples", "threads"} <= set(inspect.signature(bf.Reader).parameters)


def test_keywords_reach_the_library(corpus):
    given = {
        "order": "cntk", "window": 2, "seed": 5, "shard": "chunk", "workers": 2, "rank": 1, "minibatch_size": [4, 8],
        "size_unit": "sequences", "epoch_samples": 20, "driver": "timeline", "cross_sweeps": False, "long_sequence": "skip",
        "last_minibatch": "drop", "max_invalid": 1, "keep_in_memory": True, "prefetch": False, "threads": 1, "prefetch_depth": 2,
        "memory_limit": 1 << 30, "keys": "text",
    }  # fmt: skip
    options = bf.Reader(corpus.source(), **given).options
    for name, value in given.items():
        assert _options._get(options, name) == value, name
    assert bf.Reader(corpus.source(), epoch_samples=math.inf).options.epoch_samples == _options.WHOLE_SET


@pytest.mark.parametrize(
    "given, message",
    [
        ({"order": "random"}, "order is 'random', expected one of 'uniform', 'cntk', 'file'"),
        ({"workers": -1}, "workers is -1, expected a whole number"),
        ({"minibatch_size": "many"}, "minibatch_size is 'many'"),
        ({"minibatch_size": "2"}, "minibatch_size is '2', expected a whole number"),
        ({"minibatch_samples": True}, "minibatch_samples is True, expected a whole number"),
        ({"minibatch_samples": 2.0}, "minibatch_samples is 2.0, expected a whole number"),
        ({"minibatch_samples": [2.5]}, "minibatch_samples is [2.5], expected a whole number"),
        ({"minibatch_samples": 0}, "minibatch_samples is 0, expected a whole number, at least 1, or a list of them"),
        ({"minibatch_size": [4, -1]}, "minibatch_size is [4, -1], expected a whole number, at least 1"),
        ({"minibatch_size": []}, "minibatch_size is [], expected a whole number, at least 1, or a list of them"),
        ({"minibatch_size": 2**64}, "minibatch_size is 18446744073709551616, expected a whole number, at least 1 and below 2**64, or"),
        ({"shuffle": True, "order": "file"}, "shuffle and order are both given"),
        ({"rank": 3}, "rank is 3, must be below workers"),
        ({"limits": {"line_byte": 3}}, "no limit 'line_byte'; hint: did you mean 'line_bytes'"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(corpus, given, message):
    with pytest.raises(bf.ConfigError, match=re.escape(message)):
        bf.Reader(corpus.source(), **given)


def test_numbers_may_be_those_of_numpy(corpus):
    given = {"minibatch_samples": np.int64(3), "seed": np.uint32(4), "threads": np.int8(1), "epoch_samples": np.int64(9)}
    options = bf.Reader(corpus.source(), **given).options
    assert (options.minibatch_size, options.order.seed, options.threads, options.epoch_samples) == ([3], 4, 1, 9)


def test_what_is_no_corpus_is_refused_in_words(corpus):
    for wrong in (3, None, {"x": 1}):
        with pytest.raises(TypeError, match="a path or a source .* is read, not"):
            bf.Reader(wrong)
    for wrong in (["x"], {"x": 3}):
        with pytest.raises(TypeError, match='streams are declared as {"name": bf.dense'):
            bf.Reader(bf.CTF(corpus.path, streams=wrong))
    for wrong in (None, "{}", 3):
        with pytest.raises(TypeError, match="a state is a mapping, as state_dict"):
            corpus.reader().load_state_dict(wrong)
    assert bf.open(corpus.path.encode()).num_sequences == len(corpus.lengths)


def test_an_unknown_keyword_is_a_type_error_that_names_the_right_ones(corpus):
    with pytest.raises(TypeError, match="^unexpected keyword argument 'minibatchsize'; did you mean 'minibatch_size'\\?$"):
        bf.Reader(corpus.source(), minibatchsize=3)
    for name, told in {
        "streams": "bf.CTF and bf.CBF: bf.Reader(bf.CTF(path, streams=...))",
        "skip_sequence_ids": "bf.CTF: bf.Reader(bf.CTF(path, skip_sequence_ids=...))",
        "chunk_bytes": "bf.CTF and bf.MLF: bf.Reader(bf.CTF(path, chunk_bytes=...))",
        "dim": "bf.HTKFeatures, bf.MLF and bf.Kaldi: bf.Reader(bf.HTKFeatures(name, path, dim=...))",
        "max_errors": "bf.CTF: bf.Reader(bf.CTF(path, max_errors=...))",
        "cache_index": "bf.CTF and bf.MLF: bf.Reader(bf.CTF(path, cache_index=...))",
        "path_map": "bf.HTKFeatures: bf.Reader(bf.HTKFeatures(name, path, path_map=...))",
        "section": "bf.open: bf.open(path, section=...)",
    }.items():
        with pytest.raises(TypeError) as raised:
            bf.Reader(corpus.path, **{name: 1})
        assert str(raised.value) == f"unexpected keyword argument {name!r}: {name!r} is a keyword of {told}"
    with pytest.raises(TypeError, match="^unexpected keyword argument 'drop_last': last_minibatch='drop' leaves out"):
        bf.open(corpus.path, drop_last=True)
    with pytest.raises(TypeError, match="'colour'; the keywords of a reader are bucket_minibatches, .*minibatch_size"):
        bf.open(corpus.path, colour="red")


def test_epochs_follow_each_other(corpus):
    reader = corpus.reader()
    first, second = keys_of(reader), keys_of(reader)
    assert first != second and sorted(sum(first, [])) == sorted(sum(second, []))
    assert reader.epoch == 1
    reader.begin_epoch(0)
    assert keys_of(reader.epochs(2)) == first + second
    assert reader.epoch == 1
    assert [b.epoch for b in reader.epochs(until=2)] == []
    assert {b.epoch for b in reader.epochs(until=4)} == {2, 3}


def test_epochs_until_a_number_end_on_a_timeline(corpus):
    """It is the epoch 0, and was begun again for ever."""
    reader = corpus.reader(driver="timeline", epoch_sweeps=1)
    first = [b.index for b, _ in zip(reader.epochs(until=2), range(100))]
    assert first == list(range(len(first))) and 0 < len(first) < 100
    assert list(reader.epochs(until=2)) == []


def test_a_loop_left_early_is_begun_anew(corpus):
    reader = corpus.reader()
    first = next(iter(reader)).sequence_keys
    everything = keys_of(reader)
    assert everything[0] == first and sum(map(len, everything)) == len(corpus.lengths)


def test_next_goes_on(corpus):
    reader = corpus.reader()
    all_keys = keys_of(reader)
    reader.begin_epoch(0)
    assert reader.next().sequence_keys == all_keys[0]
    assert keys_of(reader) == all_keys[1:]
    assert reader.next() is None


def test_two_loops_at_once_are_refused(corpus):
    reader = corpus.reader()
    first = iter(reader)
    next(first)
    next(iter(reader))
    with pytest.raises(bf.ConfigError, match="another iteration"):
        next(first)


def test_an_endless_run_has_no_length(corpus):
    reader = corpus.reader(driver="timeline", epoch_samples=math.inf)
    with pytest.raises(TypeError, match="no end"):
        len(reader)
    assert reader.next() is not None


def test_length_in_the_middle_and_at_the_end(corpus):
    reader = corpus.reader()
    n = sum(1 for _ in reader)
    assert len(reader) == sum(1 for _ in reader)
    reader.begin_epoch(0)
    reader.next()
    assert len(reader) == n


@pytest.mark.parametrize("offset", [0, 1, 2])
def test_length_of_one_of_every_three(corpus, offset):
    options = {"stride": 3, "offset": offset}
    whole = len(keys_of(corpus.reader(**options)))
    for stop in range(whole + 1):
        reader = corpus.reader(**options)
        for _ in range(stop):
            reader.next()
        resumed = corpus.reader(**options)
        resumed.load_state_dict(reader.state_dict())
        assert len(reader) == len(resumed) == whole, stop


@pytest.mark.parametrize(
    "options",
    [{"minibatch_samples": 4, "workers": 2, "rank": 1}, {"minibatch_samples": 6, "epoch_sweeps": 3, "last_minibatch": "drop"}],
    ids=["a share of small minibatches", "dropped at the end of each sweep"],
)
def test_the_length_counts_no_answers_without_data(tmp_path, options):
    """A reader in the middle is as long as one at the beginning."""
    (tmp_path / "few.ctf").write_text("".join(f"{i} |x {i}\n" + f"{i} |x 0\n" * (i % 5) for i in range(30)))
    options["order"] = "file"
    reader = bf.open(tmp_path / "few.ctf", **options)
    whole = len(reader)
    given = 0
    while reader.next() is not None:
        given += 1
        resumed = bf.open(tmp_path / "few.ctf", **options)
        resumed.load_state_dict(reader.state_dict())
        if given < whole:
            assert len(reader) == len(resumed) == whole
    assert given == whole


def test_ranks_share_each_minibatch(corpus):
    whole = [set(keys) for keys in keys_of(corpus.reader(minibatch_samples=20))]
    parts = [keys_of(corpus.reader(minibatch_samples=20, workers=2, rank=rank)) for rank in (0, 1)]
    for i, keys in enumerate(whole):
        assert set(parts[0][i]) | set(parts[1][i]) == keys and not set(parts[0][i]) & set(parts[1][i])


def test_the_plan_is_what_comes(corpus):
    reader = corpus.reader()
    planned = [[item.key for item in batch.items] for batch in reader.plan(99)]
    assert planned == keys_of(reader)


def test_bucketing_saves_padding(corpus):
    reader = corpus.reader(size_unit="sequences", minibatch_size=3, bucket_minibatches=5)
    lengths = [batch["x"].lengths.max() - batch["x"].lengths.min() for batch in reader]
    assert len(lengths) == 5 and reader.padding.saved > 0.5 and reader.skipped == 0


def test_corpora_are_mixed_by_weight(tmp_path):
    one, two = (Corpus(tmp_path / name, [2] * 50, seed=seed) for name, seed in (("1.ctf", 1), ("2.ctf", 2)))
    reader = bf.Reader(bf.Mix((one.source(), 3), ([two.source()], 1)), minibatch_samples=40, epoch_samples=4000)
    corpora = [item.corpus for batch in reader.plan(99) for item in batch.items]
    assert 0.7 < corpora.count(0) / len(corpora) < 0.8
    assert repr(reader).startswith("<Reader of Mix((CTF, 3), (CTF, 1)): 100 sequences, 200 samples;")


def test_a_closed_reader_says_so_and_its_batches_live_on(corpus):
    with corpus.reader() as reader:
        batch = reader.next()
        x = batch["x"].numpy()
    assert repr(reader) == "<Reader of CTF: closed>"
    with pytest.raises(bf.ConfigError, match="the reader is closed") as caught:
        reader.next()
    assert caught.value.id == "reader.closed"
    key = int(batch.sequence_keys[0])
    np.testing.assert_array_equal(x[: corpus.lengths[key]], corpus.dense[key])


def test_only_the_extension_holds_state():
    assert _core.version == bf.__version__


def test_roots_hold_what_lists_name(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.ctf").write_text("0 |x 1\n")
    (tmp_path / "b.ctf").write_text("0 |x 1\n")
    roots = {"roots": [tmp_path / "in"]}
    assert bf.open(tmp_path / "in" / "a.ctf", limits=roots).num_sequences == 1
    for path in (tmp_path / "b.ctf", tmp_path / "in" / ".." / "b.ctf"):
        with pytest.raises(bf.FileError, match="outside the folders that may be read") as caught:
            bf.open(path, limits=roots)
        assert caught.value.fault.id == "io.outside-roots"
        with pytest.raises(bf.FileError, match="outside the folders"):
            bf.Reader(bf.CTF(path), limits=roots)
    with pytest.raises(bf.ConfigError, match="give a list of folders"):
        bf.open(tmp_path / "b.ctf", limits={"roots": str(tmp_path)})


@pytest.mark.parametrize("sizes", ["minibatchSize = many", "minibatchSize = 0", "minibatchSize = 2.5", "minibatchSize = 256:-1"])
def test_a_wrong_size_is_told_where_it_is_used(corpus, tmp_path, sizes):
    path = tmp_path / "train.cntk"
    path.write_text(
        f"""Train = [ action = train
            SGD = [ {sizes} ; epochSize = 10 ]
            reader = [ readerType = CNTKTextFormatReader ; file = "{corpus.path}" ; randomize = false
                input = [ x = [ dim = 3 ; format = dense ] ; y = [ dim = 5 ; format = sparse ] ] ] ]"""
    )
    with pytest.raises(bf.ConfigError, match="Train.SGD.minibatchSize") as caught:
        bf.open(str(path))
    assert (caught.value.path, caught.value.line) == (str(path), 2)
    found = bf.check(str(path))
    assert [(f.path, f.line) for f in found] == [(str(path), 2)] and "Train.SGD.minibatchSize" in found[0].what
    assert found.samples == sum(corpus.lengths)
    for own in ({"minibatch_samples": 4}, {"minibatch_size": [4]}):
        assert next(iter(bf.open(str(path), **own))).num_samples == 4
    path.write_text(path.read_text().replace(sizes, "minibatchSize = 4").replace("epochSize = 10", "epochSize = ten"))
    with pytest.raises(bf.ConfigError, match="Train.SGD.epochSize"):
        bf.open(str(path))
    assert next(iter(bf.open(str(path), epoch_sweeps=1))).num_samples == 4


def test_check_finds_what_reading_would_refuse(corpus, tmp_path):
    path = tmp_path / "train.cntk"
    path.write_text(
        f"""reader = [ truncated = true ; truncationLength = 4000000000
            deserializers = ( [ type = CNTKTextFormatDeserializer ; module = CNTKTextFormatReader ; file = "{corpus.path}"
                input = [ x = [ dim = 3 ; format = dense ] ; y = [ dim = 5 ; format = sparse ] ] ] ) ]"""
    )
    with pytest.raises(bf.LimitError) as caught:
        next(iter(bf.open(str(path))))
    (found,) = bf.check(str(path))
    assert (found.id, found.kind) == (caught.value.id, "limit") == ("limit.gaps", "limit")


def test_limits_hold_for_configurations_too(tmp_path):
    (tmp_path / "a.ctf").write_text("0 |x 1 2\n1 |x 3 4\n")
    (tmp_path / "a.cntk").write_text(f'r = [ readerType = "CNTKTextFormatReader" ; file = "{tmp_path}/a.ctf" ; input = [ x = [ dim = 2 ; format = "dense" ] ] ]\n')
    with pytest.raises(bf.Error, match="config_bytes"):
        bf.open(tmp_path / "a.cntk", limits={"config_bytes": 10})
    assert bf.open(tmp_path / "a.cntk", limits={"config_bytes": 1000}).num_sequences == 2


def test_of_an_index_that_stands_twice_the_last_value_counts(tmp_path):
    (tmp_path / "a.ctf").write_text("0 |x 1:2 1:5 0:1\n")
    batch = next(iter(bf.Reader(bf.CTF(tmp_path / "a.ctf", streams={"x": bf.sparse(3)}))))
    assert batch["x"].numpy().tolist() == [[1, 5, 0]] and batch["x"].padded()[0].tolist() == [[[1, 5, 0]]]


def test_a_corpus_of_many_shards_leaves_descriptors_for_others(tmp_path):
    for i in range(200):
        (tmp_path / f"{i:03d}.ctf").write_text(f"{i} |x {i}\n")
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = len(os.listdir("/proc/self/fd")) + 100
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    try:
        with bf.open(str(tmp_path / "*.ctf"), seed=1, minibatch_size=50) as reader:
            others = [open(tmp_path / "000.ctf") for _ in range(40)]
            seen = [int(x) for batch in reader for x in batch["x"].numpy()[:, 0]]
            for other in others:
                other.close()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert sorted(seen) == list(range(200))


def answers(reader):
    """Of an epoch: how many samples each has for this rank."""
    out = []
    while not out or not end:
        batch = reader.read()
        out.append(batch.num_samples)
        end = batch.end_of_epoch
    return out


SHARES = [
    *({"size_unit": unit, "last_minibatch": last, **more} for unit in ("samples", "sequences", "cells") for last in ("keep", "drop") for more in ({}, {"epoch_samples": 50})),
    *({"size_unit": unit, "bucket_minibatches": 4} for unit in ("samples", "sequences", "cells")),
]


@pytest.mark.parametrize("workers", [2, 3])
def test_even_shares_have_as_many_minibatches_in_each_epoch(corpus, workers):
    """Where half a minibatch has a sequence for each: DistributedDataParallel waits for all ranks."""
    most = max(corpus.lengths)
    for options in SHARES:
        size = 2 * workers * (1 if options["size_unit"] == "sequences" else most)
        ranks = [corpus.reader(minibatch_size=size, workers=workers, rank=rank, **options) for rank in range(workers)]
        for _ in range(3):
            assert len({len(reader) for reader in ranks}) == 1, options
            assert len({sum(1 for _ in reader) for reader in ranks}) == 1, options


@pytest.mark.parametrize(
    "options",
    [{}, {"last_minibatch": "cross"}, {"bucket_minibatches": 4, "epoch_samples": 20}, {"pack": "truncated", "truncation_length": 4, "minibatch_samples": 60}],
    ids=["sequences", "cross", "buckets", "truncated"],
)
def test_even_shares_have_as_many_answers_whatever_the_packing(corpus, options):
    ranks = [corpus.reader(workers=3, rank=rank, **{"minibatch_samples": 9, **options}) for rank in range(3)]
    planned = [len(reader) for reader in ranks]
    shares = [answers(reader) for reader in ranks]
    assert len({len(share) for share in shares}) == 1
    assert [sum(n > 0 for n in share) for share in shares] == planned
    assert 0 in sum(shares, []), "some are without data"
