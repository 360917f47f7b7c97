# SPDX-License-Identifier: BSD-3-Clause
"""`python -m spartito.compat.scorep`: the same as `python -m scorep`, without the module of that name."""

import sys

if __name__ == "__main__":
    from spartito.compat.scorep import command

    sys.exit(command.main(sys.argv[1:]))
