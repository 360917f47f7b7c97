# SPDX-License-Identifier: BSD-3-Clause
"""Runs beside each other: what changed between experiments, and how they were recorded."""
