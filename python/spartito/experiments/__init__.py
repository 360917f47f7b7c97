# SPDX-License-Identifier: BSD-3-Clause
"""An experiment directory: its files, its processes, and what was lost."""
