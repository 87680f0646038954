# SPDX-License-Identifier: MIT
"""MLF labels, text and binary, read slowly after docs/reference/formats/mlf.md: the bytes of
a file in, utterances out; a sample is its class, and 2 instead of 1 where a phone begins."""
import math
import re
import struct

from htk_slow import Refusal, key_of

LONGEST = 16_777_216  # frames of one utterance: limits.label_frames
ANY, RATIO = 1 << 21, 256  # frames of a file, and those for a byte of it: limits.label_ratio


def number(token):
    """What a number at the start of a token says; what follows it is passed over."""
    found = re.match(r"-?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?", token.removeprefix("+"))
    if not found:
        raise Refusal("time")
    value = float(found[0])
    if math.isinf(value):
        raise Refusal("time")
    return value


def frame(value):
    if not -1 < value < 4294967296:
        raise Refusal("frame")
    return int(value)


def times(columns):
    if len(columns) < 2:
        raise Refusal("columns")
    start, end = number(columns[0]), number(columns[1])
    if end - start >= 99999:
        return frame(math.floor(start / 100000 + 0.5)), frame(math.floor(end / 100000 + 0.5))
    return frame(math.trunc(start)), frame(math.trunc(end))


def class_of(columns, states, dim):
    if states is not None:
        if len(columns) < 3 or columns[2] not in states:
            raise Refusal("label")
        found = states.index(columns[2])
    else:
        if len(columns) != 4:
            raise Refusal("columns")
        digits = re.match(r"\+?(-?[0-9]+)", columns[3])
        if not digits or not 0 <= int(digits[1]) <= 65535:
            raise Refusal("class")
        found = int(digits[1])
    if found >= dim:
        raise Refusal("class")
    return found


def read_text(data, states, dim, boundaries, lengths):
    """[(key, samples)]; `lengths` gets the (key, frames) of every utterance, also when this ends in a refusal."""
    text = data.decode("latin-1")
    whole = text.endswith("\n")
    lines = text.split("\n")
    if whole:
        lines.pop()
    lines = [line.removesuffix("\r") for line in lines]
    while lines and not lines[0].strip(" \t"):
        lines.pop(0)
    if not lines or lines[0].removeprefix("\xef\xbb\xbf") != "#!MLF!#":
        raise Refusal("header")
    utterances, key, rows = [], None, None  # rows: None between utterances
    for line in lines[1:]:
        if not line.strip(" \t"):
            continue
        if rows is None:
            if line != "#!MLF!#":
                quoted = line.rstrip(" \t\r\v\f")
                key = None
                if len(quoted) >= 3 and quoted[0] == quoted[-1] == '"':
                    key = quoted[1:-1]
                    key = key_of(key[2:] if len(key) > 2 and key.startswith("*/") else key)
                rows = []
        elif re.fullmatch(r"\.[ \t\r]*", line):
            utterances.append((key, rows))
            rows = None
        else:
            rows.append(re.split("[ \t]+", line.strip(" \t")))
    if rows is not None and rows and (whole or not lines[-1].strip(" \t")):
        utterances.append((key, rows))
    out, seen, frames = [], set(), 0
    for key, rows in utterances:
        if key is None or not rows:
            continue
        length = times(rows[-1])[1]
        frames += length
        if length > LONGEST or frames > max(ANY, RATIO * len(data)):
            raise Refusal("limit")
        if length > 0 and key not in seen:
            seen.add(key)
            out.append((key, rows))
            lengths.append((key, length))
    delivered = []
    for key, rows in out:
        samples, sound, last = [], True, None
        for row in rows:
            first, stop = times(row)
            label = class_of(row, states, dim)
            sound = sound and first == len(samples) and stop >= first
            if sound:
                samples += [[(label, 2.0 if boundaries and i == first else 1.0)] for i in range(first, stop)]
            last = stop - first
        if sound and not (boundaries and last == 0):
            delivered.append((key, samples))
    return delivered


def read_binary(data, dim, lengths):
    if len(data) < 5 or data[:3] != b"MLF":
        raise Refusal("header")
    version = struct.unpack("<h", data[3:5])[0]
    if version not in (1, 2):
        raise Refusal("version")
    at, found, total = 5, [], 0
    while at < len(data):
        if version == 1:
            if len(data) - at < 4:
                break
            key = str(struct.unpack("<I", data[at : at + 4])[0])
            at += 4
        else:
            if len(data) - at < 2:
                break
            size = struct.unpack("<H", data[at : at + 2])[0]
            if size > 256:
                raise Refusal("key")
            if len(data) - at - 2 < size:
                break
            key = data[at + 2 : at + 2 + size].decode("latin-1")
            at += 2 + size
        if len(data) - at < 6:
            raise Refusal("counts")
        frames, segments = struct.unpack("<IH", data[at : at + 6])
        at += 6
        if len(data) - at < 4 * segments:
            raise Refusal("segments")
        found.append((key, frames, [struct.unpack("<HH", data[at + 4 * i : at + 4 * i + 4]) for i in range(segments)]))
        at += 4 * segments
        total += frames
        if not 0 < frames <= LONGEST or total > max(ANY, RATIO * len(data)):
            raise Refusal("frames")
        lengths.append((key, frames))
    out, seen = [], set()
    for key, frames, segments in found:
        if key in seen:
            continue
        seen.add(key)
        if any(label >= dim for label, _ in segments) or sum(n for _, n in segments) != frames:
            raise Refusal("segments")
        out.append((key, [[(label, 1.0)] for label, n in segments for _ in range(n)]))
    return out
