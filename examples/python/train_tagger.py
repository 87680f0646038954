#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trains a recurrent tagger on requests (make_requests.py writes them): which part each word plays, and what is asked.

    train_tagger.py FOLDER --epochs 4
    train_tagger.py FOLDER --epochs 4 --stop-after 60 --checkpoint at60.pt    # as if the machine had failed
    train_tagger.py FOLDER --epochs 4 --resume at60.pt                        # the same weights as without a stop

Needs PyTorch. Sequences of one minibatch are of like length (bucket_minibatches), so that little is padding.
"""
import argparse
import pathlib

import checkpoint
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

import batchfeed as bf


class Tagger(torch.nn.Module):
    def __init__(self, words: int, slots: int, intents: int, width: int = 32) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(words, width)
        self.recurrent = torch.nn.GRU(width, width, bidirectional=True, batch_first=True)
        self.slot, self.intent = torch.nn.Linear(2 * width, slots), torch.nn.Linear(2 * width, intents)

    def forward(self, words: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores of slots [sequence, step, slot], and of intents [sequence, intent]."""
        packed = pack_padded_sequence(self.embed(words), lengths, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.recurrent(packed)[0], batch_first=True, total_length=words.shape[1])
        return self.slot(states), self.intent(states.sum(1) / lengths[:, None])


def tensors(batch: bf.Batch) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Words and slots [sequence, step], lengths, intents; slots of no word are -1, which the loss leaves out."""
    lengths = torch.from_numpy(batch["word"].lengths)
    words, slots = (batch[name].torch("classes").split(lengths.tolist()) for name in ("word", "slot"))
    padded_words, padded_slots = pad_sequence(words, batch_first=True), pad_sequence(slots, batch_first=True, padding_value=-1)
    return padded_words, padded_slots, lengths, batch["intent"].torch("classes")


def accuracy(model: Tagger, reader: bf.Reader) -> tuple[float, float]:
    """Of slots, and of intents."""
    right, total, asked, requests = 0, 0, 0, 0
    for batch in reader:
        words, slots, lengths, intents = tensors(batch)
        slot, intent = model(words, lengths)
        right += int((slot.argmax(-1) == slots).sum())
        asked += int((intent.argmax(-1) == intents).sum())
        total, requests = total + batch.num_samples, requests + batch.num_sequences
    return right / total, asked / requests


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    checkpoint.add_arguments(parser, epochs=4)
    options = parser.parse_args()

    word_count, slot_count = (len((options.folder / name).read_text().split()) for name in ("words.txt", "slots.txt"))
    streams = {"word": bf.sparse(word_count), "slot": bf.sparse(slot_count), "intent": bf.sparse(4)}
    train = bf.Reader(bf.CTF(options.folder / "train.ctf", streams), minibatch_samples=512, seed=1, bucket_minibatches=8)
    torch.manual_seed(0)
    torch.set_num_threads(1)  # sums of floats depend on the number of threads
    model = Tagger(word_count, slot_count, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    steps = 0
    if options.resume:
        steps = checkpoint.load(options.resume, model, optimizer, train)

    for batch in train.epochs(until=options.epochs):
        words, slots, lengths, intents = tensors(batch)
        slot, intent = model(words, lengths)
        loss = torch.nn.functional.cross_entropy(slot.transpose(1, 2), slots, ignore_index=-1)
        loss = loss + torch.nn.functional.cross_entropy(intent, intents)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        steps += 1
        if steps == options.stop_after:
            return checkpoint.save(options.checkpoint, model, optimizer, train, steps)

    test = bf.Reader(bf.CTF(options.folder / "test.ctf", streams), minibatch_samples=512, shuffle=False)
    slot_accuracy, intent_accuracy = accuracy(model, test)
    print(f"{steps} steps, slots {slot_accuracy:.3f}, intents {intent_accuracy:.3f}, weights {checkpoint.digest(model)}, "
          f"{train.padding.saved:.0%} of padding saved")


if __name__ == "__main__":
    main()
