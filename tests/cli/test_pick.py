# SPDX-License-Identifier: MIT
"""head, cat, sample: sequences as text, as JSON lines, or as a new corpus."""
import gzip
import json
import struct

import pytest

TEXT = "7 |F 1 2 |S 1:0.5 3:2\n7 |F 3 4 |S 0:1\n12 |F 5 6 |S 4:8\n"


def test_cat_is_the_text_itself(batchfeed, write):
    source = write("a.ctf", TEXT)
    assert batchfeed("cat", source).out == TEXT
    batchfeed("convert", source, "a.cbf")
    assert batchfeed("cat", "a.cbf").out == TEXT


def test_cat_leaves_out_ids_that_say_nothing(batchfeed, write):
    assert batchfeed("cat", write("a.ctf", "|v 1\n|v 2\n")).out == "|v 1\n|v 2\n"


def test_head_takes_the_first_or_those_behind_a_number(batchfeed, corpus):
    corpus(30)
    keys = lambda *more: [s["key"] for s in batchfeed("head", "train.ctf", "--format", "jsonl", *more).lines]
    assert keys() == [str(k) for k in range(10)]
    assert keys("-n", 2, "--from", 28) == ["28", "29"]
    assert keys("-n", 5, "--from", 29) == ["29"]
    assert keys("--from", 30) == []


def test_json_lines_name_the_place_and_hold_all_values(batchfeed, write):
    first, second = batchfeed("head", write("a.ctf", TEXT), "--json").lines
    assert first == {"key": "7", "file": "a.ctf", "lines": [1, 2], "samples": 2,
                     "streams": {"F": [[1, 2], [3, 4]], "S": [[[1, 0.5], [3, 2]], [[0, 1]]]}}
    assert (second["key"], second["lines"]) == ("12", [3, 3])


def test_the_view_is_clipped_and_named(batchfeed, write):
    write("a.ctf", "0 |wide " + " ".join(str(i) for i in range(500)) + "\n")
    place, line = batchfeed("head", "a.ctf", "--format", "view").out.splitlines()
    assert place == "a.ctf:1: key 0, 1 sample"
    assert line.startswith("  wide  [0 1 2") and line.endswith("... 500]") and len(line) <= 110


def test_streams_are_chosen_in_the_order_asked_for(batchfeed, write):
    write("a.ctf", TEXT)
    assert batchfeed("head", "a.ctf", "-n", 1, "--streams", "S,F").out.splitlines()[0] == "7 |S 1:0.5 3:2 |F 1 2"
    wrong = batchfeed("head", "a.ctf", "--streams", "X")
    assert wrong.code == 2 and "'F', 'S'" in wrong.err


def test_a_sample_is_the_same_every_time_and_in_order(batchfeed, corpus):
    corpus(200)
    draw = lambda *more: [int(s["key"]) for s in batchfeed("sample", "train.ctf", "--json", "-n", 20, *more).lines]
    first = draw("--seed", 1)
    assert len(set(first)) == 20 and first == sorted(first)
    assert draw("--seed", 1, "--threads", 1) == first and draw("--seed", 2) != first


def test_a_sample_is_the_same_of_another_format(batchfeed, corpus):
    corpus(100)
    batchfeed("convert", "train.ctf", "train.cbf")
    of = lambda name: [s["key"] for s in batchfeed("sample", name, "--json", "-n", 9, "--seed", 3).lines]
    assert of("train.ctf") == of("train.cbf")


def test_a_part_instead_of_a_number(batchfeed, corpus):
    corpus(100)
    assert len(batchfeed("sample", "train.ctf", "--fraction", 0.25, "--json").lines) == 25
    assert batchfeed("sample", "train.ctf", "--fraction", 0).code == 2
    none = batchfeed("sample", "train.ctf", "--fraction", 0.001)
    assert none.code == 2 and none.err == "batchfeed: --fraction: 0.001 of 100 sequences is not one; hint: --fraction 0.01, or -n 1\n"
    all_of_them = batchfeed("sample", "train.ctf", "-n", 101, "--json")
    assert len(all_of_them.lines) == 100 and "only 100 sequences" in all_of_them.err


def test_an_output_without_a_name_is_refused(batchfeed, corpus):
    corpus(3)
    for command in ("head", "cat", "sample", "report", "schema"):
        done = batchfeed(command, "train.ctf", "-o", "")
        assert done.code == 2 and done.out == "" and "--output: the name is empty; hint: is a variable of the shell not set?" in done.err


