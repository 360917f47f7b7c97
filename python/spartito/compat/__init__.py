# SPDX-License-Identifier: BSD-3-Clause
"""Commands and modules of other tools, provided by Spartito."""
