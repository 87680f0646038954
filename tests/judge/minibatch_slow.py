# SPDX-License-Identifier: MIT
"""Minibatches, made slowly: which sequences come next in the order `cntk` or in the files' own, for each of several
workers and over epochs of any size, and where their samples stand. The rules of CNTK's readers written down as plainly
as possible, a whole sweep at a time; judges the engine's orders and packers, and shares nothing with them."""
from collections import namedtuple
from dataclasses import dataclass, field
from itertools import accumulate

WORD = (1 << 64) - 1
NO_LIMIT = WORD

# Of a corpus, and of a sweep: `home` is the place that its chunk has in the sweep. `counted`: samples for orders and limits, if not those of its longest stream.
Sequence = namedtuple("Sequence", "number lengths counted home", defaults=(None, 0))
Entry = namedtuple("Entry", "sequence row begin end")  # sequence: in the minibatch, None for a gap


def nominal(sequence):
    """The samples that orders and limits count."""
    return max(sequence.lengths) if sequence.counted is None else sequence.counted


class Generator:
    """The 64-bit Mersenne Twister of Nishimura and Matsumoto (2000)."""

    def __init__(self, seed):
        self.words = [seed & WORD]
        for i in range(1, 312):
            last = self.words[-1]
            self.words.append((6364136223846793005 * (last ^ last >> 62) + i) & WORD)
        self.at = 312

    def next(self):
        if self.at == 312:
            for i in range(312):
                x = self.words[i] & ~0x7FFFFFFF | self.words[(i + 1) % 312] & 0x7FFFFFFF
                self.words[i] = self.words[(i + 156) % 312] ^ x >> 1 ^ (0xB5026F5AA96619E9 if x & 1 else 0)
            self.at = 0
        x = self.words[self.at]
        self.at += 1
        x ^= x >> 29 & 0x5555555555555555
        x ^= x << 17 & 0x71D67FFFEDA60000
        x ^= x << 37 & 0xFFF7EEE000000000
        return x ^ x >> 43

    def draw(self, begin, end):
        return begin + self.next() % (end - begin)


def shuffled_chunks(chunks, seed):
    """Each place is swapped with any place."""
    rng, out = Generator(seed), list(chunks)
    for i in range(len(out)):
        j = rng.draw(0, len(out))
        out[i], out[j] = out[j], out[i]
    return out


