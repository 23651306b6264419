# SPDX-License-Identifier: Apache-2.0
"""The status table of Bind, FastRegister and Invalidate, line by line: each fault alone, pairs of
faults for the order, and that a request that fails changes nothing and ends the connection.
"""

from __future__ import annotations

from dataclasses import replace

import pyuvm

from models.post.post import Post, Segment
from tb.env.defs import Opcode, PostFlag, Right
from tb.env.host.qp import Qp
from tb.env.host.regions import next_key
from tb.tests.common.engine import (
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
    EngineTest,
    Keyed,
    segment,
)

BUILD = ["engine", "engine_small"]

TOP = 1 << 64
READABLE, WRITABLE = PostFlag.ALLOW_REMOTE_READ, PostFlag.ALLOW_REMOTE_WRITE


def aliases(name: str, key: int, most: int) -> list[tuple[str, int]]:
    """A key with a number beyond the table of ``most`` objects, a bit at a time."""
    bits = range((most - 1).bit_length(), 11)
    return [(f"alias of a {name}, bit {bit}", key | 1 << bit) for bit in bits]


class RequestTest(EngineTest):
    #: Nothing of these may change.
    watched: tuple[Keyed, ...] = ()

    async def faulty(self, qp: Qp, name: str, post: Post, status: int) -> None:
        """It fails with this status and changes nothing."""
        before = [await keyed.query() for keyed in self.watched]
        try:
            await self.fails(qp, post, status)
        except AssertionError as error:
            error.add_note(name)
            raise
        assert [await keyed.query() for keyed in self.watched] == before, name


