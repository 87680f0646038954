# SPDX-License-Identifier: MIT
"""A command that is loaded once and run many times, each time as a process of its own."""
import os
import pathlib
import subprocess
import tempfile


def library():
    """The path of starter.c as a library; made once for these sources."""
    source = pathlib.Path(__file__).with_name("starter.c")
    built = pathlib.Path(tempfile.gettempdir(), f"batchfeed-starter-{os.getuid()}-{source.stat().st_mtime_ns}.so")
    if not built.exists():
        fresh = f"{built}.{os.getpid()}"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o", fresh, str(source), "-ldl"], check=True)
        os.rename(fresh, built)
    return str(built)


class Starter:
    """Of one process; a fork of it needs another."""

    def __init__(self, command):
        self.owner = os.getpid()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | {"LD_PRELOAD": library()})

    def run(self, folder):
        """(status as of subprocess, what it printed, what it printed as errors)"""
        self.process.stdin.write(os.fsencode(folder) + b"\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{self.process.args[0]} cannot be started this way: it ended with {self.process.wait()}")
        return os.waitstatus_to_exitcode(int(answer)), pathlib.Path(folder, ".out").read_bytes(), pathlib.Path(folder, ".err").read_bytes()
