# SPDX-License-Identifier: BSD-3-Clause
"""spartito.start() and spartito.measure() called by a cell of a notebook."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from spartito.notebook.measuring import Unit

_reported = ""  # the cell for which nothing_more() has printed its note last


def cell() -> str:
    """The name of the current cell, such as In[7]; "": this is no notebook. From here on, functions are named after cells."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module and hasattr(module, "get_ipython") else None
    if not hasattr(shell, "run_cell_async"):
        return ""
    from spartito.notebook.cells import names, number_of

    names(shell)
    return f"In[{number_of(shell)}]"


def begin(name: str, directory: str, settings: dict[str, str]) -> Unit:
    """Begins to measure the rest of the cell. OSError: it cannot begin."""
    from spartito.notebook.measuring import NotMeasured, Request, Unit

    unit = Unit(Request(name, settings, directory))
    try:
        unit.begin()
    except NotMeasured as e:
        raise OSError(str(e)) from None
    unit.functions(True)
    return unit


def end(unit: Unit) -> None:
    """Ends the measurement. If the extension is loaded, its magics can show the result."""
    unit.end()
    from spartito.notebook import cells
    from spartito.notebook.measuring import print_note

    if cells.current:
        cells.current.note(unit.name, unit.directory)
        print_note(f"{unit.name} is measured in part, by spartito.measure(): %spartito_report shows it")
    else:
        print_note(f"{unit.name} is measured in part, by spartito.measure(), into {unit.directory}")


def nothing_more(name: str) -> None:
    """Prints once in a cell that measure() has no effect, as the whole cell is being measured."""
    global _reported
    from spartito.notebook.measuring import print_note

    if _reported != name:
        _reported = name
        print_note(f"{name} is being measured already: spartito.measure() in it has no effect")
