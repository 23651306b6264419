# SPDX-License-Identifier: Apache-2.0
"""Lives of keys: generations, old keys refused everywhere, commands with every result in their
order, objects that others use, and closing, deregistering and destroying in every state.
"""

from __future__ import annotations

import pyuvm

from tb.env.defs import Cause, Cmd, Opcode, QpState, Result, Right, Verdict
from tb.env.host.qp import Qp
from tb.env.host.regions import Region
from tb.env.host.windows import MemoryWindow
from tb.tests.common.windowing import (
    BAD_KEY,
    BAD_MEMORY,
    BAD_TOKEN,
    GENERATION,
    GRANTED,
    INVALID_TOKEN,
    READ,
    WINDOW,
    WRITE,
    WindowTest,
    bad_token,
    segment,
)

BUILD = ["engine", "engine_small"]


class LifeTest(WindowTest):
    async def refused_everywhere(self, qp: Qp, key: int, region: Region) -> None:
        """A key that was once valid opens nothing: checks, Bind and FastRegister with it as target,
        Bind with it as memory, Invalidate, Read with local invalidate, a peer's invalidation, a
        receive's buffer.
        """
        for kind in (READ, WRITE):
            await self.demand_verdict(qp, BAD_KEY, kind, key, region.base, 8)
        part = segment(region, 0, 8)
        for opcode in (Opcode.BIND, Opcode.FAST_REGISTER):
            post = qp.make(opcode, segments=[part], token=key, flags=0x38)
            await self.execute(qp, post, INVALID_TOKEN)
            await self.revive(qp)
        await self.invalidate(qp, key, INVALID_TOKEN)
        await self.revive(qp)
        if not key & WINDOW:
            window = await self.window()
            post = window.make_bind(qp, region, segments=[segment(region, 0, 8, key)])
            await self.execute(qp, post, BAD_MEMORY)
            await self.revive(qp)
            await window.close()
            result = await qp.post_recv([segment(region, 0, 8, key)])
            assert result.cause == Cause.BAD_REGION, result
        (cookie,) = await self.supply_zone(qp, region)
        await self.answers([self.send_invalidate(qp, key)], BAD_TOKEN)
        self.settle(qp)
        await self.demand_entries(qp, [bad_token(cookie, key)])
        await self.demand_state(qp, QpState.ERROR)
        await self.revive(qp)

    async def supply_zone(self, qp: Qp, _: Region) -> list[int]:
        """One buffer without segments would be too short: of one byte, in a region of its own."""
        buffer = await self.memory(64)
        post = qp.make_recv([buffer.segment(0, 8)])
        assert await qp.queue_recv(post) == (0, Cause.NONE)
        await buffer.deregister()
        return [post.context]


@pyuvm.test()
class OldRegionKeysTest(LifeTest):
    """Keys of regions by REGISTER_MR, ALLOC_MR and FastRegister, after each way to end (MW-11)."""

    async def scenario(self) -> None:
        qp = await self.guarded()
        live = await self.memory(64)
        keys = []
        region = await self.memory(64)
        keys.append(region.key)
        await region.deregister()
        await region.allocate()
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


@pyuvm.test()
class OldWindowKeysTest(LifeTest):
    """Keys of windows after invalidation by a request and by a peer, after CLOSE_MW, and of the
    window that has its number next.
    """

    async def scenario(self) -> None:
        qp = await self.guarded()
        live = await self.memory(64)
        window = await self.window()
        keys = [window.key]
        keys.append(await self.bind(window, qp, live))
        await self.invalidate(qp, window.key)
        keys.append(await self.bind(window, qp, live))
        await self.supply_zone(qp, live)
        await self.answers([self.send_invalidate(qp, window.key)], 0)
        self.settle(qp)
        await qp.recv_cq.wait_results(1)
        await qp.recv_cq.update_consumer_index()
        keys.append(await self.bind(window, qp, live))
        await window.close()
        assert await window.create() == keys[-1] + GENERATION
        keys.append(window.key)
        await self.bind(window, qp, live)
        assert keys == [keys[0] + n * GENERATION for n in range(5)], keys
        for key in keys:
            await self.refused_everywhere(qp, key, live)
        await self.demand_verdict(qp, GRANTED, READ, window.key, live.base, 8)


@pyuvm.test()
class CreateTest(WindowTest):
    """A window is created invalid, bound to nothing (MW-01); a zone of its own."""

    allow = ("no_doorbells",)

    async def scenario(self) -> None:
        qp = await self.guarded()
        region = await self.memory(64)
        windows = []
        for number in range(self.config.num_mw if self.config.num_mw <= 4 else 4):
            window = await self.window(zone=0xFFFF - number)
            windows.append(window)
            status = await window.query()
            assert status == (window.key, 0, 0, 0xFFFF - number, Right(0), 0, False, 0), status
            assert window.key & 0xFFF == WINDOW | number
            assert window.key >> 12 == 1
            for kind in (READ, WRITE):
                await self.demand_verdict(qp, BAD_KEY, kind, window.key, region.base, 8)
        for window in windows:
            await window.close()
        assert await self.result(Cmd.QUERY_MW, 0) == Result.NO_OBJECT


