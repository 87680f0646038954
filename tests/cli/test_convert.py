# SPDX-License-Identifier: MIT
"""batchfeed convert and ctf2bin."""
import gzip
import os
import time

import pytest

TEXT = "7 |F 1 2 |S 1:0.5 3:2\n7 |F 3 4 |S 0:1\n12 |F 5 6 |S 4:8\n"
HEADER = "feat F dense 2\nlab S sparse 5\n"


def test_text_to_binary_and_back_is_the_identity(batchfeed, write, tmp_path):
    source = write("a.ctf", TEXT)
    batchfeed("convert", source, "a.cbf", "--verify")
    batchfeed("convert", "a.cbf", "b.ctf", "--verify")
    assert (tmp_path / "b.ctf").read_text() == TEXT


def test_it_does_not_overwrite_unless_forced(batchfeed, write, tmp_path):
    source, target = write("a.ctf", TEXT), write("b.cbf", "precious")
    refused = batchfeed("convert", source, target)
    assert refused.code == 2
    assert "b.cbf" in refused.err and "--force" in refused.err
    assert (tmp_path / "b.cbf").read_text() == "precious"
    assert batchfeed("convert", source, target, "--force").code == 0


@pytest.mark.parametrize("command", [
    ["convert", "a.ctf", "a.ctf", "--streams", "S"], ["shuffle", "a.ctf", "-o", "./a.ctf", "--streams", "S"], ["merge", "a.ctf", "b.ctf", "-o", "same.ctf", "--streams", "S"],
    ["convert", "s.cntk", "a.ctf"], ["shuffle", "s.cntk", "-o", "a.ctf"], ["convert", "a.ctf", "a.ctf", "--to", "cbf", "--streams", "F"],
    ["schema", "a.ctf", "-o", "a.ctf"], ["schema", "a.ctf", "-o", "linked/a.ctf"]])
def test_a_source_is_not_replaced_by_a_part_of_it(batchfeed, write, tmp_path, command):
    write("a.ctf", TEXT), write("b.ctf", TEXT)
    write("s.cntk", 'reader = [ readerType = "CNTKTextFormatReader" ; file = "a.ctf" ; input = [ S = [ dim = 9 ; format = "sparse" ] ] ]')
    (tmp_path / "same.ctf").hardlink_to(tmp_path / "a.ctf")
    (tmp_path / "linked").symlink_to(".")
    done = batchfeed(*command, "--force")
    assert done.code == 2 and "is what is read, and " in done.err and "of it would be left; hint: choose another name" in done.err, done.err
    assert (tmp_path / "a.ctf").read_text() == TEXT and (tmp_path / "same.ctf").read_text() == TEXT
    for whole in (["shuffle", "a.ctf", "-o", "a.ctf"], ["merge", "a.ctf", "b.ctf", "-o", "b.ctf"], ["convert", "a.ctf", "a.ctf"]):
        assert batchfeed(*whole, "--force").code == 0


@pytest.mark.parametrize("command", ["convert a.ctf b.ctf", "convert a.ctf b.cbf", "shuffle a.ctf -o a.ctf", "merge b.ctf a.ctf -o c.ctf", "sample a.ctf -n 1 -o b.cbf",
                                     "split a.ctf --part b.ctf --part c.ctf=0.5"])
def test_comments_that_are_not_written_are_told(batchfeed, write, command):  # convert.comments
    write("a.ctf", "|F 1 2\n|F 3 4 |# two\n|F 5 6 |# three\n"), write("b.ctf", "|F 1 2\n")
    told = batchfeed(*command.split(), "--force")
    assert told.code == 0 and told.err.startswith("a.ctf:2:8 ") and told.err.count("\n") == 1 and "comments are not written" in told.err, told.err
    write("a.ctf", "|F 1 2\n|F 3 4\n|F 5 6 |# three\n")
    assert batchfeed(*command.split(), "--force", "-q").err == ""


def test_a_file_that_is_replaced_is_for_no_more_people_than_before(batchfeed, write, tmp_path):
    write("a.ctf", "0 |F 1 2\n1 |F 3 4\n")
    mode = lambda name: (tmp_path / name).stat().st_mode & 0o777  # noqa: E731
    for target, *more in (["b.ctf"], ["b.ctf.zst"], ["b.cbf"], ["b.scp", "--layout", "files"]):
        assert batchfeed("convert", "a.ctf", target, *more).code == 0
        names = [target, "b.htk"] if more else [target]
        for name in names:
            (tmp_path / name).chmod(0o700 if name == "b.htk" else 0o600)
        assert batchfeed("convert", "a.ctf", target, "--force", *more).code == 0
        assert [mode(name) & 0o077 for name in names] == [0] * len(names)


