#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the handwritten digits that come with scikit-learn as a corpus in CNTK's text format.

    digits_to_ctf.py digits.ctf                 1,797 pictures of 8 x 8 grey values, each with its label
    digits_to_ctf.py many.ctf --copies 100      each picture 100 times, moved by up to one pixel

A line is a picture:  |labels 3:1 |pixels 0 0 5 13 9 1 0 0 ...
Needs scikit-learn.
"""
import argparse

import numpy
import numpy.typing as npt


def moved(picture: npt.NDArray[numpy.int64], down: int, right: int) -> npt.NDArray[numpy.int64]:
    """The 8 x 8 picture moved; what comes in at the edge is empty."""
    out = numpy.zeros_like(picture)
    rows, columns = slice(max(down, 0), 8 + min(down, 0)), slice(max(right, 0), 8 + min(right, 0))
    from_rows, from_columns = slice(max(-down, 0), 8 + min(-down, 0)), slice(max(-right, 0), 8 + min(-right, 0))
    out[rows, columns] = picture[from_rows, from_columns]
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output")
    parser.add_argument("--copies", type=int, default=1, help="of each picture, moved; 1 = the pictures as they are")
    options = parser.parse_args()
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        parser.error("the pictures come with scikit-learn: pip install scikit-learn")
    digits = load_digits()
    pictures = digits.images.astype(int)
    random = numpy.random.default_rng(0)
    with open(options.output, "w", encoding="ascii", newline="\n") as out:
        for copy in range(options.copies):
            for picture, label in zip(pictures, digits.target):
                if copy > 0:
                    picture = moved(picture, *random.integers(-1, 2, size=2))
                out.write(f"|labels {label}:1 |pixels {' '.join(map(str, picture.ravel()))}\n")


if __name__ == "__main__":
    main()
