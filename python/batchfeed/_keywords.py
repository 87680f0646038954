# SPDX-License-Identifier: MIT
"""What each keyword of a reader does: for help(), and for docs/reference/python-keywords.md, which a test compares."""
from __future__ import annotations

from collections.abc import Sequence

ABOUT = {
    "minibatch_samples": "samples of a minibatch, over all workers: minibatch_size counted in samples",
    "shuffle": "True: order='uniform'; False: order='file'",
    "order": "'uniform': all orders within the window are equally likely, another one in every sweep; 'cntk': CNTK's own, bit for bit; 'file': as in the files",
    "window": "how many chunks (or samples) are shuffled among one another, and held in memory; math.inf: all of them",
    "window_in_samples": "window counts samples, not chunks",
    "seed": "another seed gives another order; the same seed gives the same order, for any number of threads",
    "pack": "'sequences': whole ones; 'frames': single frames of speech; 'truncated': pieces of truncation_length steps, row by row",
    "truncation_length": "steps of a minibatch with pack='truncated'",
    "right_splice": "with pack='truncated': samples of a piece that the next one gives again",
    "shard": "'even': each minibatch is cut among the workers; 'chunk': each chunk is one worker's, as in CNTK",
    "workers": "how many processes share the data; bf.world() knows",
    "rank": "which of the workers this is, from 0",
    "stride": "only every stride-th of this worker's minibatches is read: for several processes that load for one worker, such as those of a DataLoader",
    "offset": "with stride: which of these processes this is, from 0",
    "minibatch_size": "size of a minibatch, in size_unit, over all workers; a list: one for each epoch (driver='timeline': for each minibatch), whose last one repeats",
    "size_unit": "what sizes count: 'samples', 'sequences', or 'cells' of the padded rectangle (sequences times longest)",
    "local_timeline": "with shard='chunk': sizes are shared among the workers; False: every worker counts all samples",
    "epoch_samples": "samples of an epoch; 0: one sweep; math.inf: one sweep, or with driver='timeline' no end",
    "epoch_sweeps": "sweeps of an epoch, instead of epoch_samples; 0: not used",
    "start_epoch": "number of the first epoch",
    "driver": "'epochs': each epoch begins anew; 'timeline': one run over all sweeps, bounded by epoch_samples or epoch_sweeps",
    "cross_sweeps": "whether a minibatch may span two sweeps; None: with driver='timeline' only",
    "long_sequence": "a sequence longer than a minibatch: comes 'alone' in one, is left out ('skip'), is 'split' into several parallel sequences of one, or is an 'error'",
    "last_minibatch": "a minibatch that is not full at the end of a sweep: 'keep' it smaller, 'drop' it, or 'cross': fill it up from the next sweep of the epoch",
    "bucket_minibatches": "sequences of this many minibatches are sorted by length, so that similar ones come together, which saves padding; 0: off, 16 saves most",
    "mix_weights": "shares of the corpora of a mixture; bf.Mix sets it",
    "max_invalid": "how many damaged sequences (in frame mode frames) are left out, over the life of the reader, before one is an error; those of text count in CTF(max_errors=)",
    "keep_in_memory": "chunks that were read stay in memory: later epochs read no file",
    "prefetch": "a thread reads and packs ahead; False: all work is done in the caller's thread",
    "prefetch_depth": "packed minibatches kept ready, at most",
    "threads": "threads that read and parse; 0: one for each core",
    "memory_limit": "bytes for chunks and waiting minibatches; 0: what the window needs",
    "keys": "what keys of sequences are: 'numeric', 'text', or 'hashed' text, as CNTK joins sources",
    "legacy_speech": "minibatches as CNTK's HTKMLFReader makes them",
    "full_minibatches": "with legacy_speech: miniBatchMode = full",
    "rows_per_epoch": "with legacy_speech: parallel sequences for each epoch; a list",
    "rolling_window": "with legacy_speech: readMethod = rollingWindow",
    "one_sequence": "each minibatch is one sequence, whatever minibatch_size is; one sample of a joined source stands for all samples of its partner",
}


def help_text(but: Sequence[str] = ()) -> str:
    """What each keyword does, to append to a docstring. `but`: keywords to leave out."""
    told = (f"{name}\n    {about}\n" for name, about in ABOUT.items() if name not in but)
    return "\n\nKeywords, all of them optional:\n\n" + "".join(told)
