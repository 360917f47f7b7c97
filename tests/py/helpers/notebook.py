# SPDX-License-Identifier: BSD-3-Clause
"""Drives a kernel as a notebook does: runs cells one after another, collects their outputs, answers input(), interrupts, restarts
and kills the kernel. Also runs cells in a plain and in a measured kernel, and compares their outputs."""

import json
import os
import queue
import re
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from jupyter_client import KernelManager
from jupyter_client.kernelspec import KernelSpecManager

PATIENCE = 240  # seconds for one cell or a kernel's start: a machine may be busy
TERMINAL = re.compile(r"\x1b\[[0-9;]*m")
# text that differs between two runs of a cell: ipykernel's file name of the cell, addresses and process ids
PLACES = (
    (re.compile(r"(/\S*)?/ipykernel_\d+/\d+\.py"), "CELL.py"),
    (re.compile(r"<ipython-input-\d+-[0-9a-f]+>"), "CELL.py"),
    (re.compile(r"0x[0-9a-f]{6,}"), "0xADDRESS"),
    (re.compile(r"\(pid=\d+\)"), "(pid)"),  # a warning of fork() from Python 3.12 on
    (re.compile(r"\(\d{5,}\.py,"), "(CELL.py,"),
    # in tracebacks the line above the cell's code; only some versions show it if it is empty
    (re.compile(r"^ +1 *(#.*|%%.*)?\n", re.MULTILINE), ""),
)


class Died(AssertionError):
    """The kernel's process ended while a cell ran; `cell` has the outputs until then."""

    def __init__(self, cell):
        super().__init__(f"the kernel ended while it ran:\n{cell.code}\n-- put out until then:\n{cell.text}")
        self.cell = cell


class Cell:
    """A cell that was run. outputs: dicts in the order of their arrival, as in a notebook file, with output_type
    stream (name, text), display_data and execute_result (data, metadata), error (ename, evalue, traceback)."""

    def __init__(self, code):
        self.code, self.outputs, self.asked = code, [], []
        self.status = self.count = self.reply = None
        self.seconds = 0.0  # from the request to the later one of reply and last output

    def _texts(self, name):
        return "".join(o["text"] for o in self.outputs if o["output_type"] == "stream" and o["name"] == name)

    @property
    def stdout(self):
        return self._texts("stdout")

    @property
    def stderr(self):
        return self._texts("stderr")

    @property
    def text(self):
        """Text of both streams in the order of its arrival."""
        return "".join(o["text"] for o in self.outputs if o["output_type"] == "stream")

    @property
    def displays(self):
        """Mime bundles of displayed outputs."""
        return [o["data"] for o in self.outputs if o["output_type"] == "display_data"]

    @property
    def result(self):
        """The mime bundle shown as Out, or None."""
        return next((o["data"] for o in self.outputs if o["output_type"] == "execute_result"), None)

    @property
    def value(self):
        """The text of Out, or None."""
        return self.result and self.result["text/plain"]

    @property
    def error(self):
        """(name, value) of the exception that ended the cell, or None."""
        return next(((o["ename"], o["evalue"]) for o in self.outputs if o["output_type"] == "error"), None)

    @property
    def traceback(self):
        return "\n".join(TERMINAL.sub("", line) for o in self.outputs if o["output_type"] == "error" for line in o["traceback"])

    def __repr__(self):
        return f"<cell {self.code!r}: {self.status}, {_shortened(self.outputs)}>"

    def take(self, message):
        """Adds an output; text is appended to the previous output of the same stream, as in a notebook."""
        kind, content = message["header"]["msg_type"], message["content"]
        if kind == "stream":
            last = self.outputs[-1] if self.outputs else {}
            if last.get("output_type") == "stream" and last["name"] == content["name"]:
                last["text"] += content["text"]
            else:
                self.outputs.append({"output_type": kind, "name": content["name"], "text": content["text"]})
        elif kind in ("display_data", "execute_result", "error"):
            self.outputs.append({"output_type": kind, **{k: v for k, v in content.items() if k != "transient"}})
        elif kind == "update_display_data":
            self.outputs.append({"output_type": kind, "data": content["data"], "metadata": content["metadata"]})
        elif kind == "clear_output":
            self.outputs.append({"output_type": kind, "wait": content["wait"]})


