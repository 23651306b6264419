# SPDX-License-Identifier: Apache-2.0
"""Synthesis for ECP5 that knows how late a block RAM's output is.

Yosys' `synth_ecp5` maps logic as if block RAMs were as fast as registers: parities behind them get
up to twice the levels that they need. Here each output of a block RAM has a cell with its delay
while logic is mapped, which is a wire afterwards. A wire before a LUT counts as much as it does in
routes of this design, so that the mapping weighs levels against the delay of a RAM.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tb.runner.common import relative

#: Picoseconds from the clock to the output of a block RAM without output register (speed 8), and
#: of a wire before a LUT.
BRAM, WIRE = 4300, 1000
_DELAY = "CARILLON_BRAM_DELAY"
_BOX = f"""(* abc9_box, blackbox *) module {_DELAY}(input I, output O);
    specify (I => O) = {BRAM}; endspecify
endmodule
"""
_WIRE = f"module {_DELAY}(input I, output O); assign O = I; endmodule\n"
_CELLS = "+/lattice/cells_sim_ecp5.v +/lattice/cells_bb_ecp5.v"


def add_delays(module: dict[str, Any]) -> int:
    """Puts a delay behind each output of a block RAM, in Yosys' JSON; how many there are."""
    nets, cells = module["netnames"], module["cells"]
    free = 1 + max(bit for net in nets.values() for bit in net["bits"] if isinstance(bit, int))
    found = 0
    for cell in [cell for cell in cells.values() if cell["type"] == "DP16KD"]:
        for port, bits in cell["connections"].items():
            if not re.fullmatch(r"DO[AB]\d+", port) or not isinstance(bits[0], int):
                continue
            ends = {"I": [free], "O": [bits[0]]}
            bits[0] = free
            nets[f"bram_q{found}"] = {"hide_name": 1, "bits": [free], "attributes": {}}
            cells[f"bram_delay{found}"] = {
                "hide_name": 1,
                "type": _DELAY,
                "parameters": {},
                "attributes": {},
                "port_directions": {"I": "input", "O": "output"},
                "connections": ends,
            }
            free += 1
            found += 1
    # Names that Yosys made up: it would make up the same ones again.
    for kind in ("netnames", "cells"):
        module[kind] = {
            f"$read${kind}{number}" if name.startswith("$") else name: own
            for number, (name, own) in enumerate(module[kind].items())
        }
    return found


def synthesise(yosys: Callable[[Path, str], None], folder: Path, read: str, net: Path) -> None:
    """``yosys(folder, commands)``; ``read``: commands that read the design; the top level is
    `synth_top`. Writes ``net``."""
    raw, box, wire = folder / "raw.json", folder / "delay.v", folder / "wire.v"
    first = "synth_ecp5 -top synth_top -run begin:map_luts; select synth_top"
    yosys(folder, f"{read}; {first}; write_json -selected {raw}")
    data = json.loads(raw.read_text())
    add_delays(data["modules"]["synth_top"])
    raw.write_text(json.dumps(data))
    box.write_text(_BOX)
    wire.write_text(_WIRE)
    yosys(
        folder,
        f"read_verilog -lib -specify {_CELLS}; read_verilog -specify {relative(box)}; "
        f"read_json {relative(raw)}; techmap -map +/lattice/latches_map.v; abc9 -W {WIRE}; clean; "
        f"techmap -map {relative(wire)}; clean; synth_ecp5 -top synth_top -run map_cells:; "
        f"write_json {net}",
    )
    raw.unlink()
