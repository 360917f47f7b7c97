# SPDX-License-Identifier: BSD-3-Clause
"""The Pythons of this machine that Spartito works with: one for each version from 3.9 on."""

import glob
import os
import re
import subprocess
import sys

VERSIONS = tuple(f"3.{n}" for n in range(9, 16))
# what an interpreter must have to build an extension module into a new virtual environment
QUESTION = """
import importlib.util, os, sys, sysconfig
ok = (sys.implementation.name == 'cpython' and not sysconfig.get_config_var('Py_GIL_DISABLED')
      and os.path.exists(os.path.join(sysconfig.get_path('include'), 'Python.h'))
      and importlib.util.find_spec('venv') and importlib.util.find_spec('ensurepip'))
print('%d.%d' % sys.version_info[:2] if ok else 'no')
"""


def candidates():
    root = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    yield from sorted(glob.glob(os.path.join(glob.escape(root), "versions", "*", "bin", "python")))
    for directory in os.get_exec_path():
        if os.path.join(root, "shims") == directory:
            continue
        for version in VERSIONS:
            path = os.path.join(directory, "python" + version)
            if os.access(path, os.X_OK):
                yield path


def find():
    """{version: path}; the first of each version."""
    found = {}
    for path in candidates():
        if re.search(r"/versions/(2|3\.[0-8])\.", path):
            continue
        p = subprocess.run([path, "-c", QUESTION], capture_output=True, text=True)
        version = p.stdout.strip()
        if p.returncode == 0 and version in VERSIONS:
            found.setdefault(version, path)
    return dict(sorted(found.items(), key=lambda item: int(item[0].split(".")[1])))


if __name__ == "__main__":
    for version, path in find().items():
        print(version, path)
    sys.exit(0)
