# SPDX-License-Identifier: MIT
"""Data in memory, and to and from the files of others."""
from __future__ import annotations

import contextlib
import os
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np
import numpy.typing as npt

from ._batch import Batch
from ._columns import column, keys_of, lengths_of
from ._convert import library
from ._errors import usage
from ._given import Path, expecting, path as as_path, whole, wrong
from ._open import What, opening_of
from ._reader import Reader
from ._source import Source
from ._sources import Stream, _element, declared, dense, sparse
from ._told import log

if TYPE_CHECKING:
    import datasets
    import pandas
    import pyarrow


def _stream(name: str, data: Any) -> Stream:
    """How data in memory are declared, if the user does not say."""
    if hasattr(data, "tocsr"):
        return sparse(int(data.shape[1]))
    array = np.asarray(data)
    if array.ndim == 1 and array.dtype.kind in "iu":
        if array.min(initial=0) < 0:
            hint = f"classes count from 0; streams={{{name!r}: bf.dense(1)}} takes them as numbers"
            raise usage("python.data", f"stream {name!r}: {array.min()} is no class", hint, stream=name)
        return sparse(int(array.max(initial=0)) + 1)
    if array.dtype.kind not in "iufb" or array.ndim > 2:
        raise usage("python.data", f"stream {name!r}: an array of {array.dtype} with {array.ndim} axes", "numbers, [samples, dim]")
    return dense(1 if array.ndim == 1 else int(array.shape[1]))


def _array(name: str, data: Any) -> Any:
    if not isinstance(name, str):
        raise wrong("the name of a stream", name, "a text")
    if hasattr(data, "tocsr"):
        return data.tocsr()
    try:
        return np.asarray(data)
    except ValueError:
        raise usage("python.data", f"stream {name!r}: rows of different lengths", "numbers, [samples, dim]") from None


@contextlib.contextmanager
def _replacing(target: str) -> Iterator[str]:
    """The name of a file that takes the place of `target` once it is whole, and is gone if it never is."""
    if os.path.exists(target) and not os.path.isfile(target):  # a device or a pipe stays what it is
        yield target
        return
    part = f"{target}.{os.getpid()}.part"
    try:
        yield part
        os.replace(part, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)
        raise


class Arrays(Source):
    """A corpus in memory: {name: data of all samples}.

    An array [samples, dim] is a dense stream, a scipy.sparse matrix a sparse one, and so are whole numbers
    [samples]: the class of each sample. `streams` says otherwise. `lengths`: samples of each sequence, one if
    not given; {name: lengths} where the streams differ. `keys`: whole numbers by which sources are joined.
    """

    def __init__(
        self,
        data: Mapping[str, Any],
        *,
        streams: Optional[Mapping[str, Stream]] = None,
        lengths: Union[Sequence[int], Mapping[str, Sequence[int]], None] = None,
        keys: Optional[Sequence[int]] = None,
        dtype: Any = "float32",
        chunk_samples: int = 65536,
    ) -> None:
        if not isinstance(data, Mapping):
            raise wrong("data", data, "a mapping {name of the stream: data of all samples}")
        if not data:
            raise usage("python.data", "a corpus needs a stream")
        self._data = {name: _array(name, d) for name, d in data.items()}
        for name, d in self._data.items():
            if d.ndim == 0:
                raise usage("python.data", f"stream {name!r}: {data[name]!r} is no array", "numbers, [samples, dim]")
        samples = {name: d.shape[0] for name, d in self._data.items()}
        self._each = self._lengths_of(samples, lengths)
        said = declared(streams or {})
        for name in said:
            if name not in self._data:
                raise usage("python.data", f"streams declares {name!r}; the data are {', '.join(map(repr, self._data))}")
        self._streams = {name: said.get(name) or _stream(name, d) for name, d in self._data.items()}
        self._lengths = np.max(list(self._each.values()), axis=0)
        with expecting("keys", keys, f"a whole number for each of {len(self._lengths)} sequences"):
            self._keys = None if keys is None else keys_of(keys)
            if self._keys is not None and self._keys.shape != self._lengths.shape:
                raise TypeError
        self.dtype = dtype
        chunk_samples = whole("chunk_samples", chunk_samples, 1)
        ends = np.cumsum(self._lengths)
        cuts = np.searchsorted(ends, np.arange(chunk_samples, self._lengths.sum(), chunk_samples), side="left") + 1
        self._cuts = np.unique(np.concatenate(([0], cuts[cuts < len(ends)], [len(ends)])))
        self._starts = {name: np.concatenate(([0], np.cumsum(own))) for name, own in self._each.items()}

    @staticmethod
    def _lengths_of(samples: Mapping[str, int], given: Any) -> dict[str, npt.NDArray[np.int64]]:
        """Samples of each sequence, by stream."""
        if isinstance(given, Mapping):
            if set(given) != set(samples):
                raise wrong("lengths", given, f"those of {', '.join(map(repr, samples))}")
            out = {name: lengths_of(given[name]).astype(np.int64) for name in samples}
            if len({own.size for own in out.values()}) > 1:
                told = ", ".join(f"{name} {own.size}" for name, own in out.items())
                raise usage("python.data", f"the lengths of the streams differ in sequences: {told}")
        else:
            if len(set(samples.values())) > 1:
                told = ", ".join(f"{name} {n}" for name, n in samples.items())
                raise usage("python.data", f"the streams differ in samples: {told}", "lengths={name: [...]}, if sequences do")
            total = next(iter(samples.values()))
            own = np.ones(total, np.int64) if given is None else lengths_of(given).astype(np.int64)
            out = dict.fromkeys(samples, own)
        for name, own in out.items():
            if own.sum() != samples[name]:
                what = f"{samples[name]} samples, but the lengths sum up to {own.sum()}"
                raise usage("python.data", f"stream {name!r}: {what}" if isinstance(given, Mapping) else what)
        return out

    def __repr__(self) -> str:
        streams = ", ".join(f"{name!r}: {s.storage} {s.dim}" for name, s in self._streams.items())
        return f"<Arrays: {len(self._lengths)} sequences, {self._lengths.sum()} samples; {streams}>"

    def streams(self) -> Mapping[str, Stream]:
        """As declared, or as the data suggest."""
        return self._streams

    def chunks(self) -> list[Any]:
        """chunk_samples of them each, or a little more."""
        return [self._lengths[a:b] for a, b in zip(self._cuts, self._cuts[1:])]

    def keys(self) -> Optional[list[Any]]:
        """As given."""
        return None if self._keys is None else [self._keys[a:b] for a, b in zip(self._cuts, self._cuts[1:])]

    def read(self, chunk: int) -> dict[str, Any]:
        """Views of the data."""
        first, last = int(self._cuts[chunk]), int(self._cuts[chunk + 1])
        return {name: self._part(name, first, last) for name in self._data}

    def _part(self, name: str, first: int, last: int) -> Any:
        data, starts = self._data[name], self._starts[name]
        if data.ndim == 1 and self._streams[name].storage == "dense":
            data = data[:, None]
        if np.array_equal(self._each[name][first:last], self._lengths[first:last]):
            return data[starts[first] : starts[last]]
        own = self._each[name][first:last]
        return column(name, self._streams[name], data[starts[first] : starts[last]], _element(self.dtype), own)


