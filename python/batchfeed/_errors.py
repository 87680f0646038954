# SPDX-License-Identifier: MIT
"""What can go wrong, as exceptions with fields."""
from __future__ import annotations

import errno
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from types import MemberDescriptorType
from typing import Any, Callable, Optional, Union


_WRITTEN_OUT = {0xDC00 + byte: f"\\x{byte:02x}" for byte in range(0x80, 0x100)}  # surrogates that stand for bytes which are no UTF-8


def written_out(text: str) -> str:
    """A text as any terminal can print it: bytes that are no UTF-8 are written out."""
    return text.translate(_WRITTEN_OUT)


@dataclass(frozen=True)
class Fault:
    """One finding: which rule was broken, where, and what to do about it.

    Lines and columns count from 1, columns in bytes; `byte` is the offset from the
    start of the file. Fields that are not known are None.
    """

    kind: str  # "format", "config", "io", "limit", "stale", "state", "usage", "internal"
    id: str  # stable name of the rule, as listed in docs/reference/errors.md; those with "python." are the package's own
    what: str
    text: str  # all of it in one line: FILE:LINE:COLUMN: WHAT; hint: HINT
    path: Optional[str] = None
    line: Optional[int] = None
    column: Optional[int] = None
    byte: Optional[int] = None
    stream: Optional[str] = None
    hint: Optional[str] = None
    severity: str = "error"  # "error", "warning" or "info"
    errno: Optional[int] = None  # where the system refused

    def __str__(self) -> str:
        """`text` as any terminal can print it."""
        return written_out(self.text)


class Error(Exception):
    """The root of all errors that batchfeed raises; see `fault` for its parts."""

    def __init__(self, fault: Union[Fault, str]) -> None:
        fault = fault if isinstance(fault, Fault) else _printed(type(self), fault)
        super().__init__(fault)
        self.fault = fault
        self.kind = fault.kind
        self.id = fault.id
        self.path = fault.path
        self.line = fault.line
        self.column = fault.column
        self.byte = fault.byte
        self.stream = fault.stream
        self.what = fault.what
        self.hint = fault.hint

    def __str__(self) -> str:
        return str(self.fault)


class FormatError(Error, ValueError):
    """Bytes that break a format's rules, or data that changed since they were indexed."""


class LimitError(FormatError):
    """A file asks for more than the limits allow (`limits=`)."""


class ConfigError(Error, ValueError):
    """A configuration, or an option, that cannot be used."""


class StateError(Error, ValueError):
    """A saved state that does not belong to these data or these options."""


class FileError(Error, OSError):
    """The system refused to open, read or write a file."""

    def __init__(self, fault: Union[Fault, str]) -> None:
        Error.__init__(self, fault)
        self.filename = self.fault.path
        self.strerror = self.fault.what
        self.errno = self.fault.errno


class MissingFileError(FileError, FileNotFoundError):
    """A file is not there."""


class InternalError(Error, RuntimeError):
    """A defect of batchfeed; please report it."""


for _one in (Error, FormatError, LimitError, ConfigError, StateError, FileError, MissingFileError, InternalError):
    _one.__module__ = "batchfeed"  # so that a traceback shows the name by which to catch it


_CLASSES: dict[str, type[Error]] = {
    "format": FormatError,
    "stale": FormatError,
    "limit": LimitError,
    "config": ConfigError,
    "usage": ConfigError,
    "state": StateError,
    "io": FileError,
    "internal": InternalError,
}


_TEXT = re.compile(
    r"(?P<path>.+?)(:(?P<line>\d+)(:(?P<column>\d+))?)?( \(byte (?P<byte>\d+)\))?: "
    r"(?P<what>(stream '(?P<stream>[^']*)')?.*?)(; hint: (?P<hint>.*))?$"
)


def _printed(kind: type[Error], text: str) -> Fault:
    """The fault of an exception, as far as its printed text tells: PyTorch sends no more from a worker process."""
    last = text.rstrip().rpartition("\n")[2].partition(f"{kind.__name__}: ")
    found = _TEXT.match(last[2] or last[0])
    names: dict[type, str] = {one: name for name, one in reversed(_CLASSES.items())}
    name = next((names[one] for one in kind.__mro__ if one in names), "internal")  # also of a class derived from one of these
    if found is None:
        return Fault(name, "", text, text)
    line, column, byte = (int(found[part]) if found[part] else None for part in ("line", "column", "byte"))
    path = None if found["path"] == "batchfeed" else found["path"]
    number = errno.ENOENT if issubclass(kind, MissingFileError) else None
    return Fault(name, "", found["what"], text, path, line, column, byte, found["stream"], found["hint"], errno=number)


