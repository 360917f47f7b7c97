# SPDX-License-Identifier: BSD-3-Clause
"""Starts a measured program, and finishes its experiment."""
