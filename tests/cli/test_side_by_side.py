# SPDX-License-Identifier: MIT
"""Corpora that become one, are compared or are taken apart: classes, keys and headers stay what they were."""
import struct

import pytest

from test_speech import htk

A = '#!MLF!#\n"*/u1.lab"\n0 200000 a\n200000 300000 b\n.\n'
B = '#!MLF!#\n"*/u2.lab"\n0 200000 b\n200000 300000 c\n.\n'
CONFIG = """reader = [ randomize = false ; deserializers = (
  [ type = "HTKFeatureDeserializer" ; module = "HTKDeserializers" ; input = [ features = [ dim = 2 ; scpFile = "{scp}" ] ] ] :
  [ type = "HTKMLFDeserializer" ; module = "HTKDeserializers" ; input = [ labels = [ labelDim = 4 ; mlfFile = "{mlf}" ; labelMappingFile = "{states}" ] ] ] ) ]
"""


@pytest.fixture
def labels(write):
    write("a.mlf", A), write("b.mlf", B), write("other.mlf", B.replace("u2", "u1"))


def test_classes_of_label_files_are_numbered_by_the_names_of_all(batchfeed, labels, tmp_path):
    assert batchfeed("merge", "a.mlf", "b.mlf", "-o", "all.mlf", "--verify").code == 0
    assert (tmp_path / "all.mlf").read_text() == A + B.removeprefix("#!MLF!#\n")
    assert batchfeed("merge", "a.mlf", "b.mlf", "-o", "all.ctf").code == 0
    assert [line.split()[2] for line in (tmp_path / "all.ctf").read_text().splitlines()] == ["0:1", "0:1", "1:1", "1:1", "1:1", "2:1"]
    done = batchfeed("diff", "a.mlf", "other.mlf")
    assert done.code == 1 and "1 different" in done.out
    assert batchfeed("diff", "a.mlf", "a.mlf").code == 0
    mixed = batchfeed("read", "a.mlf", "b.mlf", "--mix-weights", "1,1", "--minibatch-size", 3, "--epoch-size", 60, "--format", "jsonl")
    assert mixed.code == 0, mixed.err
    streams = [line["streams"][0] for line in mixed.lines]
    assert {s["layout"][0]["key"]: s["rows"] for s in streams} == {"u1": [0, 0, 1], "u2": [1, 1, 2]}
    assert all(s["shape"] == [3] for s in streams)


def test_lists_of_states_have_to_agree(batchfeed, labels, write, tmp_path):  # mlf.other-states
    write("f.htk", htk(range(6)))
    for states, names in (("ab", "a\nb\nc\n"), ("ba", "b\na\nc\n"), ("abc", "a\nb\nc\nd\n")):
        write(states, names)
        for mlf, key in (("a", "u1"), ("b", "u2")):
            write(f"{mlf}.scp", f"{key}.htk=f.htk[0,2]\n")
            write(f"{mlf}-{states}.cntk", CONFIG.format(scp=f"{mlf}.scp", mlf=f"{mlf}.mlf", states=states))
    for command in (["merge", "-o", "o.mlf", "--streams", "labels"], ["diff"], ["read", "--mix-weights", "1,1"]):
        done = batchfeed(command[0], "a-ab.cntk", "b-ba.cntk", *command[1:])
        assert done.code == 3 and "ba:1:1: class 0 of 'labels' is 'b' here and 'a' in ab:1" in done.err, done.err
    assert batchfeed("merge", "a-abc.cntk", "b-ab.cntk", "-o", "o.mlf", "--streams", "labels").code == 0, "one is longer"
    assert (tmp_path / "o.mlf").read_text() == A + B.removeprefix("#!MLF!#\n")
    # What has no list takes that of the other.
    assert batchfeed("convert", "b-ba.cntk", "b.ctf", "--streams", "labels").code == 0
    assert batchfeed("diff", "b-ba.cntk", "b.mlf", "--streams", "labels").code == 0


def test_every_part_of_labels_has_names(batchfeed, write, tmp_path):
    write("c.mlf", '#!MLF!#\n"*/u1.lab"\n0 200000 a\n.\n"*/u2.lab"\n0 200000 b\n.\n')
    write("states", "b\na\n")
    for states in ([], ["--state-list", "states"]):
        assert batchfeed("split", "c.mlf", *states, "--part", "p.ctf=0.5", "--part", "q.mlf", "--exact", "--force").code == 0
        assert (tmp_path / "q.mlf").read_text().splitlines()[2] in ("0 200000 a", "0 200000 b")


def test_merge_numbers_what_has_no_ids_where_the_target_needs_keys(batchfeed, write, tmp_path):
    write("a.ctf", "|x 1\n|x 2\n"), write("b.ctf", "|x 3\n|x 4\n")
    done = batchfeed("merge", "a.ctf", "b.ctf", "-o", "k.scp")
    assert done.code == 0, done.err
    assert (tmp_path / "k.scp").read_text() == "".join(f"{i}.htk=.../k.htk[{i},{i}]\n" for i in range(4))
    write("c.ctf", "|l 0:1\n"), write("d.ctf", "|l 1:1\n")
    assert batchfeed("merge", "c.ctf", "d.ctf", "-o", "k.mlf").code == 0


