# SPDX-License-Identifier: MIT
"""A command that is loaded once and run many times, each time as a process of its own."""
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "preload"))
import preloaded  # noqa: E402

SOURCE = pathlib.Path(__file__).with_name("starter.c")


class Starter:
    """Of one process; a fork of it needs another."""

    def __init__(self, command):
        self.owner = os.getpid()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | {"LD_PRELOAD": preloaded.build(SOURCE)})

    def run(self, folder):
        """(status as of subprocess, what it printed, what it printed as errors)"""
        self.process.stdin.write(os.fsencode(folder) + b"\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{self.process.args[0]} cannot be started this way: it ended with {self.process.wait()}")
        return os.waitstatus_to_exitcode(int(answer)), pathlib.Path(folder, ".out").read_bytes(), pathlib.Path(folder, ".err").read_bytes()
