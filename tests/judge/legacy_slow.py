# SPDX-License-Identifier: MIT
"""Minibatches of CNTK's oldest speech reader, HTKMLFReader, made slowly: frames one by one, whole utterances in rows, or rows of so
many steps. Features and labels of an utterance must be equally long; utterances are cut into pieces for a minibatch."""
from dataclasses import dataclass

from joined_slow import windows
from minibatch_slow import Entry, Sequence, ShuffledLine, cells


@dataclass
class Rules:
    kind: str  # frames, utterances, truncated
    full: bool  # minibatches of the size asked for, or none
    longest: int  # whole utterances with more frames are left out
    rows: int
    window: int
    shuffled: bool


def partner(source, first, number):
    """Of one utterance in another source, None if it is not as long."""
    of = [u for u in source.utterances if u.key == first.key]
    of = of[0] if source.kind == "mlf" and of else of[number] if number < len(of) else None
    return of if of and (source.expanded or of.counted == first.counted) else None


def dense(source, utterance):
    given = utterance.samples[source.streams[0].name]
    return [[float(i == row) for i in range(source.streams[0].dim)] for ((row, _),) in given] if source.kind == "mlf" else windows(given, *source.context)


def utterances(sources, rules):
    """[{stream: samples}] of the utterances that all sources have in the same length; the n-th of a key belongs to the n-th in other lists.
    None if more than half are left out for their features, or for their labels: that is refused."""
    found, seen, unlike, unlabelled = [], {}, 0, 0
    for first in sources[0].utterances:
        number = seen[first.key] = seen.get(first.key, -1) + 1
        of = [partner(source, first, number) for source in sources]
        if (rules.kind == "utterances" and first.counted > rules.longest) or any(u is None for u, source in zip(of, sources) if source.kind == "htk"):
            unlike += 1
        elif None in of:
            unlabelled += 1
        else:
            found.append({source.streams[0].name: dense(source, u) * (first.counted if source.expanded else 1) for u, source in zip(of, sources)})
    return None if not found or max(unlike, unlabelled) > len(sources[0].utterances) // 2 else found


class Pieces:
    """What of the endless line of sweeps is read at a time: frames, or whole utterances as one piece."""

    def __init__(self, found, rules):
        self.kind = rules.kind
        length = lambda samples: len(next(iter(samples.values())))
        if self.kind == "frames":
            found = [{name: given[i : i + 1] for name, given in samples.items()} for samples in found for i in range(length(samples))]
        self.found = found
        chunk = [Sequence(i, [length(samples)]) for i, samples in enumerate(found)]
        self.line = ShuffledLine([chunk], 1, 0, False, window=rules.window, of_samples=True)
        self.in_order = None if rules.shuffled else chunk

    def begin_epoch(self, number, size):
        """At the first sequence that begins in it."""
        samples, self.end = self.line.sweep_samples, (number + 1) * size
        self.sweep, self.position = number * size // samples, number * size // samples * samples
        self.at = 0
        while self.position < number * size:
            self.step()

    def row(self):
        if self.in_order:
            return self.in_order
        self.line.enter(self.sweep)
        return self.line.row

    def step(self):
        sequence = self.row()[self.at]
        self.position += sequence.lengths[0]
        self.at += 1
        if self.at == len(self.found):
            self.sweep, self.at = self.sweep + 1, 0
        return sequence

    def next(self, samples):
        """{stream: samples}, None at the end of the epoch; one sequence at least, and no more behind the end of a sweep."""
        if self.position >= self.end:
            return None
        limit = self.position + min(samples, self.end - self.position) + (self.kind == "frames")
        of = [self.step()]
        while self.at and self.position + self.row()[self.at].lengths[0] < limit:
            of.append(self.step())
        return {name: [sample for sequence in of for sample in self.found[sequence.number][name]] for name in self.found[0]}


def steps(piece):
    return len(next(iter(piece.values())))


def frames(pieces, rules, size, epoch_samples):
    whole = pieces.line.sweep_samples
    while (piece := pieces.next(size)) is not None:
        short = rules.full and steps(piece) < min(size, whole) and not epoch_samples < whole <= size
        if not short:
            yield steps(piece), 1, [(row, 0, {name: given[row : row + 1] for name, given in piece.items()}) for row in range(steps(piece))]


def whole_utterances(pieces, rules, size):
    """As many steps as the longest of the waiting pieces has; others stand behind each other, if they end before that."""
    waiting = [pieces.next(size) for _ in range(rules.rows)]
    while any(waiting):
        width, used, placed = max(steps(piece) for piece in waiting if piece), [0] * rules.rows, []

        def place(source, row):
            placed.append((row, used[row], waiting[source]))
            used[row] += steps(waiting[source])
            waiting[source] = pieces.next(size)

        for row in range(rules.rows):
            if waiting[row]:
                place(row, row)
        for source in range(rules.rows):
            while waiting[source] and (free := [row for row in range(rules.rows) if used[row] + steps(waiting[source]) < width]):
                place(source, free[0])
        yield rules.rows, width, placed


def truncated(pieces, rules, size):
    """Rows of `size` steps, in each of which at most two pieces meet."""
    rows = [[pieces.next(size), 0] for _ in range(rules.rows)]  # a piece, and how much of it was given
    while True:
        placed = []
        for i, row in enumerate(rows):
            if not row[0]:
                continue
            left = steps(row[0]) - row[1]
            if left:
                placed.append((i, -row[1], row[0]))
            if left > size:
                row[1] += size
                continue
            row[:] = pieces.next(size), 0
            if row[0] and left < size:
                placed.append((i, left, row[0]))
                row[1] = size - left
                if steps(row[0]) < row[1]:
                    row[:] = pieces.next(size), 0
        if not placed:
            return
        yield rules.rows, size, placed


def epoch_size(rules, samples, sweep, size):
    if not rules.full:
        return samples or sweep
    whole = sweep - sweep % size if sweep > size else sweep
    return whole if not samples else samples + (sweep % size * ((samples - 1) // whole) if sweep >= size else 0)


def epoch(pieces, rules, number, size, samples):
    """Its minibatches: of each stream rows, steps, where pieces stand, and samples by row and step."""
    length = epoch_size(rules, samples, pieces.line.sweep_samples, size)
    pieces.begin_epoch(number, length)
    make = {"frames": lambda: frames(pieces, rules, size, length), "utterances": lambda: whole_utterances(pieces, rules, size), "truncated": lambda: truncated(pieces, rules, size)}
    for height, width, placed in make[rules.kind]():
        entries = [Entry(i, row, begin, begin + steps(piece)) for i, (row, begin, piece) in enumerate(placed)]
        where = sorted((e.row, e.begin, e.end) for e in entries)
        yield {name: (height, width, where, {at: placed[i][2][name][n] for at, (i, n) in cells(entries, width).items()}) for name in pieces.found[0]}
