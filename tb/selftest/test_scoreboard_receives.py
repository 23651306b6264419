# SPDX-License-Identifier: Apache-2.0
"""Each check of receives is shown to fail: a right stream of records, and one thing wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from models import codes
from models.codes import TraceOp
from tb.env.harness.records import (
    Command,
    DoorbellRequest,
    DoorbellResponse,
    RecvRequest,
    ScatterAnswer,
    Trace,
)
from tb.env.scoreboard.scoreboard import Mismatch
from tb.selftest.engine_streams import TAKE, EngineStream
from tb.selftest.mutations import Records, change, index, judge_engine, put, spoiled


def portal(records: Records, offset: int, number: int = 0) -> int:
    """Place of a write to a page offset."""
    found = [
        i for i, r in enumerate(records) if type(r) is DoorbellRequest and r.addr % 4096 == offset
    ]
    return found[number]


def answered(records: Records, offset: int, number: int = 0) -> int:
    """Place of the answer to it."""
    start = portal(records, offset, number)
    return next(i for i in range(start, len(records)) if type(records[i]) is DoorbellResponse)


def out(records: Records, code: codes.Command, number: int, bits: int) -> None:
    """Another output of a command."""
    i = index(records, Command, code=int(code))
    outs = list(records[i].outs)
    outs[number] ^= bits
    put(records, i, outs=tuple(outs))


def step(op: int, field: str, bits: int, number: int = 0) -> Callable[[Records], object]:
    """One step with other bits."""
    return lambda r: change(r, Trace, number, op=op, to={field: lambda v: v ^ bits})


def not_ready(records: Records) -> None:
    """Nothing is taken, in the step and in the answer, although a buffer is there."""
    change(records, Trace, op=TAKE, cq=0, to={"operand": 1, "new": lambda v: v ^ 1})
    change(records, ScatterAnswer, qp=0, to={"user": 1, "data": 0})


def refusal(records: Records) -> int:
    return next(i for i, r in enumerate(records) if type(r) is ScatterAnswer and r.user & 0xF == 3)


def too_far(records: Records) -> None:
    """More is reaped than was completed."""
    at = portal(records, 0x110)
    put(records, at, data=records[at].data ^ 7 << 128)
    change(records, Trace, op=TraceOp.REAP, to={"operand": 5})


def other(code: codes.Command, result: int) -> Callable[[Records], object]:
    return lambda r: change(r, Command, code=int(code), to={"result": result})


BEFORE, AFTER = "before the step|before it", "after the step|was reached|expected"
MUTATIONS: dict[str, tuple[Callable[[Records], object], str]] = {
    # -- receive posts
    "step through another page": (
        lambda r: put(r, portal(r, 0x40), addr=2 * 4096 + 0x40),
        "step of a receive post through page 2",
    ),
    # -- SRQ_DB
    "reaped too far": (lambda r: too_far(r), "reaped, the model refuses it: BAD_INDEX"),
    "reap answered with a cause": (
        lambda r: put(r, answered(r, 0x110), cause=0x0B, resp=2),
        "refused with 0xb, but it has a step|cause 0xb, expected",
    ),
    # -- takes
    "not ready with a buffer": (not_ready, "CQ-17: credit 0, the CQ 0 had: OK"),
    "taken of an empty queue": (
        lambda r: change(r, Trace, op=TAKE, operand=0x11, to={"operand": 0x10}),
        "TAKE with code 0",
    ),
    "flush instead of a message": (step(TAKE, "operand", 1 << 5), "SRQ-14"),
    "other tail before": (step(TAKE, "old", 8 << 32), "other posts before"),
    "other reports before": (step(TAKE, "old", 2 << 48), "other reports before"),
    "event not told": (
        lambda r: change(r, Trace, op=TAKE, operand=0x50, to={"operand": 0x10}),
        "watermark event 0, expected 1",
    ),
    "event without a reason": (step(TAKE, "operand", 1 << 6), "watermark event 1, expected 0"),
    # -- answers
    "refused in a good state": (
        lambda r: change(r, ScatterAnswer, to={"user": 3, "data": 0}),
        "REFUSED in a state that allows it",
    ),
    "refused with a tag": (lambda r: put(r, refusal(r), user=0x10003), "user 0x10003"),
    "late answer": (
        lambda r: put(r, index(r, RecvRequest), cycle=r[index(r, RecvRequest) - 1].cycle - 9),
        "bound|out of order",
    ),
    # -- watermark
    "event too early": (step(TraceOp.WATERMARK, "operand", 1 << 16), "event 1, expected 0"),
    # -- commands
    "another start index": (lambda r: out(r, codes.Command.CREATE_SRQ, 0, 1), "start index 1"),
    "query: vector": (lambda r: out(r, codes.Command.QUERY_SRQ, 5, 1 << 16), "OUT4"),
    "another key": (lambda r: out(r, codes.Command.REGISTER_MR, 0, 1 << 12), "outputs"),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_mutation_is_found(name: str) -> None:
    spoil, match = MUTATIONS[name]
    spoiled(EngineStream().all_receives(), match, spoil, judged=judge_engine)


def test_vacuous() -> None:
    stream = EngineStream().receivers()
    stream.reap(0, 0)
    with pytest.raises(Mismatch, match="vacuous: not one accepted receive"):
        judge_engine(stream.records, ("no_posts",))
