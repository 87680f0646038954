# SPDX-License-Identifier: MIT
"""Corpora of many shards: here, on Dask and on Ray, with the same bytes, also when a worker is killed on the way."""
import gzip
import os
import pathlib
import signal
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from conftest import Corpus

import batchfeed as bf


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    for i in range(5):
        rng = np.random.default_rng(i)
        part = Corpus(folder / f"part-{i}.ctf", rng.integers(1, 9, 40).tolist(), seed=i)
        text = "".join(f"{int(line.split()[0]) + 40 * i}{line[line.index(' '):]}" for line in open(part.path))
        pathlib.Path(part.path).write_text(text)
    return folder


@dataclass
class Killing:
    """Ends its process once, as the machine's loss would."""

    function: Any
    marker: str

    def __call__(self, item):
        try:
            os.close(os.open(self.marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return self.function(item)
        os.kill(os.getpid(), signal.SIGKILL)


def work(cluster, shards, out):
    corpus = str(shards / "part-*.ctf")
    cluster.convert(corpus, out / "binary")
    cluster.shuffle(corpus, out / "shuffled", shards=3, seed=7)
    cluster.index(corpus, cache_dir=out / "index")
    return cluster.info(corpus), cluster.check(corpus)


def files(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file() and p.suffix != ".bfindex"}


@pytest.fixture(scope="module")
def expected(shards, tmp_path_factory):
    out = tmp_path_factory.mktemp("here")
    return *work(bf.Cluster(), shards, out), files(out)


def test_here(shards, expected, tmp_path):
    about, report, written = expected
    corpus = str(shards / "part-*.ctf")
    alone = bf.info(corpus)
    assert (about.sequences, about.samples, about.lengths, about.steps) == (200, alone.samples, alone.lengths, alone.steps)
    assert [(s.name, s.storage, s.dim) for s in about.streams] == [(s.name, s.storage, s.dim) for s in alone.streams]
    assert (report.faults, report.samples, report.complete) == (0, alone.samples, True)
    # Each shard is what bf.convert() makes of it.
    for i in range(5):
        bf.convert(bf.CTF(shards / f"part-{i}.ctf", streams={"x": bf.dense(3), "y": bf.sparse(5)}), tmp_path / "one.cbf", force=True)
        assert (tmp_path / "one.cbf").read_bytes() == written[f"binary/part-{i}.cbf"]


def test_a_global_shuffle_moves_every_sequence_somewhere(shards, expected, tmp_path):
    bf.Cluster().shuffle(str(shards / "part-*.ctf"), tmp_path, shards=3, seed=7, to="ctf")
    rows, places = {}, []
    for k in range(3):
        for batch in bf.open(tmp_path / f"part-{k:05d}.ctf", shuffle=False, minibatch_samples=50, keys="text"):
            for key, x in zip(batch.sequence_keys, batch["x"].sequences()):
                rows[key] = x
                places.append((k, int(key)))
    assert sorted(map(int, rows)) == list(range(200))
    for batch in bf.open(str(shards / "part-*.ctf"), minibatch_samples=50):
        for key, x in zip(batch.sequence_keys, batch["x"].sequences()):
            np.testing.assert_array_equal(rows[key], x)
    # Every shard has about a third, of every shard's sequences.
    for k in range(3):
        mine = [key for shard, key in places if shard == k]
        assert 40 < len(mine) < 95 and len({key // 40 for key in mine}) == 5 and mine != sorted(mine)
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".shuffle")]


@pytest.mark.parametrize("ids", [False, True])
def test_shards_that_count_from_0_each_are_numbered_anew_in_text(tmp_path, ids):
    for i in range(3):
        (tmp_path / f"{i}.ctf").write_text("".join(f"{n if ids else ''}|x {i} {n}\n" for n in range(20)))
    corpus = str(tmp_path / "?.ctf")
    for seed in range(3):  # of any there is one for which two with the same number follow each other
        for to in ("ctf", "cbf"):
            bf.Cluster().shuffle(corpus, tmp_path / f"{to}{seed}", shards=2, seed=seed, to=to)
            read = np.concatenate([b["x"].values for b in bf.open(str(tmp_path / f"{to}{seed}" / f"part-*.{to}"), minibatch_samples=9)])
            assert sorted(map(tuple, read.tolist())) == [(i, n) for i in range(3) for n in range(20)]
    with pytest.raises(bf.FormatError, match="two sequences with the id"):
        for seed in range(3):
            bf.Cluster().shuffle(corpus, tmp_path / f"kept{seed}", shards=2, seed=seed, to="ctf", keys="keep")
    bf.Cluster().shuffle(str(tmp_path / "0.ctf"), tmp_path / "one", shards=1, to="ctf")
    found = [(key, x) for b in bf.open(tmp_path / "one" / "part-00000.ctf", minibatch_samples=9) for key, x in zip(b.sequence_keys, b["x"].values[:, 1])]
    assert len(found) == 20 and all(int(key) == x for key, x in found), "which it was of the corpus"


def test_many_shards_are_dealt_in_rounds(shards, expected, tmp_path, monkeypatch):
    monkeypatch.setattr("batchfeed._cluster.MOST_WRITERS", 2)
    bf.Cluster().shuffle(str(shards / "part-*.ctf"), tmp_path, shards=3, seed=7)
    assert files(tmp_path) == {k.removeprefix("shuffled/"): v for k, v in expected[2].items() if k.startswith("shuffled")}


def test_a_seed_may_be_any(shards, tmp_path):
    bf.Cluster().shuffle(str(shards / "part-*.ctf"), tmp_path, shards=2, seed=2**64 - 1)
    assert sorted(files(tmp_path)) == [f"part-{k:05d}.cbf{end}" for k in range(2) for end in ("", ".keys")]
    bf.Cluster().shuffle(str(shards / "part-*.ctf"), tmp_path / "b", shards=2, seed=2**64 - 2)
    assert {k: v for k, v in files(tmp_path).items() if "/" not in k} != files(tmp_path / "b")


def test_other_seeds_give_other_orders(shards, expected, tmp_path):
    bf.Cluster().shuffle(str(shards / "part-*.ctf"), tmp_path, shards=3, seed=8)
    assert files(tmp_path) != {k.removeprefix("shuffled/"): v for k, v in expected[2].items() if k.startswith("shuffled")}


@pytest.mark.parametrize("cache_dir", [None, "index"])
def test_what_is_indexed_is_opened_at_once(shards, tmp_path, monkeypatch, cache_dir):
    """Inferred streams are kept, too: else the first reader would read all shards for them."""
    for shard in shards.glob("part-*.ctf"):
        (tmp_path / shard.name).write_bytes(shard.read_bytes())
    monkeypatch.chdir(tmp_path)
    kept = lambda: {p.name: p.stat().st_mtime_ns for p in pathlib.Path(cache_dir or ".").iterdir() if p.suffix in (".bfindex", ".bfstreams")}
    bf.Cluster().index("part-*.ctf", cache_dir=cache_dir)
    made = kept()
    assert sorted(name.rsplit(".")[-1] for name in made) == ["bfindex"] * 5 + ["bfstreams"] * 5
    assert [one.was_valid for one in bf.index("part-*.ctf", cache_dir=cache_dir)] == [True] * 5
    bf.Reader(bf.CTF("part-*.ctf", cache_index=True, cache_dir=cache_dir), minibatch_samples=50).close()
    assert kept() == made
    bf.Cluster().info(bf.CTF("part-*.ctf", cache_index=True, cache_dir=cache_dir))
    assert kept() == made
    bf.Cluster().index("part-*.ctf", cache_dir=cache_dir, rebuild=True)
    assert all(kept()[name] != when for name, when in made.items())


def test_faults_of_shards_keep_their_order(shards, tmp_path):
    for i, text in enumerate((b"0 |x 1 2\n1 |x 1 oops\n", b"2 |x 3 4\n", b"3 |x 1 bad\n")):
        (tmp_path / f"{i}.ctf").write_bytes(text)
    report = bf.Cluster().check(bf.CTF(str(tmp_path / "*.ctf"), streams={"x": bf.dense(2)}))
    assert [(os.path.basename(f.path), f.line) for f in report] == [("0.ctf", 2), ("2.ctf", 1)]
    assert report.faults == 2


@pytest.mark.parametrize("streams", [None, {"x": bf.dense(2)}])
def test_shards_that_cannot_be_opened_are_faults_of_the_corpus(tmp_path, streams):
    for i, text in enumerate((b"", b"0 |x 1 2\n1 |x 1 oops\n", gzip.compress(b"2 |x 3 4\n" * 9)[:25])):
        (tmp_path / f"{i}.ctf").write_bytes(text)
    report = bf.Cluster().check(bf.CTF(str(tmp_path / "*.ctf"), streams))
    assert [(os.path.basename(f.path), f.id) for f in report] == [("0.ctf", "ctf.empty"), ("1.ctf", "ctf.bad-number"), ("2.ctf", "compressed.truncated")]
    assert (report.faults, report.sequences, report.complete) == (3, 2, False)
    (tmp_path / "1.ctf").write_bytes(b"\n")
    report = bf.Cluster().check(bf.CTF(str(tmp_path / "*.ctf"), streams))
    assert report.by_id == {"ctf.empty": 2, "compressed.truncated": 1}
    with pytest.raises(bf.FormatError, match="0.ctf: file is empty"):
        bf.Cluster().info(bf.CTF(str(tmp_path / "*.ctf"), streams))
    with pytest.raises(bf.MissingFileError):
        bf.Cluster().check([str(tmp_path / "1.ctf"), str(tmp_path / "none.ctf")])


def test_binary_shards_have_the_same_streams(tmp_path):
    two = {"x": bf.dense(2), "y": bf.dense(3)}
    corpus, works = str(tmp_path / "*.cbf"), (bf.Cluster().info, bf.Cluster().check, lambda c: bf.Cluster().shuffle(c, tmp_path / "out", shards=1))
    with bf.Writer(tmp_path / "a.cbf", two) as writer:
        writer.append({"x": [1, 2], "y": [1, 2, 3]})
    for streams, dtype, message in (
        ({"y": bf.dense(3), "x": bf.dense(2)}, "float32", r"'y' \(dense 3\), not 'x' \(dense 2\)"),
        ({"x": bf.dense(2)}, "float32", r"none, not 'y' \(dense 3\)"),
        (two, "float64", r"'x' \(dense 2, double\), not 'x' \(dense 2\)"),
    ):
        with bf.Writer(tmp_path / "b.cbf", streams, dtype=dtype, force=True) as writer:
            writer.append({name: np.ones(spec.dim) for name, spec in streams.items()})
        for work in works:
            with pytest.raises(bf.ConfigError, match=f"shard 2 of the corpus has other streams than the first: {message}; hint: they must agree"):
                work(corpus)
    (tmp_path / "b.cbf").write_bytes((tmp_path / "a.cbf").read_bytes()[:40])
    report = bf.Cluster().check(corpus)
    assert (report.faults, report.sequences) == (1, 1), "a damaged shard is a fault, as ever"
    (tmp_path / "b.cbf").write_bytes((tmp_path / "a.cbf").read_bytes())
    assert [(s.name, s.dim) for s in bf.Cluster().info(corpus).streams] == [("x", 2), ("y", 3)]


def test_shards_are_read_as_the_dtype_says(shards, tmp_path):
    corpus = str(shards / "part-*.ctf")
    bf.Cluster().convert(corpus, tmp_path / "wide", dtype="float64")
    bf.convert(bf.CTF(shards / "part-0.ctf", streams={"x": bf.dense(3), "y": bf.sparse(5)}, dtype="float64"), tmp_path / "one.cbf")
    assert (tmp_path / "wide" / "part-0.cbf").read_bytes() == (tmp_path / "one.cbf").read_bytes()
    bf.Cluster().shuffle(corpus, tmp_path / "shuffled", shards=2, dtype=np.float64)
    for folder in ("wide", "shuffled"):
        assert bf.info(str(tmp_path / folder / "part-*.cbf")).streams[0].dtype == "float64"


def test_shuffles_at_the_same_time_keep_off_each_others_pieces(shards, tmp_path):
    class Interrupted(bf.Cluster):
        def map(self, function, items):
            out = super().map(function, items)
            if type(function).__name__ == "_Deal":
                bf.Cluster().shuffle(str(shards / "part-*.ctf"), tmp_path, shards=2, to="ctf")
            return out

    Interrupted().shuffle(str(shards / "part-*.ctf"), tmp_path, shards=2)
    assert sorted(p.name for p in tmp_path.iterdir() if p.suffix != ".keys") == [f"part-0000{k}.{to}" for k in (0, 1) for to in ("cbf", "ctf")]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"limits": {"line_bytes": 9}}, "limits is {'line_bytes': 9}, which a cluster does not take; hint: leave it out"),
        ({"section": "Train.reader"}, "section is 'Train.reader', which"),
        ({"set": ["a=1"]}, "set is .'a=1'., which"),
        ({"state_list": "s"}, "state_list is 's', which"),
        ({"storage_options": {"anon": True}}, r"storage_options is .* hint: bf.Cluster\(storage_options=...\) takes it"),
        ({"dtype": "float16"}, "dtype is float16, expected float32 or float64"),
    ],
)
def test_options_that_a_cluster_does_not_take(shards, tmp_path, options, message):
    for work in (bf.Cluster().convert, lambda *a, **k: bf.Cluster().shuffle(*a, shards=2, **k)):
        with pytest.raises(bf.ConfigError, match=message):
            work(str(shards / "part-*.ctf"), tmp_path / "out", **options)
    with pytest.raises(bf.ConfigError, match=r"dtype is 'float64', .* hint: say bf.CTF\(file, dtype=...\)"):
        bf.Cluster().convert(bf.CTF(shards / "part-0.ctf"), tmp_path / "out", dtype="float64")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"to": "nix"}, bf.ConfigError, "to is 'nix', expected one of 'ctf', 'cbf', 'scp'"),
        ({"keys": "drop"}, bf.ConfigError, "keys is 'drop', expected one of 'automatic', 'keep'"),
        ({"chunk_bytes": -1}, bf.ConfigError, "chunk_bytes is -1"),
        ({"renames": ["x"]}, bf.ConfigError, "renames is .'x'., expected a mapping"),
        ({"force": "no"}, bf.ConfigError, "force is 'no', expected True or False"),
        ({"chunk_byte": 9}, TypeError, "unexpected keyword argument 'chunk_byte'"),
        ({"shuffle": 3}, bf.ConfigError, "shuffle is 3, and the shards are shuffled anyway; hint: seed= gives another order"),
    ],
)
def test_options_are_checked_before_any_shard_is_read(tmp_path, options, error, message):
    works = [lambda *a, **k: bf.Cluster().shuffle(*a, shards=2, **k)] + [bf.Cluster().convert] * ("shuffle" not in options)
    for work in works:
        with pytest.raises(error, match=message):
            work(str(tmp_path / "none.ctf"), tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_what_is_refused(shards, tmp_path):
    with pytest.raises(bf.ConfigError, match="exists"):
        (tmp_path / "part-0.cbf").write_bytes(b"")
        bf.Cluster().convert(str(shards / "part-*.ctf"), tmp_path)
    with pytest.raises(bf.ConfigError, match="two shards"):
        bf.Cluster().convert([str(shards / "part-0.ctf")] * 2, tmp_path / "b")
    with pytest.raises(bf.ConfigError, match="at least 1"):
        bf.Cluster().shuffle(str(shards / "part-*.ctf"), tmp_path, shards=0)


def test_a_file_in_the_place_of_the_folder(shards, tmp_path):
    (tmp_path / "out").write_bytes(b"")
    for work in (bf.Cluster().convert, lambda *a: bf.Cluster().shuffle(*a, shards=2)):
        with pytest.raises(bf.FileError, match="out: cannot create: File exists$"):
            work(str(shards / "part-*.ctf"), tmp_path / "out")


def test_a_shuffle_does_not_replace_what_it_reads(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bf.convert(bf.Arrays({"x": np.arange(40, dtype=np.float32)[:, None]}), "all.ctf", keys="number")
    bf.Cluster().shuffle("all.ctf", tmp_path, shards=2, to="ctf")
    before = files(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path)
    for corpus, out in (("part-*.ctf", tmp_path), (str(tmp_path / "part-*.ctf"), "link"), ("link/part-*.ctf", ".")):
        with pytest.raises(bf.ConfigError, match="part-00000.ctf: is a shard of what is read, .*; hint: choose another folder"):
            bf.Cluster().shuffle(corpus, out, shards=1, to="ctf", force=True)
    (tmp_path / "link").unlink()
    assert files(tmp_path) == before
    bf.Cluster().shuffle("all.ctf", tmp_path, shards=2, to="ctf", seed=1, force=True)
    assert files(tmp_path).keys() == before.keys() and files(tmp_path) != before


def test_a_url_is_no_folder_to_write_to(shards, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for work in (bf.Cluster().convert, lambda *a: bf.Cluster().shuffle(*a, shards=2)):
        with pytest.raises(bf.ConfigError, match="^memory://d/out: clusters write local files; hint: give a folder"):
            work(str(shards / "part-*.ctf"), "memory://d/out")
    assert not list(tmp_path.iterdir())


def check_cluster(cluster, shards, expected, out, tmp_path):
    about, report = work(cluster, shards, out)
    assert about == expected[0] and report == expected[1]
    assert files(out) == expected[2]

    killed = str(tmp_path / "killed")
    plain = cluster.map
    cluster.map = lambda function, items: plain(Killing(function, killed), items)
    cluster.convert(str(shards / "part-*.ctf"), out / "binary", force=True)
    assert os.path.exists(killed)
    os.unlink(killed)
    cluster.shuffle(str(shards / "part-*.ctf"), out / "shuffled", shards=3, seed=7, force=True)
    assert os.path.exists(killed)
    assert files(out) == expected[2]


def test_dask(shards, expected, tmp_path):
    distributed = pytest.importorskip("distributed")
    import batchfeed.on_dask

    (tmp_path / "out").mkdir()
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=str(tmp_path / "dask")) as local:
        with distributed.Client(local) as client:
            check_cluster(batchfeed.on_dask.Cluster(client), shards, expected, tmp_path / "out", tmp_path)
            with pytest.raises(bf.MissingFileError):
                batchfeed.on_dask.Cluster().check(str(tmp_path / "none.ctf"))


def test_ray(shards, expected, tmp_path, monkeypatch):
    ray = pytest.importorskip("ray")
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(__file__))  # its workers need Killing
    import batchfeed.on_ray

    (tmp_path / "out").mkdir()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        check_cluster(batchfeed.on_ray.Cluster(), shards, expected, tmp_path / "out", tmp_path)
        with pytest.raises(bf.MissingFileError):
            batchfeed.on_ray.Cluster().check([str(shards / "part-0.ctf"), str(tmp_path / "none.ctf")])
    finally:
        ray.shutdown()
