# SPDX-License-Identifier: MIT
"""Writers."""
import gc
import os
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import batchfeed as bf

STREAMS = {"x": bf.dense(3), "y": bf.sparse(6)}


def everything(path):
    reader = bf.open(path, shuffle=False, minibatch_samples=10**9)
    return next(iter(reader))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lengths=st.lists(st.integers(1, 5), min_size=1, max_size=12),
    to=st.sampled_from(["ctf", "cbf"]),
    dtype=st.sampled_from(["float32", "float64"]),
    seed=st.integers(0, 99),
)
def test_what_is_written_is_read(tmp_path, lengths, to, dtype, seed):
    rng = np.random.default_rng(seed)
    dense = [rng.standard_normal((n, 3)).astype(dtype) for n in lengths]
    sparse = [scipy.sparse.csr_array(np.where(rng.random((n, 6)) < 0.4, rng.random((n, 6)), 0).astype(dtype)) for n in lengths]
    path = tmp_path / f"a.{to}"
    with bf.Writer(path, STREAMS, dtype=dtype, force=True) as writer:
        for x, y in zip(dense, sparse):
            writer.append({"x": x, "y": y})
        assert (writer.num_sequences, writer.num_samples) == (len(lengths), sum(lengths))
    source = bf.CTF(path, streams=STREAMS, dtype=dtype) if to == "ctf" else bf.CBF(path)
    batch = next(iter(bf.Reader(source, shuffle=False, minibatch_samples=10**9)))
    assert batch["x"].dtype == dtype and batch["x"].lengths.tolist() == lengths
    np.testing.assert_array_equal(batch["x"].numpy(), np.concatenate(dense))
    np.testing.assert_array_equal(batch["y"].numpy(), scipy.sparse.vstack(sparse).toarray())


def test_every_form_of_data(tmp_path):
    path = tmp_path / "a.cbf"
    with bf.Writer(path, {**STREAMS, "z": bf.dense(1)}) as writer:
        writer.append({"x": [1, 2, 3], "y": 5, "z": 7})
        writer.append({"x": np.ones((2, 3)), "y": [1, 2], "z": [8, 9]})
        writer.append({"x": np.zeros((1, 3)), "y": ([1.5, 2.5], [0, 4], [0, 2]), "z": [[10]]})
        writer.extend({"x": np.full((3, 3), 4), "y": scipy.sparse.eye_array(3, 6), "z": np.arange(3)}, [1, 2])
        writer.extend({"x": np.full((2, 3), 5), "y": np.array([3, 3]), "z": np.arange(2)})
        writer.extend({"y": ([1.0] * 4, [0, 1, 2, 3], [0, 1, 2, 3, 4]), "x": np.full((4, 3), 6), "z": np.arange(4)})
        writer.extend({"x": ([7] * 3, [8] * 3, [9] * 3), "y": np.array([3, 3, 3]), "z": np.arange(3)})
    batch = everything(path)
    assert batch["x"].lengths.tolist() == [1, 2, 1, 1, 2] + [1] * 9
    assert batch["z"].numpy().ravel().tolist() == [7, 8, 9, 10, 0, 1, 2, 0, 1, 0, 1, 2, 3, 0, 1, 2]
    dense = batch["y"].numpy()
    assert dense[:3].argmax(axis=1).tolist() == [5, 1, 2] and dense[3].tolist() == [1.5, 0, 0, 0, 2.5, 0]
    assert dense[4:].argmax(axis=1).tolist() == [0, 1, 2, 3, 3, 0, 1, 2, 3, 3, 3, 3]


def test_classes_of_a_sequence_may_be_three_or_none(tmp_path):
    with bf.Writer(tmp_path / "a.cbf", STREAMS) as writer:
        writer.append({"x": np.zeros((3, 3)), "y": (3, 0, 2)})
        writer.append({"x": np.zeros((1, 3)), "y": []})
        writer.extend({"x": [np.ones((1, 3))] * 2, "y": [[], [4]]})
        writer.extend({"x": [np.ones((1, 3)), []], "y": [[], [5]]})
        writer.append({"x": [], "y": [1]})
    batch = everything(tmp_path / "a.cbf")
    y = batch["y"]
    assert y.classes().tolist() == [3, 0, 2, 4, 5, 1] and y.lengths.tolist() == [3, 0, 0, 1, 0, 1, 1]
    assert batch["x"].lengths.tolist() == [3, 1, 1, 1, 1, 0, 0]


