#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do the documents tell the truth about the tree? Links lead somewhere, to headings too, docs/index.md
names every page, each page that code names is there, the C++ of every page is run, and each test that
differences-from-cntk.md names. And the packages are of the version that CMakeLists.txt says.
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
    """Of a page's headings, as GitHub makes them."""
    text = re.sub(r"(?s)```.*?```", "", text)
    return {re.sub(r"[^\w -]", "", re.sub(r"[`*]|\]\([^)]*\)", "", line).lower()).replace(" ", "-") for line in re.findall(r"(?m)^#+ +(.*?) *$", text)}


def main():
    bad = links = 0
    for path in other_versions():
        print(f"{path}: another version than CMakeLists.txt says")
        bad += 1
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("bench/*.md"), *ROOT.glob("examples/**/*.md"), *ROOT.glob("python/**/*.md")]:
        text = re.sub(r"(?s)```.*?```", "", path.read_text(encoding="utf-8"))
        for target, heading in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)[^)]*\)", text):
            if re.match(r"[a-z]+:", target):
                continue
            links += 1
            to = path.parent / target if target else path
            if not to.exists():
                print(f"{path.relative_to(ROOT)}: links to {target}, which is not there")
                bad += 1
            elif heading and to.suffix == ".md" and heading not in anchors(to.read_text(encoding="utf-8")):
                print(f"{path.relative_to(ROOT)}: links to {target}#{heading}, a heading that is not there")
                bad += 1
    for path in (p for folder in ("src", "include", "cli", "python", "tests", "scripts") for p in (ROOT / folder).rglob("*")):
        if path.suffix not in (".cc", ".h", ".py", ".pyi", ".txt", ".cmake", "") or not path.is_file():
            continue
        for page in re.findall(r"\bdocs/[\w/-]+\.md\b", path.read_text(encoding="utf-8", errors="replace")):
            if not (ROOT / page).exists():
                print(f"{path.relative_to(ROOT)}: names {page}, which is not there")
                bad += 1
    bad += subprocess.run([sys.executable, ROOT / "scripts/draw_river.py"]).returncode
    run = re.split(r"[\s()]+", (ROOT / "tests/CMakeLists.txt").read_text(encoding="utf-8"))
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        page = str(path.relative_to(ROOT))
        if "```cpp" in path.read_text(encoding="utf-8") and page not in run:
            print(f"{page}: its C++ is not run; tests/CMakeLists.txt has a list of pages")
            bad += 1
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    for path in sorted(ROOT.glob("docs/**/*.md")):
        if path.name != "index.md" and f"]({path.relative_to(ROOT / 'docs')})" not in index:
            print(f"docs/index.md: does not name {path.relative_to(ROOT)}")
            bad += 1
    tests, named = known_tests(), 0
    if PAGE.is_file():
        for line in PAGE.read_text(encoding="utf-8").split("\n"):
            if not line.startswith("|") or line.startswith(("|---", "| what")):
                continue
            cell = line.rstrip("|").split("|")[-1]
            found = re.findall(r"`([^`]+)`", cell)
            if not found:
                print(f"{PAGE.relative_to(ROOT)}: no test: {line.split('|')[1].strip()}")
                bad += 1
            for name in found:
                named += 1
                if name not in tests:
                    print(f"{PAGE.relative_to(ROOT)}: names {name}, which is not there")
                    bad += 1
    print(f"documents: {links} links, {named} tests named, {bad} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
