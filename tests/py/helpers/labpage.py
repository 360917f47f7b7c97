# SPDX-License-Identifier: BSD-3-Clause
"""JupyterLab in a real browser: its server, a notebook on its page, and the frames below cells."""

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import browser

PYTHON = {"name": "python3", "display_name": "Python 3", "language": "python"}
NOTEBOOK = {
    "metadata": {"kernelspec": PYTHON, "language_info": {"name": "python"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}
# no request for news; the page exposes its application object to tests
OPTIONS = (
    "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1", "--LabApp.news_url=None",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate", "--LabApp.extension_manager=readonly",
    "--LabApp.expose_app_in_browser=True", "--JupyterNotebookApp.expose_app_in_browser=True",
    "--KernelManager.transport=ipc",  # as in notebook.py
)  # fmt: skip
CONTEXT = "window.jupyterapp?.shell?.currentWidget?.sessionContext"
READY = "Boolean(window.spartito?.state().view?.ready)"


def write(path, *cells, kernel=PYTHON):
    """Writes a notebook of code cells without outputs."""
    made = [
        {"cell_type": "code", "id": f"cell{i}", "metadata": {}, "execution_count": None, "outputs": [], "source": code}
        for i, code in enumerate(cells)
    ]
    metadata = {**NOTEBOOK["metadata"], "kernelspec": kernel}
    path.write_text(json.dumps({**NOTEBOOK, "metadata": metadata, "cells": made}))


def outputs(path):
    """The outputs of each cell of a notebook's file."""
    return [cell["outputs"] for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]]


def environment(place):
    """The environment of Jupyter programs: they read no settings of the user, and write only below `place`."""
    own = {name: str(place / name.lower()) for name in
           ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTERLAB_SETTINGS_DIR",
            "JUPYTERLAB_WORKSPACES_DIR", "IPYTHONDIR", "XDG_CACHE_HOME")}  # fmt: skip
    kept = {key: value for key, value in os.environ.items() if not key.startswith("JUPYTER")}
    # Jupyter's programs are in the directory of this interpreter
    return {**kept, **own, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


class Lab:
    """A JupyterLab server; notebooks are files in its directory `root`."""

    def __init__(self, place):
        self.root = place / "root"
        self.root.mkdir()
        self.token = secrets.token_hex(16)
        self.log = place / "log"
        self.runtime = tempfile.mkdtemp(prefix="lab-")
        own = {**environment(place), "JUPYTER_RUNTIME_DIR": self.runtime}
        asks = Path(own["JUPYTERLAB_SETTINGS_DIR"]) / "@jupyterlab" / "apputils-extension" / "notification.jupyterlab-settings"
        asks.parent.mkdir(parents=True)
        asks.write_text('{"fetchNews": "false", "checkForUpdates": false}')
        command = [sys.executable, "-m", "jupyterlab", *OPTIONS, "--ServerApp.port=0", f"--IdentityProvider.token={self.token}"]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(command, cwd=self.root, env=own, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        known = Path(self.runtime) / f"jpserver-{self.process.pid}.json"
        until = time.monotonic() + browser.PATIENCE
        while not self._answers(known):
            assert self.process.poll() is None and time.monotonic() < until, self.log.read_text()
            time.sleep(0.1)

    def _answers(self, known):
        try:
            self.url = json.loads(known.read_text())["url"]
            with urllib.request.urlopen(f"{self.url}api?token={self.token}", timeout=browser.PATIENCE):
                return True
        except (OSError, ValueError):
            return False

    def close(self):
        self.process.terminate()  # this also ends its kernels
        try:
            self.process.wait(browser.PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.runtime, ignore_errors=True)


class Page:
    """A notebook on a page of JupyterLab (app "lab") or Notebook ("notebooks")."""

    def __init__(self, lab, app, name, scratch):
        self.browser = browser.Browser(scratch)
        self.browser.call("Emulation.setDeviceMetricsOverride", width=1280, height=800, deviceScaleFactor=1, mobile=False)
        self.browser.call("Network.enable")
        # JupyterLab restores the documents of a workspace: each notebook gets its own
        place = f"lab/workspaces/{name.partition('.')[0]}/tree" if app == "lab" else app
        self.url = f"{lab.url}{place}/{name}?token={lab.token}"
        self.open()

    def open(self):
        """Reloads the page; returns when the notebook and its kernel are ready."""
        self.browser.call("Page.navigate", url="about:blank")
        self.browser.call("Page.navigate", url=self.url)
        self.browser.wait_for(f"Boolean({CONTEXT}?.isReady && {CONTEXT}.session?.kernel?.status === 'idle')")
        self.browser.wait_for("Boolean(document.querySelector('.jp-CodeCell'))")

    def run(self):
        """Runs all cells until the last one has ended, and saves the notebook."""
        done = self.browser.evaluate(
            "Promise.race([jupyterapp.commands.execute('notebook:run-all-cells').then(() => 'done'), "
            f"new Promise(late => setTimeout(late, {1000 * (browser.PATIENCE - 10)}, 'late'))])"
        )
        assert done == "done", self.browser.evaluate("document.body.innerText")
        self.browser.evaluate("void jupyterapp.commands.execute('docmanager:save')")
        self.browser.wait_for("jupyterapp.shell.currentWidget.context.model.dirty === false")

    def requests(self):
        """The servers to which the page sent requests."""
        asked = [e["params"]["request"]["url"] for e in self.browser.events if e["method"] == "Network.requestWillBeSent"]
        return {urlsplit(url).netloc for url in asked if not url.startswith(("data:", "blob:", "about:"))}

    def close(self):
        self.browser.close()


class Frame:
    """A document in a frame with a separate origin, for which the browser has a separate process."""

    def __init__(self, page, target):
        self.page = page
        self.session = page.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def evaluate(self, expression):
        before, self.page.session = self.page.session, self.session
        try:
            return self.page.evaluate(expression)
        finally:
            self.page.session = before

    def wait_for(self, expression):
        until = time.monotonic() + browser.PATIENCE
        while not self.evaluate(expression):
            # a document that is still being parsed has no body
            assert time.monotonic() < until, (
                f"never came true: {expression}; the frame shows {self.evaluate('document.body?.innerText')}"
            )
            time.sleep(0.1)

    def view(self, hash=None):
        """What the frame's view shows, in numbers."""
        if hash:
            self.evaluate(f"void window.spartito.store.select({json.dumps(hash)})")
            self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        self.wait_for(READY)
        return self.evaluate("window.spartito.state().view")

    def colours(self):
        """The number of colours of the picture, once it is drawn; 1 for an empty one."""
        return self.evaluate("""(async () => {
            await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
            const c = document.querySelector('canvas'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
            const found = new Set();
            for (let i = 0; i < d.length; i += 4) found.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
            return found.size;
        })()""")


def frames(page, number):
    """The frames of results in the order of the page, once there are `number` of them and all are drawn."""
    until = time.monotonic() + browser.PATIENCE
    while True:
        targets = page.call("Target.getTargets")["targetInfos"]
        found = [t["targetId"] for t in targets if t["type"] == "iframe" and t["url"] == "about:srcdoc"]
        if len(found) == number:
            break
        assert time.monotonic() < until, f"{len(found)} frames: {page.evaluate('document.body.innerText')}"
        time.sleep(0.1)
    made = [Frame(page, target) for target in found]
    for frame in made:
        frame.wait_for(READY)
    return made
