# SPDX-License-Identifier: Apache-2.0
"""How the scoreboard tells a contradiction: object, field, both values by name, rule."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from models.codes import ArmType, TraceOp
from tb.env.failure import VARIABLE, note_failure
from tb.env.harness.records import DoorbellResponse, MemWrite, Trace
from tb.env.scoreboard.explain import (
    FIELDS,
    Difference,
    Mismatch,
    describe,
    differences,
)
from tb.env.scoreboard.scoreboard import Scoreboard
from tb.selftest.mutations import Records, change, right
from tb.selftest.right_streams import completions, keys, posts, receives
from tb.selftest.streams import PARAMS, Stream

Spoil = Callable[[Records], object]
ANY, SOLICITED, ERRORS = ArmType.ANY, ArmType.SOLICITED, ArmType.ERRORS


@pytest.mark.parametrize(
    ("error", "details"),
    [
        (Mismatch("CQ 3: gone", obj="CQ", number=3, rule="CQ-01"), {"obj": "CQ", "number": 3}),
        (AttributeError("no such field", obj=object()), {}),
    ],
)
def test_what_is_noted_of_a_failure(
    error: Exception, details: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "failure.json"
    monkeypatch.setenv(VARIABLE, str(path))
    note_failure(error, 7, 28_000)
    found = json.loads(path.read_text())
    assert found["text"] == str(error) and found["cycle"] == 7
    assert {key: found[key] for key in ("obj", "number") if key in found} == details


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


def step(op: TraceOp, to: Callable[[int], int], number: int = 0, **which: int) -> Spoil:
    """Another new state of a step."""
    return lambda r: change(r, Trace, number, op=op, **which, to={"new": to})


def merged() -> Stream:
    """SOLICITED is armed after ANY."""
    stream = Stream().ready()
    stream.doorbell(0, ANY)
    stream.doorbell(0, SOLICITED)
    return stream


Told = tuple[str, int | None, str, str, str, str]
#: What is spoiled in a stream, and what the error says of it: object, number, field, both values,
#: rule; texts in it, with the steps that led there.
TOLD: list[tuple[Callable[[], Stream], Spoil, Told | None, tuple[str, ...]]] = [
    (
        merged,  # the engine keeps the code of the second one
        step(TraceOp.DOORBELL, lambda v: v & ~(3 << 5) | SOLICITED << 5, 1),
        ("CQ", 0, "armed", "SOLICITED", "ANY", "CQ-12"),
        ("CQ 0: armed SOLICITED, model ANY (CQ-12): state or callback differ; the model has no",),
    ),
    (
        keys,
        step(TraceOp.POST, lambda v: v + (1 << 16)),
        *(("QP", 0, "tail", "2", "1", "DF-02, DF-04, DF-06, DF-14"), ()),
    ),
    (
        keys,
        lambda r: change(r, Trace, op=TraceOp.CHECK, to={"operand": 0x10000}),
        *(("window", 0, "outcome", "GRANTED", "BAD_KEY", "MW-10"), ()),
    ),
    (
        keys,
        lambda r: change(r, MemWrite, to={"data": lambda v: v ^ 1}),
        *(("CQ", 0, "", "", "", "CQ-16, CQ-18"), ()),
    ),
    (
        keys,
        lambda r: change(r, DoorbellResponse, to={"cause": 0x14, "resp": 2}),
        *(("QP", 0, "cause", "QUEUE_FULL", "OK", "DF-02, DF-04, DF-06, DF-14"), ()),
    ),
    (
        completions,
        *(step(TraceOp.EVENT_DONE, lambda v: v ^ 1 << 8), None),
        ("CQ 0 in the model: READY", "due", "PUBLISH 0x5 CALLBACK(status 0)"),
    ),
    (
        posts,
        *(step(TraceOp.RETIRE, lambda v: v ^ 1 << 16), None),
        (
            "QP 0: failed yes, model no (DF-03, DF-12, DF-15): state after the step",
            *("RETIRE 0x0: retired 1, failed", "POST 0x100: CONNECTED, tail 1, released 1"),
        ),
    ),
    (
        receives,
        *(step(TraceOp.TAKE, lambda v: v ^ 1, cq=1), None),
        (
            "QP 1: taken 0, model 1 (SRQ-02, SRQ-10, SRQ-13, SRQ-18): state after the step",
            *("TAKE 1 0x50: taken 0, head 1", "WATERMARK 0 0x4", "in the model: QP 1 CONNECTED"),
        ),
    ),
    (
        keys,
        *(step(TraceOp.BIND, lambda v: v ^ 1 << 64), None),
        (
            *("window 0: rights 3, model 2", "BIND 0 0x0: key 0x2800, valid"),
            *("QP 0 CONNECTED, guarded, zone 5", "KEY_COMMAND 65535 0x48"),
        ),
    ),
]


@pytest.mark.parametrize(("make", "spoil", "want", "texts"), TOLD)
def test_what_the_error_says(
    make: Callable[[], Stream], spoil: Spoil, want: Told | None, texts: tuple[str, ...]
) -> None:
    stream = make()
    before: Records = list(stream.records)
    spoil(stream.records)
    spoiled = next(a for a, b in zip(before, stream.records, strict=True) if a != b)
    with pytest.raises(Mismatch) as caught:
        right(stream)
    error = caught.value
    first = str(error).splitlines()[0]
    assert f"cycle {spoiled.cycle}, seed 42" in first and f"{error.obj} {error.number}" in first
    assert error.rule in str(error) and all(text in str(error) for text in texts)
    got = (error.obj, error.number, error.field, error.got, error.want, error.rule)
    assert want in (got, None)


def test_how_a_cq_stands() -> None:
    board = Scoreboard(PARAMS)
    board(Stream().due(moderation=(3, 9)).records)
    told = board.tell_cq(0)
    for part in ("READY", "armed ANY", "due", "prod 1, cons 0", "count 3, interval 9 units"):
        assert part in told
    assert "due since cycle" in told and "model" not in told
    board.ctx.state[0] ^= 1 << 7
    assert str(Difference("in_callback", "yes", "no")) in board.tell_cq(0)
