# SPDX-License-Identifier: Apache-2.0
"""Mutants: lists of mutations, the netlist, which tests they meet, results."""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from tb.runner import mutate
from tb.runner import mutate_netlist as netlist
from tb.runner.builds import load_builds
from tb.runner.common import RunnerError, hdl_files, prepare_environment
from tb.runner.discover import Module, find_modules
from tb.runner.mutate_netlist import parse_list, parse_mutation, root_source, shares
from tb.runner.mutate_plan import (
    EQUIVALENT,
    KILLED,
    STATES,
    SURVIVED,
    UNDECIDED,
    Alone,
    Design,
    Fate,
    Order,
    Outcome,
    Plan,
    load_plan,
    make_steps,
)
from tb.runner.mutate_report import read_fates, report, write_fate, write_report

LINE = (
    "mutate -mode cnot0 -module cde_cq__1 -cell in_fifo -port push_data -portbit 62 -ctrlbit 306 "
    "-wire s_axis_cpl_tdata -wirebit 62 -src hdl/cq/cde_cq.v:25.30-25.46 "
    "-src hdl/cq/cde_cq.v:113.56-123.6"
)
OPERATOR = (
    r"mutate -mode const1 -module cde_fifo__3 -cell $logic_not$hdl/lib/cde_fifo.v:60$15386 "
    r"-port \A -portbit 0 -src hdl/lib/cde_fifo.v:60.118-60.122"
)
MUTATION = parse_mutation(OPERATOR)
PLAN = Plan({"top": Design("default", ("small",))}, {"test_m.Two": 2})
MODULES = [
    Module("tb.tests.test_m", "test_m", ("One", "Two"), builds=("small",), seeds=(3, 4, 5)),
    Module("tb.tests.test_n", "test_n", ("Three",), builds=("small", "other")),
    Module("tb.tests.test_o", "test_o", ("Four",), builds=("other",)),
]


# -- lists of mutations ----------------------------------------------------------------------------


def test_mutations() -> None:
    found = parse_mutation(LINE)
    assert (found.mode, found.source_module, found.portbit, found.line) == (
        *("cnot0", "cde_cq", 62),
        "hdl/cq/cde_cq.v:25",
    )
    what = "push_data[62] of in_fifo (s_axis_cpl_tdata[62]) inverted while bit 306 is 0"
    assert found.what == what
    assert found.command("-ctrl mutsel 10 5 ") == (
        "mutate -ctrl mutsel 10 5 -mode cnot0 -module cde_cq__1 -cell in_fifo -port push_data "
        "-portbit 62 -ctrlbit 306"
    )
    assert MUTATION.what == "A[0] of logic_not stuck at 1"
    assert (MUTATION.line, MUTATION.source_module) == ("hdl/lib/cde_fifo.v:60", "cde_fifo")
    # The Yosys command names the cell as the list did.
    assert r"-cell $logic_not$hdl/lib/cde_fifo.v:60$15386 -port \A" in MUTATION.command()
    # Pins without a function are left out.
    clock = OPERATOR.replace(r"\A", r"\CLK")
    wired = OPERATOR + r" -wire clk -wirebit 0"
    read = OPERATOR.replace(r"\A", r"\RD_EN")
    assert parse_list("\n".join([clock, wired, read, OPERATOR, ""])) == [MUTATION]


def test_every_module_has_a_share() -> None:
    cells = {"large": 400, "small": 4, "wires": 0}
    share = shares(cells, 100)
    assert sum(share.values()) == 100
    assert share["large"] > share["small"] > share["wires"] > 0
    assert sum(shares(cells, 2).values()) == 2


def test_root_has_every_top() -> None:
    builds = load_builds()
    text = root_source({"cde_top": builds["engine_mutants"], "cde_cpl_top": builds["default"]})
    assert ".NUM_MW(4)" in text and "cde_cpl_top u_cde_cpl_top ();" in text


DESIGN = """
module cde_small__1 (input wire clk, input wire [3:0] s_data, output reg [3:0] m_data);
    reg [3:0] mem [0:3];
    (* keep *) reg [3:0] seen;
    reg [3:0] unseen;
    initial m_data = 4'b0101;
    always @(posedge clk) begin
        m_data <= s_data + 4'd1;
        mem[s_data[1:0]] <= s_data;
        seen <= mem[s_data[1:0]];
        unseen <= unseen - s_data;
    end
endmodule
module mutants_root; endmodule
"""


