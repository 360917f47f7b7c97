# SPDX-License-Identifier: BSD-3-Clause
"""Converts an SVG chart to PNG with an installed program: rsvg-convert, Inkscape or a browser."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

from spartito.base.messages import Refused, reason

if TYPE_CHECKING:
    from collections.abc import Callable

    Renderer = Callable[[str, str], list[str]]  # (path of .svg, path of .png) -> command line that converts it

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
SCALE = 2  # pixels of the file for each pixel of the chart, so that printed text is sharp
TIMEOUT = 300  # seconds


def _browser(program: str) -> Renderer:
    def command(svg: str, png: str) -> list[str]:
        with open(svg, encoding="utf-8") as f:
            head = f.read(4096)
        sizes = [re.search(rf'<svg[^>]* {side}="(\d+)', head) for side in ("width", "height")]
        width, height = (one.group(1) if one else "1200" for one in sizes)
        # Chromium does not start as root with its sandbox. It loads only the chart, so that it is safe without the sandbox.
        root = ["--no-sandbox"] if os.geteuid() == 0 else []
        profile = os.path.join(os.path.dirname(png), "profile")
        return [program, "--headless", *root, "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={profile}",
                f"--force-device-scale-factor={SCALE}", f"--window-size={width},{height}", f"--screenshot={png}",
                "file://" + svg]  # fmt: skip

    return command


def renderer(path: str) -> Renderer:
    """The first converter that is installed. path: the output file, for the message. Refused: no converter is installed."""
    found = shutil.which("rsvg-convert")
    if found:
        rsvg = found
        return lambda svg, png: [rsvg, "--zoom", str(SCALE), "-o", png, svg]
    found = shutil.which("inkscape")
    if found:
        inkscape = found
        return lambda svg, png: [inkscape, svg, f"--export-dpi={96 * SCALE}", f"--export-filename={png}"]
    for name in BROWSERS:
        found = shutil.which(name)
        if found:
            return _browser(found)
    raise Refused(
        f"{path} needs a program that draws SVG, and none is installed: install rsvg-convert (apt install librsvg2-bin, "
        "conda install librsvg), Inkscape or Chromium, or write .svg"
    )


def as_png(draw: Callable[[str], dict[str, int]], path: str, render: Renderer) -> dict[str, int]:
    """Calls draw() with the path of an SVG file, converts that to `path`, and returns the result of draw(). Refused: the program
    failed, or the file cannot be written."""
    from tempfile import mkdtemp

    scratch = mkdtemp(prefix="spartito-plot-")
    try:
        svg, png = os.path.join(scratch, "chart.svg"), os.path.join(scratch, "chart.png")
        done = draw(svg)
        _run(render(svg, png), png)
        shutil.copyfile(png, path)
    except OSError as e:
        raise Refused(f"{path} cannot be written: {reason(e)}") from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return done


def _run(command: list[str], png: str) -> None:
    try:
        made = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        raise Refused(f"{command[0]} did not draw the chart within {TIMEOUT} s") from None
    except OSError as e:
        raise Refused(f"{command[0]}: {reason(e)}") from None
    if made.returncode or not os.path.exists(png):
        message = made.stderr.decode(errors="replace").strip().split("\n")[-1]
        raise Refused(f"{command[0]} could not draw the chart: {message or f'exit status {made.returncode}'}")
