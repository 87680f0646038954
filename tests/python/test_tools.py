# SPDX-License-Identifier: MIT
"""Errors with fields, and work on whole corpora."""
import errno
import gzip
import logging
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import pytest
from conftest import Corpus, keys_of

import batchfeed as bf

BAD = "0 |x 1 2 |y 1:1\n1 |x 3 |y 9:1\n2 |x 1 a |y 0:1\n"


@pytest.fixture
def bad(tmp_path):
    path = tmp_path / "bad.ctf"
    path.write_text(BAD)
    return bf.CTF(path, streams={"x": bf.dense(2), "y": bf.sparse(5)})


def test_a_text_that_was_torn_before_it_was_compressed_is_told(tmp_path):
    path = tmp_path / "torn.ctf.gz"
    path.write_bytes(gzip.compress(b"0 |x 1\n1 |x 2\n2"))
    assert [(fault.id, fault.line) for fault in bf.check(path)] == [("ctf.torn-end", 3)]


def test_a_format_error_says_where_and_what_to_do(bad):
    with pytest.raises(bf.FormatError) as caught:
        list(bf.Reader(bad, shuffle=False))
    error = caught.value
    assert isinstance(error, ValueError) and isinstance(error, bf.Error)
    assert (error.path, error.line, error.column, error.byte, error.stream) == (str(bad.files), 2, 11, 26, "y")
    assert (error.id, error.kind, error.hint) == ("ctf.index-range", "format", "indices count from 0; or set dim = 10")
    assert str(error) == f"{bad.files}:2:11 (byte 26): {error.what}; hint: {error.hint}"


