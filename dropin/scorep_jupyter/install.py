# SPDX-License-Identifier: BSD-3-Clause
"""`python -m scorep_jupyter.install`: installs the kernel for this user."""

import sys


def main() -> int:
    from spartito.compat.scorep.kernel.install import main

    return main()


if __name__ == "__main__":
    sys.exit(main())
