# SPDX-License-Identifier: Apache-2.0
"""Example: requests that are held until the one after them is posted without DEFER."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from models.post.post import Segment
from tb.env.defs import Cause
from tb.env.host.qp import Qp, connect_pair
from tb.sequences import CarillonSequence
from tb.sequences.verbs import VerbItem, items


class DeferredChain(CarillonSequence):
    """Write and Read with DEFER, then a Send; then the same with a Send that fails inline. Either
    way what was held is released.
    """

    name: ClassVar[str] = "deferred_chain"

    async def body(self) -> None:
        host = self.env.host
        cq = await host.create_cq(eq=await host.create_eq(log2=2), log2=3)
        first, second = await host.create_qp(cq=cq), await host.create_qp(cq=cq)
        await connect_pair(first, second)

        good = items["Send"](qp=first, data=b"the end")
        await self.chain(first, good, Cause.NONE)

        bad = items["Send"](qp=first, data=b"")
        bad.post = replace(bad.post, inline_bytes=49)  # 48 are the most
        await self.chain(first, bad, Cause.BAD_LENGTH)

    async def chain(self, qp: Qp, last: VerbItem, cause: Cause) -> None:
        """Holds two requests and posts the last one, whose inline result is ``cause``."""
        target = Segment(0x1234_0000, 0, 0xBEEF)
        held = [
            items[verb](qp=qp, target=target, length=64, defer=True) for verb in ("Write", "Read")
        ]
        for item in held:
            await self.do(item)
        assert [await item.cause() for item in held] == [Cause.NONE, Cause.NONE]
        await self.env.harness.cycles(200)
        status = await qp.query()
        assert status.tail - status.released == len(held)

        await self.do(last)
        assert await last.cause() == cause

        # What was accepted completes in order; what failed inline does not complete (DF-07).
        accepted = [*held, last] if cause == Cause.NONE else held
        results = await qp.cq.wait_results(len(accepted))
        assert [r.request_context for r in results] == [i.post.context for i in accepted]
        await qp.cq.update_consumer_index()
        status = await qp.wait_retired()
        assert status.tail == status.released
