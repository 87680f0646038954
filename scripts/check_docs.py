#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that the documents fit the tree: the files and headings that links lead to exist, docs/index.md names
every page, each page that code names exists, the C++ of every page is run, each row of
differences-from-cntk.md names tests and these exist, and packages and changelog have the version of CMakeLists.txt.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/explanation/differences-from-cntk.md"


def known_tests():
    names = set()
    for path in [*ROOT.glob("src/**/*_test.cc"), *ROOT.glob("tests/**/*_test.cc"), *ROOT.glob("cli/**/*_test.cc")]:
        text = path.read_text(encoding="utf-8")
        names |= {f"{a}.{b}" for a, b in re.findall(r"\b(?:RC_GTEST_PROP|TEST_?[FP]?)\(\s*(\w+),\s*(\w+)", text)}
    for path in ROOT.glob("src/**/catalogue.txt"):
        names |= set(re.findall(r"(?m)^(T\d+)\b", path.read_text(encoding="utf-8")))
    for path in ROOT.glob("tests/**/*.py"):
        text = path.read_text(encoding="utf-8")
        names |= set(re.findall(r'add\("(\w+)"', text)) | set(re.findall(r"(?m)^def (\w+)\(", text))
    return names


def other_versions():
    """Files whose version is not that of CMakeLists.txt."""
    version = re.search(r"project\(batchfeed VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    says = {"vcpkg.json": f'"version": "{version}"', "packaging/vcpkg/ports/batchfeed/vcpkg.json": f'"version": "{version}"',
            "packaging/conda/meta.yaml": f'set version = "{version}"', "CHANGELOG.md": f"## {version}"}
    return [path for path, words in says.items() if words not in (ROOT / path).read_text(encoding="utf-8")]


def anchors(text):
    """The anchors that GitHub gives to the headings of a page."""
    text = re.sub(r"(?s)```.*?```", "", text)
    return {re.sub(r"[^\w -]", "", re.sub(r"[`*]|\]\([^)]*\)", "", line).lower()).replace(" ", "-") for line in re.findall(r"(?m)^#+ +(.*?) *$", text)}


def links():
    """(page, file it links to, anchor of a heading or "") for all links that are not URLs."""
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("bench/*.md"), *ROOT.glob("examples/**/*.md"), *ROOT.glob("python/**/*.md")]:
        text = re.sub(r"(?s)```.*?```", "", path.read_text(encoding="utf-8"))
        for target, heading in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)[^)]*\)", text):
            if not re.match(r"[a-z]+:", target):
                yield path, target, heading


def broken_links():
    for path, target, heading in links():
        to = path.parent / target if target else path
        if not to.exists():
            yield f"{path.relative_to(ROOT)}: links to {target}, which is not there"
        elif heading and to.suffix == ".md" and heading not in anchors(to.read_text(encoding="utf-8")):
            yield f"{path.relative_to(ROOT)}: links to {target}#{heading}, a heading that is not there"


def pages_that_sources_miss():
    for path in (p for folder in ("src", "include", "cli", "python", "tests", "scripts") for p in (ROOT / folder).rglob("*")):
        if path.suffix not in (".cc", ".h", ".py", ".pyi", ".txt", ".cmake", "") or not path.is_file():
            continue
        for page in re.findall(r"\bdocs/[\w/-]+\.md\b", path.read_text(encoding="utf-8", errors="replace")):
            if not (ROOT / page).exists():
                yield f"{path.relative_to(ROOT)}: names {page}, which is not there"


def snippets_not_run():
    run = re.split(r"[\s()]+", (ROOT / "tests/CMakeLists.txt").read_text(encoding="utf-8"))
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        page = str(path.relative_to(ROOT))
        if "```cpp" in path.read_text(encoding="utf-8") and page not in run:
            yield f"{page}: its C++ is not run; tests/CMakeLists.txt has a list of pages"


def pages_without_a_way_there():
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    for path in sorted(ROOT.glob("docs/**/*.md")):
        if path.name != "index.md" and f"]({path.relative_to(ROOT / 'docs')})" not in index:
            yield f"docs/index.md: does not name {path.relative_to(ROOT)}"


def tests_named():
    """(difference from CNTK, the tests in its row)"""
    for line in PAGE.read_text(encoding="utf-8").split("\n") if PAGE.is_file() else ():
        if line.startswith("|") and not line.startswith(("|---", "| what")):
            cells = line.rstrip("|").split("|")
            yield cells[1].strip(), re.findall(r"`([^`]+)`", cells[-1])


def differences_without_a_test():
    tests = known_tests()
    for what, named in tests_named():
        if not named:
            yield f"{PAGE.relative_to(ROOT)}: no test: {what}"
        yield from (f"{PAGE.relative_to(ROOT)}: names {name}, which is not there" for name in named if name not in tests)


def main():
    wrong = [f"{path}: another version than CMakeLists.txt says" for path in other_versions()]
    for check in (broken_links, pages_that_sources_miss, snippets_not_run, pages_without_a_way_there, differences_without_a_test):
        wrong += check()
    print("\n".join(wrong), end="\n" if wrong else "")
    bad = len(wrong) + subprocess.run([sys.executable, ROOT / "scripts/draw_river.py"]).returncode
    print(f"documents: {len(list(links()))} links, {sum(len(named) for _, named in tests_named())} tests named, {bad} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
