# SPDX-License-Identifier: MIT
"""Damage does not end the commands that look at data: of each kind the first place is told, the rest is counted."""
import gzip
import struct

import pytest

GOOD = "".join(f"{key} |v {key} 1 |t {key % 5}:1\n" for key in range(40))
# A number that is none, a sequence without 't', and another one.
BAD = GOOD.replace("3 |v 3 1", "3 |v x 1").replace("5 |v 5 1 |t 0:1", "5 |v 5 1").replace("7 |v 7 1 |t 2:1", "7 |v 7 1")


def test_looking_goes_on_where_reading_ends(batchfeed, write):
    write("a.ctf", BAD)
    for command in ("info", "stats", "schema"):
        done = batchfeed(command, "a.ctf")
        assert done.code == 0 and done.out, (command, done.err)
    for command in (["read"], ["cat"], ["bench"], ["convert", "a.ctf", "b.ctf"], ["head", "-o", "b.ctf"], ["sample", "-o", "b.ctf"]):
        done = batchfeed(command[0], "a.ctf", *[word for word in command[1:] if word != "a.ctf"])
        assert done.code == 3, command
        last = done.err.splitlines()[-1]
        assert last.startswith("a.ctf:4:") and last.endswith("; batchfeed check lists every fault"), (command, done.err)
        assert not (batchfeed.folder / "b.ctf").exists()


def test_head_shows_what_there_is(batchfeed, write):
    write("a.ctf", BAD)
    view = batchfeed("head", "a.ctf", "--format", "view", "-n", 8)
    assert view.code == 0
    at = view.out.splitlines().index("a.ctf:6: key 5, 1 sample; damaged, a reader leaves it out")
    assert view.out.splitlines()[at + 1:at + 3] == ["  v  [5 1]", "  t  no sample"]
    told = view.err.splitlines()
    assert told[0].startswith("a.ctf:4:6") and told[1].startswith("a.ctf:6:1")
    assert told[2:] == ["batchfeed: 3 sequences are damaged; hint: batchfeed check lists the faults",
                        "batchfeed: 1 more like it; hint: batchfeed check lists them all"]
    ctf = batchfeed("head", "a.ctf", "-n", 8)
    assert ctf.code == 0 and ctf.out == "".join(line + "\n" for line in GOOD.splitlines()[:8] if line[0] not in "357")
    assert "3 sequences left out, damaged" in ctf.err
    quiet = batchfeed("head", "a.ctf", "-n", 8, "-q")
    assert (quiet.out, quiet.err) == (ctf.out, "")
    assert batchfeed("sample", "a.ctf", "-n", 40).out.count("\n") == 37
    assert batchfeed("grep", "a.ctf", "--value", "v[0] > 30", "--count").out == "9\n"


def test_head_of_a_long_file_reads_its_beginning_only(batchfeed, write):
    write("a.ctf.gz", gzip.compress((BAD + "".join(f"{key} |v 1 1 |t 1:1\n" for key in range(40, 150_000))).encode()))
    done = batchfeed("head", "a.ctf.gz", "--format", "view", "-n", 6)
    assert done.code == 0 and "a.ctf.gz:6: key 5, 1 sample; damaged" in done.out and "memory:" not in done.err + done.out


def htk(frames):
    return struct.pack(">iihh", len(frames), 100000, 4, 9) + struct.pack(f">{len(frames)}f", *frames)


def test_lists_that_lead_nowhere(batchfeed, write):
    write("x.htk", htk([1, 2, 3, 4]))
    write("x.scp", "a=x.htk[0,1]\nb=gone.htk[0,1]\nc=x.htk[3,2]\nd=missing.htk\ne=x.htk[2,3]\n")
    done = batchfeed("info", "x.scp")
    assert done.code == 0 and "2 sequences, 4 samples" in done.out
    told = done.err.splitlines()
    assert len(told) == 3 and told[0].startswith("x.scp:3:") and ".htk: cannot open" in told[1]
    assert told[2] == "batchfeed: 1 more like it; hint: batchfeed check lists them all"
    assert batchfeed("stats", "x.scp").code == 0
    assert batchfeed("report", "x.scp", "--json").json["faults"] == 3
    check = batchfeed("check", "x.scp")
    assert check.code == 1 and "18446744073709551615" not in check.out and check.out.endswith(": 3 faults\n")


