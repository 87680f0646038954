# SPDX-License-Identifier: MIT
"""Small corpora as nobody would write them by hand, from a seed: sound ones, of odd names and uneven sequences."""
import random
from typing import NamedTuple

# Streams may be called anything without blanks and '|', and do not begin with '#'.
NAMES = ["a", "b", "x-y", "x_y", "2nd", "feat.1", "é", "word", "q+", "a:b", "(z", "n*2", "s=1", "[k", "d%", "x,y", "x;y", "//c", "'o'", "\\n",
         "features", "labels", "dim", "alias", "input", "-", "_", "0"]
NUMBERS = ["1", "0", "-1", "2.5", "1e-3", "-7.25", "100", "0.1", "3", "255", "1e10", "12345.678"]
KEYS = {
    "numbers": lambda n: str(2 * n + 1),
    "words": lambda n: f"utt_{n:03d}",
    "paths": lambda n: f"speaker{n % 3}/utt{n}",
    "utterances": lambda n: f"{1089 + n // 4}-{n:06d}",  # no numbers, though they begin with digits
    "letters": lambda n: f"ü{n}",
    "none": lambda n: "",
}


class Text(NamedTuple):
    text: str
    names: list
    keys: str  # of KEYS
    sequences: int


def text_corpus(seed):
    """Up to 25 sequences of up to three streams, dense and sparse; all of a line's samples, or some of them."""
    draw = random.Random(seed)
    names = draw.sample(NAMES, draw.randint(1, 3))
    streams = [(name, draw.random() < 0.5, draw.randint(1, 5)) for name in names]
    keys = draw.choice(sorted(KEYS))
    sequences = draw.randint(4, 25)
    lines = []
    for n in range(sequences):
        steps = 1 if keys == "none" else draw.randint(1, 4)
        lengths = [steps] + [draw.randint(1, steps) if draw.random() < 0.3 else steps for _ in streams[1:]]
        for step in range(steps):
            line = KEYS[keys](n) if step == 0 or draw.random() < 0.7 else ""
            for (name, dense, dim), length in zip(streams, lengths):
                if step < length:
                    line += f" |{name} {_dense(draw, dim) if dense else _sparse(draw, 3 * dim)}"
            lines.append(line + (" |# a comment" if draw.random() < 0.1 else ""))
    end = draw.choice(["\n", "\n", "\r\n"])
    return Text(end.join(lines) + (end if draw.random() < 0.8 else ""), names, keys, sequences)


def speech_corpus(seed):
    """Features and labels of utterances, as text: a dense stream and a one-hot one, of as many samples."""
    draw = random.Random(seed)
    names = [draw.choice(["feat", "x-y", "2nd", "é"]), draw.choice(["lab", "l", "y.z"])]
    dim, classes = draw.randint(1, 4), draw.randint(1, 6)
    keys = draw.choice(sorted(set(KEYS) - {"none"}))
    sequences = draw.randint(2, 12)
    lines = []
    for n in range(sequences):
        for _ in range(draw.randint(1, 9)):
            lines.append(f"{KEYS[keys](n)} |{names[0]} {_dense(draw, dim)} |{names[1]} {draw.randrange(classes)}:1\n")
    return Text("".join(lines), names, keys, sequences)


def _dense(draw, dim):
    return " ".join(draw.choice(NUMBERS) for _ in range(dim))


def _sparse(draw, dim):
    return " ".join(f"{i}:{draw.choice(NUMBERS)}" for i in sorted(draw.sample(range(dim), draw.randint(1, min(3, dim)))))
