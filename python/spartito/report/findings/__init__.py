# SPDX-License-Identifier: BSD-3-Clause
"""Findings: what costs a run most and can be changed. One module a topic; topics.py lists and ranks them."""
