# SPDX-License-Identifier: Apache-2.0
"""Requests that change keys: nothing after a failing one is indicated; Reads that invalidate when
they retire; queue pairs that are not guarded.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pyuvm

from models.post.post import Post, Segment
from models.verbs import VERBS
from tb.env.defs import POST, TRC_BIND, WORK_USER, Opcode, QpState, Right, TraceOp
from tb.env.harness.harness import Channel
from tb.tests.common.engine import (
    ALL,
    GRANTED,
    INVALID_TOKEN,
    OTHER_ZONE,
    READ,
    ZONE,
    EngineTest,
    Keyed,
)
from tb.tests.common.posting import CANCELED, FAILED, OK

BUILD = ["engine", "engine_small"]

#: Steps of local requests that change keys.
BY_OPCODE = {code: TraceOp[Opcode(code).name] for code, verb in VERBS.items() if verb.changes_keys}
LOCAL_OPS = tuple(BY_OPCODE.values())
#: Operand of the step of a Read that invalidates.
BY_READ = 1 << 9


class OrderTest(EngineTest):
    async def set_up(self) -> None:
        self.qp_ = await self.guarded()
        self.target = await self.memory(256)
        self.windows = [await self.window() for _ in range(2)]
        self.fast = await self.allocated(256)


@pyuvm.test()
class FailingInBatchTest(OrderTest):
    """A local request that fails at each place of a batch that was held: what is before it goes
    on, nothing after it is indicated or executed.
    """

    async def scenario(self) -> None:
        await self.set_up()
        qp, window = self.qp_, self.windows[0]
        for place, kind, silent in product(range(4), BY_OPCODE, (False, True)):
            await self.revive(qp)
            bad = qp.make(kind, token=0, segments=[], silent=silent, defer=place < 3)
            posts = [self.write_post(qp, defer=n < 3) for n in range(4)]
            posts[place] = bad
            if place < 3:
                # After it one that would succeed.
                posts[3] = window.make_bind(qp, self.target)
            await self.rest(32)
            mark, before = self.mark, await window.query()
            await self.accept(qp, posts)
            await self.rest()
            remote = [b for b in self.beats(qp, mark) if not WORK_USER["local"].get(b.user)]
            contexts = [POST["context"].get(beat.data) for beat in remote]
            assert contexts == [post.context for post in posts[:place]]
            assert self.terms(mark) == [(qp.number, int(QpState.ERROR))]
            await self.demand_state(qp, QpState.ERROR)
            assert await window.query() == before
            steps = [t for op in LOCAL_OPS for t in self.key_steps(op, mark)]
            assert [TRC_BIND["status"].get(s.operand) for s in steps] == [INVALID_TOKEN]
            if place:
                self.report(qp, *[OK] * place)
            statuses = [OK] * place + [INVALID_TOKEN] + [CANCELED] * (3 - place)
            await self.demand_results(qp, posts, *statuses)


@pyuvm.test()
class ReadInvalidateTest(OrderTest):
    """Read with RDMA_READ_LOCAL_INVALIDATE: the key of its first segment is invalidated when it
    retires with success, and not before; every key that is not this QP's fails it. A Read without
    the flag invalidates nothing.
    """

    async def scenario(self) -> None:
        await self.set_up()
        qp, window = self.qp_, self.windows[0]
        other = await self.guarded()
        far, its = self.windows[1], await self.allocated(64)
        await self.bind(far, other, self.target)
        await self.fast_register(its, other)
        for keyed in (window, self.fast):
            for silent in (False, True):
                key = await self.make_valid(keyed, qp, self.target)
                post = self.read_of(qp, self.target, key, silent=silent)
                mark = self.mark
                await self.accept(qp, [post])
                await self.rest()
                assert (await keyed.query()).valid
                assert self.key_steps(TraceOp.INVALIDATE, mark) == []
                self.report(qp)
                await self.demand_results(qp, [] if silent else [post], OK)
                (step,) = self.key_steps(TraceOp.INVALIDATE, mark)
                assert (step.operand, step.cq) == (BY_READ, qp.number)
                assert not (await keyed.refresh()).valid
                # Once more: invalid now.
                await self.ends(self.read_of(qp, self.target, key, silent=silent))
            await self.spared(keyed, await self.make_valid(keyed, qp, self.target))
        for key in (far.key, its.key, self.target.key, 0, 0xFFFF_FFFF):
            await self.ends(self.read_of(qp, self.target, key))
        assert (await far.query()).valid and (await its.query()).valid

    async def spared(self, keyed: Keyed, key: int) -> None:
        """Reads that do not invalidate a key, and one that does."""
        qp = self.qp_
        read = self.read_of(qp, self.target, key)
        # Nor does one after it.
        posts = [read, self.read_of(qp, self.target, key)]
        await self.accept(qp, posts)
        await self.rest()
        self.report(qp, FAILED, CANCELED)
        await self.demand_results(qp, posts, FAILED, CANCELED)
        assert (await keyed.query()).valid
        await self.revive(qp)
        # Only the first segment's key counts; without segments none does.
        first = [Segment(self.target.base, 8, self.target.key), Segment(0, 8, key)]
        await self.ends(self.read_of(qp, self.target, 0, segments=first))
        await self.ends(replace(read, num_segments=0))
        await self.read(qp, replace(read, flags=0))
        assert (await keyed.query()).valid
        last = [Segment(0, 8, key), Segment(0, 8, 0)]
        await self.read(qp, self.read_of(qp, self.target, 0, segments=last))
        assert not (await keyed.query()).valid

    async def ends(self, post: Post) -> None:
        """It completes with INVALID_TOKEN and ends the connection; what is after it: CANCELED."""
        qp = self.qp_
        behind = self.write_post(qp)
        await self.accept(qp, [post, behind])
        await self.rest()
        mark = self.mark
        self.report(qp, OK)
        await self.rest()
        assert self.terms(mark) == [(qp.number, int(QpState.ERROR))]
        self.report(qp, CANCELED)
        await self.demand_results(qp, [post, behind], INVALID_TOKEN, CANCELED)
        await self.demand_state(qp, QpState.ERROR)
        await self.revive(qp)


@pyuvm.test()
class ReadKeyBitsTest(OrderTest):
    """A Read that names the key of a window or region, but for one bit, whichever, or its old key,
    fails and invalidates nothing.
    """

    async def scenario(self) -> None:
        await self.set_up()
        for keyed in (self.fast, self.windows[0]):
            old = await self.make_valid(keyed, self.qp_, self.target)
            await self.invalidate(self.qp_, old)
            key = await self.make_valid(keyed, self.qp_, self.target)
            for token in (*(key ^ 1 << bit for bit in range(32)), old):
                await self.read(self.qp_, self.read_of(self.qp_, self.target, token), INVALID_TOKEN)
                assert (await keyed.query()).valid, f"{token:#x}"
            await self.refuse_token(self.qp_, self.target, old)
            await self.read(self.qp_, self.read_of(self.qp_, self.target, key))
            assert not (await keyed.query()).valid


@pyuvm.test()
class HeldReadInvalidateTest(OrderTest):
    """A Read after any number of completions that memory takes slowly, so that it waits between
    the end of its key and its own: the key is invalidated once, and the Read succeeds.
    """

    async def scenario(self) -> None:
        await self.set_up()
        qp, window = self.qp_, self.windows[0]
        fillers = [await self.qp() for _ in range(2)]
        depth = fillers[0].depth
        for ahead in range(2 * depth + 1):
            read = self.read_of(qp, self.target, await self.bind(window, qp, self.target))
            await self.accept(qp, [read])
            counts = [min(ahead, depth), max(ahead - depth, 0)]
            posts = [
                await self.accept(filler, [self.write_post(filler) for _ in range(count)])
                for filler, count in zip(fillers, counts, strict=True)
            ]
            await self.rest()
            mark = self.mark
            self.harness.stall(Channel.MEM_AW, 0.8, seed=self.env.seed + ahead)
            for filler, count in zip(fillers, counts, strict=True):
                if count:
                    self.report(filler, *[OK] * count)
            await self.harness.cycles(20)
            self.report(qp)
            await self.harness.cycles(200)
            self.harness.stall(Channel.MEM_AW, 0.0)
            await self.demand_results(qp, [read], OK)
            for filler, made in zip(fillers, posts, strict=True):
                await self.demand_results(filler, made, OK)
            (step,) = self.key_steps(TraceOp.INVALIDATE, mark)
            assert (step.operand, step.cq) == (BY_READ, qp.number)
            assert not (await window.refresh()).valid


@pyuvm.test()
class UnguardedTest(EngineTest):
    """A QP that is not guarded: its local requests succeed whatever they name, and whatever failed
    on another QP, and change nothing; its Reads invalidate nothing.
    """

    async def scenario(self) -> None:
        qp = await self.qp(zone=ZONE, recv_depth=4)
        guarded = await self.guarded()
        region, fast, window = await self.memory(64), await self.allocated(64), await self.window()
        other = await self.window(zone=OTHER_ZONE)
        await self.bind(window, guarded, region, rights=Right.REMOTE_READ)
        await self.fails(guarded, guarded.make(Opcode.INVALIDATE, token=0), INVALID_TOKEN)
        watched: tuple[Keyed, ...] = (region, fast, window, other)
        before = [await keyed.query() for keyed in watched]
        mark = self.mark
        for post in (
            other.make_bind(qp, region),
            window.make_bind(qp, region),
            fast.make_fast_register(qp, rights=ALL),
            qp.make(Opcode.FAST_REGISTER, token=0),
            qp.make(Opcode.INVALIDATE, token=window.key),
            qp.make(Opcode.INVALIDATE, token=0),
            qp.make(Opcode.BIND, token=0),
        ):
            await self.execute(qp, post)
        await self.read(qp, self.read_of(qp, region, window.key))
        assert [await keyed.query() for keyed in watched] == before
        assert [op for op in LOCAL_OPS if self.key_steps(op, mark)] == []
        await self.demand_verdict(guarded, GRANTED, READ, window.key, region.base, 8)
        assert await self.env.host.counter("INVALIDATED") == 0
