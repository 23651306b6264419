# SPDX-License-Identifier: Apache-2.0
"""What the two sides of a connection do with windows and regions as long as all is well: give,
access, take back, in many threads at a time.
"""

from __future__ import annotations

from typing import Any

from models.post.post import Segment
from tb.env.defs import Opcode, PostFlag, Right
from tb.env.host.regions import Keyed, MemoryWindow, Region, next_key
from tb.sequences.life.objects import BOTH, Asked, Given, Link, Message, Side, allowed
from tb.sequences.life.window_links import WindowLinks

_RIGHTS = (BOTH, BOTH, Right.REMOTE_READ, Right.REMOTE_WRITE)
_MOST_INLINE = 32


class WindowTraffic(WindowLinks):
    """Connections with what their threads do."""

    def kinds(self) -> list[Any]:
        """Threads, each of them as often as it is here."""
        return [
            self._window,
            self._window,
            self._window,
            self._region,
            self._region,
            self._old_friend,
            self._plain,
            self._talk,
        ]

    def pick(self, link: Link) -> tuple[Side, Side]:
        """A side that gives, guarded if there is one, and its peer."""
        first, second = link.sides
        if self.rng.random() < 0.5:
            first, second = second, first
        return (first, second) if first.qp.guarded or not second.qp.guarded else (second, first)

    # -- steps -------------------------------------------------------------------------------------

    async def bind(
        self,
        link: Link,
        side: Side,
        window: MemoryWindow,
        region: Region,
        span: tuple[int, int],
        rights: Right | int,
    ) -> Asked | None:
        """Posts a Bind of ``span`` (offset, length)."""
        post = window.make_bind(
            side.qp, region, *span, rights, context=1 << 40 | self.serial(), fence=self.fence()
        )
        asked = await self.ask(link, side, post)
        if asked is not None:
            self.given(window)
        return asked

    def fence(self) -> bool:
        """A request may have a read fence."""
        return self.rng.random() < 0.1

    def given(self, keyed: Keyed) -> None:
        """A request that gives a new key was accepted."""
        keyed.key = next_key(keyed.key)

    async def invalidate(self, link: Link, side: Side, keyed: Keyed) -> Asked | None:
        """Posts an Invalidate of the present key."""
        post = self.make(side, Opcode.INVALIDATE, token=keyed.key, fence=self.fence())
        return await self.ask(link, side, post)

    async def local(self, link: Link, side: Side, keyed: Keyed) -> bool:
        """Invalidates by a request, and waits."""
        asked = await self.invalidate(link, side, keyed)
        key = keyed.key
        good = await self.until(asked)
        if good:
            self.gone.append(key)
        return good

    async def access(
        self, link: Link, side: Side, key: int, span: tuple[int, int], write: bool
    ) -> Asked | None:
        """``side`` reads or writes its peer's memory: exactly ``span`` (address, length)."""
        rng, memory = self.rng, self.env.memory
        address, length = span
        target = Segment(address, 0, key)
        data = rng.randbytes(length)
        fields: dict[str, Any] = {}
        near = memory.allocate(max(length, 1), 64) if length else 0
        if write and length and length <= _MOST_INLINE and rng.random() < 0.5:
            fields["data"] = data
        else:
            cut = rng.randint(0, length)
            fields["segments"] = [Segment(near, cut), Segment(near + cut, length - cut)]
            if write:
                memory.write(near, data)
        opcode = Opcode.WRITE if write else Opcode.READ
        post = self.make(side, opcode, target=target, fence=self.fence(), **fields)
        return await self.ask(link, side, post)

    async def use(
        self, link: Link, side: Side, key: int, base: int, length: int, rights: Right | int
    ) -> bool:
        """Some accesses that are granted as long as the key is valid; waits for them."""
        rng = self.rng
        there: list[Asked | None] = []
        for _ in range(rng.randint(0, self.accesses)):
            write = bool(rights & Right.REMOTE_WRITE)
            if rights & Right.REMOTE_READ:
                write = write and rng.random() < 0.5
            offset, size = random_range(rng, length)
            if size > self.most:
                size = rng.randint(0, self.most)
                offset = rng.choice((0, length - size, rng.randint(0, length - size)))
            if rng.random() < 0.05:
                offset, size = rng.randrange(1 << 20), 0
            there.append(await self.access(link, side, key, (base + offset, size), write))
        return await self.until(*there)

    async def send(
        self, link: Link, side: Side, peer: Side, token: int = 0
    ) -> tuple[Asked | None, Message]:
        """A Send to ``peer`` into a buffer that is posted before or after it (MW-06)."""
        rng = self.rng
        data = self.serial().to_bytes(8, "little") + rng.randbytes(rng.randint(0, 24))
        message = self.messages[data[:8]] = Message(peer)
        late = rng.random() < 0.2
        link.messages.append(message)
        there = late or self.left_over(link, peer)
        if not there and not await self.buffer(link, peer):
            return None, message
        opcode = Opcode.SEND_AND_INVALIDATE if token else Opcode.SEND
        options = {"token": token} if token else {}
        post = self.make(side, opcode, data=data, solicit=rng.random() < 0.3, **options)
        asked = await self.ask(link, side, post)
        if late:
            await self.buffer(link, peer)
        return asked, message

    async def deliver(self, link: Link, side: Side, peer: Side, token: int = 0) -> bool:
        """A Send that must arrive; waits until it has."""
        asked, message = await self.send(link, side, peer, token)
        if not await self.until(asked):
            return False
        while not message.received and (link.clean or not link.over):
            await self.tick()
        return message.received

    # -- threads -----------------------------------------------------------------------------------

    async def _window(self, link: Link) -> None:
        """Bind, accesses, and one of the ways to take the window back."""
        side, peer = self.pick(link)
        zone, rng = link.zone, self.rng
        if not side.qp.guarded:
            await self._careless(link)
            return
        if not zone.windows:
            return
        window = zone.windows.pop(rng.randrange(len(zone.windows)))
        region = rng.choice((*zone.regions, *zone.readable))
        rights = Right.REMOTE_READ if region in zone.readable else rng.choice(_RIGHTS)
        offset, length = random_range(rng, 1 << 11)
        good = await self.until(
            await self.bind(link, side, window, region, (offset, length), rights)
        )
        self.done["bind"] += good
        base = region.base + offset
        good = good and await self.use(link, peer, window.key, base, length, rights)
        if good and link.clean and rng.random() < 0.2:
            await allowed(region.deregister())
        if good:
            given = Given(window, region, offset, length, int(rights))
            await self._take_back(link, side, peer, given)
        elif window not in zone.windows:
            link.left.append(window)

    async def _take_back(self, link: Link, side: Side, peer: Side, given: Given) -> None:
        if self.rng.random() < self.keep:
            await given.window.refresh()
            side.kept.append(given)
        else:
            await self._end_key(link, side, peer, given.window)

    async def _end_key(
        self, link: Link, side: Side, peer: Side, keyed: MemoryWindow | Region
    ) -> None:
        """One of the ways to end its key. If that fails it is looked at after the connection."""
        zone = link.zone
        kind = self.rng.randrange(3 if isinstance(keyed, MemoryWindow) else 4)
        if kind == 0:
            good = await self.local(link, side, keyed)
        elif kind == 1:
            good = await self.deliver(link, peer, side, keyed.key)
        elif isinstance(keyed, MemoryWindow):
            await self._renew(keyed, zone)
            return
        elif kind == 2:
            good = await self.until(await self.read_and_invalidate(link, side, keyed.key))
            if good:
                self.gone.append(keyed.key)
        else:
            await self.again(keyed, zone, deregister=True)
            return
        if not good or not link.clean:
            link.left.append(keyed)
            return
        await keyed.refresh()
        if isinstance(keyed, MemoryWindow):
            zone.windows.append(keyed)
        else:
            zone.fast.append(keyed)

    async def _old_friend(self, link: Link) -> None:
        """A window that has been valid since long, perhaps since another connection."""
        side, peer = self.pick(link)
        if not side.kept:
            return
        given = side.kept.pop(self.rng.randrange(len(side.kept)))
        window, base = given.window, given.region.base + given.offset
        if await self.use(link, peer, window.key, base, given.length, given.rights):
            await self._take_back(link, side, peer, given)
        else:
            link.left.append(window)

    async def _region(self, link: Link) -> None:
        """FastRegister, accesses, perhaps through a window of it, and the end of its key."""
        side, peer = self.pick(link)
        zone, rng = link.zone, self.rng
        if not side.qp.guarded or not zone.fast:
            return
        region = zone.fast.pop(rng.randrange(len(zone.fast)))
        rights = rng.choice(_RIGHTS) | Right.LOCAL_WRITE
        offset, length = random_range(rng, 1 << 11)
        post = region.make_fast_register(
            side.qp, offset, length, rights, context=1 << 40 | self.serial()
        )
        asked = await self.ask(link, side, post)
        if asked is not None:
            self.given(region)
        good = await self.until(asked)
        self.done["fast"] += good
        base = region.base + offset
        good = good and await self.use(link, peer, region.key, base, length, rights)
        if good and zone.windows and rng.random() < 0.4:
            window = zone.windows.pop()
            part, size = random_range(rng, length)
            span = (offset + part, size)
            good = await self.until(await self.bind(link, side, window, region, span, BOTH))
            good = good and await self.use(link, peer, window.key, base + part, size, BOTH)
            good = good and await self.local(link, side, window)
            link.left.append(window)
        if good:
            await self._end_key(link, side, peer, region)
        else:
            link.left.append(region)

    async def read_and_invalidate(self, link: Link, side: Side, key: int) -> Asked | None:
        """A Read of the peer's open region that invalidates a key here."""
        near = self.env.memory.allocate(64)
        post = self.make(
            side,
            Opcode.READ,
            target=Segment(link.zone.regions[1].base, 0, link.zone.regions[1].key),
            segments=[Segment(near, 16, key)],
            flags=int(PostFlag.RDMA_READ_LOCAL_INVALIDATE),
        )
        return await self.ask(link, side, post)

    async def _plain(self, link: Link) -> None:
        """Accesses by the key of a region with remote rights."""
        side, peer = self.pick(link)
        region = link.zone.regions[1]
        if side.qp.guarded:
            await self.use(link, peer, region.key, region.base, 1 << 11, BOTH)

    async def _talk(self, link: Link) -> None:
        """Messages both ways."""
        for side, peer in (link.sides, link.sides[::-1]):
            await self.deliver(link, side, peer)

    async def _careless(self, link: Link) -> None:
        """An unguarded side: whatever it says of keys succeeds and changes nothing; nobody accesses
        its memory.
        """
        side, peer = self.pick(link)
        if side.qp.guarded:
            return
        rng, zone = self.rng, link.zone
        keyed: Keyed = rng.choice(list(self._keyed))
        token = rng.choice((keyed.key, rng.getrandbits(32) or 1))
        segment = Segment(rng.getrandbits(64), rng.getrandbits(16), zone.regions[1].key)
        bind = self.make(side, Opcode.BIND, token=token, segments=[segment])
        fast = self.make(side, Opcode.FAST_REGISTER, token=token, segments=[segment])
        invalidate = self.make(side, Opcode.INVALIDATE, token=token)
        await self.until(*[await self.ask(link, side, post) for post in (bind, fast, invalidate)])
        await self.deliver(link, peer, side, token)
        region = zone.regions[1]
        await self.env.transport.responder.check(side.number, 1, region.key, region.base, 1)


def random_range(rng: Any, length: int) -> tuple[int, int]:
    """Offset and length of some bytes of ``length``, at times all or one of them."""
    kind = rng.random()
    if kind < 0.15:
        return 0, length
    size = 1 if kind < 0.25 else rng.randint(1, length)
    return rng.randint(0, length - size), size
