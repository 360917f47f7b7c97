# SPDX-License-Identifier: BSD-3-Clause
"""The Pythons of this machine that Spartito works with: one for each version from 3.9 on, and 3.14t: 3.14 without the GIL, as
tools/free_threaded.sh builds it."""

import glob
import os
import re
import subprocess
import sys

VERSIONS = (*(f"3.{n}" for n in range(9, 16)), "3.14t")
# What an interpreter must have to build an extension module into a new virtual environment. Builds with a sanitizer, as
# tools/sanitize_threads.sh uses one, are left out: they are slow, run a thread more and report the interpreter's own races.
QUESTION = """
import importlib.util, os, sys, sysconfig
ok = (sys.implementation.name == 'cpython'
      and os.path.exists(os.path.join(sysconfig.get_path('include'), 'Python.h'))
      and importlib.util.find_spec('venv') and importlib.util.find_spec('ensurepip')
      and 'sanitizer' not in (sysconfig.get_config_var('CONFIG_ARGS') or ''))
t = 't' if sysconfig.get_config_var('Py_GIL_DISABLED') else ''
print('%d.%d%s' % (*sys.version_info[:2], t) if ok else 'no')
"""


def candidates():
    root = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    yield from sorted(glob.glob(os.path.join(glob.escape(root), "versions", "*", "bin", "python")))
    cache = os.environ.get("SPARTITO_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "spartito"
    )
    yield from sorted(glob.glob(os.path.join(glob.escape(cache), "pythons", "*", "bin", "python3.[0-9][0-9]t")))
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
    return dict(sorted(found.items(), key=lambda item: (int(item[0].split(".")[1].rstrip("t")), item[0])))


if __name__ == "__main__":
    for version, path in find().items():
        print(version, path)
    sys.exit(0)
