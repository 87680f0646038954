# SPDX-License-Identifier: MIT
"""Numbers of things, for what is said to people."""
from __future__ import annotations


def counted(n: int, noun: str) -> str:
    """'1 sample', '2 samples'."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
