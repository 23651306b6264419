# SPDX-License-Identifier: Apache-2.0
"""Receive posts and SRQ_DB, one answer each, in order, with the cause of the rules (SRQ-01, SRQ-09,
SRQ-12, SRQ-15, SRQ-17, SRQ-19, DF-10, CQ-17, ISO-01); reports and completions of taken buffers,
each buffer once, in the order in which its queue pair took it, with what the rules give (SRQ-04 to
SRQ-07, SRQ-10, SRQ-11, SRQ-14, SRQ-18, MW-07, MW-08, ISO-03).

A write that names a queue of its page has exactly one step on trace lane 6 (SRQ_DB: if it is
accepted), where it is judged; its answer must tell the same. All others have none, and a cause that
is right in a state that the queue had between the write and its answer.

The completion that a RECEIVE step hands to the CQ is made here, by the model, from the post and the
request; the checks of completions compare the entry with it.
"""

from __future__ import annotations

from collections.abc import Iterator

from models import codes
from models.codes import Cause, QpState, Status
from models.layouts import LINE_BYTES, PAGE_BYTES, RECV_PORTAL, SRQ_DB
from models.receive.receive_post import RecvPost, receive_write_faults
from models.receive.receive_types import RecvPostResult, Taken
from tb.env.defs import BSTATE, RDONE, TRC_RECEIVE, TRC_RECV_POST, Reg
from tb.env.defs import SRQ_DB as REAP
from tb.env.harness.records import Completion, DoorbellRequest, DoorbellResponse, RecvDone, Trace
from tb.env.scoreboard.context import Check, Left, NeedCommandError
from tb.env.scoreboard.cq.credits import RECEIVE_LANE, PostCredits
from tb.env.scoreboard.cq.entries import CompletionChecks
from tb.env.scoreboard.explain import Difference, coded, name_of
from tb.env.scoreboard.host.pages import PageWrites, Pending, PortalCheck, PortalWrite
from tb.env.scoreboard.post.context import LAG, RECEIVE
from tb.env.scoreboard.receive.context import ReceiveContext, RegionChange

_FREED = BSTATE["freed"]
_GONE = (QpState.FREE, QpState.DESTROYING)


class _PendingReceive(PortalWrite):
    """A receive post, or a write to SRQ_DB."""

    def __init__(
        self, check: ReceivePostChecks, request: DoorbellRequest, serial: int, since: int
    ) -> None:
        super().__init__(check, request, serial, since)
        self.post: RecvPost | None = None
        self.shared = False
        self.queue = 0  # QP or SRQ
        self.index = 0  # SRQ_DB: reaped

    def __str__(self) -> str:
        name = f"{'SRQ' if self.shared else 'QP'} {self.queue}"
        post = f"receive post of {name}, {self.post}"
        what = f"SRQ_DB of {name}, index {self.index}" if self.post is None else post
        return f"write of cycle {self.request.cycle} ({what})"


