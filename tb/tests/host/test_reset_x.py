# SPDX-License-Identifier: Apache-2.0
"""Reset on a four-state simulator: memories and registers begin unknown, and nothing unknown comes
out of the engine. The harness checks every output of the engine in every cycle (bfm_stable,
bfm_known), from power-up on (bfm_cleared). On the two-state simulator the same test begins with
other random values in each run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import cocotb
import pyuvm
from cocotb.handle import ArrayObject, HierarchyArrayObject, HierarchyObject

from tb.tests.common.pairs import PairsTest
from tb.tests.common.soaking import demand_fresh

BUILD = ["engine_deep"]
SEEDS = [1, 2, 3, 4]
ICARUS_TESTS = ["UnknownStartTest"]

_MEMORY = "mem"  # in hdl/lib/cde_ram.v


def memories(scope: Any) -> Iterator[Any]:
    """All memories of the design below ``scope``."""
    for handle in scope:
        if isinstance(handle, HierarchyObject | HierarchyArrayObject):
            yield from memories(handle)
        elif isinstance(handle, ArrayObject) and handle._name == _MEMORY:
            yield handle


@pyuvm.test()
class UnknownStartTest(PairsTest):
    """Every memory is unknown before the reset (Icarus); then posts, messages, completions and
    callbacks, a reset in their middle, and again.
    """

    def connect_checkers(self) -> None:
        super().connect_checkers()
        if not cocotb.SIM_NAME.lower().startswith("icarus"):
            return
        found = list(memories(cast(Any, cocotb.top).dut))
        assert len(found) > 20, f"{len(found)} memories found"
        for memory in found:
            word = str(memory[memory.left].value)
            assert set(word) <= set("Xx"), f"{memory._path} begins with {word}"

    async def scenario(self) -> None:
        # What memories and registers began with leaves no trace, whatever the length of the reset.
        await demand_fresh(self.env)
        for cut in (True, False):
            await self.bring_pairs()
            wanted = await self.traffic()
            if cut:
                await self.harness.cycles(60)
                await self.env.reset(1)
                await demand_fresh(self.env)
            else:
                await self.env.drain()
                for number, entries in wanted.items():
                    await self.unharmed(number, entries)
