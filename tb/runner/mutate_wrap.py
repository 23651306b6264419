# SPDX-License-Identifier: Apache-2.0
"""What stands around the netlist of mutants: its two wrappers, one for the bench, which can record
what crosses the ports, and one for the replay of such a recording; values at power-up.

A payload is 0 while its valid is 0, and so is a byte while its strobe is 0, in both: no difference
that the bench could not act on counts.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tb.runner.common import ROOT, RunnerError
from tb.runner.lint import declared_parameters

#: The input of the netlist that chooses a mutant.
SELECT = "mutsel"
#: The module that replays.
REPLAY = "replay"
WORD = 32

_MEMORY = re.compile(r"^  reg (?:\[(\d+):0\] )?(\S+ ?) \[(\d+):0\];$", re.M)


def define_values(text: str) -> str:
    """The netlist's text with a value at power-up for each memory word (arbitrary, but the same in
    every program; Yosys has done so for registers), and each clocked block at ```EDGE clk``.
    """
    if unknown := re.search(r".*'[hb][0-9a-f]*x.*|^  reg [^=]*(?<!\]);$", text, re.M):
        raise RunnerError(f"undefined value in the netlist: {unknown.group(0).strip()}")

    def defined(match: re.Match[str]) -> str:
        msb, name, last = match.groups()
        words = int(msb or 0) // WORD + 1
        random = zlib.crc32(name.encode())
        return (
            f"{match[0]}\n  initial begin : power_up_{match.start()}\n    integer i;\n"
            f"    for (i = 0; i <= {last}; i = i + 1) {name}[i] = "
            f"{{{words}{{(i + 32'd1) * 32'h9e3779b9 + 32'h{random:x}}}}};\n  end"
        )

    return _MEMORY.sub(defined, text).replace("@(posedge clk)", "@(`EDGE clk)")


@dataclass(frozen=True)
class Port:
    name: str
    width: int
    is_input: bool


