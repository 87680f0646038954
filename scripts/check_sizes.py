#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reports the sizes of files: lists those above 400 lines, and fails if one has more than 500.

Exempt are tables and generated files: their head says "generated" or "table of".

Also prints the lines of tests for a line of code. Code is the library, the command and the Python
package with its bindings. Tests are the unit tests and fuzz targets beside them and the headers and
sources that only tests use, all programs under tests/ (of the command, of Python, hostile files, slow
readers, failing system calls ...), the tables of cases, and the scripts that do nothing but test.
"""
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FAIL, NAME = 500, 400
TOPS = ("src", "include", "cli", "python", "bench", "tests", "examples", "scripts")
CODE = ("src", "include", "cli", "python")
TESTING_SCRIPTS = ("coverage", "fuzz", "fuzz_night", "golden_matrix", "instructions", "mutants", "planted_bugs", "soak")


def is_test(path):
    return path.parts[0] == "tests" or path.stem.endswith(("_test", "_fuzz", "testing")) or path.stem.startswith("test_") or (
        path.parts[0] == "scripts" and path.name in TESTING_SCRIPTS) or path.name == "catalogue.txt"


def lines_of(names):
    """(lines of tests, lines of code) among the named files."""
    texts = {}
    for name in names:
        path = pathlib.Path(name)
        program = path.suffix in (".h", ".cc", ".c", ".py", ".inc") or path.name == "catalogue.txt" or (path.suffix == "" and path.parts[0] == "scripts")
        if program and (ROOT / path).is_file():
            texts[path] = (ROOT / path).read_text(encoding="utf-8")
    tests = {path for path in texts if is_test(path)}
    users = {}  # {header as #include names it: files that include it}
    for path, text in texts.items():
        for included in re.findall(r'#include "([^"]+)"', text):
            users.setdefault(included, set()).add(path)
    for _ in range(3):  # again, as helpers of tests include helpers themselves
        tests |= {path for path in texts if path.parts[0] == "src" and (by := users.get(str(path.relative_to("src")))) and by <= tests}
    count = lambda paths: sum(texts[p].count("\n") for p in paths)
    return count(tests), count(p for p in texts if p not in tests and p.parts[0] in CODE and not p.stem.endswith("_bench"))


def main():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", *TOPS],
                            cwd=ROOT, capture_output=True, text=True, check=True).stdout
    sizes, bad, names = [], 0, sorted(set(listed.split("\n")) - {""})
    tests, code = lines_of(names)
    for name in names:
        path = pathlib.Path(name)
        if path.suffix not in (".h", ".cc", ".py") or not (ROOT / path).is_file():
            continue
        lines = (ROOT / path).read_text(encoding="utf-8").split("\n")
        head = "\n".join(lines[:12]).lower()
        sizes.append((len(lines), name))
        if len(lines) <= NAME or "generated" in head or "table of" in head:
            continue
        if len(lines) > FAIL:
            bad += 1
        print(f"{len(lines):5} lines  {name}" + ("  (more than 500: divide it)" if len(lines) > FAIL else ""))
    sizes.sort()
    counts = [n for n, _ in sizes]
    print(f"sizes: {len(counts)} files, median {statistics.median(counts):.0f} lines, 9 of 10 below "
          f"{counts[len(counts) * 9 // 10]}, largest {sizes[-1][0]} ({sizes[-1][1]}); tests/code {tests / max(code, 1):.2f} ({tests} and {code} lines)")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
