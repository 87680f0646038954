# SPDX-License-Identifier: MIT
"""Loops over PyTorch's loaders that go on, or are begun anew."""
import collections
import itertools
import json
import time

import pytest

pytest.importorskip("torch")
from conftest import keys_of
from test_torch import dataset, loader
from torch.utils.data import IterableDataset

import batchfeed as bf


def places(loop, loops):
    """Of two epochs every place: (epoch, how many minibatches of it were given, state). Behind a loop it is of the next."""
    out = [(0, 0, loop.state_dict())]
    for epoch, keys in enumerate(loops[:2]):
        items = iter(loop)
        for given, key in enumerate(keys, 1):
            assert next(items) == key
            out.append((epoch, given, json.loads(json.dumps(loop.state_dict()))))
        assert next(items, None) is None
        out.append((epoch + 1, 0, json.loads(json.dumps(loop.state_dict()))))
    return out


PROCESSES = [(0, False), *itertools.product([1, 2, 3, 4], [False, True])]  # how many, and whether they persist


@pytest.mark.parametrize("workers, persist", PROCESSES)
def test_a_loader_goes_on_from_every_place(corpus, loops, workers, persist):
    for epoch, given, state in places(dataset(corpus, minibatch_samples=17), loops):
        data = dataset(corpus, minibatch_samples=17)
        data.load_state_dict(state)
        again = loader(data, workers, persistent_workers=persist)
        if given == len(loops[epoch]):
            epoch, given = epoch + 1, 0
        assert [list(again) for _ in range(3)] == [loops[epoch][given:], *loops[epoch + 1 : epoch + 3]], (epoch, given)


def test_an_epoch_of_which_only_a_dropped_minibatch_is_left_is_over(corpus):
    options = dict(minibatch_samples=17, last_minibatch="drop")
    whole = dataset(corpus, **options)
    loops = [list(whole) for _ in range(3)]
    whole = dataset(corpus, **options)
    assert whole._open(0).num_samples % 17 != 0
    for number, _ in enumerate(whole, 1):
        again = dataset(corpus, **options)
        again.load_state_dict(whole.state_dict())
        left = loops[0][number:]
        assert again.epoch == (0 if left else 1)
        assert [list(again) for _ in range(2)] == ([left, loops[1]] if left else loops[1:])


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_a_length_that_is_asked_for_leaves_the_state(corpus, expected, workers):
    data = dataset(corpus)
    items = iter(data)
    assert [next(items) for _ in range(3)] == expected[0][:3]
    resumed = dataset(corpus)
    resumed.load_state_dict(data.state_dict())
    assert len(resumed) == len(resumed) == len(expected[0])
    assert list(loader(resumed, workers)) == expected[0][3:]


@pytest.mark.parametrize("workers, ahead", [(0, None), *itertools.product([1, 2, 3], [1, 2, 5])])
def test_a_loop_that_is_left_anywhere_is_begun_anew(corpus, loops, workers, ahead):
    """Also at the last minibatch, as the worker processes, which read ahead, have come to the end long before."""
    for stop in range(1, len(loops[0]) + 1):
        data = loader(dataset(corpus, minibatch_samples=17), workers, prefetch_factor=ahead)
        assert list(itertools.islice(data, stop)) == loops[0][:stop]
        assert [list(data), list(itertools.islice(data, stop)), list(data)] == [loops[0], loops[1][:stop], loops[1]], stop


def test_a_loop_that_is_held_is_not_over(corpus, loops):
    data = loader(dataset(corpus, minibatch_samples=17), 2)
    items = iter(data)
    assert list(itertools.islice(items, len(loops[0]))) == loops[0]
    time.sleep(0.5)  # by now both have come to the end
    assert [list(data), list(data)] == loops[:2]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_loader_after_one_whose_processes_persist(corpus, loops, workers):
    data = dataset(corpus, minibatch_samples=17)
    first = loader(data, workers, persistent_workers=True)
    assert [list(first), list(first), list(itertools.islice(first, 2))] == [*loops[:2], loops[2][:2]]
    del first
    second = loader(data, workers, persistent_workers=True)
    assert list(second) == loops[2]
    del second
    assert list(loader(data, workers)) == loops[3]


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_processes_that_persist_agree_after_a_loop_that_was_left(corpus, loops, workers):
    """Near the end some have read all of theirs ahead, and the epoch may count as done; but for all or for none."""
    for stop in range(1, len(loops[0]) + 1):
        data = loader(dataset(corpus, minibatch_samples=17), workers, persistent_workers=True)
        assert list(itertools.islice(data, stop)) == loops[0][:stop]
        first = list(data)
        assert first in loops[:2], stop
        assert list(data) == loops[loops.index(first) + 1]


class Twice(IterableDataset):
    """Two epochs as one, of which each process has come as far as it has."""

    def __init__(self, data):
        self.data = data

    def __iter__(self):
        yield from self.data
        yield from self.data


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_a_dataset_around_it_may_have_many_loops_in_one(corpus, loops, workers):
    count = lambda epochs: collections.Counter(key for keys in epochs for batch in keys for key in batch)
    given = list(loader(Twice(dataset(corpus, minibatch_samples=17)), workers))
    assert count([given]) == count(loops[:2])


def test_as_many_epochs_in_all_from_every_place(corpus, loops):
    few = dataset(corpus, minibatch_samples=17)
    for epoch, given, state in places(few, loops):
        again = dataset(corpus, minibatch_samples=17)
        again.load_state_dict(state)
        read = {}
        while (here := again.epoch) < 3:
            read[here] = [(keys, again.epoch) for keys in loader(again, 0)]
        wanted = [loops[epoch][given:], *loops[epoch + 1 : 3]]
        assert read == {number: [(keys, number) for keys in rest] for number, rest in enumerate(wanted, epoch) if rest}
    assert few.epoch == 2
    few.set_epoch(7)
    assert few.epoch == 7
    next(iter(loader(few, 0)))
    assert few.epoch == 7
    list(loader(few, 1))
    with pytest.raises(bf.ConfigError, match="worker processes read this dataset.*count loops"):
        few.epoch


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_a_timeline_is_begun_anew(corpus, workers):
    run = keys_of(corpus.reader(driver="timeline", epoch_samples=40))
    data = loader(dataset(corpus, driver="timeline", epoch_samples=40), workers)
    assert [list(data) for _ in range(3)] == [run] * 3
