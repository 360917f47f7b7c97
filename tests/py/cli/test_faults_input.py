# SPDX-License-Identifier: BSD-3-Clause
"""Invalid input is reported in one clear line that names it, and the exit status is not 0."""

import os
import subprocess
import sys

import pytest

ROOT_USER = os.getuid() == 0
GOOD = "def f(): return 1\nf()\nprint('ran')\n"


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "good.py"
    path.write_text(GOOD)
    return str(path)


@pytest.fixture
def call(spartito, tmp_path):
    def call(*arguments, **keywords):
        keywords.setdefault("cwd", tmp_path)
        environment = {**os.environ, **keywords.pop("env", {})}
        return subprocess.run([*spartito, *arguments], capture_output=True, text=True, env=environment, timeout=200, **keywords)

    return call


def one_line(p, *words):
    assert p.returncode != 0
    lines = p.stderr.strip().splitlines()
    assert len(lines) == 1, p.stderr
    for word in words:
        assert word in lines[0], f"{word!r} not in {lines[0]!r}"
    assert "Traceback" not in p.stderr
    assert not p.stdout


def test_no_command(call):
    one_line(call("run"), "command")
    one_line(call("run", "--trace", "--"), "command")


def test_unknown_option_and_verb(call, script):
    one_line(call("run", "--tracee", "--", sys.executable, script), "--tracee")
    one_line(call("reprot", "x"), "reprot")
    one_line(call("report", "--sort", "color", "x"), "color")


def test_command_not_found(call, tmp_path):
    p = call("run", "-o", "x", "--", "no-such-command-here")
    one_line(p, "no-such-command-here")
    assert p.returncode == 127
    assert not (tmp_path / "x").exists()


def same_as_plain(call, tmp_path, *command):
    plain = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    p = call("run", "-q", "-o", "x", "--", *command)
    assert p.returncode == plain.returncode != 0
    assert p.stderr.startswith(plain.stderr)
    assert p.stdout == plain.stdout
    return p


def test_script_missing(call, tmp_path):
    same_as_plain(call, tmp_path, sys.executable, str(tmp_path / "missing.py"))


def test_syntax_error(call, tmp_path):
    (tmp_path / "bad.py").write_text("def f(:\n")
    same_as_plain(call, tmp_path, sys.executable, str(tmp_path / "bad.py"))


def test_output_exists(call, script, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "precious").write_text("keep me")
    one_line(call("run", "-o", "full", "--", sys.executable, script), "full", "not empty")
    assert (tmp_path / "full" / "precious").read_text() == "keep me"
    one_line(call("run", "-o", script, "--", sys.executable, script), "good.py", "not a directory")


def test_output_empty_directory_is_used(call, script, tmp_path):
    (tmp_path / "new").mkdir()
    assert call("run", "-q", "-o", "new", "--", sys.executable, script).returncode == 0
    assert call("report", "new").returncode == 0


def test_output_unwritable(call, script, tmp_path):
    if ROOT_USER:
        target = "/proc/spartito-test"
    else:
        (tmp_path / "closed").mkdir(mode=0o500)
        target = str(tmp_path / "closed" / "x")
    p = call("run", "-o", target, "--", sys.executable, script)
    one_line(p, target)
    assert "ran" not in p.stdout


@pytest.mark.parametrize("name, value", [("SPARTITO_TRACE_MEMORY", "lots"), ("SPARTITO_TRACE_MEMORY", "-1"),
                                         ("SPARTITO_TRACE", "maybe"),
                                         ("SPARTITO_DEPTH", "deep"), ("SPARTITO_HOOK", "psychic"), ("SPARTITO_TO", "papyrus"),
                                         ("SPARTITO_WHEN_FULL", "explode"), ("SPARTITO_FILTER", "-re:(")])
def test_unreadable_variable(call, script, tmp_path, name, value):
    one_line(call("run", "-o", "x", "--", sys.executable, script, env={name: value}), name, value[-1])
    assert not (tmp_path / "x").exists()


def test_unreadable_option(call, script):
    for option, value in (("--trace-memory", "12parsecs"), ("--depth", "-1"), ("--hook", "psychic"), ("--to", "papyrus")):
        one_line(call("run", option, value, "--", sys.executable, script), option, value)


def test_unreadable_project_file(call, script, tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.spartito]\ntrace_memory = \"lots\"\n")
    one_line(call("run", "--", sys.executable, script), "pyproject.toml", "lots")
    (tmp_path / "pyproject.toml").write_text("[tool.spartito\n")
    one_line(call("run", "--", sys.executable, script), "pyproject.toml")


