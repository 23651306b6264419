# SPDX-License-Identifier: Apache-2.0
"""Requests that change keys: each request of a guarded QP is executed once, in its place among the
QP's indications, with the status of the rules, which its completion has, too (DF-12, DF-15, MW-02,
MW-03, MW-05, MW-11).

A local request has one step on trace lane 8 and one beat on m_axis_work, as close to each other as
the engine's pipeline makes them; in the model it is indicated by the step. Nothing else of its QP
is indicated in between. A Read that invalidates has its step before that of its retirement.
"""

from __future__ import annotations

from models.codes import ModelError, TraceOp
from tb.env.defs import TRC_INVALIDATE
from tb.env.harness.records import Trace
from tb.env.scoreboard.context import Check
from tb.env.scoreboard.keys.context import OBJECT, KeyContext
from tb.env.scoreboard.keys.peer import PeerChecks
from tb.env.scoreboard.post.dispatch import DispatchChecks
from tb.env.scoreboard.post.retire import RetireChecks


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
        try:
            found = self.dispatch.execute(record)
        except ModelError as error:
            kc.fail_step(str(error), record)
        step = found.step
        if step is None:
            kc.fail_step(f"request {found.number} changes no keys", record)
        kc.judge(record, step)
        kc.changed(step.key & OBJECT)
        self.executed += 1
        if not step.okay:
            kc.must_end(qp)
