"""Load 8 x 8 images of handwritten digits, and locate the ONNX network that was trained on other such images.

The pictures: E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits,
UCI Machine Learning Repository, 1998. The network was trained with PyTorch.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

NETWORK = Path(__file__).with_name("digits.onnx")
FILE = Path(__file__).with_name("digits.txt")


def pictures() -> tuple[Any, Any]:
    """400 test images, an array of shape (400, 1, 8, 8) with values from 0 to 1, and the digit of each.

    >>> ink, digits = pictures()
    >>> ink.shape, digits[:5].tolist()
    ((400, 1, 8, 8), [6, 6, 6, 2, 5])
    """
    lines = FILE.read_text(encoding="ascii").splitlines()
    ink = np.array([[int(letter, 17) for letter in line[2:]] for line in lines]) / 16
    return ink.reshape(-1, 1, 8, 8), np.array([int(line[0]) for line in lines])
