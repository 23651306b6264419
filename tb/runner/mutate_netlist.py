# SPDX-License-Identifier: Apache-2.0
"""Mutants of the design: one Yosys netlist that holds many of them behind a select input.

The design keeps its hierarchy, so that a mutant is a change of one source module (in all of its
instances with the same parameters) and has a source line. Yosys' ``mutate`` pass makes the lists
and plants the mutants: see its help for the modes.
"""

from __future__ import annotations

import fnmatch
import json
import random
import re
import shlex
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tb.runner.builds import BuildConfig
from tb.runner.common import INCLUDES, ROOT, RunnerError, hdl_files, relative
from tb.runner.lint import declared_parameters
from tb.runner.mutate_wrap import SELECT, define_values

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

    @property
    def key(self) -> str:
        """The same for the same change, whatever list it is from."""
        return "|".join(
            map(str, (self.mode, self.module, self.cell, self.port, self.portbit, self.ctrlbit))
        )

    def command(self, number: int | None, width: int) -> str:
        """The Yosys command that plants it; with a number behind the select input."""
        control = f"-ctrl {SELECT} {width} {number} " if number is not None else ""
        extra = f" -ctrlbit {self.ctrlbit}" if self.ctrlbit is not None else ""
        return (
            f"mutate {control}-mode {self.mode} -module {self.module} -cell {self.cell} "
            f"-port {self.port} -portbit {self.portbit}{extra}"
        )


def kind_of(cell: str) -> str:
    """What a cell is: ``$add`` from ``$add$hdl/cq/cde_cq.v:77$1234``, else its own name."""
    match = re.match(r"\$(?:procdff|procmux|auto\$[^$]*)", cell)
    if match:
        kind = match.group(0).lstrip("$")
        if kind.startswith("auto$"):
            return kind.removeprefix("auto$").partition(".cc")[0]
        return {"procdff": "register", "procmux": "case"}[kind]
    match = re.match(r"\$([a-z_0-9]+)\$", cell)
    return match.group(1) if match else cell.lstrip("\\")


def parse_mutation(text: str) -> Mutation:
    """One line of a list."""
    words = shlex.split(text.replace("\\", "\\\\"))
    if not words or words[0] != "mutate" or len(words) % 2 == 0:
        raise RunnerError(f"not a line of a mutation list: {text!r}")
    values: dict[str, Any] = {}
    sources: list[str] = []
    for option, value in zip(words[1::2], words[2::2], strict=True):
        name = option.removeprefix("-")
        if name == "src":
            sources += value.split("|")
        elif name in ("portbit", "ctrlbit", "wirebit"):
            values[name] = int(value)
        elif name in ("mode", "module", "cell", "port", "wire"):
            values[name] = value
        else:
            raise RunnerError(f"unknown option {option} in a mutation list: {text!r}")
    missing = {"mode", "module", "cell", "port", "portbit"} - values.keys()
    if missing or values["mode"] not in MODES:
        raise RunnerError(f"not a mutation: {text!r}")
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


