# SPDX-License-Identifier: Apache-2.0
"""Agent of the completion stream (s_axis_cpl): the transport's side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tb.env.agents.base import BfmAgent
from tb.env.defs import CQE, CqeFlag, CqeType
from tb.env.harness import Channel
from tb.env.records import Completion

_M64 = (1 << 64) - 1


@dataclass(frozen=True)
class Cpl:
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

    def pack(self) -> int:
        """The 256 bits of the stream."""
        flags = self.flags | (int(CqeFlag.SOLICITED) if self.solicited else 0)
        return CQE.pack(
            context=self.context,
            qp_context=self.qp_context,
            bytes=self.bytes,
            token=self.token,
            type=self.type,
            qp=self.qp,
            status=self.status,
            flags=flags,
            phase=self.phase,
        )


class CompletionAgent(BfmAgent):
    """Sends completions; beats go out one per cycle."""

    reports = (Completion,)
    channels = (Channel.CPL,)

    def send(self, cq: int, *, at_cycle: int | None = None, gap: int = 0, **fields: Any) -> None:
        """One completion in a beat of its own. ``fields``: those of :class:`Cpl`."""
        self.send_beat([Cpl(cq, **fields)], at_cycle=at_cycle, gap=gap)

    def send_pair(self, first: Cpl, second: Cpl, at_cycle: int | None = None, gap: int = 0) -> None:
        """Two completions in one beat."""
        self.send_beat([first, second], at_cycle=at_cycle, gap=gap)

    def send_beat(
        self, lanes: Sequence[Cpl | None], at_cycle: int | None = None, gap: int = 0
    ) -> None:
        """A beat with these lanes; None: lane not present."""
        data = keep = user = dest = 0
        for lane, cpl in enumerate(lanes):
            if cpl is None:
                continue
            keep |= 1 << lane
            user |= int(cpl.silent) << lane
            dest |= cpl.cq << 16 * lane
            data |= cpl.pack() << 256 * lane
        self.send_raw(data, dest, keep, user, at_cycle, gap)

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
