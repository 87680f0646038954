# SPDX-License-Identifier: MIT
"""HTK features, read slowly after docs/reference/formats/htk.md: bytes of files in, utterances out.

A Refusal is what the engine must complain of instead of delivering anything.
"""
import math
import re
import struct

BASE_KINDS = {6, 7, 9, 11, 12}
BLANKS = " \t\r\v\f"


class Refusal(Exception):
    pass


def f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def quotient(a, b):
    """a / b of single precision, as the processor gives it."""
    if b == 0:
        return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1, b)
    try:
        return f32(a / b)
    except OverflowError:
        return math.copysign(math.inf, a) * math.copysign(1, b)


class Parameters:
    """One parameter file."""

    def __init__(self, data):
        if len(data) < 12:
            raise Refusal("no header")
        big, little = struct.unpack(">iIHH", data[:12]), struct.unpack("<iIHH", data[:12])
        if big[1] != little[1]:
            self.order = ">" if big[1] < little[1] else "<"
        else:
            self.order = ">" if self.possible(big, data) and not self.possible(little, data) else "<"
        count, self.period, size, self.kind = big if self.order == ">" else little
        if self.kind & 0o77 not in BASE_KINDS or self.kind & 0o40000:
            raise Refusal("kind")
        self.compressed = bool(self.kind & 0o2000)
        width = 2 if self.compressed else 4
        if size == 0 or size % width:
            raise Refusal("frame size")
        self.dim = size // width
        at = 12
        if self.compressed:
            count -= 4
            at += 8 * self.dim
        elif self.kind == 12:
            at += 16
        if count < 0 or len(data) < at:
            raise Refusal("counts")
        self.told = count
        self.held = (len(data) - at) // size
        if self.compressed:
            scales = struct.unpack(f"{self.order}{2 * self.dim}f", data[12:at])
            self.scale, self.bias = scales[: self.dim], scales[self.dim :]
        self.guid = data[12:28] if self.kind == 12 else b""
        self.body, self.size = data[at:], size

    @staticmethod
    def possible(header, data):
        count, _, size, kind = header
        return kind & 0o77 in BASE_KINDS and size > 0 and count >= 0 and count * size <= len(data)

    def frame(self, number):
        raw = self.body[number * self.size : (number + 1) * self.size]
        if not self.compressed:
            return list(struct.unpack(f"{self.order}{self.dim}f", raw))
        shorts = struct.unpack(f"{self.order}{self.dim}h", raw)
        return [quotient(f32(s + b), a) for s, b, a in zip(shorts, self.bias, self.scale)]

    def alike(self):
        """What must be the same in all files of a stream."""
        return (self.kind & ~0o12000, self.guid, self.dim, self.period)


def key_of(name):
    dot = name.rfind(".")
    return name if dot < 0 or max(name.rfind("/"), name.rfind("\\")) > dot else name[:dot]


def frame_number(text):
    text = text.strip(BLANKS)
    if not re.fullmatch(r"\+?[0-9]+", text) or int(text) > 4294967295:
        raise Refusal("frame number")
    return int(text)


def entry(line):
    """(key, path, None or (first, last)) of a line of a list."""
    text = line.strip(BLANKS)
    if "=" not in text:
        if text.endswith("]") and "[" in text:
            raise Refusal("no key")
        return key_of(text), text, None
    name, path = text.split("=", 1)
    span = None
    if "[" in path:
        path, span = path.split("[", 1)
        if not re.fullmatch(r"[^,\]]*,[^\]]*\]", span):
            raise Refusal("range")
        first, last = map(frame_number, span[:-1].split(",", 1))
        if last < first:
            raise Refusal("order of the range")
        span = first, last
    name, path = name.strip(BLANKS), path.strip(BLANKS)
    if not name or not path or path == "-" or path[0] == "|" or path[-1] == "|":
        raise Refusal("no name")
    return key_of(name), path, span


def read(files, listed, dim, left, right):
    """[(key, samples)] of a list, in its order; a sample is a window of frames."""
    text = files[listed].decode("latin-1")
    text = text.removeprefix("\xef\xbb\xbf")
    wanted = []  # key, file, first, frames
    opened = {}
    for line in re.split("\r\n|\r|\n", text):
        if not line.strip(BLANKS):
            continue
        key, path, span = entry(line)
        if not key:
            raise Refusal("no key")
        if path not in files:
            raise Refusal("no such file")
        if path not in opened:
            opened[path] = span is None and Parameters(files[path])
        if span is None:
            opened[path] = opened[path] or Parameters(files[path])
            first, frames = 0, opened[path].told
        else:
            first, frames = span[0], span[1] - span[0] + 1
        if frames > 0:
            wanted.append((key, path, first, frames))
    keys = [w[0] for w in wanted]
    wanted = [w for w in wanted if keys.count(w[0]) == 1]
    model = None
    for _, path, _, _ in wanted:
        opened[path] = opened[path] or Parameters(files[path])
        model = model or opened[path].alike()
        if opened[path].alike() != model:
            raise Refusal("files that differ")
    out = []
    for key, path, first, frames in wanted:
        file = opened[path]
        if first + frames > min(file.told, file.held):
            raise Refusal("frames that are not there")
        own = [file.frame(first + i) for i in range(frames)]
        window = lambda i: [v for k in range(i - left, i + right + 1) for v in own[min(max(k, 0), frames - 1)]]
        out.append((key, [window(i) for i in range(frames)]))
    if not out:
        raise Refusal("nothing is left")
    if opened[wanted[0][1]].dim != dim:
        raise Refusal("dimension")
    return out
