# SPDX-License-Identifier: MIT
"""The forms of a stream, and whose memory they are."""
import ctypes
import gc
from collections.abc import Mapping

import numpy as np
import pytest
import scipy.sparse
from conftest import Corpus
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import batchfeed as bf


def address(array):
    return array.__array_interface__["data"][0]


@pytest.fixture
def batch(corpus):
    return corpus.reader(minibatch_samples=30).next()


def test_a_batch_is_a_mapping(batch):
    assert list(batch) == list(batch.keys()) == ["x", "y"] and len(batch) == 2 and "x" in batch
    assert [s.name for s in batch.values()] == ["x", "y"]
    assert isinstance(batch, Mapping) and batch["x"] is batch.get("x") is dict(batch)["x"] is {**batch}["x"]
    assert batch.get("z") is None and batch.get("z", 3) == 3 and 3 not in batch
    assert list(batch.items()) == list(zip(batch, batch.values()))
    with pytest.raises(KeyError, match="no stream 'z'; there are 'x', 'y'"):
        batch["z"]


def test_truncated_packing_makes_sparse_streams_dense_and_the_reader_says_so(corpus):
    reader = corpus.reader(pack="truncated", truncation_length=3, minibatch_samples=9)
    batch = reader.next()
    assert reader.streams["y"].storage == batch["y"].storage == "dense" and "'y': dense 5" in repr(reader)
    assert batch["y"].shape[1] == reader.streams["y"].dim == 5


def test_views_do_not_copy(batch):
    x, y = batch["x"], batch["y"]
    start = address(x.values)
    assert address(x.numpy()) == address(x.packed().values) == address(np.asarray(x)) == start
    assert address(np.from_dlpack(x)) == start
    assert address(np.frombuffer(x, dtype=np.float32)) == start
    assert address(x.sequences()[0]) == start
    matrix = y.csr()
    assert address(matrix.data) == address(y.values) and address(matrix.indices) == address(y.indices)
    assert memoryview(x).shape == x.shape and memoryview(x).format == "f"
    assert not memoryview(x).readonly


FORMS = {
    "x": [bf.Stream.padded, lambda s: s.padded(steps=99), bf.Stream.cntk, bf.Stream.sequences, lambda s: s.__arrow_c_array__(),
          lambda s: s.torch("nested")],
    "y": [bf.Stream.padded, bf.Stream.cntk, bf.Stream.csr, bf.Stream.csc, bf.Stream.numpy, bf.Stream.torch,
          bf.Stream.packed, bf.Stream.sequences, bf.Stream.classes, lambda s: s.__arrow_c_array__(), lambda s: s.torch("coo")],
}


@pytest.mark.parametrize(
    "name, array, at, value",
    [(name, "offsets", at, value) for name in "xy" for at, value in ((0, -1), (1, 1 << 40), (1, -(1 << 40)), (-1, 1 << 40), (-1, 2))]
    + [("y", "indptr", at, value) for at, value in ((0, 1), (1, 1 << 40), (2, -1), (-1, 1 << 40))]
    + [("y", "indices", at, value) for at, value in ((0, 5), (-1, -1), (3, 1 << 30))],
)
def test_what_was_written_into_offsets_leads_nowhere(batch, name, array, at, value):
    stream = batch[name]
    before = stream.num_samples, stream.values.shape
    getattr(stream, array)[at] = value
    assert (stream.num_samples, stream.values.shape) == before and len(stream) == before[0]
    for form in FORMS[name]:
        with pytest.raises((bf.ConfigError, ImportError)) as caught:
            form(stream)
        assert isinstance(caught.value, ImportError) or caught.value.id == "minibatch.out-of-bounds"
    with pytest.raises(bf.ConfigError, match=f"stream '{name}': what was written to its offsets or indices points out"):
        batch.__arrow_c_array__()


def test_of_a_repeated_index_dense_forms_have_the_last_value(tmp_path):
    (tmp_path / "a.ctf").write_text("|x 1:2 1:3 0:1\n")
    stream = bf.Reader(bf.CTF(tmp_path / "a.ctf", {"x": bf.sparse(2)})).next()["x"]
    assert stream.numpy().tolist() == stream.padded().values[0].tolist() == stream.padded(steps=1).values[0].tolist() == [[1, 3]]
    assert stream.csr().toarray().tolist() == [[1, 5]]


