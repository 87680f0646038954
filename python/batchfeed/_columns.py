# SPDX-License-Identifier: MIT
"""Converts what users give as a stream's data into columns of a chunk."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from operator import index
from typing import Any, NamedTuple, Optional

import numpy as np
import numpy.typing as npt

from . import _core
from ._errors import usage
from ._given import wrong
from ._sources import StreamSpec
from ._words import counted

Array = npt.NDArray[Any]


MOST_INDICES = 1 << 31  # bound of sparse indices, which are held as int32
MOST_ENTRIES = 1 << 32  # bound of the entries given at once: their offsets are held as uint32


class Column(NamedTuple):
    """One stream of some sequences, as the extension takes it."""

    values: Array
    lengths: npt.NDArray[np.uint32]  # samples of each sequence
    indices: Optional[npt.NDArray[np.int32]] = None  # sparse
    indptr: Optional[npt.NDArray[np.uint32]] = None  # sparse: samples + 1


def infos(streams: Mapping[str, StreamSpec], dtype: str) -> list[_core.StreamInfo]:
    out = []
    for name, stream in streams.items():
        info = _core.StreamInfo()
        info.name, info.storage, info.dim, info.element = name, stream.storage, stream.dim, dtype
        info.defines_mb_size = stream.defines_mb_size
        out.append(info)
    return out


def lengths_of(given: Any, name: str = "lengths") -> npt.NDArray[np.uint32]:
    """The samples of each sequence, as uint32 [sequences]. Raises ConfigError, in which `name` says what was given."""
    try:
        array = np.asarray(given if hasattr(given, "__len__") else list(given))
    except (TypeError, ValueError):
        array = np.zeros((), object)
    if array.ndim != 1 or (array.size and (array.dtype.kind not in "iu" or array.min() < 0 or array.max() >= 1 << 32)):
        raise wrong(name, given, "a list of whole numbers, the samples of each sequence")
    return array.astype(np.uint32)


def keys_of(given: Any) -> npt.NDArray[np.uint64]:
    """Whole numbers that are not negative, as uint64. Raises TypeError for others."""
    given = given if hasattr(given, "__len__") else list(given)
    array = np.asarray(given)
    if array.ndim == 1 and array.dtype.kind in "fO" and not hasattr(given, "dtype"):  # NumPy makes floats or objects of integers beyond 2^63
        array = np.array([index(key) for key in given], dtype=np.uint64)
    if array.size and (array.dtype.kind not in "iu" or array.min() < 0):
        raise TypeError
    return array.astype(np.uint64)


def expect_unmasked(name: str, data: Any) -> None:
    """Raises ConfigError for a masked array, as the values under its mask would be taken for valid ones, and for missing
    values of pandas and Arrow, of which NumPy makes NaN."""
    missing = _missing(data)
    if missing:
        raise _refuse(name, f"{counted(missing, 'row')} without a value", "fill or drop them before")
    if np.ma.is_masked(data):
        raise _refuse(name, "some values are masked", "filled(0) puts a number in their places")


def _missing(data: Any) -> int:
    """NA and null in data of pandas or Arrow; NaN in NumPy's own floats is a number."""
    nulls = getattr(data, "null_count", 0)
    if isinstance(nulls, int) and nulls:
        return nulls
    if not hasattr(data, "isna"):
        return 0
    columns = [data.iloc[:, i] for i in range(data.shape[1])] if data.ndim == 2 else [data]
    return sum(int(column.isna().sum()) for column in columns if not isinstance(column.dtype, np.dtype))


def plain_numbers(array: Array) -> Array:
    """The array with a dtype of NumPy's own: Python's numbers as integers or floats, and as float32 the small types of
    ml_dtypes (bfloat16 ...), which NumPy can do nothing with but convert them."""
    if array.dtype == object and all(isinstance(value, Real) for value in array.flat):
        numbers = np.array(array.ravel().tolist()).reshape(array.shape)
        return array.astype(np.float64) if numbers.dtype == object else numbers  # such as Fraction, or integers beyond 64 bits
    small = array.dtype.kind == "V" and array.dtype.names is None and np.can_cast(array.dtype, np.float32)
    return array.astype(np.float32) if small else array


