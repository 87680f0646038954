# SPDX-License-Identifier: MIT
"""Loops over a reader, of minibatches so small that most are at hand when they are asked for."""
import contextlib
import ctypes
import functools
import gc
import json
import os
import random
import signal
import threading
import time
import weakref

import numpy as np
import pytest
from conftest import Corpus, keys_of

import batchfeed as bf


@pytest.fixture
def small(tmp_path):
    return Corpus(tmp_path / "small.ctf", [1 + k % 3 for k in range(3000)])


def reader_of(small, **options):
    return small.reader(**{"chunk_bytes": 1 << 20, "minibatch_samples": 2, "shuffle": False, **options})


def test_a_loop_gives_what_next_gives(small):
    one, other = reader_of(small, shuffle=True), reader_of(small, shuffle=True)
    for epoch in range(2):
        given = 0
        for batch in one:
            same = other.next()
            assert (batch.sequence_keys, batch.epoch, batch.index) == (same.sequence_keys, epoch, given)
            assert (batch.position, batch.num_samples) == (same.position, len(batch["x"]))
            np.testing.assert_array_equal(batch["x"].numpy(), same["x"].numpy())
            given += 1
        assert other.next() is None and given > 2500
        other.begin_epoch(epoch + 1)


def test_state_and_length_inside_a_loop(small):
    reader = reader_of(small)
    for batch in reader:
        if batch.index in (0, 1, 777):
            there = reader_of(small)
            there.load_state_dict(reader.state_dict())
            assert there.state_dict()["minibatch"] == batch.index + 1
            assert len(there) == len(reader)
    assert there.next().sequence_keys == keys_of(reader_of(small))[778]


def test_an_ended_loop_stays_ended(small):
    reader = reader_of(small)
    loop = iter(reader)
    assert sum(1 for _ in loop) == sum(1 for _ in reader)
    assert next(loop, None) is None and next(loop, None) is None
    assert reader.epoch == 1, "and moves nothing"


def test_what_ends_a_loop_early(small):
    reader = reader_of(small)
    for move in (reader.next, lambda: reader.begin_epoch(0), lambda: reader.load_state_dict(reader.state_dict()), lambda: next(iter(reader))):
        loop = iter(reader)
        next(loop)
        move()
        with pytest.raises(bf.ConfigError, match=r"another iteration, next\(\), begin_epoch\(\) or load_state_dict\(\) has moved the reader"):
            next(loop)
    loop = iter(reader)
    next(loop)
    reader.close()
    with pytest.raises(bf.ConfigError, match="the reader is closed"):
        next(loop)


def test_a_forked_child_goes_on_inside_a_loop(small):
    reader = reader_of(small)
    loop = iter(reader)
    for _ in range(100):
        next(loop)
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        with os.fdopen(into, "w") as pipe:
            json.dump(keys_of(loop), pipe)
        os._exit(0)
    os.close(into)
    with os.fdopen(out) as pipe:
        there = json.load(pipe)
    assert os.waitpid(child, 0)[1] == 0
    assert there == keys_of(loop) and len(there) == len(reader) - 100


class Slow(bf.Source):
    """Tells when it is read, and waits."""

    def __init__(self, interrupt=-1):
        self.reading, self.go_on, self.interrupt = threading.Event(), threading.Event(), interrupt

    def streams(self):
        return {"x": bf.dense(1)}

    def chunks(self):
        return [[1]] * 5

    def read(self, chunk):
        if chunk == self.interrupt:
            self.interrupt = -1
            raise KeyboardInterrupt
        self.reading.set()
        assert self.interrupt == -1 or chunk < self.interrupt or self.go_on.wait(60)
        return {"x": np.full((1, 1), chunk)}


def test_a_child_that_is_forked_while_a_thread_reads_is_told_so(tmp_path):
    source = Slow(interrupt=-2)  # waits
    reader = bf.Reader(source, minibatch_samples=1, shuffle=False)
    thread = threading.Thread(target=reader.next)
    thread.start()
    assert source.reading.wait(60)
    time.sleep(0.2)  # for the thread to wait in the library
    child = os.fork()
    if child == 0:
        try:
            reader.next()
        except bf.ConfigError as error:
            os._exit(7 if error.id == "reader.forked-while-read" else 8)
        finally:
            os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    source.go_on.set()
    thread.join()
    assert reader.next()["x"].numpy().tolist() == [[1]]


@pytest.mark.parametrize("options", [{"prefetch": False}, {"prefetch": False, "threads": 1}])
def test_what_interrupts_a_source_is_no_fault_of_its_data(options):
    source = Slow(interrupt=2)
    source.go_on.set()
    reader = bf.Reader(source, minibatch_samples=1, shuffle=False, **options)
    seen = []
    with pytest.raises(KeyboardInterrupt):
        for batch in reader:
            seen += batch["x"].numpy().ravel().tolist()
    while (batch := reader.next()) is not None:
        seen += batch["x"].numpy().ravel().tolist()
    assert seen == [0, 1, 2, 3, 4]


