# SPDX-License-Identifier: MIT
"""What is read: corpora by format, and the streams in them."""
from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional

from . import _core
from ._errors import FormatError, usage
from ._given import WHOLE, Path, Paths, counts, flag, like, no_set, pairs, path, paths, plain, text, texts, whole, wrong

Context = Optional[tuple[int, int]]


@dataclass(frozen=True)
class StreamSpec:
    """How a stream of a text corpus is declared; see `dense` and `sparse`."""

    storage: str
    dim: int
    alias: Optional[str] = None
    defines_mb_size: bool = False


def dense(dim: int, *, alias: Optional[str] = None, defines_mb_size: bool = False) -> StreamSpec:
    """A stream of `dim` values a sample. `alias`: its name in the file, if that is another one. `defines_mb_size`: sizes of
    minibatches count the samples of this stream. Raises ConfigError for values of other types, or a dim below 1."""
    return _stream("dense", dim, alias, defines_mb_size)


def sparse(dim: int, *, alias: Optional[str] = None, defines_mb_size: bool = False) -> StreamSpec:
    """A stream of index:value pairs, with indices from 0 to below `dim`; otherwise as dense()."""
    return _stream("sparse", dim, alias, defines_mb_size)


def _stream(storage: str, dim: int, alias: Optional[str], defines_mb_size: bool) -> StreamSpec:
    if storage not in ("dense", "sparse"):
        raise wrong("storage", storage, "'dense' or 'sparse'")
    if alias is not None and not (isinstance(alias, str) and alias):
        raise wrong("alias", alias, "the stream's name in the file")
    return StreamSpec(storage, whole("dim", dim, 1), alias, flag("defines_mb_size", defines_mb_size))


def declared(streams: Any) -> dict[str, StreamSpec]:
    """The declared streams as a dictionary. Raises TypeError or ConfigError for a wrong declaration."""
    if not isinstance(streams, Mapping) or not all(isinstance(n, str) and isinstance(s, StreamSpec) for n, s in streams.items()):
        raise TypeError(f'streams are declared as {{"name": bf.dense(3), ...}}; got {streams!r}')
    # A StreamSpec that was made without dense() or sparse() is checked as they do.
    return {text("the name of a stream", n): _stream(s.storage, s.dim, s.alias, s.defines_mb_size) for n, s in streams.items()}


def _element(dtype: Any) -> str:
    import numpy as np

    try:
        name = str(dtype)[len("torch.") :] if str(dtype).startswith("torch.") else str(np.dtype(dtype).name)
    except TypeError:
        name = repr(dtype)
    if name not in ("float32", "float64"):
        raise usage("python.dtype", f"dtype is {name}, expected float32 or float64")
    return name


EXPECTED = {
    "context": "(frames to the left, frames to the right)",
    "skip_sequence_ids": "True, False or None",
    "frame_period": WHOLE,
    "parameter_kind": WHOLE,
}


def fill(options: Any, **fields: Any) -> Any:
    """Sets the fields that are not None. Raises ConfigError for a value of a wrong type."""
    for name, given in fields.items():
        value = plain(given)
        if value is None:
            continue
        try:
            if counts(value, getattr(options, name)):
                raise TypeError
            setattr(options, name, value)
        except TypeError:
            raise wrong(name, value, EXPECTED.get(name) or like(getattr(options, name))) from None
    return options


def _path(name: str, given: Optional[Path]) -> Optional[str]:
    return None if given is None else path(name, given)


def moved_paths(path_map: Optional[Mapping[str, str]]) -> list[tuple[str, str]]:
    """Pairs of the beginning of a path in a list, and the one that replaces it on this machine."""
    return [(old, path("path_map", new)) for old, new in pairs("path_map", path_map, '{"path in the list": "path here"}')]


class _OfFiles:
    """A source of files. What an iterator gives, such as Path.glob(), is kept as a list, as it is asked for more than once;
    so is an array."""

    def __post_init__(self) -> None:
        for name in ("files", "scp_files"):
            given = getattr(self, name, None)
            no_set(name, given)
            kept = (str, bytes, os.PathLike, list, tuple, Mapping)
            if isinstance(given, Iterable) and not isinstance(given, kept) and not hasattr(given, "read"):
                object.__setattr__(self, name, list(given))


