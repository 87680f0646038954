# SPDX-License-Identifier: MIT
"""resume verify: does a state fit, and what would come next; config show: where values come from."""
import json
import os
import subprocess

import pytest

from conftest import BINARY


def test_what_it_announces_is_what_comes(batchfeed, corpus):
    config = corpus(40, randomize="true")
    batchfeed("read", config, "--minibatch-size", 8, "--limit", 3, "--save-state", "s.json")
    done = batchfeed("resume", "verify", "s.json", config, "--minibatch-size", 8)
    assert done.code == 0 and "s.json fits train.cntk" in done.out and "minibatch 3 of epoch 0" in done.out
    report = batchfeed("resume", "verify", "s.json", config, "--minibatch-size", 8, "--json").json
    after = batchfeed("read", config, "--minibatch-size", 8, "--state", "s.json", "--format", "jsonl").lines
    assert (report["fits"], report["epoch"], report["minibatch"]) == (True, 0, 3)
    assert sorted(report["next"]["keys"]) == sorted(e["key"] for e in after[0]["streams"][0]["layout"] if "key" in e)
    assert report["left"] == len([m for m in after if m["streams"]])


def test_a_state_fits_however_its_json_is_written(batchfeed, corpus, tmp_path):
    config = corpus(40, randomize="true")
    for packing in ((), ("--set", "truncated = true", "--set", "truncationLength = 2")):
        run = ("read", config, *packing, "--minibatch-size", 8, "--format", "jsonl")
        batchfeed(*run, "--limit", 3, "--save-state", "s.json")
        rest = batchfeed(*run, "--state", "s.json").out
        state = json.loads((tmp_path / "s.json").read_text())
        for indent in (None, 1, "\t"):
            (tmp_path / "t.json").write_text(json.dumps(state, indent=indent, sort_keys=True))
            assert rest and batchfeed(*run, "--state", "t.json").out == rest
        (tmp_path / "t.json").write_text(json.dumps(state | {"epoch": 1}))
        assert "the saved state is damaged" in batchfeed(*run, "--state", "t.json").err


def test_behind_the_end_of_an_epoch_the_next_one_begins(batchfeed, corpus):
    config = corpus(20)
    batchfeed("read", config, "--save-state", "s.json")
    report = batchfeed("resume", "verify", "s.json", config, "--json").json
    assert report["fits"] and (report["epoch"], report["minibatch"]) == (1, 0) and report["next"]["keys"][0] == "0"
    assert "behind the end of epoch 0" in batchfeed("resume", "verify", "s.json", config).out
    nothing = batchfeed("read", config, "--state", "s.json", "--format", "jsonl")
    assert nothing.lines == [] and "nothing is left to read: the state goes on in epoch 1; hint: --epochs 2 reads it" in nothing.err
    assert batchfeed("read", config, "--state", "s.json", "--epochs", 2, "--format", "jsonl").lines


def test_a_state_of_other_data_or_options_does_not_fit(batchfeed, corpus, write):
    config = corpus(40, randomize="true")
    batchfeed("read", config, "--minibatch-size", 8, "--limit", 3, "--save-state", "s.json")
    other = batchfeed("resume", "verify", "s.json", config, "--minibatch-size", 8, "--seed", 9)
    assert other.code == 1 and "does not fit" in other.out and "seed" in other.out
    (batchfeed.folder / "train.ctf").write_text("0 |v 1 2 |t 3:1\n")
    assert batchfeed("resume", "verify", "s.json", config, "--minibatch-size", 8).code == 1
    report = batchfeed("resume", "verify", "s.json", config, "--minibatch-size", 8, "--json")
    assert report.code == 1 and not report.json["fits"] and report.json["why"]
    write("bad.json", '{"batchfeed_state":1}')
    assert batchfeed("resume", "verify", "bad.json", config).code == 1
    assert batchfeed("resume", "verify", "no.json", config).code == 3
    assert batchfeed("resume", "verify", "s.json").code == 2


def test_config_show_names_file_default_and_command_line(batchfeed, corpus):
    out = batchfeed("config", "show", "--resolved", corpus(), "--set", "Train=[reader=[randomize=none]]").out
    (line,) = [line for line in out.splitlines() if "randomize " in line]
    assert "= none" in line and "command line" in line
    assert any("train.cntk:" in line for line in out.splitlines()) and any(line.endswith("default") for line in out.splitlines())
    given = batchfeed("config", "show", "--given", "train.cntk")
    assert "default" not in given.out and "input.v.dim" in given.out
    assert {v["from"] for v in batchfeed("config", "show", "--given", "train.cntk", "--json").json["values"]} == {"section"}
    assert batchfeed("config", "show", "--given", "--resolved", "train.cntk").code == 2


def test_every_rank_can_save_after_the_last_minibatch_of_a_timeline(batchfeed, write):
    shareless = 0
    for n in range(3, 12):
        write("a.ctf", "".join(f"{i} |v {i}\n" for i in range(n)))
        run = ("read", "a.ctf", "--driver", "minibatch-source", "--shard", "even", "--workers", 4, "--minibatch-size", 4, "--format", "jsonl")
        given = [len(batchfeed(*run, "--rank", k).lines) for k in range(4)]
        shareless += min(given) < max(given)
        for k in range(4):
            done = batchfeed(*run, "--rank", k, "--save-state", f"s{k}.json", "--after", f"0:{max(given)}")
            assert done.code == 0, (n, k, given, done.err)
            assert batchfeed(*run, "--rank", k, "--state", f"s{k}.json").lines == []
    assert shareless


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("where", [(), ("--after", "0:2")])
def test_no_state_is_saved_of_minibatches_that_nobody_got(batchfeed, corpus, where):
    config = corpus(20)
    with open("/dev/full", "wb") as full:
        run = [BINARY, "read", config, "--minibatch-size", "8", "--limit", "3", "--save-state", "s.json", *where]
        assert subprocess.run(run, cwd=batchfeed.folder, stdout=full, stderr=subprocess.PIPE, timeout=60).returncode == 3
    assert not (batchfeed.folder / "s.json").exists()


def test_a_state_may_be_as_large_as_the_command_line_allows(batchfeed, corpus, tmp_path):
    run = ("read", corpus(20), "--minibatch-size", 8)
    batchfeed(*run, "--limit", 1, "--save-state", "s.json")
    rest = batchfeed(*run, "--state", "s.json").out
    with open(tmp_path / "s.json", "a") as state:
        state.write(" " * (17 << 20) + "\n")
    verify = ("resume", "verify", "s.json", *run[1:])
    for words in ((*run, "--state", "s.json"), verify):
        refused = batchfeed(*words)
        assert refused.code == 3 and "allow more with --raise state_bytes=N" in refused.err
    assert batchfeed(*run, "--state", "s.json", "--raise", "state_bytes=33554432").out == rest
    assert batchfeed(*verify, "--raise", "state_bytes=33554432").code == 0
