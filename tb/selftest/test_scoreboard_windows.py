# SPDX-License-Identifier: Apache-2.0
"""Each check of keys is shown to fail: a right stream of records, and one thing wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from models import codes
from models.codes import TraceOp
from tb.env.defs import Reg
from tb.env.harness.records import AccessVerdict, Command, ScatterAnswer, Trace, WorkBeat
from tb.selftest.engine_streams import EngineStream
from tb.selftest.mutations import Records, change, drop, index, judge_engine, put, spoiled

BIND, FAST_REGISTER = TraceOp.BIND, TraceOp.FAST_REGISTER
INVALIDATE, CHECK = TraceOp.INVALIDATE, TraceOp.CHECK
KEY_COMMAND, REMOVED = TraceOp.KEY_COMMAND, TraceOp.REMOVED
PEER, BY_READ, FAILED = 1 << 8, 1 << 9, 4
RETIRE = 0x40


def step(op: int, field: str, bits: int, number: int = 0, **more: int) -> Callable[..., object]:
    """One step with other bits."""
    return lambda r: change(r, Trace, number, op=op, to={field: lambda v: v ^ bits}, **more)


def out(code: int, number: int, bits: int, which: int = 0) -> Callable[..., object]:
    """Another output of a command."""

    def spoil(records: Records) -> None:
        i = index(records, Command, which, code=int(code))
        outs = list(records[i].outs)
        outs[number] ^= bits
        put(records, i, outs=tuple(outs))

    return spoil


def result(code: int, to: int, number: int = 0) -> Callable[..., object]:
    """Another result of a command."""
    return lambda r: change(r, Command, number, code=int(code), to={"result": to})


def granted(records: Records) -> int:
    """Place of the verdict GRANTED."""
    return index(records, AccessVerdict, data=0)


def answer(records: Records, code: int) -> int:
    """Place of an answer with a code."""
    found = [i for i, r in enumerate(records) if type(r) is ScatterAnswer and r.user & 0xF == code]
    return found[0]


def invalidating(records: Records) -> int:
    """Place of the first answer to a message that invalidates."""
    return index(records, ScatterAnswer)


def behind_its_beat(records: Records, cycles: int = 1) -> None:
    """The step of a local request comes behind its beat."""
    i = index(records, Trace, op=BIND)
    records.insert(i + 2, records[i]._replace(cycle=records[i + 1].cycle + cycles))
    records.pop(i)
    for j in range(i + 2, len(records)):
        records[j] = records[j]._replace(cycle=records[j].cycle + cycles)


def behind_the_next_beat(records: Records) -> None:
    """The step of a local request comes behind the next one's beat."""
    i = index(records, WorkBeat)
    records.insert(i, records[i])
    drop(records, Trace, op=BIND)


def both_succeed(records: Records) -> None:
    """MW-05: the request succeeds, too."""
    change(records, Trace, op=INVALIDATE, cq=0, operand=FAILED, to={"operand": 0})


BEFORE, AFTER = "state before the step", "state after the step"
MUTATIONS: dict[str, tuple[Callable[[Records], object], str]] = {
    # -- requests
    "Bind behind the next beat": (behind_the_next_beat, "DF-12: indicated, but the request of"),
    "a failing Invalidate succeeds": (both_succeed, "MW-05: key .* is invalidated a second time"),
    "Read does not invalidate": (
        lambda r: drop(r, Trace, op=INVALIDATE, operand=BY_READ),
        "Read 4 retires, but its key was not invalidated",
    ),
    # -- checks
    "GRANTED is refused": (lambda r: put(r, granted(r), data=5 << 16), "a state that allows it"),
    "REFUSED is granted": (
        lambda r: change(r, AccessVerdict, data=5 << 16, to={"data": 0}),
        "code 0x0, right would be: REFUSED",
    ),
    # -- commands
    "step of a QP": (step(KEY_COMMAND, "cq", 0xFFFF), "REGISTER_MR: step of QP 0"),
    "step of a refused command": (result(codes.Command.REGISTER_MR, 0x44), "command answered 0x44"),
    "another key": (out(codes.Command.CREATE_MW, 0, 0x1000), "outputs"),
    # -- removal
    "created on a removed device": (
        lambda r: change(r, Command, 2, code=0x48, to={"result": 0}),
        "MW-09: answered 0x0, right would be: CMD_DEVICE_REMOVED",
    ),
}  # fmt: skip


def test_right_stream() -> None:
    for two in (False, True):
        records = EngineStream().all_windows(two).records
        board = judge_engine(records)
        assert board.judged == len(records)
        assert board.counters()[Reg.CNT_INVALIDATED] == 4
        assert (
            board.counters()[Reg.CNT_CHECKS]
            == board.engine_checks.access.checks
            == len(board.engine_checks.access.log) + 1
        )
        assert {entry[0] for entry in board.log()} == {0x36, 0x37}


@pytest.mark.parametrize("name", MUTATIONS)
def test_mutation_is_found(name: str) -> None:
    spoil, match = MUTATIONS[name]
    spoiled(EngineStream().all_windows(), match, spoil, judged=judge_engine)


def test_step_behind_the_beat() -> None:
    records: Records = list(EngineStream().all_windows().records)
    behind_its_beat(records)
    judge_engine(records)


def test_reset_keeps_what_was_seen() -> None:
    board = judge_engine(EngineStream().all_windows().records)
    seen = board.engine_checks.counted
    assert all(seen)
    board.reset()
    assert (board.engine_checks.counted, board.engine_checks.kc.steps) == (seen, 0)
