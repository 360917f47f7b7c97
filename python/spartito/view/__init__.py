# SPDX-License-Identifier: BSD-3-Clause
"""What a page shows of an experiment."""
