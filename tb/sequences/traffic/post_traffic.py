# SPDX-License-Identifier: Apache-2.0
"""Random posts on many connected queue pairs: every verb, deferral, fences, illegal ones, failing
requests, connections that end and are made again.

Python wakes once per ``chunk`` of cycles and places the posts at exact cycles of the next chunk.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from models.post.post import Post
from models.verb import Limits
from models.verbs import VERBS
from tb.env.defs import Cmd, CqeStatus, QpState
from tb.env.host.cq import Cq
from tb.env.host.qp import Qp, connect_pair
from tb.sequences import CarillonSequence
from tb.sequences.bad_posts import OWN_CAUSES, bad_bits


class PostTraffic(CarillonSequence):
    """Ends with everything retired, consumed and destroyed. What is right, the scoreboard says."""

    name: ClassVar[str] = "post_traffic"
    #: QPs (an even number; default: all, at most 16), and how many share a CQ.
    qps = 0
    shared = 2
    #: Posts in all, and posts per cycle.
    posts = 2000
    rate = 0.3
    chunk = 32
    #: Shares: illegal posts; requests that fail; chunks in which a connection ends from outside, in
    #: which a QP is flushed, modified.
    illegal = 0.02
    errors = 0.01
    disconnects = 0.02
    flushes = 0.02
    changes = 0.05

    async def body(self) -> None:
        env, rng = self.env, self.rng
        env.transport.error_rate = self.errors
        await self._create()
        made = 0
        while made < self.posts:
            now = env.harness.cycle
            for at in range(now + 4, now + 4 + self.chunk):
                if rng.random() < self.rate:
                    qp = rng.choice(self._qps)
                    qp.queue(self._post(qp, made), at=at)
                    made += 1
            await env.harness.until(now + self.chunk)
            self._consume()
            await self._disturb()
        await self._finish()

    async def _create(self) -> None:
        host, config = self.env.host, self.env.config
        assert config is not None
        count = self.qps or min(16, config.num_qp)
        pages = min(2, config.num_pages)
        log2 = min(5, config.max_log2)
        eqs = [await host.create_eq(page=page, log2=log2) for page in range(pages)]
        self._cqs: list[Cq] = []
        self._qps: list[Qp] = []
        for number in range(count):
            if number % self.shared == 0:
                eq = eqs[len(self._cqs) % pages]
                self._cqs.append(await host.create_cq(eq=eq, log2=log2))
            self._qps.append(
                await host.create_qp(
                    cq=self._cqs[-1],
                    depth=self.rng.randint(1, 1 << config.sq_log2),
                    watermark=self._watermark(),
                    age=self._age(),
                )
            )
        for first, second in zip(self._qps[::2], self._qps[1::2], strict=True):
            await connect_pair(first, second)
        #: Contexts of the latest completions: those of one QP come in post order.
        self._latest = dict.fromkeys((qp.context for qp in self._qps), -1)

    def _watermark(self) -> int:
        return self.rng.choice((0, 2, 3))

    def _age(self) -> int:
        return self.rng.choice((0, 1, 8))

    def _post(self, qp: Qp, number: int) -> Post:
        rng = self.rng
        verb = VERBS[rng.choice(list(VERBS))]
        post = replace(verb.fields(rng, Limits(qp=qp.number)), context=number)
        if rng.random() < self.illegal:
            post = bad_bits(rng, rng.choice(OWN_CAUSES), post)
        return post

    def _consume(self) -> None:
        for cq in self._cqs:
            found = cq.get_cq_results()
            for result in found:
                assert result.request_context > self._latest[result.qp_context], result
                self._latest[result.qp_context] = result.request_context
            if found:
                cq.post_consumer_index()

    async def _disturb(self) -> None:
        rng = self.rng
        qp = rng.choice(self._qps)
        if rng.random() < self.disconnects:
            self.env.transport.disconnect(qp.number)
        if rng.random() < self.flushes and (await qp.query()).state == QpState.CONNECTED:
            await self.env.host.command(Cmd.FLUSH_QP, qp.number)
        if rng.random() < self.changes:
            await qp.modify(watermark=self._watermark(), age=self._age())
        if (await qp.query()).state in (QpState.ERROR, QpState.DISCONNECTED):
            await self._rest(qp)
            assert qp.peer is not None
            await qp.reset()
            await qp.connect(qp.peer)

    async def _rest(self, qp: Qp, attempts: int = 2000) -> None:
        """Waits until all of a QP that takes no posts has retired; results are consumed."""
        for _ in range(attempts):
            status = await qp.query()
            if status.retired == status.tail:
                return
            self._consume()
        raise AssertionError(f"QP {qp.number} does not come to rest: {status}")

    async def _finish(self) -> None:
        self.env.transport.after_error = (CqeStatus.CANCELED,)
        for qp in self._qps:
            await self.env.host.command(Cmd.FLUSH_QP, qp.number)
        await self.env.drain()
        self._consume()
        for qp in self._qps:
            await self._rest(qp)
            await qp.destroy()
        for cq in self._cqs:
            await cq.destroy()
