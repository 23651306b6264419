# SPDX-License-Identifier: Apache-2.0
"""Numbers beyond those that exist: a command names something that is there, with one more bit, and
is refused (ISO-02). Engines that look at the bits they store alone would take it.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyuvm

from tb.env.defs import Cmd, Result
from tb.tests.common.posting import PostingTest

BUILD = ["engine", "engine_small"]

#: Cache lines that nobody uses otherwise.
RING = 0x40_0000


class FarTest(PostingTest):
    """Base: commands of which one argument gets one more bit."""

    allow = ("no_posts", "no_receives", "no_doorbells")

    def beyond(self, number: int, count: int, width: int = 16) -> list[int]:
        """``number`` with one more bit, as far as that is ``count`` or more."""
        assert number < count
        return [n for n in (number | 1 << bit for bit in range(width)) if n >= count]

    async def refuse(
        self, result: Result, code: Cmd, good: Sequence[int], arg: int, values: Sequence[int]
    ) -> None:
        """The command ends with this result for each of these values of one argument."""
        assert values
        for value in values:
            args = [value if n == arg else other for n, other in enumerate(good)]
            found = await self.result(code, *args)
            assert found == result, f"{code.name} {[hex(a) for a in args]}: {found.name}"


@pyuvm.test()
class PairNumbersTest(FarTest):
    """Numbers in commands of QPs: QP, CQs, SRQ, page, depths."""

    async def scenario(self) -> None:
        config = self.config
        cq = await self.queue(reservation=True)
        srq = await self.env.host.create_srq(size=2)
        good = [0, 0, 0, cq.number * 0x10001, 1 << 16, 0, 0, 0]
        create = Cmd.CREATE_QP
        far = self.beyond(0, config.num_qp, 32)
        await self.refuse(Result.BAD_OBJECT, create, good, 0, far)
        for shift in (0, 16):
            far_cqs = self.beyond(cq.number, config.num_cq)
            cqs = [n << shift | cq.number << 16 - shift for n in far_cqs]
            await self.refuse(Result.NO_CQ, create, good, 3, cqs)
        shared = [1 << 16 | n for n in self.beyond(srq.number, config.num_srq)]
        await self.refuse(Result.NO_SRQ, create, good, 7, shared)
        pages = [1 << 16 | n for n in self.beyond(0, config.num_pages)]
        await self.refuse(Result.BAD_PAGE, create, good, 4, pages)
        for arg, deepest in ((4, 1 << config.sq_log2), (6, 1 << config.rq_log2)):
            depths = [n << 16 for n in self.beyond(1, deepest + 1)]
            await self.refuse(Result.BAD_SIZE, create, good, arg, depths)
        assert await self.result(create, *good) == Result.OK
        for code in range(create + 1, Cmd.DESTROY_QP + 1):
            await self.refuse(Result.BAD_OBJECT, Cmd(code), [0] * 8, 0, far)
        assert await self.result(Cmd.DESTROY_QP, 0) == Result.OK


@pyuvm.test()
class QueueNumbersTest(FarTest):
    """Numbers in commands of EQs, CQs and SRQs: their own, the EQ, pages, sizes."""

    async def scenario(self) -> None:
        config = self.config
        cq = await self.queue(reservation=True)
        eq = cq.eq
        srq = await self.env.host.create_srq(size=2)
        pages = self.beyond(0, config.num_pages)
        free = config.num_eq - 1
        ring = [RING, 0, 2]
        await self.refuse(Result.BAD_PAGE, Cmd.CREATE_EQ, [free, *ring, 0], 4, pages)
        free_cq = config.num_cq - 1
        good = [free_cq, *ring, eq.number << 16, 0]
        eqs = [n << 16 for n in self.beyond(eq.number, config.num_eq)]
        await self.refuse(Result.NO_EQ, Cmd.CREATE_CQ, good, 4, eqs)
        both = [eq.number << 16 | n for n in pages]
        await self.refuse(Result.BAD_PAGE, Cmd.CREATE_CQ, good, 4, both)
        free_srq = config.num_srq - 1
        good = [free_srq, 1, 0]
        await self.refuse(Result.BAD_PAGE, Cmd.CREATE_SRQ, good, 2, pages)
        sizes = self.beyond(1, (1 << config.srq_log2) + 1)
        await self.refuse(Result.BAD_SIZE, Cmd.CREATE_SRQ, good, 1, sizes)
        await self.refuse(Result.BAD_SIZE, Cmd.RESIZE_SRQ, [srq.number, 2], 1, sizes)
        for number, count, codes in (
            (eq.number, config.num_eq, range(Cmd.CREATE_EQ, Cmd.DESTROY_EQ + 1)),
            (cq.number, config.num_cq, range(Cmd.CREATE_CQ, Cmd.DESTROY_CQ + 1)),
            (srq.number, config.num_srq, range(Cmd.CREATE_SRQ, Cmd.DESTROY_SRQ + 1)),
        ):
            far = self.beyond(number, count, 32)
            for code in codes:
                await self.refuse(Result.BAD_OBJECT, Cmd(code), [0] * 6, 0, far)
