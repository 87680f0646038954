# SPDX-License-Identifier: MIT
"""Run by torchrun (test_torch.py): each rank writes the keys it was given, and a checkpoint made together."""
import json
import os
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch_group import expect_no_threads

import batchfeed as bf
import batchfeed.torch

corpus, folder, workers = sys.argv[1], sys.argv[2], int(sys.argv[3])
dist.init_process_group("gloo")
rank = dist.get_rank()
dataset = batchfeed.torch.Dataset(corpus, minibatch_samples=20, transform=lambda batch: batch.sequence_keys)
keys = list(DataLoader(dataset, batch_size=None, num_workers=workers))

# Every rank has as many minibatches as the others, so nobody waits for ever.
counts = [torch.zeros(1) for _ in range(dist.get_world_size())]
dist.all_gather(counts, torch.tensor([float(len(keys))]))
assert len({float(c) for c in counts}) == 1

# Where minibatches are too small for that, Join() takes care of it.
small = batchfeed.torch.Dataset(corpus, minibatch_samples=8)
counts = [torch.zeros(1) for _ in range(dist.get_world_size())]
dist.all_gather(counts, torch.tensor([float(len(small))]))
assert len({float(c) for c in counts}) > 1
model = DistributedDataParallel(torch.nn.Linear(3, 1))
with Join([model]):
    for batch in small:
        model(batch["x"]).sum().backward()

again = batchfeed.torch.Dataset(corpus, minibatch_samples=20, transform=lambda batch: batch.sequence_keys)
first = next(iter(again))
state = {"data": again.state_dict()}
dcp.save(state, checkpoint_id=os.path.join(folder, "checkpoint"))
resumed = batchfeed.torch.Dataset(corpus, minibatch_samples=20, transform=lambda batch: batch.sequence_keys)
loaded = {"data": {**again.state_dict(), "position": 0}}
dcp.load(loaded, checkpoint_id=os.path.join(folder, "checkpoint"))
resumed.load_state_dict(loaded["data"])
rest = list(resumed)
assert [first, *rest] == keys, (first, rest, keys)
with open(os.path.join(folder, f"{rank}.json"), "w") as file:
    json.dump({"keys": keys, "world": bf.world()}, file)
del model  # it holds the group
dist.destroy_process_group()
expect_no_threads()
