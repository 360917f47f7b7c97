# SPDX-License-Identifier: BSD-3-Clause
"""What stands behind `import scorep` and `python -m scorep`: Score-P's options, variables, filter file and experiment
directory in terms of Spartito's own settings and experiments."""
