# SPDX-License-Identifier: BSD-3-Clause
"""What every other package uses: messages, text, safe opening of files. Depends on nothing."""
