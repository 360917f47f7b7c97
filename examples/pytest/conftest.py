# SPDX-License-Identifier: BSD-3-Clause
import itertools

import pytest
from catalogue import read

COLOURS = ("red", "green", "blue", "grey", "white", "black", "brown", "orange")
THINGS = ("lamp", "chair", "table", "shelf", "carpet", "curtain", "mirror", "clock", "vase", "basket")


@pytest.fixture
def products():
    """12,000 products."""
    names = itertools.product(range(150), COLOURS, THINGS)
    return read(f"{colour} {thing} No-{n};{n + len(thing)}" for n, colour, thing in names)
