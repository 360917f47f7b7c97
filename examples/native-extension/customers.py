# SPDX-License-Identifier: BSD-3-Clause
"""Finds customers that are in a list twice, under similar names. The comparison is the extension module `similar`, in C.

Without a list of a real company it makes the names itself, the same ones in each run."""

import random

import similar

FIRST = ["North", "South", "Blue", "Green", "Silver", "Alpine", "Harbour", "Royal", "Union", "Metro", "Delta", "Prime"]
SECOND = ["Logistics", "Foods", "Optics", "Textiles", "Shipping", "Energy", "Software", "Motors", "Paper", "Glass"]
FORM = ["Ltd", "Inc.", "GmbH", "AG", "& Co.", "S.A.", "PLC"]


def load(count):
    rng = random.Random(9)
    names = [f"{rng.choice(FIRST)} {rng.choice(SECOND)} {rng.randrange(100)} {rng.choice(FORM)}" for _ in range(count)]
    for _ in range(count // 50):  # typing errors
        name = list(rng.choice(names))
        name[rng.randrange(3, 8)] = rng.choice("aeiou")
        names.append("".join(name))
    return sorted(set(names))


def main():
    names = load(2_200)
    pairs = similar.pairs(names, 1)
    print(f"{len(names)} names, {len(pairs)} pairs of similar ones; the first: {pairs[0][0]}, {pairs[0][1]}")


if __name__ == "__main__":
    main()
