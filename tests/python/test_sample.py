# SPDX-License-Identifier: MIT
"""bf.sample: sequences drawn at random."""
import logging
from fractions import Fraction

import pytest
from conftest import Corpus, keys_of

import batchfeed as bf


@pytest.fixture
def whole(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Corpus("all.ctf", [1, 2, 3] * 100)


def keys(file):
    return sum(keys_of(bf.open(file, minibatch_samples=100, shuffle=False)), [])


def test_so_many_in_the_order_of_the_corpus(whole):
    done = bf.sample("all.ctf", "a.cbf", count=50, seed=7, verify=True)
    assert (done.sequences, done.left_out, done.keys, done.verified) == (50, 0, True, True)
    drawn = [int(key) for key in keys("a.cbf")]
    assert drawn == sorted(set(drawn)) and len(drawn) == 50
    found = bf.diff("all.ctf", "a.cbf")
    assert (found.same, found.only_first, found.only_second, found.changed) == (50, 250, 0, 0)
    bf.sample(whole.source(chunk_bytes=100), "b.ctf", count=50, seed=7, jobs=3)
    assert not bf.diff("a.cbf", "b.ctf"), "the same ones, whatever the chunks"
    bf.sample("all.ctf", "b.ctf", count=50, seed=8, force=True)
    assert bf.diff("a.cbf", "b.ctf")


def test_a_fraction(whole):
    assert bf.sample("all.ctf", "a.ctf", fraction=0.25).sequences == 75
    assert bf.sample("all.ctf", "a.ctf", fraction=Fraction(1, 3), streams="y", force=True).sequences == 100
    assert bf.sample("all.ctf", "b.ctf", fraction=1).sequences == 300 and not bf.diff("all.ctf", "b.ctf")


def test_more_than_there_are(whole, caplog):
    told = []
    assert bf.sample("all.ctf", "a.ctf", count=1000, report=told.append).sequences == 300
    assert [(one.id, one.severity) for one in told] == [("python.all-drawn", "warning")]
    assert str(told[0]) == "batchfeed: there are 300 sequences, and count is 1000: all are taken"
    with caplog.at_level(logging.WARNING, "batchfeed"):
        bf.sample("all.ctf", "a.ctf", count=300, force=True)
        assert not caplog.records
        bf.sample("all.ctf", "a.ctf", count=301, force=True)
    assert [record.message for record in caplog.records] == ["batchfeed: there are 300 sequences, and count is 301: all are taken"]


def test_a_url(whole):
    fsspec = pytest.importorskip("fsspec")
    bf.sample("all.ctf", "memory://sampled/a.ctf", count=1)
    assert fsspec.filesystem("memory").cat("/sampled/a.ctf")


@pytest.mark.parametrize(
    "target, options, words",
    [
        ("a.ctf", {}, "neither count nor fraction is given; hint: count=1000, or fraction=0.01"),
        ("a.ctf", {"count": 3, "fraction": 0.5}, "count is 3, and fraction 0.5"),
        ("a.ctf", {"count": 0}, "count is 0, expected a whole number, at least 1"),
        ("a.ctf", {"count": 2.5}, "count is 2.5, expected a whole number"),
        ("a.ctf", {"fraction": 0}, "fraction is 0, expected a number above 0 and up to 1"),
        ("a.ctf", {"fraction": 50}, "fraction is 50, expected a number above 0 and up to 1"),
        ("a.ctf", {"fraction": 0.001}, "fraction is 0.001, expected more, as that is not one sequence of the corpus"),
        ("a.ctf", {"count": 3, "seed": -1}, "seed is -1, expected a whole number"),
        ("a.ctf", {"count": 3, "streams": "z"}, "no stream 'z'"),
        ("a.npz", {"count": 3}, "in no format that convert[(][)] writes; hint: bf.to_npz"),
        ("all.ctf", {"count": 3}, "all.ctf: the file exists; hint: force=True"),
        ("all.ctf", {"count": 3, "force": True}, "all.ctf: is what is read, and only a part of it would be left"),
    ],
)
def test_what_cannot_be_done_is_told_and_nothing_is_written(whole, tmp_path, target, options, words):
    before = (tmp_path / "all.ctf").read_bytes()
    with pytest.raises(bf.ConfigError, match=words):
        bf.sample("all.ctf", target, **options)
    assert (tmp_path / "all.ctf").read_bytes() == before and [file.name for file in tmp_path.iterdir()] == ["all.ctf"]