def test_what_was_written_is_known_afterwards(tmp_path):
    with bf.Writer(tmp_path / "t.cbf", {"x": bf.dense(1)}) as writer:
        writer.extend({"x": [1, 2, 3]}, lengths=[2, 1])
        assert (writer.num_sequences, writer.num_samples) == (2, 3)
    assert (writer.num_sequences, writer.num_samples) == (2, 3)
    writer = bf.Writer(tmp_path / "u.cbf", {"x": bf.dense(1)})
    writer.append({"x": 1})
    writer.discard()
    assert (writer.num_sequences, writer.num_samples) == (0, 0)


def test_lists_have_the_lengths_that_were_announced(tmp_path):
    x, y = [np.ones((3, 2)), np.ones((1, 2))], [[1, 1, 1], [2]]
    with bf.Writer(tmp_path / "a.cbf", {"x": bf.dense(2), "y": bf.sparse(5)}) as writer:
        writer.extend({"x": x, "y": y})
        writer.extend({"x": x, "y": y}, lengths=[3, 1])
        writer.extend({"x": x, "y": [[1], [2]]}, lengths=[3, 1])  # the longest one counts
        with pytest.raises(bf.ConfigError, match="data: sequence 1 has 1 sample, expected 2; hint: a list holds the data of each"):
            writer.extend({"x": x, "y": y}, lengths=[3, 2])
        with pytest.raises(bf.ConfigError, match="the streams have 2 sequences, expected 3"):
            writer.extend({"x": x, "y": y}, lengths=[3, 1, 1])
    assert everything(tmp_path / "a.cbf")["x"].lengths.tolist() == [3, 1] * 3


def test_the_stream_that_minibatches_are_counted_in_has_the_lengths():
    class Counted(bf.Source):
        def streams(self):
            return {"x": bf.dense(1), "y": bf.dense(1, defines_mb_size=True)}

        def chunks(self):
            return [[1, 2]]

        def read(self, chunk):
            return {"x": [np.ones((5, 1)), np.ones((4, 1))], "y": [np.ones((n, 1)) for n in self.chunks()[chunk]]}

    batch = bf.Reader(Counted(), minibatch_samples=10).next()
    assert batch.num_samples == 3 and sorted(batch["x"].lengths) == [4, 5]


@pytest.mark.parametrize("to", ["ctf", "cbf"])
def test_threads_may_share_a_writer(tmp_path, to):
    threads, calls, rows = 4, 30, 100
    with bf.Writer(tmp_path / f"a.{to}", {"x": bf.dense(50), "y": bf.sparse(threads * calls)}) as writer:

        def write(first):
            for call in range(first, first + calls):
                writer.extend({"x": np.full((rows, 50), call), "y": np.full(rows, call)})

        at_work = [threading.Thread(target=write, args=(k * calls,)) for k in range(threads)]
        for thread in at_work:
            thread.start()
        for thread in at_work:
            thread.join()
        assert writer.num_sequences == threads * calls * rows
    batch = everything(tmp_path / f"a.{to}")
    y = batch["y"].classes()
    np.testing.assert_array_equal(batch["x"].numpy(), np.repeat(y[:, None], 50, axis=1))
    assert sorted(y[::rows]) == list(range(threads * calls)), "each of them once"
    np.testing.assert_array_equal(y, np.repeat(y[::rows], rows), "and all of a call together")


def test_keys_are_kept(tmp_path):
    for name, keys in (("a.ctf", None), ("a.cbf", True)):
        with bf.Writer(tmp_path / name, {"x": bf.dense(1)}, keys=keys) as writer:
            writer.append({"x": [1]}, key="utt-1")
            writer.extend({"x": [[2], [3]]}, keys=["utt-2", "utt-3"])
    assert everything(tmp_path / "a.ctf").sequence_keys == ["utt-1", "utt-2", "utt-3"]
    assert {"utt-1", "utt-2", "utt-3"} <= set((tmp_path / "a.cbf.keys").read_text().split())
    for name in ("n.ctf", "n.cbf"):
        with bf.Writer(tmp_path / name, {"x": bf.dense(1)}, keys=True) as writer:
            for key in (None, 7, None):
                writer.append({"x": [1]}, key=key)
        assert everything(tmp_path / name).sequence_keys == ["0", "7", "2"]