def test_offsets_and_indices_may_be_written_to(batch):
    y = batch["y"]
    y.indices[:] = 4
    assert np.all(y.padded().values[y.padded().mask][:, 4] == 1) and np.all(y.csr().indices == 4)


def test_arrays_outlive_everything(corpus):
    reader = corpus.reader(minibatch_samples=12)
    expected, kept = [], []
    for batch in reader.epochs(3):
        kept.append((batch["x"].numpy(), batch["y"].csr(), batch["y"].offsets, memoryview(batch["x"])))
        expected.append((batch["x"].numpy().copy(), batch["y"].csr().toarray(), batch["y"].offsets.copy()))
    reader.close()
    del reader, batch
    gc.collect()
    for (x, y, offsets, view), (want_x, want_y, want_offsets) in zip(kept, expected):
        np.testing.assert_array_equal(x, want_x)
        np.testing.assert_array_equal(np.asarray(view), want_x)
        np.testing.assert_array_equal(y.toarray(), want_y)
        np.testing.assert_array_equal(offsets, want_offsets)


def test_memory_is_used_again_only_when_nobody_looks(corpus):
    reader = corpus.reader(minibatch_samples=12)
    held = reader.next()["x"].numpy()
    before = held.copy()
    for batch in reader.epochs(5):
        assert address(batch["x"].values) != address(held)
    np.testing.assert_array_equal(held, before)


def test_arrays_may_be_written_to(corpus):
    reader = corpus.reader(shuffle=False)
    x = reader.next()["x"].numpy()
    x[:] = 0
    reader.begin_epoch(0)
    assert reader.next()["x"].numpy().any()


def test_padded(batch):
    values, mask = batch["x"].padded()
    lengths = batch["x"].lengths
    assert values.shape == (batch.num_sequences, lengths.max(), 3) and mask.dtype == bool
    np.testing.assert_array_equal(mask.sum(axis=1), lengths)
    np.testing.assert_array_equal(values[mask], batch["x"].numpy())
    assert not values[~mask].any()
    labels, label_mask = batch["y"].padded()
    np.testing.assert_array_equal(label_mask, mask)
    np.testing.assert_array_equal(labels[mask], batch["y"].numpy())


def test_a_rectangle_of_a_given_size(batch):
    for stream in batch.values():
        least = stream.padded()
        sequences, steps = least.mask.shape
        for given in ({"sequences": sequences + 2}, {"steps": steps + 3}, {"sequences": sequences, "steps": np.int64(steps)}):
            values, mask = stream.padded(**given)
            assert values.shape == (given.get("sequences", sequences), given.get("steps", steps), stream.dim) and values.dtype == stream.dtype
            np.testing.assert_array_equal(values[:sequences, :steps], least.values)
            np.testing.assert_array_equal(mask[:sequences, :steps], least.mask)
            assert values[~mask].sum() == 0 and mask.sum() == stream.num_samples
        with pytest.raises(bf.ConfigError, match=f"sequences is {sequences - 1}, and stream '{stream.name}' has {sequences} sequences"):
            stream.padded(sequences=sequences - 1)
        with pytest.raises(bf.ConfigError, match=f"steps is {steps - 1}, and stream '{stream.name}' has a sequence of {steps} samples"):
            stream.padded(steps=steps - 1)
        with pytest.raises(bf.ConfigError, match="steps is 3.5, expected a whole number"):
            stream.padded(steps=3.5)


def test_sparse_forms_agree(batch):
    y = batch["y"]
    dense = y.numpy()
    assert isinstance(y.csr(), scipy.sparse.csr_array) and isinstance(y.csc(), scipy.sparse.csc_array)
    np.testing.assert_array_equal(y.csr().toarray(), dense)
    np.testing.assert_array_equal(y.csc().toarray(), dense)
    np.testing.assert_array_equal(y.classes(), dense.argmax(axis=1))
    assert y.packed().offsets[-1] == y.num_samples
    np.testing.assert_array_equal(np.asarray(y, dtype=np.float64), dense.astype(np.float64))


