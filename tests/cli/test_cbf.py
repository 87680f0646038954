# SPDX-License-Identifier: MIT
"""Binary corpora as users meet them: made from text, configured, checked, cut anew."""
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "preload"))
import shim  # noqa: E402
from conftest import BINARY

TEXT = "".join(f"{k} |F {k} {k}.5 |S {k % 5}:1 {k % 5 + 1}:-2\n" * (1 + k % 3) for k in range(40))
READER = "R = [ readerType = \"{type}\" ; file = \"{file}\" ; randomize = false ; {more} ]\n"
SECTION = ("--section", "R")


@pytest.fixture
def binary(batchfeed, write):
    """a.cbf, from a.ctf; further arguments go to convert."""

    def make(*arguments, target="a.cbf"):
        done = batchfeed("convert", write("a.ctf", TEXT), target, "--force", *arguments)
        assert done.code == 0, done.err
        return target

    return make


def rows(result):
    """Stream, key and data of everything that was read."""
    assert result.code == 0, result.err
    out = []
    for batch in result.lines:
        for stream in batch["streams"]:
            out.append([stream["name"], [x.get("key") for x in stream["layout"]], stream.get("columns") or stream["values"]])
    return out


def test_a_configuration_renames_by_alias(batchfeed, write, binary):
    binary()
    config = write("c.cntk", READER.format(type="CNTKBinaryReader", file="a.cbf", more='input = [ X = [ alias = "F" ] ]'))
    result = batchfeed("read", config, *SECTION, "--limit", 1)
    assert [s["name"] for s in result.lines[0]["streams"]] == ["X", "S"]


COMPOSITE = """R = [ randomize = false ; deserializers = (
  [ type = "{first}" ; module = "{first_module}" ; file = "{first_file}" ; input = [ {first_input} ] ] :
  [ type = "{second}" ; module = "{second_module}" ; file = "{second_file}" ; input = [ {second_input} ] ] ) ]
"""
BINARY_PART = ("CNTKBinaryFormatDeserializer", "CNTKBinaryReader", "a.cbf", 'F = [ alias = "F" ]')
TEXT_PART = ("CNTKTextFormatDeserializer", "CNTKTextFormatReader", "b.ctf", 'T = [ alias = "T" ; dim = 1 ; format = "dense" ]')


@pytest.mark.parametrize("order", [(BINARY_PART, TEXT_PART), (TEXT_PART, BINARY_PART)], ids=["primary", "secondary"])
def test_a_composite_joins_it_by_number(batchfeed, write, binary, order):
    binary()
    write("b.ctf", "".join(f"{k} |T {10 * k}\n" * (1 + k % 3) for k in range(40)))
    names = ("first", "first_module", "first_file", "first_input"), ("second", "second_module", "second_file", "second_input")
    fields = {name: value for keys, part in zip(names, order) for name, value in zip(keys, part)}
    result = batchfeed("read", write("c.cntk", COMPOSITE.format(**fields)), *SECTION, "--minibatch-size", 1000)
    assert result.code == 0, result.err
    streams = {s["name"]: s for s in result.lines[0]["streams"]}
    assert set(streams) == {"F", "S", "T"}
    assert len(streams["T"]["columns"]) == len(streams["F"]["columns"])


def test_tiny_chunks_give_what_one_chunk_gives(batchfeed, write, binary):
    binary("--keys", "none")
    header = write("h", "F F dense 2\nS S sparse 6\n")
    done = batchfeed("ctf2bin", "--input", "a.ctf", "--header", header, "--chunk_size", 1, "--output", "tiny.cbf", "--reference-chunks")
    assert done.code == 0, done.err
    assert batchfeed("info", "tiny.cbf", "--json").json['chunks']['count'] == 40
    whole, tiny = (batchfeed("read", f, "--minibatch-size", 7, "--format", "jsonl") for f in ("a.cbf", "tiny.cbf"))
    assert whole.code == 0 and whole.out.count("\n") > 10
    assert tiny.out == whole.out


