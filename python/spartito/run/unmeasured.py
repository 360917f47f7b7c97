# SPDX-License-Identifier: BSD-3-Clause
"""Finds out why a run recorded nothing, and what to do about it."""

from __future__ import annotations

import os

from spartito.experiments.rundir import Found

TIMEOUT = 10  # seconds for running an interpreter to probe it


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
    """A sentence without a capital: the reason why the command line recorded nothing, with the remedy."""
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
    import shutil  # loading these two takes longer than the rest of the launcher
    import subprocess

    path = shutil.which(name) or name
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SPARTITO_")}
    try:
        probe = subprocess.run(
            [path, "-c", "import spartito._measure"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=TIMEOUT,
        )
    except (OSError, subprocess.SubprocessError):
        return f"{path} cannot be run to check whether spartito is installed in it"
    message = probe.stderr.decode(errors="backslashreplace").strip().split("\n")[-1]
    if probe.returncode and "No module named 'spartito'" not in message:
        return f"spartito cannot be imported in {path}: {message}"
    if probe.returncode:
        return f"{path} has no spartito installed; try, in a clone of it: {path} -m pip install ."
    again = f"{path} -m pip install --force-reinstall ."
    return f"the start-up hook of spartito did not run in {path}; install it there again, in a clone of it: {again}"
