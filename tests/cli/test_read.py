# SPDX-License-Identifier: MIT
"""`batchfeed read`: the contract that scripts rely on (docs/reference/cli.md)."""
import json

import pytest


def keys_of(batch):
    return [x["key"] for stream in batch["streams"][:1] for x in stream["layout"] if "id" in x]


def test_a_minibatch_is_one_line_with_its_keys_in_this_order(batchfeed, write):
    write("a.ctf", "0 |t 3:1\n0 |t 4:2.5 7:-1\n0 |t\n7 |t 9:1\n")
    done = batchfeed("read", "a.ctf")
    assert done.code == 0
    assert done.out == (
        '{"epoch":0,"mb":0,"eoe":true,"eos":true,"position":4,"streams":[{"name":"t","storage":"sparse_csc","shape":[10],'
        '"S":2,"T":3,"layout":[{"id":0,"key":"0","s":0,"b":0,"e":3},{"id":1,"key":"7","s":1,"b":0,"e":1},'
        '{"gap":1,"s":1,"b":1,"e":3}],"nnz":4,"values":[1,1,2.5,-1],"rows":[3,9,4,7],"cols":[0,1,2,4,4,4,4]}]}\n')


def test_gap_columns_of_dense_streams_are_zeros(batchfeed, write):
    write("a.ctf", "0 |v 1 2\n0 |v 3 4\n1 |v 5 6\n")
    (batch,) = batchfeed("read", "a.ctf").lines
    assert batch["streams"][0]["columns"] == [[1, 2], [5, 6], [3, 4], [0, 0]]
    assert batch["streams"][0]["layout"][-1] == {"gap": 1, "s": 1, "b": 1, "e": 2}


def test_numbers_are_the_shortest_that_read_back(batchfeed, write):
    write("a.ctf", "|v 0.1 1e30 -0 16777216 1e-45\n")
    out = batchfeed("read", "a.ctf").out
    assert '"columns":[[0.1,1e+30,-0.0,16777216,1e-45]]' in out
    out = batchfeed("read", "a.ctf", "--precision", "double").out
    assert '"columns":[[0.1,1e+30,-0.0,16777216,1e-45]]' in out
    write("b.ctf", "|v 0.1234567890123\n")
    assert '[[0.12345679]]' in batchfeed("read", "b.ctf").out
    assert '[[0.1234567890123]]' in batchfeed("read", "b.ctf", "--precision", "double").out


def test_values_beyond_the_type_are_words(batchfeed, write):
    write("a.ctf", "|v 1e99 -1e99\n")
    assert batchfeed("read", "a.ctf").lines[0]["streams"][0]["columns"] == [["inf", "-inf"]]


def test_names_and_keys_are_escaped(batchfeed, write):
    write("a.ctf", '|x"y 1\n')
    assert batchfeed("read", "a.ctf").lines[0]["streams"][0]["name"] == 'x"y'


def test_minibatch_sizes_are_given_for_each_epoch(batchfeed, corpus):
    config = corpus(12)
    lines = batchfeed("read", config, "--minibatch-size", "6,24", "--epochs", 3).lines
    per_epoch = [[x["mb"] for x in lines if x["epoch"] == e] for e in range(3)]
    assert per_epoch == [[0, 1, 2, 3], [0], [0]]
    assert [x["eoe"] for x in lines] == [False, False, False, True, True, True]


def test_limit_counts_in_each_epoch(batchfeed, corpus):
    lines = batchfeed("read", corpus(12), "--minibatch-size", 3, "--epochs", 2, "--limit", 2).lines
    assert [(x["epoch"], x["mb"]) for x in lines] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert batchfeed("read", "train.cntk", "--limit", 0).out == ""


def test_epochs_start_where_asked(batchfeed, corpus):
    lines = batchfeed("read", corpus(), "--start-epoch", 5, "--epochs", 2, "--minibatch-size", 100).lines
    assert [x["epoch"] for x in lines] == [5, 6]


def test_epochs_beyond_the_last_position_are_none(batchfeed, corpus):  # reader.epoch-too-far
    config = corpus()
    for arguments in (["read", config, "--start-epoch"], ["plan", config, "--epoch"]):
        for epoch in (2**63 - 1, 2**64 - 1):
            done = batchfeed(*arguments, epoch)
            assert done.code == 3 and f"epoch {epoch} of" in done.err and "name an earlier epoch" in done.err
    assert batchfeed("read", config, "--start-epoch", 10**15, "--epochs", 2, "--limit", 1, "--format", "none").code == 0
    for size in (("--epoch-size", 2**63), ("--epoch-sweeps", 2**62)):  # one without an end
        assert batchfeed("read", config, "--order", "cntk", *size, "--limit", 1, "--format", "none").code == 0


