# SPDX-License-Identifier: MIT
"""Speech files without a configuration, and as targets of convert."""
import json
import resource
import struct
import subprocess

import pytest

from conftest import BINARY

MLF = '#!MLF!#\n"*/d/u.lab"\n0 200000 sil\n200000 300000 b\n.\n"*/v.lab"\n0 100000 b\n100000 300000 sil\n.\n'
COMMANDS = (["info"], ["check"], ["read"], ["plan"])


def htk(values, dim=2, period=100000, kind=9):
    return struct.pack(">iihH", len(values) // dim, period, 4 * dim, kind) + struct.pack(f">{len(values)}f", *values)


def kaldi(key, rows):
    size = lambda n: b"\4" + struct.pack("<i", n)
    return key + b" \0BFM " + size(len(rows)) + size(len(rows[0])) + b"".join(struct.pack(f"<{len(r)}f", *r) for r in rows)


@pytest.fixture
def corpus(write):
    write("in.htk", htk(range(12)))
    write("in.scp", "d/u.mfc=in.htk[0,2]\nv.mfc=in.htk[3,5]\n")
    write("in.mlf", MLF)
    write("states", "a\nb\nsil\n")
    write("in.bin", b"MLF\2\0\1\0v\3\0\0\0\1\0\5\0\3\0")
    write("in.ark", kaldi(b"u", [[1, 2], [3, 4]]))
    write("ali.ark", "u 0 3\n")
    write("kaldi.scp", "u in.ark:2\n")
    write("one.htk", htk([1, 2]))


@pytest.mark.parametrize("files", [["in.scp"], ["in.mlf"], ["in.bin", ], ["in.htk"], ["one.htk"], ["in.ark"], ["ali.ark"], ["kaldi.scp"],
                                   ["in.scp", "in.mlf"], ["in.mlf", "in.scp"], ["kaldi.scp", "ali.ark"]])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c[0])
def test_files_need_no_configuration(batchfeed, corpus, files, command):
    result = batchfeed(command[0], *files, *command[1:])
    assert result.code == 0, result.err
    assert result.err == ""


def test_of_labels_the_first_line_alone_is_known(batchfeed, corpus):
    assert [line["lines"] for line in batchfeed("head", "in.mlf", "--json").lines] == [[2, None], [6, None]]
    told = json.loads(batchfeed("read", "in.mlf", "--explain", 0, "--format", "jsonl").out)
    assert [s["place"]["lines"] for s in told["ranks"][0]["sequences"]] == [[2, None], [6, None]]


def test_info_tells_hours_and_labels_and_states_never_seen(batchfeed, corpus):
    text = batchfeed("info", "in.scp", "in.mlf", "--state-list", "states").out
    for words in ("6 frames of 10 ms (0.06 s), 2 utterances", "never seen: a", "2 of 3 classes occur", "66.67 %", "up to 0.05 s"):
        assert words in text, words
    speech = batchfeed("info", "in.scp", "in.mlf", "--state-list", "states", "--json").json["speech"]
    assert [s["stream"] for s in speech] == ["features", "labels"]
    assert speech[0]["kind"] == "USER" and speech[0]["hours"] == 0.06 / 3600
    assert speech[1]["never_seen"] == ["a"]
    assert speech[1]["labels"][2] == {"name": "sil", "class": 2, "frames": 4, "segments": 2}


def test_check_lists_what_is_wrong_with_bare_files(batchfeed, corpus, write):
    write("bad.mlf", MLF + '"w"\n0 100000 sil\n200000 300000 b\n.\n')
    result = batchfeed("check", "in.scp", "bad.mlf", "--json")
    assert result.code == 1
    assert result.json["by_id"]["mlf.gap"] == 1
    write("half.scp", "d/u.mfc=in.htk[0,2]\nx.mfc=in.htk[3,5]\n")
    assert "partner" in batchfeed("check", "half.scp", "in.mlf").out + batchfeed("check", "half.scp", "in.mlf").err