def _numbers(name: str, data: Any, dtype: Any) -> Array:
    """The data as an array of `dtype`. Raises ConfigError for numbers too large for it, and for texts, dates and None,
    of which NumPy would make numbers in some cases."""
    expect_unmasked(name, data)
    try:
        array = plain_numbers(np.asarray(data))
        if array.dtype.kind not in "biuf":
            raise TypeError
        with np.errstate(over="raise"):
            return np.ascontiguousarray(array, dtype=dtype)
    except (FloatingPointError, OverflowError):
        raise _refuse(name, f"{_short(data)} holds a number too large for {dtype}") from None
    except (TypeError, ValueError, RuntimeError):  # RuntimeError: a tensor that requires gradients
        hint = "numbers, as many in each row" if not hasattr(data, "detach") else "a tensor's detach().float()"
        raise _refuse(name, f"{_short(data)} is no array of {dtype}", hint) from None


def _short(data: Any) -> str:
    text = " ".join(repr(data).split())
    return text if len(text) <= 60 else text[:57] + "..."


def _refuse(name: str, what: str, hint: Optional[str] = None) -> Exception:
    return usage("python.data", f"stream {name!r}: {what}", hint, stream=name)


def _is_scipy(data: Any) -> bool:
    return hasattr(data, "tocsr") and hasattr(data, "nnz")


def is_csr(data: Any) -> bool:
    """Whether `data` is (values, indices, indptr), and not a tuple of three classes."""
    return isinstance(data, tuple) and len(data) == 3 and not all(map(np.isscalar, data))


def _dense(name: str, stream: StreamSpec, data: Any, dtype: str) -> tuple[Array, int]:
    """All values, [samples * dim], and the number of samples."""
    if _is_scipy(data):
        data = data.toarray()
    values = _numbers(name, data, dtype)
    if values.ndim == 1 and (stream.dim == 1 or not values.size):  # an empty list has no samples
        values = values.reshape(-1, stream.dim)
    elif values.ndim == 1:
        values = values[None, :]  # one sample
    if values.ndim != 2 or values.shape[1] != stream.dim:
        what = f"an array of shape {np.shape(data)}" if np.shape(data) else _short(data)
        raise _refuse(name, f"{what}, expected [samples, {stream.dim}]")
    return values.reshape(-1), len(values)


def _sparse(name: str, stream: StreamSpec, data: Any, dtype: str) -> tuple[Array, Array, Array]:
    """(values, indices, indptr) of scipy.sparse, of such a tuple, or of the classes of one-hot samples."""
    if _is_scipy(data):
        data = (data.reshape(1, -1) if data.ndim == 1 else data).tocsr()  # one sample
        if data.shape[1] != stream.dim:
            raise _refuse(name, f"a matrix of shape {data.shape}, expected [samples, {stream.dim}]")
        values, indices, indptr = data.data, data.indices, data.indptr
    elif is_csr(data):
        values, indices, indptr = map(np.asarray, data)
    else:
        expect_unmasked(name, data)
        none = isinstance(data, (list, tuple)) and not data  # NumPy would make it an array of floats
        indices = np.atleast_1d(np.zeros(0, np.int32) if none else plain_numbers(np.asarray(data)))
        if indices.ndim != 1 or indices.dtype.kind not in "iu":
            raise _refuse(name, "expected scipy.sparse, (values, indices, indptr), or whole numbers: a class for each sample")
        values, indptr = np.ones(indices.size), np.arange(indices.size + 1)
    indptr = np.asarray(indptr)
    for what, array in (("indices", indices), ("indptr", indptr)):
        if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
            raise _refuse(name, f"{what} is {_short(array.tolist())}, expected a list of whole numbers")
    if indptr.size == 0 or indptr[0] != 0 or indptr[-1] != indices.size or np.any(indptr[1:] < indptr[:-1]):
        raise _refuse(name, f"indptr does not fit {indices.size} indices", "it begins with 0, never falls, and ends with their number")
    if indices.size >= MOST_ENTRIES:
        raise _refuse(name, f"{indices.size} entries at once, {MOST_ENTRIES} are too many", "give them in parts")
    if values.shape != indices.shape:
        raise _refuse(name, f"values of shape {values.shape} for {indices.size} indices")
    below = min(stream.dim, MOST_INDICES)
    if indices.size and (indices.min() < 0 or indices.max() >= below):
        worst = indices.min() if indices.min() < 0 else indices.max()
        what, hint = ("dim ", "indices count from 0") if below == stream.dim else ("", "indices are held as int32")
        raise _refuse(name, f"index {worst} is not below {what}{below}", hint)
    return _numbers(name, values, dtype), indices, indptr


