# SPDX-License-Identifier: Apache-2.0
"""Pairs of queue pairs that connect again and again, with the windows and regions of their zones:
the frame of :mod:`tb.sequences.life.window_life`.

Each connection is clean, so that everything must succeed, or has one trouble that must end it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Coroutine
from typing import Any

from cocotb.triggers import Event

from models.cq.queue import NdResultEx
from models.post.post import Post
from tb.env.agents.base import Pending
from tb.env.agents.doorbell import WriteResult
from tb.env.defs import Cause, CqeType, QpState, RecvFlag, Right
from tb.env.host.qp import connect_pair
from tb.env.host.regions import Keyed, MemoryWindow, Region
from tb.sequences import CarillonSequence
from tb.sequences.life.objects import BOTH, Asked, Link, Message, Side, Zone, allowed

_ARENA = 1 << 11  # bytes of a region that peers may reach
_BUFFER = 64  # bytes of a receive buffer
_ID = 8  # bytes of a message that tell it from all others
_PATIENCE = 16  # looks without room before the states are asked
_AGAIN = (Cause.QUEUE_FULL, Cause.NO_CREDIT)
_OVER = (Cause.NOT_CONNECTED, Cause.DEVICE_REMOVED)


class WindowLinks(CarillonSequence):
    """Connections. Ends at rest, with everything destroyed."""

    pairs = 4
    zones = 2
    windows = 6
    #: Clock cycles of new connections, and between two looks.
    duration = 12000
    chunk = 32
    #: Share of guarded QPs, of QPs with two completions, with an SRQ of their own.
    guarded = 0.85
    nd1 = 0.5
    shared = 0.3
    #: Share of connections with a trouble, and threads at a time in one.
    troubled = 0.5
    threads = 3
    #: Threads that are begun in one connection; most accesses by one key; most bytes of one.
    length = 4
    accesses = 6
    most = 200
    #: Share of windows that stay valid after their thread, of QPs that are made anew.
    keep = 0.3
    rebirths = 0.3
    #: Shared receive queues are full when a connection begins.
    filled = False
    #: The device is removed in the middle.
    removal = False

    async def body(self) -> None:
        env, config = self.env, self.env.config
        assert config is not None and config.num_mw
        self.config = config
        #: What was sent, by its first bytes; keys that were invalidated, as completions say.
        self.messages: dict[bytes, Message] = {}
        self.gone: list[int] = []
        self.done: Counter[str] = Counter()
        self._keyed: list[Keyed] = []
        self._sides: list[Side] = []
        self._answers: list[Pending[WriteResult]] = []
        self._told: dict[int, int] = {}
        self._serial = 0
        self.removed = False
        env.transport.receiver.enable()
        env.transport.receiver.fill = True
        self._stop, self._tick = False, Event()
        self._domains = [await self._zone(n) for n in range(self._zones())]
        self._eq = await env.host.create_eq(log2=max(1, config.num_cq.bit_length() - 1))
        ticker = self.spawn(self._ticks())
        self._end = env.harness.cycle + self.duration
        count = min(self.pairs, config.num_qp // 2, config.num_cq // 2)
        tasks = [self.spawn(self._pair(2 * n)) for n in range(count)]
        if self.removal:
            await env.harness.cycles(self.rng.randint(self.duration // 3, self.duration))
            await env.host.remove_device()
            self.removed = True
        for task in tasks:
            await task
        self._stop = True
        await ticker
        await self._close()

    # -- objects -----------------------------------------------------------------------------------

    def _zones(self) -> int:
        return self.zones if self.config.num_mr >= 8 * self.zones else 1

    async def _zone(self, index: int) -> Zone:
        host, rng = self.env.host, self.rng
        zone = Zone(rng.randrange(1 << 14) * 4 + index)
        small = self.config.num_mr < 8
        for n in range(3):
            rights = Right.LOCAL_WRITE if n == 0 else rng.choice((Right(0), Right.REMOTE_READ))
            rights = Right.LOCAL_WRITE | BOTH if n == 2 else rights
            length = _ARENA + (1 << 14 if n == 0 else 0)
            base = self.env.memory.allocate(length + 256) + rng.randint(64, 128)
            region = await host.register(length, base=base, zone=zone.number, rights=rights)
            (zone.regions if n != 1 else zone.readable).append(region)
            self.env.memory.write(base, rng.randbytes(_ARENA))
            if n == 0:
                zone.free = list(range(base + _ARENA, base + length - _BUFFER, _BUFFER))
            self._keyed.append(region)
        for _ in range(1 if small else 3):
            base = self.env.memory.allocate(_ARENA + 128) + rng.randint(0, 64)
            rights = Right.LOCAL_WRITE | BOTH
            fast = await host.allocate(_ARENA, base=base, zone=zone.number, rights=rights)
            self.env.memory.write(base, rng.randbytes(_ARENA))
            zone.fast.append(fast)
        for _ in range(min(self.windows, self.config.num_mw // self._zones())):
            context = rng.getrandbits(60) | 1 << 61
            window = await host.create_window(zone=zone.number, context=context)
            zone.windows.append(window)
        self._keyed += [*zone.fast, *zone.windows]
        return zone

    async def _side(self, number: int, zone: Zone) -> Side:
        """A new QP with a CQ of its own, and perhaps an SRQ."""
        host, rng, config = self.env.host, self.rng, self.config
        deep = 1 << config.sq_log2
        log2 = min(config.max_log2, (deep + 2 * (1 << config.rq_log2)).bit_length())
        cq = host.cqs.get(number)
        if cq is None:
            cq = await host.create_cq(number, eq=self._eq, log2=log2)
        srq = None
        if rng.random() < self.shared and number < config.num_srq and not self.removed:
            size = min(1 << config.srq_log2, 1 << config.rq_log2)
            srq = await host.create_srq(number, size=size, page=cq.page, zone=zone.number)
        guarded = rng.random() < self.guarded
        qp = await host.create_qp(
            number,
            cq=cq,
            context=rng.getrandbits(48) << 16 | number,
            recv_depth=0 if srq else 1 << config.rq_log2,
            zone=zone.number,
            srq=srq,
            recv_flag=rng.choice(list(RecvFlag)),
            nd1=guarded and rng.random() < self.nd1,
            guarded=guarded,
        )
        side = Side(qp, srq)
        enabled = self.env.transport.responder.enabled
        assert enabled is not None
        enabled.discard(number)
        if guarded:
            enabled.add(number)
        self._sides.append(side)
        return side

    async def _leave(self, side: Side, zone: Zone) -> None:
        """The QP goes; while something is valid on it, it may not."""
        if side.kept:
            await allowed(side.qp.destroy(wait=False))
        for window, *_ in side.kept:
            await self._renew(window, zone)
        side.kept.clear()
        await side.qp.destroy()
        if side.srq is not None:
            srq = side.srq
            srq.auto_reap = False
            assert await srq.reap() == (0, 0)
            await srq.free()
        side.buffers.clear()
        self._sides.remove(side)

    async def _renew(self, window: MemoryWindow, zone: Zone) -> None:
        """Closes a window, and makes it anew with another context."""
        await window.close()
        if not self.removed and await allowed(window.create(self.rng.getrandbits(60) | 1 << 61)):
            zone.windows.append(window)

    # -- time, completions -------------------------------------------------------------------------

    async def _ticks(self) -> None:
        while not self._stop:
            await self.env.harness.cycles(self.chunk)
            await self.env.sync()
            for side in self._sides:
                self.poll(side)
            tick, self._tick = self._tick, Event()
            tick.set()

    async def tick(self) -> None:
        """Waits for the next look."""
        await self._tick.wait()

    async def rest(self, most: int) -> None:
        """Waits some cycles."""
        await self.env.harness.cycles(self.rng.randint(1, most))

    def poll(self, side: Side) -> None:
        """Takes all completions of a QP."""
        cq = side.qp.cq
        for result in cq.get_cq_results_ex():
            self._completed(side, result)
        if cq.consumer_index != self._told.get(cq.number, 0):
            self._told[cq.number] = cq.consumer_index
            self._answers.append(cq.post_consumer_index())
        while self._answers and self._answers[0].done:
            assert self._answers.pop(0).result == (0, 0)

    def _completed(self, side: Side, result: NdResultEx) -> None:
        if side.open and side.open[0].post.context == result.request_context:
            side.open.popleft().status = result.status
            return
        first_of_two = result.type == CqeType.INVALIDATE
        if not first_of_two:
            address = side.buffers.popleft()
            if result.status:
                return
            self.messages[self.env.memory.read(address, _ID)].received = True
            self.done["received"] += 1
        if result.token and side.qp.guarded:
            self.gone.append(result.token)

    async def until(self, *asked: Asked | None) -> bool:
        """Waits for the completions; True if all have succeeded."""
        there = [one for one in asked if one is not None]
        while not all(one.done for one in there):
            await self.tick()
        return len(there) == len(asked) and all(one.good for one in there)

    # -- requests ----------------------------------------------------------------------------------

    def serial(self) -> int:
        """A number that was never used before."""
        self._serial += 1
        return self._serial

    async def ask(self, link: Link, side: Side, post: Post) -> Asked | None:
        """Posts as soon as there is room; None if the connection has ended."""
        while not link.over:
            if len(side.open) >= side.qp.depth:
                await self.tick()
                continue
            asked = Asked(post)
            side.open.append(asked)
            cause = await side.qp.post(post)
            if cause == Cause.NONE:
                return asked
            side.open.remove(asked)
            if cause in _OVER:
                assert not link.clean or self.removed or cause == Cause.DEVICE_REMOVED
                link.over = True
                return None
            assert cause in _AGAIN, cause.name
            await self.tick()
        return None

    def make(self, side: Side, opcode: int, **fields: Any) -> Post:
        """A post with a context of its own."""
        return side.qp.make(opcode, context=1 << 40 | self.serial(), **fields)

    def left_over(self, link: Link, side: Side) -> bool:
        """Whether the receive queue is full with a buffer for each message that comes: an SRQ keeps
        those of connections that have ended, and only messages make room.
        """
        coming = sum(one.side is side and not one.received for one in link.messages)
        return len(side.buffers) >= max(side.room, coming)

    def _place(self, zone: Zone) -> int:
        """Where a receive buffer may be: of the places that wait for no message the one that was
        given out longest ago, for what is in a buffer is read some cycles after its message.
        """
        taken = {address for side in self._sides for address in side.buffers}
        place = next(address for address in zone.free if address not in taken)
        zone.free.remove(place)
        zone.free.append(place)
        return place

    async def buffer(self, link: Link, side: Side) -> bool:
        """Posts one receive; False if the connection has ended."""
        queue: Any = side.srq or side.qp
        region = link.zone.regions[0]
        waited = 0
        while not link.over:
            if len(side.buffers) >= side.room:
                waited += 1
                # Buffers of an SRQ outlive the connection: nothing else tells of its end.
                if waited % _PATIENCE == 0:
                    states = [(await x.qp.query()).state for x in link.sides]
                    if any(state != QpState.CONNECTED for state in states):
                        assert not link.clean or self.removal
                        link.over = True
                await self.tick()
                continue
            address = self._place(link.zone)
            context = 1 << 63 | self.serial()
            side.buffers.append(address)
            posted = await queue.post_recv(
                [region.segment(address - region.base, _BUFFER)], context
            )
            if posted.accepted:
                return True
            side.buffers.remove(address)
            if posted.cause not in _AGAIN:
                assert not link.clean or self.removed or posted.cause == Cause.DEVICE_REMOVED
                link.over = True
            await self.tick()
        return False

    # -- connections -------------------------------------------------------------------------------

    async def _pair(self, number: int) -> None:
        assert await allowed(self._lives(number)) or self.removal

    async def _lives(self, number: int) -> None:
        rng, harness = self.rng, self.env.harness
        zone = self._domains[number // 2 % len(self._domains)]
        sides = await self._side(number, zone), await self._side(number + 1, zone)
        while harness.cycle < self._end and not self.removed:
            link = Link(sides, zone, clean=rng.random() >= self.troubled)
            await self._connection(link)
            if self.removed or rng.random() >= self.rebirths:
                continue
            for side in sides:
                await self._leave(side, zone)
            sides = await self._side(number, zone), await self._side(number + 1, zone)

    async def _connection(self, link: Link) -> None:
        await allowed(connect_pair(link.sides[0].qp, link.sides[1].qp))
        for side in link.sides if self.filled else ():
            while side.srq is not None and len(side.buffers) < side.room:
                self.done["filled"] += await self.buffer(link, side)
        work: list[Coroutine[Any, Any, None]] = [self._thread(link) for _ in range(self.threads)]
        if not link.clean:
            work.append(self._trouble(link))
        for task in [self.spawn(one) for one in work]:
            await task
        await self._ending(link)

    async def _thread(self, link: Link) -> None:
        kinds = self.kinds()
        for _ in range(self.rng.randint(1, self.length)):
            if link.over:
                return
            await self.rng.choice(kinds)(link)
            await self.rest(60)

    def kinds(self) -> list[Any]:
        """What a thread may do, in :mod:`tb.sequences.traffic.window_traffic`."""
        return []

    async def _trouble(self, link: Link) -> None:
        """What ends the connection, in :mod:`tb.sequences.life.window_life`."""

    async def _ending(self, link: Link) -> None:
        """Both sides leave the connection, and are as new."""
        graceful = link.clean and self.rng.random() < 0.5
        if graceful:
            for side in link.sides:
                await side.qp.set_state(QpState.DISCONNECT_PENDING)
        elif self.rng.random() < 0.3:
            for side in link.sides:
                self.env.transport.disconnect(side.number)
        for side in link.sides:
            await side.qp.set_state(QpState.DISCONNECTED)
        link.over = True
        while not all(side.quiet for side in link.sides):
            await self.tick()
        for side in link.sides:
            if (await side.qp.query()).state != QpState.IDLE:
                await side.qp.reset()
            while (await side.qp.cq.query()).prod != side.qp.cq.consumer_index:
                await self.tick()
        # Checks are answered in order: those of this connection have been when this one is.
        await self.env.transport.responder.check(0xFFFF, 1, 0, 0, 0)
        for keyed in link.left:
            valid = (await keyed.refresh()).valid
            if isinstance(keyed, MemoryWindow):
                if valid:
                    await self._renew(keyed, link.zone)
                else:
                    link.zone.windows.append(keyed)
            else:
                await self.again(keyed, link.zone, valid)
        link.left.clear()

    async def again(self, region: Region, zone: Zone, deregister: bool) -> None:
        """An allocated region is free for the next; ``deregister``: it goes and comes again."""
        if deregister:
            await region.deregister()
            if not await allowed(region.allocate()):
                return
        zone.fast.append(region)

    # -- the end -----------------------------------------------------------------------------------

    async def _close(self) -> None:
        """Everything goes; nothing is missing, nothing is left over."""
        env, host = self.env, self.env.host
        for side in list(self._sides):
            await self._leave(side, self._domains[side.number // 2 % len(self._domains)])
        for window in list(host.windows.values()):
            await window.close()
        for region in list(host.regions.values()):
            await region.query()
            await region.deregister()
        await env.drain()
        for cq in list(host.cqs.values()):
            assert not cq.get_cq_results_ex()
            assert await cq.update_consumer_index() == (0, 0)
            await cq.query()
            await cq.destroy()
