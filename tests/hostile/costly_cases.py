# SPDX-License-Identifier: MIT
"""Small files of which one byte could cost much time, or memory, entered among those of make_hostile.py:
`add(name, outcome, words, write)`. test_hostile.py measures them."""

MEBIBYTE = 1 << 20
PATIENT = "maxErrors = 1000000000 ;"  # all damage is passed over


def enter(add, ctf, binary, config, speech, alone, kaldi_scp):
    """The names of what was entered."""
    names = []

    def costly(name, outcome, words, write):
        names.append(name)
        add(name, outcome, words, write)

    # A fault for each byte, or few, of a text.
    for name, line in (("bars", b"|" * MEBIBYTE), ("bars_behind_an_id", b"0 " + b"|" * MEBIBYTE), ("bars_in_lines", b"||||\n" * (MEBIBYTE // 5)),
                       ("bad_bytes", b"0 |a 1 2 |b 0:1\n" + b"x\n" * (MEBIBYTE // 2)), ("ids", b"0 0 0\n" * (MEBIBYTE // 6)),
                       ("nul_bytes", b"0 |a 1 2 |b 0:1\n" + b"\0\n" * (MEBIBYTE // 2)), ("names_alone", b"0 " + b"|a" * (MEBIBYTE // 2)),
                       ("bad_numbers", b"0 " + b"|a x" * (MEBIBYTE // 4)), ("sequences_that_lack_a_stream", b"0|a\n1|a\n" * (MEBIBYTE // 8))):
        costly(f"ctf_of_{name}", "ok" if name == "nul_bytes" else "passed over", "", ctf(line + b"\n", deserializer=PATIENT))
    return names
