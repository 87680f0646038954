#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that every test is built and run: the nearest CMakeLists.txt must name each *_test.cc and
*_fuzz.cc, each fuzz target must have a seed, and each test_*.py must lie where ./test looks for it.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def nearest_lists(path):
    """The CMakeLists.txt of the file's folder or of the nearest one above it."""
    for folder in path.parents:
        if (folder / "CMakeLists.txt").is_file():
            return folder / "CMakeLists.txt"
        if folder == ROOT:
            return None
    return None


def main():
    bad = tests = fuzzers = 0
    for top in ("src", "tests", "cli", "bench"):
        for path in sorted((ROOT / top).rglob("*.cc")):
            name = path.relative_to(ROOT)
            if not path.stem.endswith(("_test", "_fuzz")) or "install" in name.parts:
                continue
            lists = nearest_lists(path)
            text = re.sub(r"#.*", "", lists.read_text()) if lists else ""
            if path.stem.endswith("_test"):
                tests += 1
                if not re.search(r"\b" + re.escape(path.name), text):
                    print(f"{name}: is not built; name it in {lists.relative_to(ROOT)}")
                    bad += 1
                continue
            fuzzers += 1
            target = path.stem[:-len("_fuzz")]
            if not re.search(r"batchfeed_fuzz\(\s*\S+\s+" + re.escape(target) + r"\b", text):
                print(f"{name}: is not built; add batchfeed_fuzz(... {target}) to {lists.relative_to(ROOT)}")
                bad += 1
            seeds = ROOT / "tests/fuzz/seeds" / f"{path.parent.name}_{target}"
            if not any(p.is_file() for p in seeds.rglob("*")):
                print(f"{name}: has no seed in {seeds.relative_to(ROOT)}")
                bad += 1
    for path in sorted(ROOT.glob("tests/**/test_*.py")):
        tests += 1
        if path.relative_to(ROOT).parts[1] not in ("cli", "judge", "hostile", "python"):
            print(f"{path.relative_to(ROOT)}: ./test runs tests/cli, tests/judge, tests/hostile and tests/python only")
            bad += 1
    print(f"registered: {tests} test files, {fuzzers} fuzz targets, {bad} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
