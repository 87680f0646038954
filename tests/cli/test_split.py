# SPDX-License-Identifier: MIT
"""split, merge, shuffle: corpora made of corpora."""
import pytest


@pytest.fixture
def labelled(write):
    """Sequences k00 .. of one sample; class 1 for every fourth."""

    def make(n=100, name="all.ctf", first=0):
        return write(name, "".join(f"k{k:03} |v {k} 1 |l {1 if k % 4 == 0 else 0}:1\n" for k in range(first, first + n)))

    return make


def keys(batchfeed, name):
    return [s["key"] for s in batchfeed("cat", name, "--json").lines]


def test_parts_are_disjoint_and_together_the_whole(batchfeed, labelled):
    labelled()
    done = batchfeed("split", "all.ctf", "--part", "train.ctf", "--part", "test.cbf=0.2", "--json").json
    train, test = keys(batchfeed, "train.ctf"), keys(batchfeed, "test.cbf")
    assert sorted(train + test) == keys(batchfeed, "all.ctf") and train == sorted(train)
    assert [p["sequences"] for p in done["parts"]] == [len(train), len(test)] and 5 < len(test) < 40
    assert [p["fraction"] for p in done["parts"]] == [0.8, 0.2]


def test_a_key_stays_in_its_part_when_the_corpus_grows(batchfeed, labelled):
    labelled(), labelled(300, "more.ctf")
    for name in ("all", "more"):
        batchfeed("split", f"{name}.ctf", "--part", f"{name}-train.ctf", "--part", f"{name}-test.ctf=0.2")
    assert set(keys(batchfeed, "all-test.ctf")) < set(keys(batchfeed, "more-test.ctf"))
    assert not set(keys(batchfeed, "all-train.ctf")) & set(keys(batchfeed, "more-test.ctf"))


def test_exact_and_stratified(batchfeed, labelled):
    labelled()
    batchfeed("split", "all.ctf", "--part", "a.ctf=0.6", "--part", "b.ctf=0.4", "--exact")
    assert len(keys(batchfeed, "b.ctf")) == 40
    batchfeed("split", "all.ctf", "--part", "c.ctf", "--part", "d.ctf=0.4", "--stratify", "l", "--seed", 5)
    assert batchfeed("grep", "--value", "l[1] = 1", "d.ctf", "--count").out == "10\n"
    assert len(keys(batchfeed, "d.ctf")) == 40


def test_sequences_of_shards_without_ids_are_numbered(batchfeed, write):
    shards = [write(f"s{k}.ctf", f"|v {k}\n") for k in range(6)]
    assert batchfeed("split", *shards, "--exact", "--part", "a.ctf=0.5", "--part", "b.ctf=0.5").code == 0
    lines = [(batchfeed.folder / name).read_text().splitlines() for name in ("a.ctf", "b.ctf")]
    assert [len(part) for part in lines] == [3, 3] and sorted(lines[0] + lines[1]) == [f"{k} |v {k}" for k in range(6)]


def test_some_sequences_of_shards_without_ids_have_numbers_of_the_whole(batchfeed, write):
    shards = [write(f"s{k}.ctf", f"|v 0\n|v {k}\n") for k in (1, 2, 3)]
    assert batchfeed("grep", "--value", "v > 0", *shards, "-o", "some.ctf").code == 0
    assert (batchfeed.folder / "some.ctf").read_text() == "1 |v 1\n3 |v 2\n5 |v 3\n"
    for seed in range(4):
        shown = batchfeed("sample", *shards, "-n", "5", "--seed", seed, "--format", "ctf")
        assert shown.code == 0 and len(shown.out.splitlines()) == 5


