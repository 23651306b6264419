# SPDX-License-Identifier: Apache-2.0
"""Agents of the receive path of the full engine: receive requests (s_axis_rreq) with their answers
(m_axis_scatter), receive done reports (s_axis_rdone).

What a transport does with them is in tb/env/transport/receive.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from models.post.post import NUM_SLOTS, SLOT_BITS, Segment
from tb.env.agents.base import AskingAgent, Pending
from tb.env.agents.transport import DoneAgent
from tb.env.defs import RREQ, SCATTER_USER, Scatter
from tb.env.harness.harness import Channel
from tb.env.harness.records import RecvDone, RecvRequest, ScatterAnswer


@dataclass(frozen=True)
class Answer:
    """What the engine says to a receive request."""

    cycle: int
    qp: int  # 16 bits
    code: Scatter
    tag: int  # 16 bits; 0 if nothing was taken
    srq: bool
    segments: tuple[Segment, ...]
    """Always three; length: bytes to fill there."""

    @property
    def taken(self) -> bool:
        """A buffer was taken: its tag is to be reported."""
        return self.code in (Scatter.SCATTER, Scatter.LENGTH_ERROR, Scatter.BAD_TOKEN)

    @property
    def nbytes(self) -> int:
        """Bytes to fill, of all segments."""
        return sum(segment.length for segment in self.segments)

    @classmethod
    def decode(cls, record: ScatterAnswer) -> Answer:
        """From the beat. Raises ``ValueError`` if there is no such code."""
        user = SCATTER_USER.unpack(record.user)
        mask = (1 << SLOT_BITS) - 1
        return cls(
            record.cycle,
            record.qp,
            Scatter(user["code"]),
            user["tag"],
            bool(user["srq"]),
            tuple(Segment.decode(record.data >> SLOT_BITS * k & mask) for k in range(NUM_SLOTS)),
        )


class RecvRequestAgent(AskingAgent):
    """Sends receive requests, one per cycle, and takes their answers."""

    reports = (RecvRequest, ScatterAnswer)
    channels = (Channel.RREQ, Channel.SCATTER)
    answers = "m_axis_scatter"

    def send(
        self,
        qp: int,
        length: int,
        *,
        solicited: bool = False,
        invalidate: bool = False,
        token: int = 0,
        note: object = None,
        at_cycle: int | None = None,
        gap: int = 0,
    ) -> Pending[Answer]:
        """One request: a message of ``length`` bytes for a QP. Returns its answer to come;
        ``note`` comes back with it from :meth:`answered`.
        """
        flags = {"solicited": int(solicited), "invalidate": int(invalidate)}
        word = RREQ.pack(qp=qp, **flags, length=length, token=token)
        return self.send_raw(word, note=note, at_cycle=at_cycle, gap=gap)

    def send_raw(
        self, data: int, *, note: object = None, at_cycle: int | None = None, gap: int = 0
    ) -> Pending[Answer]:
        """A request bit by bit (128 bits)."""
        return self.ask([data & (1 << 64) - 1, data >> 64], at_cycle, gap, note)

    def answered(self, record: ScatterAnswer) -> tuple[Answer, object]:
        """An answer came: what it says, and the note of its request."""
        answer = Answer.decode(record)
        return answer, self.told(answer, record.cycle)


class RecvDoneAgent(DoneAgent):
    """Sends receive done reports, one per cycle, in the order in which they were given."""

    reports = (RecvDone,)
    channels = (Channel.RDONE,)
