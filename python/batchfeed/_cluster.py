# SPDX-License-Identifier: MIT
"""Work on corpora of many shards, one task for each shard; on_ray.py and on_dask.py run the tasks on clusters."""
from __future__ import annotations

import os
import posixpath
import secrets
import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from itertools import zip_longest
from types import SimpleNamespace
from typing import Any, Callable, Optional, TypeVar, Union

import numpy as np
import numpy.typing as npt

from . import _core
from ._errors import FormatError, refused, usage
from ._files import StorageOptions, file_system, names_in, working_directory
from ._given import Path, flag, pairs, path, paths, shown, whole
from ._info import Info, StreamDescription
from ._open import FromSources
from ._reader import Reader
from ._source import Writer
from ._sources import CBF, CTF, StreamSpec, _element, dense, sparse
from ._told import log
from ._tools import CheckReport, Converted, IndexInfo, check, convert, form_of, index, info, target_options

In = TypeVar("In")
Out = TypeVar("Out")
Corpus = Union[CTF, CBF, Path, Sequence[Path]]


class Cluster:
    """Runs work on the shards of a corpus: this class in its own process, one shard after the other.

    `batchfeed.on_ray.Cluster` and `batchfeed.on_dask.Cluster` run it on many machines, all of which must see the
    same paths. They write the same bytes; a task whose machine dies is run again elsewhere.

    A corpus is bf.CTF, bf.CBF or paths, with patterns. Streams of text are inferred over all shards where they
    are not declared.
    """

    def __init__(self, *, storage_options: StorageOptions = None) -> None:
        self._storage = storage_options

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.{type(self).__name__}>".replace("._cluster", "")

    def map(self, function: Callable[[In], Out], items: Iterable[In]) -> list[Out]:
        """[function(item) for item in items]; where a machine dies, items may be processed twice."""
        return [function(item) for item in items]

    def index(self, corpus: Corpus, *, cache_dir: Optional[Path] = None, rebuild: bool = False) -> list[IndexInfo]:
        """As bf.index(), of all shards. Without `cache_dir` each index lies beside its shard."""
        folder = None if cache_dir is None else path("cache_dir", cache_dir)
        shards = self._shards(corpus, kept_in=folder or "", rebuild=flag("rebuild", rebuild))
        return [one for shard in self.map(_Index(folder, rebuild), shards) for one in shard]

    def check(self, corpus: Corpus, *, max_faults: int = 100_000) -> CheckReport:
        """As bf.check(): the faults of all shards, in their order, also those for which a shard cannot be opened."""
        shards = self._alike(self._shards(corpus, damaged=True), damaged=True)
        reports = self.map(_Check(max_faults), shards)
        sums = {n: sum(getattr(r, n) for r in reports) for n in ("faults", "warnings", "sequences", "samples", "bytes")}
        ids = sum((Counter(r.by_id) for r in reports), Counter())
        whole = SimpleNamespace(**sums, by_id=dict(ids), complete=all(r.complete for r in reports))
        return CheckReport([f for r in reports for f in r][:max_faults], whole)

    def info(self, corpus: Corpus) -> Info:
        """As bf.info(), of all shards together."""
        found = self.map(_info, self._alike(self._shards(corpus)))
        counts = sum((lengths for _, lengths in found), Counter[int]())
        parts = [one for one, _ in found]
        total = {n: sum(getattr(one, n) for one in parts) for n in ("sequences", "samples", "chunks", "bytes")}
        return Info([_joined(same) for same in zip(*(p.streams for p in parts))], **total, **_lengths(counts))

    def convert(self, corpus: Corpus, folder: Path, *, to: str = "cbf", force: bool = False, **options: Any) -> list[Converted]:
        """Writes each shard in another format, under its own name in `folder`; `options` are those of bf.convert()."""
        dtype = _dtype_of(corpus, options)
        _expect_options({"to": to, "force": force, **options})
        target = _made(folder)
        shards = self._shards(corpus, dtype=dtype)
        names = [posixpath.splitext(posixpath.basename(shard.name))[0] + "." + to for shard in shards]
        twice = [name for name, n in Counter(names).items() if n > 1]
        if twice:
            raise usage("python.shards", f"two shards would be written to {twice[0]!r}", "convert them to two folders")
        jobs = [(shard, os.path.join(target, name)) for shard, name in zip(shards, names)]
        _refuse([path for _, path in jobs], force)
        return self.map(_Convert({"to": to, "jobs": 1, **options}), jobs)

    def shuffle(
        self, corpus: Corpus, folder: Path, *, shards: int, seed: int = 0, to: str = "cbf", force: bool = False, **options: Any
    ) -> list[Converted]:
        """Writes all sequences in random order, to `shards` files part-00000.cbf ... in `folder`.

        Each sequence goes to any file, and to any place in it, with the same probability. The result depends only on
        the corpus, `seed` and `shards`. In between all data are written once to a folder below `folder`, which is
        removed at the end.
        """
        shards, seed, dtype = whole("shards", shards, 1), whole("seed", seed), _dtype_of(corpus, options)
        if "shuffle" in options:
            raise usage("python.option", f"shuffle is {shown(options['shuffle'])}, and the shards are shuffled anyway", "seed= gives another order")
        _expect_options({"to": to, "force": force, **options})
        target = _made(folder)
        parts = [os.path.join(target, f"part-{k:05d}.{to}") for k in range(shards)]
        _refuse(parts, force)
        between = os.path.join(target, f".shuffle-{seed}-{secrets.token_hex(4)}")  # another shuffle may be running there
        try:
            old = self._alike(self._shards(corpus, dtype=dtype))
            _expect_others(parts, old)
            dealt = self.map(_Deal(between, shards, seed), list(enumerate(old)))
            pieces = [[piece for paths, _ in dealt if (piece := paths[k])] for k in range(shards)]
            # If each shard counts its own sequences from 0, two with the same number may meet, which other formats refuse.
            kept = to == "cbf" or len(dealt) == 1 or any(own for _, own in dealt)
            keys = "keep" if kept else "number"
            gather = _Gather(seed, {"to": to, "jobs": 1, "keys": keys, **options})
            return self.map(gather, [(k, parts[k], pieces[k]) for k in range(shards)])
        finally:
            shutil.rmtree(between, ignore_errors=True)

    def _shards(
        self, corpus: Corpus, damaged: bool = False, dtype: Optional[str] = None, kept_in: Optional[str] = None, rebuild: bool = False
    ) -> list[Shard]:
        """An opening for each shard. `damaged`: a shard whose streams cannot be inferred gets those of the others, instead
        of raising its fault. `kept_in`, `rebuild`: streams that are inferred are kept there, "" being beside the data, or
        where the corpus says."""
        source = corpus if isinstance(corpus, (CTF, CBF)) else None
        folder = working_directory()
        opened = file_system(self._storage, names_in(corpus), {}, folder)
        files = _core.expand_files(paths(source.files if source else corpus), opened, _core.Limits())
        if source is None:
            first = _core.detect_format(files[:1], opened, _core.Limits())
            if first not in ("ctf", "cbf"):
                raise usage("python.not-a-corpus", f"is of format {first}", "clusters work on text and binary corpora", path=files[0])
            source = CTF(files) if first == "ctf" else CBF(files)
            source = source if dtype is None else replace(source, dtype=dtype)
        keys: dict[str, Any] = {}
        if isinstance(source, CTF) and source.streams is None:
            keep = flag("cache_index", source.cache_index) or kept_in is not None
            cache_dir = kept_in or ("" if source.cache_dir is None else path("cache_dir", source.cache_dir))
            infer = _Infer(self._storage, folder, damaged, keep, cache_dir, rebuild)
            seen = [one for one in self.map(infer, files) if one is not None]
            if seen:  # else no shard can be read
                source, text = _declared(source, seen)
                keys = {"keys": "text"} if text else {}
        return [Shard(file, FromSources([replace(source, files=file)], {}, keys, self._storage)) for file in files]

    def _alike(self, shards: list[Shard], damaged: bool = False) -> list[Shard]:
        """The shards, if binary ones have the same streams, as readers expect. `damaged`: those that cannot be opened are
        left to who does."""
        if len(shards) == 1 or not isinstance(shards[0].opening._corpora()[0][0], CBF):
            return shards  # the streams of text are declared for all
        there = self.map(_Streams(damaged), shards)
        first: list[str] = next((one for one in there if one is not None), [])
        for number, (shard, found) in enumerate(zip(shards, there), 1):
            if found is None or found == first:
                continue
            there_is, expected = next((a, b) for a, b in zip_longest(found, first, fillvalue="none") if a != b)
            what = f"shard {number} of the corpus has other streams than the first: {there_is}, not {expected}"
            raise usage("python.shards", what, "they must agree in names, dims, storage and element type", path=shard.name)
        return shards


