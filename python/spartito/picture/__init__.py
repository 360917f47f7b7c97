# SPDX-License-Identifier: BSD-3-Clause
"""Charts and call graphs as files."""
