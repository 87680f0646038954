# SPDX-License-Identifier: MIT
"""Run by mpirun or srun (test_launchers.py): each rank writes which it is, and the keys it was given."""
import json
import sys

import batchfeed as bf

corpus, folder = sys.argv[1:]
world = bf.world()
with bf.open(corpus, minibatch_samples=20, **world) as reader:
    first = reader.next().sequence_keys
    state = reader.state_dict()
    rest = [batch.sequence_keys for batch in reader]
with bf.open(corpus, minibatch_samples=20, **world) as reader:
    reader.load_state_dict(state)
    assert [batch.sequence_keys for batch in reader] == rest
with open(f"{folder}/{world['rank']}.json", "w") as file:
    json.dump({"world": world, "keys": [first, *rest]}, file)
