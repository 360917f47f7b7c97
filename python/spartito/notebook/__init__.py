# SPDX-License-Identifier: BSD-3-Clause
"""The extension of IPython and Jupyter."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

WHERE = (
    "it is an extension of IPython and Jupyter: write `%load_ext spartito` in a cell; "
    "a script uses spartito.measure() or `spartito run`"
)


def load(shell: Any) -> None:
    """Loads the extension for `%load_ext spartito`. TypeError: shell is no shell of IPython."""
    if not hasattr(shell, "run_cell_async") or not hasattr(shell, "input_transformer_manager"):
        raise TypeError(f"load_ipython_extension() takes IPython's shell, not {type(shell).__name__}; {WHERE}")
    from spartito.notebook import cells, magics

    cells.load(shell)
    magics.load(shell)


def unload(shell: Any) -> None:
    from spartito.notebook import cells, magics

    magics.unload(shell)
    cells.unload(shell)
