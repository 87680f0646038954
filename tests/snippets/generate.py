#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""generate.py TARGET PAGE...: the C++ of pages of documentation as a program's source.

The ```cpp blocks of a page are one function, in order; those that begin with a class
stand in front of it. A ```text block right behind one is what the page has printed there.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def blocks(text):
    """(first line, C++, what it prints) of a page's blocks."""
    for found in re.finditer(r"(?ms)^```cpp\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", text):
        yield text.count("\n", 0, found.start()) + 2, found[1], found[2] or ""


def main():
    target, *pages = sys.argv[1:]
    includes, tests = set(), []
    for number, page in enumerate(pages):
        outside, inside, prints = [], [], ""
        for line, code, out in blocks((ROOT / page).read_text(encoding="utf-8")):
            includes |= set(re.findall(r"(?m)^#include .*$", code))
            code = re.sub(r"(?m)^#include .*$", "", code)
            part = f'#line {line} "{ROOT / page}"\n{code}'
            (outside if code.lstrip().startswith("class ") else inside).append(part)
            prints += out
        if not inside:
            sys.exit(f"{page}: no C++ in it")
        name = re.sub(r"\W", "_", pathlib.Path(page).stem)
        tests.append(
            f"namespace page_{number} {{\n" + "\n".join(outside) + "\nvoid run() {\n" + "\n".join(inside) +
            f'\n}}\n}}\nTEST_F(Snippets, {name}) {{ expect(page_{number}::run, R"~({prints})~"); }}\n')
    pathlib.Path(target).write_text("\n".join(sorted(includes)) + "\n\n" + "\n".join(tests), encoding="utf-8")


if __name__ == "__main__":
    main()
