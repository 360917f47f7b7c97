# SPDX-License-Identifier: BSD-3-Clause
"""Finds child processes that ran Python and are not in the experiment, from the command lines that their parents recorded. Whether
a program that is not named python runs Python is not known."""

from __future__ import annotations

import os
import re
import shlex

from spartito.base import regular
from spartito.base.text import name, plural

TYPE_CHECKING = False  # importing typing would add milliseconds to the summary of every run
if TYPE_CHECKING:
    from typing import Any

PYTHON = re.compile(r"python(\d+(\.\d+)*t?)?(-dbg)?$|pypy\d*(\.\d+)*$")
SHELLS = {"sh", "bash", "dash", "ash", "ksh", "zsh"}
# programs that start the program in their arguments, and why a measurement may not continue in it
WRAPPERS = {
    "sudo": "another user", "su": "another user", "doas": "another user", "runuser": "another user", "setpriv": "another user",
    "chroot": "another root directory", "unshare": "another namespace", "env": "another environment",
    "nice": "", "nohup": "", "time": "", "timeout": "", "setsid": "", "stdbuf": "", "taskset": "", "numactl": "", "exec": "",
}  # fmt: skip
KEYWORDS = {"if", "then", "elif", "else", "while", "until", "do", "!", "{"}  # shell keywords that may precede a command
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
WITHOUT_START = {"-V", "-VV", "--version", "-h", "--help", "-?", "--help-all", "--help-env", "--help-xoptions"}
CLUSTER = re.compile(r"([^cmWX]*)([cmWX]?)(.*)", re.DOTALL)  # flags without a value, the first flag with a value, and the value
OTHER_REASON = "an interpreter without spartito, or another user, root directory, environment or limit"
# seconds: by START_TIME a running interpreter has begun; one that was killed before KILL_TIME may not have begun
START_TIME, KILL_TIME = 1.0, 10.0
MAX_COMMANDS, MAX_COMMAND = 3, 60  # command lines in a sentence, and characters of each
MAX_FIRST_LINE, MAX_SCRIPTS = 256, 512  # bytes read from a script, and number of scripts read


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def _of_shell(text: str) -> list[list[str]]:
    """The simple commands in a shell command line."""
    tokens = shlex.shlex(text.replace("\n", ";"), posix=True, punctuation_chars=True)
    tokens.whitespace_split = True
    found: list[list[str]] = [[]]
    try:
        for token in tokens:
            if set(token) <= set("();&|"):
                found.append([])
            elif found[-1] or not (token in KEYWORDS or ASSIGNMENT.match(token)):
                found[-1].append(token)
    except ValueError:
        return [text.split()]
    return [words for words in found if words]


def _commands(c: dict[str, Any]) -> list[list[str]]:
    if not c["pid"]:  # a shell that os.system() started
        return _of_shell(c["command"])
    words = _words(c["command"])
    if words and os.path.basename(words[0]) in SHELLS:
        for option, text in zip(words[1:], words[2:]):
            if not option.startswith("-"):
                break
            if not option.startswith("--") and option.endswith("c"):
                return _of_shell(text)
    return [words]


class Scripts:
    """Reads the interpreter from the first line of scripts (#!), if they still exist. Each one is read once."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str], list[str]] = {}

    def interpreter(self, word: str, directory: str) -> list[str]:
        """The words of the #! line of the script `word`, started in `directory`; empty: there is no such line."""
        key = word, directory
        if key not in self.known and len(self.known) < MAX_SCRIPTS:
            self.known[key] = self._read(word, directory)
        return self.known.get(key, [])

    @staticmethod
    def _read(word: str, directory: str) -> list[str]:
        if "/" in word:
            path = os.path.join(directory, word)
        else:
            path = next((p for p in (os.path.join(d, word) for d in os.get_exec_path()) if os.access(p, os.X_OK)), "")
        try:
            with regular.opened(path) as f:
                line = f.read(MAX_FIRST_LINE).split(b"\n")[0]
        except (OSError, ValueError):
            return []
        return line[2:].decode("utf-8", "replace").split() if line.startswith(b"#!") else []


def _interpreter(words: list[str]) -> tuple[list[str], str]:
    """The command line from the Python interpreter on, empty: it runs no Python; and why a wrapper before it may end a
    measurement."""
    why = ""
    for i, word in enumerate(words):
        base = os.path.basename(word)
        if PYTHON.match(base):
            return words[i:], why
        if i == 0 and base not in WRAPPERS:
            return [], ""
        why = why or WRAPPERS.get(base, "")
    return [], ""


