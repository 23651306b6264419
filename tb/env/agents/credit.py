# SPDX-License-Identifier: Apache-2.0
"""Agent of the credit requests and their answers (s_axis_rsv, m_axis_rsv)."""

from __future__ import annotations

from tb.env.agents.base import AskingAgent, BfmItem, ItemDriver, Pending
from tb.env.defs import RSV
from tb.env.harness.harness import Channel
from tb.env.harness.records import CreditAnswer, CreditRequest


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