@dataclass(frozen=True)
class CTF(_OfFiles):
    """A corpus in CNTK's text format, in one file or several shards.

    files
        a path, a shell pattern, a URL, or a list of them: shards that are read one after the other
    streams
        {"name": bf.dense(dim) or bf.sparse(dim)}, delivered in this order; None: inferred from all of the data, and
        with them whether there are sequence ids, and of which kind
    dtype
        of the values: float32 or float64
    skip_sequence_ids
        True: each line is a sequence, whatever its id; None: as inferred, else False
    max_errors
        so many damaged samples of each file are left out; one more is an error
    trace_level
        what `report` is told: 0 failures, 1 warnings, 2 notes
    chunk_bytes
        size of a chunk: what is read at once and shuffled as one
    cache_index
        keep the index, and inferred streams, in files, so that the next reader opens at once
    cache_dir
        in this folder; None: beside the data, or in the user's cache where that cannot be written
    """

    files: Paths
    streams: Optional[Mapping[str, StreamSpec]] = None
    dtype: Any = "float32"
    skip_sequence_ids: Optional[bool] = None
    max_errors: int = 0
    trace_level: int = 1
    chunk_bytes: int = 32 << 20
    cache_index: bool = False
    cache_dir: Optional[Path] = None

    def _options(self, setup: _core.Setup) -> tuple[Any, Optional[str]]:
        """The library's options, and the key mode that the file asks for, if it was looked at.

        Files are looked at with the file system and the limits of `setup`.
        """
        files = _core.expand_files(paths(self.files), setup.file_system, setup.limits)
        options = _core.CtfOptions()
        specs, skip, keys = self._specs(files, setup, options)
        return fill(
            options,
            files=paths(self.files),  # as patterns: expanding them again, the library warns of folders without permission
            streams=specs,
            element=_element(self.dtype),
            skip_sequence_ids=skip,
            max_errors=self.max_errors,
            trace_level=self.trace_level,
            chunk_bytes=self.chunk_bytes,
            cache_index=self.cache_index,
            cache_dir=_path("cache_dir", self.cache_dir),
        ), keys

    def _specs(
        self, files: list[str], setup: _core.Setup, options: _core.CtfOptions
    ) -> tuple[list[Any], bool, Optional[str]]:
        if self.streams is not None:
            specs = [
                fill(
                    _core.StreamSpec(),
                    name=name,
                    alias=stream.alias,
                    storage=stream.storage,
                    dim=stream.dim,
                    defines_mb_size=stream.defines_mb_size,
                )
                for name, stream in declared(self.streams).items()
            ]
            return specs, bool(self.skip_sequence_ids), None
        if not files:
            raise usage("python.no-file", "no file given")
        folder = _path("cache_dir", self.cache_dir) or ""
        inferred = _core.infer_ctf(files, None, setup.file_system, setup.limits, flag("cache_index", self.cache_index), folder)
        if not inferred.streams:
            raise usage("python.no-stream", "no stream (|name ...) found in it", "is it in the text format?", path=files[0])
        options.seen = inferred.seen
        skip = not inferred.has_ids if self.skip_sequence_ids is None else self.skip_sequence_ids
        return [s.spec for s in inferred.streams], skip, "text" if inferred.text_ids and not skip else None


@dataclass(frozen=True)
class CBF(_OfFiles):
    """A corpus in CNTK's binary format.

    files
        a path, a shell pattern, a URL, or a list of them: shards that are read one after the other
    streams
        other names for some of them: {"name": "name in the file"}; all are delivered
    dtype
        float32 or float64, whatever the file holds; None: as in the file
    trace_level
        what `report` is told: 0 failures, 1 warnings, 2 notes
    """

    files: Paths
    streams: Optional[Mapping[str, str]] = None
    dtype: Any = None
    trace_level: int = 1

    def _options(self, setup: _core.Setup) -> tuple[Any, Optional[str]]:
        options = fill(
            _core.CbfOptions(),
            files=paths(self.files),
            renames=[_core.Rename(*names) for names in pairs("streams", self.streams, '{"name": "name in the file"}')],
            element="float32" if self.dtype is None else _element(self.dtype),
            convert_element=self.dtype is not None,
            trace_level=self.trace_level,
        )
        if self.dtype is None:
            probe = _core.Setup()
            probe.file_system, probe.limits = setup.file_system, setup.limits
            probe.add(options)
            try:
                _core.probe_source(probe)
            except FormatError as error:
                if error.id != "cbf.precision-mismatch":
                    raise
                options.element = "float64"
        return options, None


@dataclass(frozen=True)
class HTKFeatures(_OfFiles):
    """HTK feature files: listed by one scp file or several, or named themselves.

    name
        of the stream
    scp_files
        lists of utterances: a path or several
    dim
        values of a frame, or of it with its context; 0: as in the files
    files
        instead of lists: parameter files, each an utterance whose key is its path without the extension
    context
        (frames to the left, frames to the right) that are put beside each frame; None: none, or as `dim` says
    prefix
        put before the paths of the lists
    expand_to_utterance
        each entry has one frame, which stands for every frame of the utterance it is joined with
    max_sequence_frames
        longer utterances are left out; None: none is
    chunk_frames
        size of a chunk, in frames: what is read at once and shuffled as one
    defines_mb_size
        minibatches are counted in frames of this stream
    dtype
        of the values: float32 or float64
    trace_level
        what `report` is told: 0 failures, 1 warnings, 2 notes
    legacy
        lists are taken as CNTK's HTKMLFReader does
    max_utterance_frames
        with legacy: longer utterances are left out; None: 65535
    path_map
        {"beginning of a path in the list": "beginning of it here"}
    """

    name: str
    scp_files: Paths = ()
    dim: int = 0
    files: Paths = ()
    context: Context = None
    prefix: str = ""
    expand_to_utterance: bool = False
    max_sequence_frames: Optional[int] = None
    chunk_frames: int = 90_000
    defines_mb_size: bool = False
    dtype: Any = "float32"
    trace_level: int = 1
    legacy: bool = False
    max_utterance_frames: Optional[int] = None
    path_map: Optional[Mapping[str, str]] = None

    def _options(self, setup: _core.Setup) -> tuple[Any, Optional[str]]:
        if not self.scp_files and not self.files:
            raise usage("python.no-file", f"stream {self.name!r}: no file given", "bf.HTKFeatures('features', 'train.scp')", stream=self.name)
        return fill(
            _core.HtkOptions(),
            name=self.name,
            scp_files=paths(self.scp_files, "scp_files"),
            files=paths(self.files),
            dim=self.dim,
            context=self.context,
            prefix=_path("prefix", self.prefix),
            expand_to_utterance=self.expand_to_utterance,
            max_sequence_frames=self.max_sequence_frames,
            chunk_frames=self.chunk_frames,
            defines_mb_size=self.defines_mb_size,
            element=_element(self.dtype),
            trace_level=self.trace_level,
            legacy=self.legacy,
            max_utterance_frames=self.max_utterance_frames,
            path_map=moved_paths(self.path_map),
        ), "text"


