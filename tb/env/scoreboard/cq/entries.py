# SPDX-License-Identifier: Apache-2.0
"""Completions: each accepted lane leads to exactly one entry, or to a refusal that the rules give.

Lanes of one CQ are decided in order. Placed ones, overflows and credits given back have a step on
trace lane 0; refused and dropped ones have none. A lane without a step must have been refusable in
a state that its CQ had when it was the lane's turn; one that never was must get its step. Which of
several refusable lanes a step placed is open until the entry is written.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace

from models.codes import ModelError
from models.cq.entries import Cqe, phase_of, with_phase
from models.cq.queue import PlacedEntry, Placement
from models.layouts import CQE_BYTES, LINE_BYTES
from tb.env.defs import PSTATE, TRC_PLACE, Cause, Kind, Reg
from tb.env.harness.records import Completion, MemWrite, Trace
from tb.env.scoreboard.context import Check, Context, Left
from tb.env.scoreboard.cq.credits import Credits
from tb.env.scoreboard.cq.order import Lane, Order

#: A refusable lane this many completions back has been decided for certain: far more than an
#: engine can hold between its port and the decision.
_DECIDED = 64


def _bytes(lane: Lane) -> bytes:
    return lane.data.to_bytes(CQE_BYTES, "little")


class CompletionChecks(Check):
    """Completions at the pins against steps of lane 0."""

    rules = "CQ-01, CQ-17"

    def __init__(self, ctx: Context, credits_: Credits) -> None:
        self.ctx = ctx
        self.credits = credits_
        self.lanes = 0
        self.placed = 0
        self.bad_cq = 0
        num_cq = ctx.params.num_cq
        self.arrived: list[deque[Lane]] = [deque() for _ in range(num_cq)]
        self.orders = [Order() for _ in range(num_cq)]
        #: Overflows whose error step has not come.
        self.overflows = [0] * num_cq
        #: CQ and index of its next entry, of each that was destroyed.
        self.stopped: set[tuple[int, int]] = set()
        #: CQs that were created but not started: they still refuse everything.
        self.not_started: set[int] = set()

    # -- pins --------------------------------------------------------------------------------------

    def completion(self, record: Completion) -> None:
        """A beat of s_axis_cpl."""
        for lane in (0, 1):
            if not record.keep >> lane & 1:
                continue
            self.lanes += 1
            cq = record.dest[lane]
            if cq >= self.ctx.params.num_cq:
                self.bad_cq += 1
                continue
            waiting = self.arrived[cq]
            waiting.append(
                Lane(record.cycle, record.data[lane], bool(record.silent >> lane & 1), self.lanes)
            )
            while waiting[0].refusable and self.lanes - waiting[0].number > _DECIDED:
                waiting.popleft()
            self.changed(cq)

    def changed(self, cq: int) -> None:
        """The state of a CQ changed: which of its lanes could be refused in it?"""
        waiting = self.arrived[cq]
        if not waiting:
            return
        engine = self.ctx.engine
        unreserved = not engine.producers[cq].reservation
        for frontier in self.orders[cq].frontiers():
            for lane in waiting:
                if lane.refusable or lane.number <= frontier:
                    continue
                if cq not in self.not_started:
                    verdict = engine.judge(cq, lane.silent)
                    if verdict is Placement.PLACED or verdict is Placement.OVERFLOW:
                        break
                    if verdict is Placement.SILENT and not unreserved:
                        break
                lane.refusable = True

    def lost(self, cq: int) -> list[Lane]:
        """Lanes that must still get their step."""
        decided = self.orders[cq].frontiers()[-1]
        return [x for x in self.arrived[cq] if x.number > decided and not x.refusable]

    # -- pins: memory ------------------------------------------------------------------------------

    def write(self, cq: int, record: MemWrite) -> None:
        """Entries are about to be compared: the lanes in them are those that were placed."""
        order = self.orders[cq]
        if not order.open:
            return
        placed = self.ctx.engine.producers[cq].placed
        data = record.data.to_bytes(LINE_BYTES, "little")
        first = self.ctx.engine.cqs[cq].written
        both = (1 << CQE_BYTES) - 1
        halves = [i for i in (0, 1) if record.strb >> i * CQE_BYTES & both]
        entries = range(first, first + len(halves))

        def fits(entry: int, lane: Lane) -> bool:
            at = halves[entry - first] * CQE_BYTES
            phase = phase_of(placed[entry].data)
            return with_phase(_bytes(lane), phase) == data[at : at + CQE_BYTES]

        self._assign(cq, order.written(fits, entries))

    def written(self, cq: int) -> None:
        """Entries were written, and compared."""
        order = self.orders[cq]
        if order.open:
            order.close(self.ctx.engine.cqs[cq].written)
            self._forget(cq)
            self.changed(cq)

    def _assign(self, cq: int, path: dict[int, Lane]) -> None:
        """What the open entries are expected to hold."""
        placed, classes = self.ctx.engine.producers[cq].placed, self.ctx.classes[cq]
        for index, lane in path.items():
            entry = placed[index]
            data = with_phase(_bytes(lane), phase_of(entry.data))
            if data == entry.data:
                continue
            known = Cqe.unpack(data)
            classes[index] = solicited = known.solicited_class
            placed[index] = replace(
                entry, data=data, solicited=solicited, unsignalled=known.unsignalled
            )

    def _forget(self, cq: int) -> None:
        waiting, oldest = self.arrived[cq], self.orders[cq].oldest
        while waiting and waiting[0].number <= oldest:
            waiting.popleft()

    # -- the end -----------------------------------------------------------------------------------

    def left(self) -> Iterator[Left]:
        """Completions that got lost, entries that were not written, overflows not told."""
        engine = self.ctx.engine
        for cq, producer in enumerate(engine.producers):
            if lanes := self.lost(cq):
                yield Left("", lanes[0].cycle, "lost: the completion of cycle", cq)
            written = engine.cqs[cq].written
            if producer.exists and written < producer.alloc:
                yield Left("memory", written, "never written: entry", cq)
            if self.overflows[cq]:
                yield Left("memory", self.overflows[cq], "overflows not told:", cq)

    def counters(self) -> dict[Reg, int]:
        """Entries, by the steps."""
        return {Reg.CNT_CPL_PLACED: self.placed}

    # -- steps -------------------------------------------------------------------------------------

    def place(self, record: Trace) -> None:
        """PLACE: entries allocated, credits given back."""
        ctx, cq = self.ctx, record.cq
        placed, returned = TRC_PLACE.unpack(record.operand).values()
        if record.operand & TRC_PLACE.reserved or not 1 <= placed + returned <= 2:
            ctx.fail(f"PLACE with operand {record.operand:#x}", cq, record)
        open_, lanes = self._take(record, placed, returned)
        producer = ctx.engine.producers[cq]
        if returned and not producer.reservation:
            ctx.fail("credits given back by a CQ without reservation", cq, record)
        while producer.reservation and producer.credits_held < placed + returned:
            if not self.credits.use_early(cq):
                break
        try:
            entries = ctx.engine.place(cq, lanes, returned)
        except ModelError as error:
            ctx.fail(f"{placed} placed: {error}", cq, record)
        self._placed(cq, entries, open_)

    def overflow(self, record: Trace) -> None:
        """OVERFLOW: a lane found no free entry."""
        ctx, cq = self.ctx, record.cq
        placed = record.operand
        if placed > 1:
            ctx.fail(f"OVERFLOW with operand {record.operand:#x}", cq, record)
        open_, lanes = self._take(record, placed, 0)
        decided = self.orders[cq].frontiers()[0]
        if all(lane.silent or lane.number <= decided for lane in self.arrived[cq]):
            ctx.fail("overflow without a completion that could overflow", cq, record)
        try:
            entries = ctx.engine.overflow(cq, lanes)
        except ModelError as error:
            ctx.fail(f"OVERFLOW: {error}", cq, record)
        self.overflows[cq] += 1
        ctx.log.append((Cause.CQ_OVERFLOW, Kind.CQ, cq, PSTATE["alloc"].get(record.new)))
        self._placed(cq, entries, open_)

    def _placed(self, cq: int, entries: Sequence[PlacedEntry], likely: dict[int, Lane]) -> None:
        """New entries; ``likely``: the lanes of open ones."""
        self.ctx.classes[cq] += [entry.solicited for entry in entries]
        if likely:
            self._assign(cq, likely)
        self.placed += len(entries)
        self.changed(cq)
        self.credits.note(cq)

    def stop(self, cq: int) -> None:
        """STOP: completions are refused from here on."""
        self.stopped.add(self._next(cq))

    def dropped(self, cq: int, index: int) -> bool:
        """Can a completion have been dropped, because its CQ was in error, with this index of the
        next entry? That stands still from the error on.
        """
        return (cq, index) in self.stopped or (cq, index) == self._next(cq)

    def _next(self, cq: int) -> tuple[int, int]:
        return cq, self.ctx.params.index(self.ctx.engine.producers[cq].alloc)

    def overflow_told(self, record: Trace) -> None:
        """CQ_ERROR with status BUFFER_OVERFLOW."""
        if not self.overflows[record.cq]:
            self.ctx.fail("overflow error without an overflow", record.cq, record)
        self.overflows[record.cq] -= 1

    def _take(
        self, record: Trace, placed: int, returned: int
    ) -> tuple[dict[int, Lane], list[bytes]]:
        """The lanes that the step can have placed; those between them were refused. Returns the
        likely lanes of entries that were open before, and the contents of the new ones.
        """
        cq = record.cq
        waiting = self.arrived[cq]
        first = self.ctx.engine.producers[cq].alloc
        try:
            path = self.orders[cq].take(waiting, first, placed, returned)
        except ValueError:
            self.ctx.fail(
                f"{placed} placed and {returned} credits given back, but no such completions "
                f"arrived ({len(waiting)} wait)",
                cq,
                record,
            )
        self._forget(cq)
        return path, [_bytes(path.pop(first + i)) for i in range(placed)]
