# SPDX-License-Identifier: MIT
"""The engine beside slow readers that share nothing with it, on generated files."""
import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import judge  # noqa: E402

CASES = int(os.environ.get("BATCHFEED_JUDGE_CASES", "1000"))


@pytest.mark.parametrize("name", judge.JUDGES)
def test_the_engine_reads_what_a_slow_reader_reads(name):
    found = list(judge.compare(name, CASES))
    assert not found, "\n".join(found[:5])


def test_a_judge_that_is_wrong_is_found_out(monkeypatch):
    monkeypatch.setattr(judge.ctf_slow, "is_blank", lambda byte: byte == 0x20)  # a tab is a blank too
    assert any(judge.judge_ctf(seed) for seed in range(60))


@pytest.mark.parametrize("name, part", [("htk", "quotient"), ("htk", "key_of"), ("mlf", "frame"), ("mlf_binary", "LONGEST")])
def test_a_judge_of_speech_that_is_wrong_is_found_out(monkeypatch, name, part):
    wrong = {"quotient": lambda a, b: a, "key_of": lambda name: name, "frame": lambda value: int(value) + 1, "LONGEST": 12}[part]
    monkeypatch.setattr(judge, "speech_shrunk", lambda folder, files, config, slow: files)
    monkeypatch.setattr(judge.htk_slow if name == "htk" else judge.mlf_slow, part, wrong)
    assert any(judge.JUDGES[name](seed) for seed in range(40))
