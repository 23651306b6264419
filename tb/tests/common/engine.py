# SPDX-License-Identifier: Apache-2.0
"""The base of the directed tests of the full engine. Its own steps are those of keys and windows:
guarded queue pairs, requests that change keys, checks, messages that invalidate, and demands on
what they answer.
"""

from __future__ import annotations

from typing import Any

from models.post.post import Post, Segment
from tb.env.agents.base import Pending
from tb.env.agents.receive import Answer
from tb.env.base_test import CarillonTest
from tb.env.defs import (
    CheckKind,
    CqeStatus,
    CqeType,
    Opcode,
    PostFlag,
    QpState,
    Right,
    Scatter,
    TraceOp,
    Verdict,
)
from tb.env.harness.records import Trace
from tb.env.host.qp import Qp
from tb.env.host.recv import ReceiveQueue, Srq
from tb.env.host.regions import MemoryWindow, Region
from tb.tests.common.directed import Directed
from tb.tests.common.posting import Posting
from tb.tests.common.receiving import TAKEN, Receiving, Want

READ = CheckKind.READ
WRITE = CheckKind.WRITE
GRANTED = Verdict.GRANTED
BAD_KEY = Verdict.BAD_KEY
BAD_TOKEN = Scatter.BAD_TOKEN
INVALID_TOKEN = CqeStatus.INVALID_TOKEN
ALREADY_VALID = CqeStatus.ALREADY_VALID
BAD_MEMORY = CqeStatus.BAD_MEMORY
LOCAL = Right.LOCAL_WRITE
REMOTE = Right.REMOTE_READ | Right.REMOTE_WRITE
ALL = LOCAL | REMOTE
ZONE = 5
OTHER_ZONE = 6
GENERATION = 1 << 12
WINDOW = 1 << 11
Keyed = MemoryWindow | Region


