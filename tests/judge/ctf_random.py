# SPDX-License-Identifier: MIT
"""CTF files that nobody wrote by hand: mostly right, damaged here and there."""
import random

from ctf_slow import Stream

NUMBERS = ["0", "1", "-1", "7.", "0.25", "1e5", "-3.5e-2", "007", "2E+1", "123456789", "0.1", "3.4028235", "16777217", "1.17549435e-38"]
ODD_NUMBERS = [".5", "-.5", "5.e3", "1e", "1e+", "--1", "nan", "inf", "0x1", "1f", "1,5", "1-2", "1.2.3", "+4", "-", ".", "1e400", "12.+", "1-.5", "1+5.e3", "-0"]
GLUE = [" ", "  ", "\t", " \t"]
FILES = 50  # of a corpus


def streams(rng):
    pool = [Stream("A", rng.randint(1, 4)), Stream("B", rng.choice([1, 5, 100]), sparse=True), Stream("C", rng.randint(1, 3), alias=rng.choice(["", "c", "\u00e9"])),
            Stream("D", 10, sparse=True, alias="Bx")]
    out = rng.sample(pool, rng.randint(1, 3))
    if rng.random() < 0.2:
        rng.choice(out).main = True
    return sorted(out, key=lambda s: s.name)


def one_number(rng, oddness):
    return rng.choice(ODD_NUMBERS) if rng.random() < oddness else rng.choice(NUMBERS)


def sample(rng, stream, oddness):
    name = stream.alias or stream.name
    if stream.sparse:
        pairs = []
        for _ in range(rng.choice([0, 1, 1, 2, 3])):
            index = rng.randrange(stream.dim) if rng.random() > oddness else rng.choice([stream.dim, "+1", "1.0", "99999999999999999999", ""])
            pairs.append(f"{index}{':' if rng.random() > oddness else rng.choice(['', ' :', ': ', '::'])}{one_number(rng, oddness)}")
        values = pairs
    else:
        count = stream.dim if rng.random() > oddness else rng.randint(0, stream.dim + 1)
        values = [one_number(rng, oddness) for _ in range(count)]
    return "|" + name + "".join(rng.choice(GLUE) + v for v in values)


def line(rng, inputs, oddness):
    parts = []
    for stream in inputs:
        if rng.random() < 0.9:
            parts.append(sample(rng, stream, oddness))
        if rng.random() < oddness / 2:
            parts.append(sample(rng, stream, oddness))
    if rng.random() < 0.1:
        parts.insert(rng.randint(0, len(parts)), rng.choice(["|# a comment", "|#", "|# it's |# two", "|other 1 2 x", "|Ax 3"]))
    if rng.random() < oddness:
        parts.insert(rng.randint(0, len(parts)), rng.choice(["| A 1", "||", "junk", "\x01", "\x7f", "|", "5.5"]))
    return rng.choice(["", " ", "\t"]).join(parts) + rng.choice(["", "", " ", "\r"])


def corpus(seed):
    """(files, streams, skip_ids): the bytes of each of its files"""
    rng = random.Random(seed)
    inputs, skip_ids = streams(rng), rng.random() < 0.15
    return [file(rng, inputs) for _ in range(FILES)], inputs, skip_ids


def file(rng, inputs):
    oddness = rng.choice([0, 0, 0.02, 0.1, 0.3])
    with_ids = rng.random() < 0.6
    out, key = [], 0
    for _ in range(rng.randint(1, 8)):
        if with_ids:
            key = key + rng.choice([0, 1, 1, 1, 2]) if rng.random() > oddness / 3 else rng.choice([0, 18446744073709551615, 18446744073709551616, 3])
        for row in range(rng.choice([1, 1, 2, 4]) if with_ids else 1):
            lead = f"{'' if rng.random() > oddness else ' '}{key}{rng.choice(['', ' ', chr(9)])}" if with_ids and (row == 0 or rng.random() < 0.6) else ""
            out.append(lead + line(rng, inputs, oddness))
        if rng.random() < 0.05 + oddness / 2:
            out.append(rng.choice(["", " ", "|# alone", "\r", f"{key}", f"{key} |# id", "x6 |A 1"]))
    if rng.random() < 0.05:
        out.insert(0, rng.choice(["", "|# header", " \t"]))
    data = ("\n".join(out) + rng.choice(["\n", "\n", ""])).encode()
    if rng.random() < 0.03:
        data = rng.choice([b"\xef\xbb\xbf", b"\xff\xfe", b"\xef"]) + data
    for _ in range(rng.choice([0, 0, 0, 1, 3]) if oddness else 0):
        at = rng.randrange(len(data) + 1)
        data = data[:at] + rng.choice([b"", bytes([rng.randrange(256)]), b"|", b"\n", b" "]) + data[at + rng.choice([0, 1]) :]
    return data
