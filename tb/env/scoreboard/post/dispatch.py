# SPDX-License-Identifier: Apache-2.0
"""Requests on their way out and back: work beats, each the next request of its queue pair, never
early, never starved (DF-09, DF-13, ISO-04); done reports and retirement, each accepted request
once, in order, with the status that the rules give (DF-02, DF-03, DF-11, DF-12, DF-15, ISO-03).

A beat is offered before it is taken. So one beat of a QP may come after the step that ended its
connection, and a local request may retire before its beat is taken; both only as far as an output
register reaches.

The completion that a RETIRE step hands to the CQ is made here, by the model, from the post as it
was written; the checks of completions compare the entry with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

from models.codes import By, LogCause, ModelError, PostFlag, QpState, Status
from models.keys.window_types import KeyStep
from models.post.qp import Indication
from models.post.qp_types import Request, Retirement
from models.verbs import VERBS
from tb.env.defs import DONE, POST, TRC_BIND, TRC_RETIRE, WORK_USER
from tb.env.harness.records import Completion, DoneReport, Trace, WorkBeat
from tb.env.scoreboard.context import Check, Left
from tb.env.scoreboard.cq.entries import CompletionChecks
from tb.env.scoreboard.explain import Difference, name_of
from tb.env.scoreboard.keys.context import KeyContext
from tb.env.scoreboard.post.context import LAG, REPORT

#: A beat that was offered before its connection ended is among so many next beats, of any QP.
LATE_BEATS = 2

#: From the moment that the trace port shows to the output.
PIPELINE = 16

#: Requests that were fetched before another QP asked: five in the pipeline and one at the output.
FETCHED = 6

#: Requests of a QP that are indicated while their beats are not taken.
MOST_BEATS = 4

#: Cycles that turns wait for a request that is executed, besides those from its beat to its step;
#: for one that fails.
EXECUTION, FAILURE = 8, 24


class _Head(NamedTuple):
    """A request that could be indicated."""

    number: int
    cycle: int
    beats: int


class DispatchChecks(Check):
    """Beats of m_axis_work. Local requests of a guarded QP are executed, in a step of its own
    (keys/requests.py).
    """

    rules = "DF-09, DF-13, ISO-04"

    def __init__(self, kc: KeyContext) -> None:
        super().__init__(kc.ctx)
        self.kc = kc
        self.qpc = qpc = kc.qpc
        params = qpc.ctx.params
        # A turn of each QP, and another one of those that are at work and next when a QP asks.
        self.bound = (params.num_qp + 4) * (params.burst + 4)
        self.burst = params.burst
        self.beats = 0
        #: QPs that wait for a beat, those that wait longest first.
        self.heads: dict[int, _Head] = {}
        #: Local requests that retired before their beat was taken.
        self.owed: list[deque[Indication]] = [deque() for _ in range(params.num_qp)]
        #: Cycles in which the engine executed requests itself: no time for turns.
        self.executing = 0
        #: Since then nothing has stalled the channel.
        self.free_since = 0
        self._in_step = False
        #: Beats of local requests that have not been executed, by QP.
        self.ahead: dict[int, WorkBeat] = {}
        self._left_at = [0] * params.num_qp
        #: When the latest requests of one QP in a row were indicated.
        self._run: deque[int] = deque(maxlen=2 * self.burst + 1)
        self._run_of = -1
        #: Told of each QP of which a request was indicated: it may be done by that.
        self.ripened: Callable[[int], None] = lambda _: None

    def work(self, record: WorkBeat) -> None:
        """A beat was taken."""
        qpc, qp = self.qpc, record.qp
        self.ctx.objs = (("QP", qp),)
        if qp >= qpc.ctx.params.num_qp:
            self.fail("work for a QP that is out of range")
        self.beats += 1
        if not self.owed[qp] and self.kc.guarded(qp):
            if qp in self.ahead:
                cycle = self.ahead[qp].cycle
                text = f"DF-12: indicated, but the request of cycle {cycle} was not executed"
                self.fail(text)
            verb = VERBS.get(POST["opcode"].get(record.data))
            if WORK_USER["local"].get(record.user) and verb and verb.changes_keys:
                self._not_late(qp)
                self.ahead[qp] = record
                self._fair(qp)
                self.heads.pop(qp, None)
                return
        if self.owed[qp]:
            expected = self.owed[qp].popleft()
        else:
            self._not_late(qp)
            expected = self._indicate(qp)
        self._compare(record, expected)
        self._fair(qp)
        self.changed(qp)

    def execute(self, record: Trace) -> Indication:
        """The step of a local request: it is indicated, and so is what is in front of it."""
        qp = record.cq
        self.tick_ahead()
        self._in_step = True
        while True:
            if len(self.owed[qp]) >= MOST_BEATS:
                text = f"executed, while {MOST_BEATS} beats in front of it are not taken"
                self.fail(text)
            found = self._indicate(qp)
            beat = self.ahead.pop(qp, None)
            if beat is not None:
                self.executing += record.cycle - beat.cycle
                self._compare(beat, found)
            else:
                self.owed[qp].append(found)
            if VERBS[found.post.opcode].changes_keys:
                break
        self._in_step = False
        self.executing += FAILURE if TRC_BIND["status"].get(record.operand) else EXECUTION
        self.changed(qp)
        return found

    def _not_late(self, qp: int) -> None:
        """The connection is there, or has just ended."""
        since = self.beats - self._left_at[qp]
        if self.qpc.qps[qp].state is not QpState.CONNECTED and since > LATE_BEATS:
            self.fail(f"work {since} beats after the end of its connection")

    def _compare(self, record: WorkBeat, expected: Indication) -> None:
        """A beat is that of this request."""
        got = (record.data, record.user, record.last)
        want = (expected.post.encode(), expected.tuser, expected.last)
        for name, one, two in zip(("data", "user", "last"), got, want, strict=True):
            if one != two:
                text = f"work beat {name} {one:#x}, expected {two:#x} (request {expected.number})"
                self.fail(text, diff=Difference(name, f"{one:#x}", f"{two:#x}"))

    def _indicate(self, qp: int) -> Indication:
        qpc = self.qpc
        late = qpc.qps[qp].state is not QpState.CONNECTED
        try:
            indication = qpc.model.indicate(qp, late)
        except ModelError as error:
            self.fail(f"indicated, but {error}")
        qpc.note_indicated(qp)
        self.ripened(qp)
        keyed = VERBS[indication.post.opcode].changes_keys and self.kc.guarded(qp)
        if keyed and not self._in_step:
            self.fail(f"DF-12: request {indication.number} was not executed: no step of keys")
        return indication

    def early(self, qp: int) -> None:
        """A local request retires whose beat was not taken yet: it must come."""
        self.owed[qp].append(self._indicate(qp))
        if len(self.owed[qp]) > LATE_BEATS:
            self.fail(f"{len(self.owed[qp])} requests executed whose beats are not taken")
        self.changed(qp)

    # -- bounds ------------------------------------------------------------------------------------

    @property
    def now(self) -> int:
        """Cycles in which turns could be taken."""
        cycles = (record.cycle for record in self.ahead.values())
        return min(cycles, default=self.qpc.ctx.cycle) - self.executing

    def changed(self, qp: int) -> None:
        """Something happened to a QP: does it wait for a beat?"""
        head = self.heads.get(qp)
        indication = self.qpc.qps[qp].next_indication()
        if indication is None:
            self.heads.pop(qp, None)
        elif head is None or head.number != indication.number:
            self.heads.pop(qp, None)
            self.heads[qp] = _Head(indication.number, self.now, self.beats)

    def ended(self, qp: int) -> None:
        """The QP has left CONNECTED."""
        self._left_at[qp] = self.beats

    def _fair(self, qp: int) -> None:
        """A beat of ``qp``: the longest run, and nobody waits too long."""
        if qp != self._run_of:
            self._run.clear()
        self._run_of = qp
        self._run.append(self.now)
        most = self.burst
        if len(self._run) > most and self._empty_turn(qp):
            most *= 2
        if len(self._run) > most:
            # The engine looks at a QP some cycles after the step that lets it go on.
            known = self._run[-1 - most] - PIPELINE
            for other, waiting in self.heads.items():
                beats = self.beats - waiting.beats
                if other != qp and waiting.cycle < known and beats > most + FETCHED:
                    text = f"{len(self._run)} requests in a row, while QP {other} waits"
                    self.fail(text, ("QP", qp))
        if qp in self.heads:
            self._judge(qp, self.heads[qp])

    def _empty_turn(self, qp: int) -> bool:
        """Another QP may have had its turn in this run: its first request is or was fenced."""
        for other, model in enumerate(self.qpc.qps):
            first = next((r for r in model.requests if not r.indicated), None)
            if other != qp and first and first.number < model.released:
                head = self.heads.get(other)
                fenced = head is None or head.cycle >= self._run[0] - PIPELINE
                if fenced and first.post.has(PostFlag.READ_FENCE):
                    return True
        return False

    def tick(self) -> None:
        if self.heads:  # the others wait for less
            self._judge(*next(iter(self.heads.items())))
        self.tick_ahead()

    def tick_ahead(self) -> None:
        """Has a local request waited for too long to be executed?"""
        for qp, record in self.ahead.items():
            if self.qpc.ctx.cycle - record.cycle > LAG:
                text = f"DF-12: the request of cycle {record.cycle} was not executed"
                self.fail(text, ("QP", qp))

    def left(self) -> Iterator[Left]:
        """What is held (DF-05: a chain without an end), not indicated, not taken, not executed."""
        for qp, model in enumerate(self.qpc.qps):
            where = f"QP {qp}:"
            if model.state is QpState.CONNECTED and model.held:
                yield Left("held", model.held, f"{where} requests held:")
            waiting = [r for r in model.requests if not r.indicated and not r.skipped]
            if released := [r.number for r in waiting if r.number < model.released]:
                yield Left("work", released[0], f"{where} not indicated: request")
            if self.owed[qp]:
                yield Left("work", self.owed[qp][0].number, f"{where} beat not taken: request")
        for qp, beat in self.ahead.items():
            yield Left("", beat.cycle, f"QP {qp}: not executed: request of cycle")

    def _judge(self, qp: int, head: _Head) -> None:
        waited = self.beats - head.beats
        since = max(head.cycle, self.free_since)
        cycles = self.now - since
        if waited > self.bound + 1 or cycles > self.bound + PIPELINE:
            self.fail(
                f"request {head.number} waits for its beat since cycle {head.cycle}, for {waited} "
                f"beats and {cycles} cycles without a stall; the bound is {self.bound}",
                ("QP", qp),
            )

    def stalled(self, cycle: int) -> None:
        """The channel was stalled up to this cycle."""
        self.free_since = max(self.free_since, cycle - self.executing)


#: Requests that a QP retires while another one has something to retire (posting.md).
TURN = 16


class RetireChecks(Check):
    """s_axis_done, lane 4 of the trace port, and the steps of Reads that invalidate."""

    rules = "DF-03, DF-12, DF-15"

    def __init__(
        self, kc: KeyContext, completions: CompletionChecks, dispatch: DispatchChecks
    ) -> None:
        super().__init__(kc.ctx)
        self.kc = kc
        self.qpc = qpc = kc.qpc
        self.completions = completions
        self.dispatch = dispatch
        dispatch.ripened = self._waits
        self.retired = 0
        self.latest: Retirement
        #: How many had retired when the oldest request of a QP was done, by QP: those that wait
        #: longest first.
        self.ripe: dict[int, int] = {}
        #: How many of others may retire meanwhile (ISO-04): a turn of each other QP, another one
        #: of the six that were at work, in line or chosen before; some retire before it is known
        #: that one is done.
        self.bound = (qpc.ctx.params.num_qp + 5) * TURN + 16
        #: Steps of Reads that have not retired: number of the request, step.
        self.reads: list[deque[tuple[int, KeyStep]]] = [deque() for _ in qpc.qps]

    def done(self, record: DoneReport) -> None:
        """A report was taken from the transport, to be accepted or refused."""
        qpc, (qp, tag, status) = self.qpc, DONE.unpack(record.data).values()
        log = qpc.heard(qpc.model.done_beat, record.data, tag, REPORT, status != 0)
        if log is LogCause.OK:
            self._waits(qp)

    def _waits(self, qp: int) -> None:
        """Notes since when the oldest request of the QP could retire."""
        if self.qpc.qps[qp].retirable:
            self.ripe.setdefault(qp, self.retired)
        else:
            self.ripe.pop(qp, None)

    def _fair(self) -> None:
        """Nobody has waited for too many others."""
        oldest = next(iter(self.ripe), None)
        if oldest is not None and (passed := self.retired - self.ripe[oldest]) > self.bound:
            text = f"{passed} requests of others retired before one that is done"
            self.fail(f"{text}, at most {self.bound}", ("QP", oldest))

    def retire(self, record: Trace) -> None:
        """RETIRE."""
        qpc, qp = self.qpc, record.cq
        model = qpc.qps[qp]
        oldest = model.requests[0] if model.requests else None
        if oldest is not None and not model.failed and self._invalidates(qp, oldest):
            self._give(record, oldest.number)
        qpc.compare("before", record)
        skipped = bool(TRC_RETIRE["skipped"].get(record.operand))
        # Local, and its beat is offered but not taken.
        if not skipped and oldest and oldest.verb.local and not oldest.indicated:
            self.dispatch.early(qp)
        self.latest = end = model.retire()
        word = TRC_RETIRE.pack(status=end.status, silent=end.silent, skipped=end.skipped, cq=end.cq)
        if record.operand != word:
            text = f"operand {record.operand:#x}, expected {word:#x} (request {end.number})"
            got, want = TRC_RETIRE["status"].get(record.operand), end.status
            diff = Difference("status", name_of(Status, got), name_of(Status, want))
            self.fail(text, diff=diff if got != want else None)
        qpc.end(record)
        qpc.note_retired(qp)
        qpc.history[qp].append(record)
        self.retired += 1
        self.ripe.pop(qp, None)
        self._waits(qp)
        self._fair()
        data = int.from_bytes(end.cqe.pack(), "little")
        self.completions.completion(
            Completion(record.cycle, 1, int(end.silent), (end.cq, 0), (data, 0))
        )
        self.dispatch.changed(qp)

    # -- Reads that invalidate ---------------------------------------------------------------------

    def _invalidates(self, qp: int, request: Request) -> bool:
        """A Read that invalidates when it retires now."""
        flag = request.post.has(PostFlag.RDMA_READ_LOCAL_INVALIDATE)
        return request.verb.is_read and flag and self.kc.guarded(qp) and request.status == 0

    def read_step(self, record: Trace) -> None:
        """INVALIDATE by a Read: the oldest one that has not had its step."""
        kc, qp = self.kc, record.cq
        model, known = kc.qpc.qps[qp], {number for number, _ in self.reads[qp]}
        failed = model.failed or any(not step.okay for _, step in self.reads[qp])
        for request in model.requests:
            if failed or not request.done or request.status:
                break
            if request.number in known or not self._invalidates(qp, request):
                continue
            segments = request.post.segments
            key = segments[0].key if segments else 0
            step = kc.invalidate(record, key, By.READ)
            self.reads[qp].append((request.number, step))
            if not step.okay:
                kc.must_end(qp)
            return
        self.fail("INVALIDATE by a Read, but none can retire that invalidates")

    def _give(self, record: Trace, oldest: int) -> None:
        """The model gets the step of the Read that retires."""
        qp = record.cq
        if not self.reads[qp]:
            text = f"DF-12: Read {oldest} retires, but its key was not invalidated"
            self.fail(text)
        number, step = self.reads[qp].popleft()
        if number != oldest:
            self.fail(f"{oldest} retires, invalidated was for {number}")
        self.qpc.qps[qp].give(step)

    # -- the end -----------------------------------------------------------------------------------

    def left(self) -> Iterator[Left]:
        """What is not reported, or done and not retired."""
        for qp, model in enumerate(self.qpc.qps):
            where = f"QP {qp}:"
            if unreported := [r.number for r in model.requests if r.indicated and not r.done]:
                yield Left("reports", unreported[0], f"{where} not reported: request")
            if model.retirable:
                yield Left("", model.requests[0].number, f"{where} never retired: request")