def test_precision_is_refused_or_converted(batchfeed, write, binary):
    binary("--precision", "double", target="d.cbf")
    config = write("c.cntk", READER.format(type="CNTKBinaryReader", file="d.cbf", more=""))
    refused = batchfeed("read", config, *SECTION)
    assert refused.code == 3 and "precision" in refused.err and "d.cbf" in refused.err
    assert batchfeed("read", config, *SECTION, "--set", 'R=[precision="double"]', "--limit", 1).code == 0
    assert batchfeed("convert", "d.cbf", "f.cbf", "--precision", "float", "--verify").code == 0
    assert batchfeed("convert", "a.ctf", "a.cbf", "--force").code == 0
    assert batchfeed.folder.joinpath("f.cbf").read_bytes() == batchfeed.folder.joinpath("a.cbf").read_bytes()


def test_it_is_cut_anew_and_changes_layout(batchfeed, write, tmp_path):
    write("a.ctf", "".join(f"{k} |F {k} 1 |S {k % 5}:1\n" for k in range(100)))
    for command in (("a.ctf", "m.cbf"), ("m.cbf", "small.cbf", "--chunk-size", "200"), ("small.cbf", "l.bin", "--layout", "legacy"),
                    ("l.bin", "back.cbf")):
        done = batchfeed("convert", *command, "--verify")
        assert done.code == 0, done.err
    assert batchfeed("info", "small.cbf", "--json").json['chunks']['count'] > 10
    assert (tmp_path / "l.bin").read_bytes()[:8] == b"\1" + bytes(7)
    assert (tmp_path / "back.cbf").read_bytes() == (tmp_path / "m.cbf").read_bytes()


def test_streams_are_chosen_and_renamed(batchfeed, binary):
    binary("--streams", "S,F", "--rename", "F=features", target="b.cbf")
    info = batchfeed("info", "b.cbf", "--json").json
    assert [s["name"] for s in info["streams"]] == ["S", "features"]


@pytest.mark.parametrize("shuffle", [[], ["--shuffle", "4"]], ids=["in order", "shuffled"])
def test_the_bytes_do_not_depend_on_the_jobs(binary, tmp_path, shuffle):
    made = [(tmp_path / binary("--jobs", str(jobs), *shuffle)).read_bytes() for jobs in (1, 2, 5)]
    assert made[0] == made[1] == made[2]


def test_check_reads_the_payload(batchfeed, binary, tmp_path):
    path = tmp_path / binary()
    assert batchfeed("check", "a.cbf").code == 0
    whole = path.read_bytes()
    at = whole.index(struct.pack("<ii", 4, 5))  # two indices of a sample
    path.write_bytes(whole[:at] + struct.pack("<i", 6) + whole[at + 4:])
    result = batchfeed("check", "a.cbf", "--json")
    assert result.code == 1
    assert f'"byte": {at}' in result.out and "cbf.index-out-of-range" in result.out
    read = batchfeed("read", "a.cbf", "--format", "none")
    assert read.code == 3 and f"byte {at}" in read.err


def test_info_and_index_know_it(batchfeed, binary):
    binary()
    info = batchfeed("info", "a.cbf", "--json").json
    assert (info["sequences"], info["samples"]) == (40, 79)
    assert batchfeed("index", "a.cbf").code == 0


def test_keys_come_back_and_others_files_of_that_name_stay(batchfeed, binary, tmp_path):
    binary()
    back = batchfeed("convert", "a.cbf", "b.ctf")
    assert back.code == 0
    assert [line.split()[0] for line in (tmp_path / "b.ctf").read_text().splitlines()] == [line.split()[0] for line in TEXT.splitlines()]


@pytest.mark.parametrize("command", [["convert", "a.ctf", "b.cbf"], ["check", "a.cbf", "--fix", "b.cbf"]])
def test_where_keys_belong_a_file_of_somebody_else_stays_even_with_force(batchfeed, write, tmp_path, command):  # cbf.foreign-keys
    batchfeed("convert", write("a.ctf", "5 |x 1\n7 |x 2\n"), "a.cbf")
    write("b.cbf.keys", "the keys of my flat\n")
    for force in ([], ["--force"]):
        done = batchfeed(*command, *force)
        assert done.code == 2 and "b.cbf.keys: exists already, and is not what batchfeed writes" in done.err and "--force" not in done.err
        assert (tmp_path / "b.cbf.keys").read_text() == "the keys of my flat\n" and not (tmp_path / "b.cbf").exists()


