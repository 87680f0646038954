#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The list of fault ids: docs/reference/errors.md is written from the sources.

    check_errors.py            fails if the page is not up to date or an id has no test
    check_errors.py --write    writes the page

An id is the stable name of a rule, such as "ctf.index-range". A test mentions it,
or "index-range" in quotes, in a *_test.cc, a *_fuzz.cc or under tests/.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/reference/errors.md"

LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
# A whole id: a prefix (of PREFIXES), then words.
ID = re.compile(r"^(?:[a-z0-9_]+\.[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*)$")
WORD = re.compile(r"^[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*$")
ASSIGNED = re.compile(r'\.id\s*=\s*"([^"]+)"(?!\s*\+)')
# .id = "join." + std::move(id): a helper that puts the prefix in front.
PREFIXING = re.compile(r'\.id\s*=\s*(?:std::string\()?"([a-z0-9_]+\.)"\)?\s*\+')
FUNCTION = re.compile(r"\b(\w+)\(((?:[^(){};]|\([^()]*\)|\{\})*)\)\s*(?:const\s*)?(?:noexcept\s*)?(?::[^{;]*)?\{")
COUNTED = re.compile(r'\bcounted\((?:[^()"]|\((?:[^()]|\([^()]*\))*\))+, "([^"]+)"\)')
KIND = re.compile(r"FaultKind::(\w+)")
PREFIXES = {"io", "limit", "ctf", "cbf", "htk", "scp", "mlf", "kaldi", "config", "index", "index_cache", "cache", "join", "order", "timeline", "pack", "minibatch", "window",
            "reader", "state", "source", "check", "convert", "describe", "infer", "usage", "keys", "path", "text", "cli", "file", "compressed", "find", "split", "merge", "sample", "fix"}
TABLES = {"src/config/schema.cc"}  # names of options, which look like ids
FILE_ENDINGS = {"ctf", "cbf", "cntk", "md", "txt", "cc", "h", "tmp", "json", "scp", "mlf", "cache", "bin", "html"}


