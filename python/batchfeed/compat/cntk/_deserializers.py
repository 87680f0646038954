# SPDX-License-Identifier: MIT
"""What is read: deserializers are dictionaries of configuration keys, as in CNTK."""
from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Optional, Union

import numpy as np

from ..._given import Paths, expecting, path, paths, whole


ANY_LENGTH = 65535  # max_sequence_length unless one is given


class Record(dict[str, Any]):
    """A dictionary whose values are attributes too."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no {name!r}; there are {', '.join(map(repr, self)) or 'none'}") from None


class StreamDefs(Record):
    """StreamDefs(features=StreamDef(...), labels=StreamDef(...))"""


def StreamDef(
    field: Optional[str] = None,
    shape: Any = None,
    is_sparse: bool = False,
    transforms: Any = None,
    context: Optional[tuple[int, int]] = None,
    scp: Optional[Paths] = None,
    mlf: Optional[Paths] = None,
    broadcast: Optional[bool] = None,
    defines_mb_size: bool = False,
    max_sequence_length: int = ANY_LENGTH,
) -> Record:
    """One stream. `field`: its name in a text file; `scp`, `mlf`: its files of speech; `shape`: its dimension.

    `max_sequence_length` has no effect, as in CNTK, and a warning says so: d[0]["maxSequenceSize"] = n, of what
    HTKFeatureDeserializer() gives, leaves out longer utterances.
    """
    if transforms:
        raise ValueError("transforms are for images, which batchfeed does not read")
    return Record(
        field=field,
        shape=shape,
        is_sparse=is_sparse,
        context=context,
        scp=scp,
        mlf=mlf,
        broadcast=broadcast,
        defines_mb_size=defines_mb_size,
        max_sequence_length=max_sequence_length,
    )


class StreamConfiguration(Record):
    """One stream of a text file, in the words of the C++ interface."""

    def __init__(self, name: str, dim: int, is_sparse: bool = False, stream_alias: str = "", defines_mb_size: bool = False) -> None:
        super().__init__(StreamDef(stream_alias or name, dim, is_sparse, defines_mb_size=defines_mb_size), name=name)


class Deserializer(dict[str, Any]):
    """Keys of a deserializer's section; others may be set: d["cacheIndex"] = True. `shapes`: of its streams."""

    shapes: dict[str, tuple[int, ...]]


Defs = Union[Mapping[str, Record], Iterable[StreamConfiguration]]


def _named(streams: Defs) -> dict[str, Record]:
    """By name, in the order of the names, as CNTK numbers them."""
    try:
        named = streams if isinstance(streams, Mapping) else {stream["name"]: stream for stream in streams}
        wrong: list[Any] = [stream for stream in named.values() if not isinstance(stream, Record)]
    except (TypeError, KeyError):
        wrong = [streams]
    if wrong:
        raise TypeError(f"streams are StreamDefs(name=StreamDef(...)) or StreamConfigurations, not {wrong[0]!r}")
    return {name: named[name] for name in sorted(named)}


def _shape(name: str, given: Any) -> tuple[int, ...]:
    shape = (given,) if np.isscalar(given) else tuple(given or ())
    if not shape or any(int(n) != n or n < 1 for n in shape):
        raise ValueError(f"stream {name!r}: shape is {given!r}, expected a whole number above 0")
    return tuple(int(n) for n in shape)


