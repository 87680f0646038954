# SPDX-License-Identifier: MIT
"""stats and schema: what the data are like, and the configuration that reads them."""
import pytest

TEXT = "0 |f 1 2.5 |l 3:1\n0 |f -1 2 |l 4:1\n1 |f 0 0 |l 0:1\n"


def test_stats_gives_the_figures_of_every_stream(batchfeed, write):
    about = batchfeed("stats", write("a.ctf", TEXT), "--json").json
    assert (about["sequences"], about["samples"], about["duplicates"]) == (2, 3, 0)
    f, l = about["streams"]
    assert (f["name"], f["dim"], f["samples"], f["min"], f["max"], f["mean"]) == ("f", 2, 3, -1, 2.5, 0.75)
    assert abs(f["deviation"] ** 2 - 8.875 / 6) < 1e-12 and f["zeros"] == 2 and not f["integral"]
    assert l["one_hot"] and l["used_indices"] == 3 and l["constant_columns"] == 0
    assert about["lengths"]["max"] == 2


def test_stats_as_a_table(batchfeed, write):
    out = batchfeed("stats", write("a.ctf", TEXT)).out
    assert out.startswith("a.ctf: 2 sequences, 3 samples")
    (row,) = [line for line in out.splitlines() if line.startswith("  f ")]
    assert row.split() == ["f", "dense", "2", "3", "66.7", "%", "-1", "0", "2.5", "0.75", "1.21621", "0"]
    assert "l: 3 of 5 classes occur" in out


def test_stats_of_each_column(batchfeed, write):
    write("a.ctf", TEXT)
    done = batchfeed("stats", "a.ctf", "--columns")
    f, l = done.out.split("\nf\n")[1].split("\nl\n")
    assert [line.split() for line in f.strip().splitlines()] == [
        ["column", "not", "0", "min", "max", "mean", "deviation"],
        ["0", "2", "-1", "1", "0", "0.816497"],
        ["1", "2", "0", "2.5", "1.5", "1.08012"],
    ]
    assert [line.split()[0] for line in l.strip().splitlines()] == ["column", "0", "3", "4", "and"]
    assert "and 2 columns in which nothing occurs" in l
    columns = batchfeed("stats", "a.ctf", "--columns", "--json").json["streams"][1]["columns"]
    assert columns["not_zero"] == [1, 0, 0, 1, 1] and columns["max"] == [1, 0, 0, 1, 1]
    assert columns["mean"] == pytest.approx([1 / 3, 0, 0, 1 / 3, 1 / 3])
    assert "columns" not in batchfeed("stats", "a.ctf", "--json").json["streams"][0]


def test_stats_of_too_many_columns(batchfeed, corpus, write):
    write("w.cntk", 'reader = [ readerType = "CNTKTextFormatReader" ; file = "w.ctf" ; input = [ w = [ dim = 2000000 ; format = "sparse" ] ] ]')
    write("w.ctf", "|w 5:1\n")
    assert "w: 2,000,000 columns are more than are looked at one by one (1,048,576 in all)" in batchfeed("stats", "w.cntk", "--columns").out
    assert batchfeed("stats", "w.cntk", "--columns", "--json").json["streams"][0]["columns"] is None


def test_stats_of_doubles_that_a_float_cannot_hold(batchfeed, write):
    write("k.cntk", 'reader = [ readerType = "CNTKTextFormatReader" ; file = "k.ctf" ; precision = "double" ; input = [ z = [ dim = 1 ; format = "dense" ] ] ]')
    write("k.ctf", "|z 1e300\n|z 1e300\n")
    (z,) = batchfeed("stats", "k.cntk", "--json").json["streams"]
    assert (z["mean"], z["deviation"], z["p01"], z["p50"], z["p99"]) == (1e300, 0, 1e300, 1e300, 1e300)


def test_columns_behind_a_large_vocabulary_are_counted(batchfeed, write):
    write("a.ctf", "|a 4194303:1 |b 3:1 |c 0 5\n|a 4194303:1 |b 2:1 |c 1 5\n")
    _, b, c = batchfeed("stats", "a.ctf", "--columns", "--json").json["streams"]
    assert b["columns"]["not_zero"] == [0, 0, 1, 1] and c["columns"]["not_zero"] == [1, 2] and c["constant_columns"] == 1
    text = batchfeed("stats", "a.ctf", "--columns").out.split("\nb\n")[1]
    assert "and 2 columns in which nothing occurs" in text


def test_stats_counts_what_is_damaged_and_repeated(batchfeed, corpus, write):
    config = corpus(1)
    write("train.ctf", "0 |v 1 2 |t 3:1\n1 |v 1 x |t 3:1\n2 |v 1 2 |t 3:1\n")
    about = batchfeed("stats", config, "--json").json
    assert (about["invalid"], about["faults"], about["duplicates"]) == (1, 1, 1)
    out = batchfeed("stats", config).out
    assert "1 fault, 1 sequence left out" in out and "1 sequence repeats" in out


