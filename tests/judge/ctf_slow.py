# SPDX-License-Identifier: MIT
"""CTF, read slowly: the rules of docs/reference/formats/ctf.md written down as plainly as
possible, sharing nothing with the engine. Judges it on files that nobody wrote by hand."""
import re
from dataclasses import dataclass, field


@dataclass
class Stream:
    name: str
    dim: int
    sparse: bool = False
    alias: str = ""
    main: bool = False  # definesMBSize

    @property
    def token(self):
        return (self.alias or self.name).encode()


@dataclass
class Sequence:
    key: int
    lines: list = field(default_factory=list)
    samples: dict = field(default_factory=dict)
    valid: bool = True


class OpenFailure(Exception):
    pass


class Malformed(Exception):
    pass


LEADING = bytes(range(0x21))
NUMBER = re.compile(rb"[+-]?[0-9]+(\.[0-9]+|\.)?([eE][+-]?[0-9]+)?")
NUMBER_AFTER_DOT = re.compile(rb"[+-]?[0-9]+\.(?=[eE])")  # 5.e3 is one number only behind a blank
LATE_POINT = re.compile(rb"[+-]?(\.[0-9]+|[0-9]+\.)([eE][+-]?[0-9]+)")
POINT_FIRST = re.compile(rb"[+-]?\.[0-9]+([eE][+-]?[0-9]+)?")


def ends_sample(byte):
    """Pipe or control byte; the end of the line is the end of the bytes."""
    return byte == 0x7C or (byte < 0x20 and byte != 0x09) or byte >= 0x80


def is_blank(byte):
    return byte in b" \t"


def number(line, at, after_blank):
    """(value, next position); Malformed if there is none."""
    if after_blank:
        found = POINT_FIRST.match(line, at) or LATE_POINT.match(line, at)
        if found:
            return float(found.group()), found.end()
    plain = NUMBER.match(line, at)
    if not plain:
        raise Malformed
    text = plain.group()
    if NUMBER_AFTER_DOT.match(line, at) and b"e" in text.lower() and not after_blank:
        raise Malformed
    return float(text), plain.end()


def dense_sample(line, at, dim):
    values, glued = [], False
    while at < len(line) and not ends_sample(line[at]):
        if is_blank(line[at]):
            at, glued = at + 1, False
            continue
        if glued and line[at] not in b"+-":
            raise Malformed
        value, at = number(line, at, not glued)
        values.append(value)
        glued = True
    if len(values) > dim:
        raise Malformed
    return values + [0.0] * (dim - len(values)), at


def sparse_sample(line, at, dim):
    pairs = []
    while at < len(line) and not ends_sample(line[at]):
        if is_blank(line[at]):
            at += 1
            continue
        index = re.compile(rb"[0-9]+").match(line, at)
        if not index or line[index.end() : index.end() + 1] != b":":
            raise Malformed
        if int(index.group()) >= dim:
            raise Malformed
        value, at = number(line, index.end() + 1, True)
        if at < len(line) and not is_blank(line[at]) and not ends_sample(line[at]):
            raise Malformed
        pairs.append((int(index.group()), value))
    return pairs, at


def next_pipe(line, at):
    found = line.find(b"|", at)
    return len(line) if found < 0 else found


def name_at(line, at):
    """The name behind a pipe, and where it ends."""
    end = at
    while end < len(line) and line[end] > 0x20 and line[end] != 0x7C:
        end += 1
    return line[at:end], end


def is_comment_only(line):
    rest = line.lstrip(LEADING)
    return rest.startswith(b"|") and all(rest[m.start() + 1 : m.start() + 2] == b"#" for m in re.finditer(rb"\|", rest))


def read(data, streams, skip_ids=False):
    """(errors, sequences) of a file; raises OpenFailure. Sequences that are not valid are not delivered."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or data[:4] == b"\x00\x00\xfe\xff":
        raise OpenFailure("utf16")
    data = data.removeprefix(b"\xef\xbb\xbf")
    lines = [line for line in enumerate(data.split(b"\n"))]
    others = [(n, line) for n, line in lines if line.strip(LEADING) and not is_comment_only(line)]
    if not any(line.strip(LEADING) for _, line in lines):
        raise OpenFailure("empty-file")
    if not others:
        raise OpenFailure("no-sequence")
    by_token = {s.token: s for s in streams}
    main = next((s for s in streams if s.main), None)
    sequences = split(others, skip_ids)
    kept = [s for s in sequences if is_indexed(s, by_token, main)]
    if not kept:
        raise OpenFailure("no-sequence")
    errors = sum(load(s, by_token, streams, main) for s in kept)
    return errors, [s for s in kept if s.valid]


def split(others, skip_ids):
    if skip_ids or others[0][1].lstrip(LEADING).startswith(b"|"):
        return [Sequence(n, [line]) for n, line in others]
    sequences = []
    for n, line in others:
        digits = re.match(rb"[0-9]+", line.lstrip(LEADING))
        if digits and int(digits.group()) >= 1 << 64:
            raise OpenFailure("id-range")
        if not digits and not sequences:
            raise OpenFailure("no-id")
        if digits and (not sequences or sequences[-1].key != int(digits.group())):
            sequences.append(Sequence(int(digits.group())))
        sequences[-1].lines.append(line)
    return sequences


def tokens(line):
    """Names behind pipes, comments left out."""
    out = []
    for pipe in re.finditer(rb"\|", line):
        if line[pipe.end() : pipe.end() + 1] != b"#":
            out.append(name_at(line, pipe.end())[0])
    return out


def content(line):
    """The line behind its leading bytes and id."""
    return re.sub(rb"^[0-9]+", b"", line.lstrip(LEADING))


def is_indexed(sequence, by_token, main):
    names = [name for line in sequence.lines for name in tokens(line)]
    if main:
        return main.token in names
    if any(name in by_token or name == b"" for name in names):
        return True
    return any(any(b > 0x20 and b < 0x80 for b in content(line)[: next_pipe(content(line), 0)]) for line in sequence.lines)


def load(sequence, by_token, streams, main):
    errors = 0
    sequence.samples = {s.name: [] for s in streams}
    for raw in sequence.lines:
        line, at = content(raw), 0
        while at < len(line):
            byte = line[at]
            if byte != 0x7C and (is_blank(byte) or ends_sample(byte)):
                at += 1
                continue
            if byte != 0x7C:
                errors += 1
                at = next_pipe(line, at)
                continue
            if line[at + 1 : at + 2] == b"#":
                at = next_pipe(line, at + 1)
                continue
            name, end = name_at(line, at + 1)
            stream = by_token.get(name)
            if name == b"":
                errors += 1
            if stream is None:
                at = next_pipe(line, end)
                continue
            try:
                sample, at = (sparse_sample if stream.sparse else dense_sample)(line, end, stream.dim)
                sequence.samples[stream.name].append(sample)
            except Malformed:
                errors += 1
                at = next_pipe(line, end)
    declared = [main.token] if main else list(by_token)
    rows = sum(any(name in declared for name in tokens(line)) for line in sequence.lines)
    sizing = [main] if main else streams
    if any(len(sequence.samples[s.name]) > max(rows, 1) for s in sizing):
        errors += 1
    if any(not sequence.samples[s.name] for s in streams):
        sequence.valid = False
        errors = max(errors, 1)
    return errors
