# SPDX-License-Identifier: Apache-2.0
"""Example: three completion queues whose callbacks are moderated, while every channel stalls."""

from __future__ import annotations

from typing import ClassVar, Final

from cocotb.triggers import gather

from models.verb import Limits
from tb.env.defs import ArmType, Cause, PostFlag
from tb.env.host.qp import Qp, connect_pair
from tb.sequences import CarillonSequence
from tb.sequences.verbs import items

#: As an interval: the callback waits for the count alone.
NO_INTERVAL: Final = 0xFFFF


class ModeratedQueues(CarillonSequence):
    """Three requesters at the same time, each with a CQ that calls back once for ``count``
    completions. Requests are random ones of the types ``verbs``.
    """

    name: ClassVar[str] = "moderated_queues"
    count = 3
    rounds = 4
    stalls = 0.3
    verbs = ("Send", "Write", "Read")

    async def body(self) -> None:
        env, host = self.env, self.env.host
        eq = await host.create_eq(log2=2)
        plain = await host.create_cq(eq=eq, log2=2)
        moderated = [
            await host.create_cq(eq=eq, log2=3, moderation=(self.count, NO_INTERVAL))
            for _ in range(3)
        ]
        qps = [await host.create_qp(cq=cq) for cq in (*moderated, plain)]
        await connect_pair(qps[0], qps[1])
        await connect_pair(qps[2], qps[3])

        # Back-pressure: each valid and each ready is low in so many cycles.
        env.stall_all(self.stalls)
        await gather(*(self.requester(qp) for qp in qps[:3]))
        env.release_all()

    async def requester(self, qp: Qp) -> None:
        """Arms, posts, sleeps until the callback, polls."""
        cq = qp.cq
        for number in range(1, self.rounds + 1):
            await cq.arm(ArmType.ANY)
            posts = [items[self.rng.choice(self.verbs)](qp=qp) for _ in range(self.count)]
            for post in posts:
                silent = int(PostFlag.SILENT_SUCCESS | PostFlag.DEFER)
                post.randomize(self.rng, Limits(flags=0xFFFF & ~silent, max_length=4096))
            for post in posts[:-1]:
                await self.do(post)
                assert await post.cause() == Cause.NONE
            await self.env.harness.cycles(500)
            assert len(cq.callbacks) == number - 1, f"CQ {cq.number}: called too early"

            await self.do(posts[-1])
            callbacks = await cq.wait_callbacks(number)
            assert len(callbacks) == number
            results = cq.get_cq_results()
            assert [r.request_context for r in results] == [p.post.context for p in posts]
            await cq.update_consumer_index()
            await cq.callback_return()
