# SPDX-License-Identifier: MIT
"""Exit codes, help, what goes to stdout and what to stderr."""
import contextlib
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "preload"))
import shim  # noqa: E402
from conftest import BINARY, ROOT
from test_schemas import commands

COMMANDS = ["info", "head", "cat", "sample", "grep", "diff", "stats", "schema", "split", "merge", "shuffle", "check", "read", "plan", "index", "bench", "config", "resume", "version"]


@pytest.mark.parametrize("columns, most", [("60", 60), ("80", 80), ("100", 100), ("500", 100), ("", 100), ("x", 100)])
def test_help_is_as_wide_as_the_terminal_within_reason(batchfeed, columns, most):
    said = batchfeed("read", "--help", env={"COLUMNS": columns}).out
    descriptions = said[said.index("Usage:"):].splitlines()
    assert most - 20 < max(map(len, descriptions)) <= most, max(descriptions, key=len)
    assert batchfeed("read", "--help", env={"COLUMNS": "3"}).out == batchfeed("read", "--help", env={"COLUMNS": "40"}).out != said


@pytest.mark.parametrize("command", COMMANDS)
def test_help_begins_with_examples_that_name_the_command(batchfeed, command):
    done = batchfeed(command, "--help")
    assert done.code == 0 and done.err == ""
    summary, blank, head, example = done.out.splitlines()[:4]
    assert summary and not blank and head == "Examples:" and f"batchfeed {command}" in example


def test_help_lists_every_command(batchfeed):
    out = batchfeed("--help").out
    assert all(f"\n  {command} " in out for command in COMMANDS)


