# SPDX-License-Identifier: Apache-2.0
"""Corners of what guards memory: every window on one region, a Bind that meets the invalidation of
its region, keys of the other kind, a Bind that wraps, two entries of a queue pair that is not
guarded, removal with every queue pair connected, slots of an SRQ after it.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pyuvm

from models.post.post import Segment
from tb.env.defs import Cause, Cmd, QpState, Result
from tb.env.host.qp import Qp
from tb.env.host.regions import Region
from tb.env.host.windows import MemoryWindow
from tb.tests.common.key_races import LEAD, LOCAL, PEER, RaceTest
from tb.tests.common.taking import REFUSED, TAKEN, TOO_LONG
from tb.tests.common.windowing import (
    BAD_MEMORY,
    BAD_TOKEN,
    GRANTED,
    INVALID_TOKEN,
    READ,
    WINDOW,
    ZONE,
    WindowTest,
    bad_token,
    plain,
    received,
    result_of,
    segment,
)

BUILD = ["engine_small", "engine"]


@pyuvm.test()
class AllWindowsTest(WindowTest):
    """Every window that there is, bound to one region: it is busy until the last one is invalid."""

    async def scenario(self) -> None:
        qp = await self.guarded()
        region = await self.memory(64)
        windows = [await self.window() for _ in range(self.config.num_mw)]
        for n, window in enumerate(windows):
            await self.bind(window, qp, region)
            assert (await region.query()).windows == n + 1
        assert await self.result(Cmd.DEREGISTER_MR, region.number) == Result.BUSY
        for n, window in enumerate(windows):
            await self.invalidate(qp, window.key)
            assert (await region.query()).windows == len(windows) - n - 1
            if n + 1 < len(windows):
                assert await self.result(Cmd.DEREGISTER_MR, region.number) == Result.BUSY
        # An invalid window is bound to nothing: closing it frees no region.
        await self.bind(windows[0], qp, region)
        for window in windows[1:]:
            await window.close()
        assert (await region.query()).windows == 1
        await windows[0].close()
        await region.deregister()
        await self.remove(qp)


@pyuvm.test()
class BindMeetsPeerTest(RaceTest):
    """A Bind and a message that invalidates its region, at every offset: the Bind fails, or the
    region is busy and the message has a bad token.
    """

    async def scenario(self) -> None:
        await self.set_up()
        window, region = await self.window(), await self.allocated(64)
        binder = await self.guarded(recv_depth=0)
        lead = await self.lag(LOCAL, window) - await self.lag(PEER, window)
        winners = [await self.meet(binder, window, region, lead + n) for n in range(-6, 7)]
        assert winners[0] and not winners[-1], winners
        assert sum(a != b for a, b in pairwise(winners)) == 1, winners

    async def meet(self, binder: Qp, window: MemoryWindow, region: Region, offset: int) -> bool:
        """True: the message was first."""
        qp = self.qp_
        await self.revive(qp)
        await self.revive(binder)
        key = await self.fast_register(region, qp)
        (cookie,) = await self.buffers(1)
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
        await self.demand_entries(qp, [bad_token(cookie, key) if bound else received(cookie, key)])
        if bound:
            await self.revive(qp)
            await self.invalidate(binder, window.key)
            await self.invalidate(qp, key)
        return not bound


@pyuvm.test()
class OtherKindTest(WindowTest):
    """A region's key with the bit of windows, its generation right: no memory, neither of a Bind
    nor of a receive.
    """

    async def scenario(self) -> None:
        qp = await self.guarded()
        region, window = await self.memory(64), await self.window()
        key = region.key | WINDOW
        result = await qp.post_recv([segment(region, 0, 8, key)])
        assert result.cause == Cause.BAD_REGION, result
        post = window.make_bind(qp, region, segments=[segment(region, 0, 8, key)])
        await self.execute(qp, post, BAD_MEMORY)
        assert not (await window.query()).valid


@pyuvm.test()
class RegisteredStaysTest(WindowTest):
    """A region by REGISTER_MR without windows: neither QP 0 nor its peer can invalidate it."""

    async def scenario(self) -> None:
        qp = await self.guarded(number=0)
        region = await self.memory(64)
        await self.invalidate(qp, region.key, INVALID_TOKEN)
        await self.revive(qp)
        post = qp.make_recv([region.segment(0, 8)])
        assert (await qp.queue_recv(post)).cause == Cause.NONE
        await self.answers([self.send_invalidate(qp, region.key)], BAD_TOKEN)
        self.settle(qp)
        await self.demand_entries(qp, [bad_token(post.context, region.key)])
        await self.revive(qp)
        await self.demand_verdict(qp, GRANTED, READ, region.key, region.base, 8)


@pyuvm.test()
class NotInUseTest(WindowTest):
    """What does not, or no longer, hold a QP: a region by REGISTER_MR, a window that is closed
    after a request of another QP, a window that is closed when it is invalid.
    """

    async def scenario(self) -> None:
        first, second = [await self.guarded(number=n) for n in range(2)]
        region, lone = await self.memory(64), await self.memory(64)
        window, other = await self.window(), await self.window()
        await lone.deregister()
        await self.bind(window, first, region)
        await self.bind(other, second, region)
        await window.close()
        await self.invalidate(second, other.key)
        await other.close()
        await region.deregister()
        for qp in (first, second):
            await self.remove(qp)


@pyuvm.test()
class UnusedSlotTest(WindowTest):
    """Bind and FastRegister without a segment: what stands in the unused slot is ignored."""

    async def scenario(self) -> None:
        qp = await self.guarded()
        region, fast = await self.memory(64), await self.allocated(64)
        window = await self.window()
        for post in (window.make_bind(qp, region), fast.make_fast_register(qp)):
            await self.execute(qp, replace(post, num_segments=0), BAD_MEMORY)
            await self.revive(qp)
        assert not (await window.query()).valid and not (await fast.query()).valid


@pyuvm.test()
class BindWrapTest(WindowTest):
    """A Bind whose bytes end behind 2^64, of a region that begins at address 0: what wraps is not
    inside it.
    """

    async def scenario(self) -> None:
        qp = await self.guarded()
        region, window = await self.memory(64, base=0), await self.window()
        for length in (9, 16, 72):
            part = Segment((1 << 64) - 8, length, region.key)
            post = window.make_bind(qp, region, segments=[part])
            await self.execute(qp, post, BAD_MEMORY)
            assert not (await window.query()).valid
            await self.revive(qp)


@pyuvm.test()
class UnguardedPairTest(WindowTest):
    """Two entries of a QP that is not guarded: the token is nobody's, the context 0."""

    async def scenario(self) -> None:
        owner = await self.guarded()
        target, window = await self.memory(64), await self.window(context=0x1234_5678_9ABC_DEF0)
        key = await self.bind(window, owner, target)
        recv_cq = await self.queue(reservation=True)
        qp = await self.qp(zone=ZONE, recv_depth=2, recv_cq=recv_cq, nd1=True)
        post = qp.make_recv([target.segment(0, 8)])
        assert (await qp.queue_recv(post)).cause == Cause.NONE
        await self.answers([self.send_invalidate(qp, key)], TAKEN)
        self.settle(qp)
        await self.demand_entries(qp, [result_of(0, key), plain(post.context)])
        assert (await window.query()).valid


