# SPDX-License-Identifier: Apache-2.0
"""Completions: each accepted lane leads to exactly one entry, or to a refusal that the rules give.

Lanes of one CQ are decided in order. Placed ones, overflows and credits given back have a step on
trace lane 0; refused and dropped ones have none. A lane without a step must have been refusable in
a state that its CQ had when it was the lane's turn; one that never was must get its step.
"""

from __future__ import annotations

from collections import deque

from models.codes import CQE_BYTES, ModelError
from models.queue import Verdict
from tb.env.check_base import Context
from tb.env.check_credits import CreditChecks
from tb.env.records import Completion, Trace

#: A refusable lane this many completions back has been decided for certain: far more than an
#: engine can hold between its port and the decision.
_DECIDED = 64


class _Lane:
    __slots__ = ("cycle", "data", "number", "refusable", "silent")

    def __init__(self, cycle: int, data: int, silent: bool, number: int) -> None:
        self.cycle = cycle
        self.data = data
        self.silent = silent
        self.number = number
        self.refusable = False


class CompletionChecks:
    """Completions at the pins against steps of lane 0."""

    def __init__(self, ctx: Context, credits_: CreditChecks) -> None:
        self.ctx = ctx
        self.credits = credits_
        self.lanes = 0
        self.placed = 0
        self.bad_cq = 0
        num_cq = ctx.params.num_cq
        self.arrived: list[deque[_Lane]] = [deque() for _ in range(num_cq)]
        #: Overflows whose error step has not come.
        self.overflows = [0] * num_cq
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
                _Lane(record.cycle, record.data[lane], bool(record.silent >> lane & 1), self.lanes)
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
        for lane in waiting:
            if lane.refusable:
                continue
            if cq not in self.not_started:
                verdict = engine.judge(cq, lane.silent)
                if verdict is Verdict.PLACED or verdict is Verdict.OVERFLOW:
                    return
                if verdict is Verdict.SILENT and not unreserved:
                    return
            lane.refusable = True

    # -- steps -------------------------------------------------------------------------------------

    def place(self, record: Trace) -> None:
        """PLACE: entries allocated, credits given back."""
        ctx, cq = self.ctx, record.cq
        placed, returned = record.operand & 3, record.operand >> 2 & 3
        if record.operand >> 4 or not 1 <= placed + returned <= 2:
            ctx.fail(f"PLACE with operand {record.operand:#x}", cq, record)
        lanes = self._take(record, placed, returned)
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
        ctx.classes[cq] += [entry.solicited for entry in entries]
        self.placed += placed
        self.changed(cq)
        self.credits.note(cq)

    def overflow(self, record: Trace) -> None:
        """OVERFLOW: a lane found no free entry."""
        ctx, cq = self.ctx, record.cq
        placed = record.operand
        if placed > 1:
            ctx.fail(f"OVERFLOW with operand {record.operand:#x}", cq, record)
        lanes = self._take(record, placed, 0)
        if all(lane.silent for lane in self.arrived[cq]):
            ctx.fail("overflow without a completion that could overflow", cq, record)
        try:
            entries = ctx.engine.overflow(cq, lanes)
        except ModelError as error:
            ctx.fail(f"OVERFLOW: {error}", cq, record)
        ctx.classes[cq] += [entry.solicited for entry in entries]
        self.placed += placed
        self.overflows[cq] += 1
        self.changed(cq)
        self.credits.note(cq)

    def overflow_told(self, record: Trace) -> None:
        """CQ_ERROR with status BUFFER_OVERFLOW."""
        if not self.overflows[record.cq]:
            self.ctx.fail("overflow error without an overflow", record.cq, record)
        self.overflows[record.cq] -= 1

    def _take(self, record: Trace, placed: int, returned: int) -> list[bytes]:
        """The oldest lanes that the step can stand for; those in front of them were refused."""
        waiting = self.arrived[record.cq]
        # First without those that may have been refused, then with them.
        for skip in (True, False):
            chosen: list[_Lane] = []
            left = [placed, returned]
            for lane in waiting:
                if not any(left):
                    break
                if skip and lane.refusable:
                    continue
                if left[lane.silent]:
                    left[lane.silent] -= 1
                    chosen.append(lane)
                elif not lane.refusable:
                    break
            if not any(left):
                break
        else:
            self.ctx.fail(
                f"{placed} placed and {returned} credits given back, but no such completions "
                f"arrived ({len(waiting)} wait)",
                record.cq,
                record,
            )
        last = chosen[-1] if chosen else None
        while last is not None and waiting.popleft() is not last:
            pass
        return [lane.data.to_bytes(CQE_BYTES, "little") for lane in chosen if not lane.silent]
