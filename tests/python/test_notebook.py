# SPDX-License-Identifier: MIT
"""examples/first_look.ipynb, by a kernel as in Jupyter where nbclient is installed, else cell by cell."""
import json
import pathlib

import pytest

pytest.importorskip("scipy")
pytest.importorskip("torch")
pytest.importorskip("tqdm")

NOTEBOOK = pathlib.Path(__file__).resolve().parents[2] / "examples/first_look.ipynb"


def cells():
    return [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]


def test_it_is_kept_without_outputs():
    assert len(cells()) >= 15
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells())


def test_every_cell_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for cell in cells():
        exec("".join(cell["source"]), names)
    told = capsys.readouterr().out
    assert "|words " in told and "89 minibatches" in told
    assert list(tmp_path.iterdir()) == []  # it writes into a folder of its own


def test_a_kernel_shows_tables_and_plots(tmp_path):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(NOTEBOOK, 4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            assert output["output_type"] != "error"
            shown[cell["source"].splitlines()[-1]] = output.get("data", {})
    stats = shown["reader.stats()"]["text/html"]
    assert stats.startswith("<table><tr><th>stream</th>") and "<svg" in stats and "2000 sequences" in stats
    assert "2000 sequences" in shown["reader.stats()"]["text/plain"]
    assert shown["reader"]["text/plain"].startswith("<Reader of ")
    assert shown["batch"]["text/plain"].startswith("<Batch 0 of epoch 0")
    assert "2 faults" in shown['bf.check(bf.CTF(folder / "broken.ctf", streams=streams))']["text/plain"]
