# SPDX-License-Identifier: MIT
"""What a caller gives wrong is told with what it was and what is expected."""
import gc
import io
import os
import pickle
import re

import numpy as np
import pytest

import batchfeed as bf

HALF, UTF8 = "a\ud800", "UTF-8 can hold"
NO_NUL = "expected a path without a NUL byte"
PATH = "expected a path (str, bytes or os.PathLike)"
WHOLE = "expected a whole number that is not negative"
STREAMS = 'streams are declared as {"name": bf.dense(3), ...}; got'
WRONG = [
    (lambda f: bf.open(None), f"path is None, {PATH} or a list of them"),
    (lambda f: bf.open({"a": 1}), f"path is {{'a': 1}}, {PATH} or a list of them"),
    (lambda f: bf.open([None]), f"one of path is None, {PATH}"),
    (lambda f: bf.open([]), "no file given"),
    (lambda f: bf.open(f, section=3), "section is 3, expected the name of a section"),
    (lambda f: bf.open(f, set=[3]), "set is [3], expected a text or a list of texts"),
    (lambda f: bf.open(f, set="x=3"), "is a ctf file, and set is ['x=3'], which is for configurations"),
    (lambda f: bf.open(f, dtype="int8"), "dtype is int8, expected float32 or float64"),
    (lambda f: bf.open(f, dtype="words"), "dtype is 'words', expected float32 or float64"),
    (lambda f: bf.open(f, report=3), "report is 3, expected a function of a Fault"),
    (lambda f: bf.open(f, progress=3), "progress is 3, expected True, or a function"),
    (lambda f: bf.open(f, limits=3), "limits is 3, expected a mapping"),
    (lambda f: bf.open(f, limits={"line_bytes": "x"}), f"limits['line_bytes'] is 'x', {WHOLE}"),
    (lambda f: bf.open(f, storage_options=3), "storage_options is 3, expected a mapping"),
    (lambda f: bf.open(f, state_list=3), f"state_list is 3, {PATH}"),
    (lambda f: bf.open(f, shuffle="maybe"), "shuffle is 'maybe', expected True or False"),
    (lambda f: bf.open(f, minibatch_samples=2, size_unit="sequences"), "minibatch_samples is given, and size_unit is 'sequences'; hint: minibatch_size=2 is in size_unit"),
    (lambda f: bf.open(f, cross_sweeps="x"), "cross_sweeps is 'x', expected True, False or None"),
    (lambda f: bf.open(f, rows_per_epoch=3), "rows_per_epoch is 3, expected a list of whole numbers"),
    (lambda f: bf.open(f, mix_weights=["x"]), "mix_weights is ['x'], expected a list of numbers above 0"),
    (lambda f: bf.open(f, epoch_samples=1.5), f"epoch_samples is 1.5, {WHOLE}, or inf"),
    (lambda f: bf.Reader(bf.CTF(None)), f"files is None, {PATH} or a list of them"),
    (lambda f: bf.Reader(bf.CTF(f, max_errors=-1)), f"max_errors is -1, {WHOLE}"),
    (lambda f: bf.Reader(bf.CTF(f, cache_dir=3)), f"cache_dir is 3, {PATH}"),
    (lambda f: bf.Reader(bf.CTF(f, skip_sequence_ids="x")), "skip_sequence_ids is 'x', expected True, False or None"),
    (lambda f: bf.Reader(bf.CBF(f, streams=["a"])), "streams is ['a'], expected a mapping"),
    (lambda f: bf.Reader(bf.HTKFeatures("x", "a.scp", context=3)), "context is 3, expected (frames to the left"),
    (lambda f: bf.Reader(bf.HTKFeatures("x", "a.scp", path_map=3)), "path_map is 3, expected a mapping"),
    (lambda f: bf.Reader(bf.MLF("x", "a.mlf", 3, labels=3)), "labels is 3, expected a text or a list of texts"),
    (lambda f: bf.open(f).next()["x"].torch("dense"), "form is 'dense', expected 'packed', 'padded', 'nested', 'coo' or 'classes'"),
    (lambda f: bf.open(f).next()["x"].jax("nested"), "form is 'nested', expected 'packed', 'padded' or 'classes'"),
    (lambda f: bf.Mix(f, f), "expected (corpus, weight)"),
    (lambda f: bf.Mix((f, -1)), "the weight of a corpus is -1, expected a number above 0"),
    (lambda f: bf.Mix((f, "x")), "the weight of a corpus is 'x', expected a number above 0"),
    (lambda f: bf.open(f, stride=0), "stride is 0, must be at least 1"),
    (lambda f: bf.open(f, stride=2, offset=2), "offset is 2, must be below stride (2)"),
    (lambda f: bf.open(f, seed=np.True_), f"seed is True, {WHOLE}"),
    (lambda f: bf.open(f, seed=True), f"seed is True, {WHOLE}"),
    (lambda f: bf.open(f, window=True), f"window is True, {WHOLE}, or inf"),
    (lambda f: bf.open(f, epoch_samples=True), f"epoch_samples is True, {WHOLE}, or inf"),
    (lambda f: bf.open(f, mix_weights="1"), "mix_weights is '1', expected a list of numbers above 0"),
    (lambda f: bf.open(f, mix_weights=[True]), "mix_weights is [True], expected a list of numbers above 0"),
    (lambda f: bf.open(f, limits={"line_bytes": True}), f"limits['line_bytes'] is True, {WHOLE}"),
    (lambda f: bf.Reader(bf.HTKFeatures("f.scp")), "stream 'f.scp': no file given; hint: bf.HTKFeatures('features', 'train.scp')"),
    (lambda f: bf.open(f, limits={3: 1}), "no limit 3; hint: docs/reference/limits.md lists them"),
    (lambda f: bf.Reader(bf.CTF(f, chunk_bytes=True)), f"chunk_bytes is True, {WHOLE}"),
    (lambda f: bf.dense(2, alias=3), "alias is 3, expected the stream's name in the file"),
    (lambda f: bf.sparse(2, alias=""), "alias is '', expected the stream's name in the file"),
    (lambda f: bf.dense(2, defines_mb_size="x"), "defines_mb_size is 'x', expected True or False"),
    (lambda f: bf.dense(2.0), "dim is 2.0, expected a whole number, at least 1"),
    (lambda f: bf.sparse(0), "dim is 0, expected a whole number, at least 1"),
    (lambda f: bf.Reader(bf.CTF(f, {"x": bf.StreamSpec("dens", 2)})), "storage is 'dens', expected 'dense' or 'sparse'"),
    (lambda f: bf.Arrays({"x": np.ones((2, 2))}, streams={"x": bf.StreamSpec("dens", 2)}), "storage is 'dens', expected 'dense' or 'sparse'"),
    (lambda f: bf.Writer(f + ".cbf", {"x": bf.StreamSpec("dense", "2")}), "dim is '2', expected a whole number, at least 1"),
    (lambda f: bf.Reader(Own(streams={"x": bf.StreamSpec("dense", 2.5)})), "dim is 2.5, expected a whole number, at least 1"),
    (lambda f: bf.open(f).begin_epoch(-1), f"epoch is -1, {WHOLE}"),
    (lambda f: bf.open(f).set_workers("x", 0), f"workers is 'x', {WHOLE}"),
    (lambda f: bf.open(f).set_minibatch_size(None), f"size is None, {WHOLE}"),
    (lambda f: bf.open(f).plan("x"), f"minibatches is 'x', {WHOLE}"),
    (lambda f: list(bf.open(f).epochs(1.5)), f"count is 1.5, {WHOLE}"),
    (lambda f: list(bf.open(f).epochs(until="x")), f"until is 'x', {WHOLE}"),
    (lambda f: bf.open(f).load_state_dict({}), "a state is a mapping, as state_dict() gives it; got an empty one"),
    (lambda f: bf.open(f).load_state_dict({"a": object()}), "a state is numbers and texts, as state_dict() gives it"),
    (lambda f: bf.open(f, minibatch_size=[1, 1 << 64]), f"minibatch_size is [1, {1 << 64}], expected a whole number, at least 1 and below 2**64, or a list of them"),
    (lambda f: bf.open(f, epoch_samples=1 << 64), f"epoch_samples is {1 << 64}, {WHOLE} and below 2**64, or inf"),
    (lambda f: bf.open(f, seed=np.array(1 << 63, dtype=object) * 2), f"seed is {1 << 64}, {WHOLE} and below 2**64"),
    (lambda f: bf.open(f, threads=1 << 32), f"threads is {1 << 32}, {WHOLE} and below 2**32"),
    (lambda f: bf.open(f, rows_per_epoch=[1 << 40, -1]), f"rows_per_epoch is [{1 << 40}, -1], expected a list of whole numbers that are not negative"),
    (lambda f: bf.open(f, limits={"dim": 1 << 64}), f"limits['dim'] is {1 << 64}, {WHOLE} and below 2**64"),
    (lambda f: bf.Reader(bf.CTF(f, max_errors=1 << 64)), f"max_errors is {1 << 64}, {WHOLE} and below 2**64"),
    (lambda f: bf.open(f).plan(1 << 64), f"minibatches is {1 << 64}, {WHOLE} and below 2**64"),
    (lambda f: bf.Cluster().shuffle(f, f + ".d", shards=1 << 64), f"shards is {1 << 64}, {WHOLE} and below 2**64"),
    (lambda f: bf.check(f, max_faults=-1), f"max_faults is -1, {WHOLE}"),
    (lambda f: bf.info(None), "a path or a source (bf.CTF ..., a bf.Source) is read, not None"),
    (lambda f: bf.index(f, cache_dir=3), f"cache_dir is 3, {PATH}"),
    (lambda f: bf.open([f, bf.CTF(f)]), "expected a path (str, bytes or os.PathLike) or a list of them; bf.Reader() reads sources"),
    (lambda f: bf.open(bf.Mix((f, 1))), "; bf.Reader() reads sources"),
    (lambda f: bf.open(np.ones((2, 2))), "; bf.Arrays({'x': array, ...}) makes a source of arrays"),
    (lambda f: bf.Reader({"x": np.ones((2, 2))}), "; bf.Arrays({'x': array, ...}) makes a source of arrays"),
    (lambda f: bf.convert(np.ones((2, 2)), f + ".cbf"), "; bf.Arrays({'x': array, ...}) makes a source of arrays"),
    (lambda f: bf.Reader(pytest.importorskip("pandas").DataFrame({"a": [1]})), "; bf.from_pandas() makes a source of it"),
    (lambda f: bf.Reader(pytest.importorskip("pyarrow").table({"a": [1]})), "; bf.from_arrow() makes a source of it"),
    (lambda f: bf.check(bf.CTF(f), dtype="float64"), "dtype is 'float64', which is for files and not for sources; hint: say bf.CTF("),
    (lambda f: bf.info([bf.CTF(f)], section="Train"), "section is 'Train', which is for files and not for sources"),
    (lambda f: bf.convert(bf.Mix((f, 1)), f + ".cbf", set="x=1"), "set is 'x=1', which is for files and not for sources"),
    (lambda f: bf.index(f, rebuild="x"), "rebuild is 'x', expected True or False"),
    (lambda f: bf.convert(f, f + ".cbf", force="no"), "force is 'no', expected True or False"),
    (lambda f: bf.convert(f, f + ".cbf", jobs=True), f"jobs is True, {WHOLE}"),
    (lambda f: bf.convert(f, None), f"target is None, {PATH}"),
    (lambda f: bf.convert(f, f + ".cbf", to="xyz"), "to is 'xyz', expected one of 'ctf', 'cbf', 'scp', 'htk', 'mlf'"),
    (lambda f: bf.convert(f, f + ".cbf", keys="all"), "keys is 'all', expected one of 'automatic', 'keep', 'number', 'none'"),
    (lambda f: bf.convert(f, f + ".cbf", streams=3), "streams is 3, expected a text or a list of texts"),
    (lambda f: bf.convert(f, f + ".cbf", renames={"x": 3}), "renames is {'x': 3}, expected a mapping of texts"),
    (lambda f: bf.convert(f, f + ".cbf", shuffle=-1), f"shuffle is -1, {WHOLE}"),
    (lambda f: bf.convert(f, f + ".cbf", jobs=-1), f"jobs is -1, {WHOLE}"),
    (lambda f: bf.convert(f, f), "the file exists; hint: force=True replaces it"),
    (lambda f: bf.Writer(None, {"x": bf.dense(2)}), f"path is None, {PATH}"),
    (lambda f: bf.Writer("a.cbf", {"x": 3}), STREAMS),
    (lambda f: bf.Writer("a.cbf", {"x": bf.dense(2)}, chunk_bytes=-1), f"chunk_bytes is -1, {WHOLE}"),
    (lambda f: bf.Writer("a.cbf", {3: bf.dense(2)}), STREAMS),
    (lambda f: bf.Writer("a.mlf", {"x": bf.dense(2)}), "a.mlf: its name says 'mlf', expected 'ctf' or 'cbf'"),
    (lambda f: bf.Writer("a.cbf", {"x": bf.dense(2)}, to=""), "to is '', expected 'ctf' or 'cbf'"),
    (lambda f: bf.Writer("a.cbf", {"x": bf.dense(2)}, keys="maybe"), "keys is 'maybe', expected True or False"),
    (lambda f: bf.Writer("a.cbf", {"x": bf.dense(2)}, force="no"), "force is 'no', expected True or False"),
    (lambda f: bf.Writer("a.cbf", {"x": bf.dense(2)}, legacy=1), "legacy is 1, expected True or False"),
    (lambda f: bf.Writer("a.cbf", {"x": bf.dense(2)}, storage_options=3), "storage_options is 3, expected a mapping"),
    (lambda f: writer(f).append({"x": [1, 2]}, key=1.5), "key is 1.5, expected a text or a whole number"),
    (lambda f: writer(f).append({"x": [1, 2]}, key=True), "key is True, expected a text or a whole number"),
    (lambda f: writer(f).append({"x": [1, 2]}, key=""), "key is '', expected a text or a whole number"),
    (lambda f: writer(f).append({"x": [1, 2]}, key=b"a"), "key is b'a', expected a text or a whole number"),
    (lambda f: writer(f).append({"x": ["1", "2"]}), "stream 'x': ['1', '2'] is no array of float32"),
    (lambda f: writer(f).append({"x": [None, 2]}), "stream 'x': [None, 2] is no array of float32"),
    (lambda f: writer(f).append({"x": np.array(["2020-01-01", "2020-01-02"], "M8[D]")}), "is no array of float32"),
    (lambda f: writer(f).append({"x": [1e300, 2]}), "stream 'x': [1e+300, 2] holds a number too large for float32"),
    (lambda f: sparse_writer(f).append({"x": ([1.0], [1.7], [0, 1])}), "stream 'x': indices is [1.7], expected a list of whole"),
    (lambda f: sparse_writer(f).append({"x": ([1.0], [1], [0.0, 1.0])}), "stream 'x': indptr is [0.0, 1.0], expected a list of"),
    (lambda f: sparse_writer(f).append({"x": ([1.0], [[1]], [0, 1])}), "stream 'x': indices is [[1]], expected a list of whole"),
    (lambda f: sparse_writer(f).append({"x": ([1j], [1], [0, 1])}), "is no array of float32"),
    (lambda f: writer(f).append(None), "data is None, expected a mapping"),
    (lambda f: writer(f).append({"x": None}), "stream 'x': None is no array of float32"),
    (lambda f: writer(f).append({"x": "ab"}), "stream 'x': 'ab' is no array of float32"),
    (lambda f: writer(f).append({"x": [[1, 2], [3]]}), "stream 'x': [[1, 2], [3]] is no array of float32"),
    (lambda f: writer(f).extend({}), "data is {}, expected a mapping"),
    (lambda f: writer(f).extend({"x": [[1, 2]]}, lengths=[-1]), "lengths is [-1], expected a list of whole numbers"),
    (lambda f: writer(f).extend({"x": [[1, 2]]}, lengths="x"), "lengths is 'x', expected a list of whole numbers"),
    (lambda f: writer(f).extend({"x": [[1, 2]]}, keys=3), "keys is 3, expected a list with the key of each sequence"),
    (lambda f: writer(f).extend({"x": [[1, 2]]}, keys="a"), "keys is 'a', expected a list with the key of each sequence"),
    (lambda f: writer(f).extend({"x": [[1, 2]]}, keys=[1.5]), "one of keys is 1.5, expected a text or a whole number"),
    (lambda f: writer(f).write([3]), "a minibatch is 3, expected a bf.Batch"),
    (lambda f: writer(f, "z").write(bf.open(f)), "the minibatch has no stream 'z', only 'x', 'y'"),
    (lambda f: bf.Arrays({"x": np.ma.array([[1.0, 2.0]], mask=[[0, 1]])}), "stream 'x': some values are masked"),
    (lambda f: bf.open(f, workers=2), "workers is 2, and no rank is given"),
    (lambda f: bf.open(f, shuffle=np.array([1, 2])), "shuffle is array([1, 2]), expected True or False"),
    (lambda f: bf.from_pandas(pytest.importorskip("pandas").DataFrame({"a": [1]}), {"x": "z"}), "there is no column 'z', only 'a'"),
    (lambda f: bf.info(bf.CTF(f), state_list=f), "which is for files and not for sources"),
    (lambda f: bf.info(bf.CTF(f), path_map={"a": "b"}), "which is for files and not for sources; hint: say bf.HTKFeatures(name, lists, path_map=...)"),
    (lambda f: bf.open(f, path_map=3), "path_map is 3, expected a mapping"),
    (lambda f: bf.open(io.StringIO("|x 1")), "path is <_io.StringIO object"),
    (lambda f: bf.Arrays(3), "data is 3, expected a mapping"),
    (lambda f: bf.Arrays({"x": "ab"}), "stream 'x': 'ab' is no array"),
    (lambda f: bf.Arrays({"x": np.zeros((2, 2))}, keys=[1]), "keys is [1], expected a whole number for each of 2 sequences"),
    (lambda f: bf.Arrays({"x": np.zeros((2, 2))}, streams={"x": 3}), STREAMS),
    (lambda f: bf.Arrays({"x": np.zeros((2, 2))}, chunk_samples=0), "chunk_samples is 0, expected a whole number, at least 1"),
    (lambda f: bf.Arrays({"x": np.zeros((2, 2))}, keys=[-1, 2]), "keys is [-1, 2], expected a whole number for each of 2 sequences"),
    (lambda f: bf.Arrays({"x": [[1, 2], [3]]}), "stream 'x': rows of different lengths"),
    (lambda f: bf.Arrays({3: [[1, 2], [3]]}), "the name of a stream is 3, expected a text"),
    (lambda f: bf.Reader(Own(streams={})), "a corpus needs a stream"),
    (lambda f: bf.Reader(Own(streams={3: bf.dense(2)})), STREAMS),
    (lambda f: bf.Reader(Own(chunks=3)), "chunks() is 3, expected for each chunk the samples of each of its sequences"),
    (lambda f: bf.Reader(Own(keys=3)), "keys() is 3, expected for each chunk the keys of its sequences, or None"),
    (lambda f: bf.Reader(Own(keys=[[1.5, 2], [3]])), "keys() is [[1.5, 2], [3]], expected for each chunk the keys"),
    (lambda f: bf.Reader(Own(keys=[[-1, 2], [3]])), "keys() is [[-1, 2], [3]], expected for each chunk the keys"),
    (lambda f: bf.Reader(Own(keys=[["a", "b"], ["c"]])), "keys() is [['a', 'b'], ['c']], expected for each chunk the keys"),
    (lambda f: bf.Reader(Own(keys=[[1, 2]])), "there are 2 chunks, and keys of 1"),
    (lambda f: bf.Reader(Own(keys=[[1], [2]])), "chunk 0 has 2 sequences and 1 keys"),
    (lambda f: bf.from_svmlight(f, dim="x"), "dim is 'x', expected a whole number, at least 1"),
    (lambda f: bf.from_npz(f), "is no .npz file of numbers"),
    (lambda f: bf.from_pandas(3), "frame is 3, expected a pandas.DataFrame"),
    (lambda f: bf.from_datasets(3), "dataset is 3, expected a datasets.Dataset"),
    (lambda f: bf.Remote(3), "storage_options is 3, expected a mapping"),
    (lambda f: bf.Remote(retries=-1), f"retries is -1, {WHOLE}"),
    (lambda f: bf.open(f + "\0"), f"ctf\\x00', {NO_NUL}"),
    (lambda f: bf.open(f.encode() + b"\0.ctf"), NO_NUL),
    (lambda f: bf.open([f, f + "\0b"]), "one of path is '"),
    (lambda f: bf.open(f, state_list="a\0b"), f"state_list is 'a\\x00b', {NO_NUL}"),
    (lambda f: bf.open(f, limits={"roots": ["/\0"]}), f"one of limits['roots'] is '/\\x00', {NO_NUL}"),
    (lambda f: bf.Reader(f + "\0"), f"ctf\\x00', {NO_NUL}"),
    (lambda f: bf.Reader(bf.CTF(f + "\0")), f"ctf\\x00', {NO_NUL}"),
    (lambda f: bf.Reader(bf.CTF(f, cache_index=True, cache_dir="a\0b")), f"cache_dir is 'a\\x00b', {NO_NUL}"),
    (lambda f: bf.Reader(bf.CBF(f + "\0")), NO_NUL),
    (lambda f: bf.Reader(bf.HTKFeatures("x", "a\0.scp")), f"scp_files is 'a\\x00.scp', {NO_NUL}"),
    (lambda f: bf.Reader(bf.HTKFeatures("x", f, 3, prefix="a\0")), f"prefix is 'a\\x00', {NO_NUL}"),
    (lambda f: bf.Reader(bf.HTKFeatures("x", f, 3, path_map={"a": "a\0"})), f"path_map is 'a\\x00', {NO_NUL}"),
    (lambda f: bf.Reader(bf.MLF("x", f, 3, mapping_file="a\0")), f"mapping_file is 'a\\x00', {NO_NUL}"),
    (lambda f: bf.Reader(bf.Kaldi("x", "a\0")), f"files is 'a\\x00', {NO_NUL}"),
    (lambda f: bf.Reader(bf.Mix((f + "\0", 1))), NO_NUL),
    (lambda f: bf.check(f + "\0"), NO_NUL),
    (lambda f: bf.info(f + "\0"), NO_NUL),
    (lambda f: bf.index(f, cache_dir="a\0b"), f"cache_dir is 'a\\x00b', {NO_NUL}"),
    (lambda f: bf.convert(f, f + "\0.cbf"), NO_NUL),
    (lambda f: bf.Writer(f + "\0.cbf", {"x": bf.dense(2)}), NO_NUL),
    (lambda f: bf.Writer(f + "\0.ctf", {"x": bf.dense(2)}), NO_NUL),
    (lambda f: bf.to_npz(f, f + "\0"), NO_NUL),
    (lambda f: bf.from_npz(f + "\0"), NO_NUL),
    (lambda f: bf.from_svmlight(f + "\0"), NO_NUL),
    (lambda f: bf.Cluster().convert(f, f + "\0"), f"ctf\\x00', {NO_NUL}"),
    (lambda f: bf.open(HALF), f"path is 'a\\ud800', expected a path that {UTF8}"),
    (lambda f: bf.Reader(bf.CTF(HALF)), f"files is 'a\\ud800', expected a path that {UTF8}"),
    (lambda f: bf.Reader(bf.CTF(f, {HALF: bf.dense(2)})), f"the name of a stream is 'a\\ud800', expected a text that {UTF8}"),
    (lambda f: bf.Reader(bf.CTF(f, {"x": bf.dense(2, alias=HALF)})), "alias is 'a\\ud800', expected a text"),
    (lambda f: bf.Reader(bf.CBF(f, {HALF: "x"})), f"streams is 'a\\ud800', expected a text that {UTF8}"),
    (lambda f: bf.Reader(bf.MLF("x", f, 3, labels=[HALF])), f"labels is 'a\\ud800', expected a text that {UTF8}"),
    (lambda f: bf.open(f, section=HALF), f"section is 'a\\ud800', expected a text that {UTF8}"),
    (lambda f: bf.open(f, set=HALF), f"set is 'a\\ud800', expected a text that {UTF8}"),
    (lambda f: bf.index(f, cache_dir=HALF), f"cache_dir is 'a\\ud800', expected a path that {UTF8}"),
    (lambda f: bf.convert(f, HALF), f"target is 'a\\ud800', expected a path that {UTF8}"),
    (lambda f: bf.convert(f, f + ".cbf", streams=[HALF]), f"streams is 'a\\ud800', expected a text that {UTF8}"),
    (lambda f: bf.convert(f, f + ".cbf", renames={"x": HALF}), f"renames is 'a\\ud800', expected a text that {UTF8}"),
    (lambda f: bf.convert(f, f + ".cbf", parameter_kind=HALF), f"parameter_kind is 'a\\ud800', expected a text that {UTF8}"),
    (lambda f: bf.Writer(HALF + ".cbf", {"x": bf.dense(2)}), f"path is 'a\\ud800.cbf', expected a path that {UTF8}"),
    (lambda f: writer(f, HALF), f"the name of a stream is 'a\\ud800', expected a text that {UTF8}"),
    (lambda f: writer(f).append({"x": [1, 2]}, key=HALF), f"key is 'a\\ud800', expected a text that {UTF8}"),
    (lambda f: writer(f).extend({"x": [[1, 2]]}, keys=[HALF]), f"one of keys is 'a\\ud800', expected a text that {UTF8}"),
    (lambda f: bf.Reader(bf.Arrays({HALF: np.ones((2, 2))})), f"the name of a stream is 'a\\ud800', expected a text that {UTF8}"),
    (lambda f: bf.from_svmlight(HALF), f"path is 'a\\ud800', expected a path that {UTF8}"),
    (lambda f: sparse_writer(f).append({"x": []}), "sequence 0: no stream has a sample; hint: leave it out"),
    (lambda f: sparse_writer(f).append({"x": ()}), "sequence 0: no stream has a sample; hint: leave it out"),
    (lambda f: sparse_writer(f).append({"x": (1, 2, 5)}), "stream 'x': index 5 is not below dim 5"),
    (lambda f: bf.open(f, minibatch_size=b"5"), "minibatch_size is b'5', expected a whole number, at least 1, or a list"),
    (lambda f: bf.open(f, rows_per_epoch=b"5"), "rows_per_epoch is b'5', expected a list of whole numbers"),
    (lambda f: bf.open(f, mix_weights=b"5"), "mix_weights is b'5', expected a list of numbers above 0"),
    (lambda f: bf.to_svmlight(f, f + ".svm", features="x", label="y", zero_based="no"), "zero_based is 'no', expected True or False"),
    (lambda f: bf.from_svmlight(f, zero_based="no"), "zero_based is 'no', expected True or False"),
    (lambda f: bf.Cluster().info(None), f"files is None, {PATH} or a list of them"),
    (lambda f: bf.Cluster().shuffle(f, f + ".d", shards=0), "shards is 0, expected a whole number, at least 1"),
]


