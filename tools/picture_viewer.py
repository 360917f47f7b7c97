# SPDX-License-Identifier: BSD-3-Clause
"""Photographs the viewer for README and docs: docs/viewer-icicle.png and docs/viewer-timeline.png, both of examples/weather.py."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "py"), str(ROOT / "tests" / "py" / "helpers")]
import viewing  # noqa: E402

WIDTH = 1280
# the path that is selected, and the one in the middle, by names
SELECT = """window.spartito.store.source.get("regions").then((regions) => {
    const path = (names) => names.map((name) => regions.meta.names.indexOf("__main__:" + name));
    window.spartito.store.select({ centre: path(["<module>", "main"]), path: path(["<module>", "main", "report"]) });
})"""


def measured(work):
    script = shutil.copy(os.path.join(ROOT, "examples", "weather.py"), work)
    command = [sys.executable, "-m", "spartito", "run", "-q", "--trace", "-o", "weather", "--", sys.executable, script]
    subprocess.run(command, cwd=work, check=True, stdout=subprocess.DEVNULL)
    return Path(work) / "weather"


def main():
    work = Path(tempfile.gettempdir()) / "example"  # a picture shows this path
    work.mkdir()
    try:
        photograph(measured(work))
    finally:
        shutil.rmtree(work)


def photograph(experiment):
    with tempfile.TemporaryDirectory() as browser:
        viewer = viewing.Viewer(experiment, Path(browser))
        try:
            viewer.size(WIDTH, 420)
            viewer.open("view=icicle&theme=light")
            viewer.page.evaluate(SELECT)
            viewer.ready()
            (ROOT / "docs" / "viewer-icicle.png").write_bytes(viewer.screenshot())
            viewer.size(WIDTH, 540)
            viewer.open("view=timeline&theme=dark")
            (ROOT / "docs" / "viewer-timeline.png").write_bytes(viewer.screenshot())
        finally:
            viewer.close()


if __name__ == "__main__":
    main()
