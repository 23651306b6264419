# SPDX-License-Identifier: Apache-2.0
"""Doorbells: one answer each, in order, with the right cause (CQ-15a, CQ-22, ISO-01, ISO-02).

An accepted doorbell has a trace record: there, and nowhere else, it must have been legal. A refused
one has none. Its cause must be right in a state that its CQ had while the doorbell could be
executed: not before its request, not before the accepted doorbell in front of it (doorbells are
executed in order), not after the accepted one after it, and not after its answer.
"""

from __future__ import annotations

from models.codes import Cause, TraceOp
from models.host.doorbell import DoorbellWord, decode_write, word_cause
from models.layouts import CQ_DB
from tb.env.defs import TRC_DOORBELL
from tb.env.harness.records import DoorbellRequest, DoorbellResponse, Trace
from tb.env.scoreboard.context import Context
from tb.env.scoreboard.explain import coded
from tb.env.scoreboard.host.pages import PageCheck, PageWrites, Pending

#: Cycles from a step to its record.
STEP_LATE = 5
#: Cycles from what makes an entry written for doorbells to the record of its write.
WRITE_LATE = 1


class _Bell(Pending):
    def __init__(
        self, check: DoorbellChecks, request: DoorbellRequest, word: DoorbellWord | Cause
    ) -> None:
        super().__init__(check, request)
        self.word: DoorbellWord | None = None
        self.cause = Cause.OK
        self.now = Cause.OK  # what it could be told by now
        self.causes: dict[Cause, int] = {}  # what it could be told before, and until when
        self.operand = 0
        self.owner: int | None = None  # owner of the CQ at its step
        self.epoch = 0
        if isinstance(word, DoorbellWord):
            self.word = word
            self.obj = "CQ", word.cq
            self.operand = TRC_DOORBELL.pack(index=word.index)
            if word.arm is not None:
                self.operand |= TRC_DOORBELL.pack(arm=1, arm_type=word.arm)
        else:
            self.cause = word

    def __str__(self) -> str:
        return f"doorbell of cycle {self.request.cycle} ({self.word or self.request})"


class DoorbellChecks(PageCheck):
    """Doorbells and callback returns, and all writes that are nothing else."""

    rules = "CQ-22, ISO-01, ISO-02"

    def __init__(self, ctx: Context, pages: PageWrites) -> None:
        super().__init__(ctx)
        self.pages = pages
        # Waiting ones by CQ, as far as their place is open.
        self._open: dict[int, list[_Bell]] = {}
        # Pin-only counts since the CQ's creation (CQ-06, CQ-11).
        num_cq = ctx.params.num_cq
        self.arms = [0] * num_cq
        self.returns = [0] * num_cq
        self._epoch = [0] * num_cq

    # -- pins --------------------------------------------------------------------------------------

    def request(self, record: DoorbellRequest, serial: int) -> Pending:  # noqa: ARG002
        word = decode_write(
            record.addr, record.length, record.size, record.strb, record.data, self.ctx.engine
        )
        pending = _Bell(self, record, word)
        if isinstance(word, DoorbellWord):
            pending.epoch = self._epoch[word.cq]
            pending.now = word_cause(word, self.ctx.engine)
            self._open.setdefault(word.cq, []).append(pending)
            self._count(pending, 1)
        return pending

    def response(self, pending: Pending, record: DoorbellResponse) -> None:
        assert isinstance(pending, _Bell)
        word = pending.word
        if word is None:
            if record.cause != pending.cause:
                text = f"cause {record.cause:#x}, expected {pending.cause!r}"
                self.wrong(pending, text, coded("cause", Cause, record.cause, pending.cause))
        elif record.cause == 0:
            if pending.owner is None:
                self.wrong(pending, "accepted, but the trace port shows no step of it")
            if pending.owner != word.page:
                self.wrong(pending, f"accepted through page {word.page} of another owner")
        else:
            self._refused(pending, record.cause)
        if word is not None and not pending.decided:
            self._close(pending)
        self.ctx.engine.note_write(pending.request.addr, record.cause)

    def _refused(self, pending: _Bell, cause: int) -> None:
        if pending.owner is not None:
            # The step may be that of a later write with the same content.
            for other in self.pages.of(_Bell):
                if self._same(other, pending) and not other.decided:
                    other.owner = pending.owner
                    self._close(other)
                    break
            else:
                self.wrong(pending, f"refused with {cause:#x}, but it changed the CQ")
        causes = {*pending.causes, pending.now}
        if cause not in causes or not cause:
            diff = coded("cause", Cause, cause, *causes)
            self.wrong(pending, f"refused with {cause:#x}; right would be: {diff.want}", diff)
        self._count(pending, -1)

    # -- trace -------------------------------------------------------------------------------------

    def step(self, record: Trace) -> None:
        """A doorbell took effect: finds the write that it belongs to."""
        register_is_db = record.op == TraceOp.DOORBELL
        for pending in self.pages.of(_Bell):
            word = pending.word
            if word is None or pending.decided or word.cq != record.cq:
                continue
            if (word.register == CQ_DB) is register_is_db and pending.operand == record.operand:
                break
        else:
            self.fail("a doorbell took effect that nobody wrote")
        pending.owner = self.ctx.engine.owner_page(record.cq)
        self.pages.passed(pending)

    def changed(self, cq: int, late: int = STEP_LATE) -> None:
        """The state of a CQ changed, so many cycles before the record that tells it: what could a
        doorbell that is executed now be told?
        """
        until = self.ctx.cycle - late
        for pending in self._open.get(cq, ()):
            assert pending.word is not None
            now = word_cause(pending.word, self.ctx.engine)
            if now is not pending.now:
                pending.causes[pending.now] = until
                pending.now = now

    def after_step(self) -> None:
        """Doorbells after an accepted one are judged in states after its step."""
        step = self.ctx.cycle - STEP_LATE
        for waiting in self._open.values():
            for pending in waiting:
                if pending.causes:
                    past = pending.causes.items()
                    pending.causes = {cause: until for cause, until in past if until > step}

    def created(self, cq: int) -> None:
        """A CQ begins a new life: only what is still to be executed counts for it."""
        self._epoch[cq] += 1
        self.arms[cq] = self.returns[cq] = 0
        for pending in self._open.get(cq, ()):
            pending.epoch = self._epoch[cq]
            self._count(pending, 1)

    # -- helpers -----------------------------------------------------------------------------------

    @staticmethod
    def _same(one: _Bell, two: _Bell) -> bool:
        a, b = one.word, two.word
        return (
            a is not None
            and b is not None
            and (a.register, a.cq, one.operand) == (b.register, b.cq, two.operand)
        )

    def passed(self, pending: Pending) -> None:
        assert isinstance(pending, _Bell)
        if pending.word is not None and not pending.decided:
            self._close(pending)

    def _close(self, pending: _Bell) -> None:
        """No later state counts for it."""
        pending.decided = True
        assert pending.word is not None
        waiting = self._open[pending.word.cq]
        waiting.remove(pending)
        if not waiting:
            del self._open[pending.word.cq]

    def _count(self, pending: _Bell, by: int) -> None:
        word = pending.word
        assert word is not None
        if pending.epoch == self._epoch[word.cq]:
            if word.register != CQ_DB:
                self.returns[word.cq] += by
            elif word.arm is not None:
                self.arms[word.cq] += by
