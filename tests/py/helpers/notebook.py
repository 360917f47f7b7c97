# SPDX-License-Identifier: BSD-3-Clause
"""A notebook's kernel driven as a notebook drives it: cells run one after another, what each put out collected, answers given to
input(), interrupts, restarts, a kernel killed; and cells run in a plain and in a measured kernel with their outputs compared."""

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
# what differs between two runs of one cell: where ipykernel says that the cell's code is, addresses, process ids of that place
PLACES = (
    (re.compile(r"(/\S*)?/ipykernel_\d+/\d+\.py"), "CELL.py"),
    (re.compile(r"<ipython-input-\d+-[0-9a-f]+>"), "CELL.py"),
    (re.compile(r"0x[0-9a-f]{6,}"), "0xADDRESS"),
    (re.compile(r"\(pid=\d+\)"), "(pid)"),  # Python 3.12 on, of fork()
    (re.compile(r"\(\d{5,}\.py,"), "(CELL.py,"),
    # the line above the cell's own, in tracebacks; an empty one is not shown by all versions
    (re.compile(r"^ +1 *(#.*|%%.*)?\n", re.MULTILINE), ""),
)


class Died(AssertionError):
    """The kernel's process ended while a cell ran; `cell` is what had come until then."""

    def __init__(self, cell):
        super().__init__(f"the kernel ended while it ran:\n{cell.code}\n-- put out until then:\n{cell.text}")
        self.cell = cell


class Cell:
    """What became of a cell. outputs: in the order in which they came, as a notebook keeps them: dicts with output_type
    stream (name, text), display_data and execute_result (data, metadata), error (ename, evalue, traceback)."""

    def __init__(self, code):
        self.code, self.outputs, self.asked = code, [], []
        self.status = self.count = self.reply = None
        self.seconds = 0.0  # from the request until both the reply and the last output were there

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
        """Both streams in the order in which they came."""
        return "".join(o["text"] for o in self.outputs if o["output_type"] == "stream")

    @property
    def displays(self):
        """Mime bundles of what was displayed."""
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
        """Adds an output that came; text goes on the end of its stream's, as in a notebook."""
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
    """For messages: a frame of HTML is as long as all else together."""
    if isinstance(thing, str):
        return thing if len(thing) < 1500 else f"{thing[:1500]}… ({len(thing)} letters)"
    if isinstance(thing, dict):
        return {k: _shortened(v) for k, v in thing.items()}
    return [_shortened(v) for v in thing] if isinstance(thing, list) else thing


class Running:
    """A cell that was begun. answers: what input() is given, in order."""

    def __init__(self, kernel, code, answers, **how):
        self.kernel, self.cell, self.answers = kernel, Cell(code), list(answers)
        self.begin, self.idle = time.monotonic(), False
        self.id = kernel.client.execute(code, allow_stdin=True, **how)

    def _mine(self, message):
        return message["parent_header"].get("msg_id") == self.id

    def _step(self, patience):
        """Takes one message, or waits a moment for one. False when all has come."""
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
        # an exception's class is what a user does at that moment instead of an answer
        self.kernel.interrupt() if answer is KeyboardInterrupt else self.kernel.client.input(answer)

    def until(self, text, patience=PATIENCE):
        """Waits until a stream holds this text, or until text() is true; the cell is still running then."""
        while not (text() if callable(text) else text in self.cell.text):
            assert self._step(patience), f"ended without {text!r}: {self.cell}"
        return self

    def end(self, patience=PATIENCE):
        while self._step(patience):
            pass
        self.cell.seconds = time.monotonic() - self.begin
        return self.cell


class Kernel:
    """A kernel that runs in `directory`. name: a kernelspec's; specs: directories with kernelspecs besides this Python's own."""

    def __init__(self, directory, name="python3", specs=(), environment=None):
        self.directory = Path(directory)
        here = self.directory / ".jupyter"  # nobody's own settings and history
        here.mkdir(exist_ok=True)
        environment = {**os.environ, "IPYTHONDIR": str(here / "ipython"), "JUPYTER_RUNTIME_DIR": str(here),
                       "MPLCONFIGDIR": str(here), **(environment or {})}  # fmt: skip
        # A free port of TCP would be another's by the time that the kernel binds it; a path of a socket must be short.
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
        """What the process itself said, outside of all cells."""
        return self.logfile.read_text(errors="replace")[-4000:]

    @property
    def pid(self):
        return self.manager.provisioner.process.pid

    def begin(self, code, *answers, **how):
        """Starts a cell and comes back at once. how: silent, store_history, user_expressions, stop_on_error of the request."""
        return Running(self, code, answers, **how)

    def run(self, code, *answers, **how):
        return self.begin(code, *answers, **how).end()

    def ok(self, code, *answers, **how):
        """run() of a cell that must end without an error."""
        cell = self.run(code, *answers, **how)
        assert cell.status == "ok", f"{cell}\n{cell.traceback}"
        return cell

    def ask(self, kind, **content):
        """The content of the reply to another request of the shell's: complete, inspect, is_complete, history."""
        reply = getattr(self.client, kind)(**content)
        until = time.monotonic() + PATIENCE
        while True:
            message = self.client.get_shell_msg(timeout=max(1, until - time.monotonic()))
            if message["parent_header"].get("msg_id") == reply:
                return message["content"]

    def interrupt(self):
        self.manager.interrupt_kernel()

    def restart(self):
        """As the notebook's button does it: a new process, the same channels."""
        self.client.stop_channels()
        # half of it is for an end by itself, before the kernel is sent a signal
        self.manager.shutdown_wait_time = 2 * PATIENCE
        self.manager.restart_kernel(now=False)
        self.manager.shutdown_wait_time = 5
        self.client = self.manager.client()
        self._connect()

    def kill(self):
        """kill -9 of the kernel, as the kernel of the system does it when memory is short."""
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
    """A kernelspec that runs argv, in which {connection_file} is replaced; the directory to give as one of `specs`."""
    made = Path(directory) / name
    made.mkdir(parents=True)
    (made / "kernel.json").write_text(json.dumps({"argv": list(argv), "display_name": name, "language": "python", **more}))
    return Path(directory)


IPYKERNEL = (sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}")


def steady(text):
    """text without what differs from run to run."""
    text = TERMINAL.sub("", text)
    for pattern, replacement in PLACES:
        text = pattern.sub(replacement, text)
    return text


def outcome(cell, without=lambda output: False):
    """All that a user sees of a cell, comparable between two kernels.

    without: says of an output whether it is left out, such as the report of a measurement."""
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
    """stdout and stderr are two pipes into one notebook: only the order within each, and to other outputs, is the cell's own."""
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
    """Runs code in the plain kernel and, with the line `mark` above it, in the measured one, and compares what is seen. Both cells.

    The plain cell has a comment as first line, so that line numbers are the same; a cell magic must be first and has none. Both
    kernels must have run the same number of cells."""
    first = code if code.startswith("%%") else "#\n" + code
    a, b = plain.run(first, *answers), measured.run(mark + "\n" + code, *answers)
    assert outcome(a) == outcome(b, without), f"{code}\nplain:    {a}\nmeasured: {b}"
    return a, b