@dataclass(frozen=True)
class Shard:
    name: str
    opening: FromSources


# Tasks: plain values that can be sent, called with an item.


@dataclass(frozen=True)
class _Infer:
    storage: StorageOptions
    folder: str
    damaged: bool
    keep: bool
    cache_dir: str
    rebuild: bool

    def __call__(self, file: str) -> Optional[tuple[list[tuple[str, str, int]], bool, bool]]:
        try:
            files = file_system(self.storage, [file], {}, self.folder)
            seen = _core.infer_ctf([file], None, files, _core.Limits(), self.keep, self.cache_dir, self.rebuild)
        except FormatError as error:
            if not self.damaged or error.kind != "format":
                raise
            return None
        return [(s.spec.name, s.spec.storage, s.spec.dim) for s in seen.streams], seen.has_ids, seen.text_ids


@dataclass(frozen=True)
class _Streams:
    damaged: bool

    def __call__(self, shard: Shard) -> Optional[list[str]]:
        try:
            with Reader._of(shard.opening, log) as reader:
                found = list(reader.streams.values())
        except FormatError as error:
            if not self.damaged or error.kind != "format":
                raise
            return None
        return [f"{s.name!r} ({s.storage} {s.dim}{', double' if s.element == 'float64' else ''})" for s in found]