def writer(path, name="x"):
    return bf.Writer(path + ".cbf", {name: bf.dense(2)})


def sparse_writer(path):
    return bf.Writer(path + ".cbf", {"x": bf.sparse(5)})


class Own(bf.Source):
    def __init__(self, streams=None, chunks=((1, 2), (1,)), keys=None):
        self.given = {"x": bf.dense(2)} if streams is None else streams, chunks, keys

    def streams(self):
        return self.given[0]

    def chunks(self):
        return self.given[1]

    def keys(self):
        return self.given[2]


@pytest.mark.parametrize("call, message", WRONG, ids=[message[:40] for _, message in WRONG])
def test_it_is_told_in_words(corpus, call, message):
    with pytest.raises((bf.ConfigError, TypeError), match=re.escape(message)):
        call(corpus.path)


def test_nothing_is_left_of_what_was_refused(corpus, tmp_path):
    for call, _ in WRONG:
        with pytest.raises((bf.ConfigError, TypeError)):
            call(corpus.path)
    gc.collect()  # a writer that an exception still refers to
    assert [path.name for path in tmp_path.iterdir()] == ["train.ctf"]


def test_a_text_is_a_list_of_one(corpus, tmp_path):
    assert list(bf.convert(corpus.path, tmp_path / "one.cbf", streams="x").streams) == ["x"]
    config = tmp_path / "c.cntk"
    config.write_text(f'size = 4\nreader = [ readerType = "CNTKTextFormatReader" ; file = "{corpus.path}" ; minibatchSize = 4 ;'
                      ' input = [ x = [ dim = 3 ; format = "dense" ] ] ]\n')
    assert bf.open(config, set="reader=[randomize=false]").options.order.kind == "file"


