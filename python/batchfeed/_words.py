# SPDX-License-Identifier: MIT
"""Counts with their nouns, for messages."""
from __future__ import annotations


def counted(n: int, noun: str) -> str:
    """'1 sample', '2 samples'."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
