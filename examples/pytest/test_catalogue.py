# SPDX-License-Identifier: BSD-3-Clause
import pytest
from catalogue import cheapest, read, search, words
from conftest import COLOURS


def test_words():
    assert words("Red lamp No-7") == {"red", "lamp", "no", "7"}


def test_line():
    assert read(["a; b;2.5"]) == [{"name": "a; b", "price": 2.5}]


def test_number(products):
    assert len(search(products, "no 7")) == 80


@pytest.mark.parametrize("thing", ["lamp", "vase"])
def test_cheapest(products, thing):
    assert cheapest(products, f"green {thing}")["price"] == 4


def test_every_colour(products):
    for colour in COLOURS:
        assert len(search(products, colour)) == 1500
