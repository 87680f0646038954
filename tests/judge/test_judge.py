# SPDX-License-Identifier: MIT
"""The engine beside slow readers that share nothing with it, on generated files."""
import ast
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import joined_files  # noqa: E402
import joined_random  # noqa: E402
import joined_slow  # noqa: E402
import judge  # noqa: E402
import legacy_slow  # noqa: E402
import minibatch_random  # noqa: E402
import minibatch_slow  # noqa: E402
import starter  # noqa: E402

CASES = int(os.environ.get("BATCHFEED_JUDGE_CASES", "1000"))


@pytest.mark.parametrize("name", judge.JUDGES)
def test_the_engine_reads_what_a_slow_reader_reads(name):
    found = list(judge.compare(name, CASES))
    assert not found, "\n".join(found[:5])


load = judge.ctf_slow.load


@pytest.mark.parametrize("part, wrong", [
    ("is_blank", lambda byte: byte == 0x20),  # a tab is a blank too
    ("is_comment_only", lambda line: False),
    ("load", lambda *sequence: max(load(*sequence) - 1, 0)),  # an error less than there are
    ("load", lambda *sequence: load(*sequence) and load(*sequence) + 1),
])
def test_a_judge_that_is_wrong_is_found_out_and_its_corpus_shrunk(monkeypatch, part, wrong):
    monkeypatch.setattr(judge.ctf_slow, part, wrong)
    found = next(filter(None, (judge.judge_ctf(seed) for seed in range(30))))
    shown = re.match(r"seed \d+: \[(b'[^']*'|b\"[^\"]*\")\]\n", found)  # one file is left
    assert shown and len(ast.literal_eval(shown[1])) < 30, found


def test_a_judge_of_binary_files_that_is_wrong_is_found_out(monkeypatch):
    value = judge.cbf_slow.value
    monkeypatch.setattr(judge.cbf_slow, "value", lambda rng, element: abs(value(rng, element)))
    assert not judge.judge_cbf(1)  # what is written is what is expected
    read = judge.run
    monkeypatch.setattr(judge, "run", lambda folder, text: read(folder, text)[:-1])
    found = judge.judge_cbf(1)
    assert found and found.count(",", 0, found.index("]")) == 0, found  # shrunk to one file


@pytest.mark.parametrize("name, part", [("htk", "quotient"), ("htk", "key_of"), ("mlf", "frame"), ("mlf_binary", "LONGEST")])
def test_a_judge_of_speech_that_is_wrong_is_found_out(monkeypatch, name, part):
    wrong = {"quotient": lambda a, b: a, "key_of": lambda name: name, "frame": lambda value: int(value) + 1, "LONGEST": 12}[part]
    monkeypatch.setattr(judge, "speech_shrunk", lambda folder, files, config, slow: files)
    monkeypatch.setattr(judge.htk_slow if name == "htk" else judge.mlf_slow, part, wrong)
    assert any(judge.JUDGES[name](seed) for seed in range(40))


def wrong_minibatches(part, slow=minibatch_slow):
    right = getattr(slow, part)
    return {
        "shuffled_chunks": lambda chunks, seed: right(chunks, seed + 1),
        "swapped": lambda chunks, windows, seed: right(chunks, windows, 0),
        "windows_of_chunks": lambda count, window: [(0, count)] * count,
        "windows_of_samples": lambda sizes, window: right(sizes, window + 1),
        "share": lambda count, workers, rank: count // workers + (count % workers >= rank),
        "packed": lambda lengths: right(sorted(lengths)),
        "cells": lambda entries, steps: {place: (i, sample + 1) for place, (i, sample) in right(entries, steps).items()},
    }[part]


@pytest.mark.parametrize("part", ["shuffled_chunks", "swapped", "windows_of_chunks", "windows_of_samples", "share", "packed", "cells"])
def test_a_judge_of_minibatches_that_is_wrong_is_found_out_and_its_corpus_shrunk(monkeypatch, part):
    wrong = wrong_minibatches(part)
    for module in (minibatch_slow, minibatch_random):
        if hasattr(module, part):
            monkeypatch.setattr(module, part, wrong)
    found = next(filter(None, (judge.judge_runs("minibatches", seed) for seed in range(60))))
    shown = re.match(r"seed \d+: Case\(sequences=(\[[^]]*\])", found)
    assert shown and len(ast.literal_eval(shown[1])) < 25 and "expected" in found, found


def wrong_joined(module, part):
    right = getattr(module, part)
    return {
        "windows": lambda samples, left, right_: right(samples, right_, left),
        "whole": lambda pieces, sources: (right(pieces, sources)[0], pieces[-1].counted),
        "make_dense": lambda found, sources: None,
        "chunks": lambda source: [[u for chunk in right(source) for u in chunk]],
        "join": lambda sources, chunks, into_frames: right(sources, chunks[::-1], into_frames),
        "epoch_size": lambda rules, samples, sweep, size: samples or sweep,
        "steps": lambda piece: max(right(piece) - 1, 1),
    }[part]


@pytest.mark.parametrize("name, part", [("joined", "windows"), ("joined", "whole"), ("joined", "make_dense"), ("joined", "chunks"), ("joined", "join"), ("legacy", "epoch_size"), ("legacy", "steps")])
def test_a_judge_of_joined_sources_that_is_wrong_is_found_out(monkeypatch, name, part):
    modules = [module for module in (joined_slow, joined_files, joined_random, legacy_slow) if hasattr(module, part)]
    for module in modules:
        monkeypatch.setattr(module, part, wrong_joined(module, part))
    monkeypatch.setattr(judge.RUNS[name], "shrunk", lambda case, smaller: case)
    assert any(judge.judge_runs(name, seed) for seed in range(60))


@pytest.mark.parametrize("name", judge.RUNS)
def test_a_run_that_does_not_go_on_from_its_state_is_found_out(monkeypatch, name):
    printed = judge.printed
    monkeypatch.setattr(judge.RUNS[name], "shrunk", lambda case, smaller: case)
    monkeypatch.setattr(judge, "printed", lambda folder, text, arguments: printed(folder, text, [a for a in arguments if a not in ("--state", "state")] if "--state" in arguments else arguments))
    assert any("resumed at" in (judge.judge_runs(name, seed) or "") for seed in range(20))


def test_a_command_that_is_being_written_is_waited_for(tmp_path):
    program = tmp_path / "program"
    shutil.copy2("/bin/true", program)
    half = program.read_bytes()
    with open(program, "r+b") as writer:
        writer.truncate(len(half) // 2)

        def finish():
            time.sleep(1)
            writer.write(half)
            writer.close()

        thread = threading.Thread(target=finish)
        thread.start()
        (tmp_path / "copies").mkdir()
        copy = starter.settled_copy(str(program), tmp_path / "copies")
        thread.join()
    assert pathlib.Path(copy).read_bytes() == half and subprocess.run([copy], check=False).returncode == 0