@dataclass(frozen=True)
class MLF(_OfFiles):
    """Labels of speech from MLF files; joined with features by the utterances' names.

    name
        of the stream
    files
        text or binary label files: a path or several
    dim
        number of classes
    mapping_file
        the list of states, a class a line; None: the fourth column is the class
    labels
        instead of such a list: the names of the classes, in order
    binary
        whether `files` are binary ones
    phone_boundaries
        the first frame of every segment has the value 2
    chunk_bytes
        size of a chunk: what is read at once and shuffled as one
    cache_index
        keep the index in a file, so that the next reader opens at once
    cache_dir
        in this folder; None: beside the data, or in the user's cache where that cannot be written
    dtype
        of the values: float32 or float64
    trace_level
        what `report` is told: 0 failures, 1 warnings, 2 notes
    legacy
        labels are taken as CNTK's HTKMLFReader does, and delivered dense
    target_mapping_file
        with legacy: a file with the bits of each class, which are delivered instead of the class
    target_dim
        number of these bits
    """

    name: str
    files: Paths
    dim: int
    mapping_file: Optional[Path] = None
    labels: Sequence[str] = ()
    binary: bool = False
    phone_boundaries: bool = False
    chunk_bytes: int = 64 << 20
    cache_index: bool = False
    cache_dir: Optional[Path] = None
    dtype: Any = "float32"
    trace_level: int = 1
    legacy: bool = False
    target_mapping_file: Optional[Path] = None
    target_dim: int = 0

    def _options(self, setup: _core.Setup) -> tuple[Any, Optional[str]]:
        return fill(
            _core.MlfOptions(),
            name=self.name,
            files=paths(self.files),
            dim=self.dim,
            mapping_file=_path("mapping_file", self.mapping_file),
            labels=texts("labels", self.labels),
            cache_dir=_path("cache_dir", self.cache_dir),
            binary=self.binary,
            phone_boundaries=self.phone_boundaries,
            chunk_bytes=self.chunk_bytes,
            cache_index=self.cache_index,
            element=_element(self.dtype),
            trace_level=self.trace_level,
            legacy=self.legacy,
            target_mapping_file=_path("target_mapping_file", self.target_mapping_file),
            target_dim=self.target_dim,
        ), "text"


@dataclass(frozen=True)
class Kaldi(_OfFiles):
    """Kaldi matrices, or integer alignments, by scp or ark.

    name
        of the stream
    files
        .scp or .ark files: a path or several
    dim
        values of a frame, or number of classes; 0: as in the data (matrices)
    alignment
        whole numbers, the class of each frame, instead of matrices
    context
        (frames to the left, frames to the right) that are put beside each frame; None: none
    chunk_frames
        size of a chunk, in frames: what is read at once and shuffled as one
    expand_to_utterance
        each entry has one row, which stands for every frame of the utterance it is joined with
    defines_mb_size
        minibatches are counted in frames of this stream
    dtype
        of the values: float32 or float64
    trace_level
        what `report` is told: 0 failures, 1 warnings, 2 notes
    """

    name: str
    files: Paths
    dim: int = 0
    alignment: bool = False
    context: Context = None
    chunk_frames: int = 90_000
    expand_to_utterance: bool = False
    defines_mb_size: bool = False
    dtype: Any = "float32"
    trace_level: int = 1

    def _options(self, setup: _core.Setup) -> tuple[Any, Optional[str]]:
        return fill(
            _core.KaldiOptions(),
            expand_to_utterance=self.expand_to_utterance,
            defines_mb_size=self.defines_mb_size,
            trace_level=self.trace_level,
            name=self.name,
            files=paths(self.files),
            dim=self.dim,
            alignment=self.alignment,
            context=self.context,
            chunk_frames=self.chunk_frames,
            element=_element(self.dtype),
        ), "text"