def test_features_and_labels_go_to_binary_and_back(batchfeed, corpus, tmp_path):
    assert batchfeed("convert", "in.scp", "in.mlf", "x.cbf", "--verify", "--state-list", "states").code == 0
    assert batchfeed("convert", "x.cbf", "y.scp", "--streams", "features", "--verify").code == 0
    assert (tmp_path / "y.htk").read_bytes() == (tmp_path / "in.htk").read_bytes()
    assert (tmp_path / "y.scp").read_text() == "d/u.htk=.../y.htk[0,2]\nv.htk=.../y.htk[3,5]\n"
    assert batchfeed("convert", "x.cbf", "y.mlf", "--streams", "labels", "--state-list", "states").code == 0
    assert (tmp_path / "y.mlf").read_text() == MLF
    result = batchfeed("convert", "x.cbf", "z.scp")
    assert result.code == 3 or result.code == 2
    assert "--streams" in result.err and not (tmp_path / "z.scp").exists()


def test_layouts_and_headers(batchfeed, corpus, tmp_path):
    assert batchfeed("convert", "in.ark", "k.scp", "--parameter-kind", "FBANK_D", "--frame-period", "50000").code == 0
    assert (tmp_path / "k.htk").read_bytes() == htk([1, 2, 3, 4], period=50000, kind=0o407)
    assert batchfeed("convert", "in.scp", "f.scp", "--layout", "files").code == 0
    assert (tmp_path / "f.htk/d/u.htk").read_bytes() == htk(range(6))
    assert batchfeed("convert", "in.mlf", "b.bin", "--to", "mlf", "--layout", "binary").code == 0
    assert (tmp_path / "b.bin").read_bytes()[:3] == b"MLF"
    assert batchfeed("convert", "in.scp", "g.scp", "--layout", "legacy").code == 2
    assert batchfeed("convert", "in.scp", "g.scp", "--parameter-kind", "MFCC_C").code in (2, 3)


def test_paths_of_another_machine_are_mapped(batchfeed, corpus, write):
    write("unc.scp", "u.mfc=\\\\host\\share\\in.htk[0,2]\n")
    assert batchfeed("info", "unc.scp").code == 3
    assert batchfeed("info", "unc.scp", "--map-path", "//host/share/=./").code == 0
    assert batchfeed("info", "unc.scp", "--map-path", "nothing").code == 2


def test_the_index_tells_the_figures_of_each_label_file(batchfeed, write):
    write("a.mlf", MLF), write("b.mlf", MLF.replace("u.lab", "x.lab").replace("v.lab", "y.lab"))
    write("open.mlf", '#!MLF!#\n"*/u1.lab"\n0 200000 a\n200000 300000 b\n'), write("none.mlf", "#!MLF!#\n")
    for valid in (False, True):
        both = batchfeed("index", "a.mlf", "b.mlf", "--json").json["sources"]
        assert [(s["sequences"], s["samples"], s["chunks"], s["was_valid"]) for s in both] == [(2, 6, 1, valid)] * 2
    done = batchfeed("index", "open.mlf")
    assert done.code == 0 and "1 sequence, 3 samples" in done.out and "not kept: its last utterance has no end line" in done.out
    done = batchfeed("index", "a.mlf", "none.mlf")
    assert done.code == 0 and "nothing to keep: there is no utterance in it" in done.out


@pytest.mark.parametrize("object", [b"0 9 3 1 0\n", b"\0B\4" + struct.pack("<i", 5) + b"".join(b"\4" + struct.pack("<i", v) for v in (0, 9, 3, 1, 0))])
def test_classes_are_counted_in_the_ranges_that_a_list_names(batchfeed, write, object):
    write("a.ark", b"u " + object)
    write("a.scp", "a a.ark:2[2:3]\nb a.ark:2[0:0]\nc a.ark:2[2:4]\n")
    assert [s["dim"] for s in batchfeed("info", "a.scp", "--json").json["streams"]] == [4]
    assert [s["streams"]["labels"] for s in batchfeed("cat", "a.scp", "--format", "jsonl").lines] == [
        [[[3, 1]], [[1, 1]]], [[[0, 1]]], [[[3, 1]], [[1, 1]], [[0, 1]]]]


