# SPDX-License-Identifier: MIT
"""What the training examples share: a run that can be stopped, and goes on to the same weights."""
import argparse
import hashlib

import torch

import batchfeed as bf


def add_arguments(parser: argparse.ArgumentParser, epochs: int) -> None:
    parser.add_argument("--epochs", type=int, default=epochs)
    parser.add_argument("--stop-after", type=int, help="steps; then write the checkpoint and end")
    parser.add_argument("--checkpoint", default="checkpoint.pt")
    parser.add_argument("--resume")


def save(path: str, model: torch.nn.Module, optimizer: torch.optim.Optimizer, reader: bf.Reader, steps: int) -> None:
    if bf.world()["rank"] != 0:
        return  # one file serves all ranks: their weights are the same, and a state is of all of them
    states = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "reader": reader.state_dict(), "steps": steps}
    torch.save(states, path)
    print(f"stopped after {steps} steps; --resume {path} goes on")


def load(path: str, model: torch.nn.Module, optimizer: torch.optim.Optimizer, reader: bf.Reader) -> int:
    """The number of steps that had been done."""
    saved = torch.load(path)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    reader.load_state_dict(saved["reader"])
    return int(saved["steps"])


def digest(model: torch.nn.Module) -> str:
    """A short name for the weights, to compare runs."""
    weights = b"".join(p.detach().numpy().tobytes() for p in model.parameters())
    return hashlib.sha256(weights).hexdigest()[:16]
