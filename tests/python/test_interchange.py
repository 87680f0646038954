# SPDX-License-Identifier: MIT
"""Data in memory, and files of others."""
import gzip
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse

import batchfeed as bf


def whole(source):
    return next(iter(bf.Reader(source, shuffle=False, minibatch_samples=10**9)))


def same(source, corpus, name="x"):
    batch = whole(source)
    assert batch[name].lengths.tolist() == corpus.lengths
    np.testing.assert_array_equal(batch[name].numpy(), np.concatenate(corpus.dense))
    np.testing.assert_array_equal(batch["y"].classes(), np.concatenate(corpus.label))


def test_arrays_in_memory():
    x, y = np.arange(20).reshape(10, 2), np.arange(10) % 3
    source = bf.Arrays({"x": x, "y": y, "z": x[:, 0] / 2, "s": scipy.sparse.eye_array(10)}, chunk_samples=4)
    reader = bf.Reader(source, minibatch_samples=3, seed=1)
    streams = {name: (s.storage, s.dim) for name, s in reader.streams.items()}
    assert streams == {"x": ("dense", 2), "y": ("sparse", 3), "z": ("dense", 1), "s": ("sparse", 10)}
    seen = sorted((int(k), *row) for b in reader for k, row in zip(b.sequence_keys, b["x"].numpy().tolist()))
    assert seen == [(k, 2 * k, 2 * k + 1) for k in range(10)] and len(source.chunks()) == 3
    assert len(bf.Arrays({"x": x}, chunk_samples=2**64 - 1).chunks()) == 1
    sequences = bf.Arrays({"x": x}, lengths=[4, 1, 5], keys=[7, 8, 9], chunk_samples=4)
    assert [len(s) for s in whole(sequences)["x"].sequences()] == [4, 1, 5]
    assert whole(sequences).sequence_keys == ["7", "8", "9"]


@pytest.mark.parametrize(
    "objects, stream",
    [
        ([[1, 2.5], [True, np.float32(4)], [Fraction(1, 2), 2**70]], bf.dense(2)),
        ([0.5, 3, 2], bf.dense(1)),
        ([2, 0, 1], bf.sparse(3)),
    ],
)
def test_objects_that_are_numbers(objects, stream, tmp_path):
    """What a frame of mixed columns gives: arrays and writers take them for the numbers that they are."""
    data = np.array(objects, object)
    wanted = data.astype(np.float32) if stream.storage == "dense" else np.eye(stream.dim)[data.astype(int)]
    with bf.Writer(tmp_path / "objects.cbf", {"x": stream}) as writer:
        writer.append({"x": data})
    for source in (bf.Arrays({"x": data}), bf.CBF(tmp_path / "objects.cbf")):
        x = whole(source)["x"]
        assert x.is_sparse == (stream.storage == "sparse")
        np.testing.assert_array_equal(x.numpy(), wanted.reshape(len(data), stream.dim))


@pytest.mark.parametrize(
    "data, options, message",
    [
        ({}, {}, "needs a stream"),
        ({"a": np.ones(3), "b": np.ones(4)}, {}, "differ in samples: a 3, b 4"),
        ({"a": np.ones(3)}, {"lengths": [2]}, "3 samples, but the lengths sum up to 2"),
        ({"a": np.array([["x"]])}, {}, r"stream 'a': .*hint: numbers, \[samples, dim\]$"),
        ({"a": np.array(["x"])}, {}, r"stream 'a': 'x' is no number; hint: numpy.unique\(a, return_inverse=True\)\[1\] makes classes"),
        ({"a": np.array(["x", 1], object)}, {}, "stream 'a': 'x' is no number; hint: .* bf.from_pandas"),
        ({"a": np.ones((2, 3, 4))}, {}, r"of shape \(2, 3, 4\); hint: .*, and lengths=\[...\] says how many samples each has"),
        ({"a": [np.ones((2, 3)), np.ones((1, 3))]}, {}, r"rows of different lengths; hint: .*, and lengths=\[...\] says"),
        ({"a": np.array([1, -1])}, {}, "stream 'a': -1 is no class; hint: .*bf.dense"),
        ({"a": np.ones(3)}, {"streams": {"b": bf.dense(1)}}, "streams declares 'b'; the data are 'a'"),
        ({"a": np.ones(3)}, {"lengths": {"b": [3]}}, "lengths is {'b': .*expected those of 'a'"),
        ({"a": np.array([[1, None]], object)}, {}, r"stream 'a': an array of object of shape \(1, 2\)"),
        ({"a": np.array([1, 10**400], object)}, {}, "stream 'a': a number too large for float64"),
        ({"a": np.ones(3), "b": np.ones(3)}, {"lengths": {"a": [3], "b": [1, 2]}}, "differ in sequences: a 1, b 2"),
        ({"a": np.ones(3), "b": np.ones(4)}, {"lengths": {"a": [3], "b": [3]}}, "stream 'b': 4 samples, but"),
        ({"a": scipy.sparse.coo_array(np.ones(3))}, {}, r"stream 'a': a sparse array of shape \(3,\); hint: a matrix \[samples, dim\]"),
    ],
)
def test_arrays_that_do_not_fit(data, options, message):
    with pytest.raises(bf.ConfigError, match=message):
        bf.Arrays(data, **options)


