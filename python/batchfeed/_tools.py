# SPDX-License-Identifier: MIT
"""Work on whole corpora: check, info, index, convert."""
from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, Callable, Optional, Union

from . import _core, _open
from ._open import What, opening_of
from ._errors import Error, Fault, usage
from ._files import Limits, StorageOptions
from ._given import TARGETS, Path, flag, function, pairs, path, paths, text, texts, whole, wrong
from ._info import Info, glance
from ._sources import CTF, fill
from ._told import Progress, log, told
from ._upload import named, upload_for


class CheckReport(list[Fault]):
    """The faults and warnings that were found, in the order of the data, and what was looked at."""

    def __init__(self, found: Sequence[Fault], result: Any) -> None:
        super().__init__(found)
        self.faults: int = result.faults
        self.warnings: int = result.warnings
        self.by_id: dict[str, int] = result.by_id
        self.sequences: int = result.sequences
        self.samples: int = result.samples
        self.bytes: int = result.bytes
        self.complete: bool = result.complete  # False: a source or chunk could not be read to its end

    def __repr__(self) -> str:
        counts = zip((self.faults, self.warnings, self.samples, self.sequences), ("fault", "warning", "sample", "sequence"))
        lines = ["<{}, {} in {} of {}>".format(*(f"{count} {word}{'s' * (count != 1)}" for count, word in counts))]
        return "\n".join(lines + [f"  {fault}" for fault in self[:20]] + (["  ..."] if len(self) > 20 else []))


def check(
    what: Union[What, _open.FromSources],
    *,
    section: str = "",
    set: Sequence[str] = (),
    dtype: Any = None,
    state_list: Optional[Path] = None,
    path_map: Optional[Mapping[str, str]] = None,
    max_faults: int = 100_000,
    limits: Optional[Limits] = None,
    storage_options: StorageOptions = None,
    progress: Optional[Progress] = None,
) -> CheckReport:
    """Reads all of a corpus and returns every fault of it, damaged data included.

    `what` is a configuration, corpus files, or sources. At most `max_faults` are listed; all are counted. The report
    is a list of Fault, warnings among them, and empty where nothing is wrong.

    Of a configuration each reader section is checked, or the one that `section` names, and every value in it that cannot
    be used is a fault. If it names a corpus that does not exist, that is a fault in the report, too, and so is a file
    that is empty or damaged at its very beginning. Raises FileError (an OSError) if `what` itself cannot be opened, and
    ConfigError if it is no configuration at all, as where brackets do not match. Other threads run meanwhile.
    """
    most = whole("max_faults", max_faults)
    opening, bar = opening_of(what, section, set, dtype, limits, storage_options, {}, state_list, path_map), told(progress)
    each = [replace(one, all_faults=True) for one in opening.each_section()] if isinstance(opening, _open.FromFile) else [opening]
    checked = [_checked(one, most, bar) for one in each]
    return CheckReport([fault for listed, _ in checked for fault in listed][:most], _sum([result for _, result in checked]))


def _checked(opening: _open.Opening, most: int, bar: Optional[Progress]) -> tuple[list[Fault], SimpleNamespace]:
    """The faults and warnings of one opening, and their counts."""
    found: list[Fault] = []
    result: Any = SimpleNamespace(faults=0, warnings=0, by_id={}, sequences=0, samples=0, bytes=0, complete=False)
    setup: Optional[_core.Setup] = None
    try:
        setup = opening.setup(found.append)
    except Error as error:
        listed = any(f.severity == "error" for f in found) and error.kind in ("config", "format", "limit")  # faults of a configuration
        if not listed and error.kind != "format" and (error.kind != "limit" or error.path is None):
            raise
        if not listed:  # too damaged to say what there is to check
            found.append(error.fault)
    loading = [f for f in found if f.severity != "info"]  # found while the configuration was loaded
    if setup is not None:
        setup.set_progress(bar)
        result = _core.check(setup, most, found.append, bar)
    return [f for f in found if f.severity != "info"], _with(result, loading)


def _with(result: Any, loading: Sequence[Fault]) -> SimpleNamespace:
    """The counts of a check, together with what was found while the configuration was loaded."""
    out = SimpleNamespace(**{name: getattr(result, name) for name in ("sequences", "samples", "bytes", "complete")})
    severities = Counter(f.severity for f in loading)
    out.faults, out.warnings = result.faults + severities["error"], result.warnings + severities["warning"]
    out.by_id = dict(Counter(result.by_id) + Counter(f.id for f in loading))
    return out


def _sum(results: Sequence[SimpleNamespace]) -> SimpleNamespace:
    """The counts of all reader sections of a configuration together."""
    out = SimpleNamespace(**{name: sum(getattr(r, name) for r in results) for name in ("faults", "warnings", "sequences", "samples", "bytes")})
    out.by_id = dict(sum((Counter(r.by_id) for r in results), Counter()))
    out.complete = all(r.complete for r in results)
    return out


