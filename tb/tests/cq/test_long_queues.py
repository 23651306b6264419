# SPDX-License-Identifier: Apache-2.0
"""Completion queues and event queues that live longer than their 16-bit indices count."""

from __future__ import annotations

import pyuvm

from tb.env.agents import Cpl
from tb.env.agents.base import Pending
from tb.env.agents.doorbell import WriteResult
from tb.env.defs import ArmType, CqStatus
from tb.env.host.cq import Eq
from tb.tests.common.long_lives import LongLifeTest

BUILD = "default"

#: Of a ring: in none of its lower bits a wrong bit of a slot can hide.
_BASE = 1 << 40


@pyuvm.test()
class LongCqTest(LongLifeTest):
    """CQ-01, CQ-22: credits, entries, consumer indices and arms of one CQ count round. Some arms
    come amid the entries of a round, of which some are solicited (CQ-08).
    """

    async def scenario(self) -> None:
        env, rng, amid = self.env, self.rng("entries"), self.rng("amid")
        eq = await env.host.create_eq(log2=1)
        cq = await env.host.create_cq(eq=eq, log2=self.config.max_log2, base=_BASE)
        answers: list[Pending[WriteResult]] = []
        sent = round_ = called = 0
        while sent < self.lifetime:
            round_ += 1
            wanted = [rng.getrandbits(64) for _ in range(2 * rng.randint(20, 40))]
            credits = [env.credits.post(cq.number, 2) for _ in wanted[::2]]
            start = self.harness.cycle + 60
            for first, second in zip(wanted[::2], wanted[1::2], strict=True):
                env.completions.send_beat(
                    tuple(
                        Cpl(cq.number, context=context, solicited=amid.random() < 0.1)
                        for context in (first, second)
                    ),
                    at_cycle=start,
                )
            sent += len(wanted)
            found = await cq.wait_results(amid.randrange(len(wanted)))
            arms = [cq.post_arm(amid.choice(list(ArmType)))] if round_ % 3 == 1 else []
            found += await cq.wait_results(len(wanted) - len(found))
            assert [result.request_context for result in found] == wanted
            assert all(credit.result for credit in credits)
            self.accepted(answers)
            answers += arms
            while called < len(cq.callbacks):
                called += 1
                answers.append(cq.post_callback_return())
            if round_ % 3 == 0:
                answers.append(cq.post_arm(ArmType.ANY))
            elif round_ % 50 == 0:
                answers.append(cq.post_consumer_index())
                state = await cq.query()
                assert state.prod == state.alloc == sent & self.mask, state
        await env.drain()
        state = await cq.query()
        assert state.prod == state.alloc == sent & self.mask, state


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
        assert env.config is not None
        eq = await host.create_eq(log2=env.config.max_log2, base=_BASE)
        cqs = [
            await host.create_cq(eq=eq, log2=2, reservation=False)
            for _ in range(env.config.num_cq - 1)
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
                await host.resize_eq(eq, rng.randint(fewest, env.config.max_log2))
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
