# SPDX-License-Identifier: MIT
"""Man pages, completion in the three shells, and colours: as the shells themselves see them."""
import os
import pathlib
import pty
import re
import select
import shutil
import struct
import subprocess
import time

import pytest

from conftest import BINARY
from test_schemas import commands

# So that the shells find the command by its name.
PATH = {"PATH": f"{pathlib.Path(BINARY).parent}:{os.environ['PATH']}"}


def needs(program):
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"needs {program}; scripts/install_deps test")


def options(batchfeed, command):
    return set(re.findall(r"(?m)^  (?:-\w,)?(--[\w-]+)", batchfeed(*command, "--help").out))


@needs("groff")
def test_man_pages_are_clean_roff_and_say_all_that_help_says(batchfeed, tmp_path):
    assert batchfeed("manual", "--into", "man1").code == 0
    there = {path.name for path in (tmp_path / "man1").iterdir()}
    for command in commands(batchfeed):
        name = f"batchfeed-{'-'.join(command)}.1"
        assert name in there
        done = subprocess.run(["groff", "-man", "-ww", "-Tascii", "-P-cbou", str(tmp_path / "man1" / name)], capture_output=True)
        text = done.stdout.decode()
        assert done.returncode == 0 and done.stderr == b""
        assert "EXIT STATUS" in text and "EXAMPLES" in text
        assert {o for o in options(batchfeed, command) if o not in text} == set()
        assert batchfeed("manual", *command).out == (tmp_path / "man1" / name).read_text()
    assert "NO_COLOR" in batchfeed("manual").out


def test_the_manual_of_no_command_is_status_2(batchfeed):
    done = batchfeed("manual", "raed")
    assert done.code == 2 and "raed" in done.err
    assert batchfeed("manual", "--into", "/dev/null/x").code == 3
    assert batchfeed("completion", "tcsh").code == 2


