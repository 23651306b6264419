# SPDX-License-Identifier: Apache-2.0
"""Moves cells of a placed design off their detours.

nextpnr's placer puts what works together far apart, its legaliser puts single cells tens of tiles
off their way, and its annealing weighs timing by an estimate that is far above what its router
reaches. Here each cell on a way that is nearly the longest tries places nearby, and stays where the
ways through it are shortest; others step aside for it. A wire of twice the length is less than
twice as slow, so cells near each other keep each other where they are: they move together, too.
nextpnr checks the result, with no cell left to place, and routes it. After that the same is done
with the delays of its routes: only nets of cells that move, and those with a detour, are routed
again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import exp
from pathlib import Path
from random import Random

from scripts.synth.placed import RAM_PLACES, Placed, Put, Tiles
from scripts.synth.sta import WIRES, Pin, Timing
from scripts.synth.unit import Unit

#: The ns by which a way must be later to count e times as much, and rounds. The first ones look at
#: many ways, and so do not stop where two of them hold each other.
ROUNDS = ((0.4, 8), (0.25, 8), (0.15, 8))
REPAIR_ROUNDS = ((0.15, 6),)
_RAM = "DP16KD"
_AT_ONCE = 1500  # units that a round looks at
_NEAR = 4  # times that many ns above the longest way in which a way counts
_DETOUR = 0.3  # ns that a route is longer than assumed
_AHEAD = 0.97  # each third round asks for a shorter period than was reached
_REACH = 3  # tiles around a place
_RING = 7  # the same where the best place is taken
_RAM_REACH = (40, 30)  # columns, rows
_WISHES = 8  # places of others that a unit tries, the best ones
_ASIDE = 4  # tiles that others step aside for it, and that a free place may be off the one wanted
_TOGETHER = (6, 14, 40)  # units that move together
_JOINED = (1, 3, 6)  # tiles of a wire that keeps units together
_PARTS = (0.12, 0.25, 0.5, 0.75, 1.0)  # of the way to a neighbour that they move
_MOVES = 40  # that they try, and the best ones of them that are looked at with what is in the way
_BEST = 4
_PULLS = 3.0  # ns above the longest way in which a neighbour may pull them
_ON_CHIP = range(len(WIRES))
_AROUND = sorted(
    ((x, y) for x in range(-_ASIDE, _ASIDE + 1) for y in range(-_ASIDE, _ASIDE + 1)),
    key=lambda at: (abs(at[0]) + abs(at[1]), at),
)


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
        self._tau = ROUNDS[-1][0]

    def run(self, rounds: Sequence[tuple[float, int]] = ROUNDS) -> Iterator[float]:
        """Yields the longest way, ns, after each round; at the end cells are where it was the
        shortest.
        """
        d, t = self.d, self.t
        everything = range(len(d.names))
        period = best = t.forward()
        kept = [d.where(k) for k in everything]
        for self._tau, number in rounds:
            for n in range(number):
                t.backward(period * (_AHEAD if n % 3 == 0 else 1.0))
                for unit in self._late():
                    self._better(unit)
                    if n % 2:
                        self._shift(unit)
                period = t.forward()
                if period < best:
                    best, kept = period, [d.where(k) for k in everything]
                yield period
            self.tiles.lift(everything)
            d.put(kept)
            self.tiles.drop(everything)
            period = t.forward()

    def detours(self) -> set[int]:
        """Nets on ways that are nearly the longest, whose routes are longer than they need be."""
        d, t = self.d, self.t
        t.backward(t.forward())
        late = [
            (net, k, port)
            for net in t.arrival
            for k, port in d.sinks[net]
            if (k, port) in t.routed and t.slack((net, k, port)) < self._near / 2
        ]
        return {pin[0] for pin in late if t.wire(pin) > t.assumed(pin) + _DETOUR}

    def touched(self) -> set[int]:
        """Nets of the cells that have moved."""
        d = self.d
        moved = [k for k, was in enumerate(self.t.was) if was != d.where(k)]
        return {net for k in moved for ports in (d.ins[k], d.outs[k]) for net in ports.values()}

    @property
    def _near(self) -> float:
        return _NEAR * self._tau

    def _cost(self, units: Iterable[Unit]) -> float:
        return sum(unit.cost(self._tau) for unit in units)

    def _unit(self, k: int) -> Unit:
        n = self._group_of[k]
        if n not in self._made:
            self._made[n] = Unit(self._groups[n], self.t)
        return self._made[n]

    def _late(self) -> list[Unit]:
        """Those on ways that are nearly the longest, the latest of them, in random order."""
        t, d = self.t, self.d
        slacks: dict[int, float] = {}
        for net in t.arrival:
            for k, port in d.sinks[net]:
                if (slack := t.slack((net, k, port))) < self._near:
                    for n in (self._group_of[k], self._group_of[d.driver[net]]):
                        slacks[n] = min(slacks.get(n, slack), slack)
        groups = sorted(slacks, key=lambda n: (slacks[n], n))[:_AT_ONCE]
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
        """Moves a unit to the best of the places that it tries, if that is better than its own.
        Where others are, they step aside if that is better for all of them together.
        """
        if self.d.kinds[unit.cells[0]] == _RAM:
            return self._better_ram(unit)
        d, tiles, tau = self.d, self.tiles, self._tau
        old = [d.where(k) for k in unit.cells]
        best, found = unit.cost(tau) * 0.999, old
        wish: tuple[float, int, int] | None = None  # the best place, free or not
        taken: list[tuple[float, int, int]] = []
        tiles.lift(unit.cells)
        tries = self._tries(unit)
        for ring in (False, True):
            for x, y in tries:
                first = [(k, x + dx, y + dy, z) for k, dx, dy, z in unit.ways[0]]
                if not all(px in tiles.columns and py in tiles.rows for _, px, py, _ in first):
                    continue
                d.put(first)
                cost = unit.cost(tau)
                if wish is None or cost < wish[0]:
                    wish = cost, x, y
                if cost >= best:
                    continue
                if place := tiles.room(unit.ways, x, y):
                    best, found = cost, place
                else:
                    taken.append((cost, x, y))
            if ring or wish is None or wish[0] > 0.9 * best:
                break
            steps = range(-_RING, _RING + 1)
            tries = {(wish[1] + dx, wish[2] + dy) for dx in steps for dy in steps} - tries
        d.put(found)
        tiles.drop(unit.cells)
        for cost, x, y in sorted(taken)[:_WISHES]:
            if cost > 0.9 * best or self._push(unit, x, y):
                break
        return None

    def _push(self, unit: Unit, x: int, y: int) -> bool:
        """Moves a unit to a tile where others are, if the sum of their costs is less when they have
        stepped aside.
        """
        d, tiles = self.d, self.tiles
        for way in unit.ways:
            found = [(k, x + dx, y + dy, z) for k, dx, dy, z in way]
            all_of = [unit]
            for _, px, py, z in found:
                k = tiles.at.get((px, py), {}).get(z)
                if k is not None and self._unit(k) not in all_of:
                    all_of.append(self._unit(k))
            if not all(one.light for one in all_of[1:]):
                continue
            cells = [k for one in all_of for k in one.cells]
            old = [d.where(k) for k in cells]
            before = self._cost(all_of)
            tiles.lift(cells)
            down: list[int] = []
            if tiles.room([way], x, y):
                d.put(found)
                tiles.drop(unit.cells)
                down += unit.cells
                for one in all_of[1:]:
                    if not self._step_aside(one):
                        break
                    down += one.cells
            if len(down) == len(cells) and self._cost(all_of) < 0.999 * before:
                return True
            tiles.lift(down)
            d.put(old)
            tiles.drop(cells)
        return False

    def _step_aside(self, unit: Unit) -> bool:
        """Puts a unit that is in no tile down at the best free place nearby."""
        d = self.d
        _, x, y, _ = d.where(unit.cells[0])
        best: tuple[float, list[Put]] | None = None
        for place in self._free(unit, x, y):
            d.put(place)
            cost = unit.cost(self._tau)
            if best is None or cost < best[0]:
                best = cost, place
        if best is None:
            return False
        d.put(best[1])
        self.tiles.drop(unit.cells)
        return True

    def _free(self, unit: Unit, x: int, y: int) -> Iterator[list[Put]]:
        """Free places for a unit, one in each tile near x, y, the nearest first."""
        tiles = self.tiles
        for dx, dy in _AROUND:
            if place := tiles.room(unit.ways, x + dx, y + dy):
                yield place

    def _cluster(self, unit: Unit, most: int, reach: int) -> list[Unit]:
        """A unit, and those that late wires join to it, whose ends lie no more than ``reach`` tiles
        from the first cell of the unit that they leave.
        """
        d, t = self.d, self.t
        found = {id(unit): unit}
        to_do = [unit]
        for one in to_do:
            _, x, y, _ = d.where(one.cells[0])
            ends = [(pin, d.driver[pin[0]]) for pin in one.ins]
            for pin, k in ends + [(pin, pin[1]) for pin in one.outs]:
                if len(found) == most or t.slack(pin) > self._near:
                    continue
                if abs(d.x[k] - x) > reach or abs(d.y[k] - y) > reach:
                    continue
                other = self._unit(k)
                if id(other) not in found and d.kinds[other.cells[0]] != _RAM:
                    found[id(other)] = other
                    to_do.append(other)
        return to_do

    def _shift(self, unit: Unit) -> None:
        """Moves a unit and those near it together, towards a neighbour that is far away."""
        d, t, tiles = self.d, self.t, self.tiles
        if d.kinds[unit.cells[0]] == _RAM:
            return
        parts = self._cluster(unit, self._rng.choice(_TOGETHER), self._rng.choice(_JOINED))
        whole = Unit([k for one in parts for k in one.cells], t)
        old = [d.where(k) for k in whole.cells]
        before = whole.cost(self._tau)
        ends = [(pin, pin[1], d.driver[pin[0]]) for pin in whole.ins]
        ends += [(pin, d.driver[pin[0]], pin[1]) for pin in whole.outs]
        moves = {
            (round((d.x[far] - d.x[near]) * part), round((d.y[far] - d.y[near]) * part))
            for pin, near, far in ends
            if t.slack(pin) < _PULLS
            for part in _PARTS
        }
        good = []
        tried = sorted(
            (dx, dy)
            for dx, dy in moves - {(0, 0)}
            if all(x + dx in _ON_CHIP and y + dy in _ON_CHIP for _, x, y, _ in old)
        )
        for dx, dy in self._rng.sample(tried, min(_MOVES, len(tried))):
            d.put((k, x + dx, y + dy, z) for k, x, y, z in old)
            if (cost := whole.cost(self._tau)) < 0.97 * before:
                good.append((cost, dx, dy))
        d.put(old)
        for _, dx, dy in sorted(good)[:_BEST]:
            tiles.lift(whole.cells)
            down: list[int] = []
            for one in sorted(parts, key=lambda one: -len(one.cells)):
                _, x, y, _ = d.where(one.cells[0])
                if (place := next(self._free(one, x + dx, y + dy), None)) is None:
                    break
                d.put(place)
                tiles.drop(one.cells)
                down += one.cells
            if len(down) == len(whole.cells) and whole.cost(self._tau) < 0.99 * before:
                return
            tiles.lift(down)
            d.put(old)
            tiles.drop(whole.cells)

    def _better_ram(self, unit: Unit) -> None:
        """The same for a block RAM, which may change places with another one."""
        d, tiles = self.d, self.tiles
        (k,) = unit.cells
        here = d.where(k)[1:]
        now = unit.cost(self._tau)
        best, found = -1e-3 * now, None
        for there in RAM_PLACES:
            far = (
                abs(there[0] - here[0]) > _RAM_REACH[0] and abs(there[1] - here[1]) > _RAM_REACH[1]
            )
            if far or there == here:
                continue
            j = tiles.at.get(there[:2], {}).get(there[2])
            both = [unit] if j is None else [unit, self._unit(j)]
            before = self._cost(both)
            swap = [(k, *there)] if j is None else [(k, *there), (j, *here)]
            d.put(swap)
            change = self._cost(both) - before
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
