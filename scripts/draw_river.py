#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws docs/explanation/river.svg: how bytes become minibatches, with the floors beside.

    draw_river.py            fails if the picture is not up to date
    draw_river.py --write    writes it
"""
import pathlib
import sys
from html import escape

PICTURE = pathlib.Path(__file__).resolve().parent.parent / "docs/explanation/river.svg"
WIDTH, HEIGHT = 990, 470
# Folder, what it does, x, y, width. Two rows: metadata above, data below.
BOXES = [
    ("io", "bytes of files, plain,\ncompressed or far away", 20, 200, 180),
    ("formats/x  index", "one walk: where each\nsequence stands", 250, 60, 190),
    ("index_cache", "that, on disk", 250, 160, 190),
    ("order", "which sequence comes next:\na function of sizes, seed, sweep", 490, 60, 250),
    ("formats/x  source", "one chunk of bytes\nto columns, on any thread", 250, 300, 190),
    ("join", "several sources\nbecome one, by key", 490, 300, 170),
    ("pack", "sequences, in the order\nthey come, laid out", 710, 300, 190),
    ("minibatch", "packed, padded,\nCNTK's layout, CSR", 805, 180, 165),
    ("reader", "reads ahead what the order will need, within a budget of bytes; state() is a few numbers", 250, 405, 650),
]
ARROWS = [  # points of a line, and whether it is metadata, which is dashed
    ([(200, 220), (225, 220), (225, 90), (250, 90)], False),
    ([(200, 240), (225, 240), (225, 330), (250, 330)], False),
    ([(345, 122), (345, 160)], True),
    ([(440, 90), (490, 90)], True),
    ([(600, 122), (600, 240), (345, 240), (345, 300)], True),
    ([(740, 90), (770, 90), (770, 300)], True),
    ([(440, 330), (490, 330)], False),
    ([(660, 330), (710, 330)], False),
    ([(860, 300), (860, 242)], False),
]
STYLE = """
    svg { --ink: #1b2733; --soft: #5b6b7a; --paper: #ffffff; --box: #eef4f8; --edge: #9fb6c8; --water: #1f78b4; --meta: #8a5a00 }
    @media (prefers-color-scheme: dark) {
      svg { --ink: #e6edf3; --soft: #9fb0bf; --paper: #14191e; --box: #1f2a33; --edge: #466073; --water: #6cb6e6; --meta: #e0b15a }
    }
    .paper { fill: var(--paper) } .box { fill: var(--box); stroke: var(--edge) }
    text { font: 13px system-ui, sans-serif; fill: var(--soft) } .name { font-weight: 600; font-size: 14px; fill: var(--ink) }
    path { fill: none; stroke-width: 2 } .data { stroke: var(--water); stroke-width: 3 } .meta { stroke: var(--meta); stroke-dasharray: 5 4 }
    .data-head { fill: var(--water) } .meta-head { fill: var(--meta) }"""


def box(name, text, x, y, width):
    lines = text.split("\n")
    height = 30 + 16 * len(lines)
    out = [f'  <rect class="box" x="{x}" y="{y}" width="{width}" height="{height}" rx="8"/>',
           f'  <text class="name" x="{x + 12}" y="{y + 21}">{escape(name)}</text>']
    return out + [f'  <text x="{x + 12}" y="{y + 39 + 16 * i}">{escape(line)}</text>' for i, line in enumerate(lines)]


def arrow(points, meta):
    kind = "meta" if meta else "data"
    path = " L ".join(f"{x} {y}" for x, y in points)
    return [f'  <path class="{kind}" marker-end="url(#{kind})" d="M {path}"/>']


def picture():
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="title about">',
           '  <title id="title">The river</title>',
           '  <desc id="about">Bytes are indexed once; from the index follows the order; chunks are read ahead in that order, '
           'joined, and packed into minibatches.</desc>',
           f"  <style>{STYLE}\n  </style>", "  <defs>"]
    for kind in ("data", "meta"):
        out.append(f'    <marker id="{kind}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" '
                   f'markerUnits="userSpaceOnUse" orient="auto"><path class="{kind}-head" style="stroke:none;fill:var(--{"water" if kind == "data" else kind})" d="M 0 0 L 8 4 L 0 8 z"/></marker>')
    out += ["  </defs>", f'  <rect class="paper" width="{WIDTH}" height="{HEIGHT}" rx="10"/>',
            '  <text x="250" y="36">metadata: known before any data is read</text>',
            '  <text x="490" y="284">data: in chunks, on many threads</text>']
    for points, meta in ARROWS:
        out += arrow(points, meta)
    for one in BOXES:
        out += box(*one)
    return "\n".join([*out, "</svg>"]) + "\n"


def main():
    text = picture()
    if "--write" in sys.argv[1:]:
        PICTURE.write_text(text, encoding="utf-8")
        return 0
    if not PICTURE.is_file() or PICTURE.read_text(encoding="utf-8") != text:
        print("docs/explanation/river.svg is not up to date; scripts/draw_river.py --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
