# SPDX-License-Identifier: Apache-2.0
"""Event entries that share a memory write: what is expected, what is refused, one response."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from models.codes import Command, CommandResult, CqStatus, ModelError
from models.cq.core import CompletionCore
from models.cq.entries import Eqe
from models.host.control import make_args
from models.tests.helpers import callback_on, line, small_engine

EQ, BASE = 1, 0x1_0000_1000
FAILED = CqStatus.INTERNAL_ERROR


def called(*cqs: int) -> CompletionCore:
    """An engine with four queues, whose callbacks of these wait for their entries."""
    engine = small_engine(reservation=False, cqs=4)
    for cq in cqs:
        callback_on(engine, cq)
    return engine


def entry(cq: int, status: CqStatus = CqStatus.OK, snap: int = 1, phase: int = 1) -> bytes:
    return Eqe(cq, status, snap).pack(phase)


@pytest.mark.parametrize("cqs", [(1, 0), (2, 0, 1), (2, 0, 3, 1)])
def test_several_entries_in_a_beat(cqs: Sequence[int]) -> None:
    """They have one response, and one interrupt."""
    engine = called(0, 1, 2, 3)
    eq = engine.eqs[EQ]
    beat = engine.eqe_beat(EQ, *line(BASE, *map(entry, cqs)))
    assert [(event.cq, event.index) for event in beat] == [(cq, i) for i, cq in enumerate(cqs)]
    assert (eq.prod, len(eq.waiting)) == (len(cqs), 4 - len(cqs))
    engine.event_acknowledge(EQ)
    assert [q.event_open for q in engine.cqs] == [cq not in cqs for cq in range(4)]
    eq.interrupt()
    with pytest.raises(ModelError, match="interrupt without"):
        eq.interrupt()
    with pytest.raises(ModelError, match="was not written"):
        engine.eqe_response(EQ, okay=True)


#: The entry of queue 2, in slot 0, is to be repeated, those of queues 0 and 1 follow it; queue 3
#: was not called.
GOOD = line(BASE + 16, entry(0), entry(1))
REFUSED = {
    "a hole": (GOOD[0], GOOD[1], 0xFFFF << 16 | 0xFFFF << 48),
    "half an entry": (GOOD[0], GOOD[1], 0xFF_FFFF << 16),
    "no line": (BASE + 16, entry(0) + entry(1) + bytes(32), (1 << 32) - 1),
    "a slot is left out": line(BASE + 32, entry(0), entry(1)),
    "the slot before": line(BASE, entry(0), entry(1)),
    "not called": line(BASE + 16, entry(0), entry(3)),
    "twice": line(BASE + 16, entry(0), entry(0)),
    "phase": line(BASE + 16, entry(0), entry(1, phase=0)),
    "snap": line(BASE + 16, entry(0), entry(1, snap=2)),
    "status": line(BASE + 16, entry(0), entry(1, FAILED)),
    "a repetition ahead": line(BASE, entry(2, FAILED), entry(0)),
    "a repetition behind": line(BASE + 16, entry(0), entry(2, FAILED)),
    "no strobes": (GOOD[0], GOOD[1], 0),
}


def repeated() -> CompletionCore:
    engine = called(2, 0, 1)
    engine.eqe_beat(EQ, *line(BASE, entry(2)))
    engine.event_acknowledge(EQ, okay=False)
    return engine


@pytest.mark.parametrize("case", REFUSED)
def test_refused_beats(case: str) -> None:
    """Nothing changes: what is right is taken afterwards."""
    engine = repeated()
    with pytest.raises(ModelError, match=r"event|repetition"):
        engine.eqe_beat(EQ, *REFUSED[case])
    engine.eqe_beat(EQ, *line(BASE, entry(2, FAILED)))
    engine.eqe_beat(EQ, *GOOD)


def test_end_of_a_line() -> None:
    """A ring of two lines: slot 3 and slot 4 have a beat each."""
    engine = called()
    args = make_args(EQ, base=BASE + 0x1000, log2=3)
    assert engine.command(Command.RESIZE_EQ, args).result is CommandResult.OK
    for cq in range(4):
        callback_on(engine, cq)
    at = BASE + 0x1000
    engine.eqe_beat(EQ, *line(at, *map(entry, (0, 1))))
    engine.event_acknowledge(EQ)
    engine.cb_return(0)
    callback_on(engine, 0)
    engine.eqe_beat(EQ, *line(at + 32, entry(2)))
    both, split = entry(3) + entry(0, snap=2), 0xFFFF | 0xFFFF << 48
    for wrong in (
        line(at + 48, both),
        line(at + 64, both),
        (at, both[16:] + bytes(32) + both[:16], split),
        (at + 64, both[16:] + bytes(32) + both[:16], split),
    ):
        with pytest.raises(ModelError, match="event"):
            engine.eqe_beat(EQ, *wrong)
    engine.eqe_beat(EQ, *line(at + 48, both[:16]))
    engine.eqe_beat(EQ, *line(at + 64, both[16:]))


def test_status_of_an_entry() -> None:
    """It is that at the call, however late the first write is."""
    engine = called(0, 1)
    engine.cq_error(1, CqStatus.BUFFER_OVERFLOW)
    with pytest.raises(ModelError, match="event entry"):
        engine.eqe_beat(EQ, *line(BASE, entry(0), entry(1, CqStatus.BUFFER_OVERFLOW)))
    engine.eqe_beat(EQ, *line(BASE, entry(0), entry(1)))


def test_resize_before_the_answer_of_a_beat() -> None:
    """CQ-19: each entry of the beat keeps the ring before from being left, repeated ones too."""
    engine = called(0, 1, 2)
    eq = engine.eqs[EQ]
    engine.eqe_beat(EQ, *line(BASE, *map(entry, range(3))))
    assert eq.resize(BASE + 0x1000, 3) == 3
    for answered in (False, True):
        if answered:
            engine.event_acknowledge(EQ, okay=False)
        assert eq.leaving == [0, 1, 2]
        with pytest.raises(ModelError, match="resize while"):
            eq.resize(BASE, 3)
    for cq in range(3):
        engine.eqe_beat(EQ, *line(BASE + 16 * cq, entry(cq, FAILED)))
        engine.event_acknowledge(EQ)
    assert eq.leaving == []


def test_a_beat_that_fails() -> None:
    """CQ-18: each of its queues is in error, each entry is repeated alone, in any order."""
    engine = called(0, 1, 2, 3)
    eq = engine.eqs[EQ]
    engine.eqe_beat(EQ, *line(BASE, *map(entry, range(3))))
    engine.event_acknowledge(EQ, okay=False)
    assert [event.cq for event in eq.retries] == [0, 1, 2]
    assert [q.status for q in engine.cqs] == [FAILED] * 3 + [CqStatus.OK]
    assert eq.interrupts_allowed == 0
    with pytest.raises(ModelError, match="repetition of queue 0 shares"):
        engine.eqe_beat(EQ, *line(BASE, entry(0, FAILED), entry(1, FAILED)))
    for count, cq in enumerate((2, 0, 1)):
        engine.eqe_beat(EQ, *line(BASE + 16 * cq, entry(cq, FAILED)))
        engine.event_acknowledge(EQ)
        assert eq.interrupts_allowed == count + 1
    assert not eq.retries and [*eq.waiting] == [3]


def test_steps_follow_the_answer_of_their_beat() -> None:
    """CQ-18: of an entry of a failed beat there is no EVENT_DONE, nor a second EVENT_FAILED."""
    engine = called(0, 1)
    engine.eqe_beat(EQ, *line(BASE, entry(0), entry(1)))
    engine.eqe_response(EQ, okay=False)
    engine.event_failed(1, final=False)
    with pytest.raises(ModelError, match="queue 1: a step without"):
        engine.event_failed(1, final=False)
    with pytest.raises(ModelError, match="queue 0: the answer to its event entry says otherwise"):
        engine.event_done(0)