def test_a_schema_for_speech_names_the_precision(batchfeed, corpus):
    text = batchfeed("schema", "in.scp", "in.mlf", "--state-list", "states", "--precision", "double", "-o", "d.cntk", "--json").json["configuration"]
    assert '    precision = "double"\n' in text
    assert [s["dtype"] for s in batchfeed("info", "d.cntk", "--json").json["streams"]] == ["float64", "float64"]
    assert "precision" not in batchfeed("schema", "in.scp").out


def test_the_index_of_labels_is_kept(batchfeed, corpus, tmp_path):
    assert "kept in" in batchfeed("index", "in.mlf").out
    assert (tmp_path / "in.mlf.bfindex").exists()
    assert "is valid" in batchfeed("index", "in.mlf").out
    assert "valid" in batchfeed("info", "in.mlf").out
    with_cache = batchfeed("read", "in.mlf", "--cache-index")
    (tmp_path / "in.mlf.bfindex").unlink()
    assert with_cache.out == batchfeed("read", "in.mlf").out


def test_many_files_need_few_descriptors(corpus, write, tmp_path):
    """A file for each utterance, shuffled by several threads, with fewer descriptors than files."""
    lines = []
    for i in range(300):
        write(f"f{i}.htk", htk([i, i, i, i]))
        lines.append(f"u{i}.mfc=f{i}.htk[0,1]\n")
    write("many.scp", "".join(lines))

    def run(*arguments):
        limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))
        return subprocess.run([BINARY, *arguments], cwd=tmp_path, capture_output=True, preexec_fn=limit, timeout=60)

    done = run("read", "many.scp", "--order", "uniform", "--seed", "1", "--threads", "4", "--minibatch-size", "64")
    assert done.returncode == 0, done.stderr
    values = [c[0] for line in done.stdout.splitlines() for s in json.loads(line)["streams"] for c in s["columns"]]
    assert sorted(v for v in values) == sorted(list(range(300)) * 2)
    assert run("check", "many.scp", "--threads", "4").returncode == 0
    assert run("convert", "many.scp", "all.scp", "--verify", "-j", "4").returncode == 0
    assert run("convert", "many.scp", "again.scp", "--layout", "files").returncode == 0


def test_what_does_not_fit_together_is_counted_once_and_listed_by_check(batchfeed, corpus, write):
    write("part.scp", "d/u.mfc=in.htk[0,2]\nx.mfc=in.htk[3,5]\n")
    write("short.mlf", '#!MLF!#\n"d/u"\n0 200000 a\n.\n"y"\n0 100000 a\n.\n')
    read = batchfeed("read", "part.scp", "short.mlf")
    assert [line.split(":", 1)[0] for line in read.err.splitlines()] == ["batchfeed"] * 3, read.err
    assert "1 of 2 sequences of 'features' have no partner in 'labels' and were left out, first: x" in read.err
    check = batchfeed("check", "part.scp", "short.mlf")
    assert "in.htk (byte 36): warning: sequence 'x' of 'features' has no partner in 'labels'; left out" in check.out
    assert "short.mlf:5: warning: sequence 'y' of 'labels' has no partner" in check.out
    assert "sequence 'd/u' has 3 samples in 'features' and 2 in 'labels'" in check.out
    by_id = batchfeed("check", "part.scp", "short.mlf", "--json").json["by_id"]
    assert by_id["join.no-partner"] == 2 and by_id["join.unequal-length"] == 1
    none = batchfeed("read", "one.htk", "short.mlf")
    assert none.code == 3 and "the first of 'features': 'one', of 'labels': 'd/u'" in none.err


FRAMES = """R = [ frameMode = true ; randomize = false ; maxErrors = MOST ; deserializers = (
  [ type = "HTKFeatureDeserializer" ; module = "HTKDeserializers" ; input = [ features = [ dim = 2 ; scpFile = "in.scp" ] ] ] :
  [ type = "HTKMLFDeserializer" ; module = "HTKDeserializers" ; input = [ labels = [ labelDim = 3 ; mlfFile = "l.mlf" ; labelMappingFile = "states" ] ] ] ) ]
"""


