# SPDX-License-Identifier: Apache-2.0
"""Agents of the host memory (m_axi): how it responds, its contents are in tb/env/host/memory.py;
and of the interrupts.
"""

from __future__ import annotations

from typing import Final

from tb.env.agents.base import BfmAgent
from tb.env.harness.harness import Channel
from tb.env.harness.records import Interrupt, MemResponse, MemWrite

OKAY: Final = 0
SLVERR: Final = 2
DECERR: Final = 3
#: As wrong as the others: nothing was asked for exclusively.
EXOKAY: Final = 1
_RULES = 8
_HOLD, _RELEASE, _HOLD_ALL, _RELEASE_ALL, _STRAY = 1, 2, 3, 4, 5


class MemoryAgent(BfmAgent):
    """Latency, order, errors and stalls of the memory's responses."""

    reports = (MemWrite, MemResponse)
    channels = (Channel.MEM_AW, Channel.MEM_W, Channel.MEM_B)

    def build_phase(self) -> None:
        super().build_phase()
        self.num_cq = 0
        #: Cycles that a write may wait for its response.
        self.slowest = 0
        self._rules_used = 0

    def clear(self) -> None:
        super().clear()
        self.answered()

    def answered(self) -> None:
        """No write waits for its response: latencies of earlier ones no longer count."""
        self.slowest = self.harness.setting(Channel.MEM_CMD) >> 16 & 0xFFFF

    def latency(self, low: int = 0, high: int | None = None, seed: int | None = None) -> None:
        """Cycles from a write to its response: random from ``low`` to ``high`` (below 16384)."""
        high = low if high is None else high
        self.slowest = max(self.slowest, high)
        old = self.harness.setting(Channel.MEM_CMD) >> 32
        word = low | high << 16 | (old if seed is None else seed & 0xFFFFFFFF) << 32
        self.harness.configure(Channel.MEM_CMD, word)

    # -- responses of one queue --------------------------------------------------------------------

    def id_of(self, cq: int | None = None, eq: int | None = None) -> int:
        """AXI ID of a queue's writes."""
        if cq is not None:
            return cq
        assert eq is not None and self.num_cq
        return self.num_cq | eq

    def hold_id(self, axi_id: int) -> None:
        """No response with this AXI ID until :meth:`release_id`."""
        self._command(_HOLD, axi_id)

    def release_id(self, axi_id: int) -> None:
        """The held responses go out, in order."""
        self._command(_RELEASE, axi_id)

    def hold_cq(self, cq: int) -> None:
        """Holds the responses to CQE writes of one CQ."""
        self.hold_id(self.id_of(cq=cq))

    def release_cq(self, cq: int) -> None:
        """Ends :meth:`hold_cq`."""
        self.release_id(self.id_of(cq=cq))

    def hold_eq(self, eq: int) -> None:
        """Holds the responses to EQE writes of one EQ."""
        self.hold_id(self.id_of(eq=eq))

    def release_eq(self, eq: int) -> None:
        """Ends :meth:`hold_eq`."""
        self.release_id(self.id_of(eq=eq))

    def hold_responses(self) -> None:
        """Holds all responses; :meth:`release_id` or :meth:`release_responses` let them go."""
        self._command(_HOLD_ALL, 0)

    def release_responses(self) -> None:
        """Releases the responses of all IDs."""
        self._command(_RELEASE_ALL, 0)

    def stray(self, axi_id: int, resp: int = OKAY) -> None:
        """Sends a response for which nothing is outstanding (the caller sees to that)."""
        self._command(_STRAY, axi_id, resp)

    # -- errors ------------------------------------------------------------------------------------

    def fail(
        self,
        resp: int = SLVERR,
        *,
        cq: int | None = None,
        eq: int | None = None,
        axi_id: int | None = None,
        addr: int = 0,
        mask: int = 0,
        skip: int = 0,
        count: int = 1,
        lands: bool = False,
        rule: int | None = None,
    ) -> int:
        """Lets writes fail: the next ``count`` that match, after ``skip`` matching ones that do
        not.

        They match by queue or AXI ID and by (address ^ ``addr``) & ``mask`` = 0; without either all
        match. ``lands``: the data reaches memory all the same. Returns the number of the rule, for
        :meth:`clear_fault`.
        """
        if rule is None:
            rule = self._rules_used % _RULES
            self._rules_used += 1
        if cq is not None or eq is not None:
            axi_id = self.id_of(cq, eq)
        word = rule | 1 << 8 | resp << 10 | lands << 12 | skip << 32 | count << 48
        if axi_id is not None:
            word |= 1 << 9 | axi_id << 16
        self.harness.submit(Channel.FAULT, [word, mask, addr])
        return rule

    def clear_fault(self, rule: int) -> None:
        """Removes a rule of :meth:`fail`."""
        self.harness.submit(Channel.FAULT, [rule])

    def clear_faults(self) -> None:
        """Removes all rules of :meth:`fail`."""
        for rule in range(_RULES):
            self.clear_fault(rule)

    def _command(self, operation: int, axi_id: int, resp: int = 0) -> None:
        self.harness.submit(Channel.MEM_CMD, [operation | axi_id << 16 | resp << 32])


class InterruptAgent(BfmAgent):
    """Takes interrupt vectors."""

    reports = (Interrupt,)
    channels = (Channel.IRQ,)
