# SPDX-License-Identifier: BSD-3-Clause
"""action.yml, the GitHub Action that compares two commits: its inputs and outputs, and its step in a real repository."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

yaml = pytest.importorskip("yaml")
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
PROGRAM = "import time\ndef step(): time.sleep({})\nstep()\nprint('done')\n"


def test_the_definition_is_consistent():
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    assert set(ACTION) == {"name", "description", "inputs", "outputs", "runs"} and ACTION["runs"]["using"] == "composite"
    for name, given in ACTION["inputs"].items():
        assert set(given) <= {"description", "required", "default"}, name
        assert given.get("required") or isinstance(given["default"], str), name
    assert set(re.findall(r"\binputs\.([\w-]+)", text)) == set(ACTION["inputs"])
    for step in STEPS.values():
        assert step["shell"] == "bash" and set(step) <= {"name", "id", "if", "shell", "working-directory", "env", "run"}
        # an input within the script would be run as code
        assert "${{" not in step["run"]
    written = set(re.findall(r'echo "(\w+)=', STEPS["Compare"]["run"]))
    assert {output["value"] for output in ACTION["outputs"].values()} == {f"${{{{ steps.compare.outputs.{n} }}}}" for n in written}
    scripts = re.findall(r"\$GITHUB_ACTION_PATH/([\w./-]+)", STEPS["Compare"]["run"])
    assert scripts and all(os.access(ROOT / script, os.X_OK) for script in scripts)


class Runner:
    """Runs the step "Compare" as GitHub's runner does, in a repository with two commits."""

    def __init__(self, path):
        self.path, self.shop = path, path / "shop"
        self.shop.mkdir()
        self.git("init", "-q")
        for seconds in ("0.001", "0.3"):
            (self.shop / "program.py").write_text(PROGRAM.format(seconds))
            self.git("add", "program.py")
            self.git("commit", "-q", "-m", seconds)

    def git(self, *words):
        settings = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        return subprocess.run(["git", *settings, *words], cwd=self.shop, check=True, capture_output=True, text=True).stdout

    def __call__(self, **inputs):
        """The ended process. inputs: the others have their defaults."""
        given = {name: value.get("default", "") for name, value in ACTION["inputs"].items()}
        given.update({name.replace("_", "-"): value for name, value in inputs.items()})
        of_step = {
            name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: given[found[1]], value)
            for name, value in STEPS["Compare"]["env"].items()
        }
        files = {"GITHUB_STEP_SUMMARY": self.path / "summary", "GITHUB_OUTPUT": self.path / "output"}
        for path in files.values():
            path.write_text("")
        of_runner = {**files, "GITHUB_ACTION_PATH": ROOT, "RUNNER_TEMP": self.path}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        env = {**os.environ, **of_step, **{name: str(value) for name, value in of_runner.items()}, "PATH": path}
        command = ["bash", "-e", "-o", "pipefail", "-c", STEPS["Compare"]["run"]]
        done = subprocess.run(command, cwd=self.shop, env=env, capture_output=True, text=True, timeout=200)
        self.summary = (self.path / "summary").read_text()
        self.output = dict(line.split("=", 1) for line in (self.path / "output").read_text().splitlines())
        return done


def test_two_commits_and_an_earlier_comparison(tmp_path):
    runner = Runner(tmp_path)
    command = f"'{sys.executable}' program.py && true"
    done = runner(command=command, runs="5", fail_above="100%", comment_file="comment.md")
    assert done.returncode == 3, done.stderr
    comment = runner.shop / "comment.md"
    assert runner.output == {"status": "3", "comparison": str(comment)}
    assert runner.summary == comment.read_text() and "`__main__:step`" in runner.summary and "| slower |" in runner.summary
    assert "__main__:step itself took" in done.stderr
    names = sorted(path.name for path in (runner.shop / "measured").iterdir())
    assert names == sorted(f"{kind}{side}{run}" for kind in ("", "output-") for side in "ab" for run in "12345")
    assert runner.git("worktree", "list").count("\n") == 1

    done = runner(command=command, runs="3", base="measured", directory="again", fail_above="")
    assert done.returncode == 0, done.stderr
    assert runner.output == {"status": "0", "comparison": str(tmp_path / "spartito-comparison.md")}
    assert "__main__" in runner.summary and not list((runner.shop / "again").glob("*a1"))
    assert "differs" not in runner.summary


def test_a_base_that_is_missing(tmp_path):
    done = Runner(tmp_path)(command="true", base="HEAD~7")
    assert done.returncode == 1 and done.stdout.startswith("::error::base: HEAD~7 is no commit of this clone")
    assert not (tmp_path / "shop" / "measured").exists()
