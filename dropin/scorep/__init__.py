# SPDX-License-Identifier: BSD-3-Clause
"""The interface of the Score-P Python bindings, recorded by Spartito. Without a measured run all of it is a no-op."""

from scorep import instrumenter, user
from scorep.instrumenter import unregister
from scorep.user import disable_recording as user_disable_recording
from scorep.user import enable_recording as user_enable_recording
from scorep.user import parameter_int as user_parameter_int
from scorep.user import parameter_string as user_parameter_string
from scorep.user import parameter_uint as user_parameter_uint
from scorep.user import region_begin as user_region_begin
from scorep.user import region_end as user_region_end

# of the bindings whose interface this is; Spartito's own is spartito.__version__
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
    """Record functions from here on. Without a measured run this process begins one, as the variables SCOREP_* say, and
    the experiment directory is complete at its end.
    ValueError: a variable cannot be read; OSError: the directory cannot be made."""
    from spartito.compat.scorep.inside import register

    register()
