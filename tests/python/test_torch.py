# SPDX-License-Identifier: MIT
import inspect
import itertools
import json
import multiprocessing
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from conftest import ROOT, keys_of
from test_docs import blocks, run
from torch.utils.data import DataLoader

import batchfeed as bf
import batchfeed.torch


def sequence_keys(batch):
    return batch.sequence_keys


def dataset(corpus, **options):
    options = {"minibatch_samples": 7, "transform": sequence_keys, **options}
    return batchfeed.torch.Dataset(corpus.source(chunk_bytes=200), **options)


def loader(data, workers, **options):
    return DataLoader(data, batch_size=None, num_workers=workers, **options)


def test_tensors_share_memory_with_the_minibatch(corpus):
    batch = corpus.reader(minibatch_samples=30).next()
    x, y = batch["x"], batch["y"]
    tensor = x.torch()
    assert tensor.data_ptr() == x.values.__array_interface__["data"][0]
    assert torch.from_dlpack(x).data_ptr() == tensor.data_ptr()
    np.testing.assert_array_equal(tensor.numpy(), x.numpy())
    sparse = y.torch()
    assert sparse.layout == torch.sparse_csr and sparse.values().data_ptr() == y.values.__array_interface__["data"][0]
    np.testing.assert_array_equal(sparse.to_dense().numpy(), y.numpy())
    np.testing.assert_array_equal(y.torch("coo").to_dense().numpy(), y.numpy())
    np.testing.assert_array_equal(x.torch("padded").numpy(), x.padded().values)
    nested = x.torch("nested")
    assert nested.values().data_ptr() == tensor.data_ptr()
    for row, sequence in zip(nested.unbind(), x.sequences()):
        np.testing.assert_array_equal(row.numpy(), sequence)
    with pytest.raises(ValueError, match="form is 'flat'"):
        x.torch("flat")
    forms = batch.torch({"y": "padded"})
    assert forms["x"].shape == x.shape and forms["y"].shape == y.padded().values.shape


@pytest.mark.parametrize("looks", [True, False], ids=["looked at", "not looked at"])
def test_ctrl_c_in_a_transform_loses_no_minibatch(corpus, looks):
    expected, pressed = list(dataset(corpus)), []

    def transform(batch):
        keys = batch.sequence_keys if looks else None
        if len(items) in (0, 2, len(expected) - 1) and len(items) not in pressed:
            pressed.append(len(items))
            raise KeyboardInterrupt
        return keys or batch.sequence_keys

    items, data = [], dataset(corpus, transform=transform)
    loop = iter(data)
    while True:
        try:
            items.append(next(loop))
        except KeyboardInterrupt:
            assert data.state_dict()["minibatch"] == len(items)
            again = dataset(corpus)
            again.load_state_dict(data.state_dict())
            assert items + list(again) == expected
        except StopIteration:
            break
    assert items == expected and len(pressed) == 3 and data.epoch == 1


@pytest.mark.parametrize("workers", [0, 1])
def test_a_transform_cannot_end_the_loop(corpus, workers):
    items = iter(loader(dataset(corpus, transform=lambda batch: next(iter(()))), workers))
    with pytest.raises(RuntimeError, match="StopIteration was raised in transform"):
        next(items)


def test_the_place_of_worker_processes_is_not_this_processs(corpus):
    data = dataset(corpus)
    data.load_state_dict(state := data.state_dict())
    assert data.state_dict() == state
    items = iter(loader(data, 2))
    next(items)
    with pytest.raises(bf.ConfigError, match="StatefulDataLoader keeps the place"):
        data.state_dict()
    for _ in items:
        pass
    with pytest.raises(bf.ConfigError, match="ahead of what their DataLoader has handed out"):
        data.state_dict()


def test_what_is_a_loaders_is_no_keyword_of_a_dataset(corpus):
    with pytest.raises(TypeError, match=r"'num_workers': it is a DataLoader's, as in DataLoader\(dataset, "):
        dataset(corpus, num_workers=2)


def test_items_are_tensors_by_name(corpus):
    data = dataset(corpus, transform=None, form={"x": "padded"})
    for item, batch in zip(data, corpus.reader()):
        np.testing.assert_array_equal(item["x"].numpy(), batch["x"].padded().values)
        np.testing.assert_array_equal(item["y"].to_dense().numpy(), batch["y"].numpy())