def info(
    what: Union[What, _open.FromSources],
    *,
    section: str = "",
    set: Sequence[str] = (),
    dtype: Any = None,
    state_list: Optional[Path] = None,
    path_map: Optional[Mapping[str, str]] = None,
    limits: Optional[Limits] = None,
    storage_options: StorageOptions = None,
    progress: Optional[Progress] = None,
) -> Info:
    """What a corpus holds, as a configuration or sources declare it, or as its files suggest.

    Streams with their dim and dtype, counts and lengths, from the index. The values are read only of a text corpus
    whose streams are not declared. Raises FileError, FormatError or ConfigError as open() does.
    """
    opening = opening_of(what, section, set, dtype, limits, storage_options, {}, state_list, path_map)
    inferred, files = _inferred(opening, progress)
    setup = opening.setup(log)
    setup.set_report(log)
    setup.set_progress(told(progress))
    return glance(_core.describe(setup), inferred, files)


def _inferred(
    opening: _open.Opening, progress: Optional[Progress], anew_in: Optional[str] = None
) -> tuple[Optional[_core.Inferred], list[str]]:
    if isinstance(opening, _open.FromSetup):
        return None, []
    limits = _open.core_limits(opening.limits)
    if isinstance(opening, _open.FromFile) and not opening.is_config():
        remote = opening.file_system()
        files = _core.expand_files(opening.files, remote, limits)
    elif isinstance(opening, _open.FromSources) and isinstance(opening.sources, list) and len(opening.sources) == 1:
        only = opening.sources[0]
        if not isinstance(only, CTF) or only.streams is not None:
            return None, []
        remote = opening.file_system()
        files = _core.expand_files(paths(only.files), remote, limits)
    else:
        return None, []
    if _core.detect_format(files, remote, limits) != "ctf":
        return None, []
    keep = anew_in is not None
    return _core.infer_ctf(files, told(progress), remote, limits, keep, anew_in or "", keep), files


@dataclass(frozen=True)
class IndexInfo:
    """What index() did for one file."""

    file: str
    cache: Optional[str]  # the file that keeps its index; None: none does
    was_valid: bool  # there was a valid index, and nothing was written
    why: Optional[str]  # the reason why an index that was there is not valid
    sequences: int
    samples: int
    chunks: int
    bytes: int


def index(
    what: Union[What, _open.FromSources],
    *,
    section: str = "",
    set: Sequence[str] = (),
    dtype: Any = None,
    path_map: Optional[Mapping[str, str]] = None,
    rebuild: bool = False,
    cache_dir: Optional[Path] = None,
    limits: Optional[Limits] = None,
    storage_options: StorageOptions = None,
    progress: Optional[Progress] = None,
) -> list[IndexInfo]:
    """Makes sure that every file of text or of MLF labels has an index cache, so that later readers open at once.

    Streams that are inferred of text are kept too. A reader uses both if its sources have cache_index=True, or its
    configuration cacheIndex = true. Returns what was done
    for each file. Raises FileError if a file cannot be read; of a cache that cannot be written the logger "batchfeed"
    warns, and its `cache` is None.
    """
    folder = "" if cache_dir is None else path("cache_dir", cache_dir)
    opening = opening_of(what, section, set, dtype, limits, storage_options, path_map=path_map)
    anew = flag("rebuild", rebuild)
    if anew:
        _inferred(opening, progress, anew_in=folder)
    setup = _open.keeping_streams(opening, folder).setup(log)
    setup.set_report(log)
    setup.set_progress(told(progress))
    setup.cache_index(folder)
    return [
        IndexInfo(b.file, b.cache or None, b.was_valid, b.why or None, b.sequences, b.samples, b.chunks, b.bytes)
        for b in _core.build_indexes(setup, anew)
    ]


KEYS = ("automatic", "keep", "number", "none")
# Formats of other libraries, by the extension of a file, and the functions that write them.
OTHER_TARGETS = {".parquet": "to_parquet", ".npz": "to_npz", ".svm": "to_svmlight", ".svmlight": "to_svmlight"}


@dataclass(frozen=True)
class Converted:
    """What a conversion wrote."""

    streams: dict[str, _core.StreamInfo] = field(repr=False)
    sequences: int
    samples: int
    left_out: int  # sequences that are damaged, or have no sample
    bytes: int
    keys: bool  # whether keys were written
    verified: bool


def converted(done: _core.ConvertResult) -> Converted:
    written = {s.name: s for s in done.streams}
    return Converted(written, done.sequences, done.samples, done.left_out, done.bytes, done.keys, done.verified)


def form_of(file: str, to: Optional[str]) -> str:
    """The format to write a corpus in: `to`, or by the extension of the file. Raises ConfigError for any other."""
    if to is not None and to not in TARGETS:
        raise wrong("to", to, f"one of {', '.join(map(repr, TARGETS))}")
    extension = os.path.splitext(file)[1].lower()
    if to is None and extension in OTHER_TARGETS:
        raise usage("python.target", "is in no format that convert() writes", f"bf.{OTHER_TARGETS[extension]}() does", path=file)
    return _core.target_format(file, to or "")


