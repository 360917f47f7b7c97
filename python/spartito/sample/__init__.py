# SPDX-License-Identifier: BSD-3-Clause
"""Sampling a process from outside."""
