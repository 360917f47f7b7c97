# SPDX-License-Identifier: BSD-3-Clause
"""`spartito-kernprof`: the command line and the output files of line_profiler's kernprof; Spartito measures."""