def test_a_file_that_is_not_there_is_a_file_not_found_error(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        bf.open(tmp_path / "no.ctf")
    assert isinstance(caught.value, bf.FileError)
    assert (caught.value.errno, caught.value.filename) == (errno.ENOENT, str(tmp_path / "no.ctf"))
    with pytest.raises(bf.FileError):
        bf.open(tmp_path)


def test_a_configuration_error_has_its_place(tmp_path):
    config = tmp_path / "bad.cntk"
    config.write_text("reader = [\n  readerType = CNTKTextFormatReader\n  file = x.ctf\n  input = [ x = [ dim = two ] ]\n]\n")
    with pytest.raises(bf.ConfigError) as caught:
        bf.open(config)
    assert (caught.value.path, caught.value.line) == (str(config), 4) and caught.value.kind == "config"


def test_a_limit_is_an_error_of_its_own(corpus):
    with pytest.raises(bf.LimitError, match="limit"):
        list(bf.Reader(corpus.source(), limits={"sequence_samples": 3}))
    for files in (corpus.path, corpus.source()):  # inferred, and declared
        with pytest.raises(bf.LimitError, match="stream 'x': dim 3, the limit is 2; hint: raise limits.dim"):
            bf.Reader(files, limits={"dim": 2})


def test_what_is_neither_corpus_nor_configuration(tmp_path):
    path = tmp_path / "noise"
    path.write_bytes(bytes(range(256)))
    with pytest.raises(bf.ConfigError, match=f"{path}: is in no format that batchfeed knows"):
        bf.open(path)
    path.write_text("")
    with pytest.raises(bf.Error):
        bf.open(path)


def test_notices_go_to_the_report_or_the_logger(bad, caplog):
    tolerant = bf.CTF(bad.files, streams=bad.streams, max_errors=10)
    with caplog.at_level(logging.DEBUG, "batchfeed"):
        list(bf.Reader(tolerant))
    assert any("expected dim 2" in record.message for record in caplog.records)
    told = []
    list(bf.Reader(tolerant, report=told.append))
    assert {"ctf.index-range", "ctf.bad-number"} <= {fault.id for fault in told}, {f.id for f in told}


def test_a_report_that_fails_does_not_stop_the_reader(corpus, capsys, monkeypatch):
    import sys

    seen = []
    monkeypatch.setattr(sys, "unraisablehook", seen.append)
    with open(corpus.path, "a") as file:
        file.write("99 |x 1 2 |y 0:1\n")

    def report(fault):
        raise RuntimeError("no")

    assert sum(batch.num_sequences for batch in corpus.reader(report=report)) == len(corpus.lengths) + 1
    assert seen and isinstance(seen[0].exc_value, RuntimeError)


CLOSED = """
import os, sys
import batchfeed as bf
if os.geteuid() == 0:
    os.seteuid(65534)  # to root none is closed
for what in (sys.argv[1], bf.CTF(sys.argv[1]), sys.argv[2]):
    told = []
    with (bf.open if isinstance(what, str) else bf.Reader)(what, report=told.append) as reader:
        print(reader.num_sequences, [fault.id for fault in told if fault.id != "reader.memory"])
"""


def test_a_folder_that_is_closed_to_a_pattern_is_told():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        for name in ("a", "b"):
            at = pathlib.Path(folder, name)
            at.mkdir()
            (at / "x.ctf").write_text("1 |x 1\n")
            (at / "x.mlf").write_text('#!MLF!#\n"u"\n0 100000 a\n.\n')
        closed = pathlib.Path(folder, "a")
        closed.chmod(0)
        command = [sys.executable, "-c", CLOSED, f"{folder}/*/x.ctf", f"{folder}/*/x.mlf"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        closed.chmod(0o755)
    assert done.stdout == "1 ['open.closed-folder']\n" * 3, done.stderr


def test_check_lists_every_fault(bad, corpus):
    found = bf.check(bad)
    assert [(f.line, f.severity) for f in found] == [(2, "warning"), (2, "error"), (3, "error")]
    assert (found.faults, found.warnings, found.complete) == (2, 1, True)
    assert found.by_id["ctf.index-range"] == 1 and str(found[1]).startswith(f"{bad.files}:2:11")
    assert "2 faults" in repr(found) and ":3:8" in repr(found)
    assert bf.check(corpus.path) == [] and bf.check(corpus.path).samples == sum(corpus.lengths)
    assert len(bf.check(bad, max_faults=1)) == 1


def test_check_lists_what_loading_a_configuration_tells(corpus, tmp_path):
    path = tmp_path / "train.cntk"
    path.write_text(
        f"""Train = [ reader = [ readerType = CNTKTextFormatReader ; file = "{corpus.path}" ; randomizationWindw = 3
                input = [ x = [ dim = 3 ; format = dense ] ; y = [ dim = 5 ; format = sparse ] ] ] ]"""
    )
    found = bf.check(path)
    assert [(f.severity, f.line) for f in found] == [("warning", 1)] and "randomizationWindow" in found[0].hint
    assert (found.faults, found.warnings, found.by_id, found.complete) == (0, 1, {found[0].id: 1}, True)
    assert bf.check(path, max_faults=0) == [] and bf.check(path, max_faults=0).warnings == 1
    with open(corpus.path, "ab") as file:
        file.write(b"9 |x 1 2 oops\n")
    both = bf.check(path)
    assert both.faults >= 1 and both[0] == found[0] and both.by_id[found[0].id] == 1


TWO_SECTIONS = """SGD = [ minibatchSize = many ]
A = [ reader = [ readerType = CNTKTextFormatReader ; file = "{path}" ; input = [ x = [ dim = 3 ; format = dense ] ; y = [ dim = 5 ; format = sparse ] ] ] ]
B = [ reader = [ readerType = CNTKTextFormatReader ; file = "$folder$/a.ctf" ; maxErrors = $most$
                 randomize = maybe ; input = [ x = [ dim = $dim$ ; format = dense ] ; y = [ dim = 5 ; format = spars ] ] ] ]
"""


def test_check_finds_every_fault_of_a_configuration(corpus, tmp_path):
    path = tmp_path / "two.cntk"
    path.write_text(TWO_SECTIONS.format(path=corpus.path))
    found = bf.check(path, section="B.reader")
    assert all(f.severity == "error" and f.path == str(path) for f in found)
    assert {f.what.split("'")[1] if "'" in f.what else f.what for f in found} >= {"most", "dim", "folder"}, found
    assert found.faults == len(found) == sum(found.by_id.values()) == 5 and not found.complete and found.samples == 0
    assert len(bf.check(path, section="B.reader", max_faults=2)) == 2
    whole = bf.check(path, section="A.reader")
    assert (whole.faults, whole.complete, whole.samples) == (0, True, sum(corpus.lengths))
    both = bf.check(path)
    assert both == [*whole, *found] and both.by_id == found.by_id
    assert (both.faults, both.complete, both.samples, both.sequences) == (5, False, whole.samples, whole.sequences)
    path.write_text("A = [ reader = [ ")
    with pytest.raises(bf.ConfigError):
        bf.check(path)


def test_check_goes_on_after_a_size_that_cannot_be_used(corpus, tmp_path):
    path = tmp_path / "size.cntk"
    section = TWO_SECTIONS.format(path=corpus.path).splitlines()[1]
    path.write_text(section.replace("A = [ reader", "A = [ SGD = [ minibatchSize = many ; epochSize = all ] ; reader"))
    found = bf.check(path)
    assert found.faults == len(found) == 2 and found.complete and found.samples == sum(corpus.lengths), found
    with pytest.raises(bf.ConfigError):
        bf.open(path)


def test_check_tells_what_is_beyond_a_limit(corpus):
    found = bf.check(corpus.path, limits={"streams": 1})
    assert [(f.kind, f.path) for f in found] == [("limit", corpus.path)] and not found.complete


@pytest.mark.parametrize(
    "name, content, rule",
    [
        ("a.ctf", b"", "ctf.empty"),
        ("a.ctf.gz", gzip.compress(b"0 |x 1 2\n1 |x 3 4\n")[:25], "compressed.truncated"),
        ("a.ctf.gz", b"\x1f\x8b\x08\0garbagegarbage", "compressed.damaged"),
        ("a.cbf", b"", "cbf.too-small"),
        ("a.cbf", b"nib_ktnc\1\0\0\0\1\0\0\0", "cbf.too-small"),
    ],
)
def test_check_finds_what_cannot_be_opened(tmp_path, name, content, rule):
    path = tmp_path / name
    path.write_bytes(content)
    kind = bf.CBF if name.endswith("cbf") else bf.CTF
    for found in (bf.check(path), bf.check(kind(path)), bf.check([path])):
        assert [(fault.id, fault.path, fault.severity) for fault in found] == [(rule, str(path), "error")]
        assert (found.faults, found.by_id, found.complete, found.sequences) == (1, {rule: 1}, False, 0)
    assert bf.check(path, max_faults=0) == [] and bf.check(path, max_faults=0).faults == 1
    with pytest.raises(FileNotFoundError):
        bf.check(tmp_path / "nothing.ctf")


def test_info_of_every_kind(corpus, tmp_path):
    about = bf.info(corpus.path)
    assert (about.sequences, about.samples) == (len(corpus.lengths), sum(corpus.lengths))
    assert about.lengths["max"] == max(corpus.lengths)
    y = about.streams[1]
    assert (y.name, y.storage, y.one_hot, y.samples) == ("y", "sparse", True, sum(corpus.lengths))
    assert "one-hot" in str(about) and "<table>" in about._repr_html_()
    config = tmp_path / "pasted.cntk"
    config.write_text(about.reader_section)
    assert bf.info(config).samples == about.samples
    declared = bf.info(corpus.source())
    assert declared.streams[0].samples is None and declared.reader_section is None
    assert "range" not in str(declared)


def test_info_tells_samples_that_cannot_be_read_so(tmp_path):
    (tmp_path / "a.ctf").write_text("|f 1 2\n" * 300 + "|f 1 x\n")
    about = bf.info(tmp_path / "a.ctf")
    said = "f: 1 sample cannot be read as such; bf.check() says where"
    assert about.streams[0].odd == 1 and said in str(about) and said in about._repr_html_()


def test_info_of_names_that_no_section_can_say(tmp_path):
    (tmp_path / "a.ctf").write_text('|a";b=" 1 2\n')
    about = bf.info(tmp_path / "a.ctf")
    assert about.streams[0].name == 'a";b="' and about.reader_section is None


def test_info_of_several_files_offers_a_section_of_all(tmp_path):
    (tmp_path / "a.ctf").write_text("|f 1 2\n")
    (tmp_path / "b.ctf").write_text("|f 3 4\n|f 5 6\n")
    config = tmp_path / "pasted.cntk"
    config.write_text(bf.info([tmp_path / "a.ctf", tmp_path / "b.ctf"]).reader_section)
    assert bf.info(config).samples == 3


def test_convert_there_and_back(corpus, tmp_path):
    done = bf.convert(corpus.source(), tmp_path / "a.cbf", verify=True)
    assert (done.sequences, done.samples, done.verified) == (len(corpus.lengths), sum(corpus.lengths), True)
    assert list(done.streams) == ["x", "y"]
    bf.convert(tmp_path / "a.cbf", tmp_path / "b.ctf", renames={"x": "features"}, keys="number")
    batch = next(iter(bf.open(tmp_path / "b.ctf", shuffle=False, minibatch_samples=10**6)))
    np.testing.assert_array_equal(batch["features"].numpy(), np.concatenate(corpus.dense))
    with pytest.raises(bf.Error, match="exists|there"):
        bf.convert(corpus.source(), tmp_path / "a.cbf")
    with pytest.raises(bf.ConfigError, match="does not say which format"):
        bf.convert(corpus.source(), tmp_path / "a.dat")
    with pytest.raises(bf.ConfigError, match="keys is 'some'"):
        bf.convert(corpus.source(), tmp_path / "c.cbf", keys="some")


def test_a_binary_corpus_comes_as_it_was_written(corpus, tmp_path):
    bf.convert(corpus.source(dtype="float64"), tmp_path / "a.cbf")
    assert bf.open(tmp_path / "a.cbf").streams["x"].element == "float64"
    renamed = bf.Reader(bf.CBF(tmp_path / "a.cbf", streams={"z": "x"}, dtype="float32"))
    assert next(iter(renamed))["z"].dtype == np.float32


def test_an_index_is_built_once(corpus, tmp_path):
    first = bf.index(corpus.path, cache_dir=tmp_path / "cache")
    again = bf.index(corpus.path, cache_dir=tmp_path / "cache")
    assert [(i.was_valid, i.samples) for i in first + again] == [(False, 77), (True, 77)]
    assert first[0].cache == again[0].cache


def test_every_corpus_of_a_mixture_gets_its_index(tmp_path):
    parts = [Corpus(tmp_path / name, [2] * 5) for name in ("a.ctf", "b.ctf")]
    mixture = bf.Mix((parts[0].source(), 1), (parts[1].source(), 3))
    first = bf.index(mixture, cache_dir=tmp_path / "cache")
    again = bf.index(mixture, cache_dir=tmp_path / "cache")
    assert [i.was_valid for i in first + again] == [False, False, True, True]
    assert len({i.cache for i in first}) == 2


def test_progress_is_told_and_may_give_up(tmp_path):
    corpus = Corpus(tmp_path / "big.ctf", [5] * 2000)
    calls = []
    bf.check(corpus.path, progress=lambda done, total: calls.append((done, total)))
    assert calls and calls[-1][0] <= calls[-1][1]

    class Enough(Exception):
        pass

    def stop(done, total):
        raise Enough

    with pytest.raises(Enough):
        bf.check(corpus.path, progress=stop)


def test_what_a_reader_reads_at_a_glance(corpus):
    about = corpus.reader().stats()
    assert (about.samples, about.lengths["min"], about.lengths["max"]) == (77, 1, 9)
    assert sum(n for _, n in about.steps) == len(corpus.lengths)
    assert about._repr_html_().count("<rect") == len(about.steps) > 1


def test_a_bar_is_drawn(corpus, capsys, monkeypatch):
    import sys
    import types

    drawn = []

    class Bar:
        def __init__(self, **options):
            self.total = self.n = 0

        def refresh(self):
            drawn.append((self.n, self.total))

        def close(self):
            drawn.append("closed")

    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=Bar))
    assert bf.check(corpus.path, progress=True) == []
    assert drawn[-1] == "closed" and drawn[-2][0] == drawn[-2][1] > 0


