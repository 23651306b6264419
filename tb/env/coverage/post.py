# SPDX-License-Identifier: Apache-2.0
"""Functional coverage of the full engine: what coverage.py counts, and the situations of posting.
Plain counters; the bins are in coverage_post_bins.py.
"""

from __future__ import annotations

from collections import deque

from models import codes
from models.codes import (
    FOREIGN_CAUSES,
    QP_COMMANDS,
    Cause,
    ConnEvent,
    CqStatus,
    PostFlag,
    QpState,
    StateBy,
    Status,
    TraceOp,
)
from models.layouts import RECV_PORTAL, SRQ_PORTAL
from models.params import Params
from models.post.post import Post
from models.post.post_check import is_portal
from models.verbs import VERBS
from tb.env.coverage.coverage import Coverage
from tb.env.coverage.post_bins import CAUSES, QP_COMMAND_BINS, TRANSITIONS
from tb.env.harness.records import (
    Command,
    ConnReport,
    DoneReport,
    DoorbellRequest,
    DoorbellResponse,
    TermRequest,
    Trace,
    WorkBeat,
)

_ALL = 0xFFFF
_RECEIVES = {RECV_PORTAL: "receive", SRQ_PORTAL: "shared receive"}
_OPEN = (QpState.CONNECTED, QpState.DISCONNECT_PENDING)
_REASONS = {StateBy.COMMAND: "command", StateBy.CONN: "event", StateBy.REPORT: "report"}


class _Qp:
    """What coverage remembers of one QP."""

    def __init__(self) -> None:
        self.state = QpState.FREE
        self.requests: deque[tuple[Post, bool]] = deque()  # and held until now
        self.tags: deque[int] = deque()
        self.tail = self.released = self.indicated = 0
        self.waits = False  # the request to be indicated is fenced
        self.failures = 0
        self.tag = 0
        self.mid = False  # in the middle of a batch
        self.lives = 0