def test_classes_beyond_what_an_index_holds():
    with pytest.raises(bf.ConfigError, match="index 3000000000 is not below 2147483648; hint: indices are held as int32"):
        whole(bf.Arrays({"y": np.array([0, 3_000_000_000])}))


def test_svmlight_that_is_compressed_or_no_utf8(tmp_path):
    path = tmp_path / "a.svm"
    path.write_bytes(b"1 2:0.5 # caf\xe9\n")
    assert whole(bf.from_svmlight(path))["features"].numpy().tolist() == [[0, 0.5]]
    for content, hint in ((gzip.compress(b"1 2:0.5\n"), "it is compressed: gzip -d unpacks it"), (b"\xff\xfe1\0", None)):
        path.write_bytes(content)
        with pytest.raises(bf.ConfigError, match="a.svm: line 1: expected 'label index:value ...'") as caught:
            bf.from_svmlight(path)
        assert caught.value.hint == hint


def two_lengths(path):
    """Streams whose sequences differ in length, as those of sentences with one label."""
    path.write_text("0 |w 1:1 |x 1 2 |l 0:1\n0 |w 2:1 |x 3 4\n1 |w 0:1 |x 5 6 |l 1:1\n2 |w 2:1 |x 7 8 |l 1:1\n2 |w 1:1\n2 |w 1:1\n")
    return path


def alike(source, path):
    ours, theirs = whole(source), whole(str(path))
    for name, stream in theirs.items():
        assert ours[name].lengths.tolist() == stream.lengths.tolist()
        np.testing.assert_array_equal(ours[name].numpy(), stream.numpy())
    assert [s.lengths.tolist() for s in theirs.values()] == [[2, 1, 3], [2, 1, 1], [1, 1, 1]]


def test_streams_of_different_lengths(tmp_path):
    path = two_lengths(tmp_path / "two.ctf")
    batch = whole(str(path))
    data = {name: s.csr() if s.is_sparse else s.numpy() for name, s in batch.items()}
    lengths = {name: s.lengths for name, s in batch.items()}
    alike(bf.Arrays(data, lengths=lengths), path)
    small = bf.Reader(bf.Arrays(data, lengths=lengths, chunk_samples=2), shuffle=False, minibatch_samples=1)
    assert [b["w"].num_samples for b in small] == [2, 1, 3]
    bf.to_npz(path, tmp_path / "two.npz")
    alike(bf.from_npz(tmp_path / "two.npz"), path)
    with pytest.raises(bf.ConfigError, match="'l' and 'w' differ in the samples of a sequence"):
        bf.to_svmlight(path, tmp_path / "two.svm", features="w", label="l")
    with pytest.raises(bf.ConfigError, match="'x' is dense with dim 2; a label is one value or one class"):
        bf.to_svmlight(path, tmp_path / "two.svm", features="w", label="x")
    assert not (tmp_path / "two.svm").exists()


def test_an_array_alone_is_no_npz(tmp_path):
    np.save(tmp_path / "a.npy", np.ones(3))
    with pytest.raises(bf.ConfigError, match="is no .npz file"):
        bf.from_npz(tmp_path / "a.npy")


def test_npz_there_and_back(corpus, tmp_path):
    bf.to_npz(corpus.source(), tmp_path / "a.npz")
    same(bf.from_npz(tmp_path / "a.npz"), corpus)
    assert list(bf.from_npz(tmp_path / "a.npz").streams()) == list(corpus.streams)
    odd = {name: np.full((2, 1), i) for i, name in enumerate(("file", "allow_pickle", "a.indptr", "args", "x.npy", "z/y"))}
    bf.to_npz(bf.Arrays({**odd, "s": np.array([1, 2])}), tmp_path / "odd.npz")
    batch = whole(bf.from_npz(tmp_path / "odd.npz"))
    assert {name: batch[name].numpy().tolist() for name in odd} == {name: values.tolist() for name, values in odd.items()}
    assert batch["s"].classes().tolist() == [1, 2]
    for names in (("s", "s.data"), ("s.data", "s"), ("s", "batchfeed.lengths")):
        data = {name: np.array([1, 2]) if name == "s" else np.ones((2, 1)) for name in names}
        with pytest.raises(bf.ConfigError, match=f"stream '{names[1]}': .* stands for something else in the file; hint: rename the stream"):
            bf.to_npz(bf.Arrays(data), tmp_path / "twice.npz")
    np.savez(tmp_path / "b.npz", x=np.ones((3, 2)), y=np.arange(3))
    assert whole(bf.from_npz(tmp_path / "b.npz"))["y"].classes().tolist() == [0, 1, 2]
    np.savez(tmp_path / "c.npz", narrow=np.ones((2, 1), np.float32), wide=np.full((2, 1), 1 / 3))
    assert whole(bf.from_npz(tmp_path / "c.npz"))["wide"].numpy().tolist() == [[1 / 3]] * 2


