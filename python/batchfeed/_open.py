# SPDX-License-Identifier: MIT
"""What a reader was opened with: kept, so that it can be opened again in another process."""
from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional, Union

import numpy as np

from . import _core
from ._errors import ConfigError, Fault, usage
from ._files import Limits, StorageOptions, file_system, names_in, need_storage, working_directory
from ._given import Path, counts, expecting, like, mapping, path as as_path, paths, shown, text, texts, weight, wrong
from ._options import apply
from ._sources import CBF, CTF, MLF, HTKFeatures, Kaldi, _element, moved_paths

if TYPE_CHECKING:
    from ._source import Source

AnySource = Union[CTF, CBF, HTKFeatures, MLF, Kaldi, "Source", str, "os.PathLike[str]"]
Joined = Union[AnySource, Iterable[AnySource]]  # one source, or several joined by their sequences' keys


class Mix:
    """Several corpora with the same streams, mixed without end: bf.Mix((corpus, weight), ...).

    Each corpus gives a share of the samples in proportion to its weight, a number above 0, and goes through sweeps
    of its own. A corpus is a source, or a list of sources that are joined. Raises ConfigError for anything else.
    """

    def __init__(self, *parts: tuple[Joined, float]) -> None:
        for part in parts:
            if not isinstance(part, (list, tuple)) or len(part) != 2:
                raise wrong("a part of a Mix", part, '(corpus, weight), such as ("a.ctf", 0.5)')
        self.corpora: list[list[Any]] = [as_list(corpus) for corpus, _ in parts]
        self.weights: list[float] = [weight("the weight of a corpus", share) for _, share in parts]

    def __repr__(self) -> str:
        return f"Mix({', '.join(f'({_names(c)}, {w:g})' for c, w in zip(self.corpora, self.weights))})"


What = Union[Joined, Mix]
CONFIGS = (".cntk", ".cfg", ".config")


def several(given: Any) -> Any:
    """What was given; as a list if it is an array of names or an iterator, such as Path.glob() makes.

    It stops at the first that is no source: a loop over minibatches, say, might never end.
    """
    names = isinstance(given, np.ndarray) and given.ndim == 1 and given.dtype.kind == "U"
    if not names and (not isinstance(given, Iterator) or hasattr(given, "read")):
        return given
    out = []
    for one in given:
        out.append(one)
        if not isinstance(one, (str, bytes, os.PathLike)) and not hasattr(one, "_options"):
            break
    return out


def as_list(given: Joined) -> list[Any]:
    listed = several(given)
    return list(listed) if isinstance(listed, (list, tuple)) else [listed]


class PlanItem(NamedTuple):
    """One sequence of a minibatch, or one frame of it."""

    chunk: int
    row: int  # in the chunk
    key: str
    samples: int
    frame: Optional[int]  # with pack="frames": its number in the sequence, from 0
    corpus: int  # its number in a mixture, from 0


class BatchPlan(NamedTuple):
    """What a minibatch will consist of."""

    items: list[PlanItem]
    position: int  # samples of all workers up to the end of the minibatch
    end_of_epoch: bool
    end_of_sweep: bool


Opening = Union["FromSources", "FromFile", "FromSetup"]


def opening_of(
    what: Union[What, FromSources, FromFile],
    section: str,
    set: Sequence[str],
    dtype: Any,
    limits: Optional[Limits],
    storage: StorageOptions = None,
    options: Mapping[str, Any] = {},
    state_list: Optional[Path] = None,
    path_map: Optional[Mapping[str, str]] = None,
) -> Opening:
    """Keeps files as open() takes them, or sources as Reader() does. Raises ConfigError for options that are for the other."""
    states = None if state_list is None else as_path("state_list", state_list)
    moved = moved_paths(path_map)
    if isinstance(what, (FromSources, FromFile)):
        return what
    bounds = given_limits(limits)
    many = [] if isinstance(what, Mix) else as_list(what)
    if isinstance(what, Mix) or not all(isinstance(one, (str, bytes, os.PathLike)) for one in many):
        hints = {
            "dtype": "say bf.CTF(file, dtype=...)",
            "state_list": "say bf.MLF(files, mapping_file=...)",
            "path_map": "say bf.HTKFeatures(name, lists, path_map=...)",
        }
        given = {"section": section or None, "set": set or None, "dtype": dtype, "state_list": states, "path_map": path_map or None}
        for name, value in given.items():
            if value is not None:
                where = hints.get(name, "name the configuration instead")
                raise usage("python.option", f"{name} is {value!r}, which is for files and not for sources", where)
    if isinstance(what, Mix):
        return FromSources(what, bounds, dict(options), storage)
    if all(isinstance(one, (str, bytes, os.PathLike)) for one in many):
        return FromFile(paths(many), section, texts("set", set), dtype, bounds, dict(options), states, storage, path_map=moved)
    for one in many:
        _need_source(one)
    return FromSources(many, bounds, dict(options), storage)


