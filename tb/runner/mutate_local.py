# SPDX-License-Identifier: Apache-2.0
"""Which mutants a run can tell from the design: those that change, in some cycle, what their module
writes into a register or a memory or puts on a pin, of its own or of a module inside.

A module without its registers, memories and contents is a function. For each mutant a comparison of
this function and the mutated one, which has only what lies behind the change, is put into every
instance of the module; a replay without a mutant evaluates all of them at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tb.runner.common import RunnerError
from tb.runner.mutate_netlist import Mutation, run_yosys, written
from tb.runner.mutate_prove import split
from tb.runner.mutate_state import named, ready
from tb.runner.mutate_wrap import REPLAY, define_values

#: The comparison of a mutant, and the wire that has its result.
COMPARISON, RESULT = "local__", "differs__"

_CELL = re.compile(r"^  cell \S+ (\S+)\n((?:    .*\n)*)  end$", re.M)
_PIN = re.compile(r"^    connect \\(\S+) (.+)$", re.M)
_INSIDE = re.compile(r"^  cell \\(cde_\w+) ", re.M)
_PORT = re.compile(r"^  wire (?:width \d+ )?input \d+ \\in_(\S+)\n", re.M)


def _script(module: str, mutants: Mapping[int, Mutation], source: Path, out: Path) -> str:
    """Makes the comparisons of the mutants of a module, by number."""

    def cut(name: str) -> list[str]:
        # A register without its enable keeps its value: then what it does not take is no change.
        return [
            f"setundef -zero {name}",
            f"dffunmap {name}",
            f"expose -evert {name}/t:cde_* {name}/t:$dff {name}/t:$mem_v2",
        ]

    lines = [f"read_rtlil {source}", f"copy {module} gold", *cut("gold")]
    for number, mutation in mutants.items():
        made = f"{COMPARISON}{number}"
        lines += [
            f"copy {module} gate",
            mutation.command(None, 0).replace(f"-module {module} ", "-module gate "),
            *cut("gate"),
            f"miter -equiv -flatten gold gate {made}",
            "delete gate",
            *(f"{step} {made}" for step in ("opt_merge", "opt_expr", "opt_clean -purge")),
        ]
    return "\n".join([*lines, f"select {COMPARISON}*", f"write_rtlil -selected {out}"])


def used_ports(comparison: str) -> tuple[str, list[str]]:
    """The text of a comparison without inputs that nothing reads, and the names of the others."""
    names = [n for n in _PORT.findall(comparison) if f"\\in_{n}\n" in comparison]
    words = set(re.findall(r"\\in_\S+", _PORT.sub("", comparison)))
    used = [name for name in names if f"\\in_{name}" in words]

    def keep(match: re.Match[str]) -> str:
        return match.group(0) if match.group(1) in used else ""

    return _PORT.sub(keep, comparison), used


def connect(module: str, comparisons: Mapping[int, Sequence[str]]) -> str:
    """The text of a module with the comparisons of its mutants; their inputs, by number."""
    nets = {}
    for cell, text in _CELL.findall(module):
        state = f"state{cell}" if cell.startswith("$") else cell.removeprefix("\\")
        for pin, net in _PIN.findall(text):
            nets[f"{state}.{pin}"] = net
    lines = []
    for number, ports in comparisons.items():
        lines += [
            "  attribute \\keep 1",
            f"  wire \\{RESULT}{number}",
            f"  cell \\{COMPARISON}{number} \\compare__{number}",
            *(f"    connect \\in_{port} {nets.get(port, chr(92) + port)}" for port in ports),
            f"    connect \\trigger \\{RESULT}{number}",
            "  end",
        ]
    body = module.rstrip().removesuffix("end")
    return "\n".join([body.rstrip("\n"), *lines, "end", ""])


def plant(base: Path, mutations: Mapping[int, Mutation], folder: Path, jobs: int) -> None:
    """Adds the comparisons of these mutants, by number, to netlist.il; writes local.v."""
    work = folder / "local"
    work.mkdir(exist_ok=True)
    modules = split(ready(base.read_text()))
    groups: dict[str, dict[int, Mutation]] = {}
    for number, mutation in mutations.items():
        groups.setdefault(mutation.module, {})[number] = named(mutation, modules)

    def make(module: str) -> str:
        source, made = work / f"{module}.il", work / f"{module}-made.il"
        inside = set(_INSIDE.findall(modules[module]))
        source.write_text("".join(modules[name] for name in sorted({module, *inside})))
        run_yosys(_script(module, groups[module], source, made), work, module)
        return made.read_text()

    parts, ports = [], {}
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        for made in pool.map(make, groups):
            for name, text in split(made).items():
                part, used = used_ports(text)
                ports[int(name.removeprefix(COMPARISON))] = used
                parts.append(part)
    if len(ports) != len(mutations):
        raise RunnerError(f"{len(ports)} comparisons of {len(mutations)} mutants")
    for module, text in split((folder / "netlist.il").read_text()).items():
        own = {number: ports[number] for number in groups.get(module, ())}
        parts.append(connect(text, own))
    (folder / "local.il").write_text("\n".join(parts))
    steps = (f"read_rtlil {folder / 'local.il'}", *written(folder / "local.v"))
    run_yosys("\n".join(steps), folder, "local")
    path = folder / "local.v"
    path.write_text(define_values(watch(path.read_text(), ports)))


_RESULT = re.compile(rf"  wire {RESULT}(\d+);")


def watch(text: str, numbers: Iterable[int]) -> str:
    """The netlist's text, and for each comparison code that sets the bit of ``hit`` of its mutant
    in a replayed cycle in which it differs.
    """
    wanted = set(numbers)

    def line(match: re.Match[str]) -> str:
        number = int(match.group(1))
        wanted.discard(number)
        return (
            f"{match.group(0)}\n  always @(edge {REPLAY}.clk) if ({REPLAY}.watching && "
            f"{RESULT}{number}) {REPLAY}.hit[{number}] <= 1'b1;"
        )

    found = _RESULT.sub(line, text)
    if wanted:
        raise RunnerError(f"no comparison in the netlist of mutants {sorted(wanted)}")
    return found
