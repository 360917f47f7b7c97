# SPDX-License-Identifier: BSD-3-Clause
"""Where this package is installed. It imports only modules that the interpreter has loaded already."""

import os

DIRECTORY = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SITE = os.path.dirname(DIRECTORY)  # the directory on sys.path from which the package is imported
