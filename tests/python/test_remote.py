# SPDX-License-Identifier: MIT
"""Files behind URLs: in memory, in an object store; slow, failing and changing ones. Web servers: test_web.py."""
import contextlib
import io
import pickle
import socket
import struct
import subprocess
import sys
import threading
import time
import zipfile

import numpy as np
import pytest

fsspec = pytest.importorskip("fsspec")
from conftest import Corpus, keys_of
from fsspec.implementations.memory import MemoryFileSystem

import batchfeed as bf
from batchfeed import _files


@pytest.fixture
def memory():
    fs = MemoryFileSystem()
    fs.store.clear()  # one for the whole process
    fs.pseudo_dirs[:] = [""]
    yield fs
    fs.store.clear()
    fs.pseudo_dirs[:] = [""]


def put(fs, path, to):
    with open(path, "rb") as file:
        fs.pipe_file(to, file.read())


def same(a, b):
    """Two readers give the same minibatches."""
    left, right = list(a), list(b)
    assert keys_of(left) == keys_of(right) and left
    for x, y in zip(left, right):
        for name in x:
            assert np.array_equal(x[name].numpy() if x[name].storage == "dense" else x[name].csr().toarray(),
                                  y[name].numpy() if y[name].storage == "dense" else y[name].csr().toarray())


def test_text_corpora(memory, corpus):
    put(memory, corpus.path, "/d/train.ctf")
    remote = bf.CTF("memory://d/train.ctf", streams=corpus.streams, chunk_bytes=200)
    options = dict(minibatch_samples=7, seed=3, threads=2)
    same(bf.Reader(remote, **options), corpus.reader(seed=3))
    same(bf.open("memory://d/train.ctf", **options), bf.open(corpus.path, **options))
    assert str(bf.info("memory://d/train.ctf")) == str(bf.info(corpus.path))
    for as_bytes in (bf.Reader(b"memory://d/train.ctf", **options), bf.Reader(bf.CTF(b"memory://d/train.ctf"), **options)):
        same(as_bytes, bf.open(corpus.path, **options))


def test_shards_by_pattern(memory, corpus, tmp_path):
    lines = open(corpus.path).readlines()
    for i in range(3):
        text = "".join(line for line in lines if int(line.split()[0]) % 3 == i)
        memory.pipe_file(f"/d/part-{i}.ctf", text.encode())
        (tmp_path / f"part-{i}.ctf").write_text(text)
    same(bf.open("memory://d/part-*.ctf", minibatch_samples=7), bf.open(str(tmp_path / "part-*.ctf"), minibatch_samples=7))


@pytest.mark.parametrize("kind", [tuple, np.array, iter], ids=["tuple", "array", "iterator"])
def test_urls_are_found_in_whatever_holds_them(memory, corpus, kind):
    put(memory, corpus.path, "/d/train.ctf")
    same(bf.Reader(bf.CTF(kind(["memory://d/train.ctf"]), streams=corpus.streams)), bf.Reader(corpus.source()))


def test_binary_corpora_with_keys(memory, corpus, tmp_path):
    local = str(tmp_path / "train.cbf")
    bf.convert(corpus.source(), local, keys="keep")
    for name in ("train.cbf", "train.cbf.keys"):
        put(memory, str(tmp_path / name), f"/d/{name}")
    same(bf.open("memory://d/train.cbf", minibatch_samples=7), bf.open(local, minibatch_samples=7))
    memory.rm("/d/train.cbf.keys")
    assert next(iter(bf.open("memory://d/train.cbf", shuffle=False))).sequence_keys[:2] == ["0", "1"]


def test_configurations(memory, corpus):
    put(memory, corpus.path, "/d/train.ctf")
    section = """Train = [ reader = [ readerType = "CNTKTextFormatReader" ; file = "$Data$/train.ctf" ; randomize = false
        input = [ x = [ dim = 3 ; format = "dense" ] ; y = [ dim = 5 ; format = "sparse" ] ] ] ]"""
    memory.pipe_file("/d/train.cntk", f'Data = "memory://d"\n{section}\n'.encode())
    with bf.open("memory://d/train.cntk", minibatch_samples=7) as reader:
        same(reader, corpus.reader(shuffle=False, chunk_bytes=1 << 20))


