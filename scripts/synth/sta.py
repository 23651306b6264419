# SPDX-License-Identifier: Apache-2.0
"""Arrival and required times in a placed design. Delays of cells are those that nextpnr writes
(SDF); so are delays of wires once they are routed, before that they are a function of the distance.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from scripts.synth.placed import Placed

#: An input: the net, the cell and its port.
Pin = tuple[int, int, str]
_DI_NS = 0.11  # from a LUT to the register in its slice
_NEVER = 99.0


#: ns of a wire by columns and rows between its ends, as a third of nextpnr's routes of the core
#: are at least as fast, and what block RAMs and registers add at their end of it.
WIRES = [
    [0.36 + 0.071 * x**0.5 + 0.106 * y**0.5 + 0.026 * (x + y) for y in range(128)]
    for x in range(128)
]
WIRES[0][0] = 0.31
_FROM = {"DP16KD": 0.14, "TRELLIS_FF": 0.06}
_TO = {"DP16KD": 0.09}

_INSTANCE = re.compile(r"\(INSTANCE (.*)\)")
_IOPATH = re.compile(r"\(IOPATH (\w+) (\w+) \(\d+:\d+:(\d+)\)")
_WIRE = re.compile(r"\(INTERCONNECT \S+ (\S+)/(\w+) \(\d+:\d+:(\d+)\)")
_SETUP = re.compile(r"\(SETUPHOLD \(posedge (\w+)\) \(posedge \w+\) \(-?\d+:-?\d+:(-?\d+)\)")


class Timing:
    """All ways between registers and memories. ``sdf``: nextpnr's delays of the design's cells, and
    if it is ``routed`` of its wires, as long as neither end of them moves. Times in ns.
    """

    def __init__(self, design: Placed, sdf: Path, routed: bool = False) -> None:
        self.d = design
        self._reads_wires = routed
        self.was = [design.where(k) for k in range(len(design.names))]
        self.routed: dict[tuple[int, str], float] = {}  # delays of wires into inputs
        self.setup: dict[tuple[int, str], float] = {}
        self.start: dict[int, float] = {}  # net of a register or memory: clock to output
        #: Ways into the driver of a net, and what the cell adds.
        self.arcs: dict[int, list[tuple[Pin, float]]] = defaultdict(list)
        self._read(sdf)
        self.ends = [
            ((net, k, port), ns)
            for (k, port), ns in self.setup.items()
            if (net := design.ins[k][port]) in design.driver
        ]
        self.order = self._order()
        self.rank = {net: n for n, net in enumerate(self.order)}
        self.arrival: dict[int, float] = {}
        self.required: dict[tuple[int, str], float] = {}

    def _read(self, sdf: Path) -> None:
        d = self.d
        cell: int | None = None
        with sdf.open() as lines:
            for line in lines:
                if self._reads_wires and (found := _WIRE.search(line)):
                    sink = d.number.get(found[1].replace("\\", ""), -1)
                    self.routed[sink, found[2]] = int(found[3]) / 1000
                elif found := _INSTANCE.search(line):
                    cell = d.number.get(found[1].replace("\\", ""))
                elif cell is not None and (found := _IOPATH.search(line)):
                    port, out, ns = found[1], found[2], int(found[3]) / 1000
                    if out not in d.outs[cell]:
                        continue
                    if port.startswith(("CLK", "WCK")):
                        self.start[d.outs[cell][out]] = ns
                    elif (net := d.ins[cell].get(port)) in d.driver and net is not None:
                        self.arcs[d.outs[cell][out]].append(((net, cell, port), ns))
                elif (
                    cell is not None and (found := _SETUP.search(line)) and found[1] in d.ins[cell]
                ):
                    self.setup[cell, found[1]] = int(found[2]) / 1000

    def _order(self) -> list[int]:
        """Nets after those that they depend on."""
        order: list[int] = []
        seen: dict[int, bool] = {}  # whether it is in the order
        for root in list(self.arcs):
            stack = [root]
            while stack:
                net = stack[-1]
                if net not in seen:
                    seen[net] = False
                    before = [source for (source, *_), _ in self.arcs[net]]
                    stack += [one for one in before if one in self.arcs and one not in seen]
                    continue
                stack.pop()
                if not seen[net]:
                    seen[net] = True
                    order.append(net)
        return order

    def forget(self, nets: set[int]) -> None:
        """Their routes are not known any more."""
        for net in nets:
            for sink in self.d.sinks[net]:
                self.routed.pop(sink, None)

    def wire(self, pin: Pin) -> float:
        """From the driver to this input."""
        net, k, _ = pin
        known = self.routed.get(pin[1:])
        if known is not None:
            j = self.d.driver[net]
            if self.was[j] == self.d.where(j) and self.was[k] == self.d.where(k):
                return known
        return self.assumed(pin)

    def assumed(self, pin: Pin) -> float:
        """The same by its length, whatever its route is."""
        net, k, port = pin
        d = self.d
        if port in d.tied[k]:
            return _DI_NS if port == "DI" else 0.0
        j = d.driver[net]
        ns = WIRES[abs(d.x[j] - d.x[k])][abs(d.y[j] - d.y[k])]
        return ns + _FROM.get(d.kinds[j], 0.0) + _TO.get(d.kinds[k], 0.0)

    def forward(self) -> float:
        """Sets arrival times at the drivers of nets; returns the longest way."""
        arrival, wire = self.arrival, self.wire
        arrival.clear()
        arrival.update(self.start)
        for net in self.order:
            at = arrival.get(net, -_NEVER)
            for pin, ns in self.arcs[net]:
                if pin[0] in arrival:
                    at = max(at, arrival[pin[0]] + wire(pin) + ns)
            arrival[net] = at
        ends = (arrival[pin[0]] + wire(pin) + ns for pin, ns in self.ends if pin[0] in arrival)
        return max(ends, default=0.0)

    def longest(self) -> Iterator[tuple[float, float, list[int]]]:
        """After `forward`: the longest way to each end, longest first. All delays and those of its
        logic, in ns, and its cells, from register to register.
        """
        d, arrival, wire = self.d, self.arrival, self.wire
        ends = (
            (arrival[pin[0]] + wire(pin) + ns, pin) for pin, ns in self.ends if pin[0] in arrival
        )
        for total, (net, k, _) in sorted(ends, reverse=True):
            cells, logic = [k, d.driver[net]], 0.0
            while step := next(
                (
                    (pin[0], ns)
                    for pin, ns in self.arcs.get(net, ())
                    if pin[0] in arrival and arrival[pin[0]] + wire(pin) + ns >= arrival[net]
                ),
                None,
            ):
                net, logic = step[0], logic + step[1]
                cells.append(d.driver[net])
            yield total, logic, cells[::-1]

    def backward(self, period: float) -> None:
        """Sets required times at inputs for this period."""
        required, wire = self.required, self.wire
        at_net: dict[int, float] = {}
        required.clear()
        for pin, ns in self.ends:
            required[pin[1:]] = period - ns
            at_net[pin[0]] = min(at_net.get(pin[0], _NEVER), period - ns - wire(pin))
        for net in reversed(self.order):
            due = at_net.get(net, _NEVER)
            for pin, ns in self.arcs[net]:
                required[pin[1:]] = min(required.get(pin[1:], _NEVER), due - ns)
                at_net[pin[0]] = min(at_net.get(pin[0], _NEVER), due - ns - wire(pin))

    def slack(self, pin: Pin) -> float:
        """At an input; far above any period if no way ends there."""
        net, k, port = pin
        if net not in self.arrival or (k, port) not in self.required:
            return _NEVER
        return self.required[k, port] - self.arrival[net] - self.wire(pin)
