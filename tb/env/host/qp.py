# SPDX-License-Identifier: Apache-2.0
"""Queue pairs as the host sees them (the objects that ``Adapter.create_qp`` makes)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from models.post.post import Post, Segment, inline_slots, slots_of
from tb.env import defs
from tb.env.agents.base import Pending
from tb.env.agents.doorbell import WriteResult
from tb.env.defs import Cause, Cmd, Opcode, PageReg, PostFlag, QpState, RecvFlag, Result
from tb.env.host.cq import Cq
from tb.env.host.recv import ReceiveQueue, Srq

_BUFFER = 0x7000_0000_0000  # where segments lie that a test does not care about


@dataclass(frozen=True)
class QpStatus:
    """Answer to QUERY_QP."""

    state: QpState
    peer: int
    tail: int
    released: int
    indicated: int
    retired: int
    cq: int
    recv_cq: int
    page: int
    depth: int
    watermark: int
    age: int
    zone: int = 0
    recv_depth: int = 0
    srq: int | None = None
    recv_flag: int = 0
    nd1: bool = False
    guarded: bool = False

    @classmethod
    def from_outs(cls, outs: tuple[int, ...]) -> QpStatus:
        """From OUT0 to OUT7."""
        state, cqs = defs.QP_STATE.unpack(outs[0]), defs.QP_CQS.unpack(outs[3])
        zone, recv = defs.QP_ZONE.unpack(outs[6]), defs.QP_RECV.unpack(outs[7])
        return cls(
            state=QpState(state["state"]),
            peer=state["peer"],
            **defs.QP_POSTED.unpack(outs[1]),
            **defs.QP_LEFT.unpack(outs[2]),
            cq=cqs["send"],
            recv_cq=cqs["recv"],
            **defs.QP_OWNER.unpack(outs[4]),
            **defs.QP_HOLDS.unpack(outs[5]),
            zone=zone["zone"],
            recv_depth=zone["depth"],
            srq=recv["srq"] if recv["shared"] else None,
            recv_flag=recv["flag"],
            nd1=bool(recv["nd1"]),
            guarded=bool(recv["guarded"]),
        )


@dataclass(eq=False)
class Qp(ReceiveQueue):
    """A queue pair and its consumer. Posts go through the owner's page unless ``page`` says
    otherwise.
    """

    portal: ClassVar[PageReg] = PageReg.RECV
    kind: ClassVar[str] = "qps"

    cq: Cq
    recv_cq: Cq
    depth: int
    context: int
    recv_depth: int = 0
    zone: int = 0
    srq: Srq | None = None
    recv_flag: RecvFlag | int = RecvFlag.DEFAULT
    nd1: bool = False
    """An invalidating receive completes with two entries, as NetworkDirect 1 has it."""
    guarded: bool = False
    """The engine executes its Binds, FastRegisters and Invalidates, and judges its peer."""
    peer: int | None = field(default=None, init=False)
    _made: int = field(default=0, init=False)

    # -- posts -------------------------------------------------------------------------------------

    def make(
        self,
        opcode: Opcode | int,
        *,
        data: bytes | None = None,
        segments: Sequence[Segment] | None = None,
        length: int | None = None,
        target: Segment | None = None,
        token: int | None = None,
        context: int | None = None,
        flags: int = 0,
        defer: bool = False,
        silent: bool = False,
        fence: bool = False,
        solicit: bool = False,
    ) -> Post:
        """A post for this QP: with INLINE ``data``, or ``segments``, or one segment of ``length``
        bytes, or none. ``target``, or its ``token`` alone. Default context: the QP's number in the
        upper half, counted in the lower.
        """
        for flag, on in (
            (PostFlag.DEFER, defer),
            (PostFlag.SILENT_SUCCESS, silent),
            (PostFlag.READ_FENCE, fence),
            (PostFlag.SEND_AND_SOLICIT_EVENT, solicit),
            (PostFlag.INLINE, data is not None),
        ):
            flags |= flag if on else 0
        if context is None:
            context = self.number << 32 | self._made
            self._made += 1
        if target is None and token is not None:
            target = Segment(key=token)
        if segments is None:
            segments = [] if length is None else [Segment(_BUFFER, length, self.number)]
        slots = inline_slots(data, target) if data is not None else slots_of(segments, target)
        return Post(
            opcode=int(opcode),
            num_segments=len(segments),
            flags=int(flags),
            qp=self.number,
            inline_bytes=len(data) if data is not None else 0,
            context=context,
            slots=slots,
        )

    def queue(
        self, post: Post | int, *, page: int | None = None, at: int = 0, **options: Any
    ) -> Pending[WriteResult]:
        """Queues the write of a post (or of any 512 bits) and returns its answer to come; posts go
        out one per cycle. Options: those of ``DoorbellAgent.post``.
        """
        return self.queue_line(PageReg.SEND, post, page, at=at, **options)

    def queue_many(self, posts: Iterable[Post | int]) -> list[Pending[WriteResult]]:
        """Queues many posts; await the answers as needed."""
        return [self.queue(post) for post in posts]

    async def post(self, post: Post | int, **options: Any) -> Cause:
        """Writes a post; returns its inline result."""
        resp, cause = await self.queue(post, **options)
        assert bool(resp) == bool(cause), f"response {resp} with cause {cause}"
        return Cause(cause)

    async def send(self, **fields: Any) -> Cause:
        """NdkSend. ``fields``: those of :meth:`make`."""
        return await self.post(self.make(Opcode.SEND, **fields))

    async def send_and_invalidate(self, token: int, **fields: Any) -> Cause:
        """NdkSendAndInvalidate: ``token`` is the peer's."""
        return await self.post(self.make(Opcode.SEND_AND_INVALIDATE, token=token, **fields))

    async def read(self, target: Segment, **fields: Any) -> Cause:
        """NdkRead."""
        return await self.post(self.make(Opcode.READ, target=target, **fields))

    async def write(self, target: Segment, **fields: Any) -> Cause:
        """NdkWrite."""
        return await self.post(self.make(Opcode.WRITE, target=target, **fields))

    async def bind(self, token: int, **fields: Any) -> Cause:
        """NdkBind."""
        return await self.post(self.make(Opcode.BIND, token=token, **fields))

    async def fast_register(self, token: int, **fields: Any) -> Cause:
        """NdkFastRegister."""
        return await self.post(self.make(Opcode.FAST_REGISTER, token=token, **fields))

    async def invalidate(self, token: int, **fields: Any) -> Cause:
        """NdkInvalidate."""
        return await self.post(self.make(Opcode.INVALIDATE, token=token, **fields))

    # -- commands ----------------------------------------------------------------------------------

    async def create(self, watermark: int = 0, age: int = 0) -> None:
        """CREATE_QP, also after :meth:`destroy`."""
        await self.command(
            Cmd.CREATE_QP,
            *(self.context & 0xFFFF_FFFF, self.context >> 32),
            defs.QP_CQS.pack(send=self.cq.number, recv=self.recv_cq.number),
            defs.QP_OWNER.pack(page=self.page, depth=self.depth),
            defs.QP_HOLDS.pack(watermark=watermark, age=age),
            defs.QP_ZONE.pack(zone=self.zone, depth=self.recv_depth),
            defs.QP_RECV.pack(
                srq=0 if self.srq is None else self.srq.number,
                shared=int(self.srq is not None),
                nd1=int(self.nd1),
                guarded=int(self.guarded),
                flag=int(self.recv_flag),
            ),
        )
        self.peer = None
        if self.srq is not None:
            self.recv_cq.shares[self.context] = self.srq
        else:
            self.recv_cq.shares.pop(self.context, None)

    async def modify(self, *, watermark: int = 0, age: int = 0) -> None:
        """MODIFY_QP; both are set."""
        await self.command(
            Cmd.MODIFY_QP, 0, 0, 0, 0, defs.QP_HOLDS.pack(watermark=watermark, age=age)
        )

    async def connect(self, peer: Qp | int) -> None:
        """CONNECT_QP of this side. The peer connects by itself; see :func:`connect_pair`."""
        number = peer if isinstance(peer, int) else peer.number
        await self.command(Cmd.CONNECT_QP, number)
        self.peer = number

    async def set_state(self, state: QpState | int) -> Result:
        """SET_QP_STATE, whatever its result."""
        command = await self.host.command(Cmd.SET_QP_STATE, self.number, int(state))
        return Result(command.result)

    async def disconnect(self, graceful: bool = True) -> None:
        """Ends the connection: ``graceful`` waits in DISCONNECT_PENDING for what was indicated."""
        if graceful:
            await self.command(Cmd.SET_QP_STATE, QpState.DISCONNECT_PENDING)
            await self.wait_retired()
        await self.command(Cmd.SET_QP_STATE, QpState.DISCONNECTED)

    async def reset(self, attempts: int = 1000) -> None:
        """Back to IDLE from DISCONNECTED or ERROR, as soon as nothing is outstanding."""
        for _ in range(attempts):
            result = await self.set_state(QpState.IDLE)
            if result == Result.OK:
                return
            assert result == Result.BUSY, f"QP {self.number} to IDLE: {result.name}"
        raise AssertionError(f"QP {self.number}: requests are outstanding for ever")

    async def flush(self) -> None:
        """FLUSH_QP."""
        await self.command(Cmd.FLUSH_QP)

    async def query(self) -> QpStatus:
        """QUERY_QP."""
        return QpStatus.from_outs((await self.command(Cmd.QUERY_QP)).outs)

    async def wait_retired(self, attempts: int = 1000) -> QpStatus:
        """Waits until every accepted request has retired."""
        for _ in range(attempts):
            status = await self.query()
            if status.retired == status.tail:
                return status
        raise AssertionError(f"QP {self.number}: {status} does not come to rest")

    async def destroy(self, wait: bool = True) -> Result:
        """DESTROY_QP, repeated while it is pending (``wait``); returns the last result."""
        return await self.end(Cmd.DESTROY_QP, wait)


async def connect_pair(first: Qp, second: Qp) -> None:
    """Connects two QPs with each other."""
    await first.connect(second)
    await second.connect(first)
