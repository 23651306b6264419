# SPDX-License-Identifier: Apache-2.0
"""Completion queues, event queues and a wait for moderation that live longer than their 16-bit
indices count.
"""

from __future__ import annotations

import pyuvm

from tb.env.agents.base import Pending
from tb.env.agents.completion import Cpl
from tb.env.agents.doorbell import WriteResult
from tb.env.defs import ArmType, CqStatus
from tb.env.host.cq import Cq, Eq
from tb.tests.common.long_lives import LongLifeTest

#: Of a ring: in none of its lower bits a wrong bit of a slot can hide.
_BASE = 1 << 40
#: Intervals that no test lives to see.
NEVER, OTHER_ONLY = 0xFFFE, 0xFFFF


class LongCqBase(LongLifeTest):
    """Rounds of completions, whose contexts come as they were sent."""

    sent = 0

    def round(self, cq: Cq, beats: list[list[Cpl]]) -> list[int]:
        """Credits, and then completions; returns their contexts."""
        self.credits = [self.env.credits.post(cq.number, len(beat)) for beat in beats]
        start = self.harness.cycle + 70
        for beat in beats:
            self.env.completions.send_beat(beat, at_cycle=start)
        wanted = [cpl.context for beat in beats for cpl in beat]
        self.sent += len(wanted)
        return wanted

    async def came(self, cq: Cq, wanted: list[int], before: int = 0) -> None:
        """The rest of a round's results, and each credit was granted."""
        found = await cq.wait_results(len(wanted) - before)
        assert [result.request_context for result in found] == wanted[before:]
        assert all(credit.result for credit in self.credits)


@pyuvm.test()
class LongCqTest(LongCqBase):
    """CQ-01, CQ-22: credits, entries, consumer indices and arms of one CQ count round. Some arms
    come amid the entries of a round, of which some are solicited (CQ-08).
    """

    async def scenario(self) -> None:
        env, rng, amid = self.env, self.rng("entries"), self.rng("amid")
        eq = await env.host.create_eq(log2=1)
        cq = await env.host.create_cq(eq=eq, log2=self.config.max_log2, base=_BASE)
        answers: list[Pending[WriteResult]] = []
        round_ = called = 0

        def entry() -> Cpl:
            context = rng.getrandbits(64)
            return Cpl(cq.number, context=context, solicited=amid.random() < 0.1)

        while self.sent < self.lifetime:
            round_ += 1
            wanted = self.round(cq, [[entry(), entry()] for _ in range(rng.randint(20, 40))])
            part = amid.randrange(len(wanted))
            found = await cq.wait_results(part)
            assert [result.request_context for result in found] == wanted[:part]
            arms = [cq.post_arm(amid.choice(list(ArmType)))] if round_ % 3 == 1 else []
            await self.came(cq, wanted, part)
            self.accepted(answers)
            answers += arms
            while called < len(cq.callbacks):
                called += 1
                answers.append(cq.post_callback_return())
            if round_ % 3 == 0:
                answers.append(cq.post_arm(ArmType.ANY))
            elif round_ % 50 == 0:
                answers.append(cq.post_consumer_index())
                await cq.query()
        await env.drain()
        await cq.query()