@pytest.mark.parametrize("form", ["packed", "coo"])
def test_sparse_tensors_are_what_pytorch_counts_on(tmp_path, form):
    (tmp_path / "t.ctf").write_text("0 |y 5:1 2:3\n1 |y 7:1\n1 |y\n2 |y 4:1 4:2\n")
    batch = next(iter(bf.Reader(bf.CTF(tmp_path / "t.ctf", streams={"y": bf.sparse(8)}), shuffle=False)))
    tensor, wanted = batch["y"].torch(form), np.zeros((4, 8))
    wanted[[0, 0, 1, 3], [5, 2, 7, 4]] = [1, 3, 1, 3]
    assert (tensor * tensor).to_dense().tolist() == (wanted * wanted).tolist()
    if form == "packed":
        parts = tensor.crow_indices(), tensor.col_indices(), tensor.values()
        torch.sparse_csr_tensor(*parts, tensor.shape, check_invariants=True)
        assert parts[0].dtype == parts[1].dtype == torch.int32, "as of rows that are in order"
    else:
        assert tensor.is_coalesced() and tensor.indices().tolist() == [[0, 0, 1, 3], [2, 5, 7, 4]]


@pytest.mark.parametrize("form", ["packed", "padded", "nested", "coo"])
def test_pinned_memory(corpus, monkeypatch, form):
    """With stand-ins for CUDA: which tensors are pinned, and that what comes out is made of these."""
    made = []

    def pin(tensor):
        made.append(tensor.clone())
        return made[-1]

    plain = list(dataset(corpus, transform=None, form=form))
    monkeypatch.setattr(torch.Tensor, "pin_memory", pin)
    assert len(list(dataset(corpus, transform=None, form=form, pin_memory=True))) == len(plain) and not made, "without CUDA"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    items = list(dataset(corpus, transform=None, form=form, pin_memory=True))
    pinned = {part.data_ptr() for part in made}

    def parts(tensor):
        if tensor.layout == torch.sparse_csr:
            return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
        if tensor.layout == torch.sparse_coo:
            return [tensor._indices(), tensor._values()]
        return [tensor.values(), tensor.offsets()] if tensor.is_nested else [tensor]

    assert len(items) == len(plain)
    for item, expected in zip(items, plain):
        for name, tensor in item.items():
            assert tensor.layout == expected[name].layout and tensor.is_nested == expected[name].is_nested
            for part, same in zip(parts(tensor), parts(expected[name])):
                assert part.data_ptr() in pinned and torch.equal(part, same)
    assert len(list(dataset(corpus, pin_memory=True))) == len(plain), "what a transform makes is left alone"
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: pytest.fail("in a worker process"))
    assert len(list(loader(dataset(corpus, transform=None, form="packed", pin_memory=True), 2))) == len(plain)


@pytest.mark.parametrize("workers", [0, 1, 2, 3])
def test_any_number_of_loader_processes_gives_the_same_stream(corpus, expected, workers):
    data = loader(dataset(corpus), workers)
    assert [list(data) for _ in range(3)] == expected


def test_the_length_is_that_of_the_next_epoch(corpus, expected):
    data = loader(dataset(corpus), 0)
    for keys in expected:
        assert len(data) == len(keys) == len(list(data))


def test_what_asks_about_a_dataset_reads_nothing(corpus, expected):
    data = dataset(corpus)
    assert data and "x" in data and "z" not in data
    assert list(data) == expected[0]


def test_processes_that_are_spawned_or_persist(corpus, expected):
    assert list(loader(dataset(corpus), 2, multiprocessing_context="spawn")) == expected[0]
    data = loader(dataset(corpus), 2, persistent_workers=True)
    assert [list(data) for _ in range(3)] == expected


def test_seeds_may_repeat_and_epochs_be_broken_off(corpus, expected):
    for _ in range(3):
        data = loader(dataset(corpus), 2)
        for stop, keys in [(None, expected[0]), (2, expected[1]), (3, expected[1]), (None, expected[1]), (None, expected[2])]:
            torch.manual_seed(0)
            assert list(itertools.islice(data, stop)) == keys[:stop]


