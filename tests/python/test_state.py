# SPDX-License-Identifier: MIT
"""Stopping and going on: states, pickles, processes, signals."""
import gc
import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading

import pytest
from conftest import keys_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import batchfeed as bf


def test_a_state_of_other_options_is_no_damaged_one(corpus):
    state = json.loads(json.dumps(corpus.reader(order="uniform").state_dict(), sort_keys=True))
    with pytest.raises(bf.StateError, match="saved with order = uniform, the reader has file"):
        corpus.reader(order="file").load_state_dict(state)
    for change in ({"minibatch": 1}, {"unheard": 1}):
        with pytest.raises(bf.StateError, match="is damaged"):
            corpus.reader(order="uniform").load_state_dict({**state, **change})


def test_all_damaged_sequences_are_counted_those_that_the_source_tolerates_too(tmp_path):
    (tmp_path / "a.ctf").write_text("".join(f"{i} |x {'1 2' if i % 5 else '1 ?'}\n" for i in range(100)))
    source = bf.CTF(str(tmp_path / "a.ctf"), {"x": bf.dense(2)}, max_errors=100)
    for pack in ("sequences", "truncated"):
        options = {"minibatch_samples": 20, "order": "file", "pack": pack, "truncation_length": 4 if pack == "truncated" else 0}
        reader = bf.Reader(source, **options)
        seen = 0
        for batch in reader:
            seen += batch.invalid
            assert reader.invalid == seen
        assert seen == 20
        again = bf.Reader(source, **options)
        again.load_state_dict(reader.state_dict())
        assert again.invalid == 20


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    stop=st.integers(0, 40),
    order=st.sampled_from(["uniform", "cntk", "file"]),
    pack=st.sampled_from(["sequences", "truncated"]),
    sort=st.booleans(),
)
def test_any_place_goes_on_exactly(corpus, stop, order, pack, sort):
    options = {"order": order, "pack": pack, "truncation_length": 2 if pack == "truncated" else 0}
    reader = corpus.reader(**options)
    for _ in zip(range(stop), reader.epochs(3)):
        pass
    state = json.loads(json.dumps(reader.state_dict(), sort_keys=sort))
    reader.load_state_dict(state)
    expected = keys_of(reader.epochs(until=4))
    other = corpus.reader(**options)
    other.load_state_dict(state)
    assert keys_of(other.epochs(until=4)) == expected


def test_a_state_goes_on_with_another_number_of_workers(corpus):
    reader = corpus.reader(minibatch_samples=20)
    reader.next()
    expected = keys_of(reader)
    reader.begin_epoch(0)
    reader.next()
    state = reader.state_dict()
    parts = []
    for rank in range(3):
        part = corpus.reader(minibatch_samples=20, workers=3, rank=rank)
        part.load_state_dict(state)
        parts.append({b.index: b.sequence_keys for b in part})
    for i, keys in enumerate(expected, start=1):
        assert sorted(sum((p.get(i, []) for p in parts), [])) == sorted(keys)


def test_every_kind_of_state_goes_on_whatever_order_its_names_come_in(corpus):
    """Some names are there only after epochs that lost sequences, at the end of one, or with rows that wait."""
    seen = set()
    for more in ({"bucket_minibatches": 2}, {"epoch_samples": 17, "shard": "chunk"}, {"epoch_samples": 7, "pack": "truncated", "truncation_length": 2}):
        options = {"order": "cntk", "window": 1, "minibatch_samples": 5, **more}
        reader = corpus.reader(**options)
        for epoch in range(4):
            reader.begin_epoch(epoch)
            while True:
                state = reader.state_dict()
                seen.update(state)
                other = corpus.reader(**options)
                other.load_state_dict(json.loads(json.dumps(state, sort_keys=True)))
                assert other.state_dict() == state
                if reader.next() is None:
                    break
    assert {"padding", "past", "queue", "follows"} <= seen


