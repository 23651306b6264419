# SPDX-License-Identifier: Apache-2.0
"""Requests, buffers taken for them, and the answers (SRQ-02, SRQ-03, SRQ-08, SRQ-10, SRQ-13,
SRQ-14, SRQ-18, CQ-17, ISO-03), and the watermark events that takes make (SRQ-16).

A take has a step on lane 5 that tells nothing of its message: answers come in request order and
tell which message took which buffer. A request that is refused has no step; then its queue pair
must have been in a state for that between the request and its answer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from models.codes import Cause, LogCause, QpState, ScatterCode
from models.receive.receive_post import fill
from models.receive.receive_types import RecvRequest, Taken, TakeResult
from models.receive.srq import SrqModel
from tb.env.defs import SCATTER_USER, TRC_TAKE, TSTATE, Kind, Reg
from tb.env.harness.records import Interrupt, ScatterAnswer, Trace
from tb.env.harness.records import RecvRequest as RequestBeat
from tb.env.scoreboard.context import AnswerCheck, Left, NeedCommandError
from tb.env.scoreboard.cq.credits import TAKE_LANE, PostCredits
from tb.env.scoreboard.explain import Difference, name_of
from tb.env.scoreboard.host.memory import MemoryChecks
from tb.env.scoreboard.keys.access import KeyChecks
from tb.env.scoreboard.post.context import LENGTH
from tb.env.scoreboard.receive.context import Endings, ReceiveContext

_TAIL, _REPORTED = TSTATE["tail"], TSTATE["reported"]
_code = SCATTER_USER["code"].get


@dataclass(eq=False)
class _Waiting:
    """A request without an answer."""

    request: RecvRequest
    cycle: int
    since: int
    refusable: bool = False
    free: bool = False  # its QP did not exist at some time
    exists: bool = False  # its QP existed at some time
    stepped: bool = False  # a step was taken for it
    cq: int = -1
    credits: int = 1  # that its buffer reserves there

    def __str__(self) -> str:
        return f"answer to the request of cycle {self.cycle} ({self.request})"


class Take(NamedTuple):
    """A step without its answer."""

    cycle: int
    taken: Taken | None
    serial: int
    connection: int


class TakeChecks(AnswerCheck[_Waiting]):
    """s_axis_rreq, m_axis_scatter, TAKE, and interrupts of watermarks."""

    rules = "SRQ-02, SRQ-10, SRQ-13, SRQ-18"
    bound = 9
    missing = "no answer to the request"

    def __init__(
        self, rc: ReceiveContext, credits_: PostCredits, memory: MemoryChecks, keys: KeyChecks
    ) -> None:
        super().__init__(rc.ctx)
        self.rc = rc
        self.qpc = rc.qpc
        self.credits = credits_
        self.memory = memory
        self.keys = keys
        params = rc.params
        self.takes: list[deque[Take]] = [deque() for _ in range(params.num_qp)]
        #: The buffer of the latest answer, and the SRQ of the latest interrupt, if any.
        self.filled: Taken | None = None
        self.rung: SrqModel | None = None
        self.serial = 0
        #: The newest answered step of each SRQ.
        self._answered = [0] * params.num_srq
        #: Entries that may be there: the QP came or went while the request was judged.
        self.maybe: list[tuple[int, int, int, int]] = []
        self.endings = Endings()
        #: Of each SRQ: when its latest event came.
        self.event_at = [-1] * params.num_srq

    # -- pins --------------------------------------------------------------------------------------

    def request(self, record: RequestBeat) -> None:
        """A message has arrived."""
        request = RecvRequest.decode(record.data)
        waiting = _Waiting(request, record.cycle, self.credits.serial)
        if request.malformed or request.qp >= self.rc.params.num_qp:
            waiting.refusable = waiting.free = waiting.stepped = True
        else:
            self.look(waiting)
            if self.qpc.qps[request.qp].state is not QpState.FREE:
                rq = self.rc.rqs[request.qp]
                waiting.cq = self.qpc.qps[request.qp].config.recv_cq
                # A post on an own queue has its credits already.
                waiting.credits = 0 if rq.srq is None else rq.credits
                self.credits.lanes[TAKE_LANE][waiting.cq] += waiting.credits
        self.requests.append(waiting)

    def look(self, waiting: _Waiting) -> None:
        qp = waiting.request.qp
        if qp >= self.rc.params.num_qp:
            return
        state = self.qpc.qps[qp].state
        waiting.refusable = waiting.refusable or not self.rc.rqs[qp].may_take
        waiting.free = waiting.free or state is QpState.FREE
        waiting.exists = waiting.exists or state is not QpState.FREE

    def oldest(self) -> int:
        """Serial of the state of the oldest request that may reserve credits."""
        return next((w.since for w in self.requests if w.cq >= 0), self.credits.serial)

    def _release(self, waiting: _Waiting) -> None:
        waiting.stepped = True
        if waiting.cq >= 0:
            self.credits.lanes[TAKE_LANE][waiting.cq] -= waiting.credits
            waiting.cq = -1

    # -- steps of lane 5 ---------------------------------------------------------------------------

    def step(self, record: Trace) -> None:
        """TAKE."""
        rq = self.rc.rqs[record.cq]
        queue = rq if rq.srq is None else rq.srq
        known = queue.tail_seen, rq.reported_seen
        try:
            self._step(record)
        except NeedCommandError:
            queue.tail_seen, rq.reported_seen = known  # it is looked at again
            raise

    def _step(self, record: Trace) -> None:
        rc, qp, operand = self.rc, record.cq, record.operand
        rq = rc.rqs[qp]
        code, shared, flush, event, number = TRC_TAKE.unpack(operand).values()
        srq = rq.config.srq
        where = (1, srq) if srq is not None else (0, 0)
        if code > 1 or (shared, number) != where or (flush and code):
            self.fail(f"TAKE with operand {operand:#x}")
        self._before(record)
        result = self._flush(record) if flush else self._message(record)
        if result.code != code:
            text = f"TAKE with code {code}, right would be: {result.code.name}"
            diff = Difference("code", name_of(ScatterCode, code), result.code.name)
            self.fail(text, diff=diff)
        if result.event != bool(event):
            self.fail(f"watermark event {event}, expected {int(result.event)}")
        rc.compare("after", record)
        if srq is not None:
            if event:
                self.raised(srq)
            rc.shared[srq].append(record)
            rc.note(srq)
        rc.history[qp].append(record)
        if result.reserved:
            self.credits.grant(self.qpc.qps[qp].config.recv_cq, rq.credits)

    def _before(self, record: Trace) -> None:
        """State before, and what the step knows of posts and reports."""
        rc, qp = self.rc, record.cq
        rq = rc.rqs[qp]
        queue = rq if rq.srq is None else rq.srq
        news = rc.tails[qp] if rq.srq is None else rc.srq_tails[rq.srq.number]
        tail, reported = queue.tail_seen, rq.reported_seen
        rc.compare("before", record, hidden=_TAIL.mask | _REPORTED.mask)
        new_tail, new_reported = _TAIL.get(record.new), _REPORTED.get(record.new)
        queue.tail_seen = rc.known(record, "tail", new_tail, tail, queue.tail, news)
        rq.reported_seen = rc.known(
            record, "reported", new_reported, reported, rq.reported, rc.done[qp][0]
        )
        if not rc.between(_TAIL.get(record.old), tail, queue.tail_seen):
            self.fail("the step knew of other posts before it")
        if not rc.between(_REPORTED.get(record.old), reported, rq.reported_seen):
            self.fail("the step knew of other reports before it")

    def _flush(self, record: Trace) -> TakeResult:
        rc, qp = self.rc, record.cq
        index = rc.params.index
        rq = rc.rqs[qp]
        return rq.flush_take(tail_seen=index(rq.tail_seen), reported_seen=index(rq.reported_seen))

    def _message(self, record: Trace) -> TakeResult:
        rc, qp = self.rc, record.cq
        index, rq = rc.params.index, rc.rqs[qp]
        unanswered = self._unanswered(qp)
        found = [w for w in unanswered if not w.stepped]
        if not found:
            self.fail("a buffer is taken, but no message waits for one")
        if not rq.may_take:
            self.fail(f"SRQ-13: takes in state {rq.qp.state.name}")
        # Those that are refused have no steps; which they are, answers tell.
        likely = [w for w in unanswered if not w.refusable][len(self.takes[qp]) :]
        waiting = likely[0] if likely else found[0]
        code = TRC_TAKE["code"].get(record.operand)
        credit = code == ScatterCode.SCATTER
        if rq.not_ready() is None:
            self._credit(record, found, credit)
        queue = rq if rq.srq is None else rq.srq
        overlong = rq.overlong
        result = rq.take(
            waiting.request,
            credit=credit,
            cq_error=not credit,
            tail_seen=index(queue.tail_seen),
            reported_seen=index(rq.reported_seen),
        )
        # Which message it was, and whether that is too long, only the answer tells.
        rq.overlong = overlong
        self.serial += 1
        taken = None if result.buffer is None else rq.flight[-1]
        self.takes[qp].append(Take(record.cycle, taken, self.serial, rq.qp.connections))
        # As many are stepped as there are steps without answers, and always the oldest.
        self._release(found[0])
        if result.buffer is not None:
            rc.model.takes += 1
        # The step tells nothing of the length.
        code_shown = min(result.code, ScatterCode.NOT_READY) if taken is None else 0
        return TakeResult(
            ScatterCode(code_shown), event=result.event, reserved=result.reserved, srq=result.srq
        )

    def _unanswered(self, qp: int) -> list[_Waiting]:
        """Requests of a QP that can have a step."""
        return [w for w in self.requests if w.request.qp == qp and not w.request.malformed]

    def _credit(self, record: Trace, found: list[_Waiting], credit: bool) -> None:
        """Was there a credit, or none, at some time since the request?"""
        rc = self.rc
        cq = self.qpc.qps[record.cq].config.recv_cq
        shared, wanted = rc.rqs[record.cq].srq is not None, rc.rqs[record.cq].credits
        since = min(w.since for w in found)
        outcomes = self.credits.outcomes(cq, since, wanted, TAKE_LANE)
        if not shared:  # it holds its credits already
            outcomes = {Cause.OK if c is Cause.NO_CREDIT else c for c in outcomes}
        if credit:
            right = Cause.OK in outcomes
        elif not shared:
            right = Cause.CQ_ERROR in outcomes
        else:
            right = outcomes != {Cause.OK} or self.credits.refusal_excused(
                cq, found[0].cycle, wanted
            )
        if right:
            return
        names = ", ".join(sorted(outcome.name for outcome in outcomes))
        text = f"CQ-17: credit {int(credit)}, the CQ {cq} had: {names}"
        if credit:
            self.fail(text)
        rc.doubts.add(record, cq, text)

    # -- answers -----------------------------------------------------------------------------------

    def answer(self, record: ScatterAnswer) -> None:
        """An answer was taken by the transport."""
        rc = self.rc
        waiting = self.next_of(record)
        self.filled = None
        qp = waiting.request.qp
        if qp < rc.params.num_qp:
            self.ctx.objs = ("QP", qp), ("SRQ", rc.rqs[qp].config.srq)
        if record.qp != qp:
            self.fail(f"{waiting}: for QP {record.qp}")
        if _code(record.user) == ScatterCode.REFUSED:
            self._refused(record, waiting)
        else:
            self._taken(record, waiting)
        self._release(waiting)
        self.timely(waiting)
        if _code(record.user) == ScatterCode.BAD_TOKEN:
            self.rc.ctx.log.append((LogCause.TOKEN_REFUSED, Kind.QP, record.qp, 0))

    def _refused(self, record: ScatterAnswer, waiting: _Waiting) -> None:
        rc, request = self.rc, waiting.request
        if not waiting.refusable:
            self.fail(f"{waiting}: REFUSED in a state that allows it")
        if record.user != ScatterCode.REFUSED or record.data:
            self.fail(f"{waiting}: user {record.user:#x}, data {record.data:#x} with REFUSED")
        rc.model.refused += 1
        if waiting.free:
            log = self.maybe if waiting.exists else self.rc.ctx.log
            log.append((LogCause.RREQ_BAD, Kind.QP, request.qp, 0))
        if request.qp < rc.params.num_qp:
            self._skip(request.qp, record.cycle, waiting)

    def _skip(self, qp: int, cycle: int, refused: _Waiting) -> None:
        """A step that was taken for the refused request is that of one after it."""
        takes = self.takes[qp]
        behind = self._unanswered(qp)
        if len(takes) > len(behind):
            self.fail(f"{refused}: REFUSED in cycle {cycle}, but it took a buffer")
        for waiting, _ in zip(behind, takes, strict=False):
            waiting.stepped = True

    def _taken(self, record: ScatterAnswer, waiting: _Waiting) -> None:
        rc, request = self.rc, waiting.request
        if request.malformed or request.qp >= rc.params.num_qp:
            self.fail(f"{waiting}: code {_code(record.user)}, right would be: REFUSED")
        qp, rq = request.qp, rc.rqs[request.qp]
        takes = self.takes[qp]
        if not takes or takes[0].cycle <= waiting.cycle:
            right = ": REFUSED" if waiting.refusable else " a step"
            text = f"code {_code(record.user)} without a step, right would be{right}"
            self.fail(f"{waiting}: {text}")
        take = takes.popleft()
        self.filled = taken = take.taken
        if taken is None:
            rc.model.not_ready += 1
            expected = TakeResult(ScatterCode.NOT_READY)
        else:
            expected = self._settle(take, taken, request, _code(record.user))
            too_long = expected.code is ScatterCode.LENGTH_ERROR
            if not self.endings.answered(qp, take.connection, take.serial, too_long):
                self.fail(f"{waiting}: in error without a failing report, nor a message too long")
            if taken.srq is not None:
                if take.serial < self._answered[taken.srq]:
                    self.fail(f"{waiting}: its buffer was taken ahead of its turn")
                self._answered[taken.srq] = take.serial
        got, want = (record.user, record.data), (expected.tuser, expected.tdata)
        for name, one, two in zip(("user", "data"), got, want, strict=True):
            if one != two:
                text = f"{waiting}: {name} {one:#x}, expected {two:#x} ({expected.code.name})"
                code = _code(record.user)
                diff = Difference("code", name_of(ScatterCode, code), expected.code.name)
                if code == expected.code:
                    diff = Difference(name, f"{one:#x}", f"{two:#x}")
                self.fail(text, diff=diff)
        if expected.code is ScatterCode.LENGTH_ERROR and rq.length_pending:
            self.qpc.must_end(qp, LENGTH)

    def may_be_too_long(self, qp: int) -> bool:
        """Whether a step of this connection without an answer may be of a message longer than its
        buffer: if so, one must turn out to be.
        """
        longest = max((w.request.length for w in self._unanswered(qp)), default=0)
        connection = self.rc.rqs[qp].qp.connections
        able = [
            take.serial
            for take in self.takes[qp]
            if take.connection == connection
            and take.taken
            and take.taken.buffer.post.length < longest
        ]
        if able:
            self.endings.ended(qp, connection, able[-1])
        return bool(able)

    def _settle(self, take: Take, taken: Taken, request: RecvRequest, code: int) -> TakeResult:
        """The buffer is that of this message, for certain; ``code``: of the answer."""
        post, rq = taken.buffer.post, self.rc.rqs[request.qp]
        overlong = request.length > post.length
        if overlong and take.connection == rq.qp.connections:
            rq.overlong = rq.qp.connections
        taken.request, taken.overlong = request, overlong
        filled = () if overlong else tuple(fill(post.segments, request.length))
        result = TakeResult(
            ScatterCode.LENGTH_ERROR if overlong else ScatterCode.SCATTER,
            buffer=taken.buffer,
            tag=self.rc.params.index(taken.number),
            srq=taken.srq,
            filled=filled,
        )
        if self.keys.answered(taken, request, code):
            return result
        return replace(result, code=ScatterCode.BAD_TOKEN, filled=())

    # -- watermark ---------------------------------------------------------------------------------

    def raised(self, srq: int) -> None:
        """A watermark event has come; its interrupt must follow."""
        self.event_at[srq] = self.rc.ctx.cycle

    def interrupt(self, record: Interrupt) -> None:
        """A vector was raised: of an SRQ whose event waits, or of an EQ."""
        rc, memory = self.rc, self.memory
        able = [q for q in rc.srqs if q.waiting and q.config.vector == record.vector]
        self.rung = min(able, key=lambda q: self.event_at[q.number], default=None)
        if self.rung is None:
            memory.interrupt(record)
            return
        self.rung.interrupt()
        memory.merged(record)
        rc.note(self.rung.number)

    # -- the end -----------------------------------------------------------------------------------

    def left(self) -> Iterator[Left]:
        """Requests and takes without an answer, watermark interrupts."""
        for waiting in self.requests:
            yield Left("scatter", waiting.cycle, "no answer to the receive request of cycle")
        for qp, takes in enumerate(self.takes):
            if takes:
                yield Left("scatter", takes[0].cycle, f"QP {qp}: no answer to the take of cycle")
        for srq in self.rc.srqs:
            if srq.waiting:
                yield Left("interrupts", srq.number, "no watermark interrupt of SRQ")

    def counters(self) -> dict[Reg, int]:
        """Messages."""
        model = self.rc.model
        return {
            Reg.CNT_TAKEN: model.takes,
            Reg.CNT_NOT_READY: model.not_ready,
            Reg.CNT_RECV_REFUSED: model.refused,
        }
