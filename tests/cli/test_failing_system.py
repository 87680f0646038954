# SPDX-License-Identifier: MIT
"""Every system call of the command fails in turn, in every way: it says so, or nobody
notices; nothing is left behind, and on a sound system it works again."""
import errno
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "preload"))
import shim  # noqa: E402
from conftest import BINARY  # noqa: E402

TEXT = "".join(f"{i} |a {i}.5 -1e{i % 5} |b {i % 7}:2\n" for i in range(40))
SCENARIOS = {
    "read": (["read", "c.ctf", "--format", "jsonl"], []),
    "cache": (["read", "c.ctf", "--cache-index", "--format", "jsonl"], ["c.ctf.bfindex"]),
    "state": (["read", "c.ctf", "--limit", "2", "--format", "none", "--save-state", "s.json"], ["s.json"]),
    "convert": (["-q", "convert", "c.ctf", "x.cbf", "--force", "-j", "1"], ["x.cbf"]),
    "check": (["-q", "check", "c.ctf"], []),
}


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "c.ctf").write_text(TEXT)
    os.utime(folder / "c.ctf", (10**9, 10**9))
    (folder / "x.cbf").write_bytes(b"old")


def run(folder, arguments, fault=None):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("FAIL")} | {"XDG_CACHE_HOME": "/dev/null/none"}
    if fault:
        call, n, how = fault
        environment |= {"LD_PRELOAD": shim.build(), "FAIL_UNDER": str(folder), "FAIL": f"{call} {n} {'short' if how == shim.SHORT else how}",
                        "FAIL_MARK": str(folder.parent / "mark")}
    done = subprocess.run([BINARY, *arguments], cwd=folder, env=environment, capture_output=True, timeout=60)
    return done.returncode, done.stdout, done.stderr.decode()


def contents(folder):
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_call_fails_in_every_way(tmp_path, scenario):
    arguments, outputs = SCENARIOS[scenario]
    folder, mark = tmp_path / "f", tmp_path / "mark"
    fresh(folder)
    before = contents(folder)
    good = run(folder, arguments)
    assert good[0] == 0, good
    due = contents(folder)
    failed = 0
    for call in shim.FAULTS:
        ways = [(how, True) for how in shim.INVISIBLE.get(call, [])] + [(how, False) for how in shim.FAULTS[call]]
        for how, invisible in ways:
            for n in range(1, 200):
                fresh(folder)
                mark.unlink(missing_ok=True)
                code, out, err = run(folder, arguments, (call, n, how))
                if not mark.exists():
                    break
                failed += 1
                place = (call, n, how, code, err)
                now = contents(folder)
                assert code == 0 or not invisible, place
                assert code in (0, 3) or (scenario == "check" and code == 1 and out), place  # check lists what it finds
                if code == 0:
                    assert out == good[1] or "jsonl" not in arguments, place
                elif code == 3:
                    assert err.strip(), place
                    assert os.strerror(how) in err or call == "open", place
                for name in now:
                    assert name in due or name in before, (name, place)  # no temporary files
                for name in outputs:
                    assert now.get(name) in (before.get(name), due[name]), (name, place)
                if code == 0 and scenario != "cache":
                    assert now == due, place
                again = run(folder, arguments)
                assert again[0] == 0 and (again[1] == good[1] or "jsonl" not in arguments), place
    assert failed > 20


def test_the_library_lets_calls_fail(tmp_path):
    fresh(tmp_path / "f")
    code, _, err = run(tmp_path / "f", ["read", "c.ctf"], ("pread", 1, 5))
    assert code == 3 and "c.ctf" in err and os.strerror(5) in err


def test_a_limit_of_file_size_is_a_full_disk(tmp_path):
    folder = tmp_path / "f"
    for arguments in (SCENARIOS["convert"][0], SCENARIOS["state"][0], ["-q", "index", "c.ctf"], ["-q", "report", "c.ctf", "-o", "r.html"]):
        fresh(folder)
        before = contents(folder)
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        done = subprocess.run([BINARY, *arguments], cwd=folder, capture_output=True, timeout=60, preexec_fn=limit)
        if "index" in arguments:
            assert done.returncode == 3 and b"could not be kept" in done.stdout, done
        else:
            assert done.returncode == 3 and os.strerror(errno.EFBIG).encode() in done.stderr, (arguments, done)
        assert contents(folder) == before, arguments


def test_threads_that_are_not_to_be_had(tmp_path):
    """Where the system gives fewer threads than are wanted, or none, the same comes out."""
    folder = tmp_path / "f"
    fresh(folder)
    (folder / "c.ctf").write_text("".join(f"{i} |a {i}.5 -1e{i % 5} |b {i % 7}:2\n" for i in range(800_000)))  # two ranges to index
    (folder / "c.cntk").write_text('reader = [ readerType = CNTKTextFormatReader ; file = c.ctf ; chunkSizeInBytes = 3000000\n'
                                   'input = [ a = [ dim = 2 ; format = dense ] ; b = [ dim = 7 ; format = sparse ] ] ]\n')
    for arguments in (["read", "c.cntk", "--format", "none", "--limit", "300"], ["check", "c.cntk"], ["info", "c.ctf", "--json"], ["stats", "c.cntk"],
                      ["convert", "c.cntk", "x.cbf", "--force", "-j", "3"], ["diff", "c.cntk", "c.cntk"]):
        results = set()
        for nth in (None, 1, 2, 3):
            code, out, err = run(folder, ["-q", *arguments], nth and ("thread", nth, errno.EAGAIN))
            assert code == 0, (arguments, nth, err)
            results.add((b"" if "convert" in arguments else out, (folder / "x.cbf").read_bytes()))
        assert len(results) == 1, arguments


