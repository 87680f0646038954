# SPDX-License-Identifier: MIT
import numpy as np
import pytest

pandas = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
from test_interchange import alike, same, two_lengths, whole

import batchfeed as bf


def test_arrow_and_parquet_there_and_back(corpus, tmp_path):
    table = bf.to_arrow(corpus.source(), minibatch_size=20)
    assert table.num_rows == len(corpus.lengths) and table.column_names == ["key", "x", "y"]
    assert table["y"][0].as_py()[0][0] == {"index": int(corpus.label[0][0]), "value": 1.0}
    same(bf.from_arrow(table, dims={"y": 5}), corpus)
    bf.to_parquet(corpus.source(), tmp_path / "a.parquet", minibatch_size=20)
    same(bf.from_parquet(tmp_path / "a.parquet"), corpus)
    wide = bf.CTF(corpus.path, streams={"x": bf.dense(3), "y": bf.sparse(943)})  # wider than its largest index
    bf.to_parquet(wide, tmp_path / "wide.parquet")
    for there in (bf.from_parquet(tmp_path / "wide.parquet"), bf.from_arrow(bf.to_arrow(wide))):
        assert bf.Reader(there).streams["y"].dim == 943
    assert bf.Reader(bf.from_parquet(tmp_path / "wide.parquet", dims={"y": 1000})).streams["y"].dim == 1000
    plain = pa.table({"a": [1.5, 2.5], "label": [0, 3]})
    batch = whole(bf.from_arrow(plain))
    assert batch["a"].numpy().tolist() == [[1.5], [2.5]] and batch["label"].classes().tolist() == [0, 3]


def keys_in(source):
    return whole(source).sequence_keys


def test_keys_come_back_or_it_is_told(corpus, tmp_path, caplog):
    table = bf.to_arrow(corpus.source(), shuffle=True, seed=3)
    assert keys_in(bf.from_arrow(table)) == table["key"].to_pylist() != sorted(table["key"].to_pylist(), key=int)
    bf.to_parquet(corpus.source(), tmp_path / "a.parquet", shuffle=True, seed=3)
    assert keys_in(bf.from_parquet(tmp_path / "a.parquet")) == table["key"].to_pylist()
    assert keys_in(bf.from_arrow(table, keys=range(100, 115))) == [str(k) for k in range(100, 115)]
    for kind in (pa.large_string(), pa.string_view()):
        assert keys_in(bf.from_arrow(pa.table({"key": pa.array(["7", "9"], kind), "x": [1.5, 2.5]}))) == ["7", "9"]
    assert not caplog.records
    for texts in (["a", "b"], ["7", "007"], ["7", "7"], ["7", None], ["-1", "1"], ["7", str(1 << 64)]):
        caplog.clear()
        assert keys_in(bf.from_arrow(pa.table({"key": texts, "x": [1.5, 2.5]}))) == ["0", "1"]
        [record] = caplog.records
        assert record.levelname == "WARNING" and "column 'key' holds no numbers, each another one" in record.message
    caplog.clear()
    (tmp_path / "k.ctf").write_text("4 |key 1 2\n5 |key 3 4\n")
    for table in (bf.to_arrow(tmp_path / "k.ctf"), bf.to_arrow(tmp_path / "k.ctf", minibatch_samples=1)):
        assert table["key"].to_pylist() == [[[1, 2]], [[3, 4]]]
    assert len(caplog.records) == 2 and "a stream is called 'key': the keys of the sequences are left out" in caplog.text


def test_what_is_read_is_said_with_the_keywords_of_open(corpus, tmp_path):
    text = 'readerType="CNTKTextFormatReader";file="train.ctf";input=[x=[dim=3;format="dense"];y=[dim=5;format="sparse"]]'
    (tmp_path / "two.cntk").write_text(f"Train=[reader=[{text}]]\nTest=[reader=[{text}]]\n")
    two = str(tmp_path / "two.cntk")
    with pytest.raises(bf.ConfigError, match="section"):
        bf.to_arrow(two)
    changes = f'Test=[reader=[file="{corpus.path}"]]'
    assert bf.to_arrow(two, section="Test.reader", set=changes, dtype="float64")["x"].type.value_type.value_type == pa.float64()
    keys = bf.to_pandas(corpus.source(), shuffle=True, seed=3, minibatch_samples=4)["key"].tolist()
    assert keys != sorted(keys, key=int) == bf.to_arrow(corpus.source(), minibatch_samples=4)["key"].to_pylist()
    reports, done = [], []
    source = bf.CTF(corpus.path, streams={"x": bf.dense(2)}, max_errors=1000)
    with pytest.raises(bf.Error):
        bf.to_npz(source, tmp_path / "a.npz", report=reports.append, progress=lambda *bytes: done.append(bytes))
    assert reports and done[-1][0] == done[-1][1] > 0


