#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The table of limits: docs/reference/limits.md is written from limits.h.

    check_limits.py            fails if the page is not up to date, or if a limit is not enforced,
                               no test sets it, or Python or the command cannot set it
    check_limits.py --write    writes the page
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADER = ROOT / "include/batchfeed/limits.h"
BINDING = ROOT / "python/src/bind_options.cc"
RAISED = ROOT / "cli/raise.cc"
PAGE = ROOT / "docs/reference/limits.md"
FIELD = re.compile(r"^\s*std::uint64_t (\w+) = ([^;]+);\s*(?://\s*(.*))?$", re.M)


def value(text):
    number = eval(re.sub(r"ull|'", "", text))  # digits, shifts and parentheses of our own header
    for shift, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if number >= 1 << shift and number % (1 << shift) == 0:
            return f"{number:,}", f"{number >> shift} {unit}"
    return f"{number:,}", ""


def page(fields):
    out = ["# Limits", "", "<!-- Written by scripts/check_limits.py --write from include/batchfeed/limits.h; do not edit. -->", "",
           "The most that a file may ask for. Beyond it there is a fault of kind `limit` that names the field. Raise it with `--raise FIELD=N` of the command,",
           "`limits={'FIELD': N}` in Python, or `Limits` in the options of the library. Apart from these limits, no memory is taken before the bytes that justify",
           "it were seen, so a small file cannot ask for much even if limits are raised.", "",
           "| field | default | of what |", "|---|---|---|"]
    for name, text, comment in fields:
        digits, short = value(text)
        out.append(f"| `{name}` | {digits}{f' ({short})' if short and 'bytes' in name else ''} | {comment or name.replace('_', ' ')} |")
    return "\n".join(out) + "\n"


def main():
    header = HEADER.read_text(encoding="utf-8")
    fields = FIELD.findall(header)
    lost = set(re.findall(r"\bstd::uint64_t (\w+)", header)) - {name for name, _, _ in fields}
    if lost:
        print(f"{', '.join(sorted(lost))}: declare it on one line of {HEADER.relative_to(ROOT)}, with what it is of behind it")
        return 1
    text = page(fields)
    if "--write" in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
        print(f"{PAGE.relative_to(ROOT)}: {len(fields)} limits")
        return 0
    bad = 0
    if not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != text:
        print(f"{PAGE.relative_to(ROOT)} is not up to date; scripts/check_limits.py --write")
        bad += 1
    code = tests = ""
    for path in [*ROOT.glob("src/**/*.cc"), *ROOT.glob("src/**/*.h"), *ROOT.glob("tests/**/*.cc"), *ROOT.glob("tests/**/*.py")]:
        content = path.read_text(encoding="utf-8")
        if path.stem.endswith("_test") or path.relative_to(ROOT).parts[0] == "tests":
            tests += content
        else:
            code += content
    bound, raised = BINDING.read_text(encoding="utf-8"), RAISED.read_text(encoding="utf-8")
    for name, _, _ in fields:
        if not re.search(r"\b" + name + r"\b", code):
            print(f"{name}: nothing in src/ enforces it")
            bad += 1
        elif not re.search(r"\b" + name.replace("_", "[-_]") + r"\b", tests):
            print(f"{name}: no test sets it")
            bad += 1
        if f'"{name}", &Limits::{name})' not in bound:
            print(f"{name}: {BINDING.relative_to(ROOT)} leaves it out")
            bad += 1
        if f'{{"{name}", &Limits::{name}}}' not in raised:
            print(f"{name}: {RAISED.relative_to(ROOT)} leaves it out")
            bad += 1
    print(f"limits: {len(fields)}, {bad} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
