# SPDX-License-Identifier: Apache-2.0
"""Rings: slots, phase bits, wraps, pairs in one beat, contents bit for bit, the two polls, and a
second reset (CQ-02, CQ-04, CQ-15; CQ-03 as far as a completion core goes: the entry that is
visible carries its type and token).
"""

from __future__ import annotations

import random

import pyuvm

from tb.env.agents import Cpl
from tb.env.defs import CQE, ArmType
from tb.env.harness.harness import Channel
from tb.env.harness.records import MemWrite
from tb.env.host.cq import Cq
from tb.tests.common.directed import DirectedTest

BUILD = ["default", "small"]
ENTRY = 32
PHASE = CQE["phase"].lsb


class RingTest(DirectedTest):
    """Random entries, and what memory must hold for them."""

    def entry(self, rng: random.Random) -> int:
        """256 random bits; sometimes all the same."""
        return rng.choice((rng.getrandbits(256), rng.getrandbits(256), 0, (1 << 256) - 1))

    def put(self, cq: Cq, entries: list[int]) -> None:
        """Sends entries in beats of one or two lanes."""
        rng = self.rng(f"lanes {cq.number} {len(entries)}")
        position = 0
        while position < len(entries):
            data, rest = entries[position], entries[position + 1 : position + 2]
            lanes = rng.choice((1, 2, 3) if rest else (1, 2))
            if lanes == 3:
                data |= rest[0] << 256
            elif lanes == 2:
                data = data << 256 | rng.getrandbits(256)
            self.env.completions.send_raw(data, cq.number * 0x10001, lanes)
            position += 1 + (lanes == 3)

    def in_memory(self, cq: Cq, first: int, entries: list[int]) -> None:
        """Entries ``first`` and following of a ring whose origin is 0, bit for bit."""
        size = 1 << cq.log2
        for number, data in enumerate(entries, first):
            phase = 1 - (number >> cq.log2 & 1)
            want = data & ~(1 << PHASE) | phase << PHASE
            got = self.env.memory.read(cq.base + number % size * ENTRY, ENTRY)
            assert int.from_bytes(got, "little") == want, f"log2 {cq.log2}, entry {number}"


@pyuvm.test()
class AllSizesTest(RingTest):
    """Every ring size, several passes over the small ones, at least one wrap of each but the
    largest; contents, slots and phases bit for bit; nothing outside the ring is written.
    """

    async def scenario(self) -> None:
        host, rng = self.env.host, self.rng("sizes")
        eq = await host.create_eq(page=1, log2=1)
        for log2 in range(1, self.config.max_log2 + 1):
            if 9 < log2 < self.config.max_log2:
                continue
            size = 1 << log2
            guard = 64
            span = max(64, size * ENTRY)
            area = self.env.memory.allocate(4 * span, align=4 * span)
            base = area + span
            marks = bytes(range(guard))
            cq = await host.create_cq(eq=eq, log2=log2, reservation=False, base=base)
            self.env.memory.write(base - guard, marks)
            self.env.memory.write(base + span, marks)
            total = 5 * size + 3 if log2 < 5 else 2 * size + 5 if log2 < 9 else 600
            await cq.arm(ArmType.ERRORS)
            done = 0
            while done < total:
                count = min(total - done, rng.randint(1, size))
                entries = [self.entry(rng) for _ in range(count)]
                self.put(cq, entries)
                await self.env.drain(16)
                self.in_memory(cq, done, entries)
                assert len(cq.get_cq_results()) == count
                assert await cq.update_consumer_index() == (0, 0)
                done += count
            state = await cq.query()
            mask = (1 << self.config.idx_w) - 1
            assert (state.prod, state.cons, state.alloc) == (total & mask,) * 3
            assert self.env.memory.read(base - guard, guard) == marks
            assert self.env.memory.read(base + span, guard) == marks
            await cq.destroy()


@pyuvm.test()
class PairTest(RingTest):
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
