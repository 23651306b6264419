# SPDX-License-Identifier: Apache-2.0
"""Corners of keys: numbers that alias others, ranges that wrap, segments that are not there,
regions by REGISTER_MR on QP 0, contexts of regions and of QPs that are not guarded, and a Bind in the
cycles in which a peer invalidates its region.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pyuvm

from models.post import Segment
from tb.env.defs import Cmd, Opcode, PostFlag, QpState, Result
from tb.tests.taking import TAKEN
from tb.tests.windowing import (
    BAD_MEMORY,
    BAD_TOKEN,
    GENERATION,
    INVALID_TOKEN,
    WINDOW,
    ZONE,
    WindowTest,
    plain,
    result_of,
)

BUILD = ["engine", "engine_small"]
LEAD = 200


@pyuvm.test()
class AliasTest(WindowTest):
    """A key whose number, cut to the bits of the table, is that of a valid object opens
    nothing; nor does the key of a window where a region's is asked for, and the other way round.
    """

    async def scenario(self) -> None:
        qp = await self.guarded()
        region, window = await self.memory(64), await self.window()
        spare = await self.window()
        # Both kinds have the same generation.
        await self.bind(window, qp, region)
        again = await self.allocated(64)
        await self.fast_register(again, qp)
        for key, most in ((window.key, self.config.num_mw), (again.key, self.config.num_mr)):
            for number in (most, 2 * most, 4 * most):
                if number < WINDOW:
                    await self.invalidate(qp, key + number, INVALID_TOKEN)
                    await self.revive(qp)
            await self.invalidate(qp, key ^ WINDOW, INVALID_TOKEN) if key ^ WINDOW not in (
                window.key,
                again.key,
            ) else None
            await self.revive(qp)
        for key in (
            region.key | WINDOW,
            region.key + self.config.num_mr,
            again.key | WINDOW,
            again.key + self.config.num_mr,
        ):
            base = (region if key & 0x3F == region.number else again).base
            post = spare.make_bind(qp, region, segments=[Segment(base, 8, key)])
            await self.execute(qp, post, BAD_MEMORY)
            await self.revive(qp)
        assert (await window.query()).valid and (await again.query()).valid


@pyuvm.test()
class WrappedBindTest(WindowTest):
    """A Bind of bytes that wrap the 64-bit address into the region."""

    async def scenario(self) -> None:
        qp = await self.guarded()
        region, window = await self.memory(4096, base=0), await self.window()
        for address, length in (((1 << 64) - 16, 32), ((1 << 64) - 1, 1), ((1 << 64) - 1, 4096)):
            post = window.make_bind(qp, region, segments=[Segment(address, length, region.key)])
            await self.execute(qp, post, BAD_MEMORY)
            await self.revive(qp)


@pyuvm.test()
class NoSegmentTest(WindowTest):
    """Slots that a request does not use are ignored: without a segment the length is 0."""

    async def scenario(self) -> None:
        qp = await self.guarded()
        region, window = await self.memory(64), await self.window()
        fast = await self.allocated(64)
        for post in (window.make_bind(qp, region), fast.make_fast_register(qp)):
            await self.execute(qp, replace(post, num_segments=0), BAD_MEMORY)
            await self.revive(qp)


@pyuvm.test()
class RegisteredOnZeroTest(WindowTest):
    """A region by REGISTER_MR is nobody's to invalidate, not QP 0's either."""

    async def scenario(self) -> None:
        qp = await self.guarded()
        assert qp.number == 0
        region, buffer = await self.memory(64), await self.memory(64)
        await self.invalidate(qp, region.key, INVALID_TOKEN)
        await self.revive(qp)
        recv = qp.make_recv([buffer.segment(0, 8)])
        assert await qp.queue_recv(recv) == (0, 0)
        await self.answers([self.send_invalidate(qp, region.key)], BAD_TOKEN)
        self.settle(qp)
        await self.rest()
        qp.recv_cq.get_cq_results_ex()
        await qp.recv_cq.update_consumer_index()
        await self.revive(qp)
        read = qp.make(
            Opcode.READ,
            target=Segment(0, 0, 1),
            segments=[Segment(region.base, 8, region.key)],
            flags=PostFlag.RDMA_READ_LOCAL_INVALIDATE,
        )
        await self.accept(qp, [read])
        await self.rest()
        self.report(qp)
        await self.demand_results(qp, [read], INVALID_TOKEN)
        assert (await region.query()).valid
        qp.recv_cq.get_cq_results_ex()


@pyuvm.test()
class ContextsTest(WindowTest):
    """NetworkDirect 1: the invalidate result of a region has context 0, whatever stood in unused
    arguments of its allocation; that of a QP that is not guarded knows no window.
    """

    async def scenario(self) -> None:
        qp = await self.guarded(nd1=True)
        buffer, region = await self.memory(64), await self.memory(64)
        window = await self.window(context=0x1234_5678_9ABC)
        plain_qp = await self.qp(zone=ZONE, recv_depth=4, nd1=True)
        await self.bind(window, qp, region)
        fast = await self.allocated(64)
        await fast.deregister()
        answer = await self.env.host.command(
            Cmd.ALLOC_MR, fast.number, 0x5555_5555, 0x6666_6666, 0, 0, ZONE
        )
        assert answer.result == Result.OK
        fast.key = answer.outs[0]
        self.env.host.regions[fast.number] = fast
        await self.fast_register(fast, qp)
        for user, key in ((qp, fast.key), (plain_qp, window.key)):
            recv = user.make_recv([buffer.segment(0, 8)])
            assert await user.queue_recv(recv) == (0, 0)
            # The table has been asked for a window last.
            assert (await window.query()).valid
            await self.answers([self.send_invalidate(user, key)], TAKEN)
            self.settle(user)
            await self.demand_entries(user, [result_of(0, key), plain(recv.context)])
        assert (await window.query()).valid


@pyuvm.test()
class BindMeetsPeerTest(WindowTest):
    """A Bind to a region in the cycles in which a peer invalidates it: either the Bind comes first,
    and the region stays (BAD_TOKEN), or it fails; never a window on a region that is not valid.
    """

    async def scenario(self) -> None:
        first, second = await self.guarded(), await self.guarded()
        fast, window = await self.allocated(256), await self.window()
        buffer = await self.memory(64)
        seen = []
        for offset in range(-4, 28):
            for qp in (first, second):
                await self.revive(qp)
            await fast.refresh()
            if not fast.valid:
                await self.fast_register(fast, first)
            await window.refresh()
            recv = first.make_recv([buffer.segment(0, 8)])
            assert await first.queue_recv(recv) == (0, 0)
            post = window.make_bind(second, fast)
            at = self.harness.cycle + LEAD
            answer = second.queue(post, at=at)
            pending = self.send_invalidate(first, fast.key, at=at + offset)
            assert await answer == (0, 0)
            code = (await pending).code
            await self.rest()
            (found,) = second.cq.get_cq_results_ex()
            await second.cq.update_consumer_index()
            region, bound = await fast.query(), await window.query()
            assert bound.valid == region.valid == (found.status == 0), (offset, region, bound)
            assert code == (BAD_TOKEN if bound.valid else TAKEN), (offset, code)
            assert found.status in (0, BAD_MEMORY), (offset, found)
            seen.append(bound.valid)
            self.settle(first)
            await self.rest()
            first.recv_cq.get_cq_results_ex()
            await first.recv_cq.update_consumer_index()
            if bound.valid:
                assert (await first.query()).state == QpState.ERROR
                await self.invalidate(second, window.key + GENERATION)
        assert seen[0] != seen[-1] and sum(a != b for a, b in pairwise(seen)) == 1, seen
