# SPDX-License-Identifier: Apache-2.0
"""Functional coverage of receive queues and of messages: posts, sizes, takes, watermarks, answers,
reports, completions.
"""

from __future__ import annotations

from collections import Counter, deque

from models import codes
from models.codes import Cause, LogCause, QpState, RecvFlag, ScatterCode, TraceOp
from models.layouts import KEY_REGION_BITS, RECV_PORTAL, SRQ_DB, SRQ_PORTAL
from models.receive.receive_post import RecvPost, fill
from models.receive.receive_qp import ReceiveQp
from models.receive.receive_types import RecvRequest
from models.receive.srq import SrqModel
from tb.env import defs
from tb.env.coverage.bins import ARMS, CLOSED, REASONS
from tb.env.coverage.group import EngineGroup, some
from tb.env.defs import BSTATE, QSTATE, RDONE, STATE, TRC_RECV_POST, TRC_TAKE, TSTATE, ArmType
from tb.env.harness import records as beats
from tb.env.harness.records import Command, DoorbellResponse, Trace
from tb.env.scoreboard.post.context import OPEN
from tb.env.scoreboard.scoreboard import Scoreboard

_tail, _freed, _size = (field.get for field in BSTATE.fields.values())
_state = QSTATE["state"].get
_ARMED: dict[int, str] = {ArmType.ANY: ARMS[0], ArmType.SOLICITED: ARMS[1]}
_FLUSHING = (QpState.DISCONNECTED, QpState.ERROR, QpState.DESTROYING)


