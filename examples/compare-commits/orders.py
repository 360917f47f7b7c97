# SPDX-License-Identifier: BSD-3-Clause
"""Reads orders, a line of JSON each, and prints the sales of each country: python orders.py orders.jsonl"""

import json
import re
import sqlite3
import sys

EMAIL = re.compile(r"[\w.+-]+@[\w-]+(\.[\w-]+)+")
TAX = {"book": 7, "food": 7, "tool": 19, "toy": 19}


def check(order):
    if not EMAIL.fullmatch(order["email"]):
        raise ValueError(f"order {order['number']}: {order['email']!r} is no e-mail address")
    for item in order["items"]:
        if item["kind"] not in TAX or item["pieces"] < 1:
            raise ValueError(f"order {order['number']}: the item {item} is wrong")


def priced(order):
    """The order with its total, taxes included."""
    total = 0
    for item in order["items"]:
        total += item["cents"] * item["pieces"] * (100 + TAX[item["kind"]]) // 100
    order["total"] = total
    return order


def store(database, orders):
    rows = ((order["number"], order["email"], order["country"], order["total"]) for order in orders)
    database.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", rows)


def main():
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE orders (number INTEGER PRIMARY KEY, email TEXT, country TEXT, total INTEGER)")
    orders = []
    with open(sys.argv[1], encoding="utf-8") as lines:
        for line in lines:
            order = json.loads(line)
            check(order)
            orders.append(priced(order))
    store(database, orders)
    for country, total in database.execute("SELECT country, sum(total) FROM orders GROUP BY country ORDER BY country"):
        print(f"{country} {total / 100:12,.2f}")


if __name__ == "__main__":
    main()