def test_ctf2bin_replaces_no_file_that_it_reads(batchfeed, write, tmp_path):
    write("a.ctf", TEXT), write("h", HEADER)
    for target in ("h", "./a.ctf"):
        done = batchfeed("ctf2bin", "--input", "a.ctf", "--header", "h", "--chunk_size", "1000", "--output", target)
        assert done.code == 2 and f"'{target}' is what is read, and would be replaced" in done.err
    assert (tmp_path / "a.ctf").read_text() == TEXT and (tmp_path / "h").read_text() == HEADER


def test_ctf2bins_header_is_a_small_file_that_can_be_read(batchfeed, write, tmp_path):
    arguments = ["ctf2bin", "--input", write("a.ctf", TEXT), "--chunk_size", "1000", "--output", "o.cbf", "--header"]
    missing = batchfeed(*arguments, "nowhere")
    assert missing.code == 3 and "nowhere: cannot open: No such file or directory; hint: " in missing.err
    os.mkfifo(tmp_path / "fifo")
    for refused in ("fifo", "/dev/zero", "."):
        done = batchfeed(*arguments, refused)
        assert done.code == 3 and "regular" in done.err or "irectory" in done.err, done.err
    long = batchfeed(*arguments, write("long", "feat F dense 2\n" * 300_000))
    assert long.code == 3 and "long: has more than 4194304 bytes, the limit" in long.err
    many = "".join(f"s{i} {i} dense 1\n" for i in range(100_000)) + HEADER
    began = time.monotonic()
    done = batchfeed(*arguments, write("many", many + "s0 0 odd 1\n"))
    assert done.code == 3 and "many:100003:1: kind 'odd'" in done.err and "batchfeed check" not in done.err
    assert time.monotonic() - began < 5


def test_names_of_targets_are_shown_so_that_nothing_happens(batchfeed, write, tmp_path):
    source = write("a.ctf", TEXT)
    target = os.fsdecode(b"b\n\xff\x1b[2J.cbf")
    done = [batchfeed("convert", source, target, *more) for more in ([], [], ["--force"])]
    assert [d.code for d in done] == [0, 2, 0]
    for said in (done[0].out, done[1].err, done[2].out):
        assert said.count("\n") == 1 and "\x1b" not in said and "\ufffd" not in said and "b\\x0a\\xff\\x1b[2J.cbf" in said, said
    for command in (["convert", source, ""], ["convert", source, "", "--to", "cbf"], ["shuffle", source, "-o", ""]):
        empty = batchfeed(*command)
        assert empty.code == 2 and ("name of the file to write is empty" in empty.err or "the name is empty" in empty.err), empty.err


def test_of_a_symbolic_link_the_link_is_replaced(batchfeed, write, tmp_path):
    """Keys and companions lie beside the name that is given: behind the link they would not be found again."""
    source, precious = write("a.ctf", TEXT), write("precious", "mine")
    for leads_to in ("precious", "nowhere"):
        (tmp_path / "b.cbf").unlink(missing_ok=True)
        (tmp_path / "b.cbf").symlink_to(leads_to)
        assert batchfeed("convert", source, "b.cbf").code == 2 and (tmp_path / "b.cbf").is_symlink()
        assert batchfeed("convert", source, "b.cbf", "--force", "--keys", "keep", "--verify").code == 0
        assert not (tmp_path / "b.cbf").is_symlink() and (tmp_path / precious).read_text() == "mine"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.ctf", "b.cbf", "b.cbf.keys", "precious"]


def test_ctf2bin_takes_the_originals_arguments(batchfeed, write, tmp_path):
    result = batchfeed("ctf2bin", "--input", write("a.ctf", TEXT), "--header", write("h", HEADER), "--chunk_size", "1000", "--output", "o.cbf")
    assert result.code == 0
    assert (tmp_path / "o.cbf").read_bytes()[:8] == b"nib_ktnc"


