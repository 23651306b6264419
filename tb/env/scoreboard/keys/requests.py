# SPDX-License-Identifier: Apache-2.0
"""Requests that change keys: each request of a guarded QP is executed once, in its place among the
QP's indications, with the status of the rules, which its completion has, too (DF-12, DF-15, MW-02,
MW-03, MW-05, MW-11).

A local request has one step on trace lane 8 and one beat on m_axis_work, as close to each other as
the engine's pipeline makes them; in the model it is indicated by the step. Nothing else of its QP
is indicated in between. A Read that invalidates has its step before that of its retirement.

The peer invalidates in the step that takes the buffer of its message, once, with BAD_TOKEN where
the rules say so (MW-05, MW-12, CQ-03). That step on lane 8 comes after that of the take, before the
answer or a little after it.
"""

from __future__ import annotations

from collections.abc import Iterator

from models.codes import By, ScatterCode, TraceOp
from models.receive.receive_types import RecvRequest, Taken, TakeResult
from tb.env.defs import TRC_INVALIDATE
from tb.env.harness.records import Trace
from tb.env.scoreboard.context import Check, Left
from tb.env.scoreboard.explain import Difference, name_of
from tb.env.scoreboard.keys.context import OBJECT, KeyContext
from tb.env.scoreboard.post.context import LAG
from tb.env.scoreboard.post.dispatch import DispatchChecks
from tb.env.scoreboard.post.retire import RetireChecks


class PeerChecks(Check):
    """INVALIDATE by the peer, and the answers to messages with a token."""

    rules = "MW-05, MW-12"

    def __init__(self, kc: KeyContext) -> None:
        self.kc = kc
        self.invalidations = 0
        #: Answers before the steps of their tokens, by QP and number of the take: code, cycle.
        self.told: dict[tuple[int, int], tuple[int, int]] = {}

    def answered(self, taken: Taken, request: RecvRequest, code: int) -> bool:
        """An answer with this code was taken. False: it has to be BAD_TOKEN; whether it is, the
        step of the token says.
        """
        qp = request.qp
        must = request.invalidate and not taken.overlong and self.kc.guarded(qp)
        if not must and taken.key is not None:
            self.kc.fail(f"answer to {request}: its buffer was taken with an invalidation", qp=qp)
        taken.undecided = must and taken.key is None
        if not must:
            return True
        if taken.key is None:
            self.told[qp, taken.number] = code, self.kc.ctx.cycle
            return code != ScatterCode.BAD_TOKEN
        if taken.key.key != request.token:
            text = f"answer to {request}: key {taken.key.key:#x} was invalidated for it"
            self.kc.fail(text, request.token & OBJECT, qp)
        return taken.key.okay

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
        rq.decide(TakeResult(ScatterCode.SCATTER, number=taken.number), step)
        if not step.okay:
            kc.must_end(qp, told=False)
        right = ScatterCode.SCATTER if step.okay else ScatterCode.BAD_TOKEN
        code, cycle = self.told.pop((qp, taken.number), (right, 0))
        if code != right:
            text = f"answer of cycle {cycle} with code {code}, expected {right.name}"
            diff = Difference("code", name_of(ScatterCode, code), right.name)
            kc.fail_step(text, record, token & OBJECT, diff)

    def tick(self) -> None:
        for (qp, _), (_, cycle) in self.told.items():
            if self.kc.ctx.cycle - cycle > LAG:
                text = f"its token was not invalidated, of the message answered in cycle {cycle}"
                self.kc.fail(text, qp=qp)

    def left(self) -> Iterator[Left]:
        """Tokens to be invalidated."""
        for qp, rq in enumerate(self.kc.rc.rqs):
            for taken in rq.flight:
                if taken.undecided:
                    yield Left("", taken.number, f"QP {qp}: token not invalidated of buffer")


class KeyChecks(Check):
    """Steps of requests on lane 8."""

    rules = "DF-12, MW-02, MW-05, MW-11"

    def __init__(
        self, kc: KeyContext, dispatch: DispatchChecks, retire: RetireChecks, peer: PeerChecks
    ) -> None:
        self.kc = kc
        self.dispatch = dispatch
        self.retire = retire
        self.peer = peer
        self.executed = 0

    def invalidate(self, record: Trace) -> None:
        """INVALIDATE: by a message of the peer, by a Read, or by a request."""
        if TRC_INVALIDATE["peer"].get(record.operand):
            self.peer.peer_step(record)
        else:
            self.request_step(record)

    def request_step(self, record: Trace) -> None:
        """BIND, FAST_REGISTER, INVALIDATE by a request or a Read."""
        kc, qp = self.kc, record.cq
        if not kc.guarded(qp):
            kc.fail_step("step of a QP that is not guarded", record)
        old = kc.regions()
        if record.op == TraceOp.INVALIDATE and TRC_INVALIDATE["read"].get(record.operand):
            self.retire.read_step(record)
        else:
            self._execute(record)
        kc.note_regions(old)

    def _execute(self, record: Trace) -> None:
        kc, qp = self.kc, record.cq
        upcoming = [r for r in kc.qpc.qps[qp].requests if not r.indicated and r.verb.changes_keys]
        if upcoming:
            post = upcoming[0].post
            keys = (post.target.key, *(s.key for s in post.segments))
            kc.changing(*(n for key in keys for n in (key & OBJECT, *kc.regions_of(key))))
        found = self.dispatch.execute(record)
        step = found.step
        if step is None:
            kc.fail_step(f"request {found.number} changes no keys", record)
        kc.judge(record, step)
        kc.changed(step.key & OBJECT)
        self.executed += 1
        if not step.okay:
            kc.must_end(qp)
