# SPDX-License-Identifier: Apache-2.0
"""How the scoreboard tells a contradiction: object, field, both values by name, rule."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from models.codes import ArmType, TraceOp
from tb.env.harness.records import DoorbellResponse, MemWrite, Trace
from tb.env.scoreboard.explain import (
    FIELDS,
    Difference,
    Mismatch,
    describe,
    differences,
    explain,
    shown,
)
from tb.env.scoreboard.scoreboard import Scoreboard
from tb.selftest.engine_streams import EngineStream
from tb.selftest.mutations import Records, change, right
from tb.selftest.streams import PARAMS, Stream

ANY, SOLICITED, ERRORS = ArmType.ANY, ArmType.SOLICITED, ArmType.ERRORS


def test_one_line() -> None:
    line = explain("CQ 11", "armed", SOLICITED, ANY, "CQ-12")
    assert line == "CQ 11: armed SOLICITED, model ANY (CQ-12)"
    assert shown({ANY, SOLICITED}) == "ANY or SOLICITED"
    assert shown(set()) == "nothing"


@pytest.mark.parametrize("lane", FIELDS)
def test_fields_cover_every_bit_once(lane: int) -> None:
    masks = [f.mask for f in FIELDS[lane]]
    assert sum(masks) == (1 << 96) - 1 and all(masks)
    assert len({f.name for f in FIELDS[lane]}) == len(FIELDS[lane])


@pytest.mark.parametrize("lane", FIELDS)
def test_only_fields_that_differ(lane: int) -> None:
    rng = random.Random(lane)
    state = rng.getrandbits(96)
    assert differences(lane, state, state) == []
    for field in FIELDS[lane]:
        bit = field.mask & -field.mask
        other = state ^ bit
        assert [one.field for one in differences(lane, state, other)] == [field.name]
        assert differences(lane, state, other, bit) == []
        assert describe(lane, other)


def merged_wrong() -> Mismatch:
    """ARM SOLICITED after ANY: the engine keeps the code of the second one."""
    stream = Stream().ready()
    stream.doorbell(0, ANY)
    stream.doorbell(0, SOLICITED)
    wrong = {"new": lambda v: v & ~(3 << 5) | SOLICITED << 5}
    change(stream.records, Trace, 1, op=TraceOp.DOORBELL, to=wrong)
    with pytest.raises(Mismatch) as caught:
        right(stream)
    return caught.value


def test_a_wrong_merge() -> None:
    error = merged_wrong()
    first = str(error).splitlines()[0]
    told = "CQ 0: armed SOLICITED, model ANY (CQ-12): state or callback differ; the model has no"
    assert told in first
    fields = (error.obj, error.number, error.field, error.got, error.want, error.rule)
    assert fields == ("CQ", 0, "armed", "SOLICITED", "ANY", "CQ-12")
    assert f"cycle {error.cycle}, seed 42" in first


#: What is spoiled in a stream of the full engine, and what the error says of it.
TOLD: dict[str, tuple[Callable[[Records], object], tuple[str, int | None, str, str, str, str]]] = {
    "post": (
        lambda r: change(r, Trace, op=TraceOp.POST, to={"new": lambda v: v + (1 << 16)}),
        ("QP", 0, "tail", "2", "1", "DF-02, DF-04, DF-06, DF-14"),
    ),
    "verdict": (
        lambda r: change(r, Trace, op=TraceOp.CHECK, to={"operand": 0x10000}),
        ("window", 0, "outcome", "GRANTED", "BAD_KEY", "MW-10"),
    ),
    "take": (
        lambda r: change(r, Trace, op=TraceOp.TAKE, to={"new": lambda v: v ^ 2}),
        ("QP", 0, "taken", "3", "1", "SRQ-02, SRQ-10, SRQ-13, SRQ-18"),
    ),
    "entry in memory": (
        lambda r: change(r, MemWrite, to={"data": lambda v: v ^ 1}),
        ("CQ", 0, "", "", "", "CQ-16, CQ-18"),
    ),
    "cause": (
        lambda r: change(r, DoorbellResponse, to={"cause": 0x14, "resp": 2}),
        ("QP", 0, "cause", "QUEUE_FULL", "OK", "DF-02, DF-04, DF-06, DF-14"),
    ),
}


@pytest.mark.parametrize("name", TOLD)
def test_what_the_error_says(name: str) -> None:
    spoil, want = TOLD[name]
    stream = EngineStream().all_windows()
    spoil(stream.records)
    with pytest.raises(Mismatch) as caught:
        right(stream)
    error = caught.value
    got = (error.obj, error.number, error.field, error.got, error.want, error.rule)
    assert got == want
    assert str(error).splitlines()[0].count(f"{error.obj} {error.number}") >= 1
    assert error.rule in str(error)


def test_how_a_cq_stands() -> None:
    stream = Stream().ready(moderation=(3, 9))
    stream.doorbell(0, ANY)
    stream.complete()
    board = Scoreboard(PARAMS)
    board(stream.records)
    told = board.tell_cq(0)
    for part in ("READY", "armed ANY", "due", "prod 1, cons 0", "count 3, interval 9 units"):
        assert part in told
    assert "due since cycle" in told and "model" not in told
    board.ctx.state[0] ^= 1 << 7
    assert str(Difference("in_callback", "yes", "no")) in board.tell_cq(0)
