# SPDX-License-Identifier: BSD-3-Clause
"""The command line: one module for each command, with main(values, operands) -> exit status."""
