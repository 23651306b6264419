# SPDX-License-Identifier: Apache-2.0
"""What the checks of posting share: the model of the queue pairs, recent steps, how to fail."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

from models.codes import Life, LogCause, QpState
from models.keys.keys import KeyTable
from models.post.posting import Input, PostingModel
from models.post.qp import QpModel
from models.receive.receive import RecvInput
from tb.env.defs import QSTATE, Kind
from tb.env.harness.records import Trace
from tb.env.scoreboard.context import HISTORY, Check, Context, Left, Teller, latest
from tb.env.scoreboard.explain import describe

#: What happened at a pin or on one trace lane shows on another one within this many cycles.
LAG = 64

OPEN = (QpState.CONNECTED, QpState.DISCONNECT_PENDING)


class End(NamedTuple):
    """Something that ends a connection: how it is told that it has not, and the rules."""

    text: str
    rules: str


REPORT = End("not in error, after the failing report", "DF-11, DF-15")
EVENT = End("connected, after the event", "DF-11, DF-15")
RECEIVE = End("not in error, after the failing receive", "SRQ-05, SRQ-06, SRQ-10, SRQ-14")
LENGTH = End("not in error, after the LENGTH_ERROR", "SRQ-02, SRQ-10, SRQ-13, SRQ-18")
FAILURE = End("connected, after the failure", "MW-09, MW-10")

_RETIRED = QSTATE["retired"]


class QpContext(Check):
    """State shared by the checks of posting."""

    def __init__(self, ctx: Context, keys: KeyTable) -> None:
        super().__init__(ctx)
        num_qp = ctx.params.num_qp
        self.model = PostingModel(ctx.params, self._cq_page, keys=keys)
        self.qps: list[QpModel] = self.model.qps
        ctx.tellers.append(Teller("QP", num_qp, self._tell))
        #: What became of the latest beat of the transport.
        self.log = LogCause.OK
        #: Connections that must end: since when, by QP and what ends them.
        self.ends: dict[tuple[int, End], int] = {}
        #: Latest steps of each QP, both lanes.
        self.history: list[deque[Trace]] = [deque(maxlen=HISTORY) for _ in range(num_qp)]
        #: Retirements that lane 3 does not know yet: number and cycle.
        self._unseen: list[deque[tuple[int, int]]] = [deque() for _ in range(num_qp)]
        #: Latest retirements, and latest indications: cycle, and the number after it.
        self.retired_at: list[deque[tuple[int, int]]] = [deque(maxlen=64) for _ in range(num_qp)]
        self.indicated_at: list[deque[tuple[int, int]]] = [deque(maxlen=64) for _ in range(num_qp)]

    # -- ends of connections -----------------------------------------------------------------------

    def must_end(self, qp: int, end: End) -> None:
        """The connection of a QP, if it has one, must end soon."""
        if self.qps[qp].state in OPEN:
            self.ends.setdefault((qp, end), self.ctx.cycle)

    def ended(self, qp: int) -> None:
        """It has ended."""
        self.ends = {key: since for key, since in self.ends.items() if key[0] != qp}

    def heard(
        self, beat: Callable[[int], Input | RecvInput], word: int, tag: int, end: End, ends: bool
    ) -> LogCause:
        """The model gets a beat of the transport. If it ``ends`` a connection, that change of state
        has a step of its own.
        """
        qp = word & 0xFFFF
        model = self.qps[qp] if qp < len(self.qps) else None
        state = QpState.FREE if model is None else model.state
        if model is not None and state in OPEN:
            model.state = QpState.DISCONNECTED
        self.log = log = beat(word).log
        if model is not None:
            model.state = state
        if log is not LogCause.OK:
            self.ctx.log.append((log, Kind.QP, qp, tag))
        elif ends:
            self.must_end(qp, end)
        return log

    def tick(self) -> None:
        for (qp, end), since in self.ends.items():
            if self.ctx.cycle - since > LAG:
                self.fail(f"still {end.text} of cycle {since}", ("QP", qp), rule=end.rules)

    def left(self) -> Iterator[Left]:
        """Connections that should have ended."""
        for (qp, end), since in self.ends.items():
            yield Left("", since, f"QP {qp}: still {end.text} of cycle")

    def _cq_page(self, cq: int) -> int | None:
        engine = self.ctx.engine
        if cq >= self.ctx.params.num_cq or engine.cqs[cq].life is not Life.READY:
            return None
        return engine.owner_page(cq)

    # -- failing -----------------------------------------------------------------------------------

    def compare(self, when: str, step: Trace, hidden: int = 0) -> None:
        """A state of a step must be the model's; bits of ``hidden`` do not count."""
        self.ctx.compare(when, step, self.qps[step.cq].trace_state(step.lane), hidden)

    def _tell(self, qp: int) -> list[str]:
        model = self.qps[qp]
        return [
            *(f"  in the model, lane {n}: {describe(n, model.trace_state(n))}" for n in (3, 4)),
            f"    indicated {model.indicated}, next tag {model.tags}",
            *latest(self.history[qp]),
        ]

    # -- lane 3 ------------------------------------------------------------------------------------

    def begin(self, record: Trace) -> None:
        """State before a step of lane 3, and what the step knows of retirements. Changes nothing
        that a second look would see.
        """
        qp, model = record.cq, self.qps[record.cq]
        index = self.ctx.params.index
        known = model.seen
        self.compare("before", record, _RETIRED.mask)
        retired = _RETIRED.get(record.new)
        model.see(retired)
        before = _RETIRED.get(record.old)
        if before != retired and before not in map(index, range(known, model.seen)):
            self.fail("the step knew of other retirements before it")
        unseen = self._unseen[qp]
        while unseen and unseen[0][0] < model.seen:
            unseen.popleft()
        if unseen and record.cycle - unseen[0][1] > LAG:
            number, cycle = unseen[0]
            self.fail(f"does not know that {number} retired in cycle {cycle}")

    def end(self, record: Trace) -> None:
        """State after a step of lane 3 or 4."""
        self.compare("after", record)

    # -- for windows -------------------------------------------------------------------------------

    def note_retired(self, qp: int) -> None:
        """The oldest request has retired."""
        model = self.qps[qp]
        self._unseen[qp].append((model.retired - 1, self.ctx.cycle))
        self.retired_at[qp].append((self.ctx.cycle, model.retired))
        if not self.indicated_at[qp] or self.indicated_at[qp][-1][1] != model.indicated:
            self.indicated_at[qp].append((self.ctx.cycle, model.indicated))

    def note_indicated(self, qp: int) -> None:
        """A request was indicated."""
        self.indicated_at[qp].append((self.ctx.cycle, self.qps[qp].indicated))

    def retired_before(self, qp: int, cycle: int) -> int:
        """Requests that had retired before this cycle, or a few less."""
        return self._before(self.retired_at[qp], cycle, self.qps[qp].retired)

    def indicated_before(self, qp: int, cycle: int) -> int:
        """The same of indications."""
        return self._before(self.indicated_at[qp], cycle, self.qps[qp].indicated)

    @staticmethod
    def _before(log: deque[tuple[int, int]], cycle: int, now: int) -> int:
        later = [number for at, number in log if at >= cycle]
        return min(later) - 1 if later else now

    def states_since(self, qp: int, cycle: int) -> list[int]:
        """States of lane 3 from this cycle on, the present one last."""
        states: list[int] = []
        for step in self.history[qp]:
            if step.lane == 3 and step.cycle >= cycle:
                states += (step.old, step.new)
        return [*states, self.qps[qp].trace_state(3)]
