# SPDX-License-Identifier: MIT
"""Datasets that are copied, sent to ranks, and read now with few and now with many worker processes."""
import collections
import copy
import itertools
import multiprocessing
import os
import pickle

import pytest

pytest.importorskip("torch")
from conftest import keys_of
from test_torch import dataset, loader
from torch.utils.data import IterableDataset

import batchfeed as bf
import batchfeed.torch


def few(corpus):
    return dataset(corpus, minibatch_samples=17)


def keys(data, workers, **options):
    """Of one loop; a worker that waits in vain fails."""
    return list(loader(data, workers, timeout=120 if workers else 0, **options))


@pytest.fixture
def shares(corpus):
    """The keys of two epochs, by rank."""
    readers = [corpus.reader(minibatch_samples=20, workers=2, rank=rank) for rank in (0, 1)]
    return [[keys_of(reader) for _ in range(2)] for reader in readers]


def be_rank(monkeypatch, rank):
    monkeypatch.setenv("RANK", str(rank))
    monkeypatch.setenv("WORLD_SIZE", "2")


@pytest.mark.parametrize("workers", [0, 2])
def test_a_dataset_that_was_pickled_elsewhere_reads_this_ranks_share(corpus, shares, monkeypatch, workers):
    text = pickle.dumps(dataset(corpus, minibatch_samples=20))
    be_rank(monkeypatch, 1)
    data = pickle.loads(text)
    assert [keys(data, workers) for _ in range(2)] == shares[1]


def test_a_worker_that_is_spawned_is_told_the_world(corpus, shares, monkeypatch):
    monkeypatch.setattr(batchfeed.torch, "world", lambda: {"workers": 2, "rank": 1})  # as torch.distributed says it, here only
    assert keys(dataset(corpus, minibatch_samples=20), 1, multiprocessing_context="spawn") == shares[1][0]


def read_as(rank, data, others, done, answers):
    os.environ.update(RANK=str(rank), WORLD_SIZE="2")
    if rank == 1:
        others.wait(300)
    answers.put((rank, [keys(data, 2, multiprocessing_context="fork") for _ in range(2)]))
    done.set()


@pytest.mark.parametrize("method, chosen", [("fork", None), ("fork", 0), ("spawn", None)])
def test_ranks_do_not_hear_of_each_others_epochs(corpus, shares, method, chosen):
    """One reads two epochs before the other begins."""
    context = multiprocessing.get_context(method)
    data, first, second, answers = dataset(corpus, minibatch_samples=20), context.Event(), context.Event(), context.Queue()
    if chosen is not None:
        data.set_epoch(chosen)
    ranks = [context.Process(target=read_as, args=(rank, data, first, done, answers)) for rank, done in enumerate([first, second])]
    for rank in ranks:
        rank.start()
    assert sorted(answers.get(timeout=300) for _ in ranks) == list(enumerate(shares))
    for rank in ranks:
        rank.join(60)


WAYS_TO_COPY = pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda data: pickle.loads(pickle.dumps(data))], ids=["copy", "deepcopy", "pickle"])


@WAYS_TO_COPY
@pytest.mark.parametrize("workers, before", [(0, 0), (0, 2), (2, 0), (2, 2)])
def test_a_copy_goes_on_by_itself(corpus, loops, again, workers, before):
    data = few(corpus)
    assert keys(again(data), workers) == loops[0]
    assert keys(data, before) == loops[0]
    other = again(data)
    for one in (data, other):
        assert [keys(one, workers), keys(one, workers)] == loops[1:3]


class Copied(IterableDataset):
    """One that gives each process a dataset of its own."""

    def __init__(self, data):
        self.data = data

    def __iter__(self):
        yield from copy.deepcopy(self.data)


@pytest.mark.parametrize("persist", [False, True])
def test_workers_that_have_their_own_wait_for_nobody(corpus, loops, persist):
    count = lambda batches: collections.Counter(key for batch in batches for key in batch)
    data = loader(Copied(few(corpus)), 2, persistent_workers=persist, timeout=120)
    assert [count(data), count(data)] == [count(loops[0])] * 2