def test_other_processes_may_be_made_between_those_of_a_loader(corpus, expected, monkeypatch):
    data = loader(dataset(corpus), 2)
    start = multiprocessing.Process.start

    def start_another(process):
        start(process)
        for _ in range(5):
            multiprocessing.Process(target=int)

    monkeypatch.setattr(multiprocessing.Process, "start", start_another)
    assert [list(data) for _ in range(2)] == expected[:2]


def test_tensors_come_through_processes(corpus):
    direct = list(dataset(corpus, transform=None))
    there = list(loader(dataset(corpus, transform=None), 2))
    assert len(direct) == len(there)
    for a, b in zip(direct, there):
        assert torch.equal(a["x"], b["x"]) and torch.equal(a["y"].to_dense(), b["y"].to_dense())


@pytest.mark.parametrize("workers", [0, 2])
def test_an_epoch_can_be_chosen(corpus, expected, workers):
    data = dataset(corpus)
    data.set_epoch(2)
    assert list(loader(data, workers)) == expected[2]
    data.set_epoch(1)
    assert [list(loader(data, workers)) for _ in range(2)] == expected[1:]


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_a_state_is_good_for_any_number_of_processes(corpus, expected, workers):
    data = dataset(corpus)
    items = iter(data)
    assert [next(items), next(items)] == expected[0][:2]
    resumed = dataset(corpus)
    resumed.load_state_dict(json.loads(json.dumps(data.state_dict())))
    again = loader(pickle.loads(pickle.dumps(resumed)) if workers == 0 else resumed, workers)
    assert list(again) == expected[0][2:]
    assert list(again) == expected[1]