def test_labels_that_are_not_in_the_list(batchfeed, write):
    write("a.mlf", '#!MLF!#\n"u.lab"\n0 200000 x\n.\n"v.lab"\n0 200000 y\n.\n"w.lab"\n0 300000 x\n.\n')
    write("states", "x\nz\n")
    done = batchfeed("info", "a.mlf", "--state-list", "states")
    assert done.code == 0 and "1 of 2 classes occur" in done.out and "5" in done.out
    assert batchfeed("head", "a.mlf", "--state-list", "states", "--format", "view").out.count("damaged") == 1


def test_a_file_that_cannot_be_opened_at_all_is_a_finding(batchfeed, write):
    write("a.ctf", GOOD)
    assert batchfeed("convert", "a.ctf", "a.cbf").code == 0
    write("cut.cbf", (batchfeed.folder / "a.cbf").read_bytes()[:-40])
    done = batchfeed("check", "cut.cbf", "--json")
    assert done.code == 1 and done.err == "" and not done.json["complete"] and len(done.json["findings"]) == 1
    assert batchfeed("check", "cut.cbf").out.endswith("1 fault; the data could not be read\n")
    assert batchfeed("check", "none.cbf").code == 3


def test_what_a_file_asks_for_beyond_a_limit_is_a_finding(batchfeed, write):
    text = write("many.ctf", " ".join(f"|s{i} 1" for i in range(1025)) + "\n")
    found = batchfeed("check", text, "--json")
    assert found.code == 1 and found.json["by_id"] == {"limit.streams": 1} and not found.json["complete"], found.err
    assert found.json["findings"][0]["kind"] == "limit" and found.json["findings"][0]["line"] == 1
    assert batchfeed("check", text).out.endswith("1 fault; the data could not be read\n")
    assert batchfeed("check", text, "--raise", "streams=1025").code == 0
    assert batchfeed("read", text).code == 3


def test_a_slip_in_a_name_makes_no_stream(batchfeed, write):  # infer.rare-stream
    write("a.ctf", GOOD.replace("17 |v", "17 |w"))
    told = ("a.ctf:18 (byte {}): stream 'w' stands in 1 of 40 sequences only; taken for a slip and not read; hint: mend the name, or "
            "declare the stream in a configuration (batchfeed schema writes one)")
    info = batchfeed("info", "a.ctf")
    assert info.code == 0 and " w " not in info.out
    assert info.err.startswith("a.ctf:18 (byte") and told.split("): ")[1] in info.err
    check = batchfeed("check", "a.ctf")
    assert check.code == 1 and told.split("): ")[1] in check.out and "stream 'v' of sequence 17: no sample" in check.out
    assert check.out.endswith("1 fault, 1 warning\n")
    piped = batchfeed("check", "-", stdin=(batchfeed.folder / "a.ctf").read_bytes())
    assert piped.out == check.out.replace("a.ctf:", "-:")
    write("a.ctf", GOOD + "17 |w 1\n")  # a line without a stream that is read is no sequence whose id comes back
    for arguments, text in (["a.ctf"], b""), (["-"], (batchfeed.folder / "a.ctf").read_bytes()):
        assert batchfeed("check", *arguments, "--json", stdin=text).json["by_id"] == {"infer.rare-stream": 1}
        assert batchfeed("check", *arguments, "--json", stdin=text).json["sources"] == 1
    write("b.ctf", GOOD.replace("|v 1 1", "|w 1 1").replace("|v 2 1", "|w 2 1").replace("|v 3 1", "|w 3 1").replace("|v 4 1", "|w 4 1"))
    assert "  w " in batchfeed("info", "b.ctf").out  # one in ten is no slip


@pytest.mark.parametrize("shape", ["corpus", "joined"])
def test_check_counts_sources_by_themselves(batchfeed, write, shape):
    write("x.htk", htk([1, 2, 3, 4]))
    write("x.scp", "u=x.htk[0,1]\nv=x.htk[2,3]\n")
    write("x.mlf", '#!MLF!#\n"u.lab"\n0 200000 x\n.\n"v.lab"\n0 200000 y\n.\n')
    joined = shape == "joined"
    out = batchfeed("check", "x.scp", *(["x.mlf"] if joined else [])).out
    assert out.startswith("checked 8 samples in 4 sequences of 2 sources, " if joined else "checked 4 samples in 2 sequences, ")


def test_a_folder_is_not_a_corpus_but_its_files_are(batchfeed, write):
    (batchfeed.folder / "parts").mkdir()
    write("parts/a.ctf", GOOD)
    write("parts/b.ctf", GOOD)
    done = batchfeed("info", "parts")
    assert done.code == 3 and "'FOLDER/*.ctf'" in done.err
    assert "80 sequences" in batchfeed("info", "parts/*.ctf").out
