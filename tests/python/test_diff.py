# SPDX-License-Identifier: MIT
"""bf.diff: the same sequences, or where they differ."""
import pickle

import numpy as np
import pytest
from conftest import Corpus

import batchfeed as bf

TEXT = "7 |F 1 2 |S 1:0.5 3:2\n7 |F 3 4 |S 0:1\n12 |F 5 6 |S 4:8\n"
CONFIG = """Train = [ reader = [ readerType = "CNTKTextFormatReader" ; file = "a.ctf"
    input = [ F = [ dim = 2 ; format = "dense" ] ; S = [ dim = 5 ; format = "sparse" ] ] ] ]
Test = [ reader = [ readerType = "CNTKTextFormatReader" ; file = "b.ctf"
    input = [ F = [ dim = 2 ; format = "dense" ] ; S = [ dim = 6 ; format = "sparse" ] ] ] ]"""


@pytest.fixture
def both(tmp_path, monkeypatch):
    """a.ctf, and a function that writes the text of b.ctf."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.ctf").write_text(TEXT)

    def write(text):
        (tmp_path / "b.ctf").write_text(text)

    return write


def test_a_copy_in_another_format_is_the_same(both):
    bf.convert("a.ctf", "a.cbf")
    found = bf.diff("a.ctf", "a.cbf")
    assert not found and (found.same, found.sequences, found.keys_compared, found.differences) == (2, (2, 2), True, [])
    assert repr(found) == "<2 sequences the same>"
    bf.convert("a.ctf", "d.cbf", dtype="float64", keys="none")
    found = bf.diff("d.cbf", "a.ctf")
    assert not found and not found.keys_compared and repr(found) == "<2 sequences the same; keys not compared>"


def test_a_changed_value_is_located_on_both_sides(both):
    both(TEXT.replace("3 4", "3 4.5"))
    found = bf.diff("a.ctf", "b.ctf")
    assert found and (found.same, found.changed) == (1, 1)
    [one] = found.differences
    assert one.first == bf.Located(number=0, key="7", file="a.ctf", first_line=1, last_line=2, line=2)
    assert one.what == "stream 'F', sample 1: [1] is 4 and 4.5"
    assert str(one) == "! a.ctf:2 | b.ctf:2 (key 7): stream 'F', sample 1: [1] is 4 and 4.5"
    assert repr(found) == f"<1 sequence the same, 1 different>\n  {one}"
    assert not bf.diff("a.ctf", "b.ctf", tolerance=0.2) and not bf.diff("a.ctf", "b.ctf", streams=["S"])
    assert pickle.loads(pickle.dumps(found)) == found


def test_what_only_one_has_and_another_order(both):
    lines = TEXT.splitlines(True)
    both(lines[2] + lines[0] + lines[1] + "13 |F 0 0 |S 0:1\n")
    found = bf.diff("a.ctf", "b.ctf")
    assert (found.same, found.only_first, found.only_second, found.same_order) == (2, 0, 1, False)
    assert [str(one) for one in found.differences] == ["> b.ctf:4 (key 13): only here"]
    assert (found.order_differs_at.first.key, found.order_differs_at.second.key) == ("7", "12")
    assert repr(found).splitlines()[::2] == ["<2 sequences the same but in another order, 1 only in the second>", "  ! from a.ctf:1-2 | b.ctf:1 on in another order"]
    assert str(bf.diff("b.ctf", "a.ctf").differences[0]) == "< b.ctf:4 (key 13): only here"


def test_streams_that_differ(both):
    both(TEXT.replace("|S", "|T"))
    found = bf.diff("a.ctf", "b.ctf")
    assert found and found.same == 2 and found.streams == ["stream 'S' is only in the first", "stream 'T' is only in the second"]
    assert "  ! stream 'S' is only in the first" in repr(found)
    assert not bf.diff("a.ctf", "b.ctf", streams="F")
    both(TEXT.replace("|S", "|T").replace("|F", "|G"))
    found = bf.diff("a.ctf", "b.ctf")
    assert found and found.sequences == (0, 0) and repr(found).startswith("<no stream in common>\n  ! stream 'F' is only")


def test_dims_are_compared_where_they_are_declared(both):
    both(TEXT.replace("4:8", "3:8"))
    assert not bf.diff("a.ctf", "b.ctf", streams="S").streams
    declared = [bf.CTF(file, streams={"S": bf.sparse(dim)}) for file, dim in (("a.ctf", 5), ("b.ctf", 4))]
    assert bf.diff(*declared).streams == ["stream 'S' has dim 5 and 4"]


def test_all_are_counted_and_some_listed(both):
    Corpus("x.ctf", [1] * 90)
    Corpus("y.ctf", [1] * 90, seed=2)
    found = bf.diff("x.ctf", "y.ctf")
    assert (found.changed, len(found.differences)) == (90, 10) and repr(found).endswith("\n  ...")
    assert len(bf.diff("x.ctf", "y.ctf", max_differences=1000).differences) == 90
    assert bf.diff("x.ctf", "y.ctf", max_differences=0).changed == 90


def test_each_kind_of_corpus_takes_its_own_options(both, tmp_path):
    both(TEXT)
    (tmp_path / "ab.cntk").write_text(CONFIG)
    arrays = bf.Arrays({"F": np.float32([[1, 2], [3, 4], [5, 6]])}, lengths=[2, 1], keys=[7, 12])
    assert not bf.diff("ab.cntk", "a.ctf", section="Train.reader", dtype="float64")
    assert not bf.diff("a.ctf", "ab.cntk", section_second="Test.reader")
    assert not bf.diff("a.ctf", "ab.cntk", section="Test.reader", set="Test=[reader=[input=[S=[dim=9]]]]")
    assert not bf.diff("ab.cntk", arrays, section="Train.reader", streams="F", dtype="float64")
    assert bf.diff("ab.cntk", "ab.cntk", section="Train.reader", section_second="Test.reader").streams == ["stream 'S' has dim 5 and 6"]
    found = bf.diff(arrays, "a.ctf", streams="F", ignore_keys=True)
    assert not found and not found.keys_compared
    [one] = bf.diff(bf.Arrays({"F": np.float32([[1, 2], [3, 9], [5, 6]])}, lengths=[2, 1], keys=[7, 12]), "a.ctf", streams="F").differences
    assert one.first.file is None and str(one).startswith("! sequence 0 | a.ctf:2 (key 7): ")


@pytest.mark.parametrize(
    "second, options, kind, words",
    [
        ("none.ctf", {}, FileNotFoundError, "none.ctf: cannot open"),
        ("a.ctf", {"streams": "X"}, bf.ConfigError, "'X'"),
        ("a.ctf", {"tolerance": -1}, bf.ConfigError, "tolerance is -1, expected a number, at least 0"),
        ("a.ctf", {"tolerance": float("nan")}, bf.ConfigError, "tolerance is nan, expected a number, at least 0"),
        ("a.ctf", {"max_differences": -1}, bf.ConfigError, "max_differences is -1, expected a whole number"),
        ("a.ctf", {"max_differences": None}, bf.ConfigError, "max_differences is None, expected a whole number"),
        ("a.ctf", {"ignore_keys": "no"}, bf.ConfigError, "ignore_keys is 'no', expected True or False"),
        ("a.ctf", {"jobs": 1.5}, bf.ConfigError, "jobs is 1.5, expected a whole number"),
        ("a.ctf", {"section": "Train"}, bf.ConfigError, "a.ctf: is a ctf file, and section is 'Train', which is for configurations"),
        ("a.ctf", {"section_second": "Train"}, bf.ConfigError, "a.ctf: is a ctf file, and section is 'Train'"),
        (bf.CTF("a.ctf"), {"section_second": "Train"}, bf.ConfigError, "section is 'Train', which is for files and not for sources"),
        ({"F": 1}, {}, TypeError, "a path or a source"),
        (["a.ctf", "bad.ctf"], {}, bf.FormatError, "bad.ctf:1"),
    ],
)
def test_what_cannot_be_compared_is_told(both, tmp_path, second, options, kind, words):
    (tmp_path / "bad.ctf").write_text("1 |F 1 x |S 1:1\n")
    with pytest.raises(kind, match=words):
        bf.diff("a.ctf", second, **options)


def test_progress_is_told_and_may_end_it(both, tmp_path):
    both(TEXT)
    told = []
    bf.diff("a.ctf", "b.ctf", progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (2 * len(TEXT), 2 * len(TEXT))

    def enough(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bf.diff("a.ctf", "b.ctf", progress=enough)
