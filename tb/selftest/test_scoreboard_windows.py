# SPDX-License-Identifier: Apache-2.0
"""Each check of keys is shown to fail: a right stream of records, and one thing wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from models import codes
from models.codes import TraceOp
from tb.env.defs import Reg
from tb.env.harness.records import (
    AccessCheck,
    AccessVerdict,
    Command,
    MemWrite,
    ScatterAnswer,
    TermRequest,
    Trace,
    WorkBeat,
)
from tb.env.scoreboard.scoreboard import ScoreboardError
from tb.selftest.mutations import Records, change, double, drop, index
from tb.selftest.receive_streams import RECEIVE, STATE, TAKE
from tb.selftest.window_streams import WindowStream, judge_windows

BIND, FAST_REGISTER = TraceOp.BIND, TraceOp.FAST_REGISTER
INVALIDATE, CHECK = TraceOp.INVALIDATE, TraceOp.CHECK
KEY_COMMAND, REMOVED = TraceOp.KEY_COMMAND, TraceOp.REMOVED
PEER, BY_READ, FAILED = 1 << 8, 1 << 9, 4
RETIRE = 0x40


def put(records: Records, i: int, **fields: object) -> None:
    records[i] = records[i]._replace(**fields)


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


def too_late(records: Records) -> None:
    """The step of a local request comes long behind its beat."""
    behind_its_beat(records, 100)


def behind_the_next_beat(records: Records) -> None:
    """The step of a local request comes behind the next one's beat."""
    i = index(records, WorkBeat)
    records.insert(i, records[i])
    drop(records, Trace, op=BIND)


def both_fail(records: Records) -> None:
    """MW-05: neither the request nor the message invalidates."""
    change(records, Trace, op=INVALIDATE, cq=0, operand=PEER, to={"operand": PEER | FAILED})


def both_succeed(records: Records) -> None:
    """MW-05: the request succeeds, too."""
    change(records, Trace, op=INVALIDATE, cq=0, operand=FAILED, to={"operand": 0})


def swap_entries(records: Records) -> None:
    """The receive result is written ahead of the invalidate result."""
    found = [
        i for i, r in enumerate(records) if type(r) is MemWrite and r.axi_id == 0
        and r.data >> 128 and (r.data | r.data >> 256) >> 192 & 0xFFFF in (0x10, 1)
    ]  # fmt: skip
    first, second = found[1], found[2]
    one, two = records[first], records[second]
    half = (1 << 256) - 1
    a = one.data >> 256 if one.strb >> 32 else one.data & half
    b = two.data >> 256 if two.strb >> 32 else two.data & half
    put(records, first, data=b << 256 if one.strb >> 32 else b)
    put(records, second, data=a << 256 if two.strb >> 32 else a)


