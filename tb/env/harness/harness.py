# SPDX-License-Identifier: Apache-2.0
"""The Python side of the harness: loads items into its models, reads its recorder, tells the time.

Nothing here runs per clock cycle. Times are clock cycles, 0 at the first edge after reset. Code
that awaited :meth:`Harness.until` runs just after that edge; an item submitted then is offered two
edges later at the earliest.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

import cocotb
from cocotb.task import Task
from cocotb.triggers import Event, Timer, ValueChange
from cocotb.utils import get_sim_time

from tb.env.failure import ProtocolError, cycles_after, note_failure
from tb.env.harness.decode import BLOCK_MARK, HEAD_WORDS, Decoder, Hooks, MemoryHook
from tb.env.harness.records import Record
from tb.env.harness.rows import ReadRow, number_of, rows_of

LOAD_WORDS = 128
QUEUE_DEPTH = 1024
PERIOD = 4000  # ps, tb_top's clock: edges at 2000 + n * PERIOD, falling ones at n * PERIOD
_EDGE = 2000
_AFTER = 1000  # where code that waits for a cycle runs, after its edge
_SETTING = 1 << 63

_PACK = struct.Struct(f"<{LOAD_WORDS}Q")


#: The channels in tb_top.v, numbered from 1 on.
Channel = IntEnum(
    "Channel",
    "AW W AR CTL_AW CTL_W CTL_AR CPL RSV B R CTL_B CTL_R ANS IRQ MEM_AW MEM_W MEM_B MEM_CMD FAULT "
    "RECORD WORK DONE CONN TERM LOOP LOOP_FAIL RREQ SCATTER RDONE RLOOP RLOOP_FAIL CHECK VERDICT",
)

#: Channels with random stalls.
STALLABLE = tuple(Channel(n) for n in range(Channel.AW, Channel.MEM_CMD))
#: The same of the transport's side, which only the full engine has.
TRANSPORT_STALLABLE = (Channel.WORK, Channel.DONE, Channel.CONN, Channel.TERM)
#: The same of the receive path.
RECEIVE_STALLABLE = (Channel.RREQ, Channel.SCATTER, Channel.RDONE)
#: The same of the checks of remote accesses.
WINDOW_STALLABLE = (Channel.CHECK, Channel.VERDICT)


def _channels(bits: int) -> frozenset[Channel]:
    return frozenset(channel for channel in Channel if bits >> channel & 1)


#: Gets the records of a block in order.
BlockHandler = Callable[[list[Record]], None]


class Harness:
    """Owns the handles of tb_top."""

    def __init__(self, dut: Any, on_block: BlockHandler, hooks: Hooks, memory: MemoryHook) -> None:
        self._rst = dut.rst
        self._ld_data = dut.ld_data
        self._ld_toggle = dut.ld_toggle
        self._flush = dut.flush
        self._rec_toggle = dut.rec_toggle
        self._windows = dut.windows
        self._recorder = dut.u_record
        self._read_row: ReadRow
        self._blocked = self._withheld = 0
        self._on_block = on_block
        self._decoder = Decoder(hooks, memory)
        self._resetting = False
        self._pending: list[tuple[int, list[int]]] = []
        self._wake = Event()
        self._toggle = 0
        self._origin = 0
        self._block: int | None = None
        self._flushed = 0
        self._flush_wanted = 0
        self._flush_done = Event()
        self._tasks: list[Task[None]] = []
        self._settings: dict[int, int] = {}
        self._configured: dict[int, int] = {}

    # -- start and time ----------------------------------------------------------------------------

    def start(self) -> None:
        """Starts loading and recording; once per test. Undoes what an earlier test of this process
        has set.
        """
        self._read_row = rows_of(self._recorder)
        self._toggle = number_of(self._ld_toggle)
        self._flush_wanted = self._flushed = number_of(self._flush)
        self._tasks = [cocotb.start_soon(self._load())]
        for channel in Channel:
            self.configure(channel, 0)
        self.recorder()

    def stop(self) -> None:
        """Ends the background tasks."""
        for task in self._tasks:
            task.cancel()
        self._tasks = []

    async def reset(self, cycles: int = 4, cut: Callable[[], None] | None = None) -> None:
        """Resets the engine and the harness's queues; cycle 0 is the first edge after it. ``cut``
        is called at the end of the reset, before anything works again.
        """
        self._rst.value = 1
        self._resetting = True
        await Timer(self._to_slot() + cycles * PERIOD, unit="ps")
        if len(self._tasks) == 1:
            # Not earlier: at time 0 signals of a four-state simulator change from X.
            self._tasks.append(cocotb.start_soon(self._record()))
        if cut is not None:
            cut()
        self._resetting = False
        self._rst.value = 0
        self._origin = int(get_sim_time("ps")) - _AFTER + PERIOD
        self._pending = [entry for entry in self._pending if entry[0] == _SETTING]
        await Timer(PERIOD, unit="ps")

    @staticmethod
    def _to_slot() -> int:
        """Time until the next moment just after an edge."""
        return PERIOD - (int(get_sim_time("ps")) - _EDGE - _AFTER) % PERIOD

    @property
    def cycle(self) -> int:
        """The latest clock edge."""
        return (int(get_sim_time("ps")) - self._origin) // PERIOD

    @property
    def windows(self) -> bool:
        """The design has memory windows and checks remote accesses (a property of the build)."""
        return number_of(self._windows) == 1

    async def until(self, cycle: int) -> None:
        """Waits until just after the edge ``cycle``; returns at once if it is over."""
        delay = self._origin + cycle * PERIOD + _AFTER - int(get_sim_time("ps"))
        if delay > 0:
            await Timer(delay, unit="ps")

    async def cycles(self, count: int) -> None:
        """Waits ``count`` clock cycles."""
        await self.until(self.cycle + count)

    async def failed(self, error: Exception) -> None:
        """The test ends with this error: in the cycle that the error names, else in this one."""
        cycle = getattr(error, "cycle", -1)
        cycle = cycle if cycle >= 0 else self.cycle
        # What happens at an edge is to be seen at the pins before it.
        note_failure(error, cycle, self._origin + cycle * PERIOD - PERIOD // 2)
        if cycles := cycles_after():
            await Timer(cycles * PERIOD, unit="ps")

    # -- to the harness ----------------------------------------------------------------------------

    def submit(self, channel: int, words: Sequence[int], at: int = 0, gap: int = 0) -> None:
        """Queues one item for a channel. ``at``: earliest cycle; ``gap``: idle cycles before it."""
        if self._resetting:
            return  # the queues that it is for are being emptied
        head = channel | len(words) << 8 | gap << 16 | at << 32
        self._pending.append((1 << channel, [head, *words]))
        if not self._wake.is_set():
            self._wake.set()

    def configure(self, channel: int, word: int) -> None:
        """Sets the settings word of a channel, from the next cycle on."""
        self._settings[channel] = word
        self._configured[channel] = self.cycle
        self._pending.append((_SETTING, [0x80 | channel | 1 << 8, word]))
        self._wake.set()

    def setting(self, channel: int) -> int:
        """The settings word of a channel."""
        return self._settings.get(channel, 0)

    def configured(self, channel: int) -> int:
        """The cycle of the latest change of these settings."""
        return self._configured.get(channel, 0)

    def stall(
        self,
        channel: Channel,
        probability: float = 0.0,
        hold: bool | None = None,
        seed: int | None = None,
    ) -> None:
        """Random stalls of a channel; ``hold`` stalls it until it is set to False."""
        old = self.setting(channel)
        word = min(255, round(probability * 256))
        word |= (old & 0x100) if hold is None else hold << 8
        word |= (old >> 32 if seed is None else seed & 0xFFFFFFFF) << 32
        self.configure(channel, word)

    def hold(self, channel: Channel, on: bool = True) -> None:
        """Stalls a channel until ``hold(channel, False)``."""
        self.configure(channel, self.setting(channel) & ~0x100 | on << 8)

    def recorder(self, age: int = 64) -> None:
        """When blocks are handed over: after 4 quiet cycles, ``age`` cycles, 10 full rows."""
        self.configure(Channel.RECORD, 4 | age << 16 | 10 << 32)

    async def _load(self) -> None:
        period = Timer(PERIOD, unit="ps")
        while True:
            if not self._pending:
                self._wake.clear()
                await self._wake.wait()
            words = [0]
            mask = 0
            taken = 0
            for bit, item in self._pending:
                if len(words) + len(item) > LOAD_WORDS:
                    break
                mask |= bit
                words += item
                taken += 1
            del self._pending[:taken]
            words[0] = mask
            words += [0] * (LOAD_WORDS - len(words))
            self._toggle ^= 1
            self._ld_data.value = int.from_bytes(_PACK.pack(*words), "little")
            self._ld_toggle.value = self._toggle
            # The harness takes a load at the falling edge.
            await period

    # -- from the harness --------------------------------------------------------------------------

    @property
    def blocked(self) -> frozenset[Channel]:
        """Channels on which valid was high and ready low for three cycles in a row, in this test up
        to the latest block; not before ready was high for the first time since a reset.
        """
        return _channels(self._blocked)

    @property
    def withheld(self) -> frozenset[Channel]:
        """The same of sources: their stalls kept an item back that was due, for three cycles."""
        return _channels(self._withheld)

    def forget_waits(self) -> None:
        """:attr:`blocked` and :attr:`withheld` begin anew."""
        self._blocked = self._withheld = 0

    async def flush(self) -> None:
        """Returns when everything that happened up to now has been handed over."""
        self._flush_wanted = (self._flush_wanted + 1) & 0xFF
        wanted = self._flush_wanted
        self._flush.value = wanted
        while (self._flushed - wanted) & 0xFF >= 0x80:
            self._flush_done.clear()
            await self._flush_done.wait()

    async def _record(self) -> None:
        change = ValueChange(self._rec_toggle)
        while True:
            await change
            try:
                self._read_block()
            except Exception as error:
                await self.failed(error)
                raise

    def _read_block(self) -> None:
        raw = self._read_row(0)
        if raw[0] != BLOCK_MARK or self._block not in (None, raw[3]):
            raise ProtocolError(f"recorder: block {raw[3]} instead of {self._block}")
        self._block = (raw[3] + 1) & 0xFF
        records: list[Record] = []
        decode = self._decoder.row
        self._blocked |= int.from_bytes(raw[8:16], "little")
        self._withheld |= int.from_bytes(raw[16:24], "little")
        decode(raw, HEAD_WORDS, records)
        for number in range(1, raw[1]):
            decode(self._read_row(number), 0, records)
        self._on_block(records)
        if raw[2] != self._flushed:
            self._flushed = raw[2]
            self._flush_done.set()
