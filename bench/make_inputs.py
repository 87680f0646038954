#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the inputs of the scripts here, the same bytes everywhere. Needs NumPy, 2.1 GB and some minutes.

    python3 bench/make_inputs.py FOLDER [dense mnist digits repr exponents sparse seq htk cbf]

dense.ctf   249 MB, 45,000 samples: 784 decimals 0.dddd and 10 of 0 and 1
mnist.ctf   204 MB, 110,000 samples: 784 integers 0 to 255, 80 % zeros, and the same labels
digits.ctf  260 MB, 240,000 samples: 100 normal variates of 6 to 9 digits, and one of 0 and 1
repr.ctf    129 MB, 65,000 samples: 100 normal variates as Python prints them, of 14 to 18 digits, and one of 0 and 1
exponents.ctf  145 MB, 100,000 samples: the same written as %.7e
sparse.ctf  232 MB, 330,000 samples: 50 pairs index:0.dddd below 1,000,000, and one dense value
seq.ctf     189 MB, 130,000 sequences of 10 to 50 rows: ids, two one-hot streams, comments
htk/        256 MB, 1.6 million frames of 40 values in one archive; list, labels, 200 states
dense.cbf, sparse.cbf   the values of dense.ctf and sparse.ctf, chunks of about 32 MB
c/bench.cntk            a reader section for each; `randomize`, `chunk` and `prec` can be set
"""
import pathlib
import struct
import sys

import numpy as np

MAGIC = 0x636E746B5F62696E
STREAMS = {
    "dense": 'features = [ dim = 784 ; format = "dense" ] ; labels = [ dim = 10 ; format = "dense" ]',
    "mnist": 'features = [ dim = 784 ; format = "dense" ] ; labels = [ dim = 10 ; format = "dense" ]',
    "digits": 'features = [ dim = 100 ; format = "dense" ] ; labels = [ dim = 1 ; format = "dense" ]',
    "repr": 'features = [ dim = 100 ; format = "dense" ] ; labels = [ dim = 1 ; format = "dense" ]',
    "exponents": 'features = [ dim = 100 ; format = "dense" ] ; labels = [ dim = 1 ; format = "dense" ]',
    "sparse": 'x = [ dim = 1000000 ; format = "sparse" ] ; y = [ dim = 1 ; format = "dense" ]',
    "seq": 'words = [ alias = "S0" ; dim = 69290 ; format = "sparse" ] ; tags = [ alias = "S1" ; dim = 44 ; format = "sparse" ]',
}
SPEECH = {"htk_frame": "frameMode = true", "htk_seq": "frameMode = false", "htk_bptt": "frameMode = false ; truncated = true ; truncationLength = 20"}


def config():
    out = ['DataDir = ".."', "randomize = false", "prec = float", "chunk = 33554432"]
    section = lambda name, reader: out.append(f'{name} = [ precision = "$prec$" ; reader = [ {reader} ] ]')
    for name, streams in STREAMS.items():
        section(name, f'readerType = "CNTKTextFormatReader" ; file = "$DataDir$/{name}.ctf" ; randomize = $randomize$ ; traceLevel = 0 ; '
                      f"chunkSizeInBytes = $chunk$ ; input = [ {streams} ]")
    for name in ("dense", "sparse"):
        section(f"{name}_cbf", f'readerType = "CNTKBinaryReader" ; file = "$DataDir$/{name}.cbf" ; randomize = $randomize$')
    features = 'features = [ dim = 40 ; contextWindow = 11 ; scpFile = "$DataDir$/htk/bench.scp" ; prefixPathInSCP = "$DataDir$/htk" ]'
    labels = 'labels = [ mlfFile = "$DataDir$/htk/bench.mlf" ; labelMappingFile = "$DataDir$/htk/bench.states" ; labelDim = 200 ]'
    for name, mode in SPEECH.items():
        section(name, f'verbosity = 0 ; randomize = $randomize$ ; {mode} ; deserializers = ( '
                      f'[ type = "HTKFeatureDeserializer" ; module = "HTKDeserializers" ; input = [ {features} ] ] : '
                      f'[ type = "HTKMLFDeserializer" ; module = "HTKDeserializers" ; input = [ {labels} ] ] )')
    section("htk_frame_legacy", 'readerType = "HTKMLFReader" ; readMethod = "blockRandomize" ; randomize = auto ; useMersenneTwisterRand = true ; '
                                'minibatchMode = "partial" ; verbosity = 0 ; frameMode = true ; prefixPathInSCP = "$DataDir$/htk" ; '
                                'features = [ dim = 440 ; type = "real" ; scpFile = "$DataDir$/htk/bench.scp" ] ; '
                                'labels = [ mlfFile = "$DataDir$/htk/bench.mlf" ; labelMappingFile = "$DataDir$/htk/bench.states" ; labelDim = 200 ; labelType = "category" ]')
    return "\n".join(out) + "\n"


def one_hot():
    return [" ".join("1" if i == k else "0" for i in range(10)) for k in range(10)]


def dense(folder):
    draws, table, labels = np.random.RandomState(11), np.array([f"0.{i:04d}" for i in range(10000)], dtype=object), one_hot()
    with open(folder / "dense.ctf", "w") as out:
        for _ in range(45):
            x, y = draws.randint(0, 10000, (1000, 784)), draws.randint(0, 10, 1000)
            out.writelines("|features " + " ".join(table[x[i]]) + " |labels " + labels[y[i]] + "\n" for i in range(1000))


def mnist(folder):
    draws, table, labels = np.random.RandomState(12), np.array([str(i) for i in range(256)], dtype=object), one_hot()
    with open(folder / "mnist.ctf", "w") as out:
        for _ in range(110):
            x = draws.randint(1, 256, (1000, 784))
            x[draws.rand(1000, 784) < 0.8] = 0
            y = draws.randint(0, 10, 1000)
            out.writelines("|labels " + labels[y[i]] + " |features " + " ".join(table[x[i]]) + "\n" for i in range(1000))


def digits(folder):
    draws = np.random.RandomState(16)
    with open(folder / "digits.ctf", "w") as out:
        for _ in range(240):
            x, places, y = draws.standard_normal((1000, 100)), draws.randint(6, 10, 1000), draws.randint(0, 2, 1000)
            # The number of digits changes from value to value; each line has those of the line before, rotated by one.
            for i, values in enumerate(x.tolist()):
                form = " ".join(f"%.{p}g" for p in np.roll(places[:100], i).tolist())
                out.write(f"|labels {y[i]} |features " + form % tuple(values) + "\n")


def written(path, samples, seed, form):
    draws = np.random.RandomState(seed)
    with open(path, "w") as out:
        for _ in range(samples // 1000):
            x, y = draws.standard_normal((1000, 100)), draws.randint(0, 2, 1000)
            out.writelines(f"|labels {y[i]} |features " + " ".join(map(form, values)) + "\n" for i, values in enumerate(x.tolist()))


def numbers_as_printed(folder):
    written(folder / "repr.ctf", 65000, 17, repr)


def exponents(folder):
    written(folder / "exponents.ctf", 100000, 18, "{:.7e}".format)


def sparse(folder):
    draws, table = np.random.RandomState(13), [f"0.{i:04d}" for i in range(10000)]
    with open(folder / "sparse.ctf", "w") as out:
        for _ in range(330):
            index, value, y = sparse_block(draws)
            out.writelines("|x " + " ".join(f"{a}:{table[c]}" for a, c in zip(index[i].tolist(), value[i].tolist())) + f" |y {y[i]}\n" for i in range(1000))


def sparse_block(draws):
    index = np.sort(draws.randint(0, 1000000, (1000, 50)), axis=1)
    return index, draws.randint(0, 10000, (1000, 50)), draws.randint(0, 2, 1000)


def seq(folder):
    draws = np.random.RandomState(14)
    with open(folder / "seq.ctf", "w") as out:
        for s in range(130000):
            rows = draws.randint(10, 51)
            words, tags = draws.randint(0, 69290, rows).tolist(), draws.randint(0, 44, rows).tolist()
            out.write("".join(f"{s}\t|S0 {a}:1 |# word{a}\t|S1 {c}:1 |# tag{c}\n" for a, c in zip(words, tags)))


def htk(folder):
    folder = folder / "htk"
    folder.mkdir(exist_ok=True)
    draws, lengths = np.random.RandomState(15), []
    while sum(lengths) < 1600000:
        lengths.append(int(draws.randint(200, 801)))
    (folder / "bench.states").write_text("".join(f"st{i}_s2\n" for i in range(200)))
    with open(folder / "bench.feat", "wb") as out:
        left = sum(lengths)
        out.write(struct.pack(">iihh", left, 100000, 160, 9))
        while left:
            block = min(left, 100000)
            out.write((draws.randint(-65536, 65536, (block, 40)) / 16384.0).astype(">f4").tobytes())
            left -= block
    with open(folder / "bench.scp", "w") as list_of, open(folder / "bench.mlf", "w") as labels:
        labels.write("#!MLF!#\n")
        at = 0
        for u, length in enumerate(lengths):
            list_of.write(f"utt{u:05d}.mfc=bench.feat[{at},{at + length - 1}]\n")
            at += length
            labels.write(f'"utt{u:05d}.lab"\n')
            time = 0
            while time < length:
                end = min(length, time + int(draws.randint(3, 15)))
                state = draws.randint(0, 200)
                labels.write(f"{time * 100000} {end * 100000} st{state}_s2 {draws.rand() * 100:.6f}\n")
                time = end
            labels.write(".\n")


def write_cbf(path, streams, chunks):
    """streams: (name, 0 dense or 1 sparse, dim); chunks: (number of sequences, [bytes of each stream]), in which each
    sequence has one sample."""
    with open(path, "wb") as out:
        out.write(struct.pack("<QI", MAGIC, 1))
        table = []
        for n, parts in chunks:
            table.append((out.tell(), n, n))
            out.write(np.ones(n, "<u4").tobytes() + b"".join(parts))
        header = out.tell()
        out.write(struct.pack("<QII", MAGIC, len(table), len(streams)))
        for name, storage, dim in streams:
            out.write(struct.pack("<BI", storage, len(name)) + name.encode() + struct.pack("<BI", 0, dim))
        out.write(b"".join(struct.pack("<qII", *row) for row in table) + struct.pack("<q", header))


def dense_part(values):
    out = np.zeros(len(values), dtype=[("n", "<u4"), ("v", "<f4", (values.shape[1],))])
    out["n"], out["v"] = 1, values
    return out.tobytes()


def cbf(folder):
    def dense_chunks():
        draws, features, labels = np.random.RandomState(11), [], []
        for block in range(45):
            features.append((draws.randint(0, 10000, (1000, 784)) / 10000.0).astype(np.float32))
            labels.append(np.eye(10, dtype=np.float32)[draws.randint(0, 10, 1000)])
            if len(features) == 10 or block == 44:
                yield 1000 * len(features), [dense_part(np.concatenate(features)), dense_part(np.concatenate(labels))]
                features, labels = [], []

    def sparse_chunks():
        draws, blocks = np.random.RandomState(13), []
        for block in range(330):
            blocks.append(sparse_block(draws))
            if len(blocks) == 75 or block == 329:
                index, value, y = (np.concatenate(parts) for parts in zip(*blocks))
                out = np.zeros(len(index), dtype=[("n", "<u4"), ("nnz", "<i4"), ("v", "<f4", (50,)), ("i", "<i4", (50,)), ("s", "<i4")])
                out["n"], out["nnz"], out["v"], out["i"], out["s"] = 1, 50, (value / 10000.0).astype(np.float32), index, 50
                yield len(index), [out.tobytes(), dense_part(y[:, None].astype(np.float32))]
                blocks = []

    write_cbf(folder / "dense.cbf", [("features", 0, 784), ("labels", 0, 10)], dense_chunks())
    write_cbf(folder / "sparse.cbf", [("x", 1, 1000000), ("y", 0, 1)], sparse_chunks())


def main():
    makers = {"dense": dense, "mnist": mnist, "digits": digits, "repr": numbers_as_printed, "exponents": exponents, "sparse": sparse, "seq": seq, "htk": htk, "cbf": cbf}
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    for name in sys.argv[2:]:
        if name not in makers:
            sys.exit(f"no input '{name}'; there are: {' '.join(makers)}")
    (folder / "c").mkdir(parents=True, exist_ok=True)
    (folder / "c/bench.cntk").write_text(config())
    for name in sys.argv[2:] or makers:
        print(f"writing {name}", flush=True)
        makers[name](folder)


if __name__ == "__main__":
    main()
