# SPDX-License-Identifier: MIT
import pytest

pytest.importorskip("torchdata")
from test_torch import dataset
from torchdata.stateful_dataloader import StatefulDataLoader


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


# A worker without a state must not wait for one that has, and is asked for nothing yet.
@pytest.mark.parametrize("before, now", [(1, 2), (2, 3)])
def test_more_workers_than_the_state_is_of(corpus, before, now):
    first = StatefulDataLoader(dataset(corpus), batch_size=None, num_workers=before)
    next(iter(first))
    more = StatefulDataLoader(dataset(corpus), batch_size=None, num_workers=now)
    more.load_state_dict(first.state_dict())
    with pytest.raises(AssertionError):  # of torchdata's
        next(iter(more))