class EngineTest(Directed, Posting, Receiving, CarillonTest):
    """All steps of posts and receives, and those that need both. The test reports by itself,
    receives too; requests of keys need no reports.
    """

    async def own(self, buffers: int = 0, *, depth: int | None = None, **options: Any) -> Qp:
        """A connected QP with a queue of its own, empty or not."""
        qp = await self.qp(recv_depth=self.depth if depth is None else depth, **options)
        if buffers:
            await self.supply(qp, buffers)
        return qp

    async def shared(self, users: int, **options: Any) -> tuple[Srq, list[Qp]]:
        """An SRQ and connected QPs that use it, each with its CQ."""
        srq = await self.env.host.create_srq(**options)
        return srq, [await self.qp(srq=srq) for _ in range(users)]

    # -- guarded queue pairs, regions, windows -----------------------------------------------------

    async def guarded(self, **options: object) -> Qp:
        """A connected guarded QP of ``ZONE``, with a receive queue of its own."""
        options.setdefault("zone", ZONE)
        options.setdefault("recv_depth", 0 if "srq" in options else 4)
        return await self.qp(guarded=True, **options)

    async def sharing(self, count: int, **options: object) -> list[Qp]:
        """So many guarded QPs with one CQ."""
        qps = [await self.guarded(**options)]
        while len(qps) < count:
            qps.append(await self.guarded(share=qps[0], **options))
        return qps

    async def memory(
        self, length: int = 4096, *, zone: int = ZONE, rights: int = ALL, base: int | None = None
    ) -> Region:
        """A region by REGISTER_MR."""
        return await self.env.host.register(length, zone=zone, rights=rights, base=base)

    async def allocated(self, length: int = 4096, *, rights: int = ALL) -> Region:
        """A region by ALLOC_MR."""
        return await self.env.host.allocate(length, zone=ZONE, rights=rights)

    async def window(self, *, zone: int = ZONE, context: int | None = None) -> MemoryWindow:
        """A window, not bound."""
        return await self.env.host.create_window(zone=zone, context=context)

    # -- requests ----------------------------------------------------------------------------------

    async def execute(self, qp: Qp, post: Post, status: int = 0) -> None:
        """One local request, with its completion; when it fails, the connection ends."""
        mark = self.mark
        await self.accept(qp, [post])
        await self.demand_results(qp, [post], status)
        await self.demand_state(qp, QpState.ERROR if status else QpState.CONNECTED)
        terms = [(qp.number, int(QpState.ERROR))] if status else []
        assert self.terms(mark) == terms, self.terms(mark)

    async def bind(
        self,
        window: MemoryWindow,
        qp: Qp,
        region: Region,
        offset: int = 0,
        length: int | None = None,
        rights: int = REMOTE,
    ) -> int:
        """A Bind that succeeds; returns the new key."""
        old = (await window.query()).key
        await self.execute(qp, window.make_bind(qp, region, offset, length, rights))
        status = await window.refresh()
        assert (status.key, status.valid) == (old + GENERATION, True), status
        return status.key

    async def fast_register(self, region: Region, qp: Qp, rights: int | None = None) -> int:
        """A FastRegister that succeeds; returns the new key."""
        old = (await region.query()).key
        await self.execute(qp, region.make_fast_register(qp, rights=rights))
        status = await region.refresh()
        assert (status.key, status.valid, status.qp) == (old + GENERATION, True, qp.number)
        return status.key

    async def invalidate(self, qp: Qp, key: int, status: int = 0) -> None:
        """An Invalidate."""
        await self.execute(qp, qp.make(Opcode.INVALIDATE, token=key), status)

    async def fails(self, qp: Qp, post: Post, status: int) -> None:
        """A local request that fails; the connection is made again."""
        await self.execute(qp, post, status)
        await self.revive(qp)

    async def make_valid(self, keyed: Keyed, qp: Qp, memory: Region) -> int:
        """A valid key of an object: by FastRegister of a region, by Bind of a window to memory."""
        if isinstance(keyed, Region):
            return await self.fast_register(keyed, qp)
        return await self.bind(keyed, qp, memory)

    async def renew(self, keyed: Keyed) -> None:
        """Ends an object and makes it anew: a window, or a region that is not registered yet."""
        if isinstance(keyed, Region):
            await keyed.deregister()
            await keyed.allocate()
        else:
            await keyed.close()
            await keyed.create()

    def read_of(self, qp: Qp, memory: Region, key: int, **fields: Any) -> Post:
        """A Read into memory that invalidates this key when it retires."""
        fields.setdefault("segments", [Segment(memory.base, 8, key)])
        flags, target = PostFlag.RDMA_READ_LOCAL_INVALIDATE, memory.segment(0, 8)
        return qp.make(Opcode.READ, target=target, flags=flags, **fields)

    async def read(self, qp: Qp, post: Post, status: int = 0) -> None:
        """A Read to its completion; when it fails, the connection is made again."""
        await self.accept(qp, [post])
        await self.rest()
        self.report(qp)
        await self.demand_results(qp, [post], status)
        await self.demand_state(qp, QpState.ERROR if status else QpState.CONNECTED)
        await self.revive(qp)

    async def revive(self, qp: Qp) -> None:
        """A fresh connection, whatever the state."""
        state = (await qp.query()).state
        if state != QpState.CONNECTED:
            if state != QpState.IDLE:
                await qp.reset()
            await qp.connect(qp.number ^ 1)

    async def demand_state(self, qp: Qp, state: QpState) -> None:
        found = (await qp.query()).state
        assert found == state, f"QP {qp.number} is {found.name}"

    # -- checks ------------------------------------------------------------------------------------

    def post_check(
        self,
        qp: Qp,
        kind: CheckKind | int,
        key: int,
        address: int,
        length: int,
        at: int | None = None,
    ) -> Pending:
        """Queues a check."""
        responder = self.env.transport.responder
        return responder.post_check(qp.number, kind, key, address, length, at_cycle=at)

    async def check(
        self, qp: Qp, kind: CheckKind | int, key: int, address: int, length: int
    ) -> Verdict:
        """The verdict of one check."""
        return (await self.post_check(qp, kind, key, address, length)).code

    async def demand_verdict(
        self, qp: Qp, code: Verdict, kind: CheckKind | int, key: int, address: int, length: int
    ) -> None:
        """A check is answered so; if a key decides against it, the connection ends, and is made
        again.
        """
        mark = self.mark
        found = await self.check(qp, kind, key, address, length)
        what = f"{kind} of {length} at {address:#x} by {key:#x}"
        assert found == code, f"{what}: {found.name}, expected {code.name}"
        if code in (Verdict.GRANTED, Verdict.REFUSED):
            return
        await self.rest(16)
        assert self.terms(mark) == [(qp.number, int(QpState.ERROR))], what
        await self.demand_state(qp, QpState.ERROR)
        # Nothing more is granted.
        assert await self.check(qp, kind, key, address, length) == Verdict.REFUSED
        await self.revive(qp)

    # -- messages ----------------------------------------------------------------------------------

    def send_invalidate(
        self, qp: Qp, token: int, length: int = 1, *, at: int | None = None, solicited: bool = False
    ) -> Pending[Answer]:
        """A message that invalidates."""
        return self.receiver.post_request(
            qp.number, length, invalidate=True, token=token, at_cycle=at, solicited=solicited
        )

    async def post_buffers(self, queue: ReceiveQueue, memory: Region, count: int = 1) -> list[int]:
        """Posts buffers of up to 32 bytes at the begin of this memory; returns their cookies."""
        part = memory.segment(0, min(memory.length, 32))
        posts = await self.accept_recv(queue, [queue.make_recv([part]) for _ in range(count)])
        return [post.context for post in posts]

    async def deliver(
        self, qp: Qp, token: int, *wanted: Want, code: int = TAKEN, status: int = 0, **options: Any
    ) -> None:
        """A message that invalidates is answered so; its buffer is reported, and completes."""
        await self.answers([self.send_invalidate(qp, token, **options)], code)
        self.settle(qp, status)
        await self.demand(qp, wanted)

    async def refuse_token(self, qp: Qp, memory: Region, token: int) -> None:
        """A message with this token ends the connection, which is made again."""
        (cookie,) = await self.post_buffers(qp, memory)
        await self.deliver(qp, token, bad_token(cookie, token), code=BAD_TOKEN)
        await self.demand_state(qp, QpState.ERROR)
        await self.revive(qp)

    # -- states ------------------------------------------------------------------------------------

    async def start_over(self) -> None:
        """Reset: the engine has forgotten everything."""
        await self.env.reset()
        self._region = None
        for counts in (self.reports, self.tags, self.early, self.next_tag):
            counts.clear()

    def key_steps(self, op: TraceOp, since: int = 0) -> list[Trace]:
        """Steps of lanes 8 and 9."""
        return [t for t in self.of(Trace, since) if t.op == op]


def received(cookie: int, token: int, nbytes: int = 1) -> Want:
    """The one entry of an invalidating receive of NDKPI."""
    return Want(cookie, nbytes, 0, CqeType.RECEIVE_AND_INVALIDATE, token)


def bad_token(cookie: int, token: int) -> Want:
    """The same, when the token was bad."""
    return Want(cookie, 0, INVALID_TOKEN, CqeType.RECEIVE_AND_INVALIDATE, token)


def result_of(context: int, token: int) -> Want:
    """The invalidate result of an invalidating receive of NetworkDirect 1."""
    return Want(context, 0, 0, CqeType.INVALIDATE, token)


def segment(region: Region, offset: int = 0, length: int = 64, key: int | None = None) -> Segment:
    """Memory, at any offset, by any key."""
    address = region.base + offset & (1 << 64) - 1
    return Segment(address, length, region.key if key is None else key)
