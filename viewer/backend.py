# SPDX-License-Identifier: BSD-3-Clause
"""The build backend of Spartito (PEP 517): that of meson-python, and node as one more requirement of a build that has to make the
page of `spartito view` and finds no node. As a fixed requirement in pyproject.toml, node would also be downloaded for an sdist,
which contains the page, and by builds that do not want the page."""

import platform

import mesonpy
import node
from mesonpy import build_editable, build_sdist, build_wheel

__all__ = ["build_editable", "build_sdist", "build_wheel"]


def has_wheel():
    """Whether there is a wheel of node for this machine. From its sdist, pip would compile node for hours."""
    library, version = platform.libc_ver()
    old = library == "glibc" and tuple(map(int, version.split("."))) < (2, 28)
    return platform.machine() in ("x86_64", "aarch64") and not old


def needs_node(settings):
    """The requirement as a list. settings: pip's --config-settings. Whatever else is missing, meson reports."""
    unwanted = "-Dviewer=disabled" in str((settings or {}).get("setup-args", ""))
    if unwanted or (node.HERE / "built").is_dir() or node.find() or not has_wheel():
        return []
    return [node.WHEEL]


def get_requires_for_build_sdist(config_settings=None):
    return [*mesonpy.get_requires_for_build_sdist(config_settings), *needs_node(config_settings)]


def get_requires_for_build_wheel(config_settings=None):
    return [*mesonpy.get_requires_for_build_wheel(config_settings), *needs_node(config_settings)]


def get_requires_for_build_editable(config_settings=None):
    return [*mesonpy.get_requires_for_build_editable(config_settings), *needs_node(config_settings)]