@pytest.mark.parametrize("arguments, word", [
    ((), "two parts"),
    (("--part", "a.ctf", "--part", "b.ctf"), "takes the rest"),
    (("--part", "a.ctf=0.5", "--part", "b.ctf=0.6"), "sum to 1.1"),
    (("--part", "a.ctf=0.5", "--part", "b.ctf=x"), "FILE=FRACTION"),
    (("--part", "a.ctf=0.5", "--part", "a.ctf"), "named twice"),
    (("--part", "a.ctf=0.5", "--part", "./a.ctf", "--force"), "named twice, as a.ctf is the same"),
    (("--part", "a.scp=0.5", "--part", "a.htk", "--force"), "named twice, as a.scp is the same or writes it too"),
    (("--part", "all.ctf=0.5", "--part", "a.ctf"), "exists already"),
    (("--part", "a.ctf", "--part", "b.ctf=0.5", "--stratify", "x"), "no stream 'x'"),
    (("--part", "a.ctf", "--part", "b.ctf=0.5", "--exact", "--group", "k"), "exact"),
    (tuple(word for i in range(256) for word in ("--part", f"{i}.ctf=0.00390625")), "256 parts, expected at most 255"),
])
def test_what_makes_no_sense_writes_nothing(batchfeed, labelled, arguments, word):  # split.fractions split.group split.no-classes split.too-many-parts
    labelled()
    done = batchfeed("split", "all.ctf", *arguments)
    assert done.code == 2 and word in done.err
    assert [p.name for p in batchfeed.folder.iterdir()] == ["all.ctf"]


@pytest.mark.parametrize("text, ending, word", [
    ("k |v 1\nk |v 2\n" * 2, "ctf", "no sequence falls"),
    ("k |v 1\nj |v 2\nk |v 3\n", "scp", "two sequences with the key 'k'"),
    ("k |v 3\nj |v 4\nk |v 5\n", "mlf", "a label is one 1"),
    ("=k |v 1\nj |v 2\n", "scp", "a list cannot hold the key '=k'"),
])
def test_what_the_data_do_not_allow_is_no_fault_of_the_command_line(batchfeed, write, text, ending, word):  # split.empty convert.same-key convert.not-labels
    write("all.ctf", text)
    commands = [("split", "all.ctf", "--exact", "--part", f"a.{ending}=0.9", "--part", f"b.{ending}")]
    if "falls" not in word:
        commands += [("convert", "all.ctf", f"c.{ending}"), ("shuffle", "all.ctf", "-o", f"d.{ending}"), ("head", "all.ctf", "-o", f"e.{ending}")]
    for command in commands:
        done = batchfeed(*command)
        assert done.code == 3 and word in done.err, done.err
    assert [p.name for p in batchfeed.folder.iterdir()] == ["all.ctf"]


def test_merge_keeps_keys_that_are_different(batchfeed, labelled):
    labelled(10, "a.ctf"), labelled(10, "b.ctf", 10), labelled(20, "both.ctf")
    batchfeed("convert", "b.ctf", "b.cbf")
    assert batchfeed("merge", "a.ctf", "b.cbf", "-o", "all.ctf", "--verify").code == 0
    assert batchfeed("diff", "all.ctf", "both.ctf").code == 0


def test_merge_numbers_sequences_whose_keys_repeat(batchfeed, labelled, write):
    labelled(10, "a.ctf")
    done = batchfeed("merge", "a.ctf", "a.ctf", "-o", "all.ctf")
    assert done.code == 0 and "some keys occur more than once, sequences are numbered" in done.err
    assert keys(batchfeed, "all.ctf") == [str(k) for k in range(20)]
    assert batchfeed("merge", "a.ctf", "a.ctf", "-o", "no.ctf", "--keys", "keep").code == 2
    write("r.ctf", "70 |v 1\n80 |v 2\n70 |v 3\n"), write("s.ctf", "90 |v 4\n")
    within = batchfeed("merge", "r.ctf", "s.ctf", "-o", "rs.ctf", "--quiet", "--keys", "keep")  # of one corpus alone
    assert within.code == 2 and "some keys occur more than once" in within.err and "more than one corpus" not in within.err
    write("x.ctf", "|v 1\n|v 2\n")
    quiet = batchfeed("merge", "x.ctf", "x.ctf", "-o", "xx.ctf")
    assert quiet.err == "" and (batchfeed.folder / "xx.ctf").read_text() == "|v 1\n|v 2\n|v 1\n|v 2\n"


