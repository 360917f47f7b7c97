# SPDX-License-Identifier: BSD-3-Clause
"""`spartito view` behind a real Jupyter server: jupyter-server-proxy finds the entry point and admits the users that Jupyter
admits."""

import http.client
import json
import os
import socket
import subprocess
import sys
import time

import browser
import pytest
from spartito._analyse import Model
from spartito.view import page as built
from spartito.view import payload

pytest.importorskip("jupyter_server_proxy")

READY = "(() => { const s = window.spartito?.state(); return Boolean(s && s.view && s.view.ready !== false) })()"
SECRET = "of-this-jupyter"

pytestmark = pytest.mark.skipif(not os.path.exists(os.path.join(built.STATIC, "app.js")), reason="built without the viewer")


class Jupyter:
    """A Jupyter server in a directory with an experiment, without the user's settings."""

    def __init__(self, directory):
        runtime = directory / "runtime"
        own = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "JUPYTER_RUNTIME_DIR": "runtime", "HOME": "."}
        environment = {**os.environ, **{name: str(directory / place) for name, place in own.items()}, "JUPYTER_TOKEN": SECRET}
        # if another process takes the port first, Jupyter chooses another one and writes it to its file
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [sys.executable, "-m", "jupyter_server", "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}"]
        self.log = open(directory / "log", "wb")  # noqa: SIM115 - open as long as the server runs
        self.process = subprocess.Popen(command, cwd=directory, env=environment, stdout=self.log, stderr=self.log)
        self.port, until = 0, time.monotonic() + browser.PATIENCE
        while not self.listens():
            assert self.process.poll() is None and time.monotonic() < until, (directory / "log").read_text()
            time.sleep(0.1)
            if (found := list(runtime.glob("jpserver-*.json"))) and found[0].read_bytes().endswith(b"}"):
                self.port = json.loads(found[0].read_text())["port"]

    def listens(self):
        """Whether the server accepts connections; its runtime file may exist before."""
        with socket.socket() as s:
            return self.port and s.connect_ex(("127.0.0.1", self.port)) == 0

    def ask(self, path, **headers):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=browser.PATIENCE)
        try:
            c.request("GET", path, headers=headers)
            answer = c.getresponse()
            return answer.status, answer.getheader("Location") or "", answer.read()
        finally:
            c.close()

    def close(self):
        self.process.terminate()
        self.process.wait(browser.PATIENCE)
        self.log.close()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    directory = tmp_path_factory.mktemp("jupyter")
    (directory / "prog.py").write_text("def work(): return sum(range(1000))\nfor i in range(7): work()\n")
    command = [sys.executable, "-m", "spartito", "run", "-q", "-o", "exp", "--", sys.executable, "prog.py"]
    assert subprocess.run(command, cwd=directory, timeout=browser.PATIENCE).returncode == 0
    return directory


@pytest.fixture(scope="module")
def jupyter(place):
    server = Jupyter(place)
    yield server
    server.close()


def test_admitted_users(jupyter, place):
    for path in ("/spartito/", "/spartito/app.js", "/spartito/data/facts"):
        status, where, body = jupyter.ask(path)
        assert status in (302, 403) and b"spartito" not in body.lower().replace(path.encode(), b""), (path, body[:200])
        assert status == 403 or "/login" in where
        assert jupyter.ask(path, Authorization="token wrong")[0] in (302, 403)
    let_in = {"Authorization": f"token {SECRET}"}
    status, _, body = jupyter.ask("/spartito/", **let_in)
    assert status == 200 and b"app.js" in body
    facts = payload.unpack(jupyter.ask("/spartito/data/facts", **let_in)[2])[0]
    assert facts["processes"][0]["command"].endswith("prog.py")
    regions = payload.unpack(jupyter.ask("/spartito/data/regions", **let_in)[2])[0]
    flat = payload.unpack(jupyter.ask("/spartito/data/flat", **let_in)[2])[1]
    visits = dict(zip((regions["names"][r] for r in flat["region"]), flat["visits"]))
    assert visits == {row["name"]: row["visits"] for row in Model(str(place / "exp")).flat()} and visits["__main__:work"] == 7
    assert jupyter.ask("/spartito/../../../etc/passwd", **let_in)[0] in (400, 403, 404)
    assert jupyter.ask("/spartito/%2e%2e/%2e%2e/etc/passwd", **let_in)[0] in (400, 403, 404)


@pytest.mark.skipif(not browser.CHROMIUM, reason="needs chromium")
def test_a_page_below_jupyters_address(jupyter, tmp_path):
    page = browser.Browser(tmp_path)
    try:
        page.call("Network.enable")
        page.call("Page.navigate", url=f"http://127.0.0.1:{jupyter.port}/spartito/?token={SECRET}#view=table")
        page.wait_for(READY)
        page.wait_for("document.body.innerText.includes('work')")
        names = page.evaluate("window.spartito.store.source.get('regions').then((regions) => regions.meta.names)")
        assert "__main__:work" in names
        asked = [e["params"]["request"]["url"] for e in page.events if e["method"] == "Network.requestWillBeSent"]
        assert len(asked) > 3 and all(
            url.startswith((f"http://127.0.0.1:{jupyter.port}/spartito/", "about:", "data:")) for url in asked
        )
        assert page.exceptions() == []
        page.call("Network.clearBrowserCookies")
        ask = "window.spartito.store.source.get('tree', { limit: 3 }).then(() => 'answered', (error) => error.message)"
        assert "log in again" in page.evaluate(ask)
    finally:
        page.close()
