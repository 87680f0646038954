# SPDX-License-Identifier: MIT
"""What --json prints is what docs/reference/schemas says, for each command that has it."""
import json
import re

import jsonschema
import pytest

from conftest import ROOT

FOLDER = ROOT / "docs/reference/schemas"


def valid(name, document):
    schema = json.loads((FOLDER / f"{name}.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(document)
    return document


def commands(batchfeed, path=()):
    """The words of every command that --help knows."""
    text = batchfeed(*path, "--help").out
    below = re.search(r"(?ms)^Subcommands:\n(.*)", text)
    if not below:
        return [path] if path else []
    return [c for word in re.findall(r"(?m)^  (\S+)", below[1]) for c in commands(batchfeed, (*path, word))]


def test_every_command_with_json_has_a_schema_and_every_schema_a_page(batchfeed):
    wanted = {"-".join(c) for c in commands(batchfeed) if re.search(r"(?m)^  --json\b", batchfeed(*c, "--help").out)}
    there = {path.name.removesuffix(".schema.json") for path in FOLDER.glob("*.schema.json")}
    assert wanted | {"read", "explain"} == there
    page = (ROOT / "docs/reference/json.md").read_text()
    assert {name for name in there if f"](schemas/{name}.schema.json)" not in page} == set()


def test_the_schemas_are_schemas_and_leave_no_key_open():
    for path in FOLDER.glob("*.schema.json"):
        schema = json.loads(path.read_text())
        jsonschema.Draft202012Validator.check_schema(schema)

        def closed(node):
            if isinstance(node, dict):
                if node.get("type") == "object":
                    assert "additionalProperties" in node, path
                for value in node.values():
                    closed(value)
            elif isinstance(node, list):
                for value in node:
                    closed(value)
        closed(schema)


LINES = ("head", "cat", "sample")  # one document a line
GOOD = "0 |v 1 2 |t 3:1\n0 |v 2 3 |t 3:1\n1 |v 4 4 |t 4:1\n"


@pytest.mark.parametrize("name", ["info", "head", "cat", "sample", "stats", "check", "plan", "report", "index", "bench"])
def test_of_a_text_file_and_a_configuration(batchfeed, write, corpus, name):
    write("a.ctf", GOOD)
    for file in ("a.ctf", corpus(20, randomize="true")):
        done = batchfeed(name, file, "--json")
        assert all(valid(name, document) for document in (done.lines if name in LINES else [done.json]))


def test_of_labels_whose_last_line_is_not_known(batchfeed, write):
    write("a.mlf", '#!MLF!#\n"u"\n0 2 a\n2 4 b\n.\n')
    for name, more in (*((name, ["--json"]) for name in LINES), ("grep", ["--json", "--key", "u"]), ("explain", ["--format", "jsonl", "--explain", 0])):
        done = valid(name, batchfeed("read" if name == "explain" else name, "a.mlf", *more).json)
        assert (done["ranks"][0]["sequences"][0]["place"] if name == "explain" else done)["lines"] == [2, None]


def test_of_columns(batchfeed, write):
    write("a.ctf", GOOD + "2 |v 1 2 |t 4194304:1\n")
    first, second = valid("stats", batchfeed("stats", "a.ctf", "--columns", "--json").json)["streams"]
    assert first["columns"]["max"] == [4, 4] and second["columns"] is None


def test_of_what_is_written_and_inferred(batchfeed, write):
    write("a.ctf", GOOD)
    valid("head", batchfeed("head", "a.ctf", "-o", "b.cbf", "--json").json)
    valid("schema", batchfeed("schema", "a.ctf", "--json").json)
    for test in (("--key", 1), ("--value", "v > 1"), ("--key", 1, "--count")):
        assert all(valid("grep", line) for line in batchfeed("grep", *test, "a.ctf", "--json").lines)


def test_of_corpora_made_of_corpora(batchfeed, write):
    write("a.ctf", "".join(f"{k} |v {k} |t 3:1\n" for k in range(20)))
    valid("split", batchfeed("split", "a.ctf", "--part", "x.ctf", "--part", "y.ctf=0.5", "--exact", "--json").json)
    valid("merge", batchfeed("merge", "x.ctf", "y.ctf", "-o", "z.ctf", "--json").json)
    valid("shuffle", batchfeed("shuffle", "z.ctf", "-o", "s.ctf", "--json").json)


def test_of_mended_files_and_states(batchfeed, corpus, write):
    write("a.ctf", "0 |v 1\r\n1 |v 2")
    assert len(valid("check", batchfeed("check", "a.ctf", "--fix", "b.ctf", "--json").json)["fixes"]) == 2
    config = corpus(9)
    batchfeed("read", config, "--save-state", "s.json")
    assert valid("resume-verify", batchfeed("resume", "verify", "s.json", config, "--json").json)["fits"]
    assert not valid("resume-verify", batchfeed("resume", "verify", "s.json", "b.ctf", "--json").json)["fits"]


def test_of_differences(batchfeed, write):
    write("a.ctf", GOOD), write("b.ctf", GOOD.replace("4 4", "4 5") + "9 |v 1 1 |t 3:1\n"), write("c.ctf", "1 |v 1 1 |w 1\n")
    for other in "abc":
        valid("diff", batchfeed("diff", "a.ctf", f"{other}.ctf", "--json").json)


def test_of_a_broken_file(batchfeed, write):
    write("a.ctf", GOOD + "2 |v 1 x |t 3:1\n|v\n")
    for name in ("info", "stats", "check", "report"):
        valid(name, batchfeed(name, "a.ctf", "--json").json)
    assert batchfeed("check", "a.ctf", "--json").json["findings"]


def test_of_two_benchmarks(batchfeed, write):
    write("a.ctf", GOOD)
    assert valid("bench", batchfeed("bench", "a.ctf", "--compare", "a.ctf", "--json").json)["compare"]["speedup"] > 0


def test_of_workers_mixtures_and_bucketing(batchfeed, write):
    write("a.ctf", GOOD), write("b.ctf", GOOD)
    valid("plan", batchfeed("plan", "a.ctf", "b.ctf", "--mix-weights", "3,1", "--json").json)
    assert len(valid("plan", batchfeed("plan", "a.ctf", "--workers", 2, "--bucket-minibatches", 2, "--shard", "even", "--json").json)["ranks"]) == 2


def test_of_configurations(batchfeed, corpus):
    valid("config-check", batchfeed("config", "check", corpus(extra="maxErors = 3"), "--json").json)
    valid("config-show", batchfeed("config", "show", corpus(), "--json").json)


def test_of_conversions_and_the_version(batchfeed, write):
    write("a.ctf", GOOD)
    valid("convert", batchfeed("convert", "a.ctf", "a.cbf", "--verify", "--json").json)
    valid("version", batchfeed("version", "--json").json)


def test_of_minibatches(batchfeed, corpus, write):
    for more in ((), ("--workers", 2, "--rank", 1), ("--precision", "double")):
        lines = batchfeed("read", corpus(9), "--format", "jsonl", "--minibatch-size", 4, *more).lines
        assert lines and all(valid("read", line) for line in lines)
    write("bad.ctf", GOOD + "2 |v 1 x |t 3:1\n")
    last = batchfeed("read", "bad.ctf", "--format", "jsonl").lines[-1]
    assert "error" in valid("read", last)
    valid("explain", batchfeed("read", corpus(9), "--explain", 0, "--format", "jsonl").json)
