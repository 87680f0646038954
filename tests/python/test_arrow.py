# SPDX-License-Identifier: MIT
import numpy as np
import pandas
import pyarrow as pa
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
