# SPDX-License-Identifier: MIT
"""info, check, plan, index, bench, config: what they say and their JSON."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "preload"))
import shim  # noqa: E402


def test_bench_runs_the_epoch_of_the_configuration(batchfeed, corpus):
    arguments = [corpus(300), "--set", "Train=[SGD=[epochSize=100;minibatchSize=10]]", "--json"]
    bench, plan = batchfeed("bench", *arguments).json, batchfeed("plan", *arguments).json["ranks"][0]
    assert bench["minibatches"] == plan["minibatches"] < 20
    assert bench["samples"] == plan["samples"] < 110 and bench["sequences"] == plan["sequences"]


def test_info_infers_streams_of_a_plain_file(batchfeed, write):
    write("a.ctf", "0 |f 1 2.5 |l 3:1\n0 |f -1 2 |l 4:1\n1 |f 0 0 |l 0:1\n")
    about = batchfeed("info", "a.ctf", "--json").json
    assert about["inferred"] and about["format"] == "ctf"
    features, labels = about["streams"]
    assert (features["name"], features["storage"], features["dim"], features["min"], features["max"], features["integral"]) == ("f", "dense", 2, -1, 2.5, False)
    assert (labels["name"], labels["storage"], labels["dim"], labels["one_hot"]) == ("l", "sparse", 5, True)
    assert (about["sequences"], about["samples"]) == (2, 3)
    assert about["lengths"]["min"] == 1 and about["lengths"]["max"] == 2


def test_the_reader_section_it_offers_can_be_read(batchfeed, write):
    write("a.ctf", "|word-1 1 2 |2nd 3:1\n|word-1 1 2 |2nd 4:1\n")
    section = batchfeed("info", "a.ctf", "--json").json["reader_section"]
    assert section in batchfeed("info", "a.ctf").out
    write("a.cntk", f"Train = [\n{section}\n]\n")
    about = batchfeed("info", "a.cntk", "--json").json
    assert sorted((s["storage"], s["dim"]) for s in about["streams"]) == [("dense", 2), ("sparse", 5)]
    assert about["sequences"] == 2


def test_info_tells_samples_that_cannot_be_read_so(batchfeed, write):
    write("a.ctf", "|f 1 2 |l 3:1\n" * 500 + "|f 1 x |l 3:1\n|f 1 2 3 |l 9\n|f 1 2:1 |l 1:1 2\n")
    done = batchfeed("info", "a.ctf")
    assert "  f: 3 samples cannot be read as such; batchfeed check says where\n" in done.out
    assert "  l: 2 samples cannot be read as such" in done.out
    assert [s["odd"] for s in batchfeed("info", "a.ctf", "--json").json["streams"]] == [3, 2]
    assert batchfeed("check", "a.ctf").out.count("stream 'f'") == 3
    write("b.ctf", "|f 1 2 |l 3:1\n|f |l\n|f 1 |l 4:1 5:2\n")
    assert "cannot" not in batchfeed("info", "b.ctf").out and batchfeed("check", "b.ctf").code == 0


def test_names_that_no_configuration_can_quote_add_nothing_to_the_section(batchfeed, write):
    write("a.ctf", '|a";dim=9;b=" 1 2\n|$HOME$ 3:1\n')
    done = batchfeed("info", "a.ctf")
    assert done.code == 0 and "No reader section can say this: a configuration cannot quote the name" in done.out
    assert batchfeed("info", "a.ctf", "--json").json["reader_section"] is None
    done = batchfeed("schema", "a.ctf")
    assert done.code == 2 and "cannot quote the name" in done.err and done.out == ""


def test_names_that_may_steer_a_terminal_are_not_shown_in_a_section(batchfeed, write):
    write("a.ctf", b"|a\xc2\x9b31m 1 2\n|b\xff 3\n")
    done = batchfeed("info", "a.ctf")
    assert done.code == 0 and "batchfeed schema -o FILE writes a reader section with them" in done.out and "\x9b" not in done.out
    assert batchfeed("schema", "a.ctf", "-o", "a.cntk").code == 0
    assert batchfeed("info", "a.cntk", "--json").json["sequences"] == 2


def test_the_section_of_several_files_names_all(batchfeed, write):
    write("a.ctf", "|f 1 2\n")
    write("b.ctf", "|f 3 4\n|f 5 6\n")
    section = batchfeed("info", "a.ctf", "b.ctf", "--json").json["reader_section"]
    write("a.cntk", f"Train = [\n{section}\n]\n")
    assert batchfeed("info", "a.cntk", "--json").json["sequences"] == 3


def test_one_row_too_wide_does_not_change_what_is_inferred(batchfeed, write):
    write("a.ctf", "|v 1 2\n" * 300 + "|v 1 2 3\n")
    assert batchfeed("info", "a.ctf", "--json").json["streams"][0]["dim"] == 2
    done = batchfeed("check", "a.ctf")
    assert done.code == 1 and done.out.startswith("a.ctf:301:")


def test_info_of_a_configuration_says_what_it_declares(batchfeed, corpus):
    about = batchfeed("info", corpus(10), "--json").json
    assert about["section"] == "Train.reader" and not about["inferred"]
    assert [(s["name"], s["dim"]) for s in about["streams"]] == [("tags", 10), ("v", 2)]
    assert about["samples"] == 19


def test_info_says_whether_there_is_an_index_and_why_it_does_not_count(batchfeed, write):
    write("a.ctf", "|f 1\n|f 2\n")

    def state():
        return batchfeed("info", "a.ctf", "--json").json["indexes"][0]["state"]

    assert state() == "none"
    batchfeed("index", "a.ctf")
    assert state() == "valid" and "index cache: valid" in batchfeed("info", "a.ctf").out
    write("a.ctf", "|f 1\n|f 2\n|f 3\n")
    assert state() == "stale"


def test_check_lists_every_fault_with_its_place(batchfeed, corpus, write):
    config = corpus()
    write("train.ctf", "0 |v 1 2 |t 3:1\n1 |v 1 x |t 3:1\n2 |v 1 2 |t 99:1\n3 |v 1 2 3 |t 4:1\n")
    done = batchfeed("check", config)
    assert done.code == 1
    places = [line.split(":")[1] for line in done.out.splitlines() if line.startswith("train.ctf:")]
    assert {"2", "3", "4"} <= set(places)
    assert "fault" in done.out.splitlines()[-1]
    report = batchfeed("check", config, "--json")
    assert report.code == 1 and report.json["faults"] >= 3
    assert sum(report.json["by_id"].values()) == report.json["faults"] + report.json["warnings"]
    for finding in report.json["findings"]:
        assert list(finding) == ["kind", "file", "line", "column", "byte", "what", "hint", "id", "stream", "severity"]


def test_check_of_a_good_corpus_is_status_0(batchfeed, corpus):
    done = batchfeed("check", corpus())
    assert (done.code, done.out.splitlines()[-1].endswith(": no fault")) == (0, True)


def test_check_lists_at_most_so_many_and_counts_all(batchfeed, corpus, write):
    config = corpus()
    write("train.ctf", "".join(f"{i} |v 1 x |t 3:1\n" for i in range(50)))
    report = batchfeed("check", config, "--max-faults", 5, "--json").json
    assert len(report["findings"]) == 5 and report["faults"] >= 50
    assert "only the first 5" in batchfeed("check", config, "--max-faults", 5).out


def test_check_keeps_the_order_of_the_file_with_many_threads(batchfeed, corpus, write):
    config = corpus(extra="chunkSizeInBytes = 30")
    write("train.ctf", "".join(f"{i} |v 1 x |t 3:1\n" for i in range(200)))
    findings = batchfeed("check", config, "--threads", 8, "--json").json["findings"]
    lines = [f["line"] for f in findings if f["line"]]
    assert len(lines) >= 200 and lines == sorted(lines)


@pytest.mark.parametrize("more", [("--section", "X"), ("--set", "X=[]"), ("--state-list", "nosuch"), ("--map-path", "a=b")])
def test_what_is_not_for_a_pipe_is_refused(batchfeed, more):
    done = batchfeed("check", "-", *more, stdin=b"0 |v 1 2\n")
    assert done.code == 2 and f"{more[0]} is not for standard input" in done.err


def test_check_reads_text_from_a_pipe(batchfeed):
    assert batchfeed("check", "-", stdin=b"0 |v 1 2\n1 |v 3 4\n").code == 0
    for files in (("-", "a.ctf"), ("a.ctf", "-"), ("-", "-")):  # what is named is never left out in silence
        done = batchfeed("check", *files, stdin=b"0 |v 1 2\n")
        assert done.code == 2 and "checked by itself" in done.err


@pytest.mark.parametrize("data, id", [(b"", "ctf.empty"), (b"\n \n", "ctf.empty"), (b"0 |a 1 |A 2\n", "ctf.name")])
def test_a_pipe_that_is_no_corpus_is_a_finding_as_a_file_is(batchfeed, write, data, id):
    write("a.ctf", data)
    piped, file = batchfeed("check", "-", "--json", stdin=data), batchfeed("check", "a.ctf", "--json")
    assert piped.code == file.code == 1 and not piped.json["complete"]
    assert piped.json["by_id"] == file.json["by_id"] == {id: 1}
    assert [f["file"] for f in piped.json["findings"]] == ["-"]


def test_check_tells_an_index_that_stands_twice(batchfeed, write):
    text = "0 |v 1:2 3:1\n1 |w 4 |v 3:2 1:1 3:3\n1 |v 2:1 2:1 |w 4\n"
    write("a.ctf", text.replace("0 |v", "0 |w 1 |v"))
    for done in (batchfeed("check", "a.ctf"), batchfeed("check", "-", stdin=(batchfeed.folder / "a.ctf").read_bytes())):
        assert done.code == 0 and "no fault, 2 warnings" in done.out and "2  ctf.duplicate-index" in done.out, done.out
        assert ":2:9 (byte " in done.out and "stream 'v' of sequence 1: index 3 stands twice in a sample" in done.out
        assert ":3:4 (byte " in done.out and "stream 'v' of sequence 1: index 2 stands twice in a sample" in done.out
    assert batchfeed("read", "a.ctf", "--format", "none").code == 0
    done = batchfeed("check", "-", stdin=b"0 |v 1 2\n1 |v 3 x\n")
    assert done.code == 1 and done.out.startswith("-:2:")


def test_check_tells_keys_that_were_misspelt(batchfeed, corpus):
    done = batchfeed("check", corpus(extra="randomizationWindw = 3"))
    assert "randomizationWindow" in done.out


def test_check_lists_every_fault_of_a_configuration(batchfeed, corpus):
    config = corpus(randomize="maybe", extra="maxErrors = -4\ntraceLevel = loud\nmaxErors = 3")
    done = batchfeed("check", config)
    for text in ("maybe", "-4", "loud", "did you mean 'maxErrors'"):
        assert text in done.out
    assert (done.code, done.err) == (1, "")
    assert "3 faults, 1 warning; the data could not be read" in done.out
    report = batchfeed("check", config, "--json").json
    assert (report["faults"], report["warnings"], report["complete"]) == (3, 1, False)
    assert [f["severity"] for f in report["findings"]] == ["error", "error", "error", "warning"]
    assert batchfeed("config", "check", config).out.endswith("checked 1 reader section: 3 faults, 1 warning\n")
    assert len(batchfeed("read", config).err.splitlines()) == 1


def test_plan_covers_the_corpus_once(batchfeed, corpus):
    config = corpus(60, randomize="true", extra="chunkSizeInBytes = 60")
    plan = batchfeed("plan", config, "--workers", 3, "--minibatch-size", 12, "--json").json
    assert [r["rank"] for r in plan["ranks"]] == [0, 1, 2]
    assert sum(r["sequences"] for r in plan["ranks"]) == plan["sequences"] == 60
    assert sum(r["samples"] for r in plan["ranks"]) == plan["samples"]
    assert 0 <= plan["unevenness"] < 2 and plan["memory_bytes"] > 0


def test_plan_tells_a_weak_shuffle_from_a_good_one(batchfeed, corpus):
    config = corpus(400, randomize="true", extra="chunkSizeInBytes = 200")
    weak = batchfeed("plan", config, "--window-chunks", 1, "--json").json["shuffle"]
    good = batchfeed("plan", config, "--order", "uniform", "--window-chunks", 10000, "--json").json["shuffle"]
    none = batchfeed("plan", config, "--order", "file", "--json").json["shuffle"]
    assert none["displacement"] == 0 and none["spread"] == 0
    assert weak["spread"] < good["spread"] and good["displacement"] > 0.8 and good["spread"] > 0.8


def test_index_says_what_it_indexed(batchfeed, corpus):
    report = batchfeed("index", corpus(10), "--json").json
    (source,) = report["sources"]
    assert (source["file"], source["sequences"], source["was_valid"]) == ("train.ctf", 10, False)
    assert (batchfeed.folder / source["cache"]).is_file()
    assert batchfeed("index", "train.cntk", "--json").json["sources"][0]["was_valid"]
    assert not batchfeed("index", "train.cntk", "--rebuild", "--json").json["sources"][0]["was_valid"]
    assert batchfeed("read", "train.cntk").out == batchfeed("read", "train.cntk", "--cache-index").out


def test_bench_measures_stages_and_limits(batchfeed, corpus):
    report = batchfeed("bench", corpus(200), "--json").json
    for stage in ("index", "epoch"):
        assert report[stage]["seconds"] > 0
    assert all(report["limits"][x] > 0 for x in ("pread", "pread_first", "newline_scan", "bare_numbers", "memcpy"))
    assert (report["sequences"], report["samples"], report["file"]) == (200, 399, "train.cntk")
    assert report["verdict"] and report["compare"] is None
    assert "whole epoch" in batchfeed("bench", "train.cntk").out
    assert batchfeed("convert", "train.cntk", "a.cbf").code == 0
    assert batchfeed("convert", "train.cntk", "b.cbf").code == 0
    assert batchfeed("bench", "?.cbf", "--json").json["sequences"] == 400


def test_bench_wants_no_smaller_chunks_where_a_large_one_is_read_in_parts(batchfeed, write):
    write("a.ctf", "".join(f"|v {n} 1.5 2.5 3.5 4.5 5.5 6.5 7.5\n" for n in range(250_000)))  # 9.6 MB
    alike = ("bench", "a.ctf", "--threads", 4, "--json")
    in_order, shuffled = batchfeed(*alike, "--order", "file").json, batchfeed(*alike, "--order", "uniform").json
    assert (in_order["chunks"], shuffled["chunks"], shuffled["parts"]) == (1, 1, 1)
    assert in_order["parts"] >= 4 and "chunkSizeInBytes" not in in_order["verdict"]


def test_bench_knows_a_slow_consumer_and_compares_two(batchfeed, corpus):
    config = corpus(200)
    batchfeed("convert", config, "t.cbf")
    report = batchfeed("bench", config, "--compare", "t.cbf", "--minibatch-size", 32, "--consumer-ms", 20, "--json").json
    assert report["bound"] == report["compare"]["bound"] == "consumer" and report["verdict"].startswith("consumer-bound")
    assert report["compare"]["samples"] == report["samples"] and report["compare"]["speedup"] > 0
    out = batchfeed("bench", config, "--compare", "t.cbf").out
    assert "t.cbf gives" in out and "times the samples a second of train.cntk" in out
    assert batchfeed("bench", config, "--consumer-ms", -1).code == 2


def test_bench_gives_no_rate_of_what_is_not_read(batchfeed, write):
    write("t.ctf", "".join(f"|v {n}" + " 0.5" * 59 + "\n" for n in range(60_000)))
    assert batchfeed("convert", "t.ctf", "t.cbf").code == 0  # 15 MB, and a header that says what there is
    rates = [line.split()[-3:] for line in batchfeed("bench", "t.cbf").out.splitlines() if line.startswith(("  index", "  whole"))]
    assert rates[0][:2] == ["-", "-"] and rates[1][0] != "-" and rates[1][1] == "%"


def test_bench_knows_a_slow_disk(batchfeed, corpus):
    config = corpus(2000, extra="chunkSizeInBytes = 1000")
    slow = {"LD_PRELOAD": shim.build(), "FAIL_UNDER": str(batchfeed.folder), "SLOW_PREAD_MS": "10"}
    report = batchfeed("bench", config, "--json", env=slow).json
    assert report["bound"] == "disk" and report["waits"]["files"] > report["work"]["read"]
    assert report["verdict"].startswith("disk-bound")


def test_bench_knows_tiny_chunks_and_a_huge_window(batchfeed, corpus):
    assert batchfeed("convert", corpus(30000), "tiny.cbf", "--chunk-size", 20).code == 0
    report = batchfeed("bench", "tiny.cbf", "--order", "cntk", "--window-chunks", 100, "--json").json
    # About 0.6 of it; what is found of a difference of two runs varies.
    assert report["chunks"] == 30000 and report["work"]["small_chunks"] > 0.1 * report["epoch"]["cpu_seconds"]
    slow = {"LD_PRELOAD": shim.build(), "FAIL_UNDER": str(batchfeed.folder), "SLOW_PREAD_MS": "20"}
    run = ("bench", corpus(1000, randomize="true", extra="chunkSizeInBytes = 400"), "--order", "uniform", "--threads", 1,
           "--minibatch-size", 200, "--consumer-ms", 80, "--json")
    assert batchfeed(*run, env=slow).json["bound"] == "window"
    assert batchfeed(*run, "--window-chunks", 1, env=slow).json["bound"] != "window"


def test_config_show_says_where_values_come_from(batchfeed, corpus):
    shown = batchfeed("config", "show", corpus(), "--json").json
    values = {v["path"]: v for v in shown["values"]}
    dim = next(v for path, v in values.items() if path.endswith("input.v.dim"))
    assert dim["value"] == "2" and dim["from"] == "section" and dim["line"] > 1
    assert any(v["from"] == "default" for v in values.values())
    assert "Train.reader" in batchfeed("config", "show", "train.cntk").out


def test_config_check_finds_faults_without_data(batchfeed, corpus):
    config = corpus()
    (batchfeed.folder / "train.ctf").unlink()
    assert batchfeed("config", "check", config).code == 0
    bad = batchfeed("config", "check", config, "--set", "Train=[reader=[input=[v=[format=sprase]]]]")
    assert bad.code == 1 and "sprase" in bad.out


def test_config_check_says_why_there_is_no_reader(batchfeed, corpus, write):
    """It was told only that there is none, and not of the text that took it away."""
    config = corpus()
    for text, why in ((f"include = {config}\n", "'include' is a key like any other here"),
                      ((batchfeed.folder / config).read_text() + "Train = { SGD = [ ] }\n", "'Train' in braces replaces all of what line 2 says")):
        done = batchfeed("config", "check", write("other.cntk", text))
        assert (done.code, done.out) == (3, "")
        assert why in done.err.splitlines()[0] and "no reader section found" in done.err.splitlines()[1]
    done = batchfeed("config", "check", write("other.cntk", f"include={config}\ninclude={config}\nx = [\n"))
    assert "is not included again" in done.err and "is never closed" in done.err.splitlines()[-1]


@pytest.mark.parametrize("command", [("info",), ("check",), ("plan",), ("index",), ("bench",), ("config", "show"), ("config", "check")])
def test_json_is_one_document(batchfeed, corpus, command):
    assert isinstance(batchfeed(*command, corpus(), "--json").json, dict)