def expect_absent(file: str, force: bool) -> None:
    if os.path.exists(file) and not force:
        raise usage("python.exists", "the file exists", "force=True replaces it", path=file)


def _kind(name: str, given: Union[int, str]) -> int:
    return _core.htk_kind(text(name, given)) if isinstance(given, str) else whole(name, given)


def _keys(name: str, given: str) -> str:
    if given not in KEYS:
        raise wrong(name, given, f"one of {', '.join(map(repr, KEYS))}")
    return given


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    **{"streams": texts, "labels": texts, "keys": _keys},
    **{"shuffle": whole, "frame_period": whole, "parameter_kind": _kind},
}


def target_options(form: str, report: Optional[Callable[[Fault], None]], **given: Any) -> Any:
    """How a corpus is written in the format `form`; `given`: keywords of convert(). Raises ConfigError."""
    function("report", report, "a function of a Fault, or None")
    checked = {name: _CHECKS[name](name, value) if name in _CHECKS and value is not None else value for name, value in given.items()}
    return fill(_core.ConvertOptions(), to=form, **checked)


def written(file: str, options: Any, storage: StorageOptions, write: Callable[[str], _core.ConvertResult]) -> Converted:
    """What write(path) wrote: to a path of the system, from where it is sent if `file` is a URL."""
    upload = upload_for(file, storage, options.to, options.force)
    try:
        with named(upload):
            done = write(upload.local if upload else file)
        if upload:
            upload.send()
    finally:
        if upload:
            upload.discard()
    return converted(done)


def convert(
    what: Union[What, _open.FromSources],
    target: Path,
    *,
    to: Optional[str] = None,
    section: str = "",
    set: Sequence[str] = (),
    dtype: Any = None,
    state_list: Optional[Path] = None,
    path_map: Optional[Mapping[str, str]] = None,
    streams: Sequence[str] = (),
    renames: Optional[Mapping[str, str]] = None,
    keys: str = "automatic",
    shuffle: Optional[int] = None,
    shuffle_memory: int = 256 << 20,
    chunk_bytes: int = 32 << 20,
    legacy: bool = False,
    ctf2bin_chunks: Optional[bool] = None,
    frame_period: Optional[int] = None,
    parameter_kind: Union[int, str, None] = None,
    file_for_each_sequence: bool = False,
    binary_labels: bool = False,
    labels: Sequence[str] = (),
    jobs: int = 0,
    force: bool = False,
    verify: bool = False,
    limits: Optional[Limits] = None,
    storage_options: StorageOptions = None,
    report: Optional[Callable[[Fault], None]] = log,
    progress: Optional[Progress] = None,
) -> Converted:
    """Writes any corpus in another format: in parallel and in bounded memory. The target appears complete, or not at all.

    `target`: a path; for "ctf" and "cbf" also a URL that fsspec writes, to which the file is sent when it is complete
    (until then it lies in the folder for temporary files). `storage_options` are fsspec's for the URLs of both sides.

    `to`: "ctf", "cbf", "scp" (HTK features with their list), "htk" or "mlf"; if not given, by the extension of the
    target. With .zst behind that, text, binary corpora and labels are compressed. `streams`: those to keep, in this
    order. `renames`: {"old": "new"}. `keys`: "automatic", "keep", "number" or "none". `shuffle`: the seed of a global
    shuffle; `shuffle_memory`: the bytes that it may hold. `parameter_kind` (such as "FBANK_D"), `frame_period` (in
    100 ns) and `file_for_each_sequence` are for HTK files; kind and period, if not given, are those of the HTK files
    that the features come from, or else USER and 10 ms. `labels` (the names of the classes) and `binary_labels` are
    for MLF files. `jobs`: threads; 0: one for each core. `verify` reads the target back and compares.

    Values keep the bits of `dtype` (float32 unless a source or `dtype` says float64). Raises FormatError where the data
    are damaged beyond what their source allows, ConfigError where the target exists (unless `force`) or options do not
    fit, FileError where it cannot be written. After an error the target is as before, unless it was `verify` that failed.
    """
    file = path("target", target)
    form = form_of(file, to)
    options = target_options(
        form,
        report,
        legacy=legacy,
        chunk_bytes=chunk_bytes,
        ctf2bin_chunks=ctf2bin_chunks,
        streams=streams,
        renames=pairs("renames", renames, '{"old": "new"}'),
        keys=keys,
        shuffle=shuffle,
        shuffle_memory=shuffle_memory,
        frame_period=frame_period,
        parameter_kind=parameter_kind,
        file_for_each_sequence=file_for_each_sequence,
        binary_labels=binary_labels,
        labels=labels,
        jobs=jobs,
        force=force,
        verify=verify,
    )
    expect_absent(file, force)
    opening = opening_of(what, section, set, dtype, limits, storage_options, {}, state_list, path_map)
    options.part = _open.leaves_out(opening)
    setup = opening.setup(report)
    setup.set_report(report)
    return written(file, options, storage_options, lambda local: _core.convert(setup, local, options, report, told(progress)))
