# SPDX-License-Identifier: BSD-3-Clause
"""The module names of the Score-P kernel for Jupyter. The kernel itself is spartito.compat.scorep.kernel."""
