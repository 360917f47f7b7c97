# SPDX-License-Identifier: BSD-3-Clause
"""spartito.start() and spartito.measure() where a cell of a notebook calls them."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from spartito.notebook.measuring import Unit

_told = ""  # the cell that was told last that it is measured already


def cell() -> str:
    """The cell that runs, as the notebook shows it; "": this is no notebook. Functions are named after cells from here on."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module and hasattr(module, "get_ipython") else None
    if not hasattr(shell, "run_cell_async"):
        return ""
    from spartito.notebook.cells import names, number_of

    names(shell)
    return f"In[{number_of(shell)}]"


def begin(name: str, directory: str, settings: dict[str, str]) -> Unit:
    """A measurement of what the cell does from here on. OSError: it cannot begin."""
    from spartito.notebook.measuring import NotMeasured, Request, Unit

    unit = Unit(Request(name, settings, directory))
    try:
        unit.begin()
    except NotMeasured as e:
        raise OSError(str(e)) from None
    unit.functions(True)
    return unit


def end(unit: Unit) -> None:
    """With the extension loaded, its magics know the result."""
    unit.end()
    from spartito.notebook import cells
    from spartito.notebook.measuring import tell

    if cells.current:
        cells.current.note(unit.name, unit.directory)
        tell(f"{unit.name} is measured in part, by spartito.measure(): %spartito_report shows it")
    else:
        tell(f"{unit.name} is measured in part, by spartito.measure(), into {unit.directory}")


def nothing_more(name: str) -> None:
    """Says once in a cell that measure() begins nothing in it."""
    global _told
    from spartito.notebook.measuring import tell

    if _told != name:
        _told = name
        tell(f"{name} is being measured already: spartito.measure() in it changes nothing")
