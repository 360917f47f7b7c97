# SPDX-License-Identifier: BSD-3-Clause
"""Hooks of MkDocs (mkdocs.yml) for the documentation site.

Pages of the project that stand outside of docs/ (the raw format, the components' READMEs, CONTRIBUTING.md …) become pages of the
site where a page links to them, and their links lead there. A picture in docs/ that no page shows is a warning, and so is a list
without an empty line before it, which the code host shows as a list and MkDocs does not: `mkdocs build --strict` fails on both."""

import logging
import os
import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
FENCED = re.compile(r"^```.*?^```$", re.M | re.S)
PICTURES = (".png", ".svg")
OUTSIDE = "project"  # the folder of the site for pages outside of docs/
log = logging.getLogger("mkdocs.hooks.site")


def _links(text):
    """Paths of the relative links of a page."""
    return [path for _, path, _, _ in LINK.findall(FENCED.sub("", text)) if "://" not in path and not path.startswith("mailto:")]


def _source(file):
    """Path of a page of docs/ from the root of the project."""
    return f"docs/{file.src_uri}"


def _in_site(path):
    """Where a file of the project is in the site."""
    return path[len("docs/") :] if path.startswith("docs/") else posixpath.join(OUTSIDE, path)


def _target(source, link):
    """Path from the root of what a page links to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), link))


def on_files(files, config):
    """Adds the files outside of docs/ that pages lead to, and those that these lead to."""
    todo = [(_source(file), file.content_string) for file in files.documentation_pages()]
    todo.append(("README.md", (ROOT / "README.md").read_text(encoding="utf-8")))  # the code host's first page
    there, shown = {"README.md"}, set()
    while todo:
        source, text = todo.pop()
        for link in _links(text):
            path = _target(source, link)
            shown.add(path)
            if path.startswith(("docs/", "..")) or path in there or not (ROOT / path).is_file():
                continue
            there.add(path)
            files.append(File.generated(config, _in_site(path), abs_src_path=str(ROOT / path)))
            if path.endswith(".md"):
                todo.append((path, (ROOT / path).read_text(encoding="utf-8")))
    for file in files:
        if file.src_uri.endswith(PICTURES) and file.src_dir == config.docs_dir and _source(file) not in shown:
            log.warning("%s: no page shows this picture", _source(file))
    return files


def on_page_markdown(markdown, page, config, files):
    """Lets the links of a page lead to where their files are in the site."""
    uri = page.file.src_uri
    source = uri[len(OUTSIDE) + 1 :] if page.file.generated_by else _source(page.file)

    def moved(found):
        begin, link, anchor, end = found.groups()
        if "://" in link or link.startswith("mailto:"):
            return found[0]
        path = _target(source, link)
        if files.get_file_from_path(_in_site(path)) is None:
            log.warning("%s: %s is no page or file", source, link)
        return f"{begin}{posixpath.relpath(_in_site(path), os.path.dirname(uri) or '.')}{anchor or ''}{end}"

    previous = ""
    for line in FENCED.sub("", markdown).splitlines():
        begins = re.match(r"([-*]|\d+\.) ", line)
        if begins and previous.strip() and not re.match(r"([-*]|\d+\.) |  ", previous):
            log.warning("%s: no empty line before the list %r", source, line[:40])
        previous = line
    return LINK.sub(moved, markdown)
