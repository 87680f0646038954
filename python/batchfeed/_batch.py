# SPDX-License-Identifier: MIT
"""Minibatches: a mapping of streams, and the forms that a stream's data can take."""
from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, TypeVar, Union, overload

import numpy as np
import numpy.typing as npt

from . import _convert, _core
from ._words import counted

if TYPE_CHECKING:
    import scipy.sparse
    import torch

Array = npt.NDArray[Any]
Other = TypeVar("Other")


class Packed(NamedTuple):
    """All samples one after the other; sequence i owns samples offsets[i] to offsets[i + 1]."""

    values: Any  # dense: [samples, dim]; sparse: a scipy.sparse.csr_array of that shape
    offsets: npt.NDArray[np.int64]


class Padded(NamedTuple):
    """A rectangle, filled up with zeros."""

    values: Array  # [sequence, step, dim]
    mask: npt.NDArray[np.bool_]  # [sequence, step], True where there is a sample


class Layout(NamedTuple):
    """Where the sequences stand in CNTK's rectangle of `rows` parallel sequences by `steps`.

    An entry is (sequence, row, begin, end): its samples stand at these steps of that row. A gap's
    sequence is None; a begin below 0 or an end beyond `steps` belongs to a sequence that was cut.
    """

    rows: int
    steps: int
    entries: list[tuple[Optional[int], int, int, int]]


