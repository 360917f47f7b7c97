# SPDX-License-Identifier: BSD-3-Clause
"""Opening an experiment for the verbs that read one."""

from __future__ import annotations

import os

from spartito import regular
from spartito.options import Usage
from spartito.say import Refused, reason

LARGEST = 64 * regular.MIB  # of experiment.json: a command line and what a few thousand ranks say
PACKED = ".spartito"  # how packed experiments are called

TYPE_CHECKING = False  # typing costs milliseconds that the summary of every run would pay
if TYPE_CHECKING:
    from typing import Any

    from spartito._analyse import Model


def one_directory(verb: str, operands: list[str]) -> str:
    if not operands:
        raise Usage(f"no experiment given: spartito {verb} DIR")
    if len(operands) > 1:
        raise Usage(f"one experiment at a time, not also {operands[1]!r}")
    return named(operands[0])


def one_experiment(verb: str, operands: list[str]) -> str:
    """The same; of a packed one, the directory that opened() gives."""
    return opened(one_directory(verb, operands))


def one_process(verb: str, operands: list[str]) -> int:
    """The number of a process. Usage: there is none, or not one. Refused: there is no such process."""
    if not operands:
        raise Usage(f"no process given: spartito {verb} PID")
    if len(operands) > 1:
        raise Usage(f"one process at a time, not also {operands[1]!r}")
    if not operands[0].isascii() or not operands[0].isdigit():
        raise Usage(f"{operands[0]!r} is no process id")
    if len(operands[0].lstrip("0")) > 9:  # numbers of processes end at 4194304
        raise Refused(f"there is no process {operands[0]}")
    return int(operands[0])


# directories that are gone when this process ends, and the packed files that they were made of
_unpacked: dict[str, str] = {}


def opened(path: str) -> str:
    """The directory of an experiment; of a packed one, a directory that is gone when this process ends. Refused: it cannot be
    unpacked."""
    if not path or not os.path.isfile(path):
        return path
    from spartito import packfile

    if not path.endswith(PACKED) and not packfile.is_one(path):
        return path
    import atexit
    import shutil
    import tempfile

    above = tempfile.mkdtemp(prefix="spartito-")
    atexit.register(shutil.rmtree, above, True)
    directory = os.path.join(above, os.path.basename(path.removesuffix(PACKED)))
    packfile.unpacked(path, directory)
    _unpacked[directory] = path
    return directory


def shown(directory: str) -> str:
    """What the user calls it: the packed file, where it is one."""
    return _unpacked.get(directory, directory)


def beside(directory: str, suffix: str) -> str:
    """A path beside the experiment, called after it: run.prof, run-otf2."""
    base = os.path.normpath(shown(directory).removesuffix(PACKED))
    return (os.path.abspath(base) if base in (".", "..") else base) + suffix


def named(directory: str) -> str:
    """Usage: the name is empty, as an unset variable of a shell is."""
    if not directory:
        raise Usage("the name of the experiment is empty")
    return directory


def another(directory: str, before: str) -> None:
    """Refused: they are one run, of which nothing can have changed; a mistake in a script would pass for good news."""
    if os.path.realpath(directory) == os.path.realpath(before):
        also = "" if directory == before else f" is {before}, and"
        raise Refused(f"{directory}{also} is not compared with itself")


def check(directory: str) -> None:
    if not os.path.lexists(directory):
        raise Refused(f"{directory}: there is no such experiment")
    if not os.path.isdir(directory):
        packed = ": unpack it with spartito unpack" if directory.endswith(PACKED) else ""
        raise Refused(f"{directory} is not the directory of an experiment{packed}")


def load(directory: str, compensate: bool = False) -> tuple[Model, dict[str, Any]]:
    """The model and its info. Refused or _analyse.Error: it cannot be read."""
    check(directory)
    from spartito._analyse import Model

    model = Model(directory, compensate=compensate)
    return model, model.info()


def launcher(directory: str) -> tuple[dict[str, Any], str]:
    """experiment.json, empty where there is none that can be read; and what is wrong with it, which then tells neither command nor
    how the run ended. "": nothing is, or there is none, as of other tools' experiments."""
    import json

    try:
        found = json.loads(regular.content(os.path.join(directory, "experiment.json"), LARGEST).decode())
    except FileNotFoundError:
        return {}, ""
    except OSError as e:
        return {}, f"experiment.json cannot be read: {reason(e)}"
    except (ValueError, RecursionError):
        return {}, "experiment.json is damaged: how the program was started and ended is not known"
    if not isinstance(found, dict):
        return {}, "experiment.json is damaged: how the program was started and ended is not known"
    return found, ""


def command(known: dict[str, Any], info: dict[str, Any]) -> list[str]:
    """What was measured, in words of a command line; empty where nobody knows. known: experiment.json."""
    given = known.get("command")
    if isinstance(given, list) and given:
        return [str(word) for word in given]
    return info["processes"][0]["command"].split() if info["processes"] else []


def what_ran(directory: str, command: list[str]) -> str:
    """mpiexec -n 4 weather.py --steps 3: without the interpreter, and without the directories of what it runs. Of a cell, In[7]."""
    import re
    import shlex

    if len(command) == 1 and command[0].startswith("In["):
        return command[0]
    words = command.copy()
    at = 0
    for i, word in enumerate(words[:-1]):
        if re.fullmatch(r"python[0-9.]*", os.path.basename(word)):
            del words[i]
            at = i
            break
    if not words:
        return os.path.basename(os.path.abspath(directory))
    for i in {0, at}:
        words[i] = os.path.basename(words[i]) or words[i]
    return shlex.join(words)


def rank_number(info: dict[str, Any], process: int) -> int | None:
    """The number by which a user names the rank of a process: ranks of a second MPI_COMM_WORLD are counted on behind those of the
    first. None: it did not begin MPI."""
    p = info["processes"][process]
    if p["rank"] is None:
        return None
    return int(p["rank"]) + int(sum(info["worlds"][: p["world"]]))


def rank_names(info: dict[str, Any]) -> list[str]:
    """What tables call the processes: by the number of the rank; "process 3" where there is none, or one before has it already,
    which only a damaged file says."""
    names: dict[str, None] = {}
    for i in range(len(info["processes"])):
        number = rank_number(info, i)
        names[f"process {i}" if number is None or str(number) in names else str(number)] = None
    return list(names)


def title(info: dict[str, Any], process: int) -> str:
    """What a process is called."""
    p, number = info["processes"][process], rank_number(info, process)
    return f"process {p['pid']} on {p['host']}" if number is None else f"rank {number}, process {p['pid']} on {p['host']}"


def chosen(info: dict[str, Any], values: dict[str, object]) -> int:
    """The index of the process that --process or --rank names, -1 where neither is given. Usage: there is no such one."""
    if "process" in values and "rank" in values:
        raise Usage("--process and --rank do not go together")
    if "process" in values:
        process = values["process"]
        assert isinstance(process, int)
        if process >= len(info["processes"]):
            raise Usage(f"--process {process}: `spartito info` lists processes 0 to {len(info['processes']) - 1}")
        return process
    if "rank" not in values:
        return -1
    rank, ranks = values["rank"], sum(info["worlds"])
    assert isinstance(rank, int)
    for i in range(len(info["processes"])):
        if rank_number(info, i) == rank:
            return i
    if not ranks:
        raise Usage(f"--rank {rank}: no process of the experiment began MPI")
    if rank >= ranks:
        raise Usage(f"--rank {rank}: the experiment has ranks 0 to {ranks - 1}")
    raise Usage(f"--rank {rank}: that rank was not measured, or its file is missing")
