# SPDX-License-Identifier: MIT
"""A corpus divided into parts: training and test data."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Callable, Optional, Union

from . import _core, _open
from ._errors import Fault, usage
from ._files import Limits, StorageOptions
from ._given import Path, mapping, number, path, text, texts, whole
from ._open import What, opening_of
from ._sources import fill
from ._told import Progress, log, told
from ._tools import Converted, converted, expect_absent, form_of


def split(
    what: Union[What, _open.FromSources],
    parts: Mapping[Path, float],
    *,
    seed: int = 0,
    exact: bool = False,
    stratify: str = "",
    group: str = "",
    to: Optional[str] = None,
    section: str = "",
    set: Sequence[str] = (),
    dtype: Any = None,
    state_list: Optional[Path] = None,
    path_map: Optional[Mapping[str, str]] = None,
    streams: Sequence[str] = (),
    chunk_bytes: int = 32 << 20,
    jobs: int = 0,
    force: bool = False,
    limits: Optional[Limits] = None,
    storage_options: StorageOptions = None,
    report: Optional[Callable[[Fault], None]] = log,
    progress: Optional[Progress] = None,
) -> dict[str, Converted]:
    """Writes each part of a corpus to a file of its own, in the order of the corpus and with its keys: all files, or none.

    `parts`: the fraction of the sequences for each file, {"train.ctf": 0.9, "test.ctf": 0.1}; the format is that of `to`
    or of the file's extension, as for convert(). Only a sequence's key and `seed` decide to which part it goes, so it stays
    there when the corpus grows. `exact` gives exact fractions, `stratify` exact ones within each class of the stream of
    that name. With `group`, some characters, sequences whose keys are the same up to the last of these characters stay
    together, such as the utterances of a speaker.

    Returns what was written to each file. Raises what convert() does, and ConfigError if fractions do not sum to 1.
    """
    parts = mapping("parts", parts, '{"train.ctf": 0.9, "test.ctf": 0.1}')
    targets = [path("parts", name) for name in parts]
    for file in targets:
        if _core.is_url(file):
            raise usage("python.target", "split() writes local files", "split() to a folder, and send them", path=file)
        expect_absent(file, force)
    expected = "for each file a fraction, above 0 and below 1"
    fractions = [number("parts", value, expected, lambda n: 0 < n < 1) for value in parts.values()]
    division = fill(
        _core.SplitOptions(),
        **{"fractions": fractions, "seed": whole("seed", seed), "exact": exact, "stratify": text("stratify", stratify), "group": text("group", group)},
    )
    formats = [form_of(file, to) for file in targets]
    options = fill(_core.ConvertOptions(), streams=texts("streams", streams), chunk_bytes=chunk_bytes, jobs=jobs, force=force)
    setup = opening_of(what, section, set, dtype, limits, storage_options, {}, state_list, path_map).setup(report)
    setup.set_report(report)
    done = _core.split(setup, targets, formats, division, options, report, told(progress))
    return {file: converted(one) for file, one in zip(targets, done)}
