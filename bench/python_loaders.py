#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Loaders of PyTorch users, side by side in one run on the same samples: samples a second, shuffled, as tensors.

    python_loaders.py dense.ctf dense.cbf sparse.ctf [--minibatch 256]

For dense corpora: torch's DataLoader over a TensorDataset that already lies in memory; and from files of their own,
where they are installed, webdataset, MosaicML's streaming and Hugging Face's datasets. For sparse ones:
sklearn's load_svmlight_file on the same samples, where scikit-learn is installed; it reads and does not shuffle.
--samples limits the samples of a dense corpus for webdataset, streaming and datasets, whose files take long to write.
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


def webdataset(arrays, folder, minibatch):
    """Tar files with a .npy for each value; shuffled by shards, then among 5000 samples."""
    wds = importlib.import_module("webdataset")
    names = list(arrays)
    with wds.ShardWriter(os.path.join(folder, "%04d.tar"), maxcount=5000, verbose=0) as sink:
        for i, row in enumerate(zip(*arrays.values())):
            sink.write({"__key__": f"{i:08d}", **{f"{name}.npy": value for name, value in zip(names, row)}})
    shards = sorted(os.path.join(folder, name) for name in os.listdir(folder))
    data = wds.WebDataset(shards, shardshuffle=len(shards)).shuffle(5000).decode()
    return data.to_tuple(*[f"{name}.npy" for name in names]).batched(minibatch)


def streaming(arrays, folder, minibatch):
    """MDS files; shuffled by streaming itself."""
    mds = importlib.import_module("streaming")
    columns = {name: f"ndarray:{a.dtype}:{a.shape[1]}" for name, a in arrays.items()}
    with mds.MDSWriter(out=folder, columns=columns) as sink:
        for row in zip(*arrays.values()):
            sink.write(dict(zip(arrays, row)))
    data = mds.StreamingDataset(local=folder, shuffle=True, batch_size=minibatch)
    return DataLoader(data, batch_size=minibatch)


def datasets(arrays, folder, minibatch):
    """An Arrow file on disk, indices shuffled."""
    hf = importlib.import_module("datasets")
    hf.Dataset.from_dict({name: list(a) for name, a in arrays.items()}).save_to_disk(folder)
    return hf.load_from_disk(folder).shuffle(seed=1).with_format("torch").iter(minibatch)


def from_files(path, streams, most, minibatch):
    """{name of a library: samples a second} for those that read from files, with the first `most` samples."""
    rates = {}
    with bf.open(path, shuffle=False, minibatch_samples=most, report=None) as reader:
        batch = next(iter(reader))
        rows = {name: batch[name].numpy()[:most] for name in streams}
    for peer in (webdataset, streaming, datasets):
        if not importlib.util.find_spec(peer.__name__):
            continue
        with tempfile.TemporaryDirectory() as folder:
            rates[peer.__name__] = timed(peer(rows, folder, minibatch), len(next(iter(rows.values()))))
    return rates


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minibatch", type=int, default=256)
    parser.add_argument("--samples", type=int, default=20_000)
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
            rates.update(from_files(path, streams, options.samples, options.minibatch))
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