def test_netlist_of_mutants(tmp_path: Path) -> None:
    """Every pin of a memory is listed; a mutant of what nobody looks at reaches no output; a
    mutated register starts with its value.
    """
    prepare_environment()
    (tmp_path / "design.v").write_text(DESIGN)
    steps = (
        f"read_verilog {tmp_path / 'design.v'}",
        "proc; opt_expr; memory_collect",
        f"write_rtlil {tmp_path / 'base.il'}",
        f"mutate -list 2000 -seed 1 -o {tmp_path / 'list.txt'} cde_small__1",
    )
    netlist.run_yosys(steps, tmp_path, "elaborate")
    listed = parse_list((tmp_path / "list.txt").read_text())
    pins = {(m.cell.strip("\\$").partition("$")[0], m.port.lstrip("\\")): m for m in listed}
    assert {port for cell, port in pins if cell == "mem"} == {
        *("RD_ADDR", "RD_DATA", "WR_ADDR", "WR_DATA", "WR_EN"),
    }
    register = next(m for m in listed if m.port == "Q" and m.wire == "m_data" and m.wirebit == 2)
    chosen = [pins["add", "A"], pins["mem", "WR_DATA"], pins["sub", "B"], register]
    netlist.plant(tmp_path / "base.il", chosen, tmp_path)
    planted = (tmp_path / "planted.il").read_text()
    assert re.search(r"attribute .init 1'1\n(  attribute .*\n)*  wire \S*mutate", planted)
    assert netlist.reaching(["cde_small"], tmp_path) == {"cde_small": {1, 2, 4}}
    ports = json.loads((tmp_path / "ports.json").read_text())["modules"]["cde_small__1"]["ports"]
    text = netlist.wrapper("cde_top", ports)
    assert "input wire [3:0] s_data" in text and "parameter NUM_MW = 0" in text
    assert "reg [2:0] mutant;" in text and ".mutsel(mutant)" in text


# -- which tests a mutant meets --------------------------------------------------------------------


def test_plan_fits_the_tests() -> None:
    plan = load_plan()
    steps = make_steps(plan, find_modules())
    assert len(set(steps)) == len(steps)
    assert {step.top for step in steps} == set(plan.designs)
    assert max(step.job.seed for step in steps) > 1


def strangers(patterns: Iterable[str]) -> list[str]:
    """Patterns of `first` that match no module, wire or part of the design."""
    texts = {path.stem: path.read_text() for path in hdl_files()}
    parts = {name: set(re.findall(r"^ *(cde_\w+) ", text, re.M)) for name, text in texts.items()}

    def inside(name: str) -> set[str]:
        return parts[name].union(*map(inside, parts[name]))

    names = [*texts, *(f"{outer}/{inner}" for outer in texts for inner in inside(outer))]
    for name, text in texts.items():
        names += [f"{name}.{word}" for word in set(re.findall(r"\w+", text))]
    return [pattern for pattern in patterns if not fnmatch.filter(names, pattern)]


def test_plan_fits_the_design() -> None:
    assert not strangers(load_plan().first)
    known = ["cde_core/cde_ecc_dec", "cde_ctrl", "cde_control.op_res*", "*.mem*"]
    bad = ["cde_ecc_dec/cde_core", "cde_memory", "cde_control.op_gone*", "cde_cq/cde_r*m"]
    assert strangers([*known, *bad]) == bad


def test_steps() -> None:
    assert [s.name for s in make_steps(PLAN, MODULES)] == [
        "test_m.One seed 3",
        "test_m.Two seed 3",
        "test_m.Two seed 4",
        "test_n.Three seed 1",
    ]
    with pytest.raises(RunnerError, match="no test matches test_x"):
        make_steps(Plan(PLAN.designs, {}, {"test_x": ""}), MODULES)


