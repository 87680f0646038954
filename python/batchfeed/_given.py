# SPDX-License-Identifier: MIT
"""Converts what a caller gave into what the library takes, or raises an error with what was given and expected."""
from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Integral
from operator import index
from typing import Any, Callable, Optional, Union

import numpy as np
import numpy.typing as npt

from ._errors import ConfigError, usage

Path = Union[str, "os.PathLike[str]"]
Paths = Union[Path, Iterable[Path]]
Wholes = Union[Sequence[int], npt.NDArray[Any]]  # whole numbers, of any type
WHOLE = "a whole number that is not negative"
ANY_WHOLE = "a whole number( that is not negative|, at least [0-9]+)"


def shown(value: Any) -> str:
    """A value for messages: its repr() on one line, shortened if it is long."""
    text = repr(value)
    text = " ".join(text.split()) if "\n" in text else text
    return text if len(text) <= 200 else f"{text[:100]} ... {text[-20:]} ({type(value).__name__})"


def bounded(value: Any, expected: str) -> str:
    """`expected`, with the bound 2**32 or 2**64 if the value's whole numbers are refused only because they are above it."""
    given = value if isinstance(value, (list, tuple)) else [value]
    numbers = [index(n) for n in given if isinstance(n, Integral)]
    if not numbers or len(numbers) < len(given) or min(numbers) < 0:
        return expected
    most = max(numbers)
    bits = next((bits for bits in (64, 32) if most >= 1 << bits), None)
    return expected if bits is None else re.sub(ANY_WHOLE, rf"\g<0> and below 2**{bits}", expected)


def wrong(name: str, value: Any, expected: str, hint: Optional[str] = None) -> ConfigError:
    return usage("python.option", f"{name} is {shown(value)}, expected {bounded(value, expected)}", hint)


@contextmanager
def expecting(name: str, value: Any, expected: str) -> Iterator[None]:
    """Raises wrong() of these arguments in place of a TypeError, ValueError, OverflowError or AttributeError inside."""
    try:
        yield
    except (TypeError, ValueError, OverflowError, AttributeError) as error:
        if isinstance(error, ConfigError):
            raise
        raise wrong(name, value, expected) from None


def whole(name: str, value: Any, least: int = 0) -> int:
    """A whole number from `least` to below 2**64, NumPy's too, but neither 2.0 nor True. Raises ConfigError."""
    expected = WHOLE if least == 0 else f"a whole number, at least {least}"
    with expecting(name, value, expected):
        if isinstance(value, bool):
            raise TypeError
        number = index(value)
    if number >= 1 << 64:
        raise wrong(name, value, WHOLE)
    if number < least:
        raise wrong(name, value, expected)
    return number


def flag(name: str, value: Any) -> bool:
    """True or False, NumPy's too, but nothing that merely counts as true, such as "no". Raises ConfigError."""
    if not isinstance(value, (bool, np.bool_)):
        raise wrong(name, value, "True or False")
    return bool(value)


def text(name: str, value: str, what: str = "a text") -> str:
    """A text that the library can take. Raises ConfigError for lone surrogates, except those by which os.fsdecode()
    represents bytes."""
    with expecting(name, value, f"{what} that UTF-8 can hold"):
        value.encode("utf-8", "surrogateescape")
    return value


def key(name: str, value: Any) -> str:
    """The key of a sequence: a text, or a whole number."""
    if isinstance(value, str) and value:
        return text(name, value)
    with expecting(name, value, "a text or a whole number"):
        if isinstance(value, bool):
            raise TypeError
        return str(index(value))


def number(name: str, value: Any, expected: str, fits: Callable[[float], bool]) -> float:
    """A number that fits, NumPy's too, but no text and neither True nor False. Raises ConfigError."""
    with expecting(name, value, expected):
        if isinstance(value, (bool, str)):
            raise TypeError
        out = float(value)
    if not fits(out):
        raise wrong(name, value, expected)
    return out


def weight(name: str, value: Any) -> float:
    return number(name, value, "a number above 0", lambda n: 0 < n < math.inf)


def path(name: str, value: Any) -> str:
    """A path as text. Raises ConfigError for one with a NUL: the system would end it there, and use another file."""
    try:
        out = str(os.fsdecode(value))  # of NumPy's texts, too
    except TypeError:
        raise TypeError(f"{name} is {shown(value)}, expected a path (str, bytes or os.PathLike)") from None
    if "\0" in out:
        raise wrong(name, value, "a path without a NUL byte")
    return text(name, out, "a path")


def no_set(name: str, value: Any) -> None:
    """Raises ConfigError for a set: other ranks, and a run that resumes, would read the files in other orders."""
    if isinstance(value, (set, frozenset)):
        raise wrong(name, value, "a list of paths, as a set has another order in each process", "sorted(...) makes one")


def paths(value: Any, name: str = "files") -> list[str]:
    """One path or several, as text."""
    no_set(name, value)
    if isinstance(value, (str, bytes, os.PathLike)):
        return [path(name, value)]
    no_list = isinstance(value, Mapping) or hasattr(value, "read") or not hasattr(value, "__iter__")
    if no_list and not isinstance(value, (list, tuple)):
        raise TypeError(f"{name} is {shown(value)}, expected a path (str, bytes or os.PathLike) or a list of them")
    return [path(f"one of {name}", one) for one in value]


def texts(name: str, value: Any) -> list[str]:
    """A list of texts; a single text is a list of one. Raises ConfigError."""
    many = [value] if isinstance(value, str) else value
    with expecting(name, value, "a text or a list of texts"):
        many = list(many)
        if not all(isinstance(one, str) for one in many):
            raise TypeError
    return [text(name, one) for one in many]


def mapping(name: str, value: Any, like: str) -> dict[Any, Any]:
    if not isinstance(value, Mapping):
        raise wrong(name, value, f"a mapping such as {like}")
    return dict(value)


def pairs(name: str, value: Any, like: str) -> list[tuple[str, str]]:
    """The items of a mapping of texts to texts; of None, none. Raises ConfigError."""
    given = mapping(name, {} if value is None else value, like)
    if not all(isinstance(one, str) for pair in given.items() for one in pair):
        raise wrong(name, value, f"a mapping of texts such as {like}")
    return [(text(name, old), text(name, new)) for old, new in given.items()]


def function(name: str, value: Any, expected: str) -> None:
    if value is not None and not callable(value):
        raise wrong(name, value, expected)


def plain(value: Any) -> Any:
    """The value, but Python's True and False for NumPy's, which comparisons give."""
    return bool(value) if isinstance(value, np.bool_) else value


def counts(value: Any, now: Any) -> bool:
    """Whether a value is True or False in place of the number `now`, which Python would take for 1 or 0."""
    return isinstance(value, bool) and isinstance(now, int) and not isinstance(now, bool)


def like(now: Any) -> str:
    """What an option expects, in words, judged by its value `now`."""
    if isinstance(now, bool):
        return "True or False"
    if isinstance(now, int):
        return WHOLE
    if isinstance(now, str):
        return "a text"
    if isinstance(now, list):
        return f"{WHOLE}, or a list of them"
    return "a value of its kind, or None"


TARGETS = ("ctf", "cbf", "scp", "htk", "mlf")
