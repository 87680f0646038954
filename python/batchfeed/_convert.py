# SPDX-License-Identifier: MIT
"""Streams in the forms of other libraries, which are imported only when a form is asked for."""
from __future__ import annotations

import importlib
import math
from collections.abc import Mapping
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from . import _core
from ._errors import usage
from ._given import whole, wrong


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
    """Offsets as int32 if they fit: libraries want offsets and indices of one type."""
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


def padded(
    stream: _core.StreamData, sequences: Optional[int] = None, steps: Optional[int] = None
) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    stream.expect_inside()
    shape: tuple[int, ...] = (*_rectangle(stream, sequences, steps), stream.dim)
    try:
        if sequences is None and steps is None:
            return stream.make_padded()
        mask = _mask(stream, shape[:2])
        values: npt.NDArray[Any] = np.zeros(shape, dtype=stream.element)
        values[mask] = dense(stream) if stream.storage == "sparse" else stream.values
        return values, mask
    except MemoryError:
        size = math.prod(shape) * np.dtype(stream.element).itemsize
        what = f"stream {stream.name!r}: a rectangle of {shape[0]} x {shape[1]} x {shape[2]} takes {size} bytes"
        raise MemoryError(f"{what}; packed() takes what the samples do") from None


def _room(stream: _core.StreamData, name: str, given: Optional[int], needed: int, most: str) -> int:
    """The size to fill up to: `given`, or `needed` without one. Raises ConfigError if `given` is too small."""
    size = needed if given is None else whole(name, given)
    if size < needed:
        raise usage("python.option", f"{name} is {size}, and stream {stream.name!r} has {most.format(needed)}", stream=stream.name)
    return size


def _rectangle(stream: _core.StreamData, sequences: Optional[int], steps: Optional[int]) -> tuple[int, int]:
    longest = int(np.diff(stream.offsets).max(initial=0))
    return (
        _room(stream, "sequences", sequences, stream.num_sequences, "{} sequences"),
        _room(stream, "steps", steps, longest, "a sequence of {} samples"),
    )


