# SPDX-License-Identifier: BSD-3-Clause
"""`spartito-kernprof`: the command line and the files of line_profiler's kernprof, recorded by Spartito."""
