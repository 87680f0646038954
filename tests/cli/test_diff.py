# SPDX-License-Identifier: MIT
"""diff: the same sequences, or the first difference with its place. Exit status 0, 1, 2 or 3."""
import struct

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
    for words in (("t.cbf", "t.cbf", "--section", "Train.reader"), (config, "t.cbf", "--section-second", "Train.reader")):
        refused = batchfeed("diff", *words)
        assert refused.code == 3 and "t.cbf: is no configuration, which --section is for" in refused.err, words
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


def test_values_that_are_equal_are_no_difference_whether_told_or_not(batchfeed, write):
    write("a.ctf", "1 |x 0 |s 1:0 2:0.5\n2 |x 1 |s 2:-0\n"), write("b.ctf", "1 |x -0 |s 2:0.5 1:-0\n2 |x 1 |s 2:0\n")
    for most in (10, 1, 0):
        done = batchfeed("diff", "a.ctf", "b.ctf", "--max-differences", most)
        assert (done.code, done.out) == (0, "the same: 2 sequences\n")
    write("c.ctf", "1 |x -0 |s 2:0.5 1:-0\n2 |x 2 |s 2:0\n")
    for most in (10, 0):
        assert "1 sequence the same, 1 different\n" in batchfeed("diff", "a.ctf", "c.ctf", "--max-differences", most).out


def test_what_is_no_number_has_many_forms(batchfeed, write):
    htk = lambda bits: struct.pack(">iihH2I", 1, 100000, 8, 9, 0x3F800000, bits)
    write("a.htk", htk(0x7FC00000)), write("b.htk", htk(0xFFC00001))
    write("a.scp", "u=a.htk[0,0]\n"), write("b.scp", "u=b.htk[0,0]\n")
    assert batchfeed("diff", "a.scp", "b.scp", "--max-differences", 0, "--quiet").code == 0


@pytest.mark.parametrize("arguments, code", [(("a.ctf",), 2), (("a.ctf", "a.ctf", "a.ctf"), 2), (("a.ctf", "no.ctf"), 3),
                                             (("a.ctf", "a.ctf", "--tolerance", "-1"), 2)])
def test_trouble_is_neither_0_nor_1(batchfeed, write, arguments, code):
    write("a.ctf", TEXT)
    assert batchfeed("diff", *arguments).code == code


def test_infinity_is_within_no_tolerance(batchfeed, write):
    write("a.ctf", "0 |v 1e999\n1 |v 2\n"), write("b.ctf", "0 |v 5\n1 |v 2.25\n"), write("c.ctf", "0 |v -1e999\n1 |v 2\n")
    for other in ("b.ctf", "c.ctf"):
        done = batchfeed("diff", "a.ctf", other, "--tolerance", "0.2", "--json").json
        assert not done["equal"] and (done["changed"], done["same"]) == (1, 1), done
    assert batchfeed("diff", "a.ctf", "a.ctf", "--tolerance", "0.2").code == 0
