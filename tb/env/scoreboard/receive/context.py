# SPDX-License-Identifier: Apache-2.0
"""What the checks of receives share: the model, what steps may not know yet, how to fail."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from models.codes import ModelError
from models.keys.region import Region
from models.keys.window import WindowModel
from models.receive.receive import ReceiveModel
from models.receive.receive_qp import ReceiveQp
from models.receive.srq import SrqModel
from tb.env.harness.records import Trace
from tb.env.scoreboard.context import HISTORY, Check, Teller, latest
from tb.env.scoreboard.explain import describe
from tb.env.scoreboard.post.context import LAG, QpContext

#: Region number, and its region for a while.
RegionChange = tuple[int, Region | None]


class News:
    """When a count has grown: a step must know what is not new any more."""

    def __init__(self) -> None:
        self._news: deque[tuple[int, int]] = deque()

    def note(self, count: int, cycle: int) -> None:
        """It has reached ``count``."""
        self._news.append((count, cycle))

    def late(self, known: int, cycle: int) -> str | None:
        """What is wrong with a step that knows ``known``."""
        news = self._news
        while news and news[0][0] <= known:
            news.popleft()
        if news and cycle - news[0][1] > LAG:
            return f"knows {known}, but {news[0][0]} was reached in cycle {news[0][1]}"
        return None


class SrqView(NamedTuple):
    """What QUERY_SRQ tells of one moment."""

    available: int
    outstanding: int
    tail: int
    reaped: int
    completed: int
    watermark: int
    armed: bool
    waits: bool


class Doubt(NamedTuple):
    """A step that is right only if its CQ fails in the same cycle."""

    step: Trace
    cq: int
    text: str


class Doubts:
    """Refusals because of a CQ that was not in error yet: its failure may count for steps of lanes
    5 and 6 in the cycle of its own step, whose lane is told after them (docs/receive.md).
    """

    def __init__(self) -> None:
        self._open: list[Doubt] = []

    def add(self, step: Trace, cq: int, text: str) -> None:
        """``text``: what is wrong unless the CQ fails."""
        self._open.append(Doubt(step, cq, text))

    def cq_failed(self, cq: int, cycle: int) -> None:
        """A CQ has gone to its error state."""
        self._open = [d for d in self._open if (d.step.cycle, d.cq) != (cycle, cq)]

    def settle(self, cycle: int) -> Doubt | None:
        """Nothing more comes of earlier cycles: a doubt of these is a fault."""
        for doubt in self._open:
            if doubt.step.cycle < cycle:
                return doubt
        return None


class Endings:
    """Connections that ended while the answers that are to come may tell of a message that was too
    long for its buffer: steps do not tell lengths, nor which of several requests they are of.
    """

    def __init__(self) -> None:
        self._open: dict[int, tuple[int, int]] = {}

    def ended(self, qp: int, connection: int, last: int) -> None:
        """A connection of a QP ended; ``last``: number of the latest step that may be of that
        message.
        """
        self._open[qp] = connection, last

    def answered(self, qp: int, connection: int, number: int, too_long: bool) -> bool:
        """A step of a connection has its answer. False: the last one has, and no message was too
        long.
        """
        ended, last = self._open.get(qp, (-1, 0))
        if ended != connection or (number < last and not too_long):
            return True
        del self._open[qp]
        return too_long


class ReceiveContext(Check):
    """State shared by the checks of receives."""

    rules = "SRQ-15, CQ-17"

    def __init__(self, qpc: QpContext) -> None:
        super().__init__(qpc.ctx)
        self.qpc = qpc
        self.params = params = self.ctx.params
        self.model = ReceiveModel(params, qpc.model)
        self.windows = WindowModel(self.model)
        self.rqs: list[ReceiveQp] = self.model.rqs
        self.srqs: list[SrqModel] = self.model.srqs
        self.ctx.tellers += [
            Teller("QP", params.num_qp, self._tell_qp),
            Teller("SRQ", params.num_srq, self._tell_srq),
        ]
        #: Latest steps of each QP, and of each SRQ.
        self.history: list[deque[Trace]] = [deque(maxlen=HISTORY) for _ in range(params.num_qp)]
        self.shared: list[deque[Trace]] = [deque(maxlen=HISTORY) for _ in range(params.num_srq)]
        #: Tails of QPs and of SRQs, and completions of QPs, as other lanes learn of them.
        self.tails = [News() for _ in range(params.num_qp)]
        self.srq_tails = [News() for _ in range(params.num_srq)]
        self.done = [(News(), News()) for _ in range(params.num_qp)]  # for lanes 5 and 6
        self.doubts = Doubts()
        #: Cycle in which the latest receive of a QP completed.
        self.completed_at = [-1] * params.num_qp
        #: Completions of the buffers of an SRQ over time: cycle, number before.
        self.completions: list[deque[tuple[int, int]]] = [
            deque(maxlen=64) for _ in range(params.num_srq)
        ]
        self._views: list[deque[tuple[int, SrqView]]] = [
            deque(maxlen=256) for _ in range(params.num_srq)
        ]
        self._regions: deque[tuple[int, RegionChange]] = deque(maxlen=64)
        #: Buffers posted, given back by destructions, and completed.
        self.posted = self.given_back = self.completed = 0

    # -- failing -----------------------------------------------------------------------------------

    def compare(self, when: str, step: Trace, shared: bool = False, hidden: int = 0) -> None:
        """A state of a step must be the model's; bits of ``hidden`` do not count."""
        want = (self.srqs if shared else self.rqs)[step.cq].trace_state(step.lane)
        self.ctx.compare(when, step, want, hidden)

    def _tell_qp(self, qp: int) -> list[str]:
        rq = self.rqs[qp]
        srq = rq.config.srq
        return [
            f"  in the model: QP {qp} {rq.qp.state.name}, {rq.config}, taken {rq.taken}, reported "
            f"{rq.reported}, completed {rq.completed}, tail {rq.tail}, available {rq.available}",
            *(f"    lane {n}: {describe(n, rq.trace_state(n))}" for n in (5, 6)),
            *latest(self.history[qp]),
            *([] if srq is None or srq >= len(self.srqs) else self._tell_srq(srq)),
        ]

    def _tell_srq(self, srq: int) -> list[str]:
        head = f"  in the model: SRQ {srq} head {self.srqs[srq].head}, {self.view(srq)}"
        return [head, *latest(self.shared[srq])]

    def cq_failed(self, record: Trace) -> None:
        """CQ_ERROR: a CQ has gone to its error state."""
        self.doubts.cq_failed(record.cq, record.cycle)

    def settle(self, cycle: int) -> None:
        """Nothing more comes of earlier cycles."""
        if doubt := self.doubts.settle(cycle):
            self.fail(doubt.text)

    def tick(self) -> None:
        self.settle(self.ctx.cycle)

    # -- looking -----------------------------------------------------------------------------------

    def known(self, step: Trace, name: str, index: int, known: int, actual: int, news: News) -> int:
        """The number that a step knows of a count, if that is right."""
        rq = self.rqs[0]
        try:
            number = rq.newest(name, known, actual, index)
        except ModelError as error:
            self.fail(str(error).split(": ", 1)[1])
        late = news.late(number, step.cycle)
        if late is not None:
            self.fail(f"{name}: {late}")
        return number

    def between(self, index: int, low: int, high: int) -> bool:
        """Is this the index of a number of this range?"""
        return self.params.index(index) == index and self.params.index(high - index) <= high - low

    def busy(self, qp: int, since: int) -> bool:
        """A QP may have seemed not empty of receives at some time from this cycle on."""
        return self.rqs[qp].busy or self.completed_at[qp] >= since

    def completed_before(self, srq: int, cycle: int) -> int:
        """Completions of the buffers of an SRQ before this cycle, or a few less."""
        later = [number for at, number in self.completions[srq] if at >= cycle]
        return min(later) if later else self.srqs[srq].completed

    # -- regions -----------------------------------------------------------------------------------

    def region_changed(self, number: int, old: Region | None) -> None:
        """A command has registered or deregistered a region."""
        self._regions.append((self.ctx.cycle, (number, old)))

    def tables(self, cycle: int) -> Iterator[list[RegionChange]]:
        """How the table of regions may differ from the present one, from this cycle on."""
        undo: list[RegionChange] = []
        yield undo
        for at, change in reversed(self._regions):
            if at < cycle:
                break
            undo = [*undo, change]
            yield undo

    @contextmanager
    def changed(self, changes: list[RegionChange]) -> Iterator[None]:
        """The table with these changes, for a while."""
        regions = self.model.regions.regions
        before = list(regions)
        for number, region in changes:
            regions[number] = region
        try:
            yield
        finally:
            regions[:] = before

    # -- queries -----------------------------------------------------------------------------------

    def view(self, srq: int) -> SrqView:
        """What a query of this moment would tell."""
        q, index = self.srqs[srq], self.params.index
        return SrqView(
            q.available,
            q.outstanding,
            index(q.tail),
            index(q.reaped),
            index(q.completed),
            q.threshold,
            q.armed,
            q.waiting,
        )

    def note(self, srq: int) -> None:
        """Remembers what a query of this moment would tell."""
        self._views[srq].append((self.ctx.cycle, self.view(srq)))

    def views(self, srq: int, start: int) -> list[SrqView]:
        """What queries could tell from this cycle on."""
        found = [self.view(srq)]
        for cycle, view in reversed(self._views[srq]):
            found.append(view)
            if cycle < start:
                break
        return found