def test_frames_without_a_label_are_damaged_and_counted(batchfeed, corpus, write):
    def read(first, second, most, size=256):
        write("l.mlf", f'#!MLF!#\n"d/u"\n0 {first} a\n.\n"v"\n0 {second} b\n.\n')
        write("in.cntk", FRAMES.replace("MOST", str(most)))
        return batchfeed("read", "in.cntk", "--minibatch-size", size, "--format", "jsonl")

    short = read(3, 2, 0)
    assert short.code == 3 and "3 damaged sequences, maxErrors tolerates 0" in short.err
    assert "1 of 2 sequences of 'features' have fewer samples in 'labels' and are not delivered; they count against maxErrors, first:" in short.err
    check = batchfeed("check", "in.cntk")
    assert check.code == 1 and "sequence 'v' has 3 samples in 'features' and 2 in 'labels'; not delivered\n" in check.out
    assert ": warning" not in check.out and check.out.endswith(": 1 fault\n")
    # Those of a minibatch of their own count as well.
    assert read(3, 2, 0, size=3).code == 3
    left = read(3, 2, 3)
    assert left.code == 0 and "3 sequences left out, as they are damaged" in left.err
    assert [m["streams"][1]["S"] for m in left.lines] == [3] and left.lines[-1]["position"] == 6
    long = read(3, 4, 0)
    assert long.code == 0 and "have more samples in 'labels', of which the last are not used, first: v" in long.err
    assert [m["streams"][1]["S"] for m in long.lines] == [6]
    assert batchfeed("check", "in.cntk").out.endswith(": no fault, 1 warning\n")


def test_check_and_read_agree_on_lengths_that_truncated_packing_refuses(batchfeed, corpus, write):
    write("l.mlf", '#!MLF!#\n"d/u"\n0 3 a\n.\n"v"\n0 2 b\n.\n')
    for packing, code in ("", 0), ("truncated = true ; truncationLength = 2", 1):
        write("in.cntk", FRAMES.replace("MOST", "0").replace("frameMode = true", packing))
        check = batchfeed("check", "in.cntk", "--json")
        assert check.code == code and check.json["sequences"] == 4
        assert check.json["by_id"] == {"join.unequal-length": 1, **({"pack.truncated-lengths": 1} if code else {})}
        read = batchfeed("read", "in.cntk", "--format", "none")
        assert read.code == 3 * code
        assert "1 of 2 sequences of 'features' have another length in 'labels' and are joined as they are, first: v" in read.err  # whether they are delivered depends on the packing


def test_a_command_that_writes_reads_one_utterance_after_the_other(batchfeed, write):
    write("long.htk", htk(range(24)))
    write("vector.htk", htk([7, 8]))
    write("f.scp", "b=long.htk[0,4]\na=long.htk[5,10]\nc=long.htk[11,11]\n")
    write("v.scp", "a=vector.htk[0,0]\nb=vector.htk[0,0]\nc=vector.htk[0,0]\n")
    write("in.cntk", """Write = [ action = "write" ; reader = [ readerType = "HTKMLFReader" ; randomize = "auto" ; frameMode = true
      f = [ dim = 2 ; scpFile = "f.scp" ]
      v = [ dim = 2 ; scpFile = "v.scp" ] ] ]""")
    read = batchfeed("read", "in.cntk", "--minibatch-size", 1000, "--format", "jsonl")
    assert read.code == 0 and read.err == "", read.err
    assert [[s["T"] for s in m["streams"]] for m in read.lines] == [[5, 5], [6, 6], [1, 1]]
    assert [m["streams"][1]["columns"] for m in read.lines][0] == [[7, 8]] * 5
    write("v.scp", "a=vector.htk[0,0]\nb=long.htk[0,1]\nc=vector.htk[0,0]\n")
    wrong = batchfeed("read", "in.cntk")
    assert wrong.code == 3 and "sequence 'b' has 5 frames in 'f', but 2 in 'v'" in wrong.err, wrong.err


def test_a_list_of_states_is_known_for_what_it_is(batchfeed, write):
    write("state.list", "sil\na_s2\na_s3\n")
    done = batchfeed("info", "state.list")
    assert done.code == 3 and "--state-list" in done.err
    write("prose.txt", "three words here\nand more\n")
    assert "--state-list" not in batchfeed("info", "prose.txt").err