def test_a_sparse_array_of_one_sample(tmp_path):
    with bf.Writer(tmp_path / "a.ctf", {"x": bf.sparse(3), "y": bf.dense(3)}) as writer:
        one = scipy.sparse.coo_array(np.array([0.0, 2.5, 0.0]))
        writer.append({"x": one, "y": one})
        with pytest.raises(bf.ConfigError, match=r"stream 'x': a matrix of shape \(1, 2\), expected \[samples, 3\]"):
            writer.append({"x": scipy.sparse.coo_array(np.ones(2)), "y": one})
    assert (tmp_path / "a.ctf").read_text() == "0 |x 1:2.5 |y 0 2.5 0\n"


def test_minibatches_are_written_back(corpus, tmp_path):
    with bf.Writer(tmp_path / "b.ctf", corpus.streams) as writer:
        writer.write(corpus.reader(shuffle=False))
    np.testing.assert_array_equal(everything(tmp_path / "b.ctf")["x"].numpy(), np.concatenate(corpus.dense))


def test_a_minibatch_without_data_is_none_to_write(tmp_path):
    batch = bf.Reader(bf.Arrays({"x": np.ones((2, 1))}), workers=4, rank=3).read()
    assert batch is not None and len(batch) == 0
    with bf.Writer(tmp_path / "a.ctf", {"x": bf.dense(1)}) as writer:
        writer.write([batch])
        assert writer.num_sequences == 0


def test_minibatches_are_written_as_their_streams_are_declared(tmp_path):
    (tmp_path / "a.ctf").write_text("0 |w 1:1 2:5 |x 1 2\n0 |w\n1 |w 0:1 |x 5 6\n")
    batch = next(iter(bf.Reader(bf.CTF(tmp_path / "a.ctf", {"w": bf.sparse(3), "x": bf.dense(2)}), shuffle=False)))
    for declared, dtype in (({"w": bf.sparse(3), "x": bf.dense(2)}, "float64"), ({"w": bf.dense(3)}, "float32")):
        target = tmp_path / f"{dtype}.cbf"
        with bf.Writer(target, declared, dtype=dtype, keys=True) as writer:
            writer.write([batch])
        back = next(iter(bf.open(target, shuffle=False)))
        assert list(back) == list(declared) and back.sequence_keys == batch.sequence_keys == ["0", "1"]
        for name in declared:
            assert back[name].dtype == dtype and back[name].storage == declared[name].storage
            assert back[name].lengths.tolist() == batch[name].lengths.tolist()
            np.testing.assert_array_equal(back[name].numpy(), batch[name].numpy())
    with pytest.raises(bf.ConfigError, match="expected .samples, 4"):
        with bf.Writer(tmp_path / "wrong.cbf", {"x": bf.dense(4)}) as writer:
            writer.write([batch])


@pytest.mark.parametrize("name", ["a.ctf", "a.cbf"])
def test_whole_or_not_at_all(tmp_path, name):
    with pytest.raises(RuntimeError), bf.Writer(tmp_path / name, STREAMS) as writer:
        writer.append({"x": [1, 2, 3], "y": 0})
        raise RuntimeError("enough")
    del writer
    gc.collect()
    assert list(tmp_path.iterdir()) == []
    with bf.Writer(tmp_path / name, STREAMS) as writer:
        writer.append({"x": [1, 2, 3], "y": 0})
        assert not (tmp_path / name).exists()
    assert everything(tmp_path / name).num_samples == 1
    with pytest.raises(bf.ConfigError, match="the file exists; hint: force=True"):
        bf.Writer(tmp_path / name, STREAMS)
    with pytest.raises(bf.ConfigError, match="the writer is closed"):
        writer.append({"x": [1, 2, 3], "y": 0})


