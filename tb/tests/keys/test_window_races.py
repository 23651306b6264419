# SPDX-License-Identifier: Apache-2.0
"""Two things that happen to a key, at every distance in time: two invalidations (MW-05), of which
exactly one succeeds, and the failure of the other ends the connection; a Bind and the invalidation
of its region; checks in every cycle around an invalidation of each kind (CQ-03, MW-10), of which
none is granted once it is decided.
"""

from __future__ import annotations

from collections.abc import Awaitable
from itertools import pairwise

import pyuvm

from tb.env.defs import (
    POST,
    TRC_CHECK,
    TRC_INVALIDATE,
    Cmd,
    Opcode,
    QpState,
    TraceOp,
    Verdict,
)
from tb.env.harness.records import AccessCheck, ScatterAnswer, Trace
from tb.env.host.qp import Qp
from tb.env.host.regions import MemoryWindow, Region
from tb.tests.common.engine import (
    BAD_KEY,
    BAD_MEMORY,
    BAD_TOKEN,
    GRANTED,
    INVALID_TOKEN,
    READ,
    EngineTest,
    Keyed,
    bad_token,
    received,
)
from tb.tests.common.posting import CANCELED
from tb.tests.common.receiving import REFUSED, TAKEN, canceled

BUILD = ["engine", "engine_small", "engine_least"]

OFFSETS = range(-20, 21)
LEAD = 200  # cycles from setting a trial up to its centre
LOCAL, PEER, BY_READ, COMMAND = "a request", "the peer", "a Read", "a command"
AROUND = 40


class RaceTest(EngineTest):
    async def set_up(self) -> None:
        """One QP with a queue for each direction."""
        recv_cq = await self.queue(reservation=True)
        self.qp_ = await self.guarded(recv_cq=recv_cq, recv_depth=2)
        self.target = await self.memory(256)

    async def ready(self, keyed: Keyed) -> int:
        """A valid key of this object, on the QP, which is connected."""
        await self.revive(self.qp_)
        if keyed is self.target:
            return keyed.key
        return await self.make_valid(keyed, self.qp_, self.target)

    async def start_read(self, key: int) -> None:
        """A Read that waits for its report; its first segment has this key."""
        self.first = self.read_of(self.qp_, self.target, key)
        await self.accept(self.qp_, [self.first])
        await self.rest(16)

    def begin(self, way: str, keyed: Keyed, at: int) -> Awaitable[object]:
        """An invalidation in cycle ``at``; await its answer."""
        if way == PEER:
            return self.send_invalidate(self.qp_, keyed.key, at=at)
        if way == BY_READ:
            self.report(self.qp_, 0, at=at)
            return self.rest(16)
        if way == COMMAND:
            code = Cmd.CLOSE_MW if isinstance(keyed, MemoryWindow) else Cmd.DEREGISTER_MR
            return self.command_at(at, code, keyed.number)
        self.first = self.qp_.make(Opcode.INVALIDATE, token=keyed.key)
        return self.qp_.queue(self.first, at=at)

    async def completed(self, way: str, key: int, cookies: list[int]) -> None:
        """What invalidated the key, alone, completes."""
        if way == PEER:
            self.settle(self.qp_)
            await self.demand(self.qp_, [received(cookies[0], key)])
        elif way != COMMAND:
            await self.demand_results(self.qp_, [self.first], 0)

    async def lag(self, way: str, keyed: Keyed) -> int:
        """Cycles from the cycle given to the step, when nothing else happens."""
        key = await self.ready(keyed)
        cookies = await self.post_buffers(self.qp_, self.target) if way == PEER else []
        if way == BY_READ:
            await self.start_read(key)
        mark, at = self.mark, self.harness.cycle + LEAD
        await self.begin(way, keyed, at)
        await self.rest()
        (step,) = self.key_steps(TraceOp.INVALIDATE, mark)
        await self.completed(way, key, cookies)
        return step.cycle - at