def test_into_a_new_corpus(batchfeed, corpus, tmp_path):
    corpus(50)
    done = batchfeed("sample", "train.ctf", "-n", 5, "-o", "small.cbf", "--verify", "--json").json
    assert (done["sequences"], done["verified"]) == (5, True)
    assert batchfeed("cat", "small.cbf").out == batchfeed("sample", "train.ctf", "-n", 5).out
    again = batchfeed("head", "train.ctf", "-o", "small.cbf")
    assert again.code == 2 and "--force" in again.err
    assert batchfeed("head", "train.ctf", "-o", "small.cbf", "--force").code == 0
    assert batchfeed("head", "train.ctf", "-o", "small.jpg").code == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["small.cbf", "train.cntk", "train.ctf"]


@pytest.mark.parametrize("command", [
    ["head", "a.ctf", "-n", 1, "-o", "a.ctf"], ["sample", "*.ctf", "-n", 1, "-o", "./a.ctf"], ["grep", "a.ctf", "--key", "1", "-o", "link.ctf"],
    ["head", "a.cntk", "-o", "a.ctf"], ["head", "any.cntk", "-o", "a.ctf"], ["split", "a.ctf", "--part", "b.ctf", "--part", "a.ctf=0.5"]])
def test_a_part_does_not_replace_what_it_is_taken_from(batchfeed, write, tmp_path, command):
    text = "".join(f"{i} |x {i}\n" for i in range(9))
    write("a.ctf", text)
    write("a.cntk", 'reader = [ readerType = "CNTKTextFormatReader" ; file = "a.ctf" ; input = [ x = [ dim = 1 ; format = "dense" ] ] ]')
    write("any.cntk", (tmp_path / "a.cntk").read_text().replace("a.ctf", "?.ctf"))
    if "link.ctf" in command:
        (tmp_path / "link.ctf").hardlink_to(tmp_path / "a.ctf")
    done = batchfeed(*command, "--force")
    assert done.code == 2 and "is what is read, and only a part of it would be left" in done.err
    assert (tmp_path / "a.ctf").read_text() == text and not (tmp_path / "b.ctf").exists()
    assert batchfeed("convert", "a.ctf", "a.ctf", "--force").code == 0
    assert batchfeed("convert", "a.ctf", "a.cbf").code == 0
    assert batchfeed("head", "?.cbf", "-o", "a.cbf", "--force").code == 2


@pytest.mark.parametrize("command", [
    ["head", "part.scp", "-n", 1, "-o", "a.scp"], ["sample", "part.scp", "-n", 1, "-o", "new/../a.scp"], ["grep", "a.htk", "--key", "*", "-o", "a.scp"],
    ["grep", "part.scp", "--key", "k1", "-o", "a.htk"], ["split", "part.scp", "--part", "rest.scp", "--part", "a.scp=0.5"],
    ["head", "joined.cntk", "-o", "a.scp"], ["head", "kaldi.scp", "-o", "k.ark", "--to", "ctf"]])
def test_a_part_does_not_replace_what_a_list_names(batchfeed, write, tmp_path, command):
    batchfeed("convert", write("s.ctf", "u1 |x 1 2\nu1 |x 3 4\nu2 |x 5 6\n"), "a.scp")
    (tmp_path / "new").mkdir()
    write("part.scp", "k1.mfc=a.htk[0,1]\nk2.mfc=a.htk[2,2]\n")
    write("k.ark", "u [ 1 2 ]\nv [ 3 4 ]\n")
    write("kaldi.scp", "u k.ark:2\n")
    write("l.mlf", '#!MLF!#\n"*/k1.lab"\n0 200000 0 0\n.\n')
    write("joined.cntk", 'reader = [ readerType = "HTKMLFReader" ; features = [ dim = 2 ; scpFile = "part.scp" ] ; '
                         'labels = [ mlfFile = "l.mlf" ; labelDim = 1 ] ]')
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()}
    done = batchfeed(*command, "--force")
    assert done.code == 2 and "is what is read, and only a part of it would be left" in done.err, done.err
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()} == before
    assert batchfeed("head", "part.scp", "-n", 1, "-o", "b.scp", "--force").code == 0
    assert batchfeed("head", "b.scp", "-n", 1, "-o", "a.scp", "--force").code == 0


@pytest.mark.parametrize("command", ["head", "cat", "sample"])
@pytest.mark.parametrize("more, words", [(("--to", "cbf"), "--to cbf is for a file"), (("--verify", "-o", "-"), "--verify reads a file back"),
                                         (("-o", "b.cbf", "--format", "view"), "--format view is for standard output"),
                                         (("--json", "--format", "ctf"), "--json and --format ctf: give one of them")])
def test_options_for_another_place_are_refused(batchfeed, corpus, tmp_path, command, more, words):
    corpus(3)
    done = batchfeed(command, "train.ctf", *more)
    assert done.code == 2 and words in done.err and done.out == "" and not (tmp_path / "b.cbf").exists()


