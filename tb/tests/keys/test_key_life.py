# SPDX-License-Identifier: Apache-2.0
"""Lives of keys: generations, old keys refused everywhere, commands with every result in their
order, objects that others use, and closing, deregistering and destroying in every state.
"""

from __future__ import annotations

from itertools import product

import pyuvm

from tb.env.defs import Cause, Cmd, Opcode, Result, Right
from tb.env.host.qp import Qp
from tb.env.host.regions import KeyStatus, MemoryWindow, Region
from tb.tests.common.engine import (
    BAD_KEY,
    BAD_MEMORY,
    BAD_TOKEN,
    GENERATION,
    GRANTED,
    INVALID_TOKEN,
    READ,
    WINDOW,
    WRITE,
    EngineTest,
    Keyed,
    bad_token,
    received,
    segment,
)
from tb.tests.common.posting import OK
from tb.tests.common.receiving import TAKEN

BUILD = ["engine", "engine_small"]

#: Of a request, around DESTROY_QP.
OFFSETS = range(-14, 26)


@pyuvm.test()
class OldKeysTest(EngineTest):
    """Keys of regions by REGISTER_MR, ALLOC_MR and FastRegister, after each way to end (MW-11);
    keys of windows after invalidation by a request and by a peer, after CLOSE_MW, and of the window
    that has its number next.
    """

    async def scenario(self) -> None:
        self.qp_ = await self.guarded()
        self.live = await self.memory(64)
        await self.of_region()
        await self.of_window()

    async def of_region(self) -> None:
        qp, live, region = self.qp_, self.live, await self.memory(64)
        keys = [region.key]
        await self.renew(region)
        keys.append(region.key)
        for _ in range(2):
            keys.append(await self.fast_register(region, qp))
            await self.invalidate(qp, region.key)
        keys.append(await self.fast_register(region, qp))
        await self.demand_verdict(qp, BAD_KEY, READ, keys[-2], region.base, 8)
        await region.deregister()
        await region.register()
        # Each step has given the next generation, and never one again.
        assert [*keys, region.key] == [keys[0] + n * GENERATION for n in range(6)], keys
        for key in keys:
            await self.refused_everywhere(qp, key, live)
        await self.demand_verdict(qp, BAD_KEY, READ, keys[-1], region.base, 8)
        status = await region.query()
        assert (status.key, status.valid, status.allocated) == (region.key, True, False), status
        # With the bit of windows, its generation right.
        await self.no_buffer(qp, live, live.key | WINDOW)

    async def of_window(self) -> None:
        qp, live, window = self.qp_, self.live, await self.window()
        keys = [window.key]
        keys.append(await self.bind(window, qp, live))
        await self.invalidate(qp, window.key)
        keys.append(await self.bind(window, qp, live))
        (cookie,) = await self.post_buffers(qp, live)
        await self.deliver(qp, window.key, received(cookie, window.key))
        keys.append(await self.bind(window, qp, live))
        await self.renew(window)
        keys.append(window.key)
        await self.bind(window, qp, live)
        assert keys == [keys[0] + n * GENERATION for n in range(5)], keys
        for key in keys:
            await self.refused_everywhere(qp, key, live)
        await self.demand_verdict(qp, GRANTED, READ, window.key, live.base, 8)

    async def refused_everywhere(self, qp: Qp, key: int, region: Region) -> None:
        """A key that was once valid opens nothing: checks, Bind and FastRegister with it as target,
        Bind with it as memory, Invalidate, a peer's invalidation, a receive's buffer.
        """
        for kind in (READ, WRITE):
            await self.demand_verdict(qp, BAD_KEY, kind, key, region.base, 8)
        for opcode in (Opcode.BIND, Opcode.FAST_REGISTER):
            post = qp.make(opcode, segments=[region.segment(0, 8)], token=key, flags=0x38)
            await self.fails(qp, post, INVALID_TOKEN)
        await self.fails(qp, qp.make(Opcode.INVALIDATE, token=key), INVALID_TOKEN)
        if not key & WINDOW:
            window = await self.window()
            post = window.make_bind(qp, region, segments=[segment(region, 0, 8, key)])
            await self.fails(qp, post, BAD_MEMORY)
            await window.close()
            await self.no_buffer(qp, region, key)
        await self.refuse_token(qp, region, key)

    async def no_buffer(self, qp: Qp, region: Region, key: int) -> None:
        result = await qp.post_recv([segment(region, 0, 8, key)])
        assert result.cause == Cause.BAD_REGION, result


