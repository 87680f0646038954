# SPDX-License-Identifier: MIT
"""The sessions in the documents (```console blocks) are run, and must print what stands there."""
import os
import pathlib
import re
import subprocess

import pytest

from conftest import BINARY, ROOT

# What differs from run to run.
TIMES = re.compile(r"\b[\d.]+ (?:us|ms|s|min)\b")


def sessions():
    for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]):
        blocks = re.findall(r"(?ms)^```console\n(.*?)^```$", path.read_text())
        if blocks:
            yield pytest.param(path, blocks, id=str(path.relative_to(ROOT)))


SESSIONS = list(sessions())


def test_there_are_sessions():
    assert SESSIONS


@pytest.mark.parametrize("path, blocks", SESSIONS)
def test_a_session_prints_what_its_page_says(path, blocks, tmp_path):
    env = {**os.environ, "PATH": f"{pathlib.Path(BINARY).parent}:{os.environ['PATH']}"}
    for block in blocks:
        for step in re.split(r"(?m)^\$ ", block)[1:]:
            command, _, expected = step.partition("\n")
            # `cat FILE` shows a file that the reader is thought to have.
            if re.fullmatch(r"cat \S+", command) and not (tmp_path / command[4:]).exists():
                (tmp_path / command[4:]).write_text(expected)
                continue
            done = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=env, text=True, timeout=60,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            assert TIMES.sub("T", done.stdout).rstrip() == TIMES.sub("T", expected).rstrip(), f"{path}: {command}"
