# SPDX-License-Identifier: Apache-2.0
"""Requests that change keys take effect in their place: between remote ones, held ones;
nothing behind a failing one is indicated; Reads that invalidate when they retire.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import pyuvm

from models.post.post import Post, Segment
from models.verbs import VERBS
from tb.env.defs import POST, TRC_BIND, WORK_USER, Opcode, PostFlag, QpState, Right, TraceOp
from tb.env.harness.harness import Channel
from tb.env.host.qp import Qp
from tb.env.host.regions import Region
from tb.env.host.windows import MemoryWindow
from tb.tests.common.posting import CANCELED, FAILED, OK
from tb.tests.common.windowing import (
    ALL,
    GENERATION,
    GRANTED,
    INVALID_TOKEN,
    OTHER_ZONE,
    READ,
    ZONE,
    WindowTest,
)

BUILD = ["engine", "engine_small"]

#: Steps of local requests that change keys.
BY_OPCODE = {code: TraceOp[Opcode(code).name] for code, verb in VERBS.items() if verb.changes_keys}
LOCAL_OPS = tuple(BY_OPCODE.values())


class OrderTest(WindowTest):
    async def set_up(self) -> None:
        self.qp_ = await self.guarded()
        self.target = await self.memory(256)
        self.windows = [await self.window() for _ in range(2)]
        self.fast = await self.allocated(256)

    def demand_in_place(self, qp: Qp, posts: list[Post], mark: int) -> None:
        """Indicated in order; each local one takes effect behind the one before it and ahead of the
        one behind it.
        """
        beats = self.beats(qp, mark)
        assert [POST["context"].get(b.data) for b in beats] == [p.context for p in posts]
        steps = [t for op in LOCAL_OPS for t in self.key_steps(op, mark) if t.cq == qp.number]
        steps.sort(key=lambda t: t.cycle)
        local = [n for n, post in enumerate(posts) if post.opcode in BY_OPCODE]
        assert [s.op for s in steps] == [BY_OPCODE[posts[n].opcode] for n in local]
        for n, step in zip(local, steps, strict=True):
            assert all(beat.cycle <= step.cycle for beat in beats[:n]), (n, step)
            assert all(step.cycle <= beat.cycle for beat in beats[n + 1 :]), (n, step)
            # The steps of the one before have been made before.
            before = [b for b in local if b < n]
            assert not before or steps[len(before) - 1].cycle < step.cycle


@pyuvm.test()
class MixedOrderTest(OrderTest):
    """Every pattern of local and remote requests: Bind, Invalidate, FastRegister of one object one
    after the other succeed only in their order.
    """

    async def scenario(self) -> None:
        await self.set_up()
        qp = self.qp_
        for pattern in product((False, True), repeat=4):
            posts, remote, key = [], 0, self.windows[0].key
            bound = False
            for local in pattern:
                if not local:
                    remote += 1
                    posts.append(self.write_post(qp))
                elif bound:
                    posts.append(qp.make(Opcode.INVALIDATE, token=key))
                    bound = False
                else:
                    posts.append(self.windows[0].make_bind(qp, self.target, token=key))
                    key += GENERATION
                    bound = True
            await self.run_all(posts, remote)
            status = await self.windows[0].refresh()
            assert (status.key, status.valid) == (key, bound)
            if bound:
                await self.invalidate(qp, key)
        key = self.fast.key
        posts = [
            self.fast.make_fast_register(qp),
            self.windows[0].make_bind(
                qp, self.fast, segments=[Segment(self.fast.base, 8, key + GENERATION)]
            ),
            qp.make(Opcode.INVALIDATE, token=self.windows[0].key + GENERATION),
            qp.make(Opcode.INVALIDATE, token=key + GENERATION),
        ]
        await self.run_all(posts, 0)
        await self.fast.refresh()
        await self.windows[0].refresh()

    async def run_all(self, posts: list[Post], remote: int) -> None:
        await self.rest(32)
        mark = self.mark
        await self.accept(self.qp_, posts)
        await self.rest(32)
        self.demand_in_place(self.qp_, posts, mark)
        if remote:
            self.report(self.qp_, *[OK] * remote)
        await self.demand_results(self.qp_, posts, *[OK] * len(posts))


@pyuvm.test()
class FailingInBatchTest(OrderTest):
    """A local request that fails at each place of a batch that was held: what is before it goes
    on, nothing behind it is indicated or executed.
    """

    async def scenario(self) -> None:
        await self.set_up()
        qp, window = self.qp_, self.windows[0]
        for place, kind, silent in product(range(4), BY_OPCODE, (False, True)):
            await self.revive(qp)
            bad = qp.make(kind, token=0, segments=[], silent=silent)
            posts = [self.write_post(qp, defer=n < 3) for n in range(4)]
            posts[place] = Post.decode(bad.encode() | (PostFlag.DEFER << 16 if place < 3 else 0))
            if place < 3:
                # Behind it one that would succeed.
                posts[3] = window.make_bind(qp, self.target)
            await self.rest(32)
            mark, before = self.mark, await window.query()
            await self.accept(qp, posts)
            await self.rest()
            remote = [b for b in self.beats(qp, mark) if not WORK_USER["local"].get(b.user)]
            assert [POST["context"].get(b.data) for b in remote] == [
                post.context for post in posts[:place]
            ]
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
    retires with success, and not before; every key that is not this QP's fails it.
    """

    async def scenario(self) -> None:
        await self.set_up()
        qp, window = self.qp_, self.windows[0]
        other = await self.guarded()
        far = self.windows[1]
        await self.bind(far, other, self.target)
        for keyed in (window, self.fast):
            for silent in (False, True):
                key = await self.make_valid(keyed)
                post = self.read_of(qp, key, silent=silent)
                mark = self.mark
                await self.accept(qp, [post])
                await self.rest()
                assert (await keyed.query()).valid
                assert self.key_steps(TraceOp.INVALIDATE, mark) == []
                self.report(qp)
                await self.demand_results(qp, [] if silent else [post], OK)
                (step,) = self.key_steps(TraceOp.INVALIDATE, mark)
                assert (step.operand, step.cq) == (1 << 9, qp.number)
                assert not (await keyed.refresh()).valid
                # Once more: invalid now.
                await self.fails(self.read_of(qp, key, silent=silent))
            key = await self.make_valid(keyed)
            # A Read that fails invalidates nothing, nor does one behind it.
            posts = [self.read_of(qp, key), self.read_of(qp, key)]
            await self.accept(qp, posts)
            await self.rest()
            self.report(qp, FAILED, CANCELED)
            await self.demand_results(qp, posts, FAILED, CANCELED)
            assert (await keyed.query()).valid
            await self.revive(qp)
            # Only the first segment's key counts.
            first = [Segment(self.target.base, 8, self.target.key), Segment(0, 8, key)]
            await self.fails(self.read_of(qp, 0, segments=first))
            assert (await keyed.query()).valid
            post = self.read_of(qp, 0, segments=[Segment(0, 8, key), Segment(0, 8, 0)])
            await self.accept(qp, [post])
            await self.rest()
            self.report(qp)
            await self.demand_results(qp, [post], OK)
            assert not (await keyed.query()).valid
        for key in (far.key, self.target.key, 0, 0xFFFF_FFFF):
            await self.fails(self.read_of(qp, key))
        assert (await far.query()).valid

    async def make_valid(self, keyed: MemoryWindow | Region) -> int:
        if isinstance(keyed, Region):
            return await self.fast_register(keyed, self.qp_)
        return await self.bind(keyed, self.qp_, self.target)

    def read_of(self, qp: Qp, key: int, **fields: Any) -> Post:
        fields.setdefault("segments", [Segment(self.target.base, 8, key)])
        return qp.make(
            Opcode.READ,
            target=Segment(self.target.base, 0, 1),
            flags=PostFlag.RDMA_READ_LOCAL_INVALIDATE,
            **fields,
        )

    async def fails(self, post: Post) -> None:
        """It completes with INVALID_TOKEN and ends the connection; what is behind it: CANCELED."""
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
class HeldReadInvalidateTest(ReadInvalidateTest):
    """The same behind any number of completions that memory takes slowly, so that the Read's waits
    between the end of its key and its own: the key is invalidated once, and the Read succeeds.
    """

    async def scenario(self) -> None:
        await self.set_up()
        qp, window = self.qp_, self.windows[0]
        fillers = [await self.qp() for _ in range(2)]
        depth = fillers[0].depth
        for ahead in range(2 * depth + 1):
            key = await self.make_valid(window)
            read = self.read_of(qp, key)
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
            assert (step.operand, step.cq) == (1 << 9, qp.number)
            assert not (await window.refresh()).valid


