# SPDX-License-Identifier: Apache-2.0
"""Each check of the scoreboard is shown to fail: a right stream of records, and one thing wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from models import codes
from models.codes import TraceOp
from models.layouts import CQ_DB, RECV_PORTAL, SRQ_DB
from tb.env.harness import records as rec
from tb.selftest.engine_streams import TAKE, EngineStream
from tb.selftest.mutations import (
    Records,
    change,
    drop,
    fails,
    index,
    judge,
    put,
    right,
    spoiled,
)
from tb.selftest.right_streams import STREAMS
from tb.selftest.streams import EQ, PARAMS, Stream

Spoil = Callable[[Records], object]
NO_TRAFFIC = ("no_completions", "no_doorbells")


def at_offset(records: Records, offset: int, answer: bool = False) -> int:
    """Place of the first write to an offset of pages, or of the answer to it."""
    kind, places = rec.DoorbellRequest, list(enumerate(records))
    found = next(i for i, r in places if type(r) is kind and r.addr % 4096 == offset)
    return index(records[found:], rec.DoorbellResponse) + found if answer else found


def after_the_next_beat(records: Records) -> None:
    """The step of a local request comes after the next one's beat."""
    at = index(records, rec.WorkBeat)
    records.insert(at, records[at])
    drop(records, rec.Trace, op=TraceOp.BIND)


def step(op: TraceOp, field: str, bits: int, number: int = 0, **which: int) -> Spoil:
    """One step with other bits."""
    return lambda r: change(r, rec.Trace, number, op=op, **which, to={field: lambda v: v ^ bits})


def other_page(args: tuple[int, ...]) -> tuple[int, ...]:
    """CREATE_QP of page 2."""
    return (*args[:4], 2 | 4 << 16, *args[5:])


CREATE = codes.Command.CREATE_QP
#: AXI ID of event entries.
EVENTS = PARAMS.num_cq + EQ
INVALIDATE = TraceOp.INVALIDATE
#: Of each right stream: changes, and what is told of them.
MUTATIONS: dict[str, list[tuple[Spoil, str]]] = {
    "completions": [
        (
            lambda r: change(r, rec.DoorbellRequest, to={"addr": 2 * 4096 + CQ_DB}),
            "another owner",
        ),
        (lambda r: change(r, rec.Completion, to={"cycle": 0}), "out of order"),
    ],
    "shared events": [
        (
            lambda r: change(r, rec.MemWrite, axi_id=EVENTS, to={"strb": lambda v: v >> 16}),
            "CQ 1: queue 1: a step without an answer to its event entry",
        ),
        (
            lambda r: change(r, rec.MemWrite, -1, axi_id=EVENTS, to={"strb": (1 << 64) - 1}),
            "EQ 1: the repetition of queue 2 shares a beat",
        ),
        (
            lambda r: drop(r, rec.Trace, 1, op=TraceOp.EVENT_DONE),
            "CQ 1: event_pending no, model yes",
        ),
        (
            lambda r: drop(r, rec.Trace, 1, op=TraceOp.EVENT_FAILED),
            "EQ 1: event entry .*, expected",
        ),
        (
            lambda r: change(r, rec.Trace, op=TraceOp.EVENT_DONE, to={"lane": 1}),
            "operation 0x4 on lane 1",
        ),
        (
            lambda r: r.insert(index(r, rec.Interrupt), r[index(r, rec.Interrupt)]),
            "interrupt 7 without an acknowledged event",
        ),
    ],
    "posts": [
        (lambda r: change(r, rec.Trace, op=0x30, to={"new": lambda v: v + (1 << 48)}), "DF-12"),
        (step(TraceOp.QP_STATE, "new", 7), "does not take this step"),
        (lambda r: r.append(rec.Completion(r[-1].cycle, 1, 0, (0, 0), (0, 0))), "no such port"),
    ],
    "receives": [
        (
            lambda r: put(r, at_offset(r, RECV_PORTAL), addr=2 * 4096 + RECV_PORTAL),
            "step of a receive post through page 2",
        ),
        (
            lambda r: put(r, at_offset(r, SRQ_DB, answer=True), cause=0x0B, resp=2),
            "refused with 0xb, but it has a step|cause 0xb, expected",
        ),
        (step(TAKE, "operand", 1 << 5), "SRQ-14"),
        (step(TAKE, "old", 8 << 32), "other posts before"),
        (step(TAKE, "old", 2 << 48), "other reports before"),
        (step(TAKE, "operand", 1 << 6, operand=0x50), "watermark event 0, expected 1"),
        (step(TraceOp.WATERMARK, "operand", 1 << 16), "event 1, expected 0"),
    ],
    "troubles of completions": [
        (
            lambda r: change(r, rec.CreditAnswer, -1, granted=False, to={"granted": True}),
            "granted, at most 0 were free",
        ),
    ],
    "troubles of posts": [
        (
            step(TraceOp.POST, "operand", 0x16, operand=0x516),
            "cause 0x0, right would be: NO_CREDIT",
        ),
        (step(TraceOp.POST, "operand", 0x16, operand=0x500), "cause 0x16, right would be: OK"),
        (step(TraceOp.POST, "operand", 3, operand=0x515), "cause 0x16, right would be: CQ_ERROR"),
        (
            lambda r: change(r, rec.Command, -1, code=int(CREATE), to={"args": other_page}),
            "created, the model refuses it: CMD_BAD_PAGE",
        ),
    ],
    "keys": [
        (after_the_next_beat, "DF-12: indicated, but the request of"),
        # Also of bits that mean nothing in an object that is not valid.
        (
            step(TraceOp.BIND, "old", 1 << 67, 1),
            "the state before the step is not that after the one before it",
        ),
        (
            step(INVALIDATE, "operand", 4, cq=0, operand=4),
            "MW-05: key .* is invalidated a second time",
        ),
        (
            lambda r: drop(r, rec.Trace, op=INVALIDATE, operand=1 << 9),
            "Read 4 retires, but its key was not invalidated",
        ),
        (
            lambda r: change(r, rec.AccessVerdict, data=0, to={"data": 5 << 16}),
            "a state that allows it",
        ),
        (step(TraceOp.KEY_COMMAND, "cq", 0xFFFF), "REGISTER_MR: step of QP 0"),
    ],
}


@pytest.mark.parametrize("stream", MUTATIONS)
def test_mutation_is_caught(stream: str) -> None:
    made = STREAMS[stream]()
    for spoil, message in MUTATIONS[stream]:
        spoiled(made, message, spoil)


# -- vacuity, ends -------------------------------------------------------------------------------


def test_vacuous_runs() -> None:
    fails(Stream(), r'not one Trace .*; if meant, `allow = \("no_traffic",\)` in the test class')
    stream = Stream().ready()
    fails(stream, "not one Completion")
    fails(stream, "not one DoorbellRequest", ("no_completions",))
    right(stream, NO_TRAFFIC)
    judge([], ("no_traffic",))
    with pytest.raises(ValueError, match="unknown allowance"):
        judge([], ("nothing",))
    fails(EngineStream(), "vacuous: not one Trace")
    engine = EngineStream().connected()
    fails(engine, "vacuous: not one DoorbellRequest")
    engine.doorbell(0)
    fails(engine, "vacuous: not one accepted post")
    right(engine, ("no_posts", "no_receives"))
    fails(engine, "vacuous: not one accepted receive", ("no_posts",))
    engine.post(engine.make(flags=0x200))
    fails(engine, "at the end: ")
    fails(engine, "vacuous: not one retired request", ("held",))
