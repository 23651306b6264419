# SPDX-License-Identifier: Apache-2.0
"""Agents of the completion stream (s_axis_cpl), the transport's side, and of the credit requests
and their answers (s_axis_rsv, m_axis_rsv).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from tb.env.agents.base import AskingAgent, BfmAgent, BfmItem, ItemDriver, Pending
from tb.env.defs import CQE, RSV, CqeFlag, CqeType
from tb.env.harness.harness import Channel
from tb.env.harness.records import Completion, CreditAnswer, CreditRequest


class CreditItem(BfmItem):
    """A request for credits; ``answer`` is to come: True if granted."""

    interface = "credits"
    answer: Pending[bool]

    def __init__(self, name: str = "credit", cq: int = 0, count: int = 1, at: int = 0) -> None:
        super().__init__(name)
        self.cq = cq
        self.count = count
        self.at = at

    def drive(self, agent: CreditAgent) -> None:
        self.answer = agent.post(self.cq, self.count, self.at)


class CreditAgent(AskingAgent):
    """Asks for credits."""

    driver_type = ItemDriver
    reports = (CreditRequest, CreditAnswer)
    channels = (Channel.RSV, Channel.ANS)
    answers = "m_axis_rsv"

    def post(self, cq: int, count: int = 1, at_cycle: int | None = None) -> Pending[bool]:
        """Queues a request; its answer is True if granted."""
        return self.post_raw(cq | count << RSV["credits"].lsb, at_cycle)

    def post_raw(self, data: int, at_cycle: int | None = None) -> Pending[bool]:
        """Queues a request bit by bit."""
        return self.ask([data], at_cycle)

    async def reserve(self, cq: int, count: int = 1) -> bool:
        """Asks and waits for the answer."""
        return await self.post(cq, count)

    def answered(self, record: CreditAnswer) -> None:
        """A handshake on m_axis_rsv."""
        self.told(record.granted, record.cycle)


_M64 = (1 << 64) - 1

# The CQE layout as a structure: quicker than packing by field name.
_FIELDS = struct.Struct("<QQIIHHBBH")
_WORDS = struct.Struct("<4Q")
assert [(f.lsb, f.width) for f in CQE.fields.values()] == [
    *((0, 64), (64, 64), (128, 32), (160, 32), (192, 16)),
    *((208, 24), (232, 8), (240, 15), (255, 1)),
]
assert CqeFlag.SOLICITED == 1


class Cpl(NamedTuple):
    """One completion; ``silent`` gives its credit back and places nothing."""

    cq: int
    context: int = 0
    qp_context: int = 0
    bytes: int = 0
    token: int = 0
    type: int = CqeType.RECEIVE
    qp: int = 0
    status: int = 0
    solicited: bool = False
    flags: int = 0
    phase: int = 0
    silent: bool = False

    def words(self) -> tuple[int, int, int, int]:
        """The stream's 256 bits in four words; raises struct.error if a field does not fit."""
        if self.qp >> 24 or self.flags >> 15:
            raise ValueError("qp has 24 bits, flags have 15")
        flags = self.flags | 1 if self.solicited else self.flags
        return _WORDS.unpack(
            _FIELDS.pack(
                self.context,
                self.qp_context,
                self.bytes,
                self.token,
                self.type,
                self.qp & 0xFFFF,
                self.qp >> 16,
                self.status,
                flags | self.phase << 15,
            )
        )


class CompletionItem(BfmItem):
    """One completion in a beat of its own, or two of them in one. ``at``: earliest cycle."""

    interface = "completions"

    def __init__(self, name: str = "completion", *lanes: Cpl, at: int = 0, gap: int = 0) -> None:
        super().__init__(name)
        self.lanes = lanes
        self.at = at
        self.gap = gap

    def drive(self, agent: CompletionAgent) -> None:
        agent.send_beat(self.lanes, at_cycle=self.at, gap=self.gap)


class CompletionAgent(BfmAgent):
    """Sends completions; beats go out one per cycle."""

    driver_type = ItemDriver
    reports = (Completion,)
    channels = (Channel.CPL,)

    def send(self, cq: int, *, at_cycle: int | None = None, gap: int = 0, **fields: Any) -> None:
        """One completion in a beat of its own. ``fields``: those of :class:`Cpl`."""
        self.send_beat([Cpl(cq, **fields)], at_cycle=at_cycle, gap=gap)

    def send_pair(self, first: Cpl, second: Cpl) -> None:
        """Two completions in one beat."""
        self.send_beat([first, second])

    def send_beat(
        self, lanes: Sequence[Cpl | None], at_cycle: int | None = None, gap: int = 0
    ) -> None:
        """A beat with these lanes; None: lane not present."""
        words = [0]
        head = 0
        for lane, cpl in enumerate(lanes):
            if cpl is None:
                words += (0, 0, 0, 0)
                continue
            head |= cpl.cq << 16 * lane | 1 << 32 + lane | cpl.silent << 34 + lane
            words += cpl.words()
        words[0] = head
        self.driver.send([(Channel.CPL, words, at_cycle or 0, gap)])

    def send_raw(
        self,
        data: int,
        dest: int,
        keep: int,
        user: int = 0,
        at_cycle: int | None = None,
        gap: int = 0,
    ) -> None:
        """A beat bit by bit."""
        words = [dest | keep << 32 | user << 34]
        while data:
            words.append(data & _M64)
            data >>= 64
        self.driver.send([(Channel.CPL, words, at_cycle or 0, gap)])