def sources():
    for top in ("src", "cli", "python"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in (".h", ".cc") and not path.stem.endswith(("_test", "_fuzz")) and str(path.relative_to(ROOT)) not in TABLES:
                yield path, COUNTED.sub(plural, re.sub(r"(?m)(^|\s)//[^\n]*", "", path.read_text(encoding="utf-8")))


def plural(call):
    """The code that stands for counted(n, "noun"), with the plural that it would print."""
    noun = call.group(1)
    many = noun[:-1] + "ies" if noun.endswith("y") else noun + ("es" if noun.endswith(("s", "ch")) else "s")
    return f'std::to_string(n) + " {many}"'


def words(code):
    """The text of the string literals in an expression, with "..." for values inserted at run time."""
    parts, gaps = LITERAL.findall(code), LITERAL.split(code)[::2]
    if not parts:
        return ""
    out = "..." if gaps[0].strip() not in ("", "std::string(") else ""
    for part, gap in zip(parts, gaps[1:]):
        alternative = ":" in gap.replace("::", "").split("?")[0]
        out += part + (" / " if alternative and gap is not gaps[-1] else "..." if "+" in gap and gap.strip(" +)\n") not in ("", "std::string(") else "")
    return " ".join(out.replace('\\"', '"').replace("\\n", " ").replace("{}", "...").replace("in %", "in ...").split())


def arguments(code, start):
    """The top-level arguments of the call whose '(' or '{' precedes `start`."""
    depth, begin, out, i = 0, start, [], start
    while i < len(code):
        c = code[i]
        if c == '"':
            found = LITERAL.match(code, i)
            i = found.end() if found else i + 1
            continue
        if c in "({[":
            depth += 1
        elif c in ")}]":
            if depth == 0:
                break
            depth -= 1
        elif c == "," and depth == 0:
            out.append(code[begin:i])
            begin = i + 1
        i += 1
    return out + [code[begin:i]]


def opening(code, at):
    """The position after the innermost bracket that is open at `at`."""
    depth = 0
    for i in range(at - 1, max(at - 3000, -1), -1):
        if code[i] in ")}]":
            depth += 1
        elif code[i] in "({[":
            if depth == 0:
                return i + 1
            depth -= 1
    return at


def details(code, at):
    """(kind, what, hint) of the fault or call around an id at `at`."""
    args = arguments(code, opening(code, at))
    fields = {m.group(1): arg[m.end():] for arg in args if (m := re.match(r"\s*\.(\w+)\s*=", arg))}
    if fields:
        kind = KIND.search(fields.get("kind", ""))
        return kind.group(1) if kind else "", words(fields.get("what", "")), words(fields.get("hint", ""))
    texts = [words(arg) for i, arg in enumerate(args)
             if LITERAL.search(arg) and sum(len(x) + 1 for x in args[:i + 1]) + opening(code, at) > at + 1]
    # The first of them is the id itself.
    return "", texts[1] if len(texts) > 1 else "", texts[2] if len(texts) > 2 else ""


def function_at(code, at):
    """(name, start of the body) of the last function whose body begins before `at`; (None, 0) if there is none."""
    around = [f for f in FUNCTION.finditer(code, 0, at)]
    return (around[-1].group(1), around[-1].end()) if around else (None, 0)


def helpers_of(texts):
    """{folder: {function: (prefix, kind)}} for functions that put a prefix in front of an id, or pass an id on to them."""
    out = {}
    for folder, code in texts:
        for match in PREFIXING.finditer(code):
            name, begin = function_at(code, match.start())
            if name:
                kind = KIND.search(code, begin)
                out.setdefault(folder, {}).setdefault(name, (match.group(1), kind.group(1) if kind else ""))
    for _ in range(3):
        for folder, code in texts:
            known = out.get(folder, {})
            for function in FUNCTION.finditer(code):
                if function.group(1) not in known and (entry := passes_on(code, function, known)):
                    known[function.group(1)] = entry
    return out


def passes_on(code, function, known):
    """The entry in `known` of the helper to which a function passes its parameter `id` or `rule`; None if it does not."""
    name = re.search(r"\b(id|rule)\b", function.group(2))
    if not name:
        return None
    body = ",".join(arguments(code, function.end()))
    found = [entry for helper, entry in known.items() if re.search(r"\b" + helper + r"\([^;]*\b" + name.group(1) + r"\b", body)]
    return found[-1] if found else None


def kinds_of(texts):
    """{(folder, function): kind} for helpers that take a whole id."""
    out = {}
    for folder, code in texts:
        for match in re.finditer(r"\.id\s*=\s*(?:std::move\()?(?:std::string\()?(?:id|rule)\b", code):
            name, _ = function_at(code, match.start())
            kind = [k for k in KIND.finditer(code, max(0, match.start() - 300), match.start())]
            if name and kind:
                out[folder, name] = kind[-1].group(1)
    return out


def is_id(code, match):
    literal = match.group(1)
    if re.search(r"\.id\s*=\s*$", code[max(0, match.start() - 12):match.start()]):
        return not literal.endswith(".")
    if not ID.match(literal) or literal.split(".")[0] not in PREFIXES or literal.split(".")[-1] in FILE_ENDINGS:
        return False
    return not code[:match.start()].rstrip().endswith("#include")


def whole_ids(folder, code, kinds):
    """(id, kind, what, hint) for ids that the code has as one literal."""
    for match in LITERAL.finditer(code):
        if not is_id(code, match):
            continue
        kind, what, hint = details(code, match.start())
        before = code[:opening(code, match.start()) - 1]
        name = re.search(r"(io::)?(\w+)$", before)
        homes = ["src/io"] if name and name.group(1) else [folder, "src/model"]
        known = (kinds.get((home, name.group(2) if name else "")) for home in homes)
        yield match.group(1), kind or next(filter(None, known), ""), what, hint


def words_for_ids(args):
    """(words, the arguments after them): the literals of the first argument that has any but keys looked up, if they are all words of ids."""
    for i, arg in enumerate(args):
        literals = LITERAL.findall(arg)
        if literals and not re.search(r'\.find\("', arg):
            return (literals if "+" not in arg and all(map(WORD.match, literals)) else []), args[i + 1:]
    return [], []


def prefixed_ids(folder, code, helpers):
    """(id, kind, what, hint) for ids whose prefix a helper puts in front."""
    patterns = [(re.compile(r"\b" + name + r"\("), entry) for name, entry in helpers.get(folder, {}).items()]
    if folder != "src/io":
        patterns += [(re.compile(r"\bio::" + name + r"\("), entry) for name, entry in helpers.get("src/io", {}).items()]
    for pattern, (prefix, kind) in patterns:
        for call in pattern.finditer(code):
            ids, behind = words_for_ids(arguments(code, call.end()))
            rest = [words(a) for a in behind if LITERAL.search(a)]
            for word in ids:
                what = f"cannot {word}: the system's words" if prefix == "io." else (rest[0] if rest else "")
                yield prefix + word, kind, what, rest[1] if len(rest) > 1 else ""


def collect():
    """{id: (kind, [(what, hint)], folder)}: the texts of each id in the first folder that has one for it."""
    texts = [(path.relative_to(ROOT).parent.as_posix(), code) for path, code in sources()]
    helpers, kinds, found = helpers_of(texts), kinds_of(texts), {}
    for folder, code in texts:
        for name, kind, what, hint in (*whole_ids(folder, code, kinds), *prefixed_ids(folder, code, helpers)):
            kind = "limit" if name.startswith("limit.") else kind
            known, said, home = found.setdefault(name, (kind, [], folder))
            if not said and what:  # the folders before had the id, but no text
                home = folder
            if what and home == folder and (what, hint) not in said:
                said.append((what, hint))
            found[name] = (known or kind, said, home)
    return found


def page(found):
    out = ["# Faults", "",
           "<!-- Written by scripts/check_errors.py --write from the sources; do not edit. -->", "",
           "What each message means, for those who look up an id or handle a kind. A fault has a kind, an id that stays the same between versions, a place,",
           "what was found, and mostly a hint. One line on standard error reads", "",
           "    FILE[:LINE[:COLUMN]][ (byte N)]: WHAT[; hint: HINT]", "",
           "and `--json` gives the same as fields, with the id, which `check` shows as *rule* and Python has as `error.id`. For compressed files, line, column",
           "and byte are those of the unpacked data; faults of the compression itself (`compressed.`) give the byte of the compressed file, and say so.", "",
           "| kind | |", "|---|---|",
           "| `usage` | the caller asked for something that makes no sense |", "| `config` | a configuration that cannot be used |",
           "| `io` | the system refused to open, read or write |", "| `format` | bytes that break a format's rules |",
           "| `limit` | a [limit](limits.md) was exceeded |", "| `stale` | the data changed since it was indexed |",
           "| `state` | a saved state that does not belong to these data or options |", "| `internal` | a defect of batchfeed |", "",
           "In the tables, an id without a kind is of kind `format` (those that begin with `fix.` are what `check --fix` did), a row without an id belongs to the",
           "id above, and `...` stands for what is filled in. Options and tools stand in hints as `section = A.B`, `force` and `check()`. The command says",
           "`--section A.B`, `--force` and `batchfeed check`, Python `section='A.B'`, `force=True` and `bf.check()`.", ""]
    for folder in sorted({entry[2] for entry in found.values()}):
        out += [f"## {folder}", "", "| id | kind | what | hint |", "|---|---|---|---|"]
        for name in sorted(found):
            kind, said, where = found[name]
            if where != folder:
                continue
            for i, pair in enumerate(said or [("", "")]):
                cells = [*((f"`{name}`", kind) if i == 0 else ("", "")), *(c.replace("|", "\\|") for c in pair)]
                out.append("|" + "".join(f" {c} |" if c else " |" for c in cells))
        out.append("")
    return "\n".join(out)


def text_of_tests():
    patterns = ("src/**/*_test.cc", "src/**/*_fuzz.cc", "cli/**/*_test.cc", "tests/**/*.cc", "tests/**/*.py", "tests/**/*.tsv", "tests/**/*.txt")
    return "".join(p.read_text(encoding="utf-8", errors="replace") for pattern in patterns for p in sorted(ROOT.glob(pattern)))


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
    tests = text_of_tests()
    mentioned = lambda name: re.search(r"(?<![\w.-])" + re.escape(name) + r"(?![\w-])", tests) or f'"{name.partition(".")[2]}"' in tests
    without = [name for name in sorted(found) if not mentioned(name)]
    for name in without:
        print(f"{name}: no test mentions it")
    bad += len(without)
    print(f"faults: {len(found)} ids, {len(found) - len(without)} with a test, {bad} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
