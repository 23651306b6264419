# SPDX-License-Identifier: Apache-2.0
"""Keys whose numbers differ in one bit, in cycles next to each other; a Read that invalidates and
fails in any way; receive queues at rest at any index.
"""

from __future__ import annotations

from itertools import product

import pyuvm

from models.post.post import Segment
from tb.env.defs import Cause, Opcode, PostFlag, QpState, Result
from tb.env.host.qp import Qp
from tb.env.host.regions import Region
from tb.env.host.windows import MemoryWindow
from tb.tests.common.posting import OK
from tb.tests.common.taking import TAKEN, TakingTest
from tb.tests.common.windowing import WindowTest, bad_token, received, segment

BUILD = ["engine", "engine_small"]

#: Messages of one QP, at most: as many index bits take part.
MESSAGES = 1 << 9


@pyuvm.test()
class NextKeyTest(WindowTest):
    """MW-10: two messages in consecutive cycles invalidate two keys: both do, whatever their
    numbers, a region's or a window's; of two that invalidate the same key the second one fails.
    """

    async def scenario(self) -> None:
        qp = await self.guarded()
        memory = await self.memory(256)
        windows = [await self.window() for _ in range(min(4, self.config.num_mw))]
        regions = [await self.allocated(256) for _ in range(min(3, self.config.num_mr - 1))]
        keyed: list[Region | MemoryWindow] = [*windows, *regions]
        for first, second in product(keyed, keyed):
            for one in {first, second}:
                if isinstance(one, MemoryWindow):
                    await self.bind(one, qp, memory)
                else:
                    await self.fast_register(one, qp)
            posts = [qp.make_recv([segment(memory)]) for _ in range(2)]
            for answer in qp.queue_recv_many(posts):
                assert await answer == (0, Cause.NONE)
            cookies = [post.context for post in posts]
            at = self.harness.cycle + 64
            keys = first.key, second.key
            pending = [self.send_invalidate(qp, key, at=at) for key in keys]
            if first is second:
                codes = [(await answer).code for answer in pending]
                assert codes[0] == TAKEN and codes[1] != TAKEN, codes
                wanted = [received(cookies[0], keys[0]), bad_token(cookies[1], keys[1])]
            else:
                await self.answers(pending, TAKEN)
                wanted = [received(*one) for one in zip(cookies, keys, strict=True)]
            self.settle(qp, OK, OK)
            await self.demand_entries(qp, wanted)
            for one in (first, second):
                assert not (await one.refresh()).valid, f"{one.key:#x}"
            await self.revive(qp)


@pyuvm.test()
class FailedReadTest(WindowTest):
    """MW-06: a Read that would invalidate its key fails with a status of any one bit, or of all: it
    completes so, the key stays valid, and the next Read invalidates it.
    """

    async def scenario(self) -> None:
        qp, memory, window = await self.guarded(), await self.memory(256), await self.window()
        key = await self.bind(window, qp, memory)
        for status in [1 << bit for bit in range(8)] + [0xFF]:
            await self.read(qp, key, status)
            assert (await window.query()).valid, f"status {status:#x}"
            await self.revive(qp)
        await self.read(qp, key, OK)
        assert not (await window.refresh()).valid

    async def read(self, qp: Qp, key: int, status: int) -> None:
        """One Read."""
        post = qp.make(
            Opcode.READ,
            target=Segment(0, 0, 1),
            segments=[Segment(0, 8, key)],
            flags=PostFlag.RDMA_READ_LOCAL_INVALIDATE,
        )
        await self.accept(qp, [post])
        await self.rest(16)
        self.report(qp, status)
        await self.demand_results(qp, [post], status)


@pyuvm.test()
class RestingIndexTest(TakingTest):
    """SRQ-14, SRQ-19: a QP with a receive queue of its own ends where its index has any one bit
    set, with nothing posted, and with a buffer posted that is flushed: it goes to IDLE.
    """

    async def scenario(self) -> None:
        qp, count = await self.own(), 0
        step = min(self.most, self.depth)
        turns = [1 << bit for bit in range(MESSAGES.bit_length())]
        for turn in turns:
            while count < turn:
                some = min(step, turn - count)
                await self.supply(qp, some)
                await self.take(qp, *range(some))
                self.settle(qp, *[OK] * some)
                found = await qp.recv_cq.wait_results(some)
                assert [r.nbytes for r in found] == list(range(some))
                assert await qp.recv_cq.update_consumer_index() == (0, 0)
                count += some
            await qp.disconnect()
            assert await qp.set_state(QpState.IDLE) == Result.OK, f"at {count}"
            await qp.connect(1)
            await self.supply(qp, 1)
            await qp.flush()
            await self.rest(32)
            assert len(qp.recv_cq.get_cq_results_ex()) == 1
            assert await qp.recv_cq.update_consumer_index() == (0, 0)
            count += 1
            assert await qp.set_state(QpState.IDLE) == Result.OK, f"at {count}"
            await qp.connect(1)