@pytest.mark.parametrize("counts", [(1, 2, 3, 1), (4, 2, 0), (0, 2, 0, 0, 1), (2, 0, 0, 2, 3), (3, 0, 1)])
def test_each_loop_may_have_another_number_of_workers(corpus, loops, counts):
    data = few(corpus)
    assert [keys(data, workers) for workers in counts] == loops[: len(counts)]


@pytest.mark.parametrize("counts", [(2, 0, 1), (0, 2, 0), (1, 2, 0)])
def test_a_place_that_was_chosen_is_left_by_the_first_loop(corpus, loops, counts):
    data, other = few(corpus), few(corpus)
    data.set_epoch(2)
    assert [keys(data, workers) for workers in counts] == loops[2:5]
    assert list(itertools.islice(other, 2)) == loops[0][:2]
    data.load_state_dict(other.state_dict())
    assert len(data) == len(loops[0])
    assert [keys(data, workers) for workers in counts] == [loops[0][2:], *loops[1:3]]


@pytest.mark.parametrize("first, second", [(0, 2), (2, 0), (1, 2)])
def test_a_loop_that_was_left_is_begun_anew_by_the_next(corpus, loops, first, second):
    data = few(corpus)
    assert keys(data, second) == loops[0]
    for stop in (1, 3):
        assert list(itertools.islice(loader(data, first), stop)) == loops[1][:stop]
    assert [keys(data, second), keys(data, first)] == loops[1:3]


def test_the_length_and_the_epoch_behind_workers(corpus):
    data, reader = dataset(corpus), corpus.reader()
    for _ in range(3):
        assert len(data) == len(reader)
        assert keys(data, 2) == keys_of(reader)
        assert len(data) == len(data) == len(reader)
        assert keys(data, 0) == keys_of(reader)
    assert data.epoch == 6 and data.state_dict() == reader.state_dict()


def test_workers_without_a_rank_are_refused(corpus, monkeypatch):
    told = "workers is 4, and no rank is given; hint: every rank says its own, rank=0 ...; the processes of a DataLoader are its num_workers="
    with pytest.raises(bf.ConfigError, match=told):
        dataset(corpus, workers=4)
    be_rank(monkeypatch, 1)
    with pytest.raises(bf.ConfigError, match="workers is 4"):
        dataset(corpus, workers=4)
    assert len(dataset(corpus, workers=4, rank=3, minibatch_samples=40)) == 2
    data = dataset(corpus, workers=2)
    assert list(data) == list(dataset(corpus, workers=2, rank=1))
    monkeypatch.delenv("RANK")
    with pytest.raises(bf.ConfigError, match="workers is 2"):
        len(copy.copy(data))


def test_who_says_which_worker_it_is_asks_nobody(corpus, monkeypatch):
    be_rank(monkeypatch, 7)
    with pytest.raises(bf.ConfigError, match="RANK is '7' and WORLD_SIZE is '2'.*; hint: give workers= and rank="):
        dataset(corpus).epoch
    for given in ({"workers": 2, "rank": 1}, {"workers": 1, "rank": 0}):
        data, reader = dataset(corpus, **given), corpus.reader(**given)
        assert keys(data, 0) == keys_of(reader) and keys(data, 1, multiprocessing_context="spawn") == keys_of(reader)
    be_rank(monkeypatch, 1)  # of two, but one is asked for
    assert keys(dataset(corpus, workers=1), 0) == keys_of(corpus.reader())


@pytest.mark.parametrize("change", [lambda state: {"a": 1}, lambda state: {}, lambda state: {**state, "epoch": "x"}, lambda state: {**state, "ended": None}])
def test_a_state_that_is_none_is_refused_at_once(corpus, loops, change):
    data = few(corpus)
    with pytest.raises(bf.StateError, match="the saved state is damaged: no number '(epoch|ended)'") as caught:
        data.load_state_dict(change(data.state_dict()))
    assert (caught.value.id, caught.value.hint) == ("state.damaged", "use another saved state")
    assert keys(data, 2) == loops[0]
