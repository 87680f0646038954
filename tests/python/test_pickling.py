# SPDX-License-Identifier: MIT
"""Minibatches by value: pickled, copied, and sent between processes."""
import copy
import gc
import multiprocessing
import os
import pickle
import weakref

import numpy as np
import pytest

import batchfeed as bf
from conftest import keys_of

FIELDS = ("epoch", "index", "position", "end_of_epoch", "end_of_sweep", "num_samples", "num_sequences", "invalid", "sequence_keys")


def same(one, other):
    assert type(one) is type(other) is bf.Batch and list(one) == list(other)
    for field in FIELDS:
        assert getattr(one, field) == getattr(other, field), field
    for name in one:
        same_stream(one[name], other[name])


def same_stream(one, other):
    assert type(one) is type(other) is bf.Stream and repr(one) == repr(other)
    assert one.layout == other.layout and one.dtype == other.dtype
    for part in ("values", "offsets", *(("indices", "indptr") if one.is_sparse else ())):
        np.testing.assert_array_equal(getattr(one, part), getattr(other, part), strict=True)


OPTIONS = [{}, {"pack": "truncated", "truncation_length": 3}, {"dtype": "float64"}]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_batch_is_pickled_by_value(corpus, options, protocol):
    options = dict(options)
    source = corpus.source(dtype=options.pop("dtype", "float32"))
    for batch in bf.Reader(source, minibatch_samples=12, **options):
        again = pickle.loads(pickle.dumps(batch, protocol))
        same(batch, again)
        np.testing.assert_array_equal(batch["x"].padded().values, again["x"].padded().values)
        same(again, pickle.loads(pickle.dumps(again)))


def test_a_stream_alone(corpus):
    batch = next(iter(corpus.reader()))
    for name in batch:
        same_stream(batch[name], pickle.loads(pickle.dumps(batch[name])))


def test_a_copy_is_the_callers_own(corpus):
    batch = next(iter(corpus.reader()))
    for other in (copy.copy(batch), copy.deepcopy(batch)):
        same(batch, other)
        assert not np.shares_memory(batch["x"].values, other["x"].values)
    before = batch["x"].numpy().copy()
    stream = copy.deepcopy(batch["x"])
    stream.numpy()[:] = 0
    np.testing.assert_array_equal(batch["x"].numpy(), before)


def test_large_data_go_out_of_band(corpus):
    batch = next(iter(corpus.reader()))
    buffers = []
    text = pickle.dumps(batch, 5, buffer_callback=buffers.append)
    assert any(np.shares_memory(np.frombuffer(part.raw(), np.uint8), batch["x"].values) for part in buffers)
    same(batch, pickle.loads(text, buffers=buffers))


def send(queue, reader):
    for batch in reader:
        queue.put(batch)
    queue.put(None)


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_through_a_queue(corpus, expected, method):
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    process = context.Process(target=send, args=(queue, corpus.reader()))
    process.start()
    assert keys_of(iter(lambda: queue.get(timeout=60), None)) == expected[0]
    process.join(60)
    assert process.exitcode == 0


def test_parts_that_do_not_fit_are_refused(corpus):
    build, (about, keys, streams) = next(iter(corpus.reader())).__reduce__()
    for at in (7, 8):  # values, offsets
        damaged = list(streams[0])
        damaged[at] = damaged[at][:-1]
        with pytest.raises(ValueError, match="not the parts of a stream"):
            build(about, keys, [tuple(damaged)])
    # Of the right sizes, but one points out of the others.
    [y] = [parts for parts in streams if parts[0] == "y"]
    for at, place, value in ((6, 0, [0, 10**6, 0, 1]), (8, 1, 10**6), (9, 0, 10**6), (9, 0, -1), (10, 1, 10**6)):
        damaged = copy.deepcopy(list(y))
        damaged[at][place] = value
        with pytest.raises(ValueError, match="not the parts of a stream"):
            build(about, keys, [tuple(damaged)])


def test_what_was_set_since_it_was_opened_goes_along(corpus):
    reader = corpus.reader(minibatch_samples=20)
    reader.next()
    reader.set_minibatch_size(9)
    reader.set_workers(2, 1)
    copies = [pickle.loads(pickle.dumps(reader)), pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(reader))))]
    child = os.fork()
    if not child:
        samples = 255
        try:
            samples = sum(batch.num_samples for batch in reader)
        finally:
            os._exit(samples)
    ours = [(batch.sequence_keys, batch.num_samples) for batch in reader]
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == sum(n for _, n in ours) < sum(corpus.lengths) - 20
    for other in copies:
        assert [(batch.sequence_keys, batch.num_samples) for batch in other] == ours


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))], ids=["copy", "deepcopy", "pickle"])
def test_options_are_values(corpus, again):
    options = dict(seed=3, window=9, pack="truncated", truncation_length=4, minibatch_size=[2, 5], epoch_samples=float("inf"))
    one, other = corpus.reader(**options).options, corpus.reader(**{**options, "seed": 4}).options
    for value in (one, one.order, one.pack, corpus.reader().padding):
        assert again(value) == value and repr(again(value)) == repr(value) and value != 3
    assert one != other and one.order != other.order and one.pack == other.pack
    assert one.order != one.pack
    for value in (one, one.order, one.pack, corpus.reader().padding, corpus.reader().streams["x"]):
        assert value != None and not value == None and value in [None, value]  # noqa: E711
    moved = again(one)
    moved.order.seed, moved.minibatch_size = 4, [2, 5]
    assert moved == other and one.order.seed == 3
    assert repr(one.order) == "<OrderOptions: window=9, seed=3>"
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


def test_a_writer_is_one_of_a_kind(tmp_path):
    writer = bf.Writer(tmp_path / "a.ctf", {"x": bf.dense(1)})
    for again in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="a Writer cannot be pickled or copied"):
            again(writer)


def test_errors_are_told_by_the_name_to_catch_them_by():
    for kind in (bf.Error, bf.FormatError, bf.LimitError, bf.ConfigError, bf.StateError, bf.FileError, bf.MissingFileError, bf.InternalError):
        assert pickle.loads(pickle.dumps(kind)) is kind and str(kind) == f"<class 'batchfeed.{kind.__name__}'>"
    assert repr(bf.Cluster()) == "<batchfeed.Cluster>"


def test_what_is_made_of_a_minibatch_may_be_kept_by_it(corpus):
    batch = corpus.reader().next()
    made = weakref.WeakKeyDictionary({batch: "of a minibatch", batch["x"]: "of a stream"})
    assert made[batch] == "of a minibatch" and made[batch["x"]] == "of a stream" and len(made) == 2
    assert batch == batch and batch != copy.copy(batch) and batch["x"] in made and batch["y"] not in made
    del batch
    gc.collect()
    assert len(made) == 0
