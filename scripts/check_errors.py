#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The list of fault ids: docs/reference/errors.md is written from the sources.

    check_errors.py            fails if the page is not up to date or an id has no test
    check_errors.py --write    writes the page

An id is the stable name of a rule, such as "ctf.index-range". A test mentions it
in a *_test.cc, a *_fuzz.cc or a tests/**/*.py. Ids that only a broken system can
cause are listed in scripts/errors_untested.txt, with the reason.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/reference/errors.md"
UNTESTED = ROOT / "scripts/errors_untested.txt"

LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
ID = re.compile(r"^[a-z][a-z0-9_]*(\.[a-z0-9]+(-[a-z0-9]+)*)+$")
ASSIGNED = re.compile(r'\.id\s*=\s*"([^"]+)"')
FAILED = re.compile(r'\bfail\(\s*"([a-z]+)"')
KIND = re.compile(r"FaultKind::(\w+)")
# A literal with a dot that is a file's name, not an id.
FILE_ENDINGS = {"ctf", "cbf", "cntk", "md", "txt", "cc", "h", "tmp", "json", "scp", "mlf", "cache", "bin", "idx", "html", "feed", "state", "npy", "pt"}


def sources():
    for top in ("src", "cli"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in (".h", ".cc") and not path.stem.endswith(("_test", "_fuzz")):
                yield path, path.read_text(encoding="utf-8")


def words(literal_run):
    """The text of adjacent string literals, with "..." for what is inserted at run time."""
    text = " ".join(literal_run.split())
    parts = LITERAL.findall(text)
    if not parts:
        return ""
    gaps = LITERAL.sub("\0", text).split("\0")
    out = "" if gaps[0].strip() in ("", "std::string(") else "..."
    for part, gap in zip(parts, gaps[1:]):
        out += part
        if "+" in gap and gap.strip(" +)") not in ("", "std::string("):
            out += "..."
    return out.replace("\\\"", '"').replace("\\n", " ")


def field(body, name):
    found = re.search(r"\." + name + r"\s*=\s*(.*?)(?:,\s*\.\w+\s*=|\}\s*[;)]|$)", body, re.S)
    return words(found.group(1)) if found else ""


def collect():
    """{id: (kind, what, hint, folder)}"""
    prefixes, texts = set(), list(sources())
    for _, text in texts:
        prefixes |= {i.split(".")[0] for i in ASSIGNED.findall(text) if "." in i}
    found = {}
    for path, text in texts:
        folder = path.relative_to(ROOT).parent.as_posix()
        code = re.sub(r"//[^\n]*", "", text)
        for match in LITERAL.finditer(code):
            literal = match.group(1)
            plain = ASSIGNED.search(code[max(0, match.start() - 12):match.end()])
            if not (plain and plain.group(1) == literal):
                if not ID.match(literal) or literal.split(".")[0] not in prefixes or literal.split(".")[-1] in FILE_ENDINGS:
                    continue
                if code[max(0, match.start() - 9):match.start()].endswith("#include "):
                    continue
            if literal.endswith("."):
                continue  # a prefix; what follows is put together at run time
            start = code.rfind("Fault{", 0, match.start())
            body = code[start if start >= 0 and match.start() - start < 300 else match.start():match.start() + 900]
            kind = KIND.search(body)
            entry = (kind.group(1) if kind else "", field(body, "what"), field(body, "hint"), folder)
            if literal not in found or (entry[1] and not found[literal][1]):
                found[literal] = entry
        for action in FAILED.findall(code):
            found.setdefault(f"io.{action}", ("io", f"cannot {action}: the system's words", "", folder))
    return found


def page(found):
    out = ["# Faults", "",
           "<!-- Written by scripts/check_errors.py --write from the sources; do not edit. -->", "",
           "Each fault has a kind, an id that stays the same between versions, a place, what was found, and mostly a hint. One line on",
           "standard error reads", "",
           "    FILE[:LINE[:COLUMN]][ (byte N)]: WHAT[; hint: HINT]", "",
           "and `--json` gives the same as fields. `...` stands for what is filled in.", ""]
    for folder in sorted({entry[3] for entry in found.values()}):
        out += [f"## {folder}", "", "| id | kind | what | hint |", "|---|---|---|---|"]
        for name in sorted(found):
            kind, what, hint, where = found[name]
            if where == folder:
                cells = [c.replace("|", "\\|") for c in (what, hint)]
                out.append(f"| `{name}` | {kind} | {cells[0]} | {cells[1]} |")
        out.append("")
    return "\n".join(out)


def main():
    found = collect()
    text = page(found)
    if "--write" in sys.argv[1:]:
        PAGE.parent.mkdir(parents=True, exist_ok=True)
        PAGE.write_text(text, encoding="utf-8")
        print(f"{PAGE.relative_to(ROOT)}: {len(found)} faults")
        return 0
    bad = 0
    if not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != text:
        print(f"{PAGE.relative_to(ROOT)} is not up to date; scripts/check_errors.py --write")
        bad += 1
    tests = ""
    for pattern in ("src/**/*_test.cc", "src/**/*_fuzz.cc", "cli/**/*_test.cc", "tests/**/*.cc", "tests/**/*.py", "tests/**/*.tsv", "tests/**/*.txt"):
        tests += "".join(p.read_text(encoding="utf-8", errors="replace") for p in sorted(ROOT.glob(pattern)))
    excused = {}
    if UNTESTED.is_file():
        for line in UNTESTED.read_text(encoding="utf-8").split("\n"):
            if line.strip() and not line.startswith("#"):
                name, _, why = line.partition(" ")
                excused[name] = why
    tested = 0
    for name in sorted(found):
        mentioned = re.search(r"(?<![\w.-])" + re.escape(name) + r"(?![\w-])", tests)
        if mentioned and name in excused:
            print(f"{name}: has a test by now; take it out of {UNTESTED.relative_to(ROOT)}")
            bad += 1
        elif not mentioned and name not in excused:
            print(f"{name}: no test mentions it")
            bad += 1
        tested += bool(mentioned)
    for name in sorted(excused.keys() - found.keys()):
        print(f"{name}: is in {UNTESTED.relative_to(ROOT)}, but no longer in the sources")
        bad += 1
    print(f"faults: {len(found)} ids, {tested} with a test, {bad} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
