# SPDX-License-Identifier: Apache-2.0
"""Order of execution and completion, failures, and the life of a queue pair (DF-02, DF-03, DF-12 to
DF-15, CQ-17).
"""

from __future__ import annotations

import pyuvm

from models.post.post import Post
from tb.env.defs import Cause, Cmd, CqStatus, QpState, Result
from tb.env.host.qp import Qp
from tb.tests.common.posting import CANCELED, FAILED, OK, PostingTest

BUILD = ["engine", "engine_small"]


@pyuvm.test()
class FenceWayOutTest(PostingTest):
    """DF-11, DF-13: a failure or a flush while a fenced request waits for a Read: it and all behind
    it are never indicated and complete CANCELED.
    """

    async def scenario(self) -> None:
        qp = await self.qp()
        for status in (FAILED, OK):
            for fenced in (self.write_post, self.local_post):
                mark = self.mark
                posts = [self.read_post(qp), fenced(qp, fence=True), self.local_post(qp)]
                await self.accept(qp, posts)
                await self.rest()
                if status == OK:
                    await qp.flush()
                self.report(qp, status)
                await self.demand_results(qp, posts, status, CANCELED, CANCELED)
                self.demand_beats(qp, posts[:1], mark)
                await self.reconnect(qp)


@pyuvm.test()
class SilentTest(PostingTest):
    """DF-02, DF-03: SILENT_SUCCESS completes a failure and no success, with each verb's kind; a
    failed post completes never; and credits are right after each.
    """

    async def scenario(self) -> None:
        qp = await self.qp(log2=2)
        kinds = (self.write_post, self.read_post, self.local_post)
        for make in kinds:
            local = make == self.local_post
            await self.accept(qp, [make(qp, silent=True)])
            assert await qp.post(Post(0, qp=qp.number)) == Cause.BAD_OPCODE
            (loud,) = await self.accept(qp, [make(qp)])
            self.report(qp, 0, 0) if not local else None
            await self.demand_results(qp, [loud], OK)
            assert (await qp.cq.query()).credits == 0
        for status in (FAILED, CANCELED):
            posts = [self.write_post(qp, silent=True) for _ in range(3)]
            posts.insert(1, self.local_post(qp, silent=True))
            await self.accept(qp, posts)
            await self.rest()
            self.report(qp, 0, status, OK)
            # The local one is behind a success only.
            await self.demand_results(qp, posts[2:], status, CANCELED)
            assert (await qp.cq.query()).credits == 0
            await self.reconnect(qp)
        # All silent, and skipped: each completes.
        posts = [self.write_post(qp, silent=True, defer=True) for _ in range(3)]
        await self.accept(qp, posts)
        await qp.flush()
        await self.demand_results(qp, posts, CANCELED)


@pyuvm.test()
class CqErrorTest(PostingTest):
    """CQ-17, DF-14: a send CQ in error refuses the posts of its QPs; what was accepted retires; the
    QP leaves, and works again with another CQ.
    """

    async def scenario(self) -> None:
        first = await self.qp()
        second = await self.qp(share=first)
        held = await self.hold(second, 2)
        posts = await self.accept(first, [self.write_post(first) for _ in range(2)])
        await self.rest()
        self.env.mem.fail(cq=first.cq.number)
        await self.harness.cycles(4)
        self.report(first)
        await self.rest()
        assert (await first.cq.query()).status == CqStatus.INTERNAL_ERROR
        mark = self.mark
        for defer in (True, False):
            for make in (self.write_post, self.local_post):
                assert await first.post(make(first, defer=defer, silent=defer)) == Cause.CQ_ERROR
        await self.rest()
        assert self.beats(first, mark) == [] == self.beats(second, mark)
        assert await second.post(self.write_post(second)) == Cause.CQ_ERROR
        await self.rest()
        self.demand_beats(second, held, mark)
        self.report(first)
        self.report(second, 0, 0)
        for qp, count in ((first, len(posts)), (second, 2)):
            status = await qp.wait_retired()
            assert status.retired == count & self.mask and status.state == QpState.CONNECTED
            await qp.destroy()
        await first.cq.destroy()
        third = await self.qp()
        posts = await self.accept(third, [self.write_post(third)])
        self.report(third)
        await self.demand_results(third, posts, OK)


async def to_state(test: PostingTest, qp: Qp, state: QpState) -> None:
    """Brings a fresh QP into a state; DESTROYING leaves one request outstanding."""
    if state == QpState.IDLE:
        return
    await qp.connect(qp.number ^ 1)
    if state == QpState.ERROR:
        await qp.flush()
    elif state == QpState.DESTROYING:
        await test.accept(qp, [test.write_post(qp)])
        await test.rest(16)
        assert await qp.destroy(wait=False) == Result.PENDING
    elif state != QpState.CONNECTED:
        assert await qp.set_state(state) == Result.OK