def _mask(stream: _core.StreamData, shape: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    """[sequence, step]: True where there is a sample."""
    mask = np.zeros(shape, dtype=np.bool_)
    mask[: stream.num_sequences] = np.arange(shape[1]) < np.diff(stream.offsets)[:, None]
    return mask


def _places(stream: _core.StreamData) -> npt.NDArray[np.int32]:
    """The index of the 1 in each sample of a dense one-hot stream. Raises TypeError for other samples."""
    what = f"stream {stream.name!r} is dense, classes() needs a 1 among zeros in each sample"
    if stream.dim == 1:  # a number, which may well be the class itself
        raise TypeError(f"{what}, and dim is 1: .numpy()[:, 0].astype('int64') makes classes of the values")
    odd = (np.count_nonzero(stream.values, axis=1) != 1) | np.all(stream.values != 1, axis=1)
    if odd.any():
        raise TypeError(f"{what}, and sample {odd.argmax()} is another: .numpy().argmax(1) is where the largest value stands")
    places: npt.NDArray[np.int32] = stream.values.argmax(axis=1).astype(np.int32)
    return places


def classes(stream: _core.StreamData) -> npt.NDArray[np.int32]:
    if stream.storage == "dense":
        return _places(stream)
    stream.expect_inside()
    if stream.indices.size != stream.num_samples or np.any(np.diff(stream.indptr) != 1):
        raise ValueError(f"stream {stream.name!r} has samples with no value or several; classes() needs exactly one in each")
    return stream.indices


def need_form(form: Any) -> None:
    if form not in ("packed", "padded", "nested", "coo", "classes"):
        raise wrong("form", form, "'packed', 'padded', 'nested', 'coo' or 'classes'")


def torch_tensor(stream: _core.StreamData, form: str) -> Any:
    need_form(form)
    torch = library("torch", "torch()")
    if stream.storage == "sparse" and form in ("packed", "coo"):
        return _sparse_tensor(torch, stream, form)
    stream.expect_inside()
    if form == "padded":
        return torch.from_numpy(padded(stream)[0])
    if form == "classes":  # of 64 bits, as losses ask for
        return torch.from_numpy(classes(stream).astype(np.int64))
    values = torch.from_numpy(dense(stream) if stream.storage == "sparse" else stream.values)
    if form == "nested":
        return torch.nested.nested_tensor_from_jagged(values, torch.from_numpy(stream.offsets))
    return values.to_sparse_coo() if form == "coo" else values


def _sparse_tensor(torch: Any, stream: _core.StreamData, form: str) -> Any:
    rises = stream.rises()  # PyTorch relies on it, and would compute wrong results
    size = (stream.num_samples, stream.dim)
    offsets = torch.from_numpy(_small(stream.indptr))
    indices = torch.from_numpy(stream.indices)
    if offsets.dtype != indices.dtype:
        indices = indices.to(offsets.dtype)
    values = torch.from_numpy(stream.values)
    if rises:
        tensor = torch.sparse_csr_tensor(offsets, indices, values, size, check_invariants=False)
        return tensor.to_sparse_coo() if form == "coo" else tensor
    rows = torch.repeat_interleave(torch.arange(stream.num_samples), torch.diff(offsets))
    coo = torch.sparse_coo_tensor(torch.stack((rows, indices.long())), values, size, check_invariants=False).coalesce()
    if form == "coo":
        return coo
    csr = coo.to_sparse_csr()
    offsets, indices = (part.to(offsets.dtype) for part in (csr.crow_indices(), csr.col_indices()))  # the same types as for indices that rise
    return torch.sparse_csr_tensor(offsets, indices, csr.values(), size, check_invariants=False)


MOST = (1 << 31) - 1  # the largest index, as indices are int32
SIZES = {"packed": ("samples", "entries"), "padded": ("sequences", "steps"), "classes": ("samples", "sequences", "steps")}


def jax_array(stream: _core.StreamData, form: str, sizes: Mapping[str, int] = {}) -> Any:
    """`sizes`: what arrays are filled up to."""
    if form not in SIZES:
        raise wrong("form", form, "'packed', 'padded' or 'classes'")
    taken = [n for n in SIZES[form] if n != "entries" or stream.storage == "sparse"]
    for name in sizes:
        if name not in taken:
            what = f"{name} is given for form {form!r} of the {stream.storage} stream {stream.name!r}"
            raise usage("python.option", what, f"it has {' and '.join(taken)}", stream=stream.name)
    jax_numpy = library("jax.numpy", "jax()")
    if form == "padded":
        return jax_numpy.from_dlpack(padded(stream, **sizes)[0])
    if form == "classes":
        return jax_numpy.asarray(_filled_classes(stream, **sizes))
    samples = _room(stream, "samples", sizes.get("samples"), stream.num_samples, "{} samples")
    if stream.storage == "dense":
        return jax_numpy.from_dlpack(_filled(stream.values, samples, 0))
    stream.expect_inside()
    entries = _room(stream, "entries", sizes.get("entries"), stream.indices.size, "{} entries")
    indptr = stream.indptr.astype(np.int32)
    # Filled up as JAX does: with entries behind the last row, whose index is beyond all columns.
    parts = (_filled(stream.values, entries, 0), _filled(stream.indices, entries, min(stream.dim, MOST)), _filled(indptr, samples + 1, indptr[-1]))
    return library("jax.experimental.sparse", "jax()").BCSR(tuple(map(jax_numpy.asarray, parts)), shape=(samples, stream.dim))


def _filled(array: npt.NDArray[Any], size: int, filler: Any) -> npt.NDArray[Any]:
    if len(array) == size:
        return array
    out = np.full((size, *array.shape[1:]), filler, dtype=array.dtype)
    out[: len(array)] = array
    return out


def _filled_classes(
    stream: _core.StreamData, samples: Optional[int] = None, sequences: Optional[int] = None, steps: Optional[int] = None
) -> npt.NDArray[np.int32]:
    stream.expect_inside()
    flat = classes(stream)
    if sequences is None and steps is None:
        return _filled(flat, _room(stream, "samples", samples, stream.num_samples, "{} samples"), -1)
    if samples is not None:
        raise usage("python.option", "samples is given with sequences or steps", "a rectangle has sequences and steps", stream=stream.name)
    mask = _mask(stream, _rectangle(stream, sequences, steps))
    out = np.full(mask.shape, -1, dtype=np.int32)
    out[mask] = flat
    return out
