# SPDX-License-Identifier: BSD-3-Clause
"""A catalogue of products: a line each, with a name and a price. search() finds those whose name contains all words."""

import re
import unicodedata

WORD = re.compile(r"\w+")


def read(lines):
    products = []
    for line in lines:
        name, _, price = line.rpartition(";")
        products.append({"name": name, "price": float(price)})
    return products


def words(text):
    return frozenset(WORD.findall(unicodedata.normalize("NFKD", text).casefold()))


def search(products, query):
    wanted = words(query)
    return [product for product in products if wanted <= words(product["name"])]


def cheapest(products, query):
    return min(search(products, query), key=lambda product: product["price"])