def _finish(keys: dict[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> Deserializer:
    out = Deserializer(keys)
    out.shapes = dict(shapes)
    return out


def CTFDeserializer(filename: str, streams: Defs) -> Deserializer:
    """A corpus in a text file."""
    filename, named = path("filename", filename), _named(streams)
    shapes = {name: _shape(name, s.shape) for name, s in named.items()}
    for name, s in named.items():
        if s.field is None:
            raise ValueError(f"stream {name!r}: a text file needs the field that holds it")
    section = {
        name: {
            "alias": s.field,
            "dim": int(np.prod(shapes[name])),
            "format": "sparse" if s.is_sparse else "dense",
            "definesMBSize": bool(s.defines_mb_size),
        }
        for name, s in named.items()
    }
    keys = {"type": "CNTKTextFormatDeserializer", "module": "CNTKTextFormatReader", "file": filename, "input": section}
    return _finish(keys, shapes)


def CBFDeserializer(filename: str, streams: Defs = {}) -> Deserializer:
    """A corpus in a binary file; `streams` gives other names: {"name": StreamDef("name in the file")}."""
    filename, named = path("filename", filename), _named(streams)
    section = {name: {"alias": s.field or name} for name, s in named.items()}
    keys: dict[str, Any] = {"type": "CNTKBinaryFormatDeserializer", "module": "CNTKBinaryReader", "file": filename}
    if section:
        keys["input"] = section
    return _finish(keys, {name: _shape(name, s.shape) for name, s in named.items() if s.shape is not None})


def HTKFeatureDeserializer(streams: Defs) -> list[Deserializer]:
    """Features of speech: one deserializer for each stream."""
    out = []
    for name, s in _named(streams).items():
        if s.scp is None or s.shape is None:
            raise ValueError(f"stream {name!r}: features need scp and shape")
        section: dict[str, Any] = {"dim": int(np.prod(_shape(name, s.shape))), "scpFile": _file(name, s.scp)}
        if s.context is not None and _context(name, s.context) != (0, 0):
            left, right = _context(name, s.context)
            section["contextWindow"] = f"{left}:{right}"
        if s.broadcast:
            section["expandToUtterance"] = True
        if s.max_sequence_length != ANY_LENGTH:  # as CNTK wrote it: the library tells that nobody reads it
            section["maxSequenceLength"] = s.max_sequence_length
        keys: dict[str, Any] = {"type": "HTKFeatureDeserializer", "module": "HTKDeserializers", "input": {name: section}}
        if s.defines_mb_size:
            keys["definesMBSize"] = True
        out.append(_finish(keys, {name: _shape(name, s.shape)}))
    return out


def _context(name: str, given: Any) -> tuple[int, int]:
    expected = "(frames to the left, frames to the right)"
    with expecting(f"context of stream {name!r}", given, expected):
        left, right = given
        return whole("frames", left), whole("frames", right)


def _file(name: str, given: Paths) -> str:
    files = paths(given, "scp")
    if len(files) != 1:
        raise ValueError(f"stream {name!r}: {len(files)} scp files, expected one")
    return files[0]


def _mlf(kind: str, streams: Defs, mapping: Optional[str], phone_boundaries: bool) -> list[Deserializer]:
    out = []
    for name, s in _named(streams).items():
        if s.mlf is None or s.shape is None:
            raise ValueError(f"stream {name!r}: labels need mlf and shape")
        files = paths(s.mlf, "mlf")
        section: dict[str, Any] = {"labelDim": int(np.prod(_shape(name, s.shape)))}
        if len(files) == 1:
            section["mlfFile"] = files[0]
        else:
            section["mlfFileList"] = files
        if mapping:
            section["labelMappingFile"] = mapping
        keys: dict[str, Any] = {"type": kind, "module": "HTKDeserializers", "input": {name: section}}
        if phone_boundaries:
            keys["phoneBoundaries"] = True
        out.append(_finish(keys, {name: _shape(name, s.shape)}))
    return out


def HTKMLFDeserializer(label_mapping_file: Optional[str], streams: Defs, phoneBoundaries: bool = False) -> list[Deserializer]:
    """Labels of speech from text MLF files."""
    return _mlf("HTKMLFDeserializer", streams, label_mapping_file, phoneBoundaries)


def HTKMLFBinaryDeserializer(streams: Defs) -> list[Deserializer]:
    """Labels of speech from binary MLF files."""
    return _mlf("HTKMLFBinaryDeserializer", streams, None, False)


def config_text(value: Any) -> str:
    """A value as configuration text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "[ " + " ; ".join(f"{key} = {config_text(v)}" for key, v in value.items()) + " ]"
    if isinstance(value, (list, tuple)):
        return "( " + " : ".join(map(config_text, value)) + " )"
    if isinstance(value, (int, float)):
        return str(value)
    text = str(value)
    if re.search(r"\$[^$\n]+\$", text):
        raise ValueError(f"{text!r} holds a text between two '$', which configuration text takes for a variable")
    if '"' not in text:
        return f'"{text}"'
    if "'" in text or "\n" in text:
        raise ValueError(f"{text!r} holds both kinds of quotes or a line feed, which configuration text cannot")
    return f"'{text}'"


def sequence_to_cntk_text_format(seq_idx: int, alias_tensor_map: Mapping[str, Any]) -> str:
    """A sequence as lines of a text file: {alias: array [samples, ...] or scipy.sparse matrix}."""
    columns = [[f"|{alias} {sample}" for sample in _samples(alias_tensor_map[alias])] for alias in sorted(alias_tensor_map)]
    rows = max(map(len, columns), default=0)
    return "\n".join(f"{seq_idx}\t" + " ".join(c[i] for c in columns if i < len(c)) for i in range(rows))


def _samples(tensor: Any) -> list[str]:
    if hasattr(tensor, "tocsr"):
        matrix = tensor.tocsr().sorted_indices()
        bounds = matrix.indptr.tolist()
        pairs = [f"{i}:{v}" for i, v in zip(matrix.indices.tolist(), matrix.data.tolist())]
        return [" ".join(pairs[a:b]) for a, b in zip(bounds, bounds[1:])]
    array = np.asarray(tensor)
    return [" ".join(f"{v!s}" for v in np.ravel(sample)) for sample in array]
