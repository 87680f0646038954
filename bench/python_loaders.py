#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Loaders of PyTorch users, side by side in one run on the same samples: samples a second, shuffled, as tensors.

    python_loaders.py dense.ctf dense.cbf sparse.ctf [--minibatch 256]

For dense corpora: torch's DataLoader over a TensorDataset that already lies in memory. For sparse ones:
sklearn's load_svmlight_file on the same samples, where scikit-learn is installed; it reads and does not shuffle.
"""
import argparse
import importlib.util
import os
import tempfile
import time

import torch
from torch.utils.data import DataLoader, TensorDataset

import batchfeed as bf
import batchfeed.torch


def timed(items, samples):
    begin = time.perf_counter()
    for _ in items:
        pass
    return samples / (time.perf_counter() - begin)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minibatch", type=int, default=256)
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    for path in options.files:
        dataset = batchfeed.torch.Dataset(path, minibatch_samples=options.minibatch, report=None)
        reader = bf.open(path, report=None)
        samples, streams = reader.num_samples, reader.streams
        loader = DataLoader(dataset, batch_size=None)
        rates = {"batchfeed, first epoch": timed(loader, samples), "batchfeed": timed(loader, samples)}
        if all(s.storage == "dense" for s in streams.values()):
            whole = [torch.cat([b[name].torch() for b in bf.open(path, report=None)]) for name in streams]
            pairs = TensorDataset(*whole)
            rates["TensorDataset"] = timed(DataLoader(pairs, batch_size=options.minibatch, shuffle=True), samples)
        elif importlib.util.find_spec("sklearn"):
            from sklearn.datasets import load_svmlight_file

            features = next(name for name, s in streams.items() if s.storage == "sparse")
            label = next(name for name, s in streams.items() if s.storage == "dense")
            with tempfile.TemporaryDirectory() as folder:
                file = os.path.join(folder, "a.svm")
                bf.to_svmlight(path, file, features=features, label=label)
                begin = time.perf_counter()
                load_svmlight_file(file)
                rates["load_svmlight_file"] = samples / (time.perf_counter() - begin)
        print(f"{path}: " + ", ".join(f"{name} {rate:,.0f}" for name, rate in rates.items()) + " samples/s", flush=True)


if __name__ == "__main__":
    main()
