# SPDX-License-Identifier: MIT
"""CBF, written slowly: random corpora put into both layouts byte by byte, after
docs/reference/formats/cbf.md. What the engine reads must be what was put in."""
import random
import struct

MAGIC = 0x636E746B5F62696E
FILES = 50  # of a corpus
VALUES = {element: [struct.unpack("<" + element, struct.pack("<" + element, number))[0] for number in (0.0, 1.0, -0.5, 3.25, 1e-3, -0.0, 16777216.0)] for element in "fd"}


def value(rng, element):
    return rng.choice(VALUES[element])


def streams(rng):
    out = []
    for i in range(rng.randint(1, 4)):
        sparse = rng.random() < 0.5
        out.append({"name": f"{rng.choice('abXY')}{i}", "sparse": sparse, "dim": rng.choice([1, 2, 7, 1000 if sparse else 16])})
    return out


def sample(rng, stream, element):
    if not stream["sparse"]:
        return [value(rng, element) for _ in range(stream["dim"])]
    indices = sorted(rng.sample(range(stream["dim"]), min(stream["dim"], rng.choice([0, 1, 1, 2, 5]))))
    return [(i, value(rng, element)) for i in indices]


def file(rng, layout, inputs, element, large=0):
    """Its chunks: a chunk is a list of sequences, a sequence a list of samples for each stream. `large`: values in its only chunk."""
    chunks = []
    for _ in range(1 if large else rng.randint(1, 5)):
        chunk = []
        for _ in range(20 if large else rng.randint(1, 6)):
            length = rng.choice([1, 1, 2, 5])
            counts = [length if rng.random() < 0.7 else rng.randint(1, length) for _ in inputs]
            if layout == "legacy":
                counts = [n if s["sparse"] else 1 for n, s in zip(counts, inputs)]
            sequence = [[sample(rng, s, element) for _ in range(n)] for s, n in zip(inputs, counts)]
            if layout == "legacy":  # trailing empty samples cannot be told from none
                for s, samples in zip(inputs, sequence):
                    if s["sparse"] and not samples[-1]:
                        samples[-1] = [(rng.randrange(s["dim"]), 1.0)]
            chunk.append(sequence)
        if large:
            chunk = rng.choices(chunk, k=1 + large // max(1, sum(len(s) for sequence in chunk for samples in sequence for s in samples) // len(chunk)))
        chunks.append(chunk)
    return chunks


def u32(*numbers):
    return struct.pack(f"<{len(numbers)}I", *numbers)


def some_counts(rng, chunks):
    """For modern(): of each sequence what the metadata say, which may be other than any stream's own count."""
    return [[max(len(s) for s in sequence) + (rng.random() < 0.1) for sequence in chunk] for chunk in chunks]


def modern(element, inputs, chunks, told):
    out = bytearray(struct.pack("<QI", MAGIC, 1))
    rows = []
    for chunk, counts in zip(chunks, told):
        rows.append(struct.pack("<qII", len(out), len(chunk), sum(counts)))
        out += u32(*counts)
        for i, stream in enumerate(inputs):
            for sequence in chunk:
                samples = sequence[i]
                out += u32(len(samples))
                if stream["sparse"]:
                    pairs = [pair for s in samples for pair in s]
                    out += struct.pack("<i", len(pairs)) + struct.pack(f"<{len(pairs)}{element}", *(v for _, v in pairs))
                    out += struct.pack(f"<{len(pairs)}i", *(index for index, _ in pairs)) + struct.pack(f"<{len(samples)}i", *map(len, samples))
                else:
                    values = [v for s in samples for v in s]
                    out += struct.pack(f"<{len(values)}{element}", *values)
    header = len(out)
    out += struct.pack("<QII", MAGIC, len(chunks), len(inputs))
    for stream in inputs:
        name = stream["name"].encode()
        out += struct.pack("<BI", stream["sparse"], len(name)) + name + struct.pack("<BI", element == "d", stream["dim"])
    return bytes(out) + b"".join(rows) + struct.pack("<q", header)


def legacy(rng, element, inputs, chunks):
    header = struct.pack("<qqi", 1, len(chunks), len(inputs))
    for stream in inputs:
        name = stream["name"].encode()
        header += struct.pack("<i", len(name)) + name + struct.pack("<i", stream["sparse"])
        header += struct.pack("<iiii", 0, element == "d", rng.randint(0, 1), stream["dim"]) if stream["sparse"] else struct.pack("<ii", element == "d", stream["dim"])
    rows, data = b"", b""
    for chunk in chunks:
        rows += struct.pack("<qii", len(data), len(chunk), sum(max(len(s) for s in sequence) for sequence in chunk))
        for i, stream in enumerate(inputs):
            if not stream["sparse"]:
                values = [v for sequence in chunk for v in sequence[i][0]]
                data += struct.pack(f"<{len(values)}{element}", *values)
                continue
            columns, packed, values = [0], [], []
            for sequence in chunk:
                for number, s in enumerate(sequence[i]):
                    packed += [number * stream["dim"] + index for index, _ in s]
                    values += [v for _, v in s]
                columns.append(len(values))
            data += struct.pack("<i", len(values)) + struct.pack(f"<{len(values)}{element}", *values)
            data += struct.pack(f"<{len(packed)}i", *packed) + struct.pack(f"<{len(columns)}i", *columns)
    return header + rows + data


def damaged(rng, data):
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(data))
        data = rng.choice([data[:at], data[:at] + bytes([rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])]) + data[at + 1 :]])
        if not data:
            break
    return data


def corpus(seed):
    """([(bytes, sequences)], precision) of files that have the same streams; the sequences are None where the bytes are damaged."""
    rng = random.Random(seed)
    element, inputs, files = rng.choice("fd"), streams(rng), []
    large = rng.randrange(FILES) if rng.random() < 0.06 else None  # more bytes than are read at a time
    for i in range(FILES):
        layout = rng.choice(["modern", "legacy"])
        chunks = file(rng, layout, inputs, element, rng.randint(300_000, 900_000) if i == large else 0)
        data = modern(element, inputs, chunks, some_counts(rng, chunks)) if layout == "modern" else legacy(rng, element, inputs, chunks)
        sequences = [{stream["name"]: samples for stream, samples in zip(inputs, sequence)} for chunk in chunks for sequence in chunk]
        files.append((damaged(rng, data), None) if rng.random() < 0.3 else (data, sequences))
    return files, "double" if element == "d" else "float"
