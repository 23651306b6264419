# SPDX-License-Identifier: Apache-2.0
"""Corners of regions and windows: present keys beside old ones of the same object, objects of
other queue pairs, a lone check around an invalidation, contexts, queue pairs that are being
destroyed, removal of a device that does nothing.
"""

from __future__ import annotations

from itertools import product

import pyuvm

from models.post.post import Post, Segment
from tb.env.defs import Cmd, CqeStatus, Opcode, PostFlag, QpState, Result, TraceOp, Verdict
from tb.env.host.regions import Region
from tb.env.host.windows import MemoryWindow
from tb.tests.common.invalidating import InvalidatingTest
from tb.tests.common.posting import CANCELED
from tb.tests.common.removing import RemovalTest
from tb.tests.common.taking import TAKEN
from tb.tests.common.windowing import (
    BAD_TOKEN,
    GRANTED,
    INVALID_TOKEN,
    READ,
    ZONE,
    WindowTest,
    bad_token,
    plain,
    result_of,
)

BUILD = ["engine", "engine_small"]


class CornerTest(WindowTest):
    async def set_up(self) -> None:
        self.qp_ = await self.guarded()
        self.target = await self.memory(256)

    def read_of(self, key: int) -> Post:
        return self.qp_.make(
            Opcode.READ,
            target=self.target.segment(0, 8),
            segments=[Segment(self.target.base, 8, key)],
            flags=PostFlag.RDMA_READ_LOCAL_INVALIDATE,
        )

    async def read(self, key: int, status: int = 0) -> None:
        """A Read that invalidates this key, or fails."""
        post = self.read_of(key)
        await self.accept(self.qp_, [post])
        await self.rest()
        self.report(self.qp_)
        await self.demand_results(self.qp_, [post], status)
        await self.demand_state(self.qp_, QpState.ERROR if status else QpState.CONNECTED)
        await self.revive(self.qp_)

    async def refuse_token(self, key: int) -> None:
        """A message that names this token ends the connection."""
        post = self.qp_.make_recv([self.target.segment(0, 32)])
        (answer,) = self.qp_.queue_recv_many([post])
        assert await answer == (0, 0)
        await self.answers([self.send_invalidate(self.qp_, key)], BAD_TOKEN)
        self.settle(self.qp_)
        await self.demand_entries(self.qp_, [bad_token(post.context, key)])
        await self.demand_state(self.qp_, QpState.ERROR)
        await self.revive(self.qp_)


@pyuvm.test()
class OldKeyBesideNewTest(CornerTest):
    """An object that is valid again on the same QP: its old key invalidates nothing, by no way."""

    async def scenario(self) -> None:
        await self.set_up()
        fast, window = await self.allocated(64), await self.window()
        await self.old(fast, await self.fast_register(fast, self.qp_))
        await self.old(window, await self.bind(window, self.qp_, self.target))

    async def old(self, keyed: Region | MemoryWindow, old: int) -> None:
        qp = self.qp_
        await self.invalidate(qp, old)
        if isinstance(keyed, Region):
            key = await self.fast_register(keyed, qp)
        else:
            key = await self.bind(keyed, qp, self.target)
        await self.refuse_token(old)
        await self.read(old, INVALID_TOKEN)
        await self.invalidate(qp, old, INVALID_TOKEN)
        await self.revive(qp)
        assert (await keyed.query()).valid
        await self.read(key)
        assert not (await keyed.query()).valid


@pyuvm.test()
class ReadKeyBitsTest(CornerTest):
    """A Read that names the key of a window or region, but for one bit, whichever, fails and
    invalidates nothing.
    """

    async def scenario(self) -> None:
        await self.set_up()
        fast, window = await self.allocated(64), await self.window()
        await self.bits(fast, await self.fast_register(fast, self.qp_))
        await self.bits(window, await self.bind(window, self.qp_, self.target))

    async def bits(self, keyed: Region | MemoryWindow, key: int) -> None:
        for bit in range(32):
            await self.read(key ^ 1 << bit, INVALID_TOKEN)
            assert (await keyed.query()).valid, f"bit {bit}"
        await self.read(key)
        assert not (await keyed.query()).valid


@pyuvm.test()
class RegionOfAnotherTest(CornerTest):
    """A region that another QP registered with FastRegister: a Read does not invalidate it."""

    async def scenario(self) -> None:
        await self.set_up()
        other = await self.guarded()
        fast = await self.allocated(64)
        key = await self.fast_register(fast, other)
        await self.read(key, INVALID_TOKEN)
        await self.refuse_token(key)
        assert (await fast.query()).valid
        await self.invalidate(other, key)