@pyuvm.test()
class NextKeyTest(EngineTest):
    """MW-10: two messages in consecutive cycles invalidate two keys: both do, whatever their
    numbers, a region's or a window's; of two that invalidate the same key the second one fails,
    some cycles later, too.
    """

    async def scenario(self) -> None:
        self.qp_, self.target = await self.guarded(), await self.memory(256)
        windows = [await self.window() for _ in range(min(4, self.config.num_mw))]
        regions = [await self.allocated(256) for _ in range(min(3, self.config.num_mr - 1))]
        keyed: list[Keyed] = [*windows, *regions]
        for first, second in product(keyed, repeat=2):
            await self.messages(first, second, 1)
        for gap in range(2, 13):
            await self.messages(windows[0], windows[0], gap)

    async def messages(self, first: Keyed, second: Keyed, gap: int) -> None:
        qp = self.qp_
        for one in {first, second}:
            await self.make_valid(one, qp, self.target)
        cookies = await self.post_buffers(qp, self.target, 2)
        start, keys = self.harness.cycle + 64, (first.key, second.key)
        pending = [self.send_invalidate(qp, k, at=start + n * gap) for n, k in enumerate(keys)]
        entries = [received(cookie, key) for cookie, key in zip(cookies, keys, strict=True)]
        if first is second:
            entries[1] = bad_token(cookies[1], keys[1])
        await self.answers(pending, TAKEN, BAD_TOKEN if first is second else TAKEN)
        self.settle(qp, OK, OK)
        await self.demand(qp, entries)
        for one in (first, second):
            assert not (await one.refresh()).valid, f"{one.key:#x}"
        await self.revive(qp)


# -- commands --------------------------------------------------------------------------------------


@pyuvm.test()
class CommandsTest(EngineTest):
    """Every command of keys with every result, and pairs for their order. A window is created
    invalid, bound to nothing (MW-01), in a zone of its own.
    """

    async def scenario(self) -> None:
        region, allocated = await self.memory(64), await self.allocated()
        qp = await self.guarded()
        windows = [await self.window(zone=0xFFFF - n) for n in range(4)]
        for n, window in enumerate(windows):
            assert window.key == GENERATION | WINDOW | n
            status = await window.query()
            assert status == KeyStatus(window.key, 0, 0, 0xFFFF - n, Right(0)), status
            for kind in (READ, WRITE):
                await self.demand_verdict(qp, BAD_KEY, kind, window.key, 0, 8)
        for window in windows:
            await window.close()
        window = await self.window()
        mr, mw, free = self.config.num_mr, self.config.num_mw, 3
        for code, used, beyond in (
            (Cmd.ALLOC_MR, (region, allocated), (mr, WINDOW, 1 << 31)),
            (Cmd.CREATE_MW, (window,), (mw, WINDOW, 0xFFFF_FFFF)),
        ):
            rows = [(keyed.number, Result.EXISTS) for keyed in used]
            for number, wanted in (*rows, *((n, Result.BAD_OBJECT) for n in beyond)):
                assert await self.result(code, number, 7, 7, 0, 0, 0) == wanted
                for word in (1 << 16, 1 << 31):
                    assert await self.result(code, number, 7, 7, 0, 0, word) == Result.RESERVED
        for code in (Cmd.CLOSE_MW, Cmd.QUERY_MW, Cmd.DEREGISTER_MR, Cmd.QUERY_MR):
            assert await self.result(code, free) == Result.NO_OBJECT
            most = mw if code in (Cmd.CLOSE_MW, Cmd.QUERY_MW) else mr
            for number in (most, 1 << 31 | window.number):
                assert await self.result(code, number) == Result.BAD_OBJECT
        for unknown in (0x44, 0x45, 0x46, 0x47, 0x4B, 0x4C, 0x4D, 0x4E, 0x50):
            assert await self.result(unknown, 0) == Result.UNKNOWN
        # A number is free again after the end of its object.
        await allocated.deregister()
        await window.close()
        assert await self.result(Cmd.CLOSE_MW, window.number) == Result.NO_OBJECT
        await window.create()
        await allocated.register()
        await self.bind(window, qp, allocated)