def test_speech(memory, tmp_path):
    """A list at a URL names files beside it; the labels and their names lie there too."""
    lists, labels = [], ["#!MLF!#"]
    for u, frames in enumerate((2, 5, 3)):
        data = struct.pack(">iihh", frames, 100_000, 8, 9) + np.full((frames, 2), u, ">f4").tobytes()
        memory.pipe_file(f"/d/wave/utt{u}.htk", data)
        lists.append(f"utt{u}.lab=wave/utt{u}.htk[0,{frames - 1}]")
        labels += [f'"utt{u}.lab"', f"0 {frames * 100_000} b 0", "."]
    memory.pipe_file("/d/a.scp", "\n".join(lists).encode())
    memory.pipe_file("/d/a.mlf", "\n".join([*labels, ""]).encode())
    memory.pipe_file("/d/states", b"a\nb\n")
    sources = [bf.HTKFeatures("x", "memory://d/a.scp", 2), bf.MLF("y", "memory://d/a.mlf", 2, mapping_file="memory://d/states")]
    batch = next(iter(bf.Reader(sources, minibatch_samples=100, shuffle=False)))
    assert [s.shape[0] for s in batch["x"].sequences()] == [2, 5, 3]
    assert batch["y"].csr().indices.tolist() == [1] * 10
    inferred = bf.open(["memory://d/a.scp", "memory://d/a.mlf"], state_list="memory://d/states", minibatch_samples=100)
    assert inferred.num_samples == 10


def test_scripts_of_old(memory, corpus):
    from batchfeed.compat.cntk import CTFDeserializer, MinibatchSource, StreamDef, StreamDefs

    put(memory, corpus.path, "/d/train.ctf")
    streams = StreamDefs(x=StreamDef(field="x", shape=3), y=StreamDef(field="y", shape=5, is_sparse=True))
    source = MinibatchSource(CTFDeserializer("memory://d/train.ctf", streams), max_sweeps=1)
    assert source.next_minibatch(1000)[source.streams.x].num_samples == sum(corpus.lengths)


def test_states_move_between_disk_and_store(memory, corpus):
    put(memory, corpus.path, "/d/train.ctf")
    local = corpus.reader()
    [local.next() for _ in range(3)]
    remote = bf.Reader(bf.CTF("memory://d/train.ctf", streams=corpus.streams, chunk_bytes=200), minibatch_samples=7)
    remote.load_state_dict(local.state_dict())
    assert keys_of(remote) == keys_of(local)
    assert keys_of(pickle.loads(pickle.dumps(remote))) == keys_of(remote)


def test_what_is_not_there(memory):
    with pytest.raises(bf.MissingFileError) as caught:
        bf.open("memory://d/nothing.ctf")
    assert (caught.value.id, caught.value.path) == ("io.open", "memory://d/nothing.ctf")
    with pytest.raises(bf.FileError, match="cannot open"):
        bf.open("noscheme://d/nothing.ctf")


def test_faults_have_their_place(memory):
    memory.pipe_file("/d/bad.ctf", b"0 |x 1 2\n1 |x 1 nan2\n")
    found = bf.check(bf.CTF("memory://d/bad.ctf", streams={"x": bf.dense(2)}))
    assert [(f.path, f.line) for f in found] == [("memory://d/bad.ctf", 2)]


def test_lists_name_urls_only_where_urls_are_meant(memory, tmp_path):
    """A list from somewhere does not make a program that reads local files use the network."""
    (tmp_path / "a.scp").write_text("u=memory://d/u.htk[0,1]\n")
    memory.pipe_file("/d/u.htk", struct.pack(">iihh", 2, 100_000, 8, 9) + bytes(16))
    with pytest.raises(bf.FileError, match="storage_options"):
        bf.Reader(bf.HTKFeatures("x", str(tmp_path / "a.scp"), 2))
    assert bf.Reader(bf.HTKFeatures("x", str(tmp_path / "a.scp"), 2), storage_options={}).num_samples == 2
    (tmp_path / "b.scp").write_text("u=wave/u.htk[0,1]\n")
    memory.pipe_file("/d/wave/u.htk", struct.pack(">iihh", 2, 100_000, 8, 9) + bytes(16))
    for moved in ({"path_map": {"wave/": "memory://d/wave/"}}, {"prefix": "memory://d"}):  # the program itself names it
        assert bf.Reader(bf.HTKFeatures("x", str(tmp_path / "b.scp"), 2, **moved)).num_samples == 2


