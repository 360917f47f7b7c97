# SPDX-License-Identifier: BSD-3-Clause
import os
import sys

# `python -m` puts the current directory first on sys.path. A file there must not hide a module of the same name of Spartito or of
# the standard library.
if sys.path and sys.argv and sys.argv[0].endswith("__main__.py"):
    try:
        if sys.path[0] == os.getcwd() and sys.path[0] != os.path.dirname(os.path.dirname(os.path.abspath(sys.argv[0]))):
            del sys.path[0]
    except OSError:
        pass

from spartito.cli.main import main

sys.exit(main())
