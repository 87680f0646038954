# SPDX-License-Identifier: MIT
"""Relative paths count from where a reader was opened, wherever the process goes, or another one was started."""
import os
import pickle
import struct
import subprocess
import sys
import textwrap

import pytest

import batchfeed as bf
from batchfeed.compat import cntk
from conftest import Corpus, keys_of

CONFIG = """
reader = [ readerType = "CNTKTextFormatReader" ; file = "train.ctf" ; randomize = false
    input = [ x = [ dim = 3 ; format = "dense" ] ; y = [ dim = 5 ; format = "sparse" ] ] ]
"""


@pytest.fixture
def there(tmp_path, monkeypatch):
    """A folder with a corpus in which the process is, and another one to go to."""
    here, other = tmp_path / "he[r]e*", tmp_path / "other"
    here.mkdir(), other.mkdir()
    Corpus(here / "train.ctf", [3, 1, 4, 1, 5])
    (here / "train.cntk").write_text(CONFIG)
    for name in ("part-1.ctf", "part-2.ctf"):
        (here / name).write_text("".join(f"{i} |x {i}\n" for i in range(5)))
    bf.convert(str(here / "train.ctf"), str(here / "train.cbf"), keys="keep")
    monkeypatch.chdir(here)
    write_speech()
    return other


def write_speech():
    with open("list.scp", "w") as scp:
        for i in range(40):  # more files than are kept open
            with open(f"u{i}.htk", "wb") as file:
                file.write(struct.pack(">iihh", 1, 100_000, 8, 9) + struct.pack(">2f", float(i), 1.0))
            scp.write(f"u{i}=u{i}.htk[0,0]\n")


SOURCES = {
    "text": lambda: bf.open("train.ctf", minibatch_samples=3),
    "binary with keys": lambda: bf.open("train.cbf", minibatch_samples=3),
    "a pattern": lambda: bf.open("part-*.ctf", minibatch_samples=3),
    "a configuration": lambda: bf.open("train.cntk", minibatch_samples=3),
    "a source": lambda: bf.Reader(bf.CTF("train.ctf", {"x": bf.dense(3), "y": bf.sparse(5)}), minibatch_samples=3),
    "a mixture": lambda: bf.Reader(bf.Mix(("part-1.ctf", 1), ("part-2.ctf", 2)), minibatch_samples=3, epoch_samples=9),
    "roots": lambda: bf.Reader(bf.CTF("train.ctf"), minibatch_samples=3, limits={"roots": ["."]}),
    "features": lambda: bf.Reader(bf.HTKFeatures("x", "list.scp", 2), minibatch_samples=3),
    "a cache": lambda: bf.Reader(bf.CTF("train.ctf", cache_index=True, cache_dir="cache"), minibatch_samples=3),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_a_reader_goes_on_elsewhere(there, kind):
    reader, again = SOURCES[kind](), SOURCES[kind]()
    expected = keys_of(again)
    text = pickle.dumps(reader)
    os.chdir(there)
    assert keys_of(pickle.loads(text)) == expected
    child = os.fork()
    if not child:
        right = False
        try:
            right = keys_of(reader) == expected
        finally:
            os._exit(not right)
    assert os.waitpid(child, 0)[1] == 0
    assert keys_of(reader) == expected
    assert os.listdir(there) == []


def test_in_a_process_of_its_own(there):
    with open(there / "reader", "wb") as file:
        pickle.dump(SOURCES["a configuration"](), file)
    program = "import pickle; print(sum(b.num_samples for b in pickle.load(open('reader', 'rb'))))"
    assert subprocess.run([sys.executable, "-c", program], cwd=there, capture_output=True, text=True, check=True).stdout == "14\n"


def test_a_folder_that_was_moved_is_where_the_process_is(there, tmp_path):
    """As on another machine, which has the corpus somewhere else."""
    text = pickle.dumps(SOURCES["a configuration"]())
    os.rename(os.getcwd(), tmp_path / "moved")
    os.chdir(tmp_path / "moved")
    assert sum(batch.num_samples for batch in pickle.loads(text)) == 14


def test_datasets_open_where_they_were_made(there):
    torch = pytest.importorskip("batchfeed.torch")
    dataset = torch.Dataset("train.ctf", minibatch_samples=3)
    os.chdir(there)
    assert sum(len(item["x"]) for item in pickle.loads(pickle.dumps(dataset))) == 14


def test_scripts_of_old(there):
    def open_it():
        streams = cntk.StreamDefs(x=cntk.StreamDef("x", 3), y=cntk.StreamDef("y", 5, True))
        return cntk.MinibatchSource(cntk.CTFDeserializer("train.ctf", streams), max_sweeps=1)

    text = pickle.dumps(open_it()._reader)
    os.chdir(there)
    assert sum(batch.num_samples for batch in pickle.loads(text)) == 14


def test_messages_name_the_path_as_given(there):
    text = pickle.dumps(bf.open("train.ctf"))
    here = os.getcwd()
    os.remove("train.ctf")
    os.chdir(there)
    with pytest.raises(bf.MissingFileError) as caught:
        pickle.loads(text)
    assert caught.value.path == "train.ctf" and f"relative paths count from {here}" in caught.value.hint


def test_a_folder_that_is_gone_is_no_fault(there, tmp_path):
    """Absolute paths do without."""
    path = os.path.abspath("train.ctf")
    program = f"""
        import os, batchfeed as bf
        os.mkdir("gone"); os.chdir("gone"); os.rmdir("../gone")
        print(bf.open({path!r}).num_samples)
    """
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], cwd=there, capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("14\n", "")
