# SPDX-License-Identifier: MIT
"""Hostile numbers, files and lists that once were taken wrongly or without a word, entered among those of
make_hostile.py: `add(name, outcome, words, write)`."""
import os
import struct

from corpus import CTF, MLF, SCP, cbf, cbf_config, ctf_config, htk, kaldi_matrix, speech_config
from compressed import gz

TEBIBYTE = 1 << 40


def sparse(name, data, config=None, size=TEBIBYTE):
    """A file that begins with `data` and takes no more of the disk, whatever its size."""
    def write(folder):
        (folder / name).write_bytes(data)
        os.truncate(folder / name, size)
        if config is not None:
            (folder / "config.cntk").write_text(config)
    return write


def sparse_htk(dim):
    """As many frames as a header can count, and they are there."""
    def write(folder):
        sparse("u.htk", struct.pack(">iihH", (1 << 31) - 1, 100000, 4 * dim, 9), speech_config(dim=dim))(folder)
        (folder / "data.scp").write_bytes(b"u=u.htk[0,2147483646]\n")
    return write


def sparse_kaldi(cols):
    def write(folder):
        sparse("u.bin", kaldi_matrix(rows=(1 << 31) - 1, cols=cols))(folder)
        (folder / "data.scp").write_bytes(b"u u.bin:0\n")
    return write


def links_in_a_ring(folder):
    (folder / "data.scp").write_bytes(b"u=a/u.htk[0,3]\n")
    (folder / "config.cntk").write_text(speech_config())
    os.symlink("b", folder / "a")
    os.symlink("a", folder / "b")


def sixty_links(folder):
    (folder / "data.scp").write_bytes(b"u=l0[0,3]\n")
    (folder / "config.cntk").write_text(speech_config())
    (folder / "l60").write_bytes(htk())
    for i in range(60):
        os.symlink(f"l{i + 1}", folder / f"l{i}")


def compressed(scale=1.0, offset=0.0, kind=9 | 0x400, behind=b""):
    """Four frames of three values in 16 bits."""
    body = struct.pack(">3f", *[scale] * 3) + struct.pack(">3f", *[offset] * 3) + struct.pack(">12h", *range(12))
    return struct.pack(">iihH", 8, 100000, 6, kind) + body + behind


def enter(add, ctf, config, speech, kaldi_scp):
    # Rows that are as long as the configuration says, whatever there is to fill them.
    for name, length in (("2_to_the_31", 1 << 31), ("2_to_the_32", 1 << 32), ("2_to_the_32_and_2", (1 << 32) + 2), ("2_to_the_64", (1 << 64) - 1)):
        add(f"truncation_of_{name}", "either", "", ctf(CTF, extra=f"truncated = true ; truncationLength = {length} ;"))
    add("truncation_of_a_million", "ok", "", ctf(CTF, extra="truncated = true ; truncationLength = 1000000 ;"))

    # Files that are larger than what is in them, and smaller.
    add("cbf_of_a_tebibyte_of_zeros", "format", "", sparse("data.cbf", cbf(), cbf_config()))
    add("gz_with_a_tebibyte_of_zeros_behind_it", "format", "something else behind", sparse("data.ctf", gz(CTF), ctf_config()))
    add("htk_of_a_tebibyte", "limit", "chunk_values", sparse_htk(128))
    add("htk_of_all_frames_of_a_header", "limit", "no memory", sparse_htk(1))
    add("kaldi_matrix_of_a_tebibyte", "limit", "chunk_values", sparse_kaldi(100))
    add("kaldi_matrix_of_as_many_values_as_a_chunk_may_have", "limit", "no memory", sparse_kaldi(2))
    for name in ("status", "maps", "mounts", "environ"):
        add(f"ctf_is_proc_self_{name}", "io", "no bytes", config(ctf_config(f"/proc/self/{name}")))
    add("ctf_is_proc_self_mem", "io", "", config(ctf_config("/proc/self/mem")))
    add("ctf_is_dev_full", "io", "", config(ctf_config("/dev/full")))
    add("config_includes_proc_self_environ", "io", "no bytes", config("include=/proc/self/environ\n" + ctf_config()))
    add("scp_leads_to_proc_self_status", "io", "no bytes", speech(scp=b"u=/proc/self/status[0,3]\n"))
    add("scp_leads_through_links_in_a_ring", "io", "", links_in_a_ring)
    add("scp_leads_through_sixty_links", "io", "", sixty_links)

    # Lists in the encoding of another system.
    for encoding in ("utf-16-le", "utf-16-be"):
        mark = "\ufeff".encode(encoding)
        add(f"scp_{encoding.replace('-', '_')}", "format", "UTF-16", speech(scp=mark + SCP.decode().encode(encoding)))
        add(f"mlf_{encoding.replace('-', '_')}", "format", "UTF-16", speech(mlf=mark + MLF.decode().encode(encoding)))
        add(f"kaldi_scp_{encoding.replace('-', '_')}", "format", "UTF-16", kaldi_scp(mark + "u u.bin:0\n".encode(encoding)))
    add("kaldi_scp_offset_into_an_object", "format", "is not an integer", kaldi_scp(b"u u.bin:3\n"))

    # Numbers at the edges of what counts them.
    for name, last in (("2_to_the_31", 1 << 31), ("2_to_the_32", 1 << 32), ("2_to_the_63", 1 << 63), ("2_to_the_64", 1 << 64)):
        kind = "limit" if last == 1 << 31 else "format"
        add(f"scp_range_up_to_{name}", kind, "", speech(scp=b"u=u.htk[0,%d]\n" % last))
        add(f"ctf_index_of_{name}", "format", "not below dim", ctf(b"0 |a 1 2 |b %d:1\n" % last))
        add(f"ctf_index_of_{name}_and_4", "format", "not below dim", ctf(b"0 |a 1 2 |b %d:1\n" % (last + 4)))
        add(f"mlf_time_of_{name}_frames", kind, "", speech(mlf=MLF.replace(b"400000 s1", b"%d s1" % (last * 100000))))
    for number in ("1e400", "-1e400", "1e-400", "4.9e-324", "7.006492321624085e-46", "3.4028235677973366e38", "-0"):
        add(f"ctf_number_{number}", "ok", "", ctf(f"0 |a {number} 2 |b 0:{number}\n".encode()))
    for number in ("0x1p3", "1_000", "1'000", "--1", "+-1", "1e", "1e+", ".", "e5", "1d3", "\u0665", "\u22121", "1.5.2", "1e5e5", "infinity", "nan(1)"):
        add(f"ctf_number_{number.encode().hex()}", "format", "", ctf(f"0 |a {number} 2 |b 0:1\n".encode()))
    for scale in (0.0, float("nan"), float("inf"), 1e-45, -1.0):
        add(f"htk_compressed_by_{scale}", "ok", "", speech(compressed(scale)))
    add("htk_compressed_with_its_checksum", "ok", "", speech(compressed(kind=9 | 0x1400, behind=b"\x12\x34")))
    add("htk_compressed_with_half_a_checksum", "ok", "", speech(compressed(kind=9 | 0x1400, behind=b"\x12")))
    add("htk_of_every_qualifier", "format", "base kind 63", speech(htk(kind=0xFFFF)))
    add("htk_vector_quantised", "format", "_V", speech(htk(kind=9 | 0x4000)))
    add("htk_with_more_frames_than_it_counts", "ok", "", speech(htk(frames=10, count=4)))
