# SPDX-License-Identifier: BSD-3-Clause
"""A kernel for notebooks that were written for the Score-P kernel: ipykernel with the magics of that kernel. Measured cells run in
the kernel itself."""
