# SPDX-License-Identifier: MIT
"""Every system call of a reader in Python fails in turn: an exception that names the
file, or the same data; no descriptor is lost, and the next reader works."""
import os
import pathlib
import subprocess
import sys

SHIM = pathlib.Path(__file__).parents[1] / "preload"

PROGRAM = """
import ctypes, errno, os, sys
sys.path.insert(0, sys.argv[2])
import batchfeed as bf
import shim

path = sys.argv[1]
library = ctypes.CDLL(None)
library.fail_call.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_int]
library.fail_count.restype = ctypes.c_long


def epoch():
    source = bf.CTF(path, streams={"x": bf.dense(3), "y": bf.sparse(5)}, chunk_bytes=300)
    with bf.Reader(source, minibatch_samples=7, threads=2) as reader:
        return [(list(batch.sequence_keys), batch["x"].numpy().tobytes()) for batch in reader]


def descriptors():
    return len(os.listdir("/proc/self/fd"))


due, held, failed = epoch(), descriptors(), 0
for call in ("open", "fstat", "pread"):
    ways = [(how, True) for how in shim.INVISIBLE.get(call, [])] + [(how, False) for how in shim.FAULTS[call]]
    for how, invisible in ways:
        for n in range(1, 200):
            library.fail_call(call.encode(), n, how)
            try:
                assert epoch() == due, (call, n, how)
            except bf.Error as error:
                assert not invisible and path in str(error), (call, n, how, error)
                assert getattr(error, "errno", how) == how, (call, n, how, error.errno)
            reached = library.fail_count() >= n
            library.fail_call(b"", 0, 0)
            assert descriptors() == held, (call, n, how)
            if not reached:
                break
            failed += 1
            assert epoch() == due
assert failed > 30, failed
print("done", failed)
"""


def test_every_call_fails_in_every_way(corpus):
    sys.path.insert(0, str(SHIM))
    import shim

    environment = {**os.environ, "LD_PRELOAD": shim.build(), "FAIL_UNDER": str(pathlib.Path(corpus.path).parent)}
    done = subprocess.run([sys.executable, "-c", PROGRAM, corpus.path, str(SHIM)], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout.startswith("done"), done.stdout + done.stderr