def windows_of_chunks(count, window):
    """For each chunk those, [low, high), that it may swap sequences with."""
    out = []
    for c in range(count):
        low = max(0, c - window // 2)
        high = low + max(1, window)
        out.append((max(0, count - max(1, window)), count) if high > count else (low, high))
    return out


def windows_of_samples(sizes, window):
    ends = list(accumulate(sizes))
    begins = [end - size for end, size in zip(ends, sizes)]
    half, out, low, high = window // 2, [], 0, 1
    for c, begin in enumerate(begins):
        while low < c and begin - begins[low] > half:
            low += 1
        high = max(high, c + 1)
        while high < len(sizes) and ends[high] - begin < half:
            high += 1
        out.append((low, high))
    return out


def swapped(chunks, windows, seed):
    """The sequences of a sweep, whose chunks are in this order, each swapped inside of its window."""
    rng = Generator(seed)
    row = [sequence._replace(home=c) for c, chunk in enumerate(chunks) for sequence in chunk]
    at = [sequence.home for sequence in row]
    first = [0, *accumulate(len(chunk) for chunk in chunks)]

    def may_stand(sequence, place):
        low, high = windows[at[place]]
        return low <= sequence.home < high

    for t in range(len(row)):
        low, high = windows[at[t]]
        while True:
            j = rng.draw(first[low], first[high])
            if may_stand(row[j], t) and may_stand(row[t], j):
                break
        row[t], row[j] = row[j], row[t]
    return row


@dataclass
class Given:
    """The next sequences of one worker."""

    sequences: list = field(default_factory=list)
    ends_sweep: bool = False
    ends_epoch: bool = False


@dataclass
class Line:
    """The endless line of sweeps over a corpus, a list of chunks, as one worker goes along it."""

    chunks: list
    workers: int
    rank: int
    crosses_sweeps: bool
    position: int = 0  # in samples, of all workers
    end: int = 0  # of the epoch

    def __post_init__(self):
        self.sweep_samples = sum(nominal(s) for chunk in self.chunks for s in chunk)

    def begin_epoch(self, number, samples):
        size = samples or self.sweep_samples
        self.end = (number + 1) * size
        self.go_to(number * size)

    def at_end(self):
        return Given(ends_epoch=True, ends_sweep=self.position > 0 and self.position % self.sweep_samples == 0)


class FileLine(Line):
    """In the files' own order. Workers share by running number, which goes on over the sweeps of an epoch."""

    def go_to(self, position):
        self.row = [s for chunk in self.chunks for s in chunk]
        self.position = position - position % self.sweep_samples
        self.number = 0
        while self.position < position:
            self.position += nominal(self.row[self.number])
            self.number += 1
        if self.position % self.sweep_samples == 0:
            self.number = 0

    def next(self, all_limit, own_limit):
        if self.position >= self.end:
            return self.at_end()
        if not self.crosses_sweeps:
            all_limit = min(all_limit, self.sweep_samples - self.position % self.sweep_samples)
        out, sweep, seen, own = Given(), self.position // self.sweep_samples, 0, 0
        while seen < all_limit and own < own_limit and self.position < self.end:
            sequence = self.row[self.number % len(self.row)]
            length, mine = nominal(sequence), self.number % self.workers == self.rank
            if out.sequences and (seen + length > all_limit or (mine and own + length > own_limit)):
                break
            if mine:
                out.sequences.append(sequence)
                own += length
            seen += length
            self.position += length
            self.number += 1
        out.ends_epoch = self.position >= self.end
        out.ends_sweep = self.position // self.sweep_samples != sweep
        return out


@dataclass
class ShuffledLine(Line):
    """In the order `cntk`. Workers share by the chunk a sequence comes from."""

    window: int = 0
    of_samples: bool = False
    seed: int = 0
    sweep: int = -1

    def enter(self, sweep):
        if sweep == self.sweep:
            return
        self.sweep = sweep
        self.placed = shuffled_chunks(self.chunks, self.seed + sweep)
        sizes = [sum(map(nominal, chunk)) for chunk in self.placed]
        self.windows = windows_of_samples(sizes, self.window) if self.of_samples else windows_of_chunks(len(sizes), self.window)
        self.begins = [0, *accumulate(len(chunk) for chunk in self.placed)]
        self.held = 0  # the first chunk that no later one has made superfluous
        self.place(self.seed + sweep)

    def place(self, seed):
        self.row = swapped(self.placed, self.windows, seed)
        self.at = 0

    def step(self):
        self.at += 1
        if self.at not in self.begins:
            return
        chunk = self.begins.index(self.at)  # that it stands in now; behind the last one, too
        while self.held < self.windows[min(chunk, len(self.placed) - 1)][0] and self.windows[self.held][1] <= chunk:
            self.held += 1

    def samples_before(self, place):
        return sum(map(nominal, self.row[:place]))

    def go_to(self, position):
        self.enter(position // self.sweep_samples)
        offset = position % self.sweep_samples
        if offset < self.samples_before(self.begins[self.held]):
            self.place(self.sweep)  # it forgets the seed, and some sequences come twice
        elif offset < self.samples_before(self.at):
            self.at = self.begins[self.held]
        while self.samples_before(self.at) < offset:
            self.step()
        self.position = position - offset + self.samples_before(self.at)
        if self.rank >= len(self.chunks):
            self.position = self.end

    def next(self, all_limit, own_limit):
        out, seen, own = Given(), 0, 0
        while True:
            goes_on = out.ends_sweep
            more_seen, more_own = self.fill(out, all_limit - seen, own_limit - own, not goes_on)
            seen, own = seen + more_seen, own + more_own
            if goes_on and more_seen == 0:
                return out
            if not (self.crosses_sweeps and out.ends_sweep and not out.ends_epoch and seen < all_limit and own < own_limit):
                return out

    def fill(self, out, all_limit, own_limit, need_one):
        """Out of the sweep it is in. The samples that it has gone over, and those that are its own."""
        if self.position >= self.end:
            end = self.at_end()
            out.ends_epoch, out.ends_sweep = True, out.ends_sweep or end.ends_sweep
            return 0, 0
        self.enter(self.position // self.sweep_samples)
        begin, seen, own = self.position, 0, 0
        all_limit = min(all_limit, self.sweep_samples - begin % self.sweep_samples)
        while self.at < len(self.row) and self.position < self.end:
            sequence = self.row[self.at]
            length, mine = nominal(sequence), sequence.home % self.workers == self.rank
            if not need_one and (seen + length > all_limit or (mine and own + length > own_limit)):
                break
            if mine:
                out.sequences.append(sequence)
                own += length
                need_one = False
            seen += length
            self.position += length
            self.step()
        out.ends_sweep = out.ends_sweep or begin % self.sweep_samples + seen >= self.sweep_samples
        out.ends_epoch = out.ends_epoch or self.position >= self.end
        return seen, own


def share(count, workers, rank):
    return count // workers + (count % workers > rank)


def packed(lengths):
    """(rows, steps, entries) of one stream: each sequence in the first row that has room for it."""
    steps, used, entries = max(lengths), [], []
    for i, length in enumerate(lengths):
        row = next((r for r, n in enumerate(used) if n + length <= steps), len(used))
        if row == len(used):
            used.append(0)
        entries.append(Entry(i, row, used[row], used[row] + length))
        used[row] += length
    gaps = [Entry(None, row, n, steps) for row, n in enumerate(used) if n < steps]
    return len(used), steps, entries + gaps


def packed_frames(lengths):
    return len(lengths), 1, [Entry(i, i, 0, 1) for i in range(len(lengths))]


@dataclass
class Row:
    """Of truncated packing: what is still to come in it."""

    waiting: list = field(default_factory=list)  # (sequence, whether a sweep ended with it)
    cursor: int = 0  # samples of the first that were given

    def available(self):
        return sum(sequence.lengths[0] for sequence, _ in self.waiting) - self.cursor


class Truncated:
    """Rows of so many steps, through which sequences run one after the other. The last samples of a row that is of one sequence are given again, `splice` of them."""

    def __init__(self, line, steps, samples, splice=0):
        self.line, self.steps, self.splice = line, steps, splice
        self.rows = [Row() for _ in range(share(max(1, samples // steps), line.workers, line.rank))]

    def refill(self, row):
        while row.available() <= self.steps:
            given = self.line.next(NO_LIMIT, 1)
            row.waiting += [(sequence, given.ends_sweep) for sequence in given.sequences]
            if given.ends_epoch:
                return

    def next(self):
        """(sequences, rows, steps, entries) and whether sweep and epoch end with it."""
        for row in self.rows:
            self.refill(row)
        out = Given()
        if not any(row.waiting for row in self.rows):
            return Given(ends_epoch=True), 0, 0, []
        entries, gaps = [], []
        for r, row in enumerate(self.rows):
            step = 0
            while step < self.steps and row.waiting:
                sequence, ends_sweep = row.waiting[0]
                begin, length = step - row.cursor, sequence.lengths[0]  # in all streams alike
                entries.append(Entry(len(out.sequences), r, begin, begin + length))
                out.sequences.append(sequence)
                step = min(self.steps, begin + length)
                row.cursor = step - begin - (self.splice if begin <= 0 and step == self.steps else 0)
                if row.cursor == length:
                    row.waiting.pop(0)
                    row.cursor = 0
                    out.ends_sweep = out.ends_sweep or ends_sweep
            if step < self.steps:
                gaps.append(Entry(None, r, step, self.steps))
        out.ends_epoch = not any(row.waiting for row in self.rows)
        return out, len(self.rows), self.steps, entries + gaps


def cells(entries, steps):
    """{(row, step): (sequence, its sample)} of those that are no gaps."""
    return {(e.row, t): (e.sequence, t - e.begin) for e in entries if e.sequence is not None for t in range(max(0, e.begin), min(steps, e.end))}