def keeping_streams(opening: Opening, folder: str) -> Opening:
    """The same, but streams that are inferred of text are kept in a folder; "": beside the data."""
    if isinstance(opening, FromFile):
        return replace(opening, kept_in=folder)

    def kept(one: Any) -> Any:
        return replace(one, cache_index=True, cache_dir=folder or one.cache_dir) if isinstance(one, CTF) else one

    if not isinstance(opening, FromSources):
        return opening
    corpora = [[kept(one) for one in corpus] for corpus in opening._corpora()]
    if isinstance(opening.sources, Mix):
        return replace(opening, sources=Mix(*zip(corpora, opening.sources.weights)))
    return replace(opening, sources=corpora[0])


def openings_of(
    corpora: Sequence[Union[What, FromSources, FromFile]],
    section: str,
    set: Sequence[str],
    dtype: Any,
    limits: Optional[Limits],
    storage: StorageOptions,
    state_list: Optional[Path],
    path_map: Optional[Mapping[str, str]],
    sections: Mapping[int, str] = {},
) -> list[Opening]:
    """The openings of corpora that are used together: options go to those that they are for, and are refused if that is none.

    `section` and `set` are for configurations, `dtype`, `state_list` and `path_map` for all files. `sections`: other
    sections, by the number of the corpus.
    """
    corpora = [several(what) for what in corpora]
    bare = [opening_of(what, "", (), None, limits, storage) for what in corpora]
    files = [isinstance(one, FromFile) for one in bare]
    configs = [isinstance(one, FromFile) and not (bool(section or set) and one.is_data()) for one in bare]
    out = []
    for i, what in enumerate(corpora):
        config, file = configs[i] or not any(configs), files[i] or not any(files)
        for_config = (sections.get(i) or (section if config else ""), set if config else ())
        for_file = (state_list, path_map) if file else (None, None)
        out.append(opening_of(what, *for_config, dtype if file else None, limits, storage, {}, *for_file))
    return out


def leaves_out(opening: Opening) -> bool:
    """Whether only some streams of its files may be read: those that a configuration or a source declares."""
    if isinstance(opening, FromFile):
        return opening.is_config()
    corpora = opening._corpora() if isinstance(opening, FromSources) else []
    return any(isinstance(one, CTF) and one.streams is not None for corpus in corpora for one in corpus)


def look_at(opening: Opening) -> None:
    """Raises what is wrong with options and files, as far as it can be found without reading a corpus.

    Does not look at files behind URLs, nor at sources of the user's own.
    """
    options = {"rank": 0, **opening.options}  # the rank may not be known yet
    apply(_core.Setup().reader, options)
    if isinstance(opening, FromSetup):
        return
    need_storage(opening.storage)
    sources = opening.files if isinstance(opening, FromFile) else [one for corpus in opening._corpora() for one in corpus]
    programs = [one for one in sources if not isinstance(one, (str, bytes, os.PathLike)) and not is_dataclass(one)]
    far = opening.storage is not None or any(_core.is_url(os.fsdecode(name)) for name in names_in(sources))
    if far or programs:
        return
    setup = replace(opening, options=options).setup(None)
    for one in sources:
        if isinstance(one, CTF):  # if its streams are declared, setup() has not opened its files
            files = _core.expand_files(paths(one.files), setup.file_system, setup.limits)
            _core.detect_format(files, setup.file_system, setup.limits)


def _need_source(one: Any) -> None:
    if not isinstance(one, (str, bytes, os.PathLike)) and not hasattr(one, "_options"):
        hint = _as_source(one)
        raise TypeError(f"a path or a source (bf.CTF ..., a bf.Source) is read, not {shown(one)}{hint and '; ' + hint}")


def need_files(path: Any) -> None:
    """Raises TypeError for what Reader() reads and open() does not."""
    for one in [path] if isinstance(path, Mix) else as_list(path):
        source = isinstance(one, Mix) or hasattr(one, "_options")
        hint = "bf.Reader() reads sources" if source else _as_source(one)
        if hint and not isinstance(one, (str, bytes, os.PathLike)):
            raise TypeError(f"path is {shown(path)}, expected a path (str, bytes or os.PathLike) or a list of them; {hint}")


def _as_source(one: Any) -> str:
    """A hint what makes a source of such data in memory; "" for other things."""
    if hasattr(one, "load_state_dict"):
        return "give what it was opened with"
    for sign, way in (("with_format", "bf.from_datasets()"), ("column_names", "bf.from_arrow()"), ("columns", "bf.from_pandas()")):
        if hasattr(one, sign):
            return f"{way} makes a source of it"
    arrays = isinstance(one, Mapping) or hasattr(one, "__array__") or hasattr(one, "tocsr")
    return "bf.Arrays({'x': array, ...}) makes a source of arrays" if arrays else ""


