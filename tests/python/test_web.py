# SPDX-License-Identifier: MIT
"""Files on web servers: those that answer with errors, and processes that are forked or end while they are read."""
import contextlib
import email.utils
import http.server
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

fsspec = pytest.importorskip("fsspec")
from conftest import keys_of
from test_remote import same

import batchfeed as bf
from batchfeed import _files


@contextlib.contextmanager
def served(handler):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextlib.contextmanager
def web(folder, ranges=True):
    class Handler(http.server.SimpleHTTPRequestHandler):
        asked = []
        answers, waits = threading.Event(), threading.Event()
        answers.set()

        def __init__(self, *args, **kwargs):
            super().__init__(*args, directory=str(folder), **kwargs)

        def log_message(self, *args):
            pass

        def do_GET(self):
            if not Handler.answers.is_set():
                Handler.waits.set()
                Handler.answers.wait(100)
            wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            path = self.translate_path(self.path)
            if not ranges or not wanted or not os.path.isfile(path):
                return super().do_GET()
            first, last = int(wanted[1]), int(wanted[2])
            Handler.asked.append((first, last))
            with open(path, "rb") as file:
                file.seek(first)
                data = file.read(last - first + 1)
            self.send_response(206)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Content-Range", f"bytes {first}-{first + len(data) - 1}/{os.path.getsize(path)}")
            self.end_headers()
            self.wfile.write(data)

    with served(Handler) as url:
        try:
            yield url, Handler
        finally:
            Handler.answers.set()


@pytest.mark.parametrize("ranges", [True, False])
def test_web_servers(corpus, tmp_path, ranges):
    pytest.importorskip("aiohttp")
    with web(tmp_path, ranges) as (url, handler):
        options = dict(minibatch_samples=7, seed=2)
        same(bf.open(f"{url}/train.ctf", **options), bf.open(corpus.path, **options))
        assert bool(handler.asked) == ranges
        with pytest.raises(bf.MissingFileError):
            bf.open(f"{url}/other.ctf")


@contextlib.contextmanager
def refusing(answers, waits=()):
    """A server that answers with these, the last one again and again, and a corpus behind it. `waits`: what the answers say
    as to when to ask again."""

    class Handler(http.server.BaseHTTPRequestHandler):
        asked = []

        def log_message(self, *args):
            pass

        def answer(self):
            Handler.asked.append(self.command)
            status = answers[min(len(Handler.asked), len(answers)) - 1]
            body = b"0 |x 1\n1 |x 2\n" if status == 200 else b""
            self.send_response(status)
            wait = waits[len(Handler.asked) - 1] if len(Handler.asked) <= len(waits) else None
            if wait is not None:
                self.send_header("Retry-After", wait)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_GET = do_HEAD = answer

    with served(Handler) as url:
        yield f"{url}/a.ctf", Handler


@pytest.mark.parametrize(
    "status, hint, lasts",
    [(401, "credentials", True), (403, "credentials", True), (416, "shorter", True), (429, "too often", False), (500, "the server is at fault", False), (503, "at fault", False)],
)
def test_what_a_server_answers_is_told(monkeypatch, status, hint, lasts):
    pytest.importorskip("aiohttp")
    monkeypatch.setattr(_files.time, "sleep", lambda seconds: None)
    with refusing([status]) as (url, handler), pytest.raises(bf.FileError, match=f"the server answers {status}") as caught:
        bf.open(url, storage_options=bf.Remote(retries=2))
    assert not isinstance(caught.value, FileNotFoundError) and hint in caught.value.hint and caught.value.path == url
    assert len(handler.asked) == 2 * (1 if lasts else 3)  # HEAD and GET each time


@pytest.mark.parametrize("status", [404, 410])
def test_what_a_server_has_not_got_is_missing(status):
    aiohttp = pytest.importorskip("aiohttp")
    with refusing([status]) as (url, _), pytest.raises(bf.MissingFileError):
        bf.open(url)
    circle = aiohttp.TooManyRedirects(aiohttp.RequestInfo("http://a/", "GET", {}), ())  # it sends elsewhere again and again
    assert _files.fault("http://a/", "open", circle).what == "cannot open: TooManyRedirects"


def test_a_server_that_comes_back_is_asked_again(monkeypatch):
    pytest.importorskip("aiohttp")
    monkeypatch.setattr(_files.time, "sleep", lambda seconds: None)
    with refusing([500, 500, 200]) as (url, _):
        assert bf.open(url).num_samples == 2


