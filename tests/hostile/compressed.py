# SPDX-License-Identifier: MIT
"""Building blocks of hostile compressed files: gzip members and zstd frames, written byte by byte."""
import gzip
import struct
import zlib

MAGIC, SKIPPABLE, SEEKABLE = b"\x28\xb5\x2f\xfd", 0x184D2A50, 0x8F92EAB1


def gz(data, **change):
    """A member; crc and size as told."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    body = packer.compress(data) + packer.flush()
    crc, size = change.get("crc", zlib.crc32(data)), change.get("size", len(data) & 0xFFFFFFFF)
    return b"\x1f\x8b" + bytes([8, change.get("flags", 0)]) + b"\0" * 4 + b"\0\xff" + change.get("extra", b"") + body + struct.pack("<II", crc, size)


def gz_of_zeros(mebibytes):
    return gzip.compress(b"\0" * (mebibytes << 20), 9)


def block(kind, size, data, last=False):
    """kind 0: as it is, 1: one byte, many times, 2: compressed, 3: means nothing."""
    return struct.pack("<I", int(last) | kind << 1 | size << 3)[:3] + data


def zst(data=None, blocks=None, window_log=20, flags=0, head=b""):
    """A frame of one plain block, or of these."""
    parts = blocks if blocks is not None else [block(0, len(data), data, last=True)]
    return MAGIC + bytes([flags, (window_log - 10) << 3]) + head + b"".join(parts)


def zst_of_one_byte(kibibytes_128, byte=b"\0"):
    """Four bytes for each 128 KiB."""
    return zst(blocks=[block(1, 128 << 10, byte)] * (kibibytes_128 - 1) + [block(1, 128 << 10, byte, last=True)], window_log=17)


def skippable(data, size=None):
    return struct.pack("<II", SKIPPABLE, len(data) if size is None else size) + data


def seek_table(frames, count=None, descriptor=0, size=None):
    """frames: (compressed bytes, unpacked bytes)."""
    entries = b"".join(struct.pack("<II", *f) + (b"\0" * 4 if descriptor & 0x80 else b"") for f in frames)
    footer = struct.pack("<IBI", len(frames) if count is None else count, descriptor, SEEKABLE)
    return struct.pack("<II", SKIPPABLE | 0xE, len(entries) + 9 if size is None else size) + entries + footer


def seekable(data, each, change=lambda frames: frames, **how):
    """Frames of so many bytes and their table, of which sizes may be changed."""
    parts = [data[at : at + each] for at in range(0, len(data), each)]
    frames = [zst(part) for part in parts]
    return b"".join(frames) + seek_table(change([(len(f), len(p)) for f, p in zip(frames, parts)]), **how)
