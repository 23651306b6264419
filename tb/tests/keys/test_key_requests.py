# SPDX-License-Identifier: Apache-2.0
"""The status table of Bind, FastRegister and Invalidate, line by line: each fault alone, pairs of
faults for the order, and that a request that fails changes nothing and ends the connection.
"""

from __future__ import annotations

import pyuvm

from models.post.post import Segment
from tb.env.defs import Opcode, PostFlag, Right
from tb.env.host.keyed import next_key
from tb.env.host.qp import Qp
from tb.env.host.regions import Region
from tb.env.host.windows import MemoryWindow
from tb.tests.common.key_requests import Fault, RequestTest
from tb.tests.common.windowing import (
    ALL,
    ALREADY_VALID,
    BAD_MEMORY,
    GENERATION,
    INVALID_TOKEN,
    LOCAL,
    OTHER_ZONE,
    REMOTE,
    WINDOW,
    ZONE,
    segment,
)

BUILD = ["engine", "engine_small"]

TOP = 1 << 64


def aliases(name: str, key: int, most: int) -> list[tuple[str, int]]:
    """A key with a number beyond the table of ``most`` objects, a bit at a time."""
    bits = range((most - 1).bit_length(), 11)
    return [(f"alias of a {name}, bit {bit}", key | 1 << bit) for bit in bits]


@pyuvm.test()
class BindFaultsTest(RequestTest):
    """Every fault of a Bind, and pairs of them."""

    async def scenario(self) -> None:
        qp = await self.guarded()
        region = await self.memory(1024)
        narrow = await self.memory(1024, rights=Right.REMOTE_READ)
        foreign = await self.memory(1024, zone=OTHER_ZONE)
        empty = await self.allocated(1024)
        window, bound, other = [await self.window(zone=z) for z in (ZONE, ZONE, OTHER_ZONE)]
        old = bound.key
        await self.bind(bound, qp, region, 0, 64)
        regions, windows = [region, narrow, foreign, empty], [window, bound, other]
        good = segment(region, 0, 64)
        bad = segment(region, 0, 0)
        free = WINDOW | 3 | GENERATION
        tokens = [
            ("old key of a bound window", old),
            ("key to come", next_key(window.key)),
            ("generation 0", window.key & 0xFFF),
            ("last generation", window.key | 0xFFFF_F000),
            ("no window", free),
            ("number beyond all", WINDOW | 0x7FF | GENERATION),
            *aliases("window", window.key, self.config.num_mw),
            ("region's key", region.key),
            ("region's key with the bit of windows", region.key | WINDOW | 1 << 30),
            ("another zone", other.key),
            ("no key", 0),
        ]
        memories: list[tuple[str, Segment | None, int]] = [
            ("no segment", None, REMOTE),
            ("length 0", bad, REMOTE),
            ("one byte before", segment(region, -1, 64), REMOTE),
            ("one byte beyond", segment(region, 1024 - 63, 64), REMOTE),
            ("one byte more than all", segment(region, 0, 1025), REMOTE),
            ("just behind", segment(region, 1024, 1), REMOTE),
            ("just before", segment(region, -1, 1), REMOTE),
            ("longest", segment(region, 0, 1 << 31), REMOTE),
            ("wraps", Segment(TOP - 32, 64, region.key), REMOTE),
            ("address 0", Segment(0, 64, region.key), REMOTE),
            ("ends at 2^64", Segment(TOP - 64, 64, region.key), REMOTE),
            ("4 GiB further", segment(region, 1 << 32, 64), REMOTE),
            ("old key", segment(region, 0, 64, region.key - GENERATION), REMOTE),
            ("key to come", segment(region, 0, 64, next_key(region.key)), REMOTE),
            ("no region", segment(region, 0, 64, 0x7FF | GENERATION), REMOTE),
            ("a window's key", segment(region, 0, 64, bound.key), REMOTE),
            *(
                (name, segment(region, 0, 64, key), REMOTE)
                for name, key in aliases("region", region.key, self.config.num_mr)
            ),
            ("another zone", segment(foreign, 0, 64), REMOTE),
            ("allocated, not registered", segment(empty, 0, 64), REMOTE),
            ("write without local write", segment(narrow, 0, 64), Right.REMOTE_WRITE),
            ("both without local write", segment(narrow, 0, 64), REMOTE),
        ]
        for name, token in tokens:
            for memory, what in ((good, ""), (bad, " and length 0")):
                fault = Fault(name + what, token, memory, REMOTE, INVALID_TOKEN)
                await self.demand_fault(qp, Opcode.BIND, fault, regions, windows)
        for name, part, rights in memories:
            for keyed, status in ((window, BAD_MEMORY), (bound, ALREADY_VALID)):
                fault = Fault(name, keyed.key, part, rights, status)
                await self.demand_fault(qp, Opcode.BIND, fault, regions, windows)
        fault = Fault("valid", bound.key, good, REMOTE, ALREADY_VALID)
        await self.demand_fault(qp, Opcode.BIND, fault, regions, windows)
        # Nothing of all that is in the way of what is right.
        await self.bind(window, qp, narrow, rights=Right.REMOTE_READ)
        await self.invalidate(qp, window.key)
        for offset, length in ((0, 1), (1023, 1), (0, 1024), (1, 1023)):
            await self.bind(window, qp, region, offset, length)
            shown = await window.query()
            assert (shown.base, shown.length) == (region.base + offset, length), shown
            assert (shown.zone, shown.region) == (ZONE, region.number), shown
            await self.invalidate(qp, window.key)