def bash(batchfeed, *words):
    script = ('source <(batchfeed completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _batchfeed; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "-c", script, "bash", *words], cwd=batchfeed.folder, env={**os.environ, **PATH},
                          capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout.split()


def fish(batchfeed, *words):
    line = " ".join(words)
    done = subprocess.run(["fish", "--no-config", "-c", f"batchfeed completion fish | source; complete -C '{line}'"],
                          cwd=batchfeed.folder, env={**os.environ, **PATH, "HOME": str(batchfeed.folder)},
                          capture_output=True, text=True)
    assert done.stderr == ""
    return [line.split("\t")[0] for line in done.stdout.splitlines()]


SHELLS = [pytest.param(bash, id="bash"), pytest.param(fish, id="fish", marks=needs("fish"))]


@pytest.mark.parametrize("complete", SHELLS)
def test_commands_options_choices_and_files_are_completed(batchfeed, write, complete):
    assert set(complete(batchfeed, "batchfeed", "re")) == {"read", "report", "resume"}
    assert set(complete(batchfeed, "batchfeed", "config", "")) == {"check", "show"}
    assert set(complete(batchfeed, "batchfeed", "read", "--precision", "")) == {"float", "double"}
    assert complete(batchfeed, "batchfeed", "config", "show", "--sec") == ["--section"]
    assert complete(batchfeed, "batchfeed", "read", "--quie") == ["--quiet"]
    assert set(complete(batchfeed, "batchfeed", "completion", "")) == {"bash", "fish", "zsh"}
    assert set(complete(batchfeed, "batchfeed", "help", "re")) == {"read", "report", "resume"}
    write("corpus.ctf", "|v 1\n")
    assert complete(batchfeed, "batchfeed", "info", "corp") == ["corpus.ctf"]
    assert complete(batchfeed, "batchfeed", "read", "--cache-dir", "corp") == []
    for command in commands(batchfeed):
        assert options(batchfeed, command) <= set(complete(batchfeed, "batchfeed", *command, "--"))


def on_terminal(argv, keys=(), seconds=20, **env):
    """All that a program writes to a terminal of 200 columns, until it ends; `keys` are (wait for, then type)."""
    pid, end = pty.fork()
    if pid == 0:
        os.environ.update({"TERM": "xterm", "COLUMNS": "200", **PATH, **env})
        os.execvp(argv[0], argv)
    out, keys, until = b"", list(keys), time.monotonic() + seconds
    while time.monotonic() < until:
        if keys and keys[0][0] in out:
            os.write(end, keys.pop(0)[1])
        if select.select([end], [], [], 0.1)[0]:
            try:
                part = os.read(end, 65536)
            except OSError:
                break
            if not part:
                break
            out += part
    os.close(end)
    _, status = os.waitpid(pid, 0)
    return out.decode(errors="replace"), os.waitstatus_to_exitcode(status)


@needs("zsh")
def test_zsh_completes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    begin = b"PS1=REA''DY; autoload -U compinit; compinit -u -D; source <(batchfeed completion zsh)\n"
    out, _ = on_terminal(["zsh", "-f", "-i"], [(b"2004h", begin), (b"READY", b"batchfeed config \t\t"),
                                               (b"comes from", b"\x15batchfeed read --precision fl\t"),
                                               (b"float", b"\x15exit\n")])
    assert "Keys that are wrong" in out and "--precision float" in out and "_arguments:" not in out


def test_colours_are_for_terminals_and_go_with_no_color(tmp_path, write, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("bad.ctf", "|v 1 2\n|v 1 x\n")
    out, code = on_terminal([BINARY, "check", "bad.ctf"])
    assert code == 1 and "\033[31m" in out
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        out, code = on_terminal([BINARY, "check", "bad.ctf"], **env)
        assert code == 1 and "\033" not in out and "bad.ctf:2" in out


def test_names_out_of_files_neither_steer_the_terminal_nor_begin_a_line(batchfeed, tmp_path):
    (tmp_path / "a.scp").write_bytes(b"u.feat=\x1b[2J\x9b\x07gone.htk[0,1]\n")
    (tmp_path / "a\nb.ctf").write_bytes(b"\n")
    (tmp_path / "a.cntk").write_bytes(b'reader = [ readerType = "HTKMLFReader" ; x = [ dim = 1 ; scpFile = "\x1b[31mred.scp" ] ]\n')
    for arguments in (["read", "a.scp"], ["check", "a.scp"], ["read", "a\nb.ctf"], ["check", "a\nb.ctf"], ["read", "a.cntk"], ["config", "check", "a.cntk"]):
        done = batchfeed(*arguments, "--format", "none") if arguments[0] == "read" else batchfeed(*arguments)
        assert done.code != 0
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", done.err + done.out), arguments
        assert all(": " in line for line in done.err.splitlines()), arguments


def test_messages_are_not_as_long_as_the_names_in_them(batchfeed, write):
    write("a.scp", "u=" + "long/" * 800 + "u.htk[0,1]\n")
    write("a.cntk", "".join(f"Section{i} = [ reader = [ readerType = \"CNTKTextFormatReader\" ] ]\n" for i in range(1000)))
    for arguments in (["info", "a.scp"], ["check", "a.scp"], ["read", "a.cntk"], ["read", "a.cntk", "--section", "Nothing"]):
        done = batchfeed(*arguments)
        assert done.code != 0 and 0 < len(done.err + done.out) < 10_000, arguments
    assert " bytes left out] " in batchfeed("check", "a.scp").out + batchfeed("check", "a.scp").err
    assert "and 980 more" in batchfeed("read", "a.cntk").err


def test_names_of_files_that_are_read_do_not_steer_it_either(batchfeed, tmp_path):
    steering = "a\x1b]0;title\x07\u009b31m\u202e.htk"
    (tmp_path / steering).write_bytes(struct.pack(">iihh", 2, 100000, 4, 9) + bytes(8))
    (tmp_path / "a.scp").write_text(f"u={steering}[0,1]\n")
    (tmp_path / "b.scp").write_text(f"v={steering}[0,0]\n")
    for arguments in (["head", "a.scp", "--format", "view"], ["read", "a.scp", "--explain", "0", "--format", "text"],
                      ["diff", "a.scp", "b.scp"], ["info", f"{steering}x"]):
        done = batchfeed(*arguments)
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e]", done.err + done.out), arguments
        assert "a\\x1b]0;title\\x07\\xc2\\x9b31m\\xe2\\x80\\xae.htk" in done.err + done.out, arguments


def test_names_of_files_in_summaries_and_in_what_is_refused_do_not_steer_it_either(batchfeed, tmp_path):
    steering = "a\x1b[31m\u202e"
    (tmp_path / f"{steering}.ctf").write_text("0 |v 1 |t 1:1\n1 |v 2 |t 0:1\n2 |v 3 |t 0:1\n")
    section = f'[ readerType = "CNTKTextFormatReader" ; file = "{steering}.ctf" ; randomize = false ; input = [ v = [ dim = 1 ; format = "dense" ] ] ]'
    (tmp_path / f"{steering}.cntk").write_text(f"reader = {section}\n")
    (tmp_path / "a.cntk").write_text(f"include={steering}.cntk\n")
    for code, arguments in ((0, ["check", "a.cntk", "--fix", "mended.ctf"]), (0, ["config", "show", "a.cntk"]),
                            (0, ["split", f"{steering}.ctf", "--part", f"1{steering}.ctf=0.3", "--part", "2.ctf", "--exact"]),
                            (0, ["schema", f"{steering}.ctf", "-o", f"b{steering}.cntk"]), (0, ["report", f"{steering}.ctf", "-o", f"{steering}.html"]),
                            (0, ["plan", f"{steering}.ctf", f"{steering}.ctf", "--mix-weights", "1,1"]), (0, ["bench", f"{steering}.ctf", "--compare", "a.cntk"]),
                            (0, ["read", "a.cntk", "--save-state", steering, "--format", "none", "-v"]), (0, ["resume", "verify", steering, "a.cntk"]),
                            (1, ["resume", "verify", steering, f"{steering}.ctf"]), (2, ["schema", f"{steering}.cntk"]),
                            (2, ["convert", f"{steering}.ctf", "c.ctf", "--rename", steering]), (2, ["help", steering])):
        done = batchfeed(*arguments)
        assert done.code == code, (arguments, done.err)
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e]", done.err + done.out), arguments
        assert "\\x1b[31m\\xe2\\x80\\xae" in done.err + done.out or "-v" in arguments, arguments


