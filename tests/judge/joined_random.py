# SPDX-License-Identifier: MIT
"""Readers of several sources, text, binary files and speech, with options that nobody chose by hand."""
import random
from dataclasses import dataclass, replace

import joined_files
from joined_slow import Order, Packing, Reading, Source, Stream, Utterance, join, make_dense

EVERYTHING = (1 << 62) - 1
EPOCHS = 3  # of a case
LIMIT = 40  # minibatches of a time line


@dataclass
class Case:
    sources: list
    order: Order
    packing: Packing
    sizes: list  # of minibatches, in each epoch, or one after the other on a time line
    style: str
    keys: str  # of the reader's section
    timeline: bool
    first_epoch: int
    epoch_samples: int  # 0: a sweep
    epoch_sweeps: int  # 0: as many samples
    crosses_sweeps: object  # None: not said
    switch: tuple  # after so many minibatches of a time line, workers and rank


def sample(rng, stream):
    if not stream.sparse:
        return [rng.randint(-20, 20) / 4 for _ in range(stream.dim)]
    return [(i, rng.randint(-20, 20) / 4) for i in sorted(rng.sample(range(stream.dim), rng.randint(0, stream.dim)))]


def streams(rng, number):
    return [Stream(f"{rng.choice('abXY')}{number}{i}", rng.choice([1, 2, 3]), rng.random() < 0.4) for i in range(rng.choice([1, 1, 2, 3]))]


def shown(stream, values):
    return f"|{stream.name} " + " ".join(f"{row}:{value:g}" for row, value in values) if stream.sparse else f"|{stream.name} " + " ".join(f"{value:g}" for value in values)


def text_utterance(rng, of, main, key, form, length, equal, damages):
    """Samples on any lines. If it lacks a stream it is damaged, or left out where that is the main one."""
    lines = [{} for _ in range(length)]
    lacking = rng.choice(of) if len(of) > 1 and rng.random() < damages else None
    for stream in of:
        count = 0 if stream is lacking else length if equal or rng.random() < 0.7 else rng.randint(1, length)
        for i in rng.sample(range(length), count):
            lines[i][stream.name] = sample(rng, stream)
    lines = list(filter(None, lines))
    text = ""
    for i, line in enumerate(lines):
        text += "" if form == "lines" or (form == "first" and i) else key + " "
        text += " ".join(shown(stream, line[stream.name]) for stream in rng.sample(of, len(of)) if stream.name in line) + "\n"
    samples = {stream.name: [line[stream.name] for line in lines if stream.name in line] for stream in of}
    counted = len(samples[main]) if main else max(map(len, samples.values()))
    return Utterance(key, samples, counted, lacking is not None and counted > 0, counted == 0, text)


def text(rng, number, keys, form, lengths, equal, defines):
    of = sorted(streams(rng, number), key=lambda stream: stream.name.lower())
    main, damages = rng.choice(of).name if defines else "", rng.choice([0, 0, 0, 0.2])
    make = lambda key, damages: text_utterance(rng, of, main, key, form, 1 if form == "lines" else lengths(key), equal, damages)
    return Source("ctf", of, [make(keys[0], 0), *(make(key, damages) for key in keys[1:])], rng.choice([1, 40, 80, 200, 10000]), main)


def binary(rng, keys, lengths, equal, honest):
    """`honest`: of no sequence it tells another length than that of its longest stream."""
    of, utterances = streams(rng, 0), []
    for key in keys:
        length = lengths(key)
        counts = [length if equal or rng.random() < 0.7 else rng.randint(1, length) for _ in of]
        samples = {stream.name: [sample(rng, stream) for _ in range(count)] for stream, count in zip(of, counts)}
        utterances.append(Utterance(key, samples, max(counts) + (not honest and rng.random() < 0.1)))
    return Source("cbf", of, utterances, rng.choice([1, 2, 5, 100]))


