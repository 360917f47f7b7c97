# SPDX-License-Identifier: BSD-3-Clause
"""Starting a measured program."""
