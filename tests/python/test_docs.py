# SPDX-License-Identifier: MIT
"""The snippets of the documents do what they say."""
import dataclasses
import doctest
import inspect
import os
import re
import signal
import subprocess
import sys

import pytest
from conftest import ROOT, Corpus

import batchfeed as bf
from batchfeed import _keywords, _options

TRAIN = """Train = [ reader = [ readerType = "CNTKTextFormatReader" ; file = "train.ctf"
    input = [ features = [ alias = "x" ; dim = 3 ; format = "dense" ]
              labels = [ alias = "y" ; dim = 5 ; format = "sparse" ] ] ] ]"""
TUTORIAL = ROOT / "docs/tutorial/minibatches-in-python.md"


def blocks(path):
    return re.findall(r"```python\n(.*?)```", path.read_text(), re.S)


def run(text, names):
    if not text.startswith(">>>"):
        exec(compile(text, "snippet", "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(text, names, "snippet", None, 0)
    runner = doctest.DocTestRunner(verbose=False)
    said = []
    runner.run(test, out=said.append, clear_globs=False)
    names.update(test.globs)
    assert runner.failures == 0, "".join(said)


def test_the_tutorial(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    snippets = blocks(TUTORIAL)
    assert len(snippets) >= 6
    for snippet in snippets:
        run(snippet, names)


def test_object_stores(tmp_path, monkeypatch):
    pytest.importorskip("fsspec")
    monkeypatch.chdir(tmp_path)
    Corpus("train.ctf", [2, 3])
    names = {}
    for snippet in blocks(ROOT / "docs/how-to/read-from-object-stores.md"):
        run(snippet, names)
    kept = sorted(path.suffix for path in (tmp_path / "index").iterdir())
    assert len(names["reader"]) == 1 and kept == [".bfindex", ".bfstreams"]


def test_features_that_are_normalised(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Corpus("train.ctf", [2, 3] * 20)
    (tmp_path / "train.cntk").write_text(TRAIN)
    names = {}
    for snippet in blocks(ROOT / "docs/how-to/normalise-features.md"):
        run(snippet, names)
    assert names["x"].shape == (100, 3)
    assert abs(names["x"].mean(axis=0)).max() < 1e-5 and abs(names["x"].std(axis=0) - 1).max() < 1e-5


def test_a_corpus_taken_apart(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs/how-to/take-a-corpus-apart.md"
    [shown] = re.findall(r"(?s)\$ cat queries.ctf\n(.*?)\$ ", page.read_text())
    (tmp_path / "queries.ctf").write_text(shown)
    names = {}
    for snippet in blocks(page):
        run(snippet, names)
    assert (tmp_path / "some.ctf").read_text() == "1 |words 3:1 |intent 1:1\n2 |words 12:1 |intent 0:1\n", "as the command's"
    assert names["found"].same == 6 and not names["found"].same_order


def test_shards(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for i in range(4):
        Corpus(f"part-{i}.ctf", [2, 3, 1])
    names = {}
    for snippet in blocks(ROOT / "docs/how-to/corpora-of-many-shards.md"):
        run(snippet, names)
    assert not names["faults"] and len(list((tmp_path / "shuffled").iterdir())) == 4


def test_several_ranks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Corpus("train.ctf", [2, 3] * 100)
    got = []
    for rank in range(2):
        monkeypatch.setenv("WORLD_SIZE", "2")
        monkeypatch.setenv("RANK", str(rank))
        names = {}
        for snippet in blocks(ROOT / "docs/how-to/train-on-several-ranks.md"):
            run(snippet, names)
        got.append([key for batch in names["reader"] for key in batch.sequence_keys])
    assert all(got) and sorted(map(int, got[0] + got[1])) == list(range(200))


def test_an_index_that_ranks_share(tmp_path, monkeypatch):
    """The index is what bf.index() has made: it is not made again."""
    monkeypatch.chdir(tmp_path)
    Corpus("train.ctf", [2, 3] * 100)
    build, corpus = re.search(r"`(bf.index\(.*?\))`, and read `(bf.CTF\(.*?\))`", (ROOT / "docs/how-to/train-on-several-ranks.md").read_text()).groups()
    assert [one.was_valid for one in eval(build)] == [False]
    assert eval(corpus).cache_index, "else it is not looked for"
    for file in (tmp_path / "index").iterdir():
        file.write_bytes(b"damaged")
    bf.Reader(eval(corpus), minibatch_samples=256).close()
    assert all(file.read_bytes() != b"damaged" for file in (tmp_path / "index").iterdir()), "it is looked at, and mended"


def test_a_run_that_is_cut_short(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Corpus("train.ctf", [2, 3] * 100)
    [snippet] = blocks(ROOT / "docs/how-to/go-on-after-a-stop.md")
    before = signal.getsignal(signal.SIGTERM)
    steps = []

    def step(batch, names):
        steps.append((batch.epoch, batch.index))
        if len(steps) == 3:
            os.kill(os.getpid(), signal.SIGTERM)

    try:
        for _ in range(2):
            names = {"step": step}
            run(snippet.replace('"""A step of yours."""', "step(batch, globals())"), names)
            names["reader"].close()
            if len(steps) == 3:
                assert names["asked_to_stop"] and names["reader"].epoch == 1
    finally:
        signal.signal(signal.SIGTERM, before)
    assert steps == [(epoch, index) for epoch in range(10) for index in range(2)]


def test_the_epoch_of_a_dataset_is_for_who_reads_it_alone():
    """test_torch_resume.py has what it is where worker processes read."""
    pages = [page.read_text() for page in (ROOT / "docs").rglob("*.md")]
    said = [sentence for page in pages for sentence in re.findall(r"`while dataset\.epoch.*?\.\s.*?\.\s", page, re.S)]
    assert said and all("num_workers=0" in sentence for sentence in said)


def test_the_readme(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Corpus("train.ctf", [2, 3])
    (tmp_path / "train.cntk").write_text(TRAIN)
    [snippet] = blocks(ROOT / "README.md")
    names = {}
    run(snippet, names)
    assert names["x"].shape == (5, 3) and names["state"]["position"] == 5


def test_every_keyword_is_explained():
    assert sorted(_keywords.ABOUT) == _options.NAMES
    page = (ROOT / "docs/reference/python-keywords.md").read_text()
    assert re.findall(r"^\| `(\w+)` \| (.*) \|$", page, re.M) == list(_keywords.ABOUT.items())
    for thing in (bf.Reader, bf.open):
        assert all(f"\n{name}\n    {about}\n" in thing.__doc__ for name, about in _keywords.ABOUT.items())


@pytest.mark.parametrize("source", [bf.CTF, bf.CBF, bf.HTKFeatures, bf.MLF, bf.Kaldi])
def test_every_field_of_a_source_is_told(source):
    told = inspect.cleandoc(source.__doc__).partition("\n\n")[2].splitlines()
    assert [line for line in told if not line.startswith(" ")] == [field.name for field in dataclasses.fields(source)]


def test_everything_public_has_a_docstring():
    for name in bf.__all__:
        thing = getattr(bf, name)
        if callable(thing):
            assert thing.__doc__, name


def test_the_snippets_are_strictly_typed(tmp_path):
    """As they stand on a page, one after the other; and the examples, which call PyTorch where it has no types."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for number, page in enumerate(pages):
        text = "\n".join(lines(block) for block in blocks(page))
        if text:
            (tmp_path / f"page{number}.py").write_text(f"# {page.name}\n{text}")
    typed = [str(path) for path in tmp_path.glob("page*.py")]
    examples = [str(path) for path in (ROOT / "examples/python").glob("*.py")]
    assert len(typed) >= 6 and len(examples) >= 4
    common = [sys.executable, "-m", "mypy", "--ignore-missing-imports", "--untyped-calls-exclude=jax", "--config-file=", "--cache-dir", str(tmp_path / "cache")]
    for options, files in ((["--strict"], typed), (["--strict", "--allow-untyped-calls", "--allow-subclassing-any"], examples)):
        done = subprocess.run([*common, *options, *files], capture_output=True, text=True, cwd=tmp_path, timeout=600)
        assert done.returncode == 0, done.stdout


def lines(block):
    if not block.startswith(">>>"):
        return block
    return "".join(line[4:] + "\n" for line in block.splitlines() if line.startswith((">>> ", "... ")))
