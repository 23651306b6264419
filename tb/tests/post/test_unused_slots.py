# SPDX-License-Identifier: Apache-2.0
"""Posts whose unused slots hold live keys: what is not a segment of a request is nobody's key."""

from __future__ import annotations

import random
from dataclasses import replace

import pyuvm

from models.post.post import Post, Segment
from models.verbs import VERBS
from tb.env.defs import CheckKind, Opcode, PostFlag, QpState, RecvFlag
from tb.env.host.qp import Qp
from tb.env.host.srq import Srq
from tb.tests.common.windowing import ZONE, WindowTest

BUILD = ["engine", "engine_small"]
SEEDS = [1, 2]


@pyuvm.test()
class NoSegmentReadTest(WindowTest):
    """MW-05: a Read that is to invalidate its sink, without a segment: what lies in slot 0 is not
    its key, and stays valid.
    """

    async def scenario(self) -> None:
        qp = await self.guarded()
        region = await self.allocated(256)
        key = await self.fast_register(region, qp)
        post = qp.make(
            Opcode.READ,
            segments=[Segment(region.base, 16, key)],
            target=Segment(0x1000, 0, 5),
            flags=int(PostFlag.RDMA_READ_LOCAL_INVALIDATE),
        )
        await self.accept(qp, [replace(post, num_segments=0)])
        await self.rest()
        self.report(qp)
        await self.rest()
        assert (await region.query()).valid, "a key in an unused slot was invalidated"
        qp.cq.get_cq_results_ex()
        await qp.cq.update_consumer_index()


#: A verb of one length has no room for random ones.
_FORMS = tuple(verb for verb in VERBS.values() if verb.exact_length is None)


@pyuvm.test()
class SlotsTest(WindowTest):
    """MW-04, MW-05: random posts, receive posts, messages and accesses whose slots all hold live
    keys, used or not, on QPs of every kind. The scoreboard judges.
    """

    manual = False
    reporting = True
    allow = ("no_completions",)
    rounds = 40

    async def scenario(self) -> None:
        rng = self.rng("slots")
        self.cq = await self.queue(reservation=True, log2=min(4, self.config.max_log2))
        host, small = self.env.host, min(4, self.depth)
        srq = await host.create_srq(size=min(4, 1 << self.config.srq_log2), zone=ZONE)
        qps = [
            await host.create_qp(cq=self.cq, zone=ZONE, guarded=True, recv_depth=small, nd1=True),
            await host.create_qp(
                cq=self.cq,
                zone=ZONE,
                guarded=True,
                srq=srq,
                age=3,
                recv_flag=RecvFlag.SOLICITED_WAIT,
            ),
            await host.create_qp(cq=self.cq, zone=ZONE, recv_depth=small, watermark=2),
        ]
        for qp in qps:
            await qp.connect(qp.number ^ 1)
        region = await self.memory(4096)
        allocated = [await self.allocated(512) for _ in range(min(2, self.config.num_mr - 1))]
        windows = [await self.window() for _ in range(min(3, self.config.num_mw))]
        self.env.transport.latency = (1, 60)
        for number in range(self.rounds):
            keys = [region.key]
            keys += [(await owner.query()).key for owner in allocated]
            keys += [(await owner.query()).key for owner in windows]
            answers = []
            for _ in range(rng.randrange(1, 12)):
                qp = rng.choice(qps)
                what = rng.random()
                if what < 0.6:
                    answers.append(qp.queue(self.any_post(rng, qp, keys, region.base)))
                elif what < 0.75:
                    queue = srq if qp is qps[1] else qp
                    answers.append(queue.queue_recv(self.any_recv(rng, queue, keys, region.base)))
                elif what < 0.9:
                    invalidate = rng.random() < 0.5
                    self.receiver.post_request(
                        qp.number,
                        rng.choice((0, 1, 16, 64, 100)),
                        invalidate=invalidate,
                        token=rng.choice(keys) if invalidate else 0,
                        solicited=rng.random() < 0.5,
                    )
                else:
                    kind = rng.choice((CheckKind.READ, CheckKind.WRITE))
                    address = region.base + rng.randrange(600)
                    self.post_check(qp, kind, rng.choice(keys), address, rng.choice((0, 1, 64)))
            for answer in answers:
                await answer
            await self.harness.cycles(rng.choice((1, 10, 100, 300)))
            await self.take_results()
            if number % 4 == 3:
                await self.rest()
                for qp in qps:
                    await self.revive(qp)
        await self.rest()
        for qp in qps:  # DF-05: what is held goes
            await qp.flush()
        await self.rest()

    async def take_results(self) -> None:
        """Everything that is there is polled."""
        await self.env.sync()
        self.cq.get_cq_results_ex()
        await self.cq.update_consumer_index()

    async def revive(self, qp: Qp) -> None:
        """A connection that has failed begins anew."""
        await self.take_results()
        if (await qp.query()).state != QpState.ERROR:
            return
        while await qp.set_state(QpState.IDLE):
            await self.rest()
            await self.take_results()
        await qp.connect(qp.number ^ 1)

    def segment(self, rng: random.Random, keys: list[int], base: int) -> Segment:
        """A range in or behind the region, with any key."""
        return Segment(base + rng.randrange(300), rng.choice((0, 1, 16, 64, 256)), rng.choice(keys))

    def any_post(self, rng: random.Random, qp: Qp, keys: list[int], base: int) -> Post:
        """A post of a legal form, with a key in every slot."""
        verb = rng.choice(_FORMS)
        flags = rng.getrandbits(10) & verb.legal_flags
        if flags & PostFlag.ALLOW_REMOTE_WRITE:
            flags |= PostFlag.ALLOW_LOCAL_WRITE
        inline = bool(flags & PostFlag.INLINE)

        def slot() -> int:
            return self.segment(rng, keys, base).encode()

        return replace(
            qp.make(verb.opcode),
            flags=int(flags),
            num_segments=0 if inline else rng.randint(verb.min_segments, verb.max_segments),
            inline_bytes=rng.randrange(min(verb.max_inline, 32) + 1) if inline else 0,
            slots=(slot(), slot(), slot()),
        )

    def any_recv(self, rng: random.Random, queue: Qp | Srq, keys: list[int], base: int) -> int:
        """A receive post with a key in every slot, at times with too many segments."""
        word = queue.make_recv([]).encode() | rng.choice((0, 1, 2, 3, 3, 4)) << 8
        for slot in range(3):
            word |= self.segment(rng, keys, base).encode() << 128 + 128 * slot
        return word
