# SPDX-License-Identifier: MIT
"""bf.merge: several corpora as one."""
import logging

import numpy as np
import pytest
from conftest import keys_of

import batchfeed as bf

STREAMS = {"x": bf.dense(1), "y": bf.sparse(9)}


@pytest.fixture
def corpora(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.ctf").write_text("3 |x 1 |y 1:1\n3 |x 2\n4 |x 3 |y 2:1\n")
    (tmp_path / "b.ctf").write_text("7 |y 8:1 |x 4\n")
    bf.convert("b.ctf", "b.cbf")


def keys(file):
    return sum(keys_of(bf.open(file, minibatch_samples=100, shuffle=False)), [])


def test_one_after_the_other_whatever_their_formats(corpora, tmp_path):
    done = bf.merge(["a.ctf", "b.cbf"], "all.ctf", verify=True)
    assert (done.sequences, done.samples, done.left_out, done.keys, done.verified) == (3, 4, 0, True, True)
    assert (tmp_path / "all.ctf").read_text() == "3 |x 1 |y 1:1\n3 |x 2\n4 |x 3 |y 2:1\n7 |x 4 |y 8:1\n"
    assert bf.merge(["b.cbf", "a.ctf"], "all.cbf").streams["y"].dim == 9, "the largest"
    arrays = bf.Arrays({"x": np.float32([[5]])}, keys=[9])
    bf.merge([("a.ctf",), bf.CTF("b.ctf", streams=STREAMS), arrays], "x.ctf", streams="x")
    assert keys("x.ctf") == ["3", "4", "7", "9"]


def test_keys_that_repeat(corpora, caplog):
    told = []
    bf.merge(["a.ctf", "a.ctf"], "all.ctf", report=told.append)
    assert keys("all.ctf") == ["0", "1", "2", "3"]
    [one] = told
    assert (one.id, one.severity) == ("merge.numbered", "warning")
    assert one.text == "batchfeed: some keys occur more than once, sequences are numbered; hint: keys='number' says so"
    with caplog.at_level(logging.WARNING, "batchfeed"):
        bf.merge(["a.ctf", "a.ctf"], "all.ctf", keys="number", force=True)
        assert not caplog.records
        bf.merge(["a.ctf", "a.ctf"], "all.ctf", force=True)
        assert [record.message for record in caplog.records] == [str(one)]
    with pytest.raises(bf.ConfigError, match="some keys occur more than once; hint: keys='number'") as caught:
        bf.merge(["a.ctf", "a.ctf"], "no.ctf", keys="keep")
    assert caught.value.id == "merge.same-keys"


def test_lines_without_keys_stay_so(corpora, tmp_path):
    (tmp_path / "c.ctf").write_text("|x 1\n|x 2\n")
    assert not bf.merge(["c.ctf", "c.ctf"], "cc.ctf", report=pytest.fail).keys
    assert (tmp_path / "cc.ctf").read_text() == "|x 1\n|x 2\n|x 1\n|x 2\n"


def test_in_random_order(corpora):
    files = ["a.ctf", "b.cbf"] * 10
    bf.merge(files, "plain.ctf", keys="number")
    bf.merge(files, "mixed.ctf", keys="number", shuffle=3)
    found = bf.diff("plain.ctf", "mixed.ctf", ignore_keys=True)
    assert (found.same, found.changed, found.same_order) == (30, 0, False)


def test_a_configuration_among_them(corpora, tmp_path):
    inputs = "x = [ dim = 1 ; format = dense ] ; y = [ dim = 9 ; format = sparse ]"
    (tmp_path / "a.cntk").write_text(f'A = [ r = [ readerType = "CNTKTextFormatReader" ; file = "a.ctf" ; input = [ {inputs} ] ] ]\nB = [ r = [ x = 1 ] ]')
    assert bf.merge(["a.cntk", "b.ctf"], "all.ctf", section="A.r", set="A=[r=[maxErrors=1]]").sequences == 3


def test_a_corpus_is_not_replaced_by_some_of_its_streams(corpora, tmp_path):
    before = (tmp_path / "a.ctf").read_bytes()
    with pytest.raises(bf.ConfigError, match="a.ctf: is what is read, and only a part of it would be left"):
        bf.merge(["a.ctf", "b.ctf"], "a.ctf", streams=["x"], force=True)
    assert (tmp_path / "a.ctf").read_bytes() == before
    with pytest.raises(bf.ConfigError, match="a.ctf: is what is read"):
        bf.merge(["b.ctf", bf.CTF("a.ctf", streams=STREAMS)], "a.ctf", force=True)
    assert bf.merge(["a.ctf", "b.ctf"], "a.ctf", force=True).sequences == 3 == len(keys("a.ctf"))


def test_a_url(corpora):
    fsspec = pytest.importorskip("fsspec")
    bf.merge(["a.ctf", "b.cbf"], "memory://merged/all.ctf")
    assert fsspec.filesystem("memory").cat("/merged/all.ctf").startswith(b"3 |x 1 |y 1:1\n")
    with pytest.raises(bf.ConfigError, match="memory://merged/all.ctf: the file exists; hint: force=True"):
        bf.merge(["a.ctf", "b.cbf"], "memory://merged/all.ctf")


@pytest.mark.parametrize(
    "given, target, options, kind, words",
    [
        ("a.ctf", "o.ctf", {}, bf.ConfigError, "corpora is 'a.ctf', expected a list of corpora, such as"),
        ([], "o.ctf", {}, bf.ConfigError, "corpora is .., expected a list of corpora"),
        (["a.ctf", None], "o.ctf", {}, TypeError, "a path or a source .* is read, not None"),
        (["a.ctf", "none.ctf"], "o.ctf", {}, FileNotFoundError, "none.ctf: cannot open"),
        (["a.ctf", "c.ctf"], "o.ctf", {}, bf.ConfigError, "corpus 2: stream 'y' is not there, but in the first; hint: choose streams that all"),
        (["a.ctf", "b.ctf"], "o.ctf", {"streams": "z"}, bf.ConfigError, "no stream 'z'"),
        (["a.ctf", "b.ctf"], "o.ctf", {"keys": "auto"}, bf.ConfigError, "keys is 'auto', expected one of 'automatic', 'keep', 'number', 'none'"),
        (["a.ctf", "b.ctf"], "o.ctf", {"shuffle": True}, bf.ConfigError, "shuffle is True, expected a whole number"),
        (["a.ctf", "b.ctf"], "o.ctf", {"section": "A"}, bf.ConfigError, "a.ctf: is a ctf file, and section is 'A'"),
        (["a.ctf", "b.ctf"], "o.parquet", {}, bf.ConfigError, "in no format that convert[(][)] writes; hint: bf.to_parquet"),
        (["a.ctf", "b.ctf"], "c.ctf", {}, bf.ConfigError, "c.ctf: the file exists; hint: force=True"),
        (["a.ctf", "b.ctf"], "o.ctf", {"report": 3}, bf.ConfigError, "report is 3, expected a function"),
    ],
)
def test_what_cannot_be_merged_is_told_and_nothing_is_written(corpora, tmp_path, given, target, options, kind, words):
    (tmp_path / "c.ctf").write_text("1 |x 1\n")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(kind, match=words):
        bf.merge(given, target, **options)
    assert sorted(tmp_path.iterdir()) == before


def test_comments_are_told_of_by_all_that_write(corpora, tmp_path):  # convert.comments
    (tmp_path / "c.ctf").write_text("0 |x 1\n1 |x 2 |# two\n2 |x 3 |# three\n")
    told = []
    bf.convert("c.ctf", "d.cbf", report=told.append)
    bf.merge(["a.ctf", "c.ctf"], "d.ctf", report=told.append, streams="x", force=True)
    bf.sample("c.ctf", "e.ctf", count=1, report=told.append)
    bf.split("c.ctf", {"f.ctf": 0.5, "g.ctf": 0.5}, report=told.append)
    assert [(t.id, t.path, t.line, t.column) for t in told] == [("convert.comments", "c.ctf", 2, 8)] * 4
