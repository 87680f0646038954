# SPDX-License-Identifier: MIT
"""bf.split: training and test data."""
from fractions import Fraction

import numpy as np
import pytest
from conftest import Corpus, keys_of

import batchfeed as bf


@pytest.fixture
def whole(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Corpus("all.ctf", [1, 2] * 150)


def keys(file):
    return sum(keys_of(bf.open(file, minibatch_samples=100, shuffle=False)), [])


def test_parts_are_all_of_it_and_apart(whole):
    done = bf.split("all.ctf", {"train.ctf": 0.8, "valid.cbf": 0.1, "test.ctf": 0.1}, exact=True)
    assert [one.sequences for one in done.values()] == [240, 30, 30] and done["train.ctf"].left_out == 0
    assert sum(one.samples for one in done.values()) == 450
    parts = [keys(file) for file in done]
    assert sorted(sum(parts, [])) == sorted(keys("all.ctf"))
    assert all(part == sorted(part, key=keys("all.ctf").index) for part in parts), "in the order of the corpus"


def test_fractions_may_be_numbers_of_any_type(whole):
    for number in (np.float32, Fraction):
        done = bf.split("all.ctf", {"a.ctf": number(0.5), "b.ctf": number(0.5)}, exact=True, force=True)
        assert [one.sequences for one in done.values()] == [150, 150]


def test_a_sequence_stays_in_its_part_when_the_corpus_grows(whole):
    bf.split(whole.path, {"a.ctf": 0.7, "b.ctf": 0.3})
    Corpus("more.ctf", [1, 2] * 200)
    bf.split("more.ctf", {"c.ctf": 0.7, "d.ctf": 0.3})
    assert set(keys("a.ctf")) < set(keys("c.ctf")) and set(keys("b.ctf")) < set(keys("d.ctf"))
    bf.split("more.ctf", {"c.ctf": 0.7, "d.ctf": 0.3}, seed=1, force=True)
    assert not set(keys("a.ctf")) <= set(keys("c.ctf"))


def test_what_the_command_writes(whole, tmp_path):
    with open("labels.ctf", "w") as text:
        text.writelines(f"{i} |x {i} |y {i % 3 // 2}:1\n" for i in range(90))
    bf.split(bf.CTF("labels.ctf", streams={"x": bf.dense(1), "y": bf.sparse(2)}), {"a.ctf": 2 / 3, "b.ctf": 1 / 3}, stratify="y", streams=["y"])
    for file, of_each in (("a.ctf", (40, 20)), ("b.ctf", (20, 10))):
        lines = (tmp_path / file).read_text().splitlines()
        assert [sum(f"|y {c}:1" in line for line in lines) for c in (0, 1)] == list(of_each) and "|x" not in lines[0]


@pytest.mark.parametrize(
    "parts, options, words",
    [
        ({"a.ctf": 0.5, "b.ctf": 0.4}, {}, "fractions must be positive and sum to 1"),
        ({"a.ctf": 1.5, "b.ctf": -0.5}, {}, "parts is 1.5, expected for each file a fraction, above 0 and below 1"),
        ({"a.ctf": "0.5", "b.ctf": 0.5}, {}, "parts is '0.5', expected for each file a fraction"),
        (["a.ctf", "b.ctf"], {}, "parts is .'a.ctf', 'b.ctf'., expected a mapping such as"),
        ({"a.ctf": 0.5, "all.ctf": 0.5}, {}, "all.ctf: the file exists; hint: force=True"),
        ({"a.ctf": 0.5, "all.ctf": 0.5}, {"force": True}, "all.ctf: is what is read"),
        ({"a.ctf": 0.5, "./a.ctf": 0.5}, {}, "two parts would be written to it"),
        ({"a.ctf": 0.5, "memory://b.ctf": 0.5}, {}, "split[(][)] writes local files"),
        ({"a.npz": 0.5, "b.ctf": 0.5}, {}, "in no format that convert[(][)] writes; hint: bf.to_npz"),
        ({"a.ctf": 0.5, "b.ctf": 0.5}, {"stratify": "z"}, "'z'"),
    ],
)
def test_what_cannot_be_done_is_told_and_nothing_is_written(whole, tmp_path, parts, options, words):
    before = (tmp_path / "all.ctf").read_bytes()
    with pytest.raises(bf.ConfigError, match=words):
        bf.split("all.ctf", parts, **options)
    assert (tmp_path / "all.ctf").read_bytes() == before and [file.name for file in tmp_path.iterdir()] == ["all.ctf"]
