# SPDX-License-Identifier: BSD-3-Clause
"""The numbers of an experiment as tables: what spartito.load() returns, and the tables of a notebook's result."""