@pytest.mark.parametrize("text", ["", "designs: {t: {build: b}}", "designs: {}"])
def test_bad_plan(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mutate.yaml"
    path.write_text(text)
    with pytest.raises(RunnerError, match=r"mutate\.yaml"):
        load_plan(path)


STEPS = make_steps(PLAN, MODULES)
COST = {step: 1.0 + number for number, step in enumerate(STEPS)}


def test_order_learns() -> None:
    found = Order(COST, {}, {})
    first, two3, two4, slow = STEPS
    other = replace(MUTATION, module="cde_other__1")
    same = replace(MUTATION, module="cde_fifo__9")
    assert found.of(MUTATION, ["top"]) == STEPS and found.of(MUTATION, []) == []
    found.learn(MUTATION, two4.name)
    assert found.of(same, ["top"]) == [two4, first, two3, slow]
    # Less of what killed mutants of other modules.
    assert found.of(other, ["top"]) == [first, two4, two3, slow]
    # With the same parameters it counts more.
    found = Order({step: 0.1 if step != slow else 2.0 for step in STEPS}, {}, {})
    found.learn(MUTATION, slow.name)
    assert found.of(MUTATION, ["top"])[0] == slow
    assert found.of(same, ["top"])[-1] == slow


@pytest.mark.parametrize(
    ("first", "wanted"),
    [
        ({"cde_f*": ("test_n.Three",)}, [3, 0, 1, 2]),
        ({"cde_fifo": ("test_m.Two",)}, [1, 2, 0, 3]),
        # By a module around it, by the wire.
        ({"cde_[ax]*/cde_f*": ("test_m.Two",)}, [1, 2, 0, 3]),
        ({"cde_y/cde_f*": ("test_m.Two",)}, [0, 1, 2, 3]),
        ({"*.mem*": ("test_n.*",)}, [3, 0, 1, 2]),
    ],
)
def test_tests_of_a_module_come_first(first: dict[str, tuple[str, ...]], wanted: list[int]) -> None:
    found = Order(COST, first, {MUTATION.module: {"cde_arm", "cde_x"}})
    mutation = replace(MUTATION, wire="\\mem_i")
    assert [STEPS.index(step) for step in found.of(mutation, ["top"])] == wanted
    assert found.of(replace(MUTATION, module="cde_z__1"), ["top"]) == STEPS


def test_what_fails_without_a_mutant_is_known(tmp_path: Path) -> None:
    runs: list[int] = []

    def run() -> Outcome:
        runs.append(1)
        return Outcome("wrong", 0.5)

    for alone in (one := Alone(tmp_path), one, Alone(tmp_path)):
        assert alone.of("test_m.One seed 3", run) == Outcome("wrong", 0.5)
    assert len(runs) == 1
    assert Alone(tmp_path).of("test_m.Two seed 3", lambda: Outcome("", 0.5)).seconds == 0.5
    assert Alone(tmp_path).failing() == {"test_m.One seed 3": "wrong"}
    Alone(tmp_path).again()
    assert Alone(tmp_path).of("test_m.One seed 3", lambda: Outcome("", 0.5)).message == ""


class Stopped(mutate.Campaign):
    """Ctrl-C after two mutants."""

    def prepare(self) -> None:
        self.mutations = [MUTATION] * 3
        self.fates = {1: Fate(KILLED), 2: Fate(SURVIVED)}
        raise KeyboardInterrupt


def test_a_stop_is_told_and_leaves_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(mutate, "Campaign", Stopped)
    monkeypatch.setattr(mutate, "OUT", tmp_path / "mutation.json")
    monkeypatch.setattr(mutate, "FOLDER", tmp_path / "mutate")
    (tmp_path / "mutation.json").write_text("kept")
    with pytest.raises(KeyboardInterrupt):
        mutate.run_mutate(3, 1, "cde_f*", 60, "", 1, None)
    assert (tmp_path / "mutation.json").read_text() == "kept"
    assert "mutants: 2: 1 killed" in capsys.readouterr().out
    with pytest.raises(RunnerError, match=r"MODULE=cde_fifos: no such module \(nearest: cde_fifo"):
        mutate.run_mutate(3, 1, "cde_fifos", 60, "", 1, None)


# -- results ---------------------------------------------------------------------------------------

FATES = [
    Fate(KILLED, "test_m.One seed 3", "wrong", 2, 0.5),
    Fate(SURVIVED, "differs after 3 cycles (cde_cq)", runs=4),
    Fate(EQUIVALENT, "pdr (cde_cq)"),
    Fate(UNDECIDED, "time limit"),
]
RESULTS = [(MUTATION if n == 0 else parse_mutation(LINE), fate) for n, fate in enumerate(FATES)]


def test_a_failing_test_kills() -> None:
    fate = Fate()
    assert not fate.meets("one", Outcome("", 2.0))
    assert fate.meets("two", Outcome("wrong", 1.0))
    assert fate == Fate(KILLED, "two", "wrong", 2, 3.0)


def test_results_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    with path.open("w") as out:
        for number, fate in enumerate(FATES):
            write_fate(out, number, fate, "key")
        out.write('{"cut')
    assert list(read_fates(path)) == [(n, fate, "key") for n, fate in enumerate(FATES)]
    assert list(read_fates(tmp_path / "none")) == []


def test_report_names_what_is_left(tmp_path: Path) -> None:
    text = report(RESULTS)
    assert "survived: cde_cq hdl/cq/cde_cq.v:25" in text and "undecided: cde_cq" in text
    assert "4: 1 killed, 1 equivalent, 1 undecided, 1 survived; kill rate 33.3 %" in text
    path = tmp_path / "mutation.json"
    write_report(RESULTS, path, {"seed": 1})
    data = json.loads(path.read_text())
    assert {key: data[key] for key in ("total", *STATES)} == {
        "total": 4,
        **dict.fromkeys(STATES, 1),
    }
    (entry,) = data["survivors"]
    assert (entry["module"], entry["source"]) == ("cde_cq", "hdl/cq/cde_cq.v:25")
    assert entry["command"] == RESULTS[1][0].command()
    assert [len(data[key]) for key in ("undecided_mutants", "equivalent_mutants")] == [1, 1]
