# SPDX-License-Identifier: Apache-2.0
"""The responding half of the transport: reads and writes of the peer in host memory, after the
engine has granted them.

Two ways to use it. Tests ask by themselves (:meth:`Responder.check`). Or :meth:`Responder.enable`
names QPs whose memory the peer's requests access: every RDMA Read and Write to one of them is then
checked there, moves its bytes when it is granted, and fails with TRANSPORT_ERROR when it is not.
Requests to QPs that are not named are never checked and move nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from models.post.post import TARGET_SLOT, Post, Segment
from models.verbs import VERBS
from tb.env.agents.base import Pending
from tb.env.agents.keys import CheckAgent, Judgement
from tb.env.defs import CheckKind, CqeStatus, PostFlag, Verdict
from tb.env.harness.harness import Harness
from tb.env.harness.records import AccessVerdict
from tb.env.harness.schedule import Schedule
from tb.env.host.memory import HostMemory
from tb.env.transport.reports import MOST_BYTES, Errand, Served


@dataclass(eq=False)
class Access(Errand):
    """A Read or Write that arrives at the QP ``qp``. Nothing is moved of one that is withdrawn."""

    qp: int
    post: Post

    @property
    def kind(self) -> CheckKind:
        """What it does to the memory of ``qp``."""
        kind = VERBS[self.post.opcode].access
        assert kind is not None, f"{self.post} accesses no memory"
        return CheckKind(kind)

    @property
    def target(self) -> Segment:
        """Address and key at ``qp``; its length does not count."""
        return Segment.decode(self.post.slots[TARGET_SLOT])


class Responder(Served):
    """The responding side of all QPs; Reads and Writes to those that it serves are checked.
    Settings are attributes; they apply from then on.
    """

    def __init__(self, agent: CheckAgent, memory: HostMemory) -> None:
        super().__init__()
        self._agent = agent
        self._memory = memory
        self._clock = Schedule(lambda: self._harness)
        agent.busy = lambda: self._clock.busy
        #: Granted requests move their payload in host memory (at most ``MOST_BYTES`` each).
        self.move = True
        self.clear()

    def clear(self) -> None:
        """After a reset: nothing is under way."""
        self._clock.clear()
        #: All answers, in order.
        self.judgements: list[Judgement] = []
        #: Bytes moved by granted requests: read, written.
        self.moved = [0, 0]

    @property
    def _harness(self) -> Harness:
        harness: Harness = self._agent.harness
        return harness

    # -- what a test can do ------------------------------------------------------------------------

    def post_check(
        self,
        qp: int,
        kind: CheckKind | int,
        key: int,
        address: int,
        length: int,
        *,
        at_cycle: int | None = None,
        gap: int = 0,
    ) -> Pending[Judgement]:
        """Queues one check and returns its answer to come; checks go out one per cycle. Widths:
        those of ``CheckAgent.send``.
        """
        return self._agent.send(qp, kind, key, address, length, at_cycle=at_cycle, gap=gap)

    async def check(
        self, qp: int, kind: CheckKind | int, key: int, address: int, length: int, **options: int
    ) -> Verdict:
        """One check; returns its verdict. Options: those of :meth:`post_check`."""
        return (await self.post_check(qp, kind, key, address, length, **options)).code

    # -- from the sending half ---------------------------------------------------------------------

    def arrive(self, access: Access, at: int) -> None:
        """A Read or Write is on its way and is checked in cycle ``at`` or later."""
        self._clock.at(at, lambda cycle: self._ask(access, cycle))

    def withdraw(self, access: Access) -> None:
        """The connection of the requester has ended: nothing is moved."""
        access.settled = None
        access.withdrawn = True

    # -- from the recorder -------------------------------------------------------------------------

    def answered(self, record: AccessVerdict) -> None:
        """A check was answered."""
        judgement, note = self._agent.answered(record)
        self.judgements.append(judgement)
        if isinstance(note, Access):
            if judgement.granted and not note.withdrawn:
                self._execute(note)
            note.settle(CqeStatus.SUCCESS if judgement.granted else CqeStatus.TRANSPORT_ERROR)

    # -- execution ---------------------------------------------------------------------------------

    def _ask(self, access: Access, at: int) -> None:
        if access.withdrawn:
            return
        target = access.target
        self._agent.send(
            *(access.qp, access.kind, target.key, target.address, access.post.length),
            note=access,
            at_cycle=at,
        )

    def _execute(self, access: Access) -> None:
        if not self.move:
            return
        post, address = access.post, access.target.address
        assert post.length <= MOST_BYTES, f"{post.length} bytes to move"
        self.moved[access.kind == CheckKind.WRITE] += post.length
        if access.kind == CheckKind.READ:
            for segment in post.segments:
                self._copy(address, segment.address, segment.length)
                address += segment.length
        elif post.flags & PostFlag.INLINE:
            self._memory.write(address, post.inline_data)
        else:
            for segment in post.segments:
                self._copy(segment.address, address, segment.length)
                address += segment.length

    def _copy(self, source: int, sink: int, length: int) -> None:
        self._memory.write(sink, self._memory.read(source, length))