@pyuvm.test()
class BindFaultsTest(RequestTest):
    """Every fault of a Bind, and pairs of them."""

    async def scenario(self) -> None:
        qp, other = await self.guarded(), await self.guarded()
        third = await self.guarded(zone=OTHER_ZONE)
        region = await self.memory(1024)
        narrow = await self.memory(1024, rights=Right.REMOTE_READ)
        foreign = await self.memory(1024, zone=OTHER_ZONE)
        empty = await self.allocated(1024)
        window, bound, strange = [await self.window(zone=z) for z in (ZONE, ZONE, OTHER_ZONE)]
        old = bound.key
        await self.bind(bound, qp, region, 0, 64)
        self.watched = (region, narrow, foreign, empty, window, bound, strange)
        good = [segment(region, 0, 64)]
        bad = [segment(region, 0, 0)]
        tokens = [
            ("old key of a bound window", old),
            ("key to come", next_key(window.key)),
            ("generation 0", window.key & 0xFFF),
            ("last generation", window.key | 0xFFFF_F000),
            ("no window", WINDOW | 3 | GENERATION),
            ("number beyond all", WINDOW | 0x7FF | GENERATION),
            *aliases("window", window.key, self.config.num_mw),
            ("region's key", region.key),
            ("region's key with the bit of windows", region.key | WINDOW | 1 << 30),
            ("another zone", strange.key),
            ("no key", 0),
        ]
        for name, token in tokens:
            for parts, what in ((good, ""), (bad, " and length 0")):
                post = window.make_bind(qp, region, segments=parts, token=token)
                await self.faulty(qp, name + what, post, INVALID_TOKEN)
        # Valid, whoever asks; another zone comes before.
        for user, memory, status in (
            (qp, region, ALREADY_VALID),
            (other, region, ALREADY_VALID),
            (third, foreign, INVALID_TOKEN),
        ):
            await self.faulty(user, "valid", bound.make_bind(user, memory, 0, 64), status)
        memories = [
            ("no segment", [], REMOTE),
            ("length 0", bad, REMOTE),
            ("one byte before", [segment(region, -1, 64)], REMOTE),
            ("one byte beyond", [segment(region, 1024 - 63, 64)], REMOTE),
            ("one byte more than all", [segment(region, 0, 1025)], REMOTE),
            ("just behind", [segment(region, 1024, 1)], REMOTE),
            ("just before", [segment(region, -1, 1)], REMOTE),
            ("longest", [segment(region, 0, 1 << 31)], REMOTE),
            ("wraps", [Segment(TOP - 32, 64, region.key)], REMOTE),
            ("address 0", [Segment(0, 64, region.key)], REMOTE),
            ("ends at 2^64", [Segment(TOP - 64, 64, region.key)], REMOTE),
            ("4 GiB further", [segment(region, 1 << 32, 64)], REMOTE),
            *(
                (name, [segment(region, 0, 64, key)], REMOTE)
                for name, key in (
                    ("old key", region.key - GENERATION),
                    ("key to come", next_key(region.key)),
                    ("no region", 0x7FF | GENERATION),
                    ("a window's key", bound.key),
                    ("region's key with the bit of windows", region.key | WINDOW),
                    *aliases("region", region.key, self.config.num_mr),
                )
            ),
            ("another zone", [segment(foreign, 0, 64)], REMOTE),
            ("allocated, not registered", [segment(empty, 0, 64)], REMOTE),
            ("write without local write", [segment(narrow, 0, 64)], Right.REMOTE_WRITE),
            ("both without local write", [segment(narrow, 0, 64)], REMOTE),
        ]
        for name, parts, rights in memories:
            for keyed, status in ((window, BAD_MEMORY), (bound, ALREADY_VALID)):
                post = keyed.make_bind(qp, region, rights=rights, segments=parts)
                await self.faulty(qp, name, post, status)
        unused = replace(window.make_bind(qp, region), num_segments=0)
        await self.faulty(qp, "good segment in an unused slot", unused, BAD_MEMORY)
        # Nothing of all that is in the way of what is right.
        await self.bind(window, qp, narrow, rights=Right.REMOTE_READ)
        await self.invalidate(qp, window.key)
        for offset, length in ((0, 1), (1023, 1), (0, 1024), (1, 1023)):
            await self.bind(window, qp, region, offset, length)
            shown = await window.query()
            assert (shown.base, shown.length) == (region.base + offset, length), shown
            assert (shown.zone, shown.region) == (ZONE, region.number), shown
            await self.invalidate(qp, window.key)
        # After invalidation it can be bound to another queue pair (MW-03).
        await self.bind(window, other, region, rights=Right.REMOTE_READ)
        assert (await window.query()).qp == other.number
        # Bytes that end after 2^64, of a region that begins at address 0: not inside it.
        await empty.deregister()
        low = await self.memory(64, base=0)
        self.watched = (low, strange)
        await self.invalidate(other, window.key)
        for length in (9, 16, 72):
            parts = [Segment(TOP - 8, length, low.key)]
            post = window.make_bind(qp, low, segments=parts)
            await self.faulty(qp, f"{length} bytes", post, BAD_MEMORY)


