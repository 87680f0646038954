# SPDX-License-Identifier: MIT
"""What the scripts here share: a description of the machine, measured runs of programs, and the history's records."""
import datetime
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/bench/bin"
HISTORY = ROOT / "bench/history"


def program(name, build=BUILD):
    path = build / name
    if not path.exists():
        sys.exit(f"{path} is not there; build it:  scripts/install_deps build bench && cmake --preset bench && cmake --build --preset bench")
    return str(path)


def corpus(folder, names):
    """The absolute path of the folder of the inputs; ends the script if one of `names` is missing in it."""
    missing = [name for name in names if not (pathlib.Path(folder) / name).exists()]
    if missing:
        sys.exit(f"{folder} lacks {', '.join(missing)}; make them:  python3 bench/make_inputs.py {folder}")
    return pathlib.Path(folder).resolve()


class Failed(Exception):
    pass


def end_with(main):
    """Runs main(); if a program that it ran failed, ends with that program's output and without a traceback."""
    try:
        main()
    except Failed as failed:
        raise SystemExit(str(failed)) from None


def run(command, environment=None, folder=None):
    """(its standard output, seconds of wall time, seconds of processor time, peak memory in MB)"""
    with tempfile.TemporaryFile("w+") as out:
        began = os.times().elapsed
        child = subprocess.Popen([str(word) for word in command], stdout=out, stderr=subprocess.STDOUT, env={**os.environ, **(environment or {})}, cwd=folder)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        wall = os.times().elapsed - began
        out.seek(0)
        text = out.read()
    if child.returncode != 0:
        raise Failed(f"{' '.join(str(word) for word in command)}: exit status {child.returncode}\n{text[-2000:]}")
    return text, wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6


def median(values):
    return statistics.median(values)


def processor():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    name = re.search(r"^model name\s*:\s*(.*)$", text, re.MULTILINE)
    return name[1] if name else platform.machine()


def tier():
    """The tier of the kernels that src/formats/ctf/kernels.cc picks on this CPU: "avx512", "avx2" or "scalar"."""
    if os.environ.get("BATCHFEED_CPU"):
        return os.environ["BATCHFEED_CPU"]
    flags = set(re.search(r"^flags\s*:(.*)$|\Z", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)[0].split())
    return "avx512" if "avx512_vbmi2" in flags else "avx2" if "avx2" in flags else "scalar"


def record(figures):
    """Adds figures to the record of today and of the last commit that changed the code, which is made if missing.

    {name: {"ratio": float, "of": what the ratio compares to, "goal": float or None, ...}}, or "value" and "unit" in
    place of the ratio; other keys are kept as they are.
    """
    git = lambda *words: subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True).stdout.strip()
    code = ["--", "src", "include", "cli", "cmake", "CMakeLists.txt"]
    commit = git("log", "-1", "--format=%h", "--abbrev=9", *code) + ("+" if git("status", "--porcelain", *code) else "")
    day = datetime.date.today().isoformat()
    HISTORY.mkdir(exist_ok=True)
    path = HISTORY / f"{day}-{commit.replace('+', '-changed')}.json"
    found = json.loads(path.read_text()) if path.exists() else {
        "date": day, "commit": commit, "cpu": processor(), "cores": len(os.sched_getaffinity(0)), "tier": tier(), "figures": {}}
    found["time"] = datetime.datetime.now(datetime.timezone.utc).strftime("%H:%M")
    found["load"] = round(os.getloadavg()[0], 1)
    found["figures"].update(figures)
    path.write_text(json.dumps(found, indent=1) + "\n")
    print(f"recorded: {path.relative_to(ROOT)}")
