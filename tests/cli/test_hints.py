# SPDX-License-Identifier: MIT
"""The library's hints name options and tools as the command does; tests/python/test_hints.py has the same for Python."""
import re
import struct
import subprocess

import pytest

from conftest import BINARY

READER = '[ readerType = "CNTKTextFormatReader" ; file = "a.ctf" ; input = [ x = [ dim = 2 ; format = "dense" ] ] ]'
CASES = {
    "several readers": (["info", "two.cntk"], "choose one: --section A.reader"),
    "a list of readers": (["info", "list.cntk"], "read them one by one: --section r.a or --section r.b"),
    "no such variable": (["info", "variable.cntk"], "or with --set size=...; a variable"),
    "a list of another machine": (["info", "moved.scp"], "lies beside the list: --map-path /old/=./"),
    "one stream": (["convert", "a.ctf", "a.mlf"], "name one: --streams x"),
    "there already": (["convert", "a.ctf", "a.cbf"], "choose another name, or --force"),
    "damaged": (["read", "bad.cntk", "--format", "none"], "batchfeed check lists all of them"),
    "no folder that may be read": (["info", "moved.scp", "--root", "elsewhere"], "allow its folder too (--root DIR)"),
    "a pipe": (["read", "-"], "of all commands batchfeed check alone reads a pipe"),
    "no such word for a path": (["read", "a.ctf", "--map-path", "x"], "--map-path x: expected FROM=TO"),
    "a configuration beside its data": (["info", "a.ctf", "other.cntk"], "other.cntk is a configuration, a.ctf is a corpus"),
    "nothing waits": (["read", "a.ctf", "--prefetch-depth", "0"], "--prefetch-depth: expected at least 1, found 0"),
    "a path for a key": (["read", "other.cntk", "--set", "reader.file=b.ctf"], "write 'reader=[file=...]'"),
    "data beside the configuration": (["info", "far/one.cntk"], "it is there from 'far', where the configuration is: run this there"),
    "a part beside the configuration": (["info", "far/parts.cntk"], "it is there from 'far', where the configuration is: run this there"),
    "a list beside the configuration": (["info", "far/list.cntk"], "it is there from 'far', where the configuration is: run this there"),
    "a file that is not there": (["info", "lost.cntk"], "it is named at lost.cntk:1:58; relative paths count from"),
    "a file of an array": (["info", "array.cntk"], "it is named at array.cntk:1:58; relative paths count from"),
    "a file of a list": (["info", "list-of-labels.cntk"], "it is named at labels.txt:3; relative paths count from"),
    "labels of the other form": (["info", "labels.cntk"], "a binary MLF is read by HTKMLFBinaryDeserializer"),
    "a folder that is not there": (["convert", "a.ctf", "out/deep/b.cbf"], "the working directory; there is no folder 'out'"),
    "a word for a fraction": (["sample", "a.ctf", "--fraction", "half"], "--fraction: expected a number, found 'half'"),
    "a number for none": (["read", "a.ctf", "--switch", "1:99999999999999999999:0"], "is too large a number, expected at most 18446744073709551615"),
    "a number out of its range": (["convert", "a.ctf", "a.scp", "--frame-period", "0"], "--frame-period: expected 1 to 10000000, found 0"),
    "a folder for a file": (["convert", "a.ctf", "far", "--to", "ctf", "--force"], "'far' is a folder; hint: name a file in it"),
    "a page of a mixture": (["report", "a.ctf", "a.ctf", "--mix-weights", "1,1"], "a page is of one corpus; hint: a page for each"),
    "behind the last": (["head", "a.ctf", "--from", "7"], "there are only 2 sequences; none is left to show"),
    "UTF-16 without its mark": (["info", "wide.ctf"], "iconv -f UTF-16LE -t UTF-8"),
    "no sequence": (["read", "other.cntk", "--format", "none"], "batchfeed info lists them"),
    "ids that are words": (["read", "words.cntk"], "useNumericSequenceKeys = false, in a reader with deserializers; batchfeed schema writes one"),
}


