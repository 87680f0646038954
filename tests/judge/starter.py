# SPDX-License-Identifier: MIT
"""A command that is loaded once and run many times, each time as a process of its own."""
import errno
import os
import pathlib
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "preload"))
import preloaded  # noqa: E402

SOURCE = pathlib.Path(__file__).with_name("starter.c")


def settled_copy(program, folder):
    """A copy of a program that may be linked anew at any time: of all of one, not of two halves."""
    copy = pathlib.Path(folder, pathlib.Path(program).name)
    for _ in range(600):
        try:
            before = os.stat(program)
            # The system runs no program that somebody writes.
            subprocess.run([program, "--version"], check=True, stdout=subprocess.DEVNULL)
            shutil.copy2(program, copy)
            subprocess.run([program, "--version"], check=True, stdout=subprocess.DEVNULL)
            after = os.stat(program)
            if (before.st_ino, before.st_size, before.st_mtime_ns) == (after.st_ino, after.st_size, after.st_mtime_ns):
                return str(copy)
        except FileNotFoundError:
            pass
        except OSError as error:
            if error.errno != errno.ETXTBSY:
                raise
        time.sleep(0.5)
    raise RuntimeError(f"{program} does not come to rest")


class Starter:
    """Of one process; a fork of it needs another."""

    def __init__(self, command):
        self.owner = os.getpid()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | {"LD_PRELOAD": preloaded.build(SOURCE)})

    def run(self, folder, arguments=()):
        """(status as of subprocess, what it printed, what it printed as errors), with more arguments behind those of the command"""
        self.process.stdin.write(b"\t".join(map(os.fsencode, (folder, *arguments))) + b"\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{self.process.args[0]} cannot be started this way: it ended with {self.process.wait()}")
        return os.waitstatus_to_exitcode(int(answer)), pathlib.Path(folder, ".out").read_bytes(), pathlib.Path(folder, ".err").read_bytes()