def run_yosys(script: str, folder: Path, name: str) -> str:
    """Runs a script; returns the log."""
    folder.mkdir(parents=True, exist_ok=True)
    path, log = folder / f"{name}.ys", folder / f"{name}.log"
    path.write_text(script)
    command = ["yosys", "-q", "-l", str(log), "-p", f"script {path}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    text = log.read_text(errors="replace") if log.is_file() else ""
    if done.returncode:
        told = [line for line in (done.stderr + text).splitlines() if "ERROR" in line]
        raise RunnerError(
            f"yosys failed on {relative(path)}: {told[0] if told else done.stderr.strip()}"
        )
    return text


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


def elaborate(tops: Mapping[str, BuildConfig], folder: Path, key: str) -> dict[str, int]:
    """Writes base.il, the hierarchical netlist, unless it is there with this key. Returns its
    modules (name_N) and their cells.
    """
    folder.mkdir(parents=True, exist_ok=True)
    stored = folder / "cells.json"
    if stored.is_file() and (data := json.loads(stored.read_text()))["key"] == key:
        return dict(data["cells"])
    root = folder / "root.v"
    root.write_text(root_source(tops))
    raw, stat = folder / "raw.il", folder / "stat.json"
    sources = [*(f"-I{folder}" for folder in INCLUDES), *map(relative, hdl_files())]
    steps = (
        f"read_verilog {' '.join(sources)} {relative(root)}",
        f"hierarchy -check -top {ROOT_MODULE}",
        _SYNTHESIS,
        f"write_rtlil {raw}",
        f"tee -q -o {stat} stat -json",
    )
    run_yosys("\n".join(steps), folder, "elaborate")
    text = stat.read_text()
    modules = json.loads(text[text.index("{") :])["modules"]
    names: dict[str, str] = {}
    count: dict[str, int] = {}
    cells: dict[str, int] = {}
    for module in sorted(modules):
        source = re.findall(r"cde_\w+", module)
        if not source or ROOT_MODULE in module:
            continue
        number = count[source[0]] = count.get(source[0], 0) + 1
        names[module] = f"{source[0]}__{number}"
        cells[names[module]] = int(modules[module]["num_cells"])

    # Textually: the pass `rename` would leave the instances with the old name.
    known = "|".join(map(re.escape, names))
    text = re.sub(
        rf"(?<=\s)(?:{known})(?=\s)", lambda found: f"\\{names[found.group(0)]}", raw.read_text()
    )
    (folder / "base.il").write_text(text)
    stored.write_text(json.dumps({"key": key, "cells": cells}))
    return cells


def choose(
    base: Path, cells: Mapping[str, int], count: int, seed: int, module: str, folder: Path
) -> list[Mutation]:
    """``count`` different mutants, spread over the modules that ``module`` (a glob) matches."""
    sizes: dict[str, int] = {}
    for name, size in cells.items():
        source = name.partition("__")[0]
        sizes[source] = sizes.get(source, 0) + size
    chosen = {n: s for n, s in sizes.items() if fnmatch.fnmatchcase(n, module or "*")}
    if not chosen:
        raise RunnerError(f"MODULE={module} matches no module; known: {', '.join(sorted(sizes))}")
    share = shares(chosen, count)
    steps = [f"read_rtlil {base}"]
    for number, (name, wanted) in enumerate(share.items()):
        if wanted:
            # More than wanted: some are dropped, and the same change can be listed twice.
            steps.append(
                f"mutate -list {2 * wanted + 20} -seed {seed * 1000 + number} "
                f"-o {folder / f'list-{name}.txt'} {name}__*"
            )
    run_yosys("\n".join(steps), folder, "list")
    found: list[Mutation] = []
    rest: list[Mutation] = []
    for name, wanted in share.items():
        if not wanted:
            continue
        path = folder / f"list-{name}.txt"
        unique = list({m.key: m for m in parse_list(path.read_text())}.values())
        random.Random(f"{seed} {name}").shuffle(unique)
        found += unique[:wanted]
        rest += unique[wanted:]
    # Modules that hold nothing but wires have few mutants: others take their share.
    random.Random(f"{seed} rest").shuffle(rest)
    return found + rest[: count - len(found)]


def width_of(count: int) -> int:
    return max(count.bit_length(), 1)


def plant(base: Path, mutations: Sequence[Mutation], folder: Path) -> None:
    """Writes planted.il and netlist.v: mutant i (from 1) is active while the select input is i."""
    width = width_of(len(mutations))
    steps = [f"read_rtlil {base}"]
    # Tops without any mutant have a select input as well.
    steps += [m.command(number, width) for number, m in enumerate(mutations, 1)]
    steps += [
        f"write_rtlil {folder / 'planted.il'}",
        f"delete {ROOT_MODULE}",
        # Two programs with this netlist must behave alike: nothing is left to a simulator's choice.
        "setundef -undriven -random 1",
        f"write_rtlil {folder / 'netlist.il'}",
        *written(folder / "netlist.v"),
        f"write_json {folder / 'ports.json'}",
    ]
    run_yosys("\n".join(steps), folder, "plant")
    path = folder / "netlist.v"
    path.write_text(define_values(path.read_text()))


def written(path: Path) -> tuple[str, ...]:
    """Commands that write a netlist for Verilator."""
    return (
        # What has several drivers looks like a loop to Verilator, which evaluates loops repeatedly.
        "splitnets -driver",
        "opt_clean",
        f"write_verilog -noattr -norename {path}",
    )


def reaching(tops: Iterable[str], count: int, folder: Path) -> dict[str, set[int]]:
    """For each top level the mutants that have a path to one of its outputs, after constants
    went through the flat netlist and each bit of a register that nobody looks at was taken away.
    The others cannot change anything there.
    """
    width = width_of(count)
    alive: dict[str, set[int]] = {}
    for top in tops:
        out = folder / f"flat-{top}.json"
        steps = (
            f"read_rtlil {folder / 'planted.il'}",
            f"hierarchy -top {top}__1",
            "flatten",
            "opt -full",
            "splitcells",
            "opt_clean",
            "opt -full",
            f"select t:$eq w:{SELECT} %u",
            f"write_json -selected {out}",
        )
        run_yosys("\n".join(steps), folder, f"flat-{top}")
        found = set()
        (module,) = json.loads(out.read_text())["modules"].values()
        select = module["netnames"].get(SELECT, {}).get("bits", [])
        for cell in module["cells"].values():
            if cell["type"] != "$eq":
                continue
            a, b = cell["connections"]["A"], cell["connections"]["B"]
            for bits, other in ((a, b), (b, a)):
                if bits == select and all(isinstance(bit, str) for bit in other):
                    found.add(int("".join(reversed(other)), 2))
        assert all(0 < number < 1 << width for number in found)
        alive[top] = found
    return alive