def test_a_manual_page_takes_the_place_of_a_link(batchfeed, tmp_path):
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "man1").mkdir()
    (tmp_path / "man1/batchfeed.1").symlink_to("../precious")
    assert batchfeed("manual", "--into", "man1").code == 0
    assert (tmp_path / "precious").read_text() == "mine" and not (tmp_path / "man1/batchfeed.1").is_symlink()


def test_what_is_said_never_lands_in_a_file_that_is_written(batchfeed, tmp_path, write):
    write("a.ctf", "|v 1 2\n|v 1 x\n|v 3 4\n")
    write("a.cntk", 'reader = [ readerType = "CNTKTextFormatReader" ; file = "a.ctf" ; maxErrors = 9 ; randomize = false\n'
                    '           input = [ v = [ dim = 2 ; format = "dense" ] ] ]\n')
    assert batchfeed("convert", "a.cntk", "told.ctf").code == 0
    for closed in ("2>&-", "0<&- 2>&-", "0<&- 1>&- 2>&-"):
        done = subprocess.run(["bash", "-c", f'exec "$0" convert a.cntk silent.ctf --force {closed}', BINARY], cwd=tmp_path, timeout=60,
                              capture_output=True)
        assert done.returncode == (3 if "1>&-" in closed else 0)  # there is more to say on standard output
        assert (tmp_path / "silent.ctf").read_bytes() == (tmp_path / "told.ctf").read_bytes()
    done = subprocess.run(["bash", "-c", 'exec "$0" info a.ctf 1>&-', BINARY], cwd=tmp_path, timeout=60, capture_output=True, text=True)
    assert done.returncode == 3 and "cannot write standard output" in done.stderr


def test_a_state_wants_the_name_of_a_file(batchfeed, write):
    write("a.ctf", "|v 1 2\n")
    for option in ("--state", "--save-state"):
        for name in ("", "-"):
            done = batchfeed("read", "a.ctf", option, name)
            assert done.code == 2 and "expected the name of a file" in done.err and not (batchfeed.folder / "-").exists()
