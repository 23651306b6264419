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
from tb.env.defs import Cause, CqeStatus, Opcode, QpState
from tb.env.host.qp import connect_pair
from tb.tests.common.posting import PostingTest

BUILD = ["engine", "engine_small"]
ICARUS_TESTS = ["PostSmokeTest"]

#: Flags that leave each post with a completion of its own, at once.
FLAGS = 0xFFFF & ~int(PostFlag.DEFER | PostFlag.SILENT_SUCCESS)


@pyuvm.test()
class PostSmokeTest(PostingTest):
    """Each verb from both sides, an error, flush, re-connection, destruction."""

    manual = False

    async def scenario(self) -> None:
        env, host = self.env, self.env.host
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
                    message = env.transport.arrived[1 - qp.number][-1]
                    assert (message.source, message.length) == (qp.number, post.length)
                    assert message.data == (post.inline_data if post.has(PostFlag.INLINE) else None)
                    token = Segment.decode(post.slots[TARGET_SLOT]).key if verb.has_target else None
                    assert message.token == token
                    assert message.solicited == post.has(PostFlag.SEND_AND_SOLICIT_EVENT)

        # Many at once, one of them silent.
        first, second = qps
        answers = first.queue_many(first.make(Opcode.SEND, silent=n == 1) for n in range(3))
        assert [(await answer).cause for answer in answers] == [0, 0, 0]
        found = await first.cq.wait_results(2)
        assert [result.request_context & 0xFFFF for result in found] == [0, 2]
        await first.cq.update_consumer_index()

        # A transport error ends the connection of this side only.
        env.transport.inject = lambda _: CqeStatus.TRANSPORT_ERROR
        assert await first.send() == Cause.NONE
        env.transport.inject = None
        (result,) = await first.cq.wait_results(1)
        assert result.status == CqeStatus.TRANSPORT_ERROR
        await first.cq.update_consumer_index()
        assert (await first.query()).state == QpState.ERROR
        assert env.transport.terminated == [(first.number, QpState.ERROR)]
        assert await first.send() == Cause.NOT_CONNECTED
        await first.reset()
        await first.connect(second)
        assert await first.send() == Cause.NONE
        (result,) = await first.cq.wait_results(1)
        assert result.status == 0

        # Ways out.
        await first.flush()
        assert (await first.query()).state == QpState.ERROR
        await second.disconnect()
        assert (await second.query()).state == QpState.DISCONNECTED
        assert await host.read_log() != []
        for qp in qps:
            await qp.destroy()
            await qp.cq.destroy()