@pytest.mark.parametrize("text, sequences", [
    (b"|# a header\n1 |A 1\n1 |A 2\n2 |A 3\n", [[1, 2], [3]]),
    (b"|# a header\nx |A 1\nx |A 2\n", [[1, 2]]),
    (b"\xef\xbb\xbf|A 1\n|A 2\n", [[1], [2]]),
    (gzip.compress(b"|A 1\n|A 2\n"), [[1], [2]]),
    (b"01 |A 1\n1 |A 2\n", [[1], [2]]),
    (b"1 |A 1\nabc |A 2\n1 |A 3\n", [[1], [2], [3]]),
])
def test_ctf2bin_compares_ids_as_text_where_there_are_some(batchfeed, write, tmp_path, text, sequences):
    (tmp_path / "a.ctf").write_bytes(text)
    assert batchfeed("ctf2bin", "--input", "a.ctf", "--header", write("h", "A A dense 1\n"), "--chunk_size", 1, "--output", "o.cbf").code == 0
    batches = batchfeed("read", "o.cbf", "--order", "file", "--minibatch-size", 1).lines
    assert [sum(b["streams"][0]["columns"], []) for b in batches] == sequences


def test_ctf2bin_ends_at_a_name_that_nobody_declared(batchfeed, write, tmp_path):
    done = batchfeed("ctf2bin", "--input", write("a.ctf", "1 |A 1\n2 |A 1 |a 3\n"), "--header", write("h", "n A dense 1\n"), "--chunk_size", 1, "--output", "o.cbf")
    assert done.code == 3 and "a.ctf:2:9 (byte 15): input 'a' is not declared; hint: add it to 'h', in a line: NAME ALIAS dense|sparse DIM; or did you mean 'A'?" in done.err
    assert "batchfeed check" not in done.err
    assert not (tmp_path / "o.cbf").exists()


@pytest.mark.parametrize("line", ["feat F dense", "feat F round 2", "feat F dense two", "feat F dense 0", "feat F dense 2147483648", "feat F dense 9" + 30 * "9", ""])
def test_a_bad_header_line_is_located(batchfeed, write, tmp_path, line):  # ctf2bin.bad-header
    header = write("h", "lab S sparse 5\n" + line + "\n")
    result = batchfeed("ctf2bin", "--input", write("a.ctf", TEXT), "--header", header, "--chunk_size", "1000", "--output", "o.cbf")
    assert result.code == 3
    assert f"{header}:2:1" in result.err and "--raise" not in result.err
    assert not (tmp_path / "o.cbf").exists()


@pytest.mark.parametrize("target, words", [("-", "'-' is standard output"), (".", "'.' is a folder")])
def test_ctf2bin_writes_to_a_file(batchfeed, write, tmp_path, target, words):
    result = batchfeed("ctf2bin", "--input", write("a.ctf", TEXT), "--header", write("h", HEADER), "--chunk_size", "1000", "--output", target)
    assert result.code == 2 and words in result.err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.ctf", "h"]


def test_ctf2bin_takes_the_raise_that_its_messages_name(batchfeed, write, tmp_path):
    arguments = ["ctf2bin", "--input", write("a.ctf", "k" * 5000 + " |F 1 2 |S 1:1\n"), "--header", write("h", HEADER), "--chunk_size", "1000", "--output", "o.cbf"]
    done = batchfeed(*arguments)
    assert done.code == 3 and "allow more with --raise key_bytes=N" in done.err
    assert batchfeed(*arguments, "--raise", "key_bytes=6000").code == 0 and (tmp_path / "o.cbf").exists()


def test_what_cannot_be_asked_for_is_a_matter_of_usage(batchfeed, write, tmp_path):  # convert.no-stream
    source = write("a.ctf", TEXT)
    for arguments, code in ((("--streams", "nothing"), 2), (("--rename", "F=S"), 2), (("--layout", "legacy"), 3)):
        assert batchfeed("convert", source, "b.cbf", *arguments).code == code, "only the data tell what that layout has no place for"
        assert not (tmp_path / "b.cbf").exists()
    assert batchfeed("convert", "missing.ctf", "b.cbf").code == 3