@pyuvm.test()
class CommandsTest(WindowTest):
    """Every command of keys with every result, and pairs for their order."""

    async def scenario(self) -> None:
        region, allocated, window = (
            await self.memory(64),
            await self.allocated(),
            await self.window(),
        )
        mr, mw = self.config.num_mr, self.config.num_mw
        free = 3
        reserved = 1 << 16
        for number, wanted in (
            (region.number, Result.EXISTS),
            (allocated.number, Result.EXISTS),
            (mr, Result.BAD_OBJECT),
            (1 << 31, Result.BAD_OBJECT),
            (WINDOW, Result.BAD_OBJECT),
        ):
            assert await self.result(Cmd.ALLOC_MR, number, 0, 0, 0, 0, 0) == wanted
            for word in (reserved, 1 << 31):
                args = (number, 0, 0, 0, 0, word)
                assert await self.result(Cmd.ALLOC_MR, *args) == Result.RESERVED
        for number, wanted in (
            (window.number, Result.EXISTS),
            (mw, Result.BAD_OBJECT),
            (WINDOW, Result.BAD_OBJECT),
            (0xFFFF_FFFF, Result.BAD_OBJECT),
        ):
            assert await self.result(Cmd.CREATE_MW, number, 7, 7, 0, 0, 0) == wanted
            args = (number, 7, 7, 0, 0, reserved)
            assert await self.result(Cmd.CREATE_MW, *args) == Result.RESERVED
        for code in (Cmd.CLOSE_MW, Cmd.QUERY_MW):
            assert await self.result(code, free) == Result.NO_OBJECT
            assert await self.result(code, mw) == Result.BAD_OBJECT
            assert await self.result(code, 1 << 31 | window.number) == Result.BAD_OBJECT
        for code in (Cmd.DEREGISTER_MR, Cmd.QUERY_MR):
            assert await self.result(code, free) == Result.NO_OBJECT
            assert await self.result(code, mr) == Result.BAD_OBJECT
        for unknown in (0x44, 0x45, 0x46, 0x47, 0x4B, 0x4C, 0x4D, 0x4E, 0x50):
            assert (await self.env.host.command(unknown, 0)).result == Result.UNKNOWN
        # A number is free again after the end of its object.
        await allocated.deregister()
        await window.close()
        assert await self.result(Cmd.CLOSE_MW, window.number) == Result.NO_OBJECT
        await window.create()
        await allocated.register()
        qp = await self.guarded()
        await self.bind(window, qp, allocated)


@pyuvm.test()
class BusyTest(WindowTest):
    """A region with windows bound to it is not deregistered, of each kind; the number of windows is
    shown; it goes as soon as the last one is invalid or closed (MW-11).
    """

    async def scenario(self) -> None:
        qp = await self.guarded()
        windows = [await self.window() for _ in range(3)]
        for make in (self.memory, self.allocated):
            region = await make(256)
            if not region.valid:
                await self.fast_register(region, qp)
            for n, window in enumerate(windows):
                await self.bind(window, qp, region, 16 * n, 16)
                assert (await region.query()).windows == n + 1
                assert await self.result(Cmd.DEREGISTER_MR, region.number) == Result.BUSY
            await self.invalidate(qp, windows[0].key)
            assert (await region.query()).windows == 2
            assert await self.result(Cmd.DEREGISTER_MR, region.number) == Result.BUSY
            await windows[1].close()
            assert (await region.query()).windows == 1
            assert await self.result(Cmd.DEREGISTER_MR, region.number) == Result.BUSY
            await self.demand_verdict(qp, GRANTED, READ, windows[2].key, region.base + 32, 16)
            await windows[2].close()
            assert (await region.query()).windows == 0
            await region.deregister()
            for window in windows[1:]:
                await window.create()


@pyuvm.test()
class InUseTest(WindowTest):
    """DESTROY_QP while a window or a region by FastRegister is valid on it: CMD_IN_USE; nothing
    changes; the end of a connection takes nothing away.
    """

    async def scenario(self) -> None:
        region, fast, window = await self.memory(64), await self.allocated(64), await self.window()
        for end in ("invalidate", "close", "deregister"):
            qp = await self.guarded(number=1)
            await self.bind(window, qp, region)
            await self.in_use(qp, window, region)
            if end == "deregister":
                await self.fast_register(fast, qp)
            elif end == "invalidate":
                await self.fast_register(fast, qp)
                await self.invalidate(qp, fast.key)
            if end == "invalidate":
                await self.invalidate(qp, window.key)
            else:
                await window.close()
                await window.create()
            if end == "deregister":
                await self.in_use(qp, None, fast)
                await fast.deregister()
                await fast.allocate()
            await self.remove(qp)

    async def in_use(self, qp: Qp, window: MemoryWindow | None, region: Region) -> None:
        before = await self.look([region], [window] if window else [])
        key = region.key if window is None else window.key
        assert await self.result(Cmd.DESTROY_QP, qp.number) == Result.IN_USE
        await self.demand_state(qp, QpState.CONNECTED)
        await self.demand_verdict(qp, GRANTED, READ, key, region.base, 8)
        await qp.set_state(QpState.DISCONNECTED)
        await self.demand_verdict(qp, Verdict.REFUSED, READ, key, region.base, 8)
        assert await self.result(Cmd.DESTROY_QP, qp.number) == Result.IN_USE
        await qp.reset()
        assert await self.result(Cmd.DESTROY_QP, qp.number) == Result.IN_USE
        await self.revive(qp)
        # It has outlived the connection.
        await self.demand_verdict(qp, GRANTED, READ, key, region.base, 8)
        await qp.flush()
        await self.rest()
        assert await self.result(Cmd.DESTROY_QP, qp.number) == Result.IN_USE
        await self.revive(qp)
        assert await self.look([region], [window] if window else []) == before
