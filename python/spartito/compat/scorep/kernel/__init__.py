# SPDX-License-Identifier: BSD-3-Clause
"""The kernel for notebooks written for the Score-P kernel: ipykernel with its magics. Measured cells run where they are."""
