# SPDX-License-Identifier: MIT
"""--root: what a configuration or a list names must lie in folders that the caller allows; and folders that the system allows nobody."""
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile

import pytest

from conftest import BINARY

TEXT = "0 |a 1 2\n1 |a 3 4\n"


def htk(values):
    return struct.pack(">iihH", len(values) // 2, 100000, 8, 9) + struct.pack(f">{len(values)}f", *values)


@pytest.fixture
def folders(batchfeed):
    for name in ("in", "out"):
        (batchfeed.folder / name).mkdir()
        (batchfeed.folder / name / "x.htk").write_bytes(htk([1, 2, 3, 4]))
        (batchfeed.folder / name / "x.ctf").write_text(TEXT)
    (batchfeed.folder / "in" / "link.htk").symlink_to("../out/x.htk")
    return batchfeed.folder


@pytest.mark.parametrize("entry", ["u.mfc=in/../out/x.htk[0,1]", "in/../out/x.htk", "in/link.htk", "u.mfc=in/link.htk[0,0]", "/etc/passwd",
                                   "in/../out/none.htk"])
def test_a_list_leads_nowhere_else(batchfeed, folders, write, entry):
    write("in/x.scp", "v.mfc=in/x.htk[0,1]\n" + entry + "\n")
    result = batchfeed("info", "in/x.scp", "--root", "in")
    assert result.code == 3
    assert result.out == ""
    assert result.err.startswith("in/x.scp:2:") and "lies outside the folders that may be read" in result.err, result.err
    assert "--root DIR" in result.err


def test_what_is_allowed_is_read(batchfeed, folders, write):
    write("in/x.scp", "v.mfc=in/x.htk[0,1]\nu.mfc=in/../out/x.htk[0,1]\nw.mfc=in/link.htk[0,1]\n")
    assert batchfeed("read", "in/x.scp", "--root", "in", "--root", "out").code == 0
    assert batchfeed("read", "in/x.scp").code == 0


def test_kaldi_lists_too(batchfeed, folders, write):
    write("in/a.ark", "u 0 3\n")
    write("out/a.ark", "u 0 3\n")
    write("in/x.scp", "u in/a.ark:2\n")
    assert batchfeed("info", "in/x.scp", "--root", "in").code == 0
    write("in/x.scp", "v in/a.ark:2\nu out/a.ark:2\n")
    result = batchfeed("info", "in/x.scp", "--root", "in")
    assert result.code != 0 and "lies outside" in result.err and result.err.startswith("in/x.scp:2:"), result.err


TRAIN = 'reader = [ readerType = "CNTKTextFormatReader" ; file = "{}" ; input = [ a = [ dim = 2 ; format = "dense" ] ] ]\n'


def test_a_configuration_is_read_wherever_it_lies_but_not_what_it_names(batchfeed, folders, write):
    write("here.cntk", TRAIN.format("in/x.ctf"))
    assert batchfeed("info", "here.cntk", "--root", "in").code == 0
    for path in ("out/x.ctf", "in/../out/x.ctf", "*/x.ctf"):
        write("here.cntk", TRAIN.format(path))
        result = batchfeed("info", "here.cntk", "--root", "in")
        assert result.code != 0 and "lies outside" in result.err, result.err
        assert path.startswith("*") or "x.ctf' is '" in result.err, result.err
    write("out/part.cntk", "x = 1\n")
    write("here.cntk", "include=out/part.cntk\n" + TRAIN.format("in/x.ctf"))
    result = batchfeed("info", "here.cntk", "--root", "in")
    assert result.code != 0 and "lies outside" in result.err, result.err


def test_what_comes_with_a_corpus_deletes_nothing(tmp_path):
    """A folder under the name of a killed writer's leftovers, read-only, with a link to what is the user's."""
    if os.getuid() != 0:
        pytest.skip("becomes another user, who may not unlink in a folder that is read-only")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos/one").write_text("precious")
    leftovers = tmp_path / "corpus/train.ctf.bfindex.tmp.abcdef"
    leftovers.mkdir(parents=True)
    (tmp_path / "corpus/train.ctf").write_text("0 |a 1 2\n")
    (leftovers / "l").symlink_to("../../photos")
    for path in (tmp_path, *tmp_path.rglob("*")):
        os.chown(path, 65534, 65534, follow_symlinks=False)
        os.utime(path, (1, 1), follow_symlinks=False)
    leftovers.chmod(0o555)
    for path in tmp_path.parents:
        if path.stat().st_mode & 0o005 != 0o005 and path.stat().st_uid == os.getuid():
            path.chmod(path.stat().st_mode | 0o005)
    done = subprocess.run([BINARY, "read", "train.ctf", "--cache-index", "--format", "none"], cwd=tmp_path / "corpus", user=65534,
                          capture_output=True, timeout=60)
    assert done.returncode == 0 and (tmp_path / "corpus/train.ctf.bfindex").exists(), done
    assert (tmp_path / "photos/one").read_text() == "precious"


CONFIG = "Train = [ reader = [ readerType = CNTKTextFormatReader ; file = \"{}\" ; input = [ a = [ dim = 2 ; format = dense ] ] ] ]\n"


@pytest.mark.parametrize("pattern", ["/etc/pass*", "/etc/nosuch*", "out/*.ctf", "out/none*", "in/../out/*.ctf", "in/*/../../out/x.ctf", "in/way/*.ctf",
                                     "in/w*/*.ctf", "in/[q]/../../../etc/pass*", "/*/*", r"in/\.\./out/*.ctf", r"in/?/\.\./\.\./out/x.ctf",
                                     r"in\/..\/out/*.ctf"])
def test_a_pattern_looks_nowhere_else(batchfeed, folders, write, pattern):
    """What it would find outside is not told, nor whether there is anything."""
    (folders / "in" / "way").symlink_to("../out")
    write("x.cntk", CONFIG.format(pattern))
    result = batchfeed("info", "x.cntk", "--root", "in")
    assert (result.code, result.out) == (3, "")
    assert "the folders that may be read" in result.err and "passwd" not in result.err and "x.ctf" not in result.err.replace(pattern, "")


@pytest.mark.parametrize("way", [".?", ".*", ".[.]", "?/.?/.?", "d/.?/.?"])
def test_a_pattern_leads_down_only(batchfeed, folders, write, way):
    """`.?` fits `..` too: whether there is such a file outside is not told."""
    (folders / "in" / "d").mkdir()
    said = []
    for name in ("x", "none"):
        write("x.cntk", CONFIG.format(f"in/{way}/out/{name}.c*"))
        result = batchfeed("info", "x.cntk", "--root", "in")
        assert (result.code, result.out) == (3, "")
        said.append(result.err.replace(f"/{name}.c", "/NAME.c"))
    assert said[0] == said[1] and "cannot open" in said[0], said


def test_patterns_in_a_root_are_followed(batchfeed, folders, write):
    write("x.cntk", CONFIG.format("in/*.ctf"))
    assert batchfeed("info", "x.cntk", "--root", "in").code == 0
    write("y.cntk", CONFIG.format("in/none*.ctf"))
    assert "cannot open" in batchfeed("info", "y.cntk", "--root", "in").err


@pytest.mark.parametrize("command", [*(f"{name} */x.ctf" for name in ("info", "check", "read", "stats", "head", "plan", "bench")),
                                     "info */x.mlf", "merge */x.ctf -o out/all.ctf"])
def test_a_folder_that_is_closed_to_a_pattern_is_told_once(command):  # open.closed-folder
    somebody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}  # to root none is closed
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        program = shutil.copy(BINARY, folder)
        for name in ("a", "b"):
            pathlib.Path(folder, name).mkdir()
            pathlib.Path(folder, name, "x.ctf").write_text("1 |x 1\n")
            pathlib.Path(folder, name, "x.mlf").write_text('#!MLF!#\n"u"\n0 100000 a\n.\n')
        pathlib.Path(folder, "out").mkdir()
        os.chmod(pathlib.Path(folder, "out"), 0o777)
        closed = pathlib.Path(folder, "a")
        closed.chmod(0)
        done = subprocess.run([program, *command.split()], cwd=folder, capture_output=True, text=True, check=False, **somebody)
        closed.chmod(0o755)
    assert done.returncode == 0 and (done.stdout + done.stderr).count(f"'a/{command.split()[1][2:]}' is closed to us: files that the pattern would name") == 1


def test_nothing_from_elsewhere_is_copied_to_be_mended(batchfeed, folders, write):
    write("far.cntk", TRAIN.format("out/x.ctf"))
    write("link.cntk", TRAIN.format("in/link.ctf"))
    write("near.cntk", TRAIN.format("in/x.ctf"))
    (folders / "in" / "link.ctf").symlink_to("../out/x.ctf")
    for source in ("far.cntk", "link.cntk", "out/x.ctf", "in/link.ctf"):
        done = batchfeed("check", source, "--fix", "in/mended.ctf", "--root", "in")
        assert done.code == 3 and "lies outside the folders that may be read" in done.err, (source, done.out, done.err)
        assert not (folders / "in" / "mended.ctf").exists()
    for source, target in (("near.cntk", "in/a.ctf"), ("in/x.ctf", "in/b.ctf"), ("near.cntk", "c.ctf"), ("in/x.ctf", "out/d.ctf")):
        done = batchfeed("check", source, "--fix", target, "--root", "in")
        assert done.code == 0 and (folders / target).read_text() == TEXT, (source, target, done.out, done.err)
