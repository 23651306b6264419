# SPDX-License-Identifier: Apache-2.0
"""Random lives of windows: pairs of queue pairs, guarded or not, connect again and again, give each
other windows and registered regions, access memory through them, and take them back. The troubles
that end connections: refused accesses, failing requests, bad tokens, races, ends from outside.
"""

from __future__ import annotations

from typing import Any, ClassVar

from models.post.post import Segment
from tb.env.defs import KEY, CqeStatus, Opcode, QpState, Right
from tb.env.host.regions import MemoryWindow
from tb.sequences.life.objects import BOTH, Asked, Link, Side, Zone, allowed
from tb.sequences.traffic.window_traffic import WindowTraffic

_SIZE = 1 << 11
_M64 = (1 << 64) - 1
_NEXT = 1 << KEY["generation"].lsb


class WindowLife(WindowTraffic):
    """Random windows."""

    name: ClassVar[str] = "window_life"

    async def _trouble(self, link: Link) -> None:
        rng = self.rng
        await self.rest(rng.choice((10, 100, 600)))
        kinds: list[Any] = [self._outside]
        if any(side.qp.guarded for side in link.sides):
            kinds += [self._refused, self._refused, self._failing, self._failing]
            kinds += [self._bad_token, self._race, self._race]
        await rng.choice(kinds)(link)
        await self.rest(200)
        link.over = True
        # A kind that found nothing to do has ended nothing: a Send without a buffer would wait for
        # ever.
        for side in link.sides:
            if (await side.qp.query()).state == QpState.CONNECTED:
                await side.qp.set_state(QpState.DISCONNECTED)

    async def _given(self, link: Link, side: Side, rights: Right) -> MemoryWindow | None:
        """A window that is valid on ``side``: the second quarter of an open region."""
        zone = link.zone
        if not zone.windows:
            return None
        window = zone.windows.pop()
        link.left.append(window)
        region = zone.regions[1]
        span = (_SIZE // 4, _SIZE // 4)
        good = await self.until(await self.bind(link, side, window, region, span, rights))
        return window if good else None

    # -- refused accesses --------------------------------------------------------------------------

    async def _refused(self, link: Link) -> None:
        """An access that must be refused, and changes nothing (MW-10)."""
        rng = self.rng
        side, peer = self.pick(link)
        rights = rng.choice((Right.REMOTE_READ, Right.REMOTE_WRITE))
        window = await self._given(link, side, rights)
        start, size = link.zone.regions[1].base + _SIZE // 4, _SIZE // 4
        write = rng.random() < 0.5
        keys = self._bad_keys(link.zone, side)
        kind = rng.randrange(4) if window is not None else 0
        span = start + rng.randrange(size - 32), rng.randint(1, 32)
        key = rng.choice(keys)
        if window is not None and kind:
            key = window.key
            write = rights != Right.REMOTE_WRITE if kind == 1 else rights == Right.REMOTE_WRITE
            if kind >= 2:
                span = rng.choice(
                    (
                        (start - 1, rng.randint(1, 64)),
                        (start + size - 8, 9),
                        (start + size, 1),
                        (start, size + 1),
                        (_M64 - 3, 8),
                        (start + (1 << 32) & _M64, 4),
                    )
                )
        await self.until(await self.access(link, peer, key, span, write))

    def _bad_keys(self, zone: Zone, side: Side) -> list[int]:
        """Keys that are valid on no account for this side."""
        keys = [self.rng.getrandbits(32) | 0xFFF00000, zone.regions[1].key - _NEXT & 0xFFFFFFFF]
        keys += self.gone[-8:]
        keys += [window.key for window in zone.windows]
        for other in self._sides:
            keys += [given.window.key for given in other.kept if other is not side]
        for foreign in self._domains:
            keys += [region.key for region in foreign.regions if foreign is not zone]
        return keys

    # -- failing requests --------------------------------------------------------------------------

    async def _failing(self, link: Link) -> None:
        """A request of one side that must fail with a status of its own."""
        rng, zone = self.rng, link.zone
        side, _ = self.pick(link)
        kinds: list[Any] = [self._no_token, self._no_token]
        if zone.windows:
            kinds += [self._no_memory, self._no_memory, self._twice, self._under_windows]
        await rng.choice(kinds)(link, side)

    async def _no_token(self, link: Link, side: Side) -> None:
        rng, zone = self.rng, link.zone
        key = rng.choice(self._dead_keys(zone))
        segment = zone.regions[1].segment(0, 64)
        post = rng.choice(
            (
                self.make(side, Opcode.INVALIDATE, token=key),
                self.make(side, Opcode.INVALIDATE, token=zone.regions[1].key),
                self.make(side, Opcode.BIND, token=key, segments=[segment]),
                self.make(side, Opcode.BIND, token=zone.regions[0].key, segments=[segment]),
                self.make(side, Opcode.FAST_REGISTER, token=key, segments=[segment]),
                self.make(side, Opcode.FAST_REGISTER, token=zone.regions[0].key),
            )
        )
        await self.until(await self.ask(link, side, post))

    def _dead_keys(self, zone: Zone) -> list[int]:
        """Keys that no object has."""
        keys = [self.rng.getrandbits(32) | 0xFFF00000, zone.regions[1].key - _NEXT & 0xFFFFFFFF]
        present = {keyed.key for keyed in self._keyed}
        return keys + [key for key in self.gone[-8:] if key not in present]

    async def _no_memory(self, link: Link, side: Side) -> None:
        rng, zone = self.rng, link.zone
        window = zone.windows.pop()
        link.left.append(window)
        region, readable = zone.regions[0], zone.readable[0]
        offset, length, key = rng.choice(
            (
                (-1, 10, region.key),
                (0, 0, region.key),
                (region.length, 1, region.key),
                (0, region.length + 1, region.key),
                (_M64 - region.base, 2, region.key),
                (0, 8, readable.key),
                (0, 8, self._dead_keys(zone)[0]),
                (0, 8, window.key),
            )
        )
        base = readable.base if key == readable.key else region.base
        segment = Segment(base + offset & _M64, length, key)
        post = window.make_bind(
            side.qp, region, rights=BOTH, segments=[segment], context=1 << 40 | self.serial()
        )
        await self.until(await self.ask(link, side, post))

    async def _twice(self, link: Link, side: Side) -> None:
        """Bind of a valid window, in its place after the first (MW-03)."""
        window = await self._given(link, side, BOTH)
        if window is not None:
            post = window.make_bind(side.qp, link.zone.regions[1], context=1 << 40 | self.serial())
            await self.until(await self.ask(link, side, post))

    async def _under_windows(self, link: Link, side: Side) -> None:
        """Invalidate of a region with a window; or a Read whose key is not one that it may end."""
        zone = link.zone
        if not zone.fast or self.rng.random() < 0.3:
            key = zone.regions[0].key
            await self.until(await self.read_and_invalidate(link, side, key))
            return
        region, window = zone.fast.pop(), zone.windows.pop()
        context = 1 << 40 | self.serial()
        asked = await self.ask(link, side, region.make_fast_register(side.qp, context=context))
        if asked is not None:
            self.given(region)
            asked = await self.bind(link, side, window, region, (0, 64), BOTH)
        if asked is not None:
            post = self.make(side, Opcode.INVALIDATE, token=region.key)
            await self.until(await self.ask(link, side, post))
        link.left += [window, region]  # in this order: no region goes with a window

    # -- bad tokens, races -------------------------------------------------------------------------

    async def _bad_token(self, link: Link) -> None:
        """SendAndInvalidate of what is not valid there (MW-12)."""
        side, peer = self.pick(link)
        keys = [key for key in self._bad_keys(link.zone, side) if key]
        key = self.rng.choice((*keys, link.zone.regions[1].key))
        asked, _ = await self.send(link, peer, side, key)
        await self.until(asked)

    async def _race(self, link: Link) -> None:
        """Invalidate and SendAndInvalidate of one key at about the same time (MW-05)."""
        rng = self.rng
        side, peer = self.pick(link)
        window = await self._given(link, side, BOTH)
        if window is None:
            return
        key = window.key
        here: Asked | None = None
        local_first = rng.random() < 0.3
        if local_first:
            here = await self.invalidate(link, side, window)
        there, _ = await self.send(link, peer, side, key)
        if not local_first:
            await self.rest(rng.choice((4, 20, 100, 250)))
            here = await self.invalidate(link, side, window)
        await self.until(here, there)
        if here is not None and here.good:
            self.gone.append(key)
        if here is not None and here.status in (0, CqeStatus.INVALID_TOKEN):
            await window.query()

    # -- ends from outside -------------------------------------------------------------------------

    async def _outside(self, link: Link) -> None:
        """The connection of one side ends."""
        rng = self.rng
        side = rng.choice(link.sides)
        kind = rng.randrange(3)
        if kind == 0:
            self.env.transport.disconnect(side.number)
        elif kind == 1:
            await allowed(side.qp.flush())
        else:
            await side.qp.set_state(QpState.DISCONNECTED)
