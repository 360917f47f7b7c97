# SPDX-License-Identifier: BSD-3-Clause
"""The command line as a table of options, and the settings of a run that follow from it."""