class EngineCoverage(Coverage):
    """Subscriber of the records of a full engine."""

    def __init__(self, params: Params) -> None:
        super().__init__(params)
        self._by_type |= {
            WorkBeat: self._work,
            DoneReport: self._done,
            ConnReport: self._conn,
            TermRequest: self._term,
        }

    def _begin(self) -> None:
        super()._begin()
        self._qps = [_Qp() for _ in range(self.params.num_qp)]
        self._posts: deque[Post] = deque()  # written, no step yet
        self._portals: deque[tuple[int, Post]] = deque()  # not answered: offset, post
        self._run = (-1, 0)
        self._order: deque[int] = deque()  # QPs of remote requests, as indicated
        self._step: Trace | None = None

    # -- posts -------------------------------------------------------------------------------------

    def _request(self, record: DoorbellRequest) -> None:
        super()._request(record)
        if is_portal(record.addr):
            post = Post.decode(record.data)
            self._portals.append((self._requests[-1], post))
            self._posts.append(post)

    def _response(self, record: DoorbellResponse) -> None:
        if not self._requests or not is_portal(self._requests[0]):
            super()._response(record)
            return
        self._requests.popleft()
        offset, post = self._portals.popleft()
        if record.cause in CAUSES:
            self._hit(f"post cause/{Cause(record.cause).name}")
        if record.cause and offset in _RECEIVES:
            self._hit(f"portal/{_RECEIVES[offset]}")
        if record.cause == Cause.NO_QP:
            self._hit(f"post in state/{self._qps[post.qp].state.name}")
        if record.cause in FOREIGN_CAUSES and post in self._posts:
            self._posts.remove(post)

    def _trace(self, record: Trace) -> None:
        if record.lane < 3:
            super()._trace(record)
            return
        if record.cq >= self.params.num_qp:
            return
        qp = self._qps[record.cq]
        if record.op == TraceOp.RETIRE:
            self._retire(record, qp)
            self._together(record)
            return
        self._step = record
        if record.op == TraceOp.POST:
            self._post(record, qp)
        elif record.op == TraceOp.AGE:
            self._release(record, qp, "age")
        else:
            self._state(record, qp)
        qp.tail, qp.released = record.new >> 16 & _ALL, record.new >> 32 & _ALL

    def _together(self, record: Trace) -> None:
        other = self._step
        if other is None or other.cycle != record.cycle:
            return
        if other.cq != record.cq:
            self._hit("same cycle/posting and retirement of two QPs")
        elif other.op == TraceOp.POST:
            self._hit("same cycle/post and retirement of one QP")

    def _post(self, record: Trace, qp: _Qp) -> None:
        cause, opcode = record.operand & 0xFF, record.operand >> 8 & 0xFF
        flags = record.operand >> 16
        post = next(
            (p for p in self._posts if (p.qp, p.opcode, p.flags) == (record.cq, opcode, flags)),
            None,
        )
        if post is None:
            return
        self._posts.remove(post)
        deferred = bool(flags & PostFlag.DEFER)
        held = qp.tail - qp.released & self._mask
        self._hit(f"post in state/{qp.state.name}")
        verb = VERBS.get(opcode)
        if verb is not None:
            for name in verb.bins(post, cause):
                self._hit(f"verb/{name}")
        if cause == Cause.OK:
            self._accepted(record, qp, post, held)
            return
        if verb is not None:
            self._hit(f"outcome/{verb.name}, {'DEFER' if deferred else 'plain'}, refused")
        if qp.state is not QpState.CONNECTED:
            return
        self._hit(f"chain/failure with {held if held < 3 else '3 or more'} held")
        if held:
            self._release(record, qp, "inline failure")
            if deferred:
                self._hit("release/failure of a post with DEFER")
            known = record.old >> 48 & _ALL
            if cause == Cause.QUEUE_FULL and known == qp.released:
                self._hit("release/queue full of held requests")

    def _accepted(self, record: Trace, qp: _Qp, post: Post, held: int) -> None:
        deferred = post.has(PostFlag.DEFER)
        reads = any(VERBS[other.opcode].is_read for other, _ in qp.requests)
        qp.requests.append((post, True))
        if post.has(PostFlag.READ_FENCE):
            local = VERBS[post.opcode].local
            self._hit(f"fence/{'waits' if reads else 'nothing to wait for'}")
            if reads and local:
                self._hit("fence/local request waits")
            qp.waits = qp.waits or reads
        if (record.new >> 16 & _ALL) < qp.tail:
            self._hit("index/post index wraps")
        if record.new >> 32 & _ALL == qp.released:
            return
        if not deferred:
            self._hit(f"chain/{held + 1 if held < 3 else '4 or more'}")
        self._release(record, qp, "watermark" if deferred else "post without DEFER")

    def _release(self, record: Trace, qp: _Qp, reason: str) -> None:
        self._hit(f"release/{reason}")
        size = (record.new >> 32) - qp.released & self._mask
        self._hit(f"batch/{size if size < 3 else '3 or more'}")
        if size > self.params.burst:
            self._hit("batch/more than a burst")
        if qp.indicated != qp.released:
            self._hit("batch/behind another one")
        qp.requests = deque((post, False) for post, _ in qp.requests)

    # -- states ------------------------------------------------------------------------------------

    def _state(self, record: Trace, qp: _Qp) -> None:
        old, code = qp.state, record.new & 0xF
        if code > max(QpState):
            return
        new = QpState(code)
        outstanding = record.new >> 16 & _ALL != record.new >> 48 & _ALL
        if new in (QpState.FREE, QpState.DESTROYING):
            if old is QpState.DESTROYING:
                self._hit("transition/DESTROYING to FREE")
            elif old is not QpState.FREE:
                self._hit(f"transition/{old.name} to gone")
            if new is QpState.DESTROYING and outstanding:
                self._hit("transition/waits for its last requests")
        else:
            name, reason = f"{old.name} to {new.name}", _REASONS.get(StateBy(record.operand & 3))
            if reason in TRANSITIONS.get(name, ()):
                self._hit(f"transition/{name} by {reason}")
        if old is QpState.CONNECTED:
            if any(held for _, held in qp.requests):
                self._hit("held/canceled by the end of the connection")
            qp.waits = False
        if old is QpState.FREE:
            if qp.lives and qp.tail:
                self._hit("index/goes on after re-creation")
            qp.lives += 1
        if new is QpState.CONNECTED:
            qp.failures = 0
        if old is QpState.CONNECTED:
            qp.indicated = record.new >> 32 & _ALL
        qp.state = new

    def _command(self, record: Command) -> None:
        own = record.code in QP_COMMANDS
        name = QP_COMMAND_BINS.get((record.code, record.result))
        if own or name is not None:
            if name is not None:
                self._hit(name)
            if own and record.code == codes.Command.MODIFY_QP and not record.result:
                self._modified(record)
            return
        super()._command(record)

    def _modified(self, record: Command) -> None:
        qp = self._qps[record.args[0]]
        if qp.state is QpState.CONNECTED and qp.tail != qp.released:
            if record.args[5] & _ALL:
                self._hit("held/watermark changed")
            if record.args[5] >> 16:
                self._hit("held/age limit changed")

    # -- transport ---------------------------------------------------------------------------------

    def _work(self, record: WorkBeat) -> None:
        if record.qp >= self.params.num_qp:
            return
        qp = self._qps[record.qp]
        if qp.state is not QpState.CONNECTED:
            self._hit("late/beat behind the end of its connection")
        else:
            qp.indicated = (record.user >> 16) + 1 & self._mask
        before, run = self._run
        if before == record.qp:
            self._run = (before, run + 1)
            if run + 1 > self.params.burst:
                self._hit("burst/longer, nobody else waits")
        else:
            if before >= 0 and self._qps[before].mid:
                if qp.mid or not record.last:
                    self._hit("burst/batches of two QPs interleave")
                if run == self.params.burst:
                    self._hit("burst/ends in a batch")
            self._run = (record.qp, 1)
        qp.mid = not record.last
        if Post.decode(record.data).has(PostFlag.READ_FENCE):
            qp.waits = False
        if any(other.waits for other in self._qps if other is not qp):
            self._hit("fence/another QP goes on")
        if not record.user >> 56 & 1:
            tag = record.user & _ALL
            if qp.tag == self._mask and not tag:
                self._hit("index/tag wraps")
            qp.tag = tag
            qp.tags.append(tag)
            self._order.append(record.qp)

    def _done(self, record: DoneReport) -> None:
        number, tag, status = record.data & _ALL, record.data >> 16 & _ALL, record.data >> 32
        if number >= self.params.num_qp or status >> 8:
            self._hit("report/malformed")
            return
        qp = self._qps[number]
        if not qp.tags:
            self._hit("report/nothing outstanding")
            if qp.state is QpState.FREE:
                self._hit("report/of a QP that does not exist")
            return
        if qp.tags[0] != tag:
            self._hit("report/out of order")
            return
        qp.tags.popleft()
        if self._order[0] != number:
            self._hit("order/reports of two QPs in another order")
        self._order.remove(number)
        self._hit("report/failure" if status else "report/success")
        if qp.state not in _OPEN:
            self._hit("report/behind the connection")
        if status:
            qp.failures += 1
            if qp.failures == 2:
                self._hit("report/second failure")

    def _conn(self, record: ConnReport) -> None:
        number = record.data & _ALL
        if number >= self.params.num_qp or record.data >> 16 != ConnEvent.DISCONNECTED:
            self._hit("event/malformed")
            return
        state = self._qps[number].state
        if state is QpState.FREE:
            self._hit("event/no QP")
        else:
            self._hit("event/disconnects" if state in _OPEN else "event/ignored")

    def _term(self, record: TermRequest) -> None:
        state = record.data >> 16
        if state in (QpState.ERROR, QpState.DISCONNECTED):
            self._hit(f"terminate/{QpState(state).name}")

    # -- retirement --------------------------------------------------------------------------------

    def _retire(self, record: Trace, qp: _Qp) -> None:
        if not qp.requests:
            return
        post, _ = qp.requests.popleft()
        verb, operand = VERBS[post.opcode], record.operand
        status, silent, skipped = operand & 0xFF, operand >> 8 & 1, operand >> 9 & 1
        for name in verb.bins(post, status=status):
            self._hit(f"verb/{name}")
        outcome = {Status.SUCCESS: "success", Status.CANCELED: "canceled"}.get(
            Status(min(status, Status.TRANSPORT_ERROR)), "failed"
        )
        if not (verb.local and outcome == "failed"):
            defer = "DEFER" if post.has(PostFlag.DEFER) else "plain"
            self._hit(f"outcome/{verb.name}, {defer}, {outcome}")
        if skipped:
            self._hit("retire/skipped")
        elif outcome == "canceled":
            self._hit("retire/canceled, local" if verb.local else "retire/canceled")
        elif outcome == "failed":
            self._hit("retire/failed")
        else:
            self._hit("retire/local" if verb.local else "retire/reported")
        if silent:
            self._hit("retire/silent success")
        elif post.has(PostFlag.SILENT_SUCCESS):
            self._hit("retire/silent, not successful")
        cq = operand >> 16
        if cq < self.params.num_cq and self._cqs[cq].state >> 2 & 3 != CqStatus.OK:
            self._hit("retire/CQ in error")
