# SPDX-License-Identifier: BSD-3-Clause
"""`python -m line_profiler FILE.lprof…`."""

import sys

if __name__ == "__main__":
    from spartito.compat.kernprof.stats import main

    status = main(sys.argv[1:])
    if status:
        sys.exit(status)