def test_the_layout_places_every_sample(batch):
    x = batch["x"]
    layout, columns = x.layout, x.cntk()
    assert columns.shape == (layout.rows * layout.steps, 3)
    sequences = x.sequences()
    for sequence, row, begin, end in layout.entries:
        at = [step * layout.rows + row for step in range(begin, end)]
        expected = np.zeros((end - begin, 3)) if sequence is None else sequences[sequence]
        np.testing.assert_array_equal(columns[at], expected)
    assert batch["y"].cntk().shape == (5, layout.rows * layout.steps)


def test_what_a_form_is_not_for(batch, tmp_path):
    with pytest.raises(TypeError, match="stream 'x' is dense"):
        batch["x"].csr()
    with pytest.raises(TypeError, match="stream 'y' is sparse"):
        np.from_dlpack(batch["y"])
    with pytest.raises(BufferError, match="sparse"):
        memoryview(batch["y"])
    with pytest.raises(BufferError, match="not in Fortran's order"):
        ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(batch["x"]), ctypes.create_string_buffer(256), 0x0058)
    path = tmp_path / "t.ctf"
    path.write_text("|y 1:1 2:1\n")
    with pytest.raises(ValueError, match="stream 'y' has samples with no value or several"):
        next(iter(bf.open(path)))["y"].classes()


def test_classes_of_a_dense_stream(tmp_path):
    path = tmp_path / "t.ctf"
    path.write_text("1 |y 0 0 1 |n 7 |z 0 1\n1 |y 1 0 0 |n 1 |z 1 1\n2 |y 0 1 0 |n 1 |z 0 0\n")
    for dtype in ("float32", "float64"):
        batch = bf.open(path, dtype=dtype, order="file").next()
        assert batch["y"].classes().tolist() == [2, 0, 1] and batch["y"].classes().dtype == np.int32
        with pytest.raises(TypeError, match=r"stream 'z' is dense, .* sample 1 is another: .numpy\(\).argmax\(1\)"):
            batch["z"].classes()
        with pytest.raises(TypeError, match=r"stream 'n' is dense, .* dim is 1: .numpy\(\)\[:, 0\].astype\('int64'\)"):
            batch["n"].classes()
        assert batch["n"].numpy()[:, 0].astype("int64").tolist() == [7, 1, 1]
    for odd in ("0 2", "0 nan", "0.5 0.5", "-1 0"):
        path.write_text(f"|y 0 1\n|y {odd}\n")
        with pytest.raises((TypeError, bf.FormatError), match="sample 1 is another|number"):
            bf.open(path, order="file").next()["y"].classes()


def test_a_sequence_without_values(tmp_path):
    path = tmp_path / "t.ctf"
    path.write_text("0 |x 1 |y\n")
    batch = next(iter(bf.Reader(bf.CTF(path, streams={"x": bf.dense(1), "y": bf.sparse(4)}))))
    assert batch["y"].csr().shape == (1, 4) and batch["y"].csr().nnz == 0
    assert batch["y"].values.size == batch["y"].indices.size == 0


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=30),
    minibatch=st.integers(1, 40),
    chunk_bytes=st.integers(60, 2000),
    seed=st.integers(0, 2**32),
    threads=st.integers(1, 4),
)
def test_any_corpus_is_read_whole_and_alike(tmp_path, lengths, minibatch, chunk_bytes, seed, threads):
    corpus = Corpus(tmp_path / "any.ctf", lengths)
    options = {"minibatch_samples": minibatch, "seed": seed, "chunk_bytes": chunk_bytes}
    rows = {}
    for batch in corpus.reader(threads=threads, **options):
        rows.update(zip(batch.sequence_keys, batch["x"].sequences()))
    assert sorted(map(int, rows)) == list(range(len(lengths)))
    for key, x in rows.items():
        np.testing.assert_array_equal(x, corpus.dense[int(key)])
    again = [b.sequence_keys for b in corpus.reader(threads=1, prefetch=False, **options)]
    assert again == [b.sequence_keys for b in corpus.reader(threads=threads, **options)]


def test_a_rectangle_that_memory_cannot_hold_is_told_in_numbers():
    source = bf.Arrays({"y": np.zeros(1000, int)}, streams={"y": bf.sparse(2**31 - 1)}, lengths=[1000])
    stream = next(iter(bf.Reader(source, minibatch_samples=1)))["y"]
    with pytest.raises(MemoryError, match="stream 'y': a rectangle of 1 x 1000 x 2147483647 takes 8589934588000 bytes; packed"):
        stream.padded()
