# SPDX-License-Identifier: Apache-2.0
"""Agent of the checks of remote accesses: s_axis_check with its answers on m_axis_verdict.
What a transport does with them is in tb/env/transport/access.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from tb.env.agents.base import AskingAgent, Pending
from tb.env.defs import CHECK, VERDICT, CheckKind, Verdict
from tb.env.harness.harness import Channel
from tb.env.harness.records import AccessCheck, AccessVerdict


@dataclass(frozen=True)
class Judgement:
    """What the engine says to a check."""

    cycle: int
    qp: int  # 16 bits
    code: Verdict

    @property
    def granted(self) -> bool:
        """The memory may be accessed."""
        return self.code == Verdict.GRANTED

    @classmethod
    def decode(cls, record: AccessVerdict) -> Judgement:
        """From the beat. Raises ``ValueError`` for a code that is none, and a reserved bit."""
        if record.data & VERDICT.reserved:
            raise ValueError(f"m_axis_verdict: reserved bits set in {record.data:#x}")
        fields = VERDICT.unpack(record.data)
        return cls(record.cycle, fields["qp"], Verdict(fields["code"]))


class CheckAgent(AskingAgent):
    """Sends checks, one per cycle, and takes their answers."""

    reports = (AccessCheck, AccessVerdict)
    channels = (Channel.CHECK, Channel.VERDICT)
    answers = "m_axis_verdict"

    def send(
        self,
        qp: int,
        kind: CheckKind | int,
        key: int,
        address: int,
        length: int,
        *,
        note: object = None,
        at_cycle: int | None = None,
        gap: int = 0,
    ) -> Pending[Judgement]:
        """One check: the peer of ``qp`` reads or writes (``kind``) ``length`` bytes at ``address``
        by ``key``. Returns its answer to come; ``note`` comes back from :meth:`answered`.
        """
        word = CHECK.pack(qp=qp, kind=int(kind), key=key, address=address, length=length)
        return self.send_raw(word, note=note, at_cycle=at_cycle, gap=gap)

    def send_raw(
        self, data: int, *, note: object = None, at_cycle: int | None = None, gap: int = 0
    ) -> Pending[Judgement]:
        """A check bit by bit (192 bits)."""
        words = [data >> shift & (1 << 64) - 1 for shift in (0, 64, 128)]
        return self.ask(words, at_cycle, gap, note)

    def answered(self, record: AccessVerdict) -> tuple[Judgement, object]:
        """An answer came: what it says, and the note of its check."""
        judgement = Judgement.decode(record)
        return judgement, self.told(judgement, record.cycle)