def test_tables_of_others_are_told_by_their_looks(batchfeed, write):
    for name, text, words in (("t.csv", "a,b\n1,2\n", "from_pandas()"), ("t.json", '{"a":[1,2]}\n', "name a .cntk"),
                              ("u.csv", "id,weight,file\n1,0.5,a/b.wav\n", "from_pandas()"), ("v.tsv", "1\t0.5\n", "from_pandas()"),
                              ("savetxt.txt", "0.1 -2e-3\n0.3 0.4\n", "from_pandas()"),
                              ("t.svm", "1 qid:3 1:0.5 2:0.3\n0 qid:3 1:0.1 7:0.2\n", "from_svmlight()")):
        write(name, text)
        done = batchfeed("info", name)
        assert done.code == 3 and done.err.startswith(f"{name}: neither a configuration nor a corpus") and words in done.err

@pytest.mark.parametrize("command", [["convert", "part.scp", "x.scp"], ["convert", "part.scp", "x.htk"], ["convert", "part.scp", "x.htk", "--to", "cbf"],
                                     ["merge", "part.scp", "-o", "x.scp"], ["shuffle", "part.scp", "-o", "x.scp"]])
def test_an_archive_is_not_replaced_by_what_another_list_names_of_it(batchfeed, write, tmp_path, command):
    write("x.htk", htk(range(12))), write("x.scp", "u.mfc=x.htk[0,2]\nv.mfc=x.htk[3,5]\n"), write("part.scp", "u.mfc=x.htk[0,1]\n")
    done = batchfeed(*command, "--force")
    assert done.code == 2 and "'x.htk' is what is read, and only a part of it would be left" in done.err, done.err
    assert (tmp_path / "x.htk").read_bytes() == htk(range(12))
    assert batchfeed("convert", "x.scp", "x.scp", "--force").code == 0


@pytest.mark.parametrize("source", ["other.scp", "other.cntk"])
def test_a_folder_of_features_is_not_replaced_by_what_another_list_names_of_it(batchfeed, write, tmp_path, source):
    (tmp_path / "x.htk/d").mkdir(parents=True)
    files = {name: htk(range(4)) for name in ("u.htk", "d/v.htk")}
    for name, content in files.items():
        (tmp_path / "x.htk" / name).write_bytes(content)
    write("x.scp", "u.htk=x.htk/u.htk[0,1]\nd/v.htk=x.htk/d/v.htk[0,1]\n"), write("other.scp", "d/v.htk=x.htk/d/v.htk[0,1]\n")
    write("other.cntk", 'reader = [ deserializers = ( [ type = "HTKFeatureDeserializer" ; module = "HTKDeserializers"\n'
                        'input = [ f = [ dim = 2 ; contextWindow = 3 ; scpFile = "other.scp" ] ] ] ) ]\n')
    done = batchfeed("convert", source, "x.scp", "--layout", "files", "--force")
    assert done.code == 2 and " is what is read, and only a part of it would be left" in done.err, done.err
    assert {name: (tmp_path / "x.htk" / name).read_bytes() for name in files} == files
    assert batchfeed("convert", "x.scp", "x.scp", "--layout", "files", "--force").code == 0


def test_a_schema_that_cannot_be_written_leaves_no_list_of_states(batchfeed, corpus, write, tmp_path):
    write("more.scp", "w.mfc=in.htk[0,0]\n")
    before = sorted(p.name for p in tmp_path.iterdir())
    for words in (["in.scp", "more.scp", "in.mlf", "-o", "a.cntk"], ["in.scp", "in.mlf", "-o", "$.cntk"]):
        assert batchfeed("schema", *words).code == 2
        assert sorted(p.name for p in tmp_path.iterdir()) == before, words
    assert batchfeed("schema", "in.scp", "in.mlf", "-o", "a.cntk").code == 0 and batchfeed("check", "a.cntk").code == 0
    assert (tmp_path / "a.cntk.states").read_text() == "b\nsil\n"


@pytest.mark.parametrize("integer", ["99999999999", "+1"])
def test_what_an_integer_of_kaldi_may_be_is_said(batchfeed, write, integer):
    write("a.ark", f"u 1 2\nv {integer} 1\n")
    done = batchfeed("check", "a.ark")
    assert done.code == 1 and f"'{integer}' is not an integer from -2147483648 to 2147483647" in done.out, done.out
