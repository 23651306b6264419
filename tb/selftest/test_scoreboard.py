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
    CreditAnswer,
    CreditRequest,
    DoorbellRequest,
    DoorbellResponse,
    Interrupt,
    MemResponse,
    MemWrite,
    Record,
    Trace,
)
from tb.env.scoreboard.scoreboard import ScoreboardError
from tb.selftest.mutations import EVENT_ID, Records, change, double, drop, index, judge, swap
from tb.selftest.streams import Stream

ANY, SOLICITED = ArmType.ANY, ArmType.SOLICITED


def test_right_stream() -> None:
    stream = Stream().standard()
    board = judge(stream.records)
    assert board.judged == len(stream.records) == board.checked()
    assert board.steps.callbacks == 2
    for block in (1, 3, 1000):
        judge(stream.records, block=block)


def test_error_tells_where_and_what() -> None:
    records: Records = Stream().standard().records
    change(records, Trace, op=TraceOp.EVENT_DONE, to={"new": lambda v: v | 1 << 8})
    with pytest.raises(ScoreboardError) as caught:
        judge(records)
    text = str(caught.value)
    cycle = records[index(records, Trace, op=TraceOp.EVENT_DONE)].cycle
    assert f"cycle {cycle}, seed 42" in text
    assert "CQ 0 in the model: READY" in text and "due" in text
    assert "PUBLISH 0x5 CALLBACK(status 0)" in text  # history


