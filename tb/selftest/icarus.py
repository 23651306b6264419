# SPDX-License-Identifier: Apache-2.0
"""Benches in Verilog that check themselves, built and run by Icarus."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from tb.runner.common import INCLUDES, ROOT


def build(
    folder: Path,
    top: str,
    sources: Iterable[Path],
    defines: Iterable[str] = (),
    values: Mapping[str, int] | None = None,
) -> list[str]:
    """Compiles files into ``folder``, whose headers come before those of the design; ``values`` are
    parameters of ``top``. Returns the command that runs it.
    """
    iverilog = shutil.which("iverilog")
    assert iverilog, "iverilog is missing: run `make setup`"
    out = folder / "bench"
    command = [
        *(iverilog, "-g2005", "-s", top, "-o", str(out), f"-I{folder}"),
        *(f"-I{ROOT / name}" for name in (*INCLUDES, "tb/tests/lib")),
        *(f"-D{define}" for define in defines),
        *(f"-P{top}.{name}={value}" for name, value in (values or {}).items()),
    ]
    subprocess.run([*command, *map(str, sources)], check=True)
    return ["vvp", "-n", str(out)]


def run(command: list[str]) -> str:
    """What the bench prints, to its end."""
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return done.stdout


def run_text(folder: Path, text: str, module: str, **values: object) -> str:
    """What a module ``bench`` prints: its ``text`` with values for the names in braces, and a
    module of tb/hdl.
    """
    for name, value in values.items():
        text = text.replace("{" + name + "}", str(value))
    path = folder / "bench.v"
    path.write_text(text)
    return run(build(folder, "bench", [path, ROOT / "tb" / "hdl" / f"{module}.v"]))
