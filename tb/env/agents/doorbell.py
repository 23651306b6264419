# SPDX-License-Identifier: Apache-2.0
"""Agent of the doorbell pages (s_axi)."""

from __future__ import annotations

from collections import Counter, deque
from typing import Any, NamedTuple

from tb.env.agents.base import BfmAgent, BfmItem, ItemDriver, Pending
from tb.env.harness.decode import DoorbellRead
from tb.env.harness.harness import Channel
from tb.env.harness.records import Asked, DoorbellRequest, DoorbellResponse

PAGE_BYTES = 4096
_M64 = (1 << 64) - 1
_BURST_INCR = 1


class WriteResult(NamedTuple):
    """Answer to a write."""

    resp: int
    cause: int


class ReadResult(NamedTuple):
    """Answer to one beat of a read; ``data``: the 64-bit lane of the address."""

    resp: int
    data: int


class PageItem(BfmItem):
    """A write to a doorbell page; ``answer`` is the result to come. Arguments: those of
    :meth:`DoorbellAgent.post`.
    """

    interface = "pages"
    answer: Pending[WriteResult]

    def __init__(
        self,
        name: str = "write",
        page: int = 0,
        offset: int = 0,
        data: int = 0,
        *,
        line: int | None = None,
        at: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(name)
        self.page = page
        self.offset = offset
        self.data = data
        self.line = line
        self.at = at
        self.options = options

    def asked(self, agent: DoorbellAgent) -> Asked:
        """The write as it has to appear at the pins."""
        serial, addr = agent.queued + 1, self.page * PAGE_BYTES + self.offset & 0xFFFFFFFF
        if self.line is not None:
            return Asked(serial, agent.life, addr, (1 << 512) - 1, self.line)
        lane = 64 * (addr >> 3 & 7)
        return Asked(serial, agent.life, addr, _M64 << lane, (self.data & _M64) << lane)

    def drive(self, agent: DoorbellAgent) -> None:
        self.answer = agent.post(
            self.page, self.offset, self.data, line=self.line, at=self.at, **self.options
        )


class PageDriver(ItemDriver):
    """Writes to doorbell pages."""


class DoorbellAgent(BfmAgent):
    """Writes and reads of the doorbell pages; answers come in request order."""

    driver_type = PageDriver
    reports = (DoorbellRequest, DoorbellResponse)
    channels = (Channel.AW, Channel.W, Channel.AR, Channel.B, Channel.R)

    def build_phase(self) -> None:
        super().build_phase()
        #: What waits: ID, address, word; ID, address, arlen, arsize, the beats so far.
        self._writes: deque[tuple[int, int, int, Pending[WriteResult]]] = deque()
        self._reads: deque[
            tuple[int, int, int, int, list[ReadResult], Pending[list[ReadResult]]]
        ] = deque()
        self._next_id = 0
        self._accepted = 0
        #: Writes queued since the reset; resets.
        self.queued = 0
        self.life = 0
        #: Writes answered since the reset, by cause (0: accepted).
        self.causes: Counter[int] = Counter()
        #: Accesses refused since the reset: cause, address and word of writes; address, arlen and
        #: arsize of reads.
        self.writes_refused: list[tuple[int, int, int]] = []
        self.reads_refused: list[tuple[int, int, int]] = []

    def post(
        self,
        page: int,
        offset: int,
        data: int,
        *,
        size: int = 3,
        strb: int | None = None,
        length: int = 0,
        line: int | None = None,
        axi_id: int | None = None,
        at: int = 0,
        data_at: int | None = None,
        gap: int = 0,
    ) -> Pending[WriteResult]:
        """Queues a write and returns its answer to come. Writes are offered one per cycle.

        ``data`` (64 bits) goes to the byte lanes of the address, ``line`` (512 bits) replaces all
        lanes. ``strb`` are all 64 strobes (default: those of ``size`` bytes at the address).
        ``length``: awlen; every beat carries the same data. ``at``: cycle in which the address is
        offered at the earliest; ``data_at`` the same for the data (default: ``at``).
        """
        addr = page * PAGE_BYTES + offset
        if axi_id is None:
            axi_id = self._next_id
            self._next_id = (axi_id + 1) & 0xFF
        if strb is None:
            strb = ((1 << (1 << size)) - 1) << (addr & 63) & _M64
        flags = (addr >> 3 & 7) << 1
        if line is not None:
            body = [line >> 64 * i & _M64 for i in range(8)]
            flags |= 0x10
        else:
            body = [data & _M64]
        w_at = at if data_at is None else data_at
        aw = addr & 0xFFFFFFFF | axi_id << 32 | length << 40 | size << 48 | _BURST_INCR << 51
        items: list[tuple[int, list[int], int, int]] = [(Channel.AW, [aw], at, gap)]
        for beat in range(length + 1):
            last = int(beat == length)
            items.append((Channel.W, [strb, flags | last, *body], w_at, gap))
        answer: Pending[WriteResult] = Pending()
        word = body[addr >> 3 & 7] if line is not None else body[0]
        self.queued += 1
        self._writes.append((axi_id, addr & 0xFFFFFFFF, word, answer))
        self.driver.send(items, length + 1)
        return answer

    async def write(self, page: int, offset: int, data: int, **options: Any) -> WriteResult:
        """Writes and waits for the answer. Options: those of :meth:`post`."""
        return await self.post(page, offset, data, **options)

    def post_read(
        self,
        page: int,
        offset: int,
        *,
        size: int = 3,
        length: int = 0,
        axi_id: int = 0,
        at: int = 0,
    ) -> Pending[list[ReadResult]]:
        """Queues a read; the answer has one entry per beat."""
        addr = page * PAGE_BYTES + offset
        ar = addr & 0xFFFFFFFF | axi_id << 32 | length << 40 | size << 48 | _BURST_INCR << 51
        answer: Pending[list[ReadResult]] = Pending()
        self._reads.append((axi_id, addr & 0xFFFFFFFF, length, size, [], answer))
        self.harness.submit(Channel.AR, [ar], at)
        return answer

    async def read(self, page: int, offset: int, **options: Any) -> ReadResult:
        """Reads one beat."""
        return (await self.post_read(page, offset, **options))[0]

    # -- from the recorder -------------------------------------------------------------------------

    def accepted(self, _record: object = None) -> None:
        """A write was accepted with address and data."""
        self._accepted += 1
        self.driver.taken()

    def responded(self, record: DoorbellResponse) -> None:
        """A handshake on s_axi_b."""
        if not self._writes or self._accepted == 0:
            raise AssertionError(f"s_axi_b without a write: {record}")
        self._accepted -= 1
        axi_id, addr, word, answer = self._writes.popleft()
        if axi_id != record.axi_id:
            raise AssertionError(f"s_axi_b out of order: ID {axi_id:#x} is next, got {record}")
        self.causes[record.cause if record.resp else 0] += 1
        if record.resp:
            self.writes_refused.append((record.cause, addr, word))
        answer.finish(WriteResult(record.resp, record.cause), record.cycle)

    def read_data(self, record: DoorbellRead) -> None:
        """A handshake on s_axi_r."""
        if not self._reads:
            raise AssertionError(f"s_axi_r without a read: {record}")
        axi_id, addr, length, size, beats, answer = self._reads[0]
        if axi_id != record.axi_id:
            raise AssertionError(f"s_axi_r out of order: ID {axi_id:#x} is next, got {record}")
        lane = 64 * (addr >> 3 & 7)
        word = record.data >> lane & _M64
        if record.data != (0 if record.resp else word << lane):
            raise AssertionError(f"s_axi_r has data that nobody asked for: {record}")
        beats.append(ReadResult(record.resp, word))
        if record.last:
            if any(beat.resp for beat in beats):
                self.reads_refused.append((addr, length, size))
            self._reads.popleft()
            answer.finish(beats, record.cycle)

    def clear(self) -> None:
        super().clear()
        self._writes.clear()
        self._reads.clear()
        self._accepted = 0
        self.queued = 0
        self.life += 1
        self.causes.clear()
        self.writes_refused.clear()
        self.reads_refused.clear()

    @property
    def idle(self) -> bool:
        return not self._writes and not self._reads