@pyuvm.test()
class RemovedAllTest(WindowTest):
    """Every QP that there is, connected: each connection ends, with one terminate request."""

    allow = ("no_doorbells", "no_posts", "no_receives")

    async def scenario(self) -> None:
        first = await self.guarded(recv_depth=0)
        others = range(self.config.num_qp - 1)
        qps = [first, *[await self.guarded(share=first, recv_depth=0) for _ in others]]
        mark = self.mark
        await self.env.host.remove_device()
        await self.rest()
        wanted = [(qp.number, int(QpState.ERROR)) for qp in qps]
        ended = sorted(self.terms(mark))
        assert ended == sorted(wanted), f"connections that ended: {ended}"
        for qp in qps:
            await self.demand_state(qp, QpState.ERROR)


@pyuvm.test()
class RemovedReapTest(WindowTest):
    """Slots of an SRQ are given back on a removed device as before."""

    async def scenario(self) -> None:
        srq = await self.env.host.create_srq(size=4, zone=ZONE)
        srq.auto_reap = False
        qp = await self.guarded(srq=srq)
        region = await self.memory(64)
        post = srq.make_recv([region.segment(0, 8)])
        for answer in srq.queue_recv_many([post]):
            assert (await answer).cause == Cause.NONE
        await self.take(qp, 1)
        self.settle(qp)
        await qp.recv_cq.wait_results(1)
        await self.env.host.remove_device()
        await self.rest()
        status = await srq.status()
        assert await srq.reap(status.completed) == (0, 0)
        assert (await srq.status()).reaped == status.completed


@pyuvm.test()
class RefusedStaysTest(WindowTest):
    """REFUSED with buffers at hand invalidates nothing; a bad token of a message that is too long
    is not logged; a failure of another QP is nothing to one that is not guarded.
    """

    async def scenario(self) -> None:
        srq = await self.env.host.create_srq(size=4, zone=ZONE)
        qp = await self.guarded(srq=srq)
        region, window = await self.memory(64), await self.window()
        key = await self.bind(window, qp, region)
        posts = [srq.make_recv([region.segment(0, 8)]) for _ in range(2)]
        for answer in srq.queue_recv_many(posts):
            assert (await answer).cause == Cause.NONE
        await qp.set_state(QpState.DISCONNECTED)
        await self.answers([self.send_invalidate(qp, key)], REFUSED)
        assert (await window.query()).valid
        await self.revive(qp)
        while await self.env.host.read_log():
            pass
        await self.answers([self.send_invalidate(qp, 0, 9)], TOO_LONG)
        await self.rest()
        entries = await self.env.host.read_log()
        assert not entries, f"logged: {entries}"
        self.settle(qp)
        await qp.recv_cq.wait_results(1)
        await self.revive(qp)
        await self.invalidate(qp, 0, INVALID_TOKEN)
        other = await self.qp(zone=ZONE, recv_depth=0)
        await self.execute(other, window.make_bind(other, region))
