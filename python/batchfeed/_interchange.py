# SPDX-License-Identifier: MIT
"""Data in memory, and .npz and svmlight files."""
from __future__ import annotations

import contextlib
import os
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Optional, Union

import numpy as np
import numpy.typing as npt

from ._batch import Batch
from ._columns import MOST_INDICES, column, expect_unmasked, keys_of, lengths_of, plain_numbers
from ._convert import library
from ._errors import refused, usage
from ._given import Path, Wholes, expecting, flag, path as as_path, whole, wrong
from ._open import What, opening_of
from ._reader import Reader
from ._source import Source
from ._sources import StreamSpec, _element, declared, dense, sparse
from ._told import log
from ._words import counted


NUMBERS = "numbers, [samples, dim]"
SEQUENCES = f"{NUMBERS}: sequences are put one after the other, and lengths=[...] says how many samples each has"


def _stream(name: str, data: Any) -> StreamSpec:
    """The declaration of data in memory for which the user gives none."""
    if hasattr(data, "tocsr"):
        return sparse(int(data.shape[1]))
    array = np.asarray(data)
    if array.ndim == 1 and array.dtype.kind in "iu":
        if array.min(initial=0) < 0:
            hint = f"classes count from 0; streams={{{name!r}: bf.dense(1)}} takes them as numbers"
            raise usage("python.data", f"stream {name!r}: {array.min()} is no class", hint, stream=name)
        return sparse(int(array.max(initial=0)) + 1)
    if array.ndim == 1 and array.size and (array.dtype.kind in "US" or isinstance(array[0], str)):
        hint = f"numpy.unique({name}, return_inverse=True)[1] makes classes of them, bf.from_pandas() of categories"
        raise usage("python.data", f"stream {name!r}: {str(array[0])!r} is no number", hint, stream=name)
    if array.dtype.kind not in "iufb" or array.ndim > 2:
        raise usage("python.data", f"stream {name!r}: an array of {array.dtype} of shape {array.shape}", SEQUENCES if array.ndim > 2 else NUMBERS)
    return dense(1 if array.ndim == 1 else int(array.shape[1]))


def _array(name: str, data: Any) -> Any:
    if not isinstance(name, str):
        raise wrong("the name of a stream", name, "a text")
    if hasattr(data, "tocsr"):
        if data.ndim != 2:
            raise usage("python.data", f"stream {name!r}: a sparse array of shape {data.shape}", "a matrix [samples, dim]", stream=name)
        return data.tocsr()
    expect_unmasked(name, data)
    try:
        return plain_numbers(np.asarray(data))
    except OverflowError:
        raise usage("python.data", f"stream {name!r}: a number too large for float64", stream=name) from None
    except ValueError:
        raise usage("python.data", f"stream {name!r}: rows of different lengths", SEQUENCES) from None
    except (TypeError, RuntimeError):  # tensors that require gradients, or of types that NumPy lacks
        hint = "a tensor's detach().float()" if hasattr(data, "detach") else NUMBERS
        raise usage("python.data", f"stream {name!r}: NumPy makes no array of it", hint, stream=name) from None