def _batches(what: What, options: Mapping[str, Any]) -> Iterator[Batch]:
    """One sweep, in the data's own order."""
    given = {"order": "file", "minibatch_size": 65536, **options}
    storage = given.pop("storage_options", None)
    opening = opening_of(what, "", (), None, None, storage, given)
    with Reader._of(opening, log) as reader:
        yield from reader


def from_npz(path: Path) -> Arrays:
    """A corpus that to_npz() wrote, or arrays that numpy.savez() did."""
    parts: dict[str, Any] = {}
    name_of_file = as_path("path", path)
    try:
        with np.load(name_of_file) as file:
            content = {name: file[name] for name in file.files}
    except (ValueError, EOFError, AttributeError, TypeError, zipfile.BadZipFile) as error:  # a .npy file is an array
        raise usage("python.npz", "is no .npz file of numbers", "to_npz() and numpy.savez() write them", path=name_of_file) from error
    lengths: Any = content.pop("batchfeed.lengths", None)
    each = {name: content.pop(name) for name in list(content) if name.startswith("batchfeed.lengths.")}
    if each:
        lengths = {name.partition("lengths.")[2]: own for name, own in each.items()}
    for name in list(content):
        if name.endswith(".indptr"):
            stem = name[: -len(".indptr")]
            matrix = (content.pop(stem + ".data"), content.pop(stem + ".indices"), content.pop(name))
            shape = tuple(content.pop(stem + ".shape"))
            parts[stem] = library("scipy.sparse", "a sparse stream of a .npz file").csr_array(matrix, shape=shape)
    parts.update(content)
    first = next(iter(parts.values()), np.zeros(0))
    return Arrays(parts, lengths=lengths, dtype="float64" if first.dtype == np.float64 else "float32")