def test_settings_in_start_are_checked(tmp_path):
    code = "import spartito\nspartito.start('x', trace_memory='lots')"
    p = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert p.returncode == 1
    assert "ValueError" in p.stderr.splitlines()[-1] and "lots" in p.stderr
    assert not (tmp_path / "x").exists()


@pytest.fixture
def experiment(call, script, tmp_path):
    p = call("run", "-q", "--trace", "-o", "experiment", "--", sys.executable, script)
    assert p.returncode == 0, p.stderr
    return tmp_path / "experiment"


def raw_file(experiment):
    (raw,) = (experiment / "raw").glob("*.raw")
    return raw


def test_no_experiment(call, tmp_path):
    one_line(call("report", "missing"), "missing")
    (tmp_path / "empty").mkdir()
    one_line(call("report", "empty"), "empty")
    one_line(call("convert", "missing", "--to", "json"), "missing")
    (tmp_path / "file").write_text("x")
    one_line(call("info", "file"), "file")


def test_experiment_of_a_newer_version(call, experiment):
    raw = raw_file(experiment)
    data = bytearray(raw.read_bytes())
    data[12:16] = (99).to_bytes(4, sys.byteorder)
    raw.write_bytes(data)
    one_line(call("report", "experiment"), raw.name, "99")


def test_other_byte_order(call, experiment):
    raw = raw_file(experiment)
    data = bytearray(raw.read_bytes())
    data[8:12] = data[8:12][::-1]
    raw.write_bytes(data)
    one_line(call("report", "experiment"), raw.name)


@pytest.mark.parametrize("size", [0, 1, 319, 4095, 4096])
def test_cut_to_nothing(call, experiment, size):
    raw = raw_file(experiment)
    raw.write_bytes(raw.read_bytes()[:size])
    p = call("report", "experiment")
    assert "Traceback" not in p.stderr
    assert raw.name in p.stderr
    if size < 4096:
        one_line(p, raw.name)


def test_damaged_chunk_is_named_and_survived(call, experiment):
    raw = raw_file(experiment)
    data = bytearray(raw.read_bytes())
    chunks = [at for at in range(4096, len(data), 4096) if data[at:at + 4] == b"CHNK"]
    data[chunks[-1]:chunks[-1] + 4] = b"junk"
    raw.write_bytes(data)
    p = call("report", "experiment")
    assert f"{raw.name} at 0x{chunks[-1]:x}" in p.stderr
    assert "Traceback" not in p.stderr


def test_conversion_that_cannot_be_written(call, experiment, tmp_path):
    for target in ("/proc/spartito-test.json", str(tmp_path / "no" / "such" / "directory" / "x.json")):
        one_line(call("convert", "experiment", "--to", "json", "-o", target), target)
    one_line(call("convert", "experiment", "--to", "papyrus"), "papyrus")
    one_line(call("convert", "experiment"), "--to")


def test_trace_format_without_a_trace(call, script):
    assert call("run", "-q", "-o", "flat", "--", sys.executable, script).returncode == 0
    one_line(call("convert", "flat", "--to", "otf2"), "trace")


def test_existing_archive_is_not_replaced(call, experiment, tmp_path):
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive" / "precious").write_text("keep me")
    one_line(call("convert", "experiment", "--to", "otf2", "-o", "archive"), "archive")
    assert (tmp_path / "archive" / "precious").exists()


def test_directory_removed_while_running(call, tmp_path):
    (tmp_path / "remove.py").write_text("import shutil\nshutil.rmtree('x')\nprint('ran')\n")
    p = call("run", "-q", "-o", "x", "--", sys.executable, "remove.py")
    assert p.returncode == 0
    assert p.stdout == "ran\n"
    assert "removed while the program ran" in p.stderr


def test_closed_output_of_a_report(spartito, experiment):
    reader = subprocess.Popen([*spartito, "report", str(experiment)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    reader.stdout.close()
    assert "Traceback" not in reader.stderr.read()
    reader.wait()


def test_python_that_has_no_spartito(call, tmp_path):
    other = str(tmp_path / "other" / "bin" / "python")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "other"], check=True)
    p = call("run", "-o", "x", "--", other, "-c", "print('ran')")
    assert p.returncode == 0 and p.stdout == "ran\n"
    assert "no Python code was measured" in p.stderr
