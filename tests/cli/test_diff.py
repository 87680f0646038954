# SPDX-License-Identifier: MIT
"""diff: the same sequences, or the first difference with its place. Exit status 0, 1, 2 or 3."""
import pytest

TEXT = "7 |F 1 2 |S 1:0.5 3:2\n7 |F 3 4 |S 0:1\n12 |F 5 6 |S 4:8\n"


def test_a_copy_in_another_format_is_the_same(batchfeed, write):
    write("a.ctf", TEXT)
    batchfeed("convert", "a.ctf", "a.cbf")
    done = batchfeed("diff", "a.ctf", "a.cbf")
    assert (done.code, done.out) == (0, "the same: 2 sequences\n")
    batchfeed("convert", "a.ctf", "d.cbf", "--precision", "double", "--keys", "none")
    assert "keys are not compared" in batchfeed("diff", "d.cbf", "a.ctf").out
    assert batchfeed("diff", "a.ctf", "d.cbf").code == 0


def test_a_changed_value_is_located_on_both_sides(batchfeed, write):
    write("a.ctf", TEXT), write("b.ctf", TEXT.replace("3 4", "3 4.5"))
    done = batchfeed("diff", "a.ctf", "b.ctf")
    assert done.code == 1
    assert done.out == "! a.ctf:2 | b.ctf:2 (key 7): stream 'F', sample 1: [1] is 4 and 4.5\n1 sequence the same, 1 different\n"
    assert batchfeed("diff", "a.ctf", "b.ctf", "--tolerance", 0.2).code == 0


def test_what_only_one_has(batchfeed, write):
    write("a.ctf", TEXT), write("b.ctf", TEXT + "13 |F 0 0 |S 0:1\n")
    assert batchfeed("diff", "a.ctf", "b.ctf").out == "> b.ctf:4 (key 13): only here\n2 sequences the same, 1 only in b.ctf\n"
    assert batchfeed("diff", "b.ctf", "a.ctf").out.startswith("< b.ctf:4 (key 13): only here")


def test_another_order_is_said_so(batchfeed, write):
    lines = TEXT.splitlines(True)
    write("a.ctf", TEXT), write("b.ctf", lines[2] + lines[0] + lines[1])
    done = batchfeed("diff", "a.ctf", "b.ctf")
    assert done.code == 1 and "2 sequences the same but in another order" in done.out and "keys 7 and 12" in done.out


def test_streams_that_differ(batchfeed, write):
    write("a.ctf", TEXT), write("b.ctf", TEXT.replace("|S", "|T"))
    done = batchfeed("diff", "a.ctf", "b.ctf")
    assert done.code == 1 and "stream 'S' is only in the first" in done.out and "2 sequences the same" in done.out
    assert batchfeed("diff", "a.ctf", "b.ctf", "--streams", "F").code == 0
    assert batchfeed("diff", "a.ctf", "b.ctf", "--streams", "X").code == 2


def test_configurations_and_files(batchfeed, corpus, write):
    config = corpus(20)
    batchfeed("convert", config, "t.cbf")
    assert batchfeed("diff", config, "t.cbf", "--section", "Train.reader").code == 0
    wrong = batchfeed("diff", config, "t.cbf", "--set", "Train=[reader=[input=[tags=[dim=11]]]]")
    assert wrong.code == 1 and "dim 11 and 10" in wrong.out


def test_json_and_the_list_of_differences(batchfeed, corpus, write):
    corpus(30)
    text = (batchfeed.folder / "train.ctf").read_text()
    write("b.ctf", text.replace(".5", ".25"))
    report = batchfeed("diff", "train.ctf", "b.ctf", "--max-differences", 4, "--json").json
    assert (report["equal"], report["changed"], len(report["differences"])) == (False, 30, 4)
    assert report["differences"][0]["first"]["line"] == 1 and report["keys_compared"]
    assert "26 more" in batchfeed("diff", "train.ctf", "b.ctf", "--max-differences", 4).out


@pytest.mark.parametrize("arguments, code", [(("a.ctf",), 2), (("a.ctf", "a.ctf", "a.ctf"), 2), (("a.ctf", "no.ctf"), 3),
                                             (("a.ctf", "a.ctf", "--tolerance", "-1"), 2)])
def test_trouble_is_neither_0_nor_1(batchfeed, write, arguments, code):
    write("a.ctf", TEXT)
    assert batchfeed("diff", *arguments).code == code
