# SPDX-License-Identifier: BSD-3-Clause
"""`python -m scorep_jupyter.kernel -f CONNECTION_FILE`: what kernelspecs of the Score-P kernel start."""

if __name__ == "__main__":
    from spartito.compat.scorep.kernel.__main__ import main

    main()