@pyuvm.test()
class BusyTest(EngineTest):
    """MW-11: a region of each kind, to which every window that there is gets bound, is not
    deregistered; the number of windows is shown; it goes as soon as the last one is invalid or
    closed. A window that is closed when it is invalid is bound to nothing.
    """

    async def scenario(self) -> None:
        qp = await self.guarded()
        windows = [await self.window() for _ in range(self.config.num_mw)]
        for make in (self.memory, self.allocated):
            region = await make(4096)
            if make == self.allocated:
                await self.fast_register(region, qp)
            for n, window in enumerate(windows):
                await self.bind(window, qp, region, 16 * n, 16)
                await self.bound(region, n + 1)
            for n, window in enumerate(windows[:-1]):
                await (window.close() if n % 2 else self.invalidate(qp, window.key))
                await self.bound(region, len(windows) - n - 1)
            for window in windows[:-1:2]:
                await window.close()
            await self.bound(region, 1)
            last = windows[-1]
            at = region.base + 16 * len(windows) - 16
            await self.demand_verdict(qp, GRANTED, READ, last.key, at, 16)
            if make == self.allocated:
                await self.invalidate(qp, last.key)
                await self.bound(region, 0)
            else:
                await last.close()
                await self.bound(region, 0)
                for window in windows:
                    await window.create()
        await self.remove(qp)

    async def bound(self, region: Region, count: int) -> None:
        """So many windows are bound to it."""
        assert (await region.query()).windows == count
        if count:
            assert await self.result(Cmd.DEREGISTER_MR, region.number) == Result.BUSY
        else:
            await region.deregister()


@pyuvm.test()
class ResetWithKeysTest(EngineTest):
    """MW-03, MW-11: windows are bound, each to another region and valid on another queue pair; a
    reset later each queue pair and each region that is made again can go at once.
    """

    async def scenario(self) -> None:
        config = self.config
        count = min(config.num_qp, config.num_mr, config.num_mw)
        for shift in range(3):
            qps, regions = await self.life(count)
            # Numbers are given in order: another region for each queue pair.
            for n, qp in enumerate(qps):
                await self.bind(await self.window(), qp, regions[(n + shift) % count])
            assert [(await region.query()).windows for region in regions] == [1] * count
            await self.rest()
            await self.start_over()
            qps, regions = await self.life(count)
            for region in regions:
                assert (await region.query()).windows == 0
                await region.deregister()
            for qp in qps:
                await qp.destroy()
            await self.start_over()

    async def life(self, count: int) -> tuple[list[Qp], list[Region]]:
        """Queue pairs with one CQ, and regions, from the lowest numbers on."""
        qps = await self.sharing(count)
        regions = [await self.memory() for _ in range(count)]
        for objects in (qps, regions):
            assert sorted(one.number for one in objects) == list(range(count))
        return qps, regions


@pyuvm.test()
class DestroyedTest(EngineTest):
    """At no offset is anything valid on a queue pair that does not exist: Bind and FastRegister
    around DESTROY_QP; then a silent Bind, while the steps of DESTROY_QP
    have to wait for failing ones of all other QPs, in consecutive cycles.
    """

    max_cycles = 4_000_000

    async def scenario(self) -> None:
        self.target = await self.memory(256)
        self.ends: set[tuple[Result, bool]] = set()
        window = await self.window()
        for keyed in (window, await self.allocated(256)):
            for offset in OFFSETS:
                await self.trial(keyed, offset)
        # Both orders were seen.
        assert {(Result.OK, False), (Result.PENDING, False)} & self.ends, self.ends
        others = await self.sharing(self.config.num_qp - 1, recv_depth=0)
        for offset in OFFSETS:
            for delay in range(0, 28, 3):
                await self.trial(window, offset, tuple(others), delay)

    async def trial(
        self, keyed: Keyed, offset: int, others: tuple[Qp, ...] = (), delay: int = 0
    ) -> None:
        qp = await self.guarded(recv_depth=0, number=self.config.num_qp - 1)
        await self.rest(16)
        start = self.harness.cycle + 240
        silent = bool(others)
        if isinstance(keyed, MemoryWindow):
            post = keyed.make_bind(qp, self.target, silent=silent)
        else:
            post = keyed.make_fast_register(qp, silent=silent)
        task = self.command_at(start, Cmd.DESTROY_QP, qp.number)
        answer = qp.queue(post, at=start + offset)
        for n, other in enumerate(others):
            self.post_check(other, READ, 0, 0, 1, at=None if n else start + delay)
        result = Result((await task).result)
        await answer
        await self.rest(32)
        status = await keyed.refresh()
        self.ends.add((result, status.valid))
        exists = await self.result(Cmd.QUERY_QP, qp.number) == Result.OK
        where = f"offset {offset}, delay {delay}: {result.name}, {status}"
        assert exists or not status.valid, f"valid on a queue pair that does not exist: {where}"
        assert result != Result.OK or not exists, where
        if status.valid:
            assert await self.result(Cmd.DESTROY_QP, qp.number) == Result.IN_USE, where
            await self.renew(keyed)
        found = qp.cq.get_cq_results_ex()
        await qp.cq.update_consumer_index()
        assert len(found) <= 1, where
        if await self.result(Cmd.QUERY_QP, qp.number) == Result.OK:
            await qp.destroy()
        else:
            self.env.host.qps.pop(qp.number, None)
        await qp.cq.destroy()
        for other in others:
            await self.revive(other)
