# SPDX-License-Identifier: MIT
"""Writers, and sources written in Python."""
import gc
import pickle
import signal
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest
import scipy.sparse
from conftest import Corpus, keys_of
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
    batch = everything(path)
    assert batch["x"].lengths.tolist() == [1, 2, 1, 1, 2, 1, 1]
    assert batch["z"].numpy().ravel().tolist() == [7, 8, 9, 10, 0, 1, 2, 0, 1]
    dense = batch["y"].numpy()
    assert dense[:3].argmax(axis=1).tolist() == [5, 1, 2] and dense[3].tolist() == [1.5, 0, 0, 0, 2.5, 0]
    assert dense[4:].argmax(axis=1).tolist() == [0, 1, 2, 3, 3]


def test_classes_of_a_sequence_may_be_three_or_none(tmp_path):
    with bf.Writer(tmp_path / "a.cbf", STREAMS) as writer:
        writer.append({"x": np.zeros((3, 3)), "y": (3, 0, 2)})
        writer.append({"x": np.zeros((1, 3)), "y": []})
        writer.extend({"x": [np.ones((1, 3))] * 2, "y": [[], [4]]})
    y = everything(tmp_path / "a.cbf")["y"]
    assert y.classes().tolist() == [3, 0, 2, 4] and y.lengths.tolist() == [3, 0, 0, 1]


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


def test_minibatches_are_written_back(corpus, tmp_path):
    with bf.Writer(tmp_path / "b.ctf", corpus.streams) as writer:
        writer.write(corpus.reader(shuffle=False))
    np.testing.assert_array_equal(everything(tmp_path / "b.ctf")["x"].numpy(), np.concatenate(corpus.dense))


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


class Squares(bf.Source):
    """Key k has lengths[k] samples; sample i is (k, i, k * i)."""

    def __init__(self, table, keys=None, fail_at=None, delay=0.0):
        self.table, self.own_keys, self.fail_at, self.delay = table, keys, fail_at, delay

    def streams(self):
        return {"x": bf.dense(3), "class": bf.sparse(6)}

    def chunks(self):
        return self.table

    def keys(self):
        return self.own_keys

    def read(self, chunk):
        time.sleep(self.delay)
        if chunk == self.fail_at:
            raise LookupError(f"chunk {chunk} is gone")
        first = sum(len(c) for c in self.table[:chunk])
        rows = [(k, i, k * i) for k, n in enumerate(self.table[chunk], start=first) for i in range(n)]
        return {"x": np.array(rows, dtype=float).reshape(-1, 3), "class": np.array([i for _, i, _ in rows], dtype=int)}


TABLE = [[3, 1, 2], [2, 2], [4, 1, 1]]


def as_lists(lengths, shorter=0):
    """The data of each sequence."""
    return {"x": [np.ones((n - shorter, 3)) for n in lengths], "class": [np.zeros(n - shorter, int) for n in lengths]}


def test_a_source_in_python_reads_like_any_other():
    reader = bf.Reader(Squares(TABLE), minibatch_samples=5, seed=2)
    seen = set()
    for batch in reader:
        for key, x, label in zip(map(int, batch.sequence_keys), batch["x"].sequences(), batch["class"].sequences()):
            assert x.tolist() == [[key, i, key * i] for i in range(len(x))]
            assert label.indices.tolist() == list(range(len(x)))
            seen.add(key)
    assert seen == set(range(8)) and reader.num_samples == 16
    reader.begin_epoch(0)
    first = reader.next().sequence_keys
    copy = pickle.loads(pickle.dumps(reader))
    assert [first, *keys_of(copy)] == keys_of(bf.Reader(Squares(TABLE), minibatch_samples=5, seed=2))


def test_it_is_joined_with_files_by_key(tmp_path):
    corpus = Corpus(tmp_path / "t.ctf", [3, 1, 2])
    source = Squares([[3, 1, 2]], keys=[[2, 0, 1]])
    source.streams = lambda: {"mine": bf.dense(3)}
    read = source.read
    source.read = lambda chunk: {"mine": read(chunk)["x"]}
    reader = bf.Reader([corpus.source(), source], minibatch_samples=100, shuffle=False)
    batch = next(iter(reader))
    mine = dict(zip(batch.sequence_keys, batch["mine"].sequences()))
    assert {key: int(rows[0][0]) for key, rows in mine.items()} == {"2": 0, "0": 1, "1": 2}


@pytest.mark.parametrize(
    "fail, kind",
    [
        (lambda: 1 / 0, ZeroDivisionError),
        (lambda: next(iter([])), RuntimeError),
        (lambda: {}["a"], KeyError),
        (lambda: np.ones(3)[5], IndexError),
        (lambda: open("nowhere/at/all"), FileNotFoundError),
        (lambda: sys.exit(3), SystemExit),
    ],
)
def test_what_c_code_raises_in_it_arrives_too(fail, kind):
    class Failing(bf.Source):
        def streams(self):
            return {"x": bf.dense(1)}

        def chunks(self):
            return [[1]]

        def read(self, chunk):
            fail()

    reader = bf.Reader(Failing(), minibatch_samples=1)
    for _ in range(2):
        with pytest.raises(kind) as caught:
            list(reader)
    assert any(frame.name == "read" for frame in caught.traceback)


