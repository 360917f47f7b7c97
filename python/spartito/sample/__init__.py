# SPDX-License-Identifier: BSD-3-Clause
"""Sampling of processes from another process."""
