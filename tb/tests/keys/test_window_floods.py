# SPDX-License-Identifier: Apache-2.0
"""Connections of all queue pairs end in the same few cycles, each by several causes at once."""

from __future__ import annotations

from typing import Any

import pyuvm

from tb.env.defs import Cmd, Opcode, QpState
from tb.env.host.qp import Qp
from tb.tests.common.posting import FAILED
from tb.tests.common.taking import Want
from tb.tests.common.windowing import INVALID_TOKEN, READ, WindowTest

BUILD = ["engine", "engine_small", "engine_deep"]
LEAD = 300


@pyuvm.test()
class EndsTogetherTest(WindowTest):
    """Refused accesses, bad tokens, failing reports, failing local requests, failing receives,
    events of the transport and a command: one terminate request for each connection, every
    request completes once, and the next connection is not touched by causes of the one before.
    """

    async def scenario(self) -> None:
        rng = self.rng("ends")
        recv_cq = await self.queue(reservation=True, log2=min(6, self.config.max_log2))
        first = await self.guarded(recv_cq=recv_cq, recv_depth=2)
        qps = [first]
        while len(qps) < min(self.config.num_qp, 8):
            qps.append(await self.guarded(share=first, recv_cq=recv_cq, recv_depth=2))
        buffer = await self.memory(64)
        for trial in range(40):
            for qp in qps:
                await self.revive(qp)
            posts: dict[int, list[Any]] = {}
            recvs: list[int] = []
            for qp in qps:
                post = self.write_post(qp)
                posts[qp.number] = [post]
                await self.accept(qp, [post])
                for _ in range(2):
                    recv = qp.make_recv([buffer.segment(0, 8)])
                    if await qp.queue_recv(recv) == (0, 0):
                        recvs.append(recv.context)
            taken = {qp.number: 0 for qp in qps}
            for qp in qps:
                taken[qp.number] = int((await self.code(qp)) == 0)
            await self.rest(32)
            mark, start = self.mark, self.harness.cycle + LEAD
            spread = rng.choice((0, 3, 12))
            actions: list[tuple[int, int, Qp]] = []
            for qp in qps:
                for kind in rng.sample(range(6), rng.randint(1, 4)):
                    actions.append((start + rng.randint(0, spread), kind, qp))
            answers: list[tuple[Qp, Any, Any]] = []
            asked: list[tuple[Qp, Any]] = []
            reported, settled = set(), set()
            for at, kind, qp in sorted(actions, key=lambda a: a[0]):
                if kind == 0:
                    self.post_check(qp, READ, 0, 0, 1, at=at)
                elif kind == 1:
                    asked.append((qp, self.send_invalidate(qp, 0, at=at)))
                elif kind == 2:
                    self.report(qp, FAILED, at=at)
                    reported.add(qp.number)
                elif kind == 3:
                    post = qp.make(Opcode.INVALIDATE, token=0)
                    answers.append((qp, post, qp.queue(post, at=at)))
                elif kind == 4 and taken[qp.number]:
                    self.settle(qp, FAILED, at=at)
                    settled.add(qp.number)
                elif kind == 5:
                    self.env.conn.send(qp.number, at_cycle=at)
            if rng.random() < 0.5:
                await self.command_at(start + rng.randint(-30, 10), Cmd.FLUSH_QP, qps[-1].number)
            await self.rest()
            for qp, post, answer in answers:
                if answer.result == (0, 0):
                    posts[qp.number].append(post)
            touched = {qp.number for _, kind, qp in actions if kind != 4 or qp.number in settled}
            ended = set()
            for qp in qps:
                state = (await qp.query()).state
                if state in (QpState.ERROR, QpState.DISCONNECTED):
                    ended.add(qp.number)
            assert touched <= ended, (trial, touched, ended)
            terms = sorted(number for number, _ in self.terms(mark))
            assert terms == sorted(ended), (trial, terms, ended)
            for qp in qps:
                if qp.number not in reported:
                    self.report(qp, 0)
                for _ in range(len(self.tags[qp.number])):
                    self.settle(qp)
                await qp.flush()
            await self.rest()
            found = [r.request_context for r in first.cq.get_cq_results_ex()]
            await first.cq.update_consumer_index()
            want = [post.context for some in posts.values() for post in some]
            assert sorted(found) == sorted(want), trial
            found = [r.request_context for r in recv_cq.get_cq_results_ex()]
            await recv_cq.update_consumer_index()
            assert sorted(found) == sorted(recvs), trial


@pyuvm.test()
class FailsMeetTest(WindowTest):
    """A local request that fails in the cycles in which reports of other QPs fail, too: none
    of them is forgotten.
    """

    async def scenario(self) -> None:
        first = await self.guarded(recv_depth=0)
        qps = [first]
        while len(qps) < min(self.config.num_qp, 12):
            qps.append(await self.guarded(share=first, recv_depth=0))
        for delay in range(0, 40, 2 if len(qps) < 6 else 8):
            for qp in qps:
                await self.revive(qp)
            remote = [self.write_post(qp) for qp in qps[1:]]
            for qp, post in zip(qps[1:], remote, strict=True):
                await self.accept(qp, [post])
            await self.rest()
            mark, at = self.mark, self.harness.cycle + LEAD
            answer = first.queue(first.make(Opcode.INVALIDATE, token=0), at=at)
            for n, qp in enumerate(qps[1:]):
                self.report(qp, FAILED, at=at + delay if not n else None)
            assert await answer == (0, 0)
            await self.rest()
            for qp in qps:
                await self.demand_state(qp, QpState.ERROR)
            terms = sorted(number for number, _ in self.terms(mark))
            assert terms == sorted(qp.number for qp in qps), (delay, terms)
            assert len(first.cq.get_cq_results_ex()) == len(qps)
            await first.cq.update_consumer_index()


@pyuvm.test()
class ReceiveFailsTooTest(WindowTest):
    """A receive that fails in each cycle around the failing report of another QP's request, or the
    failing local request of a third: the connections end, each once. Class: of two failures in one
    cycle one is lost.
    """

    async def scenario(self) -> None:
        receiver = await self.guarded()
        sender = await self.guarded(recv_depth=0)
        self.buffer = await self.memory(64)
        for local in (False, True):
            for offset in range(24) if local else range(-8, 9):
                await self.one(receiver, sender, offset, local)

    async def one(self, receiver: Qp, sender: Qp, offset: int, local: bool) -> None:
        recv = receiver.make_recv([self.buffer.segment(0, 8)])
        assert await receiver.queue_recv(recv) == (0, 0)
        await self.take(receiver, 1)
        post = sender.make(Opcode.INVALIDATE, token=0) if local else self.write_post(sender)
        if not local:
            await self.accept(sender, [post])
        await self.rest()
        mark, at = self.mark, self.harness.cycle + LEAD
        self.settle(receiver, FAILED, at=at + offset)
        if local:
            assert await sender.queue(post, at=at) == (0, 0)
        else:
            self.report(sender, FAILED, at=at)
        await self.demand(receiver, [Want(recv.context, status=FAILED)])
        await self.demand_results(sender, [post], INVALID_TOKEN if local else FAILED)
        ends = sorted((qp.number, QpState.ERROR) for qp in (receiver, sender))
        assert sorted(self.terms(mark)) == ends, f"offset {offset}: {self.terms(mark)}"
        for qp in (receiver, sender):
            await self.demand_state(qp, QpState.ERROR)
            await self.revive(qp)