@pyuvm.test()
class LoneCheckTest(CornerTest):
    """One check around the invalidation by a Read, at every distance: granted before its step."""

    async def scenario(self) -> None:
        await self.set_up()
        window = await self.window()
        seen = set()
        for offset in range(24):
            key = await self.bind(window, self.qp_, self.target)
            post = self.read_of(key)
            await self.accept(self.qp_, [post])
            await self.rest()
            mark, at = self.mark, self.harness.cycle + 40
            self.report(self.qp_, 0, at=at)
            check = self.post_check(self.qp_, READ, key, self.target.base, 8, at=at + offset)
            code = (await check).code
            await self.demand_results(self.qp_, [post], 0)
            (step,) = self.key_steps(TraceOp.INVALIDATE, mark)
            (look,) = self.key_steps(TraceOp.CHECK, mark)
            # Lane 9 goes before lane 8 in one cycle.
            assert code == (GRANTED if look.cycle <= step.cycle else Verdict.BAD_KEY), offset
            seen.add(look.cycle - step.cycle)
            await self.revive(self.qp_)
        assert seen >= set(range(-3, 4)), seen


@pyuvm.test()
class TwoEntriesTest(InvalidatingTest):
    """From an SRQ: a bad token, for two entries and for one; a window of context 0."""

    async def scenario(self) -> None:
        await self.set_up(nd1=True, shared=True)
        qp, one = self.qp_, await self.guarded(srq=self.qp_.srq)
        for user, solicited in product((qp, one), (False, True)):
            (cookie,) = await self.buffers(1)
            await self.answers([self.send_invalidate(user, 0, solicited=solicited)], BAD_TOKEN)
            self.settle(user)
            bad = plain(cookie, 0, CqeStatus.INVALID_TOKEN)
            await self.demand_entries(user, [bad if user is qp else bad_token(cookie, 0)])
            await self.revive(user)
        window = await self.window(context=0)
        key = await self.bind(window, qp, self.target)
        (cookie,) = await self.buffers(1)
        await self.answers([self.send_invalidate(qp, key, solicited=True)], TAKEN)
        self.settle(qp)
        await self.demand_entries(qp, [result_of(0, key), plain(cookie)])


@pyuvm.test()
class DestroyingTest(CornerTest):
    """A QP that is being destroyed grants nothing; one with a valid key is not touched."""

    async def scenario(self) -> None:
        await self.set_up()
        qp, window = self.qp_, await self.window()
        key = await self.bind(window, qp, self.target)
        posts = [self.write_post(qp), self.write_post(qp, defer=True)]
        await self.accept(qp, posts)
        assert await self.result(Cmd.DESTROY_QP, qp.number) == Result.IN_USE
        await self.demand_state(qp, QpState.CONNECTED)
        assert await self.check(qp, READ, key, self.target.base, 8) == GRANTED
        await window.close()
        assert await self.result(Cmd.DESTROY_QP, qp.number) == Result.PENDING
        for name in (key, self.target.key):
            verdict = await self.check(qp, READ, name, self.target.base, 8)
            assert verdict == Verdict.REFUSED
        self.report(qp)
        await self.demand_results(qp, posts, 0, CANCELED)
        assert await self.result(Cmd.DESTROY_QP, qp.number) == Result.OK


@pyuvm.test()
class IdleRemovalTest(RemovalTest):
    """A device that does nothing is removed; QPs that are not connected can be flushed."""

    async def scenario(self) -> None:
        qps = [await self.idle_qp(guarded=True, zone=ZONE) for _ in range(2)]
        await qps[0].connect(1)
        posts = [self.write_post(qps[0])]
        await self.accept(qps[0], posts)
        await self.rest()
        self.report(qps[0])
        await self.demand_results(qps[0], posts, 0)
        await qps[0].flush()
        await self.rest()
        mark = self.mark
        await self.remove_device()
        assert self.terms(mark) == []
        await qps[0].flush()
        await self.demand_state(qps[0], QpState.ERROR)
        await self.demand_state(qps[1], QpState.IDLE)
        assert await self.result(Cmd.CREATE_MW, 0) == Result.DEVICE_REMOVED
        for qp in qps:
            await qp.destroy()
