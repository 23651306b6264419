# SPDX-License-Identifier: Apache-2.0
"""Example: one Send, its inline result, its completion."""

from __future__ import annotations

from typing import ClassVar

from tb.env.defs import Cause
from tb.env.host.qp import connect_pair
from tb.sequences import CarillonSequence
from tb.sequences.verbs import items


class OnePost(CarillonSequence):
    """Ends when the completion was polled."""

    name: ClassVar[str] = "one_post"
    length = 100

    async def body(self) -> None:
        host = self.env.host
        cq = await host.create_cq(eq=await host.create_eq(log2=2), log2=2)
        first, second = await host.create_qp(cq=cq), await host.create_qp(cq=cq)
        await connect_pair(first, second)

        send = await self.do(items["Send"](qp=first, length=self.length))
        assert await send.cause() == Cause.NONE

        (result,) = await cq.wait_results(1)
        assert result.request_context == send.post.context
        assert (result.status, result.nbytes) == (0, self.length)
        await cq.update_consumer_index()
