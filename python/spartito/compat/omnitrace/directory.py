# SPDX-License-Identifier: BSD-3-Clause
"""Omnitrace's output directory with the experiment: omnitrace-SCRIPT-output/TIME/spartito."""

from __future__ import annotations

import os
import time

from spartito.base.messages import Refused, reason
from spartito.experiments.job import batch_job
from spartito.experiments.rundir import Directory, label, meet, quoted, write_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from spartito.compat.omnitrace.variables import Variables
    from spartito.experiments.world import World

EXPERIMENT = "spartito"
CFG = "omnitrace.cfg"  # file in the experiment with the variables that were used
MAX_TRIES = 1000  # numbered names to try


def _keys(command: list[str], pid: str) -> dict[str, str]:
    first = next((word for word in command[1:] if not word.startswith("-")), "")
    return {
        "tag": label(command),
        "arg0": first,
        "pid": pid,
        "job": batch_job() or "0",
        "user": os.environ.get("USER", ""),
        "hostname": os.uname().nodename,
        "cwd": os.environ.get("PWD", ""),
    }


def expand(variable: str, text: str, command: list[str], pid: str) -> str:
    """Replaces %tag%, %pid% and the like by their values. Refused: another word between two %; the message has the variable."""
    keys = _keys(command, pid)
    out, rest = [], text
    while True:
        before, sep, after = rest.partition("%")
        out.append(before)
        if not sep:
            return "".join(out)
        word, sep, rest = after.partition("%")
        if word in keys and sep:
            out.append(keys[word])
        elif word.startswith("env{") and word.endswith("}") and sep:
            out.append(os.environ.get(word[4:-1], ""))
        else:
            raise Refused(f"{variable}: %{word}% in {text!r} is not one of {', '.join(f'%{k}%' for k in keys)}, %env{{NAME}}%")


def _base(variables: Variables, command: list[str]) -> str:
    wanted = expand("OMNITRACE_OUTPUT_PATH", variables.values["OUTPUT_PATH"], command, str(os.getpid()))
    try:
        here = "" if os.path.isabs(wanted) else os.getcwd()
    except OSError as e:
        raise Refused(f"the current directory is not usable: {reason(e)}; name an absolute one in OMNITRACE_OUTPUT_PATH") from None
    return os.path.normpath(os.path.join(here, os.path.expanduser(wanted)))


def _time(variables: Variables) -> str:
    if not variables.on("TIME_OUTPUT"):
        return ""
    wanted = variables.values["TIME_FORMAT"]
    try:
        made = time.strftime(wanted)
    except ValueError as e:
        raise Refused(f"OMNITRACE_TIME_FORMAT: {wanted!r}: {e}") from None
    if not made.strip("./") or os.path.isabs(made) or ".." in made.split("/"):
        raise Refused(f"OMNITRACE_TIME_FORMAT: {wanted!r} gives {made!r}, which names no directory")
    return made


def _free(base: str, part: str) -> str:
    """The path of a new experiment below base. A directory named after the time gets only one run. In a directory with a fixed
    name, each run overwrites the results, and the experiments are kept."""
    for n in range(1, MAX_TRIES):
        mark = "" if n == 1 else f"-{n}"
        name = os.path.join(part + mark, EXPERIMENT) if part else EXPERIMENT + mark
        if not os.path.lexists(os.path.join(base, name)):
            return name
    raise Refused(f"{os.path.join(base, part)} and {MAX_TRIES - 2} more of that name already exist")


def create(variables: Variables, command: list[str], launched: bool = True, world: World | None = None) -> Directory:
    """Creates the experiment directory. world: several ranks share it. Refused: it cannot be created."""
    base, part = _base(variables, command), _time(variables)
    if not world:
        directory = Directory(os.path.join(base, _free(base, part)), command, launched)
        directory.create()
    else:
        try:
            os.makedirs(base, exist_ok=True)
        except OSError as e:
            raise Refused(f"the output directory {base} cannot be written: {reason(e)}") from None
        directory = meet(base, world, lambda: _free(base, part), lambda path: Directory(path, command, launched))
    if directory.crew and not directory.crew.first:
        return directory
    try:
        write_whole(os.path.join(directory.path, CFG), variables.configuration())
    except OSError as e:
        forget(directory)
        raise Refused(f"the experiment directory {directory.path} cannot be written: {reason(e)}") from None
    return directory


def forget(directory: Directory) -> None:
    """Removes a directory in which nothing was recorded."""
    try:
        os.unlink(os.path.join(directory.path, CFG))
    except OSError:
        pass
    directory.remove()


def metadata(command: list[str], variables: Variables, files: list[str], experiment: str) -> str:
    """Command, settings and written files as JSON."""
    settings = ",\n".join(
        f"        {quoted('OMNITRACE_' + name)}: {quoted(text)}" for name, text in variables.values.items()
    )
    rows = [
        f'      "command_line": [{", ".join(quoted(word) for word in command)}]',
        f'      "working_directory": {quoted(os.environ.get("PWD", ""))}',
        f'      "hostname": {quoted(os.uname().nodename)}',
        f'      "user": {quoted(os.environ.get("USER", ""))}',
        f'      "experiment": {quoted(experiment)}',
        f'      "launch_date": {quoted(time.strftime("%Y-%m-%d"))}',
        f'      "output": [{", ".join(quoted(os.path.basename(path)) for path in files)}]',
    ]
    info = ",\n".join(rows)
    return (
        '{\n  "omnitrace": {\n    "metadata": {\n      "settings": {\n'
        + settings + '\n      },\n' + info + "\n    }\n  }\n}\n"
    )  # fmt: skip
