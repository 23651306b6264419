# SPDX-License-Identifier: Apache-2.0
"""Invalidation by the peer: in the step that takes the buffer, once, with BAD_TOKEN where the rules
say so (MW-05, MW-12, CQ-03).

The step on lane 8 comes behind that of the take, ahead of the answer or a little behind it.
"""

from __future__ import annotations

from models.codes import By, LogCause, ModelError, ScatterCode
from models.receive.receive_types import RecvRequest, Taken, TakeResult
from tb.env.harness.records import ScatterAnswer, Trace
from tb.env.scoreboard.key_context import OBJECT, KeyContext
from tb.env.scoreboard.memory import MemoryChecks
from tb.env.scoreboard.qp_context import LAG
from tb.env.scoreboard.receive_context import RegionChange
from tb.env.scoreboard.receive_credits import ReceiveCredits
from tb.env.scoreboard.receive_post import ReceivePostChecks
from tb.env.scoreboard.retire import QP_KIND
from tb.env.scoreboard.take import Take, TakeChecks


class KeyReceivePostChecks(ReceivePostChecks):
    """Receive posts: what changes regions has steps of its own."""

    def _changing(self) -> RegionChange | None:
        return None


class KeyTakeChecks(TakeChecks):
    """Takes of messages that may invalidate a token."""

    def __init__(
        self,
        kc: KeyContext,
        credits_: ReceiveCredits,
        posts: ReceivePostChecks,
        memory: MemoryChecks,
    ) -> None:
        super().__init__(kc.rc, credits_, posts, memory)
        self.kc = kc
        self.bad_tokens = 0
        self.invalidations = 0
        #: Answers ahead of the steps of their tokens, by QP and number of the take: code, cycle.
        self.told: dict[tuple[int, int], tuple[int, int]] = {}
        self._code = 0  # of the answer that is looked at

    def peer_step(self, record: Trace) -> None:
        """INVALIDATE by the peer."""
        kc, qp = self.kc, record.cq
        rq = kc.rc.rqs[qp]
        if not kc.guarded(qp):
            kc.fail_step("step of a QP that is not guarded", record)
        taken = next((t for t in rq.flight if t.undecided), None)
        if taken is None or taken.request is None:
            kc.fail_step("INVALIDATE by the peer, but no taken message waits for it", record)
        token = taken.request.token
        kc.changing(token & OBJECT, *kc.regions_of(token))
        old = kc.regions()
        step = kc.table.invalidate(qp, token, By.PEER)
        kc.judge(record, step)
        kc.note_regions(old)
        self.invalidations += 1
        kc.changed(token & OBJECT)
        try:
            rq.decide(TakeResult(ScatterCode.SCATTER, number=taken.number), step)
        except ModelError as error:
            kc.fail_step(str(error), record)
        if not step.okay:
            kc.must_end(qp, told=False)
        right = ScatterCode.SCATTER if step.okay else ScatterCode.BAD_TOKEN
        code, cycle = self.told.pop((qp, taken.number), (right, 0))
        if code != right:
            text = f"answer of cycle {cycle} with code {code}, expected {right.name}"
            kc.fail_step(text, record, token & OBJECT)

    def _settle(self, take: Take, taken: Taken, request: RecvRequest) -> TakeResult:
        qp = request.qp
        result = super()._settle(take, taken, request)
        where = f"answer to {request}"
        must = request.invalidate and not taken.overlong and self.kc.guarded(qp)
        if not must and taken.key is not None:
            self.kc.fail(f"{where}: its buffer was taken with an invalidation", qp=qp)
        taken.undecided = must and taken.key is None
        if not must:
            return result
        okay = self._code != ScatterCode.BAD_TOKEN
        if taken.key is None:
            self.told[qp, taken.number] = self._code, self.kc.ctx.cycle
        else:
            okay = taken.key.okay
            if taken.key.key != request.token:
                text = f"{where}: key {taken.key.key:#x} was invalidated for it"
                self.kc.fail(text, request.token & OBJECT, qp)
        if okay:
            return result
        return TakeResult(
            ScatterCode.BAD_TOKEN,
            buffer=result.buffer,
            number=result.number,
            tag=result.tag,
            srq=result.srq,
        )

    def answer(self, record: ScatterAnswer) -> None:
        """An answer was taken by the transport."""
        self._code = record.user & 0xF
        super().answer(record)
        if record.user & 0xF == ScatterCode.BAD_TOKEN:
            self.bad_tokens += 1
            self.log.append((LogCause.TOKEN_REFUSED, QP_KIND, record.qp, 0))

    def tick(self) -> None:
        """Time has passed."""
        super().tick()
        for (qp, _), (_, cycle) in self.told.items():
            if self.kc.ctx.cycle - cycle > LAG:
                text = f"its token was not invalidated, of the message answered in cycle {cycle}"
                self.kc.fail(text, qp=qp)

    def removed(self) -> None:
        """The device is removed: what waits may be refused."""
        for qp in {w.request.qp for w in self.requests if w.request.qp < self.rc.params.num_qp}:
            self.changed_qp(qp)