@pyuvm.test()
class BoundValidOtherTest(RequestTest):
    """Bind of a window that is valid on another QP: of the same zone ALREADY_VALID; of another zone
    INVALID_TOKEN, which comes before.
    """

    async def scenario(self) -> None:
        first, second = [await self.guarded() for _ in range(2)]
        third = await self.guarded(zone=OTHER_ZONE)
        region, foreign = await self.memory(256), await self.memory(256, zone=OTHER_ZONE)
        window = await self.window()
        await self.bind(window, first, region)
        for qp, memory, status in (
            (second, region, ALREADY_VALID),
            (third, foreign, INVALID_TOKEN),
        ):
            fault = Fault("bound", window.key, segment(memory), REMOTE, status)
            await self.demand_fault(qp, Opcode.BIND, fault, [region, foreign], [window])
        await self.invalidate(first, window.key)
        # After invalidation it can be bound to another (MW-03).
        await self.bind(window, second, region, rights=Right.REMOTE_READ)
        assert (await window.query()).qp == second.number


@pyuvm.test()
class BindRightsTest(RequestTest):
    """A window has the remote rights of its Bind, and no others; local write gives nothing."""

    async def scenario(self) -> None:
        qp = await self.guarded()
        region, window = await self.memory(256), await self.window()
        bits = (
            (0, 0),
            (PostFlag.ALLOW_LOCAL_WRITE, 0),
            (PostFlag.ALLOW_REMOTE_READ, Right.REMOTE_READ),
            (PostFlag.ALLOW_REMOTE_WRITE, Right.REMOTE_WRITE),
            (PostFlag.ALLOW_REMOTE_READ | PostFlag.ALLOW_LOCAL_WRITE, Right.REMOTE_READ),
            (PostFlag.ALLOW_REMOTE_READ | PostFlag.ALLOW_REMOTE_WRITE, REMOTE),
        )
        for flags, rights in bits:
            key = (await window.query()).key
            post = qp.make(
                Opcode.BIND, segments=[region.segment(0, 64)], token=key, flags=int(flags)
            )
            await self.execute(qp, post)
            status = await window.refresh()
            assert status.rights == rights, (flags, status)
            await self.invalidate(qp, window.key)


@pyuvm.test()
class FastRegisterFaultsTest(RequestTest):
    """Every fault of a FastRegister, and pairs of them."""

    async def scenario(self) -> None:
        qp = await self.guarded()
        region = await self.allocated(1024)
        valid = await self.allocated(1024)
        plain = await self.memory(64)
        foreign = await self.env.host.allocate(64, zone=OTHER_ZONE)
        window = await self.window()
        old = valid.key
        await self.fast_register(valid, qp)
        regions, windows = [region, valid, plain, foreign], [window]
        good, bad = Segment(region.base, 64), Segment(region.base, 0)
        tokens = [
            ("old key of a valid region", old),
            ("key to come", next_key(region.key)),
            ("generation 0", region.key & 0xFFF),
            ("last generation", region.key | 0xFFFF_F000),
            ("number beyond all", 0x7FF | GENERATION),
            ("by REGISTER_MR, valid", plain.key),
            ("window's key", window.key),
            ("with the bit of windows", region.key | WINDOW),
            ("another zone", foreign.key),
            ("no key", 0),
        ]
        for name, token in tokens:
            for part in (good, bad):
                fault = Fault(name, token, part, ALL, INVALID_TOKEN)
                await self.demand_fault(qp, Opcode.FAST_REGISTER, fault, regions, windows)
        memories = [
            ("length 0", bad),
            ("no segment", None),
            ("length 0 at 0", Segment(0, 0)),
            ("one beyond 2^64", Segment(TOP - 64, 65)),
            ("far beyond 2^64", Segment(TOP - 1, 1 << 31)),
            ("two at the last byte", Segment(TOP - 1, 2)),
        ]
        for name, memory in memories:
            for keyed, status in ((region, BAD_MEMORY), (valid, ALREADY_VALID)):
                fault = Fault(name, keyed.key, memory, ALL, status)
                await self.demand_fault(qp, Opcode.FAST_REGISTER, fault, regions, windows)
        fault = Fault("valid", valid.key, good, ALL, ALREADY_VALID)
        await self.demand_fault(qp, Opcode.FAST_REGISTER, fault, regions, windows)
        # What is right, to the edges; the key of the segment says nothing.
        for memory in (
            Segment(TOP - 64, 64, 0xFFFF_FFFF),
            Segment(TOP - 1, 1),
            Segment(0, 1, plain.key),
            Segment(0, 1 << 31, window.key),
        ):
            post = qp.make(Opcode.FAST_REGISTER, segments=[memory], token=region.key)
            await self.execute(qp, post)
            shown = await region.refresh()
            assert (shown.base, shown.length) == (memory.address, memory.length), shown
            assert (shown.rights, shown.qp, shown.zone) == (0, qp.number, ZONE), shown
            await self.invalidate(qp, region.key)


