# SPDX-License-Identifier: MIT
"""What a reader calls: handlers of signals, `report`, `progress`, sources written in Python."""
import signal
import threading
import time

import numpy as np
import pytest

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


def test_a_handler_of_signals_may_ask_where_the_reader_is(monkeypatch):
    asked, states = threading.Event(), []

    def handler(number, frame):
        states.append(reader.state_dict()["minibatch"])
        asked.set()

    def before(chunk):
        if chunk == 3 and not asked.is_set():
            signal.raise_signal(signal.SIGUSR1)
            assert asked.wait(60)

    before_it = signal.signal(signal.SIGUSR1, handler)
    try:
        reader = opened(Numbers(before), prefetch_depth=1, threads=1)
        assert rest(reader) == list(range(6))
    finally:
        signal.signal(signal.SIGUSR1, before_it)
    assert len(states) == 1 and states[0] <= 3
