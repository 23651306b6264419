# SPDX-License-Identifier: Apache-2.0
"""Posts: one answer each, in order, with the cause of the rules; what they hold and release (DF-01,
DF-02, DF-04, DF-06 to DF-08, DF-14, ISO-01).

A post that names a QP of its page has exactly one step on trace lane 3, where it is judged; its
answer must tell the same. All others have none, and a cause that is right in a state that the QP
had between the write and its answer.
"""

from __future__ import annotations

from models import codes
from models.codes import Cause, PostFlag, QpState
from models.post.post import Post
from models.post.post_check import write_faults
from models.post.qp_control import config_of
from tb.env.defs import POST, QSTATE, TRC_POST
from tb.env.harness.records import DoorbellRequest, DoorbellResponse, Trace
from tb.env.scoreboard.context import SLACK, args_of
from tb.env.scoreboard.cq.credits import POST_LANE, PostCredits
from tb.env.scoreboard.explain import coded
from tb.env.scoreboard.host.pages import PageWrites, Pending, PortalCheck, PortalWrite
from tb.env.scoreboard.post.context import QpContext
from tb.env.scoreboard.post.dispatch import DispatchChecks

_GONE = (QpState.FREE, QpState.DESTROYING)


class _PendingPost(PortalWrite):
    def __init__(
        self, check: PostChecks, request: DoorbellRequest, serial: int, since: int
    ) -> None:
        super().__init__(check, request, serial, since)
        self.post = Post.decode(request.data)
        self.obj = "QP", self.post.qp
        self.number: int | None = None  # of the request, if accepted

    def __str__(self) -> str:
        return f"post of cycle {self.request.cycle} ({self.post})"


