# SPDX-License-Identifier: MIT
"""Readers of small corpora, with options that nobody chose by hand."""
import random
from dataclasses import dataclass, replace

from minibatch_slow import NO_LIMIT, FileLine, Sequence, ShuffledLine, Truncated, cells, packed, packed_frames, share

STREAMS = "ab"  # dense, of one value a sample
EPOCHS = 3  # of a case


@dataclass
class Case:
    sequences: list  # of each the samples in the streams
    chunk_bytes: int
    composite: bool  # readers of text count limits over all workers, composite ones for each
    packing: str  # sequences, frames, truncated
    steps: int  # of truncated rows
    minibatch: int
    workers: int
    rank: int
    first_epoch: int
    epoch_samples: int  # 0: a sweep
    crosses_sweeps: bool
    shuffled: bool
    window: int
    of_samples: bool
    seed: int


def case(seed):
    rng = random.Random(seed)
    packing = rng.choice(["sequences", "sequences", "frames", "truncated"])
    longest = 1 if packing == "frames" else rng.choice([2, 5, 12])
    sequences = []
    for _ in range(rng.choice([1, 2, 7, 20, 60, 60])):
        n = rng.randint(1, longest)
        sequences.append((n, n if packing == "truncated" or rng.random() < 0.6 else rng.randint(1, n)))
    total = sum(map(max, sequences))
    workers = rng.choice([1, 1, 2, 3, 5])
    steps = rng.choice([1, 2, 3, 7])
    minibatch = rng.choice([1, 2, 3, 5, 8, 20, total, 1000])
    return Case(
        sequences=sequences,
        chunk_bytes=rng.choice([1, 30, 60, 150, 10000]),
        composite=packing == "truncated" or rng.random() < 0.5,
        packing=packing,
        steps=steps,
        minibatch=max(minibatch, workers * steps) if packing == "truncated" else minibatch,
        workers=workers,
        rank=rng.randrange(workers),
        first_epoch=rng.choice([0, 0, 0, 1, 2, 1000]),
        epoch_samples=rng.choice([0, 0, 1, total, total + 1, 2 * total, rng.randint(1, 3 * total), rng.randint(1, 3 * total)]),
        crosses_sweeps=rng.random() < 0.4,
        shuffled=rng.random() < 0.75,
        window=rng.choice([0, 1, 2, 3, 5, rng.randint(0, 2 * total), 10**9]),
        of_samples=rng.random() < 0.5,
        seed=rng.choice([0, 1, 7, rng.randrange(1 << 64)]))


def value(number, sample, stream):
    return float(100 * number + 10 * STREAMS.index(stream) + sample % 10)


def text(number, lengths):
    """The lines of a sequence."""
    out = []
    for i in range(max(lengths)):
        out.append(str(number) + "".join(f" |{s} {value(number, i, s):g}" for s, n in zip(STREAMS, lengths) if i < n))
    return "\n".join(out) + "\n"


def files(case):
    """The corpus, which is called data, and the configuration."""
    true = lambda yes: "true" if yes else "false"
    data = f'file = "data" ; chunkSizeInBytes = {case.chunk_bytes} ; input = [ {" ; ".join(f"{s} = [ dim = 1 ; format = dense ]" for s in STREAMS)} ]'
    order = (f"randomize = {true(case.shuffled)} ; randomizationWindow = {case.window} ; sampleBasedRandomizationWindow = {true(case.of_samples)}\n"
             f"randomizationSeed = {case.seed} ; frameMode = {true(case.packing == 'frames')}\n")
    if case.packing == "truncated":
        order += f"truncated = true ; truncationLength = {case.steps}\n"
    if case.composite:
        reader = f'{order} deserializers = ( [ type = "CNTKTextFormatDeserializer" ; module = "CNTKTextFormatReader" ; {data} ] )'
    else:
        reader = f'readerType = "CNTKTextFormatReader" ; {order} {data}'
    return {"data": "".join(text(i, lengths) for i, lengths in enumerate(case.sequences)).encode(), "c.cntk": f"reader = [ {reader} ]\n".encode()}


def arguments(case, _after=None):
    return list(map(str, ["--minibatch-size", case.minibatch, "--workers", case.workers, "--rank", case.rank, "--start-epoch", case.first_epoch, "--epochs", EPOCHS,
            "--epoch-size", case.epoch_samples, "--cross-sweeps" if case.crosses_sweeps else "--no-cross-sweeps"]))


def chunks(case):
    """As many sequences each as have their text in so many bytes; at least one."""
    out, room = [], 0
    for number, lengths in enumerate(case.sequences):
        size = len(text(number, lengths))
        if not out or size > room:
            out.append([])
            room = case.chunk_bytes
        out[-1].append(Sequence(number, lengths))
        room -= size
    return out


def line(case):
    shared = {"chunks": chunks(case), "workers": case.workers, "rank": case.rank, "crosses_sweeps": case.crosses_sweeps}
    # Readers of text take a window of nothing for no shuffle.
    if not case.shuffled or (case.window == 0 and not case.composite):
        return FileLine(**shared)
    return ShuffledLine(**shared, window=case.window, of_samples=case.of_samples, seed=case.seed)


def layouts(case, sequences, truncated):
    for i, stream in enumerate(STREAMS):
        lengths = [sequence.lengths[i] for sequence in sequences]
        yield stream, truncated or (packed_frames if case.packing == "frames" else packed)(lengths)


def minibatches(case):
    """What the reader is to give: place, flags and, of each stream, rows, steps, entries with keys, and values by row and step."""
    source = line(case)
    limits = (NO_LIMIT, max(1, share(case.minibatch, case.workers, case.rank))) if case.composite else (case.minibatch, case.minibatch)
    out = []
    for epoch in range(case.first_epoch, case.first_epoch + EPOCHS):
        source.begin_epoch(epoch, case.epoch_samples)
        rows = Truncated(source, case.steps, case.minibatch) if case.packing == "truncated" else None
        ended = False
        while not ended:
            given, *truncated = rows.next() if rows else (source.next(*limits),)
            streams = {}
            for stream, (height, width, entries) in layouts(case, given.sequences, truncated) if given.sequences else ():
                keys = [(e, None if e.sequence is None else str(given.sequences[e.sequence].number)) for e in entries]
                values = {place: [value(given.sequences[i].number, sample, stream)] for place, (i, sample) in cells(entries, width).items()}
                streams[stream] = height, width, keys, values
            out.append((epoch, given.ends_epoch, given.ends_sweep, source.position, streams))
            ended = given.ends_epoch
    return out


def compared(printed):
    return printed


def shrunk(case, smaller):
    of = lambda sequences: replace(case, sequences=sequences)
    return of(smaller(case.sequences, of))
