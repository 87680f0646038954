# SPDX-License-Identifier: MIT
"""Commands that are killed."""
import importlib.util

from conftest import BINARY, ROOT


def test_a_killed_conversion_leaves_the_target_absent_old_or_complete():
    spec = importlib.util.spec_from_file_location("kill9_convert", ROOT / "tests/crash/kill9_convert.py")
    kill9 = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kill9)
    counts = kill9.run(BINARY, rounds=40, rows=5000, seed=1)
    assert sum(counts.values()) == 40
    assert counts["absent"] + counts["old"] > 0  # kills that came in time


def test_processes_that_share_an_index_cache_and_are_killed_read_the_data_as_they_are():
    spec = importlib.util.spec_from_file_location("cache_race", ROOT / "tests/crash/cache_race.py")
    race = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(race)
    counts = race.run(BINARY, processes=4, rounds=12, rows=2000, seed=1)
    assert counts["survived"] > 0 and counts["whole"] > 0
