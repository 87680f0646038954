# SPDX-License-Identifier: MIT
"""Several corpora as one."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Callable, Optional, Union

from . import _core, _open
from ._errors import Fault
from ._files import Limits, StorageOptions
from ._given import Path, path, wrong
from ._open import What, leaves_out, openings_of, several
from ._told import Progress, log, told
from ._tools import Converted, expect_absent, form_of, target_options, written


def merge(
    corpora: Iterable[Union[What, _open.FromSources]],
    target: Path,
    *,
    to: Optional[str] = None,
    section: str = "",
    set: Sequence[str] = (),
    dtype: Any = None,
    state_list: Optional[Path] = None,
    path_map: Optional[Mapping[str, str]] = None,
    streams: Sequence[str] = (),
    keys: str = "automatic",
    shuffle: Optional[int] = None,
    shuffle_memory: int = 256 << 20,
    chunk_bytes: int = 32 << 20,
    frame_period: Optional[int] = None,
    parameter_kind: Union[int, str, None] = None,
    labels: Sequence[str] = (),
    jobs: int = 0,
    force: bool = False,
    verify: bool = False,
    limits: Optional[Limits] = None,
    storage_options: StorageOptions = None,
    report: Optional[Callable[[Fault], None]] = log,
    progress: Optional[Progress] = None,
) -> Converted:
    """Writes several corpora to one file, one after the other: in parallel and in bounded memory.

    `corpora`: a list, each of a configuration, a file (a pattern: shards), or sources; formats may differ. Streams must not,
    except that they come in the order of the first corpus, and a sparse one has the largest dim of all; `streams`: those
    to write, which all corpora must have. `keys`: "automatic" keeps them if they are all different and more than the
    numbers of the sequences; else sequences are numbered, and if that loses keys, `report` is told. "keep" is an error
    where a key is in two corpora; "number", "none". Classes of inferred labels are numbered by the names of all corpora.
    `section` and `set` are for the configurations among them.

    The target and all other options are those of convert(), and so are the errors. Memory: 16 bytes a sequence.
    """
    corpora = several(corpora)
    if not isinstance(corpora, (list, tuple)) or not corpora:
        raise wrong("corpora", corpora, 'a list of corpora, such as ["a.ctf", "b.cbf"]')
    file = path("target", target)
    form = form_of(file, to)
    options = target_options(
        form,
        report,
        streams=streams,
        keys=keys,
        shuffle=shuffle,
        shuffle_memory=shuffle_memory,
        chunk_bytes=chunk_bytes,
        frame_period=frame_period,
        parameter_kind=parameter_kind,
        labels=labels,
        jobs=jobs,
        force=force,
        verify=verify,
    )
    expect_absent(file, force)
    openings = openings_of(corpora, section, set, dtype, limits, storage_options, state_list, path_map)
    options.part = any(map(leaves_out, openings))
    setups = [one.setup(report) for one in openings]
    for setup in setups:
        setup.set_report(report)
    return written(file, options, storage_options, lambda local: _core.merge(setups, local, options, report, told(progress)))