def test_a_data_frame():
    frame = pandas.DataFrame({"a": [1.0, 2.0], "b": [3, 4], "kind": pandas.Categorical(["dog", "cat"])})
    batch = whole(bf.from_pandas(frame, {"x": ["a", "b"], "kind": "kind"}))
    assert batch["x"].numpy().tolist() == [[1, 3], [2, 4]] and batch["kind"].classes().tolist() == [1, 0]
    batch = whole(bf.from_pandas(frame))
    assert np.array_equal(batch["a"].numpy(), [[1], [2]]) and batch["b"].classes().tolist() == [3, 4]


def test_streams_of_different_lengths_come_back(tmp_path):
    path = two_lengths(tmp_path / "two.ctf")
    alike(bf.from_arrow(bf.to_arrow(path)), path)
    bf.to_parquet(path, tmp_path / "two.parquet")
    alike(bf.from_parquet(tmp_path / "two.parquet"), path)
    frame = bf.to_pandas(path)
    assert list(frame.columns) == ["key", "w", "x", "l"] and [len(x) for x in frame["w"]] == [2, 1, 3]
    swapped = whole(bf.from_arrow(pa.table({"a": [[1.0, 2.0], [3.0]], "b": [[4.0], [5.0, 6.0]]})))
    assert swapped["a"].lengths.tolist() == [2, 1] and swapped["b"].lengths.tolist() == [1, 2]


def test_columns_of_lists_and_of_categories():
    lists = pa.table({"x": [[1.0, 2.0], [3.0, 4.0]], "y": [1, 0]})
    batch = whole(bf.from_arrow(lists, streams={"x": bf.dense(2)}))
    assert batch["x"].numpy().tolist() == [[1, 2], [3, 4]] and batch["x"].lengths.tolist() == [1, 1]
    batch = whole(bf.from_arrow(lists))
    assert batch["x"].numpy().tolist() == [[1], [2], [3], [4]] and batch["x"].lengths.tolist() == [2, 2]
    nested = whole(bf.from_arrow(pa.table({"x": [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0]]]})))
    assert nested["x"].numpy().tolist() == [[1, 2], [3, 4], [5, 6]] and nested["x"].lengths.tolist() == [2, 1]
    words = pa.table({"w": pa.DictionaryArray.from_arrays([1, 0, 1], ["a", "b", "c"]), "key": [3, 2, 1]})
    batch = whole(bf.from_arrow(words))
    assert batch["w"].classes().tolist() == [1, 0, 1] and batch["w"].dim == 3 and batch["key"].dim == 4
    assert whole(bf.from_arrow(pa.record_batch({"a": [1.0, 2.0]})))["a"].num_samples == 2


@pytest.mark.parametrize(
    "column, message",
    [
        ([1, None, 3], "stream 'a': 1 row without a value; hint: fill_null"),
        ([[1.0], None, None], "stream 'a': 2 rows without a value"),
        ([[1.0, None], [2.0]], "stream 'a': 1 row without a value"),
        (pa.array([[1.0, 2.0], None], pa.list_(pa.float32(), 2)), "stream 'a': 1 row without a value"),
        ([[[1.0], [2.0, 3.0]]], "stream 'a': samples of 1 and of 2 numbers"),
        (["x", "y"], "stream 'a': a column of string; hint: .*dictionary"),
        (pa.array([1, 2], pa.timestamp("s")), "stream 'a': a column of timestamp"),
    ],
)
def test_columns_that_are_no_samples(column, message):
    with pytest.raises(bf.ConfigError, match=message):
        bf.from_arrow(pa.table({"a": column}))


@pytest.mark.parametrize(
    "data",
    [
        pa.array([1, None, 3]),
        pa.chunked_array([[1.5], [None]]),
        pandas.Series([1, None, 3], dtype="Int64"),
        pandas.array([1.5, None], dtype="Float64"),
        pandas.DataFrame({"a": [1.5, np.nan], "b": pandas.array([1, None], dtype="Int64")}),
    ],
)
def test_missing_values_are_no_numbers_for_arrays_either(data, tmp_path):
    with pytest.raises(bf.ConfigError, match="stream 'x': 1 row without a value; hint: fill or drop them before"):
        bf.Arrays({"x": data})
    with bf.Writer(tmp_path / "a.cbf", {"x": bf.dense(2 if isinstance(data, pandas.DataFrame) else 1)}) as writer:
        with pytest.raises(bf.ConfigError, match="stream 'x': 1 row without a value"):
            writer.append({"x": data})
    nan = np.array([np.nan, 1.0])
    for numbers in (nan, pandas.Series(nan), pandas.DataFrame({"a": nan}), pa.array(nan)):
        assert np.isnan(whole(bf.Arrays({"x": numbers}))["x"].numpy()).tolist() == [[True], [False]]