@pytest.mark.parametrize("workers", [0, 2])
def test_two_ranks_under_torchrun(corpus, tmp_path, workers):
    script = str(Path(__file__).with_name("torch_rank.py"))
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", script]
    done = subprocess.run([*command, corpus.path, str(tmp_path), str(workers)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    ranks = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in (0, 1)]
    assert [r["world"] for r in ranks] == [{"workers": 2, "rank": 0}, {"workers": 2, "rank": 1}]
    whole = keys_of(bf.open(corpus.path, minibatch_samples=20))
    for together, a, b in zip(whole, ranks[0]["keys"], ranks[1]["keys"]):
        assert sorted(together) == sorted(a + b)


def test_what_is_not_a_keyword(corpus):
    with pytest.raises(TypeError, match="'stride' cannot be given here"):
        dataset(corpus, stride=2)
    with pytest.raises(bf.ConfigError, match="pin_memory is 'x', expected True or False"):
        dataset(corpus, pin_memory="x")


@pytest.mark.parametrize(
    "what, options, error, words",
    [
        ("no.ctf", {}, bf.MissingFileError, "no.ctf: cannot open"),
        ("no.cntk", {}, bf.MissingFileError, "no.cntk: cannot open"),
        (bf.CTF("no.ctf", {"x": bf.dense(1)}), {}, bf.MissingFileError, "no.ctf: cannot open"),
        (bf.CTF(["a.ctf", "no.ctf"], {"x": bf.dense(1)}), {}, bf.MissingFileError, "no.ctf: cannot open"),
        (bf.Mix((bf.CTF("a.ctf"), 1), (bf.CTF("no.ctf"), 1)), {}, bf.MissingFileError, "no.ctf: cannot open"),
        (bf.CBF("no.cbf"), {}, bf.MissingFileError, "no.cbf: cannot open"),
        ("a.ctf", {"order": "none"}, bf.ConfigError, "order is 'none', expected one of"),
        ("a.ctf", {"minibatch_samples": -1}, bf.ConfigError, "minibatch_samples is -1"),
        ("a.ctf", {"minibatch_samples": 1, "minibatch_size": 1}, bf.ConfigError, "are both given"),
        ("s3://none/a.ctf", {"order": "none"}, bf.ConfigError, "order is 'none'"),
        ("a.ctf", {"limits": {"lines": 1}}, bf.ConfigError, "no limit 'lines'"),
        ("a.ctf", {"section": "Train"}, bf.ConfigError, "section is 'Train', which is for configurations"),
        ("a.ctf", {"dtype": "int8"}, bf.ConfigError, "dtype is int8"),
        ("a.ctf", {"storage_options": 1}, bf.ConfigError, "storage_options is 1"),
        ("a.ctf", {"report": 1}, bf.ConfigError, "report is 1"),
        ("a.ctf", {"form": {"x": "dense"}}, bf.ConfigError, "form is 'dense', expected 'packed'"),
    ],
)
def test_what_is_wrong_is_told_before_a_process_reads(tmp_path, monkeypatch, what, options, error, words):
    monkeypatch.chdir(tmp_path)
    Path("a.ctf").write_text("0 |x 1\n1 |x 2\n")
    with pytest.raises(error, match=words):
        batchfeed.torch.Dataset(what, **options)


def test_help_lists_the_keywords_of_a_dataset():
    names = set(inspect.signature(batchfeed.torch.Dataset).parameters)
    assert {"form", "transform", "minibatch_samples", "rank"} <= names and not {"options", "stride", "offset"} & names
    assert "\nminibatch_samples\n    samples of" in batchfeed.torch.Dataset.__doc__ and "\nstride\n" not in batchfeed.torch.Dataset.__doc__


def test_what_is_left_to_who_reads(corpus):
    """URLs and programs."""

    class Asked(bf.Source):
        def streams(self):
            raise LookupError

    batchfeed.torch.Dataset("s3://none/a.ctf")
    data = batchfeed.torch.Dataset(Asked())
    with pytest.raises(LookupError):
        next(iter(data))


@pytest.fixture
def digits(tmp_path):
    """Ten classes of noisy pictures, as digits.ctf has them."""
    rng = np.random.default_rng(0)
    centres = rng.integers(0, 17, (10, 64))
    with bf.Writer(tmp_path / "digits.ctf", {"labels": bf.sparse(10), "pixels": bf.dense(64)}) as writer:
        for label in rng.integers(0, 10, 700):
            writer.append({"labels": int(label), "pixels": np.clip(centres[label] + rng.integers(-3, 4, 64), 0, 16)})
    return tmp_path / "digits.ctf"


def test_training_goes_on_to_the_same_weights(digits):
    def train(*arguments, launcher=()):
        script = str(ROOT / "examples/python/train_digits.py")
        command = [sys.executable, *launcher, script, str(digits), *arguments]
        done = subprocess.run(command, cwd=digits.parent, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    whole = train("--epochs", "3")
    assert float(whole.split("accuracy ")[1].split(",")[0]) > 0.9
    assert "stopped after 17 steps" in train("--epochs", "3", "--stop-after", "17", "--checkpoint", "at17.pt")
    assert train("--epochs", "3", "--resume", "at17.pt") == whole
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(Path(__file__).with_name("torch_group.py"))]
    two = train("--epochs", "3", launcher=torchrun)
    assert float(two.split("accuracy ")[1].split(",")[0]) > 0.9
    assert train("--stop-after", "17", "--checkpoint", "two.pt", launcher=torchrun).count("stopped after 17 steps") == 1
    assert train("--epochs", "3", "--resume", "two.pt", launcher=torchrun) == two


def test_a_tagger_goes_on_to_the_same_weights(tmp_path):
    def run_example(name, *arguments):
        script = str(ROOT / "examples/python" / name)
        done = subprocess.run([sys.executable, script, str(tmp_path), *arguments], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run_example("make_requests.py", "--requests", "900")
    assert bf.check(tmp_path / "train.ctf") == []
    checkpoint = str(tmp_path / "at11.pt")
    whole = run_example("train_tagger.py", "--epochs", "3")
    slots, intents = (float(whole.split(word)[1].split(",")[0]) for word in ("slots ", "intents "))
    assert slots > 0.85 and intents > 0.6
    assert "stopped after 11 steps" in run_example("train_tagger.py", "--epochs", "3", "--stop-after", "11", "--checkpoint", checkpoint)
    assert run_example("train_tagger.py", "--epochs", "3", "--resume", checkpoint) == whole


def test_the_snippet_of_the_reference(digits, monkeypatch):
    monkeypatch.chdir(digits.parent)
    [snippet] = blocks(ROOT / "docs/reference/python.md")
    names = {}
    run(snippet.replace("num_workers=2", "num_workers=0"), names)
    assert names["pixels"].shape[1] == 64 and names["labels"].shape == names["pixels"].shape[:1]


def test_sequences_of_any_length(tmp_path, monkeypatch):
    """The page of that name, with the corpus of the tutorial."""
    monkeypatch.chdir(tmp_path)
    exec(blocks(ROOT / "docs/tutorial/minibatches-in-python.md")[0], {})
    names = {}
    snippet, masked = blocks(ROOT / "docs/how-to/sequences-in-pytorch.md")
    run(snippet, names)
    found = {tuple(words[:n].tolist()): tags.tolist() for words, tags, n in zip(names["words"], names["tags"], names["lengths"])}
    assert found == {(3, 17, 8): [0, 4, 0], (3, 5): [0, 2, -100], (9,): [1, -100, -100]}
    run(masked, names)
    [item] = names["masked"]
    assert item["words"].shape == (3, 3, 18) and item["mask"].dtype == torch.bool
    assert item["mask"].sum(1).tolist() == item["lengths"].tolist()
    assert {tuple(words[mask].argmax(1).tolist()) for words, mask in zip(item["words"], item["mask"])} == set(found)
    assert not item["words"][~item["mask"]].any()


def test_the_length_of_a_loader_is_of_an_epoch(corpus, loops):
    """PyTorch keeps the first that it was told, and warns in a longer epoch, of which nothing is lost."""
    longer = next(epoch for epoch, keys in enumerate(loops) if len(keys) > len(loops[0]))
    own = loader(dataset(corpus, minibatch_samples=17), 0)
    assert len(own) == len(loops[0])
    assert [list(own) for _ in range(longer)] == loops[:longer]
    with pytest.warns(UserWarning, match="Length of IterableDataset"):
        assert list(own) == loops[longer]
    assert len(loader(own.dataset, 0)) == len(loops[longer + 1])


def test_classes_are_what_losses_take(corpus):
    batch = corpus.reader().next()
    tensors = batch.torch({"y": "classes"})
    assert tensors["y"].dtype == torch.int64 and tensors["y"].tolist() == batch["y"].classes().tolist()
    torch.nn.functional.cross_entropy(torch.zeros(len(tensors["y"]), corpus.classes), tensors["y"])
    one_hot = bf.Reader(bf.Arrays({"y": np.eye(4)[[2, 0, 3]]}), order="file").next()
    assert one_hot["y"].torch("classes").tolist() == [2, 0, 3] and one_hot["y"].torch("classes").dtype == torch.int64
    with pytest.raises(TypeError, match="stream 'x' is dense, classes"):
        batch["x"].torch("classes")


def test_errors_of_worker_processes_are_of_their_kind(tmp_path):
    """PyTorch makes them anew from what was printed."""
    (tmp_path / "bad.ctf").write_text("0 |x 1\n1 |x y\n")
    dataset = batchfeed.torch.Dataset(bf.CTF(str(tmp_path / "bad.ctf"), {"x": bf.dense(1)}), minibatch_samples=1, order="file")
    with pytest.raises(bf.FormatError, match="in DataLoader worker process 0") as caught:
        list(DataLoader(dataset, batch_size=None, num_workers=1))
    error = caught.value
    assert (error.kind, error.path, error.line, error.column, error.byte) == ("format", str(tmp_path / "bad.ctf"), 2, 6, 12)
    assert (error.stream, error.what) == ("x", "stream 'x' of sequence 1: expected a number, found 'y'")
    assert error.hint == "numbers look like -1, 0.25 or 1e-5"


@pytest.mark.parametrize("kind, name", [(bf.FormatError, "format"), (bf.LimitError, "limit"), (bf.MissingFileError, "io"), (bf.StateError, "state")])
def test_errors_that_were_printed(kind, name):
    error = kind(f"Traceback\nbatchfeed._errors.{kind.__name__}: batchfeed: nothing is left\n")
    assert (error.kind, error.path, error.what, error.hint) == (name, None, "nothing is left", None)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert kind("").what == ""


def test_a_reader_is_not_what_is_read(corpus):
    with pytest.raises(TypeError, match="give what it was opened with"):
        batchfeed.torch.Dataset(corpus.reader())