class PostChecks(PortalCheck[_PendingPost]):
    """Writes to the send portals, and their steps."""

    rules = "DF-02, DF-04, DF-06, DF-14"

    def __init__(
        self, qpc: QpContext, pages: PageWrites, credits_: PostCredits, dispatch: DispatchChecks
    ) -> None:
        super().__init__(qpc.ctx, pages, credits_, _PendingPost, POST_LANE)
        self.qpc = qpc
        self.dispatch = dispatch
        self.deadlines: dict[int, int] = {}

    # -- pins --------------------------------------------------------------------------------------

    def request(self, record: DoorbellRequest, serial: int) -> Pending:
        params = self.ctx.params
        faults = write_faults(record.addr, record.length, record.size, record.strb, params)
        cause = next(faults, Cause.OK)
        if cause is Cause.OK and POST["qp"].get(record.data) >= params.num_qp:
            cause = Cause.BAD_QP
        pending = _PendingPost(self, record, serial, self.credits.serial)
        if cause is not Cause.OK:
            pending.result = cause
            pending.decided = True
        else:
            self.look(pending)
            model = self.qpc.qps[pending.post.qp]
            if model.state is not QpState.FREE:
                self.hold(pending, model.config.send_cq)
        return pending

    def answered(self, record: DoorbellResponse, _request: DoorbellRequest) -> None:
        self.qpc.model.causes[record.cause] += 1

    def handed(self, pending: _PendingPost, other: _PendingPost) -> None:
        super().handed(pending, other)
        other.number = pending.number
        for request in self.qpc.qps[other.post.qp].requests:
            if request.number == pending.number and not request.indicated:
                request.post = other.post

    def alike(self, one: _PendingPost, two: _PendingPost) -> bool:
        return self._alike(one.post, two.post)

    # -- steps of lane 3 ---------------------------------------------------------------------------

    def post_step(self, record: Trace) -> None:
        """POST."""
        qpc, qp, operand = self.qpc, record.cq, record.operand
        qpc.begin(record)
        model = qpc.qps[qp]
        head = Post(TRC_POST["opcode"].get(operand), 0, TRC_POST["flags"].get(operand), qp)
        found = [p for p in self.candidates() if self._alike(p.post, head)]
        # A post through another page has no step.
        own = (p for p in found if p.page == model.config.page)
        pending = next(own, found[0] if found else None)
        if pending is None:
            self.fail("a post took effect that nobody wrote")
        if model.state in _GONE or pending.page != model.config.page:
            self.fail(f"step of a post through page {pending.page}: {model.state.name}")
        cause = self._cause(record, pending)
        self._other_watermark(record, pending.post, cause)
        result = model.post(
            pending.post,
            retired_seen=QSTATE["retired"].get(record.new),
            credit=cause is not Cause.NO_CREDIT,
            cq_error=cause is Cause.CQ_ERROR,
            now=record.cycle,
        )
        assert result.cause is cause
        pending.number = result.number
        if cause is Cause.OK:
            self.credits.grant(model.config.send_cq)
            qpc.model.posts += 1
        self.stepped(pending, cause)
        self._stepped(record)

    def _cause(self, record: Trace, pending: _PendingPost) -> Cause:
        """The cause of a step, if it is right."""
        model, post = self.qpc.qps[record.cq], pending.post
        cause = TRC_POST["cause"].get(record.operand)
        expected = {model.check(post, pending.page)}
        if Cause.OK in expected:
            send_cq = model.config.send_cq
            expected = self.credits.outcomes(send_cq, pending.since)
            unexpected = cause == Cause.NO_CREDIT and cause not in expected
            if unexpected and self.credits.refusal_excused(send_cq, pending.request.cycle):
                expected.add(Cause.NO_CREDIT)
        if cause not in expected:
            diff = coded("cause", Cause, cause, *expected)
            text = f"post with cause {cause:#x}, right would be: {diff.want}"
            self.fail(text, diff=diff)
        return Cause(cause)

    def _other_watermark(self, record: Trace, post: Post, cause: Cause) -> None:
        """A command in flight may have set another watermark already."""
        model = self.qpc.qps[record.cq]
        if cause is not Cause.OK or not post.has(PostFlag.DEFER):
            return
        held = model.held + 1
        released = QSTATE["released"].get(record.new) == self.ctx.params.index(model.tail + 1)
        if released is (0 < model.config.watermark <= held):
            return
        command = self.ctx.command_for(record.cq, codes.Command.MODIFY_QP)
        if command is not None and command.result == 0:
            new = config_of(args_of(command))
            if released is (0 < new.watermark <= held):
                model.modify(new.watermark, model.config.age)

    def age_step(self, record: Trace) -> None:
        """AGE."""
        qpc, qp = self.qpc, record.cq
        qpc.begin(record)
        model = qpc.qps[qp]
        self._late_release(qp)
        oldest = next((r for r in model.requests if r.number >= model.released), None)
        limit = model.config.age
        waited = record.cycle - oldest.time if oldest else 0
        if oldest and not (limit and waited > limit * self.ctx.params.mod_tick):
            self._new_age(qp)
        model.age(record.cycle)
        self._stepped(record)

    def _new_age(self, qp: int) -> bool:
        command = self.ctx.command_for(qp, codes.Command.MODIFY_QP)
        if command is None or command.result != 0:
            return False
        model = self.qpc.qps[qp]
        model.modify(model.config.watermark, config_of(args_of(command)).age, self.ctx.cycle)
        return True

    def _stepped(self, record: Trace) -> None:
        self.qpc.end(record)
        self.qpc.history[record.cq].append(record)
        self.changed_qp(record.cq)

    # -- time --------------------------------------------------------------------------------------

    def changed_qp(self, qp: int) -> None:
        """The state of a QP changed."""
        for pending in self.pages.of(_PendingPost):
            if not pending.decided and pending.post.qp == qp:
                self.look(pending)
        self._note_deadline(qp)
        self.dispatch.changed(qp)

    def _note_deadline(self, qp: int) -> None:
        model = self.qpc.qps[qp]
        deadline = model.age_deadline if model.state is QpState.CONNECTED else None
        if deadline is None:
            self.deadlines.pop(qp, None)
        else:
            self.deadlines[qp] = deadline + SLACK

    def tick(self) -> None:
        for qp in list(self.deadlines):
            self._late_release(qp)

    def _late_release(self, qp: int) -> None:
        deadline = self.deadlines.get(qp)
        if deadline is None or self.ctx.cycle <= deadline:
            return
        if self._new_age(qp):
            self._note_deadline(qp)
            if self.ctx.cycle <= self.deadlines.get(qp, self.ctx.cycle):
                return
        self.fail(f"held requests are too old since cycle {deadline - SLACK}", ("QP", qp))

    # -- helpers -----------------------------------------------------------------------------------

    def look(self, pending: _PendingPost) -> None:
        model = self.qpc.qps[pending.post.qp]
        if model.state in _GONE:
            pending.foreign.add(Cause.NO_QP)
        elif pending.page != model.config.page:
            pending.foreign.add(Cause.NOT_OWNER)

    @staticmethod
    def _alike(one: Post, two: Post) -> bool:
        return one.qp == two.qp and one.opcode == two.opcode and one.flags == two.flags
