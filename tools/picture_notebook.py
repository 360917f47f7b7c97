# SPDX-License-Identifier: BSD-3-Clause
"""Photographs a measured cell in JupyterLab: docs/notebook.png. Needs the groups `test notebook lab` of tools/venv.sh."""

import base64
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "py"), str(ROOT / "tests" / "py" / "helpers")]
import labpage  # noqa: E402

FIRST = """%load_ext spartito
import json, statistics"""
CELL = """%%spartito
def parse(text):
    return json.loads(text)["degrees"]

def smooth(values, width=24):
    return [statistics.fmean(values[i : i + width]) for i in range(len(values) - width)]

readings = [json.dumps({"hour": hour, "degrees": hour % 24}) for hour in range(6000)]
warmest = max(smooth([parse(text) for text in readings]))"""
HIDE = """for (const command of ["application:toggle-left-area", "statusbar:toggle", "application:toggle-side-tabbar"])
    if (jupyterapp.commands.hasCommand(command)) jupyterapp.commands.execute(command, { side: "right" });"""


def main():
    with tempfile.TemporaryDirectory() as work, tempfile.TemporaryDirectory() as scratch:
        lab = labpage.Lab(Path(work))
        try:
            labpage.write(lab.root / "weather.ipynb", FIRST, CELL)
            page = labpage.Page(lab, "lab", "weather.ipynb", Path(scratch))
            try:
                page.browser.call("Emulation.setDeviceMetricsOverride", width=1100, height=700, deviceScaleFactor=1, mobile=False)
                page.browser.evaluate(HIDE)
                page.run()
                labpage.frames(page.browser, 1)[0].view()
                data = page.browser.call("Page.captureScreenshot")["data"]
                (ROOT / "docs" / "notebook.png").write_bytes(base64.b64decode(data))
            finally:
                page.close()
        finally:
            lab.close()


if __name__ == "__main__":
    main()
