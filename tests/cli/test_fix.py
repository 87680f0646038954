# SPDX-License-Identifier: MIT
"""check --fix: a mended copy, what was done to it, and what is still wrong."""
import gzip

READER = '[ readerType = "CNTKTextFormatReader" ; file = "a.ctf" ; input = [ v = [ dim = 2 ; format = "dense" ] ] ]'

BAD = "\ufeff0 |v 1 2 |t 3:1 1:1\r\n1 |v 1 2 |t 3:1\n0 |v 3 4 |t 5:1"
MENDED = "0 |v 1 2 |t 1:1 3:1\n0 |v 3 4 |t 5:1\n1 |v 1 2 |t 3:1\n"


def test_a_text_is_mended_and_the_copy_checked(batchfeed, write):
    write("a.ctf", BAD)
    done = batchfeed("check", "a.ctf", "--fix", "b.ctf")
    assert (done.code, done.err) == (0, "")
    assert (batchfeed.folder / "b.ctf").read_text() == MENDED
    for words in ("a.ctf mended, as b.ctf:", "1  line end CR LF made LF (line 1)", "1  last line ended (line 3)",
                  "1  run of lines moved behind the first with the same id (line 3)", "sorted by index (line 1)",
                  "checked 3 samples in 2 sequences"):
        assert words in done.out
    assert batchfeed("diff", "b.ctf", "b.ctf").code == 0


def test_what_cannot_be_mended_is_listed_with_its_place_in_the_copy(batchfeed, write):
    write("a.ctf", "0 |v 1 2\n1 |v 3 4\n0 |v 5 6\n1 |v 1 x\n")
    done = batchfeed("check", "a.ctf", "--fix", "b.ctf")
    assert done.code == 1 and "b.ctf:4:8" in done.out
    report = batchfeed("check", "a.ctf", "--fix", "c.ctf", "--json")
    assert report.code == 1 and report.json["faults"] == 1
    assert report.json["fixes"] == [{"id": "fix.regrouped", "what": "run of lines moved behind the first with the same id", "count": 2,
                                     "places": [{"line": 3, "byte": 18}, {"line": 4, "byte": 27}]}]


def test_a_sound_file_is_copied(batchfeed, write):
    write("a.ctf", MENDED)
    done = batchfeed("check", "a.ctf", "--fix", "b.ctf")
    assert done.code == 0 and "nothing that --fix mends; b.ctf is a copy" in done.out
    assert (batchfeed.folder / "b.ctf").read_text() == MENDED
    assert batchfeed("check", "a.ctf", "--json").json["fixes"] is None


def test_of_a_configuration_the_copy_is_checked_as_it_declares(batchfeed, corpus, write):
    config = corpus()
    write("train.ctf", "0 |v 1 2 |t 3:1\r\n1 |v 1 2 |t 30:1\r\n")
    done = batchfeed("check", config, "--fix", "b.ctf")
    assert done.code == 1 and "b.ctf:2:" in done.out and "not below dim 10" in done.out


def test_a_chunk_table_is_computed(batchfeed, corpus):
    corpus(40)
    batchfeed("convert", "train.ctf", "good.cbf", "--chunk-size", 200, "--keys", "keep")
    good = (batchfeed.folder / "good.cbf").read_bytes()
    bad = bytearray(good)
    bad[-12] ^= 1  # samples of the last chunk
    bad[-24:-16] = bytes(8)  # where it begins
    (batchfeed.folder / "bad.cbf").write_bytes(bad)
    (batchfeed.folder / "bad.cbf.keys").write_bytes((batchfeed.folder / "good.cbf.keys").read_bytes())
    assert batchfeed("check", "bad.cbf").code in (1, 3)
    done = batchfeed("check", "bad.cbf", "--fix", "mended.cbf")
    assert done.code == 0 and "offset of a chunk computed" in done.out
    assert (batchfeed.folder / "mended.cbf").read_bytes() == good
    assert batchfeed("diff", "mended.cbf", "good.cbf").code == 0
    (batchfeed.folder / "cut.cbf").write_bytes(good[:-100])
    cut = batchfeed("check", "cut.cbf", "--fix", "no.cbf")  # fix.not-without-guessing
    assert cut.code == 3 and "cannot be computed" in cut.err and not (batchfeed.folder / "no.cbf").exists()