def to_npz(what: What, path: Path, **options: Any) -> None:
    """All of a corpus in one .npz file; it is held in memory. The file is there once it is whole."""
    target, stack = as_path("path", path), library("scipy.sparse", "to_npz()").vstack
    batches = list(_batches(what, options))
    if not batches:
        raise usage("python.data", "there is no sequence to write", path=target)
    each = {name: np.concatenate([b[name].lengths for b in batches]) for name in batches[0]}
    first = next(iter(each.values()))
    alike = all(np.array_equal(own, first) for own in each.values())
    content: dict[str, Any] = {"batchfeed.lengths": first} if alike else {f"batchfeed.lengths.{n}": own for n, own in each.items()}
    for name, stream in batches[0].items():
        if stream.is_sparse:
            m = stack([b[name].csr() for b in batches], format="csr")
            content.update({f"{name}.data": m.data, f"{name}.indices": m.indices, f"{name}.indptr": m.indptr, f"{name}.shape": m.shape})
        else:
            content[name] = np.concatenate([b[name].numpy() for b in batches])
    with _replacing(target if target.endswith(".npz") else target + ".npz") as part, open(part, "wb") as file:
        np.savez(file, **content)


def _missing(name: str, rows: int, how: str) -> Exception:
    count = "1 row has" if rows == 1 else f"{rows} rows have"
    return usage("python.data", f"stream {name!r}: {count} no value", f"{how} before", stream=name)


def from_pandas(frame: pandas.DataFrame, columns: Optional[Mapping[str, Any]] = None, **options: Any) -> Arrays:
    """A row of a DataFrame is a sequence of one sample.

    `columns`: {stream: column or list of columns}; without it each column is a stream. A column of whole
    numbers or of categories is a class; a list of columns, or a column of lists, a dense sample. `options` are
    those of Arrays.
    """
    if not hasattr(frame, "columns"):
        raise wrong("frame", frame, "a pandas.DataFrame")
    data: dict[str, Any] = {}
    streams: dict[str, Stream] = {}
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise usage("python.data", f"two columns have the name {twice[0]!r}")
    for name, chosen in (columns or {str(c): c for c in frame.columns}).items():
        if isinstance(chosen, (list, tuple)):
            data[name] = np.stack([_column(name, frame[one]).astype(np.float64) for one in chosen], axis=1)
        else:
            data[name] = _column(name, frame[chosen])
            if hasattr(frame[chosen], "cat"):
                streams[name] = sparse(max(1, len(frame[chosen].cat.categories)))
    return Arrays(data, **{**options, "streams": {**streams, **(options.get("streams") or {})}})


def _column(name: str, column: pandas.Series[Any]) -> npt.NDArray[Any]:
    """NaN is a number, as anywhere else; NA and None are none."""
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
        raise usage("python.data", f"stream {name!r}: rows of different lengths", "as many numbers in each row", stream=name) from None
    if plain.dtype.kind in "OUS":
        hint = "astype('category') makes classes of texts"
        raise usage("python.data", f"stream {name!r}: {column.iloc[0]!r} is no number", hint, stream=name)
    return plain


def to_pandas(what: What, **options: Any) -> pandas.DataFrame:
    """to_arrow() as a pandas.DataFrame: a row for each sequence, cells with the list of its samples."""
    frame: pandas.DataFrame = to_arrow(what, **options).to_pandas()
    return frame


def to_arrow(what: What, **options: Any) -> pyarrow.Table:
    """A pyarrow.Table with a row for each sequence: its key, and for each stream a list of samples.

    A dense sample is a fixed_size_list, a sparse one a list of structs (index, value). `options` are the
    keywords of a Reader.
    """
    pa = library("pyarrow", "to_arrow()")
    table: pyarrow.Table = pa.Table.from_batches([_record_batch(pa, b) for b in _batches(what, options)])
    return table


def _record_batch(pa: Any, batch: Batch) -> Any:
    return pa.RecordBatch.from_pydict({"key": pa.array(batch.sequence_keys), **{name: pa.array(s) for name, s in batch.items()}})


