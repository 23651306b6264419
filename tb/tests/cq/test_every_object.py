# SPDX-License-Identifier: Apache-2.0
"""EQs and CQs under every number come and go, one at a time."""

from __future__ import annotations

import pyuvm

from tb.env.defs import Cmd, Result
from tb.tests.common.directed import DirectedTest

BUILD = ["default", "engine"]


@pyuvm.test()
class EveryExistenceTest(DirectedTest):
    """CQ-16: EQs and CQs come and go in any order: after each step every number is there, or not,
    as it was before, but for one.
    """

    allow: tuple[str, ...] = ("no_doorbells",)

    async def scenario(self) -> None:
        config, host, rng = self.config, self.env.host, self.rng("order")
        if config.num_qp:
            self.allow = ("no_doorbells", "no_posts", "no_receives")
        eqs = {}
        for number in rng.sample(range(config.num_eq), config.num_eq):
            eqs[number] = await host.create_eq(number, log2=min(6, config.max_log2))
            await self.there(Cmd.QUERY_EQ, config.num_eq, set(eqs))
        cqs = {}
        for number in rng.sample(range(config.num_cq), config.num_cq):
            eq = eqs[number % config.num_eq]
            cqs[number] = await host.create_cq(number, eq=eq, log2=1, reservation=False)
        await self.there(Cmd.QUERY_CQ, config.num_cq, set(cqs))
        for number in rng.sample(range(config.num_cq), config.num_cq):
            await cqs.pop(number).destroy()
            if self.config.num_qp:
                continue
            self.send(number, [1])
            for other in cqs:
                assert await self.env.credits.reserve(other)
        await self.there(Cmd.QUERY_CQ, config.num_cq, set())
        for number in rng.sample(range(config.num_eq), config.num_eq):
            await host.destroy_eq(eqs.pop(number))
            await self.there(Cmd.QUERY_EQ, config.num_eq, set(eqs))

    async def there(self, code: Cmd, count: int, wanted: set[int]) -> None:
        """Exactly these exist."""
        found = {n for n in range(count) if await self.result(code, n) == Result.OK}
        assert found == wanted, f"{code.name}: {found ^ wanted}"
