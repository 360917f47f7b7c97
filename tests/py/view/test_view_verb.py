# SPDX-License-Identifier: BSD-3-Clause
"""`spartito view` on the command line: what it prints, how it ends, the browser it opens, and one message for each refusal."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.request
from pathlib import Path

import pytest
from spartito.analysis import Model
from spartito.view import jupyter, opening, payload
from test_faults_input import one_line

open_url = urllib.request.build_opener(urllib.request.ProxyHandler({})).open  # ignores any proxy configured on the machine
PROGRAM = "def inner(): pass\ndef outer():\n    for _ in range(7): inner()\nouter()\n"


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    cwd = tmp_path_factory.mktemp("view")
    (cwd / "prog.py").write_text(PROGRAM)
    subprocess.run([sys.executable, "-m", "spartito", "run", "-q", "-o", "x", "--", sys.executable, "prog.py"], cwd=cwd, check=True)
    return cwd / "x"


OF_A_SCREEN = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "SSH_CONNECTION", "SSH_CLIENT")


class Viewing:
    """`spartito view`, started and waited for until it has printed its URL."""

    def __init__(self, spartito, *words, **environment):
        quiet = {k: v for k, v in os.environ.items() if k not in OF_A_SCREEN}
        self.process = subprocess.Popen(
            [*spartito, "view", *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**quiet, **environment},
        )
        self.url = self.process.stdout.readline().strip()

    def get(self, path=""):
        with open_url(self.url + path, timeout=100) as answer:
            return answer.read()

    def end(self, number=signal.SIGINT):
        """Sends a signal; returns (status, rest of stdout, stderr)."""
        self.process.send_signal(number)
        out, err = self.process.stdout.read(), self.process.stderr.read()  # communicate() would lose what readline() has buffered
        return self.process.wait(timeout=100), out, err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_shows_the_experiment_and_ends(spartito, experiment, number):
    viewing = Viewing(spartito, experiment)
    assert b"app.js" in viewing.get() and len(viewing.get("app.js")) > 1000
    meta, _ = payload.unpack(viewing.get("data/facts"))
    assert meta["title"].endswith("prog.py")
    names = payload.unpack(viewing.get("data/regions"))[0]["names"]
    flat = payload.unpack(viewing.get("data/flat"))[1]
    calls = {names[region]: visits for region, visits in zip(flat["region"], flat["visits"])}
    assert calls["__main__:inner"] == 7 and calls["__main__:outer"] == 1
    status, out, err = viewing.end(number)
    assert (status, out) == (0, "") and "no browser could be started here; open the address above" in err


SLOW = """
import sys
from spartito.cli import main, view
from spartito.view import kinds
view.PROMPT, gate, open_it = 0, sys.argv.pop(1), kinds.open_experiment
def slowly(*words, **options):
    with open(gate):  # a FIFO: the test opens its other end
        return open_it(*words, **options)
