#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hostile inputs, each with the outcome that is due.

    make_hostile.py FOLDER [NAME]...    writes the inputs, a folder for each

A case is one function. It writes files into its folder; `config.cntk`, or where
there is none `data.*`, is what `batchfeed read` is called with. Its outcome: the kind of the fault, "ok" (reads
it), "passed over" (reads it, and `check` finds faults), or "either" (reads it or ends with a located fault); then words of
the message.
"""
import os
import pathlib
import struct
import sys

from corpus import (CTF, MLF, SCP, STATES, cbf, cbf_config, cbf_stream, ctf_config, dense_sequence, htk, kaldi_integers, kaldi_matrix,
                    mlf_binary, mlf_utterance, sparse_sequence, speech_config)
import costly_cases
import odd_cases
import compressed_cases
from compressed import gz

CASES = {}
MAX32, MAX64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF


def case(outcome, words=""):
    def enter(function):
        CASES[function.__name__] = (function, outcome, words)
        return function
    return enter


def put(folder, name, data):
    (folder / name).write_bytes(data.encode() if isinstance(data, str) else data)


def ctf(data, **options):
    def write(folder):
        put(folder, "data.ctf", data)
        put(folder, "config.cntk", ctf_config(**options))
    return write


def config(text):
    def write(folder):
        put(folder, "data.ctf", CTF)
        put(folder, "config.cntk", text)
    return write


def binary(data):
    def write(folder):
        put(folder, "data.cbf", data)
        put(folder, "config.cntk", cbf_config())
    return write


def speech(htk_bytes=None, scp=SCP, mlf=None, states=STATES, **options):
    def write(folder):
        put(folder, "u.htk", htk() if htk_bytes is None else htk_bytes)
        put(folder, "data.scp", scp)
        put(folder, "states.list", states)
        if mlf is not None:
            put(folder, "labels.mlf", mlf)
            options["mlf"] = "labels.mlf"
        put(folder, "config.cntk", speech_config(**options))
    return write


def add(name, outcome, words, write):
    """One line a case, where a function would say no more."""
    CASES[name] = (write, outcome, words)


# Valid, so that the others fail for their own reason.
add("valid_ctf", "ok", "", ctf(CTF))
add("valid_cbf", "ok", "", binary(cbf()))
add("valid_cbf_sparse", "ok", "", binary(cbf([([2], sparse_sequence([1, 2], [0, 1, 4]))], [cbf_stream(1, b"s", dim=5)])))
add("valid_speech", "ok", "", speech(mlf=MLF))

# --- text ---
add("ctf_empty", "format", "", ctf(b""))
add("ctf_only_newlines", "format", "", ctf(b"\n" * 1_000_000))
add("ctf_only_bars", "format", "", ctf(b"|" * 1_000_000 + b"\n"))
add("ctf_only_blanks", "format", "", ctf(b" " * 1_000_000))
add("ctf_only_carriage_returns", "format", "", ctf(b"\r" * 1_000_000))
add("ctf_nul_bytes", "format", "", ctf(b"\0" * 65536))
add("ctf_nul_in_a_number", "format", "", ctf(b"0 |a 1\x002 |b 0:1\n"))
add("ctf_random_bytes", "format", "", ctf(bytes((i * 197 + i // 7) % 256 for i in range(65536))))
add("ctf_utf16", "format", "", ctf(CTF.decode().encode("utf-16")))
add("ctf_invalid_utf8_name", "either", "", ctf(b"0 |\xff\xfe 1 2 |a 1 2 |b 0:1\n"))
add("ctf_name_of_a_mebibyte", "either", "", ctf(b"0 |" + b"n" * (1 << 20) + b" 1 |a 1 2 |b 0:1\n"))
add("ctf_line_of_32_mebibyte", "format", "", ctf(b"0 |a " + b"1 " * (16 << 20) + b"\n"))
add("ctf_a_million_streams_in_a_line", "either", "", ctf(b"0 " + b"|a 1 2 " * 1_000_000 + b"\n"))
add("ctf_comment_without_end", "either", "", ctf(b"0 |a 1 2 |b 0:1 |# " + b"x" * (1 << 20)))
add("ctf_id_above_64_bits", "format", "", ctf(b"18446744073709551616 |a 1 2 |b 0:1\n"))
add("ctf_id_of_a_million_digits", "format", "", ctf(b"9" * 1_000_000 + b" |a 1 2 |b 0:1\n"))
add("ctf_id_negative", "format", "", ctf(b"-1 |a 1 2 |b 0:1\n"))
add("ctf_index_is_dim", "format", "", ctf(b"0 |a 1 2 |b 5:1\n"))
add("ctf_index_negative", "format", "", ctf(b"0 |a 1 2 |b -1:1\n"))
add("ctf_index_wraps_32_bits", "format", "", ctf(b"0 |a 1 2 |b 4294967297:1\n"))
add("ctf_index_wraps_64_bits", "format", "", ctf(b"0 |a 1 2 |b 18446744073709551617:1\n"))
add("ctf_index_without_value", "format", "", ctf(b"0 |a 1 2 |b 1:\n"))
add("ctf_value_without_index", "format", "", ctf(b"0 |a 1 2 |b :1\n"))
add("ctf_number_overflows", "either", "", ctf(b"0 |a 1e999999999 2 |b 0:1\n"))
add("ctf_number_underflows", "either", "", ctf(b"0 |a 1e-999999999 2 |b 0:1\n"))
add("ctf_exponent_of_a_million_digits", "either", "", ctf(b"0 |a 1e" + b"9" * 1_000_000 + b" 2 |b 0:1\n"))
add("ctf_number_of_a_million_digits", "either", "", ctf(b"0 |a 0." + b"3" * 1_000_000 + b" 2 |b 0:1\n"))
add("ctf_number_nan", "either", "", ctf(b"0 |a nan 2 |b 0:1\n"))
add("ctf_number_hex", "format", "", ctf(b"0 |a 0x1p3 2 |b 0:1\n"))
add("ctf_number_comma", "format", "", ctf(b"0 |a 1,5 2 |b 0:1\n"))
add("ctf_one_value_too_few", "ok", "", ctf(b"0 |a 1 |b 0:1\n"))
add("ctf_one_value_too_many", "format", "", ctf(b"0 |a 1 2 3 |b 0:1\n"))
add("ctf_cut_in_a_number", "either", "", ctf(CTF + b"3 |a 1 2 |b 1:"))
add("ctf_no_known_stream", "format", "", ctf(b"0 |x 1 2 |y 0:1\n"))
add("ctf_budget_spent", "format", "maxErrors", ctf(b"0 |a x |b 0:1\n" * 5, deserializer="maxErrors = 3 ;"))
add("ctf_damage_in_every_line", "either", "", ctf(b"0 |a x |b 0:1\n" * 100_000, deserializer="maxErrors = 1000000 ;"))
add("ctf_dim_that_cannot_be_held", "either", "", ctf(CTF, streams='a = [ dim = 2147483647 ; format = "dense" ]'))
add("ctf_dim_wraps_with_the_element", "either", "", ctf(CTF, streams='a = [ dim = 4611686018427387905 ; format = "dense" ]'))
add("ctf_rows_too_short_by_far", "limit", "implied_samples", ctf(b"".join(b"%d |a 1\n" % i for i in range(20_000)), streams='a = [ dim = 100000 ; format = "dense" ]'))
add("ctf_a_thousand_streams_of_a_million", "ok", "",
    ctf(b"0 " + b" ".join(b"|s%d 999999:1" % i for i in range(1000)) + b"\n", streams=" ; ".join(f's{i} = [ dim = 1000000 ; format = "sparse" ]' for i in range(1000))))
add("ctf_a_thousand_streams_of_which_one_is_there", "limit", "implied_samples",
    ctf(b"".join(b"%d |s0 1\n" % i for i in range(100_000)), deserializer="maxErrors = 1000000 ;", streams=" ; ".join(f's{i} = [ dim = 1 ; format = "dense" ]' for i in range(1000))))


@case("io")
def ctf_is_missing(folder):
    put(folder, "config.cntk", ctf_config())


@case("io", "directory")
def ctf_is_a_directory(folder):
    (folder / "data.ctf").mkdir()
    put(folder, "config.cntk", ctf_config())


@case("io", "not a regular file")
def ctf_is_a_fifo(folder):
    os.mkfifo(folder / "data.ctf")
    put(folder, "config.cntk", ctf_config())


@case("io", "not a regular file")
def ctf_is_dev_zero(folder):
    put(folder, "config.cntk", ctf_config("/dev/zero"))


@case("io")
def ctf_is_dev_stdin(folder):
    put(folder, "config.cntk", ctf_config("/dev/stdin"))


@case("io")
def ctf_is_a_link_to_itself(folder):
    os.symlink("data.ctf", folder / "data.ctf")
    put(folder, "config.cntk", ctf_config())


@case("either")
def ctf_is_a_sparse_giant(folder):
    put(folder, "data.ctf", CTF)
    os.truncate(folder / "data.ctf", (1 << 30) + (1 << 24))
    put(folder, "config.cntk", ctf_config())


add("ctf_path_is_a_command", "io", "", config(ctf_config("cat data.ctf |")))
add("ctf_path_of_ten_thousand_bytes", "io", "", config(ctf_config("x" * 10_000)))
add("ctf_path_is_a_url", "io", "", config(ctf_config("http://example.org/data.ctf")))

# --- configuration ---
add("config_empty", "config", "", config(""))
add("config_nul_bytes", "config", "", config(b"\0" * 4096))
add("config_utf16", "config", "UTF-16", config(ctf_config().encode("utf-16")))
add("config_unclosed_quote", "config", "", config(ctf_config().replace('"data.ctf"', '"data.ctf')))
add("config_unclosed_bracket", "config", "", config(ctf_config().rstrip().rstrip("]")))
add("config_closes_too_much", "either", "", config("]" * 1000 + ctf_config()))
add("config_a_hundred_thousand_brackets", "either", "", config("a=" + "[b=" * 100_000))
add("config_closed_deep_brackets", "either", "", config("a=" + "[b=" * 50_000 + "1" + "]" * 50_000 + "\n" + ctf_config()))
add("config_deep_parentheses", "either", "", config(ctf_config().replace("( [", "(" * 50_000 + "[").replace("] )", "]" + ")" * 50_000)))
add("config_variable_of_itself", "config", "", config('a = "$a$"\n' + ctf_config("$a$")))
add("config_variables_in_a_ring", "config", "", config('a = "$b$"\nb = "$c$"\nc = "$a$"\n' + ctf_config("$a$")))
add("config_billion_laughs", "either", "", config('l0 = "haha"\n' + "".join(f'l{i} = "' + f"$l{i - 1}$" * 10 + '"\n' for i in range(1, 12)) + ctf_config("$l11$")))
add("config_includes_itself", "either", "", config("include=config.cntk\n" + ctf_config()))
add("config_includes_dev_zero", "io", "", config("include=/dev/zero\n" + ctf_config()))
add("config_includes_a_missing_file", "io", "", config("include=missing.cntk\n" + ctf_config()))
add("config_dim_zero", "either", "", config(ctf_config(streams='a = [ dim = 0 ; format = "dense" ]')))
add("config_dim_negative", "either", "", config(ctf_config(streams='a = [ dim = -1 ; format = "dense" ]')))
add("config_dim_of_words", "config", "", config(ctf_config(streams='a = [ dim = many ; format = "dense" ]')))
add("config_ten_thousand_streams", "either", "", config(ctf_config(streams=" ; ".join(f's{i} = [ dim = 1 ; format = "dense" ]' for i in range(10_000)))))
add("config_array_of_a_billion", "either", "", config("x = 1*1000000000\n" + ctf_config()))
add("config_key_twice", "ok", "", config(ctf_config(extra="frameMode = false ; frameMode = false ;")))
add("config_window_of_2_to_the_64", "either", "", config(ctf_config(extra="randomizationWindow = 18446744073709551615 ;").replace("randomize = false", "randomize = true")))
add("config_chunk_of_no_bytes", "either", "", config(ctf_config(deserializer="chunkSizeInBytes = 0 ;")))


@case("either")
def config_includes_in_a_ring(folder):
    put(folder, "data.ctf", CTF)
    put(folder, "config.cntk", "include=other.cntk\n" + ctf_config())
    put(folder, "other.cntk", "include=config.cntk\n")


@case("either")
def config_includes_a_thousand(folder):
    put(folder, "data.ctf", CTF)
    put(folder, "config.cntk", "include=f0.cntk\n" + ctf_config())
    for i in range(1000):
        put(folder, f"f{i}.cntk", f"include=f{i + 1}.cntk\n")
    put(folder, "f1000.cntk", "x=1\n")


@case("limit")
def config_of_20_mebibyte(folder):
    put(folder, "config.cntk", "# padding\n" * (2 << 20) + ctf_config())


@case("io", "not a regular file")
def config_is_a_fifo(folder):
    os.mkfifo(folder / "config.cntk")


# --- binary ---
add("cbf_empty", "format", "", binary(b""))
add("cbf_cut_in_half", "format", "", binary(cbf()[:30]))
add("cbf_only_magic", "format", "", binary(cbf()[:12]))
add("cbf_of_text", "format", "", binary(CTF * 10))
add("cbf_big_endian_magic", "format", "", binary(cbf()[7::-1] + cbf()[8:]))
add("cbf_version_2", "format", "", binary(cbf(version=2)))
add("cbf_version_max", "format", "", binary(cbf(version=MAX32)))
add("cbf_header_offset_negative", "format", "", binary(cbf(header_offset=-1)))
add("cbf_header_offset_smallest", "format", "", binary(cbf(header_offset=-(1 << 63))))
add("cbf_header_offset_beyond", "format", "", binary(cbf(header_offset=1 << 40)))
add("cbf_header_offset_largest", "format", "", binary(cbf(header_offset=(1 << 63) - 1)))
add("cbf_header_offset_zero", "format", "", binary(cbf(header_offset=0)))
add("cbf_header_offset_into_data", "format", "", binary(cbf(header_offset=16)))
add("cbf_header_offset_at_itself", "format", "", binary(cbf(header_offset=len(cbf()) - 8)))
add("cbf_header_magic", "format", "", binary(cbf(header_magic=1)))
add("cbf_chunks_max", "format", "", binary(cbf(chunk_count=MAX32)))
add("cbf_chunks_wrap_to_zero_bytes", "format", "", binary(cbf(chunk_count=0x10000000)))
add("cbf_chunks_one_too_many", "format", "", binary(cbf(chunk_count=2)))
add("cbf_chunks_none", "either", "", binary(cbf(chunk_count=0, rows=[])))
add("cbf_streams_max", "either", "", binary(cbf(stream_count=MAX32)))
add("cbf_streams_none", "format", "", binary(cbf(streams=[], chunks=[([1], b"")])))
add("cbf_name_length_max", "format", "", binary(cbf(streams=[cbf_stream(name_length=MAX32)])))
add("cbf_name_length_just_too_long", "format", "", binary(cbf(streams=[cbf_stream(name_length=64)])))
add("cbf_name_empty", "format", "", binary(cbf(streams=[cbf_stream(name=b"")])))
add("cbf_name_with_nul", "either", "", binary(cbf(streams=[cbf_stream(name=b"x\0y")])))
add("cbf_two_streams_of_one_name", "format", "", binary(cbf([([1], dense_sequence(1) * 2)], [cbf_stream(), cbf_stream()])))
add("cbf_encoding_2", "format", "", binary(cbf(streams=[cbf_stream(encoding=2)])))
add("cbf_element_2", "format", "", binary(cbf(streams=[cbf_stream(element=2)])))
add("cbf_dim_zero", "format", "", binary(cbf(streams=[cbf_stream(dim=0)])))
add("cbf_dim_max", "either", "", binary(cbf(streams=[cbf_stream(dim=MAX32)])))
add("cbf_dim_wraps_with_the_element", "format", "", binary(cbf(streams=[cbf_stream(dim=0x40000001)])))
add("cbf_chunk_offset_negative", "format", "", binary(cbf(rows=[(-5, 2, 3)])))
add("cbf_chunk_offset_beyond", "format", "", binary(cbf(rows=[(1 << 50, 2, 3)])))
add("cbf_chunk_offset_in_the_header", "format", "", binary(cbf(rows=[(len(cbf()) - 20, 2, 3)])))
add("cbf_chunks_descend", "format", "", binary(cbf([([1], dense_sequence(1)), ([1], dense_sequence(1))], rows=[(28, 1, 1), (12, 1, 1)])))
add("cbf_chunks_overlap", "format", "", binary(cbf([([1], dense_sequence(1)), ([1], dense_sequence(1))], rows=[(12, 1, 1), (13, 1, 1)])))
add("cbf_chunks_are_one", "format", "", binary(cbf([([1], dense_sequence(1)), ([1], dense_sequence(1))], rows=[(12, 1, 1), (12, 1, 1)])))
add("cbf_sequences_max", "format", "", binary(cbf(rows=[(12, MAX32, 3)])))
add("cbf_sequences_wrap", "format", "", binary(cbf(rows=[(12, 0x40000000, 3)])))
add("cbf_samples_max_in_the_table", "either", "", binary(cbf(rows=[(12, 2, MAX32)])))
for claimed, outcome in ((3, "ok"), (400_000, "ok"), (MAX32 >> 1, "limit")):
    add(f"cbf_sequence_said_to_have_{claimed}_samples", outcome, "", binary(cbf([([claimed, 1], dense_sequence(2) + dense_sequence(1))])))
add("cbf_sequence_said_to_have_fewer_samples", "ok", "", binary(cbf([([10, 1], dense_sequence(40_000) + dense_sequence(1))])))
add("ctf_rows_lost_of_a_long_sequence", "either", "",
    ctf(b"1 |a 1 2 |b 1:1\n" + b"1 |a 3 x |b 1:1\n" * 100_000, extra="maxErrors = 1000000"))
add("cbf_sample_count_max", "format", "", binary(cbf([([2, 1], dense_sequence(2, count=MAX32) + dense_sequence(1))])))
add("cbf_sample_count_wraps", "format", "", binary(cbf([([2, 1], dense_sequence(2, count=0x20000000) + dense_sequence(1))])))
add("cbf_sample_count_one_more", "format", "", binary(cbf([([2, 1], dense_sequence(2) + dense_sequence(1, count=2))])))
add("cbf_meta_count_max", "either", "", binary(cbf([([MAX32], dense_sequence(2))], rows=[(12, 1, 2)])))
SPARSE = [cbf_stream(1, b"s", dim=5)]
add("cbf_nnz_negative", "format", "", binary(cbf([([1], sparse_sequence([1], [0], nnz=-1))], SPARSE)))
add("cbf_nnz_smallest", "format", "", binary(cbf([([1], sparse_sequence([1], [0], nnz=-(1 << 31)))], SPARSE)))
add("cbf_nnz_max", "format", "", binary(cbf([([1], sparse_sequence([1], [0], nnz=(1 << 31) - 1))], SPARSE)))
add("cbf_index_is_dim", "format", "", binary(cbf([([1], sparse_sequence([1], [5]))], SPARSE)))
add("cbf_index_negative", "format", "", binary(cbf([([1], sparse_sequence([1], [-1]))], SPARSE)))
add("cbf_sizes_do_not_add_up", "format", "", binary(cbf([([1], sparse_sequence([2], [1]))], SPARSE)))
add("cbf_sizes_negative", "format", "", binary(cbf([([2], sparse_sequence([-1, 2], [1]))], SPARSE)))
add("cbf_sizes_wrap", "format", "", binary(cbf([([3], sparse_sequence([(1 << 31) - 1, (1 << 31) - 1, 3], [1]))], SPARSE)))
add("cbf_sparse_samples_max", "format", "", binary(cbf([([1], sparse_sequence([1], [0], samples=MAX32))], SPARSE)))
add("cbf_junk_behind_the_header", "either", "", binary(cbf(tail=b"junk" * 100)))
add("cbf_two_files_in_one", "either", "", binary(cbf() + cbf()))
add("cbf_old_layout_cut", "format", "", binary(struct.pack("<qq", 1, 1)))
add("cbf_old_layout_counts_max", "format", "", binary(struct.pack("<qqII", 1, (1 << 63) - 1, MAX32, MAX32) + b"\0" * 64))

# --- speech ---
add("htk_empty", "format", "", speech(b""))
add("htk_header_only_half", "format", "", speech(htk()[:6]))
add("htk_frames_negative", "either", "", speech(htk(count=-1)))
add("htk_frames_max", "either", "", speech(htk(count=(1 << 31) - 1)))
add("htk_frames_zero", "either", "", speech(htk(count=0)))
add("htk_frames_one_more", "either", "", speech(htk(count=5), scp=b"u.feat=u.htk[0,4]\n"))
add("htk_vector_of_no_bytes", "format", "", speech(htk(size=0)))
add("htk_vector_negative", "format", "", speech(htk(size=-12)))
add("htk_vector_odd", "format", "", speech(htk(size=7)))
add("htk_vector_of_another_dim", "either", "", speech(htk(size=16)))
add("htk_period_zero", "either", "", speech(htk(period=0)))
add("htk_compressed_without_scales", "format", "", speech(htk(frames=1, kind=9 | 0x400, size=6, data=b"\0" * 4)))
add("htk_compressed_count_below_4", "either", "", speech(htk(count=2, kind=9 | 0x400, size=6, data=b"\0" * 48)))
add("htk_checksum_flag_without_one", "either", "", speech(htk(kind=9 | 0x1000)))
add("htk_is_text", "format", "", speech(b"this is not a feature file at all, it only looks long enough" * 10))
add("scp_empty", "either", "", speech(scp=b""))
add("scp_only_newlines", "either", "", speech(scp=b"\n" * 100_000))
add("scp_nul_bytes", "either", "", speech(scp=b"\0" * 4096))
add("scp_leads_to_passwd", "either", "", speech(scp=b"u.feat=../../../../../../../../etc/passwd[0,3]\n"))
add("scp_leads_to_stdin", "io", "", speech(scp=b"u.feat=/dev/stdin[0,3]\n"))
add("scp_leads_to_dev_zero", "io", "", speech(scp=b"u.feat=/dev/zero[0,3]\n"))
add("scp_is_a_command", "either", "", speech(scp=b"u.feat=cat u.htk |[0,3]\n"))
add("scp_is_a_command_in_front", "either", "", speech(scp=b"|touch hacked[0,3]\n"))
add("scp_standard_input", "either", "", speech(scp=b"u.feat=-[0,3]\n"))
add("scp_range_backwards", "format", "", speech(scp=b"u.feat=u.htk[3,0]\n"))
add("scp_range_beyond", "either", "", speech(scp=b"u.feat=u.htk[0,400]\n"))
add("scp_range_max", "either", "", speech(scp=b"u.feat=u.htk[0,4294967295]\n"))
add("scp_range_wraps", "either", "", speech(scp=b"u.feat=u.htk[18446744073709551615,18446744073709551616]\n"))
add("scp_range_negative", "either", "", speech(scp=b"u.feat=u.htk[-1,2]\n"))
add("scp_range_unclosed", "either", "", speech(scp=b"u.feat=u.htk[0,3\n"))
add("scp_range_of_words", "either", "", speech(scp=b"u.feat=u.htk[a,b]\n"))
add("scp_line_of_a_mebibyte", "either", "", speech(scp=b"u.feat=" + b"x" * (1 << 20) + b"[0,3]\n"))
add("scp_same_key_a_thousand_times", "either", "", speech(scp=SCP * 1000))
add("scp_missing_file", "io", "", speech(scp=b"u.feat=missing.htk[0,3]\n"))
add("mlf_empty", "either", "", speech(mlf=b""))
add("mlf_no_header", "either", "", speech(mlf=MLF[8:]))
add("mlf_no_final_dot", "either", "", speech(mlf=MLF[:-2]))
add("mlf_quote_unclosed", "either", "", speech(mlf=MLF.replace(b'lab"', b"lab")))
add("mlf_time_negative", "either", "", speech(mlf=MLF.replace(b"0 200000 s0", b"-1 200000 s0", 1)))
add("mlf_time_nan", "either", "", speech(mlf=MLF.replace(b"0 200000 s0", b"nan 200000 s0", 1)))
add("mlf_time_1e300", "either", "", speech(mlf=MLF.replace(b"400000 s1", b"1e300 s1")))
add("mlf_time_2_to_the_64", "either", "", speech(mlf=MLF.replace(b"400000 s1", b"18446744073709551616 s1")))
add("mlf_time_backwards", "either", "", speech(mlf=MLF.replace(b"200000 400000 s1", b"400000 200000 s1")))
add("mlf_unknown_state", "either", "", speech(mlf=MLF.replace(b"s1", b"s9")))
add("mlf_a_mebibyte_of_quotes", "either", "", speech(mlf=b"#!MLF!#\n" + b'"' * (1 << 20)))
add("mlf_states_utf16", "format", "UTF-16", speech(mlf=MLF, states=STATES.decode().encode("utf-16")))
add("mlf_states_compressed", "format", "gzip", speech(mlf=MLF, states=gz(STATES)))
add("mlf_no_states", "either", "", speech(mlf=MLF, states=b""))
add("mlf_nul_bytes", "either", "", speech(mlf=b"#!MLF!#\n" + b"\0" * 65536))

# --- binary labels and Kaldi files, which need no configuration ---


def alone(name, data):
    return lambda folder: put(folder, name, data)


def kaldi_scp(line):
    def write(folder):
        put(folder, "data.scp", line)
        put(folder, "u.bin", kaldi_matrix())
    return write


def rows_of_a_long_text(folder):
    put(folder, "u.bin", b"u [ " + b"1 2\n" * 300_000 + b"]\n")
    put(folder, "data.scp", b"".join(b"u%d u.bin:2[%d:%d]\n" % (i, i, i) for i in range(10_000)))


def fifo(folder):
    speech()(folder)
    (folder / "u.htk").unlink()
    os.mkfifo(folder / "u.htk")


def symlink_loop(folder):
    speech()(folder)
    (folder / "u.htk").unlink()
    (folder / "u.htk").symlink_to("u.htk")


def line_of_a_gibibyte(folder):
    speech()(folder)
    with open(folder / "data.scp", "wb") as file:
        file.truncate(1 << 30)


U = mlf_utterance(b"u", [(0, 2), (1, 2)])
add("valid_mlf_binary", "ok", "", alone("data.mlf", mlf_binary(U)))
add("mlf_binary_magic_alone", "either", "", alone("data.mlf", b"MLF"))
add("mlf_binary_no_utterance", "either", "", alone("data.mlf", mlf_binary(b"")))
add("mlf_binary_version_3", "format", "version 3", alone("data.mlf", mlf_binary(U, version=3)))
add("mlf_binary_version_negative", "format", "version -1", alone("data.mlf", mlf_binary(U, version=-1)))
add("mlf_binary_key_of_257_bytes", "format", "at most 256", alone("data.mlf", mlf_binary(struct.pack("<H", 257) + b"k" * 257 + U)))
add("mlf_binary_key_of_65535_bytes", "format", "at most 256", alone("data.mlf", mlf_binary(struct.pack("<H", 65535) + b"k" * 70000)))
add("mlf_binary_cut_in_key", "ok", "", alone("data.mlf", mlf_binary(U + b"\x05\0ab")))
add("mlf_binary_cut_in_counts", "format", "ends in its counts", alone("data.mlf", mlf_binary(U + b"\x01\0a\1\0")))
add("mlf_binary_segments_max", "format", "ends in its segments", alone("data.mlf", mlf_binary(mlf_utterance(b"u", [(0, 2)], count=65535))))
add("mlf_binary_frames_max", "limit", "", alone("data.mlf", mlf_binary(mlf_utterance(b"u", [(0, 2)], frames=MAX32))))
add("mlf_binary_frames_beyond_the_bytes", "limit", "label_ratio", alone("data.mlf", mlf_binary(mlf_utterance(b"u", [(0, 65535)]) * 100)))
add("mlf_frames_beyond_the_bytes", "limit", "label_ratio", speech(mlf=b'#!MLF!#\n"u.lab"\n0 500000000000 s0\n.\n'))
add("mlf_binary_frames_differ", "format", "header says 3", alone("data.mlf", mlf_binary(mlf_utterance(b"u", [(0, 2)], frames=3))))
add("mlf_binary_no_frames", "format", "no frames", alone("data.mlf", mlf_binary(mlf_utterance(b"u", []))))
add("mlf_binary_class_65535", "either", "", alone("data.mlf", mlf_binary(mlf_utterance(b"u", [(65535, 2)]))))
add("mlf_binary_same_key", "ok", "", alone("data.mlf", mlf_binary(U * 1000)))
add("mlf_states_beyond_the_limit", "limit", "", speech(mlf=MLF, states=b"".join(b"s%d\n" % i for i in range(1_100_000))))
add("valid_ark", "ok", "", alone("data.ark", b"u " + kaldi_matrix()))
add("ark_empty", "either", "", alone("data.ark", b""))
add("ark_key_alone", "format", "", alone("data.ark", b"u"))
add("ark_key_of_a_mebibyte", "limit", "Kaldi archive", alone("data.ark", b"k" * (1 << 20)))
add("ark_nul_bytes", "format", "", alone("data.ark", b"\0" * 65536))
add("ark_kind_unknown", "format", "no matrix", alone("data.ark", b"u " + kaldi_matrix(token=b"XM ")))
add("ark_rows_negative", "format", "", alone("data.ark", b"u " + kaldi_matrix(rows=-1)))
add("ark_rows_max", "format", "", alone("data.ark", b"u " + kaldi_matrix(rows=(1 << 31) - 1)))
add("ark_rows_and_columns_max", "format", "", alone("data.ark", b"u " + kaldi_matrix(rows=(1 << 31) - 1, cols=(1 << 31) - 1)))
add("ark_product_wraps", "format", "", alone("data.ark", b"u " + kaldi_matrix(rows=1 << 30, cols=1 << 30, token=b"DM ")))
add("ark_no_columns", "format", "rows of no values", alone("data.ark", b"u " + kaldi_matrix(rows=2, cols=0)))
add("ark_cut", "format", "was the file cut off", alone("data.ark", b"u " + kaldi_matrix()[:-1]))
add("ark_size_of_8_bytes", "format", "no size of 4 bytes", alone("data.ark", b"u \0BFM \x08" + b"\0" * 16))
add("ark_dims_change", "format", "", alone("data.ark", b"u " + kaldi_matrix() + b"v " + kaldi_matrix(rows=3, cols=2)))
add("ark_compressed_without_marks", "format", "", alone("data.ark", b"u \0BCM " + struct.pack("<ffii", 0, 1, 1, 1000)))
add("ark_text_unclosed", "format", "ends in", alone("data.ark", b"u [ 1 2\n" + b" 3 4\n" * 1000))
add("ark_text_of_words", "format", "not a number", alone("data.ark", b"u [ one two ]\n"))
add("ark_text_word_of_a_mebibyte", "format", "more than 64 bytes", alone("data.ark", b"u [ " + b"1" * (1 << 20) + b" ]\n"))
add("ark_integer_of_2_bytes", "format", "", alone("data.ark", b"u \0B\x04" + struct.pack("<i", 1) + b"\x02\1\0\0\0"))
add("ark_integer_negative", "format", "class -1", alone("data.ark", b"u " + kaldi_integers([0, -1])))
add("ark_class_max", "either", "", alone("data.ark", b"u " + kaldi_integers([0, (1 << 31) - 1])))
add("ark_class_of_a_hundred_million", "ok", "", alone("data.ark", b"u " + kaldi_integers([0, 100_000_000])))
add("ark_same_key_a_thousand_times", "ok", "", alone("data.ark", (b"u " + kaldi_matrix()) * 1000))
add("valid_kaldi_scp", "ok", "", kaldi_scp(b"u u.bin:0\n"))
add("kaldi_scp_is_a_command", "io", "is a command", kaldi_scp(b"u u.bin:0\nv touch hacked |\n"))
add("kaldi_scp_standard_input", "io", "", kaldi_scp(b"u u.bin:0\nv -\n"))
add("kaldi_scp_offset_beyond", "format", "", kaldi_scp(b"u u.bin:99999\n"))
add("kaldi_scp_offset_2_to_the_64", "io", "", kaldi_scp(b"u u.bin:18446744073709551616\n"))
add("kaldi_scp_range_beyond", "format", "wants rows", kaldi_scp(b"u u.bin:0[0:9]\n"))
add("kaldi_scp_range_backwards", "format", "range of rows", kaldi_scp(b"u u.bin:0[1:0]\n"))
add("kaldi_scp_many_rows_of_a_long_text", "ok", "", rows_of_a_long_text)
add("kaldi_scp_missing_file", "io", "", kaldi_scp(b"u nothing.ark:0\n"))
add("htk_is_a_fifo", "io", "", fifo)
add("htk_is_a_loop_of_links", "io", "", symlink_loop)
add("scp_line_of_a_gibibyte", "limit", "", line_of_a_gibibyte)

# --- compressed files ---
compressed_cases.enter(add, ctf, binary, speech, kaldi_scp)

# --- what was taken wrongly once ---
odd_cases.enter(add, ctf, config, speech, kaldi_scp)

# --- what few bytes could cost much time or memory with ---
COSTLY = costly_cases.enter(add, ctf, binary, config, speech, alone, kaldi_scp)


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    for name in sys.argv[2:] or CASES:
        folder = pathlib.Path(sys.argv[1]) / name
        folder.mkdir(parents=True, exist_ok=True)
        CASES[name][0](folder)
    print(f"{len(sys.argv[2:] or CASES)} hostile inputs in {sys.argv[1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
