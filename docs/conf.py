# SPDX-License-Identifier: MIT
"""The documents as a site: scripts/docs builds it. They are written to be read as they are, too."""
import re

import batchfeed

project = "batchfeed"
copyright = "the batchfeed authors"
version = release = batchfeed.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["schemas"]
html_theme = "furo"
html_title = "batchfeed"
myst_heading_anchors = 4
autodoc_default_options = {"members": True, "undoc-members": True, "show-inheritance": True}
autodoc_typehints = "description"
autodoc_member_order = "bysource"
suppress_warnings = ["myst.xref_missing", "ref.python"]  # files of the tree that are no documents; one name in several classes


def contents(app, name, source):
    """What index.md links to is the site's table of contents, under its own headings."""
    if name != "index":
        return
    parts = re.split(r"^\*\*(.+?)\*\*$", source[0], flags=re.M)
    for caption, text in zip(parts[1::2], parts[2::2]):
        pages = [page.rsplit(".", 1)[0] for page in re.findall(r"\]\(([\w/-]+\.(?:md|rst))\)", text)]
        source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(pages) + "\n```\n"


def examples(app, what, name, thing, options, lines):
    """What is indented in a docstring is Python."""
    for i in range(len(lines) - 1, 0, -1):
        if lines[i].startswith("    ") and not lines[i - 1].strip() and not lines[i - 2].startswith("    "):
            lines[i:i] = [".. code-block:: python", ""]


def setup(app):
    app.connect("source-read", contents)
    app.connect("autodoc-process-docstring", examples)
