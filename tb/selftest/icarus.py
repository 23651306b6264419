# SPDX-License-Identifier: Apache-2.0
"""Benches in Verilog that check themselves, built and run by Icarus."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from tb.runner.common import INCLUDES, ROOT, RunnerError


def build(
    folder: Path,
    top: str,
    sources: Iterable[Path],
    defines: Iterable[str] = (),
    values: Mapping[str, int] | None = None,
) -> list[str]:
    """Compiles files into ``folder``, whose headers come before those of the design; ``values`` are
    parameters of ``top``. Returns the command that runs it; raises what the compiler says.
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
    done = subprocess.run([*command, *map(str, sources)], capture_output=True, text=True)
    if done.returncode:
        raise RunnerError(done.stdout + done.stderr)
    return ["vvp", "-n", str(out)]


def run(command: list[str]) -> str:
    """What the bench prints, to its end."""
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return done.stdout


#: Puts values on the inputs of a module, and prints its outputs at each edge of the clock.
_BENCH = """
`timescale 1ns / 1ps
module bench;
    reg clk = 0;
    {INPUTS}
    {OUTPUTS}
    {MODULE} dut ({PORTS});
    always #1 clk = !clk;
    initial begin
        {STEPS}
        $finish;
    end
endmodule
"""


def run_cycles(
    folder: Path,
    module: str,
    widths: Mapping[str, int],
    outputs: Mapping[str, int],
    rows: Iterable[Iterable[object]],
) -> list[tuple[int, ...]]:
    """What a module of tb/hdl, given with its parameters, has at its ``outputs`` before each edge,
    with a row of values at its inputs in each cycle. ``widths``: of inputs other than ``clk``.
    """
    source = ROOT / "tb" / "hdl" / f"{module.partition(' ')[0]}.v"
    clock = ["clk"] if re.search(r"\bclk,", source.read_text()) else []
    shown = f'@(posedge clk) $display("{" %0d" * len(outputs)}", {", ".join(outputs)});'
    steps = [
        "".join(f"{name} = {value}; " for name, value in zip(widths, row, strict=True))
        + f"{shown} @(negedge clk);"
        for row in rows
    ]
    values = {
        "INPUTS": "".join(f"reg [{width - 1}:0] {name};\n" for name, width in widths.items()),
        "OUTPUTS": "".join(f"wire [{width - 1}:0] {name};\n" for name, width in outputs.items()),
        "MODULE": module,
        "PORTS": ", ".join(f".{name}({name})" for name in (*clock, *widths, *outputs)),
        "STEPS": "\n".join(steps),
    }
    text = re.sub(r"\{([A-Z]+)\}", lambda found: values[found[1]], _BENCH)
    path = folder / "bench.v"
    path.write_text(text)
    printed = run(build(folder, "bench", [path, source])).splitlines()
    return [tuple(map(int, line.split())) for line in printed]
