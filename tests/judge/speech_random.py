# SPDX-License-Identifier: MIT
"""Speech corpora that nobody recorded: lists of ten HTK files, and label files of ten
utterances; most are right, some are odd, some are damaged."""
import random
import struct

KINDS = [6, 7, 9, 11, 6 | 0o100, 9 | 0o400 | 0o1000, 7 | 0o20000]
VALUES = [0.0, 1.0, -0.5, 3.25, 1e-3, -0.0, 16777216.0, 0.1, -1e30]
STATES = ["sil", "a", "b_s2", "c", "7"]
UTTERANCES = 10  # of a corpus


def parameters(rng, frames, dim, kind, period, damage):
    """The bytes of one parameter file."""
    order = rng.choice("><")
    compressed, checksum = rng.random() < 0.3 and kind != 12, rng.random() < 0.2 and kind != 12
    kind |= (0o2000 if compressed else 0) | (0o10000 if checksum else 0)
    told = frames + (4 if compressed else 0)
    size = dim * (2 if compressed else 4)
    out = b""
    if compressed:
        scale = [rng.choice([1.0, 2.0, 1000.0, -3.5, 0.1, 0.0 if damage else 4.0]) for _ in range(dim)]
        out += struct.pack(f"{order}{2 * dim}f", *scale, *(rng.choice(VALUES) for _ in range(dim)))
        out += b"".join(struct.pack(f"{order}{dim}h", *(rng.randint(-32768, 32767) for _ in range(dim))) for _ in range(frames))
    else:
        if kind & 0o77 == 12:
            out += bytes(range(16))
        out += b"".join(struct.pack(f"{order}{dim}f", *(rng.choice(VALUES) for _ in range(dim))) for _ in range(frames))
    if checksum:
        out += bytes([rng.randrange(256), 7])
    if damage == "count":
        told = rng.choice([told + 1, told + 1000, 0, 3, -1, 0x7FFFFFFF, max(told - 1, 0)])
    elif damage == "size":
        size = rng.choice([0, 1, 2, size + 1, size * 2, 0xFFFF])
    elif damage == "kind":
        kind = rng.choice([0, 5, 8, 10, kind | 0o40000, 63, kind ^ 0o100])
    elif damage == "period":
        period += 1
    data = struct.pack(order + "iIHH", told, period, size, kind) + out
    if damage == "cut":
        data = data[: rng.randrange(len(data))]
    elif damage == "bytes":
        at = rng.randrange(len(data))
        data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
    elif damage == "more":
        data += b"\0" * rng.randint(1, 40)
    return data


def listed(rng, name, frames, number, odd):
    """A line that names the file."""
    form = rng.random()
    key = f"{rng.choice(['', 'd/', 'x.y/'])}u{number}{rng.choice(['.mfc', '', '.a.b'])}"
    if form < 0.25:
        line = name
    elif form < 0.5 or frames == 0:
        line = f"{key}={name}"
    else:
        first = rng.randrange(frames)
        line = f"{key}={name}[{first},{rng.randrange(first, frames)}]"
    if odd:
        line = rng.choice([f" {line}\t", line.replace("=", " = "), line.replace("[", " ["), line.replace("[", "[+"), line.replace(",", " , "),
                           line.replace("[", "["), f"{key}={name}[1,{frames}]", f"{key}={name}[2,1]", f"{key}={name}[0,0]x", f"{name}[0,0]",
                           f"{key}={name}[0,4294967296]", f"{key}={name}[4294967290,4294967295]", f"{key}={name}[0]", f"={name}", f"{key}=", "", "|" + name,
                           f"{key}={name}]", f"{key}={name}[,]", line + "\n" + line])
    return line


def features(seed):
    """(files, context): a list "x.scp" and what it names; frames before and after."""
    rng = random.Random(seed)
    dim, kind, period = rng.randint(1, 4), rng.choice(KINDS + [12]), rng.choice([100000, 50000, 0, 625])
    files, lines = {}, []
    bad = rng.randrange(UTTERANCES) if rng.random() < 0.35 else None
    oddness = rng.choice([0, 0, 0, 0.15])
    for i in range(UTTERANCES):
        name, frames = f"f{i}.fea", rng.choice([0, 1, 2, 3, 5, 8])
        damage = rng.choice(["count", "size", "kind", "period", "cut", "bytes", "more"]) if i == bad else None
        files[name] = parameters(rng, frames, dim, kind, period, damage)
        lines.append(listed(rng, name, frames, rng.choice([i, i, i, i, 0]), rng.random() < oddness))
    end = rng.choice(["\n", "\n", "\r\n", "\r"])
    text = rng.choice(["", "", "\xef\xbb\xbf"]) + end.join(lines) + rng.choice([end, ""])
    files["x.scp"] = text.encode("latin-1")
    return files, dim, rng.choice([(0, 0), (0, 0), (1, 1), (2, 0), (0, 3)])


