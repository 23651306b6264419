# SPDX-License-Identifier: Apache-2.0
"""Beats of entries to a ring: two neighbours go in one (CQ-15)."""

from __future__ import annotations

import pyuvm

from tb.env.agents import Cpl
from tb.env.harness.harness import Channel
from tb.env.harness.records import MemWrite
from tb.env.host.cq import Cq
from tb.tests.common.directed import DirectedTest

BUILD = ["default", "small"]
ENTRY = 32


@pyuvm.test()
class PairTest(DirectedTest):
    """Two neighbours in one line: one beat; an odd start: never; lanes of different queues: each
    its own beat; beats and entries add up with stalls as well.
    """

    async def scenario(self) -> None:
        env, host = self.env, self.env.host
        cq = await self.queue(1, log2=3)
        other = await self.queue(1, log2=3)
        for odd in (0, 1):
            beats = self.mark()
            self.send_pairs(cq, [1, 2])
            await self.expect(cq, beats, 2 if odd else 1)
            beats = self.mark()
            self.send_pairs(cq, [3, 4, 5, 6])  # back to back: neighbours may meet
            await env.drain()
            writes = self.writes(cq, beats)
            assert sum(self.halves(w) for w in writes) == 4
            assert len(writes) <= 4 if odd else len(writes) == 2
            await self.consume(cq)
            self.send(cq, [9])
            await self.consume(cq)
            if not odd:  # from 7 entries to an odd start
                assert cq.reader.index % 2 == 1
        # Different queues in the lanes; the order within each is that of the lanes.
        beats = self.mark()
        env.completions.send_pair(Cpl(cq.number, context=1), Cpl(other.number, context=1))
        env.completions.send_pair(Cpl(other.number, context=2), Cpl(cq.number, context=2))
        await env.drain()
        assert len(self.writes(cq, beats)) == len(self.writes(other, beats)) == 2
        assert self.polled(cq) == self.polled(other) == [1, 2]
        for queue in (cq, other):
            await queue.update_consumer_index()
        await self.stalled(cq, other)
        counters = await host.counters()
        writes = [w for w in self.of(MemWrite) if w.axi_id < self.config.num_cq]
        assert counters["CQE_WRITES"] == len(writes)
        assert counters["CPL_PLACED"] == sum(self.halves(w) for w in writes)

    async def stalled(self, cq: Cq, other: Cq) -> None:
        """With the way to memory blocked now and then."""
        rng = self.rng("pairs")
        for channel in (Channel.MEM_AW, Channel.MEM_W):
            self.harness.stall(channel, 0.5, seed=channel)
        sent = {cq: 0, other: 0}
        for _ in range(60):
            for _ in range(rng.randint(1, 3)):
                lanes = []
                for queue in rng.choice(((cq, cq), (other, other), (cq, other), (other, cq))):
                    if sent[queue] - queue.reader.index < 6:
                        lanes.append(Cpl(queue.number, context=sent[queue]))
                        sent[queue] += 1
                if lanes:
                    self.env.completions.send_beat(lanes)
            await self.env.drain(16)
            for queue in sent:
                results = queue.get_cq_results()
                first = sent[queue] - len(results)
                assert [r.request_context for r in results] == list(range(first, sent[queue]))
                assert await queue.update_consumer_index() == (0, 0)

    def mark(self) -> int:
        """Now, in records."""
        return len(self.seen)

    def writes(self, cq: Cq, since: int) -> list[MemWrite]:
        """Beats of a queue."""
        return [w for w in self.of(MemWrite, since) if w.axi_id == cq.number]

    @staticmethod
    def halves(write: MemWrite) -> int:
        """Entries in a beat."""
        assert write.strb in (0xFFFF_FFFF, 0xFFFF_FFFF << 32, (1 << 64) - 1)
        return write.strb.bit_count() // ENTRY

    async def expect(self, cq: Cq, since: int, beats: int) -> None:
        """So many beats, and all consumed."""
        await self.env.drain()
        assert len(self.writes(cq, since)) == beats
        await self.consume(cq)

    async def consume(self, cq: Cq) -> None:
        """Everything read and told."""
        await self.env.drain()
        cq.get_cq_results()
        assert await cq.update_consumer_index() == (0, 0)
