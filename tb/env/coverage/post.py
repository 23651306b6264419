# SPDX-License-Identifier: Apache-2.0
"""Functional coverage of posting."""

from __future__ import annotations

from collections import deque

from models import codes
from models.codes import (
    FOREIGN_CAUSES,
    POST_CAUSES,
    Cause,
    ConnEvent,
    PostFlag,
    QpState,
    Status,
    TraceOp,
)
from models.post.post import Post
from models.verbs import VERBS
from tb.env import defs
from tb.env.coverage.bins import REASONS
from tb.env.coverage.memory import Group, QpMemory, Situation
from tb.env.defs import CONN, DONE, QSTATE, TRC_POST, TRC_QP_STATE, TRC_RETIRE, WORK_USER
from tb.env.harness import records as beats

_state, _tail, _released, _retired = (field.get for field in QSTATE.fields.values())
_OPEN = (QpState.CONNECTED, QpState.DISCONNECT_PENDING)
_LAST_STATE = max(QpState)


class PostCoverage(Group):
    """Situations of posting."""

    def __init__(self, situation: Situation) -> None:
        super().__init__(situation)
        self._posts: deque[Post] = deque()  # written, no step yet
        self._portals: deque[Post] = deque()  # not answered
        self._run = (-1, 0)
        self._order: deque[int] = deque()  # QPs of remote requests, as indicated
        self._step: beats.Trace | None = None

    # -- posts -------------------------------------------------------------------------------------

    def request(self, record: beats.DoorbellRequest) -> None:
        """A write to a send portal."""
        post = Post.decode(record.data)
        self._portals.append(post)
        self._posts.append(post)

    def response(self, record: beats.DoorbellResponse, _: int) -> None:
        """Its answer."""
        post = self._portals.popleft()
        if record.cause in POST_CAUSES:
            self.m.hit(f"post cause/{Cause(record.cause).name}")
        if record.cause == Cause.NO_QP:
            self.m.hit(f"post in state/{self.m.qps[post.qp].state.name}")
        if record.cause in FOREIGN_CAUSES and post in self._posts:
            self._posts.remove(post)

    def begins(self, record: beats.Trace, _: QpMemory) -> None:
        """Ahead of each step of lane 3."""
        self._step = record

    def stepped(self, record: beats.Trace, qp: QpMemory) -> None:
        """After each step of lane 3."""
        qp.tail, qp.released = _tail(record.new), _released(record.new)

    def age(self, record: beats.Trace, qp: QpMemory) -> None:
        """AGE."""
        self._release(record, qp, "age")

    def together(self, record: beats.Trace, _: QpMemory) -> None:
        other = self._step
        if other is None or other.cycle != record.cycle:
            return
        if other.cq != record.cq:
            self.m.hit("same cycle/posting and retirement of two QPs")
        elif other.op == TraceOp.POST:
            self.m.hit("same cycle/post and retirement of one QP")

    def post(self, record: beats.Trace, qp: QpMemory) -> None:
        cause, opcode, flags = TRC_POST.unpack(record.operand).values()
        for post in self._posts:
            if post.qp == record.cq and post.opcode == opcode and post.flags == flags:
                break
        else:
            return
        self._posts.remove(post)
        deferred = bool(flags & PostFlag.DEFER)
        held = qp.tail - qp.released & self.m.mask
        self.m.hit(f"post in state/{qp.state.name}")
        verb = VERBS.get(opcode)
        if verb is not None:
            for name in verb.bins(post, cause):
                self.m.hit(f"verb/{name}")
        if cause == Cause.OK:
            self._accepted(record, qp, post, held)
            return
        if verb is not None:
            self.m.hit(f"outcome/{verb.name}, {'DEFER' if deferred else 'plain'}, refused")
        if qp.state is not QpState.CONNECTED:
            return
        self.m.hit(f"chain/failure with {held if held < 3 else '3 or more'} held")
        if held:
            self._release(record, qp, "inline failure")
            self.m.hit_if(deferred, "release/failure of a post with DEFER")
            known = _retired(record.old)
            if cause == Cause.QUEUE_FULL and known == qp.released:
                self.m.hit("release/queue full of held requests")

    def _accepted(self, record: beats.Trace, qp: QpMemory, post: Post, held: int) -> None:
        deferred = post.has(PostFlag.DEFER)
        reads = any(VERBS[other.opcode].is_read for other, _ in qp.requests)
        qp.requests.append((post, True))
        if post.has(PostFlag.READ_FENCE):
            local = VERBS[post.opcode].local
            self.m.hit(f"fence/{'waits' if reads else 'nothing to wait for'}")
            self.m.hit_if(reads and local, "fence/local request waits")
            qp.waits = qp.waits or reads
        self.m.hit_if(_tail(record.new) < qp.tail, "index/post index wraps")
        if _released(record.new) == qp.released:
            return
        self.m.hit_if(not deferred, f"chain/{held + 1 if held < 3 else '4 or more'}")
        self._release(record, qp, "watermark" if deferred else "post without DEFER")

    def _release(self, record: beats.Trace, qp: QpMemory, reason: str) -> None:
        self.m.hit(f"release/{reason}")
        size = _released(record.new) - qp.released & self.m.mask
        self.m.hit(f"batch/{size if size < 3 else '3 or more'}")
        self.m.hit_if(size > self.m.params.burst, "batch/more than a burst")
        self.m.hit_if(qp.indicated != qp.released, "batch/after another one")
        qp.requests = deque((post, False) for post, _ in qp.requests)

    # -- states ------------------------------------------------------------------------------------

    def state(self, record: beats.Trace, qp: QpMemory) -> None:
        old, code = qp.state, _state(record.new)
        if code > _LAST_STATE:
            return
        new = QpState(code)
        outstanding = _tail(record.new) != _retired(record.new)
        if new in (QpState.FREE, QpState.DESTROYING):
            if old is QpState.DESTROYING:
                self.m.hit("transition/DESTROYING to FREE")
            elif old is not QpState.FREE:
                self.m.hit(f"transition/{old.name} to gone")
            if new is QpState.DESTROYING and outstanding:
                self.m.hit("transition/waits for its last requests")
        else:
            reason = REASONS.get(TRC_QP_STATE["reason"].get(record.operand))
            self.m.hit_if_known(f"transition/{old.name} to {new.name} by {reason}")
        if old is QpState.CONNECTED:
            if any(held for _, held in qp.requests):
                self.m.hit("held/canceled by the end of the connection")
            qp.waits = False
        if old is QpState.FREE:
            self.m.hit_if(qp.lives and qp.tail, "index/goes on after re-creation")
            qp.lives += 1
        if new is QpState.CONNECTED:
            qp.failures = 0
        if old is QpState.CONNECTED:
            qp.indicated = _released(record.new)
        qp.state = new

    def modified(self, record: beats.Command) -> None:
        """MODIFY_QP."""
        if record.code != codes.Command.MODIFY_QP or record.result:
            return
        qp = self.m.qps[record.args[0]]
        if qp.state is QpState.CONNECTED and qp.tail != qp.released:
            watermark, age = defs.QP_HOLDS.unpack(record.args[5]).values()
            self.m.hit_if(watermark, "held/watermark changed")
            self.m.hit_if(age, "held/age limit changed")

    # -- transport ---------------------------------------------------------------------------------

    def work(self, record: beats.WorkBeat) -> None:
        if record.qp >= self.m.params.num_qp:
            return
        tag, index, _, local = WORK_USER.unpack(record.user).values()
        qp = self.m.qps[record.qp]
        if qp.state is not QpState.CONNECTED:
            self.m.hit("late/beat after the end of its connection")
        else:
            qp.indicated = index + 1 & self.m.mask
        before, run = self._run
        if before == record.qp:
            self._run = (before, run + 1)
            self.m.hit_if(run + 1 > self.m.params.burst, "burst/longer, nobody else waits")
        else:
            if before >= 0 and self.m.qps[before].mid:
                self.m.hit_if(qp.mid or not record.last, "burst/batches of two QPs interleave")
                self.m.hit_if(run == self.m.params.burst, "burst/ends in a batch")
            self._run = (record.qp, 1)
        qp.mid = not record.last
        if Post.decode(record.data).has(PostFlag.READ_FENCE):
            qp.waits = False
        for other in self.m.qps:
            if other.waits and other is not qp:
                self.m.hit("fence/another QP goes on")
                break
        if not local:
            self.m.hit_if(qp.tag == self.m.mask and not tag, "index/tag wraps")
            qp.tag = tag
            qp.tags.append(tag)
            self._order.append(record.qp)

    def done(self, record: beats.DoneReport) -> None:
        number, tag, status = DONE.unpack(record.data).values()
        if number >= self.m.params.num_qp or record.data & DONE.reserved:
            self.m.hit("report/malformed")
            return
        qp = self.m.qps[number]
        if not qp.tags:
            self.m.hit("report/nothing outstanding")
            self.m.hit_if(qp.state is QpState.FREE, "report/of a QP that does not exist")
            return
        if qp.tags[0] != tag:
            self.m.hit("report/out of order")
            return
        qp.tags.popleft()
        self.m.hit_if(self._order[0] != number, "order/reports of two QPs in another order")
        self._order.remove(number)
        self.m.hit("report/failure" if status else "report/success")
        self.m.hit_if(qp.state not in _OPEN, "report/after the connection")
        if status:
            qp.failures += 1
            self.m.hit_if(qp.failures == 2, "report/second failure")

    def conn(self, record: beats.ConnReport) -> None:
        number, event = CONN.unpack(record.data).values()
        wrong = event != ConnEvent.DISCONNECTED or record.data & CONN.reserved
        if number >= self.m.params.num_qp or wrong:
            self.m.hit("event/malformed")
            return
        state = self.m.qps[number].state
        if state is QpState.FREE:
            self.m.hit("event/no QP")
        else:
            self.m.hit("event/disconnects" if state in _OPEN else "event/ignored")

    def term(self, record: beats.TermRequest) -> None:
        state = defs.TERM["state"].get(record.data)
        if state in (QpState.ERROR, QpState.DISCONNECTED):
            self.m.hit(f"terminate/{QpState(state).name}")

    # -- retirement --------------------------------------------------------------------------------

    def retire(self, record: beats.Trace, qp: QpMemory) -> None:
        if not qp.requests:
            return
        post, _ = qp.requests.popleft()
        verb = VERBS[post.opcode]
        status, silent, skipped, cq = TRC_RETIRE.unpack(record.operand).values()
        for name in verb.bins(post, status=status):
            self.m.hit(f"verb/{name}")
        outcome = {Status.SUCCESS: "success", Status.CANCELED: "canceled"}.get(
            Status(min(status, Status.TRANSPORT_ERROR)), "failed"
        )
        if not (verb.local and outcome == "failed"):
            defer = "DEFER" if post.has(PostFlag.DEFER) else "plain"
            self.m.hit(f"outcome/{verb.name}, {defer}, {outcome}")
        if skipped:
            self.m.hit("retire/skipped")
        elif outcome == "canceled":
            self.m.hit("retire/canceled, local" if verb.local else "retire/canceled")
        elif outcome == "failed":
            self.m.hit("retire/failed")
        else:
            self.m.hit("retire/local" if verb.local else "retire/reported")
        if silent:
            self.m.hit("retire/silent success")
        elif post.has(PostFlag.SILENT_SUCCESS):
            self.m.hit("retire/silent, not successful")
        if cq < self.m.params.num_cq and defs.STATE["status"].get(self.m.cqs[cq].state):
            self.m.hit("retire/CQ in error")