def features(rng, number, keys, lengths, expanded=False, limited=False):
    stream = Stream(f"{rng.choice('gh') if number else 'f'}{number}", rng.choice([1, 2, 3]))
    utterances = []
    for key in keys:
        length = 1 if expanded else lengths(key)
        utterances.append(Utterance(key, {stream.name: [sample(rng, stream) for _ in range(length)]}, length))
    longest = max(u.counted for u in utterances)
    limit = longest - 1 if limited and any(u.counted < longest for u in utterances) else 0
    for u in utterances:
        u.left_out = 0 < limit < u.counted
    dim = stream.dim
    context, said = rng.choice([((0, 0), f"dim = {dim}"), ((0, 0), f"dim = {dim} ; contextWindow = 1"), ((1, 1), f"dim = {dim} ; contextWindow = 3"), ((1, 1), f"dim = {3 * dim}"),
                                ((1, 1), f"dim = {dim} ; contextWindow = 1:1"), ((2, 0), f"dim = {dim} ; contextWindow = 2:0"), ((0, 1), f"dim = {dim} ; contextWindow = 0:1")])
    return Source("htk", [stream], utterances, limit, "", expanded, context, said + " ; expandToUtterance = true" * expanded)


def labels(rng, kind, number, keys, lengths, damages=0):
    stream, utterances = Stream(f"{rng.choice('lm')}{number}", 4, True), []
    for key in keys:
        length, classes = lengths(key), []
        while len(classes) < length:
            classes += [rng.randrange(stream.dim)] * rng.randint(1, 3)
        utterances.append(Utterance(key, {stream.name: [[(row, 1.0)] for row in classes[:length]]}, length, kind == "mlf" and length > 1 and rng.random() < damages))
    return Source(kind, [stream], utterances, rng.choice([1, 60, 1000000]))


def some(rng, keys, most):
    """Most keys, often in another order."""
    found = [key for key in keys if rng.random() < most] or keys[:1]
    return rng.sample(found, len(found)) if rng.random() < 0.6 else found


def text_keys(rng, pool, most, by_line):
    """(keys, form of the text): ids in each line or the first of a sequence, or none, as its line is its key."""
    if by_line and rng.random() < 0.15:
        return pool[: rng.randint(1, len(pool))], "lines"
    keys = some(rng, pool, most)
    again, at = rng.choice(keys), rng.randint(0, len(keys))
    if rng.random() < 0.15 and again not in keys[max(0, at - 1) : at + 1]:
        keys.insert(at, again)
    return keys, rng.choice(["every", "every", "first"])


def corpus(rng, style, packing, numbers):
    """The sources of a reader; `numbers`: keys are compared as numbers."""
    count, longest = rng.choice([1, 3, 10, 30, 60]), 1 if packing == "frames" and style in ("text", "plain") else rng.choice([1, 2, 5, 12])
    pool = list(dict.fromkeys(str(i) if numbers else rng.choice(["u", "0", ""]) + str(i) for i in range(count + 3)))
    usual = {key: rng.randint(1, longest) for key in pool}
    equal = packing != "sequences" or rng.random() < 0.5
    lengths = lambda key: usual[key] if equal or rng.random() < 0.7 else rng.randint(1, longest + 2)
    by_line, most, shim = numbers and (longest == 1 or not equal), rng.choice([1, 1, 0.9, 0.5]), style == "HTKDeserializers"
    number = 1 if style == "plain" else rng.choice([1, 2, 2, 2, 3, 4])
    main = rng.randrange(number) if rng.random() < 0.25 else None
    damages = 0 if shim else rng.choice([0, 0, 0.2])
    if style in ("speech", "HTKDeserializers"):
        out = [features(rng, 0, some(rng, pool, most), lengths, limited=not shim and rng.random() < 0.15)]
    elif numbers and rng.random() < 0.35:
        out = [binary(rng, pool[:count], lengths, equal, style == "mixed")]
    else:
        out = [text(rng, 0, *text_keys(rng, pool, most, by_line), lengths, equal, main == 0)]
    for i in range(1, number):
        kind = "ctf" if style == "text" else rng.choice(["mlf", "mlf", "mlf" if shim else "mlf_binary", "htk", "expanded", "mlf" if shim else "ctf"])
        other = lengths
        if packing == "frames" and style != "text":  # labels may be too short, features only too long
            other = lambda key: usual[key] + rng.choice([0] * 12 + [1, -1 if usual[key] > 1 and kind != "htk" and not shim else 0])
        if kind == "ctf":
            out.append(text(rng, i, *text_keys(rng, pool, most, by_line), other, equal, main == i))
        elif kind in ("htk", "expanded"):
            out.append(features(rng, i, some(rng, pool, most), other, kind == "expanded"))
        else:
            out.append(labels(rng, kind, i, some(rng, pool, most), other, damages))
    if main is not None and out[main].kind == "htk" and not out[main].expanded and not shim:
        out[main].main = out[main].streams[0].name
    if shim:
        out.sort(key=lambda source: (source.kind == "mlf", source.streams[0].name))
    return out


