#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Refuses words that break a promise: the same stream everywhere, a silent library,
and counts from files that are compared before they are multiplied.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIBRARY, ALL = ("src", "include"), ("src", "include", "cli", "python", "bench")

# (pattern, where, why)
RULES = [
    (r"std::shuffle\b|std::sample\b|random_shuffle", LIBRARY, "its result is left open by the standard; see base/rng.h"),
    (r"\b(uniform_int|uniform_real|normal|bernoulli|discrete)_distribution\b", LIBRARY, "its result is left open by the standard; see base/rng.h"),
    (r"\brandom_device\b|\b(std::)?s?rand\s*\(", LIBRARY, "a stream must be reproducible; see base/rng.h"),
    (r"\bstrto(d|f|ld|l|ul|ll|ull)\s*\(|\bato[fil]l?\s*\(|std::sto(d|f|ld|i|l|ul|ll|ull)\s*\(|\bsscanf\s*\(", LIBRARY, "depends on the locale or hides errors; see text/"),
    (r"std::pow\s*\(|[^.\w]pow\s*\(", ("src",), "its last bit differs between systems"),
    (r"std::cout|std::cerr|std::clog|\bf?printf\s*\(|\bputs\s*\(|\bperror\s*\(", LIBRARY, "the library never prints; use the Report"),
    (r"\b(std::)?abort\s*\(\s*\)|\b(std::)?_?exit\s*\(\s*\w|std::terminate\s*\(", LIBRARY, "the library never ends the process"),
    (r"\bpopen\s*\(|\bsystem\s*\(\s*\"|\bexecv?[lpe]*\s*\(\s*\"", ALL, "no child processes"),
    (r"\bsignal\s*\(\s*SIG|\bsigaction\s*\(", LIBRARY, "the library handles no signals"),
    (r"(?<![.\w])mmap\s*\((?!.*MAP_ANONYMOUS)", ALL, "files are not mapped, see docs/explanation/why-not-mmap.md"),
    (r"\bsetlocale\s*\(|std::locale\b", LIBRARY, "process-wide state"),
    (r'"[^"]*(--[a-z]|\bbatchfeed (check|convert|info|index|read|schema|stats)\b)', LIBRARY, "a front door's words; `option = value` and `check()` are put into them, see batchfeed/hint.h"),
    (r"\b(TODO|FIXME|XXX)\b", ALL, "finish it or leave it out"),
    (r"reinterpret_cast<[^>]*>\s*\([^)]*mmap", LIBRARY, "see docs/explanation/why-not-mmap.md"),
]


def code_of(line):
    """The line without its comment; comments may name what is banned."""
    return re.sub(r"//.*", "", line)


def main():
    bad = files = 0
    for path in sorted(p for top in ALL for p in (ROOT / top).rglob("*") if p.suffix in (".h", ".cc")):
        name = path.relative_to(ROOT)
        files += 1
        test = path.stem.endswith(("_test", "_fuzz", "_bench", "testing"))
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            for pattern, tops, why in RULES:
                words = line if "TODO" in pattern else code_of(line)
                if name.parts[0] in tops and not test and re.search(pattern, words):
                    print(f"{name}:{number}: {line.strip()}\n    banned: {why}")
                    bad += 1
    print(f"banned words: {files} files, {bad} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
