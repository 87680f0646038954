#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the floors: which folder of src/ may include which.

A folder's CMakeLists.txt names the folders it uses; the build gives it the
include roots of those and no others. This prints that graph, and fails on a
cycle, on formats that know each other, on an include that the graph does not
allow, and on an inner header in cli/, python/ or examples/.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.M)


def declared():
    """{folder: set of folders it names in DEPS}"""
    graph = {}
    for lists in sorted((ROOT / "src").rglob("CMakeLists.txt")):
        text = re.sub(r"#.*", "", lists.read_text())
        for call in re.finditer(r"batchfeed_module\(([^)]*)\)", text):
            words = call.group(1).split()
            deps = words[words.index("DEPS") + 1:] if "DEPS" in words else []
            graph[words[0]] = set(deps)
    return graph


def closure(graph):
    """{folder: all folders it may include}; None for a cycle, which is printed."""
    done = {}

    def visit(folder, trail):
        if folder in trail:
            print("cycle: " + " -> ".join(trail[trail.index(folder):] + [folder]))
            return None
        if folder not in done:
            below = set()
            for dep in graph.get(folder, ()):
                deeper = visit(dep, trail + [folder])
                if deeper is None:
                    return None
                below |= {dep} | deeper
            done[folder] = below
        return done[folder]

    for folder in graph:
        if visit(folder, []) is None:
            return None
    return done


def main():
    graph = declared()
    bad = 0
    for folder, deps in graph.items():
        for dep in sorted(deps - graph.keys()):
            print(f"src/{folder}: DEPS names '{dep}', which is no folder of src/")
            bad += 1
    below = closure(graph)
    if below is None:
        return 1

    depth = {}
    for folder in sorted(graph, key=lambda f: len(below[f])):
        depth[folder] = 1 + max((depth[d] for d in below[folder]), default=-1)
    for folder in sorted(graph, key=lambda f: (depth[f], f)):
        print(f"{depth[folder]}  {folder:14} <- {' '.join(sorted(graph[folder])) or '(nothing)'}")
        for other in below[folder]:
            if folder.startswith("formats/") and other.startswith("formats/"):
                print(f"src/{folder}: formats do not know each other, but it uses {other}")
                bad += 1

    files = 0
    for path in sorted((ROOT / "src").rglob("*")):
        if path.suffix not in (".h", ".cc") or path.name.endswith(("_test.cc", "_fuzz.cc")):
            continue
        inside = path.relative_to(ROOT / "src").parent.as_posix()
        folder = max((f for f in graph if inside == f or inside.startswith(f + "/")), key=len, default=None)
        if folder is None:
            if inside != ".":
                print(f"{path.relative_to(ROOT)}: its folder has no batchfeed_module()")
                bad += 1
            continue
        files += 1
        for _, name in INCLUDE.findall(path.read_text()):
            target = max((f for f in graph if name.startswith(f + "/")), key=len, default=None)
            if target and target != folder and target not in below[folder]:
                print(f"{path.relative_to(ROOT)}: includes {name}, but {folder} does not stand on {target}")
                bad += 1

    for top in ("cli", "python", "examples", "include"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix not in (".h", ".cc"):
                continue
            files += 1
            for _, name in INCLUDE.findall(path.read_text()):
                if any(name.startswith(f + "/") for f in graph) or name.startswith("src/") or "../" in name:
                    print(f"{path.relative_to(ROOT)}: includes {name}; only public headers (batchfeed/...) are allowed here")
                    bad += 1
    print(f"floors: {len(graph)} folders, {files} files, {bad} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