MUTATIONS: dict[str, tuple[Callable[[Records], object], str]] = {
    # -- outputs of commands
    "output of a command without": (
        lambda r: change(
            r, Command, code=codes.Command.CREATE_CQ, to={"outs": lambda v: (0, 8, *v[2:])}
        ),
        "OUT1 0x8, expected 0",
    ),
    # -- entries in memory
    "wrong phase": (lambda r: change(r, MemWrite, to={"data": lambda v: v ^ 1 << 255}), "entry 0"),
    "wrong slot": (lambda r: change(r, MemWrite, to={"addr": lambda v: v + 64}), "entry 0"),
    "wrong byte": (lambda r: change(r, MemWrite, to={"data": lambda v: v ^ 1 << 100}), "entry 0"),
    "wrong strobes": (lambda r: change(r, MemWrite, to={"strb": 0xFFFF_FFFE}), "strobes"),
    "wrong ID": (lambda r: change(r, MemWrite, to={"axi_id": 3}), "was not placed"),
    "ID of no queue": (lambda r: change(r, MemWrite, to={"axi_id": 6}), "which no queue has"),
    "entry written twice": (lambda r: double(r, MemWrite), "expected"),
    "entry never written": (lambda r: drop(r, MemWrite, 1), "was not written|without the answer"),
    "swapped entries": (
        lambda r: swap(r, index(r, MemWrite, 0), index(r, MemWrite, 1)),
        "entry 0",
    ),
    # -- completions
    "lost completion": (
        lambda r: (drop(r, Trace, op=TraceOp.PLACE, cq=1), drop(r, MemWrite, axi_id=1)),
        "without the answer|was not",
    ),
    "placed without arriving": (lambda r: drop(r, Completion), "no such completions"),
    "placed twice": (
        lambda r: double(r, Trace, op=TraceOp.PLACE, cq=1),
        "before the step",
    ),
    "place operand": (
        lambda r: change(r, Trace, op=TraceOp.PLACE, to={"operand": 3}),
        "operand",
    ),
    "allocated index": (
        lambda r: change(r, Trace, op=TraceOp.PLACE, to={"new": lambda v: v + 1}),
        "after the step",
    ),
    # -- publication
    "published before the answer": (
        lambda r: swap(
            r, index(r, MemResponse, axi_id=0), index(r, Trace, op=TraceOp.PUBLISH, cq=0)
        ),
        "without the answer",
    ),
    "published twice": (lambda r: double(r, Trace, op=TraceOp.PUBLISH), "before the step"),
    "publication missing": (
        lambda r: drop(r, Trace, op=TraceOp.PUBLISH, cq=1),
        "before the step",
    ),
    "wrong class": (
        lambda r: change(r, Trace, op=TraceOp.PUBLISH, to={"operand": lambda v: v ^ 4}),
        "operand",
    ),
    "wrong count": (
        lambda r: change(r, Trace, op=TraceOp.PUBLISH, to={"operand": 2}),
        "the oldest answer is for 1",
    ),
    "failed write published": (
        lambda r: change(r, MemResponse, axi_id=0, to={"resp": 2}),
        "the oldest answer is for 1 entries, an error",
    ),
    # -- trace
    "state before": (
        lambda r: change(r, Trace, op=TraceOp.CB_RETURN, to={"old": lambda v: v ^ 1 << 16}),
        "before the step",
    ),
    "state after": (
        lambda r: change(r, Trace, op=TraceOp.CB_RETURN, to={"new": lambda v: v ^ 1 << 16}),
        "differ",
    ),
    "unknown operation": (
        lambda r: change(r, Trace, op=TraceOp.CB_RETURN, to={"op": 0x3F}),
        "operation 0x3f",
    ),
    "wrong lane": (
        lambda r: change(r, Trace, op=TraceOp.CB_RETURN, to={"lane": 1}),
        "on lane 1",
    ),
    "CQ out of range": (lambda r: change(r, Trace, to={"cq": 9}), "out of range"),
    "lying trace: callback bit cleared": (
        lambda r: change(r, Trace, event=True, to={"event": False}),
        "differ",
    ),
    "callback without an arm": (
        lambda r: change(r, Trace, op=TraceOp.PUBLISH, cq=1, to={"event": True}),
        "the model has no callback",
    ),
    "status of the callback": (
        lambda r: change(r, Trace, event=True, to={"event_status": 2}),
        "differ",
    ),
    # -- events
    "event missing": (
        lambda r: (
            drop(r, MemWrite, axi_id=EVENT_ID),
            drop(r, MemResponse, axi_id=EVENT_ID),
        ),
        "without an answer to its event",
    ),
    "event doubled": (lambda r: double(r, MemWrite, axi_id=EVENT_ID), "without a call"),
    "event at the wrong slot": (
        lambda r: change(r, MemWrite, axi_id=EVENT_ID, to={"addr": lambda v: v + 64}),
        "event entry",
    ),
    "event with the wrong phase": (
        lambda r: change(r, MemWrite, axi_id=EVENT_ID, to={"data": lambda v: v ^ 1 << 127}),
        "event entry",
    ),
    "event with the wrong ID": (
        lambda r: change(r, MemWrite, axi_id=EVENT_ID, to={"axi_id": EVENT_ID - 1}),
        "without a call",
    ),
    "event step missing": (
        lambda r: drop(r, Trace, 1, op=TraceOp.EVENT_DONE),
        "before the step|no step",
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
    # -- interrupts
    "interrupt missing": (lambda r: drop(r, Interrupt, 1), "no interrupt of EQ"),
    "interrupt too many": (lambda r: double(r, Interrupt), "without an acknowledged event"),
    "interrupt before the event": (
        lambda r: swap(r, index(r, MemResponse, axi_id=EVENT_ID), index(r, Interrupt)),
        "without an acknowledged event|without an answer",
    ),
    "wrong vector": (lambda r: change(r, Interrupt, to={"vector": 8}), "interrupt 8"),
    # -- doorbells
    "accepted, no step": (
        lambda r: drop(r, Trace, op=TraceOp.DOORBELL),
        "no step of it",
    ),
    "step, but no write": (
        lambda r: (drop(r, DoorbellRequest), drop(r, DoorbellResponse)),
        "nobody wrote",
    ),
    "refused, but changed the CQ": (
        lambda r: change(r, DoorbellResponse, to={"resp": 2, "cause": 8}),
        "it changed the CQ",
    ),
    "answer missing": (lambda r: drop(r, DoorbellResponse, -1), "no answer to the doorbell"),
    "answer doubled": (lambda r: double(r, DoorbellResponse, -1), "answer to no doorbell"),
    "ID of the answer": (lambda r: change(r, DoorbellResponse, to={"axi_id": 6}), "with ID 0x6"),
    "response without cause": (lambda r: change(r, DoorbellResponse, to={"resp": 2}), "response 2"),
    "through a foreign page": (
        lambda r: change(r, DoorbellRequest, to={"addr": lambda v: v + 4096}),
        "another owner",
    ),
    "other index than written": (
        lambda r: change(r, DoorbellRequest, to={"data": lambda v: v ^ 1 << 9}),
        "nobody wrote",
    ),
    # -- credits
    "credit answer missing": (
        lambda r: drop(r, CreditAnswer, -1),
        "no answer to the credit request",
    ),
    "credit answer doubled": (lambda r: double(r, CreditAnswer, -1), "without a request"),
    "credit refused": (
        lambda r: change(r, CreditAnswer, to={"granted": False}),
        "refused, at least 4 were free",
    ),
    # -- commands
    "wrong result": (
        lambda r: change(r, Command, code=codes.Command.CREATE_EQ, to={"result": 0x43}),
        "answered 0x43",
    ),
    "created, command refused": (
        lambda r: change(r, Command, code=codes.Command.CREATE_CQ, to={"result": 0x49}),
        "its command answered 0x49",
    ),
    "step without a command": (
        lambda r: drop(r, Command, 0, code=codes.Command.CREATE_CQ),
        "without a command",
    ),
    "command without its step": (
        lambda r: drop(r, Trace, op=TraceOp.STOP),
        "was not stopped",
    ),
    "create without start": (
        lambda r: drop(r, Trace, op=TraceOp.START),
        "left the steps",
    ),
    "freed, but pending": (
        lambda r: change(r, Command, code=codes.Command.DESTROY_CQ, to={"result": 0x4D}),
        "result 0x4d",
    ),
    "records out of order": (lambda r: change(r, Completion, to={"cycle": 0}), "out of order"),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_mutation_is_caught(name: str) -> None:
    mutate, message = MUTATIONS[name]
    records: Records = Stream().standard().records
    mutate(records)
    with pytest.raises(ScoreboardError, match=message):
        judge(records)


# -- vacuity, ends -------------------------------------------------------------------------------


def test_vacuous_runs() -> None:
    with pytest.raises(ScoreboardError, match="vacuous: not one Trace"):
        judge([])
    stream = Stream().ready()
    with pytest.raises(ScoreboardError, match="not one Completion"):
        judge(stream.records)
    with pytest.raises(ScoreboardError, match="not one DoorbellRequest"):
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
    with pytest.raises(ScoreboardError, match=message):
        judge(records)
    if allowance:
        judge(records, (allowance, "no_completions"))
