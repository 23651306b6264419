# SPDX-License-Identifier: Apache-2.0
"""A callback that moderation holds back while indices count round and the ring moves."""

from __future__ import annotations

import pyuvm

from tb.env.agents import Cpl
from tb.env.defs import ArmType
from tb.tests.common.long_lives import LongLifeTest

BUILD = "default"

#: Intervals that no test lives to see.
NEVER, OTHER_ONLY = 0xFFFE, 0xFFFF


@pyuvm.test()
class LongWaitTest(LongLifeTest):
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
        sent = round_ = 0
        while sent < self.lifetime:
            round_ += 1
            beats = [
                [self.make(cq.number) for _ in range(rng.choice((1, 2, 2, 2)))]
                for _ in range(rng.randint(30, 60))
            ]
            credits = [env.credits.post(cq.number, len(beat)) for beat in beats]
            start = self.harness.cycle + 70
            for beat in beats:
                env.completions.send_beat(beat, at_cycle=start)
            wanted = [cpl.context for beat in beats for cpl in beat]
            sent += len(wanted)
            found = await cq.wait_results(len(wanted))
            assert [result.request_context for result in found] == wanted
            assert all(credit.result for credit in credits)
            assert await cq.update_consumer_index() == (0, 0)
            if round_ % 12 == 0:
                switch = await cq.resize(rng.randint(most - 3, most))
                assert switch == sent & self.mask, switch
        assert not cq.callbacks
        assert await env.credits.reserve(cq.number)
        env.completions.send_beat([self.make(cq.number)])
        await env.drain()
        state = await cq.query()
        assert state.due and (state.prod - state.cons) & self.mask == 1, state
        assert not cq.callbacks
        await cq.modify(moderation=(1 << cq.log2, OTHER_ONLY))
        (callback,) = await cq.wait_callbacks(1)
        assert callback.snap == (sent + 1) & self.mask, callback
        assert await cq.callback_return() == (0, 0)
        # The next callback counts anew.
        await cq.wait_results(1)
        assert await cq.arm(ArmType.ANY) == (0, 0)
        assert await env.credits.reserve(cq.number)
        env.completions.send_beat([self.make(cq.number)])
        await env.drain(1000)
        assert len(cq.callbacks) == 1 and (await cq.query()).due

    def make(self, number: int) -> Cpl:
        """Any completion, of the solicited class or not."""
        fields = self.fields
        return Cpl(number, context=fields.getrandbits(64), solicited=fields.random() < 0.5)
