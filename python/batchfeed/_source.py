# SPDX-License-Identifier: MIT
"""Sources of the user's own, and the writer of corpora."""
from __future__ import annotations

import atexit
import os
import sys
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Optional, Union

import numpy as np
import numpy.typing as npt

from . import _core
from ._batch import Batch
from ._columns import column_of, columns, infos, is_csr, keys_of, lengths_of
from ._errors import usage
from ._files import StorageOptions, need_storage
from ._given import Path, Wholes, expecting, flag, key as as_key, path as as_path, shown, whole, wrong
from ._sources import StreamSpec, _element, declared
from ._told import notice
from ._upload import named, upload_for
from ._words import counted


class Source:
    """A corpus of your own: declare its streams and chunks, and read() one chunk when asked.

        class Squares(bf.Source):
            def streams(self):
                return {"x": bf.dense(2), "label": bf.sparse(10)}

            def chunks(self):                    # for each chunk, the samples of each of its sequences
                return [[3, 1, 4], [1, 5]]

            def read(self, chunk):               # the data, sequence after sequence
                n = sum(self.chunks()[chunk])
                return {"x": np.ones((n, 2)), "label": np.arange(n) % 10}

    Order, minibatches, states and workers are as with any source, and it can be joined with others:
    bf.Reader([bf.CTF("train.ctf"), Squares()]) joins by keys(). `read` is called from other threads,
    for several chunks at a time if it releases the GIL; an exception it raises is raised by the loop that
    needs the chunk.
    """

    dtype: Any = "float32"

    def streams(self) -> Mapping[str, StreamSpec]:
        """{name: dense(dim) or sparse(dim)}"""
        raise NotImplementedError(f"{type(self).__name__} does not say its streams()")

    def chunks(self) -> Sequence[Wholes]:
        """For each chunk, the number of samples of each of its sequences. A sequence of 0 samples is left out."""
        raise NotImplementedError(f"{type(self).__name__} does not say its chunks()")

    def keys(self) -> Optional[Sequence[Wholes]]:
        """For each chunk, the key of each of its sequences: a whole number, 0 to 2**64 - 1, by which sources are joined.

        None: the keys are 0, 1, 2 ...
        """
        return None

    def read(self, chunk: int) -> Mapping[str, Any]:
        """{name: data} of all sequences of a chunk.

        Dense: an array [samples, dim]. Sparse: scipy.sparse [samples, dim], (values, indices, indptr), or
        whole numbers [samples] for one-hot samples. Or a list with such data for each sequence, if the
        streams differ in length; the longest one has as many samples as chunks() says.
        """
        raise NotImplementedError(f"{type(self).__name__} does not read()")

    def _options(self, setup: _core.Setup) -> tuple[Any, Optional[str]]:
        streams, dtype = declared(self.streams()), _element(self.dtype)
        if not streams:
            raise usage("python.data", "a corpus needs a stream")
        chunks, given = self.chunks(), self.keys()
        with expecting("chunks()", chunks, "for each chunk the samples of each of its sequences"):
            lengths = [lengths_of(chunk, f"chunks()[{i}]") for i, chunk in enumerate(chunks)]
        with expecting("keys()", given, "for each chunk the keys of its sequences, or None"):
            keys = None if given is None else [keys_of(chunk) for chunk in given]
        if keys is not None and len(keys) != len(lengths):
            raise usage("python.data", f"there are {len(lengths)} chunks, and keys of {len(keys)}", "as many of both")
        tables, first = [], 0
        for i, samples in enumerate(lengths):
            own = np.arange(first, first + samples.size, dtype=np.uint64) if keys is None else keys[i]
            if own.shape != samples.shape:
                raise usage("python.data", f"chunk {i} has {samples.size} sequences and {own.size} keys", "as many of both")
            first += samples.size
            tables.append(np.ascontiguousarray(np.stack([own, samples.astype(np.uint64)], axis=1)))

        def read(chunk: int) -> Any:
            return columns(streams, self.read(chunk), dtype, lengths[chunk], f"read({chunk})")

        return _core.PythonSource(infos(streams, dtype), tables, read), None


