# SPDX-License-Identifier: Apache-2.0
"""Cells of a placed design that move as one, and how late the ways through them are."""

from __future__ import annotations

from math import exp

from scripts.synth.placed import LOGIC, SLICES, Put
from scripts.synth.sta import Timing

_SPRING = 0.03  # what a long wire on a late way costs, so that cells spread evenly over a way


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
        #: A few cells in one tile: they can step aside for others.
        self.light = len(self.ways) > 1 and len(cells) <= 6

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

    def cost(self, tau: float) -> float:
        """How late the ways through the cells are, where the cells are now. ``tau``, in ns: a way
        that is later by this counts e times as much.
        """
        t = self._t
        required, wire = t.required, t.wire
        total = length = 0.0
        at_pin: dict[tuple[int, str], float] = {}
        for pin in self.ins:
            ns = wire(pin)
            length += ns
            at_pin[pin[1:]] = at = t.arrival[pin[0]] + ns
            if pin[1:] in required:
                late = exp(min(60.0, (at - required[pin[1:]]) / tau))
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
                late = exp(min(60.0, (at_net[pin[0]] + ns - required[pin[1:]]) / tau))
                total += late * (1.0 + _SPRING * ns * ns)
        for pin in self._checks:
            if pin[0] in at_net:
                at = at_net[pin[0]] + wire(pin)
                total += exp(min(60.0, (at - required[pin[1:]]) / tau))
        return total + 1e-4 * length