@pyuvm.test()
class InvalidationsTest(RaceTest):
    """A local Invalidate, or a Read with RDMA_READ_LOCAL_INVALIDATE that retires, and an arriving
    SendAndInvalidate; of a region by FastRegister, and of a window while everything stalls now and
    then.
    """

    async def scenario(self) -> None:
        await self.set_up()
        region, window = await self.allocated(64), await self.window()
        for way, keyed, stalls in (
            (LOCAL, region, 0.0),
            (BY_READ, region, 0.0),
            (LOCAL, window, 0.3),
        ):
            self.env.stall_all(stalls)
            lead = await self.lag(way, keyed) - await self.lag(PEER, keyed)
            winners = [await self.race(way, keyed, lead, offset) for offset in OFFSETS]
            assert winners[0] and not winners[-1], winners
            assert stalls or sum(a != b for a, b in pairwise(winners)) == 1, winners

    async def race(self, way: str, keyed: Keyed, lead: int, offset: int) -> bool:
        """One meeting; ``lead``: the peer's lag is so much shorter. True: the peer was first."""
        qp = self.qp_
        key = await self.ready(keyed)
        cookies = await self.post_buffers(qp, self.target, 2)
        count = await self.env.host.counter("INVALIDATED")
        if way == BY_READ:
            await self.start_read(key)
        mark, at = self.mark, self.harness.cycle + LEAD
        wait = self.begin(way, keyed, at)
        first = self.first
        behind = self.write_post(qp)
        # Posted at once: it is there before, at and after the meeting.
        answer = qp.queue(behind, at=at + 1)
        pending = self.send_invalidate(qp, key, at=at + lead + offset)
        await wait
        accepted = (await answer)[1] == 0
        code = (await pending).code
        await self.rest()
        steps = self.key_steps(TraceOp.INVALIDATE, mark)
        codes = [TRC_INVALIDATE["status"].get(step.operand) for step in steps]
        what = f"offset {offset}: {code.name}, {codes}"
        assert codes.count(0) == 1, what
        peer_first = code == TAKEN
        # What came second has failed; it ends the connection. A SendAndInvalidate after a local
        # one is never refused by chance: it was the failure.
        assert peer_first or code == BAD_TOKEN, what
        assert self.terms(mark) == [(qp.number, int(QpState.ERROR))], what
        await self.demand_state(qp, QpState.ERROR)
        assert not (await keyed.refresh()).valid
        assert await self.env.host.counter("INVALIDATED") == count + 1
        assert await self.check(qp, READ, key, self.target.base, 8) == Verdict.REFUSED
        assert await self.code(qp) == REFUSED
        self.settle(qp, 0)
        if any(POST["opcode"].get(b.data) == Opcode.WRITE for b in self.beats(qp, mark)):
            self.report(qp, CANCELED)
        posts = [first, behind] if accepted else [first]
        statuses = [INVALID_TOKEN if peer_first else 0] + [CANCELED] * accepted
        await self.demand_results(qp, posts, *statuses)
        entry = received(cookies[0], key) if peer_first else bad_token(cookies[0], key)
        await self.demand(qp, [entry, *canceled(cookies[1:])])
        return peer_first


@pyuvm.test()
class BindMeetsPeerTest(RaceTest):
    """A Bind and a message that invalidates its region, at every offset: the Bind fails, or the
    region is busy and the message has a bad token.
    """

    async def scenario(self) -> None:
        await self.set_up()
        window, region = await self.window(), await self.allocated(64)
        binder = await self.guarded(share=self.qp_, recv_depth=0)
        lead = await self.lag(LOCAL, window) - await self.lag(PEER, window)
        winners = [await self.meet(binder, window, region, lead + n) for n in range(-6, 7)]
        assert winners[0] and not winners[-1], winners
        assert sum(a != b for a, b in pairwise(winners)) == 1, winners

    async def meet(self, binder: Qp, window: MemoryWindow, region: Region, offset: int) -> bool:
        """True: the message was first."""
        qp = self.qp_
        await self.revive(binder)
        key = await self.ready(region)
        (cookie,) = await self.post_buffers(qp, self.target)
        await window.refresh()
        post = window.make_bind(binder, region)
        at = self.harness.cycle + LEAD
        answer = binder.queue(post, at=at)
        pending = self.send_invalidate(qp, key, at=at + offset)
        assert (await answer)[1] == 0
        code = (await pending).code
        await self.rest()
        bound = (await window.refresh()).valid
        assert code == (BAD_TOKEN if bound else TAKEN), (offset, code)
        assert (await region.query()).valid == bound, offset
        self.settle(qp)
        await self.demand_results(binder, [post], 0 if bound else BAD_MEMORY)
        await self.demand(qp, [bad_token(cookie, key) if bound else received(cookie, key)])
        if bound:
            await self.revive(qp)
            await self.invalidate(binder, window.key)
            await self.invalidate(qp, key)
        return not bound


