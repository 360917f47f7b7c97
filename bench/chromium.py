# SPDX-License-Identifier: BSD-3-Clause
"""A page in a real browser, and measurements of it that are the same for every viewer."""

import os
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = os.path.dirname(os.path.abspath(__file__))
# last in the path: both directories have a module mpi
sys.path.append(os.path.join(os.path.dirname(HERE), "tests", "py", "helpers"))
import browser  # noqa: E402

AVAILABLE = browser.CHROMIUM is not None
Server = browser.Server
# ms from a user's action to the next frame, for n calls of act (a function of 0, 1, …)
FRAMES = """(async (n, act, changes) => {
    const out = [];
    for (let i = 0; i < n; i++) {
        const begin = performance.now();
        const changed = changes && new Promise((done) => {
            const seen = new MutationObserver(() => { seen.disconnect(); done(); });
            seen.observe(document.querySelector(changes), { subtree: true, childList: true, attributes: true });
            setTimeout(() => { seen.disconnect(); done(); }, 10000);
        });
        act(i);
        await changed;
        await new Promise((done) => requestAnimationFrame(done));
        out.push(performance.now() - begin);
        await new Promise((done) => setTimeout(done, 30));
    }
    return out;
})(%d, %s, %s)"""
# ms between frames during 1.5 s
GAPS = """(async () => {
    const out = [], until = performance.now() + 1500;
    for (let last = performance.now(); last < until; ) {
        await new Promise((done) => requestAnimationFrame(done));
        out.push(performance.now() - last);
        last = performance.now();
    }
    return out;
})()"""


class Never(Exception):
    """The page will not show its picture; the text is the reason."""


class Measured:
    """Measurements of one viewer with one experiment. Times in s, frames in ms; None: not measured, or not available."""

    def __init__(self, viewer):
        self.viewer = viewer
        self.why = ""  # not empty: the reason why it could not be measured
        self.opening = []
        self.memory = None  # MiB, the peak of the page's process
        self.frames = []
        self.search = None
        self.server = None  # MiB, two numbers of pages.memory_of()
        self.ready = None  # from the command to the printed address

    def slowest(self):
        return max(self.opening) if self.opening else None

    def spread(self):
        """(median, 90 % quantile, maximum) of the frames, or None without frames."""
        times = sorted(self.frames)
        return (times[len(times) // 2], times[int(0.9 * (len(times) - 1))], times[-1]) if times else None


class Page:
    """A page of 1280×800 pixels; patience: seconds to wait for an answer."""

    def __init__(self, patience):
        self.directory = tempfile.mkdtemp()
        self.patience = patience
        self.browser = browser.Browser(Path(self.directory), patience)
        self.browser.call("Emulation.setDeviceMetricsOverride", width=1280, height=800, deviceScaleFactor=1, mobile=False)
        self.most = 0.0
        self.closed = threading.Event()
        self.watching = threading.Thread(target=self._watch, daemon=True)  # in a thread, as a busy page gives no answer
        self.watching.start()

    def evaluate(self, expression):
        """The value of a JavaScript expression; None while the page navigates."""
        try:
            return self.browser.evaluate(expression)
        except browser.Gone as e:
            raise Never(str(e)) from None
        except AssertionError:
            return None

    def open(self, url, ready, failed="false"):
        """Seconds until `ready` is true and the next frame begins. Raises Never if `failed` becomes true or patience ends."""
        self.browser.call("Page.navigate", url="about:blank")
        begin = time.monotonic()
        self.browser.call("Page.navigate", url=url)
        while not self.evaluate(ready):
            if self.evaluate(failed):
                raise Never(f"says after {time.monotonic() - begin:.0f} s that it cannot")
            if time.monotonic() - begin > self.patience:
                raise Never(f"over {self.patience} s")
            time.sleep(0.01)
        self.evaluate("new Promise((done) => requestAnimationFrame(done))")
        return time.monotonic() - begin

    def frames(self, n, act, changes="null"):
        """ms of each frame. changes: JavaScript of the element that must change before a frame counts."""
        return self.evaluate(FRAMES % (n, act, changes)) or []

    def gaps(self, key):
        """ms between frames while a key is held."""
        held = {"key": key, "code": f"Key{key.upper()}"}
        self.browser.call("Input.dispatchKeyEvent", type="keyDown", text=key, **held)
        found = self.evaluate(GAPS) or []
        self.browser.call("Input.dispatchKeyEvent", type="keyUp", **held)
        return found

    def memory(self):
        """MiB, the peak of the page's process so far."""
        self.most = max(self.most, self._memory())
        return self.most

    def _watch(self):
        while not self.closed.wait(1):
            self.most = max(self.most, self._memory())

    def _memory(self):
        parents, most = {}, {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat", "rb") as f:
                    parents[int(pid)] = int(f.read().rpartition(b")")[2].split()[1])
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    if b"--type=renderer" not in f.read():
                        continue
                with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
                    most[int(pid)] = next(int(line.split()[1]) for line in f if line.startswith("VmHWM")) / 1024
            except (OSError, StopIteration, ValueError):
                continue
        return max((size for pid, size in most.items() if self._ours(pid, parents)), default=0)

    def _ours(self, pid, parents):
        while pid > 1:
            if pid == self.browser.process.pid:
                return True
            pid = parents.get(pid, 0)
        return False

    def close(self):
        self.closed.set()
        self.watching.join()
        self.browser.close()
        shutil.rmtree(self.directory, ignore_errors=True)
