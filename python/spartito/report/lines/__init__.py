# SPDX-License-Identifier: BSD-3-Clause
"""Functions line by line: their source, the table of `spartito report lines`, and the format of line_profiler."""
