# SPDX-License-Identifier: MIT
"""Python ends while daemon threads are in batchfeed's hands: in silence, and with the exit status that was asked for."""
import subprocess
import sys

import pytest

HEAD = """
import sys, threading, time
import numpy as np
import batchfeed as bf

class Slow(bf.Source):
    def streams(self):
        return {"x": bf.dense(1)}
    def chunks(self):
        return [[1] * 100] * 50
    def read(self, chunk):
        time.sleep(0.01)
        return {"x": np.ones((100, 1))}

path = sys.argv[1]
"""
WORK = {
    "reading": "for batch in bf.open(path, minibatch_samples=3).epochs(): pass",
    "reading without a thread ahead": "for batch in bf.open(path, minibatch_samples=3, prefetch=False).epochs(): pass",
    "a source in Python": "for batch in bf.Reader(Slow(), minibatch_samples=5).epochs(): pass",
    "a source in Python, read where it is asked": "for batch in bf.Reader(Slow(), minibatch_samples=5, prefetch=False).epochs(): pass",
    "checking": "while True: bf.check(path)",
    "with progress": "while True: bf.check(Slow(), progress=lambda done, total: None)",
    "opening": "while True: bf.open(path, minibatch_samples=3)",
}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK.keys())
def test_daemon_threads_do_not_disturb_the_end_of_python(corpus, work):
    threads = f"""
def work():
    {work}
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
sys.exit(3)
"""
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", HEAD + threads, corpus.path], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (3, "")


def test_what_is_read_in_an_exit_handler(corpus):
    script = """
import atexit
def late():  # runs behind those of batchfeed
    print(sum(batch.num_samples for batch in bf.Reader(Slow(), minibatch_samples=64)))
atexit.register(late)
"""
    head = HEAD.replace("import batchfeed as bf", "").replace("class Slow", script + "\nimport batchfeed as bf\nclass Slow")
    done = subprocess.run([sys.executable, "-c", head, corpus.path], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "5000\n", "")
