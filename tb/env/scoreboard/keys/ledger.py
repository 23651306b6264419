# SPDX-License-Identifier: Apache-2.0
"""What a host can tell by itself of windows: requests and their completions, messages, invalidated
keys, and every byte of the memory that peers may reach. It uses neither trace nor scoreboard.

A byte has its first value, or that of a Write which may have been executed and that no Write which
has certainly succeeded came after.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from models.cq.queue import NdResultEx
from models.post.post import Post
from tb.env.defs import CqeStatus, CqeType
from tb.env.host.memory import HostMemory
from tb.env.host.qp import Qp
from tb.env.host.recv import Srq
from tb.env.host.regions import MemoryWindow, Region

_NEVER = 1 << 62
_MANY = 4  # Writes to a byte of which old ones are forgotten
_ID = 8  # bytes of a message that tell it from all others


@dataclass(eq=False)
class Asked:
    """An accepted request. ``want``: statuses that it may have, None if the link decides."""

    post: Post
    begun: int
    want: frozenset[int] | None = None
    status: int | None = None
    ended: int = _NEVER

    @property
    def done(self) -> bool:
        """It was polled."""
        return self.status is not None

    @property
    def good(self) -> bool:
        """It has succeeded."""
        return self.status == 0

    @property
    def never(self) -> bool:
        """It must not succeed, so nothing of it may be seen."""
        return self.want is not None and 0 not in self.want


@dataclass(eq=False)
class Stored:
    """Bytes that a Write brings to ``address``."""

    asked: Asked
    address: int
    data: bytes


@dataclass(eq=False)
class Message:
    """A Send to ``side``; ``token`` 0: it invalidates nothing."""

    side: Side
    data: bytes
    token: int
    order: int
    received: bool = False


@dataclass(eq=False)
class Side:
    """One QP, from creation to destruction, and its part of the present connection."""

    qp: Qp
    srq: Srq | None = None
    open: deque[Asked] = field(default_factory=deque)
    """Requests in post order, not polled."""
    buffers: deque[tuple[int, int]] = field(default_factory=deque)
    """Context and address of receives, not polled."""
    kept: list[tuple[MemoryWindow, Region, int, int, int]] = field(default_factory=list)
    """Windows that are valid on it: with region, offset, length, rights."""
    clean: bool = True
    """Everything must succeed."""
    failed: bool = False
    """A request of this connection has failed."""
    half: NdResultEx | None = None
    """The invalidate result of an ND1 receive, whose receive result comes next."""
    last: int = 0
    """Order of the message received last."""

    @property
    def number(self) -> int:
        """Of the QP."""
        return self.qp.number

    @property
    def quiet(self) -> bool:
        """Every request is polled, and every receive of a queue that has no other user."""
        return not self.open and (self.srq is not None or not self.buffers)


class WindowLedger:
    """All requests, messages and bytes of a test."""

    def __init__(self, memory: HostMemory) -> None:
        self._memory = memory
        self._now = 0
        #: No look at memory whose end is not known has begun before.
        self.oldest = 0
        self._covers: defaultdict[int, list[Stored]] = defaultdict(list)
        self._arenas: list[tuple[int, bytes]] = []
        self._messages: dict[bytes, Message] = {}
        self._reads: list[tuple[Asked, int, int, int]] = []
        #: Contexts of objects, by key as it is now; regions have 0.
        self.contexts: dict[int, int] = {}
        #: How often each key was invalidated, as completions say.
        self.gone: Counter[int] = Counter()
        self.statuses: Counter[int] = Counter()
        #: Bytes compared at the end, Reads compared, messages received.
        self.compared = self.reads = self.received = 0

    def stamp(self) -> int:
        """Later than everything before."""
        self._now += 1
        return self._now

    # -- memory ------------------------------------------------------------------------------------

    def watch(self, base: int, data: bytes) -> None:
        """A range that only granted Writes change; ``data`` is stored there."""
        self._memory.write(base, data)
        self._arenas.append((base, data))

    def write(self, asked: Asked, address: int, data: bytes) -> None:
        """A Write was posted."""
        stored = Stored(asked, address, data)
        if not asked.never:
            for n in range(len(data)):
                covers = self._covers[address + n]
                if len(covers) >= _MANY:
                    covers[:] = self._visible(covers, self.oldest)[0]
                covers.append(stored)

    def read(self, asked: Asked, address: int, sink: int, length: int) -> None:
        """A Read was posted; ``sink`` is fresh memory."""
        self._reads.append((asked, address, sink, length))

    def _first(self, address: int) -> int:
        for base, data in self._arenas:
            if base <= address < base + len(data):
                return data[address - base]
        return 0

    def _possible(self, address: int, length: int, begun: int, ended: int) -> Iterator[set[int]]:
        """Values of each byte that who looks between two stamps may see."""
        before: list[Stored] = []
        mine: list[Stored] = []
        sure = False
        for at in range(address, address + length):
            covers = self._covers.get(at, [])
            if covers != before:  # neighbours mostly come from the same Writes
                before, (visible, sure) = covers, self._visible(covers, begun)
                mine = [w for w in visible if w.asked.begun <= ended]
            found = {w.data[at - w.address] for w in mine}
            yield found if sure else found | {self._first(at)}

    @staticmethod
    def _visible(covers: list[Stored], begun: int) -> tuple[list[Stored], bool]:
        """What may be there from a stamp on, and whether any of it is there for certain."""
        sure = [w.asked.begun for w in covers if w.asked.ended < begun and w.asked.good]
        newest = max(sure, default=-1)
        return [w for w in covers if w.asked.ended >= newest], bool(sure)

    # -- messages ----------------------------------------------------------------------------------

    def message(self, side: Side, data: bytes, token: int) -> Message:
        """A Send to ``side`` is about to be posted; its first bytes are its own."""
        message = Message(side, data, token, self.stamp())
        assert self._messages.setdefault(data[:_ID], message) is message
        return message

    # -- completions -------------------------------------------------------------------------------

    def completed(self, side: Side, result: NdResultEx) -> None:
        """A completion was polled from the CQ of ``side``."""
        where = f"QP {side.number}: {result}"
        assert result.qp_context == side.qp.context, f"{where}: wrong QP"
        self.statuses[result.status] += 1
        if side.open and side.open[0].post.context == result.request_context:
            self._request(side, side.open.popleft(), result)
        elif result.type == CqeType.INVALIDATE:
            assert side.qp.nd1 and side.half is None and result.status == 0, where
            assert result.token and result.nbytes == 0, where
            side.half = result
        else:
            assert side.buffers, f"{where}: nobody asked for it"
            context, address = side.buffers.popleft()
            assert context == result.request_context, f"{where}: not in order, {context:#x}"
            self._receive(side, address, result)

    def _request(self, side: Side, asked: Asked, result: NdResultEx) -> None:
        where = f"QP {side.number}, {asked.post}: {result}"
        status = result.status
        asked.status, asked.ended = status, self.stamp()
        assert side.half is None, f"{where}: between the entries of one receive"
        if side.failed:
            assert status == CqeStatus.CANCELED, f"{where} behind a failure"
        elif asked.want is not None:
            want = asked.want if side.clean else asked.want | {CqeStatus.CANCELED}
            assert status in want, f"{where}: not {asked.want}"
        elif side.clean:
            assert status == 0, f"{where}: in a connection without a failure"
        side.failed = side.failed or status != 0

    def _receive(self, side: Side, address: int, result: NdResultEx) -> None:
        where = f"QP {side.number}: {result}"
        half, side.half = side.half, None
        if half is not None:
            self.invalidated(half.token, where)
        if result.status:
            assert not side.clean or result.status == CqeStatus.CANCELED, where
            assert result.nbytes == 0, where
            return
        data = self._memory.read(address, result.nbytes)
        message = self._messages.get(data[:_ID])
        assert message is not None and message.side is side, f"{where}: {data.hex()}"
        assert data == message.data and not message.received, f"{where}: {data.hex()}"
        assert message.order > side.last, f"{where}: overtaken"
        side.last, message.received = message.order, True
        self.received += 1
        two = side.qp.nd1 and message.token != 0
        kind = CqeType.RECEIVE_AND_INVALIDATE if message.token and not two else CqeType.RECEIVE
        assert (result.type, result.token) == (kind, 0 if two else message.token), where
        assert (half is not None) == two, f"{where}: {half}"
        if half is not None:
            assert half.token == message.token, f"{where}: {half}"
            assert half.request_context == self.contexts[half.token], f"{where}: {half}"
        elif message.token and side.qp.guarded:
            self.invalidated(message.token, where)

    def invalidated(self, key: int, where: str) -> None:
        """A key was invalidated, as a completion says: no key twice (MW-05)."""
        self.gone[key] += 1
        assert self.gone[key] == 1, f"{where}: {key:#x} was invalidated twice"

    # -- the end -----------------------------------------------------------------------------------

    def check_reads(self) -> None:
        """What finished Reads have brought; before a sink is used again."""
        left = []
        for read in self._reads:
            asked, address, sink, length = read
            if not asked.done:
                left.append(read)
                continue
            found = self._memory.read(sink, length)
            if not asked.good:
                assert not asked.never or not any(found), f"{asked.post}: refused, and read"
                continue
            self.reads += 1
            possible = self._possible(address, length, asked.begun, asked.ended)
            for n, (byte, want) in enumerate(zip(found, possible, strict=True)):
                assert byte in want, f"{asked.post}: byte {n} is {byte:#x}, not {want}"
        self._reads = left

    def check(self) -> None:
        """At rest: memory holds what granted Writes brought, and nothing else has changed (MW-10);
        messages whose Sends succeeded have been judged when they came.
        """
        self.check_reads()
        assert not self._reads
        for base, data in self._arenas:
            found = self._memory.read(base, len(data))
            possible = self._possible(base, len(data), _NEVER, _NEVER)
            for n, (byte, want) in enumerate(zip(found, possible, strict=True)):
                if base + n in self._covers:
                    assert byte in want, f"{base + n:#x}: {byte:#x}, not {want}"
                    self.compared += 1
                else:
                    assert byte == data[n], f"{base + n:#x}: {byte:#x}, nobody wrote there"