def given_limits(limits: Optional[Limits]) -> dict[str, Any]:
    return mapping("limits", limits or {}, '{"line_bytes": 1 << 20}')


def core_limits(limits: Limits) -> _core.Limits:
    out = _core.Limits()
    for name, value in limits.items():
        if name == "roots":  # file_system() takes it
            continue
        if not isinstance(name, str) or not hasattr(out, name):
            meant = get_close_matches(str(name), [n for n in dir(out) if not n.startswith("_")], 1)
            hint = f"did you mean {meant[0]!r}?" if meant else "docs/reference/limits.md lists them"
            raise usage("python.limit", f"no limit {name!r}", hint)
        now = getattr(out, name)
        with expecting(f"limits[{name!r}]", value, like(now)):
            if counts(value, now):
                raise TypeError
            setattr(out, name, value)
    return out


def _corpus(path: str, files: _core.FileSystem, limits: _core.Limits) -> Union[CTF, CBF]:
    kind = _core.detect_format([path], files, limits)
    if kind == "cbf":
        return CBF(path)
    if kind == "ctf":
        return CTF(path)
    raise usage(
        "python.not-a-corpus",
        f"a {kind} file alone does not say what to read" if kind != "unknown" else "is in no format that batchfeed knows",
        OTHERS.get(os.path.splitext(path)[1].lower(), "open() takes a .cntk configuration; Reader() takes sources such as bf.HTKFeatures(...)"),
        path=path,
    )


# Hints what reads the formats of other libraries, by the extension of a file.
OTHERS = {
    **dict.fromkeys((".parquet", ".pq"), "bf.from_parquet() reads it"),
    **dict.fromkeys((".svm", ".svmlight", ".libsvm"), "bf.from_svmlight() reads it"),
    **dict.fromkeys((".csv", ".tsv"), "bf.from_pandas(pandas.read_csv(...)) reads it"),
    **dict.fromkeys((".npy",), "bf.Arrays({'x': numpy.load(...)}) reads it"),
    ".npz": "bf.from_npz() reads it",
}


def _name(source: AnySource) -> str:
    if isinstance(source, (str, bytes, os.PathLike)):
        return repr(str(os.fsdecode(source)))
    return type(source).__name__


def _names(sources: Sequence[AnySource]) -> str:
    return ", ".join(map(_name, sources))


@dataclass
class FromSources:
    sources: Union[Mix, Sequence[AnySource]]
    limits: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    storage: StorageOptions = None
    folder: str = field(default_factory=working_directory)

    def _corpora(self) -> list[list[Any]]:
        if isinstance(self.sources, Mix):
            return self.sources.corpora
        joined: list[Any] = [*self.sources]
        return [joined]

    def file_system(self) -> _core.FileSystem:
        return file_system(self.storage, names_in(self._corpora()), self.limits, self.folder)

    def setup(self, report: Optional[Callable[[Fault], None]]) -> _core.Setup:
        setup = _core.Setup()
        setup.file_system = self.file_system()
        setup.limits = core_limits(self.limits)
        mix = self.sources if isinstance(self.sources, Mix) else None
        built = [[_build(source, setup) for source in corpus] for corpus in self._corpora()]
        keys = [wanted for corpus in built for _, wanted in corpus if wanted]
        weights = {"mix_weights": mix.weights} if mix else {}
        apply(setup.reader, {"keys": keys[0] if keys else "numeric", **weights, **self.options})
        for corpus in built:
            for options, _ in corpus:
                setup.add(options)
            if mix:
                setup.end_corpus()
        setup.frame_mode()
        return setup

    def __str__(self) -> str:
        return repr(self.sources) if isinstance(self.sources, Mix) else _names(self.sources)


def _build(source: Any, setup: _core.Setup) -> tuple[Any, Optional[str]]:
    """The library's options for a source, and the key mode it needs."""
    _need_source(source)
    if isinstance(source, (str, bytes, os.PathLike)):
        source = _corpus(as_path("path", source), setup.file_system, setup.limits)
    options: tuple[Any, Optional[str]] = source._options(setup)
    return options


