# SPDX-License-Identifier: MIT
"""Corpora of several sources, joined slowly: of each utterance of the first source what the others have of its key; and the
minibatches of it. The rules of CNTK's readers written down as plainly as possible; shares nothing with the engine."""
from dataclasses import dataclass

from minibatch_slow import NO_LIMIT, FileLine, Sequence, ShuffledLine, Truncated, cells, packed, packed_frames, share


@dataclass
class Stream:
    name: str
    dim: int
    sparse: bool = False


@dataclass
class Utterance:
    """What one source has of a key."""

    key: str
    samples: dict  # of each stream; a sparse sample is a list of pairs
    counted: int  # samples, for orders and limits
    damaged: bool = False  # it keeps its place, and is not delivered
    left_out: bool = False  # it has no place
    text: str = ""  # where the source is text


@dataclass
class Source:
    kind: str  # ctf, cbf, htk, mlf, mlf_binary
    streams: list
    utterances: list
    chunk: int = 0  # bytes of text, sequences of a binary file
    main: str = ""  # stream that defines the minibatch size
    expanded: bool = False  # the one frame of an utterance stands for all
    context: tuple = (0, 0)  # frames before and after
    keys: str = ""  # of its section


@dataclass
class Order:
    """How a reader goes along a corpus."""

    shuffled: bool
    window: int
    of_samples: bool
    seed: int
    workers: int
    rank: int
    crosses_sweeps: bool


@dataclass
class Packing:
    kind: str  # sequences, frames, truncated
    steps: int = 0  # of truncated rows; 0: the minibatch size says them
    splice: int = 0
    rows: tuple = ()  # in each epoch, where the minibatch size says the steps
    all_workers: bool = False  # a minibatch size is of all workers together


@dataclass
class Joined:
    """A sequence of the joined corpus."""

    key: str
    samples: dict
    damaged: bool


def windows(samples, left, right):
    """Of each frame those around it; the first and the last repeat."""
    if left == right == 0:
        return samples
    return [sum((samples[min(max(k, 0), len(samples) - 1)] for k in range(i - left, i + right + 1)), []) for i in range(len(samples))]


def whole(pieces, sources):
    """An utterance of all sources, and the samples that count."""
    samples = {}
    for utterance, source in zip(pieces, sources):
        times = pieces[0].counted if source.expanded else 1
        samples |= {name: windows(given, *source.context) * times for name, given in utterance.samples.items()}
    main = [utterance.counted for utterance, source in zip(pieces, sources) if source.main]
    return Joined(pieces[0].key, samples, any(u.damaged for u in pieces)), main[0] if main else max(u.counted for u in pieces)


def frames(pieces, sources):
    """Each frame as a sequence of its own. Where a source has too few of them, all are damaged."""
    joined, _ = whole(pieces, sources)
    length = pieces[0].counted
    damaged = joined.damaged or any(len(samples) < length for samples in joined.samples.values())
    return [(Joined(joined.key, {name: given[i : i + 1] for name, given in joined.samples.items()}, damaged), 1) for i in range(length)]


def join(sources, chunks, into_frames):
    """All sequences, and those of each chunk as the orders know them. A chunk that nothing is left of is none."""
    others = [{u.key: u for u in reversed(source.utterances) if not u.left_out} for source in sources[1:]]  # the first of a key
    found, out = [], []
    for chunk in chunks:
        sequences = []
        for utterance in chunk:
            pieces = [utterance, *(other.get(utterance.key) for other in others)]
            if None in pieces:
                continue
            for joined, counted in frames(pieces, sources) if into_frames else [whole(pieces, sources)]:
                sequences.append(Sequence(len(found), [len(samples) for samples in joined.samples.values()], counted))
                found.append(joined)
        if sequences:
            out.append(sequences)
    return found, out


def make_dense(found, sources):
    """As truncated rows are given."""
    for stream in (stream for source in sources for stream in source.streams if stream.sparse):
        for joined in found:
            joined.samples[stream.name] = [[dict(sample).get(row, 0.0) for row in range(stream.dim)] for sample in joined.samples[stream.name]]


class Reading:
    """Minibatches of a joined corpus, one after the other."""

    def __init__(self, found, chunks, order, packing):
        self.found, self.packing = found, packing
        shared = {"chunks": chunks, "workers": order.workers, "rank": order.rank, "crosses_sweeps": order.crosses_sweeps}
        shuffle = {"window": order.window, "of_samples": order.of_samples, "seed": order.seed}
        self.line = ShuffledLine(**shared, **shuffle) if order.shuffled else FileLine(**shared)

    def begin_epoch(self, number, samples, size):
        self.line.begin_epoch(number, samples)
        self.take(size, number)

    def take(self, size, epoch=0):
        """From now on minibatches of so many samples. What waits in truncated rows is given up."""
        of = self.packing
        if of.kind == "truncated":
            samples = size if of.steps else size * of.rows[min(epoch, len(of.rows) - 1)]
            self.rows = Truncated(self, of.steps or size, samples, of.splice)
        self.limits = (size, size) if of.all_workers else (NO_LIMIT, max(1, share(size, self.line.workers, self.line.rank)))

    def change(self, size, workers, rank):
        """Under way."""
        self.line.workers, self.line.rank = workers, rank
        self.line.go_to(self.line.position)
        self.take(size)

    # For truncated rows.
    workers = property(lambda self: self.line.workers)
    rank = property(lambda self: self.line.rank)

    def next(self, *limits):
        """The next sequences, without those that are damaged."""
        given = self.line.next(*limits)
        given.sequences = [sequence for sequence in given.sequences if not self.found[sequence.number].damaged]
        return given

    def minibatch(self):
        """Flags, position, and of each stream rows, steps, entries with keys, and samples by row and step."""
        given, *truncated = self.rows.next() if self.packing.kind == "truncated" else (self.next(*self.limits),)
        streams, of = {}, [self.found[sequence.number] for sequence in given.sequences]
        for name in of[0].samples if of else ():
            pack = packed_frames if self.packing.kind == "frames" else packed
            height, width, entries = truncated or pack([len(joined.samples[name]) for joined in of])
            keys = [(e, None if e.sequence is None else of[e.sequence].key) for e in entries]
            streams[name] = height, width, keys, {place: of[i].samples[name][n] for place, (i, n) in cells(entries, width).items()}
        return given.ends_epoch, given.ends_sweep, self.line.position, streams