def time(rng, frame, unit):
    if unit == 1:
        return str(frame)
    jitter = rng.choice([0, 0, 0, 0.4, -0.4]) if frame else 0
    return rng.choice(["", "", "+"]) + str(int((frame + jitter) * unit)) + rng.choice(["", "", ".0", "e0"])


def labels_text(seed):
    """(bytes, with state list, boundaries)"""
    rng = random.Random(seed)
    oddness = rng.choice([0, 0, 0.01, 0.05])
    named, boundaries = rng.random() < 0.7, rng.random() < 0.2
    blank = lambda: rng.choice([" ", " ", "\t", "  "])
    end = lambda: rng.choice(["\n"] * 12 + ["\r\n"])
    out = rng.choice(["", "", "", "\xef\xbb\xbf"]) + (rng.choice(["#!MLF!", "", "x"]) if rng.random() < oddness / 3 else "#!MLF!#") + end()
    for i in range(UTTERANCES):
        key = f'"{rng.choice(["", "*/", "d/"])}u{rng.choice([i, i, i, i, i, 0])}{rng.choice(["", ".lab", ".x.rec"])}"'
        if rng.random() < oddness:
            key = rng.choice(["u", '"', '""', '"u', '"*/"', key + " x", key + "  "])
        out += key + end()
        unit, at = rng.choice([1, 100000, 100000]), 0
        for _ in range(rng.choice([0, 1, 1, 2, 4]) if rng.random() < 0.3 else rng.randint(1, 3)):
            stop = at + rng.choice([1, 1, 2, 3, 7, 0 if rng.random() < 0.1 else 2])
            columns = [time(rng, at, unit), time(rng, stop, unit)]
            if rng.random() < oddness:
                at += rng.choice([-1, 1, 0])
                columns = [rng.choice([columns[0], "x", "-1", "12x", ".5", "1e300", "4294967296", ""]), rng.choice([columns[1], "nan", "1e999", "0x10", "-"])]
            columns += [rng.choice(STATES)]
            if not named:
                columns.append(rng.choice(["0", "1", "+2", "4", "3x"]))
            elif rng.random() < 0.2:
                columns += ["-4.5", "word", "more", "yet"][: rng.randint(1, 4)]
            if rng.random() < oddness:
                columns[-1] = rng.choice(["5", "-1", "", "zz", "99999999999999999999"])
            out += rng.choice(["", "", " "]) + blank().join(columns) + rng.choice(["", "", "", " "]) + end()
            at = stop
        if rng.random() >= oddness:
            out += rng.choice([".", ".", ". ", ".\t"]) + end()
        if rng.random() < 0.1:
            out += rng.choice(["\n", " \n", "#!MLF!#\n"])
    if rng.random() < oddness * 3:
        out = out[: rng.randrange(len(out))]
    return out.encode("latin-1"), named, boundaries


def labels_binary(seed):
    rng = random.Random(seed)
    oddness = rng.choice([0, 0, 0.02])
    version = rng.choice([1, 2])
    out = b"MLF" + struct.pack("<h", version if rng.random() > oddness else 3)
    for i in range(UTTERANCES):
        number = rng.choice([i, i, i, i, 0])
        key = f"d/u{number}".encode()
        out += struct.pack("<I", number) if version == 1 else struct.pack("<H", len(key) if rng.random() > oddness else rng.choice([0, 257, 3])) + key
        segments = [(rng.randrange(5), rng.choice([1, 2, 5, 0, 9])) for _ in range(rng.randint(1, 4))] + [(1, 1)]
        frames = sum(n for _, n in segments)
        if rng.random() < oddness:
            frames = rng.choice([0, frames + 1, frames - 1, 0xFFFFFFFF])
        if rng.random() < oddness:
            segments[0] = (rng.choice([5, 0xFFFF]), segments[0][1])
        out += struct.pack("<IH", frames, len(segments) if rng.random() > oddness else 0xFFFF) + b"".join(struct.pack("<HH", *s) for s in segments)
    if rng.random() < oddness * 10:
        out = out[: rng.randrange(len(out))]
    return out
