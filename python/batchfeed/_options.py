# SPDX-License-Identifier: MIT
"""The keywords of a reader: every field of ReaderOptions (include/batchfeed/options.h), under its own name."""
from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from numbers import Integral
from typing import Any, Callable, Literal, Optional, TypedDict, Union, get_args

import numpy as np

from . import _core
from ._errors import usage
from ._given import WHOLE, counts, like, plain, shown, weight, whole, wrong
from ._keywords import help_text
from ._sources import CBF, CTF, MLF, HTKFeatures, Kaldi

OrderKind = Literal["uniform", "cntk", "file"]
Packing = Literal["sequences", "frames", "truncated"]
Shard = Literal["even", "chunk"]
SizeUnit = Literal["samples", "sequences", "cells"]
Driver = Literal["epochs", "timeline"]
LongSequence = Literal["alone", "skip", "split", "error"]
LastMinibatch = Literal["keep", "drop", "cross"]
Keys = Literal["numeric", "text", "hashed"]

WHOLE_SET = (1 << 62) - 1  # "the whole data set" as an epoch or a window
ENDLESS = (1 << 64) - 1  # epoch_samples of a timeline without end


class ReaderKeywords(TypedDict, total=False):
    """The keywords of a reader; help(bf.Reader) says what each does."""

    minibatch_samples: int  # = minibatch_size in samples
    shuffle: bool  # True: order="uniform"; False: order="file"

    order: OrderKind
    window: Union[int, float]  # chunks (or samples) among which is shuffled; inf: all
    window_in_samples: bool
    seed: int
    pack: Packing
    truncation_length: int
    right_splice: int
    shard: Shard
    workers: int
    rank: int
    stride: int
    offset: int
    minibatch_size: Union[int, Sequence[int]]  # over all workers; a list: one an epoch, the last repeats
    size_unit: SizeUnit
    local_timeline: bool
    epoch_samples: Union[int, float]  # 0: one sweep; inf: no end
    epoch_sweeps: int
    start_epoch: int
    driver: Driver
    cross_sweeps: Optional[bool]
    long_sequence: LongSequence
    last_minibatch: LastMinibatch
    bucket_minibatches: int
    mix_weights: Sequence[float]  # a bf.Mix sets it
    max_invalid: int
    keep_in_memory: bool
    prefetch: bool
    prefetch_depth: int
    threads: int
    memory_limit: int
    keys: Keys
    legacy_speech: bool
    full_minibatches: bool
    rows_per_epoch: Sequence[int]
    rolling_window: bool
    one_sequence: bool


SHORT = ("minibatch_samples", "shuffle")  # each stands for another keyword
# Keywords for fields of structs within ReaderOptions: (struct, field).
NESTED = {
    "order": ("order", "kind"),
    "window": ("order", "window"),
    "window_in_samples": ("order", "window_in_samples"),
    "seed": ("order", "seed"),
    "pack": ("pack", "kind"),
    "truncation_length": ("pack", "truncation_length"),
    "right_splice": ("pack", "right_splice"),
}
_WORDS: dict[str, tuple[Any, ...]] = {
    "order": get_args(OrderKind),
    "pack": get_args(Packing),
    "shard": get_args(Shard),
    "size_unit": get_args(SizeUnit),
    "driver": get_args(Driver),
    "long_sequence": get_args(LongSequence),
    "last_minibatch": get_args(LastMinibatch),
    "keys": get_args(Keys),
}


_SIZES = "a whole number, at least 1, or a list of them"
_EXPECTED = {
    "minibatch_size": _SIZES,
    "cross_sweeps": "True, False or None",
    "epoch_samples": f"{WHOLE}, or inf",
    "window": f"{WHOLE}, or inf",
    "mix_weights": "a list of numbers above 0",
    "rows_per_epoch": "a list of whole numbers that are not negative",
}


def _get(options: Any, name: str) -> Any:
    if name in NESTED:
        inner, field = NESTED[name]
        return getattr(getattr(options, inner), field)
    return getattr(options, name)