@pytest.mark.parametrize("command", [["convert", "train.ctf", "-", "--to", "ctf"], ["split", "train.ctf", "--part", "-=0.5", "--part", "b", "--to", "ctf"]])
def test_no_corpus_is_written_to_a_file_named_as_standard_output(batchfeed, corpus, tmp_path, command):
    corpus(3)
    done = batchfeed(*command)
    assert done.code == 2 and "'-' is standard output" in done.err and "./-" in done.err and not (tmp_path / "-").exists()
    assert batchfeed("convert", "train.ctf", "./-", "--to", "ctf").code == 0 and (tmp_path / "-").exists()


def test_damaged_sequences_are_left_out_and_told(batchfeed, corpus, write):
    config = corpus(3, extra="maxErrors = 5")
    write("train.ctf", "0 |v 1 2 |t 3:1\n1 |v 1 x |t 3:1\n2 |v 1 2 |t 4:1\n")
    done = batchfeed("cat", config)
    assert done.out == "0 |tags 3:1 |v 1 2\n2 |tags 4:1 |v 1 2\n"  # with their ids: the places have moved
    assert "1 sequence left out" in done.err


def test_what_text_cannot_say_is_refused(batchfeed, write):
    nib = b"nib_ktnc"
    body = struct.pack("<I", 1) + struct.pack("<If", 1, float("nan"))
    header = nib + struct.pack("<II", 1, 1) + struct.pack("<BI", 0, 1) + b"v" + struct.pack("<BI", 0, 1) + struct.pack("<qII", 12, 1, 1)
    write("a.cbf", nib + struct.pack("<I", 1) + body + header + struct.pack("<q", 12 + len(body)))
    done = batchfeed("cat", "a.cbf")
    assert done.code == 3 and "nan" in done.err
    assert batchfeed("cat", "a.cbf", "--format", "jsonl").lines[0]["streams"] == {"v": [["nan"]]}


@pytest.mark.parametrize("command", ["head", "cat", "sample"])
def test_a_configuration_says_what_is_read(batchfeed, corpus, command):
    config = corpus(4)
    streams = json.loads(batchfeed(command, config, "--json").out.splitlines()[0])["streams"]
    assert set(streams) == {"v", "tags"}


def test_head_looks_no_further_than_it_must(batchfeed, write):
    lines = [f"{7 + i} |v {i} 2 3 4 5 6 7 8 |t {i % 7}:1\n" for i in range(80000)]
    write("a.ctf", "".join(lines) + "80007 |v 1 2 x\n80007 |w 1\n")
    assert batchfeed("head", "a.ctf", "-n", 3, "--streams", "v,t").out == "".join(lines[:3])
    told = batchfeed("head", "a.ctf", "-n", 1, "--from", 20000, "--format", "jsonl").lines
    assert (told[0]["key"], told[0]["file"], told[0]["lines"]) == ("20007", "a.ctf", [20001, 20001])
    assert batchfeed("head", "a.ctf", "-n", 2).err == ""
    compressed = gzip.compress("".join(lines).encode())
    write("a.ctf.gz", compressed[:-1000])  # its end is missing, which is far away
    assert batchfeed("head", "a.ctf.gz", "-n", 2).out == "".join(lines[:2])
    assert batchfeed("head", "a.ctf.gz", "-n", 2, "--from", 79000).code == 3
    # A sequence that goes on behind the first look is shown whole.
    write("long.ctf", "".join(f"{i // 60000} |v {i} 2 3 4 5 6\n" for i in range(120000)))
    assert len(batchfeed("head", "long.ctf", "-n", 1).out.splitlines()) == 60000


def test_head_names_the_file_in_what_it_says(batchfeed, write):
    write("a.ctf", "0 |v 1 2\n1 |v 1 x\n" + "".join(f"{i} |v 1 2 \n" for i in range(2, 200000)))
    done = batchfeed("head", "a.ctf", "-n", 3)
    assert "a.ctf:2:" in done.err and "memory:" not in done.err


def test_what_helps_where_ids_of_two_files_meet(batchfeed, write):
    write("a.ctf", "0 |v 1\n1 |v 2\n")
    write("b.ctf", "1 |v 3\n")
    done = batchfeed("cat", "a.ctf", "b.ctf")
    assert done.code == 3 and "batchfeed merge" in done.err and "--format jsonl" in done.err, done.err
    assert batchfeed("cat", "a.ctf", "b.ctf", "--format", "jsonl").out.count("\n") == 3
    assert batchfeed("merge", "a.ctf", "b.ctf", "-o", "c.ctf").code == 0
    assert batchfeed("cat", "c.ctf").out == "0 |v 1\n1 |v 2\n2 |v 3\n"
