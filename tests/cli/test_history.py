# SPDX-License-Identifier: MIT
"""The plot of bench/history is that of its records."""
import json
import pathlib
import subprocess
import sys
import xml.dom.minidom

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import history  # noqa: E402


def records():
    return [json.loads(path.read_text()) for path in sorted((ROOT / "bench/history").glob("*.json"))]


def test_the_plot_is_that_of_the_records(tmp_path):
    before = (ROOT / "bench/history/history.svg").read_text()
    (tmp_path / "history").mkdir()
    for path in (ROOT / "bench/history").glob("*.json"):
        (tmp_path / "history" / path.name).write_text(path.read_text())
    (tmp_path / "history.py").write_text((ROOT / "bench/history.py").read_text())
    subprocess.run([sys.executable, str(tmp_path / "history.py")], check=True)
    assert (tmp_path / "history/history.svg").read_text() == before, "run python3 bench/history.py"


def test_every_figure_of_every_record_is_drawn():
    drawn = xml.dom.minidom.parseString(history.draw(records()))
    points = [title.firstChild.data for title in drawn.getElementsByTagName("title")][1:]
    assert len(points) == sum(len(record["figures"]) for record in records())
    for record in records():
        for name in record["figures"]:
            assert any(point.startswith(f"{name}: ") and record["commit"] in point for point in points), name


def test_what_is_better_is_drawn_higher():
    record = {"date": "2026-01-01", "commit": "a", "cpu": "c", "tier": "avx2", "load": 0}
    figures = [{"a ratio": {"ratio": ratio, "of": "x", "goal": 2}, "a time": {"value": value, "unit": "us", "goal": 3}} for ratio, value in ((1, 6), (4, 1))]
    drawn = xml.dom.minidom.parseString(history.draw([{**record, "figures": one} for one in figures]))
    heights = [float(circle.getAttribute("cy")) for circle in drawn.getElementsByTagName("circle")]
    assert heights[0] > heights[1] and heights[2] > heights[3]  # y grows downwards
