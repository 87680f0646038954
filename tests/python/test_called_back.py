# SPDX-License-Identifier: MIT
"""What a reader calls: handlers of signals, `report`, `progress`, sources written in Python."""
import gc
import signal
import sys
import threading
import time
import weakref

import numpy as np
import pytest
from conftest import keys_of

import batchfeed as bf

WAYS = pytest.mark.parametrize("options", [{}, {"prefetch": False}, {"prefetch": False, "threads": 1}], ids=["ahead", "not ahead", "alone"])


class Numbers(bf.Source):
    """A number a sequence, a chunk each; `before` is called with the number of the chunk."""

    def __init__(self, before=lambda chunk: None):
        self.before = before

    def streams(self):
        return {"x": bf.dense(1)}

    def chunks(self):
        return [[1]] * 6

    def read(self, chunk):
        self.before(chunk)
        return {"x": np.full((1, 1), chunk)}


def opened(source, **options):
    return bf.Reader(source, minibatch_samples=1, shuffle=False, **options)


def numbers_of(batches):
    return [int(batch["x"].numpy()[0, 0]) for batch in batches]


def rest(reader):
    return numbers_of(iter(reader.next, None))


@WAYS
@pytest.mark.parametrize("loop", [True, False], ids=["in a loop", "by next()"])
def test_ctrl_c_leaves_a_reader_where_it_was(options, loop, interruptible):
    for _ in range(3):
        seen = []

        def press(chunk):
            while chunk == 2 and len(seen) < 2 and threading.current_thread() is not threading.main_thread():
                time.sleep(0.001)
            if chunk == 2:
                time.sleep(0.02)  # for the main thread to wait for it
                signal.raise_signal(signal.SIGINT)

        source = Numbers(press)
        reader = opened(source, **options)
        with pytest.raises(KeyboardInterrupt):
            for batch in reader if loop else iter(reader.next, None):
                seen += numbers_of([batch])
        source.before = lambda chunk: None
        state = reader.state_dict()
        assert state["minibatch"] == len(seen) == 2
        assert seen + rest(reader) == list(range(6))
        again = opened(Numbers())
        again.load_state_dict(state)
        assert seen + rest(again) == list(range(6))


@WAYS
def test_what_a_report_is_interrupted_by_ends_the_work(options, tmp_path, interruptible):
    damaged = "".join(f"{i} |x 1 2\n{i} |x 1 y\n" for i in range(40))
    (tmp_path / "a.ctf").write_text(damaged)
    source = bf.CTF(tmp_path / "a.ctf", streams={"x": bf.dense(2)}, max_errors=40, chunk_bytes=100)
    told, ways = [], [lambda: signal.raise_signal(signal.SIGINT), lambda: sys.exit(3)]

    def report(fault):
        told.append(fault)
        if len(told) in (2, 4):
            ways[threading.current_thread() is not threading.main_thread()]()

    reader = bf.Reader(source, minibatch_samples=3, shuffle=False, report=report, **options)
    keys, interrupts = [], 0
    while True:
        try:
            batch = reader.next()
        except (KeyboardInterrupt, SystemExit):
            interrupts += 1
            continue
        if batch is None:
            break
        keys += batch.sequence_keys
    assert interrupts == 2 and keys == [str(i) for i in range(40)]
    with pytest.raises(SystemExit):
        bf.convert(source, tmp_path / "b.ctf", report=lambda fault: sys.exit(3))
    assert not (tmp_path / "b.ctf").exists()


class Jagged(Numbers):
    """Sequences of which epochs of 5 samples, in CNTK's order, cut some."""

    def chunks(self):
        return [[1, 3], [5, 1, 2], [2, 2], [1, 1, 4], [3, 2], [2, 5]]

    def read(self, chunk):
        return {"x": np.full((sum(self.chunks()[chunk]), 1), chunk)}