BEFORE, AFTER = "state before the step", "state after the step"
MUTATIONS: dict[str, tuple[Callable[[Records], object], str]] = {
    # -- requests
    "Bind without a step": (lambda r: drop(r, Trace, op=BIND), "DF-12: request 0 was not exec"),
    "Bind executed twice": (lambda r: double(r, Trace, op=BIND), "indicated, but DF-09"),
    "Bind long behind its beat": (too_late, "DF-12: the request of cycle .* was not executed"),
    "Bind behind the next beat": (behind_the_next_beat, "DF-12: indicated, but the request of"),
    "Bind by another QP": (lambda r: change(r, Trace, op=BIND, to={"cq": 1}), "DF-09"),
    "Bind fails": (step(BIND, "operand", 6), "BIND with operand 0x6, expected BIND 0x0"),
    "Bind of another window": (step(BIND, "operand", 1 << 16), "expected BIND 0x0"),
    "Bind is a FastRegister": (
        lambda r: change(r, Trace, op=BIND, to={"op": FAST_REGISTER}),
        "FAST_REGISTER with operand 0x0, expected BIND",
    ),
    "Bind: old key stays": (step(BIND, "new", 0x1000), AFTER),
    "Bind: not valid": (step(BIND, "new", 1 << 32), AFTER),
    "Bind: other QP": (step(BIND, "new", 1 << 48), AFTER),
    "Bind: rights of the region": (step(BIND, "new", 1 << 64), AFTER),
    "Bind: other region": (step(BIND, "new", 1 << 67), AFTER),
    "Bind: rest of the state": (step(BIND, "new", 1 << 90), AFTER),
    "Bind: state before": (step(BIND, "old", 1 << 32), BEFORE),
    "Bind: the beat does not come": (
        lambda r: r.pop(index(r, Trace, op=BIND) + 1),
        "work beat data|beat not taken",
    ),
    "Bind: another status retires": (
        lambda r: change(r, Trace, op=RETIRE, to={"operand": lambda v: v ^ 6}),
        "operand 0x6, expected 0x0",
    ),
    "FastRegister: old key": (step(FAST_REGISTER, "new", 0x1000), AFTER),
    "FastRegister: no rights": (step(FAST_REGISTER, "new", 2 << 64), AFTER),
    "FastRegister: QP": (step(FAST_REGISTER, "new", 1 << 48), AFTER),
    "FastRegister fails": (step(FAST_REGISTER, "operand", 5), "operand 0x5, expected"),
    "window count": (step(FAST_REGISTER, "new", 1 << 35), AFTER),
    "a failing Invalidate succeeds": (both_succeed, "MW-05: key .* is invalidated a second time"),
    "neither invalidates": (both_fail, "MW-05: INVALIDATE with operand 0x104, expected"),
    "Invalidate without effect": (
        lambda r: change(r, Trace, op=INVALIDATE, operand=0, to={"new": lambda v: v ^ 1 << 32}),
        AFTER,
    ),
    "Invalidate by a Read that was none": (
        lambda r: change(r, Trace, op=INVALIDATE, operand=0, to={"operand": BY_READ}),
        "none can retire that invalidates",
    ),
    "Read does not invalidate": (
        lambda r: drop(r, Trace, op=INVALIDATE, operand=BY_READ),
        "Read 4 retires, but its key was not invalidated",
    ),
    "Read invalidates twice": (
        lambda r: double(r, Trace, op=INVALIDATE, operand=BY_READ),
        "none can retire that invalidates",
    ),
    "Read: its status": (
        lambda r: change(r, Trace, op=INVALIDATE, operand=BY_READ, to={"operand": BY_READ | 4}),
        "MW-05: INVALIDATE with operand 0x204",
    ),
    "failure without an end": (
        lambda r: [drop(r, Trace, 2, op=STATE, operand=2), drop(r, TermRequest, 2)],
        "state before the step differs|still connected",
    ),
    # -- the peer
    "message does not invalidate": (
        lambda r: drop(r, Trace, op=INVALIDATE, operand=PEER),
        "CQ-03: QP 0: 0 completes with a valid key",
    ),
    "message invalidates twice": (
        lambda r: double(r, Trace, op=INVALIDATE, operand=PEER),
        "no taken message waits",
    ),
    "invalidated ahead of the take": (
        lambda r: r.insert(index(r, Trace, op=TAKE) - 3, drop(r, Trace, op=INVALIDATE)
                           ._replace(cycle=r[index(r, Trace, op=TAKE) - 3].cycle)),
        "no taken message waits",
    ),
    "BAD_TOKEN is answered SCATTER": (
        lambda r: put(r, answer(r, 4), user=r[answer(r, 4)].user & ~0xF),
        r"expected 0x104 \(BAD_TOKEN\)",
    ),
    "SCATTER is answered BAD_TOKEN": (
        lambda r: put(r, invalidating(r), user=4, data=0),
        r"user 0x4, expected 0x0 \(SCATTER\)",
    ),
    "BAD_TOKEN with a scatter list": (
        lambda r: put(r, answer(r, 4), data=1), "data 0x1, expected 0x0"),
    "invalid token completes as reported": (
        lambda r: change(r, Trace, 1, op=RECEIVE, to={"operand": lambda v: v ^ 5}),
        "operand 0x101, expected 0x104",
    ),
    # -- checks
    "verdict of another code": (
        lambda r: put(r, granted(r), data=3 << 16), "code 0x3, expected GRANTED"),
    "verdict for another QP": (lambda r: put(r, granted(r), data=1), "for QP 1"),
    "GRANTED is refused": (lambda r: put(r, granted(r), data=5 << 16), "a state that allows it"),
    "REFUSED is granted": (
        lambda r: change(r, AccessVerdict, data=5 << 16, to={"data": 0}),
        "code 0x0, right would be: REFUSED",
    ),
    "verdict: rest": (lambda r: put(r, granted(r), data=1 << 20), "code 0x10, expected GRANTED"),
    "check without a step": (
        lambda r: drop(r, Trace, op=CHECK),
        "in error without a failing report",
    ),
    "step without a check": (lambda r: drop(r, AccessCheck), "no check waits"),
    "verdict without a check": (
        lambda r: [drop(r, AccessCheck), drop(r, Trace, op=CHECK)], "verdict without a check"),
    "no verdict": (lambda r: r.pop(granted(r)), "no verdict|for QP"),
    "step of another code": (step(CHECK, "operand", 1), "MW-10: CHECK with operand 0x10000, exp"),
    "step of another kind": (step(CHECK, "operand", 3 << 16), "no check waits"),
    "step of another QP": (lambda r: change(r, Trace, op=CHECK, to={"cq": 1}), "no check waits"),
    "step with another state": (step(CHECK, "new", 1 << 33), AFTER),
    "step with windows": (step(CHECK, "new", 1 << 35), AFTER),
    # -- commands
    "created without a step": (
        lambda r: drop(r, Trace, op=KEY_COMMAND, operand=0x48),
        r"CREATE_MW.*answered 0x0, right would be: a step",
    ),
    "command with two steps": (lambda r: double(r, Trace, op=KEY_COMMAND), "one more step of one"),
    "step of another command": (step(KEY_COMMAND, "operand", 3), "step without its command"),
    "step of a QP": (step(KEY_COMMAND, "cq", 0xFFFF), "REGISTER_MR: step of QP 0"),
    "step of a refused command": (result(codes.Command.REGISTER_MR, 0x44), "command answered 0x44"),
    "another key": (out(codes.Command.CREATE_MW, 0, 0x1000), "outputs"),
    "another key of a region": (out(codes.Command.REGISTER_MR, 0, 0x1000), "outputs"),
    "query: base": (out(codes.Command.QUERY_MW, 1, 1), "QUERY_MW.*outputs"),
    "query: rights": (out(codes.Command.QUERY_MW, 5, 1 << 16), "QUERY_MW.*outputs"),
    "query: QP": (out(codes.Command.QUERY_MW, 6, 1), "QUERY_MW.*outputs"),
    "query: valid": (out(codes.Command.QUERY_MW, 6, 1 << 16), "QUERY_MW.*outputs"),
    "query: region": (out(codes.Command.QUERY_MW, 7, 1), "QUERY_MW.*outputs"),
    "query of a region: key": (out(codes.Command.QUERY_MR, 0, 0x1000), "QUERY_MR.*outputs"),
    "query of a region: windows": (out(codes.Command.QUERY_MR, 6, 1 << 18), "QUERY_MR.*outputs"),
    "query of a region: QP": (out(codes.Command.QUERY_MR, 6, 1), "QUERY_MR.*outputs"),
    "deregistered with windows": (
        result(codes.Command.DEREGISTER_MR, 0), "answered 0x0, right would be: CMD_BUSY"),
    "busy without windows": (
        lambda r: [drop(r, Trace, op=KEY_COMMAND, operand=0x41),
                   result(codes.Command.DEREGISTER_MR, 0x51, 1)(r)],
        "answered 0x51, right would be: a step",
    ),
    "closed: still valid": (
        lambda r: change(r, Trace, op=KEY_COMMAND, operand=0x49,
                         to={"new": lambda v: v ^ 1 << 32}), AFTER),
    "created: valid": (
        lambda r: change(r, Trace, op=KEY_COMMAND, operand=0x48,
                         to={"new": lambda v: v ^ 1 << 32}), AFTER),
    # -- removal
    "removed without a step": (lambda r: drop(r, Trace, op=REMOVED), "right would be: a step"),
    "removed twice": (lambda r: double(r, Trace, op=REMOVED), "one more step of one command"),
    "removed with an operand": (step(REMOVED, "operand", 1), "REMOVED with an operand"),
    "created on a removed device": (
        lambda r: change(r, Command, 2, code=0x48, to={"result": 0}),
        "MW-09: answered 0x0, right would be: CMD_DEVICE_REMOVED",
    ),
    "another refusal": (
        lambda r: change(r, Command, 2, code=0x48, to={"result": 0x44}),
        "MW-09: answered 0x44",
    ),
    "post accepted": (
        lambda r: change(r, Trace, op=0x30, operand=0x0517, to={"operand": 0x0500}),
        "right would be: DEVICE_REMOVED",
    ),
    # -- the port
    "wrong lane": (lambda r: change(r, Trace, op=CHECK, to={"lane": 8}), "0x73 on lane 8"),
    "unknown operation": (lambda r: change(r, Trace, op=CHECK, to={"op": 0x76}), "0x76 on lane 9"),
    "QP out of range": (lambda r: change(r, Trace, op=BIND, to={"cq": 4}), "out of range"),
    "callback": (lambda r: change(r, Trace, op=BIND, to={"event": True}), "callback in a step"),
}  # fmt: skip

