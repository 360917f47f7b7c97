# SPDX-License-Identifier: BSD-3-Clause
"""`python -m spartito.compat.scorep`: what `python -m scorep` is, where the module of that name has not been installed."""

import sys

if __name__ == "__main__":
    from spartito.compat.scorep import command

    sys.exit(command.main(sys.argv[1:]))