class Clock:
    """Counts the requests that a file system gets, and may spoil them."""

    def __init__(self, monkeypatch):
        self.requests, self.spoil = [], lambda n: None
        real = MemoryFileSystem.cat_file

        def cat_file(fs, path, start=None, end=None, **kwargs):
            self.requests.append((start, end))
            self.spoil(len(self.requests))
            return real(fs, path, start=start, end=end, **kwargs)

        monkeypatch.setattr(MemoryFileSystem, "cat_file", cat_file)


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def test_requests_are_ranges_and_cover_the_file_about_once(memory, clock, tmp_path):
    lines = b"".join(b"%d |x %d\n" % (i, i) for i in range(100_000))
    memory.pipe_file("/d/a.ctf", lines)
    source = bf.CTF("memory://d/a.ctf", streams={"x": bf.dense(1)}, chunk_bytes=256 << 10)
    options = bf.Remote(part_bytes=128 << 10, read_ahead=256 << 10)
    with bf.Reader(source, minibatch_samples=4096, storage_options=options, threads=2) as reader:
        indexed = sum(end - start for start, end in clock.requests)
        assert indexed < 2 * len(lines)
        clock.requests.clear()
        assert sum(batch["x"].numpy().sum() for batch in reader) == sum(range(100_000))
        read = sum(end - start for start, end in clock.requests)
    assert max(end - start for start, end in clock.requests) <= 128 << 10
    assert read < 1.3 * len(lines)


@pytest.mark.parametrize("size", (-5, "x", float("inf"), 1 << 63, None))
def test_a_size_that_no_file_has_is_an_error_of_ours(memory, corpus, monkeypatch, size):
    put(memory, corpus.path, "/d/train.ctf")
    real = MemoryFileSystem.info
    monkeypatch.setattr(MemoryFileSystem, "info", lambda fs, path, **options: {**real(fs, path, **options), "size": size})
    with pytest.raises(bf.FileError, match="size.*hint|size.*copies it first"):
        bf.open("memory://d/train.ctf")


def test_failures_on_the_way_are_tried_again(memory, clock, corpus, monkeypatch):
    put(memory, corpus.path, "/d/train.ctf")

    def spoil(n):
        if n % 3 == 1:
            raise OSError("connection reset")

    clock.spoil = spoil
    monkeypatch.setattr(_files.time, "sleep", lambda seconds: None)
    remote = bf.CTF("memory://d/train.ctf", streams=corpus.streams, chunk_bytes=200)
    same(bf.Reader(remote, minibatch_samples=7), corpus.reader())


def test_failures_that_last_are_told(memory, clock, corpus, monkeypatch):
    memory.pipe_file("/d/train.ctf", b"".join(b"%d |x 1 2 3 |y 1:1\n" % i for i in range(20_000)))
    monkeypatch.setattr(_files.time, "sleep", lambda seconds: None)
    remote = bf.CTF("memory://d/train.ctf", streams=corpus.streams, chunk_bytes=100_000)
    with bf.Reader(remote, minibatch_samples=7, threads=1, storage_options=bf.Remote(retries=2)) as reader:
        tries = []

        def spoil(n):
            tries.append(n)
            raise OSError("the cable is cut")

        clock.spoil = spoil
        with pytest.raises(bf.FileError, match="memory://d/train.ctf: cannot read: the cable is cut") as caught:
            list(reader)
        assert len(tries) >= 3 and isinstance(caught.value, OSError)


def test_a_server_may_be_waited_for_all_day(monkeypatch):
    waits = []
    monkeypatch.setattr(_files.time, "sleep", waits.append)

    def work():
        if len(waits) < 3000:
            raise ConnectionError("no server")
        return "there"

    assert _files.retried(bf.Remote(retries=5000), "memory://d/train.ctf", "read", work) == "there"
    assert 0.05 <= waits[0] <= 0.15 and all(2.5 <= wait <= 7.5 for wait in waits[6:])


def test_what_could_not_be_read_is_asked_for_again(memory, clock, monkeypatch):
    memory.pipe_file("/d/train.ctf", b"".join(b"%d |x 1 2 3 |y 1:1\n" % i for i in range(20_000)))
    monkeypatch.setattr(_files.time, "sleep", lambda seconds: None)
    remote = bf.CTF("memory://d/train.ctf", streams={"x": bf.dense(3), "y": bf.sparse(2)}, chunk_bytes=100_000)
    with bf.Reader(remote, minibatch_samples=1000, storage_options=bf.Remote(retries=1)) as reader:
        begun = reader.state_dict()

        def spoil(n):
            raise OSError("the cable is cut")

        clock.spoil = spoil
        with pytest.raises(bf.FileError):
            list(reader)
        clock.spoil = lambda n: None
        reader.load_state_dict(begun)
        assert sum(batch.num_samples for batch in reader) == 20_000


def test_a_file_that_is_replaced_is_a_fault(memory, corpus):
    put(memory, corpus.path, "/d/train.ctf")
    remote = bf.CTF("memory://d/train.ctf", streams=corpus.streams, chunk_bytes=200)
    with bf.Reader(remote, minibatch_samples=7, prefetch=False, window=1) as reader:
        reader.next()
        put(memory, corpus.path, "/d/train.ctf")  # the same bytes, another time
        with pytest.raises(bf.FormatError, match="changed while it was being read"):
            list(reader.epochs(1))


