# SPDX-License-Identifier: BSD-3-Clause
"""`python -m scorep [options] [--] script [args]`."""

import sys

TYPE_CHECKING = False  # typing costs milliseconds that every measured program would pay
if TYPE_CHECKING:
    from typing import NoReturn

CALLED = (
    "scorep: Someone called scorep.__main__.main, which only `python -m scorep` does; "
    'the program may mean its own sys.modules["__main__"].main'
)


def main(argv: object = None) -> "NoReturn":
    """Not to be called: reports that and ends the program with status 1."""
    sys.stderr.write(CALLED + "\n")
    sys.exit(1)


if __name__ == "__main__":
    from spartito.compat.scorep import command

    sys.exit(command.main(sys.argv[1:]))
