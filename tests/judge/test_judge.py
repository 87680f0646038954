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
