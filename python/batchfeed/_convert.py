# SPDX-License-Identifier: MIT
"""A stream as other libraries want it; they are imported when they are asked for."""
from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core


def library(name: str, what_for: str) -> Any:
    """An optional library, or an error that says how to get it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.split(".")[0]
        raise ImportError(f"{what_for} needs {package}: pip install {package}", name=package) from error


def _need_sparse(stream: _core.StreamData, what: str) -> None:
    if stream.storage != "sparse":
        raise TypeError(f"stream {stream.name!r} is dense, {what} is for sparse ones: numpy(), packed(), padded()")


def _small(offsets: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Offsets as narrow as the indices, as the libraries want both alike."""
    return offsets.astype(np.int32) if offsets[-1] <= np.iinfo(np.int32).max else offsets


def csr(stream: _core.StreamData) -> Any:
    sparse = library("scipy.sparse", "csr()")
    _need_sparse(stream, "csr()")
    stream.expect_inside()
    shape = (stream.num_samples, stream.dim)
    return sparse.csr_array((stream.values, stream.indices, _small(stream.indptr)), shape=shape, copy=False)


def csc_columns(stream: _core.StreamData) -> Any:
    sparse = library("scipy.sparse", "cntk() of a sparse stream")
    values, indices, columns = stream.make_cntk_sparse()
    return sparse.csc_array((values, indices, _small(columns)), shape=(stream.dim, columns.size - 1), copy=False)


def dense(stream: _core.StreamData) -> npt.NDArray[Any]:
    stream.expect_inside()
    out = np.zeros((stream.num_samples, stream.dim), dtype=stream.element)
    rows = np.repeat(np.arange(stream.num_samples), np.diff(stream.indptr))
    out[rows, stream.indices] = stream.values  # of a repeated index the last value stays, as in padded()
    return out


def padded(stream: _core.StreamData) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    try:
        return stream.make_padded()
    except MemoryError:
        shape = (stream.num_sequences, int(np.diff(stream.offsets).max(initial=0)), stream.dim)
        size = math.prod(shape) * np.dtype(stream.element).itemsize
        what = f"stream {stream.name!r}: a rectangle of {shape[0]} x {shape[1]} x {shape[2]} takes {size} bytes"
        raise MemoryError(f"{what}; packed() takes what the samples do") from None


def classes(stream: _core.StreamData) -> npt.NDArray[np.int32]:
    _need_sparse(stream, "classes()")
    if stream.indices.size != stream.num_samples or np.any(np.diff(stream.indptr) != 1):
        raise ValueError(f"stream {stream.name!r} has samples with no value or several; classes() needs exactly one in each")
    return stream.indices


def need_form(form: Any) -> None:
    if form not in ("packed", "padded", "nested", "coo", "classes"):
        raise ValueError(f"form is {form!r}, expected 'packed', 'padded', 'nested', 'coo' or 'classes'")


def torch_tensor(stream: _core.StreamData, form: str) -> Any:
    need_form(form)
    torch = library("torch", "torch()")
    stream.expect_inside()
    if form == "padded":
        return torch.from_numpy(padded(stream)[0])
    if form == "classes":  # of 64 bits, as losses ask for
        return torch.from_numpy(classes(stream).astype(np.int64))
    if stream.storage == "sparse" and form != "nested":
        size = (stream.num_samples, stream.dim)
        offsets = torch.from_numpy(_small(stream.indptr))
        indices = torch.from_numpy(stream.indices)
        if offsets.dtype != indices.dtype:
            indices = indices.to(offsets.dtype)
        values = torch.from_numpy(stream.values)
        tensor = torch.sparse_csr_tensor(offsets, indices, values, size, check_invariants=False)
        return tensor.to_sparse_coo() if form == "coo" else tensor
    values = torch.from_numpy(dense(stream) if stream.storage == "sparse" else stream.values)
    if form == "nested":
        return torch.nested.nested_tensor_from_jagged(values, torch.from_numpy(stream.offsets))
    return values.to_sparse_coo() if form == "coo" else values


def jax_array(stream: _core.StreamData, form: str) -> Any:
    if form not in ("packed", "padded", "classes"):
        raise ValueError(f"form is {form!r}, expected 'packed', 'padded' or 'classes'")
    jax_numpy = library("jax.numpy", "jax()")
    if form == "padded":
        return jax_numpy.from_dlpack(padded(stream)[0])
    if stream.storage == "dense" and form == "packed":
        return jax_numpy.from_dlpack(stream.values)
    stream.expect_inside()
    if form == "classes":
        return jax_numpy.asarray(classes(stream))
    shape = (stream.num_samples, stream.dim)
    parts = (stream.values, stream.indices, stream.indptr.astype(np.int32))
    return library("jax.experimental.sparse", "jax()").BCSR(tuple(map(jax_numpy.asarray, parts)), shape=shape)