def test_shards_by_pattern(tmp_path):
    for i in range(3):
        Corpus(tmp_path / f"part{i}.ctf", [1, 2], seed=i)
    reader = bf.open(tmp_path / "part*.ctf", shuffle=False, minibatch_samples=3)
    assert reader.num_samples == 9 and len(keys_of(reader)) == 3


def test_which_worker_this_is(monkeypatch):
    for names in bf._world.LAUNCHERS:
        for name in names[1:]:
            monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    assert bf.world() == {"workers": 1, "rank": 0}
    monkeypatch.setenv("SLURM_PROCID", "2")
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "4")
    assert bf.world() == {"workers": 4, "rank": 2}
    monkeypatch.setenv("SLURM_PROCID", "4")
    with pytest.raises(bf.ConfigError, match="SLURM_PROCID is '4'"):
        bf.world()


def test_a_report_counts_as_people_do(tmp_path):
    (tmp_path / "bad.ctf").write_text("0 |x 1 2\n1 |x 1 b\n")
    assert repr(bf.check(tmp_path / "bad.ctf")).splitlines()[0] == "<1 fault, 0 warnings in 2 samples of 2 sequences>"


@pytest.mark.parametrize("name", ["a.ctf.zst", "a.txt.zst", "a.cbf.zst", "a.bin.zst", "a.cbf", "a.txt"])
def test_targets_are_compressed_by_their_names(corpus, tmp_path, name):
    done = bf.convert(corpus.source(), tmp_path / name, keys="keep", verify=True)
    assert done.verified and ((tmp_path / name).read_bytes()[:4] == b"(\xb5/\xfd") is name.endswith(".zst")
    expected = keys_of(bf.open(corpus.path, shuffle=False))
    assert keys_of(bf.open(tmp_path / name, shuffle=False)) == expected
    with bf.Writer(tmp_path / f"w{name}", corpus.streams, keys=True) as writer:
        writer.write(corpus.reader(shuffle=False))
    assert keys_of(bf.open(tmp_path / f"w{name}", shuffle=False)) == expected
    with bf.Writer(tmp_path / "b.zst", corpus.streams, to="ctf") as writer:
        writer.write(corpus.reader(shuffle=False))
    assert bf.info(tmp_path / "b.zst").sequences == len(corpus.lengths)