def _set(options: Any, name: str, value: Any) -> None:
    if name in NESTED:
        inner, name = NESTED[name]
        options = getattr(options, inner)
    setattr(options, name, value)


def _plain(name: str, value: Any, options: Any) -> Any:
    """A user's value as the library takes it."""
    if name in ("minibatch_size", "rows_per_epoch", "mix_weights") and isinstance(value, (str, bytes, bytearray)):
        raise TypeError  # bytes are numbers to Python
    if name == "minibatch_size":
        sizes = [whole(name, n, 1) for n in ([value] if isinstance(value, Integral) else value)]
        if not sizes:
            raise TypeError
        return sizes
    if name == "rows_per_epoch":
        return [whole(name, n) for n in value]
    if name == "mix_weights":
        return [weight(name, v) for v in value]
    if value == math.inf and name == "epoch_samples":
        return ENDLESS if options.driver == "timeline" else WHOLE_SET
    if value == math.inf and name == "window":
        return WHOLE_SET
    return value


def _shuffled(yes: Any) -> str:
    if not isinstance(yes, (bool, np.bool_)):
        raise wrong("shuffle", yes, "True or False", "order= takes the name of an order")
    return "uniform" if yes else "file"


def _translate(given: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords, with those of SHORT replaced by the ones they stand for."""
    out = dict(given)
    if "minibatch_samples" in out and out.get("size_unit", "samples") != "samples":
        what = f"minibatch_samples is given, and size_unit is {shown(out['size_unit'])}"
        raise usage("python.option", what, f"minibatch_size={shown(out['minibatch_samples'])} is in size_unit")
    for short, full, value in (
        ("minibatch_samples", "minibatch_size", lambda n: n),
        ("shuffle", "order", _shuffled),
    ):
        if short not in out:
            continue
        if full in out:
            raise usage("python.option", f"{short} and {full} are both given", "give one of them")
        out[full] = value(out.pop(short))
    return out


OF_A_LOADER = ("num_workers", "persistent_workers", "prefetch_factor", "worker_init_fn", "collate_fn", "multiprocessing_context")


# Keywords of other libraries, and what does the same here.
ELSEWHERE = {
    "batch_size": "minibatch_samples=n counts samples, and size_unit='sequences' with minibatch_size=n sequences",
    "drop_last": "last_minibatch='drop' leaves out what fills no minibatch",
    "num_epochs": "reader.epochs(n) reads several",
    "randomize": "shuffle=True, or order='cntk' for the order of a configuration",
    "num_shards": "workers=n and rank=i share the data",
}


# Keywords of open() and of other functions that take files, which Reader() does not have.
OF_FILES = ("section", "set", "state_list")


def _elsewhere(name: str) -> str:
    """Says whether it is a keyword of a source or of open(); "" if not."""
    kinds = [kind for kind in (CTF, CBF, HTKFeatures, MLF, Kaldi) if name in (f.name for f in fields(kind))]
    if kinds:
        first = kinds[0].__name__
        leading = "path" if kinds[0] in (CTF, CBF) else "name, path"
        *most, last = (f"bf.{kind.__name__}" for kind in kinds)
        whose = f"{', '.join(most)} and {last}" if most else last
        return f"{name!r} is a keyword of {whose}: bf.Reader(bf.{first}({leading}, {name}=...))"
    return f"{name!r} is a keyword of bf.open: bf.open(path, {name}=...)" if name in OF_FILES else ""


def unexpected(name: str, *, but: Sequence[str] = ()) -> TypeError:
    """The error for a keyword that cannot be given. `but`: keywords of a reader that cannot be given here."""
    if name in but:
        return TypeError(f"{name!r} cannot be given here: it is set for the processes of a DataLoader")
    if name in OF_A_LOADER:
        return TypeError(f"unexpected keyword argument {name!r}: it is a DataLoader's, as in DataLoader(dataset, batch_size=None, {name}=...)")
    if name in ELSEWHERE:
        return TypeError(f"unexpected keyword argument {name!r}: {ELSEWHERE[name]}")
    if where := _elsewhere(name):
        return TypeError(f"unexpected keyword argument {name!r}: {where}")
    meant = get_close_matches(name, NAMES, 1)
    hint = f"did you mean {meant[0]!r}?" if meant else f"the keywords of a reader are {', '.join(NAMES)}"
    return TypeError(f"unexpected keyword argument {name!r}; {hint}")


def apply(options: Any, given: Mapping[str, Any]) -> None:
    """Sets the fields of a `_core.ReaderOptions`."""
    settings = _translate(given)
    for name in sorted(settings, key=lambda n: n != "driver"):  # driver first, as others depend on it
        value = plain(settings[name])
        if name not in ReaderKeywords.__annotations__:
            raise unexpected(name)
        words = _WORDS.get(name)
        expected = f"one of {', '.join(map(repr, words))}" if words else _EXPECTED.get(name) or like(_get(options, name))
        told = "minibatch_samples" if name == "minibatch_size" and "minibatch_samples" in given else name
        try:
            if counts(value, _get(options, name)):
                raise TypeError
            _set(options, name, _plain(name, value, options))
        except (TypeError, ValueError, RuntimeError):
            raise wrong(told, value, expected) from None
    if "workers" in settings and "rank" not in settings and options.workers > 1:
        raise usage("python.option", f"workers is {options.workers}, and no rank is given", "every worker says its own, rank=0 ...")


NAMES = sorted(ReaderKeywords.__annotations__)


# The fields of each struct of options.
_FIELDS: dict[type, tuple[str, ...]] = {
    _core.ReaderOptions: tuple(name for name in ReaderKeywords.__annotations__ if name not in SHORT),
    **{
        kind: tuple(field for inner, field in NESTED.values() if inner == name)
        for name, kind in (("order", _core.OrderOptions), ("pack", _core.PackOptions))
    },
}


def _values(options: Any) -> dict[str, Any]:
    """{name: value} of all fields; those within a ReaderOptions' structs as its own."""
    get = _get if isinstance(options, _core.ReaderOptions) else getattr
    return {name: get(options, name) for name in _FIELDS[type(options)]}


def show(options: Any) -> str:
    """The repr of options: their fields that are not the defaults."""
    given, defaults = _values(options), _values(type(options)())
    for name in {"window", "epoch_samples"} & given.keys():  # shown as users give them
        given[name] = math.inf if given[name] >= WHOLE_SET else given[name]
    told = [f"{name}={value!r}" for name, value in given.items() if value != defaults[name]]
    return f"<{type(options).__name__}: {', '.join(told) or 'the defaults'}>"


def alike(options: Any, other: Any) -> bool:
    return type(options) is type(other) and _values(options) == _values(other)


def parts(options: Any) -> tuple[Any, ...]:
    """What __reduce__() returns, for pickle and copy."""
    return _made, (type(options), _values(options))


def _made(kind: type, values: Mapping[str, Any]) -> Any:
    options = kind()
    for name, value in values.items():
        _set(options, name, value) if kind is _core.ReaderOptions else setattr(options, name, value)
    return options


def show_keywords(function: Callable[..., Any], documented: Any = None, *, but: Sequence[str] = ()) -> None:
    """Lets help() and editors see the keywords, their defaults and what they do in place of **options.

    `but`: those that cannot be given there.
    """
    documented = documented or function
    if documented.__doc__:  # not with -OO
        documented.__doc__ = inspect.cleandoc(documented.__doc__) + help_text(but)
    defaults = _core.ReaderOptions()
    signature = inspect.signature(function)
    kept = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    there = {p.name for p in kept}
    for name in ReaderKeywords.__annotations__:
        if name in there or name in but:
            continue
        default = None if name in SHORT else _get(defaults, name)
        kept.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default))
    function.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
