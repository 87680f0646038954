# SPDX-License-Identifier: MIT
"""grep: sequences by key or value, located."""
import pytest

TEXT = "a |v 1 2 |t 3:1\na |v 3 300 |t 1:5\nb1 |v 5 6 |t 4:8\nb2 |v 0 0 |t 4:8\n"


def test_by_key(batchfeed, write):
    write("a.ctf", TEXT)
    done = batchfeed("grep", "--key", "b?", "a.ctf")
    assert (done.code, done.out) == (0, "a.ctf:3: key b1, 1 sample\na.ctf:4: key b2, 1 sample\n")
    assert batchfeed("grep", "--key", "a", "a.ctf").out == "a.ctf:1-2: key a, 2 samples\n"
    assert batchfeed("grep", "--key", "a", "--key", "b2", "a.ctf", "--count").out == "2\n"


def test_by_value_names_the_line_and_the_value(batchfeed, write):
    write("a.ctf", TEXT)
    assert batchfeed("grep", "--value", "v > 255", "a.ctf").out == "a.ctf:2: key a: v[1] = 300 (sample 1)\n"
    assert batchfeed("grep", "--value", "v[0] > 0", "a.ctf").out.splitlines()[0] == "a.ctf:1: key a: v[0] = 1 (sample 0; 2 values in all)"
    assert batchfeed("grep", "--value", "t[4]=8", "--key", "b1", "a.ctf").out == "a.ctf:3: key b1: t[4] = 8\n"
    assert batchfeed("grep", "--value", "length > 1", "a.ctf").out == "a.ctf:1-2: key a, 2 samples\n"


def test_nothing_found_is_status_1(batchfeed, write):
    write("a.ctf", TEXT)
    for more in ((), ("--count",), ("-o", "b.ctf"), ("--json",)):
        done = batchfeed("grep", "--key", "c", "a.ctf", *more)
        assert done.code == 1 and done.out == ("0\n" if more == ("--count",) else "")
    assert not (batchfeed.folder / "b.ctf").exists()


def test_the_sequences_themselves(batchfeed, write):
    write("a.ctf", TEXT)
    assert batchfeed("grep", "--key", "a", "a.ctf", "--format", "ctf").out == "".join(TEXT.splitlines(True)[:2])
    assert batchfeed("grep", "--value", "v > 255", "--invert", "a.ctf", "-o", "clean.cbf", "--verify").code == 0
    assert batchfeed("cat", "clean.cbf").out == "".join(TEXT.splitlines(True)[2:])


def test_as_json(batchfeed, write):
    write("a.ctf", TEXT)
    (line,) = batchfeed("grep", "--value", "v > 255", "a.ctf", "--json").lines
    assert line == {"key": "a", "file": "a.ctf", "lines": [1, 2], "samples": 2,
                    "hit": {"stream": "v", "sample": 1, "index": 1, "value": 300, "values": 1, "line": 2}}
    assert [x["hit"] for x in batchfeed("grep", "--key", "b*", "a.ctf", "--json").lines] == [None, None]


def test_values_have_the_digits_of_their_type(batchfeed, write):
    write("a.ctf", "0 |v 0.1\n")
    assert batchfeed("grep", "--value", "v > 0", "a.ctf").out == "a.ctf:1: key 0: v[0] = 0.1\n"
    assert '"value":0.1,' in batchfeed("grep", "--value", "v > 0", "a.ctf", "--json").out
    double = batchfeed("grep", "--value", "v > 0", "a.ctf", "--precision", "double", "--json")
    assert '"value":0.1,' in double.out


@pytest.mark.parametrize("arguments, word", [
    (("a.ctf",), "nothing to look for"),
    (("b1", "a.ctf"), "--key 'b1'"),
    (("--value", "v", "a.ctf"), "features[3] >= 255"),
    (("--value", "w > 1", "a.ctf"), "no stream 'w'"),
    (("--value", "v[2] > 1", "a.ctf"), "not below dim 2"),
])
def test_what_makes_no_sense_is_status_2(batchfeed, write, arguments, word):  # find.test
    write("a.ctf", TEXT)
    done = batchfeed("grep", *arguments)
    assert done.code == 2 and word in done.err and done.out == ""


def test_places_are_the_same_for_every_number_of_threads(batchfeed, corpus):
    config = corpus(300, extra="chunkSizeInBytes = 200")
    one, four = (batchfeed("grep", "--value", "v[0] > 100", config, "--threads", n).out for n in (1, 4))
    assert one == four and len(one.splitlines()) == 199


def test_a_bound_is_what_the_stream_would_hold(batchfeed, write):
    """0.1 as a float is no 0.1 as a double, and neither is what was written."""
    write("a.ctf", "1 |a 0.5\n2 |a 0.1\n3 |a 0.7\n")
    count = lambda test, *more: batchfeed("grep", "a.ctf", "--value", test, "--count", *more).out.strip()
    for more in ((), ("--precision", "double")):
        assert [count(f"a {op} 0.1", *more) for op in ("=", ">", ">=", "!=")] == ["1", "2", "3", "2"]
        assert count("a >= 0.7", *more) == "1"


@pytest.mark.parametrize("more, words", [
    (("--count", "-o", "b.ctf"), "--count prints a number only, -o gives the sequences"),
    (("--count", "--format", "ctf"), "--count prints a number only, --format gives the sequences"),
    (("--streams", "nosuch"), "--streams chooses from sequences"), (("--to", "cbf"), "--to cbf is for a file"),
    (("-o", "b.ctf", "--format", "jsonl"), "--format jsonl is for standard output"), (("--verify",), "--verify reads a file back")])
def test_options_that_would_do_nothing_are_refused(batchfeed, write, tmp_path, more, words):
    write("a.ctf", "1 |x 1\n")
    done = batchfeed("grep", "--key", "1", "a.ctf", *more)
    assert done.code == 2 and words in done.err and done.out == ""
    assert [p.name for p in tmp_path.iterdir()] == ["a.ctf"]