#: With two entries for a message that invalidates.
TWO: dict[str, tuple[Callable[[Records], object], str]] = {
    "entries in another order": (swap_entries, "CQE write|entry"),
    "only one entry": (
        lambda r: drop(r, Trace, 1, op=TraceOp.PLACE, cq=0),
        "CQE write|never written|lost|differs",
    ),
    "credit is kept": (
        lambda r: drop(r, Trace, op=TraceOp.PLACE, operand=4), "lost|state before the step"),
}  # fmt: skip


def test_right_stream() -> None:
    for two in (False, True):
        records = WindowStream().all_windows(two).records
        board = judge_windows(records)
        assert board.judged == len(records)
        assert board.counters()[Reg.CNT_INVALIDATED] == 4
        assert board.counters()[Reg.CNT_CHECKS] == board.access.checks == len(board.access.log) + 1
        assert {entry[0] for entry in board.log()} == {0x36, 0x37}
        for block in (1, 3, 1000):
            judge_windows(records, block=block)


@pytest.mark.parametrize("name", MUTATIONS)
def test_mutation_is_found(name: str) -> None:
    spoil, match = MUTATIONS[name]
    records: Records = list(WindowStream().all_windows().records)
    spoil(records)
    with pytest.raises(ScoreboardError, match=match):
        judge_windows(records)