def test_merge_takes_the_largest_sparse_dim_and_refuses_other_streams(batchfeed, write):  # merge.streams
    write("a.ctf", "1 |t 3:1 |v 1\n"), write("b.ctf", "2 |v 2 |t 8:1\n"), write("c.ctf", "3 |v 1 2 |t 8:1\n"), write("d.ctf", "3 |t 8:1\n")
    assert batchfeed("merge", "a.ctf", "b.ctf", "-o", "ab.cbf").code == 0
    assert [s["dim"] for s in batchfeed("info", "ab.cbf", "--json").json["streams"]] == [9, 1]
    for other in ("c.ctf", "d.ctf"):
        done = batchfeed("merge", "a.ctf", other, "-o", "no.cbf")
        assert done.code == 2 and "stream 'v'" in done.err and not (batchfeed.folder / "no.cbf").exists()
    assert batchfeed("merge", "a.ctf", "d.ctf", "-o", "ad.cbf", "--streams", "t").code == 0


@pytest.mark.parametrize("command", [["merge", "--seed", "3"], ["merge", "--memory", "1M"], ["convert", "--shuffle-memory", "1M"]])
def test_what_a_shuffle_is_told_needs_one(batchfeed, labelled, command):
    labelled()
    target = ["-o", "x.cbf"] if command[0] == "merge" else ["x.cbf"]
    result = batchfeed(command[0], "all.ctf", *target, *command[1:])
    assert result.code == 2 and f"{command[1]} without --shuffle" in result.err
    shuffled = ["--shuffle", "1"] if command[0] == "convert" else ["--shuffle"]
    assert batchfeed(command[0], "all.ctf", *target, *command[1:], *shuffled).code == 0


def test_shuffle_is_a_permutation_that_the_seed_decides(batchfeed, labelled):
    labelled(200)
    order = []
    for name, seed, memory in (("a.ctf", 1, "256M"), ("b.ctf", 1, "256M"), ("c.ctf", 2, "256M"), ("d.ctf", 1, "1K")):
        assert batchfeed("shuffle", "all.ctf", "-o", name, "--seed", seed, "--memory", memory, "--verify").code == 0
        order.append(keys(batchfeed, name))
    assert order[0] == order[1] != order[2] and all(sorted(o) == keys(batchfeed, "all.ctf") for o in order)
    assert batchfeed("merge", "all.ctf", "-o", "e.ctf", "--shuffle", "--seed", 1).code == 0
    assert keys(batchfeed, "e.ctf") == order[0]
    assert batchfeed("shuffle", "all.ctf").code == 2 and batchfeed("shuffle", "all.ctf", "-o", "a.ctf").code == 2


@pytest.mark.parametrize("option", [("--section", "Train.reader"), ("--set", "Train=[reader=[randomize=false]]")], ids=lambda o: o[0])
def test_a_section_is_for_the_configurations_among_corpora(batchfeed, corpus, option):
    config = corpus(9)
    batchfeed("convert", config, "b.cbf")
    for files in ((config, "b.cbf"), ("b.cbf", config)):
        done = batchfeed("merge", *files, "-o", "all.ctf", "--force", "--json", *option)
        assert done.code == 0 and done.json["sequences"] == 18, done.err
        done = batchfeed("plan", *files, "--mix-weights", "1,1", "--json", *option)
        assert done.code == 0, done.err
        assert batchfeed("bench", files[0], "--compare", files[1], *option).code == 0
        assert batchfeed("diff", *files, *option).code == 0
    for words in (["merge", "b.cbf", "b.cbf", "-o", "none.ctf"], ["plan", "b.cbf", "b.cbf", "--mix-weights", "1,1"],
                  ["bench", "b.cbf", "--compare", "b.cbf"]):
        refused = batchfeed(*words, *option)
        assert refused.code == 3 and f"b.cbf: is no configuration, which {option[0]} is for" in refused.err, words
