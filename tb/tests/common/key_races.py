# SPDX-License-Identifier: Apache-2.0
"""Two things that happen to a key at every distance in time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import pairwise

from models.post.post import Segment
from tb.env.defs import POST, TRC_INVALIDATE, CqeStatus, Opcode, PostFlag, QpState, TraceOp, Verdict
from tb.env.host.regions import Region
from tb.env.host.windows import MemoryWindow
from tb.tests.common.posting import CANCELED
from tb.tests.common.taking import REFUSED, TAKEN
from tb.tests.common.windowing import (
    BAD_TOKEN,
    INVALID_TOKEN,
    READ,
    WindowTest,
    bad_token,
    plain,
    received,
)

OFFSETS = range(-20, 21)
LEAD = 200  # cycles from setting a trial up to its centre
LOCAL, PEER, BY_READ, COMMAND = "a request", "the peer", "a Read", "a command"


class RaceTest(WindowTest):
    #: Probability of stalls.
    stalls = 0.0

    async def set_up(self) -> None:
        """One QP with a queue for each direction."""
        recv_cq = await self.queue(reservation=True)
        self.qp_ = await self.guarded(recv_cq=recv_cq, recv_depth=2)
        self.target = await self.memory(256)
        self.buffer = await self.memory(64)
        if self.stalls:
            self.env.stall_all(self.stalls)

    async def buffers(self, count: int) -> list[int]:
        posts = [self.qp_.make_recv([self.buffer.segment(0, 32)]) for _ in range(count)]
        for answer in self.qp_.queue_recv_many(posts):
            assert await answer == (0, 0)
        return [post.context for post in posts]

    async def make_valid(self, keyed: MemoryWindow | Region) -> int:
        """A valid key of this object, on the QP."""
        await self.revive(self.qp_)
        if isinstance(keyed, Region):
            return await self.fast_register(keyed, self.qp_)
        return await self.bind(keyed, self.qp_, self.target)

    async def start_read(self, key: int) -> None:
        """A Read that waits for its report; its first segment has this key."""
        segment = Segment(self.target.base, 8, key)
        post = self.qp_.make(
            Opcode.READ,
            target=self.target.segment(0, 8),
            segments=[segment],
            flags=PostFlag.RDMA_READ_LOCAL_INVALIDATE,
        )
        await self.accept(self.qp_, [post])
        await self.rest(16)
        self.first = post

    async def begin(self, way: str, key: int, at: int) -> Callable[[], Awaitable[object]]:
        """An invalidation in cycle ``at``; what is returned waits for its answer."""
        if way == PEER:
            pending = self.send_invalidate(self.qp_, key, at=at)
            return lambda: pending
        if way == BY_READ:
            self.report(self.qp_, 0, at=at)
            return lambda: self.rest(16)
        assert way == LOCAL
        post = self.qp_.make(Opcode.INVALIDATE, token=key)
        self.first = post
        answer = self.qp_.queue(post, at=at)
        return lambda: answer

    async def lag(self, way: str, keyed: MemoryWindow | Region) -> int:
        """Cycles from the cycle given to the step, when nothing else happens."""
        key = await self.make_valid(keyed)
        cookies = await self.buffers(1) if way == PEER else []
        if way == BY_READ:
            await self.start_read(key)
        mark, at = self.mark, self.harness.cycle + LEAD
        wait = await self.begin(way, key, at)
        await wait()
        await self.rest()
        (step,) = self.key_steps(TraceOp.INVALIDATE, mark)
        if way == PEER:
            self.settle(self.qp_)
            await self.demand_entries(self.qp_, [received(cookies[0], key)])
        else:
            await self.demand_results(self.qp_, [self.first], 0)
        return step.cycle - at

    async def race(self, way: str, keyed: MemoryWindow | Region, lead: int, offset: int) -> bool:
        """One meeting; ``lead``: the peer's lag is so much shorter. True: the peer was first."""
        qp = self.qp_
        key = await self.make_valid(keyed)
        cookies = await self.buffers(2)
        count = await self.env.host.counter("INVALIDATED")
        if way == BY_READ:
            await self.start_read(key)
        mark, at = self.mark, self.harness.cycle + LEAD
        wait = await self.begin(way, key, at)
        first = self.first
        behind = self.write_post(qp)
        # Posted at once: it is there before, at and after the meeting.
        answer = qp.queue(behind, at=at + 1)
        pending = self.send_invalidate(qp, key, at=at + lead + offset)
        await wait()
        accepted = (await answer)[1] == 0
        code = (await pending).code
        await self.rest()
        steps = self.key_steps(TraceOp.INVALIDATE, mark)
        taken = code != REFUSED
        codes = [TRC_INVALIDATE["status"].get(step.operand) for step in steps]
        what = f"offset {offset}: {code.name}, {codes}"
        assert codes.count(0) == 1, what
        peer_first = code == TAKEN
        # What came second has failed; it ends the connection.
        assert peer_first or code in (BAD_TOKEN, REFUSED), what
        assert self.terms(mark) == [(qp.number, int(QpState.ERROR))], what
        await self.demand_state(qp, QpState.ERROR)
        assert not (await keyed.refresh()).valid
        assert await self.env.host.counter("INVALIDATED") == count + 1
        assert await self.check(qp, READ, key, self.target.base, 8) == Verdict.REFUSED
        assert (await self.receiver.request(qp.number, 1)).code == REFUSED
        if taken:
            self.settle(qp, 0)
        if any(POST["opcode"].get(b.data) == Opcode.WRITE for b in self.beats(qp, mark)):
            self.report(qp, CANCELED)
        posts = [first, behind] if accepted else [first]
        statuses = [INVALID_TOKEN if peer_first else 0] + [CANCELED] * accepted
        await self.demand_results(qp, posts, *statuses)
        entry = received(cookies[0], key) if peer_first else bad_token(cookies[0], key)
        left = [plain(c, 0, CqeStatus.CANCELED) for c in (cookies[1:] if taken else cookies)]
        await self.demand_entries(qp, [entry, *left] if taken else left)
        # A SendAndInvalidate behind a local one is never refused by chance: it was the failure.
        assert taken, what
        return peer_first

    async def sweep(self, way: str, keyed: MemoryWindow | Region) -> None:
        await self.set_up()
        lead = await self.lag(way, keyed) - await self.lag(PEER, keyed)
        winners = [await self.race(way, keyed, lead, offset) for offset in OFFSETS]
        assert winners[0] and not winners[-1], winners
        if not self.stalls:
            assert sum(a != b for a, b in pairwise(winners)) == 1, winners