def _declared(source: CTF, seen: list[tuple[list[tuple[str, str, int]], bool, bool]]) -> tuple[CTF, bool]:
    """A text corpus whose streams fit all shards, and whether its ids are texts."""
    streams: dict[str, StreamSpec] = {}
    for found, _, _ in seen:
        for name, storage, dim in found:
            known = streams.get(name, StreamSpec(storage, 0))
            make = dense if "dense" in (known.storage, storage) else sparse
            streams[name] = make(max(dim, known.dim))
    without = not any(has_ids for _, has_ids, _ in seen)  # else the first line of each shard decides
    skip = without if source.skip_sequence_ids is None else source.skip_sequence_ids
    return replace(source, streams=streams, skip_sequence_ids=skip), not skip and any(text for _, _, text in seen)


@dataclass(frozen=True)
class _Index:
    cache_dir: Optional[str]
    rebuild: bool

    def __call__(self, shard: Shard) -> list[IndexInfo]:
        return index(shard.opening, cache_dir=self.cache_dir, rebuild=self.rebuild)


@dataclass(frozen=True)
class _Check:
    max_faults: int

    def __call__(self, shard: Shard) -> CheckReport:
        return check(shard.opening, max_faults=self.max_faults)


def _info(shard: Shard) -> tuple[Info, Counter[int]]:
    return info(shard.opening), Counter(_core.length_counts(shard.opening.setup(log)))


def _joined(same: Sequence[StreamDescription]) -> StreamDescription:
    return replace(same[0], dim=max(s.dim for s in same))