kinds.open_experiment = slowly
sys.exit(main.main())
"""


@pytest.fixture
def gate(tmp_path):
    os.mkfifo(tmp_path / "gate")
    return tmp_path / "gate"


def slow_viewing(gate, *words):
    """`spartito view` that has printed its address, and reads the experiment only when the gate is opened for writing."""
    script = gate.parent / "slow.py"
    script.write_text(SLOW)
    viewing = Viewing([sys.executable, script, gate], "--no-browser", *words)
    assert viewing.url.startswith("http://127.0.0.1:")
    return viewing


def test_the_page_does_not_wait_for_a_large_experiment(experiment, gate):
    viewing = slow_viewing(gate, experiment)
    assert b"app.js" in viewing.get()
    answers = []
    asking = threading.Thread(target=lambda: answers.append(payload.unpack(viewing.get("data/facts"))[0]["title"]))
    asking.start()
    open(gate, "w").close()
    asking.join(100)
    assert answers and answers[0].endswith("prog.py")
    assert viewing.end()[:2] == (0, "")


def test_ctrl_c_does_not_wait_for_a_large_experiment(experiment, gate):
    assert slow_viewing(gate, experiment).end()[:2] == (0, "")


def test_an_error_of_a_large_experiment_ends_it(experiment, gate, tmp_path):
    shutil.copytree(experiment, tmp_path / "y")
    viewing = slow_viewing(gate, tmp_path / "y")
    shutil.rmtree(tmp_path / "y" / "raw")
    open(gate, "w").close()
    assert viewing.process.wait(100) == 1
    printed = viewing.process.stderr.read().splitlines()
    assert printed[0] == "Ctrl-C ends it" and len(printed) == 2 and printed[1].startswith("spartito: ") and "raw" in printed[1]


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_nothing_stays_of_a_packed_experiment(spartito, experiment, tmp_path, number):
    if number == signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("it is ignored here, and so is it in what starts here")
    packed = tmp_path / "x.spartito"
    subprocess.run([*spartito, "pack", "-o", packed, experiment], check=True, stdout=subprocess.DEVNULL)
    viewing = Viewing(spartito, "--no-browser", packed, TMPDIR=str(tmp_path))
    assert list(tmp_path.glob("spartito-*"))
    assert viewing.end(number)[0] == 0
    assert list(tmp_path.iterdir()) == [packed]


def test_another_run_beside_it_and_no_source(spartito, experiment, tmp_path):
    (tmp_path / "prog.py").write_text(PROGRAM.replace("range(7)", "range(9)"))
    subprocess.run([*spartito, "run", "-q", "-o", "y", "--", sys.executable, "prog.py"], cwd=tmp_path, check=True)
    viewing = Viewing(spartito, "--no-browser", "--no-source", "--compare", experiment, tmp_path / "y")
    regions = payload.unpack(viewing.get("data/regions"))[0]
    flat = payload.unpack(viewing.get("data/flat"))[1]
    at = list(flat["region"]).index(regions["names"].index("__main__:inner"))
    assert (flat["visits"][at], flat["base_visits"][at]) == (9, 7)
    assert payload.unpack(viewing.get("data/compare"))[0]["base"]["title"] == "prog.py"
    file = regions["files"].index(str(tmp_path / "prog.py"))
    assert "left out" in payload.unpack(viewing.get(f"data/source?file={file}"))[0]["missing"]
    assert viewing.end()[0] == 0
    words = [*spartito, "view", "--compare", tmp_path / "z", experiment]
    missing = subprocess.run(words, capture_output=True, text=True, timeout=100)
    one_line(missing, "z: there is no such experiment")


def test_compensated(spartito, experiment):
    viewing = Viewing(spartito, "--no-browser", "--compensate", experiment)
    data = viewing.get("data/flat")
    assert viewing.end()[0] == 0
    assert data == Model(str(experiment), compensate=True).view("flat") != Model(str(experiment)).view("flat")


def test_ctrl_c_waits_for_no_answer(spartito, experiment):
    """Ctrl-C ends the server although a connection is open with an incomplete request."""
    viewing = Viewing(spartito, "--no-browser", experiment)
    with socket.create_connection(("127.0.0.1", int(viewing.url.split(":")[2].split("/")[0]))) as s:
        s.sendall(b"GET /")
        assert viewing.end() == (0, "", "Ctrl-C ends it\n")


def test_the_browser_learns_the_address_from_a_file_of_the_user(spartito, experiment, tmp_path):
    """The browser gets the address in a file only the user can read: any user of the machine can read the command line of a
    process."""
    note, pipe = tmp_path / "note", tmp_path / "pipe"
    os.mkfifo(pipe)
    browser = tmp_path / "browser"
    lines = ('printf "%s\\n" "$@"', 'stat -c %a "$1" $(dirname "$1")', 'cat "$1"')
    browser.write_text("#!/bin/sh\n" + "".join(f"{line} >> {note}\n" for line in lines) + f"echo done > {pipe}\n")
    browser.chmod(0o755)
    viewing = Viewing(spartito, experiment, BROWSER=str(browser), XDG_RUNTIME_DIR=str(tmp_path))
    assert pipe.read_text() == "done\n"
    path, file_mode, directory_mode, *text = note.read_text().splitlines()
    token = viewing.url.split("/")[3]
    assert token not in path and (file_mode, directory_mode) == ("600", "700")
    assert f'url={viewing.url}"' in "\n".join(text)
    assert viewing.end() == (0, "", "Ctrl-C ends it\n")
    assert not Path(path).parent.exists()


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, who can become another user")
def test_another_user_of_the_machine_does_not_learn_the_token(spartito, experiment, tmp_path):
    pipe, browser = tmp_path / "pipe", tmp_path / "browser"
    os.mkfifo(pipe)
    browser.write_text(f'#!/bin/sh\necho "$1" > {pipe}\ncat {pipe}\n')  # keeps running, so that its command line can be read
    browser.chmod(0o755)
    with tempfile.TemporaryDirectory() as runtime:
        os.chmod(runtime, 0o755)
        viewing = Viewing(spartito, experiment, BROWSER=str(browser), XDG_RUNTIME_DIR=runtime)
        door, token = pipe.read_text().strip(), viewing.url.split("/")[3]
        look = f"ls -lR {runtime}; cat {door} /proc/[0-9]*/cmdline /proc/[0-9]*/environ"
        seen = subprocess.run(["/bin/sh", "-c", look], user=65534, group=65534, extra_groups=[], capture_output=True, cwd="/")
        assert b"spartito" in seen.stdout and b"view" in seen.stdout  # the command line is readable
        assert token.encode() not in seen.stdout and token in Path(door).read_text()
        pipe.write_text("on\n")
        assert viewing.end()[0] == 0


def test_a_browser_that_is_not_there(spartito, experiment, tmp_path):
    broken = tmp_path / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    viewing = Viewing(spartito, experiment, BROWSER=str(broken))
    status, _, err = viewing.end()
    assert status == 0 and f"{broken} cannot be started: No such file or directory" in err and "open the address above" in err


def test_a_browser_that_cannot_be_understood(spartito, experiment):
    status, _, err = Viewing(spartito, experiment, BROWSER="firefox 'new").end()
    assert status == 0 and err.startswith("spartito: no browser could be started here; open the address above")


@pytest.mark.parametrize("name", ["", "https://hub.example.org", "hub.example.org/user", "hub:port", "a b"])
def test_a_name_that_no_proxy_has(spartito, experiment, name):
    command = [*spartito, "view", experiment, "--no-browser", "--host", name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.startswith("spartito view: --host: ")
    assert f"{name!r} is no name of a machine" in done.stderr and done.stderr.count("\n") == 1


def test_over_ssh_the_line_is_ready(spartito, experiment):
    viewing = Viewing(
        spartito, experiment, SSH_CONNECTION="10.0.0.1 50000 10.0.0.2 22", DISPLAY=":0", USER="ada", SLURM_SUBMIT_HOST=""
    )
    port = viewing.url.split(":")[2].split("/")[0]
    line = f"ssh -C -N -L {port}:127.0.0.1:{port} ada@{socket.gethostname()}"
    assert viewing.end()[:2] == (0, f"from your own machine first: {line}\n")


def test_ssh_lines():
    here = socket.gethostname()
    assert opening.ssh_line({}, 80) == ""
    assert opening.ssh_line({"SSH_CONNECTION": "a 1 b 2222", "USER": "u"}, 80) == f"ssh -C -N -L 80:127.0.0.1:80 -p 2222 u@{here}"
    assert opening.ssh_line({"SLURM_SUBMIT_HOST": "login1"}, 80) == f"ssh -C -N -L 80:127.0.0.1:80 -J login1 {here}"
    assert opening.ssh_line({"SLURM_SUBMIT_HOST": here}, 80) == ""


def test_browsers():
    assert opening.find_browser({"BROWSER": "no-such-browser", "DISPLAY": ":0"}) == []
    assert opening.find_browser({"DISPLAY": ":0", "SSH_CONNECTION": "a 1 b 22"}) == []
    assert opening.find_browser({}) == []
    assert opening.find_browser({"BROWSER": "cat --show %s:x"}) == ["cat", "--show", "%s"]


def test_refusals_are_one_sentence(spartito, experiment, tmp_path):
    def call(*words):
        command = [*spartito, "view", "--no-browser", *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, timeout=100, cwd=tmp_path)

    one_line(call(), "there is no experiment in the current directory")
    one_line(call(tmp_path / "none"), "none: there is no such experiment")
    one_line(call(__file__), "is not the directory of an experiment")
    (tmp_path / "empty").mkdir()
    one_line(call(tmp_path / "empty"), "not an experiment")
    one_line(call("--port", "70000", experiment), "--port 70000: ports end at 65535")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        port = s.getsockname()[1]
        one_line(call("--port", port, experiment), f"port {port} is taken")
    for name, at, what in (("damaged", 0, "not a raw file"), ("newer", 12, "version")):
        shutil.copytree(experiment, tmp_path / name)
        (raw,) = (tmp_path / name / "raw").glob("*.raw")
        data = bytearray(raw.read_bytes())
        data[at : at + 2] = b"\xee\xee"
        raw.write_bytes(data)
        one_line(call(tmp_path / name), raw.name, what)


def test_an_experiment_that_is_still_being_written(spartito, tmp_path):
    os.mkfifo(tmp_path / "gate")
    os.mkfifo(tmp_path / "begun")
    (tmp_path / "prog.py").write_text("def wait(): return open('gate').read()\nopen('begun', 'w').close()\nwait()\n")
    run = subprocess.Popen([*spartito, "run", "-q", "-o", "x", "--", sys.executable, "prog.py"], cwd=tmp_path)
    (tmp_path / "begun").read_text()
    viewing = Viewing(spartito, "--no-browser", tmp_path / "x")
    assert payload.unpack(viewing.get("data/facts"))[0]["lost"]
    status, _, err = viewing.end()
    assert status == 0 and "still runs" in err
    (tmp_path / "gate").write_text("on")
    assert run.wait(100) == 0


def test_the_entry_for_jupyter(spartito, experiment, tmp_path, monkeypatch):
    """The entry point used as by jupyter-server-proxy: one process, the token in its environment, and each path mapped to one below
    the token."""
    monkeypatch.chdir(experiment.parent)
    entry = jupyter.setup()
    command = [word.format(port=0) for word in entry["command"]()]
    assert command[-1] == str(experiment) and not any(jupyter.TOKEN in word for word in command)
    process = subprocess.Popen(
        command, env={**os.environ, **entry["environment"]}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    url = process.stdout.readline().strip()
    port = int(url.split(":")[2].split("/")[0])
    assert url == f"http://127.0.0.1:{port}{entry['mappath']('/')}"
    host = entry["request_headers_override"]["Host"].format(port=port)
    request = urllib.request.Request(f"http://127.0.0.1:{port}{entry['mappath']('/data/facts')}", headers={"Host": host})
    with open_url(request, timeout=100) as answer:
        assert payload.unpack(answer.read())[0]["title"]
    process.terminate()
    assert process.wait(100) == 0
    monkeypatch.chdir(tmp_path)
    assert jupyter.command()[-1] == "{port}"
    monkeypatch.setenv(jupyter.EXPERIMENT, "/a{b}")
    assert jupyter.command()[-1] == "/a{{b}}"


def test_several_servers_side_by_side(spartito, experiment):
    all_of_them = [Viewing(spartito, "--no-browser", experiment) for _ in range(2)]
    assert len({v.url.split(":")[2].split("/")[0] for v in all_of_them}) == 2
    threads = [threading.Thread(target=v.get, args=("data/tree",)) for v in all_of_them]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert [v.end()[0] for v in all_of_them] == [0, 0]
