# SPDX-License-Identifier: Apache-2.0
"""Traffic while sinks are stalled."""

from __future__ import annotations

from typing import Any

from tb.env.harness.harness import Channel
from tb.env.harness.records import (
    AccessCheck,
    AccessVerdict,
    ConnReport,
    DoneReport,
    DoorbellRequest,
    DoorbellResponse,
    Interrupt,
    MemResponse,
    MemWrite,
    RecvDone,
    RecvRequest,
    ScatterAnswer,
    TermRequest,
    WorkBeat,
)
from tb.tests.common.directed import DirectedTest

#: What is not seen while a channel stands still; reads and the control port leave no records.
SEEN: dict[Channel, type] = {
    Channel.AW: DoorbellRequest,
    Channel.W: DoorbellRequest,
    Channel.B: DoorbellResponse,
    Channel.IRQ: Interrupt,
    Channel.MEM_AW: MemWrite,
    Channel.MEM_W: MemWrite,
    Channel.MEM_B: MemResponse,
    Channel.WORK: WorkBeat,
    Channel.DONE: DoneReport,
    Channel.CONN: ConnReport,
    Channel.TERM: TermRequest,
    Channel.RREQ: RecvRequest,
    Channel.SCATTER: ScatterAnswer,
    Channel.RDONE: RecvDone,
    Channel.CHECK: AccessCheck,
    Channel.VERDICT: AccessVerdict,
}


#: Cycles after which a held channel stands still.
_SETTLED = 32


class Stalling(DirectedTest):
    """A channel that is held stands still, or the stall was none."""

    async def stood_still(self, channel: Channel, mark: int, begin: int) -> None:
        """Nothing of a channel is among the records from ``mark`` on, held since ``begin``."""
        await self.env.sync()
        if kind := SEEN.get(channel):
            went: list[Any] = self.of(kind, mark)
            went = [record for record in went if record.cycle > begin + _SETTLED]
            assert not went, f"{channel.name} does not stand still: {went[:2]}"