class ReceivePostChecks(PortalCheck[_PendingReceive]):
    """Writes to the receive portals and to SRQ_DB, and their steps."""

    rules = "SRQ-09, SRQ-15, SRQ-17"

    def __init__(self, rc: ReceiveContext, pages: PageWrites, credits_: PostCredits) -> None:
        super().__init__(rc.ctx, pages, credits_, _PendingReceive, RECEIVE_LANE)
        self.rc = rc
        self.qpc = rc.qpc

    # -- pins --------------------------------------------------------------------------------------

    def request(self, record: DoorbellRequest, serial: int) -> Pending:
        offset = record.addr % PAGE_BYTES
        pending = _PendingReceive(self, record, serial, self.credits.serial)
        if offset == SRQ_DB:
            self._reap_write(pending)
        else:
            self._portal(pending, offset != RECV_PORTAL)
        pending.obj = "SRQ" if pending.shared else "QP", pending.queue
        if pending.result is not None:
            pending.decided = True
        else:
            self.look(pending)
            if pending.post is not None and not pending.shared:
                model = self.qpc.qps[pending.queue]
                if model.state is not QpState.FREE:
                    self.hold(pending, model.config.recv_cq, self.rc.rqs[pending.queue].credits)
        return pending

    def _portal(self, pending: _PendingReceive, shared: bool) -> None:
        params, record = self.ctx.params, pending.request
        pending.post, pending.shared = RecvPost.decode(record.data), shared
        pending.queue = pending.post.number
        faults = receive_write_faults(record.addr, record.length, record.size, record.strb, params)
        pending.result = next(faults, None)
        limit = params.num_srq if shared else params.num_qp
        if pending.result is None and pending.queue >= limit:
            pending.result = Cause.BAD_SRQ if shared else Cause.BAD_QP

    def _reap_write(self, pending: _PendingReceive) -> None:
        params, record = self.ctx.params, pending.request
        lane = record.addr % LINE_BYTES
        word = record.data >> 8 * lane & (1 << 64) - 1
        pending.index, pending.queue = REAP.unpack(word).values()
        pending.shared = True
        if record.length:
            pending.result = Cause.BURST
        elif record.size < 3 or record.strb != 0xFF << lane:
            pending.result = Cause.BAD_SIZE
        elif pending.page >= params.num_pages:
            pending.result = Cause.BAD_PAGE
        elif word & REAP.reserved or pending.index >> params.idx_w:
            pending.result = Cause.RESERVED_BITS
        elif pending.queue >= params.num_srq:
            pending.result = Cause.BAD_SRQ

    def may_answer(self, pending: Pending, record: DoorbellResponse) -> None:
        """An SRQ may be destroyed meanwhile."""
        assert isinstance(pending, _PendingReceive)
        if pending.result is None and record.cause == Cause.NO_SRQ:
            command = self.ctx.command_for(pending.queue, codes.Command.DESTROY_SRQ)
            if pending.shared and command is not None and command.result == 0:
                pending.foreign.add(Cause.NO_SRQ)

    def answered(self, record: DoorbellResponse, request: DoorbellRequest) -> None:
        self.rc.model.causes[record.cause] += 1
        self.ctx.engine.note_write(request.addr, record.cause)

    def alike(self, one: _PendingReceive, two: _PendingReceive) -> bool:
        first, second = ((p.shared, p.queue, p.post, p.index) for p in (one, two))
        return first == second

    # -- steps of lane 6 ---------------------------------------------------------------------------

    def receive_step(self, record: Trace) -> None:
        """RECV_POST."""
        shared = bool(TRC_RECV_POST["shared"].get(record.operand))
        known = 0 if shared else self.rc.rqs[record.cq].completed_seen
        try:
            self._receive_step(record, shared)
        except NeedCommandError:
            if not shared:
                self.rc.rqs[record.cq].completed_seen = known  # it is looked at again
            raise

    def _receive_step(self, record: Trace, shared: bool) -> None:
        rc, number = self.rc, record.cq
        found = [p for p in self._of(shared, number) if p.post is not None]
        page = self._page(shared, number)
        own = [p for p in found if p.page == page]
        if not found:
            self.fail("a receive post took effect that nobody wrote")
        gone = self._gone(shared, number)
        if gone is not None or not own:
            text = f"step of a receive post through page {found[0].page}, of {page}"
            self.fail(f"{text}: {gone or Cause.NOT_OWNER!r}")
        self._before(record, shared)
        expected: set[int] = set()
        for pending in own:
            changes = self._fits(record, pending, expected)
            if changes is not None:
                break
        else:
            cause = TRC_RECV_POST["cause"].get(record.operand)
            diff = coded("cause", Cause, cause, *expected)
            text = f"receive post with cause {cause:#x}, right would be: {diff.want}"
            self.fail(text, diff=diff)
        with rc.changed(changes):
            result = self._run(record, pending)
        assert result.cause == TRC_RECV_POST["cause"].get(record.operand)
        if result.cause is Cause.OK:
            self._accepted_receive(record, shared)
        self._after(record, shared)
        self.stepped(pending, result.cause)

    def _of(self, shared: bool, number: int) -> list[_PendingReceive]:
        return [p for p in self.candidates() if (p.shared, p.queue) == (shared, number)]

    def _run(self, record: Trace, pending: _PendingReceive) -> RecvPostResult:
        """The step in the model."""
        cause, number = TRC_RECV_POST["cause"].get(record.operand), record.cq
        assert pending.post is not None
        if pending.shared:
            return self.rc.srqs[number].post(pending.post)
        return self.rc.rqs[number].post(
            pending.post,
            completed_seen=_FREED.get(record.new),
            credit=cause != Cause.NO_CREDIT,
            cq_error=cause == Cause.CQ_ERROR,
        )

    def _fits(
        self, record: Trace, pending: _PendingReceive, expected: set[int]
    ) -> list[RegionChange] | None:
        """The regions with which the step is right for a write; adds to ``expected``
        what would have been."""
        cause = TRC_RECV_POST["cause"].get(record.operand)
        for changes in self.rc.tables(pending.request.cycle):
            right = self._right(record, pending, changes)
            expected |= right
            if cause in right:
                return changes
        return None

    def _right(
        self, record: Trace, pending: _PendingReceive, changes: list[RegionChange]
    ) -> set[int]:
        rc, number, post = self.rc, record.cq, pending.post
        assert post is not None
        with rc.changed(changes):
            if pending.shared:
                srq = rc.srqs[number]
                return {srq.first(srq.faults(post, pending.page))}
            rq = rc.rqs[number]
            cause = rq.first(rq.faults(post, pending.page))
        if cause is not Cause.OK:
            return {cause}
        cq = rq.qp.config.recv_cq
        wanted = rq.credits
        found = {int(c) for c in self.credits.outcomes(cq, pending.since, wanted, RECEIVE_LANE)}
        got = TRC_RECV_POST["cause"].get(record.operand)
        unexpected = got == Cause.NO_CREDIT and Cause.NO_CREDIT not in found
        if got == Cause.CQ_ERROR and Cause.CQ_ERROR not in found:
            rc.doubts.add(
                record, cq, f"receive post refused with CQ_ERROR, CQ {cq} is not in error"
            )
            found.add(Cause.CQ_ERROR)
        if unexpected and self.credits.refusal_excused(cq, pending.request.cycle, wanted):
            found.add(Cause.NO_CREDIT)
        return found

    def _before(self, record: Trace, shared: bool) -> None:
        """State before, and what the step knows of slots that are free again."""
        rc, number = self.rc, record.cq
        if shared:
            srq = rc.srqs[number]
            srq.reaped_seen = srq.reaped
            rc.compare("before", record, True)
            return
        rq = rc.rqs[number]
        before, freed = rq.completed_seen, _FREED.get(record.new)
        rq.completed_seen = rc.known(
            record, "reported", freed, before, rq.completed, rc.done[number][1]
        )
        rc.compare("before", record, hidden=_FREED.mask)
        if not rc.between(_FREED.get(record.old), before, rq.completed_seen):
            self.fail("the step knew of other completions before it")

    def _after(self, record: Trace, shared: bool) -> None:
        rc, number = self.rc, record.cq
        rc.compare("after", record, shared)
        (rc.shared if shared else rc.history)[number].append(record)
        if shared:
            rc.note(number)

    def _accepted_receive(self, record: Trace, shared: bool) -> None:
        rc, number = self.rc, record.cq
        rc.posted += 1
        rc.model.posts += 1
        if shared:
            rc.srq_tails[number].note(rc.srqs[number].tail, record.cycle)
            return
        rc.tails[number].note(rc.rqs[number].tail, record.cycle)
        self.credits.grant(self.qpc.qps[number].config.recv_cq, rc.rqs[number].credits)

    def reap_step(self, record: Trace) -> None:
        """REAP: an accepted write to SRQ_DB."""
        rc, number, index = self.rc, record.cq, record.operand
        found = [p for p in self._of(True, number) if p.post is None and p.index == index]
        srq = rc.srqs[number]
        pending = next((p for p in found if p.page == srq.config.page), found[0] if found else None)
        if pending is None:
            self.fail("a reaped index took effect that nobody wrote")
        self._before(record, True)
        cause = srq.reap(index, pending.page)
        if cause is not Cause.OK:
            self.fail(f"reaped, the model refuses it: {cause.name}")
        srq.reaped_seen = srq.reaped
        self._after(record, True)
        self.stepped(pending, 0)
        self.changed_srq(number)

    # -- states ------------------------------------------------------------------------------------

    def changed_qp(self, qp: int) -> None:
        """The state of a QP changed."""
        self._changed(False, qp)

    def changed_srq(self, srq: int) -> None:
        """An SRQ was created or destroyed, or can be reaped differently."""
        self._changed(True, srq)

    def _changed(self, shared: bool, number: int) -> None:
        for pending in self.pages.of(_PendingReceive):
            if not pending.decided and (pending.shared, pending.queue) == (shared, number):
                self.look(pending)

    def look(self, pending: _PendingReceive) -> None:
        gone = self._gone(pending.shared, pending.queue)
        if gone is not None:
            pending.foreign.add(gone)
        elif pending.page != self._page(pending.shared, pending.queue):
            pending.foreign.add(Cause.NOT_OWNER)
        elif pending.post is None:
            srq = self.rc.srqs[pending.queue]
            completed = self.rc.completed_before(pending.queue, self.ctx.cycle - LAG)
            if srq.reap_cause(pending.index, pending.page, completed) is not Cause.OK:
                pending.foreign.add(Cause.BAD_INDEX)

    def _page(self, shared: bool, number: int) -> int:
        return (self.rc.srqs if shared else self.qpc.qps)[number].config.page

    def _gone(self, shared: bool, number: int) -> Cause | None:
        if shared:
            return None if self.rc.srqs[number].exists else Cause.NO_SRQ
        return Cause.NO_QP if self.qpc.qps[number].state in _GONE else None


