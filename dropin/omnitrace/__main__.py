# SPDX-License-Identifier: BSD-3-Clause
"""`python -m omnitrace [options] -- script [args]`."""

import sys

if __name__ == "__main__":
    from spartito.omnitrace import command
    from spartito.scorep.command import flags

    sys.exit(command.main(sys.argv[1:], flags()))
