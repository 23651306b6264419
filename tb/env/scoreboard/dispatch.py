# SPDX-License-Identifier: Apache-2.0
"""Work beats: each is the next request of its queue pair, never early, never starved (DF-09, DF-13,
ISO-04).

A beat is offered before it is taken. So one beat of a QP may come behind the step that ended its
connection, and a local request may retire before its beat is taken; both only as far as an output
register reaches.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from models.codes import ModelError, QpState
from models.post.qp import Indication
from tb.env.harness.records import WorkBeat
from tb.env.scoreboard.qp_context import QpContext

#: A beat that was offered before the connection ended is among so many beats behind that.
LATE_BEATS = 2

#: From the moment that the trace port shows to the output.
PIPELINE = 16


def _nobody(_: int) -> None:
    """Is not interested."""


class _Head:
    """A request that could be indicated."""

    __slots__ = ("beats", "cycle", "number")

    def __init__(self, number: int, cycle: int, beats: int) -> None:
        self.number = number
        self.cycle = cycle
        self.beats = beats


class DispatchChecks:
    """Beats of m_axis_work."""

    def __init__(self, qpc: QpContext) -> None:
        self.qpc = qpc
        params = qpc.ctx.params
        # A turn of each QP, and another one of those that are at work and next when a QP asks.
        self.bound = (params.num_qp + 1) * (params.burst + 4)
        self.burst = params.burst
        self.beats = 0
        #: QPs that wait for a beat, those that wait longest first.
        self.heads: dict[int, _Head] = {}
        #: Local requests that retired before their beat was taken.
        self.owed: list[deque[Indication]] = [deque() for _ in range(params.num_qp)]
        #: Cycles in which the engine executed requests itself: no time for turns.
        self.executing = 0
        #: Since then nothing has stalled the channel.
        self.free_since = 0
        self._left_at = [0] * params.num_qp
        #: When the latest requests of one QP in a row were indicated.
        self._run: deque[int] = deque(maxlen=self.burst + 1)
        self._run_of = -1
        #: Told of each QP of which a request was indicated: it may be done by that.
        self.ripened: Callable[[int], None] = _nobody

    def work(self, record: WorkBeat) -> None:
        """A beat was taken."""
        qpc, qp = self.qpc, record.qp
        if qp >= qpc.ctx.params.num_qp:
            qpc.fail(qp, "work for a QP that is out of range")
        self.beats += 1
        if self.owed[qp]:
            expected = self.owed[qp].popleft()
        else:
            self._not_late(qp)
            expected = self._indicate(qp)
        self._compare(record, expected)
        self._fair(qp)
        self.changed(qp)

    def _not_late(self, qp: int) -> None:
        """The connection is there, or has just ended."""
        since = self.beats - self._left_at[qp]
        if self.qpc.qps[qp].state is not QpState.CONNECTED and since > LATE_BEATS:
            self.qpc.fail(qp, f"work {since} beats behind the end of its connection")

    def _compare(self, record: WorkBeat, expected: Indication) -> None:
        """A beat is that of this request."""
        got = (record.data, record.user, record.last)
        want = (expected.post.encode(), expected.tuser, expected.last)
        for name, one, two in zip(("data", "user", "last"), got, want, strict=True):
            if one != two:
                text = f"work beat {name} {one:#x}, expected {two:#x} (request {expected.number})"
                self.qpc.fail(record.qp, text)

    def _indicate(self, qp: int) -> Indication:
        qpc = self.qpc
        late = qpc.qps[qp].state is not QpState.CONNECTED
        try:
            indication = qpc.model.indicate(qp, late)
        except ModelError as error:
            qpc.fail(qp, f"indicated, but {error}")
        qpc.note_indicated(qp)
        self.ripened(qp)
        return indication

    def early(self, qp: int) -> None:
        """A local request retires whose beat was not taken yet: it must come."""
        self.owed[qp].append(self._indicate(qp))
        if len(self.owed[qp]) > LATE_BEATS:
            self.qpc.fail(qp, f"{len(self.owed[qp])} requests executed whose beats are not taken")
        self.changed(qp)

    # -- bounds ------------------------------------------------------------------------------------

    @property
    def now(self) -> int:
        """Cycles in which turns could be taken."""
        return self.qpc.ctx.cycle - self.executing

    def changed(self, qp: int) -> None:
        """Something happened to a QP: does it wait for a beat?"""
        head = self.heads.get(qp)
        indication = self.qpc.qps[qp].next_indication()
        if indication is None:
            self.heads.pop(qp, None)
        elif head is None or head.number != indication.number:
            self.heads.pop(qp, None)
            self.heads[qp] = _Head(indication.number, self.now, self.beats)

    def left(self, qp: int) -> None:
        """The QP has left CONNECTED."""
        self._left_at[qp] = self.beats

    def _fair(self, qp: int) -> None:
        """A beat of ``qp``: the longest run, and nobody waits too long."""
        if qp != self._run_of:
            self._run.clear()
        self._run_of = qp
        self._run.append(self.now)
        if len(self._run) > self.burst:
            # The engine looks at a QP some cycles after the step that lets it go on.
            known = self._run[0] - PIPELINE
            for other, waiting in self.heads.items():
                beats = self.beats - waiting.beats
                if other != qp and waiting.cycle < known and beats > self.burst + 4:
                    text = f"{len(self._run)} requests in a row, while QP {other} waits"
                    self.qpc.fail(qp, text)
        head = self.heads.get(qp)
        if head is not None:
            self._judge(qp, head)

    def tick(self) -> None:
        """Time has passed."""
        for qp, head in self.heads.items():
            self._judge(qp, head)
            break  # the others wait for less

    def _judge(self, qp: int, head: _Head) -> None:
        waited = self.beats - head.beats
        since = max(head.cycle, self.free_since)
        cycles = self.now - since
        if waited > self.bound + 1 or cycles > self.bound + PIPELINE:
            self.qpc.fail(
                qp,
                f"request {head.number} waits for its beat since cycle {head.cycle}, for {waited} "
                f"beats and {cycles} cycles without a stall; the bound is {self.bound}",
            )

    def stalled(self, cycle: int) -> None:
        """The channel was stalled up to this cycle."""
        self.free_since = max(self.free_since, cycle - self.executing)