class ReceiveCoverage(EngineGroup):
    """Situations of receive queues and messages."""

    def __init__(self, counts: Counter[str], board: Scoreboard) -> None:
        super().__init__(counts, board)
        self._contexts: set[int] = set()  # of buffers
        self._lived: set[tuple[bool, int]] = set()  # queues that were created, by shared and number
        self._takers: dict[int, int] = {}  # QP that took last, by SRQ
        self._takes: dict[int, Trace] = {}  # latest step of lane 5, by QP
        self._changed = (-1, 0)  # cycle and QP of the latest change of state
        self._order: deque[int] = deque()  # QPs by their takes that are not reported
        #: QPs whose latest message was not taken; with a failed receive, with a message that was
        #: too long in this connection.
        self._not_ready: set[int] = set()
        self._failed: set[int] = set()
        self._overlong: set[int] = set()
        self._given_back = 0
        self.steps = {
            (1, TraceOp.PUBLISH): (self.publish,),
            (3, TraceOp.QP_STATE): (self.state,),
            (5, TraceOp.TAKE): (self.take,),
            (5, TraceOp.WATERMARK): (self.watermark,),
            (6, TraceOp.RECV_POST): (self.receive_post,),
            (6, TraceOp.REAP): (self.reap,),
            (6, TraceOp.RECV_SIZE): (self.size,),
            (7, TraceOp.RECEIVE): (self.receive,),
        }
        self.pins = {
            beats.RecvRequest: self.arrived,
            beats.ScatterAnswer: self.answered,
            beats.RecvDone: self.reported,
        }
        self.answers = {
            RECV_PORTAL: self.response,
            SRQ_PORTAL: self.response,
            SRQ_DB: self.reaped,
        }
        self.commands = {
            codes.Command.SET_SRQ_WATERMARK: self.no_watermark,
            codes.Command.DESTROY_SRQ: self.destroyed,
        }

    # -- posts -------------------------------------------------------------------------------------

    def reaped(self, record: DoorbellResponse, _: int) -> None:
        """An answer to a write to SRQ_DB."""
        if record.cause in codes.REAP_CAUSES and record.cause != Cause.BAD_OFFSET:
            self.hit(f"reap cause/{Cause(record.cause).name}")

    def response(self, record: DoorbellResponse, offset: int) -> None:
        """An answer to a write to a receive portal."""
        kind, portal = "own", "receive"
        if offset != RECV_PORTAL:
            kind, portal = "shared", "shared receive"
        self.hit_if(record.cause, f"portal/{portal}")
        if record.cause in codes.RECEIVE_CAUSES:
            self.hit_if_known(f"receive cause/{kind}, {Cause(record.cause).name}")
        if record.cause == Cause.NO_QP:
            qp = RecvPost.decode(self.checks.pages.answered.request.data).number
            self.hit(f"receive post in state/{self.qps[qp].state.name}")

    def receive_post(self, record: Trace) -> None:
        cause, of_srq = TRC_RECV_POST.unpack(record.operand).values()
        shared, number, pending = bool(of_srq), record.cq, self.checks.receive_posts.latest
        assert pending is not None
        assert pending.post is not None
        post = pending.post
        self.hit_if(not shared, f"receive post in state/{self.qps[number].state.name}")
        self._keys_of(post, cause)
        self._post_and_take(record, shared, cause)
        if cause != Cause.OK:
            return
        self.hit(f"segments/{'shared' if shared else 'own'}, {post.num_segments}")
        self.hit_if(post.context in self._contexts, "receive/context twice")
        self._contexts.add(post.context)
        if shared:
            unused = not self.checks.rc.model.users(number)
            self.hit_if(unused, "srq/post while nobody uses it")
            self.hit_if(_tail(record.new) < _tail(record.old), "receive index/SRQ tail wraps")

    def _post_and_take(self, record: Trace, shared: bool, cause: int) -> None:
        """The steps of lane 5 of this cycle."""
        for take in self._takes_in(record.cycle):
            code, takes_srq, _, _, srq = TRC_TAKE.unpack(take.operand).values()
            same = shared and takes_srq and srq == record.cq
            cases = {
                "post and take, own": not shared and take.cq == record.cq,
                "post and take, SRQ": same,
                "post and take, empty SRQ": same and code and cause == Cause.OK,
                "post and take, full SRQ": same and not code and cause == Cause.QUEUE_FULL,
            }
            self.hit_each("same cycle", cases)

    def _takes_in(self, cycle: int) -> list[Trace]:
        return [step for step in self._takes.values() if step.cycle == cycle]

    def _valid(self, key: int) -> bool:
        return self.table.find(key) is not None

    def _keys_of(self, post: RecvPost, cause: int) -> None:
        """Keys and what became of them."""
        if cause == Cause.OK:
            unchecked = any(not s.length and not self._valid(s.key) for s in post.segments)
            self.hit_if(unchecked, "mr/segment without bytes is not checked")
        elif cause == Cause.BAD_REGION:
            checked = [segment.key for segment in post.segments if segment.length]
            bad = [key for key in checked if not self._valid(key)]
            if bad:
                self.hit_if(bad[0] != checked[0], "mr/second segment fails")
                self.hit(f"mr/key {self._origin(bad[0])}")

    def _origin(self, key: int) -> str:
        """Where a key that is not valid comes from."""
        number, generation = key & (1 << KEY_REGION_BITS) - 1, key >> KEY_REGION_BITS
        regions, serials = self.table.regions, self.table.serials
        if number >= len(regions) or not 0 < generation <= serials[number]:
            return "that nobody was given"
        region = regions[number]
        again = region is not None and region.valid
        return "of an earlier registration" if again else "of a region that is gone"

    def reap(self, record: Trace) -> None:
        old = record.old
        by = defs.TRC_REAP["index"].get(record.operand) - _freed(old) & self.mask
        full = _tail(old) - _freed(old) & self.mask == _size(old)
        cases = {
            "nothing": not by,
            "one": by == 1,
            "several": by > 1,
            "makes room in a full SRQ": by and full,
        }
        self.hit_each("reap", cases)
        for take in self._takes_in(record.cycle):
            fields = TRC_TAKE.unpack(take.operand)
            same = fields["shared"] and fields["srq"] == record.cq
            self.hit_if(same, "same cycle/reap and take")

    def size(self, record: Trace) -> None:
        start, shared = defs.TRC_RECV_SIZE.unpack(record.operand).values()
        number, old, new = record.cq, _size(record.old), _size(record.new)
        if start or not shared:
            queue = bool(shared), number
            if queue in self._lived:
                name = (
                    "srq/created again" if shared else "receive index/tag goes on after re-creation"
                )
                self.hit_if(shared or _tail(record.new), name)
            self._lived.add(queue)
            if shared:
                self._takers.pop(number, None)
            return
        outstanding = _tail(record.new) - _freed(record.new) & self.mask
        cases = {
            "up": new > old,
            "down": new < old,
            "to what is outstanding": new == outstanding,
            "with buffers in flight": self.srqs[number].in_flight,
        }
        self.hit_each("srq resize", cases)

    # -- takes -------------------------------------------------------------------------------------

    def take(self, record: Trace) -> None:
        qp, (code, _, flush, event, _) = record.cq, TRC_TAKE.unpack(record.operand).values()
        self._takes[qp] = record
        if self._changed == (record.cycle, qp):
            self.hit("same cycle/take and change of state")
        if code:
            self._refusal(record)
            self._not_ready.add(qp)
            return
        self.hit_if(qp in self._not_ready, "not ready/the next message takes")
        self._not_ready.discard(qp)
        wraps = TSTATE["taken"].get(record.new) < TSTATE["taken"].get(record.old)
        self.hit_if(wraps, "receive index/tag wraps")
        if flush:
            return
        rq = self.rqs[qp]
        self._order.append(qp)
        segments = rq.flight[-1].buffer.post.segments
        outlives = any(s.length and not self._valid(s.key) for s in segments)
        self.hit_if(outlives, "mr/buffer outlives its region")
        if rq.srq is not None:
            self._shared_take(qp, rq.srq, event)

    def _refusal(self, record: Trace) -> None:
        """A message finds no buffer."""
        taken, head, tail, reported, *_ = TSTATE.unpack(record.new).values()
        qp, kind = record.cq, _kind(self.rqs[record.cq])
        if tail == (head if kind == "SRQ" else taken):
            self.hit(f"not ready/empty, {kind}")
        elif taken - reported & self.mask >= 1 << self.params.rx_log2:
            self.hit(f"not ready/in flight, {kind}")
        else:
            failed = self.in_error(self.qps[qp].config.recv_cq)
            self.hit(f"not ready/{'CQ in error' if failed else 'no credit'}")

    def _shared_take(self, qp: int, srq: SrqModel, event: int) -> None:
        other = self._takers.get(srq.number, qp)
        self._takers[srq.number] = qp
        another_cq = self.qps[other].config.recv_cq != self.qps[qp].config.recv_cq
        cases = {
            "taken by another QP": other != qp,
            "taken by a QP with another CQ": other != qp and another_cq,
        }
        self.hit_each("srq", cases)
        if event:
            self._event(srq, "on a take")
        elif srq.armed and srq.available_seen == srq.threshold:
            self.hit("watermark/take that leaves T")

    # -- watermarks --------------------------------------------------------------------------------

    def _event(self, srq: SrqModel, when: str) -> None:
        self.hit(f"watermark/{when}")
        others = any(other.waiting for other in self.srqs if other is not srq)
        self.hit_if(others, "watermark/of two SRQs at once")

    def watermark(self, record: Trace) -> None:
        threshold, event = defs.TRC_WATERMARK.unpack(record.operand).values()
        if not threshold:
            return
        if TSTATE["armed"].get(record.old):
            self.hit("watermark/changed while armed")
        elif TSTATE["watermark"].get(record.old):
            self.hit("watermark/again")
        if event:
            self._event(self.srqs[record.cq], "at once")

    def no_watermark(self, record: Command) -> None:
        """SET_SRQ_WATERMARK has ended."""
        if not record.args[1]:
            self.hit("watermark/T = 0")
            self.hit_if(self.srqs[record.args[0]].armed, "watermark/T = 0 while armed")

    def destroyed(self, _: Command) -> None:
        """DESTROY_SRQ has ended."""
        given_back = self.checks.rc.given_back
        self.hit_if(given_back != self._given_back, "srq/destroyed with buffers")
        self._given_back = given_back

    # -- messages ----------------------------------------------------------------------------------

    def arrived(self, _: beats.RecvRequest) -> None:
        """A message has arrived."""
        request = self.checks.takes.requests[-1].request
        known = request.qp < self.params.num_qp
        pending = known and self.qps[request.qp].state is QpState.DISCONNECT_PENDING
        self.hit_each(
            "message", {"in DISCONNECT_PENDING": pending, "invalidate": request.invalidate}
        )

    def answered(self, record: beats.ScatterAnswer) -> None:
        """It is answered."""
        takes, code = self.checks.takes, ScatterCode(defs.SCATTER_USER["code"].get(record.user))
        waiting, taken = takes.answered, takes.filled
        request = waiting.request
        known = request.qp < self.params.num_qp
        self.hit(f"answer/{code.name}, {_kind(self.rqs[request.qp]) if known else 'own'}")
        if code is ScatterCode.REFUSED:
            if request.malformed or not known:
                self.hit("refused/malformed")
                return
            for state in self.states(request.qp, waiting.cycle) & set(CLOSED):
                self.hit(f"refused/{state.name}")
        elif taken is not None:
            self.hit_if(request.qp in self._overlong, "message/after a length error")
            self._filled(taken.buffer.post, request.length, taken.overlong)
            if taken.overlong:
                self._overlong.add(request.qp)

    def _filled(self, post: RecvPost, length: int, too_long: bool) -> None:
        """How a message lies in its buffer."""
        lengths = [segment.length for segment in post.segments]
        if not lengths:
            word = "does not fit into a buffer" if too_long else "buffer"
            self.hit(f"scatter/{word} without segments")
        if too_long:
            self.hit_if(lengths and length == sum(lengths) + 1, "scatter/one byte too many")
            return
        if not length:
            self.hit("scatter/empty message")
            return
        filled = fill(post.segments, length)
        last = max(i for i, part in enumerate(filled) if part)
        partial = filled[last] < lengths[last]
        hole = len(lengths) == 3 and filled[0] and not lengths[1] and filled[2]
        cases = {
            f"{'partial in' if partial else 'ends with'} segment {last + 1}": True,
            "fills the buffer": length == sum(lengths),
            "zero-length segment in the middle": hole,
        }
        self.hit_each("scatter", cases)

    # -- reports and completions -------------------------------------------------------------------

    def reported(self, record: beats.RecvDone) -> None:
        """A report of a taken buffer."""
        number, _, status = RDONE.unpack(record.data).values()
        log = self.checks.qpc.log
        if log is LogCause.RDONE_BAD:
            self.hit("receive report/malformed")
            return
        flight = self.rqs[number].flight
        if log is not LogCause.OK:
            there = any(taken.status is None for taken in flight)
            self.hit(f"receive report/{'out of order' if there else 'nothing in flight'}")
            return
        taken = [taken for taken in flight if taken.status is not None][-1]
        ended = self.qps[number].state not in OPEN
        word = {0: "success", 1: "canceled"}.get(status, "failed")
        cases = {
            word: True,
            f"of a length error, {'other' if status else 'success'}": taken.overlong,
            "after the connection": ended,
            "fully received after the connection": ended and not status and not taken.overlong,
            "two QPs in another order": self._order[0] != number,
        }
        self.hit_each("receive report", cases)
        self._order.remove(number)

    def receive(self, record: Trace) -> None:
        qp, taken = record.cq, self.checks.receives.latest
        status, _, _, cq = defs.TRC_RECEIVE.unpack(record.operand).values()
        self.hit_if(not taken.buffer.post.context, "receive/context 0")
        self.hit_if(qp in self._failed and not status, "receive/after a failed one")
        if status:
            self._failed.add(qp)
        if any(step.cq == qp for step in self._takes_in(record.cycle)):
            self.hit("same cycle/take and completion of one QP")
        if taken.request is not None:
            self._signals(cq, self.rqs[qp].config.flag, taken.request, status)

    def _signals(self, cq: int, flag: int, request: RecvRequest, status: int) -> None:
        if status:
            failed = flag == RecvFlag.SOLICITED_WAIT
            self.hit_if(failed, "flag/failed receive under SOLICITED_WAIT")
        elif (arm := _arm(self.ctx.state[cq])) is not None:
            solicited = "solicited" if request.solicited else "plain"
            self.hit(f"flag/{RecvFlag(flag).name}, {solicited}, {arm} armed")

    def publish(self, record: Trace) -> None:
        """Entries that do not signal."""
        fields = defs.TRC_PUBLISH.unpack(record.operand)
        if not fields["unsignalled"]:
            return
        arm = _arm(record.old)
        if arm is not None:
            self.hit(f"unsignalled/{arm + ' armed' if arm == 'not' else 'armed ' + arm}")
        if fields["count"] == 2 and fields["unsignalled"] != 3:
            self.hit("unsignalled/with one that signals")

    # -- states ------------------------------------------------------------------------------------

    def state(self, record: Trace) -> None:
        qp, rq = record.cq, self.rqs[record.cq]
        old, new = QpState(_state(record.old)), QpState(_state(record.new))
        self._changed = record.cycle, qp
        if any(step.cq == qp for step in self._takes_in(record.cycle)):
            self.hit("same cycle/take and change of state")
        if new is QpState.CONNECTED:
            self._failed.discard(qp)
            self._overlong.discard(qp)
        if old in OPEN and new not in OPEN:
            reason = REASONS[defs.TRC_QP_STATE["reason"].get(record.operand)]
            self.hit(f"disconnect/{reason}, {some(rq.in_flight)} in flight, {_kind(rq)}")
        if new in _FLUSHING and old not in _FLUSHING and rq.srq is None:
            self.hit(f"flush/{some(rq.available)} available")
            self.hit_if(rq.available and rq.in_flight, "flush/waits for a report")


def _kind(rq: ReceiveQp) -> str:
    return "own" if rq.srq is None else "SRQ"


def _arm(state: int) -> str | None:
    """How a CQ is armed; None: for errors only."""
    if not STATE["armed"].get(state):
        return ARMS[2]
    return _ARMED.get(STATE["arm_type"].get(state))