@pyuvm.test()
class LongWaitTest(LongCqBase):
    """CQ-19, CQ-21: more entries than an index counts are published, and all but the last are
    consumed, while a callback is due; the ring moves between the largest size and an eighth of it
    at any index. The count of new entries stays at its highest value: when moderation by count
    comes into use, the callback comes although a single entry is present.
    """

    async def scenario(self) -> None:
        env, rng = self.env, self.rng("entries")
        self.fields = self.rng("fields")
        eq = await env.host.create_eq(log2=1)
        most = self.config.max_log2
        unused = 2 << most  # more than any ring has entries: such a count is not used
        cq = await env.host.create_cq(eq=eq, log2=most - 1, moderation=(unused, NEVER))
        assert await cq.arm(ArmType.ANY) == (0, 0)
        round_ = 0
        while self.sent < self.lifetime:
            round_ += 1
            beats = [
                [self.make(cq.number) for _ in range(rng.choice((1, 2, 2, 2)))]
                for _ in range(rng.randint(30, 60))
            ]
            await self.came(cq, self.round(cq, beats))
            assert await cq.update_consumer_index() == (0, 0)
            if round_ % 12 == 0:
                await cq.resize(rng.randint(most - 3, most))
        assert not cq.callbacks
        self.round(cq, [[self.make(cq.number)]])
        await env.drain()
        state = await cq.query()
        assert state.due and (state.prod - state.cons) & self.mask == 1, state
        assert not cq.callbacks
        await cq.modify(moderation=(1 << cq.log2, OTHER_ONLY))
        (callback,) = await cq.wait_callbacks(1)
        assert callback.snap == self.sent & self.mask, callback
        assert await cq.callback_return() == (0, 0)
        # The next callback counts anew.
        await cq.wait_results(1)
        assert await cq.arm(ArmType.ANY) == (0, 0)
        self.round(cq, [[self.make(cq.number)]])
        await env.drain(1000)
        assert len(cq.callbacks) == 1 and (await cq.query()).due

    def make(self, number: int) -> Cpl:
        """Any completion, of the solicited class or not."""
        fields = self.fields
        return Cpl(number, context=fields.getrandbits(64), solicited=fields.random() < 0.5)


@pyuvm.test()
class LongEqTest(LongLifeTest):
    """CQ-16, CQ-18: callbacks of many CQs through one EQ until its index has counted round. Now and
    then memory refuses an entry, which is written again.
    """

    #: A ring stays for so many rounds of all CQs.
    stays = 1 << 16
    #: So many rounds are between entries that are refused.
    between = 16

    async def scenario(self) -> None:
        env, host, rng = self.env, self.env.host, self.rng("contexts")
        most = self.config.max_log2
        eq = await host.create_eq(log2=most, base=_BASE)
        cqs = [
            await host.create_cq(eq=eq, log2=2, reservation=False)
            for _ in range(self.config.num_cq - 1)
        ]
        answers: list[Pending[WriteResult]] = []
        rounds = self.lifetime // len(cqs) + 1
        fewest = len(cqs).bit_length()
        for number in range(1, rounds + 1):
            answers += [cq.post_arm(ArmType.ANY) for cq in cqs]
            start = self.harness.cycle + 40
            wanted = [rng.getrandbits(64) for _ in cqs]
            for cq, context in zip(cqs, wanted, strict=True):
                env.completions.send(cq.number, context=context, at_cycle=start)
            for cq in cqs:
                assert len(await cq.wait_callbacks(number)) == number
            answers += [cq.post_callback_return() for cq in cqs]
            if number % self.stays == 0:
                await host.resize_eq(eq, rng.randint(fewest, most))
            found = [[r.request_context for r in cq.get_cq_results()] for cq in cqs]
            assert found == [[context] for context in wanted]
            await answers[-1]
            self.accepted(answers)
            if number % self.between == 0:
                await self.refused(eq, rng.randint(1, 3))
        made = len(cqs) * rounds + rounds // self.between
        assert (await host.query_eq(eq)).producer & self.mask == made & self.mask

    async def refused(self, eq: Eq, count: int) -> None:
        """An entry of one CQ more is refused so often: it comes, and that CQ is in error."""
        cq = await self.env.host.create_cq(eq=eq, log2=2, reservation=False)
        self.env.mem.fail(eq=eq.number, count=count)
        assert await cq.arm(ArmType.ANY) == (0, 0)
        self.env.completions.send(cq.number)
        (callback,) = await cq.wait_callbacks(1)
        assert callback.status == CqStatus.INTERNAL_ERROR, callback
        assert await cq.callback_return() == (0, 0)
        await cq.destroy()


@pyuvm.test()
class LongEqRingsTest(LongEqTest):
    """CQ-16: the same, and its ring changes every now and then, to any size."""

    stays = 16
