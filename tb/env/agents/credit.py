# SPDX-License-Identifier: Apache-2.0
"""Agent of the credit requests and their answers (s_axis_rsv, m_axis_rsv)."""

from __future__ import annotations

from collections import deque

from tb.env.agents.base import BfmAgent, BfmItem, ItemDriver, Pending
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


class CreditDriver(ItemDriver):
    """Asks for credits."""

    def drive(self, item: CreditItem) -> None:
        """Queues the request."""
        item.answer = self.get_parent().post(item.cq, item.count, item.at)


class CreditAgent(BfmAgent):
    """Asks for credits; answers come in request order."""

    reports = (CreditRequest, CreditAnswer)
    driver_type = CreditDriver
    channels = (Channel.RSV, Channel.ANS)

    def build_phase(self) -> None:
        super().build_phase()
        self._waiting: deque[Pending[bool]] = deque()

    def post(self, cq: int, count: int = 1, at_cycle: int | None = None) -> Pending[bool]:
        """Queues a request; its answer is True if granted."""
        return self.post_raw(cq | count << RSV["credits"].lsb, at_cycle)

    def post_raw(self, data: int, at_cycle: int | None = None) -> Pending[bool]:
        """Queues a request bit by bit."""
        answer: Pending[bool] = Pending()
        self._waiting.append(answer)
        self.driver.send([(Channel.RSV, [data], at_cycle or 0, 0)])
        return answer

    async def reserve(self, cq: int, count: int = 1) -> bool:
        """Asks and waits for the answer."""
        return await self.post(cq, count)

    def answered(self, record: CreditAnswer) -> None:
        """A handshake on m_axis_rsv."""
        if not self._waiting:
            raise AssertionError(f"m_axis_rsv without a request: {record}")
        self._waiting.popleft().finish(record.granted, record.cycle)

    def clear(self) -> None:
        super().clear()
        self._waiting.clear()

    @property
    def idle(self) -> bool:
        return not self._waiting