class Writer:
    """Writes a corpus in the text format (.ctf, .txt) or the binary one (.cbf, .bin), by the end of `path`, or by `to`
    ("ctf" or "cbf"). With .zst behind that it is compressed.

        with bf.Writer("train.cbf", {"x": bf.dense(784), "label": bf.sparse(10)}) as writer:
            for image, digit in data:
                writer.append({"x": image, "label": digit})

    The file appears, complete, when the block ends well, and not at all when it ends in an exception. Memory is
    bounded by one chunk of `chunk_bytes`. `dtype`: of the values, float32 or float64. `keys`: whether keys are
    written: in the text format (default: True) as the sequence ids; in the binary one in a file beside it (default:
    False, and then append() and extend() refuse keys, unless keys=False says that they should be left out).
    `legacy`: the older layout of the binary format. Several threads may share a writer: the sequences of one call of
    append() or extend() stay together. `path` may be a URL that fsspec writes (s3://, gs://, memory:// ...): the file
    is made in the folder for temporary files and sent when the block ends; `storage_options` are fsspec's for it, or
    a bf.Remote.

    Raises ConfigError if the file exists (unless `force`), if neither its name nor `to` says the format, and for data
    that do not fit their streams; FileError (an OSError) if the file cannot be written.
    """

    def __init__(
        self,
        path: Path,
        streams: Mapping[str, StreamSpec],
        *,
        to: Optional[str] = None,
        dtype: Any = "float32",
        keys: Optional[bool] = None,
        chunk_bytes: int = 32 << 20,
        legacy: bool = False,
        force: bool = False,
        storage_options: StorageOptions = None,
    ) -> None:
        self._path = as_path("path", path)
        self._streams, self._dtype = declared(streams), _element(dtype)
        form = _core.target_format(self._path, to or "") if to in (None, "ctf", "cbf") else to
        if form not in ("ctf", "cbf"):
            told = f"its name says {form!r}" if to is None else f"to is {to!r}"
            raise usage("python.target", f"{told}, expected 'ctf' or 'cbf'", path=self._path)
        written = form == "ctf" if keys is None else flag("keys", keys)
        self._unasked = keys is None and not written  # keys are left out, but nobody asked for that
        legacy, force = flag("legacy", legacy), flag("force", force)
        need_storage(storage_options)
        bytes_of_chunk = whole("chunk_bytes", chunk_bytes)
        if not streams:
            raise usage("python.data", "a corpus needs a stream")
        self._written = (0, 0)  # sequences and samples, once it is closed
        self._upload = upload_for(self._path, storage_options, form, force)
        if self._upload is None and os.path.exists(self._path) and not force:
            raise usage("python.exists", "the file exists", "force=True replaces it", path=self._path)
        self._core: Optional[_core.WriterCore] = _core.WriterCore(
            self._upload.local if self._upload else self._path,
            form,
            infos(self._streams, self._dtype),
            written,
            bytes_of_chunk,
            legacy,
            force,
        )
        self._pid = os.getpid()
        _open_ones.add(self)

    def _open(self) -> _core.WriterCore:
        if self._core is None:
            raise usage("python.closed", "the writer is closed", path=self._path)
        if self._pid != os.getpid():
            raise usage("python.forked", "the writer belongs to the process that made it", "open another one, of another file", path=self._path)
        return self._core

    def append(self, sequence: Mapping[str, Any], key: Union[str, int, None] = None) -> None:
        """Writes one sequence: {name: data}, and its `key`.

        Dense: an array [samples, dim], or [dim] for one sample. Sparse: scipy.sparse [samples, dim],
        (values, indices, indptr), or whole numbers: the class of each one-hot sample.
        """
        keys = [] if key is None else self._keys([as_key("key", key)])
        with named(self._upload):
            self._open().append(columns(self._streams, sequence, self._dtype), keys)

    def extend(self, data: Mapping[str, Any], lengths: Optional[Wholes] = None, keys: Union[Sequence[Any], npt.NDArray[Any]] = ()) -> None:
        """Writes many sequences: arrays of all their samples, and `lengths`, the samples of each; without it each has one.

        Instead of an array a list may hold the data of each sequence, as append() takes them. If the format cannot
        hold one of the sequences, such as a NaN in text, and others of the call are written by then, the file cannot
        be completed: close() refuses it.
        """
        if not isinstance(data, Mapping) or not data:
            raise wrong("data", data, "a mapping {name of the stream: data of all samples}")
        if lengths is None:
            name, first = next(iter(data.items()))
            if is_csr(first) and name in self._streams and self._streams[name].storage == "sparse":
                samples = max(np.size(first[2]), 1) - 1
            elif not getattr(first, "shape", hasattr(first, "__len__")):  # () or False
                raise usage("python.data", f"stream {name!r}: {shown(first)} is no array", "numbers, [samples, dim]", stream=name)
            else:
                samples = first.shape[0] if hasattr(first, "shape") else len(first)
            own = np.ones(samples, dtype=np.uint32)
        else:
            own = lengths_of(lengths)
        with expecting("keys", keys, "a list with the key of each sequence"):
            if isinstance(keys, (str, bytes, Mapping)):
                raise TypeError
            keys = [as_key("one of keys", one) for one in keys]
        if len(keys) not in (0, own.size):
            raise usage("python.data", f"{len(keys)} keys for {own.size} sequences", "as many of both")
        self._extend(data, own, self._keys(keys), exact=lengths is not None)

    def _keys(self, given: list[str]) -> list[str]:
        """The keys as they are; ConfigError if there are any, and only the default leaves them out."""
        if given and self._unasked:
            hint = "keys=True writes them to a file beside it, keys=False leaves them out"
            raise usage("python.keys", "keys are given, and a binary file is written without", hint, path=self._path)
        return given

    def _extend(self, data: Mapping[str, Any], lengths: Any, keys: list[str], exact: bool) -> None:
        with named(self._upload):
            self._open().append(columns(self._streams, data, self._dtype, lengths, exact=exact), keys)

    def write(self, batches: Iterable[Batch]) -> None:
        """Writes the sequences of minibatches, such as a reader gives, with their keys.

        A binary file is written without keys unless keys=True. If these are more than the sequences' numbers 0, 1,
        2 ..., the logger "batchfeed" warns once that they are left out.
        """
        if isinstance(batches, (Batch, Mapping)):
            one = isinstance(batches, Batch)
            hint = "write([batch]) takes one" if one else "append() takes the data of one sequence, extend() those of many"
            raise usage("python.option", f"batches is {'one minibatch' if one else 'a mapping'}, expected an iterable of minibatches", hint)
        for batch in batches:
            if not isinstance(batch, Batch):
                raise wrong("a minibatch", batch, "a bf.Batch, such as a reader gives")
            if not batch:  # read() gives such a minibatch where a worker has no data
                continue
            lacking = [name for name in self._streams if name not in batch]
            if lacking:
                raise usage("python.data", f"the minibatch has no stream {lacking[0]!r}, only {', '.join(map(repr, batch))}")
            as_they_are = {name: column_of(batch[name], stream, self._dtype) for name, stream in self._streams.items()}
            data = {name: column or batch[name].sequences() for name, column in as_they_are.items()}
            keys = batch.sequence_keys
            first = self.num_sequences
            if self._unasked and keys != [str(first + row) for row in range(len(keys))]:  # not just their numbers
                self._unasked = False  # warns once
                notice("python.keys", "the keys of the minibatches are left out", "keys=True writes them to a file beside it", self._path)
            self._extend(data, next(iter(batch.values())).lengths, keys, exact=False)

    @property
    def num_sequences(self) -> int:
        """Sequences written so far."""
        return self._counts()[0]

    @property
    def num_samples(self) -> int:
        """Samples written so far: those of the longest stream of each sequence."""
        return self._counts()[1]

    def _counts(self) -> tuple[int, int]:
        return self._written if self._core is None else (self._open().sequences, self._open().samples)

    def close(self) -> None:
        """Completes the file, which appears under its name or URL. If that fails, nothing appears, and the error is raised."""
        self._written = self._counts()
        core, self._core = self._core, None
        if core is None:
            return
        try:
            with named(self._upload):
                core.commit()
        except BaseException:
            self.discard()
            raise
        if self._upload:
            self._upload.send()

    def discard(self) -> None:
        """Drops what was written: nothing appears."""
        self._core, self._written = None, (0, 0)
        if self._upload:
            self._upload.discard()

    def _leave(self) -> None:
        """Discards a writer that nobody has closed, and warns if sequences are lost by that."""
        if self._core is not None and self._pid == os.getpid():
            written = self.num_sequences
            self.discard()
            if written:
                what = f"a writer was left without close(): {counted(written, 'sequence')} not written"
                notice("python.unclosed", what, "a with block closes it", self._path)

    def __del__(self) -> None:
        if hasattr(self, "_pid") and not sys.is_finalizing():
            self._leave()

    def __reduce__(self) -> Any:
        raise TypeError("a Writer cannot be pickled or copied: it is the only one that knows its file")

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], *error: object) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()

    def __repr__(self) -> str:
        return f"<Writer of {self._path!r}: {', '.join(map(repr, self._streams))}>"


_open_ones: weakref.WeakSet[Writer] = weakref.WeakSet()


@atexit.register
def _leave_all() -> None:
    for writer in list(_open_ones):
        writer._leave()