def test_targets_that_others_write(corpus, tmp_path):
    with pytest.raises(bf.ConfigError, match=r"a.parquet: is in no format that convert\(\) writes; hint: bf.to_parquet\(\) does"):
        bf.convert(corpus.path, tmp_path / "a.parquet")
    assert bf.convert(corpus.path, tmp_path / "b.parquet", to="ctf").sequences == len(corpus.lengths)


def test_a_corpus_is_not_replaced_by_the_streams_that_are_declared(corpus, tmp_path):
    before = pathlib.Path(corpus.path).read_bytes()
    config = tmp_path / "a.cntk"
    config.write_text(f'T = [ reader = [ readerType = "CNTKTextFormatReader" ; file = "{corpus.path}" ; input = [ x = [ dim = 3 ; format = "dense" ] ] ] ]')
    for what in (config, bf.CTF(corpus.path, streams={"x": bf.dense(3)})):
        with pytest.raises(bf.ConfigError, match="is what is read, and only a part of it would be left; hint: choose another name"):
            bf.convert(what, corpus.path, force=True)
    assert pathlib.Path(corpus.path).read_bytes() == before
    assert bf.convert(corpus.path, corpus.path, force=True).sequences == len(corpus.lengths)


@pytest.mark.parametrize(
    "name, to, rule, message",
    [
        ("a.ctf.gz", None, "convert.target-gzip", "gzip is read but not written; hint: name it .zst"),
        ("a.ctf.gz", "ctf", "convert.target-gzip", "gzip is read but not written; hint: name it .zst"),
        ("a.scp.zst", None, "convert.target-compressed", "speech features are not compressed; hint: name it without .zst"),
        ("a.zst", "htk", "convert.target-compressed", "speech features are not compressed; hint: name it without .zst"),
        ("a.zst", None, "convert.target-name", "its name does not say which format to write; hint: to= does: cbf, ctf"),
        ("a", None, "convert.target-name", "its name does not say which format to write; hint: to= does: cbf, ctf"),
    ],
)
def test_targets_that_cannot_be_written(corpus, tmp_path, name, to, rule, message):
    target = tmp_path / name
    writes = [lambda: bf.convert(corpus.path, target, to=to)]
    if to != "htk":
        writes.append(lambda: bf.Writer(target, corpus.streams, to=to))
    for write in writes:
        with pytest.raises(bf.ConfigError, match=message) as caught:
            write()
        assert rule == caught.value.id and not target.exists()


