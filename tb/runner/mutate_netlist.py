# SPDX-License-Identifier: Apache-2.0
"""Mutants of the design: one Yosys netlist that holds many of them behind a select input.

The design keeps its hierarchy, so that a mutant is a change of one source module (in all of its
instances with the same parameters) and has a source line. Yosys' ``mutate`` pass makes the lists
and plants the mutants: see its help for the modes.
"""

from __future__ import annotations

import fnmatch
import itertools
import json
import random
import re
import shlex
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tb.runner.builds import BuildConfig
from tb.runner.common import INCLUDES, ROOT, RunnerError, hdl_files, relative
from tb.runner.lint import declared_parameters

#: The input of the netlist that chooses a mutant, and the variable that holds its number.
SELECT, MUTANT = "mutsel", "CARILLON_MUTANT"
ROOT_MODULE = "mutants_root"
MODES = {
    "inv": "inverted",
    "const0": "stuck at 0",
    "const1": "stuck at 1",
    "cnot0": "inverted while bit {ctrlbit} is 0",
    "cnot1": "inverted while bit {ctrlbit} is 1",
}
#: Clocks are not mutated: there is one clock, and a design without it does nothing.
_CLOCK_PORTS = frozenset({"CLK", "RD_CLK", "WR_CLK", "clk"})
#: Nor are pins that only a read port with a clock has: all read ports of this netlist are without
#: (registers behind them are cells of their own), and Yosys demands constants there.
_READ_PORTS = frozenset({"RD_EN", "RD_ARST", "RD_SRST"})


@dataclass(frozen=True)
class Mutation:
    """One line of a list of ``mutate``. ``module``: name in the netlist (cde_fifo__3)."""

    mode: str
    module: str
    cell: str
    port: str
    portbit: int
    ctrlbit: int | None = None
    wire: str = ""
    wirebit: int | None = None
    src: tuple[str, ...] = ()

    @property
    def source_module(self) -> str:
        """The module in hdl/."""
        return self.module.partition("__")[0]

    @property
    def line(self) -> str:
        """Where in the source, as file:line."""
        own = [s for s in self.src if Path(s.partition(":")[0]).stem == self.source_module]
        found = (own or list(self.src) or [f"hdl/{self.source_module}.v"])[0]
        return re.sub(r"[.]\d+(-[\d.]+)?$", "", found)

    @property
    def what(self) -> str:
        """The change, for people."""
        name = self.wire.lstrip("\\")
        place = f"{self.port.lstrip(chr(92))}[{self.portbit}] of {kind_of(self.cell)}"
        wire = f" ({name}[{self.wirebit}])" if name and not name.startswith("$") else ""
        return f"{place}{wire} {MODES[self.mode].format(ctrlbit=self.ctrlbit)}"

    def command(self, control: str = "") -> str:
        """The Yosys command that plants it; ``control``: behind the select input."""
        extra = f" -ctrlbit {self.ctrlbit}" if self.ctrlbit is not None else ""
        return (
            f"mutate {control}-mode {self.mode} -module {self.module} -cell {self.cell} "
            f"-port {self.port} -portbit {self.portbit}{extra}"
        )


def kind_of(cell: str) -> str:
    """What a cell is: ``add`` of ``$add$hdl/cq/cde_cq.v:77$1234``, else its own name."""
    match = re.match(r"\$(?:auto\$)?(\w+)", cell)
    kind = match.group(1) if match else cell.lstrip("\\")
    return {"procdff": "register", "procmux": "case"}.get(kind, kind)


def parse_mutation(text: str) -> Mutation:
    """One line of a list."""
    words = shlex.split(text.replace("\\", "\\\\"))[1:]
    options = [(n.removeprefix("-"), v) for n, v in zip(words[::2], words[1::2], strict=True)]
    sources = [place for name, value in options if name == "src" for place in value.split("|")]
    values: dict[str, Any] = {
        name: int(value) if name.endswith("bit") else value
        for name, value in options
        if name != "src"
    }
    return Mutation(**values, src=tuple(sources))


def parse_list(text: str) -> list[Mutation]:
    """A whole list, without mutants of clocks and of pins that have no function."""
    found = [parse_mutation(line) for line in text.splitlines() if line.strip()]
    left_out = _CLOCK_PORTS | _READ_PORTS
    return [
        m for m in found if m.port.lstrip("\\") not in left_out and m.wire.lstrip("\\") != "clk"
    ]


def shares(cells: Mapping[str, int], count: int) -> dict[str, int]:
    """How many mutants each module gets: by the square root of its size, so that small modules
    are not left out; ``count`` in all, at least 1 each while there are enough.
    """
    weight = {name: max(size, 1) ** 0.5 for name, size in cells.items()}
    whole = sum(weight.values())
    exact = {name: count * w / whole for name, w in weight.items()}
    given = {name: int(value) for name, value in exact.items()}
    order = sorted(exact, key=lambda name: (given[name] > 0, given[name] - exact[name], name))
    for name in order[: count - sum(given.values())]:
        given[name] += 1
    return given