def test_a_state_of_other_data_or_options_is_refused(corpus, tmp_path):
    state = corpus.reader().state_dict()
    with pytest.raises(bf.StateError, match="seed"):
        corpus.reader(seed=9).load_state_dict(state)
    with pytest.raises(bf.StateError, match="damaged"):
        corpus.reader().load_state_dict({**state, "position": 3})
    with pytest.raises(bf.StateError):
        corpus.reader().load_state_dict({"position": 3})
    with open(corpus.path, "a") as file:
        file.write("99 |x 1 2 3 |y 0:1\n")
    with pytest.raises(bf.StateError) as caught:
        corpus.reader().load_state_dict(state)
    assert caught.value.kind == "state" and caught.value.hint


def test_pickling_keeps_options_and_place(corpus):
    reader = corpus.reader(seed=5)
    reader.next()
    copy = pickle.loads(pickle.dumps(reader))
    assert repr(copy) == repr(reader) and copy.options.order.seed == 5
    assert keys_of(copy) == keys_of(reader)


def rest(reader):
    return keys_of(reader)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_another_process_goes_on_where_this_one_is(corpus, method):
    reader = corpus.reader()
    reader.next()
    with multiprocessing.get_context(method).Pool(1) as pool:
        there = pool.apply(rest, (reader,))
    assert there == keys_of(reader)


def test_a_forked_child_uses_the_same_object(corpus):
    reader = corpus.reader()
    reader.next()
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(into, json.dumps(keys_of(reader)).encode())
        del reader
        gc.collect()
        os._exit(0)
    os.close(into)
    with os.fdopen(out) as pipe:
        there = json.load(pipe)
    assert os.waitpid(child, 0)[1] == 0
    assert there == keys_of(reader), "neither disturbs the other"


def test_threads_may_share_a_reader(corpus):
    reader = corpus.reader(minibatch_samples=1)
    seen = []

    def work():
        while (batch := reader.next()) is not None:
            seen.extend(batch.sequence_keys)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(int, seen)) == list(range(len(corpus.lengths)))


def test_the_gil_is_free_while_a_reader_waits(corpus):
    """Another thread is at work in Python while this one is within next(), which waits for it."""
    asked, answered = threading.Event(), threading.Event()

    def report(fault):
        asked.set()
        assert answered.wait(30)

    thread = threading.Thread(target=lambda: asked.wait(30) and answered.set())
    thread.start()
    with open(corpus.path, "a") as file:
        file.write("99 |x 1 2 |y 0:1\n")
    for _ in corpus.reader(report=report):
        pass
    thread.join()
    assert answered.is_set()


SCRIPT = """
import sys
import batchfeed as bf
reader = bf.Reader(bf.CTF(sys.argv[1], streams={"x": bf.dense(3)}), minibatch_samples=1, epoch_sweeps=10**9, driver="timeline")
try:
    print("ready", flush=True)
    for batch in reader:
        pass
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(7)
"""


def test_ctrl_c_ends_a_loop(corpus):
    done = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, corpus.path],
        stdout=subprocess.PIPE,
        text=True,
        # What is started in the background may have been told to ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert done.stdout.readline() == "ready\n"
    done.send_signal(signal.SIGINT)
    out, _ = done.communicate(timeout=30)
    assert (done.returncode, out) == (7, "interrupted\n")


def test_a_reader_at_large_does_not_keep_python_from_ending(corpus):
    script = "import sys, batchfeed as bf; r = bf.open(sys.argv[1], minibatch_samples=1); b = r.next(); print(len(b))"
    done = subprocess.run([sys.executable, "-c", script, corpus.path], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")


def test_the_state_of_a_reader_that_is_closed(corpus, expected):
    for n in range(len(expected[0]) + 1):
        with corpus.reader() as reader:
            for _ in range(n):
                reader.next()
            before = reader.state_dict()
        reader.close()
        assert reader.state_dict() == before
        there = corpus.reader()
        there.load_state_dict(reader.state_dict())
        assert keys_of(iter(there.next, None)) == expected[0][n:]
        assert keys_of(iter(pickle.loads(pickle.dumps(reader)).next, None)) == expected[0][n:]
