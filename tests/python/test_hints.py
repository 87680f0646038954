# SPDX-License-Identifier: MIT
"""The library's hints name arguments and functions of Python; tests/cli/test_hints.py has the same for the command."""
import logging
import pathlib
import re

import pytest

import batchfeed as bf
from batchfeed._errors import argument

READER = '[ readerType = "CNTKTextFormatReader" ; file = "a.ctf" ; input = [ x = [ dim = 2 ; format = "dense" ] ] ]'


def binary(dtype):
    bf.convert("a.ctf", f"{dtype}.cbf", dtype=dtype)
    return f"{dtype}.cbf"


CASES = {
    "several readers": (lambda: bf.open("two.cntk"), "choose one: section='A.reader'"),
    "a list of readers": (lambda: bf.open("list.cntk"), "read them one by one: section='r.a' or section='r.b'"),
    "no such variable": (lambda: bf.open("variable.cntk"), "or with set='size=...'; a variable"),
    "a list of another machine": (lambda: bf.open("moved.scp"), "lies beside the list: path_map={'/old/': './'}"),
    "one stream": (lambda: bf.convert("a.ctf", "a.mlf"), "name one: streams='x'"),
    "doubles": (lambda: bf.convert("a.ctf", "a.scp", streams="x", dtype="float64"), "ask for dtype='float32'"),
    "floats behind doubles": (lambda: bf.open([binary("float64"), binary("float32")]), "ask for dtype='float32'"),
    "same keys": (lambda: bf.convert("same.ctf", "b.scp", keys="keep"), "keys='number'"),
    "no folder that may be read": (lambda: bf.open("moved.scp", limits={"roots": ["elsewhere"]}), "too (limits={'roots': [...]})"),
    "text ids": (lambda: bf.Reader(bf.CTF("ids.ctf", {"x": bf.dense(2)})).next(), "need keys='text' (in a configuration useNumericSequenceKeys = false)"),
    "pairs in a dense stream": (lambda: bf.Reader(bf.CTF("pairs.ctf", {"x": bf.dense(2)})).next(), "declare this one with bf.sparse(dim)"),
    "frames of several samples": (lambda: bf.open("long.ctf", pack="frames").next(), "set pack='sequences' (in a configuration frameMode = false)"),
    "too few rows": (
        lambda: bf.open("a.ctf", pack="truncated", truncation_length=9, minibatch_samples=9, workers=2, rank=0).next(),
        "workers x truncation_length= (in a configuration truncationLength)",
    ),
    "too many places": (
        lambda: bf.open("a.ctf", pack="truncated", truncation_length=1 << 30),
        "lower truncation_length= (in a configuration truncationLength) and the minibatch size",
    ),
    "too little memory": (lambda: bf.open("a.ctf", memory_limit=1).next(), "lower the window, window= (in a configuration randomizationWindow)"),
    "labels without dim": (lambda: bf.Reader(bf.MLF("y", "labels.mlf", dim=0)), "set dim="),
    "only long utterances": (
        lambda: bf.Reader(bf.HTKFeatures("x", "here.scp", dim=1, max_sequence_frames=1)),
        "raise max_sequence_frames= (in a configuration maxSequenceSize)",
    ),
    "no sequence": (lambda: bf.open("other.cntk").next(), "bf.info() lists them"),
}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "a.ctf": "1 |x 1 2 |y 3\n2 |x 3 4 |y 4\n",
        "bad.ctf": "1 |x 1 2\n2 |x oops 3\n3 |x 1 2\n",
        "same.ctf": "1 |x 1 2\n2 |x 1 2\n1 |x 3 4\n",
        "two.cntk": f"A = [ reader = {READER} ]\nB = [ reader = {READER} ]\n",
        "list.cntk": f"r = [ readers = ( a : b ) ; a = {READER} ; b = {READER} ]\n",
        "variable.cntk": f"reader = {READER.replace('dim = 2', 'dim = $size$')}\n",
        "other.cntk": f"reader = {READER.replace('x = ', 'z = ')}\n",
        "ids.ctf": "a |x 1 2\nb |x 3 4\n",
        "long.ctf": "1 |x 1 2\n1 |x 3 4\n",
        "pairs.ctf": "1 |x 1:2\n",
        "labels.mlf": '#!MLF!#\n"*/u.lab"\n0 100000 s\n.\n',
        "here.scp": "u=u.htk[0,1]\n",
        "moved.scp": "u=/old/u.htk[0,1]\n",
        "u.htk": "x",
    }.items():
        (tmp_path / name).write_text(text)


@pytest.mark.parametrize("call, hint", CASES.values(), ids=CASES)
def test_it_names_arguments(files, call, hint):
    with pytest.raises(bf.Error) as raised:
        call()
    assert hint in raised.value.hint and hint in str(raised.value)
    assert "--" not in str(raised.value) and "`" not in str(raised.value)


def test_a_notice_does_too(files, caplog):
    with caplog.at_level(logging.WARNING, "batchfeed"):
        reader = bf.Reader(bf.CTF("bad.ctf", {"x": bf.dense(2)}, max_errors=9), order="file")
        assert [batch.num_samples for batch in reader] == [2]
        told = [*caplog.messages, *map(str, bf.check(bf.CTF("bad.ctf", {"x": bf.dense(2)}, max_errors=9)))]
    assert told
    assert not any("batchfeed check" in text or "`" in text for text in told), told


def test_keys_of_a_configuration_are_keywords_too():
    words = {
        ("chunkSizeInBytes", ""): "chunk_bytes=",
        ("contextWindow", ""): "context=",
        ("contextWindow", "left:right"): "context=(left, right)",
        ("expandToUtterance", ""): "expand_to_utterance=True",
        ("format", '"dense"'): "bf.dense(dim)",
        ("frameMode", "true"): "pack='frames'",
        ("labelMappingFile", ""): "mapping_file=",
        ("maxErrors", ""): "max_invalid=",
        ("maxSequenceSize", ""): "max_sequence_frames=",
        ("maxUtteranceLength", ""): "max_utterance_frames=",
        ("nbruttsineachrecurrentiter", ""): "rows_per_epoch=",
        ("randomizationSeed", "0"): "seed=0",
        ("readMethod", "blockRandomize"): "rolling_window=False",
        ("truncated", "false"): "pack='sequences'",
        ("useNumericSequenceKeys", "true"): "keys='numeric'",
    }
    for (key, value), ours in words.items():
        theirs = f"{key} = {value}" if value else key
        assert argument(key, value) == f"{ours} (in a configuration {theirs})"


KEYS = pathlib.Path(__file__).resolve().parents[2] / "docs/reference/errors.md"


def test_every_key_that_a_hint_names_has_its_keyword():
    named = set(re.findall(r"`([a-z]+[A-Z]\w*)", "".join(line.rsplit(" | ", 1)[-1] for line in KEYS.open(encoding="utf-8") if line.startswith("| "))))
    assert len(named) >= 10
    assert [key for key in named if "in a configuration" not in argument(key, "")] == []


def test_every_name_has_its_words():
    assert argument("section", "Train.reader") == "section='Train.reader'"
    assert argument("shuffle_memory", "1024") == "shuffle_memory=1024"
    assert argument("force", "") == "force=True"
    assert argument("convert()", "") == "bf.convert()"
    assert argument("reader_section()", "") == "bf.info(path).reader_section"
    assert argument("path_map", "/a/=/b=c/") == "path_map={'/a/': '/b=c/'}"
