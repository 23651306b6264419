# SPDX-License-Identifier: Apache-2.0
"""An ECP5 design that nextpnr has placed: cells, nets, places, and what may share a tile."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

#: A cell and where it goes: column, row, place in the tile (`SLICEA.K0`, `EBR0`).
Put = tuple[int, int, int, str]
SLICES = ("SLICEA", "SLICEB", "SLICEC", "SLICED")
LOGIC = ("TRELLIS_COMB", "TRELLIS_FF")
#: Inputs of these that only a cell of the same slice or chain drives: such cells move as one.
_TIED = re.compile(r"F1|FX[AB]|FCI|DI|W(AD|D)\d?")
#: Block RAMs of an ECP5-85 that have logic on both sides.
RAM_PLACES = tuple(
    (x + 2 * k, y, f"EBR{k}")
    for y in (22, 46, 70)
    for x in (13, 22, 31, 40, 49, 58, 69, 78, 87, 96, 105)
    for k in range(4)
)


class Placed:
    """A design by numbers of its cells. ``path``: what nextpnr has written after placement."""

    def __init__(self, path: Path) -> None:
        self._data = json.loads(path.read_text())
        (top,) = self._data["modules"].values()
        self._cells: dict[str, Any] = top["cells"]
        self.names = list(self._cells)
        self.number = {name: k for k, name in enumerate(self.names)}
        self.kinds = [str(cell["type"]) for cell in self._cells.values()]
        self.modes = [self.parameter(k, "MODE") for k in range(len(self.names))]
        self.x, self.y, self.z = [], [], []
        self.driver: dict[int, int] = {}  # of a net
        self.sinks: dict[int, list[tuple[int, str]]] = defaultdict(list)
        self.ins: list[dict[str, int]] = [{} for _ in self.names]  # nets by ports
        self.outs: list[dict[str, int]] = [{} for _ in self.names]
        for k, cell in enumerate(self._cells.values()):
            bel = re.fullmatch(r"X(\d+)/Y(\d+)/(.*)", cell["attributes"]["NEXTPNR_BEL"])
            assert bel, f"{self.names[k]} has no place"
            self.x.append(int(bel[1]))
            self.y.append(int(bel[2]))
            self.z.append(bel[3])
            for port, bits in cell["connections"].items():
                if bits and cell["port_directions"][port] == "output":
                    self.outs[k][port] = bits[0]
                    self.driver[bits[0]] = k
                elif bits:
                    self.ins[k][port] = bits[0]
                    self.sinks[bits[0]].append((k, port))
        #: Inputs of each cell that have no wire of their own.
        self.tied = [
            {port for port in ins if kind in LOGIC and _TIED.fullmatch(port)}
            for kind, ins in zip(self.kinds, self.ins, strict=True)
        ]

    def parameter(self, k: int, key: str, usual: str = "") -> str:
        """Of a cell; nextpnr pads some with a blank."""
        return str(self._cells[self.names[k]]["parameters"].get(key, usual)).strip()

    def put(self, cells: Iterable[Put]) -> None:
        """Moves cells; what is there already is not looked at."""
        for k, x, y, z in cells:
            self.x[k], self.y[k], self.z[k] = x, y, z

    def where(self, k: int) -> Put:
        """Where a cell is."""
        return k, self.x[k], self.y[k], self.z[k]

    def unroute(self, nets: set[int]) -> None:
        """Takes the routes of these nets away."""
        (top,) = self._data["modules"].values()
        for net in top["netnames"].values():
            if not nets.isdisjoint(net["bits"]):
                net["attributes"].pop("ROUTING", None)

    def write(self, path: Path) -> None:
        """For nextpnr, with the places as they are now."""
        for k, cell in enumerate(self._cells.values()):
            cell["attributes"]["NEXTPNR_BEL"] = f"X{self.x[k]}/Y{self.y[k]}/{self.z[k]}"
        path.write_text(json.dumps(self._data))

    def groups(self) -> list[list[int]]:
        """Cells that move as one: wide multiplexers, carry chains, LUTs with their registers,
        distributed RAM.
        """
        of = list(range(len(self.names)))

        def find(k: int) -> int:
            while of[k] != k:
                of[k] = of[of[k]]
                k = of[k]
            return k

        for net, first in self.driver.items():
            for k, port in self.sinks[net]:
                if port in self.tied[k]:
                    of[find(k)] = find(first)
        for name, k in self.number.items():
            if self.modes[k] == "RAMW_BLOCK":
                of[find(k)] = find(self.number[name.rsplit("$", 1)[0] + "$RAMW_SLICE"])
        found = defaultdict(list)
        for k in range(len(self.names)):
            found[find(k)].append(k)
        return list(found.values())


class Tiles:
    """What is in each tile, and nextpnr's rules of what may share one (`slices_compatible`)."""

    def __init__(self, design: Placed) -> None:
        self._d = d = design
        self.at: dict[tuple[int, int], dict[str, int]] = defaultdict(dict)
        for k in range(len(d.names)):
            self.at[d.x[k], d.y[k]][d.z[k]] = k
        logic = [place for place, tile in self.at.items() if not tile.keys().isdisjoint(_COMBS)]
        self.columns = {x for x, _ in logic}
        self.rows = {y for _, y in logic}
        self._of_slice: dict[int, tuple[object, ...]] = {}
        self._of_tile: dict[int, tuple[object, ...]] = {}
        for k, kind in enumerate(d.kinds):
            if kind == "TRELLIS_FF":
                ins, parameter = d.ins[k], d.parameter
                enable, gsr = parameter(k, "CEMUX", "CE"), parameter(k, "GSR", "ENABLED")
                self._of_slice[k] = (ins.get("CE"), enable, gsr)
                muxes = parameter(k, "CLKMUX", "CLK"), parameter(k, "LSRMUX", "LSR")
                mode = parameter(k, "SRMODE", "LSR_OVER_CE")
                self._of_tile[k] = (ins.get("CLK"), ins.get("LSR"), *muxes, mode)

    def fits(self, tile: dict[str, int]) -> bool:
        """Whether a tile may hold these cells: registers share clock and reset, those of a slice
        their enable, a carry fills a slice, and input M has one user. Inverted clocks of
        distributed RAM are left to nextpnr, which checks all of it again.
        """
        d = self._d
        of_tile: tuple[object, ...] | None = None
        for name in SLICES:
            of_slice: tuple[object, ...] | None = None
            combs = [tile.get(f"{name}.K{lane}") for lane in "01"]
            carries = [d.modes[comb] == "CCU2" for comb in combs if comb is not None]
            if len(set(carries)) == 2:
                return False
            for lane, comb in enumerate(combs):
                register = tile.get(f"{name}.FF{lane}")
                if register is None:
                    continue
                if comb is not None and "M" in d.ins[comb] and "M" in d.ins[register]:
                    return False
                mine, all_of = self._of_slice[register], self._of_tile[register]
                if of_slice not in (None, mine) or of_tile not in (None, all_of):
                    return False
                of_slice, of_tile = mine, all_of
        return True

    def lift(self, cells: Iterable[int]) -> None:
        """Takes cells out of their tiles."""
        for k in cells:
            del self.at[self._d.x[k], self._d.y[k]][self._d.z[k]]

    def drop(self, cells: Iterable[int]) -> None:
        """Cells are in their tiles again."""
        for k in cells:
            self.at[self._d.x[k], self._d.y[k]][self._d.z[k]] = k

    def room(self, ways: Iterable[list[Put]], x: int, y: int) -> list[Put] | None:
        """The first of these ways to put cells down, from the tile at x, y, that is free and
        allowed, all of it where there is logic.
        """
        for way in ways:
            found = [(k, x + dx, y + dy, z) for k, dx, dy, z in way]
            if not all(px in self.columns and py in self.rows for _, px, py, _ in found):
                continue
            tiles: dict[tuple[int, int], dict[str, int]] = {}
            for k, px, py, z in found:
                tile = tiles.setdefault((px, py), dict(self.at.get((px, py), {})))
                if tile.setdefault(z, k) != k:
                    break
            else:
                if all(self.fits(tile) for tile in tiles.values()):
                    return found
        return None


_COMBS = {f"{name}.K{lane}" for name in SLICES for lane in "01"}