def test_svmlight_there_and_back(corpus, tmp_path):
    bf.to_svmlight(corpus.source(), tmp_path / "a.svm", features="x", label="y")
    batch = whole(bf.from_svmlight(tmp_path / "a.svm"))
    np.testing.assert_array_equal(batch["features"].numpy(), np.concatenate(corpus.dense))
    assert batch["label"].numpy()[:, 0].tolist() == np.concatenate(corpus.label).tolist()
    (tmp_path / "twice.ctf").write_text("|x 5:1 2:3 5:2 |y 7\n")
    bf.to_svmlight(tmp_path / "twice.ctf", tmp_path / "twice.svm", features="x", label="y", zero_based=True)
    assert (tmp_path / "twice.svm").read_text() == "7 2:3.0 5:3.0\n"
    (tmp_path / "long.ctf").write_text("|x 1234567:1 |y 16777.217\n|x 0:1 |y -0.1\n")
    bf.to_svmlight(bf.CTF(tmp_path / "long.ctf", dtype="float64"), tmp_path / "long.svm", features="x", label="y")
    assert [line.split()[0] for line in open(tmp_path / "long.svm")] == ["16777.217", "-0.1"]
    bf.to_svmlight(bf.Arrays({"x": np.ones((2, 1)), "y": np.array([1234567, 0])}), tmp_path / "long.svm", features="x", label="y", force=True)
    assert [line.split()[0] for line in open(tmp_path / "long.svm")] == ["1234567", "0"]
    (tmp_path / "b.svm").write_text("# head\n1 qid:3 1:2.5 3:1 # tail\n\n-1\n")
    assert whole(bf.from_svmlight(tmp_path / "b.svm"))["features"].numpy().tolist() == [[2.5, 0, 1], [0, 0, 0]]
    (tmp_path / "c.svm").write_text("1 1:2\n1 one:2\n")
    with pytest.raises(bf.ConfigError, match="line 2: expected") as caught:
        bf.from_svmlight(tmp_path / "c.svm")
    assert caught.value.line == 2
    for index in (1 << 32, 10**30):
        (tmp_path / "d.svm").write_text(f"1 1:2\n1 {index}:2\n")
        with pytest.raises(bf.ConfigError, match=f"line 2: index {index - 1} is not below 2147483648") as caught:
            bf.from_svmlight(tmp_path / "d.svm")
        assert caught.value.line == 2


@pytest.mark.parametrize("write", ["to_npz", "to_svmlight", "to_parquet"])
def test_a_file_is_there_once_it_is_whole(tmp_path, write):
    if write == "to_parquet":
        pytest.importorskip("pyarrow")
    options = {"features": "x", "label": "y"} if write == "to_svmlight" else {}
    (tmp_path / "good.ctf").write_text("|x 1:1 |y 2\n" * 3)
    (tmp_path / "bad.ctf").write_text("|x 1:1 |y 2\n" * 2 + "|x one |y 2\n")
    streams = {"x": bf.sparse(3), "y": bf.dense(1)}
    target = tmp_path / "target.npz"
    before = None
    for more in ({}, {"force": True}):
        with pytest.raises(bf.FormatError):
            getattr(bf, write)(bf.CTF(tmp_path / "bad.ctf", streams), target, minibatch_size=1, **options, **more)
        assert (target.read_bytes() if target.exists() else None) == before
        getattr(bf, write)(bf.CTF(tmp_path / "good.ctf", streams), target, minibatch_size=1, **options, **more)
        before = target.read_bytes()
        assert len(before) > 0
    # As bf.Writer and bf.convert() have it; and it is told before anything is read.
    with pytest.raises(bf.ConfigError, match="target.npz: the file exists; hint: force=True replaces it") as caught:
        getattr(bf, write)(bf.CTF(tmp_path / "bad.ctf", streams), target, minibatch_size=1, **options)
    assert caught.value.id == "python.exists" and target.read_bytes() == before
    with pytest.raises(bf.ConfigError, match="force is 1, expected True or False"):
        getattr(bf, write)(bf.CTF(tmp_path / "good.ctf", streams), target, force=1, **options)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.ctf", "good.ctf", "target.npz"]
    with pytest.raises(bf.MissingFileError, match="nowhere/t.npz: cannot create: "):
        getattr(bf, write)(bf.CTF(tmp_path / "good.ctf", streams), tmp_path / "nowhere" / "t.npz", **options)
    (tmp_path / "folder.npz").mkdir()
    for more, error, message in (({}, bf.ConfigError, "the file exists"), ({"force": True}, bf.FileError, "cannot create: Is a directory")):
        with pytest.raises(error, match=f"folder.npz: {message}"):
            getattr(bf, write)(bf.CTF(tmp_path / "good.ctf", streams), tmp_path / "folder.npz", **options, **more)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.ctf", "folder.npz", "good.ctf", "target.npz"]