def test_options_that_messages_and_the_reference_name_exist(batchfeed):
    known = {option for command in [(), *commands(batchfeed)] for option in re.findall(r"--[a-z][a-z-]*", batchfeed(*command, "--help").out)}
    for path in [*ROOT.glob("cli/*.cc"), *ROOT.glob("src/**/*.cc"), ROOT / "docs/reference/cli.md", *ROOT.glob("docs/how-to/find-*.md")]:
        named = {option for line in path.read_text().splitlines() if path.suffix == ".md" or '"' in line
                 for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", line)}
        assert named <= known, (path, named - known)


def test_help_is_a_command_too(batchfeed):
    assert batchfeed("help").out == batchfeed("--help").out
    assert batchfeed("help", "read").out == batchfeed("read", "--help").out
    assert batchfeed("help", "config", "check").out == batchfeed("config", "check", "--help").out
    done = batchfeed("help", "raed")
    assert done.code == 2 and "no command 'raed'" in done.err


def test_version(batchfeed):
    assert batchfeed("version").out.startswith("batchfeed ")
    assert batchfeed("--version").out == batchfeed("version").out
    assert "version" in batchfeed("version", "--json").json


@pytest.mark.parametrize("arguments, word", [
    (("raed", "x.ctf"), "did you mean read?"),
    (("read", "x.ctf", "--minibatchsize", "3"), "did you mean --minibatch-size?"),
    (("--json", "info", "x.ctf"), "hint: it belongs behind the command: batchfeed info --json"),
    (("bench", "x.ctf", "--consumer-ms", "1e300"), "at most 86400000"),
    (("report", "x.ctf", "--force"), "hint: batchfeed report --help"),  # as far from --order as two words are
    (("read",), "batchfeed read --help"),
    ((), "batchfeed --help"),
    (("read", "x.ctf", "--format", "yaml"), "yaml"),
    (("read", "x.ctf", "--epochs", "many"), "many"),
    (("read", "x.ctf", "--switch", "1:2"), "M:N:K"),
    (("read", "x.ctf", "--switch", "1:2:2"), "below"),
    (("read", "x.ctf", "--after", "0:1"), "--save-state"),
    (("config",), "batchfeed config --help"),
])
def test_words_that_make_no_sense_are_status_2(batchfeed, arguments, word):
    done = batchfeed(*arguments)
    assert done.code == 2 and done.out == ""
    assert done.err.startswith("batchfeed: ") and len(done.err.splitlines()) == 1 and word in done.err


def test_a_file_in_place_of_a_command(batchfeed, corpus):
    done = batchfeed(corpus())
    assert done.code == 2 and done.err.endswith(f"hint: batchfeed info {corpus()} says what is in it\n")


def test_a_file_whose_name_looks_like_an_option_can_be_named(batchfeed, tmp_path):
    (tmp_path / "-x.ctf").write_text("|a 1\n")
    done = batchfeed("info", "-x.ctf")
    assert done.code == 2 and done.err.endswith("unknown option '-x.ctf'; hint: ./-x.ctf names the file\n")
    assert batchfeed("info", "./-x.ctf").code == 0


def test_rank_must_be_below_workers(batchfeed, corpus):
    assert batchfeed("read", corpus(), "--workers", 2, "--rank", 2).code == 2


@pytest.mark.parametrize("arguments, words", [
    (["read", "a.ctf", "--workers"], "--workers: a value is missing, N"),
    (["read", "a.ctf", "--precision"], "--precision: a value is missing, expected float or double"),
    (["read", "a.ctf", "--order", "x"], "--order: expected file, cntk or uniform, found 'x'"),
    (["read", "a.ctf", "--window-chunks", 1, "--window-samples", 2], "--window-chunks and --window-samples: give one of them"),
    (["read", "a.ctf", "--limit", 1, "--limit", 2], "--limit: given 2 times, expected once"),
    (["read"], "a corpus is missing: name a configuration or a file"),
    (["completion"], "shell is missing"),
])
def test_what_is_wrong_with_an_option_is_said_in_words(batchfeed, arguments, words):
    result = batchfeed(*arguments)
    assert result.code == 2 and result.err.startswith(f"batchfeed: {words}; hint: batchfeed {arguments[0]} --help"), result.err


@pytest.mark.parametrize("command", ["info", "head", "cat", "sample", "stats", "check", "read", "plan", "index", "bench"])
def test_a_missing_file_is_status_3_and_named(batchfeed, command):
    for name in ("nowhere.ctf", "nowhere.cntk"):
        done = batchfeed(command, name)
        assert done.code == 3
        assert name in done.err and "No such file" in done.err


@pytest.mark.parametrize("command", ["info", "read"])
def test_a_file_that_is_no_corpus_is_said_so(batchfeed, write, command):  # cli.not-a-corpus
    done = batchfeed(command, write("x.jpg", b"\xff\xd8\xff\xe0 picture"))
    assert done.code == 3 and done.err.startswith("x.jpg: ")
    assert batchfeed(command, ".").code == 3


def test_there_is_no_colour_and_no_bar_in_pipes(batchfeed, corpus, write):
    config = corpus()
    write("bad.ctf", "0 |v 1 2\n0 |v 1 2 x\n")
    for arguments in (("info", config), ("read", config), ("check", "bad.ctf"), ("read", "nowhere.ctf")):
        done = batchfeed(*arguments)
        assert "\033" not in done.out + done.err and "\r" not in done.err


def plain_signals():
    """As a terminal has them; whoever runs the tests in the background may ignore some."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


@contextlib.contextmanager
def running(*arguments, **options):
    run = subprocess.Popen([BINARY, *arguments], stderr=subprocess.PIPE, preexec_fn=plain_signals, **options)
    try:
        yield run
    finally:
        run.kill()
        run.wait()


def test_an_interrupt_is_status_130(corpus, batchfeed):
    config = corpus(50)
    with running("read", config, "--epoch-size", "inf", "--driver", "minibatch-source", "--format", "none",
                 cwd=batchfeed.folder, stdout=subprocess.PIPE) as run:
        time.sleep(0.5)
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=20)
        assert run.returncode == 130 and b"Traceback" not in err


@pytest.mark.parametrize("name", ("SIGINT", "SIGTERM", "SIGHUP", "SIGXCPU"))
def test_who_ends_a_conversion_finds_the_old_file_or_the_new_one_and_nothing_else(batchfeed, write, name):
    number = getattr(signal, name)
    write("a.ctf", "".join(f"{i} |a {' '.join(str(i * j % 97 / 8) for j in range(40))}\n" for i in range(40_000)))
    for command in (["convert", "a.ctf", "o.ctf.zst", "--force"], ["check", "a.ctf", "--fix", "o.ctf.zst", "--force"]):
        assert batchfeed(*command).code == 0
        whole = (batchfeed.folder / "o.ctf.zst").read_bytes()
        for wait in (0.02, 0.05, 0.1, 0.2):
            write("o.ctf.zst", "old")
            with running(*command, cwd=batchfeed.folder, stdout=subprocess.DEVNULL) as run:
                time.sleep(wait)
                run.send_signal(number)
                _, err = run.communicate(timeout=20)
            assert run.returncode in (0, 128 + number, -number), err  # -number: before it had begun
            assert sorted(p.name for p in batchfeed.folder.iterdir()) == ["a.ctf", "o.ctf.zst"]
            now = (batchfeed.folder / "o.ctf.zst").read_bytes()
            assert now == whole or (now == b"old" and run.returncode != 0)


@pytest.mark.parametrize("command", ("index", "bench"))
def test_who_ends_what_keeps_an_index_finds_it_whole_or_no_index_and_nothing_else(batchfeed, write, command):
    write("a.ctf", "".join(f"{i} |a {i % 7}\n" for i in range(400_000)))
    (batchfeed.folder / "cache").mkdir()
    line = [command, "a.ctf", "--cache-dir", "cache"] + ["--cache-index"] * (command == "bench")
    for wait in range(24):
        with running(*line, cwd=batchfeed.folder, stdout=subprocess.DEVNULL) as run:
            time.sleep(0.02 + 0.01 * wait)
            run.send_signal(signal.SIGTERM)
            began = time.monotonic()
            run.communicate(timeout=20)
            assert run.returncode in (0, 143, -signal.SIGTERM) and time.monotonic() - began < 5
        kept = [p.name for p in (batchfeed.folder / "cache").iterdir()]
        assert all(name.endswith((".bfindex", ".bfstreams")) for name in kept), kept
        for name in kept:
            (batchfeed.folder / "cache" / name).unlink()


def test_signals_that_are_ignored_from_the_beginning_stay_so(batchfeed, write):
    """As nohup has it, and a shell for what it runs in the background."""
    write("a.ctf", "".join(f"{i} |a {' '.join(str(i * j % 97 / 8) for j in range(40))}\n" for i in range(20_000)))
    ignore = lambda: [signal.signal(s, signal.SIG_IGN) for s in (signal.SIGHUP, signal.SIGINT)]  # noqa: E731
    run = subprocess.Popen([BINARY, "convert", "a.ctf", "o.ctf.zst"], cwd=batchfeed.folder, stdout=subprocess.DEVNULL, preexec_fn=ignore)
    for _ in range(5):
        time.sleep(0.01)
        run.send_signal(signal.SIGHUP)
        run.send_signal(signal.SIGINT)
    assert run.wait(timeout=60) == 0


def test_only_a_report_or_state_is_written_over(batchfeed, corpus, write, tmp_path):
    config = corpus()
    write("short", "<!doc")
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    os.link(tmp_path / "train.ctf", tmp_path / "link.ctf")
    for name in ("train.ctf", "./train.ctf", "link.ctf", config, "short"):
        for command in (["report", config, "-o", name], ["read", config, "--format", "none", "--save-state", name]):
            done = batchfeed(*command)
            kind = {"report": "report", "read": "state"}[command[0]]
            assert done.code == 2 and f"'{name}' exists already and is no {kind}; hint: " in done.err, done.err
    (tmp_path / "link.ctf").unlink()
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before
    write("r.html", "")
    for _ in range(2):
        assert batchfeed("report", config, "-o", "r.html").code == 0
        assert batchfeed("report", config, "--json", "-o", "r.json").code == 0
        assert batchfeed("read", config, "--format", "none", "--save-state", "s.json").code == 0
    assert batchfeed("report", config, "--json", "-o", "r.html").code == 2
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")


def test_a_link_that_leads_nowhere_is_a_file_that_exists(batchfeed, write, tmp_path):
    write("a.ctf", "0 |a 1\n")
    os.symlink("nowhere", tmp_path / "o.cbf")
    done = batchfeed("convert", "a.ctf", "o.cbf")
    assert done.code == 2 and "exists already" in done.err
    assert os.readlink(tmp_path / "o.cbf") == "nowhere"


@pytest.mark.parametrize("command", (["convert", "a.ctf", "o.cbf"], ["check", "a.ctf", "--fix", "o.ctf"], ["merge", "a.ctf", "a.ctf", "-o", "o.ctf"],
                                     ["sample", "a.ctf", "--count", "1", "-o", "o.ctf"], ["schema", "a.ctf", "-o", "o.cntk"]))
def test_of_two_at_once_that_may_not_replace_one_is_refused(write, tmp_path, command):
    write("a.ctf", "0 |a 1\n1 |a 2\n")
    slow = {**os.environ, "LD_PRELOAD": shim.build(), "FAIL_UNDER": str(tmp_path), "SLOW_PREAD_MS": "100"}  # both find nothing there
    run = lambda: subprocess.Popen([BINARY, "-q", *command], cwd=tmp_path, env=slow, stderr=subprocess.PIPE)
    both = [run(), run()]
    said = [one.communicate(timeout=60)[1].decode() for one in both]
    assert sorted(one.returncode for one in both) == [0, 2], said
    assert "exists already" in "".join(said) and "--force" in "".join(said)
    assert len(list(tmp_path.iterdir())) == 2, "nothing on the way is left"


def test_a_consumer_that_leaves_ends_the_run(corpus, batchfeed):
    config = corpus(50)
    with running("read", config, "--epoch-size", "inf", "--driver", "minibatch-source", cwd=batchfeed.folder, stdout=subprocess.PIPE) as run:
        run.stdout.readline()
        run.stdout.close()
        run.wait(timeout=20)
        assert run.stderr.read() == b""
    bad = batchfeed.folder / "bad.ctf"
    bad.write_text("0 |a 1\n0 |a x\n" * 20_000)
    for restore in (True, False):  # as a shell, and as what runs services starts a command
        check = subprocess.Popen([BINARY, "check", bad], stdout=subprocess.PIPE, restore_signals=restore)
        check.stdout.close()
        assert check.wait(timeout=20) == 141, "not 0, as if no fault was found"


def test_nobody_needs_to_read_messages(batchfeed, write, tmp_path):
    write("a.ctf", "".join(f"{i} |a {i}\n" for i in range(20_000)))
    write("a.cntk", "reader = [ readerType = CNTKTextFormatReader ; file = a.ctf ; traceLevel = 2\ninput = [ a = [ dim = 2 ; format = dense ] ] ]\n")
    run = subprocess.Popen([BINARY, "-v", "convert", "a.cntk", "o.cbf"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    run.stderr.close()
    assert run.stdout.read() and run.wait(timeout=60) == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.cntk", "a.ctf", "o.cbf"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_said(corpus, batchfeed):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([BINARY, "read", corpus()], cwd=batchfeed.folder, stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == 3 and b"No space left" in done.stderr
    for option in ("--help", "--version"):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([BINARY, option], stdout=full, stderr=subprocess.PIPE, timeout=60)
        assert done.returncode == 3 and b"No space left" in done.stderr


@pytest.mark.parametrize("option,word", [("--minibatch-size", "-5"), ("--minibatch-size", "4,-5"), ("--minibatch-size", "4,"), ("--minibatch-size", ",4"), ("--minibatch-size", "4,,5"), ("--minibatch-size", ","), ("--minibatch-size", "4,inf"), ("--limit", "18446744073709551616"), ("--limit", "0x10"), ("--limit", "1e3"),
                                         ("--seed", "-1"), ("--workers", "-1"), ("--rank", "+1"), ("--memory-limit", "-1"), ("--memory-limit", "99999999999999999999"),
                                         ("--memory-limit", "G"), ("--unpack-ratio", "-2000"), ("--prefetch-depth", " 4")])
def test_numbers_are_digits_and_nothing_becomes_another_number(batchfeed, corpus, option, word):
    done = batchfeed("read", corpus(), f"{option}={word}")
    assert done.code == 2 and done.out == "" and option in done.err
    assert "whole number" in done.err or "too large" in done.err


def test_zeros_in_front_of_a_number_do_not_make_it_octal(batchfeed, write):
    write("many.ctf", "".join(f"{i} |a 1\n" for i in range(12)))
    reads = lambda size: [m["position"] for m in batchfeed("read", "many.ctf", "--format", "jsonl", "--minibatch-size", size).lines]
    assert reads("012") == reads("12") == [12]
    assert batchfeed("read", "many.ctf", "--memory-limit", "0800M", "--limit", "1").code == 0


def test_bytes_have_the_same_units_in_every_option(batchfeed, write):
    write("many.ctf", "".join(f"{i} |a 1\n" for i in range(12)))
    options = (["read", "many.ctf", "--memory-limit"], ["read", "many.ctf", "--unpacked-bytes"], ["convert", "many.ctf", "o.cbf", "--force", "--chunk-size"],
               ["convert", "many.ctf", "o.cbf", "--force", "--shuffle", 1, "--shuffle-memory"], ["shuffle", "many.ctf", "--force", "-o", "o.ctf", "--memory"])
    for command in options:
        for word in ("67108864", "64M", "64m", "64MB", "64MiB", "1g", "1T"):
            assert batchfeed(*command, word).code == 0, (command, word)
        for word in ("M", "64 M", "64X", "64MM", "64BB", "6.4G", "64IB"):
            done = batchfeed(*command, word)
            assert done.code == 2 and f"{command[-1]}: expected a whole number of bytes, such as 33554432, 32M or 1G, found '{word}'" in done.err
        done = batchfeed(*command, "16777216T")
        assert done.code == 2 and "'16777216T' is too large a number, expected at most 16777215T;" in done.err


def test_threads_and_ranks_beyond_measure_cost_nothing(batchfeed, corpus):
    assert batchfeed("read", corpus(), "--limit", 1, "--threads", 4294967295).code == 0
    done = batchfeed("read", corpus(), "--threads", 4294967296)
    assert done.code == 2 and "--threads: '4294967296' is too large a number, expected at most 4294967295;" in done.err
    done = batchfeed("read", corpus(), "--minibatch-size", f"5,{1 << 64}")
    assert done.code == 2 and f"'{1 << 64}' is too large a number, expected at most {(1 << 64) - 1};" in done.err
    done = batchfeed("plan", corpus(), "--workers", 4294967295)
    assert done.code == 2 and "at most 65536" in done.err


@pytest.mark.parametrize("length", [1 << 31, 1 << 32, (1 << 32) + 2, (1 << 64) - 1])
def test_rows_longer_than_any_corpus_are_refused(batchfeed, write, length):
    write("a.ctf", "0 |a 1\n0 |a 2\n1 |a 3\n")
    write("a.cntk", f'''Train = [ reader = [ randomize = false ; truncated = true ; truncationLength = {length}
      deserializers = ( [ type = "CNTKTextFormatDeserializer" ; module = "CNTKTextFormatReader" ; file = "a.ctf" ; input = [ a = [ dim = 1 ; format = "dense" ] ] ] ) ] ]
''')
    done = batchfeed("read", "a.cntk", "--format", "jsonl", "--limit", "3")
    assert done.code == 3 and done.lines[-1]["error"]["kind"] == "limit" and "truncationLength" in done.err


def test_more_shards_than_a_process_may_open(tmp_path):
    for i in range(300):
        (tmp_path / f"{i:03d}.ctf").write_text(f"{i} |a {i}\n")

    def run(most, *arguments):
        limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        return subprocess.run([BINARY, *arguments], cwd=tmp_path, preexec_fn=limit, capture_output=True, text=True, check=True).stdout

    shuffled = ("read", "*.ctf", "--order", "uniform", "--seed", "1", "--threads", "4", "--epochs", "2")
    assert run(20, *shuffled) == run(1024, *shuffled) != ""
    assert "no fault" in run(20, "check", "*.ctf")
    run(20, "convert", "*.ctf", "all.cbf", "--verify")
    assert json.loads(run(20, "info", "all.cbf", "--json"))["sequences"] == 300