@pytest.fixture
def files(write, tmp_path):
    (tmp_path / "far").mkdir()
    write("far/one.cntk", f"reader = {READER.replace('a.ctf', 'b.ctf')}\n")
    write("far/b.ctf", "1 |x 1 2\n")
    write("far/parts.cntk", "include=one.cntk\n")
    write("far/list.cntk", "reader = [ readerType = HTKDeserializers ; f = [ dim = 2 ; scpFile = f ] ; l = [ labelDim = 2 ; mlfFileList = all.txt ] ]\n")
    write("far/all.txt", "a.mlf\n")
    write("a.ctf", "1 |x 1 2 |y 3\n2 |x 3 4 |y 4\n")
    write("a.cbf", "x")
    write("bad.cntk", f"reader = {READER.replace('a.ctf', 'bad.ctf').replace('input', 'maxErrors = 9 ; input')}\n")
    write("bad.ctf", "1 |x 1 2\n2 |x oops 3\n3 |x 1 2\n")
    write("two.cntk", f"A = [ reader = {READER} ]\nB = [ reader = {READER} ]\n")
    write("list.cntk", f"r = [ readers = ( a : b ) ; a = {READER} ; b = {READER} ]\n")
    write("variable.cntk", f"reader = {READER.replace('dim = 2', 'dim = $size$')}\n")
    write("other.cntk", f"reader = {READER.replace('x = ', 'z = ')}\n")
    write("moved.scp", "u=/old/u.htk[0,1]\n")
    write("u.htk", "x")
    write("lost.cntk", f"reader = {READER.replace('a.ctf', 'lost.ctf')}\n")
    write("array.cntk", "reader = " + READER.replace('file = "a.ctf"', "files = lost.ctf:a.ctf"))
    text = READER.replace("readerType", "module = \"CNTKTextFormatReader\" ; type").replace("Reader\" ; file", "Deserializer\" ; file")
    speech = '[ module = "HTKDeserializers" ; type = "HTKMLFDeserializer" ; input = [ l = [ dim = 2 ; {} ] ] ]'
    labels = f"reader = [ deserializers = ( {text} : {speech} ) ]\n"
    write("list-of-labels.cntk", labels.format('mlfFileList = "labels.txt"'))
    write("labels.txt", "\r\n\r\nlost.mlf\r\n")
    write("labels.cntk", labels.format('mlfFile = "binary.mlf"'))
    write("binary.mlf", b"MLF\x02\x00\x01\x00")
    write("words.cntk", f"reader = {READER.replace('a.ctf', 'words.ctf')}\n")
    write("words.ctf", "one |x 1 2\ntwo |x 3 4\n")
    write("wide.ctf", "1 |x 1 2\n2 |x 3 4\n".encode("utf-16-le"))


@pytest.mark.parametrize("call, hint", CASES.values(), ids=CASES)
def test_it_names_flags(batchfeed, files, call, hint):
    result = batchfeed(*call)
    assert hint in result.err, result.err
    assert "`" not in result.err
    assert result.code in (0, 2, 3)


def test_json_too(batchfeed, files):
    told = batchfeed("check", "moved.scp", "--json").json
    hints = [one["hint"] for one in told["findings"]]
    assert any(re.search(r"--map-path /old/=\./$", hint or "") for hint in hints), hints