@WAYS
@pytest.mark.parametrize("interrupt", [lambda: signal.raise_signal(signal.SIGINT), lambda: sys.exit(3)], ids=["ctrl-c", "exit"])
def test_what_is_told_of_an_epoch_may_be_interrupted(options, interrupt, interruptible):
    def report(fault):
        if fault.id == "reader.reordered":
            told.append(fault)
            if len(told) == 2:
                interrupt()

    told, keys, interrupts = [], [[], []], 0
    for run in keys:
        reader = bf.Reader(Jagged(), order="cntk", window=1, seed=7, shard="chunk", epoch_samples=5, minibatch_size=4, report=report, **options)
        while len(run) < 19:
            try:
                batch = reader.read()
            except (KeyboardInterrupt, SystemExit):
                interrupts += 1
            else:
                run.append(batch.sequence_keys)
    assert len(told) == 2 and interrupts == 1 and keys[0] == keys[1]


def test_ctrl_c_ends_a_wait_for_the_next_epoch(interruptible):
    seen, go_on, late = [], threading.Event(), []

    def press(chunk):
        if chunk == 0 and len(seen) == 6 and not go_on.is_set():
            time.sleep(0.02)  # for the main thread to wait for it
            signal.raise_signal(signal.SIGINT)
            if not go_on.wait(20):
                late.append(chunk)

    reader = opened(Numbers(press))
    with pytest.raises(KeyboardInterrupt):
        while True:
            seen += numbers_of([reader.read()])
    go_on.set()
    assert not late, "it waited for the chunk"
    assert seen == list(range(6)) and reader.state_dict()["ended"] == 1
    assert reader.next() is None
    assert numbers_of([reader.read()]) == [0]


def test_a_handler_of_signals_may_ask_where_the_reader_is():
    asked, seen, states = threading.Event(), [], []

    def handler(number, frame):
        states.append(reader.state_dict()["minibatch"])
        asked.set()

    def before(chunk):
        while chunk == 3 and len(seen) < 3:
            time.sleep(0.001)
        if chunk == 3:
            time.sleep(0.02)  # for the main thread to wait for it
            signal.raise_signal(signal.SIGUSR1)
            assert asked.wait(60)

    of_before = signal.signal(signal.SIGUSR1, handler)
    try:
        reader = opened(Numbers(before))
        for batch in reader:
            seen += numbers_of([batch])
    finally:
        signal.signal(signal.SIGUSR1, of_before)
    assert seen == list(range(6)) and states == [3]


QUESTIONS = [
    lambda reader: reader.next(),
    lambda reader: reader.read(),
    lambda reader: next(iter(reader)),
    lambda reader: reader.num_samples,
    lambda reader: reader.state_dict(),
    lambda reader: reader.begin_epoch(0),
    lambda reader: reader.plan(1),
    lambda reader: reader.close(),
]


@WAYS
@pytest.mark.parametrize("question", range(len(QUESTIONS)))
def test_a_source_cannot_ask_the_reader_that_reads_it(options, question):
    told = []

    def before(chunk):
        try:
            QUESTIONS[question](reader)
        except bf.ConfigError as error:
            told.append(error.id)

    opened_it = threading.Event()
    reader = opened(Numbers(lambda chunk: opened_it.wait(60) and before(chunk)), **options)
    opened_it.set()
    assert rest(reader) == list(range(6))
    assert told == ["reader.busy"] * 6


@WAYS
def test_a_report_cannot_ask_the_reader_it_belongs_to(corpus, options):
    with open(corpus.path, "a") as file:
        file.write("99 |x 1 2 |y 0:1\n")
    told = []

    def report(fault):
        try:
            reader.next()
        except NameError:  # it is being opened
            pass
        except bf.ConfigError as error:
            told.append(error.id)

    reader = corpus.reader(report=report, **options)
    assert sum(batch.num_sequences for batch in reader) == len(corpus.lengths) + 1
    assert told and set(told) == {"reader.busy"}


@WAYS
def test_a_source_may_ask_another_reader(corpus, options):
    inner = corpus.reader()
    keys = []
    assert rest(opened(Numbers(lambda chunk: keys.append(inner.next().sequence_keys)), **options)) == list(range(6))
    assert sorted(keys) == sorted(keys_of(batch for batch, _ in zip(corpus.reader(), range(6))))


class Trainer:
    """Refers to a reader, which refers to it."""

    def told(self, *what):
        pass


def by_report(corpus, trainer, **options):
    return corpus.reader(report=trainer.told, **options)


def by_progress(corpus, trainer, **options):
    return corpus.reader(progress=trainer.told, **options)


