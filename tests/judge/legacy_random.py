# SPDX-License-Identifier: MIT
"""Speech for HTKMLFReader, with options that nobody chose by hand."""
import random
from dataclasses import dataclass, replace

import joined_files
import legacy_slow
from joined_random import EVERYTHING, features, labels, some

EPOCHS = 3  # of a case


@dataclass
class Case:
    sources: list
    rules: legacy_slow.Rules
    sizes: list
    first_epoch: int
    epoch_samples: int  # 0: a sweep
    keys: str


def corpus(rng, kind, rolling):
    longest, pool = rng.choice([2, 5, 12]), [f"u{i}" for i in range(rng.choice([3, 5, 12, 32, 62]))]
    usual, wrong = {key: rng.randint(1, longest) for key in pool}, rng.choice([0, 0, 0.1])
    lengths, others = lambda key: usual[key], lambda key: usual[key] + (rng.random() < wrong)
    keys = some(rng, pool, rng.choice([1, 0.9]))
    twice = rng.random() < 0.15
    keys += [rng.choice(keys)] if twice else []
    out = [features(rng, 0, keys, lengths)]
    for i in range(1, rng.choice([2, 2, 3, 4])):
        of = rng.choice(["mlf", "mlf", "htk", "htk" if rolling else "expanded"])
        if of == "mlf":
            out.append(labels(rng, "mlf", i, some(rng, pool, 1), others))
        else:
            out.append(features(rng, i, keys if twice else some(rng, keys, 1), others, of == "expanded"))
            if out[-1].expanded:
                out[-1].context, out[-1].keys = (0, 0), f"dim = {out[-1].streams[0].dim} ; expandToUtterance = true"
    return sorted(out, key=lambda source: (source.kind == "mlf", source.streams[0].name))


def case(seed):
    rng = random.Random(seed)
    kind = rng.choice(["frames", "utterances", "truncated"])
    rolling = kind == "frames" and rng.random() < 0.3
    sources = corpus(rng, kind, rolling)
    total = sum(u.counted for u in sources[0].utterances)
    longest = max(u.counted for u in sources[0].utterances)
    shuffled = not rolling or rng.random() < 0.6
    window = rng.choice([EVERYTHING, EVERYTHING, 2, 3, 5, total + 1])
    rules = legacy_slow.Rules(kind, rng.random() < 0.2, rng.choice([10000, 10000, max(longest - 1, 1)]), 1 if kind == "frames" else rng.choice([1, 2, 3]), window, shuffled)
    randomize = "none" if not shuffled else "auto" if window == EVERYTHING else window
    keys = (f"randomize = {randomize} ; useMersenneTwisterRand = true ; readMethod = {'rollingWindow' if rolling else 'blockRandomize'} ; maxUtteranceLength = {rules.longest}"
            f" ; frameMode = {str(kind == 'frames').lower()} ; truncated = {str(kind == 'truncated').lower()} ; nbruttsineachrecurrentiter = {rules.rows}"
            f" ; miniBatchMode = {'full' if rules.full else 'partial'}")
    return Case(sources, rules, [rng.choice([1, 2, 3, 5, 8, 20, total, 1000]) for _ in range(rng.choice([1, 1, 2]))], rng.choice([0, 0, 1, 2, 7]),
                rng.choice([0, 0, 1, total, total + 1, rng.randint(1, 3 * total)]), keys)


def files(case):
    return joined_files.files(case.sources, "HTKMLFReader", case.keys)


def arguments(case, _after=None):
    return list(map(str, ["--minibatch-size", ",".join(map(str, case.sizes)), "--start-epoch", case.first_epoch, "--epochs", EPOCHS, "--epoch-size", case.epoch_samples]))


def minibatches(case):
    """What the reader is to give: epoch and streams. None where it refuses to."""
    found = legacy_slow.utterances(case.sources, case.rules)
    if found is None:
        return None
    pieces, out = legacy_slow.Pieces(found, case.rules), []
    for epoch in range(case.first_epoch, case.first_epoch + EPOCHS):
        out += [(epoch, streams) for streams in legacy_slow.epoch(pieces, case.rules, epoch, case.sizes[min(epoch, len(case.sizes) - 1)], case.epoch_samples)]
    return out


def compared(printed):
    """Flags, positions and numbers of pieces are the engine's own; so are the answers without data."""
    place = lambda entries: sorted((e.row, e.begin, e.end) for e, _ in entries if e.sequence is not None)
    return [(epoch, {name: (rows, steps, place(entries), samples) for name, (rows, steps, entries, samples) in streams.items()}) for epoch, _, _, _, streams in printed if streams]


def shrunk(case, smaller):
    of = lambda keys: replace(case, sources=[replace(s, utterances=[u for u in s.utterances if u.key in keys] or s.utterances[:1]) for s in case.sources])
    return of(smaller(list({u.key: None for s in case.sources for u in s.utterances}), of))
