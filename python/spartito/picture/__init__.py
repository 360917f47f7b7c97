# SPDX-License-Identifier: BSD-3-Clause
"""Draws charts and call graphs as files."""
