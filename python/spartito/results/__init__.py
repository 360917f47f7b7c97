# SPDX-License-Identifier: BSD-3-Clause
"""The tables that spartito.load() and the results of notebook cells return."""
