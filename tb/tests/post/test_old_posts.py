# SPDX-License-Identifier: Apache-2.0
"""Posts that are held longer than any age limit counts, or while their limit changes; tags that
come round to one whose report failed, in a connection before.
"""

from __future__ import annotations

import pyuvm

from tb.env.defs import Opcode, QpState, TraceOp
from tb.env.host.qp import Qp, connect_pair
from tb.tests.common.engine import EngineTest
from tb.tests.common.long_lives import LongLifeTest
from tb.tests.common.posting import OK

BUILD = "engine_small"

#: Ticks after which the clock of ages has gone round.
_ROUND = 1 << 18
_STEPS = 18
_FAILING = 0xDEAD_BEEF  # low half of the contexts of requests that fail
_STATUS = 0x7F  # what is reported of these


class AgedTest(EngineTest):
    async def completes(self, qp: Qp, count: int) -> None:
        """So many requests are reported and complete."""
        self.report(qp, *[OK] * count)
        await qp.cq.wait_results(count)
        await qp.cq.update_consumer_index()


@pyuvm.test()
class OldPostTest(AgedTest):
    """DF-01: posts that are held at all times of the clock of ages, one for more than its whole
    round, wait as long as no limit is set; with a limit that is over they go at once, and one is
    held while the clock goes round. Time in which nothing is held does not count.
    """

    max_cycles = 2_000_000

    async def scenario(self) -> None:
        old, young, idle, quiet = [await self.qp(page=0) for _ in range(4)]
        await idle.modify(age=1)
        self.harness.recorder(age=1 << 14)
        (kept,) = await self.hold(old, 1)
        # No command looks at this one.
        (untouched,) = await self.hold(quiet, 1)
        cycles = _ROUND * self.config.mod_tick // _STEPS
        for number in range(_STEPS + 1):
            await self.hold(young, 1)
            await self.harness.cycles(cycles)
            # Both are looked at; neither goes.
            await old.modify(watermark=100)
            mark = self.mark
            await self.accept(young, [self.write_post(young)])
            await self.rest()
            assert len(self.beats(young, mark)) == 2 and not self.beats(old, mark), number
            await self.completes(young, 2)
            if number == _STEPS * 3 // 4:
                # Its time begins now, however long it has held nothing.
                await idle.modify(age=0xFFFF)
                await self.hold(idle, 1)
                await self.rest(400)
                assert not self.beats(idle, mark)
                await self.accept(idle, [self.write_post(idle)])
                await self.completes(idle, 2)
        for qp, post in ((quiet, untouched), (old, kept)):
            mark = self.mark
            await qp.modify(age=0xFFFF)
            await self.rest(400)
            self.demand_beats(qp, [post], mark)
            await self.completes(qp, 1)
        await old.modify()
        mark = self.mark
        (kept,) = await self.hold(old, 1)
        await self.harness.cycles(2 * cycles)
        assert not self.beats(old, mark)
        await old.modify(age=1)
        await self.rest(400)
        self.demand_beats(old, [kept], mark)
        await self.completes(old, 1)


@pyuvm.test()
class OtherLimitTest(AgedTest):
    """DF-01: the age limit that MODIFY_QP sets applies to what is held, from the first post of the
    chain on: longer, shorter, none, one where none was, each before and after the old limit and
    the new one are over.
    """

    async def scenario(self) -> None:
        qp = await self.qp(page=0)
        tick = self.config.mod_tick
        slack = tick + 64 * self.config.num_qp + 32
        # A visit takes a part of the slack: limits that are far apart.
        units = -(-2 * slack // tick)
        for before, after in ((1, 3), (3, 1), (0, 1), (0, 3), (1, 0), (3, 0), (2, 2)):
            for phase in range(5):
                due = before and before <= phase
                await qp.modify(age=before * units)
                mark = self.mark
                (post,) = await self.hold(qp, 1, watch=False)
                (accepted,) = self.steps(qp, TraceOp.POST, mark)
                await self.harness.cycles(phase * units * tick + (slack if due else 0))
                if not due:
                    # A watermark far away changes nothing.
                    await qp.modify(age=after * units, watermark=100)
                    changed = self.harness.cycle
                    over = max(before, after) - phase
                    await self.harness.cycles(max(over, 0) * units * tick + slack)
                    ages = self.steps(qp, TraceOp.AGE, mark)
                    assert len(ages) == (after != 0), (before, after, phase)
                    for age in ages:
                        waited = age.cycle - accepted.cycle
                        assert waited > after * units * tick, (before, after, phase)
                        latest = max(accepted.cycle + after * units * tick, changed) + slack
                        assert age.cycle <= latest, (before, after, phase)
                if due or after:
                    self.demand_beats(qp, [post], mark)
                else:
                    await self.accept(qp, [self.write_post(qp)])
                await self.completes(qp, 1 + (not due and not after))


@pyuvm.test()
class OldFailureTest(LongLifeTest):
    """DF-15: on every QP one request fails; then each tag is used once more, in the connection
    after it: nothing fails, whatever was reported about the tag before.
    """

    async def scenario(self) -> None:
        env, self.contexts = self.env, self.rng("contexts")
        eq = await env.host.create_eq(log2=2)
        qps = []
        for _ in range(self.config.num_qp):
            cq = await env.host.create_cq(eq=eq, log2=3)
            qps.append(await env.host.create_qp(cq=cq))
        for first, second in zip(qps[::2], qps[1::2], strict=True):
            await connect_pair(first, second)
        env.transport.loopback(latency=1, mask=0xFFFFFFFF, match=_FAILING, status=_STATUS)
        for at, qp in enumerate(qps):
            await self.writes(qp, _FAILING, 1)
            await qp.flush()
            assert (await qp.query()).state == QpState.ERROR
            await qp.reset()
            await qp.connect(qps[at ^ 1])
        room = 1 << self.config.sq_log2
        for _ in range(0, self.mask + 1, room):
            for at, qp in enumerate(qps):
                await self.writes(qp, at, room)

    async def writes(self, qp: Qp, low: int, count: int) -> None:
        """So many Writes with this low half of their contexts, of which the last one signals
        success, too.
        """
        contexts = [self.contexts.getrandbits(32) << 32 | low for _ in range(count)]
        answers = [
            qp.queue(qp.make(Opcode.WRITE, context=c, silent=c != contexts[-1]).encode())
            for c in contexts
        ]
        (result,) = await qp.cq.wait_results(1)
        status = _STATUS if low == _FAILING else 0
        assert (result.request_context, result.status) == (contexts[-1], status), result
        self.accepted(answers)
        assert await qp.cq.update_consumer_index() == (0, 0)
