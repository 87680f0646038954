#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Chunks, labels and orders of a real speech corpus, against the specification's figures.

    check_an4.py FOLDER [--binary build/release/bin/batchfeed]

FOLDER holds AN4 as CNTK's examples have it: glob_0000.scp, glob_0000.mlf, mlf2.bin and
state.list. The corpus is not part of this project, so this is run where it is at hand.
Its archive is not needed: one is written whose frames say which frame they are.
"""
import argparse
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

DIM = 3
CONFIG = """
t = [ reader = [
  frameMode = {frames} ; {more}
  deserializers = (
    [ type = "HTKFeatureDeserializer" ; module = "HTKDeserializers"
      input = [ features = [ dim = {dim} ; {window} scpFile = "glob.scp" ] ] ] :
    [ type = "{labels}" ; module = "HTKDeserializers"
      input = [ labels = [ labelDim = 132 ; mlfFile = "{mlf}" ; {mapping} ] ] ] )
] ]
"""


class An4:
    def __init__(self, source, binary, folder):
        self.binary, self.folder = binary, folder
        for name in ("glob_0000.mlf", "mlf2.bin", "state.list"):
            (folder / name).symlink_to((source / name).resolve())
        lines = (source / "glob_0000.scp").read_text().split("\n")
        self.ranges = [tuple(map(int, re.search(r"\[(\d+),(\d+)\]", line).groups())) for line in lines if line.strip()]
        (folder / "glob.scp").write_text("\n".join(line.replace("=", "=" + str(folder) + "/") if line else "" for line in lines))
        archive = re.search(r"=(.*)\[", lines[0]).group(1)
        total = self.ranges[-1][1] + 1
        # A frame is (utterance, frame of it, frame of the archive).
        body = b"".join(struct.pack(">3f", u, t - first, t) for u, (first, last) in enumerate(self.ranges) for t in range(first, last + 1))
        (folder / archive).write_bytes(struct.pack(">iihh", total, 100000, 4 * DIM, 9) + body)

    def run(self, command, *arguments, frames="false", more="", window="", binary_labels=False):
        (self.folder / "c.cntk").write_text(CONFIG.format(
            frames=frames, more=more, window=window, dim=DIM, mlf="mlf2.bin" if binary_labels else "glob_0000.mlf",
            labels="HTKMLFBinaryDeserializer" if binary_labels else "HTKMLFDeserializer",
            mapping="" if binary_labels else 'labelMappingFile = "state.list"'))
        done = subprocess.run([self.binary, command, "c.cntk", *map(str, arguments)], cwd=self.folder, capture_output=True, check=True)
        return done.stdout.decode()

    def read(self, *arguments, **options):
        return [json.loads(line) for line in self.run("read", *arguments, "--format", "jsonl", **options).splitlines()]


def streams(batch):
    return {s["name"]: s for s in batch["streams"]}


def lengths(batches):
    return [e["e"] - e["b"] for b in batches for e in streams(b)["features"]["layout"] if "id" in e]


def drawn(batches):
    """(utterance, frame, label) of each sample, without gaps."""
    out = []
    for b in batches:
        s = streams(b)
        out += [(int(c[0]), int(c[1]), r) for c, r in zip(s["features"]["columns"], s["labels"]["rows"])]
    return out


FAILED = []


def expect(case, found, due):
    print(f"{'ok    ' if found == due else 'FAILED'} {case}")
    if found != due:
        FAILED.append(case)
        print(f"       found {found}\n       due   {due}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--binary", default="build/release/bin/batchfeed", type=lambda p: str(pathlib.Path(p).resolve()))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        check(An4(args.folder, args.binary, pathlib.Path(scratch)))
    return 1 if FAILED else 0


def check(an4):
    frame_lengths = [last - first + 1 for first, last in an4.ranges]
    chunks, in_chunk = [], [0, 0]
    for n in frame_lengths:  # the rule, to compare with what the reader plans
        if in_chunk[1] > 90000:
            chunks.append(tuple(in_chunk))
            in_chunk = [0, 0]
        in_chunk = [in_chunk[0] + 1, in_chunk[1] + n]
    chunks.append(tuple(in_chunk))
    about = json.loads(an4.run("info", "--json"))
    expect("54: chunks", (chunks, about['chunks']['count'], about["sequences"], about["samples"]),
           ([(328, 90234), (341, 90158), (279, 72342)], 3, 948, 252734))

    plain = an4.read("--minibatch-size", 1, "--limit", 1, more="randomize = false")
    expect("75: labels of the first utterance", drawn(plain)[:56], [(0, t, 102 if t in (0, 55) else 103) for t in range(56)])
    text = an4.read("--minibatch-size", 252734, more="randomize = false")
    binary = an4.read("--minibatch-size", 252734, more="randomize = false", binary_labels=True)
    expect("83: binary and text labels agree", drawn(text) == drawn(binary) and len(drawn(text)) == 252734, True)

    first = an4.read("--minibatch-size", 1, "--limit", 8)
    expect("94: whole utterances, sweep 0", ([u for u, t, _ in drawn(first) if t == 0], lengths(first)),
           ([491, 766, 195, 346, 541, 549, 619, 347], [418, 468, 78, 148, 238, 288, 618, 328]))
    second = an4.read("--minibatch-size", 1, "--limit", 5, "--start-epoch", 1)
    expect("95: whole utterances, sweep 1", [u for u, t, _ in drawn(second) if t == 0], [769, 54, 257, 23, 869])

    expect("96: frames, sweep 0", drawn(an4.read("--minibatch-size", 5, "--limit", 1, frames="true")),
           [(750, 36, 44), (92, 52, 77), (292, 131, 107), (262, 76, 28), (607, 190, 85)])
    expect("97: frames, sweep 1", drawn(an4.read("--minibatch-size", 3, "--limit", 1, "--start-epoch", 1, frames="true")),
           [(179, 48, 95), (102, 200, 63), (42, 288, 116)])
    shares = [len(drawn(an4.read("--minibatch-size", 100, "--epochs", 2, "--epoch-size", 500, "--workers", 2, "--rank", rank, frames="true")))
              for rank in (0, 1)]
    expect("98: frames, two workers, two epochs of 500", shares, [669, 331])

    epochs = an4.read("--minibatch-size", 1000, "--epochs", 2, "--epoch-size", 500)
    by_epoch = [lengths([b for b in epochs if b["epoch"] == e and b["streams"]]) for e in (0, 1)]
    expect("100: utterances, epochs of 500", by_epoch, [[418, 468], [78, 148]])
    small = [b for b in an4.read("--minibatch-size", 140, "--epochs", 2, "--epoch-size", 500) if b["streams"]]
    expect("100: with minibatches of 140", len(small), 4)

    ordered = an4.read("--minibatch-size", 250, "--epochs", 1, "--epoch-size", 500, frames="true", more="randomize = false", window="contextWindow = 3 ;")
    columns = [c for b in ordered for c in (streams(b)["features"]["columns"] if b["streams"] else [])]
    # The middle of each window is the frame itself; the last of the utterance repeats to the right.
    expect("101: frames in order, window of 3", ([int(c[DIM + 2]) for c in columns], [int(v) for v in columns[367][DIM:]]),
           (list(range(500)), [0, 367, 367, 0, 367, 367]))

    # 99: windows show in which chunks early frames come from; every frame comes once in each.
    for window in (200000, 450000, 90000):
        all_frames = drawn(an4.read("--minibatch-size", 4096, frames="true", more=f"randomizationWindow = {window}"))
        archive = [an4.ranges[u][0] + t for u, t, _ in all_frames]
        of = [0 if a < 90234 else 1 if a < 180392 else 2 for a in archive]
        reach = [(min(of[i:j]), max(of[i:j]) + 1) for i, j in ((0, 90234), (90234, 180392), (180392, 252734))]
        due = {200000: [(0, 1), (0, 2), (1, 3)], 450000: [(0, 2), (0, 3), (0, 3)], 90000: [(0, 1), (1, 2), (2, 3)]}[window]
        expect(f"99: window of {window}", (sorted(archive) == list(range(252734)), all(d[0] <= r[0] and r[1] <= d[1] for d, r in zip(due, reach))), (True, True))


if __name__ == "__main__":
    sys.exit(main())