def run_yosys(steps: Iterable[str], folder: Path, name: str) -> None:
    """Runs a script."""
    path = folder / f"{name}.ys"
    path.write_text("\n".join(steps))
    command = ["yosys", "-q", "-l", str(path.with_suffix(".log")), "-p", f"script {path}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RunnerError(f"yosys failed on {relative(path)}: {done.stderr.strip()}")


def root_source(tops: Mapping[str, BuildConfig]) -> str:
    """A module that has each top level with the parameters of its build."""
    lines = [f"module {ROOT_MODULE};"]
    for top, build in tops.items():
        known = declared_parameters((ROOT / "hdl" / f"{top}.v").read_text())
        values = [f".{k}({v})" for k, v in build.parameters.items() if k in known]
        generics = f" #({', '.join(values)})" if values else ""
        lines.append(f"    (* keep *) {top}{generics} u_{top} ();")
    return "\n".join([*lines, "endmodule", ""])


_SYNTHESIS = "proc; opt_expr; opt_clean; opt -full; memory_collect; opt_clean"


def elaborate(tops: Mapping[str, BuildConfig], base: Path) -> dict[str, int]:
    """Writes ``base``, the hierarchical netlist. Returns its modules (name_N) and their cells."""
    folder = base.parent
    root, raw, stat = folder / "root.v", folder / "raw.il", folder / "stat.json"
    root.write_text(root_source(tops))
    sources = [*(f"-I{folder}" for folder in INCLUDES), *map(relative, hdl_files())]
    steps = (
        f"read_verilog {' '.join(sources)} {relative(root)}",
        f"hierarchy -check -top {ROOT_MODULE}",
        _SYNTHESIS,
        f"write_rtlil {raw}",
        f"tee -q -o {stat} stat -json",
    )
    run_yosys(steps, folder, "elaborate")
    text = stat.read_text()
    modules = json.loads(text[text.index("{") :])["modules"]
    names: dict[str, str] = {}
    count: Counter[str] = Counter()
    for module in sorted(modules):
        source = re.findall(r"cde_\w+", module)
        if source and ROOT_MODULE not in module:
            count[source[0]] += 1
            names[module] = f"{source[0]}__{count[source[0]]}"

    # Textually: the pass `rename` would leave the instances with the old name.
    known = "|".join(map(re.escape, names))
    base.write_text(
        re.sub(rf"(?<=\s)(?:{known})(?=\s)", lambda m: f"\\{names[m.group(0)]}", raw.read_text())
    )
    return {name: int(modules[module]["num_cells"]) for module, name in names.items()}


def choose(
    base: Path, cells: Mapping[str, int], count: int, seed: int, module: str
) -> list[Mutation]:
    """``count`` different mutants, spread over the modules that ``module`` (a glob) matches."""
    sizes: Counter[str] = Counter()
    for name, size in cells.items():
        sizes[name.partition("__")[0]] += size
    chosen = {n: s for n, s in sizes.items() if fnmatch.fnmatchcase(n, module or "*")}
    if not chosen:
        raise RunnerError(f"MODULE={module} matches no module; known: {', '.join(sorted(sizes))}")
    share = {name: wanted for name, wanted in shares(chosen, count).items() if wanted}
    lists = {name: base.with_name(f"list-{name}.txt") for name in share}
    # More than wanted: some are dropped, and the same change can be listed twice.
    steps = [
        f"mutate -list {2 * wanted + 20} -seed {seed * 1000 + number} -o {lists[name]} {name}__*"
        for number, (name, wanted) in enumerate(share.items())
    ]
    run_yosys([f"read_rtlil {base}", *steps], base.parent, "list")
    found: list[Mutation] = []
    rest: list[Mutation] = []
    for name, wanted in share.items():
        unique = list({m.command(): m for m in parse_list(lists[name].read_text())}.values())
        random.Random(f"{seed} {name}").shuffle(unique)
        found += unique[:wanted]
        rest += unique[wanted:]
    # Modules that hold nothing but wires have few mutants: others take their share.
    random.Random(f"{seed} rest").shuffle(rest)
    return found + rest[: count - len(found)]


def _keeping(base: str, mutation: Mutation) -> list[str]:
    """A register's new output gets the initial value of the old one, which `mutate` leaves there:
    a Yosys command, none for other pins.
    """
    own = base.partition(f"module \\{mutation.module}\n")[2].partition("\nend\n")[0]
    wire = rf"^  attribute \\init \d+'(\d+)\n  wire .*\\{re.escape(mutation.wire.lstrip(chr(92)))}$"
    initial = re.search(wire, own, re.M) if mutation.port.lstrip("\\") == "Q" else None
    if not initial:
        return []
    new = f"{mutation.module}/{mutation.cell} %co1:+[Q] {mutation.module}/w:*mutate* %i"
    return [f"setattr -set init 1'{initial[1][-1 - (mutation.wirebit or 0)]} {new}"]


def plant(base: Path, mutations: Sequence[Mutation], folder: Path) -> None:
    """Writes planted.il and netlist.v: mutant i (from 1) is active while the select input is i."""
    width = max(len(mutations).bit_length(), 1)
    text = base.read_text()
    planted = [
        # Tops without any mutant have a select input as well.
        [m.command(f"-ctrl {SELECT} {width} {n} "), *_keeping(text, m)]
        for n, m in enumerate(mutations, 1)
    ]
    steps = [
        f"read_rtlil {base}",
        *itertools.chain(*planted),
        f"write_rtlil {folder / 'planted.il'}",
        f"delete {ROOT_MODULE}",
        # Icarus would carry unknown values on.
        "setundef -undriven -init -random 1",
        # What has several drivers looks like a loop to Verilator, which evaluates loops repeatedly.
        "splitnets -driver",
        "opt_clean",
        f"write_verilog -noattr -norename {folder / 'netlist.v'}",
        f"write_json {folder / 'ports.json'}",
    ]
    run_yosys(steps, folder, "plant")


def reaching(tops: Iterable[str], folder: Path) -> dict[str, set[int]]:
    """For each top level the mutants that have a path to one of its outputs, after constants
    went through the flat netlist and each bit of a register that nobody looks at was taken away.
    The others cannot change anything there.
    """
    alive: dict[str, set[int]] = {}
    for top in tops:
        out = folder / f"flat-{top}.json"
        steps = (
            f"read_rtlil {folder / 'planted.il'}",
            f"hierarchy -top {top}__1",
            *("flatten", "opt -full", "splitcells", "opt_clean", "opt -full"),
            f"select t:$eq w:{SELECT} %u",
            f"write_json -selected {out}",
        )
        run_yosys(steps, folder, f"flat-{top}")
        alive[top] = set()
        (module,) = json.loads(out.read_text())["modules"].values()
        select = module["netnames"].get(SELECT, {}).get("bits", [])
        for cell in module["cells"].values():
            pins = cell["connections"]
            for bits, other in ((pins.get("A"), pins.get("B")), (pins.get("B"), pins.get("A"))):
                if cell["type"] == "$eq" and bits == select and set(other) <= {"0", "1"}:
                    alive[top].add(int("".join(reversed(other)), 2))
    return alive


# -- the netlist in place of the design ------------------------------------------------------------

_NUMBER = f"""#include <cstdlib>
extern "C" int carillon_mutant() {{
    const char* const number = getenv("{MUTANT}");
    return number ? atoi(number) : 0;
}}
"""


def wrapper(top: str, ports: Mapping[str, Mapping[str, Any]]) -> str:
    """A module with the name, parameters and ports of a top level; the parameters have no effect:
    the netlist is elaborated.
    """
    known = sorted(declared_parameters((ROOT / "hdl" / f"{top}.v").read_text()))
    select = len(ports[SELECT]["bits"]) if SELECT in ports else 0
    own = {name: port for name, port in ports.items() if name != SELECT}
    declared = [f"{p['direction']} wire [{len(p['bits']) - 1}:0] {n}" for n, p in own.items()]
    pins = [f".{name}({name})" for name in own] + [f".{SELECT}(mutant)"] * bool(select)
    return (
        f"module {top} #({', '.join(f'parameter {name} = 0' for name in known)}) (\n"
        f"    {f',{chr(10)}    '.join(declared)}\n);\n"
        '    import "DPI-C" function int carillon_mutant();\n'
        f"    reg [{max(select, 1) - 1}:0] mutant;\n"
        "    initial mutant = carillon_mutant();\n"
        f"    {top}__1 netlist ({', '.join(pins)});\n"
        "endmodule\n"
    )


def netlist_build(config: BuildConfig, top: str, folder: Path) -> BuildConfig:
    """A build of the netlist with the mutants in place of hdl/."""
    module = json.loads((folder / "ports.json").read_text())["modules"][f"{top}__1"]
    around, number = folder / f"wrap-{top}.v", folder / "mutant.cpp"
    around.write_text(wrapper(top, module["ports"]))
    number.write_text(_NUMBER)
    own = (relative(folder / "netlist.v"), relative(around))
    sources = (*own, *(name for name in config.sources if not name.startswith("hdl/")))
    # The netlist is machine-made: warnings on its style say nothing.
    options = ("--no-assert", "-Wno-fatal", "-Wno-lint", str(number))
    args = (*config.build_args, *options)
    return replace(config, sources=sources, build_args=args, place=folder / f"build-{top}")