class ReceiveDoneChecks(Check):
    """s_axis_rdone, and lane 7 of the trace port."""

    rules = "SRQ-05, SRQ-06, SRQ-10, SRQ-14"

    def __init__(
        self, rc: ReceiveContext, completions: CompletionChecks, posts: ReceivePostChecks
    ) -> None:
        super().__init__(rc.ctx)
        self.rc = rc
        self.qpc = rc.qpc
        self.completions = completions
        self.posts = posts
        #: The buffer that completed last.
        self.latest: Taken

    def done(self, record: RecvDone) -> None:
        """A report was taken from the transport, to be accepted or refused."""
        _, tag, status = RDONE.unpack(record.data).values()
        # A failure ends the connection without waiting for room for the completion.
        self.qpc.heard(self.rc.model.done_beat, record.data, tag, RECEIVE, status != 0)

    def receive(self, record: Trace) -> None:
        """RECEIVE."""
        rc, qp = self.rc, record.cq
        rq = rc.rqs[qp]
        rc.compare("before", record)
        number = rq.completed
        oldest = rq.flight[:1]
        end = rq.complete()
        self.latest = oldest[0]
        of_srq = end.srq is not None
        expected = TRC_RECEIVE.pack(status=end.status, shared=of_srq, flush=end.flush, cq=end.cq)
        if record.operand != expected:
            text = f"operand {record.operand:#x}, expected {expected:#x} (tag {number})"
            got, want = TRC_RECEIVE["status"].get(record.operand), end.status
            diff = Difference("status", name_of(Status, got), name_of(Status, want))
            self.fail(text, diff=diff if got != want else None)
        rc.compare("after", record)
        rc.history[qp].append(record)
        rc.completed += 1
        rc.completed_at[qp] = record.cycle
        for news in rc.done[qp]:
            news.note(rq.completed, record.cycle)
        if end.srq is not None:
            rc.completions[end.srq].append((record.cycle, rc.srqs[end.srq].completed - 1))
            rc.note(end.srq)
            self.posts.changed_srq(end.srq)
        # Two credits: two entries, or one and a credit that is given back before it.
        data = [int.from_bytes(cqe.pack(), "little") for cqe in end.cqes]
        data = [0, *data] if end.given_back else [*data, 0]
        keep = 3 if len(end.cqes) > 1 or end.given_back else 1
        silent = 1 if end.given_back else 0
        dest = end.cq, end.cq if keep == 3 else 0
        self.completions.completion(
            Completion(record.cycle, keep, silent, dest, (data[0], data[1]))
        )

    def left(self) -> Iterator[Left]:
        """Buffers that are not reported, completed, flushed, or found again anywhere."""
        rc = self.rc
        here = sum(rq.available + len(rq.flight) for rq in rc.rqs)
        here += sum(srq.available for srq in rc.srqs)
        for qp, rq in enumerate(rc.rqs):
            where = f"QP {qp}:"
            if open_ := [taken for taken in rq.flight if taken.status is None]:
                yield Left("receives", open_[0].number, f"{where} not reported: tag")
            if rq.completable:
                yield Left("", rq.flight[0].number, f"{where} never completed: tag")
            if rq.flushable:
                yield Left("", rq.buffers[0].number, f"{where} never flushed: buffer")
        if rc.posted != here + rc.completed + rc.given_back:
            yield Left("", rc.posted, "buffers are unaccounted for, of")

    def counters(self) -> dict[Reg, int]:
        """Receive posts and reports."""
        model = self.rc.model
        return {Reg.CNT_RECV_POSTS: model.posts, Reg.CNT_RECV_DONE: model.done}