def _joined(name: str, stream: StreamSpec, parts: Sequence[Any], dtype: str) -> Column:
    """The column of a list with the data of each sequence."""
    columns = [column(name, stream, part, dtype) for part in parts]
    if not columns:
        empty = np.zeros(0, dtype=dtype)
        sparse = stream.storage == "sparse"
        return Column(
            empty, np.zeros(0, np.uint32), np.zeros(0, np.int32) if sparse else None, np.zeros(1, np.uint32) if sparse else None
        )
    values = np.concatenate([c.values for c in columns])
    lengths = np.concatenate([c.lengths for c in columns])
    if stream.storage == "dense":
        return Column(values, lengths)
    indices = np.concatenate([c.indices for c in columns if c.indices is not None])
    if indices.size >= MOST_ENTRIES:
        raise _refuse(name, f"{indices.size} entries at once, {MOST_ENTRIES} are too many", "give them in parts")
    counts = np.concatenate([np.diff(c.indptr) for c in columns if c.indptr is not None])
    return Column(values, lengths, indices, np.concatenate(([0], np.cumsum(counts))).astype(np.uint32))


def column(name: str, stream: StreamSpec, data: Any, dtype: str, lengths: Optional[Array] = None) -> Column:
    """The column of one array, which holds one sequence, or those of which `lengths` has the samples."""
    if stream.storage == "dense":
        values, samples = _dense(name, stream, data, dtype)
        indices = indptr = None
    else:
        values, indices, indptr = _sparse(name, stream, data, dtype)
        indices, indptr = indices.astype(np.int32), indptr.astype(np.uint32)
        samples = indptr.size - 1
    if lengths is None:
        lengths = np.array([samples])
    elif lengths.sum() != samples:
        raise _refuse(name, f"{samples} samples, expected {lengths.sum()}", "or a list with the data of each sequence")
    return Column(values, lengths.astype(np.uint32), indices, indptr)


def column_of(stream: _core.StreamData, declared: StreamSpec, dtype: str) -> Optional[Column]:
    """The column of a minibatch's stream; None if its storage or dim are not as declared."""
    if (stream.storage, stream.dim) != (declared.storage, declared.dim):
        return None
    values, lengths = _numbers(stream.name, stream.values.reshape(-1), dtype), np.diff(stream.offsets).astype(np.uint32)
    if not stream.is_sparse:
        return Column(values, lengths)
    return Column(values, lengths, stream.indices, stream.indptr.astype(np.uint32))


def columns(
    streams: Mapping[str, StreamSpec],
    data: Mapping[str, Any],
    dtype: str,
    lengths: Optional[Array] = None,
    told: str = "data",
    exact: bool = True,
) -> list[Column]:
    """The columns of some sequences, of which `lengths` has the samples; of one sequence without `lengths`.

    `told`: what errors call the data. `exact`: False if lists of sequences need only be as long as `lengths`, and their
    sequences may have other numbers of samples. Raises ConfigError.
    """
    if not isinstance(data, Mapping):
        raise wrong(told, data, "a mapping {name of the stream: data}")
    unknown = [name for name in data if name not in streams]
    if unknown:
        raise _refuse(unknown[0], f"there is no such stream, only {', '.join(map(repr, streams))}")
    out = []
    for name, stream in streams.items():
        if name not in data:
            raise _refuse(name, "no data for it")
        given = data[name]
        many = isinstance(given, list) and bool(given) and not np.isscalar(given[0])
        if isinstance(given, Column):
            out.append(given)
        elif isinstance(given, list) and (many or not given) and lengths is not None:
            out.append(_joined(name, stream, given, dtype))
        else:
            out.append(column(name, stream, given, dtype, lengths))
    rows = {len(one.lengths) for one in out}
    if len(rows) > 1 or (lengths is not None and rows != {len(lengths)}):
        what = f"the streams have {', '.join(map(str, sorted(rows)))} sequences, expected {'as many in each' if lengths is None else len(lengths)}"
        raise usage("python.data", what, LISTS)
    if exact and lengths is not None:
        _expect_lengths(streams, out, lengths, told)
    return out


LISTS = "a list holds the data of each sequence, an array the samples of all"


def _expect_lengths(streams: Mapping[str, StreamSpec], columns: Sequence[Column], lengths: Array, told: str) -> None:
    """Raises ConfigError unless sequences have the samples that `lengths` announces: in the stream with
    defines_mb_size, or without one in the longest stream of each sequence."""
    counts = [c.lengths for c, stream in zip(columns, streams.values()) if stream.defines_mb_size] or [c.lengths for c in columns]
    own = np.max(counts, axis=0)
    for i in np.flatnonzero(own != lengths)[:1]:
        raise usage("python.data", f"{told}: sequence {i} has {counted(own[i], 'sample')}, expected {lengths[i]}", LISTS)