def test_an_entry_is_known_by_the_names_of_its_fields():
    rows = [[{"value": 2.0, "index": 3}, {"value": 4.0, "index": 1}], []]
    for fields in ([("value", pa.float32()), ("index", pa.int64())], [("index", pa.int32()), ("value", pa.float64())]):
        column = pa.array([rows], pa.list_(pa.list_(pa.struct(fields))))
        assert whole(bf.from_arrow(pa.table({"a": column})))["a"].numpy().tolist() == [[0, 4, 0, 2], [0, 0, 0, 0]]
    for fields in (("value", "word"), ("weight", "index")):
        column = pa.array([[[dict(zip(fields, (3, 1)))]]], pa.list_(pa.list_(pa.struct([(name, pa.int32()) for name in fields]))))
        assert whole(bf.from_arrow(pa.table({"a": column})))["a"].numpy().tolist() == [[0, 3]]
    others = pa.array([[[{"word": 1, "weight": 3}]]], pa.list_(pa.list_(pa.struct([("word", pa.int32()), ("weight", pa.int32())]))))
    assert whole(bf.from_arrow(pa.table({"a": others})))["a"].numpy().tolist() == [[0, 3]]
    for kind in (pa.float32(), pa.string()):
        column = pa.array([], pa.list_(pa.list_(pa.struct([("word", kind), ("weight", pa.int32())]))))
        with pytest.raises(bf.ConfigError, match="stream 'a': a column of list<item: struct<word"):
            bf.from_arrow(pa.table({"a": column}))


@pytest.mark.parametrize("entry", [None, {"index": None, "value": 1.0}, {"index": 1, "value": None}])
def test_an_entry_without_a_value_is_refused(entry):
    column = pa.array([[[entry]]], pa.list_(pa.list_(pa.struct([("index", pa.int32()), ("value", pa.float32())]))))
    with pytest.raises(bf.ConfigError, match="stream 'a': 1 row without a value"):
        bf.from_arrow(pa.table({"a": column}))


def test_the_dim_of_a_sparse_stream_is_the_one_that_is_said():
    entry = pa.list_(pa.list_(pa.struct([("index", pa.int32()), ("value", pa.float32())])))
    words = pa.array([["b"], ["a", "b"]], pa.list_(pa.dictionary(pa.int32(), pa.string())))
    table = pa.table({"tokens": [[1, 2, 3], [4, 5]], "y": [0, 1], "x": pa.array([[[{"index": 2, "value": 1}]], [[]]], entry), "w": words})
    names = {"tokens": 10, "y": 5, "x": 7, "w": 9}
    inferred = {name: stream.dim for name, stream in whole(bf.from_arrow(table)).items()}
    assert inferred == {"tokens": 6, "y": 2, "x": 3, "w": 2}
    for said in ({"dims": names}, {"streams": {name: bf.sparse(dim) for name, dim in names.items()}}):
        batch = whole(bf.from_arrow(table, **said))
        assert {name: stream.dim for name, stream in batch.items()} == names
        assert batch["tokens"].lengths.tolist() == [3, 2] and batch["tokens"].classes().tolist() == [1, 2, 3, 4, 5]
        assert batch["w"].lengths.tolist() == [1, 2]
    for dims, message in (({"z": 3}, "dims has 'z'; the columns are 'tokens', 'y'"), ({"y": "5"}, r"dims\['y'\] is '5'"), ([5], r"dims is \[5\]")):
        with pytest.raises(bf.ConfigError, match=message):
            bf.from_arrow(table, dims=dims)


def test_lists_have_their_own_lengths():
    with pytest.raises(bf.ConfigError, match="lengths is given, and column 'a' is of lists, which have lengths of their own; hint: leave it out"):
        bf.from_arrow(pa.table({"a": [[1.0], [2.0, 3.0]]}), lengths=[2, 1])
    assert whole(bf.from_arrow(pa.table({"a": [1.0, 2.0, 3.0]}), lengths=[2, 1]))["a"].lengths.tolist() == [2, 1]


def test_a_share_without_a_sequence_is_no_table(tmp_path):
    two = bf.Arrays({"x": np.ones((2, 1))})
    for write in (bf.to_arrow, bf.to_pandas, lambda *a, **k: bf.to_parquet(*a, tmp_path / "a.parquet", **k)):
        with pytest.raises(bf.ConfigError, match="there is no sequence to write"):
            write(two, workers=4, rank=3)
    assert not list(tmp_path.iterdir())