def test_threads_may_share_a_loop(small):
    loop, seen = iter(reader_of(small)), []
    threads = [threading.Thread(target=lambda: seen.extend(key for batch in loop for key in batch.sequence_keys)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(int, seen)) == list(range(len(small.lengths)))


def test_a_fault_comes_at_its_place(tmp_path):
    path = tmp_path / "t.ctf"
    path.write_text("".join(f"{k} |x {'?' if k == 900 else k}\n" for k in range(1000)))
    reader = bf.Reader(bf.CTF(path, streams={"x": bf.dense(1)}, chunk_bytes=500), shuffle=False, minibatch_samples=1)
    given, loop = [], iter(reader)
    with pytest.raises(bf.FormatError) as caught:
        given.extend(batch["x"].numpy().item() for batch in loop)
    assert caught.value.line == 901
    assert given == list(range(len(given))) and len(given) > 800


def test_a_reader_may_keep_its_own_loop(small):
    reader = reader_of(small)
    reader.loop = iter(reader)
    next(reader.loop)
    gone = weakref.ref(reader)
    del reader
    gc.collect()
    assert gone() is None


def test_a_loop_uses_its_memory_again(tmp_path):
    reader = reader_of(Corpus(tmp_path / "even.ctf", [2] * 500), prefetch=False)
    seen = {batch["x"].values.__array_interface__["data"][0] for batch in reader}
    assert len(seen) == 2, "of the one that is held, and of the next"


@pytest.mark.parametrize(
    "options",
    (
        {"workers": 4, "rank": 3, "shard": "even"},
        {"workers": 4, "rank": 3, "shard": "chunk", "driver": "timeline"},
        {"minibatch_samples": 50, "last_minibatch": "drop"},
        {"minibatch_samples": 5, "long_sequence": "skip"},
        {"minibatch_samples": 5, "long_sequence": "skip", "epoch_samples": 3},
    ),
)
def test_epochs_without_end_and_data_are_refused(tmp_path, options):
    corpus = Corpus(tmp_path / "two.ctf", [6, 6])
    reader = corpus.reader(**{"chunk_bytes": 1 << 20, "minibatch_samples": 100, **options})
    with pytest.raises(bf.ConfigError, match=rf"no minibatch for rank {options.get('rank', 0)} of .* without end") as caught:
        next(reader.epochs())
    assert caught.value.id == "python.no-data"
    assert list(reader.epochs(3)) == []


def test_epochs_that_are_empty_now_and_then_go_on(tmp_path):
    corpus = Corpus(tmp_path / "one.ctf", [1000, 1])
    reader = corpus.reader(chunk_bytes=1 << 20, minibatch_samples=1, epoch_samples=3, shuffle=False)
    found = [batch.num_samples for batch, _ in zip(reader.epochs(), range(4))]
    assert found == [1000, 1, 1000, 1]


def test_what_asks_about_a_reader_reads_nothing(corpus):
    """Python would look for it among the minibatches, up to the last."""
    reader = corpus.reader()
    first = reader.next()
    state = reader.state_dict()
    assert "x" in reader and "z" not in reader and first not in reader and 0 not in reader
    assert reader and reader.state_dict() == state
    assert keys_of(reader) == keys_of(corpus.reader())[1:]
    reader.close()
    assert reader


def test_a_minibatch_is_no_array(corpus):
    batch = corpus.reader().next()
    with pytest.raises(TypeError, match=r"a minibatch is no array, but its streams are: batch\['x'\].numpy\(\)"):
        np.asarray(batch)
    assert np.asarray(batch["x"]).shape == batch["x"].shape and list(batch) == ["x", "y"]


def test_streams_are_alike_if_all_of_them_is(corpus):
    streams = corpus.reader().streams
    assert streams == corpus.reader().streams and streams["x"] != streams["y"] and streams["x"] != "x"
    assert len({*streams.values(), *corpus.reader().streams.values()}) == 2


@pytest.mark.parametrize("share", [iter, lambda reader: reader.epochs(2)], ids=["a loop", "epochs"])
def test_threads_share_an_iterator(small, share):
    reader, given, failed = reader_of(small), [], []
    batches = share(reader)

    def take():
        try:
            given.extend(key for batch in batches for key in batch.sequence_keys)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wanted = [str(key) for key in range(3000)] * (1 if share is iter else 2)
    assert not failed and sorted(given) == sorted(wanted)


def test_epochs_shared_with_a_forked_child(small):
    batches = reader_of(small).epochs(1)
    first = next(batches)
    child = os.fork()
    if child == 0:
        os._exit(0 if len([first, *batches]) == len(reader_of(small)) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_epochs_look_at_their_numbers_at_once(small):
    with pytest.raises(bf.ConfigError, match="count is 2.0, expected"):
        reader_of(small).epochs(2.0)


def test_ctrl_c_is_looked_at_before_a_minibatch_is_taken(small, interruptible):
    loop = iter(reader_of(small))
    first = next(loop)
    time.sleep(0.2)  # the next ones are at hand
    signal_comes = ctypes.pythonapi.PyErr_SetInterrupt
    signal_comes.restype = None
    with pytest.raises(KeyboardInterrupt):
        list(zip(iter(signal_comes, 1), loop))  # without a step of Python's own, which would look at it too
    assert (first.index, next(loop).index) == (0, 1)


def test_a_function_that_fails_unseen_gets_a_minibatch_twice_at_most(small):
    """It did not look, so the minibatch is not thought to have come; but an error that stays is no reason to stay."""
    calls = []

    def fails(_):
        calls.append(None)
        raise ValueError

    reader = reader_of(small)
    mapped, errors = map(fails, reader), 0
    while errors < 3 * len(reader):
        try:
            next(mapped)
        except ValueError:
            errors += 1
        except StopIteration:
            break
    assert len(reader) <= errors == len(calls) <= 2 * len(reader)


def step(loop):
    for batch in loop:
        return batch
    return None


WAYS_TO_TAKE = pytest.mark.parametrize(
    "way",
    [
        lambda reader: reader.next,
        lambda reader: functools.partial(step, iter(reader)),
        lambda reader: (lambda loop=iter(reader): next(loop, None)),
        lambda reader: (lambda loop=reader.epochs(2): next(loop, None)),
    ],
    ids=["next()", "a loop", "next(loop)", "epochs()"],
)


@WAYS_TO_TAKE
@pytest.mark.parametrize("prefetch", [True, False])
def test_ctrl_c_at_any_moment_takes_no_minibatch(small, way, prefetch):
    reader, again, rng = reader_of(small, prefetch=prefetch), reader_of(small), random.Random(1)
    take, taken, interrupts, armed = way(reader), [], 0, []

    def press(number, frame):
        if armed:
            armed.clear()
            raise KeyboardInterrupt

    def place(batch):
        return (batch.epoch, batch.index)

    def goes_on():
        """Until it is interrupted, or at the end."""
        batch = None
        try:
            armed.append(True)
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-6, 1e-4))
            while True:
                batch = None
                batch = take()
                if batch is None:
                    return False
                taken.append(place(batch))
        except KeyboardInterrupt:
            if batch is not None and place(batch) not in taken[-1:]:
                taken.append(place(batch))
            return True

    before = signal.signal(signal.SIGALRM, press)
    try:
        while goes_on():
            interrupts += 1
            if taken and interrupts % 10 == 0:
                epoch, index = taken[-1]
                behind = [(epoch, index + 1)]
                if index + 1 == len(reader):
                    behind.append((epoch + 1, 0))  # the same place, once the next epoch has begun
                there = reader.state_dict()
                assert (there["epoch"], there["minibatch"]) in behind
                again.load_state_dict(there)
                following = again.next()
                assert following is None or place(following) == behind[-1]
        armed.clear()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert taken == [(epoch, index) for epoch in range(taken[-1][0] + 1) for index in range(len(reader))]
    assert interrupts > 20


