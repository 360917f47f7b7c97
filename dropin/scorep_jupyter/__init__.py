# SPDX-License-Identifier: BSD-3-Clause
"""The module names of the Score-P kernel for Jupyter; the kernel is Spartito's (spartito.compat.scorep.kernel)."""