def test_what_cannot_be_read_is_no_row_of_zeros(tmp_path):
    folder = tmp_path / "f"
    fresh(folder)
    good = run(folder, ["-q", "stats", "c.ctf"])
    assert good[0] == 0
    for call in ("open", "fstat", "pread"):
        for n in range(1, 20):
            code, out, err = run(folder, ["-q", "stats", "c.ctf"], (call, n, errno.EIO))
            assert (code, out) == good[:2] or (code == 3 and os.strerror(errno.EIO) in err), (call, n, code, out, err)


def test_no_file_is_lost_because_a_look_at_a_folder_failed(tmp_path):
    """A pattern whose folders cannot be read names files that nobody knows; what it would leave out is no corpus."""
    folder = tmp_path / "f"
    fresh(folder)
    for name in ("d1", "d2", "d3"):
        (folder / name).mkdir()
        (folder / name / "p.ctf").write_text(TEXT)
    command = ["-q", "read", "d*/p.ct[f]", "--format", "jsonl"]
    good = run(folder, command)
    assert good[0] == 0
    failed = 0
    for call in ("opendir", "readdir"):
        for how in (errno.EIO, errno.EMFILE, errno.ENOMEM):
            for n in range(1, 40):
                (tmp_path / "mark").unlink(missing_ok=True)
                code, _, err = run(folder, command, (call, n, how))
                if not (tmp_path / "mark").exists():
                    break
                failed += 1
                assert code == 3 and os.strerror(how) in err, (call, n, how, code, err)
    assert failed > 20


@pytest.mark.skipif(b"__asan_init" in pathlib.Path(BINARY).read_bytes(), reason="allocates by the sanitizer")
def test_out_of_memory_before_a_command_begins(tmp_path):
    """Declaring options takes memory too, and so does telling that there is none."""
    fresh(tmp_path / "f")
    for call in ("allocation", "allocations"):  # one, and all behind it
        for n in (1000, 2000, 4000, 8000):  # some hundred come before main()
            code, _, err = run(tmp_path / "f", ["-q", "read", "c.ctf"], (call, n, errno.ENOMEM))
            assert code == 3 and "out of memory" in err, (call, n, code, err)


def test_keys_are_not_lost_because_a_look_at_the_text_failed(tmp_path):
    folder = tmp_path / "f"
    for n in range(1, 20):
        fresh(folder)
        code, _, err = run(folder, ["-q", "shuffle", "c.ctf", "-o", "y.cbf"], ("open", n, errno.EIO))
        assert code in (0, 3), (n, err)
        assert (folder / "y.cbf.keys").exists() == (code == 0), (n, err)


def test_a_folder_for_the_index_that_may_not_be_looked_at(tmp_path):
    if os.getuid() != 0:
        pytest.skip("becomes another user")
    (tmp_path / "closed").mkdir(mode=0o700)
    fresh(tmp_path / "f")
    for path in (tmp_path, *tmp_path.parents):
        if path.stat().st_mode & 0o005 != 0o005 and path.stat().st_uid == os.getuid():
            path.chmod(path.stat().st_mode | 0o005)
    for command in (["index", "c.ctf"], ["read", "c.ctf", "--format", "none"]):
        done = subprocess.run([BINARY, *command, "--cache-dir", tmp_path / "closed/x"], cwd=tmp_path / "f", user=65534, capture_output=True, text=True, timeout=60)
        # Who reads needs no index that lasts; to keep one is what `index` is for.
        assert done.returncode == (3 if command[0] == "index" else 0) and "could not be kept" in done.stdout + done.stderr, done


def test_a_folder_of_features_is_replaced_whole_or_not_at_all(tmp_path):
    folder = tmp_path / "f"
    command = ["-q", "convert", "c.ctf", "x.scp", "--layout", "files", "--streams", "a", "--force"]

    def features():
        return {p.name: p.read_bytes() for p in (folder / "x.htk").iterdir()}

    def prepare():
        fresh(folder)
        assert run(folder, command)[0] == 0
        for path in (folder / "x.htk").iterdir():
            path.write_bytes(b"old")
        return features()

    old = prepare()
    assert run(folder, command)[0] == 0
    new = features()
    for how in (errno.EINVAL, errno.EIO, errno.EPERM):  # of the first a file system says that it cannot exchange names
        for n in range(1, len(new) + 2):  # of each file, then of the folder
            prepare()
            code, _, err = run(folder, command, ("rename", n, how))
            assert features() in (old, new), (n, how, code, err)
            assert code == 3 or features() == new, (n, how, code, err)
            assert not list(folder.glob("*.tmp.*")), (n, how)


def test_pipes_that_another_program_set_not_to_wait(tmp_path):
    (tmp_path / "c.ctf").write_text("".join(f"{i} |a {i}.5 1\n" for i in range(30000)))
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    with subprocess.Popen([BINARY, "check", "-"], stdin=read_end, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as checks:
        os.close(read_end)
        time.sleep(0.2)  # nothing to read yet
        os.write(write_end, b"0 |a 1 2\n")
        time.sleep(0.1)
        os.write(write_end, b"1 |a 3 4\n")
        os.close(write_end)
        assert "2 sequences" in checks.communicate(timeout=60)[0].decode()
    assert checks.returncode == 0
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    with subprocess.Popen([BINARY, "read", "c.ctf", "--format", "jsonl"], cwd=tmp_path, stdout=write_end) as reads:
        os.close(write_end)
        time.sleep(0.5)  # the pipe is full
        with open(read_end, "rb") as out:
            lines = out.read().count(b"\n")
        assert reads.wait(timeout=60) == 0
    want = subprocess.run([BINARY, "read", "c.ctf", "--format", "jsonl"], cwd=tmp_path, capture_output=True, check=True).stdout
    assert lines == want.count(b"\n") and len(want) > 1 << 20