@pytest.mark.parametrize("name", ["a.ctf", "a.cbf"])
def test_of_two_writers_of_one_file_the_first_to_close_wins(tmp_path, name):
    first, second = bf.Writer(tmp_path / name, STREAMS), bf.Writer(tmp_path / name, STREAMS)
    forced = bf.Writer(tmp_path / name, STREAMS, force=True)
    for writer, x in ((first, 1), (second, 2), (forced, 3)):
        writer.append({"x": [x, 0, 0], "y": 0})
    second.close()
    with pytest.raises(bf.ConfigError, match="exists already; hint: .*force=True"):
        first.close()
    assert everything(tmp_path / name)["x"].numpy().ravel()[0] == 2
    forced.close()
    assert everything(tmp_path / name)["x"].numpy().ravel()[0] == 3


@pytest.mark.parametrize(
    "data, message",
    [
        ({"x": [1, 2]}, r"stream 'x': an array of shape \(2,\), expected \[samples, 3\]"),
        ({"x": [1, 2, 3]}, "stream 'y': no data for it"),
        ({"x": [1, 2, 3], "y": 0, "z": 1}, "stream 'z': there is no such stream"),
        ({"x": [1, 2, 3], "y": 6}, "stream 'y': index 6 is not below dim 6"),
        ({"x": [1, 2, 3], "y": [-1]}, "stream 'y': index -1"),
        ({"x": [1, 2, 3], "y": ([1.0], [0], [0, 2])}, "indptr does not fit 1 indices"),
        ({"x": np.zeros((3, 3)), "y": (np.ones(4), np.arange(4), np.array([0, 5, 3, 4], np.uint32))}, "indptr does not fit 4 indices"),
        ({"x": [1, 2, 3], "y": ([1.0, 2.0], [0], [0, 1])}, "values of shape .2,. for 1 indices"),
        ({"x": [1, 2, 3], "y": [0.5]}, "expected scipy.sparse"),
        ({"x": [1, 2, 3], "y": scipy.sparse.eye_array(1, 5)}, r"a matrix of shape \(1, 5\)"),
    ],
)
def test_data_that_do_not_fit_are_refused_and_the_writer_goes_on(tmp_path, data, message):
    with bf.Writer(tmp_path / "a.cbf", STREAMS) as writer:
        with pytest.raises(bf.ConfigError, match=message):
            writer.append(data)
        writer.append({"x": [1, 2, 3], "y": 0})
    assert everything(tmp_path / "a.cbf").num_samples == 1


@pytest.mark.parametrize("number", [3, np.float32(3), np.array(3), (n for n in range(3))], ids=["int", "scalar", "array", "generator"])
def test_a_number_is_no_array(tmp_path, number):
    with bf.Writer(tmp_path / "a.ctf", {"x": bf.dense(1)}) as writer:
        with pytest.raises(bf.ConfigError, match="stream 'x': .* is no array"):
            writer.extend({"x": number})
        writer.extend({"x": [3]})


@pytest.mark.parametrize("there", [True, False], ids=["in a function", "when Python ends"])
def test_a_writer_that_nobody_closes_says_so(tmp_path, there):
    script = """
import batchfeed as bf

def write():
    writer = bf.Writer("a.ctf", {"x": bf.dense(1)})
    writer.append({"x": [1]})
    return writer

bf.Writer("none.ctf", {"x": bf.dense(1)})
"""
    script += "write()" if there else "left = write()"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stderr == "a.ctf: a writer was left without close(): 1 sequence not written; hint: a with block closes it\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a.ctf", "a.cbf"])
def test_a_forked_child_lets_go_of_a_writer(tmp_path, name):
    writer = bf.Writer(tmp_path / name, {"x": bf.dense(1)})
    writer.append({"x": [1]})
    child = os.fork()
    if child == 0:
        code = 1
        try:
            for use in (writer.close, lambda: writer.append({"x": [9]}), lambda: writer.num_sequences):
                with pytest.raises(bf.ConfigError, match="belongs to the process that made it") as caught:
                    use()
                assert caught.value.id == "python.forked"
            left = weakref.ref(writer)
            writer = use = caught = None
            gc.collect()
            code = 0 if left() is None else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    writer.append({"x": [2]})
    writer.close()
    assert everything(tmp_path / name)["x"].numpy().ravel().tolist() == [1, 2]


