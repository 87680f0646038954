# SPDX-License-Identifier: MIT
"""Files written to URLs: the same bytes as on disk, whole or absent, and nothing left over."""
import numpy as np
import pytest

fsspec = pytest.importorskip("fsspec")
from conftest import keys_of
from test_remote import memory, same, store  # noqa: F401

import batchfeed as bf
from batchfeed import _files

STREAMS = {"x": bf.dense(2), "y": bf.sparse(4)}
QUICK = bf.Remote(retries=2)


@pytest.fixture(autouse=True)
def quickly(monkeypatch):
    monkeypatch.setattr(_files.time, "sleep", lambda seconds: None)


@pytest.fixture(autouse=True)
def spare(tmp_path, monkeypatch):
    """The folder for temporary files, which has to be empty in the end."""
    folder = tmp_path / "spare"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


def write(path, labels=(0, 1, 3), **options):
    options.setdefault("keys", str(path).endswith(".ctf"))
    with bf.Writer(path, STREAMS, **options) as writer:
        for label in labels:
            writer.append({"x": np.full(2, label / 4), "y": label}, key=f"k{label}")


@pytest.mark.parametrize("name, keys", [("a.ctf", False), ("a.cbf", False), ("a.cbf", True)])
def test_a_writer_sends_what_it_would_write(memory, tmp_path, name, keys):  # noqa: F811
    write(tmp_path / name, keys=keys)
    write(f"memory://d/{name}", keys=keys)
    names = [name, f"{name}.keys"] if keys else [name]
    assert sorted(memory.store) == [f"/d/{n}" for n in names]
    for n in names:
        assert memory.cat_file(f"/d/{n}") == (tmp_path / n).read_bytes()


@pytest.mark.parametrize("name", ["a[1].cbf", "a*.cbf", "a?.cbf"])
def test_a_name_is_no_pattern(memory, name):  # noqa: F811
    memory.pipe_file("/d/a1.cbf", b"")
    write(f"memory://d/{name}")
    assert sorted(memory.store) == sorted([f"/d/{name}", "/d/a1.cbf"])


def test_a_conversion_too(memory, corpus, tmp_path):  # noqa: F811
    local = bf.convert(corpus.source(), tmp_path / "a.cbf", keys="keep", shuffle=3)
    there = bf.convert(corpus.source(), "memory://d/a.cbf", keys="keep", shuffle=3, verify=True)
    assert there.verified and (there.sequences, there.bytes) == (local.sequences, local.bytes)
    for name in ("a.cbf", "a.cbf.keys"):
        assert memory.cat_file(f"/d/{name}") == (tmp_path / name).read_bytes()
    bf.convert("memory://d/a.cbf", "memory://d/b.ctf")
    assert keys_of(bf.open("memory://d/b.ctf", shuffle=False)) == keys_of(bf.open(str(tmp_path / "a.cbf"), shuffle=False))


def test_nothing_appears_after_an_exception(memory):  # noqa: F811
    with pytest.raises(KeyError), bf.Writer("memory://d/a.cbf", STREAMS) as writer:
        writer.append({"x": np.zeros(2), "y": 1})
        raise KeyError
    with pytest.raises(ValueError, match="index 9 is not below dim 4"), bf.Writer("memory://d/a.ctf", STREAMS) as writer:
        writer.append({"x": np.zeros(2), "y": 9})
    with pytest.raises(bf.ConfigError, match="^memory://d/a.ctf: two sequences with the id 'k1'"):
        write("memory://d/a.ctf", labels=(1, 1))
    assert list(memory.store) == []


def test_what_is_there_is_replaced_only_by_force(memory, tmp_path):  # noqa: F811
    write("memory://d/a.cbf", keys=True)
    for again in (lambda: write("memory://d/a.cbf"), lambda: bf.convert("memory://d/a.cbf", "memory://d/a.cbf")):
        with pytest.raises(bf.ConfigError, match="memory://d/a.cbf: the file exists; hint: force=True"):
            again()
    write("memory://d/a.cbf", labels=(2, 2, 2), force=True)
    write(tmp_path / "a.cbf", labels=(2, 2, 2))
    assert list(memory.store) == ["/d/a.cbf"], "the keys of the old file are not those of the new one"
    assert memory.cat_file("/d/a.cbf") == (tmp_path / "a.cbf").read_bytes()


class Cut(Exception):
    """The connection is cut."""


@pytest.mark.parametrize("wrong", ["put_file", "mv", "info"])
@pytest.mark.parametrize("target", ["a.ctf", "a.cbf"])
def test_a_connection_that_is_cut(memory, monkeypatch, wrong, target):  # noqa: F811
    """Cut at the first, second, third ... request until all goes well: then it is there, before it the old one is."""
    write(f"memory://d/{target}", labels=(1, 2))
    before = dict(memory.store)
    work, calls, cut = getattr(type(memory), wrong), 0, 0

    def sometimes(self, *arguments, **options):
        nonlocal calls
        calls += 1
        if calls == cut:
            raise Cut("the line is dead")
        return work(self, *arguments, **options)

    monkeypatch.setattr(type(memory), wrong, sometimes)
    failed = 0
    for cut in range(1, 30):
        calls = 0
        try:
            write(f"memory://d/{target}", force=True, keys=target == "a.cbf", storage_options=bf.Remote(retries=0))
        except bf.FileError as error:
            assert "the line is dead" in str(error) and f"memory://d/{target}" in str(error)
            assert {name: file for name, file in memory.store.items() if not name.endswith(".keys")} == before
            failed += 1
        else:
            assert bf.open(f"memory://d/{target}").num_sequences == 3
            if calls < cut:
                break
        memory.store.clear()
        memory.store.update(before)
    assert failed and calls < cut


