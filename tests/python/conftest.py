# SPDX-License-Identifier: MIT
"""The Python package as it is installed; scripts/python_env installs it."""
import pathlib
import signal

import numpy as np
import pytest

import batchfeed as bf

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Corpus:
    """A text corpus and the same as arrays: key k has lengths[k] samples of a dense and a sparse stream."""

    def __init__(self, path, lengths, dim=3, classes=5, seed=1):
        rng = np.random.default_rng(seed)
        self.path, self.lengths, self.dim, self.classes = str(path), lengths, dim, classes
        self.dense = [rng.standard_normal((n, dim)).astype(np.float32) for n in lengths]
        self.label = [rng.integers(0, classes, n) for n in lengths]
        with open(path, "w") as file:
            for key in range(len(lengths)):
                for row, label in zip(self.dense[key], self.label[key]):
                    file.write(f"{key} |x {' '.join(repr(float(v)) for v in row)} |y {label}:1\n")

    @property
    def streams(self):
        return {"x": bf.dense(self.dim), "y": bf.sparse(self.classes)}

    def source(self, **options):
        return bf.CTF(self.path, streams=self.streams, **options)

    def reader(self, chunk_bytes=200, **options):
        """Many chunks, small minibatches."""
        if "minibatch_size" not in options:
            options = {"minibatch_samples": 7, **options}
        return bf.Reader(self.source(chunk_bytes=chunk_bytes), **{"threads": 2, **options})


@pytest.fixture
def corpus(tmp_path):
    return Corpus(tmp_path / "train.ctf", [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9])


@pytest.fixture
def expected(corpus):
    """The keys of three epochs."""
    reader = corpus.reader()
    return [keys_of(reader) for _ in range(3)]


@pytest.fixture
def loops(corpus):
    """The keys of five epochs, of five or six minibatches each."""
    reader = corpus.reader(minibatch_samples=17)
    return [keys_of(reader) for _ in range(5)]


def keys_of(batches):
    return [batch.sequence_keys for batch in batches]


@pytest.fixture
def interruptible():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored
    yield
    signal.signal(signal.SIGINT, before)
