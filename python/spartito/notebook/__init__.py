# SPDX-License-Identifier: BSD-3-Clause
"""Spartito in notebooks."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

WHERE = (
    "it is an extension of IPython and Jupyter: write `%load_ext spartito` in a cell; "
    "a script uses spartito.measure() or `spartito run`"
)


def load(shell: Any) -> None:
    """What `%load_ext spartito` does. TypeError: shell is none of IPython's."""
    if not hasattr(shell, "run_cell_async") or not hasattr(shell, "input_transformer_manager"):
        raise TypeError(f"load_ipython_extension() takes IPython's shell, not {type(shell).__name__}; {WHERE}")
    from spartito.notebook import cells, magics

    cells.load(shell)
    magics.load(shell)


def unload(shell: Any) -> None:
    from spartito.notebook import cells, magics

    magics.unload(shell)
    cells.unload(shell)
