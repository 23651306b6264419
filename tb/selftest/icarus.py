# SPDX-License-Identifier: Apache-2.0
"""Benches in Verilog that check themselves: building them with modules of the design, running them,
and copies of the design with a fault.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from tb.runner.common import HDL, INCLUDES

MEMORY = (
    *("cde_ram", "cde_ram_2w", "cde_mem_node", "cde_ecc_enc", "cde_ecc_dec"),
    *("cde_ecc_lane_enc", "cde_ecc_lane_dec"),
)
"""Modules that a memory consists of."""


def build(
    bench: Path,
    folder: Path,
    modules: Iterable[str],
    defines: Iterable[str] = (),
    values: Mapping[str, int] | None = None,
    hdl: Path = HDL,
) -> list[str]:
    """Builds a bench with modules of ``hdl``; the command that runs it."""
    iverilog = shutil.which("iverilog")
    assert iverilog, "iverilog is missing: run `make setup`"
    out = folder / "bench"
    subprocess.run(
        [
            *(iverilog, "-g2005", "-Wno-all", "-I", str(bench.parent)),
            *(f"-I{hdl.parent / folder}" for folder in INCLUDES),
            *("-s", bench.stem, "-o", str(out)),
            *(f"-D{define}" for define in defines),
            *(f"-P{bench.stem}.{name}={value}" for name, value in (values or {}).items()),
            *(str(bench), *(str(next(hdl.rglob(f"{name}.v"))) for name in modules)),
        ],
        check=True,
    )
    return ["vvp", "-n", str(out)]


def run(command: list[str]) -> str:
    """What the bench prints, to its end."""
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return done.stdout


def with_fault(folder: Path, name: str, text: str, replacement: str) -> Path:
    """A copy of the design's files with a fault in one of them."""
    copy = folder / "hdl"
    shutil.copytree(HDL, copy)
    path = next(copy.rglob(name if name.endswith(".vh") else f"{name}.v"))
    source = path.read_text()
    assert source.count(text) == 1
    path.write_text(source.replace(text, replacement))
    return copy
