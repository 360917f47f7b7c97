# SPDX-License-Identifier: BSD-3-Clause
"""Compares experiments: their times, their memory, and how they were recorded."""
