# SPDX-License-Identifier: MIT
"""The package as such: what it imports, its types and stubs, and that it lets go of what it takes."""
import gc
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

import pytest
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


def test_importing_brings_nothing_that_serves_remote_files_alone():
    script = """
import sys
import numpy
before = set(sys.modules)
import batchfeed
print(sorted({"asyncio", "ssl", "concurrent.futures", "multiprocessing"} & (set(sys.modules) - before)))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"


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


def test_the_sdist_has_all_that_a_build_needs(tmp_path):
    pytest.importorskip("scikit_build_core")
    if shutil.which("cmake") is None:
        pytest.skip("needs cmake")
    made = "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", made, str(tmp_path)], cwd=ROOT, check=True, capture_output=True, timeout=120)
    [archive] = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path)
    [folder] = (path for path in tmp_path.iterdir() if path.is_dir())
    settings = {"BUILD_PYTHON": "ON", "BUILD_CLI": "OFF", "INSTALL": "OFF"}  # as in pyproject.toml
    given = [*(f"-DBATCHFEED_{name}={value}" for name, value in settings.items()), f"-DPython_EXECUTABLE={sys.executable}"]
    done = subprocess.run(["cmake", "-S", folder, "-B", tmp_path / "build", *given], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    here = {path.name for path in (ROOT / "python/batchfeed").iterdir() if path.suffix in (".py", ".pyi", ".typed")}
    assert here == {path.name for path in (folder / "python/batchfeed").iterdir() if path.is_file()}


@pytest.mark.skipif(sys.version_info < (3, 10), reason="in 3.9 nanobind writes Optional[X] for X | None")
def test_stubs_are_fresh(tmp_path):
    """If not: python -m nanobind.stubgen -q -m batchfeed._core -p python/stub_patterns.txt -o python/batchfeed/_core.pyi"""
    fresh = tmp_path / "_core.pyi"
    patterns = str(ROOT / "python/stub_patterns.txt")
    subprocess.run([sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "batchfeed._core", "-p", patterns, "-o", str(fresh)], check=True, timeout=120)
    assert fresh.read_text() == (ROOT / "python/batchfeed/_core.pyi").read_text()
    assert (PACKAGE / "_core.pyi").exists() and (PACKAGE / "py.typed").exists()


@pytest.mark.parametrize(
    "options",
    [[], ["--strict", "--config-file=", "--ignore-missing-imports", "--allow-subclassing-any", "python/batchfeed"]],
    ids=["as set up", "without settings of ours"],
)
def test_types_are_strictly_right(options):
    done = subprocess.run([sys.executable, "-m", "mypy", "--no-incremental", *options], cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout


def test_arrays_are_right_where_lists_are(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("""
from pathlib import Path

import numpy as np
import numpy.typing as npt

import batchfeed as bf


class Own(bf.Source):
    def chunks(self) -> list[npt.NDArray[np.int64]]:
        return [np.array([1, 2])]


with bf.Writer("a.ctf", {"x": bf.dense(2)}) as writer:
    writer.extend({"x": np.ones((3, 2))}, lengths=np.array([1, 2]), keys=np.array([7, 8]))
bf.Arrays({"x": np.ones((3, 2))}, lengths=np.array([1, 2]), keys=np.array([7, 8]))
bf.Arrays({"x": np.ones((3, 2))}, lengths={"x": np.array([1, 2])}, keys=[7, 8])
bf.CTF(Path().glob("*.ctf"))
bf.info(Path().glob("*.ctf"))
bf.open(Path().glob("*.ctf"))
bf.merge(Path().glob("*.ctf"), "all.ctf")
""")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir", str(tmp_path / "cache"), str(program)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout


def test_types_that_a_checker_knows(tmp_path):
    """Any would pass wherever it is used."""
    program = tmp_path / "program.py"
    program.write_text("""
from collections.abc import Mapping
from typing import Optional, Union

import numpy as np
import numpy.typing as npt
from typing_extensions import assert_type

import batchfeed as bf

report = bf.check("a.ctf")
assert_type(report.faults + report.warnings + report.sequences + report.samples + report.bytes, int)
assert_type(report.by_id, dict[str, int])
assert_type(report.complete, bool)
assert_type(report[0].line, Optional[int])

reader = bf.open("a.ctf")
for batch in reader.epochs(2):
    assert_type(batch["x"], bf.Stream)
    assert_type(batch.get("x"), Optional[bf.Stream])
    assert_type(batch.get("x", 3), Union[bf.Stream, int])
    assert_type(batch["x"].padded(sequences=3, steps=4).mask, npt.NDArray[np.bool_])
    assert_type(batch["x"].classes(), npt.NDArray[np.int32])
    memoryview(batch["x"])
    as_mapping: Mapping[str, bf.Stream] = batch
assert_type(reader.options.order.seed, int)
assert_type(reader.options == reader.options, bool)
assert_type(bf.Mix(("a.ctf", 1)).weights, list[float])
""")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir", str(tmp_path / "cache"), str(program)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout


def test_nothing_is_left_when_python_ends(corpus, tmp_path):
    script = """
import pickle, sys
import numpy as np
import batchfeed as bf

class Mine(bf.Source):
    def streams(self):
        return {"x": bf.dense(1)}
    def chunks(self):
        return [[1, 2], [3]]
    def read(self, chunk):
        if chunk == 1:
            raise LookupError(chunk)
        return {"x": np.ones((3, 1))}

def work():
    reader = bf.open(sys.argv[1], minibatch_samples=5, report=lambda fault: None)
    for batch in reader.epochs(2):
        kept = batch["x"].numpy(), batch["y"].csr(), batch["y"].padded(), memoryview(batch["x"])
    pickle.loads(pickle.dumps(reader))
    bf.check(sys.argv[1]), bf.info(sys.argv[1])
    with bf.Writer(sys.argv[2], {"x": bf.dense(3), "y": bf.sparse(5)}, keys=False) as writer:
        writer.write(reader)
    reader = bf.Reader(Mine(), minibatch_samples=1)
    try:
        list(reader)
    except LookupError:
        pass
    try:
        bf.open("nothing.ctf")
    except OSError:
        pass

work()
"""
    env = {**os.environ, "BATCHFEED_LEAK_WARNINGS": "1"}
    arguments = [sys.executable, "-c", script, corpus.path, str(tmp_path / "out.cbf")]
    done = subprocess.run(arguments, env=env, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


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
