# SPDX-License-Identifier: MIT
"""The package as such: what it imports, its types and stubs, and that it lets go of what it takes."""
import gc
import os
import pathlib
import subprocess
import sys

from conftest import ROOT

import batchfeed as bf

PACKAGE = pathlib.Path(bf.__file__).parent


def test_importing_needs_numpy_only():
    script = """
import sys
for name in ("scipy", "torch", "jax", "pyarrow", "pandas", "fsspec", "tqdm", "hypothesis"):
    sys.modules[name] = None
import batchfeed
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_a_missing_library_is_named(corpus):
    script = """
import sys
sys.modules["scipy"] = sys.modules["scipy.sparse"] = None
import batchfeed as bf
try:
    next(iter(bf.open(sys.argv[1])))["y"].csr()
except ImportError as error:
    print(error)
"""
    out = subprocess.run([sys.executable, "-c", script, corpus.path], capture_output=True, text=True, timeout=60).stdout
    assert out == "csr() needs scipy: pip install scipy\n"


def test_stubs_are_fresh(tmp_path):
    """If not: python -m nanobind.stubgen -q -m batchfeed._core -o python/batchfeed/_core.pyi"""
    fresh = tmp_path / "_core.pyi"
    subprocess.run([sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "batchfeed._core", "-o", str(fresh)], check=True, timeout=120)
    assert fresh.read_text() == (ROOT / "python/batchfeed/_core.pyi").read_text()
    assert (PACKAGE / "_core.pyi").exists() and (PACKAGE / "py.typed").exists()


def test_types_are_strictly_right():
    done = subprocess.run([sys.executable, "-m", "mypy", "--no-incremental"], cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout


def resident():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_ten_thousand_opens_leave_nothing_behind(corpus):
    def once():
        with corpus.reader(threads=1, prefetch=False) as reader:
            return reader.next()["x"].numpy()

    for _ in range(500):
        once()
    gc.collect()
    files, memory = len(os.listdir("/proc/self/fd")), resident()
    for _ in range(10_000):
        once()
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == files
    assert resident() - memory < 8 << 20


def test_readers_with_threads_leave_none_behind(corpus):
    before = len(os.listdir("/proc/self/task"))
    for _ in range(300):
        reader = corpus.reader(threads=3)
        reader.next()
        del reader
    gc.collect()
    assert len(os.listdir("/proc/self/task")) == before
