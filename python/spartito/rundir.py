# SPDX-License-Identifier: BSD-3-Clause
"""The directory of an experiment, as the launcher sees it: its name, experiment.json, and whether anything is in it."""

from __future__ import annotations

import os
import sys
import time

from spartito.say import Refused, reason

JOBS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "COBALT_JOBID", "JOB_ID")
HEADER = 320  # struct sp_raw_header, src/raw/format.h
REGIONS = 48  # offset of its field regions
PRELOAD = "preload.so"  # a link to the library of --io, where LD_PRELOAD cannot name the library itself


def script(command: list[str]) -> tuple[str, str]:
    """What an interpreter's command line runs: ("file", path), ("module", name), ("code", "") or ("", "")."""
    if not command or not os.path.basename(command[0]).startswith(("python", "pypy")):
        return "", ""
    words = iter(command[1:])
    for word in words:
        if word in ("-W", "-X", "--check-hash-based-pycs"):
            next(words, None)
        elif word == "--":
            return "file", next(words, "-")
        elif word.startswith("--") or word == "-":
            continue
        elif word.startswith("-"):
            # -c and -m end the flags and may follow others in one word: -Bc code, -um module
            for i, letter in enumerate(word[1:], 2):
                if letter == "c":
                    return "code", ""
                if letter == "m":
                    return "module", word[i:] or next(words, "")
                if letter in "WX":
                    break
        else:
            return "file", word
    return "", ""


def label(command: list[str]) -> str:
    """The name of the script in a command line, for the name of the directory."""
    kind, what = script(command)
    path = "command" if kind == "code" else what or (command[0] if command else "")
    name = os.path.basename(path.rstrip("/"))
    for suffix in (".py", ".pyc", ".pyz"):
        if name.endswith(suffix) and name != suffix:
            name = name[: -len(suffix)]
    clean = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in name)
    return clean.strip("._-")[:60] or "run"


def default_name(command: list[str]) -> str:
    name = "spartito-" + label(command) + time.strftime("-%Y%m%d-%H%M%S")
    for variable in JOBS:
        job = os.environ.get(variable, "")
        if job:
            return name + "-" + "".join(c if c.isalnum() else "_" for c in job.split(".")[0])[:40]
    return name


def quoted(text: str) -> str:
    """A JSON string. The json module costs more at start-up than all the rest of the launcher."""
    out = []
    for c in text:
        n = ord(c)
        if c in '"\\':
            out.append("\\" + c)
        elif " " <= c <= "~":
            out.append(c)
        elif n < 0x10000:
            out.append(f"\\u{n:04x}")
        else:
            n -= 0x10000
            out.append(f"\\u{0xD800 + (n >> 10):04x}\\u{0xDC00 + (n & 0x3FF):04x}")
    return '"' + "".join(out) + '"'


class Directory:
    """An experiment directory made for this run."""

    def __init__(self, path: str, command: list[str], launched: bool = True) -> None:
        self.path = path
        self.launched = launched  # by `spartito run`; else the program measures itself
        self.command = command
        self.made: list[str] = []  # directories that did not exist before, outermost first
        self.start = time.time()

    def _make(self, path: str) -> None:
        above = os.path.dirname(path)
        if not os.path.isdir(above):
            self._make(above)
        os.mkdir(path)
        self.made.append(path)

    def create(self) -> None:
        """Refused: it is there and not empty, or cannot be written."""
        another = "choose another with -o" if self.launched else "name another directory"
        try:
            if os.path.lexists(self.path):
                if not os.path.isdir(self.path):
                    raise Refused(f"{self.path} already exists and is not a directory; {another}", 2)
                if os.listdir(self.path):
                    raise Refused(f"{self.path} already exists and is not empty; {another}", 2)
            else:
                self._make(self.path)
            self._make(os.path.join(self.path, "raw"))
            self.describe(None)
        except OSError as e:
            self.remove()
            raise Refused(f"the experiment directory {self.path} cannot be written: {reason(e)}") from None

    def describe(self, wait_status: int | None) -> None:
        """Writes experiment.json, whole or not at all. OSError: it could not be written."""
        status = signal = "null"
        if wait_status is not None:
            if os.WIFSIGNALED(wait_status):
                signal = str(os.WTERMSIG(wait_status))
            else:
                status = str(os.WEXITSTATUS(wait_status))
        try:
            cwd = quoted(os.getcwd())
        except OSError:
            cwd = "null"
        lines = [
            '  "version": 1',
            f'  "command": [{", ".join(quoted(word) for word in self.command)}]',
            f'  "cwd": {cwd}',
            f'  "host": {quoted(os.uname().nodename)}',
            f'  "launcher": {quoted(sys.executable or "") if self.launched else "null"}',
            f'  "start": {self.start:.6f}',
            f'  "end": {"null" if wait_status is None else f"{time.time():.6f}"}',
            f'  "status": {status}',
            f'  "signal": {signal}',
        ]
        target = os.path.join(self.path, "experiment.json")
        new = target + ".new"
        try:
            with open(new, "w", encoding="utf-8") as f:
                f.write("{\n" + ",\n".join(lines) + "\n}\n")
            os.replace(new, target)
        except OSError:
            try:
                os.unlink(new)
            except OSError:
                pass
            raise

    def remove(self) -> None:
        """Takes back what create() made and raw files in which nothing was recorded; nothing else is touched."""
        raw = os.path.join(self.path, "raw")
        files = []
        if raw in self.made:
            files = [os.path.join(self.path, name) for name in ("experiment.json", PRELOAD)]
            try:
                files += [os.path.join(raw, name) for name in os.listdir(raw)]
            except OSError:
                pass
        for remove, paths in ((os.unlink, files), (os.rmdir, self.made[::-1])):
            for path in paths:
                try:
                    remove(path)
                except OSError:
                    pass


def create(output: str, command: list[str], launched: bool = True) -> Directory:
    """The directory that the user named, or a new one with the default name."""
    absolute = "give an absolute one with -o" if launched else "name an absolute one"
    try:
        here = "" if os.path.isabs(output) else os.getcwd()
    except OSError as e:
        raise Refused(f"the current directory is not usable: {reason(e)}; {absolute}") from None
    if output:
        directory = Directory(os.path.normpath(os.path.join(here, output)), command, launched)
        directory.create()
        return directory
    name = default_name(command)
    for n in range(1, 1000):
        path = os.path.join(here, name if n == 1 else f"{name}-{n}")
        if not os.path.lexists(path):
            directory = Directory(path, command, launched)
            directory.create()
            return directory
    raise Refused(f"{name} and 998 more of that name already exist")


class Found:
    """What a run left in raw/."""

    def __init__(self, path: str) -> None:
        self.files = 0
        self.regions = 0
        self.errors: list[str] = []
        self.gone = False
        raw = os.path.join(path, "raw")
        try:
            names = sorted(os.listdir(raw))
        except OSError:
            self.gone = True
            return
        for name in names:
            try:
                with open(os.path.join(raw, name), "rb") as f:
                    head = f.read(4096)
            except OSError:
                continue
            if name.endswith(".error"):
                text = head.decode("utf-8", "backslashreplace").strip()
                if text and text not in self.errors:
                    self.errors.append(text.replace("\n", "; "))
            elif name.endswith(".raw"):
                self.files += 1
                # a short or odd file counts as recorded: the reader will say what is wrong with it
                whole = len(head) >= HEADER and head[:8] == b"SPARTITO"
                self.regions += int.from_bytes(head[REGIONS : REGIONS + 4], sys.byteorder) if whole else 1