def test_stats_agrees_for_every_number_of_threads_and_format(batchfeed, corpus):
    corpus(300)
    batchfeed("convert", "train.ctf", "train.cbf", "--chunk-size", 500)
    streams = [batchfeed("stats", *arguments, "--json").json["streams"]
               for arguments in (("train.ctf", "--threads", 1), ("train.cbf", "--threads", 4))]
    for a, b in zip(*streams):
        assert a.pop("deviation") == pytest.approx(b.pop("deviation")) and a.pop("mean") == pytest.approx(b.pop("mean"))
        assert a == b


def read_back(batchfeed, *files):
    done = batchfeed("schema", *files, "-o", "s.cntk")
    assert done.code == 0 and done.out == "" and "s.cntk" in done.err
    assert batchfeed("config", "check", "s.cntk").code == 0
    return batchfeed("head", "s.cntk", "-n", 1000).out, batchfeed("stats", "s.cntk", "--json").json


def test_schema_of_text_can_be_read(batchfeed, write):
    write("a.ctf", "0 |word-1 1 2 |2nd 3:1\n1 |word-1 1 2 |2nd 4:1\n")
    text, about = read_back(batchfeed, "a.ctf")
    assert about["sequences"] == 2 and {s["dim"] for s in about["streams"]} == {2, 5} and "3:1" in text


def test_the_section_of_a_schema_has_a_name(batchfeed, write):
    write("a.ctf", TEXT)
    for name in ("", "a=b", "[", '"a"', "#a"):
        refused = batchfeed("schema", "a.ctf", "--name", name, "-o", "s.cntk")
        assert refused.code == 2 and "expected the name of a section" in refused.err and not (batchfeed.folder / "s.cntk").exists()
    assert batchfeed("schema", "a.ctf", "--name", "Train.of it", "-o", "s.cntk").code == 0
    assert batchfeed("read", "s.cntk", "--format", "none").code == 0


def test_schema_of_several_files(batchfeed, write):
    write("a.ctf", "0 |v 1 |t 3:1\n"), write("b.ctf", "1 |v 2 |t 9:1\n")
    _, about = read_back(batchfeed, "a.ctf", "b.ctf")
    assert about["sequences"] == 2 and about["streams"][0]["dim"] == 10


@pytest.mark.parametrize("precision", ["float", "double"])
def test_schema_of_binary_can_be_read(batchfeed, write, precision):
    batchfeed("convert", write("a.ctf", TEXT), "a.cbf", "--precision", precision)
    text, about = read_back(batchfeed, "a.cbf")
    assert about["sequences"] == 2 and text == TEXT


def test_schema_of_speech_can_be_read(batchfeed, write):
    write("x.ctf", "u1 |x 1 2\nu1 |x 3 4\nu2 |x 5 6\n"), write("y.ctf", "u1 |y 0:1\nu1 |y 1:1\nu2 |y 2:1\n")
    write("s.list", "sil\na\nb\n")
    batchfeed("convert", "x.ctf", "x.scp")
    assert batchfeed("convert", "y.ctf", "y.mlf", "--state-list", "s.list").code == 0
    alone = batchfeed("schema", "y.mlf")  # a list of its classes would not help
    assert alone.code == 2 and "name the list of features too" in alone.err
    needs = batchfeed("schema", "x.scp", "y.mlf")
    assert needs.code == 2 and "--state-list" in needs.err
    _, about = read_back(batchfeed, "x.scp", "y.mlf")
    assert [(s["name"], s["dim"]) for s in about["streams"]] == [("features", 2), ("labels", 3)]
    assert (batchfeed.folder / "s.cntk.states").read_text() == "a\nb\nsil\n"
    assert batchfeed("schema", "x.scp", "y.mlf", "-o", "s.cntk").code == 2
    assert "s.list" in batchfeed("schema", "x.scp", "y.mlf", "--state-list", "s.list").out


def test_what_has_no_reader_section_is_said(batchfeed, corpus, write):  # infer.no-section
    write("y.ctf", "u1 |y 0:1\nu2 |y 1:1\n")
    batchfeed("convert", "y.ctf", "y.mlf")
    alone = batchfeed("schema", "y.mlf")
    assert alone.code == 2 and "features" in alone.err
    assert batchfeed("schema", corpus()).code == 2
    assert "hint: quotes, '$', ends of lines, '#' behind a blank" in batchfeed("schema", write("a$.ctf", TEXT)).err


def test_schema_as_json(batchfeed, write):
    about = batchfeed("schema", write("a.ctf", TEXT), "--json").json
    assert [(s["name"], s["storage"], s["dim"]) for s in about["streams"]] == [("f", "dense", 2), ("l", "sparse", 5)]
    assert about["reader_section"].startswith("reader = [") and "Train = [" in about["configuration"]
