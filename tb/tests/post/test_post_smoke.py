# SPDX-License-Identifier: Apache-2.0
"""Smoke test of posting: queue pairs connected with each other, a random post of each verb from
both sides, their completions, and the ways out.
"""

from __future__ import annotations

from dataclasses import replace

import pyuvm

from models.codes import PostFlag
from models.post.post import TARGET_SLOT, Segment
from models.verb import Limits
from models.verbs import VERBS
from tb.env.defs import Cause, QpState
from tb.env.host.qp import connect_pair
from tb.tests.common.engine import EngineTest

BUILD = ["engine", "engine_small"]
ICARUS_TESTS = ["PostSmokeTest"]

#: Flags that leave each post with a completion of its own, at once.
FLAGS = 0xFFFF & ~int(PostFlag.DEFER | PostFlag.SILENT_SUCCESS)


@pyuvm.test()
class PostSmokeTest(EngineTest):
    """Each verb from both sides, flush, disconnection, destruction."""

    manual = False

    async def scenario(self) -> None:
        qps = await self.idle_qp(), await self.idle_qp()
        await connect_pair(*qps)
        for qp in qps:
            status = await qp.query()
            assert (status.state, status.peer) == (QpState.CONNECTED, 1 - qp.number)
            assert (status.page, status.depth, status.cq) == (0, qp.depth, qp.cq.number)
        rng = self.rng("posts")
        for verb in VERBS.values():
            posts = [
                replace(verb.fields(rng, Limits(qp.number, FLAGS)), context=qp.number) for qp in qps
            ]
            for qp, post in zip(qps, posts, strict=True):
                assert await qp.post(post) == Cause.NONE
            for qp, post in zip(qps, posts, strict=True):
                (result,) = await qp.cq.wait_results(1)
                assert (result.request_context, result.qp_context) == (post.context, qp.context)
                nbytes = post.length if verb.transfers else 0
                assert (result.type, result.nbytes, result.status) == (verb.result_type, nbytes, 0)
                assert await qp.cq.update_consumer_index() == (0, 0)
                if verb.message:  # what was sent has arrived at the peer
                    message = self.env.transport.arrived[1 - qp.number][-1]
                    assert (message.source, message.length) == (qp.number, post.length)
                    assert message.data == (post.inline_data if post.has(PostFlag.INLINE) else None)
                    token = Segment.decode(post.slots[TARGET_SLOT]).key if verb.has_target else None
                    assert message.token == token
                    assert message.solicited == post.has(PostFlag.SEND_AND_SOLICIT_EVENT)

        # Ways out.
        first, second = qps
        await first.flush()
        assert (await first.query()).state == QpState.ERROR
        await second.disconnect()
        assert (await second.query()).state == QpState.DISCONNECTED
        for qp in qps:
            await qp.destroy()
            await qp.cq.destroy()
