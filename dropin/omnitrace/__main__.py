# SPDX-License-Identifier: BSD-3-Clause
"""`python -m omnitrace [options] -- script [args]`."""

import sys

if __name__ == "__main__":
    from spartito.compat.frontend import flags
    from spartito.compat.omnitrace import command

    sys.exit(command.main(sys.argv[1:], flags()))
