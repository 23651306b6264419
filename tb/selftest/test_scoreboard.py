# SPDX-License-Identifier: Apache-2.0
"""Each check of the scoreboard is shown to fail: a right stream of records, and one thing wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from models import codes
from models.codes import ArmType, TraceOp
from models.host.doorbell import pack_doorbell
from models.layouts import CQ_DB
from tb.env.harness.records import (
    Command,
    Completion,
    CreditRequest,
    DoorbellRequest,
    MemResponse,
    MemWrite,
    Record,
    Trace,
)
from tb.env.scoreboard.scoreboard import Mismatch
from tb.selftest.mutations import EVENT_ID, Records, change, drop, index, judge, spoiled, swap
from tb.selftest.streams import Stream

ANY, SOLICITED = ArmType.ANY, ArmType.SOLICITED


MUTATIONS: dict[str, tuple[Callable[[Records], object], str]] = {
    # -- events
    "event missing": (
        lambda r: (drop(r, MemWrite, axi_id=EVENT_ID), drop(r, MemResponse, axi_id=EVENT_ID)),
        "without an answer to its event",
    ),
    "event step before its answer": (
        lambda r: swap(
            r, index(r, MemResponse, axi_id=EVENT_ID), index(r, Trace, op=TraceOp.EVENT_DONE)
        ),
        "without an answer to its event",
    ),
    "event answered with an error": (
        lambda r: change(r, MemResponse, axi_id=EVENT_ID, to={"resp": 3}),
        "says otherwise",
    ),
    # -- doorbells
    "through a foreign page": (
        lambda r: change(r, DoorbellRequest, to={"addr": lambda v: v + 4096}),
        "another owner",
    ),
    # -- commands
    "created, command refused": (
        lambda r: change(r, Command, code=codes.Command.CREATE_CQ, to={"result": 0x49}),
        "its command answered 0x49",
    ),
    "records out of order": (lambda r: change(r, Completion, to={"cycle": 0}), "out of order"),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_mutation_is_caught(name: str) -> None:
    mutate, message = MUTATIONS[name]
    spoiled(Stream().standard(), message, mutate)


# -- vacuity, ends -------------------------------------------------------------------------------


def test_vacuous_runs() -> None:
    with pytest.raises(Mismatch, match="vacuous: not one Trace"):
        judge([])
    stream = Stream().ready()
    with pytest.raises(Mismatch, match="not one Completion"):
        judge(stream.records)
    with pytest.raises(Mismatch, match="not one DoorbellRequest"):
        judge(stream.records, ("no_completions",))
    judge(stream.records, ("no_completions", "no_doorbells"))
    judge([], ("no_traffic",))
    with pytest.raises(ValueError, match="unknown allowance"):
        judge([], ("nothing",))


def left(build: Callable[[Stream], object]) -> list[Record]:
    stream = Stream().ready()
    stream.doorbell(0, ANY)
    build(stream)
    return stream.records


def half_done(stream: Stream) -> Stream:
    stream.credit()
    cqe = stream.cqe()
    stream.arrive(0, cqe)
    stream.place(0, cqe)
    return stream


@pytest.mark.parametrize(
    "build, message, allowance",
    [
        (half_done, "never written", "memory"),
        (lambda s: (half_done(s), s.write()), "writes without an answer", "memory"),
        (lambda s: s.complete(), "no event entry", "memory"),
        (lambda s: (s.complete(), s.event()), "event entry not answered", "memory"),
        (
            lambda s: (s.complete(), s.event(), s.event_answer(resp=2)),
            "event entry not written again",
            "memory",
        ),
        (lambda s: (s.complete(), s.event(), s.event_answer()), "no interrupt of EQ", "interrupts"),
        (
            lambda s: (s.complete(), s.call(), s.request(CQ_DB, pack_doorbell(0, 0))),
            "no answer to the doorbell",
            "doorbells",
        ),
        (
            lambda s: (s.complete(), s.call(), s.add(CreditRequest(s.tick(), 1 << 16))),
            "no answer to the credit",
            "credits",
        ),
        (lambda s: (s.credit(), s.arrive(0, s.cqe())), "lost: the completion", ""),
    ],
)
def test_what_is_left_at_the_end(
    build: Callable[[Stream], object], message: str, allowance: str
) -> None:
    records = left(build)
    with pytest.raises(Mismatch, match=message):
        judge(records)
    if allowance:
        judge(records, (allowance, "no_completions"))
