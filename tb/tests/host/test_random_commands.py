# SPDX-License-Identifier: Apache-2.0
"""Commands with arguments of all widths: what they may change, the model says."""

from __future__ import annotations

import random

import pyuvm

from tb.env.defs import Cmd, Result
from tb.tests.common.directed import DirectedTest

BUILD = ["default", "engine", "engine_small"]

_COUNT = 1500


@pyuvm.test()
class RandomCommandsTest(DirectedTest):
    """ISO-02: any code with any arguments, most of them refused; each has the result that the model
    gives, and the queries have the values that were set.
    """

    allow = ("no_traffic",)

    async def scenario(self) -> None:
        rng = self.rng("commands")
        # The completion core alone has no others.
        codes = [code for code in Cmd if self.config.num_qp or code < 0x20]
        codes = [code for code in codes if code != Cmd.REMOVE_DEVICE]
        # Something to ask for, until a command destroys it.
        eq = await self.env.host.create_eq(log2=2)
        await self.env.host.create_cq(0, eq=eq, log2=2)
        results = set()
        for _ in range(_COUNT):
            code = int(rng.choice(codes)) if rng.random() < 0.95 else rng.getrandbits(8)
            if code == Cmd.REMOVE_DEVICE:
                continue
            # Most commands take few arguments, and the others must be 0.
            count = rng.randrange(9)
            words = [self.word(rng) for _ in range(count)] + [0] * (8 - count)
            results.add((await self.env.host.command(code, *words)).result)
        assert {Result.OK, Result.RESERVED, Result.BAD_OBJECT, Result.NO_OBJECT} <= results

    @staticmethod
    def word(rng: random.Random) -> int:
        """An argument: small, of any width, or two small halves."""
        kind = rng.randrange(4)
        if kind == 0:
            return rng.randrange(4)
        if kind == 1:
            return rng.getrandbits(32)
        if kind == 2:
            return rng.getrandbits(32) & ~0x7F | rng.randrange(8)
        return rng.randrange(16) | rng.randrange(16) << 16