@dataclass(frozen=True)
class Interface:
    """The ports of a top level, apart from its clock and the input that chooses a mutant."""

    top: str
    ports: tuple[Port, ...]
    select: int
    """Bits of the latter; 0: it has no mutant."""

    @property
    def inputs(self) -> list[Port]:
        return [port for port in self.ports if port.is_input]

    @property
    def outputs(self) -> list[Port]:
        return [port for port in self.ports if not port.is_input]

    @property
    def input_words(self) -> int:
        return -(-sum(port.width for port in self.inputs) // WORD)

    @property
    def output_words(self) -> int:
        return -(-sum(port.width for port in self.outputs) // WORD)

    def valid_of(self, port: Port) -> str:
        """The output that says whether this output means something; none of its own: empty."""
        names = [p.name for p in self.outputs if p.name.endswith("valid")]
        return next(
            (n for n in names if port.name != n and port.name.startswith(n.removesuffix("valid"))),
            "",
        )

    def output_at(self, bit: int) -> str:
        """The name of an output's bit from its place among all."""
        for port in self.outputs:
            if bit < port.width:
                return f"{port.name}[{bit}]" if port.width > 1 else port.name
            bit -= port.width
        raise IndexError(bit)


def interface(top: str, folder: Path) -> Interface:
    """Of a top level of the netlist in ``folder``."""
    text = (folder / "ports.json").read_text()
    ports = json.loads(text)["modules"][f"{top}__1"]["ports"]
    found = tuple(
        Port(name, len(port["bits"]), port["direction"] == "input")
        for name, port in ports.items()
        if name not in (SELECT, "clk")
    )
    return Interface(top, found, len(ports[SELECT]["bits"]) if SELECT in ports else 0)


def _netlist(design: Interface) -> list[str]:
    """The instance; a wire ``n_NAME`` for each output, ``o_NAME`` with 0 where it says nothing."""
    lines = [f"    wire [{port.width - 1}:0] n_{port.name};" for port in design.outputs]
    for port in design.outputs:
        valid = design.valid_of(port)
        value = f"n_{port.name}"
        if valid:
            # trace_valid has a bit for each step that is told at once.
            lanes = next(p.width for p in design.outputs if p.name == valid)
            conditions = [f"n_{valid}[{n}]" for n in range(lanes)]
            strobe = port.name.removesuffix("data") + "strb"
            if any(p.name == strobe for p in design.outputs):
                conditions = [f"n_{valid} && n_{strobe}[{n}]" for n in range(port.width // 8)]
            each = port.width // len(conditions)
            value = _join(
                f"({say}) ? n_{port.name}[{n * each + each - 1}:{n * each}] : {each}'d0"
                for n, say in enumerate(conditions)
            )
        lines.append(f"    wire [{port.width - 1}:0] o_{port.name} = {value};")
    pins = ["        .clk(clk)"]
    pins += [f"        .{p.name}({p.name if p.is_input else 'n_' + p.name})" for p in design.ports]
    pins += [f"        .{SELECT}(mutant)"] if design.select else []
    return [*lines, f"    {design.top}__1 netlist (", ",\n".join(pins), "    );"]


def _join(names: Iterable[str]) -> str:
    """A concatenation with the first name at bit 0."""
    return "{" + ", ".join(reversed(list(names))) + "}"


def bench_wrapper(design: Interface) -> str:
    """A module with the name, parameters and ports of the top level. The parameters have no
    effect: the netlist is elaborated. Mutant and recording are chosen by the environment
    (mutate_record.cpp).
    """
    known = sorted(declared_parameters((ROOT / "hdl" / f"{design.top}.v").read_text()))
    ports = ["    input wire clk"]
    ports += [
        f"    {'input' if p.is_input else 'output'} wire [{p.width - 1}:0] {p.name}"
        for p in design.ports
    ]
    words = design.input_words + design.output_words
    lines = [
        "`default_nettype none",
        f"module {design.top} #(",
        ",\n".join(f"    parameter {name} = 0" for name in known),
        ") (",
        ",\n".join(ports),
        ");",
        '    import "DPI-C" function int carillon_mutant();',
        '    import "DPI-C" function bit carillon_recording();',
        '    import "DPI-C" function void carillon_record(input int words, '
        f"input bit [{words * WORD - 1}:0] values);",
        f"    reg [{max(design.select, 1) - 1}:0] mutant;",
        "    reg recording;",
        "    initial begin mutant = carillon_mutant(); recording = carillon_recording(); end",
        *_netlist(design),
        *(f"    assign {port.name} = o_{port.name};" for port in design.outputs),
        f"    wire [{design.input_words * WORD - 1}:0] ins = "
        f"{_join(p.name for p in design.inputs)};",
        f"    wire [{design.output_words * WORD - 1}:0] outs = "
        f"{_join('o_' + p.name for p in design.outputs)};",
        f"    always @(posedge clk) if (recording) carillon_record({words}, {{outs, ins}});",
        "endmodule",
        "",
    ]
    return "\n".join(lines)


def replay_wrapper(design: Interface) -> str:
    """Feeds recorded inputs to the netlist and compares its outputs with the recorded ones. Each
    change of ``clk`` is a cycle of what the last change of ``load`` brought. So the netlist's
    inputs are registers, which are evaluated once in a cycle, not before its edge as well. What
    comes before the first reset has no meaning.
    """
    loaded = {
        "ins": design.input_words * WORD,
        "expected": design.output_words * WORD,
        "mutant": max(design.select, 1),
    }
    lines = [
        "`default_nettype none",
        f"module {REPLAY} (",
        "    input wire clk,",
        "    input wire load,",
        *(f"    input wire [{width - 1}:0] next_{name}," for name, width in loaded.items()),
        "    output reg differs,",
        f"    output reg [{design.output_words * WORD - 1}:0] difference",
        ");",
        *(f"    reg [{width - 1}:0] {name};" for name, width in loaded.items()),
        f"    always @(edge load) begin {' '.join(f'{n} <= next_{n};' for n in loaded)} end",
    ]
    place = 0
    for port in design.inputs:
        lines.append(
            f"    wire [{port.width - 1}:0] {port.name} = ins[{place + port.width - 1}:{place}];"
        )
        place += port.width
    lines += [
        *_netlist(design),
        f"    wire [{design.output_words * WORD - 1}:0] outs = "
        f"{_join('o_' + p.name for p in design.outputs)};",
        "    reg begun;",
        "    initial begin differs = 0; difference = 0; begun = 0; end",
        "    always @(edge clk) begin",
        "        if (rst) begun <= 1'b1;",
        "        differs <= begun && outs != expected;",
        "        difference <= outs ^ expected;",
        "    end",
        "endmodule",
        "",
    ]
    return "\n".join(lines)


def write_wrappers(tops: Iterable[str], folder: Path) -> None:
    """wrap-TOP.v and replay-TOP.v."""
    for top in tops:
        design = interface(top, folder)
        (folder / f"wrap-{top}.v").write_text(bench_wrapper(design))
        (folder / f"replay-{top}.v").write_text(replay_wrapper(design))
