# SPDX-License-Identifier: Apache-2.0
"""Each check of the full engine's scoreboard is shown to fail: a right stream of records, and one
thing wrong.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from models import codes
from models.codes import Cause, TraceOp
from tb.env.harness.records import (
    Command,
    Completion,
    CreditAnswer,
    DoneReport,
    DoorbellRequest,
    DoorbellResponse,
    Trace,
)
from tb.env.scoreboard.scoreboard import Mismatch
from tb.selftest.engine_streams import EngineStream
from tb.selftest.mutations import Records, change, index, judge_engine, put, spoiled
from tb.selftest.streams import PAGE

POST, STATE, RETIRE = TraceOp.POST, TraceOp.QP_STATE, TraceOp.RETIRE
QUERY = {"code": int(codes.Command.QUERY_QP)}


def portal(records: Records, number: int = 0) -> int:
    """Place of a write to a send portal."""
    found = [
        i
        for i, r in enumerate(records)
        if type(r) is DoorbellRequest and r.addr == PAGE * 4096 and r.size == 6
    ]
    return found[number]


def answer(records: Records, number: int = 0) -> int:
    """Place of the answer to it."""
    start = portal(records, number)
    return next(i for i in range(start, len(records)) if type(records[i]) is DoorbellResponse)


def failing(records: Records) -> int:
    """Place of the report of a failure."""
    return next(i for i, r in enumerate(records) if type(r) is DoneReport and r.data >> 32)


def out(records: Records, number: int, bits: int) -> None:
    """Another output of QUERY_QP."""
    i = index(records, Command, **QUERY)
    outs = list(records[i].outs)
    outs[number] ^= bits
    put(records, i, outs=tuple(outs))


MUTATIONS: dict[str, tuple[Callable[[Records], object], str]] = {
    # -- posts
    "retired from the future": (
        lambda r: change(r, Trace, op=POST, to={"new": lambda v: v + (1 << 48)}),
        "DF-12",
    ),
    # -- connections
    "another new state": (
        lambda r: change(r, Trace, op=STATE, to={"new": lambda v: v ^ 7}),
        "does not take this step",
    ),
    # -- commands
    "refused, but executed": (
        lambda r: change(r, Command, code=int(codes.Command.CONNECT_QP), to={"result": 0x50}),
        "its command answered 0x50",
    ),
    "destroyed, but pending": (
        lambda r: change(r, Command, code=int(codes.Command.DESTROY_QP), to={"result": 0x4D}),
        "its command answered",
    ),
    "query: state": (lambda r: out(r, 0, 1), "state, tail, released"),
    "query: peer": (lambda r: out(r, 0, 1 << 8), "OUT0"),
    "query: retired": (lambda r: out(r, 2, 32 << 16), "retired"),
    "query: indicated": (lambda r: out(r, 2, 32), "indicated"),
    # -- trace
    "raw completion": (
        lambda r: r.append(Completion(r[-1].cycle, 1, 0, (0, 0), (0, 0))),
        "no such port",
    ),
    "raw credit": (lambda r: r.append(CreditAnswer(r[-1].cycle, True)), "no such port"),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_mutation_is_found(name: str) -> None:
    spoil, match = MUTATIONS[name]
    spoiled(EngineStream().all_verbs(), match, spoil, judged=judge_engine)


# -- nothing seen --------------------------------------------------------------------------------


def test_vacuous() -> None:
    with pytest.raises(Mismatch, match="vacuous: not one Trace"):
        judge_engine([])
    stream = EngineStream().connected()
    with pytest.raises(Mismatch, match="vacuous: not one DoorbellRequest"):
        judge_engine(stream.records)
    stream.doorbell(0)
    with pytest.raises(Mismatch, match="vacuous: not one accepted post"):
        judge_engine(stream.records)
    judge_engine(stream.records, ("no_posts", "no_receives"))
    stream.post(stream.make(flags=0x200))
    with pytest.raises(Mismatch, match="vacuous: not one retired request"):
        judge_engine(stream.records)


def test_all_causes_of_a_write() -> None:
    stream = EngineStream().connected()
    first = stream.make()
    for cause, odd in (
        (Cause.BURST, {"length": 1}),
        (Cause.BAD_SIZE, {"strb": 0xFF}),
        (Cause.BAD_OFFSET, {"addr": PAGE * 4096 + 0xC0}),
        (Cause.BAD_PAGE, {"addr": 7 * 4096}),
    ):
        assert stream.post(first, **odd) is cause
    assert stream.post(stream.make(qp=5)) is Cause.BAD_QP
    judge_engine(stream.records, ("no_posts", "no_receives"))
    for number in range(5):
        spoiled(
            *(stream, "cause 0xf, expected", change, DoorbellResponse, number),
            judged=judge_engine,
            allow=("no_posts", "no_receives"),
            to={"cause": 0x0F},
        )
