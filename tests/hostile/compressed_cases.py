# SPDX-License-Identifier: MIT
"""Hostile compressed files, entered among those of make_hostile.py: `add(name, outcome, words, write)`."""
import struct

from corpus import CTF, cbf, ctf_config
from compressed import MAGIC, block, gz, gz_of_zeros, seek_table, seekable, skippable, zst, zst_of_one_byte

LONG = b"".join(b"%d |a 1 2 |b 0:1\n" % i for i in range(5000))
MAX32 = 0xFFFFFFFF


def of_long_ids(folder):
    """Text keys of 4 KB each, which all differ and pack well."""
    (folder / "data.ctf").write_bytes(gz(b"".join(b"%s%d |a 1 2 |b 0:1\n" % (b"k" * 4000, i) for i in range(40_000))))
    (folder / "config.cntk").write_text(ctf_config(extra="useNumericSequenceKeys = false ;"))


def enter(add, ctf, binary, speech, kaldi_scp):
    add("valid_gz", "ok", "", ctf(gz(CTF)))
    add("valid_gz_of_two_members", "ok", "", ctf(gz(LONG[:3000]) + gz(LONG[3000:])))
    add("valid_zst", "ok", "", ctf(zst(CTF)))
    add("valid_zst_seekable", "ok", "", ctf(seekable(LONG, 10_000)))
    add("valid_zst_seekable_with_checksums", "ok", "", ctf(seekable(LONG, 10_000, descriptor=0x80)))
    add("valid_cbf_zst", "ok", "", binary(zst(cbf())))

    # --- gzip ---
    add("gz_header_alone", "format", "", ctf(gz(CTF)[:10]))
    add("gz_cut", "format", "", ctf(gz(LONG)[:-100]))
    add("gz_cut_in_the_checksum", "format", "", ctf(gz(LONG)[:-5]))
    add("gz_checksum_wrong", "format", "", ctf(gz(LONG, crc=1)))
    add("gz_size_wrong", "format", "", ctf(gz(LONG, size=1)))
    add("gz_second_member_damaged", "format", "", ctf(gz(LONG) + gz(LONG, crc=1)))
    add("gz_text_behind_it", "format", "", ctf(gz(CTF) + CTF))
    add("gz_zeros_behind_it", "ok", "", ctf(gz(CTF) + b"\0" * 100_000))
    add("gz_reserved_flags", "format", "", ctf(gz(CTF, flags=0xE0)))
    add("gz_name_without_end", "format", "", ctf(gz(CTF, flags=8, extra=b"n" * 100_000)[:50_000]))
    add("gz_extra_field_beyond_the_end", "format", "", ctf(gz(CTF, flags=4, extra=b"\xff\xff")))
    add("gz_a_hundred_thousand_empty_members", "either", "", ctf(gz(b"") * 100_000 + gz(CTF)))
    add("gz_nothing_inside", "format", "", ctf(gz(b"")))
    add("gz_of_gz", "format", "", ctf(gz(gz(LONG))))
    add("gz_of_zeros", "limit", "unpack_held_ratio", ctf(gz_of_zeros(256)))
    add("gz_of_a_hundred_mebibyte_of_short_lines", "limit", "unpack_held_ratio", ctf(gz(b"|a 1\n" * (20 << 20))))
    add("gz_of_an_scp_of_alike_lines", "limit", "unpack_held_ratio", speech(scp=gz(b"u.feat=u.htk[0,0]\n" * (3 << 20))))
    add("gz_of_an_scp_of_files_that_are_not_there", "either", "", speech(scp=gz(b"".join(b"%d=%d[0,0]\n" % (i, i) for i in range(300_000)))))
    add("gz_of_a_kaldi_scp_of_alike_lines", "limit", "unpack_held_ratio", kaldi_scp(gz(b"u u.bin\n" * (3 << 20))))
    add("gz_of_an_mlf_of_alike_utterances", "limit", "unpack_held_ratio", speech(mlf=gz(b"#!MLF!#\n" + b'"u"\n0 100000 s0\n.\n' * (2 << 20))))
    add("gz_of_an_mlf_of_many_utterances", "either", "", speech(mlf=gz(b"#!MLF!#\n" + b"".join(b'"%d"\n0 100000 s0\n.\n' % i for i in range(1_000_000)))))
    blanks, labels = gz((b" " * 1023 + b"\n") * 1024) * 450, b"0 200000 s0\n200000 400000 s1\n"
    add("gz_of_an_mlf_of_blank_lines_in_an_utterance", "limit", "unpack_held_ratio", speech(mlf=gz(b'#!MLF!#\n"u.lab"\n' + labels) + blanks + gz(b".\n")))
    add("gz_of_an_mlf_of_blank_lines_between_utterances", "ok", "", speech(mlf=gz(b'#!MLF!#\n"u.lab"\n' + labels + b".\n") + blanks + gz(b'"v.lab"\n' + labels + b".\n")))
    add("gz_of_ids_that_are_long", "either", "", of_long_ids)
    add("gz_block_of_a_kind_that_means_nothing", "format", "", ctf(b"\x1f\x8b\x08" + b"\0" * 7 + b"\x07" * 100))
    add("cbf_gz_cut", "format", "", binary(gz(cbf() * 10)[:-20]))

    # --- zstd ---
    add("zst_magic_alone", "format", "", ctf(MAGIC))
    add("zst_cut", "format", "", ctf(zst(LONG)[:-1]))
    add("zst_without_a_last_block", "format", "", ctf(zst(blocks=[block(0, len(CTF), CTF)])))
    add("zst_block_of_a_kind_that_means_nothing", "format", "", ctf(zst(blocks=[block(3, 5, b"12345", last=True)])))
    add("zst_block_beyond_the_end", "format", "", ctf(zst(blocks=[block(0, (1 << 17) - 1, CTF, last=True)])))
    add("zst_block_of_two_mebibyte", "format", "", ctf(zst(blocks=[block(1, (1 << 21) - 1, b"0", last=True)])))
    add("zst_compressed_block_of_noise", "format", "", ctf(zst(blocks=[block(2, 1000, bytes(i * 197 % 256 for i in range(1000)), last=True)])))
    add("zst_with_a_dictionary", "format", "", ctf(zst(CTF, flags=1, head=b"\x07")))
    add("zst_content_size_max", "either", "", ctf(zst(CTF, flags=0xC0, head=b"\xff" * 8)))
    add("zst_content_size_of_nothing", "format", "", ctf(zst(CTF, flags=0xC0, head=b"\0" * 8)))
    add("zst_reserved_bit", "format", "", ctf(zst(CTF, flags=8)))
    add("zst_checksum_that_is_missing", "format", "", ctf(zst(CTF, flags=4)))
    add("zst_window_of_a_tebibyte", "limit", "unpack_window_bytes", ctf(zst(CTF, window_log=41)))
    add("zst_window_of_128_mebibyte", "either", "", ctf(zst(LONG, window_log=27) * 20))
    add("zst_text_behind_it", "format", "", ctf(zst(CTF) + CTF))
    add("zst_gz_behind_it", "format", "", ctf(zst(CTF) + gz(CTF)))
    add("zst_a_hundred_thousand_empty_frames", "either", "", ctf(zst(b"") * 100_000 + zst(CTF)))
    add("zst_a_hundred_thousand_skippable_frames", "either", "", ctf(zst(CTF) + skippable(b"") * 100_000))
    add("zst_skippable_beyond_the_end", "format", "", ctf(zst(CTF) + skippable(b"x", size=MAX32)))
    add("zst_of_128_gibibyte_in_4_mebibyte", "limit", "unpack_ratio", ctf(zst_of_one_byte(1 << 20)))
    add("zst_of_one_line_of_60_mebibyte", "format", "", ctf(zst_of_one_byte(480, b"1")))

    # --- seek tables ---
    first = lambda size: lambda frames: [size(*frames[0]), *frames[1:]]
    add("seek_table_frames_max", "format", "", ctf(seekable(LONG, 10_000, count=MAX32)))
    add("seek_table_frames_wrap", "format", "", ctf(seekable(LONG, 10_000, count=0x20000000)))
    add("seek_table_one_frame_more", "format", "", ctf(seekable(LONG, 10_000, lambda frames: frames + [(0, 100)])))
    add("seek_table_one_frame_less", "ok", "", ctf(seekable(LONG, 10_000, lambda frames: frames[:-1])))
    add("seek_table_of_no_frame", "ok", "", ctf(seekable(LONG, 10_000, lambda frames: [])))
    add("seek_table_bits_that_mean_nothing", "format", "", ctf(seekable(LONG, 10_000, descriptor=4)))
    add("seek_table_size_of_its_own_wrong", "format", "", ctf(seekable(LONG, 10_000, size=MAX32)))
    add("seek_table_unpacked_one_more", "format", "", ctf(seekable(LONG, 10_000, first(lambda p, u: (p, u + 1)))))
    add("seek_table_unpacked_one_less", "format", "", ctf(seekable(LONG, 10_000, first(lambda p, u: (p, u - 1)))))
    add("seek_table_unpacked_none", "format", "", ctf(seekable(LONG, 10_000, lambda frames: [(p, 0) for p, _ in frames])))
    add("seek_table_unpacked_max", "either", "", ctf(seekable(LONG, 10_000, lambda frames: [(p, MAX32) for p, _ in frames])))
    add("seek_table_frames_shifted", "format", "", ctf(seekable(LONG, 10_000, lambda frames: [(frames[0][0] + 1, frames[0][1]), (frames[1][0] - 1, frames[1][1]), *frames[2:]])))
    add("seek_table_all_in_the_first", "format", "", ctf(seekable(LONG, 10_000, lambda frames: [(sum(p for p, _ in frames), frames[0][1])] + [(0, u) for _, u in frames[1:]])))
    add("seek_table_of_lengths_that_cancel", "format", "", ctf(seekable(LONG, 10_000, lambda frames: [(frames[0][0], frames[0][1] + 7), (frames[1][0], frames[1][1] - 7), *frames[2:]])))
    add("seek_table_a_million_frames_of_nothing", "either", "", ctf(zst(CTF) + seek_table([(len(zst(CTF)), len(CTF))] + [(0, 0)] * 1_000_000)))
    add("seek_table_alone", "format", "", ctf(seek_table([])))
    add("seek_table_inside_a_skippable_frame", "either", "", ctf(zst(CTF) + skippable(struct.pack("<IBI", 1, 0, 0x8F92EAB1))))
    add("cbf_seek_table_unpacked_one_less", "format", "", binary(seekable(cbf(), 30, first(lambda p, u: (p, u - 1)))))