def test_sparse_entries_of_binary_files_are_sorted(batchfeed, write):
    write("a.ctf", "0 |v 1 |t 3:1 1:2\n1 |v 2 |t 4:1\n")
    batchfeed("convert", "a.ctf", "sorted.cbf")
    good = (batchfeed.folder / "sorted.cbf").read_bytes()
    one, two, three = b"\1\0\0\0", b"\0\0\x80\x3f", b"\3\0\0\0"
    in_order = b"\0\0\0\x40" + two + one + three
    assert good.count(in_order) == 1
    write("bad.cbf", good.replace(in_order, two + b"\0\0\0\x40" + three + one))
    done = batchfeed("check", "bad.cbf", "--fix", "mended.cbf")
    assert done.code == 0 and "1  sequence with sparse entries sorted by index" in done.out
    assert (batchfeed.folder / "mended.cbf").read_bytes() == good


def test_what_makes_no_sense_is_status_2(batchfeed, write):  # fix.same-file fix.format
    write("a.ctf", MENDED), write("b.ctf", "precious")
    for arguments in (("a.ctf", "--fix", "a.ctf"), ("a.ctf", "--fix", "b.ctf"), ("-", "--fix", "c.ctf"), ("a.ctf", "b.ctf", "--fix", "c.ctf")):
        assert batchfeed("check", *arguments).code == 2, arguments
    assert batchfeed("check", "a.ctf", "--fix", "a.ctf", "--force").code == 2
    assert (batchfeed.folder / "b.ctf").read_text() == "precious" and (batchfeed.folder / "a.ctf").read_text() == MENDED
    assert batchfeed("check", "a.ctf", "--fix", "b.ctf", "--force").code == 0


def test_of_a_configuration_whose_file_is_a_pattern(batchfeed, write):
    config = write("c.cntk", 'reader = [ readerType = "CNTKTextFormatReader" ; file = "?.ctf" ; randomize = false ; input = [ v = [ dim = 2 ; format = dense ] ] ]')
    write("a.ctf", "0 |v 1 2\r\n")
    done = batchfeed("check", config, "--fix", "mended.ctf")
    assert done.code == 0 and "a.ctf mended, as mended.ctf" in done.out
    write("b.ctf", "1 |v 1 x\n")
    done = batchfeed("check", config, "--fix", "more.ctf")
    assert done.code == 2 and "--fix mends one text or binary file, the configuration has others" in done.err
    assert not (batchfeed.folder / "more.ctf").exists()


def test_check_says_what_fix_would_do(batchfeed, write):
    write("a.ctf", "0 |v 1 2\n1 |v 3 4\n0 |v 5 6\n")
    words = "--fix FILE writes a copy in which that is mended: ctf.repeated-id"
    assert words in batchfeed("check", "a.ctf").out
    assert words not in batchfeed("check", "a.ctf", "--fix", "b.ctf").out
    assert "--fix" not in batchfeed("check", "b.ctf").out
    write("a.ctf.gz", gzip.compress((batchfeed.folder / "a.ctf").read_bytes()))
    write("one.cntk", f"reader = {READER}\n")
    write("two.cntk", f"A = [ reader = {READER} ]\nB = [ reader = {READER} ]\n")
    for name, can in (("one.cntk", True), ("a.ctf.gz", False), ("two.cntk", False), ("a.[c]tf", False)):
        done = batchfeed("check", name)
        assert "ctf.repeated-id" in done.out and (words in done.out) == can, (name, done.out)
        assert (batchfeed("check", name, "--fix", f"{name}.mended").code == 0) == can


def test_the_limits_of_the_command_line_hold_for_what_is_mended(batchfeed, write):
    write("a.ctf", "0 |v " + " 1" * 400_000 + "\n")
    done = batchfeed("check", "a.ctf", "--fix", "b.ctf", "--raise", "line_bytes=600000")
    assert done.code == 3 and "a.ctf:1 (byte 0): the line has more than 600000 bytes" in done.err, done.err
    assert not (batchfeed.folder / "b.ctf").exists()