def test_a_server_says_when_it_wants_to_be_asked_again(monkeypatch):
    pytest.importorskip("aiohttp")
    waits = []
    monkeypatch.setattr(_files.time, "sleep", waits.append)
    in_a_while = email.utils.formatdate(time.time() + 20, usegmt=True)
    said = ["7", in_a_while, "1000000", "-3", "soon", "Thu, 01 Jan 1970 00:00:00 GMT", None]
    said = [wait for wait in said for _ in range(2)]  # a size is asked for by HEAD, and then by GET
    with refusing([429, 429, *[503] * 12, 200], said) as (url, _):
        assert bf.open(url, storage_options=bf.Remote(retries=10)).num_samples == 2
    assert waits[0] == 7 and 15 < waits[1] <= 20 and waits[2] == 60 and all(wait <= 5 for wait in waits[3:]) and len(waits) >= 7


@pytest.mark.parametrize("ranges", [True, False])
def test_a_file_that_is_longer_than_its_server_says_is_a_fault(tmp_path, ranges):
    pytest.importorskip("aiohttp")
    (tmp_path / "a.ctf").write_text("0 |x 1\n1 |x 2\n2 |x 3\n")
    with web(tmp_path, ranges) as (url, handler):

        def told(self):
            self.send_response(200)
            self.send_header("Content-Length", "14")
            self.send_header("Accept-Ranges", "bytes")
            self.end_headers()

        handler.do_HEAD = told
        with pytest.raises(bf.FileError, match="longer than the 14 bytes"):
            list(bf.open(f"{url}/a.ctf"))


def test_a_server_that_is_not_there(monkeypatch):
    pytest.importorskip("aiohttp")
    monkeypatch.setattr(_files.time, "sleep", lambda seconds: None)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/a.ctf"
    with pytest.raises(bf.FileError, match="onnect") as caught:
        bf.open(url)
    assert not isinstance(caught.value, FileNotFoundError) and "can the server be reached" in caught.value.hint


@pytest.fixture
def large(tmp_path):
    """A corpus of which parts are fetched."""
    pytest.importorskip("aiohttp")
    path = tmp_path / "large.ctf"
    path.write_text("".join(f"{i} |x {i} {i % 7}\n" for i in range(60_000)))
    return path


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork()")
@pytest.mark.parametrize("prefetch", [True, False])
def test_a_forked_child_goes_on(large, prefetch):
    options = dict(minibatch_samples=10_000, seed=2, prefetch=prefetch)
    expected = keys_of(bf.open(large, **options))
    with web(large.parent) as (url, _):
        reader = bf.open(f"{url}/{large.name}", **options)
        reader.next()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                status = 0 if keys_of(iter(reader.next, None)) == expected[1:] else 2
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert keys_of(iter(reader.next, None)) == expected[1:]


@pytest.mark.parametrize("rest", ["", "reader.next()", "[*reader]"])
def test_python_ends_in_silence_while_a_reader_is_open(large, rest):
    with web(large.parent) as (url, _):
        script = f"import sys; import batchfeed as bf; reader = bf.open(sys.argv[1], minibatch_samples=7000); {rest or None}; sys.exit(3)"
        done = subprocess.run([sys.executable, "-c", script, f"{url}/{large.name}"], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (3, "")


STALLED = """
import signal, sys
import batchfeed as bf
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored
reader = bf.open(sys.argv[1], minibatch_samples=1000, storage_options=bf.Remote(part_bytes=1 << 15, read_ahead=0), prefetch={})
print("open", flush=True)
{}
    while True:
        list(reader)
"""


@pytest.mark.parametrize("prefetch", [True, False])
@pytest.mark.parametrize("loop", ["with reader:", "if True:"])
def test_an_interrupt_ends_waiting_for_a_server_that_does_not_answer(large, loop, prefetch):
    with web(large.parent) as (url, handler):
        command = [sys.executable, "-c", STALLED.format(prefetch, loop), f"{url}/{large.name}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as python:
            try:
                assert python.stdout.readline() == "open\n"
                handler.answers.clear()
                assert handler.waits.wait(60)
                python.send_signal(signal.SIGINT)
                assert python.communicate(timeout=30)[1].endswith("KeyboardInterrupt\n")
            finally:
                python.kill()
