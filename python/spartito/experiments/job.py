# SPDX-License-Identifier: BSD-3-Clause
"""The batch job in which this process runs."""

from __future__ import annotations

import os

JOBS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "COBALT_JOBID", "FLUX_JOB_ID", "JOB_ID")


def batch_job() -> str:
    """The id of the batch job, or ""."""
    return next(filter(None, (os.environ.get(name, "") for name in JOBS)), "")
