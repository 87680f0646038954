# SPDX-License-Identifier: MIT
import itertools
import json

import pytest

pytest.importorskip("torchdata")
from test_torch import dataset
from test_torch_resume import PROCESSES, places
from torch.utils.data import DataLoader, IterableDataset
from torchdata.stateful_dataloader import StatefulDataLoader

import batchfeed as bf


def loader(data, workers, state=None, **options):
    out = StatefulDataLoader(data, batch_size=None, num_workers=workers, **options)
    if state is not None:
        out.load_state_dict(json.loads(json.dumps(state)))
    return out


def few(corpus):
    return dataset(corpus, minibatch_samples=17)


@pytest.mark.parametrize("workers", [0, 2])
def test_stateful_data_loader(corpus, expected, workers):
    first = StatefulDataLoader(dataset(corpus), batch_size=None, num_workers=workers)
    items = iter(first)
    assert [next(items) for _ in range(3)] == expected[0][:3]
    state = first.state_dict()
    again = StatefulDataLoader(dataset(corpus), batch_size=None, num_workers=workers)
    again.load_state_dict(state)
    assert list(again) == expected[0][3:]
    assert list(again) == expected[1]


@pytest.mark.parametrize("ahead, every", [(2, 1), (6, 1), (1, 3)])
@pytest.mark.parametrize("workers, persist", [p for p in PROCESSES if p[0] < 4])
def test_every_state_is_gone_on_from(corpus, loops, workers, persist, ahead, every):
    """Behind the last minibatch the loop has nothing left, as without the stop; behind the loop comes the next epoch."""
    options = {"persistent_workers": persist, "prefetch_factor": ahead if workers else None, "snapshot_every_n_steps": every}
    for epoch, given, state in places(loader(few(corpus), workers, **options), loops):
        again = loader(few(corpus), workers, state, **options)
        assert [list(again) for _ in range(3)] == [loops[epoch][given:], *loops[epoch + 1 : epoch + 3]], (epoch, given)


@pytest.mark.parametrize("workers", [0, 1, 2, 3])
def test_a_loop_that_is_left_anywhere_is_begun_anew(corpus, loops, workers):
    for stop in range(1, len(loops[0]) + 1):
        data = loader(few(corpus), workers)
        assert list(itertools.islice(data, stop)) == loops[0][:stop]
        assert [list(data), list(data)] == loops[:2], stop


@pytest.mark.parametrize("steps", [1, 4])
@pytest.mark.parametrize("workers, persist", [p for p in PROCESSES if p[0] < 4])
def test_a_run_that_is_stopped_again_and_again(corpus, loops, workers, persist, steps):
    state, given = None, [[]]
    while len(given) < 4:
        data = loader(few(corpus), workers, state, persistent_workers=persist)
        items = iter(data)
        for _ in range(steps):
            batch = next(items, None)
            if batch is None:
                given.append([])
                break  # the state is of behind the loop
            given[-1].append(batch)
        state = data.state_dict()
    assert given[:3] == loops[:3]


@pytest.mark.parametrize("workers", [0, 1, 2, 3])
def test_a_loader_of_a_dataset_that_began_in_mid_epoch(corpus, loops, workers):
    """Who reads which minibatch is then another matter, and is saved too."""
    for epoch, given, state in places(few(corpus), loops)[: len(loops[0]) - 1]:
        data = few(corpus)
        data.load_state_dict(state)
        first = loader(data, workers)
        items = iter(first)
        assert list(itertools.islice(items, 2)) == loops[0][given : given + 2]
        again = loader(few(corpus), workers, first.state_dict())
        assert [list(again), list(again)] == [loops[0][given + 2 :], loops[1]]


def test_a_loop_that_was_restored_here_and_left_is_begun_anew_by_workers(corpus, loops):
    for epoch, given, state in places(loader(few(corpus), 0), loops):
        if given < len(loops[epoch]):
            data = few(corpus)
            assert next(iter(loader(data, 0, state))) == loops[epoch][given]
            assert list(DataLoader(data, batch_size=None, num_workers=1)) == loops[epoch]


class Around(IterableDataset):
    """One that passes states on, but whose loops are not ours."""

    def __init__(self, data):
        self.data = data
        self.state_dict, self.load_state_dict = data.state_dict, data.load_state_dict

    def __iter__(self):
        yield from self.data


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_a_dataset_around_it(corpus, loops, workers):
    for epoch, given, state in places(loader(Around(few(corpus)), workers), loops):
        again = loader(Around(few(corpus)), workers, state)
        assert [list(again) for _ in range(2)] == [loops[epoch][given:], loops[epoch + 1]], (epoch, given)


# A worker without a state must not wait for one that has, and is asked for nothing yet.
@pytest.mark.parametrize("before, now", [(1, 2), (2, 3), (2, 1), (3, 2)])
def test_another_number_of_workers_than_the_state_is_of(corpus, expected, before, now):
    first = StatefulDataLoader(dataset(corpus), batch_size=None, num_workers=before)
    next(iter(first))
    state = json.loads(json.dumps(first.state_dict()))
    other = loader(dataset(corpus), now, state)
    told = f"the state is of a StatefulDataLoader with num_workers={before}, this one has num_workers={now}; hint: .*num_workers={before}"
    with pytest.raises(bf.StateError, match=told):
        next(iter(other))
    assert list(loader(dataset(corpus), before, state)) == expected[0][1:]


@pytest.mark.parametrize("before, now, told", [(0, 2, "expected for multiprocess dataloader"), (2, 0, "expected for single process dataloader")])
def test_with_and_without_workers_torchdata_tells_it(corpus, before, now, told):
    """The dataset is not asked."""
    first = StatefulDataLoader(dataset(corpus), batch_size=None, num_workers=before)
    next(iter(first))
    with pytest.raises(AssertionError, match=told):
        next(iter(loader(dataset(corpus), now, first.state_dict())))


def test_states_of_before_do_not_say_how_many_workers(corpus, expected):
    first = StatefulDataLoader(dataset(corpus), batch_size=None, num_workers=2)
    next(iter(first))
    state = json.loads(json.dumps(first.state_dict()))
    for worker in state["_snapshot"]["_worker_snapshots"].values():
        assert worker["dataset_state"].pop("num_workers") == 2
    assert list(loader(dataset(corpus), 2, state)) == expected[0][1:]
