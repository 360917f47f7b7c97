# SPDX-License-Identifier: BSD-3-Clause
"""`python -m spartito.compat.scorep.kernel -f CONNECTION_FILE`: starts the kernel."""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def main() -> "NoReturn":
    # -m has inserted the notebook's directory in sys.path; its files must not replace modules of the kernel
    if sys.path and sys.path[0] in ("", os.getcwd()):
        del sys.path[0]
    from spartito.compat.scorep.kernel.install import CLASS
    from spartito.notebook import kernel

    sys.argv.append(CLASS)
    kernel.main()


if __name__ == "__main__":
    main()
