# SPDX-License-Identifier: BSD-3-Clause
"""Why a run left no measurement behind, and what to do about it."""

from __future__ import annotations

import os

from spartito.experiments.rundir import Found

PATIENCE = 10  # seconds for asking an interpreter


def _flags(command: list[str]) -> str:
    """The one-letter interpreter flags in front of the script."""
    letters = ""
    words = iter(command[1:])
    for word in words:
        if not word.startswith("-") or word in ("-", "-c", "-m"):
            break
        if word in ("-W", "-X"):
            next(words, None)
        elif not word.startswith("--"):
            letters += word[1:]
    return letters


def why(command: list[str], found: Found) -> str:
    if found.errors:
        return "; ".join(found.errors)
    name = command[0]
    if not os.path.basename(name).startswith("python"):
        if found.files:
            return (
                "the Python that was started ran nothing that could be recorded (see the filters in `spartito config`)"
            )
        return (
            f"{name} started no Python that has spartito installed, or started it with an empty environment or with -S"
        )
    if found.files:
        return "the interpreter ran nothing that could be recorded (see the filters in `spartito config`)"
    if "S" in _flags(command):
        return f"`{name} -S` skips the start-up hook; leave out -S"
    import shutil  # these two take longer than all that a launcher of something without Python does
    import subprocess

    path = shutil.which(name) or name
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SPARTITO_")}
    try:
        asked = subprocess.run(
            [path, "-c", "import spartito._measure"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=PATIENCE,
        )
    except (OSError, subprocess.SubprocessError):
        return f"{path} cannot be asked for spartito"
    said = asked.stderr.decode(errors="backslashreplace").strip().split("\n")[-1]
    if asked.returncode and "No module named 'spartito'" not in said:
        return f"spartito cannot be imported in {path}: {said}"
    if asked.returncode:
        return f"{path} has no spartito installed; try, in a clone of it: {path} -m pip install ."
    again = f"{path} -m pip install --force-reinstall ."
    return f"the start-up hook of spartito did not run in {path}; install it there again, in a clone of it: {again}"