N, C, P, D, E, X = (
    QpState.IDLE,
    QpState.CONNECTED,
    QpState.DISCONNECT_PENDING,
    QpState.DISCONNECTED,
    QpState.ERROR,
    QpState.DESTROYING,
)
BAD = Result.BAD_STATE
#: Command and its first argument: what becomes of the states N, C, P, D, E; a result: no change.
TABLE: tuple[tuple[Cmd, int, tuple[QpState | Result, ...]], ...] = (
    (Cmd.CONNECT_QP, 1, (C, BAD, BAD, BAD, BAD)),
    (Cmd.SET_QP_STATE, N, (BAD, BAD, BAD, N, N)),
    (Cmd.SET_QP_STATE, P, (BAD, P, BAD, BAD, BAD)),
    (Cmd.SET_QP_STATE, D, (BAD, D, D, BAD, BAD)),
    *((Cmd.SET_QP_STATE, n, (BAD,) * 5) for n in (0, 2, 5, 6, 7, 15)),
    (Cmd.FLUSH_QP, 0, (BAD, E, E, D, E)),
    (Cmd.QUERY_QP, 0, (N, C, P, D, E)),
    (Cmd.MODIFY_QP, 0, (N, C, P, D, E)),
    (Cmd.DESTROY_QP, 0, (QpState.FREE,) * 5),
)


@pyuvm.test()
class StatesTest(PostingTest):
    """Every state with every command, a post and a connection event: result, next state, terminate
    requests.
    """

    async def scenario(self) -> None:
        qp = await self.idle_qp()
        for number, state in enumerate((N, C, P, D, E)):
            for code, argument, row in TABLE:
                await to_state(self, qp, state)
                await self.step(qp, state, code, argument, row[number])
            for event in (False, True):
                await to_state(self, qp, state)
                await self.post_or_event(qp, state, event)
                await self.renew(qp)
        await self.destroying(qp)

    async def renew(self, qp: Qp) -> None:
        await qp.destroy()
        await qp.create()

    async def step(
        self, qp: Qp, state: QpState, code: Cmd, argument: int, outcome: QpState | Result
    ) -> None:
        """One command in one state."""
        await self.rest(16)
        mark = self.mark
        result = await self.result(code, qp.number, int(argument), 0, 0, 0, 0)
        what = f"{code.name}({int(argument)}) in {state.name}"
        after = state if isinstance(outcome, Result) else outcome
        assert result == (outcome if isinstance(outcome, Result) else Result.OK), what
        await self.rest(16)
        if after == QpState.FREE:
            for other in (Cmd.QUERY_QP, Cmd.DESTROY_QP, Cmd.FLUSH_QP, Cmd.CONNECT_QP):
                assert await self.result(other, qp.number, 0) == Result.NO_OBJECT
            assert await qp.post(self.write_post(qp)) == Cause.NO_QP
        else:
            assert (await qp.query()).state == after, what
        up = (C, P)
        told = E if after == QpState.FREE else after
        assert self.terms(mark) == ([(qp.number, told)] if state in up and after not in up else [])
        if after == QpState.FREE:
            await qp.create()
        else:
            await self.renew(qp)

    async def post_or_event(self, qp: Qp, state: QpState, event: bool) -> None:
        await self.rest(16)
        mark = self.mark
        if event:
            self.env.transport.disconnect(qp.number)
            await self.rest(16)
            ends = state in (C, P)
            assert (await qp.query()).state == (D if ends else state)
            assert self.terms(mark) == ([(qp.number, D)] if ends else [])
            return
        post = self.local_post(qp)
        assert await qp.post(post) == (Cause.NONE if state == C else Cause.NOT_CONNECTED)
        assert (await qp.query()).state == state
        await self.demand_results(qp, [post] if state == C else [], *([OK] * (state == C)))

    async def destroying(self, qp: Qp) -> None:
        """DESTROYING answers to a query and a destroy, and ends with its last report."""
        await to_state(self, qp, X)
        await self.rest(16)
        assert self.terms()[-1] == (qp.number, E)
        mark = self.mark
        assert (await qp.query()).state == X
        for code in (Cmd.MODIFY_QP, Cmd.CONNECT_QP, Cmd.SET_QP_STATE, Cmd.FLUSH_QP):
            result = await self.result(code, qp.number, 1, 0, 0, 0, 0)
            assert result in (Result.NO_OBJECT, Result.BAD_STATE), code
        assert await self.result(Cmd.CREATE_QP, qp.number, 0, 0, 0, 1 << 16, 0) == Result.EXISTS
        assert await qp.post(self.write_post(qp)) == Cause.NO_QP
        self.env.transport.disconnect(qp.number)
        await self.rest(16)
        assert (await qp.query()).state == X
        assert await qp.destroy(wait=False) == Result.PENDING
        self.report(qp)
        await self.rest(16)
        assert await qp.destroy(wait=False) == Result.OK
        assert self.terms(mark) == []
        assert len(qp.cq.get_cq_results()) > 0
