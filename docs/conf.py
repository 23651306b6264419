# SPDX-License-Identifier: Apache-2.0
"""Sphinx's settings of the site (`make docs`). The register page is made from the register map."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from docutils import nodes
from peakrdl_markdown import MarkdownExporter
from sphinx.application import Sphinx
from systemrdl import RDLCompiler

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ["PYTHONPATH"] = str(ROOT)  # of the notebook
from scripts.rdlmap import read_map  # noqa: E402  the checkout is not installed

project = "Carillon"
copyright = "Carillon's authors, Apache-2.0"
html_theme = "furo"
html_title = "Carillon"
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
extensions = ["myst_nb", "sphinxcontrib.wavedrom"]
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nitpicky = True
# Names of anchors are those of GitHub, so that a link works in both places.
myst_heading_anchors = 4
# Drawn while the site is built: a page needs no network.
wavedrom_html_jsinline = False
render_using_wavedrompy = True

REGISTERS = Path(__file__).parent / "registers.md"


def codes() -> str:
    """A table for each code of the register map."""
    parts = ["## Codes\n"]
    for code in read_map(ROOT / "hdl/carillon.rdl").codes:
        parts += [f"\n### {code.spec.doc.rstrip('.')}\n", "| code | name | |", "|---|---|---|"]
        parts += [f"| {m.value:#x} | `{m.rdl_name}` | {m.desc} |" for m in code.members]
    return "\n".join(parts) + "\n"


def write_registers() -> None:
    """Registers, layouts and codes as one page."""
    compiler = RDLCompiler()
    compiler.compile_file(str(ROOT / "hdl/carillon.rdl"))
    MarkdownExporter().export(compiler.elaborate("carillon"), str(REGISTERS), depth=2)
    text = REGISTERS.read_text().partition("-->")[2]
    REGISTERS.write_text(f"# Registers, layouts and codes\n\n{codes()}\n{text}")


def join_rows(_: Sphinx, page: nodes.document) -> None:
    """A row whose first cell is empty goes on with the row above it: sources have short lines."""
    for body in page.findall(nodes.tbody):
        above: list[nodes.entry] = []
        for row in list(body):
            if not above or row[0].astext():
                above = list(row)
                continue
            for into, entry in zip(above, row, strict=True):
                if entry.astext() and into.astext():
                    into[0] += [nodes.Text(" "), *entry[0].children]
                elif entry.astext():
                    into.children = entry.children
            body.remove(row)


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", join_rows)


write_registers()
