# SPDX-License-Identifier: MIT
"""To and from tables: pandas, Arrow, Parquet, datasets of Hugging Face."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from numbers import Number
from typing import TYPE_CHECKING, Any, Optional

import numpy as np
import numpy.typing as npt

from ._batch import Batch
from ._convert import library
from ._errors import refused, usage
from ._given import Path, mapping, path as as_path, shown, whole, wrong
from ._interchange import Arrays, batches_of, appearing
from ._open import What
from ._sources import StreamSpec, declared, sparse
from ._told import notice
from ._words import counted

if TYPE_CHECKING:
    import datasets
    import pandas
    import pyarrow


def _missing(name: str, rows: int, how: str) -> Exception:
    return usage("python.data", f"stream {name!r}: {counted(rows, 'row')} without a value", f"{how} before", stream=name)


def from_pandas(frame: pandas.DataFrame, columns: Optional[Mapping[str, Any]] = None, **options: Any) -> Arrays:
    """A corpus of a pandas.DataFrame, each row of which is a sequence of one sample.

    `columns`: {stream: column or list of columns}; without it each column is a stream. A column of whole
    numbers or of categories is a class; a list of columns, or a column of lists, a dense sample. `options` are
    those of Arrays.
    """
    if not hasattr(frame, "columns"):
        raise wrong("frame", frame, "a pandas.DataFrame")
    data: dict[str, Any] = {}
    streams: dict[str, StreamSpec] = {}
    if columns is not None and not isinstance(columns, Mapping):
        raise wrong("columns", columns, 'a mapping such as {"x": ["a", "b"], "y": "label"}')
    for name, given in (columns or _all_of(frame)).items():
        chosen = given.tolist() if hasattr(given, "tolist") else list(given) if isinstance(given, range) else given  # frame.columns[1:]
        several = isinstance(chosen, list) or (isinstance(chosen, tuple) and chosen not in frame.columns)  # one of several levels is a tuple
        if several and not chosen:
            raise usage("python.data", f"stream {name!r}: no column is named", stream=name)
        for one in chosen if several else [chosen]:
            if one not in frame.columns:
                known = ", ".join(map(repr, frame.columns))
                raise usage("python.data", f"stream {name!r}: there is no column {one!r}, only {known}", stream=name)
            if getattr(frame[one], "ndim", 1) > 1:
                told = list(frame[one].columns)
                what = f"{one!r} stands for {len(told)} columns"
                raise usage("python.data", f"stream {name!r}: {what}", "name one, or a list of such as have names of their own", stream=name)
        if several:
            parts = [_column(name, frame[one]) for one in chosen]
            for one, part in zip(chosen, parts):
                if part.dtype.kind not in "biuf":
                    raise usage("python.data", f"stream {name!r}: column {one!r} is of {part.dtype}", "numbers", stream=name)
            data[name] = np.stack([part.astype(np.float64) for part in parts], axis=1)
        else:
            data[name] = _column(name, frame[chosen])
            if hasattr(frame[chosen], "cat"):
                streams[name] = sparse(max(1, len(frame[chosen].cat.categories)))
    return Arrays(data, **{**options, "streams": {**streams, **(options.get("streams") or {})}})


def _all_of(frame: pandas.DataFrame) -> dict[str, Any]:
    """Each column as a stream; names of several levels are joined."""
    out: dict[str, Any] = {}
    for column in frame.columns:
        name = "_".join(map(str, column)) if isinstance(column, tuple) else str(column)
        if name in out:
            raise usage("python.data", f"two columns have the name {name!r}", 'columns={"x": ...} chooses, and names the streams')
        out[name] = column
    return out


ROWS = "bf.from_arrow(pyarrow.Table.from_pandas(frame)) takes rows that are sequences, as to_pandas() gives them"


def _column(name: str, column: pandas.Series[Any]) -> npt.NDArray[Any]:
    """A column as an array of numbers. NaN counts as one; NA and None, which are missing values, raise ConfigError."""
    values: npt.NDArray[Any] = column.cat.codes.to_numpy(np.int64) if hasattr(column, "cat") else column.to_numpy()
    if hasattr(column, "cat") or values.dtype == object or not isinstance(column.dtype, np.dtype):
        missing = int(column.isna().sum())
        if missing:
            raise _missing(name, missing, "fillna() or dropna()")
    if values.dtype != object:
        return values
    try:
        plain = np.array(column.tolist())
    except ValueError:
        ways = f"as many numbers in each row; {ROWS}"
        raise usage("python.data", f"stream {name!r}: rows of different lengths", ways, stream=name) from None
    if plain.dtype.kind in "OUS":
        first = next((one for one in column if not isinstance(one, Number)), column.iloc[0])
        texts = "astype('category') makes classes of texts"
        hint = texts if isinstance(first, (str, bytes)) else ROWS if hasattr(first, "__len__") else None
        raise usage("python.data", f"stream {name!r}: {shown(first)} is no number", hint, stream=name)
    return plain


def to_pandas(what: What, **options: Any) -> pandas.DataFrame:
    """to_arrow() as a pandas.DataFrame: a row for each sequence, cells with the list of its samples."""
    frame: pandas.DataFrame = to_arrow(what, **options).to_pandas()
    return frame


def to_arrow(what: What, **options: Any) -> pyarrow.Table:
    """A pyarrow.Table with a row for each sequence: its key, and for each stream a list of samples.

    A dense sample is a fixed_size_list, a sparse one a list of structs (index, value), with the stream's dim in the
    field's metadata. `options` are the keywords of open().
    """
    pa = library("pyarrow", "to_arrow()")
    table: pyarrow.Table = pa.Table.from_batches(list(_rows(pa, what, options)))
    return table


KEY = "key"  # the column of keys
DIM = b"batchfeed.dim"  # in the metadata of a sparse stream's field


def _rows(pa: Any, what: What, options: Mapping[str, Any]) -> Iterator[Any]:
    """Record batches of a corpus, one for each minibatch."""
    rows = 0
    for batch in batches_of(what, options):
        if not rows and KEY in batch:
            notice("python.keys", f"a stream is called {KEY!r}: the keys of the sequences are left out", "rename the stream, to have them in that column")
        rows += batch.num_sequences
        yield _record_batch(pa, batch)
    if not rows:
        raise usage("python.data", "there is no sequence to write")


def _record_batch(pa: Any, batch: Batch) -> Any:
    columns = {KEY: pa.array(batch.sequence_keys), **{name: pa.array(s) for name, s in batch.items()}}
    dims = {name: {DIM: str(s.dim)} for name, s in batch.items() if s.storage == "sparse"}
    fields = [pa.field(name, column.type, metadata=dims.get(name)) for name, column in columns.items()]
    return pa.RecordBatch.from_arrays(list(columns.values()), schema=pa.schema(fields))


def _dim_in(field: Any) -> Optional[int]:
    told = (field.metadata or {}).get(DIM, b"")
    return int(told) if told.isdigit() else None


def from_arrow(table: Any, *, dims: Optional[Mapping[str, int]] = None, **options: Any) -> Arrays:
    """A corpus of a pyarrow.Table as to_arrow() makes it, or of plain columns: numbers are one sample a row.

    A dictionary (of categories) is a class. A list of numbers is a sequence of them; or one sample, if `streams`
    declares a dense one: streams={"x": bf.dense(128)}. A column "key" of texts has the keys of the sequences if they are whole
    numbers; others are left out, which the logger "batchfeed" tells. `dims`: of sparse streams; without it what `streams`
    declares or to_arrow() noted, or else one more than the largest index. `options` are those of Arrays.
    """
    pa = library("pyarrow", "from_arrow()")
    if not hasattr(table, "column_names"):
        raise wrong("table", table, "a pyarrow.Table")
    said = declared(options.pop("streams", None) or {})
    wide = _dims(dims, table.column_names)
    data: dict[str, Any] = {}
    lengths: dict[str, Any] = {}
    for name in table.column_names:
        column = table[name].combine_chunks() if hasattr(table[name], "combine_chunks") else table[name]
        if name == KEY and str(column.type) in ("string", "large_string", "string_view"):
            options.setdefault("keys", _keys(column.to_pylist()))
            continue
        _complete(name, column)
        own = said.get(name)
        of_samples = own is not None and own.storage == "dense" and own.dim > 1
        if _is_list(pa, column.type) and not (_is_number(pa, column.type.value_type) and of_samples):
            lengths[name] = np.diff(column.offsets.to_numpy())
            column = column.flatten()
        if pa.types.is_dictionary(column.type):
            said.setdefault(name, sparse(wide.get(name) or max(1, len(column.dictionary))))
        noted = own.dim if own is not None else _dim_in(table.schema.field(name))
        data[name] = _samples(pa, name, column, wide.get(name) or noted)
        if name in wide and pa.types.is_integer(column.type):  # classes
            said.setdefault(name, sparse(wide[name]))
    if lengths:
        if options.get("lengths") is not None:
            what = f"lengths is given, and column {next(iter(lengths))!r} is of lists, which have lengths of their own"
            raise usage("python.option", what, "leave it out")
        options["lengths"] = {name: lengths.get(name, np.ones(table.num_rows, np.int64)) for name in data}
    return Arrays(data, streams=said, **options)


def _dims(given: Optional[Mapping[str, int]], names: Sequence[str]) -> dict[str, int]:
    dims = {name: whole(f"dims[{name!r}]", dim, 1) for name, dim in mapping("dims", given or {}, '{"x": 1000}').items()}
    for name in dims:
        if name not in names:
            raise usage("python.data", f"dims has {name!r}; the columns are {', '.join(map(repr, names))}")
    return dims


def _keys(texts: list[Optional[str]]) -> Optional[list[int]]:
    """The keys as numbers; None, with a warning, unless all of them are whole numbers and no two are the same."""
    plain = all(text is not None and text.isdecimal() and str(int(text)) == text and int(text) < 1 << 64 for text in texts)
    if plain and len(set(texts)) == len(texts):
        return [int(text) for text in texts if text is not None]
    hint = "keys=[...] gives them numbers; a bf.Writer keeps texts as keys"
    notice("python.keys", f"column {KEY!r} holds no numbers, each another one: sequences are numbered instead", hint)
    return None


def _is_list(pa: Any, kind: Any) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _is_number(pa: Any, kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def _entry(pa: Any, kind: Any) -> Optional[tuple[int, int]]:
    """Where the index and the value of an entry stand in a struct: by the names that to_arrow() gives them, else in this
    order. None if it is no entry."""
    if not pa.types.is_struct(kind) or kind.num_fields != 2:
        return None
    index, value = kind.get_field_index("index"), kind.get_field_index("value")  # -1: none
    first = index if index >= 0 else 1 - value if value >= 0 else 0
    at = (first, 1 - first)
    return at if pa.types.is_integer(kind[at[0]].type) and _is_number(pa, kind[at[1]].type) else None


def _complete(name: str, column: Any) -> None:
    if column.null_count:
        raise _missing(name, column.null_count, "fill_null() or drop_null()")


def to_datasets(what: What, **options: Any) -> datasets.Dataset:
    """A datasets.Dataset of Hugging Face, with the columns of to_arrow()."""
    dataset: datasets.Dataset = library("datasets", "to_datasets()").Dataset(to_arrow(what, **options))
    return dataset


def from_datasets(dataset: datasets.Dataset, *, dims: Optional[Mapping[str, int]] = None, **options: Any) -> Arrays:
    """A corpus of a datasets.Dataset as to_datasets() makes it, or of columns with numbers or lists of numbers.

    Columns of other kinds are left out by dataset.select_columns([...]) before.
    """
    if not hasattr(dataset, "with_format"):
        raise wrong("dataset", dataset, "a datasets.Dataset")
    if not isinstance(dataset, library("datasets", "from_datasets()").Dataset):
        hint = "of a DatasetDict one is given: splits['train']"
        raise usage("python.data", f"dataset is a {type(dataset).__name__}, expected a datasets.Dataset", hint)
    return from_arrow(dataset.with_format("arrow")[:], dims=dims, **options)


def _samples(pa: Any, name: str, column: Any, dim: Optional[int]) -> Any:
    """A column with a sample a row, as Arrays takes it."""
    _complete(name, column)
    kind = column.type
    if pa.types.is_dictionary(kind):
        return column.indices.to_numpy().astype(np.int64)
    if _is_number(pa, kind):
        return column.to_numpy(zero_copy_only=False)
    inner = kind.value_type if _is_list(pa, kind) or pa.types.is_fixed_size_list(kind) else None
    entries: Any = None if inner is None else column.flatten()
    if inner is not None and _is_number(pa, inner):
        _complete(name, entries)
        rows, size = len(column), kind.list_size if pa.types.is_fixed_size_list(kind) else -1
        if size < 0:
            sizes = np.unique(np.diff(column.offsets.to_numpy()))
            if sizes.size > 1:
                raise usage("python.data", f"stream {name!r}: samples of {sizes[0]} and of {sizes[-1]} numbers", stream=name)
            size = int(sizes[0]) if sizes.size else 0
        return entries.to_numpy(zero_copy_only=False).reshape(rows, size)
    if inner is not None and (entry := _entry(pa, inner)) is not None:
        indptr = column.offsets.to_numpy()
        fields = [entries.field(i) for i in entry]
        for part in (entries, *fields):
            _complete(name, part)
        indices, values = (part.to_numpy(zero_copy_only=False) for part in fields)
        width = dim or int(indices.max(initial=0)) + 1
        matrix = (values, indices, indptr - indptr[0])
        return library("scipy.sparse", "a sparse column").csr_array(matrix, shape=(len(indptr) - 1, width))
    hint = "numbers, lists of them, or a dictionary; select() leaves columns out"
    raise usage("python.data", f"stream {name!r}: a column of {kind}", hint, stream=name)


def from_parquet(path: Path, **options: Any) -> Arrays:
    """from_arrow() of a Parquet file, with its `options`. Raises FileError if it cannot be read, ConfigError if it is none."""
    pa, parquet = library("pyarrow", "from_parquet()"), library("pyarrow.parquet", "from_parquet()")
    name = as_path("path", path)
    try:
        table = parquet.read_table(name)
    except OSError as error:
        raise refused("open", name, error) from error
    except pa.ArrowException as error:
        raise usage("python.parquet", f"is no Parquet file that pyarrow reads: {error}", path=name) from error
    return from_arrow(table, **options)


def to_parquet(what: What, path: Path, *, force: bool = False, **options: Any) -> None:
    """A corpus as a Parquet file with a row for each sequence, batch by batch; see to_arrow().

    The file appears when it is complete. Raises ConfigError if there is one already (unless `force`).
    """
    pa, parquet = library("pyarrow", "to_parquet()"), library("pyarrow.parquet", "to_parquet()")
    writer = None
    with appearing(as_path("path", path), force) as part:
        try:
            for rows in _rows(pa, what, options):
                writer = writer or parquet.ParquetWriter(part, rows.schema)
                writer.write_batch(rows)
        finally:
            if writer is not None:
                writer.close()
