# SPDX-License-Identifier: Apache-2.0
"""Agents of the transport's side of the full engine: work beats (m_axis_work), done reports
(s_axis_done), connection events (s_axis_conn), terminate requests (m_axis_term).

What a transport does with them is in tb/env/transport/transport.py.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import ClassVar

from tb.env.agents.base import BfmAgent
from tb.env.defs import CONN, DONE, ConnEvent
from tb.env.harness.harness import Channel
from tb.env.harness.records import ConnReport, DoneReport, RecvDone, TermRequest, WorkBeat


class WorkAgent(BfmAgent):
    """Takes indicated requests."""

    reports = (WorkBeat,)
    channels = (Channel.WORK,)


class DoneAgent(BfmAgent):
    """Sends done reports, one per cycle, in the order in which they were given."""

    channels: tuple[Channel, ...] = (Channel.DONE,)
    #: Reports are still to come from who uses this agent.
    busy: Callable[[], bool] = staticmethod(lambda: False)

    reports: ClassVar[tuple[type, ...]] = (DoneReport,)

    def build_phase(self) -> None:
        super().build_phase()
        self._words: deque[int] = deque()

    def send(
        self, qp: int, tag: int, status: int = 0, *, at_cycle: int | None = None, gap: int = 0
    ) -> None:
        """One report."""
        data = qp | tag << DONE["tag"].lsb | status << DONE["status"].lsb
        self.send_raw(data, at_cycle=at_cycle, gap=gap)

    def send_raw(self, data: int, *, at_cycle: int | None = None, gap: int = 0) -> None:
        """A report bit by bit."""
        self.driver.send([(self.channels[0], [data], at_cycle or 0, gap)])
        self._words.append(data)

    def sent(self, record: DoneReport | RecvDone) -> bool:
        """A report was taken; False if it is not this agent's."""
        if not self._words or self._words[0] != record.data:
            return False
        self._words.popleft()
        self.taken()
        return True

    def clear(self) -> None:
        super().clear()
        self._words.clear()

    @property
    def idle(self) -> bool:
        return self.driver.outstanding == 0 and not self.busy()


class ConnAgent(BfmAgent):
    """Sends connection events."""

    reports = (ConnReport,)
    channels = (Channel.CONN,)

    def send(
        self,
        qp: int,
        event: int = ConnEvent.DISCONNECTED,
        *,
        at_cycle: int | None = None,
        gap: int = 0,
    ) -> None:
        """One event."""
        self.send_raw(CONN.pack(qp=qp, event=int(event)), at_cycle=at_cycle, gap=gap)

    def send_raw(self, data: int, *, at_cycle: int | None = None, gap: int = 0) -> None:
        """An event bit by bit."""
        self.driver.send([(Channel.CONN, [data], at_cycle or 0, gap)])


class TermAgent(BfmAgent):
    """Takes terminate requests."""

    reports = (TermRequest,)
    channels = (Channel.TERM,)
