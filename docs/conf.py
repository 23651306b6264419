# SPDX-License-Identifier: Apache-2.0
"""Sphinx's settings of the site (`make docs`). The register page is made from the register map."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from peakrdl_markdown import MarkdownExporter
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


write_registers()