class Stream(_core.StreamData):
    """One stream of a minibatch.

    Arrays are views of the minibatch's own memory wherever their form allows, and keep it alive:
    they stay as they are for as long as they are held, whatever the reader does. They may be written to; a form is
    refused (ConfigError) where what was written to `offsets`, `indices` or `indptr` points out of the data.
    """

    __slots__ = ()

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the values: float32 or float64."""
        return np.dtype(self.element)

    @property
    def shape(self) -> tuple[int, int]:
        """(samples, dim)"""
        return (self.num_samples, self.dim)

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Samples of each sequence."""
        return np.diff(self.offsets)

    @property
    def layout(self) -> Layout:
        """Where sequences stand in cntk()."""
        return Layout(self.rows, self.steps, self.entries)

    def __len__(self) -> int:
        return self.num_samples

    def numpy(self) -> Array:
        """[samples, dim]. A view of a dense stream; a sparse one is made dense, which is a copy: where a sample repeats an
        index, its last value counts, whereas SciPy and PyTorch add up those of csr() and torch()."""
        return _convert.dense(self) if self.is_sparse else self.values

    def packed(self) -> Packed:
        """(values, offsets): all samples, and where each sequence begins."""
        return Packed(self.csr() if self.is_sparse else self.values, self.offsets)

    def padded(self, *, sequences: Optional[int] = None, steps: Optional[int] = None) -> Padded:
        """(values [sequence, step, dim], mask [sequence, step]); zeros where a sequence is shorter. Sparse samples as in numpy().

        `sequences` and `steps`: the size of the rectangle, which is filled up to it; as small as it can be if not given.
        """
        return Padded(*_convert.padded(self, sequences, steps))

    def sequences(self) -> list[Any]:
        """A list with the samples of each sequence: views, or CSR matrices of a sparse stream."""
        self.expect_inside()
        values = self.csr() if self.is_sparse else self.values
        offsets = self.offsets.tolist()
        return [values[a:b] for a, b in zip(offsets, offsets[1:])]

    def cntk(self) -> Any:
        """CNTK's own layout: column t * rows + s is step t of row s (`layout`).

        Dense: an array [columns, dim], gaps zero. Sparse: a scipy.sparse.csc_array [dim, columns].
        """
        if not self.is_sparse:
            return self.make_cntk_dense()
        return _convert.csc_columns(self)

    def classes(self) -> npt.NDArray[np.int32]:
        """The class of each one-hot sample: the index of its only value in a sparse stream, of a 1 among zeros in a dense one."""
        return _convert.classes(self)

    def csr(self) -> scipy.sparse.csr_array:
        """scipy.sparse.csr_array [samples, dim]; values and indices are not copied.

        Indices are as they stand in the data, neither sorted nor merged.
        """
        matrix: scipy.sparse.csr_array = _convert.csr(self)
        return matrix

    def csc(self) -> scipy.sparse.csc_array:
        """A copy of csr() as scipy.sparse.csc_array [samples, dim]."""
        matrix: scipy.sparse.csc_array = _convert.csr(self).tocsc()
        return matrix

    def torch(self, form: str = "packed") -> torch.Tensor:
        """A tensor that shares memory with the minibatch where its form allows.

        "packed": dense [samples, dim], sparse as sparse CSR; "padded": [sequence, step, dim];
        "nested": a jagged nested tensor, one row a sequence; "coo": sparse COO; "classes": classes() as int64,
        which losses and embeddings take. PyTorch counts on indices that rise within a sample: where those of the data
        do not, sparse tensors are copies, in which they are sorted and the values of one index added up.
        """
        tensor: torch.Tensor = _convert.torch_tensor(self, form)
        return tensor

    def jax(
        self,
        form: str = "packed",
        *,
        samples: Optional[int] = None,
        entries: Optional[int] = None,
        sequences: Optional[int] = None,
        steps: Optional[int] = None,
    ) -> Any:
        """For JAX. "packed": a dense stream as a jax.Array [samples, dim] without a copy where JAX allows, a sparse one
        as jax.experimental.sparse.BCSR; "padded": a jax.Array [sequence, step, dim]; "classes": classes() as int32.

        Arrays are filled up to the sizes that are given, so that jit() compiles a function once: "packed" to `samples`,
        of a sparse stream also to `entries`, with zeros; "padded" to `sequences` and `steps`, with zeros; "classes" to
        `samples`, or, as a rectangle [sequence, step], to `sequences` and `steps`, with -1. Values are float32 unless
        jax_enable_x64 lets float64 be. An array stays as it is whatever the reader does.
        """
        sizes = {"samples": samples, "entries": entries, "sequences": sequences, "steps": steps}
        return _convert.jax_array(self, form, {name: size for name, size in sizes.items() if size is not None})

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Array:
        if copy is False and self.is_sparse:
            raise ValueError("a sparse stream is made dense by a copy")
        out = self.numpy()
        if dtype is not None and out.dtype != dtype:
            if copy is False:
                raise ValueError(f"{out.dtype} to {np.dtype(dtype)} needs a copy")
            return out.astype(dtype)
        return out.copy() if copy else out

    if TYPE_CHECKING:  # the extension has it, for memoryview(stream)

        def __buffer__(self, flags: int, /) -> memoryview: ...

    def __dlpack__(self, **options: Any) -> Any:
        return self._only_dense().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[Any, Any]:
        return (1, 0)  # the CPU

    def __arrow_c_schema__(self) -> object:
        return _core.arrow_of_stream(self)[0]

    def __arrow_c_array__(self, requested_schema: Optional[object] = None) -> tuple[object, object]:
        """A row for each sequence, a list of samples: fixed_size_list, or of sparse ones lists of (index, value). No copy."""
        return _core.arrow_of_stream(self)

    def _parts(self) -> tuple[Any, ...]:
        """All of it, as _core.batch_of() takes it."""
        sparse = (self.indices, self.indptr) if self.is_sparse else (None, None)
        place = (self.rows, self.steps, self.entries)
        return (self.name, self.storage, self.element, self.dim, *place, self.values.reshape(-1), self.offsets, *sparse)

    def __reduce__(self) -> Any:
        return _stream_of, (self._parts(),)

    def _only_dense(self) -> Array:
        if self.is_sparse:
            raise TypeError(f"stream {self.name!r} is sparse: csr(), or numpy() to make it dense")
        return self.values

    def __repr__(self) -> str:
        kind = f"{self.storage}, {counted(self.num_sequences, 'sequence')}, {counted(self.num_samples, 'sample')} of {self.dim}"
        return f"<Stream {self.name!r}: {kind}, {self.element}>"


if TYPE_CHECKING:

    class _Batch(_core.BatchData, Mapping[str, "Stream"]): ...

else:
    _Batch = _core.BatchData