@contextlib.contextmanager
def appearing(target: str, force: bool) -> Iterator[str]:
    """Gives the name of a temporary file, which becomes `target` when the block ends well, and else is removed. `force`:
    a target that exists is replaced; without it, ConfigError."""
    force = flag("force", force)
    if os.path.exists(target) and not os.path.isfile(target) and not os.path.isdir(target):  # a device or a pipe is written to directly
        yield target
        return
    if not force and os.path.lexists(target):
        raise usage("python.exists", "the file exists", "force=True replaces it", path=target)
    part = f"{target}.{os.getpid()}.part"
    try:
        yield part
        os.replace(part, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(part)
        if isinstance(error, OSError) and part in str(error):  # the error is of the temporary file, not of the data
            raise refused("create", target, error) from error
        raise


class Arrays(Source):
    """A corpus in memory: {name: data of all samples}.

    An array [samples, dim] is a dense stream, a scipy.sparse matrix a sparse one, and so are whole numbers
    [samples]: the class of each sample. `streams` says otherwise. `lengths`: samples of each sequence, one if
    not given; {name: lengths} where the streams differ. `keys`: whole numbers by which sources are joined. `dtype`: of
    the values, float32 or float64. `chunk_samples`: samples of a chunk, which is shuffled as one. Raises ConfigError
    for data that do not fit each other. The data are not copied where NumPy can avoid it.
    """

    def __init__(
        self,
        data: Mapping[str, Any],
        *,
        streams: Optional[Mapping[str, StreamSpec]] = None,
        lengths: Union[Wholes, Mapping[str, Wholes], None] = None,
        keys: Optional[Wholes] = None,
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
        chunk_samples = min(whole("chunk_samples", chunk_samples, 1), 1 << 62)  # NumPy's numbers end there
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
                what = f"{counted(samples[name], 'sample')}, but the lengths sum up to {own.sum()}"
                raise usage("python.data", f"stream {name!r}: {what}" if isinstance(given, Mapping) else what)
        return out

    def __repr__(self) -> str:
        streams = ", ".join(f"{name!r}: {s.storage} {s.dim}" for name, s in self._streams.items())
        return f"<Arrays: {counted(len(self._lengths), 'sequence')}, {counted(self._lengths.sum(), 'sample')}; {streams}>"

    def streams(self) -> Mapping[str, StreamSpec]:
        """{name: StreamSpec}, as declared, or as the data suggest."""
        return self._streams

    def chunks(self) -> list[Any]:
        """For each chunk, the samples of each of its sequences: `chunk_samples` in all, or a little more."""
        return [self._lengths[a:b] for a, b in zip(self._cuts, self._cuts[1:])]

    def keys(self) -> Optional[list[Any]]:
        """For each chunk, the keys of its sequences; None if none were given."""
        return None if self._keys is None else [self._keys[a:b] for a, b in zip(self._cuts, self._cuts[1:])]

    def read(self, chunk: int) -> dict[str, Any]:
        """{name: data} of a chunk: views of the data where the lengths of streams do not differ."""
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


def batches_of(what: What, options: Mapping[str, Any]) -> Iterator[Batch]:
    """The minibatches of one sweep, in the order of the data unless `options`, keywords of open(), say otherwise."""
    given = dict(options)
    if "shuffle" not in given:
        given.setdefault("order", "file")
    if "minibatch_samples" not in given:
        given.setdefault("minibatch_size", 65536)
    section, changes, dtype = given.pop("section", ""), given.pop("set", ()), given.pop("dtype", None)
    limits, storage = given.pop("limits", None), given.pop("storage_options", None)
    report, progress = given.pop("report", log), given.pop("progress", None)
    states, moved = given.pop("state_list", None), given.pop("path_map", None)
    opening = opening_of(what, section, changes, dtype, limits, storage, given, states, moved)
    with Reader._of(opening, report, progress) as reader:
        yield from reader


def _short(target: float) -> str:
    """A number that reads back as the same: 3 rather than 3.0."""
    return str(int(target)) if float(target).is_integer() and abs(target) < 1 << 53 else repr(target)


SPARSE = (".data", ".indices", ".indptr", ".shape")  # ends of the names of a sparse stream's members


def from_npz(path: Path) -> Arrays:
    """A corpus of a .npz file that to_npz() or numpy.savez() wrote; its dtype is float64 if any array has that, else float32."""
    parts: dict[str, Any] = {}
    name_of_file = as_path("path", path)
    try:
        with np.load(name_of_file) as file:
            content = {name: file[name] for name in file.files}
    except OSError as error:
        raise refused("open", name_of_file, error) from error
    except (ValueError, EOFError, AttributeError, TypeError, zipfile.BadZipFile) as error:  # a .npy file is an array
        raise usage("python.npz", "is no .npz file of numbers", "to_npz() and numpy.savez() write them", path=name_of_file) from error
    lengths: Any = content.pop("batchfeed.lengths", None)
    each = {name: content.pop(name) for name in list(content) if name.startswith("batchfeed.lengths.")}
    if each:
        lengths = {name.partition("lengths.")[2]: own for name, own in each.items()}
    stems = [name[: -len(".indptr")] for name in content if name.endswith(".indptr")]
    members = {stem + part: stem for stem in stems if all(stem + one in content for one in SPARSE) for part in SPARSE}
    for name, array in content.items():  # the streams in the order of the file
        stem = members.get(name)
        if stem is None:
            parts[name] = array
        elif stem not in parts:
            *matrix, shape = (content[stem + part] for part in SPARSE)
            parts[stem] = library("scipy.sparse", "a sparse stream of a .npz file").csr_array(tuple(matrix), shape=tuple(shape))
    wide = any(part.dtype == np.float64 for part in parts.values())
    return Arrays(parts, lengths=lengths, dtype="float64" if wide else "float32")


def to_npz(what: What, path: Path, *, force: bool = False, **options: Any) -> None:
    """Writes a corpus, without its keys, to a .npz file; all of it is held in memory. `options`: keywords of open().

    The file appears when it is complete. Raises ConfigError if there is one already (unless `force`).
    """
    target, stack = as_path("path", path), library("scipy.sparse", "to_npz()").vstack
    target = target if target.endswith(".npz") else target + ".npz"
    with appearing(target, force) as part:
        content = _npz_of(list(batches_of(what, options)), stack, target)
        # As numpy.savez() does it, which cannot take a stream that has the name of one of its parameters.
        with zipfile.ZipFile(part, "w", allowZip64=True) as file:
            for name, array in content.items():
                with file.open(name + ".npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)


def _npz_of(batches: list[Batch], stack: Any, target: str) -> dict[str, Any]:
    if not batches:
        raise usage("python.data", "there is no sequence to write", path=target)
    each = {name: np.concatenate([b[name].lengths for b in batches]) for name in batches[0]}
    first = next(iter(each.values()))
    alike = all(np.array_equal(own, first) for own in each.values())
    content: dict[str, Any] = {"batchfeed.lengths": first} if alike else {f"batchfeed.lengths.{n}": own for n, own in each.items()}
    for name, stream in batches[0].items():
        members: dict[str, Any]
        if stream.is_sparse:
            m = stack([b[name].csr() for b in batches], format="csr")
            members = dict(zip([name + part for part in SPARSE], (m.data, m.indices, m.indptr, np.array(m.shape))))
        else:
            members = {name: np.concatenate([b[name].numpy() for b in batches])}
        for member in members.keys() & content.keys():
            raise usage("python.data", f"stream {name!r}: {member!r} stands for something else in the file", "rename the stream", stream=name)
        content.update(members)
    return content


def from_svmlight(path: Path, *, dim: Optional[int] = None, zero_based: bool = False, **options: Any) -> Arrays:
    """A corpus of an svmlight file, a sample a line: streams "label" (dense, dim 1) and "features" (sparse).

    `dim`: of the features; if not given, one more than the largest index. `zero_based`: whether indices count from 0
    in the file, instead of 1. `options` are those of Arrays.
    """
    zero_based = flag("zero_based", zero_based)
    labels, indices, values, indptr = [], [], [], [0]
    source, dims = as_path("path", path), None if dim is None else whole("dim", dim, 1)
    try:
        opened = open(source, encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise refused("open", source, error) from error
    with opened as file:
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
                hint = "it is compressed: gzip -d unpacks it" if line.startswith("\x1f\udc8b") else None
                raise usage("python.svmlight", what, hint, path=source, line=number) from None
            if own and min(own) < 0:
                hint = None if zero_based else "zero_based=True, if indices count from 0"
                raise usage("python.svmlight", f"line {number}: an index below {int(not zero_based)}", hint, path=source, line=number)
            if own and max(own) >= MOST_INDICES:
                raise usage("python.svmlight", f"line {number}: index {max(own)} is not below {MOST_INDICES}", path=source, line=number)
            if dims is not None and own and max(own) >= dims:
                raise usage("python.svmlight", f"line {number}: an index beyond dim {dims}", path=source, line=number)
            indices += own
            indptr.append(len(indices))
    width = dims or max(indices, default=0) + 1
    features = library("scipy.sparse", "from_svmlight()").csr_array((values, indices, indptr), shape=(len(labels), width))
    return Arrays({"features": features, "label": np.array(labels)}, **options)


def to_svmlight(
    what: What, path: Path, *, features: str, label: str, zero_based: bool = False, force: bool = False, **options: Any
) -> None:
    """Writes an svmlight file, a sample a line: the value (or the class) of the stream `label`, and the entries of
    the stream `features`, added up where an index occurs more than once.

    `zero_based`: whether indices count from 0 in the file, instead of 1. `options`: keywords of open(). The file
    appears when it is complete. Raises ConfigError if there is one already (unless `force`).
    """
    first = 0 if flag("zero_based", zero_based) else 1
    with appearing(as_path("path", path), force) as part, open(part, "w") as file:
        for batch in batches_of(what, options):
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
                file.write(" ".join([_short(target), *(f"{j + first}:{v!r}" for j, v in pairs)]) + "\n")
