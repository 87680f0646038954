#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws bench/history/*.json as bench/history/history.svg: each figure over time, against its goal.

    python3 bench/history.py

The other scripts here write the records with --record, one for each commit and day. Ratios are
comparable from record to record, as far as the conditions noted there agree (CPU, kernels, load).
A figure that has a value and no ratio is drawn as goal / value, so that up is better everywhere.
"""
import json
import math
import pathlib
import sys
import xml.sax.saxutils

HISTORY = pathlib.Path(__file__).resolve().parent / "history"
WIDTH, ROW, LEFT, RIGHT, TOP = 1000, 54, 330, 120, 70
SPAN = WIDTH - LEFT - RIGHT


def height(figure):
    """(the figure as it is drawn, the goal on the same scale or None); up is better."""
    if "ratio" in figure:
        return figure["ratio"], figure.get("goal")
    return figure["goal"] / figure["value"], 1


def shown(figure):
    return f"{figure['ratio']:.2f}" if "ratio" in figure else f"{figure['value']:g} {figure['unit']}"


def draw(records):
    names = list(dict.fromkeys(name for record in records for name in record["figures"]))
    place = lambda at: LEFT + (SPAN * at / (len(records) - 1) if len(records) > 1 else SPAN / 2)
    text = lambda x, y, what, extra="": f'<text x="{x:.0f}" y="{y:.0f}" {extra}>{xml.sax.saxutils.escape(what)}</text>'
    total = TOP + ROW * len(names) + 60
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {total}" font-family="sans-serif" font-size="12" role="img">',
           "<title>Figures of speed over time</title>",
           "<style>text{fill:#1f2328}.dim{fill:#59636e}.goal{stroke:#bf5600;stroke-dasharray:4 3}.line{stroke:#0969da;fill:none;stroke-width:1.5}circle{fill:#0969da}"
           "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.dim{fill:#9198a1}.line{stroke:#58a6ff}circle{fill:#58a6ff}.goal{stroke:#f0883e}.base{stroke:#3d444d}}.base{stroke:#d1d9e0}</style>",
           text(10, 22, "Figures of speed over time", 'font-size="16"'),
           text(10, 42, "ratios of one run each; dashed: the goal; up is better; a point says of which commit, CPU and load it is", 'class="dim"')]
    for row, name in enumerate(names):
        points = [(at, record["figures"][name], record) for at, record in enumerate(records) if name in record["figures"]]
        heights = [height(figure) for _, figure, _ in points]
        top = 1.1 * max(max(h, goal or 0) for h, goal in heights)
        low, high = TOP + ROW * (row + 1) - 8, TOP + ROW * row + 8
        level = lambda value: low - (low - high) * value / top
        goal = heights[-1][1]
        out.append(f'<line class="base" x1="{LEFT}" x2="{LEFT + SPAN}" y1="{low}" y2="{low}"/>')
        if goal:
            out.append(f'<line class="goal" x1="{LEFT}" x2="{LEFT + SPAN}" y1="{level(goal):.1f}" y2="{level(goal):.1f}"/>')
        out.append(text(10, (low + high) / 2, name))
        last = points[-1][1]
        wanted = f"goal {last['goal']:g}" if last.get("goal") else f"of {last['of']}" if len(last.get("of", "")) < 18 else ""
        out.append(text(LEFT + SPAN + 10, (low + high) / 2 - 3, shown(last)))
        out.append(text(LEFT + SPAN + 10, (low + high) / 2 + 11, wanted, 'class="dim" font-size="10"'))
        where = [(place(at), level(h)) for (at, _, _), (h, _) in zip(points, heights)]
        out.append('<polyline class="line" points="' + " ".join(f"{x:.1f},{y:.1f}" for x, y in where) + '"/>')
        for (x, y), (_, figure, record) in zip(where, points):
            title = xml.sax.saxutils.escape(f"{name}: {shown(figure)}; {record['date']}, {record['commit']}, {record['cpu']}, {record['tier']}, load {record['load']}")
            out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"><title>{title}</title></circle>')
    for at, record in enumerate(records):
        out.append(text(place(at), total - 36, record["date"], 'text-anchor="middle" class="dim" font-size="10"'))
        out.append(text(place(at), total - 22, record["commit"], 'text-anchor="middle" class="dim" font-size="10"'))
    return "\n".join([*out, "</svg>", ""])


def main():
    records = [json.loads(path.read_text()) for path in sorted(HISTORY.glob("*.json"))]
    if not records:
        sys.exit("bench/history has no record yet; the scripts in bench/ write one with --record")
    records.sort(key=lambda record: (record["date"], record.get("time", "")))
    for record in records:
        for name, figure in record["figures"].items():
            if not all(math.isfinite(value) for value in height(figure) if value is not None):
                sys.exit(f"{record['commit']}: {name} is no figure: {figure}")
    (HISTORY / "history.svg").write_text(draw(records))
    print(f"bench/history/history.svg: {len(records)} records")


if __name__ == "__main__":
    main()
