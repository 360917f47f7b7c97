# SPDX-License-Identifier: BSD-3-Clause
"""Where this package is installed. Imports only what the interpreter has loaded."""

import os

DIRECTORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SITE = os.path.dirname(DIRECTORY)  # what has to be on sys.path to import the package
