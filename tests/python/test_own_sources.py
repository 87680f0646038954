# SPDX-License-Identifier: MIT
"""Sources written in Python."""
import gc
import pickle
import signal
import sys
import threading
import time
import weakref

import numpy as np
import pytest
from conftest import Corpus, keys_of

import batchfeed as bf


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


@pytest.mark.parametrize("kind, name", [(bf.FormatError, "format"), (bf.LimitError, "limit"), (bf.MissingFileError, "io"), (bf.ConfigError, "config")])
def test_an_error_derived_from_ours_is_of_its_kind(kind, name):
    own = type("Own", (kind,), {})

    class Failing(Squares):
        def read(self, chunk):
            raise own("a.wav: is no picture")

    with pytest.raises(kind, match="a.wav: is no picture") as caught:
        list(bf.Reader(Failing(TABLE), minibatch_samples=2, shuffle=False))
    assert (caught.value.kind, caught.value.path, caught.value.what) == (name, "a.wav", "is no picture")


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


@pytest.mark.parametrize("chunks", [[], [[]], [[0, 0]]])
def test_a_source_without_samples(chunks):
    source = Squares(TABLE)
    source.chunks = lambda: chunks
    with pytest.raises(bf.FormatError, match="the corpus has no samples; hint: it has no sequence, or none but empty ones") as caught:
        bf.Reader(source)
    assert bf.check(source)[-1] == caught.value.fault, "it is told there, too, which is why it does not say to look there"


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
