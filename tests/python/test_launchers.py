# SPDX-License-Identifier: MIT
"""Two ranks under the launchers that are here; scripts/test_launchers brings Open MPI and a Slurm on this machine."""
import json
import os
import shlex
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest
from conftest import keys_of

import batchfeed as bf
from batchfeed import _world

SCRIPT = str(Path(__file__).with_name("launched_rank.py"))


def launched(corpus, folder, command=(), environments=({},)):
    """What the ranks were given: of one command that starts two, or of one process for each environment."""
    mine = {name: value for name, value in os.environ.items() if all(name not in names for names in _world.LAUNCHERS)}
    for environment in environments:
        done = subprocess.run([*command, sys.executable, SCRIPT, corpus.path, str(folder)], env={**mine, **environment},
                              capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in (0, 1)]


def check(corpus, ranks):
    assert [rank["world"] for rank in ranks] == [{"workers": 2, "rank": 0}, {"workers": 2, "rank": 1}]
    whole = keys_of(bf.open(corpus.path, minibatch_samples=20))
    assert len(whole) == len(ranks[0]["keys"]) == len(ranks[1]["keys"])
    for together, a, b in zip(whole, ranks[0]["keys"], ranks[1]["keys"]):
        assert a and b and sorted(together) == sorted(a + b)


@pytest.mark.parametrize("who, rank, workers", _world.LAUNCHERS)
def test_the_environment_of_a_launcher(corpus, tmp_path, who, rank, workers):
    check(corpus, launched(corpus, tmp_path, environments=[{rank: str(k), workers: "2"} for k in (0, 1)]))


@pytest.mark.skipif(not shutil.which("mpirun"), reason="no mpirun; scripts/test_launchers installs Open MPI")
def test_open_mpi(corpus, tmp_path):
    # Its daemons talk over the loopback only.
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2", "--mca", "oob_tcp_if_include", "lo"]
    check(corpus, launched(corpus, tmp_path, command))


@pytest.mark.skipif("BATCHFEED_TEST_SRUN" not in os.environ, reason="no Slurm; scripts/test_launchers starts one")
def test_slurm(corpus, tmp_path):
    check(corpus, launched(corpus, tmp_path, ["srun", "--ntasks=2", "--oversubscribe"]))


@pytest.mark.skipif("BATCHFEED_TEST_SRUN" not in os.environ, reason="no Slurm; scripts/test_launchers starts one")
def test_a_batch_script_without_srun(corpus, tmp_path):
    command = shlex.join([sys.executable, SCRIPT, corpus.path, str(tmp_path)])
    subprocess.run(["sbatch", "--wait", "--ntasks=2", "--output", tmp_path / "out", "--wrap", command], check=True,
                   timeout=120)
    assert json.loads((tmp_path / "0.json").read_text())["world"] == {"workers": 1, "rank": 0}


def test_processes_of_jax(monkeypatch):
    """Two of them are started by test_jax.py, where JAX is."""
    begun = types.SimpleNamespace(is_initialized=lambda: True)
    monkeypatch.setitem(sys.modules, "jax", types.SimpleNamespace(distributed=begun, process_count=lambda: 4, process_index=lambda: 3))
    assert bf.world() == {"workers": 4, "rank": 3}
    begun.is_initialized = lambda: False
    assert bf.world() == {"workers": 1, "rank": 0}
    del begun.is_initialized  # older ones
    assert bf.world() == {"workers": 1, "rank": 0}