def true(yes):
    return "true" if yes else "false"


def order_keys(rng, style, sources, order, total):
    """Of the section; sets the window, whose default depends on the kind of reader."""
    text, window = any(source.kind == "ctf" for source in sources), rng.choice([1, 2, 3, 5, rng.randint(1, 2 * total), 10**9])
    given = rng.random() < 0.6
    if style == "HTKDeserializers":
        order.window = window if given else EVERYTHING
        return f"randomize = {order.window if given else 'auto'}" if order.shuffled else "readMethod = none"
    if style == "plain":
        if not order.shuffled:
            return rng.choice(["randomize = false", "randomize = none", "randomizationWindow = 0"])
        order.of_samples = rng.random() < 0.5
        order.window = window if given else EVERYTHING if order.of_samples else (1 << 32) // sources[0].chunk if text else 128
        return f"sampleBasedRandomizationWindow = {true(order.of_samples)}" + (f" ; randomizationWindow = {window}" if given else "")
    out = f"randomize = {true(order.shuffled)}"
    if given:
        order.window = rng.choice([0, window, window])
        out += f" ; randomizationWindow = {order.window}"
        if rng.random() < 0.6:
            order.of_samples = rng.random() < 0.5
            out += f" ; sampleBasedRandomizationWindow = {true(order.of_samples)}"
    elif text:
        order.window, order.of_samples = 128, False
        if rng.random() < 0.3:
            order.window = rng.choice([1, 2, 3])
            out += f" ; chunkSizeInBytes = {(1 << 32) // order.window}"
    return out


def packing_keys(rng, style, kind, sizes, workers):
    """(packing, sizes, keys)"""
    packing, steps = Packing(kind, all_workers=kind != "truncated" and (style in ("plain", "HTKDeserializers") or rng.random() < 0.15)), rng.choice([1, 2, 3, 7])
    frame_mode = f"frameMode = {true(kind == 'frames')}"
    if kind != "truncated":
        return packing, sizes, frame_mode + (" ; localTimeline = false" if packing.all_workers and style in ("text", "speech", "mixed") else "")
    if style == "HTKDeserializers" and rng.random() < 0.5:
        packing.rows = tuple(workers + rng.randint(0, 2) for _ in range(rng.choice([1, 1, 3])))
        return packing, [rng.choice([1, 2, 3, 7]) for _ in sizes], f"{frame_mode} ; truncated = true ; nbruttsineachrecurrentiter = {':'.join(map(str, packing.rows))}"
    packing.steps = steps
    if style != "HTKDeserializers" and steps > 1 and rng.random() < 0.3:
        packing.splice = rng.randrange(1, steps)
    keys = f"{frame_mode} ; truncated = true ; truncationLength = {steps}" + (f" ; rightSplice = {packing.splice}" if packing.splice else "")
    return packing, [max(size, workers * steps) for size in sizes], keys