def test_workers_share_the_corpus(batchfeed, corpus):
    config = corpus(30, extra="chunkSizeInBytes = 40", randomize="true")
    parts = []
    for rank in range(3):
        for batch in batchfeed("read", config, "--workers", 3, "--rank", rank, "--minibatch-size", 9).lines:
            parts += keys_of(batch) if batch["streams"] else []
    assert sorted(parts, key=int) == [str(k) for k in range(30)]


def test_switching_workers_takes_effect_behind_minibatch_m(batchfeed, corpus):
    config = corpus(30)
    alone = batchfeed("read", config, "--minibatch-size", 4).lines
    changed = batchfeed("read", config, "--minibatch-size", 4, "--switch", "3:2:1").lines
    assert alone[:3] == changed[:3]
    assert sum(len(keys_of(x)) for x in changed[3:] if x["streams"]) < sum(len(keys_of(x)) for x in alone[3:])


def test_options_that_change_nothing_say_so(batchfeed, corpus, write):  # cli.unused
    config = corpus(30)
    late = batchfeed("read", config, "--minibatch-size", 4, "--switch", "999:2:1")
    assert late.code == 0 and late.out == batchfeed("read", config, "--minibatch-size", 4).out
    assert "--switch 999:2:1 changes nothing: the run ended after " in late.err, late.err
    write("a.ctf", "|a 1\n|a 2\n")
    for option in ("--seed", "--window-chunks", "--window-samples"):
        done = batchfeed("read", "a.ctf", option, 5)
        assert f"{option} changes nothing" in done.err and "--order uniform" in done.err, done.err
        assert batchfeed("read", "a.ctf", option, 5, "--order", "uniform").err == ""
    for option in ("--window-chunks", "--window-samples"):
        done = batchfeed("read", "a.ctf", "--order", "uniform", option, 0)
        assert done.code == 2 and f"{option} 0" in done.err and "--order file" in done.err
    endless = batchfeed("read", "a.ctf", "--driver", "minibatch-source", "--epochs", 2)
    assert endless.code == 0 and "--epochs changes nothing" in endless.err and "--epoch-sweeps" in endless.err
    assert batchfeed("read", "a.ctf", "--seed", 5, "--quiet").err == ""