@pytest.mark.skipif(os.name != "posix", reason="names of files are bytes on POSIX")
def test_names_of_files_and_keys_that_are_no_utf8(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open(b"\xff.ctf", "wb") as file:
        file.write(b"a\xfe |x 1 2\nb |x 3 4\n")
    name = os.fsdecode(b"\xff.ctf")
    assert bf.info(name).samples == 2
    assert not bf.check(name)
    with bf.Writer(b"\xfd.ctf", {"x": bf.dense(2)}) as writer:
        writer.write(bf.open(b"\xff.ctf", order="file"))
    with open(b"\xfd.ctf", "rb") as file:
        assert file.read().split() == [b"a\xfe", b"|x", b"1", b"2", b"b", b"|x", b"3", b"4"]
    with pytest.raises(FileNotFoundError) as raised:
        bf.open(b"\xfc.ctf")
    assert os.fsencode(raised.value.path) == b"\xfc.ctf"
    assert str(raised.value).startswith("\\xfc.ctf: cannot open"), "can be printed"
    [fault] = bf.check(bf.CTF(name, {"x": bf.dense(2)}))[:1]
    assert "found 'a\\xfe'" in str(fault) and str(fault).encode()


def test_what_path_glob_gives_may_be_read_again(corpus, tmp_path):
    bf.convert(corpus.path, tmp_path / "a.cbf")
    for source in (bf.CTF(tmp_path.glob("*.ctf")), bf.CTF(tmp_path.glob("*.ctf"), streams=corpus.streams), bf.CBF(tmp_path.glob("*.cbf"))):
        for _ in range(2):
            assert bf.Reader(source).num_sequences == len(corpus.lengths)
        assert pickle.loads(pickle.dumps(bf.Reader(source))).num_sequences == len(corpus.lengths)
    with open(corpus.path) as file, pytest.raises(TypeError, match=re.escape(PATH)):
        bf.Reader(bf.CTF(file))


def test_every_function_takes_what_path_glob_gives(corpus, tmp_path):
    calls = [
        lambda what: bf.open(what).num_sequences,
        lambda what: bf.Reader(what).num_sequences,
        lambda what: bf.Reader(bf.Mix((what, 1))).num_sequences,
        lambda what: bf.info(what).sequences,
        lambda what: bf.check(what).sequences,
        lambda what: bf.stats(what).sequences,
        lambda what: bf.index(what)[0].sequences,
        lambda what: bf.to_arrow(what).num_rows,
        lambda what: bf.convert(what, tmp_path / "a.cbf", force=True).sequences,
        lambda what: bf.sample(what, tmp_path / "a.cbf", fraction=1, force=True).sequences,
        lambda what: bf.merge([what], tmp_path / "a.cbf", force=True).sequences,
        lambda what: bf.merge(what, tmp_path / "a.cbf", force=True).sequences,
        lambda what: bf.diff(what, corpus.path).sequences[0],
    ]
    for call in calls:
        for what in (tmp_path.glob("*.ctf"), np.array([corpus.path])):
            assert call(what) == len(corpus.lengths)
    assert repr(bf.open(np.array([corpus.path]))).startswith(f"<Reader of {corpus.path!r}:")
    with bf.open(corpus.path) as reader, pytest.raises(TypeError, match="a path or a source .* is read, not <Batch 0"):
        bf.check(reader.epochs())  # which has no end
    with open(corpus.path) as file, pytest.raises(TypeError, match="a path or a source .* is read, not <_io"):
        bf.check(file)


def test_numbers_and_truths_of_numpy_are_taken(corpus, tmp_path):
    options = bf.open(corpus.path, prefetch=np.False_, threads=np.int64(2), seed=np.uint8(3), shuffle=np.True_).options
    assert (options.prefetch, options.threads, options.order.seed, options.order.kind) == (False, 2, 3, "uniform")
    for _ in range(2):
        bf.convert(corpus.path, tmp_path / "a.cbf", force=np.True_, jobs=np.int32(1))
    assert not bf.index(corpus.path, rebuild=np.True_, cache_dir=tmp_path)[0].was_valid


def test_what_is_for_configurations_is_not_for_corpora(corpus, tmp_path, caplog):
    for options in ({"section": "Train.reader"}, {"set": ["a = b"]}):
        for look in (bf.open, bf.info, bf.check):
            with pytest.raises(bf.ConfigError, match="is a ctf file, and s.* is .*for configurations"):
                look(corpus.path, **options)
    assert not caplog.records  # as many as the file has lines
    text = tmp_path / "config.txt"  # a name of one's own is one
    text.write_text(f'r = [ readerType = CNTKTextFormatReader ; file = "{corpus.path}" ; input = [ x = [ dim = 3 ; format = dense ] ] ]')
    assert bf.open(str(text), section="r").num_samples == sum(corpus.lengths)


@pytest.mark.parametrize("name, way", [("a.parquet", "from_parquet"), ("a.SVM", "from_svmlight"), ("a.csv", "read_csv"), ("a.npz", "from_npz")])
def test_files_of_others_are_told_with_their_reader(tmp_path, name, way):
    (tmp_path / name).write_bytes(b"PAR1,2,3\n")
    with pytest.raises(bf.ConfigError, match="no format that batchfeed knows") as caught:
        bf.open(str(tmp_path / name))
    assert way in caught.value.hint


def test_types_of_torch(corpus):
    torch = pytest.importorskip("torch")
    assert bf.open(corpus.path, dtype=torch.float64).streams["x"].element == "float64"
    with pytest.raises(bf.ConfigError, match="dtype is float16, expected"):
        bf.open(corpus.path, dtype=torch.float16)
    for tensor in (torch.ones(3, 1, requires_grad=True), torch.ones(3, 1, dtype=torch.bfloat16)):
        for call in (lambda: bf.Arrays({"x": tensor}), lambda: writer(corpus.path).append({"x": tensor})):
            with pytest.raises(bf.ConfigError, match=r"no array of .*; hint: a tensor's detach\(\)\.float\(\)"):
                call()


def test_a_writer_takes_several_minibatches(corpus, tmp_path):
    with bf.Writer(str(tmp_path / "a.ctf"), corpus.streams) as writer:
        with pytest.raises(bf.ConfigError) as caught:
            writer.write(next(iter(corpus.reader())))
        assert "write([batch])" in caught.value.hint
        with pytest.raises(bf.ConfigError) as caught:
            writer.write({"x": [[1, 2, 3]]})
        assert "append()" in caught.value.hint
        writer.write([next(iter(corpus.reader()))])


def test_a_set_of_files_has_no_order(corpus):
    for kind in (set, frozenset):
        for given in (lambda: bf.open(kind([corpus.path])), lambda: bf.CTF(kind([corpus.path])), lambda: bf.CBF(kind([corpus.path]))):  # noqa: B023
            with pytest.raises(bf.ConfigError, match="another order in each process.*sorted"):
                given()
    assert len(bf.open(dict.fromkeys([corpus.path]).keys())) == len(bf.open(corpus.path))