@pytest.mark.parametrize(
    "name, data, id",
    [
        ("a.ctf", {"keys": ["a", "b c"], "lengths": [1, 1]}, "ctf.write-key"),
        ("a.cbf", {"keys": ["a", "b\nc"], "lengths": [1, 1]}, "cbf.write-bad-key"),
        ("a.cbf", {"lengths": [2, 0]}, "cbf.write-empty-sequence"),
    ],
)
def test_a_call_that_is_refused_half_way_spoils_the_file(tmp_path, name, data, id):
    writer = bf.Writer(tmp_path / name, {"x": bf.dense(1)}, keys=True)
    for backwards in (True, False):  # at its first sequence nothing is written, and the writer goes on
        given = {argument: value[::-1] if backwards else value for argument, value in data.items()}
        with pytest.raises(bf.Error) as caught:
            writer.extend({"x": [1, 2]}, **given)
        assert caught.value.id == id and writer.num_sequences == int(not backwards)
    for use in (lambda: writer.append({"x": [3]}, key="d"), writer.close):
        with pytest.raises(bf.ConfigError, match="a.c.f: a call was refused when some of its sequences had been written") as caught:
            use()
        assert caught.value.id == "writer.torn"
    assert not (tmp_path / name).exists()


def test_nobody_gives_keys_for_nothing(tmp_path, caplog):
    writer = bf.Writer(tmp_path / "a.cbf", {"x": bf.dense(1)})
    with pytest.raises(bf.ConfigError, match="a.cbf: keys are given, .* without; hint: keys=True writes them to a file beside it, keys=False"):
        writer.append({"x": 1}, key="a")
    with pytest.raises(bf.ConfigError, match="keys are given"):
        writer.extend({"x": [1, 2]}, keys=["a", "b"])
    (tmp_path / "b.ctf").write_text("a |x 1\nb |x 2\n")
    writer.write(bf.open(tmp_path / "b.ctf", minibatch_samples=1))
    writer.close()
    assert [record.levelname for record in caplog.records] == ["WARNING"] and "the keys of the minibatches are left out" in caplog.text
    caplog.clear()
    (tmp_path / "c.ctf").write_text("0 |x 1\n5 |x 2\n")  # numbers that are not those of the sequences
    with bf.Writer(tmp_path / "a.cbf", {"x": bf.dense(1)}, force=True) as writer:
        writer.write(bf.open(tmp_path / "c.ctf", minibatch_samples=1, shuffle=False))
    assert [record.levelname for record in caplog.records] == ["WARNING"] and "the keys of the minibatches are left out" in caplog.text
    caplog.clear()
    (tmp_path / "c.ctf").write_text("0 |x 1\n1 |x 2\n")
    for keys, path in ((None, "c.ctf"), (False, "b.ctf"), (True, "b.ctf")):
        with bf.Writer(tmp_path / "a.cbf", {"x": bf.dense(1)}, keys=keys, force=True) as writer:
            writer.write(bf.open(tmp_path / path, shuffle=False))
            writer.extend({"x": [3]}, keys=() if keys is None else ["c"])
    assert not caplog.records and everything(tmp_path / "a.cbf").sequence_keys == ["a", "b", "c"]


def test_what_text_cannot_say(tmp_path):
    writer = bf.Writer(tmp_path / "a.ctf", STREAMS)
    writer.append({"x": [1, 2, 3], "y": 0}, key=4)
    for data, key, id in (
        ({"x": [1, 2, 3], "y": 0}, 4, "ctf.write-same-id"),
        ({"x": [1, 2, 3], "y": 0}, "004", "ctf.write-same-id"),
        ({"x": [1, 2, 3], "y": np.zeros(0, int)}, 5, "ctf.write-no-sample"),
        ({"x": [1, 2, np.nan], "y": 0}, 6, "ctf.write-nan"),
    ):
        with pytest.raises(bf.Error) as caught:
            writer.append(data, key=key)
        assert caught.value.id == id
    writer.close()
    assert everything(tmp_path / "a.ctf").sequence_keys == ["4"]


def test_keys_of_several_binary_shards(tmp_path):
    for i in range(3):
        with bf.Writer(tmp_path / f"{i}.cbf", {"x": bf.dense(1)}, keys=True) as writer:
            for n in range(i + 1):
                writer.append({"x": [[10 * i + n]]}, key=f"{i}{'abc'[n]}")
    [batch] = bf.Reader(bf.CBF(str(tmp_path / "*.cbf")), shuffle=False, minibatch_samples=10)
    assert batch.sequence_keys == ["0a", "1a", "1b", "2a", "2b", "2c"]