def exception(fault: Fault) -> Error:
    """The exception that stands for a fault."""
    if fault.kind == "io" and fault.errno == errno.ENOENT:
        return MissingFileError(fault)
    return _CLASSES[fault.kind](fault)


def refused(verb: str, path: str, error: OSError) -> Error:
    """The FileError for an OSError of Python's own functions, in the words of the library."""
    number = errno.ENOENT if isinstance(error, FileNotFoundError) else error.errno  # pyarrow leaves it out
    what = f"cannot {verb}: {error.strerror or (os.strerror(number) if number else error)}"
    return exception(Fault("io", f"io.{verb}", what, f"{path}: {what}", path, errno=number))


# Names in the library's hints that are other ones in Python; the rest are arguments and functions of the same name.
_OTHERS: dict[str, Callable[[str], str]] = {
    "force": lambda _: "force=True",
    "path_map": lambda rule: f"path_map={{{rule.partition('=')[0]!r}: {rule.partition('=')[2]!r}}}",
    "precision": lambda value: f"dtype={dict(float='float32', double='float64').get(value, value)!r}",
    "reader_section()": lambda _: "bf.info(path).reader_section",
    "roots": lambda _: "limits={'roots': [...]}",
}
# Keys of a configuration, and the keywords of a reader or a source that stand for them.
_KEYS: dict[str, Callable[[str], str]] = {
    "chunkSizeInBytes": lambda _: "chunk_bytes=",
    "contextWindow": lambda value: f"context=({', '.join(value.split(':'))})" if value else "context=",
    "expandToUtterance": lambda _: "expand_to_utterance=True",
    "format": lambda value: f"bf.{value.strip(chr(34))}(dim)",
    "frameMode": lambda value: f"pack={'frames' if value == 'true' else 'sequences'!r}",
    "labelDim": lambda _: "dim=",
    "labelMappingFile": lambda _: "mapping_file=",
    "maxErrors": lambda _: "max_invalid=",
    "maxSequenceSize": lambda _: "max_sequence_frames=",
    "maxUtteranceLength": lambda _: "max_utterance_frames=",
    "nbruttsineachrecurrentiter": lambda _: "rows_per_epoch=",
    "randomizationSeed": lambda value: f"seed={value}",
    "randomizationWindow": lambda _: "window=",
    "readMethod": lambda value: f"rolling_window={value == 'rollingWindow'}",
    "skipSequenceIds": lambda value: f"skip_sequence_ids={value == 'true'}",
    "truncated": lambda _: "pack='sequences'",
    "truncationLength": lambda _: "truncation_length=",
    "useNumericSequenceKeys": lambda value: f"keys={'numeric' if value == 'true' else 'text'!r}",
}


def argument(name: str, value: str) -> str:
    """An option or a tool that a hint of the library names, as it is written in Python."""
    if name in _OTHERS:
        return _OTHERS[name](value)
    if name in _KEYS:  # the key itself, too, for users of a configuration
        return f"{_KEYS[name](value)} (in a configuration {name}{' = ' if value else ''}{value})"
    if name.endswith("()"):
        return f"bf.{name}"
    return f"{name}={int(value) if value.isdigit() else value!r}" if value else f"{name}="


def again(raised: BaseException) -> BaseException:
    """A copy of an exception that is kept, to be raised instead of it.

    Raising the kept one would make a cycle: an exception refers to the frames that it passes, these to the reader, and
    the reader to the exception.
    """
    try:
        if isinstance(raised, StopIteration):  # would end the loop, as if all were read
            raise TypeError
        fresh = _like(raised)
    except Exception:
        fresh = RuntimeError(f"{type(raised).__name__}: {raised}")
    fresh.__cause__ = raised.__cause__
    return fresh.with_traceback(raised.__traceback__)


def _like(raised: BaseException) -> BaseException:
    """A copy made without calling its __init__, which need not take `args`, and may change them again."""
    fresh = type(raised).__new__(type(raised), *raised.args)
    fresh.args = raised.args
    fresh.__dict__.update(raised.__dict__)
    for kind in type(raised).__mro__:
        for name, field in vars(kind).items():
            if not isinstance(field, MemberDescriptorType):  # such as errno, filename and those of __slots__
                continue
            with suppress(AttributeError):
                value = getattr(raised, name)
                if getattr(fresh, name, fresh) is not value:  # only where needed: even an attribute set to None is printed
                    setattr(fresh, name, value)
    return fresh


def usage(id: str, what: str, hint: Optional[str] = None, **place: Any) -> ConfigError:
    """The error for something that the caller asked for; `place`: fields of its Fault."""
    path = place.get("path")
    text = f"{path or 'batchfeed'}: {what}" + (f"; hint: {hint}" if hint else "")
    return ConfigError(Fault(kind="usage", id=id, what=what, text=text, hint=hint, **place))
