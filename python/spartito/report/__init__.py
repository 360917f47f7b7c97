# SPDX-License-Identifier: BSD-3-Clause
"""The reports of `spartito report`, as tables and JSON."""
