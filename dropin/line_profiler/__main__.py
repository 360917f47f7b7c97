# SPDX-License-Identifier: BSD-3-Clause
"""`python -m line_profiler FILE.lprof…`."""

import sys

if __name__ == "__main__":
    from spartito.compat.kernprof.stats import main

    sys.exit(main(sys.argv[1:]))
