#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trains a small network on handwritten digits (digits_to_ctf.py writes digits.ctf), and goes on where it was stopped.

    train_digits.py digits.ctf --epochs 3
    train_digits.py digits.ctf --epochs 3 --stop-after 40 --checkpoint at40.pt    # as if the machine had failed
    train_digits.py digits.ctf --epochs 3 --resume at40.pt                        # the same weights as without a stop

Needs PyTorch. Under torchrun each process reads its part of every minibatch, and gradients are averaged:

    torchrun --standalone --nproc-per-node 2 train_digits.py digits.ctf
"""
import argparse
from typing import Optional

import checkpoint
import torch
import torch.distributed as dist

import batchfeed as bf


def step(model: torch.nn.Module, optimizer: torch.optim.Optimizer, batch: Optional[bf.Batch], total: int) -> None:
    """One step on this process's part of a minibatch of `total` samples."""
    optimizer.zero_grad()
    if batch is not None:
        pixels = batch["pixels"].torch() / 16
        labels = batch["labels"].torch("classes")
        loss = torch.nn.functional.cross_entropy(model(pixels), labels, reduction="sum") / total
        loss.backward()
    if dist.is_initialized():
        for p in model.parameters():
            p.grad = torch.zeros_like(p) if p.grad is None else p.grad
            dist.all_reduce(p.grad)
    optimizer.step()


def accuracy(model: torch.nn.Module, path: str) -> float:
    right = total = 0
    for batch in bf.open(path, shuffle=False, report=None):
        guess = model(batch["pixels"].torch() / 16).argmax(dim=1)
        right += int((guess == batch["labels"].torch("classes")).sum())
        total += batch.num_samples
    return right / total


def train(options: argparse.Namespace) -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)  # sums of floats depend on the number of threads
    model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    if bf.world()["workers"] > 1:
        dist.init_process_group("gloo")  # after Adam: modules that it imports would keep the group beyond its end
    reader = bf.open(options.corpus, minibatch_samples=64, seed=1, **bf.world())
    steps = 0
    if options.resume:
        steps = checkpoint.load(options.resume, model, optimizer, reader)

    position = reader.state_dict()["position"]
    for batch in reader.epochs(until=options.epochs):
        step(model, optimizer, batch, batch.position - position)
        position = batch.position
        steps += 1
        if steps == options.stop_after:
            return checkpoint.save(options.checkpoint, model, optimizer, reader, steps)
    if bf.world()["rank"] == 0:
        print(f"{steps} steps, accuracy {accuracy(model, options.corpus):.3f}, weights {checkpoint.digest(model)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    checkpoint.add_arguments(parser, epochs=3)
    options = parser.parse_args()
    train(options)
    if dist.is_initialized():
        dist.destroy_process_group()  # its threads, left alone, abort the process now and then as Python ends


if __name__ == "__main__":
    main()
