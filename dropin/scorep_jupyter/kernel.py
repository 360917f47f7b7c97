# SPDX-License-Identifier: BSD-3-Clause
"""`python -m scorep_jupyter.kernel -f CONNECTION_FILE`: the command in kernel specifications of the Score-P kernel."""

if __name__ == "__main__":
    from spartito.compat.scorep.kernel.__main__ import main

    main()