def test_launchers_name_rank_and_workers(batchfeed, corpus):  # cli.world
    config = corpus(30, extra="chunkSizeInBytes = 40")
    asked = batchfeed("read", config, "--workers", 3, "--rank", 1)
    for env in ({"RANK": "1", "WORLD_SIZE": "3"}, {"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "3"},
                {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "3"}, {"PMI_RANK": "1", "PMI_SIZE": "3"}):
        told = batchfeed("read", config, env=env)
        assert told.out == asked.out
        assert f"rank 1 of 3 workers, as {list(env)[0]}" in told.err and len(told.err.splitlines()) == 1
    given = batchfeed("read", config, "--workers", 1, env={"RANK": "1", "WORLD_SIZE": "3"})
    assert given.out == batchfeed("read", config).out and given.err == ""
    assert batchfeed("read", config, env={"RANK": "3", "WORLD_SIZE": "3"}).code == 2
    assert batchfeed("read", config, env={"RANK": "x", "WORLD_SIZE": "3"}).code == 2


def test_a_state_goes_on_exactly_there(batchfeed, corpus):
    config = corpus(40, randomize="true", extra="chunkSizeInBytes = 60")
    run = ("read", config, "--minibatch-size", 5, "--epochs", 2)
    whole = batchfeed(*run).out.splitlines()
    for place, before in (("0:0", 0), ("0:3", 3), ("1:2", None)):
        saved = batchfeed(*run, "--save-state", "state", "--after", place)
        assert saved.code == 0 and saved.out.splitlines() == whole
        if before is None:
            epoch, after = map(int, place.split(":"))
            before = sum((json.loads(x)["epoch"], json.loads(x)["mb"]) < (epoch, after) for x in whole)
        assert batchfeed(*run, "--state", "state").out.splitlines() == whole[before:]


def test_a_state_from_the_end_has_nothing_left(batchfeed, corpus):
    run = ("read", corpus(), "--minibatch-size", 5)
    assert batchfeed(*run, "--save-state", "state").code == 0
    again = batchfeed(*run, "--state", "state", "--save-state", "again")
    assert (again.code, again.out) == (0, "")
    assert (batchfeed.folder / "again").read_text() == (batchfeed.folder / "state").read_text()


def test_a_run_started_once_more_at_its_end_loses_nothing(batchfeed, write):
    write("train.ctf", "".join(f"{i} |v {i}\n" for i in range(8)))
    longer = ("--minibatch-size", 4, "--epochs", 2, "--order", "file")
    whole = batchfeed("read", "train.ctf", *longer).out.splitlines()
    once = ("read", "train.ctf", "--minibatch-size", 4, "--order", "file")
    assert batchfeed(*once, "--save-state", "state").code == 0
    assert batchfeed(*once, "--state", "state", "--save-state", "state").out == ""  # a job that is started once more
    assert batchfeed("read", "train.ctf", *longer, "--state", "state").out.splitlines() == whole[2:]


def test_limit_and_state_go_together(batchfeed, corpus):
    run = ("read", corpus(20), "--minibatch-size", 3)
    whole = batchfeed(*run).out
    first = batchfeed(*run, "--limit", 4, "--save-state", "state").out
    assert first + batchfeed(*run, "--state", "state").out == whole


def test_a_state_that_does_not_belong_is_refused(batchfeed, corpus, write):
    config = corpus()
    batchfeed("read", config, "--limit", 1, "--save-state", "state")
    write("train.ctf", "0 |v 1 2 |t 3:1\n")
    done = batchfeed("read", config, "--state", "state")
    assert done.code == 3 and done.lines[-1]["error"]["kind"] == "state"
    write("state", "{}")
    assert batchfeed("read", config, "--state", "state").code == 3
    assert batchfeed("read", config, "--state", "missing").code == 3


def test_a_state_asked_for_behind_the_end_is_an_error(batchfeed, corpus):
    done = batchfeed("read", corpus(), "--save-state", "state", "--after", "0:99")
    assert done.code == 2 and "no state saved" in done.err
    assert not (batchfeed.folder / "state").exists()


def test_the_timeline_runs_over_sweeps(batchfeed, corpus):
    config = corpus(3)  # 1 + 2 + 3 samples
    lines = batchfeed("read", config, "--driver", "minibatch-source", "--epoch-sweeps", 2, "--minibatch-size", 4).lines
    assert sum(len(keys_of(x)) for x in lines) == 6
    endless = batchfeed("read", config, "--driver", "minibatch-source", "--epoch-size", "inf", "--minibatch-size", 4, "--limit", 9)
    assert len(endless.lines) == 9
    once = batchfeed("read", config, "--driver", "minibatch-source", "--minibatch-size", 100).lines
    full_data_sweep = 2**64 - 2  # of CNTK's API
    assert batchfeed("read", config, "--driver", "minibatch-source", "--minibatch-size", 100, "--epoch-size", full_data_sweep).lines == once
    assert sum(len(keys_of(x)) for x in once) == 3


def test_an_error_is_a_line_on_stderr_and_an_object_on_stdout(batchfeed, corpus, write):
    config = corpus()
    write("train.ctf", "0 |v 1 2 |t 3:1\n1 |v 1 2 |t 99:1\n")
    done = batchfeed("read", config, "--format", "jsonl")
    assert done.code == 3
    error = done.lines[-1]["error"]
    assert list(error) == ["kind", "file", "line", "column", "byte", "what", "hint"]
    assert (error["kind"], error["file"], error["line"]) == ("format", "train.ctf", 2)
    assert done.err.splitlines()[-1].startswith("train.ctf:2:")


def test_good_minibatches_come_before_the_error(batchfeed, corpus, write):
    config = corpus(extra="chunkSizeInBytes = 20")
    lines = "".join(f"{i} |v 1 2 |t 3:1\n" for i in range(20)) + "20 |v 1 x |t 3:1\n"
    write("train.ctf", lines)
    done = batchfeed("read", config, "--minibatch-size", 1)
    assert done.code == 3 and len(done.lines) == 21 and "error" in done.lines[-1]


def test_a_minibatch_size_of_zero_is_an_error(batchfeed, corpus):  # cli.minibatch-size
    """Status 3, as where a configuration has it; conformance/cases/errors/mb_zero."""
    done = batchfeed("read", corpus(), "--minibatch-size", 0)
    assert done.code == 3 and done.lines[-1]["error"]["kind"] == "usage" and "minibatch size" in done.err


def test_options_that_contradict_each_other_are_named_as_the_command_has_them(batchfeed, corpus):
    for command in ("read", "plan"):
        done = batchfeed(command, corpus(), "--bucket-minibatches", 4, "--workers", 2, "--shard", "chunk")
        assert done.code == 3 and "hint: use --shard even" in done.err, done.err


def test_configuration_text_overrides(batchfeed, corpus):
    config = corpus()
    plain = batchfeed("read", config).lines[0]["streams"][0]["shape"]  # of tags: streams come sorted by name
    wider = batchfeed("read", config, "--set", "Train=[reader=[input=[tags=[dim=12]]]]").lines[0]["streams"][0]["shape"]
    assert (plain, wider) == ([10], [12])


def test_what_cntks_own_command_line_took_is_said_otherwise(batchfeed, corpus):
    config = corpus()
    for command in ("read", "check", "plan"):
        done = batchfeed(command, config, "Train=[reader=[randomize=false]]")
        assert done.code == 2 and "is configuration text, not a file; hint: --set 'Train=[reader=[randomize=false]]'" in done.err, done.err
        done = batchfeed(command, f"configFile={config}")
        assert done.code == 2 and f"hint: give the name alone: {config}" in done.err, done.err


def test_a_section_that_is_not_there_is_said(batchfeed, corpus):
    done = batchfeed("read", corpus(), "--section", "Train.raeder")
    assert done.code == 3 and "train.cntk" in done.err


def test_explain_names_lines_and_keys_on_every_rank(batchfeed, corpus):
    config = corpus(6)
    done = batchfeed("read", config, "--minibatch-size", 3, "--explain", 1, "--format", "text")
    assert done.code == 0
    assert done.out.startswith("minibatch 1: 1 sequence, 3 samples from chunk 0")
    assert "key 2  3 samples  train.ctf:4-6 (bytes " in done.out
    ranks = batchfeed("read", config, "--workers", 2, "--rank", 0, "--explain", 0, "--format", "jsonl").json
    assert [x["rank"] for x in ranks["ranks"]] == [0, 1]
    assert batchfeed("read", config, "--explain", 99).code == 2


def test_explain_names_the_place_in_every_joined_source(batchfeed, write):
    write("a.ctf", "0 |v 1\n1 |v 2\n2 |v 3\n")
    write("b.ctf", "2 |w 3\n0 |w 1\n")
    one = '[ type = "CNTKTextFormatDeserializer" ; module = "CNTKTextFormatReader" ; file = "{0}.ctf" ; input = [ {1} = [ dim = 1 ; format = "dense" ] ] ]'
    config = write("c.cntk", f"reader = [ randomize = false ; deserializers = ( {one.format('a', 'v')} : {one.format('b', 'w')} ) ]")
    done = batchfeed("read", config, "--explain", 0, "--format", "text")
    assert "key 0  1 sample  a.ctf:1 (bytes 0-7), b.ctf:2 (bytes 7-14)" in done.out
    assert "key 2  1 sample  a.ctf:3 (bytes 14-21), b.ctf:1 (bytes 0-7)" in done.out
    told = batchfeed("read", config, "--explain", 0, "--format", "jsonl").json["ranks"][0]["sequences"]
    assert [[s["place"]["lines"]] + [j["lines"] for j in s["joined"]] for s in told] == [[[1, 1], [2, 2]], [[3, 3], [1, 1]]]


def test_explain_tells_what_read_gives(batchfeed, corpus):
    config = corpus(30, randomize="true", extra="chunkSizeInBytes = 50")
    lines = batchfeed("read", config, "--minibatch-size", 7).lines
    for k in (0, 3, len(lines) - 1):
        told = batchfeed("read", config, "--minibatch-size", 7, "--explain", k, "--format", "jsonl").json
        assert [s["key"] for s in told["ranks"][0]["sequences"]] == keys_of(lines[k])


def test_explain_goes_on_where_another_rank_is_at_its_end(batchfeed, corpus):
    config = corpus(30, randomize="true", extra="chunkSizeInBytes = 150")
    run = [config, "--minibatch-size", 3, "--workers", 3]
    keys = [[keys_of(line) for line in batchfeed("read", *run, "--rank", rank).lines] for rank in range(3)]
    longest = max(len(of_rank) for of_rank in keys)
    assert min(len(of_rank) for of_rank in keys) < longest
    for k in range(longest):
        told = batchfeed("read", *run, "--rank", 0, "--explain", k, "--format", "jsonl").json["ranks"]
        assert {x["rank"]: [s["key"] for s in x["sequences"]] for x in told} == {
            rank: of_rank[k] for rank, of_rank in enumerate(keys) if k < len(of_rank)}
    last = batchfeed("read", *run, "--rank", 0, "--explain", longest - 1, "--format", "text").out
    assert f": nothing, its epoch has only {min(len(of_rank) for of_rank in keys)} minibatches\n" in last
    beyond = batchfeed("read", *run, "--rank", 0, "--explain", longest)
    assert beyond.code == 2 and f"--explain {longest}: the epoch has only {longest} minibatches" in beyond.err


@pytest.mark.parametrize("extra", [(), ("--set", "truncated = true", "--set", "truncationLength = 2")])
def test_explain_goes_on_from_a_state_as_read_does(batchfeed, corpus, extra):
    run = ["read", corpus(30), *extra, "--minibatch-size", 6, "--workers", 2, "--rank", 1, "--format", "jsonl"]
    batchfeed(*run, "--limit", 2, "--save-state", "s.json")
    rest = batchfeed(*run, "--state", "s.json").lines
    for k in range(2):
        told = batchfeed(*run, "--state", "s.json", "--explain", k).json["ranks"]
        assert [s["key"] for s in told[1]["sequences"]] == keys_of(rest[k])


def test_text_is_for_people(batchfeed, corpus):
    done = batchfeed("read", corpus(4), "--format", "text", "--sequences", 2)
    assert done.out.splitlines()[0] == "epoch 0 minibatch 0: 4 sequences, 7 samples, position 7, end of sweep, end of epoch"
    assert "    key 1  [1 0.5] [1 1.5]" in done.out
    assert "    key 1  {1:1} {1:1}" in done.out
    assert "... 2 sequences more" in done.out


def test_none_reads_all_and_prints_nothing(batchfeed, corpus):
    done = batchfeed("read", corpus(), "--format", "none")
    assert done.code == 0 and done.out == "" and "10 sequences" in done.err


def test_what_was_skipped_is_said_at_the_end(batchfeed, corpus, write):
    config = corpus(extra="maxErrors = 5")
    write("train.ctf", "0 |v 1 2 |t 3:1\n1 |v 1 x |t 3:1\n2 |v 1 2 |t 4:1\n")
    done = batchfeed("read", config)
    assert done.code == 0
    assert any("skipped" in line or "left out" in line for line in done.err.splitlines()[-2:])
    assert batchfeed("read", config, "-q").code == 0


def test_what_another_size_gives_up_is_not_laid_to_options_that_were_not_given(batchfeed, write):
    write("train.ctf", "".join(f"{i} |v {i}\n" * 3 for i in range(8)))
    source = 'type = CNTKTextFormatDeserializer ; module = CNTKTextFormatReader ; file = train.ctf'
    config = write("train.cntk", "reader = [ randomize = false ; truncated = true ; truncationLength = 2 ; deserializers = ( [ "
                                 f"{source} ; input = [ v = [ dim = 1 ; format = dense ] ] ] ) ]\n")
    done = batchfeed("read", config, "--driver", "minibatch-source", "--epoch-sweeps", "1", "--minibatch-size", "8,4")
    assert done.code == 0 and "left out, as another minibatch size or number of workers gives up what waits in rows" in done.err


def test_a_file_in_binary_format_needs_no_configuration(batchfeed, write):
    done = batchfeed("read", write("x.cbf", b"nib_ktnc\1\0\0\0"))
    assert done.code == 3 and done.err.startswith("x.cbf")


def test_what_a_join_leaves_out_is_said_once_at_open(batchfeed, write):
    write("f.ctf", "".join(f"{k} |f {k}\n" for k in range(50)))
    write("l.ctf", "".join(f"{k} |l 1\n" for k in range(52) if k not in (17, 23)))
    write("c.cntk", """reader = [ readerType = "CompositeDataReader" ; deserializers = (
  [ type = "CNTKTextFormatDeserializer" ; module = "CNTKTextFormatReader" ; file = "l.ctf"
    input = [ labels = [ alias = "l" ; dim = 1 ; format = "dense" ] ] ] :
  [ type = "CNTKTextFormatDeserializer" ; module = "CNTKTextFormatReader" ; file = "f.ctf"
    input = [ features = [ alias = "f" ; dim = 1 ; format = "dense" ] ] ] ) ]
""")
    first = "2 of 50 sequences of 'labels' have no partner in 'features' and were left out, first: 50, 51"
    second = "2 of 50 sequences of 'features' have no partner in 'labels', first: 17, 23"
    for command in ("read", "info", "plan"):
        err = batchfeed(command, "c.cntk").err
        assert err.count(first) == 1
        assert err.count(second) == 1
    out = batchfeed("check", "c.cntk").out
    for key, of, other in ((50, "labels", "features"), (51, "labels", "features"), (17, "features", "labels"), (23, "features", "labels")):
        assert out.count(f"sequence '{key}' of '{of}' has no partner in '{other}'") == 1
    assert [x["what"] for x in batchfeed("info", "c.cntk", "--json").json["notices"]] == [first, second]


def test_nothing_is_read_without_a_word(batchfeed, write):
    write("a.ctf", "0 |t 1:1\n")
    done = batchfeed("read", "a.ctf", "--epochs", "0")
    assert done.code == 2 and "--epochs 0: expected 1 or more" in done.err
    done = batchfeed("read", "a.ctf", "--epoch-sweeps", "0", "--driver", "minibatch-source")
    assert (done.code, done.out) == (0, "")
    done = batchfeed("read", "a.ctf", "--epoch-sweeps", "0", "--epochs", "2", "--start-epoch", "3")
    assert [(b["epoch"], b["mb"], b["eoe"], b["eos"], b["position"], b["streams"]) for b in done.lines] == [(3, 0, True, False, 0, []), (4, 0, True, False, 0, [])]
    assert batchfeed("read", "a.ctf", "--epoch-sweeps", "0", "--limit", "0").out == ""
    done = batchfeed("convert", "a.ctf", "a.cbf", "--chunk-size", "0")
    assert done.code == 2 and "--chunk-size 0: expected bytes" in done.err
    assert batchfeed("convert", "a.ctf", "a.cbf").code == 0
    done = batchfeed("info", "a.ctf", "a.cbf")
    assert done.code == 3 and "a.cbf: is in the binary format, 'a.ctf' in the text format" in done.err


def test_a_limit_that_a_message_names_can_be_raised(batchfeed, write):
    write("a.ctf", "".join(f"{i} |t 1\n" for i in range(5000)))
    write("a.cntk", 'reader = [ readerType = "CNTKTextFormatReader" ; file = "a.ctf" ; input = [ t = [ dim = 1000 ; format = "dense" ] ] ]')
    done = batchfeed("read", "a.cntk")
    assert done.code == 3 and "allow more with --raise implied_samples=N" in done.err
    assert batchfeed("read", "a.cntk", "--format", "none", "--raise", "implied_samples=10000000").code == 0
    for rule in ("implied_samples", "implied=1", "dim=x", "dim=", "=1"):
        done = batchfeed("read", "a.cntk", "--raise", rule)
        assert done.code == 2 and f"--raise {rule}: expected FIELD=N, a whole number for one of line_bytes, " in done.err


def test_damage_behind_what_was_read_is_no_skip(batchfeed, write):
    write("a.ctf", "1 |A 1\n2 |A 2\n3 |A x\n")
    write("a.cntk", 'reader = [ readerType = "CNTKTextFormatReader" ; file = "a.ctf" ; chunkSizeInBytes = 7 ; randomize = false ; input = [ A = [ dim = 1 ; format = "dense" ] ] ]')
    done = batchfeed("read", "a.cntk", "--minibatch-size", "1", "--limit", "2")
    assert done.code == 0 and "skipped" not in done.err


def test_limits_of_a_configuration_can_be_raised_where_it_is_looked_at(batchfeed, write):
    write("a.cntk", 'reader = [ readerType = "CNTKTextFormatReader" ; file = "a.ctf" ; x = ' + "[" * 40 + " a = 1 " + "]" * 40 +
          ' ; input = [ a = [ dim = 1 ; format = "dense" ] ] ]\n' + "# " + "x" * (5 << 20) + "\n")
    for command in (("config", "check"), ("config", "show")):
        done = batchfeed(*command, "a.cntk")
        assert done.code == 3 and "allow more with --raise config_bytes=N" in done.err, done.err
        assert "config_bytes" not in batchfeed(*command, "a.cntk", "--raise", "config_bytes=10000000").err
