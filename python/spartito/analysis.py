# SPDX-License-Identifier: BSD-3-Clause
"""Results of experiments as lists and dictionaries, for programs and notebooks. spartito.load() returns them as pandas tables.

Model(DIRECTORY) loads an experiment; its methods are info(), flat(), tree(), callers(), io(), balance(), messages(), waits(),
critical_path() and convert(). They return lists and dictionaries; all times are in seconds. _analyse.pyi documents their keys, and
editors show it. They raise Error if the experiment cannot be read or does not contain the data that a method needs.
"""

from spartito._analyse import Error, Model

__all__ = ["Error", "Model"]
