# SPDX-License-Identifier: MIT
"""Reads, shuffles and packs training corpora in CNTK's formats.

    import batchfeed as bf

    with bf.open("train.cntk", section="Train.reader", minibatch_samples=256) as reader:
        for batch in reader:
            x, y = batch["features"].numpy(), batch["labels"].csr()
"""
from ._batch import Batch, Layout, Packed, Padded, Stream
from ._core import version as __version__
from ._cluster import Cluster
from ._diff import Diff, Difference, Located, diff
from ._errors import (
    ConfigError,
    Error,
    Fault,
    FileError,
    FormatError,
    InternalError,
    LimitError,
    MissingFileError,
    StateError,
)
from ._files import Remote
from ._interchange import Arrays, from_npz, from_svmlight, to_npz, to_svmlight
from ._open import BatchPlan, Mix, PlanItem
from ._info import Info
from ._merge import merge
from ._options import ReaderKeywords
from ._reader import Reader, open
from ._source import Source, Writer
from ._sources import CBF, CTF, MLF, HTKFeatures, Kaldi, StreamSpec, dense, sparse
from ._sample import sample
from ._split import split
from ._stats import Columns, Stats, StreamStats, stats
from ._tables import (
    from_arrow,
    from_datasets,
    from_pandas,
    from_parquet,
    to_arrow,
    to_datasets,
    to_pandas,
    to_parquet,
)
from ._tools import CheckReport, Converted, IndexInfo, check, convert, index, info
from ._world import world

__all__ = [
    "CBF",
    "CTF",
    "MLF",
    "Arrays",
    "Batch",
    "BatchPlan",
    "CheckReport",
    "Cluster",
    "Columns",
    "ConfigError",
    "Converted",
    "Diff",
    "Difference",
    "Error",
    "Fault",
    "FileError",
    "FormatError",
    "HTKFeatures",
    "IndexInfo",
    "Info",
    "InternalError",
    "Kaldi",
    "Layout",
    "LimitError",
    "Located",
    "MissingFileError",
    "Mix",
    "Packed",
    "Padded",
    "PlanItem",
    "Reader",
    "ReaderKeywords",
    "Remote",
    "Source",
    "StateError",
    "Stats",
    "Stream",
    "StreamSpec",
    "StreamStats",
    "Writer",
    "__version__",
    "check",
    "convert",
    "dense",
    "diff",
    "from_arrow",
    "from_datasets",
    "from_npz",
    "from_pandas",
    "from_parquet",
    "from_svmlight",
    "index",
    "info",
    "merge",
    "open",
    "sample",
    "sparse",
    "split",
    "stats",
    "to_arrow",
    "to_datasets",
    "to_npz",
    "to_pandas",
    "to_parquet",
    "to_svmlight",
    "world",
]