def _flags(words: list[str]) -> tuple[str, bool]:
    """The one-letter flags of the interpreter; and whether it only prints information, such as its version."""
    letters = ""
    rest = iter(words[1:])
    for word in rest:
        if word in WITHOUT_START:
            return letters, True
        if not word.startswith("-") or word == "-":
            break
        cluster = None if word.startswith("--") else CLUSTER.match(word[1:])
        before, which, value = cluster.groups() if cluster else ("", "", "")
        letters += before
        if which in ("c", "m"):
            break
        if word == "--check-hash-based-pycs" or (which and not value):
            next(rest, None)
    return letters, False


def _why_command(c: dict[str, Any], words: list[str], wrapped: str) -> str:
    flags, informational = _flags(words)
    if informational:
        return ""
    if "S" in flags:
        return "-S skips the start-up hook"
    if c["status"] in (126, 127, 255) or (c["signal"] is not None and c["end"] - c["begin"] < KILL_TIME):
        return ""  # it may have ended before the interpreter began
    if "I" in flags or "E" in flags:
        return f"{'-I' if 'I' in flags else '-E'} ignores PYTHONPATH and the like, by which spartito is found"
    return wrapped or OTHER_REASON


def _why(c: dict[str, Any], directory: str, scripts: Scripts) -> str:
    """The probable reason why a Python child process was not measured; empty: it did not run Python."""
    for command in _commands(c):
        words, wrapped = _interpreter(command)
        if not words and command:
            # a script may name the interpreter in its first line
            words, wrapped = _interpreter(scripts.interpreter(command[0], directory))
            wrapped = ""
        why = _why_command(c, words, wrapped) if words else ""
        if why:
            return why
    return ""


def _has_measured(info: dict[str, Any], c: dict[str, Any]) -> bool:
    """Whether a process that this child started or became is in the experiment, or another sentence reports it."""
    host = info["processes"][c["parent"]]["host"]
    if any(text.partition(": ")[0].endswith(f"{host}-{c['pid']}.error") for text in info["problems"]):
        return True  # losses.sentences() reports it
    if c["pid"] > 0:
        return any(p["ppid"] == c["pid"] and p["host"] == host for p in info["processes"])
    end = c["end"] or float("inf")
    # the process id of a shell of os.system() is not known, so the parent of processes that it started is not known either
    during = [p for p in info["processes"] if p["host"] == host and c["begin"] <= p["begin"] <= end]
    return any(p["parent"] in (None, c["parent"]) for p in during)


def _shown(commands: list[str]) -> str:
    different = list(dict.fromkeys(commands))
    texts = [name(c if len(c) <= MAX_COMMAND else c[: MAX_COMMAND - 1] + "…") for c in different[:MAX_COMMANDS]]
    more = len(different) - MAX_COMMANDS
    return ", ".join(texts) + (f", and {plural(more, 'other command')}" if more > 0 else "")


def _inner_run(p: dict[str, Any]) -> str:
    """Where the experiment of a process is that is another `spartito run`, such as "in DIR"; empty: it is another program."""
    words = _words(p["command"])
    for i, word in enumerate(words[:4]):
        if os.path.basename(word) == "spartito" and words[i + 1 : i + 2] == ["run"]:
            options = words[i + 2 : words.index("--") if "--" in words else None]
            break
    else:
        return ""
    for flag, value in zip(options, [*options[1:], ""]):
        if flag in ("-o", "--output"):
            return f"in {value}"
        if flag.startswith("--output="):
            return f"in {flag.partition('=')[2]}"
    where = p.get("meta", {}).get("cwd")
    return f"below {where}" if where else "elsewhere"


def sentences(info: dict[str, Any]) -> list[str]:
    """Sentences about Python processes that are not in the experiment."""
    groups: dict[str, list[str]] = {}
    scripts = Scripts()
    for c in info.get("children", ()):
        if c["process"] is not None or c["parent"] is None or not c["command"]:
            continue
        parent = info["processes"][c["parent"]]
        why = _why(c, parent["meta"].get("cwd", ""), scripts)
        # if the main process became this one by exec, the launcher has waited for it, so it has begun
        became = c["exec"] and parent["parent"] is None
        begun = c["end"] or became or c["begin"] + START_TIME < info["end"] - info["begin"]
        if why and begun and not _has_measured(info, c):
            groups.setdefault(why, []).append(c["command"])
    lines = [
        f"{plural(len(commands), 'child process')} that ran Python not recorded: {why} ({_shown(commands)})"
        for why, commands in groups.items()
    ]
    for p in info["processes"]:
        where = _inner_run(p)
        if where:
            what = "is another `spartito run`: the program that it started is not recorded here, but in its own experiment,"
            lines.append(f"process {p['pid']} {what} {where}")
    return lines
