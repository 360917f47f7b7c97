# SPDX-License-Identifier: BSD-3-Clause
"""Modules that all other packages use: messages, text, safe opening of files. They import no other package of Spartito."""