def case(seed):
    rng = random.Random(seed)
    style = rng.choice(["text", "text", "speech", "speech", "mixed", "plain", "HTKDeserializers"])
    kind = rng.choice(["sequences", "sequences", "frames", "truncated"])
    if (style, kind) in (("mixed", "frames"), ("plain", "truncated")):
        kind = "sequences"
    numbers = style in ("mixed", "plain") or rng.random() < (0.8 if style == "text" else 0.3)
    sources = corpus(rng, style, kind, numbers)
    if style == "plain" and sources[0].kind == "cbf":
        kind = "sequences"
    total = max(1, sum(u.counted for u in sources[0].utterances if not u.left_out))
    workers, timeline, crosses = rng.choice([1, 1, 1, 2, 3, 5]), rng.random() < 0.35, rng.choice([None, None, True, False])
    order = Order(rng.random() < 0.75, EVERYTHING, True, rng.choice([0, 1, 7, rng.randrange(1 << 64)]), workers, rng.randrange(workers), timeline if crosses is None else crosses)
    keys = [order_keys(rng, style, sources, order, total), f"randomizationSeed = {order.seed}"]
    sizes = [rng.choice([1, 2, 3, 5, 8, 20, total, 1000]) for _ in range(rng.choice([1, 1, 2, 3]))]
    packing, sizes, said = packing_keys(rng, style, kind, sizes, workers)
    keys += [said] if style != "plain" or sources[0].kind == "ctf" else []
    keys += ["maxErrors = 1000000"] if style in ("text", "speech", "mixed") else []
    keys += [] if style == "plain" or (style == "text" and numbers) else [f"useNumericSequenceKeys = {true(numbers)}"]
    same = ["", "", "prefetch = false", "multiThreadedDeserialization = true", "checkData = false", *["precision = double"] * (sources[0].kind != "cbf"), *["hashSequenceKeys = true"] * (not numbers)]
    keys += [rng.choice(same)] if style in ("text", "speech", "mixed") else []  # nothing depends on it
    switch = None
    if timeline and rng.random() < 0.2 and packing.steps + (kind != "truncated"):
        others = rng.randint(1, 3 if kind != "truncated" else max(1, min(sizes) // packing.steps))
        switch = rng.randint(1, 5), others, rng.randrange(others)
    return Case(sources, order, packing, sizes, style if style in ("plain", "HTKDeserializers") else "composite", " ; ".join(filter(None, keys)), timeline,
                0 if timeline else rng.choice([0, 0, 0, 1, 2, 1000]), rng.choice([0, 0, 1, total, total + 1, rng.randint(1, 3 * total), rng.randint(1, 3 * total)]),
                rng.choice([0, 0, 1, 2, 3]), crosses, switch)


def files(case):
    return joined_files.files(case.sources, case.style, case.keys)


def arguments(case, after=None):
    """`after`: of a run that goes on from a state, how many minibatches were given of a time line."""
    workers, rank, switch = case.order.workers, case.order.rank, case.switch
    if switch and after is not None:
        if after > switch[0]:
            (_, workers, rank), switch = switch, None
        else:
            switch = switch[0] - after, *switch[1:]
    out = ["--minibatch-size", ",".join(map(str, case.sizes)), "--workers", workers, "--rank", rank]
    out += ["--driver", "minibatch-source", "--limit", LIMIT - (after or 0)] if case.timeline else ["--start-epoch", case.first_epoch, "--epochs", EPOCHS]
    out += ["--epoch-sweeps", case.epoch_sweeps] if case.epoch_sweeps else ["--epoch-size", case.epoch_samples]
    out += [] if case.crosses_sweeps is None else ["--cross-sweeps" if case.crosses_sweeps else "--no-cross-sweeps"]
    out += ["--switch", ":".join(map(str, switch))] if switch else []
    return list(map(str, out))


def timeline(case, reading, samples):
    out, size, shared = [], case.sizes[0], (case.order.workers, case.order.rank)
    reading.begin_epoch(0, samples, size)
    for number in range(LIMIT):
        wanted = case.sizes[min(number, len(case.sizes) - 1)], case.switch[1:] if case.switch and number >= case.switch[0] else shared
        if wanted != (size, shared):
            size, shared = wanted
            reading.change(size, *shared)
        given = reading.minibatch()
        if not given[0] or given[3]:
            out.append((0, *given))
        if given[0]:
            break
    return out


def minibatches(case):
    """What the reader is to give: epoch, flags, position, and of each stream what joined_slow says. None where the sources have no key in common."""
    found, joined = join(case.sources, joined_files.chunks(case.sources[0]), case.packing.kind == "frames" and case.sources[0].kind == "htk")
    if not found:
        return None
    if case.packing.kind == "truncated":
        make_dense(found, case.sources)
    reading, out = Reading(found, joined, case.order, case.packing), []
    samples = case.epoch_sweeps * reading.line.sweep_samples or case.epoch_samples
    if case.timeline:
        return timeline(case, reading, samples)
    for epoch in range(case.first_epoch, case.first_epoch + EPOCHS):
        reading.begin_epoch(epoch, samples, case.sizes[min(epoch, len(case.sizes) - 1)])
        while not out or out[-1][0] != epoch or not out[-1][1]:
            out.append((epoch, *reading.minibatch()))
    return out


def compared(printed):
    return printed


def shrunk(case, smaller):
    """With fewer keys, unless they are the numbers of sequences or lines."""
    if any(source.kind == "cbf" or any(u.text.startswith("|") for u in source.utterances) for source in case.sources):
        return case
    of = lambda keys: replace(case, sources=[replace(s, utterances=[u for u in s.utterances if u.key in keys] or s.utterances[:1]) for s in case.sources])
    return of(smaller(list({u.key: None for s in case.sources for u in s.utterances}), of))