def test_keys_of_other_data_are_told_and_not_used(batchfeed, binary, write, tmp_path):  # cbf.keys-not-used
    binary("--keys", "keep")
    assert "keys" not in batchfeed("cat", "a.cbf").err
    lines = (tmp_path / "a.cbf.keys").read_text().splitlines()
    for keys in ("\n".join([*lines[:-1], "#end 39 1234"]) + "\n", "\n".join(lines[:2]) + "\n"):
        write("a.cbf.keys", keys)
        done = batchfeed("cat", "a.cbf")
        assert done.code == 0 and done.out.split()[0] == "0"
        assert done.err.count("a.cbf.keys: these keys belong to other data; sequences have their numbers") == 1
    write("a.cbf.keys", "the keys of my flat\n")
    assert "keys" not in batchfeed("cat", "a.cbf").err


def test_a_terminal_sees_rate_and_time_left(write, tmp_path):
    write("big.ctf", "".join(f"|F {k} 0.25 |S {k % 5}:1\n" for k in range(3000)) * 20)
    slow = {**os.environ, "LD_PRELOAD": shim.build(), "FAIL_UNDER": str(tmp_path), "SLOW_PREAD_MS": "100"}
    ours, theirs = pty.openpty()
    child = subprocess.Popen([BINARY, "convert", "big.ctf", "big.cbf", "--shuffle", "1", "--jobs", "1"],
                             cwd=tmp_path, env=slow, stderr=theirs, stdout=subprocess.DEVNULL)
    os.close(theirs)
    seen = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:
            break
        if not piece:
            break
        seen += piece
    os.close(ours)
    assert child.wait() == 0
    assert re.search(rb"\d ?[kMG]?B/s", seen) and b" left" in seen, seen[-300:]


def layout_m(*streams):
    """A file of one chunk; of each stream, whose dim is 1, the values of its sequences."""
    magic, sequences = struct.pack("<Q", 0x636E746B5F62696E), len(streams[0])
    longest = [max(len(s[k]) for s in streams) for k in range(sequences)]
    out = magic + struct.pack(f"<I{sequences}I", 1, *longest)
    for values in (v for s in streams for v in s):
        out += struct.pack(f"<I{len(values)}f", len(values), *values)
    table = struct.pack("<qIIq", 12, sequences, sum(longest), len(out))
    header = b"".join(struct.pack("<BIBBI", 0, 1, ord("a") + i, 0, 1) for i in range(len(streams)))
    return out + magic + struct.pack("<II", 1, len(streams)) + header + table


@pytest.mark.parametrize("missing", [0, 1])
def test_truncated_packing_tells_of_a_sequence_that_a_stream_lacks(batchfeed, write, tmp_path, missing):
    streams = [[[1], [2], [3]], [[4], [5], [6]]]
    streams[missing][1] = []
    (tmp_path / "a.cbf").write_bytes(layout_m(*streams))
    part = "( [ type = CNTKBinaryFormatDeserializer ; module = CNTKBinaryReader ; file = a.cbf ] )"
    config = write("c.cntk", f"R = [ randomize = false ; truncated = true ; truncationLength = 2 ; deserializers = {part} ]")
    done = batchfeed("read", config, *SECTION)
    assert done.code == 3 and "sequence '1' has " in done.err and "needs streams of equal length" in done.err
    done = batchfeed("read", config, *SECTION, "--set", "R=[maxErrors=1]")
    assert done.code == 0 and "1 sequence left out, as it is damaged" in done.err


def test_a_table_without_the_chunks_that_are_there_is_not_taken_for_an_empty_corpus(batchfeed, write, tmp_path):
    write("a.ctf", "0 |v 1\n1 |v 2\n")
    assert batchfeed("convert", "a.ctf", "a.cbf").code == 0
    whole = (tmp_path / "a.cbf").read_bytes()
    head = whole.rindex(b"nib_ktnc")
    write("a.cbf", whole[: head + 8] + bytes(4) + whole[head + 12 :])
    done = batchfeed("check", "a.cbf")
    assert done.code == 1 and "no samples: 0 chunks" in done.out and "holds more than its header" in done.out, done.out