@pyuvm.test()
class FastRegisterRightsTest(RequestTest):
    """The rights of a FastRegister; RDMA_READ_SINK counts as local write."""

    async def scenario(self) -> None:
        qp = await self.guarded()
        region = await self.allocated(64)
        for flags, rights in (
            (0, 0),
            (PostFlag.ALLOW_LOCAL_WRITE, LOCAL),
            (PostFlag.RDMA_READ_SINK, LOCAL),
            (PostFlag.ALLOW_REMOTE_READ, Right.REMOTE_READ),
            (PostFlag.ALLOW_REMOTE_READ | PostFlag.RDMA_READ_SINK, Right.REMOTE_READ | LOCAL),
            (PostFlag.ALLOW_REMOTE_WRITE, Right.REMOTE_WRITE | LOCAL),
            (PostFlag.ALLOW_REMOTE_WRITE | PostFlag.ALLOW_REMOTE_READ, ALL),
        ):
            segments = [Segment(region.base, 64)]
            post = qp.make(
                Opcode.FAST_REGISTER, segments=segments, token=region.key, flags=int(flags)
            )
            await self.execute(qp, post)
            status = await region.refresh()
            assert status.rights == rights, (flags, status)
            answer = await qp.post_recv([region.segment(0, 8)])
            assert answer.accepted == bool(rights & LOCAL), answer
            await self.invalidate(qp, region.key)
            if answer.accepted:
                await self.take(qp, 1)
                self.settle(qp)
                await qp.recv_cq.wait_results(1)
                await qp.recv_cq.update_consumer_index()


@pyuvm.test()
class InvalidateFaultsTest(RequestTest):
    """Invalidate: of a valid key of a window bound to this QP or of a region that it registered
    with FastRegister, and of nothing else.
    """

    async def scenario(self) -> None:
        qp, other = [await self.guarded() for _ in range(2)]
        plain = await self.memory(64)
        mine, its = [await self.allocated(64) for _ in range(2)]
        unbound, window, far = [await self.window() for _ in range(3)]
        never = mine.key
        tokens = [("allocated, never registered", never), ("never bound", unbound.key)]
        regions, windows = [plain, mine, its], [unbound, window, far]
        for name, token in tokens:
            await self.demand_invalid(qp, name, token, regions, windows)
        olds = [mine.key, window.key]
        await self.fast_register(mine, qp)
        await self.fast_register(its, other)
        await self.bind(window, qp, plain)
        await self.bind(far, other, plain)
        tokens = [
            ("by REGISTER_MR", plain.key),
            ("region of another QP", its.key),
            ("window of another QP", far.key),
            ("old key of a region", olds[0]),
            ("old key of a window", olds[1]),
            ("key to come", next_key(window.key)),
            ("region's key to come", next_key(mine.key)),
            ("no object", 0x7FF | GENERATION),
            ("no window", 0xFFF | GENERATION),
            *aliases("region", mine.key, self.config.num_mr),
            *aliases("window", window.key, self.config.num_mw),
            ("no key", 0),
            ("all ones", 0xFFFF_FFFF),
            ("another kind", far.key ^ WINDOW | 1 << 30),
        ]
        for name, token in tokens:
            await self.demand_invalid(qp, name, token, regions, windows)
        # A region with windows bound to it, and then without.
        third = unbound
        await self.bind(third, other, mine)
        await self.demand_invalid(qp, "with a window", mine.key, regions, windows)
        await self.invalidate(other, third.key)
        for key in (mine.key, window.key):
            await self.invalidate(qp, key)
            await self.demand_invalid(qp, "invalidated before", key, regions, windows)
        await self.invalidate(other, its.key)
        await self.invalidate(other, far.key)
        assert await self.env.host.counter("INVALIDATED") == 5
        for keyed in windows:
            assert not (await keyed.query()).valid

    async def demand_invalid(
        self,
        qp: Qp,
        name: str,
        token: int,
        regions: list[Region],
        windows: list[MemoryWindow],
    ) -> None:
        fault = Fault(name, token, None, 0, INVALID_TOKEN)
        await self.demand_fault(qp, Opcode.INVALIDATE, fault, regions, windows)