def fail(error):
    raise error


@WAYS_TO_TAKE
def test_a_minibatch_that_is_dropped_on_its_way_comes_again(small, way):
    reader = reader_of(small)
    take = way(reader)
    take()
    state, epoch = reader.state_dict(), reader.epoch
    for error in (ZeroDivisionError, KeyboardInterrupt, KeyboardInterrupt):
        with pytest.raises(error):
            [take(), fail(error)]
        assert (reader.state_dict(), reader.epoch) == (state, epoch)
    seen = take()
    assert seen.index == 1
    with pytest.raises(ZeroDivisionError):
        [take().index, 1 / 0]  # it was looked at
    take()  # let go of, without an exception
    assert take().index == 4
    with pytest.raises(ZeroDivisionError):
        [take(), seen.index, take(), 1 / 0]  # of several the newest
    assert take().index == 6


def test_what_is_dropped_late_moves_no_reader(small):
    reader = reader_of(small)
    for move in (lambda: reader.begin_epoch(2), lambda: reader.load_state_dict(state), reader.close):
        state = reader.state_dict()
        batches = [reader.next()]
        move()
        there = reader.state_dict(), reader.epoch
        with pytest.raises(ZeroDivisionError):
            [batches.pop(), 1 / 0]
        assert (reader.state_dict(), reader.epoch) == there


def test_epochs_go_on_behind_an_interrupt(small):
    reader = reader_of(small)
    batches, seen = reader.epochs(2), []
    for stop in (5, 700, None):
        with contextlib.suppress(KeyboardInterrupt):
            for batch in batches:
                seen.append((batch.epoch, batch.index))
                if len(seen) == stop:
                    raise KeyboardInterrupt
    assert seen == [(epoch, index) for epoch in (0, 1) for index in range(len(reader))]
