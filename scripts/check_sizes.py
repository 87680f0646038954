#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reports the sizes of files. Above 500 lines fails, above 400 is named.

Exempt are tables and generated files: their head says "generated" or "table of".
"""
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FAIL, NAME = 500, 400
TOPS = ("src", "include", "cli", "python", "bench", "tests", "examples", "scripts")


def is_test(path):
    return path.parts[0] == "tests" or path.stem.endswith(("_test", "_fuzz")) or path.stem.startswith("test_")


def main():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", *TOPS],
                            cwd=ROOT, capture_output=True, text=True, check=True).stdout
    sizes, code, tests, bad = [], 0, 0, 0
    for name in sorted(set(listed.split("\n"))):
        path = pathlib.Path(name)
        if path.suffix not in (".h", ".cc", ".py") or not (ROOT / path).is_file():
            continue
        lines = (ROOT / path).read_text(encoding="utf-8").split("\n")
        head = "\n".join(lines[:12]).lower()
        sizes.append((len(lines), name))
        if is_test(path):
            tests += len(lines)
        elif path.parts[0] in ("src", "include", "cli"):
            code += len(lines)
        if len(lines) <= NAME or "generated" in head or "table of" in head:
            continue
        if len(lines) > FAIL:
            bad += 1
        print(f"{len(lines):5} lines  {name}" + ("  (more than 500: divide it)" if len(lines) > FAIL else ""))
    sizes.sort()
    counts = [n for n, _ in sizes]
    print(f"sizes: {len(counts)} files, median {statistics.median(counts):.0f} lines, 9 of 10 below "
          f"{counts[len(counts) * 9 // 10]}, largest {sizes[-1][0]} ({sizes[-1][1]}); tests/code {tests / max(code, 1):.2f}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