class Batch(_Batch):
    """A minibatch: a mapping {name: Stream}, and what is known about all of it.

    It owns its memory: it and its arrays stay as they are when the reader goes on, is closed or dropped, and may be
    used from any thread. The memory of a minibatch is reused when nothing refers to it any more. Pickling and copying
    a minibatch, or a Stream, copies all of its data.
    """

    __slots__ = ()

    def __getitem__(self, name: str) -> Stream:
        streams: dict[str, Stream] = self.streams
        try:
            return streams[name]
        except KeyError:
            raise KeyError(f"no stream {name!r}; there are {', '.join(map(repr, streams)) or 'none'}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.streams)

    def __len__(self) -> int:
        return len(self.streams)

    def __contains__(self, name: object) -> bool:
        return name in self.streams

    def keys(self) -> KeysView[str]:
        """The names of its streams."""
        return self.streams.keys()

    def values(self) -> ValuesView[Stream]:
        """Its streams."""
        return self.streams.values()

    def items(self) -> ItemsView[str, Stream]:
        """(name, stream) of each."""
        return self.streams.items()

    @overload
    def get(self, name: str, default: None = None) -> Optional[Stream]: ...

    @overload
    def get(self, name: str, default: Other) -> Union[Stream, Other]: ...

    def get(self, name: str, default: Any = None) -> Any:
        """The stream of that name, or `default`."""
        return self.streams.get(name, default)

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Array:
        """Refused: NumPy would make an array of the names."""
        one = next(iter(self), "x")
        raise TypeError(f"a minibatch is no array, but its streams are: batch[{one!r}].numpy()")

    def torch(self, form: Union[str, Mapping[str, str]] = "packed") -> dict[str, torch.Tensor]:
        """{name: tensor}; one form for all streams (Stream.torch), or {name: form}."""
        return {name: self[name].torch(one) for name, one in self._forms(form).items()}

    def jax(self, form: Union[str, Mapping[str, str]] = "packed") -> dict[str, Any]:
        """{name: array}, which jax.jit() takes; one form for all streams (Stream.jax), or {name: form}."""
        return {name: self[name].jax(one) for name, one in self._forms(form).items()}

    def _forms(self, given: Union[str, Mapping[str, str]]) -> dict[str, str]:
        """The form of each stream. Raises KeyError if a stream is named that is not there."""
        forms = given if isinstance(given, Mapping) else {name: given for name in self}
        for name in forms:
            self[name]  # raises KeyError if there is no such stream
        return {name: forms.get(name, "packed") for name in self}

    def __reduce__(self) -> Any:
        ends = (self.end_of_epoch, self.end_of_sweep)
        about = (self.epoch, self.index, self.position, *ends, self.num_samples, self.num_sequences, self.invalid)
        return _batch_of, (about, self.sequence_keys, [stream._parts() for stream in self.values()])

    def __arrow_c_schema__(self) -> object:
        return self.__arrow_c_array__()[0]

    def __arrow_c_array__(self, requested_schema: Optional[object] = None) -> tuple[object, object]:
        """A struct of all streams, a row for each sequence (Stream.__arrow_c_array__): pyarrow.record_batch(batch). No copy."""
        return _core.arrow_of_batch(list(self.values()), self.num_sequences, self)

    def __repr__(self) -> str:
        ends = (", end of sweep" if self.end_of_sweep else "") + (", end of epoch" if self.end_of_epoch else "")
        streams = ", ".join(f"{s.name!r}: {s.storage} {s.num_samples} x {s.dim}" for s in self.values())
        return (
            f"<Batch {self.index} of epoch {self.epoch}: {counted(self.num_sequences, 'sequence')}, "
            f"{counted(self.num_samples, 'sample')}{ends}; {streams or 'no data'}>"
        )


def _batch_of(about: Any, keys: list[str], streams: list[tuple[Any, ...]]) -> Batch:
    batch: Batch = _core.batch_of(Batch, Stream, about, keys, streams)
    return batch


def _stream_of(parts: tuple[Any, ...]) -> Stream:
    return _batch_of((0, 0, 0, False, False, 0, 0, 0), [], [parts])[parts[0]]


Mapping.register(Batch)
