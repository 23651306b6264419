# SPDX-License-Identifier: Apache-2.0
"""Memory writes, their answers, and interrupts, bit for bit against the model.

Besides the model's checks this keeps, on pin records alone: one callback at most for each arm
(CQ-06), none while another one of the CQ is in progress or under way (CQ-11), none that covers
entries whose writes are not acknowledged (CQ-15).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import chain

from models import codes
from models.arm.events import MAX_ATTEMPTS
from models.codes import CommandResult, ModelError
from models.layouts import EQE_BYTES, LINE_BYTES
from tb.env.defs import EQE, Cause, Kind, Reg
from tb.env.harness.records import Interrupt, MemResponse, MemWrite, Trace
from tb.env.scoreboard.context import Check, Context, Left, args_of
from tb.env.scoreboard.cq.entries import CompletionChecks
from tb.env.scoreboard.host.doorbells import WRITE_LATE, DoorbellChecks

#: An engine knows of an answer at the latest this many cycles after its handshake.
_KNOWN_AFTER = 16

#: Slot (address and phase bit) and CQ of an event entry.
_Event = tuple[int, int]


class _Pins:
    """What the pins alone tell of one CQ since its creation."""

    __slots__ = ("acked", "calls", "failed", "snap", "under_way")

    def __init__(self) -> None:
        self.acked = 0  # entries acknowledged in front of the first failed one
        self.failed = False
        self.calls = 0
        self.under_way = False
        self.snap = 0


def _entries_of(record: MemWrite) -> list[tuple[int, int]]:
    """The event entries in a write: lane of each, and its bits with what is above them."""
    lanes = range(0, LINE_BYTES, EQE_BYTES)
    return [(lane, record.data >> 8 * lane) for lane in lanes if record.strb >> lane & 1]


class MemoryChecks(Check):
    """The memory port and the interrupt port."""

    rules = "CQ-16, CQ-18"

    def __init__(
        self, ctx: Context, doorbells: DoorbellChecks, completions: CompletionChecks
    ) -> None:
        super().__init__(ctx)
        self.completions = completions
        self.doorbells = doorbells
        self.strays = 0
        self.errors = 0  # answers other than OKAY to writes that were there
        self.writes = 0
        self.events = 0  # of them those of event entries, one or several in each
        self.interrupts = 0
        p = ctx.params
        #: Entries of each unanswered write of a CQ; answers whose step has not come.
        self.beats: list[deque[int]] = [deque() for _ in range(p.num_cq)]
        self.answers: list[deque[tuple[bool, int]]] = [deque() for _ in range(p.num_cq)]
        self.answered_at = [-1] * p.num_cq
        self.pins = [_Pins() for _ in range(p.num_cq)]
        #: Slot (address and phase bit) and CQ of each entry of the unanswered writes of an EQ, and
        #: attempts by slot and CQ of failed ones.
        self._events: list[deque[list[_Event]]] = [deque() for _ in range(p.num_eq)]
        self._failed: list[dict[_Event, int]] = [{} for _ in range(p.num_eq)]
        #: Cycles of event writes, acknowledged or given up, that no interrupt covers, EQs that
        #: must still raise one, and with which vectors.
        self.acked: list[deque[int]] = [deque() for _ in range(p.num_eq)]
        #: Vectors with an interrupt that was taken for one of an SRQ, and may not have been.
        self.either: set[int] = set()
        #: Vectors that may therefore be raised once more.
        self.spare: set[int] = set()
        self.owed: set[int] = set()
        self._last_interrupt = -1
        self.vectors: list[set[int]] = [set() for _ in range(p.num_eq)]
        #: Producer index of each EQ ahead of each entry over time, and resizes not yet reached:
        #: (index, base, log2).
        self.prods: list[deque[tuple[int, int]]] = [deque(maxlen=64) for _ in range(p.num_eq)]
        self.switches: list[deque[tuple[int, int, int]]] = [deque() for _ in range(p.num_eq)]

    # -- writes ------------------------------------------------------------------------------------

    def write(self, record: MemWrite) -> None:
        """A write was accepted with address and data."""
        ctx = self.ctx
        side, number = divmod(record.axi_id, ctx.params.num_cq)
        data = record.data.to_bytes(LINE_BYTES, "little")
        if side == 0:
            self.completions.write(number, record)
            try:
                count = ctx.engine.cqe_beat(number, record.addr, data, record.strb)
            except ModelError as error:
                self.fail(f"CQE write {record.addr:#x}: {error}", ("CQ", number))
            self.completions.written(number)
            self.beats[number].append(count)
            self.doorbells.changed(number, WRITE_LATE)
        elif side == 1 and number < ctx.params.num_eq:
            self._event(record, number, data)
        else:
            self.fail(f"memory write with ID {record.axi_id:#x}, which no queue has")
        # After what may have to wait for the command that explains it
        self.writes += 1
        self.events += side

    def _event(self, record: MemWrite, eq: int, data: bytes) -> None:
        ctx = self.ctx
        model = ctx.engine.eqs[eq]
        entries = _entries_of(record)
        try:
            events = ctx.engine.eqe_beat(eq, record.addr, data, record.strb)
        except ModelError as error:
            ctx.objs = tuple(("CQ", EQE["cq"].get(entry)) for _, entry in entries)
            if not self._resized_meanwhile(eq):
                self.fail(f"EQ {eq}: {error}")
            try:
                events = ctx.engine.eqe_beat(eq, record.addr, data, record.strb)
            except ModelError as again:
                self.fail(f"EQ {eq}: {again}")
        ctx.objs = tuple(("CQ", event.cq) for event in events)
        if events[0].attempt == 1:
            self.prods[eq] += [(ctx.cycle, event.index) for event in events]
            in_ring = model.prod - model.ring.origin
            if min(model.unread, in_ring) > model.ring.entries:
                self.fail(f"EQ {eq}: an entry that nobody can have read is overwritten")
        self._switch(eq)
        if record.strb:
            beat = [self._pin_event(record, eq, *entry) for entry in entries]
        else:
            # A repetition whose slot was passed; each CQ has one at most.
            beat = [event for event in self._failed[eq] if event[1] == events[0].cq]
        self._events[eq].append(beat)

    def _pin_event(self, record: MemWrite, eq: int, lane: int, entry: int) -> _Event:
        """The rules that need nothing but pins, for an entry of a write."""
        ctx, cq = self.ctx, EQE["cq"].get(entry)
        pins, event = self.pins[cq], (record.addr + lane | EQE["phase"].get(entry), cq)
        if event in self._failed[eq]:
            return event  # the same call once more
        if self.doorbells.arms[cq] <= pins.calls:
            self.fail(f"CQ-06: callback {pins.calls + 1} after {pins.calls} arm(s)")
        if self.doorbells.returns[cq] < pins.calls:
            self.fail("CQ-11: callback while the one before it is in progress")
        if pins.under_way:
            self.fail("CQ-11: callback while the event entry before it is not acknowledged")
        snap = EQE["snap"].get(entry)
        pins.snap += (snap - pins.snap) % (1 << ctx.params.idx_w)
        if pins.snap > pins.acked:
            self.fail(f"CQ-15: callback for {pins.snap} entries, {pins.acked} are acknowledged")
        pins.calls += 1
        pins.under_way = True
        return event

    # -- EQ resize ---------------------------------------------------------------------------------

    def switch_at(self, eq: int, index: int, base: int, log2: int) -> None:
        """A resize of an EQ: entries from ``index`` on are in the new ring."""
        self.switches[eq].append((index, base, log2))
        self._switch(eq)

    def _switch(self, eq: int) -> None:
        model, switches = self.ctx.engine.eqs[eq], self.switches[eq]
        while switches and model.prod >= switches[0][0]:
            index, base, log2 = switches.popleft()
            if index != model.prod:
                self.fail(f"EQ {eq}: entry {index} is in the ring before the resize")
            model.resize(base, log2)

    def _resized_meanwhile(self, eq: int) -> bool:
        """Is a resize under way whose switch index is this entry's? Then the new ring counts."""
        command = self.ctx.command_for(eq, codes.Command.RESIZE_EQ)
        model = self.ctx.engine.eqs[eq]
        if command is None or command.result != CommandResult.OK:
            return False
        if command.outs[0] != self.ctx.params.index(model.prod):
            return False
        args = args_of(command)
        if model.ring.base == args.ring(0).base and model.ring.log2 == args.log2:
            return False
        model.resize(args.ring(0).base, args.log2)
        return True

    # -- answers -----------------------------------------------------------------------------------

    def response(self, record: MemResponse) -> None:
        """A write was answered."""
        ctx = self.ctx
        side, number = divmod(record.axi_id, ctx.params.num_cq)
        okay = record.resp == 0
        if side == 0 and self.beats[number]:
            count = self.beats[number].popleft()
            ctx.engine.cqe_response(number, okay)
            self.answered_at[number] = record.cycle
            if ctx.engine.cqs[number].publishing:
                self.answers[number].append((okay, count))
            pins = self.pins[number]
            pins.failed = pins.failed or not okay
            if not pins.failed:
                pins.acked += count
            if not okay:
                self.ctx.log.append((Cause.CQE_WRITE_ERROR, Kind.CQ, number, 0))
        elif side == 1 and number < ctx.params.num_eq and ctx.engine.eqs[number].writing:
            for event in ctx.engine.eqe_response(number, okay):
                if not okay:
                    last = event.attempt == MAX_ATTEMPTS
                    cause = Cause.EQ_FAILED if last else Cause.EQE_WRITE_ERROR
                    index = ctx.params.index(event.index if last else event.callback.snap)
                    self.ctx.log.append((cause, Kind.CQ, event.cq, index))
            if self._pin_answer(number, okay):
                self.acked[number].append(record.cycle)
                self.owed.add(number)
                self.vectors[number].add(ctx.engine.eqs[number].vector)
        else:
            self.strays += 1
            self.ctx.log.append((Cause.STRAY_B, Kind.PORT, 0, 0))
            return
        self.errors += not okay

    def _pin_answer(self, eq: int, okay: bool) -> bool:
        """Whether an entry is over, acknowledged or given up: the host has to look."""
        failed, over = self._failed[eq], False
        for event in self._events[eq].popleft():
            attempts = failed.pop(event, 0) + 1
            if okay or attempts == MAX_ATTEMPTS:
                self.pins[event[1]].under_way = False
                over = True
            else:
                failed[event] = attempts
        return over

    def take(self, record: Trace, okay: bool, count: int) -> None:
        """The step that follows from the oldest answer of a CQ."""
        answers = self.answers[record.cq]
        if not answers:
            self.fail("a step without the answer that it stands for")
        if answers[0] != (okay, count):
            self.fail(
                f"the oldest answer is for {answers[0][1]} entries, "
                f"{'OKAY' if answers[0][0] else 'an error'}"
            )
        answers.popleft()

    # -- interrupts --------------------------------------------------------------------------------

    def interrupt(self, record: Interrupt) -> None:
        """A vector was raised."""
        vector = record.vector
        able = self._able(vector)
        if not able:
            able = self._modified_meanwhile(vector)
        self.interrupts += 1
        if not able and vector in self.spare:
            self.spare.discard(vector)
            return
        if not able:
            self.fail(f"interrupt {vector} without an acknowledged event of its EQ")
        # With a vector that several EQs share: the one that owes it.
        eq = next((e for e in able if e in self.owed), able[0])
        acked = self.acked[eq]
        acked.popleft()
        # The vector was put on offer after the interrupt before it was taken. What was known by
        # then is merged into it; what came later may raise another one.
        while acked and acked[0] + _KNOWN_AFTER < self._last_interrupt:
            acked.popleft()
            if vector in self.either:
                # The interrupts may have come the other way round, with nothing to merge.
                self.spare.add(vector)
        self.either.discard(vector)
        self._last_interrupt = record.cycle
        self.owed.discard(eq)
        self.vectors[eq] = {self.ctx.engine.eqs[eq].vector}

    def _able(self, vector: int) -> list[int]:
        """EQs that may raise this vector."""
        return [eq for eq, known in enumerate(self.vectors) if vector in known and self.acked[eq]]

    def merged(self, record: Interrupt) -> None:
        """An interrupt that is none of an EQ: what is known of EQs is merged after it."""
        self.interrupts += 1
        if self._able(record.vector):
            self.either.add(record.vector)
        self._last_interrupt = record.cycle

    def _modified_meanwhile(self, vector: int) -> list[int]:
        """The EQ that is just being given this vector."""
        if not any(self.acked):
            return []
        command = self.ctx.command()
        if command is None or command.code != codes.Command.MODIFY_EQ:
            return []
        eq = command.args[0]
        if command.result != CommandResult.OK or args_of(command).vector != vector:
            return []
        return [eq] if self.acked[eq] else []

    def modified(self, eq: int) -> None:
        """An EQ has a vector, or another one; an interrupt on its way may have either."""
        if not self.acked[eq]:
            self.vectors[eq].clear()
        self.vectors[eq].add(self.ctx.engine.eqs[eq].vector)

    # -- the end -----------------------------------------------------------------------------------

    def left(self) -> Iterator[Left]:
        """Writes without an answer, answers without a step, events and interrupts under way."""
        for cq, (beats, answers) in enumerate(zip(self.beats, self.answers, strict=True)):
            if beats:
                yield Left("memory", len(beats), "writes without an answer:", cq)
            if answers:
                yield Left("", len(answers), "answers without a step:", cq)
        for eq in self.ctx.engine.eqs:
            for cq in eq.waiting:
                yield Left("memory", cq, "no event entry for the callback of CQ", cq)
            for event in chain(*eq.writing):
                yield Left("memory", event.cq, "event entry not answered, of CQ", event.cq)
            for event in eq.retries:
                yield Left("memory", event.cq, "event entry not written again, of CQ", event.cq)
            for cq in eq.outcomes:
                yield Left("", cq, "no step for the event answer of CQ", cq)
        for number in sorted(self.owed):
            yield Left("interrupts", number, "no interrupt of EQ")

    def counters(self) -> dict[Reg, int]:
        """Those of memory and interrupts, by the pins."""
        return {
            Reg.CNT_CQE_WRITES: self.writes - self.events,
            Reg.CNT_EVENTS: self.events,
            Reg.CNT_IRQS: self.interrupts,
            Reg.CNT_WRITE_ERRORS: self.errors,
            Reg.CNT_STRAY_B: self.strays,
        }

    # -- life --------------------------------------------------------------------------------------

    def created(self, cq: int) -> None:
        """A CQ begins a new life."""
        self.pins[cq] = _Pins()
        self.answers[cq].clear()
        self.answered_at[cq] = -1
