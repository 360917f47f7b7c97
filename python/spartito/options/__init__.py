# SPDX-License-Identifier: BSD-3-Clause
"""The command line as a table of commands and options, and the settings of a run."""
