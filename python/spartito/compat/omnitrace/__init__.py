# SPDX-License-Identifier: BSD-3-Clause
"""What stands behind `import omnitrace`, `python -m omnitrace` and `omnitrace-python`: Omnitrace's options, variables,
filters and output directory in terms of Spartito's own settings and experiments."""
