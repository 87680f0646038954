# SPDX-License-Identifier: MIT
"""What reading would refuse is found by a check: sizes that are none, minibatches of gaps, a corpus taken for a configuration."""
import pytest

READER = """reader = [ truncated = true ; truncationLength = {length}
  deserializers = ( [ type = CNTKTextFormatDeserializer ; module = CNTKTextFormatReader ; file = a.ctf
    input = [ x = [ dim = 1 ; format = dense ] ] ] ) ]"""


@pytest.fixture
def train(write):
    write("a.ctf", "0 |x 1\n0 |x 2\n1 |x 3\n")

    def config(sizes="", length=2):
        return write("train.cntk", f"Train = [ action = train ; SGD = [ truncated = true ; {sizes} ]\n{READER.format(length=length)} ]\n")

    return config


def ids(report):
    return [finding["id"] for finding in report.json["findings"]]


@pytest.mark.parametrize("sizes, length, id", [("minibatchSize = 4", 4_000_000_000, "limit.gaps"), ("minibatchSize = 2000000000", 2, "limit.gaps")])
def test_minibatches_of_gaps(batchfeed, train, sizes, length, id):
    config = train(sizes, length)
    report = batchfeed("check", config, "--json")
    assert (report.code, ids(report)) == (1, [id])
    assert report.json["complete"] and report.json["samples"] == 3
    refused = batchfeed("read", config, "--format", "none")
    assert refused.code != 0 and "places, whatever there is to fill them" in refused.err


@pytest.mark.parametrize("size", ["many", "0", "2.5", "4:-1"])
def test_sizes_that_are_none(batchfeed, train, size):
    config = train(f"minibatchSize = {size}")
    report = batchfeed("check", config, "--json")
    assert (report.code, report.json["faults"], report.json["samples"]) == (1, 1, 3)
    assert "Train.SGD.minibatchSize" in report.json["findings"][0]["what"]
    for command in (["read", config, "--format", "none"], ["plan", config]):
        refused = batchfeed(*command)
        assert refused.code != 0 and "Train.SGD.minibatchSize" in refused.err
    assert batchfeed("read", config, "--format", "none", "--minibatch-size", 2).code == 0
    assert batchfeed("info", config).code == 0  # does without
    assert batchfeed("config", "check", config).code == 1


def test_an_epoch_that_is_none(batchfeed, train):
    config = train("minibatchSize = 2 ; epochSize = ten")
    assert "Train.SGD.epochSize" in batchfeed("read", config, "--format", "none").err
    assert batchfeed("read", config, "--format", "none", "--epoch-size", 2).code == 0


@pytest.mark.parametrize("option", [("--section", "Train.reader"), ("--set", "a=b")])
def test_a_corpus_is_no_configuration(batchfeed, train, option):
    train()
    refused = batchfeed("info", "a.ctf", *option)
    assert refused.code == 3 and refused.err.count("\n") == 1 and f"is no configuration, which {option[0]} is for" in refused.err


def test_a_configuration_of_several_readers(batchfeed, write):
    """Each of them is checked; one that cannot be opened does not hide the other's faults."""
    one = "{name} = [ reader = [ readerType = CNTKTextFormatReader ; file = {file} ; input = [ x = [ dim = 1 ; format = dense ] ] ] ]\n"
    write("a.ctf", "0 |x 1\n1 |x 2\n")
    write("two.cntk", one.format(name="Train", file="a.ctf") + one.format(name="Test", file="b.ctf"))
    report = batchfeed("check", "two.cntk", "--json")
    assert report.code == 1 and report.json["faults"] == 1
    assert (report.json["sequences"], report.json["complete"], ids(report)) == (2, False, ["io.open"])
    text = batchfeed("check", "two.cntk").out
    assert text.startswith("Train.reader:\nchecked 2 samples in 2 sequences") and "\n\nTest.reader:\nb.ctf: cannot open" in text
    write("b.ctf", "0 |x 7\n")
    assert batchfeed("check", "two.cntk").code == 0
    alone = batchfeed("check", "two.cntk", "--section", "Test.reader", "--json")
    assert (alone.code, alone.json["sequences"]) == (0, 1)