@pytest.mark.parametrize("read", ["from_npz", "from_svmlight", "from_parquet"])
def test_what_cannot_be_opened_is_an_error_of_ours(tmp_path, read):
    if read == "from_parquet":
        pytest.importorskip("pyarrow")
    with pytest.raises(bf.MissingFileError, match="none: cannot open: ") as caught:
        getattr(bf, read)(tmp_path / "none")
    assert (caught.value.path, caught.value.errno, caught.value.id) == (str(tmp_path / "none"), 2, "io.open")
    (tmp_path / "bytes").write_bytes(bytes(range(256)))
    with pytest.raises(bf.ConfigError, match="bytes: "):
        getattr(bf, read)(tmp_path / "bytes")


def test_columns_of_a_frame_are_told_by_their_names():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0]})
    for columns, words in (("a", "columns is 'a', expected a mapping such as"), ({"x": []}, "stream 'x': no column is named")):
        with pytest.raises(bf.ConfigError, match=words):
            bf.from_pandas(frame, columns)



def test_which_columns_of_a_frame_are_meant():
    pandas = pytest.importorskip("pandas")

    def streams_of(frame, *columns):
        [batch] = bf.Reader(bf.from_pandas(frame, *columns), minibatch_samples=9, shuffle=False)
        return {name: stream.numpy().tolist() for name, stream in batch.items()}

    levels = pandas.DataFrame([[1.0, 2.0, 3.0]], columns=pandas.MultiIndex.from_tuples([("a", "x"), ("a", "y"), ("b", "x")]))
    assert streams_of(levels) == {"a_x": [[1]], "a_y": [[2]], "b_x": [[3]]}
    assert streams_of(levels, {"one": ("b", "x"), "two": [("a", "x"), ("a", "y")]}) == {"one": [[3]], "two": [[1, 2]]}
    numbered = pandas.DataFrame([[1.0, 2.0, 3.0]])
    assert streams_of(numbered, {"x": range(1, 3), "y": (0, 2)}) == {"x": [[2, 3]], "y": [[1, 3]]}
    twice = pandas.DataFrame([[1.0, 2.0, 3.0]], columns=["a", "a", "b"])
    assert streams_of(twice, {"x": "b"}) == {"x": [[3]]}
    for frame, columns, message in (
        (twice, None, "two columns have the name 'a'"),
        (twice, {"x": "a"}, "'a' stands for 2 columns"),
        (twice, {"x": ["b", "a"]}, "'a' stands for 2 columns"),
        (levels, {"x": "a"}, "'a' stands for 2 columns"),
        (pandas.DataFrame([[1.0, 2.0]], columns=[1, "1"]), None, "two columns have the name '1'"),
    ):
        with pytest.raises(bf.ConfigError, match=message):
            bf.from_pandas(frame, columns)


def test_what_in_a_frame_is_no_number():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(bf.ConfigError, match="stream 'x': 'two' is no number; hint: astype"):
        bf.from_pandas(pandas.DataFrame({"x": [1, "two"]}))
    pytest.importorskip("pyarrow")
    rows = bf.to_pandas(bf.Arrays({"x": np.ones((3, 2))}, lengths=[1, 2]))
    for frame, what in ((rows, "rows of different lengths"), (rows[:1], "is no number")):
        with pytest.raises(bf.ConfigError, match=rf"{what}; hint: .*bf.from_arrow\("):
            bf.from_pandas(frame, {"x": "x"})
    with pytest.raises(bf.ConfigError, match="frame is 0 1.0 1 2.0 dtype: float64, expected a pandas.DataFrame"):
        bf.from_pandas(pandas.Series([1.0, 2.0]))


def test_small_floats():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.arange(6).reshape(3, 2).astype(ml_dtypes.bfloat16)
    [batch] = bf.Reader(bf.Arrays({"x": x}), minibatch_samples=9, shuffle=False)
    assert batch["x"].dtype == np.float32 and batch["x"].numpy().tolist() == [[0, 1], [2, 3], [4, 5]]
