# SPDX-License-Identifier: BSD-3-Clause
"""What experiments say, for programs and notebooks, as lists and dictionaries. spartito.load() has the same as tables of pandas.

Model(DIRECTORY) loads an experiment; its methods are info(), flat(), tree(), callers(), io(), balance(), messages(), waits(),
critical_path() and convert(). They return lists and dictionaries, times in seconds; _analyse.pyi says what is in them, and
editors show it. Error is raised where there is nothing to read, or not what a method needs.
"""

from spartito._analyse import Error, Model

__all__ = ["Error", "Model"]
