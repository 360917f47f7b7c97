# SPDX-License-Identifier: BSD-3-Clause
"""Prints orders of a shop, a line of JSON each: python make_orders.py [ORDERS] > orders.jsonl"""

import json
import random
import sys


def item(rng):
    kind, cents, pieces = rng.choice(["book", "food", "tool", "toy"]), rng.randrange(99, 9_999), rng.randrange(1, 5)
    packing = {"gift": rng.random() < 0.1, "colours": rng.sample(["blue", "green", "red"], 2), "card": {"text": "", "from": ""}}
    return {"kind": kind, "cents": cents, "pieces": pieces, "packing": packing}


def main():
    rng = random.Random(3)
    for number in range(int(sys.argv[1]) if len(sys.argv) > 1 else 2_500):
        items = [item(rng) for _ in range(rng.randrange(1, 8))]
        country = rng.choice(["AT", "CH", "DE", "FR", "NL"])
        print(json.dumps({"number": number, "email": f"c{number % 700}@example.org", "country": country, "items": items}))


main()
