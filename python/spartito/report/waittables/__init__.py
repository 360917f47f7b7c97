# SPDX-License-Identifier: BSD-3-Clause
"""Tables of waits: of tasks (awaits.py), and off-CPU time by function (offcpu.py)."""
