# SPDX-License-Identifier: MIT
"""Nothing is left behind by readers of any format, whichever way they end: no memory, descriptor or thread."""
import gc
import os
import pathlib
import signal
import time

import numpy as np
import pytest
from conftest import Corpus
from test_speech import Speech

import batchfeed as bf

OPENS = 1000


class Mine(bf.Source):
    """Raises, or lets the user press Ctrl+C, while it is read."""

    def __init__(self, interrupt=False):
        self.interrupt = interrupt

    def streams(self):
        return {"x": bf.dense(2)}

    def chunks(self):
        return [[1, 2], [1]]

    def read(self, chunk):
        if chunk == 1 and self.interrupt:
            signal.raise_signal(signal.SIGINT)
            time.sleep(0.2)  # the loop waits, and looks at signals
        elif chunk == 1:
            raise LookupError("no such chunk")
        return {"x": np.zeros((sum(self.chunks()[chunk]), 2))}


@pytest.fixture
def ways(tmp_path, monkeypatch, interruptible):
    """{name: what opens a reader and ends it}"""
    monkeypatch.chdir(tmp_path)
    corpus, speech = Corpus("a.ctf", [1 + k % 3 for k in range(30)]), Speech(tmp_path, [[("sil", 2), ("aa", 3)], [("bb", 4)]])
    Corpus("one.ctf", [1] * 30)
    bf.convert("a.ctf", "a.cbf")
    bf.convert("one.ctf", "legacy.cbf", legacy=True)
    bf.convert("a.ctf", "a.ctf.zst", to="ctf")
    pathlib.Path("a.ark").write_text("u  [ 1 2\n 3 4 ]\n")
    pathlib.Path("bad.ctf").write_text("1 |x 1 2\n2 |x oops\n")
    section = 'x = [ dim = 3 ; format = "dense" ] ; y = [ dim = 5 ; format = "sparse" ]'
    pathlib.Path("a.cntk").write_text(f'reader = [ readerType = "CNTKTextFormatReader" ; file = "a.ctf" ; input = [ {section} ] ]\n')

    def read(what, **options):
        with bf.open(what, threads=2, report=None, **options) as reader:
            assert reader.next() is not None

    def abandoned():
        loop = iter(corpus.reader())
        return next(loop)["x"].numpy()

    def failing(error, source):
        with pytest.raises(error):
            list(bf.Reader(source, order="file", minibatch_samples=1, threads=2))

    return {
        "text": lambda: read("a.ctf"),
        "compressed": lambda: read("a.ctf.zst"),
        "binary": lambda: read("a.cbf"),
        "legacy binary": lambda: read("legacy.cbf"),
        "a configuration": lambda: read("a.cntk"),
        "speech": lambda: read([speech.scp, speech.mlf], state_list=speech.states),
        "frames": lambda: read(speech.scp, pack="frames"),
        "Kaldi": lambda: read("a.ark"),
        "in memory": lambda: bf.Reader(bf.Arrays({"x": np.ones((30, 3))}), threads=2).next(),
        "a mixture": lambda: bf.Reader(bf.Mix((corpus.source(), 1), ("a.cbf", 2)), threads=2).next(),
        "a loop that was left": abandoned,
        "a state": lambda: corpus.reader().load_state_dict(corpus.reader().state_dict()),
        "a damaged file": lambda: failing(bf.FormatError, bf.CTF("bad.ctf", {"x": bf.dense(2)})),
        "no such file": lambda: failing(FileNotFoundError, "nothing.ctf"),
        "a source that raises": lambda: failing(LookupError, Mine()),
        "Ctrl+C": lambda: failing(KeyboardInterrupt, Mine(interrupt=True)),
        "a writer that was left": lambda: bf.Writer("w.cbf", corpus.streams).discard(),
    }


NAMES = (
    "text|compressed|binary|legacy binary|a configuration|speech|frames|Kaldi|in memory|a mixture|a loop that was left|a state|"
    "a damaged file|no such file|a source that raises|Ctrl+C|a writer that was left"
).split("|")


def held():
    gc.collect()
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE"), len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_left(ways, name):
    assert set(ways) == set(NAMES)
    opens = OPENS // 20 if name == "Ctrl+C" else OPENS
    for _ in range(opens // 5):
        ways[name]()
    # What a reader leaves is left each time. Pages that are large, as threads come to need them at once, are not.
    grown = []
    while not grown or (grown[-1] > 1 << 20 and len(grown) < 6):
        memory, files, threads = held()
        for _ in range(opens):
            ways[name]()
        now = held()
        assert now[1:] == (files, threads)
        grown.append(now[0] - memory)
    assert grown[-1] <= 1 << 20, grown