@pyuvm.test()
class ReadWithoutFlagTest(OrderTest):
    """A Read without the flag invalidates nothing."""

    async def scenario(self) -> None:
        await self.set_up()
        qp, window = self.qp_, self.windows[0]
        key = await self.bind(window, qp, self.target)
        post = qp.make(Opcode.READ, target=Segment(0, 0, 1), segments=[Segment(0, 8, key)])
        await self.accept(qp, [post])
        await self.rest()
        self.report(qp)
        await self.demand_results(qp, [post], OK)
        assert (await window.query()).valid


@pyuvm.test()
class UnguardedTest(WindowTest):
    """A QP that is not guarded: its local requests succeed whatever they name and change nothing,
    its Reads invalidate nothing.
    """

    async def scenario(self) -> None:
        qp = await self.qp(zone=ZONE, recv_depth=4)
        guarded = await self.guarded()
        region, fast, window = await self.memory(64), await self.allocated(64), await self.window()
        other = await self.window(zone=OTHER_ZONE)
        await self.bind(window, guarded, region, rights=Right.REMOTE_READ)
        regions, windows = [region, fast], [window, other]
        before = await self.look(regions, windows)
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
        read = qp.make(
            Opcode.READ,
            target=Segment(0, 0, 1),
            segments=[Segment(0, 8, window.key)],
            flags=PostFlag.RDMA_READ_LOCAL_INVALIDATE,
        )
        await self.accept(qp, [read])
        await self.rest()
        self.report(qp)
        await self.demand_results(qp, [read], OK)
        assert await self.look(regions, windows) == before
        assert [op for op in LOCAL_OPS if self.key_steps(op, mark)] == []
        await self.demand_verdict(guarded, GRANTED, READ, window.key, region.base, 8)
        assert await self.env.host.counter("INVALIDATED") == 0