# -- checks around an invalidation -----------------------------------------------------------------


@pyuvm.test()
class ChecksAroundTest(RaceTest):
    """Around an Invalidate of a window and of a region, a Read that invalidates, a message that
    does, CLOSE_MW and DEREGISTER_MR; and while everything stalls now and then. MW-10e: from the
    answer to the message on, none is granted.
    """

    async def scenario(self) -> None:
        await self.set_up()
        self.told = 0  # checks after an answer
        window = await self.window()
        region = await self.env.host.allocate(
            256, zone=self.qp_.zone, rights=7, base=self.target.base
        )
        for way, keyed in (
            (LOCAL, window),
            (LOCAL, region),
            (BY_READ, region),
            (PEER, window),
            (COMMAND, window),
            (COMMAND, self.target),
        ):
            await self.around(way, keyed)
        assert self.told
        self.env.stall_all(0.3)
        for _ in range(5):
            await self.around(LOCAL, window)
            await self.around(PEER, window)

    async def around(self, way: str, keyed: Keyed) -> None:
        """A check in every cycle around an invalidation."""
        for shift in range(4):
            key = await self.ready(keyed)
            cookies = await self.post_buffers(self.qp_, self.target) if way == PEER else []
            if way == BY_READ:
                await self.start_read(key)
            mark, at = self.mark, self.harness.cycle + LEAD + shift
            wait = self.begin(way, keyed, at)
            await self.watch(key, at, mark)
            await wait
            await self.completed(way, key, cookies)
            if way == COMMAND:
                await (keyed.create() if isinstance(keyed, MemoryWindow) else keyed.register())

    async def watch(self, key: int, at: int, mark: int) -> None:
        """Checks from before to after; what they see changes once, at the step."""
        pending = [
            self.post_check(self.qp_, READ, key, self.target.base, 8, at=None if n else at - 10)
            for n in range(10 + AROUND)
        ]
        codes = [(await answer).code for answer in pending]
        await self.rest()
        changes = (TraceOp.INVALIDATE, TraceOp.KEY_COMMAND)
        (changed,) = [t for t in self.of(Trace, mark) if t.op in changes and t.lane == 8]
        for step in self.key_steps(TraceOp.CHECK, mark):
            code = TRC_CHECK["code"].get(step.operand)
            # In one cycle the check comes first.
            assert code == (GRANTED if step.cycle <= changed.cycle else BAD_KEY), (step, changed)
        granted = codes.count(GRANTED)
        assert 0 < granted < len(codes), codes
        assert codes[:granted] == [GRANTED] * granted, codes
        assert codes[granted] == BAD_KEY and codes[-1] == Verdict.REFUSED, codes
        asked = self.of(AccessCheck, mark)
        for answer in self.of(ScatterAnswer, mark):
            late = [
                code
                for check, code in zip(asked, codes, strict=True)
                if check.cycle >= answer.cycle
            ]
            assert GRANTED not in late, (answer, codes)
            self.told += len(late)
        await self.demand_state(self.qp_, QpState.ERROR)


@pyuvm.test()
class LoneCheckTest(RaceTest):
    """One check around the invalidation by a Read, at every distance: granted before its step."""

    async def scenario(self) -> None:
        await self.set_up()
        window, seen = await self.window(), set()
        for offset in range(24):
            key = await self.ready(window)
            await self.start_read(key)
            mark, at = self.mark, self.harness.cycle + LEAD
            self.report(self.qp_, 0, at=at)
            check = self.post_check(self.qp_, READ, key, self.target.base, 8, at=at + offset)
            code = (await check).code
            await self.completed(BY_READ, key, [])
            (step,) = self.key_steps(TraceOp.INVALIDATE, mark)
            (look,) = self.key_steps(TraceOp.CHECK, mark)
            # In one cycle the check comes first.
            assert code == (GRANTED if look.cycle <= step.cycle else BAD_KEY), offset
            seen.add(look.cycle - step.cycle)
        assert seen >= set(range(-3, 4)), seen
