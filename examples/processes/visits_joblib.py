# SPDX-License-Identifier: BSD-3-Clause
"""As visits.py, with joblib: the processes of its backend loky parse parts of the logs."""

import collections
import random

from joblib import Parallel, delayed
from visits_parts import LINES, PART, access_log, parse, parts


def count_weekdays(text):
    return collections.Counter(when.weekday() for _, when in parse(text))


def main():
    rng = random.Random(5)
    tasks = [part for lines in LINES for part in parts(access_log(lines, rng), PART)]
    counts = Parallel(n_jobs=2)(delayed(count_weekdays)(text) for text in tasks)
    print(f"{sum(sum(c.values()) for c in counts)} visits, {len(tasks)} tasks")


if __name__ == "__main__":
    main()