def test_data_frames_as_they_come():
    frame = pandas.DataFrame({"n": pandas.array([1, 2], dtype="Int64"), "b": pandas.array([True, False], dtype="boolean")})
    batch = whole(bf.from_pandas(frame))
    assert batch["n"].classes().tolist() == [1, 2] and batch["b"].numpy().tolist() == [[1], [0]]
    frame = pandas.DataFrame({"v": [np.ones(3), np.zeros(3)], "k": pandas.Categorical(["a", "c"], categories=["a", "b", "c", "d"])})
    batch = whole(bf.from_pandas(frame))
    assert batch["v"].numpy().tolist() == [[1] * 3, [0] * 3] and batch["k"].dim == 4
    numbers = pandas.DataFrame({"a": [1.5], "b": [2.5], "y": [1]})
    for names in (numbers.columns[:2], np.array(["a", "b"])):
        assert whole(bf.from_pandas(numbers, {"x": names, "y": "y"}))["x"].numpy().tolist() == [[1.5, 2.5]]
    assert np.isnan(whole(bf.from_pandas(pandas.DataFrame({"a": [np.nan, 1.0]})))["a"].numpy()).tolist() == [[True], [False]]


@pytest.mark.parametrize(
    "frame, columns, message",
    [
        ({"a": pandas.array([1, None], dtype="Int64")}, None, "stream 'a': 1 row without a value; hint: fillna"),
        ({"a": pandas.array([1.5, None], dtype="Float64"), "b": [1, 2]}, {"x": ["a", "b"]}, "stream 'x': 1 row without a value"),
        ({"a": pandas.Categorical(["p", None, None])}, None, "stream 'a': 2 rows without a value"),
        ({"a": [[1.0, 2.0], [3.0]]}, None, "stream 'a': rows of different lengths"),
        ({"a": ["x", "y"]}, None, r"stream 'a': 'x' is no number; hint: astype\('category'\)"),
        ({"a": pandas.to_datetime(["2020-01-01", None]), "b": [1, 2]}, {"x": ["b", "a"]}, "stream 'x': column 'a' is of datetime64.*hint: numbers"),
        ({"a": [1 + 2j], "b": [1]}, {"x": ["a", "b"]}, "stream 'x': column 'a' is of complex128"),
    ],
)
def test_data_frames_with_what_is_no_number(frame, columns, message):
    with pytest.raises(bf.ConfigError, match=message):
        bf.from_pandas(pandas.DataFrame(frame), columns)
    with pytest.raises(bf.ConfigError, match="two columns have the name 'a'"):
        bf.from_pandas(pandas.DataFrame(np.ones((1, 2)), columns=["a", "a"]))


def test_streams_through_arrows_interface_are_not_copied(corpus):
    batch = next(iter(corpus.reader(shuffle=False, minibatch_samples=20)))
    dense, sparse = pa.array(batch["x"]), pa.array(batch["y"])
    assert len(dense) == len(sparse) == batch.num_sequences
    assert dense.values.values.buffers()[1].address == batch["x"].values.__array_interface__["data"][0]
    assert sparse.values.values.field("value").buffers()[1].address == batch["y"].values.__array_interface__["data"][0]
    for k, (x, y) in enumerate(zip(dense.to_pylist(), sparse.to_pylist())):
        np.testing.assert_array_equal(np.asarray(x, np.float32), corpus.dense[k])
        assert [[entry["index"] for entry in sample] for sample in y] == [[label] for label in corpus.label[k]]
    for one in (dense, sparse):
        one.validate(full=True)
    whole = pa.record_batch(batch)
    whole.validate(full=True)
    assert whole.column_names == ["x", "y"] and whole.num_rows == batch.num_sequences
    assert whole.schema == pa.schema(batch)


def test_arrays_of_arrow_outlive_the_minibatch(corpus):
    import gc

    reader = corpus.reader(shuffle=False, minibatch_samples=20)
    kept = [pa.array(batch["x"]) for batch in reader]
    again = [one.to_pylist() for one in kept]
    reader.close()
    del reader
    gc.collect()
    assert [one.to_pylist() for one in kept] == again
    assert sum(len(one) for one in kept) == len(corpus.lengths)
    batch = next(iter(corpus.reader()))
    batch.__arrow_c_array__()  # capsules that nobody takes
    batch["y"].__arrow_c_schema__()


def test_datasets_there_and_back(corpus):
    pytest.importorskip("datasets")
    dataset = bf.to_datasets(corpus.source(), minibatch_size=20)
    assert dataset.num_rows == len(corpus.lengths) and dataset.column_names == ["key", "x", "y"]
    back = bf.from_datasets(dataset, dims={"y": 5})
    [batch] = bf.Reader(back, shuffle=False, minibatch_samples=1000)
    np.testing.assert_array_equal(batch["x"].numpy(), np.concatenate(corpus.dense))
    np.testing.assert_array_equal(batch["y"].classes(), np.concatenate(corpus.label))
    with pytest.raises(bf.ConfigError, match="dataset is a DatasetDict, expected .*; hint: .*splits"):
        bf.from_datasets(__import__("datasets").DatasetDict({"train": dataset}))
