# SPDX-License-Identifier: BSD-3-Clause
"""Implementation of `import scorep` and `python -m scorep`: translates Score-P's options, variables, filter file and experiment
directory to Spartito's settings and experiments."""
