# SPDX-License-Identifier: Apache-2.0
"""Moves cells of a placed design off their detours.

nextpnr's legaliser puts single cells tens of tiles off their way, and its annealing weighs
timing by an estimate that is far above what its router reaches. Here each cell on a way that is
nearly the longest tries places nearby, and stays where the ways through it are shortest. nextpnr
checks the result, with no cell left to place, and routes it. After that the same is done with the
delays of its routes: only nets of cells that move, and those with a detour, are routed again.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import exp
from pathlib import Path
from random import Random

from scripts.synth.placed import LOGIC, RAM_PLACES, SLICES, Placed, Put, Tiles
from scripts.synth.sta import Pin, Timing

ROUNDS, REPAIR_ROUNDS = 18, 6
_TAU = 0.15  # ns: a way that is later by this counts e times as much
_NEAR = 4 * _TAU  # ns above the longest way in which a way counts
_DETOUR = 0.3  # ns that a route is longer than assumed
_AHEAD = 0.97  # each third round asks for a shorter period than was reached
_SPRING = 0.03  # what a long wire on a late way costs, so that cells spread evenly over a way
_REACH = 3  # tiles around a place
_RING = 7  # the same where the best place is taken
_RAM_REACH = (40, 30)  # columns, rows


class Unit:
    """Cells that move as one, and the inputs and nets whose timing their places decide."""

    def __init__(self, cells: list[int], timing: Timing) -> None:
        self.cells, self._t = cells, timing
        d = timing.d
        inside = set(cells)
        own = {net for k in cells for net in d.outs[k].values() if d.sinks[net]}
        pins = [(net, k, port) for k in cells for port, net in d.ins[k].items()]
        self.ins = [pin for pin in pins if pin[0] in timing.arrival and pin[0] not in own]
        self._starts = {net: timing.start[net] for net in own if net in timing.start}
        self._logic = sorted(own & timing.arcs.keys(), key=timing.rank.__getitem__)
        sinks = [(net, k, port) for net in sorted(own) for k, port in d.sinks[net]]
        self.outs = [pin for pin in sinks if pin[1] not in inside]
        self._checks = [pin for pin in sinks if pin[1] in inside and pin[1:] in timing.setup]
        self.ways = self._ways()

    def _ways(self) -> list[list[Put]]:
        """Ways to put the cells down, as distances from the tile of the first one: any lane or
        slice for what is in one, the other half of a tile for what is in two slices of one.
        """
        d = self._t.d
        x0, y0 = d.x[self.cells[0]], d.y[self.cells[0]]
        here = [(k, d.x[k] - x0, d.y[k] - y0, d.z[k]) for k in self.cells]
        if any(d.kinds[k] not in LOGIC or d.modes[k] or dx or dy for k, dx, dy, _ in here):
            return [here]
        parts = [z.split(".") for *_, z in here]
        slices, lanes = sorted({name for name, _ in parts}), {lane[-1] for _, lane in parts}
        if len(slices) == 1:
            alone = len(lanes) == 1 and not any(
                "M" in d.ins[k] for k in self.cells if d.kinds[k] == "TRELLIS_COMB"
            )
            return [
                [
                    (k, 0, 0, f"{name}.{lane[:-1]}{other if alone else lane[-1]}")
                    for k, (_, lane) in zip(self.cells, parts, strict=True)
                ]
                for name in SLICES
                for other in ("01" if alone else "0")
            ]
        if tuple(slices) in (SLICES[:2], SLICES[2:]):
            return [
                [
                    (k, 0, 0, f"{half[slices.index(name)]}.{lane}")
                    for k, (name, lane) in zip(self.cells, parts, strict=True)
                ]
                for half in (SLICES[:2], SLICES[2:])
            ]
        return [here]

    def cost(self) -> float:
        """How late the ways through the cells are, where the cells are now."""
        t = self._t
        required, wire = t.required, t.wire
        total = length = 0.0
        at_pin: dict[tuple[int, str], float] = {}
        for pin in self.ins:
            ns = wire(pin)
            length += ns
            at_pin[pin[1:]] = at = t.arrival[pin[0]] + ns
            if pin[1:] in required:
                late = exp(min(60.0, (at - required[pin[1:]]) / _TAU))
                total += late * ((pin[1:] in t.setup) + _SPRING * ns * ns)
        at_net = dict(self._starts)
        for net in self._logic:
            at = at_net.get(net, -1.0)
            for pin, ns in t.arcs[net]:
                if (before := at_pin.get(pin[1:])) is not None:
                    at = max(at, before + ns)
                elif pin[0] in at_net:
                    at = max(at, at_net[pin[0]] + wire(pin) + ns)
            at_net[net] = at
        for pin in self.outs:
            ns = wire(pin)
            length += ns
            if pin[0] in at_net and pin[1:] in required:
                late = exp(min(60.0, (at_net[pin[0]] + ns - required[pin[1:]]) / _TAU))
                total += late * (1.0 + _SPRING * ns * ns)
        for pin in self._checks:
            if pin[0] in at_net:
                at = at_net[pin[0]] + wire(pin)
                total += exp(min(60.0, (at - required[pin[1:]]) / _TAU))
        return total + 1e-4 * length


class Refiner:
    """``placed``: nextpnr's design after placement, or after its route; ``sdf``: its delays;
    ``seed``: of the places that are tried.
    """

    def __init__(self, placed: Path, sdf: Path, seed: int, routed: bool = False) -> None:
        self.d = Placed(placed)
        self.tiles = Tiles(self.d)
        self.t = Timing(self.d, sdf, routed)
        self.t.forward()
        self._rng = Random(seed)
        self._groups = self.d.groups()
        self._group_of = {k: n for n, cells in enumerate(self._groups) for k in cells}
        self._made: dict[int, Unit] = {}

    def run(self, rounds: int = ROUNDS) -> Iterator[float]:
        """Yields the longest way, ns, after each round; at the end cells are where it was the
        shortest.
        """
        d, t = self.d, self.t
        period = best = t.forward()
        kept = [d.where(k) for k in range(len(d.names))]
        for n in range(rounds):
            t.backward(period * (_AHEAD if n % 3 == 0 else 1.0))
            for unit in self._late():
                self._better(unit)
            period = t.forward()
            if period < best:
                best, kept = period, [d.where(k) for k in range(len(d.names))]
            yield period
        self.tiles.lift(range(len(d.names)))
        d.put(kept)
        self.tiles.drop(range(len(d.names)))

    def detours(self) -> set[int]:
        """Nets on ways that are nearly the longest, whose routes are longer than they need be."""
        d, t = self.d, self.t
        t.backward(t.forward())
        late = [
            (net, k, port)
            for net in t.arrival
            for k, port in d.sinks[net]
            if (k, port) in t.routed and t.slack((net, k, port)) < _NEAR / 2
        ]
        return {pin[0] for pin in late if t.wire(pin) > t.assumed(pin) + _DETOUR}

    def touched(self) -> set[int]:
        """Nets of the cells that have moved."""
        d = self.d
        moved = [k for k, was in enumerate(self.t.was) if was != d.where(k)]
        return {net for k in moved for ports in (d.ins[k], d.outs[k]) for net in ports.values()}

    def _unit(self, k: int) -> Unit:
        n = self._group_of[k]
        if n not in self._made:
            self._made[n] = Unit(self._groups[n], self.t)
        return self._made[n]

    def _late(self) -> list[Unit]:
        """Those on ways that are nearly the longest, in random order."""
        t, d = self.t, self.d
        cells = {
            cell
            for net in t.arrival
            for k, port in d.sinks[net]
            if t.slack((net, k, port)) < _NEAR
            for cell in (k, d.driver[net])
        }
        groups = sorted({self._group_of[k] for k in cells})
        self._rng.shuffle(groups)
        return [self._unit(self._groups[n][0]) for n in groups]

    def _tries(self, unit: Unit) -> set[tuple[int, int]]:
        """Tiles for its first cell: around its own, around the middle of its neighbours, late
        ones first, and those of single neighbours and half way to them.
        """
        d, t, rng = self.d, self.t, self._rng
        pull: list[tuple[int, int, float]] = []

        def add(pin: Pin, k: int) -> None:
            if (slack := t.slack(pin)) < 9.0:
                pull.append((d.x[k], d.y[k], exp(min(20.0, -slack / 0.4))))

        for pin in unit.ins:
            add(pin, d.driver[pin[0]])
        for pin in unit.outs:
            add(pin, pin[1])
        _, x0, y0, _ = d.where(unit.cells[0])
        middles = [(x0, y0)]
        if weight := sum(w for *_, w in pull):
            x, y = sum(x * w for x, _, w in pull) / weight, sum(y * w for _, y, w in pull) / weight
            middles.append((round(x), round(y)))
        steps = range(-_REACH, _REACH + 1)
        found = {(x + dx, y + dy) for x, y in middles for dx in steps for dy in steps}
        for _ in range(8 if pull else 0):
            x, y, _w = pull[rng.randrange(len(pull))]
            found |= {(x, y), ((x + x0) // 2, (y + y0) // 2)}
        return found

    def _better(self, unit: Unit) -> None:
        """Moves a unit to the best of the places that it tries, if that is better than its own."""
        if self.d.kinds[unit.cells[0]] == "DP16KD":
            return self._better_ram(unit)
        d, tiles = self.d, self.tiles
        old = [d.where(k) for k in unit.cells]
        best, found = unit.cost() * 0.999, old
        wish: tuple[float, int, int] | None = None  # the best place, free or not
        tiles.lift(unit.cells)
        tries = self._tries(unit)
        for ring in (False, True):
            for x, y in tries:
                first = [(k, x + dx, y + dy, z) for k, dx, dy, z in unit.ways[0]]
                if not all(px in tiles.columns and py in tiles.rows for _, px, py, _ in first):
                    continue
                d.put(first)
                cost = unit.cost()
                if wish is None or cost < wish[0]:
                    wish = cost, x, y
                if cost < best and (place := tiles.room(unit.ways, x, y)):
                    best, found = cost, place
            if ring or wish is None or wish[0] > 0.9 * best:
                break
            steps = range(-_RING, _RING + 1)
            tries = {(wish[1] + dx, wish[2] + dy) for dx in steps for dy in steps} - tries
        d.put(found)
        tiles.drop(unit.cells)
        return None

    def _better_ram(self, unit: Unit) -> None:
        """The same for a block RAM, which may change places with another one."""
        d, tiles = self.d, self.tiles
        (k,) = unit.cells
        here = d.where(k)[1:]
        now = unit.cost()
        best, found = -1e-3 * now, None
        for there in RAM_PLACES:
            far = (
                abs(there[0] - here[0]) > _RAM_REACH[0] and abs(there[1] - here[1]) > _RAM_REACH[1]
            )
            if far or there == here:
                continue
            j = tiles.at.get(there[:2], {}).get(there[2])
            both = [unit] if j is None else [unit, self._unit(j)]
            before = now if j is None else now + both[1].cost()
            swap = [(k, *there)] if j is None else [(k, *there), (j, *here)]
            d.put(swap)
            change = sum(one.cost() for one in both) - before
            d.put([(k, *here)] if j is None else [(k, *here), (j, *there)])
            if change < best:
                best, found = change, swap
        if found:
            tiles.lift([cell for cell, *_ in found])
            d.put(found)
            tiles.drop([cell for cell, *_ in found])


def refine(placed: Path, sdf: Path, refined: Path, seed: int) -> tuple[float, float]:
    """Writes a design for nextpnr to route. Returns the longest way before and after, ns, by the
    delays of wires that are assumed here.
    """
    refiner = Refiner(placed, sdf, seed)
    before = refiner.t.forward()
    for _ in refiner.run():
        pass
    refiner.d.write(refined)
    return before, refiner.t.forward()


def repair(
    routed: Path, sdf: Path, repaired: Path, seed: int, avoidable: bool
) -> tuple[float, float]:
    """The same of a design that is routed; what is to be routed again has no route. ``avoidable``:
    detours are chance; else the next route would have them again, if no cell moves.
    """
    refiner = Refiner(routed, sdf, seed, routed=True)
    before = refiner.t.forward()
    detours = refiner.detours()
    if avoidable:
        refiner.t.forget(detours)
    for _ in refiner.run(REPAIR_ROUNDS):
        pass
    refiner.d.unroute(detours | refiner.touched())
    refiner.d.write(repaired)
    return before, refiner.t.forward()