@pyuvm.test()
class RightsTest(RequestTest):
    """A window has the remote rights of its Bind, and no others: local write gives nothing. A
    region has those of its FastRegister, of which RDMA_READ_SINK counts as local write.
    """

    async def scenario(self) -> None:
        qp = await self.guarded()
        region, window = await self.memory(256), await self.window()
        for flags, rights in (
            (0, 0),
            (PostFlag.ALLOW_LOCAL_WRITE, 0),
            (READABLE, Right.REMOTE_READ),
            (WRITABLE, Right.REMOTE_WRITE),
            (READABLE | PostFlag.ALLOW_LOCAL_WRITE, Right.REMOTE_READ),
            (READABLE | WRITABLE, REMOTE),
        ):
            await self.execute(qp, window.make_bind(qp, region, rights=0, flags=int(flags)))
            status = await window.refresh()
            assert status.rights == rights, (flags, status)
            await self.invalidate(qp, window.key)
        fast = await self.allocated(64)
        for flags, rights in (
            (0, 0),
            (PostFlag.ALLOW_LOCAL_WRITE, LOCAL),
            (PostFlag.RDMA_READ_SINK, LOCAL),
            (READABLE, Right.REMOTE_READ),
            (READABLE | PostFlag.RDMA_READ_SINK, Right.REMOTE_READ | LOCAL),
            (WRITABLE, Right.REMOTE_WRITE | LOCAL),
            (WRITABLE | READABLE, ALL),
        ):
            await self.execute(qp, fast.make_fast_register(qp, rights=0, flags=int(flags)))
            shown = await fast.refresh()
            assert shown.rights == rights, (flags, shown)
            answer = await qp.post_recv([fast.segment(0, 8)])
            assert answer.accepted == bool(rights & LOCAL), answer
            await self.invalidate(qp, fast.key)
            if answer.accepted:
                await self.take(qp, 1)
                self.settle(qp)
                await qp.recv_cq.wait_results(1)
                await qp.recv_cq.update_consumer_index()


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
        self.watched = (region, valid, plain, foreign, window)
        good, bad = [Segment(region.base, 64)], [Segment(region.base, 0)]
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
            for parts in (good, bad):
                post = region.make_fast_register(qp, segments=parts, token=token)
                await self.faulty(qp, name, post, INVALID_TOKEN)
        memories = [
            ("length 0", bad),
            ("no segment", []),
            ("length 0 at 0", [Segment(0, 0)]),
            ("one beyond 2^64", [Segment(TOP - 64, 65)]),
            ("far beyond 2^64", [Segment(TOP - 1, 1 << 31)]),
            ("two at the last byte", [Segment(TOP - 1, 2)]),
        ]
        for name, parts in memories:
            for keyed, status in ((region, BAD_MEMORY), (valid, ALREADY_VALID)):
                await self.faulty(qp, name, keyed.make_fast_register(qp, segments=parts), status)
        unused = replace(region.make_fast_register(qp), num_segments=0)
        await self.faulty(qp, "good segment in an unused slot", unused, BAD_MEMORY)
        await self.faulty(qp, "valid", valid.make_fast_register(qp), ALREADY_VALID)
        # What is right, to the edges; the key of the segment says nothing.
        for part in (
            Segment(TOP - 64, 64, 0xFFFF_FFFF),
            Segment(TOP - 1, 1),
            Segment(0, 1, plain.key),
            Segment(0, 1 << 31, window.key),
        ):
            await self.execute(qp, region.make_fast_register(qp, rights=0, segments=[part]))
            shown = await region.refresh()
            assert (shown.base, shown.length) == (part.address, part.length), shown
            assert (shown.rights, shown.qp, shown.zone) == (0, qp.number, ZONE), shown
            await self.invalidate(qp, region.key)


@pyuvm.test()
class InvalidateFaultsTest(RequestTest):
    """Invalidate: of a valid key of a window bound to this QP or of a region that it registered
    with FastRegister, and of nothing else.
    """

    async def scenario(self) -> None:
        qp, other = await self.guarded(number=0), await self.guarded()
        plain = await self.memory(64)
        mine, its = [await self.allocated(64) for _ in range(2)]
        unbound, window, far = [await self.window() for _ in range(3)]
        self.watched = (plain, mine, its, unbound, window, far)
        await self.demand_invalid(
            qp,
            ("by REGISTER_MR, without windows", plain.key),
            ("allocated, never registered", mine.key),
            ("never bound", unbound.key),
        )
        olds = [mine.key, window.key]
        await self.fast_register(mine, qp)
        await self.fast_register(its, other)
        await self.bind(window, qp, plain)
        await self.bind(far, other, plain)
        await self.demand_invalid(
            qp,
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
        )
        # A region with windows bound to it, and then without.
        await self.bind(unbound, other, mine)
        await self.demand_invalid(qp, ("with a window", mine.key))
        await self.invalidate(other, unbound.key)
        for key in (mine.key, window.key):
            await self.invalidate(qp, key)
            await self.demand_invalid(qp, ("invalidated before", key))
        await self.invalidate(other, its.key)
        await self.invalidate(other, far.key)
        assert await self.env.host.counter("INVALIDATED") == 5
        for keyed in (unbound, window, far):
            assert not (await keyed.query()).valid

    async def demand_invalid(self, qp: Qp, *tokens: tuple[str, int]) -> None:
        """None of these tokens can be invalidated."""
        for name, token in tokens:
            await self.faulty(qp, name, qp.make(Opcode.INVALIDATE, token=token), INVALID_TOKEN)