def _shortened(thing):
    """For error messages: shortens long strings, as the HTML of a frame."""
    if isinstance(thing, str):
        return thing if len(thing) < 1500 else f"{thing[:1500]}… ({len(thing)} letters)"
    if isinstance(thing, dict):
        return {k: _shortened(v) for k, v in thing.items()}
    return [_shortened(v) for v in thing] if isinstance(thing, list) else thing


class Running:
    """A cell that was started. answers: replies to input(), in order."""

    def __init__(self, kernel, code, answers, **how):
        self.kernel, self.cell, self.answers = kernel, Cell(code), list(answers)
        self.begin, self.idle = time.monotonic(), False
        self.id = kernel.client.execute(code, allow_stdin=True, **how)

    def _mine(self, message):
        return message["parent_header"].get("msg_id") == self.id

    def _step(self, patience):
        """Receives one message, or waits shortly for one. False when the cell has ended."""
        client, cell = self.kernel.client, self.cell
        try:
            message = client.get_iopub_msg(timeout=0.02 if cell.reply is None else 0.2)
            if self._mine(message):
                cell.take(message)
                self.idle |= message["header"]["msg_type"] == "status" and message["content"]["execution_state"] == "idle"
        except queue.Empty:
            self._without_output(patience)
        if client.stdin_channel.msg_ready():
            self._answer(client.get_stdin_msg(timeout=1))
        if cell.reply is None and client.shell_channel.msg_ready():
            message = client.get_shell_msg(timeout=1)
            if self._mine(message):
                cell.reply = message["content"]
                cell.status, cell.count = cell.reply["status"], cell.reply.get("execution_count")
        return not (self.idle and cell.reply)

    def _without_output(self, patience):
        if not self.kernel.manager.is_alive():
            raise Died(self.cell)
        if time.monotonic() - self.begin > patience:
            raise AssertionError(f"no end in {patience} s: {self.cell}\n{self.kernel.log()}")

    def _answer(self, message):
        self.cell.asked.append((message["content"]["prompt"], message["content"]["password"]))
        assert self.answers, f"asked {message['content']} without an answer to give"
        answer = self.answers.pop(0)
        # KeyboardInterrupt as an answer interrupts the kernel
        self.kernel.interrupt() if answer is KeyboardInterrupt else self.kernel.client.input(answer)

    def until(self, text, patience=PATIENCE):
        """Waits until a stream contains this text, or until text() is true. The cell must still run then."""
        while not (text() if callable(text) else text in self.cell.text):
            assert self._step(patience), f"ended without {text!r}: {self.cell}"
        return self

    def end(self, patience=PATIENCE):
        while self._step(patience):
            pass
        self.cell.seconds = time.monotonic() - self.begin
        return self.cell


class Kernel:
    """A kernel that runs in `directory`. name: of a kernelspec; specs: directories with kernelspecs, besides those of this
    Python."""

    def __init__(self, directory, name="python3", specs=(), environment=None):
        self.directory = Path(directory)
        here = self.directory / ".jupyter"  # without settings and history of the user
        here.mkdir(exist_ok=True)
        environment = {**os.environ, "IPYTHONDIR": str(here / "ipython"), "JUPYTER_RUNTIME_DIR": str(here),
                       "MPLCONFIGDIR": str(here), **(environment or {})}  # fmt: skip
        # Sockets instead of TCP: another process could take a free port before the kernel binds it. The path of a socket must be
        # short.
        self.sockets = tempfile.mkdtemp(prefix="kernel-")
        self.manager = KernelManager(kernel_name=name, connection_file=str(here / f"kernel-{time.monotonic_ns()}.json"),
                                     transport="ipc", ip=f"{self.sockets}/of")  # fmt: skip
        if specs:
            self.manager.kernel_spec_manager = KernelSpecManager(kernel_dirs=[str(d) for d in specs])
        self.logfile = here / "log"
        self.out = open(self.logfile, "ab")  # noqa: SIM115 (a restart takes it again)
        self.manager.start_kernel(cwd=str(self.directory), env=environment, stdout=self.out, stderr=self.out)
        self.client = self.manager.client()
        self._connect()

    def _connect(self):
        self.client.start_channels()
        try:
            self.client.wait_for_ready(timeout=PATIENCE)
        except RuntimeError as e:
            raise AssertionError(f"{e}\n{self.log()}") from None

    def log(self):
        """Output of the kernel's process outside of cells."""
        return self.logfile.read_text(errors="replace")[-4000:]

    @property
    def pid(self):
        return self.manager.provisioner.process.pid

    def begin(self, code, *answers, **how):
        """Starts a cell without waiting for its end. how: silent, store_history, user_expressions, stop_on_error of the request."""
        return Running(self, code, answers, **how)

    def run(self, code, *answers, **how):
        return self.begin(code, *answers, **how).end()

    def ok(self, code, *answers, **how):
        """run() of a cell that must end without an error."""
        cell = self.run(code, *answers, **how)
        assert cell.status == "ok", f"{cell}\n{cell.traceback}"
        return cell

    def ask(self, kind, **content):
        """The content of the reply to another request to the shell: complete, inspect, is_complete, history."""
        reply = getattr(self.client, kind)(**content)
        until = time.monotonic() + PATIENCE
        while True:
            message = self.client.get_shell_msg(timeout=max(1, until - time.monotonic()))
            if message["parent_header"].get("msg_id") == reply:
                return message["content"]

    def interrupt(self):
        self.manager.interrupt_kernel()

    def restart(self):
        """Restarts as the notebook's button does: a new process, the same channels."""
        self.client.stop_channels()
        # half of this time is for a regular exit, before the kernel gets a signal
        self.manager.shutdown_wait_time = 2 * PATIENCE
        self.manager.restart_kernel(now=False)
        self.manager.shutdown_wait_time = 5
        self.client = self.manager.client()
        self._connect()

    def kill(self):
        """Kills the kernel with SIGKILL, as the operating system does when memory is short."""
        os.kill(self.pid, signal.SIGKILL)
        self.manager.provisioner.process.wait(PATIENCE)

    def close(self):
        self.client.stop_channels()
        if self.manager.has_kernel:
            self.manager.shutdown_kernel(now=not self.manager.is_alive())
        shutil.rmtree(self.sockets, ignore_errors=True)
        self.out.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


