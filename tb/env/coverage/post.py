# SPDX-License-Identifier: Apache-2.0
"""Functional coverage of posting."""

from __future__ import annotations

from collections import Counter, deque

from models import codes
from models.codes import Cause, ConnEvent, LogCause, PostFlag, QpState, Status, TraceOp
from models.layouts import PORTALS_END, RECV_PORTAL, SRQ_PORTAL
from models.post.post import Post
from models.post.qp import QpModel
from models.verbs import VERBS
from tb.env import defs
from tb.env.coverage.bins import REASONS
from tb.env.coverage.group import EngineGroup, some
from tb.env.defs import CONN, DONE, POST, QSTATE, TRC_POST, TRC_QP_STATE, TRC_RETIRE, WORK_USER
from tb.env.harness import records as beats
from tb.env.scoreboard.post.context import OPEN
from tb.env.scoreboard.scoreboard import Scoreboard

_state, _tail, _released, _retired = (field.get for field in QSTATE.fields.values())
#: Of posts.
_PORTALS = {*range(0, PORTALS_END, 0x40)} - {RECV_PORTAL, SRQ_PORTAL}
#: What becomes of a request that is reported by the transport, and of a local one.
_RETIRED = {
    "success": ("reported", "local"),
    "canceled": ("canceled", "canceled, local"),
    **{outcome: (outcome, outcome) for outcome in ("failed", "skipped")},
}
_GONE = (QpState.FREE, QpState.DESTROYING)


