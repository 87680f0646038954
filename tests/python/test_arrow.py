# SPDX-License-Identifier: MIT
import numpy as np
import pandas
import pyarrow as pa
import pytest
from test_interchange import same, whole

import batchfeed as bf


def test_arrow_and_parquet_there_and_back(corpus, tmp_path):
    table = bf.to_arrow(corpus.source(), minibatch_size=20)
    assert table.num_rows == len(corpus.lengths) and table.column_names == ["key", "x", "y"]
    assert table["y"][0].as_py()[0][0] == {"index": int(corpus.label[0][0]), "value": 1.0}
    same(bf.from_arrow(table, dims={"y": 5}), corpus)
    bf.to_parquet(corpus.source(), tmp_path / "a.parquet", minibatch_size=20)
    same(bf.from_parquet(tmp_path / "a.parquet"), corpus)
    plain = pa.table({"a": [1.5, 2.5], "label": [0, 3]})
    batch = whole(bf.from_arrow(plain))
    assert batch["a"].numpy().tolist() == [[1.5], [2.5]] and batch["label"].classes().tolist() == [0, 3]


def test_a_data_frame():
    frame = pandas.DataFrame({"a": [1.0, 2.0], "b": [3, 4], "kind": pandas.Categorical(["dog", "cat"])})
    batch = whole(bf.from_pandas(frame, {"x": ["a", "b"], "kind": "kind"}))
    assert batch["x"].numpy().tolist() == [[1, 3], [2, 4]] and batch["kind"].classes().tolist() == [1, 0]
    batch = whole(bf.from_pandas(frame))
    assert np.array_equal(batch["a"].numpy(), [[1], [2]]) and batch["b"].classes().tolist() == [3, 4]


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
