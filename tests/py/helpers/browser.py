# SPDX-License-Identifier: BSD-3-Clause
"""A headless browser controlled by the DevTools protocol over a pipe, and an HTTP server of files for it."""

import functools
import http.server
import json
import os
import select
import shutil
import subprocess
import threading
import time

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
PATIENCE = 120  # seconds for one answer: a machine may be busy


class Server:
    """Serves a directory, and below /files/ the files that were added, on its own port."""

    def __init__(self, directory):
        self.files = files = {}

        class Handler(http.server.SimpleHTTPRequestHandler):
            def do_GET(self):
                path = files.get(self.path.split("?")[0].removeprefix("/files/")) if self.path.startswith("/files/") else None
                if path is None:
                    return super().do_GET()
                data = path.read_bytes()
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format, *args):
                pass

        handler = functools.partial(Handler, directory=str(directory))
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Gone(AssertionError):
    """The browser or its page has failed and will not answer."""


class Browser:
    """One page. events: notifications of the page, including exceptions. patience: seconds for one answer."""

    def __init__(self, directory, patience=PATIENCE):
        self.patience = patience
        to_read, self.to = os.pipe()
        self.come, to_write = os.pipe()
        switches = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe",
                    "--no-first-run", "--disable-background-networking", f"--user-data-dir={directory}")  # fmt: skip
        # the browser reads commands from its descriptor 3 and answers on 4
        script = 'exec 3<&"$1" 4>&"$2"; shift 2; exec "$@"'
        command = ["bash", "-c", script, "bash", str(to_read), str(to_write), CHROMIUM, *switches, "about:blank"]
        self.log = directory / "log"
        log = os.open(self.log, os.O_WRONLY | os.O_CREAT)
        self.process = subprocess.Popen(command, pass_fds=(to_read, to_write), stdout=log, stderr=log)
        os.close(log)
        os.close(to_read)
        os.close(to_write)
        self.buffer, self.number, self.session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Inspector", "Runtime", "Page"):
            self.call(domain + ".enable")

    def _read(self, until):
        while b"\0" not in self.buffer:
            if not select.select([self.come], [], [], max(0, until - time.monotonic()))[0]:
                raise Gone(f"the browser does not answer within {self.patience} s")
            data = os.read(self.come, 1 << 20)
            if not data:
                raise Gone(f"the browser ended: {self.process.wait(PATIENCE)}, {self.log.read_text()[-1000:]}")
            self.buffer += data
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + self.patience
        while True:
            answer = self._read(until)
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]
            if answer.get("method") == "Inspector.targetCrashed":
                raise Gone("the page's process ended")
            self.events.append(answer)

    def evaluate(self, expression):
        """The value of a JavaScript expression; a promise is awaited."""
        done = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def wait_for(self, expression):
        until = time.monotonic() + self.patience
        pause = 0.01
        while not self.evaluate(expression):
            assert time.monotonic() < until, (
                f"never came true: {expression}; the page shows {self.evaluate('document.body?.innerText')}"
            )
            time.sleep(pause)
            pause = min(2 * pause, 0.1)

    def exceptions(self):
        return [e["params"]["exceptionDetails"] for e in self.events if e["method"] == "Runtime.exceptionThrown"]

    def close(self):
        os.close(self.to)  # closing its command pipe ends the browser
        os.close(self.come)
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