class PostCoverage(EngineGroup):
    """Situations of posting."""

    def __init__(self, counts: Counter[str], board: Scoreboard) -> None:
        super().__init__(counts, board)
        self._step: beats.Trace | None = None  # the latest one of lane 3
        self._run = (-1, 0)  # the QP of the latest beats, and how many
        self._order: deque[int] = deque()  # QPs of remote requests, as indicated
        self._mid: set[int] = set()  # QPs in the middle of a batch
        self._waits: set[int] = set()  # QPs with a fenced request
        self._failures: Counter[int] = Counter()  # reported in this connection
        self._lived: set[int] = set()  # QPs that were created
        self.steps = {
            (3, TraceOp.POST): (self.stepped, self.post),
            (3, TraceOp.AGE): (self.stepped, lambda record: self._release(record, "age")),
            (3, TraceOp.QP_STATE): (self.stepped, self.state),
            (4, TraceOp.RETIRE): (self.retire, self.together),
        }
        self.pins = {
            beats.WorkBeat: self.work,
            beats.DoneReport: self.done,
            beats.ConnReport: self.conn,
            beats.TermRequest: self.term,
        }
        self.answers = dict.fromkeys(_PORTALS, self.response)
        self.commands = {codes.Command.MODIFY_QP: self.modified}

    # -- posts -------------------------------------------------------------------------------------

    def response(self, record: beats.DoorbellResponse, _: int) -> None:
        """A write to a send portal is answered."""
        if record.cause in codes.POST_CAUSES:
            self.hit(f"post cause/{Cause(record.cause).name}")
        if record.cause == Cause.NO_QP:
            qp = POST["qp"].get(self.checks.pages.answered.request.data)
            self.hit(f"post in state/{self.qps[qp].state.name}")

    def stepped(self, record: beats.Trace) -> None:
        self._step = record

    def together(self, record: beats.Trace) -> None:
        other = self._step
        if other is None or other.cycle != record.cycle:
            return
        if other.cq != record.cq:
            self.hit("same cycle/posting and retirement of two QPs")
        elif other.op == TraceOp.POST:
            self.hit("same cycle/post and retirement of one QP")

    def post(self, record: beats.Trace) -> None:
        model = self.qps[record.cq]
        cause, opcode, flags = TRC_POST.unpack(record.operand).values()
        assert self.checks.posts.latest is not None
        post, old = self.checks.posts.latest.post, record.old
        deferred = bool(flags & PostFlag.DEFER)
        held = _tail(old) - _released(old) & self.mask
        self.hit(f"post in state/{model.state.name}")
        verb = VERBS.get(opcode)
        if verb is not None:
            for name in verb.bins(post, cause):
                self.hit(f"verb/{name}")
        if cause == Cause.OK:
            self._accepted(record, model, post, held)
            return
        if verb is not None:
            self.hit(f"outcome/{verb.name}, {'DEFER' if deferred else 'plain'}, refused")
        if model.state is not QpState.CONNECTED:
            return
        self.hit(f"chain/failure with {some(held, 3)} held")
        if held:
            self._release(record, "inline failure")
            full = cause == Cause.QUEUE_FULL and _retired(old) == _released(old)
            cases = {"failure of a post with DEFER": deferred, "queue full of held requests": full}
            self.hit_each("release", cases)

    def _accepted(self, record: beats.Trace, model: QpModel, post: Post, held: int) -> None:
        deferred = post.has(PostFlag.DEFER)
        if post.has(PostFlag.READ_FENCE):
            reads = any(request.verb.is_read for request in model.requests[:-1])
            self.hit(f"fence/{'waits' if reads else 'nothing to wait for'}")
            self.hit_if(reads and VERBS[post.opcode].local, "fence/local request waits")
            if reads:
                self._waits.add(record.cq)
        self.hit_if(_tail(record.new) < _tail(record.old), "index/post index wraps")
        if _released(record.new) != _released(record.old):
            self.hit_if(not deferred, f"chain/{some(held + 1, 4)}")
            self._release(record, "watermark" if deferred else "post without DEFER")

    def _release(self, record: beats.Trace, reason: str) -> None:
        self.hit(f"release/{reason}")
        size = _released(record.new) - _released(record.old) & self.mask
        self.hit(f"batch/{some(size, 3)}")
        self.hit_if(size > self.params.burst, "batch/more than a burst")
        waits = self.taken(record.cq) != _released(record.old)
        self.hit_if(waits, "batch/after another one")

    # -- states ------------------------------------------------------------------------------------

    def state(self, record: beats.Trace) -> None:
        qp, old, new = record.cq, QpState(_state(record.old)), QpState(_state(record.new))
        if new in _GONE:
            if old is QpState.DESTROYING:
                self.hit("transition/DESTROYING to FREE")
            elif old is not QpState.FREE:
                self.hit(f"transition/{old.name} to gone")
            waits = new is QpState.DESTROYING and _tail(record.new) != _retired(record.new)
            self.hit_if(waits, "transition/waits for its last requests")
        else:
            reason = REASONS[TRC_QP_STATE["reason"].get(record.operand)]
            self.hit_if_known(f"transition/{old.name} to {new.name} by {reason}")
        if old is QpState.CONNECTED:
            held = _tail(record.old) != _released(record.old)
            self.hit_if(held, "held/canceled by the end of the connection")
            self._waits.discard(qp)
        if old is QpState.FREE:
            goes_on = qp in self._lived and _tail(record.old)
            self.hit_if(goes_on, "index/goes on after re-creation")
            self._lived.add(qp)
        if new is QpState.CONNECTED:
            self._failures[qp] = 0

    def modified(self, record: beats.Command) -> None:
        """MODIFY_QP."""
        model = self.qps[record.args[0]]
        if model.state is QpState.CONNECTED and model.held:
            watermark, age = defs.QP_HOLDS.unpack(record.args[5]).values()
            self.hit_each("held", {"watermark changed": watermark, "age limit changed": age})

    # -- transport ---------------------------------------------------------------------------------

    def work(self, record: beats.WorkBeat) -> None:
        qp = record.qp
        tag, _, _, local = WORK_USER.unpack(record.user).values()
        late = self.qps[qp].state is not QpState.CONNECTED
        self.hit_if(late, "late/beat after the end of its connection")
        before, run = self._run
        if before == qp:
            self._run = (before, run + 1)
            self.hit_if(run + 1 > self.params.burst, "burst/longer, nobody else waits")
        else:
            if before in self._mid:
                meet = qp in self._mid or not record.last
                self.hit_if(meet, "burst/batches of two QPs interleave")
                self.hit_if(run == self.params.burst, "burst/ends in a batch")
            self._run = (qp, 1)
        (self._mid.discard if record.last else self._mid.add)(qp)
        if Post.decode(record.data).has(PostFlag.READ_FENCE):
            self._waits.discard(qp)
        self.hit_if(self._waits - {qp}, "fence/another QP goes on")
        if not local:
            self.hit_if(not tag and self.qps[qp].tags > 1, "index/tag wraps")
            self._order.append(qp)

    def done(self, record: beats.DoneReport) -> None:
        number, _, status = DONE.unpack(record.data).values()
        log = self.checks.qpc.log
        if log is LogCause.DONE_BAD:
            self.hit("report/malformed")
            return
        model = self.qps[number]
        if log is not LogCause.OK:
            there = any(r.tag is not None and r.status is None for r in model.requests)
            self.hit(f"report/{'out of order' if there else 'nothing outstanding'}")
            self.hit_if(model.state is QpState.FREE, "report/of a QP that does not exist")
            return
        self.hit_if(self._order[0] != number, "order/reports of two QPs in another order")
        self._order.remove(number)
        self.hit("report/failure" if status else "report/success")
        self.hit_if(model.state not in OPEN, "report/after the connection")
        if status:
            self._failures[number] += 1
            self.hit_if(self._failures[number] == 2, "report/second failure")

    def conn(self, record: beats.ConnReport) -> None:
        number, event = CONN.unpack(record.data).values()
        wrong = event != ConnEvent.DISCONNECTED or record.data & CONN.reserved
        if number >= self.params.num_qp or wrong:
            self.hit("event/malformed")
            return
        state = self.qps[number].state
        met = "disconnects" if state in OPEN else "ignored"
        self.hit(f"event/{'no QP' if state is QpState.FREE else met}")

    def term(self, record: beats.TermRequest) -> None:
        self.hit(f"terminate/{QpState(defs.TERM['state'].get(record.data)).name}")

    # -- retirement --------------------------------------------------------------------------------

    def retire(self, record: beats.Trace) -> None:
        post = self.checks.retire.latest.post
        verb = VERBS[post.opcode]
        status, silent, skipped, cq = TRC_RETIRE.unpack(record.operand).values()
        for name in verb.bins(post, status=status):
            self.hit(f"verb/{name}")
        ends = {int(Status.SUCCESS): "success", int(Status.CANCELED): "canceled"}
        outcome = ends.get(status, "failed")
        if not (verb.local and outcome == "failed"):
            defer = "DEFER" if post.has(PostFlag.DEFER) else "plain"
            self.hit(f"outcome/{verb.name}, {defer}, {outcome}")
        names = _RETIRED["skipped" if skipped else outcome]
        self.hit(f"retire/{names[verb.local]}")
        loud = post.has(PostFlag.SILENT_SUCCESS) and not silent
        cases = {
            "silent success": silent,
            "silent, not successful": loud,
            "CQ in error": self.in_error(cq),
        }
        self.hit_each("retire", cases)