def test_inferred_streams_are_kept_with_the_index(tmp_path):
    data = tmp_path / "a.ctf"
    data.write_text("".join(f"{i} |x 1 2\n" for i in range(100_000)))
    kept = tmp_path / "a.ctf.bfstreams"
    bf.open(data).close()
    assert not kept.exists()
    bf.index(data)
    assert kept.exists()
    # Other data of the same size and time, at a place that the fingerprint does not look at: what is kept counts.
    before = os.stat(data)
    data.write_text(data.read_text().replace("\n9901 |x 1 2\n", "\n9901 |x 777\n").replace("\n9902 |x 1 2\n", "\n9902 |x77:2\n"))
    os.utime(data, ns=(before.st_atime_ns, before.st_mtime_ns))

    def names(**options):
        return [s.name for s in bf.info(bf.CTF(data, **options)).streams]

    assert names() == ["x", "x77:2"] and names(cache_index=True) == ["x"]
    bf.index(data, rebuild=True)
    assert names(cache_index=True) == ["x", "x77:2"]
    other = tmp_path / "kept"
    for what in (data, bf.CTF(data), bf.Mix((bf.CTF(data), 1))):
        bf.index(what, cache_dir=other)
        assert [p.suffix for p in sorted(other.iterdir())] == [".bfindex", ".bfstreams"]
        shutil.rmtree(other)
    assert names(cache_index=True, cache_dir=other) == ["x", "x77:2"] and len(list(other.iterdir())) == 2