def by_source(corpus, trainer, **options):
    source = Numbers(trainer.told)
    source.trainer = trainer
    return opened(source, **options)


def by_mixture(corpus, trainer, **options):
    return bf.Reader(bf.Mix((Numbers(trainer.told), 1), (Numbers(), 1)), minibatch_samples=1, **options)


@WAYS
@pytest.mark.parametrize("way", [by_report, by_progress, by_source, by_mixture])
@pytest.mark.parametrize("ending", ["in the loop", "at the end", "closed", "before it"])
def test_a_cycle_through_a_reader_is_collected(corpus, way, options, ending):
    trainer = Trainer()
    trainer.reader = way(corpus, trainer, **options)
    trainer.batch = trainer.reader.next() if ending != "before it" else None
    trainer.loop = iter(trainer.reader) if ending == "in the loop" else None
    if ending == "at the end":
        assert rest(corpus.reader(**options) if way is not by_source else trainer.reader) is not None
    elif ending == "closed":
        trainer.reader.close()
    gone = weakref.ref(trainer)
    del trainer
    gc.collect()
    assert gone() is None


@WAYS
def test_an_exception_that_is_kept_keeps_nothing(options):
    def fail(chunk):
        if chunk == 2:
            raise LookupError("chunk 2 is gone")

    source = Numbers(fail)
    source.reader = reader = opened(source, **options)
    assert numbers_of([reader.next(), reader.next()]) == [0, 1]
    for _ in range(3):
        gc.collect()
        with pytest.raises(LookupError, match="chunk 2 is gone"):
            reader.next()
    gone = weakref.ref(source)
    del source, reader
    gc.collect()
    assert gone() is None


class Worded(Exception):
    def __init__(self, path):
        super().__init__(f"cannot read {path}")
        self.path = path


class OfTwo(Exception):
    __slots__ = ("one",)

    def __init__(self, one, other):
        super().__init__(f"{one} of {other}")
        self.one = one


class OfTheSystem(OSError):
    def __init__(self, path):
        super().__init__(5, "bad sector", path)


@WAYS
@pytest.mark.parametrize(
    "error, text",
    [
        (Worded("a.bin"), "cannot read a.bin"),
        (OfTwo(1, 2), "1 of 2"),
        (OfTheSystem("a.bin"), "[Errno 5] bad sector: 'a.bin'"),
        (FileNotFoundError(2, "gone"), "[Errno 2] gone"),
        (OSError("gone"), "gone"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no text"), "'utf-8' codec can't decode byte 0xff in position 0: no text"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_exception_is_raised_as_it_was_each_time(options, error, text):
    def fail(chunk):
        raise error

    reader = opened(Numbers(fail), **options)
    for _ in range(3):
        with pytest.raises(type(error)) as caught:
            reader.next()
        again = caught.value
        assert type(again) is type(error) and str(again) == text and again.args == error.args and vars(again) == vars(error)
        assert [getattr(again, name, None) for name in ("one", "errno", "filename", "object")] == [
            getattr(error, name, None) for name in ("one", "errno", "filename", "object")
        ]


def test_what_still_is_referred_to_is_not_collected(corpus):
    trainer = Trainer()
    trainer.reader = by_source(corpus, trainer)
    reader, gone = trainer.reader, weakref.ref(trainer)
    del trainer
    gc.collect()
    assert gone() is not None and rest(reader) == list(range(6))


def test_a_minibatch_does_not_keep_a_source(corpus):
    source = Numbers()
    source.reader = opened(source)
    source.kept = batch = source.reader.next()
    gone = weakref.ref(source)
    del source
    gc.collect()
    assert gone() is None
    assert batch.sequence_keys == ["0"] and numbers_of([batch]) == [0]


def test_the_last_who_knows_a_reader_may_be_what_it_calls(corpus):
    """Its own thread cannot wait for itself."""
    for _ in range(20):
        known, go_on = [], threading.Event()

        def before(chunk):
            if chunk == 1:
                assert go_on.wait(60)
                known.clear()
                gc.collect()

        known.append(opened(Numbers(before)))
        ended = weakref.ref(known[0]._core)
        assert known[0].next() is not None
        go_on.set()
        for _ in range(1000):
            if ended() is None:
                break
            time.sleep(0.01)
        assert ended() is None
