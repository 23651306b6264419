# SPDX-License-Identifier: Apache-2.0
"""Wrong bits in any memory under random traffic (ISO-05): the scoreboard judges that nothing else
happens. Memories without a code refuse every injection, and report nothing.
"""

from __future__ import annotations

from typing import Any

import cocotb
import pyuvm

from tb.env.defs import CAP7, Cause, Reg
from tb.sequences import find
from tb.tests.common.directed import SLVERR
from tb.tests.common.upsetting import UpsetsTest

BUILD = ["engine_small", "engine", "default"]
TEST_SEEDS = {"UpsetLifeTest": [1, 2, 3, 5]}

#: Random lives of the full engine, a seed each in turn, with their options.
LIVES: list[tuple[str, dict[str, Any]]] = [
    ("post_life", {}),
    ("window_life", {"duration": 8000}),
    ("receive_life", {"duration": 9000, "actions": 0.02}),
]


@pyuvm.test()
class InjectionRegisterTest(UpsetsTest):
    """Numbers that no memory has, and reserved bits, are refused; without a code, all numbers."""

    allow = ("no_traffic",)

    async def scenario(self) -> None:
        await self.start()
        control, coded = self.env.control, self.upsets.memories
        memories = CAP7.unpack(await control.value(Reg.CAP7))["memories"]
        assert memories > (60 if self.config.num_qp else 12) and coded in (0, memories)
        refused = [memories, memories + 1, 0xFE, 1 << 28, 1 << 31]
        if not coded:
            refused += [n | bits for n in range(memories) for bits in (0, 1 << 8 | 3 << 18)]
        for value in refused:
            assert await control.write(Reg.MEM_INJECT, value) == SLVERR
        if coded:
            assert await control.write(Reg.MEM_INJECT, memories - 1 | 0x3FF << 8 | 0x3FF << 18) == 0
        assert (await control.read(Reg.MEM_INJECT)).resp == SLVERR
        for page in range(2):
            assert await self.env.doorbells.write(page, 0xF00, 0) == (SLVERR, Cause.BAD_OFFSET)
            assert await self.env.host.page_status(page) == (Cause.BAD_OFFSET, 1)
        assert await self.upsets.counted() == (0, 0)
        assert await self.env.host.counter("CTRL_REFUSED") == len(refused) + 1


@pyuvm.test()
class UpsetLifeTest(UpsetsTest):
    """Wrong bits go out at most some 200 cycles after the one before, many in places that are not
    written in time; the core alone has one life.
    """

    async def scenario(self) -> None:
        await self.start()
        name, options = "mixed_traffic", {"duration": 15_000}
        if self.config.num_qp:
            name, options = LIVES[self.env.seed % len(LIVES)]
        run: Any = find(name)(self.env, **options)
        self.over = False
        injector = cocotb.start_soon(self.sprinkle())
        await run.run()
        self.over = True
        await injector
        self.env.release_all()
        await self.finish()
        assert bool(self.upsets.corrected) == bool(self.upsets.memories)

    async def sprinkle(self) -> None:
        """As soon as the one before can have been written, or later."""
        rng, upsets = self.rng("upsets"), self.upsets
        answer = 0 if upsets.memories else SLVERR
        while not self.over:
            pause = rng.choice((12, 160))
            for _ in range(8):
                memory = rng.randrange(upsets.memories or 60)
                bit = rng.randrange(1 << rng.choice((0, 3, 4, 5, 9)))
                assert await upsets.inject(memory, bit) == answer
                await self.harness.cycles(memory + rng.randint(1, pause))
            await upsets.collect()
