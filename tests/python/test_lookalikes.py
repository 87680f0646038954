# SPDX-License-Identifier: MIT
"""Characters that look like ASCII are named, and what was probably meant."""
import pytest

import batchfeed as bf

TEXTS = [
    ("0 |x \u22121.5 2 |y 1:1\n", "ctf.garbage", "U+2212 is a minus sign; write '-'"),
    ("0 |x 1 \u22122 |y 1:1\n", "ctf.too-few-values", "U+2212 is a minus sign; write '-'"),
    ("0 |x 1\u00a02 |y 1:1\n", "ctf.too-few-values", "U+00A0 is a no-break space"),
    ("0 |x 1 \uff12 |y 1:1\n", "ctf.too-few-values", "U+FF12 is a full-width character; write '2'"),
    ("0 |x 1 2 \uff5cy 1:1 |y 1:1\n", "ctf.garbage", "write '|'"),
    ("0 |x 1 2 |y 1\uff1a1\n", "ctf.no-colon", "write ':'"),
    ("0 |x 1 2 |y \uff11:1\n", "ctf.garbage", "write '1'"),
    ("0 |x 1 2 |y 1:1\n\ufeff1 |x 1 2 |y 1:1\n", "ctf.bad-id", "U+FEFF is a byte order mark"),
]


@pytest.mark.parametrize("text, id, hint", TEXTS)
def test_in_text_corpora(tmp_path, text, id, hint):
    path = tmp_path / "a.ctf"
    path.write_text(text, encoding="utf-8")
    found = bf.check(bf.CTF(str(path), {"x": bf.dense(2), "y": bf.sparse(2)}))
    assert any(f.id.startswith(id) and hint in (f.hint or "") for f in found), found


def test_in_front_of_all(tmp_path):
    path = tmp_path / "a.ctf"
    path.write_text("\u200b0 |x 1\n", encoding="utf-8")
    with pytest.raises(bf.FormatError) as caught:
        bf.Reader(bf.CTF(str(path), {"x": bf.dense(1)}))
    assert caught.value.id == "ctf.no-id" and "U+200B is an invisible character" in caught.value.hint


def test_in_windows_code_page(tmp_path):
    path = tmp_path / "a.ctf"
    path.write_bytes(b"0 |x \x961\n")
    (found,) = [f for f in bf.check(bf.CTF(str(path), {"x": bf.dense(1)})) if f.id == "ctf.garbage"]
    assert "byte 0x96 (no UTF-8) is a dash; write '-'" in found.hint


def config(tmp_path, text):
    path = tmp_path / "a.cntk"
    (tmp_path / "a.ctf").write_text("0 |x 1\n")
    path.write_text(text.replace("HERE", str(tmp_path)), encoding="utf-8")
    return str(path)


READER = "r = [ readerType = CNTKTextFormatReader ; file = HERE/a.ctf ; input = [ x = [ dim = 1 ; format = dense ] ] ]"


@pytest.mark.parametrize(
    "old, new, hint",
    [
        ("dim = 1", "dim = \uff11", "write '1'"),
        ("format = dense", "format = \u201cdense\u201d", "U+201C is a curly quote"),
        ("file = HERE/a.ctf", "file = \u201cHERE/a.ctf\u201d", "U+201C is a curly quote"),
        ("CNTKTextFormatReader", "\u2018CNTKTextFormatReader\u2019", "U+2018 is a curly quote"),
    ],
)
def test_in_configurations(tmp_path, old, new, hint):
    with pytest.raises(bf.Error) as caught:
        bf.open(config(tmp_path, READER.replace(old, new)))
    assert hint in caught.value.hint


def speech(tmp_path, scp="u=a.htk[0,0]\n", labels='#!MLF!#\n"u"\n0 1 s0\n.\n', states=b"s0\n"):
    (tmp_path / "a.scp").write_text(scp, encoding="utf-8")
    (tmp_path / "a.mlf").write_text(labels, encoding="utf-8")
    (tmp_path / "states").write_bytes(states)
    return str(tmp_path / "a.scp"), bf.MLF("y", str(tmp_path / "a.mlf"), 2, mapping_file=str(tmp_path / "states"))


@pytest.mark.parametrize(
    "labels, hint",
    [
        ('#!MLF!#\n"u"\n0\u00a01 s0\n.\n', "U+00A0"),
        ('#!MLF!#\n"u"\n\uff10 1 s0\n.\n', "write '0'"),
        ('#!MLF!#\n\u201cu\u201d\n0 1 s0\n.\n', "U+201C is a curly quote"),
        ('#!MLF!#\u00a0\n"u"\n0 1 s0\n.\n', "U+00A0"),
    ],
)
def test_in_labels(tmp_path, labels, hint):
    found = bf.check(speech(tmp_path, labels=labels)[1])
    assert any(hint in (f.hint or "") for f in found), found


@pytest.mark.parametrize("line, hint", [("u=a.htk[0,\uff11]\n", "write '1'"), ("u=a.htk[0\uff0c1]\n", "write ','")])
def test_in_lists(tmp_path, line, hint):
    with pytest.raises(bf.FormatError) as caught:
        bf.Reader(bf.HTKFeatures("x", speech(tmp_path, scp=line)[0], 1))
    assert hint in caught.value.hint


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_state_lists_of_16_bits(tmp_path, encoding):
    mark = "\ufeff".encode(encoding)
    (found,) = bf.check(speech(tmp_path, states=mark + "s0\n".encode(encoding))[1])
    assert (found.id, found.path) == ("io.utf16", str(tmp_path / "states"))