@dataclass
class FromFile:
    files: list[str]
    section: str = ""
    set: list[str] = field(default_factory=list)
    dtype: Any = None
    limits: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    state_list: Optional[str] = None
    storage: StorageOptions = None
    folder: str = field(default_factory=working_directory)
    path_map: list[tuple[str, str]] = field(default_factory=list)
    all_faults: bool = False  # of a configuration: `report` gets each, and the first is raised at the end
    kept_in: Optional[str] = None  # of text: the folder its inferred streams are kept in; "": beside it. None: they are not

    def __post_init__(self) -> None:
        if not isinstance(self.section, str):
            raise wrong("section", self.section, "the name of a section, such as 'Train.reader'")
        text("section", self.section)

    def is_config(self) -> bool:
        if not self.files:
            raise usage("python.no-file", "no file given")
        extension = os.path.splitext(self.files[0])[1]
        return bool(self.section or self.set) or extension in CONFIGS

    def _data_kind(self, files: _core.FileSystem, limits: _core.Limits) -> Optional[str]:
        """The format of a data file, which is no configuration whatever options are given."""
        if os.path.splitext(self.files[0])[1] in CONFIGS:
            return None
        kind = _core.detect_format(self.files[:1], files, limits)
        return kind if kind in ("ctf", "cbf", "htk", "mlf") else None

    def is_data(self) -> bool:
        if not self.files:
            return False
        files, limits = self.file_system(), core_limits(self.limits)
        return replace(self, files=_core.expand_files(self.files, files, limits))._data_kind(files, limits) is not None

    def _expect_config(self, files: _core.FileSystem, limits: _core.Limits) -> None:
        """Raises ConfigError if `section` or `set` make a data file a configuration: every line would be a fault."""
        kind = self._data_kind(files, limits) if self.is_config() else None
        if kind is not None:
            given = f"section is {self.section!r}" if self.section else f"set is {self.set!r}"
            raise usage("python.option", f"is a {kind} file, and {given}, which is for configurations", "leave it out", path=self.files[0])

    def file_system(self) -> _core.FileSystem:
        return file_system(self.storage, [*self.files, self.state_list, *(new for _, new in self.path_map)], self.limits, self.folder)

    def each_section(self) -> list[FromFile]:
        """One opening for each reader section of a configuration; only this one if it names a section, or is none."""
        if self.section or not self.is_config():
            return [self]
        remote, limits = self.file_system(), core_limits(self.limits)
        self._expect_config(remote, limits)
        sections = _core.reader_sections(self.files, self.set, remote, limits)
        return [replace(self, section=one) for one in sections] if len(sections) > 1 else [self]

    def _said(self, loaded: _core.LoadedConfig, name: str) -> Any:
        """A size that a configuration gives; None if it gives none, or, with all_faults, a wrong one."""
        try:
            return getattr(loaded, name)
        except ConfigError:
            if not self.all_faults:  # else it has been reported
                raise
            return None

    def setup(self, report: Optional[Callable[[Fault], None]]) -> _core.Setup:
        remote, limits = self.file_system(), core_limits(self.limits)
        self._expect_config(remote, limits)
        files = self.files if self.is_config() else _core.expand_files(self.files, remote, limits)
        kind = "config" if self.is_config() else _core.detect_format(files, remote, limits)
        if kind in ("scp", "htk", "mlf", "kaldi"):
            setup = _core.Setup()
            setup.file_system = remote
            setup.limits = limits
            setup.set_report(report)
            setup.add_speech(self.files, self.state_list or "", "float32" if self.dtype is None else _element(self.dtype))
            setup.map_paths(self.path_map)
            apply(setup.reader, {"keys": "text", **self.options})
            setup.frame_mode()
            return setup
        if kind != "config":
            corpus = _corpus(files[0], remote, limits)
            source = type(corpus)(self.files, dtype=self.dtype or corpus.dtype)
            if isinstance(source, CTF) and self.kept_in is not None:
                source = replace(source, cache_index=True, cache_dir=self.kept_in or None)
            return FromSources([source], self.limits, self.options, self.storage, self.folder).setup(report)
        element = None if self.dtype is None else _element(self.dtype)
        loaded = _core.load_config(self.files, self.set, self.section, element, report, remote, limits, self.all_faults)
        setup = loaded.setup
        setup.map_paths(self.path_map)
        given = dict(self.options)
        if not given.keys() & {"minibatch_size", "minibatch_samples"} and (sizes := self._said(loaded, "minibatch_size")):
            setup.reader.minibatch_size = sizes
        if not given.keys() & {"epoch_samples", "epoch_sweeps"} and (epoch := self._said(loaded, "epoch_size")) is not None:
            setup.reader.epoch_samples = epoch
        if "epoch_sweeps" in given and "epoch_samples" not in given:
            given["epoch_samples"] = 0
        apply(setup.reader, given)
        return setup

    def __str__(self) -> str:
        return ", ".join(map(repr, self.files))


@dataclass
class FromSetup:
    """A function that makes the library's setup."""

    make: Callable[[], _core.Setup]
    name: str
    options: dict[str, Any] = field(default_factory=dict)

    def setup(self, report: Optional[Callable[[Fault], None]]) -> _core.Setup:
        return self.make()

    def __str__(self) -> str:
        return self.name
