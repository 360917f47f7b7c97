# SPDX-License-Identifier: BSD-3-Clause
"""One module for each verb of the command line, with main(values, operands) -> exit status."""
