# SPDX-License-Identifier: MIT
"""Compressed corpora: the same sequences in the same order as the plain file, and faults at their place."""
import gzip
import json
import os
import pathlib
import shutil
import struct
import subprocess

import pytest

from conftest import BINARY

zstd_program = pytest.mark.skipif(shutil.which("zstd") is None, reason="needs zstd")


def zstd(data):
    return subprocess.run(["zstd", "-qc"], input=data, capture_output=True, check=True).stdout


def text(n=4000):
    return "".join(f"{key} |v {key * 37 % 101} {step}.25 |t {key * 7 % 10}:1\n" for key in range(n) for step in range(1 + key % 4))


@pytest.fixture
def compressed(batchfeed, write):
    """plain.ctf and the same bytes compressed in every way: name to bytes."""
    plain = text().encode()
    write("plain.ctf", plain)
    half = plain.index(b"\n", len(plain) // 2) - 7  # in the middle of a line
    files = {"a.ctf.gz": gzip.compress(plain), "members.ctf.gz": gzip.compress(plain[:half]) + gzip.compress(plain[half:])}
    if shutil.which("zstd"):
        files["one.ctf.zst"] = zstd(plain)
        files["frames.ctf.zst"] = zstd(plain[:half]) + zstd(plain[half:])
    for name, data in files.items():
        write(name, data)
    assert batchfeed("convert", "plain.ctf", "seekable.ctf.zst").code == 0
    return [*files, "seekable.ctf.zst"]


CONFIG = """
reader = [
  readerType = "CNTKTextFormatReader" ; file = "{file}" ; randomize = true ; chunkSizeInBytes = 9000 ; {extra}
  input = [ v = [ dim = 2 ; format = "dense" ] ; t = [ dim = 10 ; format = "sparse" ] ]
]
"""


@pytest.mark.parametrize("more", [(), ("--order", "uniform", "--window-chunks", "5"), ("--workers", "3", "--rank", "1"),
                                  ("--threads", "4")])
def test_minibatches_are_those_of_the_plain_file(batchfeed, write, compressed, more):
    def read(name):
        write("x.cntk", CONFIG.format(file=name, extra=""))
        done = batchfeed("read", "x.cntk", "--epochs", 2, "--format", "jsonl", "--minibatch-size", 50, *more)
        assert (done.code, done.err) == (0, "")
        return done.out

    want = read("plain.ctf")
    assert len(want) > 100_000
    for name in compressed:
        assert read(name) == want, name


def test_every_command_takes_them(batchfeed, compressed):
    plain = batchfeed("info", "plain.ctf", "--json").json
    for name in compressed:
        about = batchfeed("info", name, "--json").json
        assert (about["format"], about["samples"], about["bytes"]) == ("ctf", plain["samples"], plain["bytes"]), name
        assert about["streams"] == plain["streams"]
        assert batchfeed("check", name).code == 0
        assert batchfeed("plan", name, "--json").json["samples"] == plain["samples"]
        assert batchfeed("convert", name, name + ".cbf", "--verify").code == 0


def test_the_index_is_kept_and_told_from_the_plain_files(batchfeed, compressed):
    for name in ("plain.ctf", *compressed):
        assert batchfeed("index", name).code == 0
    for name in ("plain.ctf", *compressed):
        assert batchfeed("index", name, "--json").json["sources"][0]["was_valid"], name
        assert batchfeed("read", name, "--cache-index").out == batchfeed("read", "plain.ctf").out


def test_a_state_goes_on_in_another_compression(batchfeed, write, compressed):
    write("x.cntk", CONFIG.format(file="a.ctf.gz", extra=""))
    batchfeed("read", "x.cntk", "--limit", 7, "--save-state", "s.json", "--format", "none")
    rest = batchfeed("read", "x.cntk", "--state", "s.json").out
    assert rest and rest == "".join(batchfeed("read", "x.cntk").out.splitlines(keepends=True)[7:])


@zstd_program
def test_zstd_itself_unpacks_what_convert_writes(batchfeed, compressed):
    folder = batchfeed.folder
    subprocess.run(["zstd", "-qdk", "seekable.ctf.zst"], cwd=folder, check=True)
    batchfeed("convert", "plain.ctf", "again.ctf")
    assert (folder / "seekable.ctf").read_bytes() == (folder / "again.ctf").read_bytes()
    assert (folder / "seekable.ctf.zst").read_bytes()[-4:] == struct.pack("<I", 0x8F92EAB1)


def test_faults_have_their_place_in_the_text(batchfeed, write):
    lines = text(300) + "300 |v 1 x |t 3:1\n"
    write("bad.ctf", lines)
    write("bad.ctf.gz", gzip.compress(lines.encode()))
    plain = batchfeed("check", "bad.ctf", "--json").json["findings"]
    assert plain and [{**f, "file": "bad.ctf.gz"} for f in plain] == batchfeed("check", "bad.ctf.gz", "--json").json["findings"]


def test_a_damaged_file_is_a_fault_of_its_compression(batchfeed, write, compressed):  # compressed.truncated, compressed.trailing
    for name in compressed:
        data = (batchfeed.folder / name).read_bytes()
        write("cut." + name, data[:len(data) * 2 // 3])
        write("more." + name, data + b"0 |v 1 2\n")
        for bad in ("cut.", "more."):
            done = batchfeed("check", bad + name)
            assert done.code == 1 and bad + name in done.out and "compressed" in done.out, done.out
            assert done.err == ""


def test_a_bomb_meets_a_limit(batchfeed, write):
    if shutil.which("zstd") is None:
        pytest.skip("needs zstd")
    write("bomb.ctf.zst", zstd(b"|v " + b"0" * (80 << 20) + b"\n"))
    done = batchfeed("info", "bomb.ctf.zst")
    assert done.code == 3 and "allow more with --raise unpack_ratio=N" in done.err


def test_one_large_frame_is_warned_of(batchfeed, write):  # compressed.slow
    if shutil.which("zstd") is None:
        pytest.skip("needs zstd")
    block = b"".join(b"|v %d 2.5 %d\n" % (i * 37 % 10007, i * 11 % 997) for i in range(60_000))
    write("big.ctf.zst", zstd(block * ((64 << 20) // len(block) + 1)))
    done = batchfeed("read", "big.ctf.zst", "--limit", 1, "--format", "none")
    assert done.code == 0 and "batchfeed convert" in done.err and "big.ctf.zst" in done.err


@pytest.mark.parametrize("layout", ["modern", "legacy"])
def test_binary_corpora_are_compressed_too_and_refused_by_others(batchfeed, write, layout):
    single = layout == "legacy"  # which has one sample a sequence
    write("a.ctf", "".join(f"{key} |v {key} 0.5 |t {key % 10}:1\n" for key in range(3000)) if single else text())
    for target in ("plain.cbf", "compressed.cbf.zst"):
        done = batchfeed("convert", "a.ctf", target, "--chunk-size", 9000, "--layout", layout, "--verify")
        assert (done.code, done.err) == (0, "")
    plain, compressed = ((batchfeed.folder / name).read_bytes() for name in ("plain.cbf", "compressed.cbf.zst"))
    assert len(compressed) < len(plain) / 2
    more = ("--order", "uniform", "--window-chunks", 3, "--minibatch-size", 40, "--epochs", 2)
    assert batchfeed("read", "compressed.cbf.zst", *more).out == batchfeed("read", "plain.cbf", *more).out
    # A reader that knows nothing of it sees by the first bytes that it is not for it.
    assert plain[:8] in (b"nib_ktnc", b"\1\0\0\0\0\0\0\0") and compressed[:4] == bytes.fromhex("28b52ffd")


def test_what_is_not_compressed_is_said(batchfeed, write):
    write("a.ctf", text(5))
    for target, word in (("b.ctf.gz", ".zst"), ("b.scp.zst", "without .zst")):
        done = batchfeed("convert", "a.ctf", target)
        assert done.code == 2 and word in done.err
        assert not (batchfeed.folder / target).exists()


def test_speech_lists_and_labels(batchfeed, write):
    write("f.ctf", "".join(f"{key} |f {key} {step}.5\n" for key in range(30) for step in range(3 + key % 5)))
    write("l.ctf", "".join(f"{key} |l {(key + step) % 4}:1\n" for key in range(30) for step in range(3 + key % 5)))
    assert batchfeed("convert", "f.ctf", "f.scp").code == 0
    assert batchfeed("convert", "l.ctf", "l.mlf").code == 0
    assert batchfeed("convert", "l.ctf", "compressed.mlf.zst").code == 0
    for name in ("f.scp", "l.mlf"):
        write(name + ".gz", gzip.compress((batchfeed.folder / name).read_bytes()))
    want = batchfeed("read", "f.scp", "l.mlf", "--minibatch-size", 20).out
    assert '"rows":[' in want and len(want.splitlines()) > 5
    for files in (("f.scp.gz", "l.mlf.gz"), ("f.scp", "compressed.mlf.zst"), ("f.scp.gz", "l.mlf")):
        done = batchfeed("read", *files, "--minibatch-size", 20)
        # An unnamed stream is called after its file.
        assert done.err == "" and done.out == want, files


def test_lists_of_label_files_and_configurations(batchfeed, write):
    """A list that a configuration names is a list like any other; so is what it includes."""
    write("f.ctf", "0 |f 1\n0 |f 2\n")
    write("l.ctf", "0 |l 1:1\n0 |l 0:1\n")
    assert batchfeed("convert", "f.ctf", "f.scp").code == batchfeed("convert", "l.ctf", "l.mlf").code == 0
    config = ("reader = [ readerType = HTKDeserializers ; f = [ dim = 1 ; scpFile = f.scp ]\n"
              "l = [ labelDim = 2 ; mlfFileList = list ] ]\n")
    write("x.cntk", config)
    write("list", "l.mlf\n")
    want = batchfeed("read", "x.cntk")
    assert want.code == 0, want.err
    for written in (gzip.compress(b"l.mlf\n"), b"\xef\xbb\xbfl.mlf\r\n"):
        write("list", written)
        assert batchfeed("read", "x.cntk").out == want.out
    write("packed.cntk", gzip.compress(config.encode()))
    assert batchfeed("read", "packed.cntk").out == want.out
    write("list", gzip.compress(b"l.mlf\n")[:-9])
    assert batchfeed("read", "x.cntk").err.startswith("x.cntk:2:36: ")


def test_a_compressed_pipe_is_unpacked(batchfeed, compressed):
    plain = (batchfeed.folder / "plain.ctf").read_bytes()
    want = batchfeed("check", "-", stdin=plain)
    assert want.code == 0 and "no fault" in want.out
    for name in compressed:
        done = batchfeed("check", "-", stdin=(batchfeed.folder / name).read_bytes())
        assert (done.code, done.out, done.err) == (0, want.out, ""), name


def test_damage_in_a_compressed_pipe_has_its_place(batchfeed):
    plain = text().encode() * 60  # more than is looked at before anything is told
    broken = plain[:plain.rindex(b"\n", 0, -100) + 1] + b"9 |v x |t 1:1\n"
    done = batchfeed("check", "-", stdin=gzip.compress(broken))
    assert done.code == 1 and done.out == batchfeed("check", "-", stdin=broken).out
    done = batchfeed("check", "-", "--json", stdin=gzip.compress(plain)[:-20])
    assert done.code == 1 and not done.json["complete"]
    assert done.json["by_id"]["compressed.truncated"] == 1
    done = batchfeed("check", "-", stdin=gzip.compress(text().encode())[:-20])  # of so little nothing is known yet
    assert done.code == 1 and "ends in the middle" in done.out
    done = batchfeed("check", "-", stdin=b"\x28\xb5\x2f\xfd rest")
    assert done.code == 1 and "zstd" in done.out


def test_a_compressed_pipe_may_not_hold_one_line_without_end(batchfeed):
    bomb = gzip.compress(b"0 |a 1\n1 |a " + b"1 " * (40 << 20))
    done = batchfeed("check", "-", "--json", stdin=bomb)
    assert done.code == 1 and not done.json["complete"]
    fault = next(n for n in done.json["findings"] if n["id"] == "limit.line")
    assert fault["byte"] == 7 and "unpack it first" in fault["hint"]


def test_limits_of_compressed_files_can_be_set(batchfeed, write):
    write("a.ctf.gz", gzip.compress(text().encode()))
    for command in ("info", "head", "check", "stats", "read"):
        done = batchfeed(command, "a.ctf.gz", "--unpacked-bytes", "10K", *(["--from", 10**6] if command == "head" else []))
        assert done.code in (1, 3) and "unpacked_bytes" in done.err + done.out, command
    assert batchfeed("read", "a.ctf.gz", "--unpacked-bytes", "1G", "--unpack-ratio", 10, "--unpack-window-bytes", "8M").code == 0
    # As the message about them says.
    assert batchfeed("read", "a.ctf.gz", "--unpacked-bytes", "10K", "--raise", "unpacked_bytes=10000000").code == 0


def test_info_of_a_compressed_file_is_that_of_the_plain_one(batchfeed, compressed):
    def about(name):
        report = batchfeed("info", name, "--json").json
        assert "memory:" not in json.dumps(report)
        return {k: v for k, v in report.items() if k not in ("files", "indexes", "reader_section")}

    for name in compressed:
        assert about(name) == about("plain.ctf")


def bytes_read(folder, *arguments):
    """What the command asks the system for, which knows it until the process is reaped."""
    with subprocess.Popen([BINARY, *arguments], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        os.waitid(os.P_PID, running.pid, os.WEXITED | os.WNOWAIT)
        return int(pathlib.Path(f"/proc/{running.pid}/io").read_text().split()[1])


@pytest.mark.parametrize("command", ["info", "stats", "schema", "report", "grep", "sample"])
def test_who_looks_at_a_small_file_unpacks_it_once(batchfeed, write, command):
    lines = "".join(f"{key} |v {key * 7919 % 10007} {key * 104729 % 1000003}\n" for key in range(150_000))
    write("a.ctf.gz", gzip.compress(lines.encode(), 1))
    more = {"grep": ("--value", "v > 0", "--count"), "sample": ("-n", "5")}.get(command, ())
    size = (batchfeed.folder / "a.ctf.gz").stat().st_size
    alone = bytes_read(batchfeed.folder, "version")
    assert size > 1_000_000
    # Once, and its beginning to see what it is.
    assert size <= bytes_read(batchfeed.folder, command, "a.ctf.gz", *more) - alone < 1.4 * size


def test_a_small_file_takes_little_memory(batchfeed, write, compressed):
    """`info` looks at up to 256 MiB of what a file unpacks to, but asks only for what there is."""
    for name in compressed:
        done = subprocess.run(["sh", "-c", 'ulimit -v 250000; exec "$0" info "$1"', BINARY, name], cwd=batchfeed.folder, capture_output=True)
        assert done.returncode == 0, done.stderr


@zstd_program
def test_bench_tells_unpacking_by_the_files_content(batchfeed, write):
    skippable = struct.pack("<II", 0x184D2A53, 5) + b"notes"
    for name, data in {"a.zst": skippable + zstd(text().encode()), "b.gz": gzip.compress(text().encode())}.items():
        write(name, data)
        done = batchfeed("bench", name)
        assert done.code == 0
        assert "unpack and parse" in done.out
    write("a.zst", text().encode())
    assert "unpack" not in batchfeed("bench", "a.zst").out


def test_a_window_that_is_allowed_is_for_every_look_at_a_file(batchfeed, write):
    text = b"0 |v 1 2\n1 |v 3 4\n"
    write("a.ctf", text)
    # A frame that asks for a window of 256 MiB, with one block that is stored.
    write("a.ctf.zst", b"\x28\xb5\x2f\xfd\x00\x90" + struct.pack("<I", len(text) << 3 | 1)[:3] + text)
    refused = batchfeed("diff", "a.ctf", "a.ctf.zst")
    assert refused.code == 3 and "needs a window of more than 134217728 bytes" in refused.err
    for allowed in (("--unpack-window-bytes", "1G"), ("--raise", "unpack_window_bytes=1073741824")):
        assert batchfeed("diff", "a.ctf", "a.ctf.zst", *allowed).code == 0
        assert "it is compressed; hint: mend the unpacked file" in batchfeed("check", "a.ctf.zst", "--fix", "b.ctf", *allowed).err
