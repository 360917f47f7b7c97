# SPDX-License-Identifier: BSD-3-Clause
"""The interface of the Score-P Python bindings, with Spartito as the profiler. Without a measured run it does nothing."""

from scorep import instrumenter, user
from scorep.instrumenter import unregister
from scorep.user import disable_recording as user_disable_recording
from scorep.user import enable_recording as user_enable_recording
from scorep.user import parameter_int as user_parameter_int
from scorep.user import parameter_string as user_parameter_string
from scorep.user import parameter_uint as user_parameter_uint
from scorep.user import region_begin as user_region_begin
from scorep.user import region_end as user_region_end

# version of the bindings with this interface; Spartito's version is spartito.__version__
__version__ = "4.5.1"
__spartito__ = True
__all__ = [
    "__version__",
    "instrumenter",
    "register",
    "unregister",
    "user",
    "user_disable_recording",
    "user_enable_recording",
    "user_parameter_int",
    "user_parameter_string",
    "user_parameter_uint",
    "user_region_begin",
    "user_region_end",
]


def register() -> None:
    """Records functions from here on. In a process that is not measured, begins a measurement with the settings of the variables
    SCOREP_*; its experiment directory is complete at exit.
    ValueError: a variable is invalid; OSError: the directory cannot be created."""
    from spartito.compat.scorep.inside import register

    register()
