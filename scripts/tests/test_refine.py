# SPDX-License-Identifier: Apache-2.0
"""Detail placement of `make synth`: what may share a tile, and cells that find their way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scripts.synth.flow import Way, declared, worst
from scripts.synth.placed import Placed, Put, Tiles
from scripts.synth.refine import Refiner, refine, repair
from scripts.synth.sta import Timing
from scripts.synth.unit import Unit
from tb.runner.common import ROOT

_OUTPUTS = {"F", "OFX", "Q", "FCO"}
#: Logic to spread over: a register in each of these tiles.
_TILES = [(x, y) for x in range(10, 41, 3) for y in range(10, 41, 3)]


def cell(kind: str, bel: str, **nets: int | str) -> dict[str, Any]:
    """``nets``: in lower case parameters, in upper case nets by ports."""
    ports = {port: [net] for port, net in nets.items() if port.isupper()}
    return {
        "type": f"TRELLIS_{kind}",
        "parameters": {key.upper(): value for key, value in nets.items() if key.islower()},
        "attributes": {"NEXTPNR_BEL": bel},
        "port_directions": {p: "output" if p in _OUTPUTS else "input" for p in ports},
        "connections": ports,
    }


def write(folder: Path, cells: dict[str, Any]) -> Path:
    path = folder / "placed.json"
    path.write_text(json.dumps({"modules": {"top": {"cells": cells}}}))
    return path


def delays(folder: Path, cells: dict[str, Any]) -> Path:
    """As nextpnr writes them: 0.2 ns for a LUT, 0.4 ns to the output of a register."""
    text = {
        "TRELLIS_COMB": "(IOPATH A F (100:150:200) (100:150:200))",
        "TRELLIS_FF": "(IOPATH CLK Q (300:350:400) (300:350:400))\n"
        "(SETUPHOLD (posedge DI) (posedge CLK) (0:0:0) (9:9:9))\n"
        "(SETUPHOLD (posedge M) (posedge CLK) (0:0:0) (9:9:9))",
    }
    path = folder / "delays.sdf"
    lines = [f"(INSTANCE {name})\n{text[one['type']]}" for name, one in cells.items()]
    path.write_text("\n".join(lines))
    return path


def places(path: Path) -> dict[str, tuple[int, int, str]]:
    d = Placed(path)
    return {name: d.where(k)[1:] for k, name in enumerate(d.names)}


def test_cells_of_a_late_way_come_together_and_others_stay(tmp_path: Path) -> None:
    filler = {
        f"f{x}_{y}": cell("FF", f"X{x}/Y{y}/SLICED.FF1", CLK=1, Q=1000 + 50 * x + y)
        for x, y in _TILES
    }
    cells = filler | {
        "from": cell("FF", "X10/Y10/SLICEA.FF0", CLK=1, Q=2),
        "lut": cell("COMB", "X40/Y40/SLICEB.K1", A=2, F=3),
        "pair": cell("FF", "X40/Y40/SLICEB.FF1", CLK=1, DI=3, Q=4),
        "to": cell("FF", "X13/Y10/SLICEA.FF0", CLK=1, M=4),
    }
    refined = tmp_path / "refined.json"
    before, after = refine(write(tmp_path, cells), delays(tmp_path, cells), refined, 1)
    assert before > 3.0 and after < 2.0
    found = places(refined)
    way = [found[name][:2] for name in ("from", "lut", "pair", "to")]
    assert all(max(one[axis] for one in way) - min(one[axis] for one in way) < 9 for axis in (0, 1))
    lut, pair = found["lut"], found["pair"]
    assert lut[:2] == pair[:2] and lut[2].replace("K", "FF") == pair[2]
    assert len(set(found.values())) == len(found)
    assert all(found[f"f{x}_{y}"] == (x, y, "SLICED.FF1") for x, y in _TILES)


def refiner(folder: Path, cells: dict[str, Any]) -> Refiner:
    """With room for logic everywhere, and all ways late."""
    tiles = {one["attributes"]["NEXTPNR_BEL"].rsplit("/", 1)[0] for one in cells.values()}
    room = {
        f"l{x}_{y}": cell("COMB", f"X{x}/Y{y}/SLICED.K1", A=5000)
        for x in range(10, 45)
        for y in range(10, 45)
        if f"X{x}/Y{y}" not in tiles
    }
    cells = room | cells
    found = Refiner(write(folder, cells), delays(folder, cells), 1)
    found.t.backward(1.0)
    return found


def consistent(moving: Refiner) -> None:
    """Each cell is in its tile, and nothing else is in any."""
    d = moving.d
    there = {(x, y, z): k for (x, y), tile in moving.tiles.at.items() for z, k in tile.items()}
    assert there == {d.where(k)[1:]: k for k in range(len(d.names))}


def test_cells_that_hold_each_other_move_together(tmp_path: Path) -> None:
    cells = {
        "from": cell("FF", "X10/Y10/SLICEA.FF0", CLK=1, Q=2),
        "first": cell("COMB", "X40/Y40/SLICEA.K0", A=2, F=3),
        "second": cell("COMB", "X41/Y40/SLICEA.K0", A=3, F=4),
        "to": cell("FF", "X13/Y10/SLICEA.FF0", CLK=1, M=4),
    }
    moving = refiner(tmp_path, cells)
    number, where = moving.d.number, moving.d.where
    before = moving.t.forward()
    moving._shift(moving._unit(number["first"]))
    consistent(moving)
    assert moving.t.forward() < before - 1.0
    assert where(number["second"])[1] == where(number["first"])[1] + 1 < 41
    assert where(number["second"])[2] == where(number["first"])[2] < 40
    assert [where(number[name])[1:3] for name in ("from", "to")] == [(10, 10), (13, 10)]


_FULL = [f"SLICE{name}.K{lane}" for name in "ABCD" for lane in "01"]


def taken(x: int, y: int, **nets: int | str) -> dict[str, Any]:
    """LUTs in all lanes of a tile."""
    return {f"l{x}_{y}_{place}": cell("COMB", f"X{x}/Y{y}/{place}", **nets) for place in _FULL}


def push(moving: Refiner) -> bool:
    """Whether the LUT went to tile 12, 10; if it did not, everything is where it was."""
    d = moving.d
    was = [d.where(k) for k in range(len(d.names))]
    done = moving._push(moving._unit(d.number["lut"]), 12, 10)
    consistent(moving)
    now = [d.where(k) for k in range(len(d.names))]
    moved = {d.names[k] for k in range(len(now)) if now[k] != was[k]}
    assert len(moved) == 2 * done and ("lut" in moved) is done
    return done


def way(x: int, y: int) -> dict[str, Any]:
    """A late way through a LUT at x, y."""
    return {
        "from": cell("FF", "X10/Y10/SLICEA.FF0", CLK=1, Q=2),
        "lut": cell("COMB", f"X{x}/Y{y}/SLICEA.K0", A=2, F=3),
        "to": cell("FF", "X13/Y10/SLICEA.FF0", CLK=1, M=3),
    }


def test_others_step_aside_towards_what_they_work_with(tmp_path: Path) -> None:
    others = {
        f"l12_10_{place}": cell("COMB", f"X12/Y10/{place}", A=50, F=60 + n)
        for n, place in enumerate(_FULL)
    }
    ends = {f"end{n}": cell("FF", f"X{30 + n}/Y10/SLICEA.FF0", CLK=1, M=60 + n) for n in range(8)}
    start = {"start": cell("FF", "X28/Y10/SLICEA.FF0", CLK=1, Q=50)}
    moving = refiner(tmp_path, way(40, 40) | others | ends | start)
    assert push(moving)
    number, where = moving.d.number, moving.d.where
    assert where(number["lut"])[1:3] == (12, 10)
    (aside,) = (name for name in others if where(number[name])[1:3] != (12, 10))
    assert where(number[aside])[1] == 16


def test_what_cannot_move_does_not_step_aside(tmp_path: Path) -> None:
    assert not push(refiner(tmp_path, way(40, 40) | taken(12, 10, A=6000, mode="DPRAM")))


def full(columns: range, rows: range) -> dict[str, Any]:
    return {name: one for x in columns for y in rows for name, one in taken(x, y, A=6000).items()}


def test_nobody_steps_aside_if_there_is_no_place(tmp_path: Path) -> None:
    assert not push(refiner(tmp_path, full(range(8, 17), range(6, 15)) | way(40, 40)))


def test_nobody_steps_aside_for_a_worse_place(tmp_path: Path) -> None:
    assert not push(refiner(tmp_path, way(11, 10) | taken(12, 10, A=6000)))


def test_cells_do_not_move_where_they_are_worse_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moving = refiner(tmp_path, way(25, 10))
    was = [moving.d.where(k) for k in range(len(moving.d.names))]
    calls = []
    real = moving._free

    def far(unit: Unit, x: int, y: int) -> Iterator[list[Put]]:
        calls.append((x, y))
        return real(unit, 42, 42)

    monkeypatch.setattr(moving, "_free", far)
    moving._shift(moving._unit(moving.d.number["lut"]))
    consistent(moving)
    assert calls and [moving.d.where(k) for k in range(len(was))] == was


def test_a_run_keeps_the_best_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moving = refiner(tmp_path, way(40, 40))
    lut = moving.d.number["lut"]
    goes = iter([(12, 11), (44, 44), (30, 30), (43, 43)])

    def go(self: Refiner, unit: Unit) -> None:
        if unit.cells == [lut]:
            self.tiles.lift([lut])
            self.d.put([(lut, *next(goes), "SLICEA.K0")])
            self.tiles.drop([lut])

    monkeypatch.setattr(Refiner, "_better", go)
    monkeypatch.setattr(Refiner, "_shift", lambda *_: None)
    periods = list(moving.run(((0.15, 2), (0.15, 2))))
    consistent(moving)
    assert moving.d.where(lut)[1:3] == (12, 11)
    assert moving.t.forward() == pytest.approx(min(periods)) and len(set(periods)) == 4


@pytest.mark.parametrize("name", ["_push", "_shift"])
def test_a_run_pushes_and_shifts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    calls = []
    real = getattr(Refiner, name)

    def seen(*words: Any) -> Any:
        calls.append(words)
        return real(*words)

    monkeypatch.setattr(Refiner, name, seen)
    moving = refiner(tmp_path, full(range(10, 15), range(10, 18)) | way(40, 40))
    list(moving.run(((0.4, 2),)))
    consistent(moving)
    assert calls


def test_a_chain_stays_where_there_is_logic(tmp_path: Path) -> None:
    chain = {
        f"c{n}": cell("COMB", f"X{20 + n}/Y20/SLICEA.K0", mode="CCU2", FCI=70 + n, FCO=71 + n)
        for n in range(3)
    }
    moving = refiner(tmp_path, way(40, 40) | chain)
    unit = moving._unit(moving.d.number["c0"])
    assert len(unit.cells) == 3
    places = [place for x in range(38, 45) for place in moving._free(unit, x, 20)]
    assert places and all(x in range(10, 45) for place in places for _, x, _, _ in place)


def test_repair_takes_the_routes_of_detours_away(tmp_path: Path) -> None:
    cells = {
        "slow": cell("FF", "X10/Y10/SLICEA.FF0", CLK=1, Q=2),
        "slow_end": cell("FF", "X11/Y10/SLICEA.FF0", CLK=1, M=2),
        "quick": cell("FF", "X30/Y30/SLICEA.FF0", CLK=1, Q=3),
        "quick_end": cell("FF", "X90/Y80/SLICEA.FF0", CLK=1, M=3),
    }
    routed, sdf, repaired = write(tmp_path, cells), delays(tmp_path, cells), tmp_path / "repaired"
    data = json.loads(routed.read_text())
    data["modules"]["top"]["netnames"] = {
        name: {"bits": [bit], "attributes": {"ROUTING": "wires"}}
        for name, bit in (("slow", 2), ("quick", 3))
    }
    routed.write_text(json.dumps(data))
    with sdf.open("a") as more:
        more.write("\n(INTERCONNECT slow/Q slow_end/M (1:2:3000) (1:2:3000))")
        more.write("\n(INTERCONNECT quick/Q quick_end/M (1:2:900) (1:2:900))")
    before, after = repair(routed, sdf, repaired, 1, avoidable=True)
    assert before == pytest.approx(0.4 + 3.0) and after < 1.5
    nets = json.loads(repaired.read_text())["modules"]["top"]["netnames"]
    assert nets == {
        "slow": {"bits": [2], "attributes": {}},
        "quick": {"bits": [3], "attributes": {"ROUTING": "wires"}},
    }
    assert places(repaired)["quick_end"] == (90, 80, "SLICEA.FF0")


def test_worst_ways_end_at_different_registers_and_have_their_sources(tmp_path: Path) -> None:
    cells = {
        "dut.a_TRELLIS_FF_Q_3": cell("FF", "X10/Y10/SLICEA.FF0", CLK=1, Q=2),
        "dut.part.g[0].x_LUT4_Z": cell("COMB", "X11/Y10/SLICEA.K0", A=2, F=3),
        "dut.b_TRELLIS_FF_Q": cell("FF", "X12/Y10/SLICEA.FF0", CLK=1, M=3),
        "dut.b_TRELLIS_FF_Q_1": cell("FF", "X12/Y10/SLICEA.FF1", CLK=1, M=2),
        "w_out_TRELLIS_FF_Q": cell("FF", "X13/Y10/SLICEA.FF0", CLK=1, M=2),
    }
    placed, sdf = write(tmp_path, cells), delays(tmp_path, cells)
    wires = [(f"a/Q {name}/{port}") for name, one in cells.items() for port in one["connections"]]
    with sdf.open("a") as more:
        more.writelines(f"\n(INTERCONNECT {wire} (1:2:1000) (1:2:1000))" for wire in wires)
    made = "|/tools/cells_map.v:16.1-16.2"
    nets = {"dut.a": f"{ROOT}/hdl/a.v:3.5-3.9{made}", "dut.b": f"{ROOT}/hdl/b.v:4.5-4.9"}
    nets["w_out"] = f"{ROOT}/sim_build/wrap.v:2.1-2.9"
    module = {
        "netnames": {name: {"attributes": {"src": text}} for name, text in nets.items()},
        "cells": {"dut.part": {"attributes": {"module_src": f"{ROOT}/hdl/lib/part.v:11.1-37.10"}}},
    }
    timing = Timing(Placed(placed), sdf, routed=True)
    sources = ("hdl/a.v:3", "hdl/lib/part.v:11", "hdl/b.v:4")
    first = Way("a", "b", 1, 2.6, 0.2, sources)
    assert worst(timing, declared(module)) == [first, Way("a", "w_out", 0, 1.4, 0.0, sources[:1])]
    assert worst(timing, {}, 1) == [replace(first, sources=())]


_FF = {"CLK": 1}


@pytest.mark.parametrize(
    ("allowed", "first", "second"),
    [
        (True, ("FF", "A.FF0", {**_FF, "CE": 5}), ("FF", "A.FF1", {**_FF, "CE": 5})),
        (False, ("FF", "A.FF0", {**_FF, "CE": 5}), ("FF", "A.FF1", {**_FF, "CE": 6})),
        (True, ("FF", "A.FF0", {**_FF, "CE": 5}), ("FF", "B.FF1", {**_FF, "CE": 6})),
        (False, ("FF", "A.FF0", {**_FF, "LSR": 5}), ("FF", "D.FF1", _FF)),
        (False, ("FF", "A.FF0", _FF), ("FF", "D.FF1", {**_FF, "lsrmux": "INV"})),
        (False, ("FF", "A.FF0", _FF), ("FF", "C.FF1", {"CLK": 2})),
        (False, ("FF", "A.FF0", _FF), ("FF", "A.FF1", {**_FF, "cemux": "INV"})),
        (False, ("COMB", "A.K0", {"mode": "CCU2"}), ("COMB", "A.K1", {"A": 7})),
        (True, ("COMB", "A.K0", {"mode": "CCU2"}), ("COMB", "B.K1", {"A": 7})),
        (False, ("COMB", "A.K0", {"M": 7}), ("FF", "A.FF0", {**_FF, "M": 8})),
        (True, ("COMB", "A.K0", {"M": 7}), ("FF", "A.FF1", {**_FF, "M": 8})),
    ],
)
def test_rules_of_a_tile(tmp_path: Path, allowed: bool, first: Any, second: Any) -> None:
    cells = {
        str(n): cell(kind, f"X10/Y10/SLICE{place}", **nets)
        for n, (kind, place, nets) in enumerate((first, second))
    }
    tiles = Tiles(Placed(write(tmp_path, cells)))
    assert tiles.fits(tiles.at[10, 10]) is allowed


def test_a_taken_place_is_no_room(tmp_path: Path) -> None:
    cells = {
        "a": cell("COMB", "X10/Y10/SLICEA.K0", A=2),
        "b": cell("COMB", "X11/Y10/SLICEA.K0", A=2),
    }
    tiles = Tiles(Placed(write(tmp_path, cells)))
    ways = [[(1, 0, 0, "SLICEA.K0")], [(1, 0, 0, "SLICEA.K1")]]
    assert tiles.room(ways, 10, 10) == [(1, 10, 10, "SLICEA.K1")]
    assert tiles.room(ways[:1], 10, 10) is None