def test_bytes_that_come_while_another_thread_asks_are_compared_too(memory, clock):
    memory.pipe_file("/d/a", bytes(100))
    file = _files._Files(bf.Remote()).open("memory://d/a")
    begun, replaced = threading.Event(), threading.Event()
    clock.spoil = lambda n: begun.set() or replaced.wait(60)
    reading = threading.Thread(target=file.read, args=(0, memoryview(bytearray(10))))
    reading.start()
    assert begun.wait(60) and file.unchanged()  # of another thread, before the bytes came
    memory.pipe_file("/d/a", b"x" * 100)
    replaced.set()
    reading.join()
    assert not file.unchanged()


def test_bytes_that_could_not_be_compared_are_compared_later(memory, monkeypatch):
    memory.pipe_file("/d/a", bytes(100))
    file = _files._Files(bf.Remote(retries=0)).open("memory://d/a")
    file.read(0, memoryview(bytearray(10)))
    memory.pipe_file("/d/a", b"x" * 100)
    with monkeypatch.context() as broken, pytest.raises(bf.FileError):
        broken.setattr(MemoryFileSystem, "info", lambda fs, path, **options: 1 / 0)
        file.unchanged()
    assert not file.unchanged()


def test_an_interrupt_while_bytes_are_announced_is_not_lost(memory, corpus, monkeypatch, interruptible):
    put(memory, corpus.path, "/d/train.ctf")

    def will_read(file, begin, end):
        raise KeyboardInterrupt

    monkeypatch.setattr(_files.RemoteFile, "will_read", will_read)
    with pytest.raises(KeyboardInterrupt):
        bf.open("memory://d/train.ctf")


def test_the_index_is_kept_here(memory, corpus, tmp_path, clock):
    put(memory, corpus.path, "/d/train.ctf")
    source = bf.CTF("memory://d/train.ctf", streams=corpus.streams, chunk_bytes=200)
    [built] = bf.index(source, cache_dir=tmp_path / "cache")
    assert not built.was_valid and built.cache.startswith(str(tmp_path / "cache"))
    [again] = bf.index(source, cache_dir=tmp_path / "cache")
    assert again.was_valid
    put(memory, corpus.path, "/d/train.ctf")
    [stale] = bf.index(source, cache_dir=tmp_path / "cache")
    assert not stale.was_valid and "changed" in stale.why


def test_archives(memory, corpus):
    blob = io.BytesIO()
    with zipfile.ZipFile(blob, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(corpus.path, "train.ctf")
    memory.pipe_file("/d/all.zip", blob.getvalue())
    same(bf.open("zip://train.ctf::memory://d/all.zip", minibatch_samples=7), bf.open(corpus.path, minibatch_samples=7))


def test_conversion_from_and_torch(memory, corpus, tmp_path):
    put(memory, corpus.path, "/d/train.ctf")
    done = bf.convert("memory://d/train.ctf", tmp_path / "a.cbf", verify=True)
    assert done.verified and done.sequences == len(corpus.lengths)


# An object store.


@pytest.fixture(scope="module")
def store():
    pytest.importorskip("s3fs")
    pytest.importorskip("moto")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        yield {"key": "k", "secret": "s", "endpoint_url": f"http://127.0.0.1:{port}", "client_kwargs": {"region_name": "eu-west-1"}}
    finally:
        server.terminate()
        server.wait()


def test_object_stores(store, corpus, tmp_path):
    fs = fsspec.filesystem("s3", **store)
    fs.mkdir("corpora")
    fs.put(corpus.path, "s3://corpora/train.ctf")
    options = dict(minibatch_samples=7, seed=2)
    reader = bf.open("s3://corpora/train.ctf", storage_options=store, **options)
    same(reader, bf.open(corpus.path, **options))
    assert keys_of(pickle.loads(pickle.dumps(reader))) == keys_of(reader)
    by_kind = bf.open("s3://corpora/tr*.ctf", storage_options={"s3": store}, **options)
    assert len(by_kind) == len(reader)
    with pytest.raises(bf.MissingFileError):
        bf.open("s3://corpora/other.ctf", storage_options=store)
    # Another content under the same name.
    reader = bf.Reader(bf.CTF("s3://corpora/train.ctf", streams=corpus.streams, chunk_bytes=200), storage_options=store,
                       minibatch_samples=7, prefetch=False, window=1)
    reader.next()
    Corpus(tmp_path / "other.ctf", corpus.lengths, seed=9)
    fs.put(str(tmp_path / "other.ctf"), "s3://corpora/train.ctf")
    with pytest.raises(bf.FormatError):
        list(reader.epochs(1))