def test_ids_of_text_are_kept_in_text_and_in_another_order(batchfeed, write):
    """Ids 0, 1, 2 say no more than the order, until something joins by words or the order is another one."""
    text = "".join(f"{i} |v {i}\n" for i in range(20))
    write("a.ctf", text)
    for command in (["head", "a.ctf", "-n", 20], ["cat", "a.ctf"], ["sample", "a.ctf", "-n", 20], ["grep", "--key", "*", "a.ctf", "--format", "ctf"]):
        assert batchfeed(*command).out == text, command
    batchfeed("convert", "a.ctf", "b.ctf")
    assert (batchfeed.folder / "b.ctf").read_text() == text
    batchfeed("convert", "a.ctf", "c.ctf", "--keys", "none")
    assert (batchfeed.folder / "c.ctf").read_text() == "".join(f"|v {i}\n" for i in range(20))
    for target in ("s.cbf", "s.ctf"):
        assert batchfeed("shuffle", "a.ctf", "-o", target, "--seed", 3).code == 0
        assert "the same but in another order" in batchfeed("diff", "a.ctf", target).out
    # A text without ids gets none.
    assert batchfeed("cat", "c.ctf").out == "".join(f"|v {i}\n" for i in range(20))


def test_names_that_differ_in_case_alone_are_not_written_as_text(batchfeed, write):
    write("a.ctf", "0 |a 1 |b 2\n")
    assert batchfeed("convert", "a.ctf", "a.cbf", "--rename", "b=A").code == 0
    done = batchfeed("convert", "a.cbf", "b.ctf")
    assert done.code != 0 and "stream 'A': in a text corpus its name is that of stream 'a'" in done.err
    assert batchfeed("convert", "a.cbf", "b.ctf", "--rename", "A=c").code == 0 and batchfeed("check", "b.ctf").code == 0


def test_shards_without_ids_get_none(batchfeed, write):
    for shard in "ab":
        write(f"{shard}.ctf", "".join(f"|x {k} |y {k % 3}:1\n" for k in range(300)))
    text = lambda name: (batchfeed.folder / name).read_text()  # noqa: E731
    assert batchfeed("convert", "a.ctf", "b.ctf", "all.ctf").code == 0 and text("all.ctf") == text("a.ctf") + text("b.ctf")
    assert batchfeed("convert", "a.ctf", "b.ctf", "all.cbf").code == 0 and not (batchfeed.folder / "all.cbf.keys").exists()
    for seed in range(4):  # where an id followed itself, two sequences would have become one
        done = batchfeed("shuffle", "a.ctf", "b.ctf", "-o", "mixed.ctf", "--seed", seed, "--force")
        assert done.code == 0 and sorted(text("mixed.ctf").splitlines()) == sorted(text("all.ctf").splitlines())


def test_ids_that_repeat_are_numbered_on_demand(batchfeed, write):
    for shard in "ab":
        write(f"{shard}.ctf", "7 |x 1\n7 |x 0\n")
    shuffled = lambda *more: batchfeed("shuffle", "a.ctf", "b.ctf", "-o", "mixed.ctf", "--force", *more)  # noqa: E731
    refused = shuffled()
    assert refused.code == 3 and "two sequences with the id '7' follow each other" in refused.err and "--keys number" in refused.err
    assert shuffled("--keys", "number").code == 0
    ids = [line.split()[0] for line in (batchfeed.folder / "mixed.ctf").read_text().splitlines()]
    assert ids in (["0", "0", "1", "1"], ["1", "1", "0", "0"])


@pytest.mark.parametrize("command", [["convert", "a.ctf", "a.ctf"], ["shuffle", "a.ctf", "-o", "a.ctf"], ["merge", "b.ctf", "a.ctf", "-o", "a.ctf"]])
def test_a_text_is_not_replaced_without_the_streams_that_were_taken_for_slips(batchfeed, write, tmp_path, command):
    text = "".join(f"{i} |x {i}{' |z 7' if i == 5 else ''}\n" for i in range(30))
    write("a.ctf", text), write("b.ctf", "30 |x 1\n")
    done = batchfeed(*command, "--force")
    assert done.code == 2 and "'a.ctf' is what is read, and only a part of it would be left" in done.err, done.err
    assert (tmp_path / "a.ctf").read_text() == text
    write("a.ctf", text.replace(" |z 7", ""))
    assert batchfeed(*command, "--force").code == 0


def test_a_list_is_not_replaced_without_its_repeated_keys(batchfeed, write, tmp_path):
    (tmp_path / "f.ark").write_bytes(b"a \0BFV \4\1\0\0\0\0\0\x80\x3f")
    listed = "a f.ark:2\na f.ark:2\n"
    write("f.scp", listed)
    done = batchfeed("convert", "f.scp", "f.scp", "--force")
    assert done.code != 0 and "part of" in done.err, done.err
    assert (tmp_path / "f.scp").read_text() == listed
    assert batchfeed("convert", "f.scp", "g.scp").code == 0
