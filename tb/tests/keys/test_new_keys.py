# SPDX-License-Identifier: Apache-2.0
"""A check by the key that a Bind or a FastRegister is about to make, in each cycle around it
(MW-02, MW-10): from its step on the whole range is granted, and nothing behind it.
"""

from __future__ import annotations

import random

import pyuvm

from tb.env.defs import TraceOp
from tb.env.host.keyed import next_key
from tb.env.host.qp import Qp
from tb.env.host.regions import Region
from tb.env.host.windows import MemoryWindow
from tb.tests.common.key_checking import BAD_RANGE, KINDS
from tb.tests.common.key_races import LEAD, RaceTest
from tb.tests.common.windowing import ALL, BAD_KEY, GRANTED, REMOTE

BUILD = ["engine", "engine_small"]

LONGEST = (1 << 48) - 1
#: The longest range that a request names.
MOST = 1 << 31
#: Cycles from the step to the earliest one of the check.
AROUND = range(-4, 4)


class NewKeyTest(RaceTest):
    async def make(self, keyed: MemoryWindow | Region, at: int, offset: int, length: int) -> None:
        """The request, posted in cycle ``at``; its completion has come."""
        if isinstance(keyed, Region):
            post = keyed.make_fast_register(self.qp_, offset, length, ALL)
        else:
            post = keyed.make_bind(self.qp_, self.whole, offset, length, REMOTE)
        assert await self.qp_.queue(post, at=at) == (0, 0)
        await self.qp_.cq.wait_results(1)
        await self.qp_.cq.update_consumer_index()
        await self.rest()

    async def around(self, keyed: MemoryWindow | Region, prober: Qp, rng: random.Random) -> None:
        """Checks by ``prober``, one for each request: the whole range, or a byte more."""
        op = TraceOp.FAST_REGISTER if isinstance(keyed, Region) else TraceOp.BIND
        lag, room = None, self.whole.length - MOST
        codes = set()
        for more in (0, 0, 1, 0):
            for distance in AROUND:
                offset, length = rng.randrange(room), rng.randrange(1, MOST)
                await self.revive(self.qp_)
                await self.revive(prober)
                key = next_key((await keyed.refresh()).key)
                mark, at = self.mark, self.harness.cycle + LEAD
                start = (self.whole if isinstance(keyed, MemoryWindow) else keyed).base + offset
                if lag is not None:
                    asked = (KINDS[length % 2], key, start, length + more, at + lag + distance)
                    answer = self.post_check(prober, *asked)
                await self.make(keyed, at, offset, length)
                (step,) = self.key_steps(op, mark)
                if lag is not None:
                    (check,) = self.key_steps(TraceOp.CHECK, mark)
                    # In one cycle the check comes first.
                    new = check.cycle > step.cycle
                    code = (BAD_RANGE if more else GRANTED) if new else BAD_KEY
                    assert (await answer).code == code, (check, step)
                    codes.add((check.cycle - step.cycle, code))
                lag = step.cycle - at
                if (await keyed.refresh()).valid:
                    await self.revive(self.qp_)
                    await self.invalidate(self.qp_, key)
        wanted = {(0, BAD_KEY), (1, GRANTED), (1, BAD_RANGE), (2, GRANTED)}
        assert codes >= wanted, f"not met: {wanted - codes}"


@pyuvm.test()
class NewRegionKeyTest(NewKeyTest):
    """FastRegister; another QP of the zone asks."""

    async def scenario(self) -> None:
        rng = self.rng("ranges")
        await self.set_up()
        self.whole = await self.env.host.allocate(
            LONGEST, zone=self.qp_.zone, rights=ALL, base=rng.getrandbits(62)
        )
        await self.around(self.whole, await self.guarded(), rng)


@pyuvm.test()
class NewWindowKeyTest(NewKeyTest):
    """Bind; its own QP asks."""

    async def scenario(self) -> None:
        rng = self.rng("ranges")
        await self.set_up()
        self.whole = await self.memory(LONGEST, base=rng.getrandbits(62))
        await self.around(await self.window(), self.qp_, rng)
