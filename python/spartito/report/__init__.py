# SPDX-License-Identifier: BSD-3-Clause
"""What a run recorded, as tables and pictures."""