def from_arrow(table: Any, *, dims: Optional[Mapping[str, int]] = None, **options: Any) -> Arrays:
    """A corpus of a pyarrow.Table as to_arrow() makes it, or of plain columns: numbers are one sample a row.

    A dictionary (of categories) is a class. A list of numbers is a sequence of them; or one sample, if `streams`
    declares it: streams={"x": bf.dense(128)}. `dims`: of sparse streams; without it one more than the largest
    index. `options` are those of Arrays.
    """
    pa = library("pyarrow", "from_arrow()")
    if not hasattr(table, "column_names"):
        raise wrong("table", table, "a pyarrow.Table")
    said = declared(options.pop("streams", None) or {})
    data: dict[str, Any] = {}
    lengths: dict[str, Any] = {}
    for name in table.column_names:
        column = table[name].combine_chunks() if hasattr(table[name], "combine_chunks") else table[name]
        if name == "key" and (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            continue
        _complete(name, column)
        if pa.types.is_dictionary(column.type):
            said.setdefault(name, sparse(max(1, len(column.dictionary))))
        if _is_list(pa, column.type) and not (_is_number(pa, column.type.value_type) and name in said and said[name].dim > 1):
            lengths[name] = np.diff(column.offsets.to_numpy())
            column = column.flatten()
        data[name] = _samples(pa, name, column, (dims or {}).get(name))
    if lengths:
        options["lengths"] = {name: lengths.get(name, np.ones(table.num_rows, np.int64)) for name in data}
    return Arrays(data, streams=said, **options)


def _is_list(pa: Any, kind: Any) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _is_number(pa: Any, kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


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
    if inner is not None and pa.types.is_struct(inner) and inner.num_fields == 2:
        indptr = column.offsets.to_numpy()
        indices, values = (entries.field(i).to_numpy() for i in (0, 1))
        width = dim or int(indices.max(initial=0)) + 1
        matrix = (values, indices, indptr - indptr[0])
        return library("scipy.sparse", "a sparse column").csr_array(matrix, shape=(len(indptr) - 1, width))
    hint = "numbers, lists of them, or a dictionary; select() leaves columns out"
    raise usage("python.data", f"stream {name!r}: a column of {kind}", hint, stream=name)


def from_parquet(path: Path, **options: Any) -> Arrays:
    """from_arrow() of a Parquet file."""
    return from_arrow(library("pyarrow.parquet", "from_parquet()").read_table(as_path("path", path)), **options)


def to_parquet(what: What, path: Path, **options: Any) -> None:
    """A corpus as a Parquet file with a row for each sequence, batch by batch; see to_arrow().

    The file is there once it is whole.
    """
    pa, parquet = library("pyarrow", "to_parquet()"), library("pyarrow.parquet", "to_parquet()")
    writer = None
    with _replacing(as_path("path", path)) as part:
        try:
            for batch in _batches(what, options):
                rows = _record_batch(pa, batch)
                writer = writer or parquet.ParquetWriter(part, rows.schema)
                writer.write_batch(rows)
        finally:
            if writer is not None:
                writer.close()


def from_svmlight(path: Path, *, dim: Optional[int] = None, zero_based: bool = False, **options: Any) -> Arrays:
    """Labels and index:value pairs, a sample a line: streams "features" and "label"."""
    labels, indices, values, indptr = [], [], [], [0]
    source, dims = as_path("path", path), None if dim is None else whole("dim", dim, 1)
    with open(source) as file:
        for number, line in enumerate(file, start=1):
            words = line.partition("#")[0].split()
            if not words:
                continue
            try:
                labels.append(float(words[0]))
                pairs = [word.partition(":") for word in words[1:] if not word.startswith("qid:")]
                own = [int(i) - (not zero_based) for i, _, _ in pairs]
                values += [float(v) for _, _, v in pairs]
            except ValueError:
                what = f"line {number}: expected 'label index:value ...'"
                raise usage("python.svmlight", what, path=source, line=number) from None
            if own and min(own) < 0:
                hint = None if zero_based else "zero_based=True, if indices count from 0"
                raise usage("python.svmlight", f"line {number}: an index below {int(not zero_based)}", hint, path=source, line=number)
            if dims is not None and own and max(own) >= dims:
                raise usage("python.svmlight", f"line {number}: an index beyond dim {dims}", path=source, line=number)
            indices += own
            indptr.append(len(indices))
    width = dims or max(indices, default=0) + 1
    features = library("scipy.sparse", "from_svmlight()").csr_array((values, indices, indptr), shape=(len(labels), width))
    return Arrays({"features": features, "label": np.array(labels)}, **options)


def to_svmlight(what: What, path: Path, *, features: str, label: str, zero_based: bool = False, **options: Any) -> None:
    """A sample a line: the value (or the class) of the stream `label`, and the entries of `features`.

    Entries of one index are added up. The file is there once it is whole.
    """
    with _replacing(as_path("path", path)) as part, open(part, "w") as file:
        for batch in _batches(what, options):
            s = batch[label]
            if not s.is_sparse and s.dim != 1:
                raise usage("python.data", f"{label!r} is dense with dim {s.dim}; a label is one value or one class", stream=label)
            labels = s.classes() if s.is_sparse else s.numpy()[:, 0]
            x = batch[features]
            if not np.array_equal(s.lengths, x.lengths):
                raise usage("python.data", f"{label!r} and {features!r} differ in the samples of a sequence", stream=label)
            rows = x.csr().copy() if x.is_sparse else library("scipy.sparse", "to_svmlight()").csr_array(x.numpy())
            rows.sum_duplicates()  # and sorts: other readers ask for it
            for i, target in enumerate(labels.tolist()):
                a, b = rows.indptr[i], rows.indptr[i + 1]
                pairs = zip(rows.indices[a:b].tolist(), rows.data[a:b].tolist())
                file.write(" ".join([f"{target:g}", *(f"{j + (not zero_based)}:{v!r}" for j, v in pairs)]) + "\n")
