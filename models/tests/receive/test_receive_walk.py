# SPDX-License-Identifier: Apache-2.0
"""Every interleaving of small receive queues, and broken models that the same walk must catch."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from models.codes import LogCause, NotReady, ScatterCode
from models.post.qp_types import StateStep
from models.receive.receive_qp import ReceiveQp
from models.receive.receive_types import Buffer, ReceiveCompletion, RecvRequest, TakeResult
from models.receive.srq import SrqModel
from models.rules import RECEIVE_RULES
from models.tests.receive.receive_walk import Setup, ViolationError, walk

QUIET = ("watermark", "interrupt", "creditless")
LIFE = ("destroy", "create", "idle", "connect", "renew")
WALKS = {
    "own queue": Setup(shared=False, qps=1),
    "SRQ, one queue pair, all lives": Setup(qps=1),
    "SRQ, two queue pairs, connections": Setup(
        skip=(*QUIET, "destroy", "create", "renew", "pending")
    ),
    "SRQ, two queue pairs, lives": Setup(size=1, skip=("watermark", "creditless")),
    "SRQ, two queue pairs, watermark": Setup(
        skip=("creditless", *LIFE, "pending", "cancel", "failure")
    ),
}


@pytest.mark.parametrize("name", WALKS)
def test_walk(name: str, record_property: Callable[[str, object], None]) -> None:
    """No property is violated in histories of any length."""
    result = walk(WALKS[name])
    record_property("walk", f"{result.states} states, {result.transitions} transitions")
    assert result.states > 400  # a walk that lost its moves proves nothing
    common = {"post", "bad post", "take 0", "long 0", "success 0", "complete 0", "conn 0"}
    assert result.moves >= common
    if WALKS[name].shared:
        assert result.moves >= {"reap 0", "reap 1"}
    else:
        assert result.moves >= {"flush 0", "idle 0", "destroy 0", "create 0"}


#: Rules about what a post, a CQE or a page looks like, and the resize: the walk does not show them.
ELSEWHERE = {"DF-10", "ISO-01", "ISO-02", "SRQ-03", "SRQ-04", "SRQ-05", "SRQ-07", "SRQ-17"}
OWN = Setup(shared=False, qps=1)
#: Rules that show with an own queue only.
OWN_ONLY = {"SRQ-06", "SRQ-10", "SRQ-19"}


@pytest.mark.parametrize("rule", sorted(RECEIVE_RULES.keys() - ELSEWHERE))
def test_walk_catches_a_missing_rule(rule: str) -> None:
    own = rule in OWN_ONLY
    with pytest.raises(ViolationError):
        walk(Setup(shared=not own, qps=1 if own else 2, without=(rule,)))


class SkipsOne(ReceiveQp):
    """A completion takes two buffers with it."""

    def complete(self) -> ReceiveCompletion:
        done = super().complete()
        if len(self.flight) > 1:
            del self.flight[0]
        return done


class TakesAtAReport(ReceiveQp):
    """The limit of buffers in flight counts one too many."""

    def not_ready(self, credit: bool = True, cq_error: bool = False) -> NotReady | None:
        why = super().not_ready(credit, cq_error)
        return None if why is NotReady.IN_FLIGHT else why


class EndsAtOnce(ReceiveQp):
    """A message that is too long ends the connection in the step that takes."""

    def take(
        self,
        request: RecvRequest,
        *,
        credit: bool = True,
        cq_error: bool = False,
        tail_seen: int | None = None,
        reported_seen: int | None = None,
    ) -> TakeResult:
        got = super().take(
            request,
            credit=credit,
            cq_error=cq_error,
            tail_seen=tail_seen,
            reported_seen=reported_seen,
        )
        if got.code is ScatterCode.LENGTH_ERROR:
            self.qp.receive_failed()
        return got


class TakesNothingTooLong(ReceiveQp):
    """A message that is too long leaves the buffer in its queue."""

    def _pop(self) -> tuple[Buffer, bool]:
        queue = self if self.srq is None else self.srq
        buffers = list(queue.buffers)
        buffer, event = super()._pop()
        if self.flight and self.flight[-1].overlong:
            queue.buffers = buffers
        return buffer, event


class ForgetsReports(ReceiveQp):
    """Reports behind the end of the connection are refused."""

    def report(self, tag: int, status: int) -> tuple[LogCause, StateStep | None]:
        if self.qp.state not in (2, 3):
            return LogCause.RDONE_UNEXPECTED, None
        return super().report(tag, status)


class NeverBusy(ReceiveQp):
    """Commands do not see receives."""

    @property
    def busy(self) -> bool:
        return False


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(
    "model",
    [SkipsOne, TakesAtAReport, EndsAtOnce, TakesNothingTooLong, ForgetsReports, NeverBusy],
)
def test_walk_catches_a_broken_queue_pair(model: type[ReceiveQp], shared: bool) -> None:
    skip = (*QUIET, "connect", "create", "renew")
    with pytest.raises(ViolationError):
        walk(Setup(shared=shared, qps=1, size=3, qp=model, skip=skip))


class ReapsFree(SrqModel):
    """A completion frees the slot, not the reap."""

    def complete(self) -> None:
        super().complete()
        self.reaped = self.completed


class LosesTheFirst(SrqModel):
    """A queue that is full drops its oldest buffer."""

    def take(self, qp: int) -> tuple[Buffer, bool]:
        if self.available == self.config.size:
            self.buffers.pop(0)
        return super().take(qp)


class ArmsForTomorrow(SrqModel):
    """A threshold that is not reached already when it is set gives no event at once."""

    def _event(self) -> bool:
        return self.available > 0 and super()._event()


class CountsTaken(SrqModel):
    """The consumer may reap what is only taken."""

    def take(self, qp: int) -> tuple[Buffer, bool]:
        got = super().take(qp)
        self.completed = max(self.completed, self.head)
        return got


class RunsOver(SrqModel):
    """Takes the newest buffer."""

    def take(self, qp: int) -> tuple[Buffer, bool]:
        self.buffers.reverse()
        got = super().take(qp)
        self.buffers.reverse()
        return got


@pytest.mark.parametrize(
    "model", [ReapsFree, LosesTheFirst, ArmsForTomorrow, CountsTaken, RunsOver]
)
def test_walk_catches_a_broken_srq(model: type[SrqModel]) -> None:
    with pytest.raises(ViolationError):
        walk(Setup(qps=1, srq=model))
