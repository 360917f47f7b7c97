# SPDX-License-Identifier: BSD-3-Clause
"""Implementation of `import omnitrace`, `python -m omnitrace` and `omnitrace-python`: translates Omnitrace's options, variables,
filters and output directory to Spartito's settings and experiments."""
