# SPDX-License-Identifier: MIT
"""`batchfeed report` in a browser (Debian's chromium, without a window): the page is laid out, on a phone and on
a desk, in light and in dark, and what one reads there are the figures of --json."""
import json
import re
import shutil
import subprocess

import pytest

from test_report import labelled

pytestmark = pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium; scripts/install_deps browser")

PROBE = """<script>
addEventListener('load', () => {
  const lum = c => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b }
  const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor
    if (!/, 0\\)$|transparent/.test(c)) return c } return 'rgb(255, 255, 255)' }
  const seen = e => e.getClientRects().length > 0
  const texts = [...document.body.querySelectorAll('h1,h2,h3,p,a,b,em,span,td,th,li,dt,dd,caption,figcaption')].filter(e => seen(e) && e.innerText.trim())
  const between = (one, other) => { const [a, b] = [lum(one), lum(other)].sort((x, y) => y - x); return (a + 0.05) / (b + 0.05) }
  const contrast = e => between(getComputedStyle(e).color, behind(e))
  const drawn = [...document.querySelectorAll('svg rect')].map(e => between(getComputedStyle(e).fill, behind(e)))
    .concat([...document.querySelectorAll('.rank i')].map(e => between(getComputedStyle(e).backgroundColor, behind(e.parentElement))))
  const lettered = [...document.querySelectorAll('svg text')].map(e => between(getComputedStyle(e).fill, behind(e)))
  const stops = [...document.querySelectorAll('a[href],button,input,select,summary,[tabindex]')]
  parent.postMessage({width: innerWidth, needs: document.documentElement.scrollWidth, text: document.body.innerText,
    paper: behind(document.body), contrast: Math.min(...texts.map(contrast), ...lettered), drawn: Math.min(...drawn),
    stops: stops.map(e => [e.tabIndex, e.innerText]), moving: document.getAnimations().length,
    headings: [...document.querySelectorAll('h1,h2,h3')].map(e => +e.tagName[1]),
    nameless: [...document.querySelectorAll('table')].filter(t => !t.caption || !t.caption.innerText.trim()).length +
      [...document.querySelectorAll('th')].filter(h => !h.scope || !h.innerText.trim()).length,
    bars: [...document.querySelectorAll('svg rect')].map(r => r.getBoundingClientRect()).map(b => [b.left, b.right, b.height])}, '*')
})
</script>"""
FRAME = """<!doctype html><title>?</title><body style="margin:0"><iframe id=f style="border:0" width={width} height=900 src="page.html"></iframe>
<pre id=o></pre><script>addEventListener('message', e => document.getElementById('o').textContent = JSON.stringify(e.data))</script>"""


def seen(folder, width, dark=False):
    """What the probe says of page.html in a window of that width."""
    (folder / "frame.html").write_text(FRAME.format(width=width))
    done = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}",
                           "--virtual-time-budget=5000", "--window-size=1300,950", f"--screenshot={folder / 'page.png'}",
                           f"--blink-settings=preferredColorScheme={0 if dark else 1}", "--dump-dom", f"file://{folder}/frame.html"],
                          capture_output=True, text=True, timeout=120)
    found = re.search(r"<pre id=\"o\">(.*?)</pre>", done.stdout, re.S)
    assert found and found[1], done.stderr
    text = found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return json.loads(text)


def test_it_is_laid_out_everywhere_and_its_figures_are_right(batchfeed, write):
    labelled(write)
    figures = batchfeed("report", "train.ctf", "--json").json
    assert batchfeed("report", "train.ctf", "-o", "report.html").code == 0
    page = (batchfeed.folder / "report.html").read_text()
    (batchfeed.folder / "page.html").write_text(page.replace("</body>", PROBE + "</body>"))
    phone, desk, dark = seen(batchfeed.folder, 390), seen(batchfeed.folder, 1200), seen(batchfeed.folder, 1200, dark=True)

    for view in (phone, desk, dark):
        assert view["needs"] <= view["width"]  # nothing sticks out
        assert view["contrast"] >= 4.5 and view["drawn"] >= 3  # as WCAG asks of text, and of what is drawn
        assert view["stops"] == [[0, name] for name in ("Advice", "Streams", "Sequences", "Order", "Faults")]  # for the keyboard
        assert view["moving"] == view["nameless"] == 0
        assert view["headings"][0] == 1 and all(next - before <= 1 for before, next in zip(view["headings"], view["headings"][1:]))
        for number in (figures["sequences"], figures["samples"], figures["duplicates"]):
            assert f"{number:,}" in view["text"]
        assert all(stream["name"] in view["text"] for stream in figures["streams"])
        assert all(advice["text"] in view["text"] for advice in figures["advice"])
        assert view["bars"] and all(0 <= left <= right <= view["width"] and height >= 0 for left, right, height in view["bars"])
        assert max(height for _, _, height in view["bars"]) > 10
    assert phone["width"] == 390 and dark["paper"] != desk["paper"]
    assert (batchfeed.folder / "page.png").stat().st_size > 10_000