def _lengths(counts: Counter[int]) -> dict[str, Any]:
    """`lengths` and `steps` of an Info, as the library counts them."""
    lengths: npt.NDArray[Any] = np.array(sorted(counts), dtype=np.uint64)
    each = np.array([counts[n] for n in sorted(counts)], dtype=np.uint64)
    upto, total = np.cumsum(each), int(each.sum())
    out = {"min": float(lengths[0]), "max": float(lengths[-1]), "mean": float((lengths * each).sum() / total)}
    for percent in (50, 90, 99):
        out[f"p{percent}"] = float(lengths[np.searchsorted(upto, (total * percent + 99) // 100)])
    steps = []
    for k in range(64):
        most = 10 ** (k // 3) * (1, 2, 5)[k % 3]
        before = 0 if k == 0 else 10 ** ((k - 1) // 3) * (1, 2, 5)[(k - 1) % 3]
        steps.append((most, int(each[(lengths > before) & (lengths <= most)].sum())))
        if most >= lengths[-1]:
            break
    first = next(i for i, (_, n) in enumerate(steps) if n)
    return {"lengths": out, "steps": steps[first:]}


@dataclass(frozen=True)
class _Convert:
    options: dict[str, Any]

    def __call__(self, job: tuple[Shard, str]) -> Converted:
        shard, path = job
        return convert(shard.opening, path, force=True, **self.options)


# The most files that a task writes at a time; for more shards of the result it reads its own shard again.
MOST_WRITERS = 256


@dataclass(frozen=True)
class _Deal:
    """Deals the sequences of a shard out to files, one for each shard of the result that gets any. Returns their paths, and
    whether the shard has keys of its own: other ones than 0, 1, 2 ..."""

    folder: str
    shards: int
    seed: int

    def __call__(self, job: tuple[int, Shard]) -> tuple[list[Optional[str]], bool]:
        os.makedirs(self.folder, exist_ok=True)
        parts = (range(first, min(first + MOST_WRITERS, self.shards)) for first in range(0, self.shards, MOST_WRITERS))
        done = [self._deal(*job, part) for part in parts]
        return [path for paths, _ in done for path in paths], done[0][1]

    def _deal(self, number: int, shard: Shard, part: range) -> tuple[list[Optional[str]], bool]:
        """Writes the sequences that go to the shards in `part`. Every part draws the same random numbers."""
        random = np.random.Generator(np.random.Philox(key=np.array([self.seed, number], np.uint64)))
        options = {**shard.opening.options, "order": "file", "minibatch_size": 1 << 16}
        writers: dict[int, Writer] = {}
        read, own = 0, False
        with Reader._of(replace(shard.opening, options=options), log) as reader:
            streams = {s.name: StreamSpec(s.storage, s.dim) for s in reader.streams.values()}
            dtype = next(iter(reader.streams.values())).element
            for batch in reader:
                to = random.integers(0, self.shards, batch.num_sequences)
                own = own or batch.sequence_keys != [str(n) for n in range(read, read + batch.num_sequences)]
                read += batch.num_sequences
                for k in np.unique(to[(to >= part.start) & (to < part.stop)]).tolist():
                    if k not in writers:
                        path = os.path.join(self.folder, f"{number:05d}-{k:05d}.cbf")
                        writers[k] = Writer(path, streams, dtype=dtype, keys=True, force=True, chunk_bytes=1 << 20)
                    writers[k]._extend(*_rows(batch, np.flatnonzero(to == k)), exact=False)
        for writer in writers.values():
            writer.close()
        return [writers[k]._path if k in writers else None for k in part], own


def _rows(batch: Any, rows: npt.NDArray[Any]) -> tuple[dict[str, Any], Any, list[str]]:
    """Some sequences of a minibatch, as Writer._extend() takes them."""
    data: dict[str, Any] = {}
    first = next(iter(batch.values())).lengths
    for name, stream in batch.items():
        if np.array_equal(stream.lengths, first):
            samples = np.concatenate([np.arange(stream.offsets[r], stream.offsets[r + 1]) for r in rows])
            data[name] = (stream.csr() if stream.is_sparse else stream.values)[samples]
        else:
            all_of_them = stream.sequences()
            data[name] = [all_of_them[r] for r in rows]
    keys = batch.sequence_keys
    return data, first[rows], [keys[r] for r in rows]


@dataclass(frozen=True)
class _Gather:
    seed: int
    options: dict[str, Any]

    def __call__(self, job: tuple[int, str, list[str]]) -> Converted:
        number, path, pieces = job
        if not pieces:
            raise usage("python.shards", f"no sequence came to shard {number}", "the corpus has too few for so many shards")
        seed = np.random.SeedSequence([self.seed, number]).generate_state(1, np.uint64)[0]
        return convert(CBF(pieces), path, shuffle=int(seed), force=True, **self.options)


def _dtype_of(corpus: Corpus, options: dict[str, Any]) -> Optional[str]:
    """Takes `dtype` out of the `options` of convert(), as it belongs to the opening of the shards. Raises ConfigError for
    other options that say how a corpus is read."""
    for name in ("section", "set", "state_list", "path_map", "limits", "storage_options"):
        if options.get(name):
            hint = "bf.Cluster(storage_options=...) takes it" if name == "storage_options" else "leave it out"
            raise usage("python.option", f"{name} is {shown(options[name])}, which a cluster does not take", hint)
    dtype = options.pop("dtype", None)
    if dtype is not None and isinstance(corpus, (CTF, CBF)):
        raise usage("python.option", f"dtype is {shown(dtype)}, which is for files and not for sources", "say bf.CTF(file, dtype=...)")
    return None if dtype is None else _element(dtype)


# Options of convert() that do not say what is written.
OTHERS = ("section", "set", "state_list", "path_map", "limits", "storage_options", "report", "progress")


def _expect_options(options: dict[str, Any]) -> None:
    """Raises for options that convert() does not take: here, as a task would when much of the work is done."""
    signature(convert).bind(None, None, **options)
    given = {name: value for name, value in options.items() if name not in ("to", *OTHERS)}
    if "renames" in given:
        given["renames"] = pairs("renames", given["renames"], '{"old": "new"}')
    target_options(form_of(f"part.{options['to']}", options["to"]), options.get("report"), **given)


def _made(folder: Path) -> str:
    given = path("folder", folder)
    if _core.is_url(given):
        raise usage("python.target", "clusters write local files", "give a folder that all machines see, and send the files", path=given)
    target = os.path.abspath(given)
    try:
        os.makedirs(target, exist_ok=True)
    except OSError as error:
        raise refused("create", target, error) from error
    return target


def _expect_others(targets: Sequence[str], shards: Sequence[Shard]) -> None:
    """Raises if the shards themselves would be replaced, one by one: what a failure leaves would be neither corpus."""
    read = {os.path.realpath(os.path.join(one.opening.folder, one.name)) for one in shards if not _core.is_url(one.name)}
    for target in targets:
        if os.path.realpath(target) in read:
            raise usage("python.shards", "is a shard of what is read, which a failure would leave in part", "choose another folder", path=target)


def _refuse(targets: Sequence[str], force: bool) -> None:
    there = [path for path in targets if os.path.exists(path)]
    if there and not force:
        raise usage("python.exists", "the file exists", "force=True replaces it", path=there[0])
