# SPDX-License-Identifier: MIT
"""bf.stats: what the values of a corpus are like."""
import gc

import numpy as np
import pytest

import batchfeed as bf

STREAMS = {"x": bf.dense(3), "y": bf.sparse(4)}


@pytest.fixture
def numbers(tmp_path):
    """A corpus of sequences of one to three samples, and its samples."""
    draw = np.random.default_rng(5)
    x = draw.normal(1e4, 2, (300, 3)).astype(np.float32)
    x[:, 2] = 7
    y = draw.integers(0, 3, 300)
    rows = [f"{i // 3} |x {' '.join(map(repr, map(float, row)))} |y {label}:0.5\n" for i, (row, label) in enumerate(zip(x, y))]
    path = tmp_path / "numbers.ctf"
    path.write_text("".join(rows))
    return path, x, y


def test_figures_are_those_of_numpy(numbers):
    path, x, y = numbers
    stats = bf.stats(bf.CTF(path, streams=STREAMS))
    assert (stats.sequences, stats.samples, stats.duplicates, stats.invalid, stats.faults, stats.complete) == (100, 300, 0, 0, 0, True)
    features, labels = stats["x"], stats["y"]
    assert stats.streams == [features, labels]
    assert list(stats) == ["x", "y"] and "y" in stats and "z" not in stats
    assert stats == bf.stats(bf.CTF(path, streams=STREAMS)) != bf.stats(bf.CTF(path, streams={"x": bf.dense(3)}))
    whole = x.astype(np.float64)
    assert (features.mean, features.deviation) == (pytest.approx(whole.mean()), pytest.approx(whole.std()))
    assert (features.min, features.max, features.values, features.integral) == (7, whole.max(), 900, False)
    columns = features.columns
    np.testing.assert_allclose(columns.mean, whole.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(columns.deviation, whole.std(axis=0), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(columns.min, whole.min(axis=0))
    np.testing.assert_array_equal(columns.max, whole.max(axis=0))
    np.testing.assert_array_equal(columns.not_zero, [300] * 3)
    spread = np.eye(4)[y] * 0.5  # zeros that are not stored count
    np.testing.assert_allclose(labels.columns.mean, spread.mean(axis=0))
    np.testing.assert_allclose(labels.columns.deviation, spread.std(axis=0))
    np.testing.assert_array_equal(labels.columns.not_zero, (spread != 0).sum(axis=0))
    assert labels.density == pytest.approx(0.25) and not labels.one_hot
    del stats, features
    gc.collect()
    assert columns.mean[2] == 7  # the arrays keep what they look at


def test_it_takes_what_a_reader_takes(numbers):
    path, x, _ = numbers
    arrays = bf.Arrays({"x": x})
    by_file, by_arrays = bf.stats(path)["x"].columns, bf.stats(arrays)["x"].columns
    np.testing.assert_allclose(by_file.mean, by_arrays.mean)
    np.testing.assert_array_equal(by_file.max, by_arrays.max)
    with pytest.raises(FileNotFoundError):
        bf.stats(path.parent / "none.ctf")


def test_what_is_damaged_is_left_out_and_counted(tmp_path):
    path = tmp_path / "bad.ctf"
    path.write_text("0 |x 1 2 3 |y 1:1\n1 |x a 2 3 |y 1:1\n2 |x 5 2 3 |y 1:1\n")
    stats = bf.stats(bf.CTF(path, streams=STREAMS))
    assert (stats.invalid, stats.faults, stats["x"].mean) == (1, 1, pytest.approx(8 / 3))
    assert "1 fault; bf.check() lists them" in str(stats)


def test_columns_beyond_the_limit_are_not_looked_at(tmp_path):
    path = tmp_path / "wide.ctf"
    path.write_text("|a 5:1 |b 7:1\n")
    stats = bf.stats(bf.CTF(path, streams={"a": bf.sparse((1 << 20) - 7), "b": bf.sparse(8)}))
    assert len(stats["a"].columns.mean) == (1 << 20) - 7 and stats["b"].one_hot
    with pytest.raises(bf.ConfigError, match="b: 8 columns are more than are looked at one by one") as caught:
        stats["b"].columns
    assert caught.value.id == "python.columns"
    bf.convert(path, tmp_path / "wide.cbf")  # whose streams cannot be left out as they are read
    renamed = bf.Reader(bf.CBF(tmp_path / "wide.cbf", {"c": "b"}))
    assert list(renamed.streams) == ["a", "c"] and "bf.convert(..., streams=[...])" in caught.value.hint


def test_a_table_where_it_is_shown(numbers):
    path, *_ = numbers
    stats = bf.stats(bf.CTF(path, streams=STREAMS))
    head, x, y, counts = repr(stats).splitlines()
    assert head.split()[:4] == ["stream", "storage", "dim", "samples"] and x.startswith("x ") and y.startswith("y ")
    assert counts == "100 sequences, 300 samples"
    with pytest.raises(KeyError, match="no stream 'z'; there are 'x', 'y'"):
        stats["z"]


def test_progress_is_told_and_may_end_it(numbers):
    path, *_ = numbers
    told = []
    bf.stats(path, progress=lambda done, total: told.append((done, total)))
    assert told[-1][0] == told[-1][1] == path.stat().st_size

    def enough(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bf.stats(path, progress=enough)