def test_what_cannot_be_written_is_named_with_its_sequence(batchfeed, write):
    write("a.ctf", "7 |v 1 2\n12 |v 12345 2\n")
    write("b.scp", "a b=nowhere.htk[0,1]\nc=nope.htk[0,1]\n")
    assert batchfeed("convert", "a.ctf", "a.cbf", "--keys", "keep").code == 0
    whole = (batchfeed.folder / "a.cbf").read_bytes()
    write("a.cbf", whole.replace(struct.pack("<f", 12345), struct.pack("<f", float("nan"))))
    done = batchfeed("convert", "a.cbf", "o.ctf")
    assert done.code == 3 and done.err.startswith("o.ctf: sequence '12': stream 'v': nan cannot be written"), done.err
    done = batchfeed("convert", "a.cbf", "o.ctf", "--keys", "none")
    assert done.code == 3 and done.err.startswith("o.ctf: sequence 1: stream 'v': nan cannot be written"), done.err
    done = batchfeed("cat", "a.cbf", "--format", "ctf")
    assert done.code == 3 and "sequence '12': stream 'v': nan cannot be written" in done.err, done.err
    done = batchfeed("-q", "info", "b.scp")
    assert done.code == 3 and "no utterance is left of 2 entries: nowhere.htk: cannot open: No such file" in done.err
    done = batchfeed("manual", "--into", "b.scp/man")
    assert done.code == 3 and done.err.startswith("b.scp/man: cannot create: Not a directory"), done.err


def test_trace_level_says_what_read_tells(batchfeed, write):
    write("a.ctf", "1 |v 1 2\n2 |v 1 |other 3\n1 |v 3 4\n")
    for level, repeated, note in ((0, False, False), (1, True, False), (2, True, True)):
        write("a.cntk", f"""reader = [ readerType = "CNTKTextFormatReader"; file = "a.ctf"; randomize = false; traceLevel = {level}
          input = [ v = [ dim = 2; format = "dense" ] ] ]""")
        done = batchfeed("read", "a.cntk", "--format", "none")
        assert ("comes back" in done.err, "other" in done.err) == (repeated, note), done.err
        assert "comes back" in batchfeed("check", "a.cntk").out


def test_truncated_packing_of_large_sparse_dimensions_says_what_it_needs(batchfeed, write):  # pack.truncated-memory
    write("a.ctf", "0 |v 5:1\n0 |v 7:1\n1 |v 3:1\n")
    write("a.cntk", """reader = [ truncated = true; truncationLength = 2; randomize = false; deserializers = ([
      type = "CNTKTextFormatDeserializer"; module = "CNTKTextFormatReader"; file = "a.ctf"
      input = [ v = [ dim = 2147483647; format = "sparse" ] ] ]) ]""")
    done = subprocess.run(["sh", "-c", 'ulimit -v 4000000; exec "$0" read a.cntk --minibatch-size 4', BINARY], cwd=batchfeed.folder, capture_output=True)
    assert done.returncode == 3 and b"takes 34359738352 bytes, for which there is no memory" in done.stderr, done.stderr
    assert b"truncated = false" in done.stderr


def test_an_option_that_a_command_lacks_is_named_as_what_it_has(batchfeed, write):  # convert.shuffle-memory convert.same-key keys.collision
    write("many.ctf", "".join(f"{k} |v {k}.25\n" for k in range(100)))
    write("twice.ctf", "1 |v 1\n2 |v 2\n1 |v 3\n")
    write("hashed.ctf", '!B |v 1\n"! |v 2\n')
    write("hashed.cntk", """reader = [ useNumericSequenceKeys = false ; hashSequenceKeys = true ; deserializers = ([
      type = "CNTKTextFormatDeserializer" ; module = "CNTKTextFormatReader" ; file = "hashed.ctf"
      input = [ v = [ dim = 1 ; format = "dense" ] ] ]) ]""")
    for call, hint in (("shuffle many.ctf -o a.ctf --memory 1", r"that much: --memory \d"),
                       ("merge many.ctf -o b.ctf --shuffle --memory 1", r"that much: --memory \d"),
                       ("convert many.ctf c.ctf --shuffle 1 --shuffle-memory 1", r"that much: --shuffle-memory \d"),
                       ("cat twice.ctf -o d.scp", "hint: batchfeed convert --keys number\n"),
                       ("convert twice.ctf d.scp", "hint: --keys number\n"),
                       ("read hashed.cntk --format none", "themselves: hashSequenceKeys = false\n")):
        assert re.search(hint, batchfeed(*call.split()).err), (call, batchfeed(*call.split()).err)
    assert "one hash" not in batchfeed("read", "hashed.cntk", "--format", "none", "--set", "reader=[hashSequenceKeys=false]").err
