# SPDX-License-Identifier: BSD-3-Clause
"""`python -m kernprof [options] script [args]`."""

import sys

if __name__ == "__main__":
    from spartito.compat.kernprof.command import main

    sys.exit(main())
