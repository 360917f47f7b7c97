# SPDX-License-Identifier: BSD-3-Clause
"""Experiment directories: their files, processes and ranks, and the losses."""