@pytest.mark.parametrize("keys", [True, False])
@pytest.mark.parametrize("late", [True, False])
def test_keys_of_what_was_not_replaced_are_there_again(memory, monkeypatch, keys, late):  # noqa: F811
    """`late`: the data were replaced, but this cannot be confirmed; old keys would fit them by number and size."""
    write("memory://d/a.cbf", labels=(0, 1, 2), keys=True)
    before = {name: file.getvalue() for name, file in memory.store.items()}
    mv = type(memory).mv

    def cut(self, source, target, **options):
        if late or not target.endswith(".cbf"):
            mv(self, source, target, **options)
        if target.endswith(".cbf"):
            raise Cut("the line is dead")

    monkeypatch.setattr(type(memory), "mv", cut)
    with pytest.raises(bf.FileError, match="the line is dead"):
        write("memory://d/a.cbf", labels=(3, 2, 1), keys=keys, force=True, storage_options=bf.Remote(retries=0))
    after = {name: file.getvalue() for name, file in memory.store.items()}
    if late:
        assert list(after) == ["/d/a.cbf"] and after["/d/a.cbf"] != before["/d/a.cbf"]
    else:
        assert after == before and sorted(after) == ["/d/a.cbf", "/d/a.cbf.keys"]


def test_a_request_that_fails_is_tried_again(memory, monkeypatch):  # noqa: F811
    calls = []
    put_file = type(memory).put_file

    def put(self, *arguments, **options):
        calls.append(arguments)
        if len(calls) < 3:
            raise Cut
        return put_file(self, *arguments, **options)

    def never(self, *arguments, **options):
        raise Cut

    monkeypatch.setattr(type(memory), "put_file", put)
    write("memory://d/a.ctf", storage_options=QUICK)
    assert len(calls) == 3 and list(memory.store) == ["/d/a.ctf"]
    monkeypatch.setattr(type(memory), "put_file", never)
    with pytest.raises(bf.FileError, match="memory://d/b.ctf: cannot write: Cut"):
        write("memory://d/b.ctf", storage_options=QUICK)
    assert list(memory.store) == ["/d/a.ctf"]


def test_half_a_file_is_not_taken_for_all(memory, monkeypatch):  # noqa: F811
    def half(self, local, path, **options):
        with open(local, "rb") as file:
            data = file.read()
        self.pipe_file(path, data[: len(data) // 2])

    monkeypatch.setattr(type(memory), "put_file", half)
    with pytest.raises(bf.FileError, match="bytes were sent, and [0-9]+ are there"):
        write("memory://d/a.ctf", storage_options=QUICK)
    assert list(memory.store) == []


def test_what_cannot_be_written_to_a_url(memory, corpus):  # noqa: F811
    for target, options in (("memory://d/a.scp", {}), ("memory://d/a.mlf", {}), ("memory://d/a", {"to": "htk"})):
        with pytest.raises(bf.ConfigError, match="is written to a path of the system, not to a URL"):
            bf.convert(corpus.source(), target, **options)
    with pytest.raises(bf.ConfigError, match="a chain of URLs is read, not written"):
        bf.Writer("simplecache::memory://d/a.ctf", STREAMS)
    with pytest.raises(bf.ConfigError, match="does not say which format"):
        bf.Writer("memory://d/a.xyz", STREAMS)
    with pytest.raises(bf.FileError, match="nosuch://"):
        bf.Writer("nosuch://d/a.ctf", STREAMS)
    assert list(memory.store) == []


def test_an_object_store(store, corpus, tmp_path):  # noqa: F811
    fs = fsspec.filesystem("s3", **store)
    fs.mkdir("written")
    source = bf.CTF(corpus.path, streams=corpus.streams)
    bf.convert(source, "s3://written/a.cbf", keys="keep", storage_options=store)
    bf.convert(source, tmp_path / "a.cbf", keys="keep")
    assert sorted(fs.ls("written")) == ["written/a.cbf", "written/a.cbf.keys"]
    same(bf.open("s3://written/a.cbf", minibatch_samples=7, storage_options=store), bf.open(str(tmp_path / "a.cbf"), minibatch_samples=7))
    write("s3://written/b.ctf", storage_options=store)
    write(tmp_path / "b.ctf")
    assert fs.cat_file("written/b.ctf") == (tmp_path / "b.ctf").read_bytes()
    with pytest.raises(bf.ConfigError, match="the file exists"):
        write("s3://written/b.ctf", storage_options=store)
    with pytest.raises(bf.FileError, match="s3://nowhere/b.ctf: cannot write"):
        write("s3://nowhere/b.ctf", storage_options={"s3": store})