def kernelspec(directory, name, argv, **more):
    """Writes a kernelspec that runs argv, in which {connection_file} is replaced. Returns its directory for `specs`."""
    made = Path(directory) / name
    made.mkdir(parents=True)
    (made / "kernel.json").write_text(json.dumps({"argv": list(argv), "display_name": name, "language": "python", **more}))
    return Path(directory)


IPYKERNEL = (sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}")


def steady(text):
    """The text without parts that differ from run to run."""
    text = TERMINAL.sub("", text)
    for pattern, replacement in PLACES:
        text = pattern.sub(replacement, text)
    return text


def outcome(cell, without=lambda output: False):
    """All outputs of a cell that a user sees, comparable between two kernels.

    without: whether an output is left out, such as the report of a measurement."""
    seen = []
    for output in cell.outputs:
        if without(output):
            continue
        kind = output["output_type"]
        if kind == "stream" and seen and seen[-1][:2] == (kind, output["name"]):
            seen[-1] = (kind, output["name"], seen[-1][2] + steady(output["text"]))
        elif kind == "stream":
            seen.append((kind, output["name"], steady(output["text"])))
        elif kind == "error":
            seen.append((kind, output["ename"], steady(output["evalue"]), steady("\n".join(output["traceback"]))))
        elif kind == "clear_output":
            seen.append((kind, output["wait"]))
        else:
            data = {mime: steady(v) if isinstance(v, str) else v for mime, v in output["data"].items()}
            seen.append((kind, output.get("execution_count"), data, output["metadata"]))
    return cell.status, cell.count, cell.asked, _streams_apart(seen)


def _streams_apart(seen):
    """stdout and stderr are two pipes: only the order within each stream, and relative to other outputs, is determined by the
    cell."""
    apart, run = [], {}
    for entry in [*seen, None]:
        if entry and entry[0] == "stream":
            run[entry[1]] = run.get(entry[1], "") + entry[2]
            continue
        apart += [("stream", name, text) for name, text in sorted(run.items())]
        run = {}
        if entry:
            apart.append(entry)
    return apart


def same(plain, measured, code, mark, *answers, without=lambda output: False):
    """Runs code in the plain kernel, and in the measured one with the line `mark` above it. Compares outputs; returns both cells.

    In the plain kernel a comment is the first line, so that line numbers are equal. A cell magic must be first: it gets no comment.
    Both kernels must have run the same number of cells."""
    first = code if code.startswith("%%") else "#\n" + code
    a, b = plain.run(first, *answers), measured.run(mark + "\n" + code, *answers)
    assert outcome(a) == outcome(b, without), f"{code}\nplain:    {a}\nmeasured: {b}"
    return a, b