def test_its_errors_arrive_as_they_were_raised_again_and_again():
    reader = bf.Reader(Squares(TABLE, fail_at=1), minibatch_samples=2, shuffle=False)
    got = []
    with pytest.raises(LookupError, match="chunk 1 is gone"):
        for batch in reader:
            got += batch.sequence_keys
    assert got == ["0", "1", "2"], "what comes before the fault is delivered"
    for _ in range(3):
        with pytest.raises(LookupError, match="chunk 1 is gone"):
            reader.next()


@pytest.mark.parametrize(
    "change, message",
    [
        ({"streams": lambda: {"x": bf.dense(2)}}, r"stream 'class': there is no such stream"),
        ({"streams": lambda: {"x": bf.dense(2), "class": bf.sparse(6)}}, r"expected \[samples, 2\]"),
        ({"keys": lambda: [[1], [2], [3]]}, "chunk 0 has 3 sequences and 1 keys"),
        ({"chunks": lambda: [[1, 1], [4], [6]]}, "stream 'x': 6 samples, expected 2"),
        ({"chunks": lambda: [3, 1]}, r"chunks\(\)\[0\] is 3, expected a list of whole numbers"),
        ({"read": lambda chunk: {"x": (np.eye(2), np.eye(3)), "class": [0]}}, r"stream 'x': \(array\(\[\[1., 0.\], \[0., 1."),
        ({"read": lambda chunk: None}, r"read\(.\) is None, expected a mapping"),
        ({"read": lambda chunk: as_lists([n + (k == 1) for k, n in enumerate(TABLE[chunk])])}, r"read\(.\): sequence 1 has . samples, expected"),
        ({"read": lambda chunk: as_lists(TABLE[chunk], shorter=1)}, r"read\(.\): sequence 0 has . samples?, expected"),
        ({"read": lambda chunk: as_lists(TABLE[chunk][1:])}, "the streams have . sequences?, expected .; hint: a list holds"),
    ],
)
def test_a_source_that_contradicts_itself(change, message):
    source = Squares(TABLE)
    for name, function in change.items():
        setattr(source, name, function)
    with pytest.raises(bf.ConfigError, match=message):
        list(bf.Reader(source))


def test_a_source_without_its_functions_says_which():
    class Nothing(bf.Source):
        pass

    with pytest.raises(NotImplementedError, match="Nothing does not say its streams"):
        bf.Reader(Nothing())


def next_is_interrupted(reader, when):
    """Ctrl-C once `when` is set, while the next minibatch is waited for."""
    killer = threading.Thread(target=lambda: when.wait(60) and signal.raise_signal(signal.SIGINT))
    killer.start()
    with pytest.raises(KeyboardInterrupt):
        reader.next()
    killer.join()


def test_ctrl_c_ends_the_wait_for_a_slow_source(interruptible):
    asked, go_on = threading.Event(), threading.Event()
    source = Squares([[1]] * 4)
    read = source.read
    source.read = lambda chunk: asked.set() or go_on.wait(60) and read(chunk)
    reader = bf.Reader(source, minibatch_samples=1)
    next_is_interrupted(reader, asked)
    go_on.set()
    assert [reader.next().index for _ in range(4)] == [0, 1, 2, 3], "nothing is lost"


def test_who_leaves_does_not_wait_for_all_chunks_of_a_minibatch(interruptible):
    begun, asked = threading.Event(), []

    class Slow(bf.Source):
        def streams(self):
            return {"x": bf.dense(1)}

        def chunks(self):
            return [[1]] * 1000

        def read(self, chunk):
            asked.append(chunk)
            begun.set()
            time.sleep(0.005)
            return {"x": [[1.0]]}

    reader = bf.Reader(Slow(), minibatch_samples=1000)
    next_is_interrupted(reader, begun)
    reader.close()
    assert len(asked) < 1000


def test_a_failed_reader_is_let_go_of():
    class Careful(Exception):
        def __init__(self, one, two):
            super().__init__(f"{one} {two}")

    source = Squares(TABLE)

    def read(chunk):
        raise Careful("cannot", "be copied")

    source.read = read
    reader = bf.Reader(source)
    with pytest.raises((Careful, RuntimeError), match="cannot be copied"):
        reader.next()
    gone = weakref.ref(reader._core)
    del reader
    gc.collect()
    assert gone() is None


def test_it_can_be_dropped_while_it_is_read():
    for _ in range(20):
        reader = bf.Reader(Squares(TABLE, delay=0.002), minibatch_samples=1, threads=3)
        reader.next()
        del reader
    gc.collect()


def test_keys_of_several_binary_shards(tmp_path):
    for i in range(3):
        with bf.Writer(tmp_path / f"{i}.cbf", {"x": bf.dense(1)}, keys=True) as writer:
            for n in range(i + 1):
                writer.append({"x": [[10 * i + n]]}, key=f"{i}{'abc'[n]}")
    [batch] = bf.Reader(bf.CBF(str(tmp_path / "*.cbf")), shuffle=False, minibatch_samples=10)
    assert batch.sequence_keys == ["0a", "1a", "1b", "2a", "2b", "2c"]
