# SPDX-License-Identifier: MIT
"""The command as users run it: BATCHFEED names the binary (default: the release build)."""
import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("BATCHFEED", str(ROOT / "build/release/bin/batchfeed"))
LAUNCHERS = ("RANK", "WORLD_SIZE", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
             "PMI_RANK", "PMI_SIZE")


class Result:
    def __init__(self, done):
        self.code = done.returncode
        self.out = done.stdout.decode()
        self.err = done.stderr.decode()

    @property
    def lines(self):
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def batchfeed(tmp_path):
    """batchfeed("read", "x.ctf") runs it in an empty folder that the test fills."""

    def run(*arguments, env=None, stdin=b""):
        clean = {k: v for k, v in os.environ.items() if k not in LAUNCHERS}
        done = subprocess.run([BINARY, *map(str, arguments)], cwd=tmp_path, capture_output=True, input=stdin, timeout=60,
                              env={**clean, **(env or {})})
        return Result(done)

    run.folder = tmp_path
    return run


@pytest.fixture
def write(tmp_path):
    def put(name, text):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return name

    return put


CONFIG = """
Train = [
  reader = [
    readerType = "CNTKTextFormatReader"
    file = "train.ctf"
    randomize = {randomize}
    {extra}
    input = [
      v = [ dim = 2 ; format = "dense" ]
      tags = [ alias = "t" ; dim = 10 ; format = "sparse" ]
    ]
  ]
]
"""


@pytest.fixture
def corpus(write):
    """Sequences 0..n-1 of 1 to 3 samples with a configuration beside them."""

    def make(n=10, randomize="false", extra=""):
        lines = []
        for key in range(n):
            for step in range(1 + key % 3):
                lines.append(f"{key} |v {key} {step}.5 |t {key % 10}:1\n")
        write("train.ctf", "".join(lines))
        return write("train.cntk", CONFIG.format(randomize=randomize, extra=extra))

    return make