DEFINING = """reader = [ randomize = false ; deserializers = (
  [ type = "CNTKTextFormatDeserializer" ; module = "CNTKTextFormatReader" ; file = "l.ctf" ; input = [ y = [ dim = 1 ; format = "dense" ; definesMBSize = true ] ] ] :
  [ type = "CNTKTextFormatDeserializer" ; module = "CNTKTextFormatReader" ; file = "f.ctf" ; input = [ x = [ dim = 1 ; format = "dense" ] ] ] ) ]
"""


def claiming_one(sequences):
    """A binary corpus of a stream x whose sequences are said to have one sample."""
    data = struct.pack("<QI", 0x636E746B5F62696E, 1) + struct.pack(f"<{len(sequences)}I", *[1] * len(sequences))
    data += b"".join(struct.pack(f"<I{len(s)}f", len(s), *s) for s in sequences)
    table = struct.pack("<QII", 0x636E746B5F62696E, 1, 1) + struct.pack("<BI", 0, 1) + b"x" + struct.pack("<BI", 0, 1)
    return data + table + struct.pack("<qIIq", 12, len(sequences), len(sequences), len(data))


def test_text_has_ids_where_a_stream_is_longer_than_what_is_counted(batchfeed, write, tmp_path):
    write("f.ctf", "0 |x 1\n0 |x 2\n1 |x 3\n1 |x 4\n2 |x 5\n"), write("l.ctf", "0 |y 1\n1 |y 0\n2 |y 1\n")
    write("j.cntk", DEFINING)
    write("c.cbf", claiming_one([[1, 2], [3, 4], [5, 6]])), write("one.cbf", claiming_one([[1], [2]]))
    joined, alone = "0 |y 1 |x 1\n0 |x 2\n1 |y 0 |x 3\n1 |x 4\n2 |y 1 |x 5\n", "0 |x 1\n0 |x 2\n1 |x 3\n1 |x 4\n2 |x 5\n"
    binary = "0 |x 1\n0 |x 2\n1 |x 3\n1 |x 4\n2 |x 5\n2 |x 6\n"
    for corpus, streams, text in (("j.cntk", [], joined), ("j.cntk", ["--streams", "x"], alone), ("c.cbf", [], binary),
                                  ("one.cbf", [], "|x 1\n|x 2\n")):
        assert batchfeed("cat", corpus, *streams).out == text
        for command in (["convert", corpus, "o.ctf"], ["merge", corpus, "-o", "o.ctf"], ["head", corpus, "-o", "o.ctf"]):
            done = batchfeed(*command, *streams, "--force", "--verify")
            assert done.code == 0, done.err
            assert (tmp_path / "o.ctf").read_text() == text


def test_features_keep_kind_and_period(batchfeed, write, tmp_path):  # convert.header-differs
    write("in.htk", htk(range(12), period=50000, kind=0o406)), write("user.htk", htk(range(4)))
    write("in.scp", "u.mfc=in.htk[0,2]\nv.mfc=in.htk[3,5]\n"), write("user.scp", "w.mfc=user.htk[0,1]\n")
    header = lambda name: struct.unpack(">iihH", (tmp_path / name).read_bytes()[:12])[1::2]
    for command, file in ((["convert", "in.scp", "o.scp"], "o"), (["split", "in.scp", "--part", "p.ctf=0.5", "--part", "q.scp", "--exact"], "q"),
                          (["head", "in.scp", "-n", 1, "-o", "h.scp"], "h"), (["shuffle", "in.scp", "-o", "s.scp"], "s"),
                          (["merge", "in.scp", "-o", "m.scp"], "m")):
        assert batchfeed(*command).code == 0
        assert header(f"{file}.htk") == (50000, 0o406), command
    done = batchfeed("merge", "in.scp", "user.scp", "-o", "both.scp")
    assert done.code == 2 and "--parameter-kind USER" in done.err and not (tmp_path / "both.scp").exists()
    done = batchfeed("merge", "in.scp", "user.scp", "-o", "both.scp", "--parameter-kind", "USER")
    assert done.code == 2 and "--frame-period 100000" in done.err
    assert batchfeed("merge", "in.scp", "user.scp", "-o", "both.scp", "--parameter-kind", "USER", "--frame-period", 70000).code == 0
    assert header("both.htk") == (70000, 9)
    assert batchfeed("head", "in.scp", "-o", "k.scp", "--parameter-kind", "FBANK").code == 0
    assert header("k.htk") == (50000, 7)
    assert batchfeed("head", "in.scp", "-o", "l.scp", "--parameter-kind", "NONE").code == 2


def test_sparse_features_are_verified(batchfeed, write):
    write("sp.ctf", "u1 |x 3:1\nu1 |x 1:2 3:1\n")
    done = batchfeed("convert", "sp.ctf", "sp.scp", "--verify")
    assert done.code == 0 and "verified" in done.out, done.err
