# SPDX-License-Identifier: MIT
"""What is left of a process group. As a script it runs another one, and then looks."""
import os
import runpy
import sys


def expect_no_threads() -> None:
    """A thread of the group that outlives it may ask for the GIL as Python ends, and then PyTorch aborts the process."""
    left = []
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/comm") as name:
            left.append(name.read().strip())
    assert not any("gloo" in name for name in left), left


if __name__ == "__main__":
    del sys.argv[0]
    sys.path.insert(0, os.path.dirname(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")
    expect_no_threads()