@pytest.mark.parametrize("name", TWO)
def test_mutation_of_two_entries_is_found(name: str) -> None:
    spoil, match = TWO[name]
    records: Records = list(WindowStream().all_windows(two=True).records)
    spoil(records)
    with pytest.raises(ScoreboardError, match=match):
        judge_windows(records)


def test_step_behind_the_beat() -> None:
    records: Records = list(WindowStream().all_windows().records)
    behind_its_beat(records)
    judge_windows(records)


def test_error_tells_where_and_what() -> None:
    records: Records = WindowStream().all_windows().records
    change(records, Trace, op=BIND, to={"new": lambda v: v ^ 1 << 64})
    with pytest.raises(ScoreboardError) as caught:
        judge_windows(records)
    text = str(caught.value)
    assert "QP 0: window 0: state after the step differs" in text
    assert "BIND 0 0x0: key 0x2800, valid" in text
    assert "KEY_COMMAND 65535 0x48" in text  # history
    assert "QP 0 CONNECTED, guarded, zone 5" in text


def test_vacuous() -> None:
    with pytest.raises(ScoreboardError, match="vacuous: not one Trace"):
        judge_windows([])
    stream = WindowStream().guards()
    stream.doorbell(0)
    with pytest.raises(ScoreboardError, match="vacuous: not one accepted post"):
        judge_windows(stream.records)
    stream.check(0x1234)
    judge_windows(stream.records)


def test_reset_keeps_what_was_seen() -> None:
    board = judge_windows(WindowStream().all_windows().records)
    seen = board.keyed
    board.reset()
    assert (board.keyed, board.kc.steps) == (seen, 0)


def test_work_beat_is_that_of_the_request() -> None:
    records: Records = list(WindowStream().all_windows().records)
    change(records, WorkBeat, to={"data": lambda v: v ^ 1 << 64})
    with pytest.raises(ScoreboardError, match="work beat data"):
        judge_windows(records)
