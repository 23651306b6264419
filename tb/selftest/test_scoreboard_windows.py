# SPDX-License-Identifier: Apache-2.0
"""The scoreboard of keys in special situations: checks, requests, messages, races, commands,
removal, what is left at the end. Each is right as it is, and wrong with one change.
"""

from __future__ import annotations

import pytest

from models import codes
from models.codes import Access, CommandResult, QpState, ScatterCode, StateBy, TraceOp, Verdict
from models.keys.window_control import make_window_args
from models.keys.window_types import CheckRequest
from models.post.qp_control import make_qp_args
from models.receive.receive_types import RecvRequest
from tb.env.defs import Reg
from tb.env.harness.records import (
    AccessVerdict,
    Command,
    ScatterAnswer,
    TermRequest,
    Trace,
    WorkBeat,
)
from tb.env.scoreboard.explain import shown
from tb.env.scoreboard.scoreboard import Mismatch
from tb.selftest.engine_streams import BASE, FIRST, LENGTH, OWN, EngineStream
from tb.selftest.mutations import OPEN_END, change, drop, index, late_board, spoiled
from tb.selftest.mutations import fails_open as fails
from tb.selftest.mutations import right as right_to_the_end
from tb.selftest.mutations import right_open as right
from tb.selftest.work_streams import SEND

BIND, INVALIDATE, CHECK = TraceOp.BIND, TraceOp.INVALIDATE, TraceOp.CHECK


# -- streams of everything -------------------------------------------------------------------------


@pytest.mark.parametrize("two", [False, True])
def test_what_the_scoreboard_counts(two: bool) -> None:
    stream = EngineStream().all_windows(two)
    board = right_to_the_end(stream)
    access = board.engine_checks.access
    assert board.counters()[Reg.CNT_INVALIDATED] == 4
    assert board.counters()[Reg.CNT_CHECKS] == access.checks == len(access.log) + 1
    assert {entry[0] for entry in board.log()} == {0x36, 0x37}
    # A reset keeps what was seen.
    seen = board.engine_checks.counted
    assert all(seen)
    board.reset()
    assert (board.engine_checks.counted, board.engine_checks.kc.steps) == (seen, 0)


def test_step_behind_the_beat() -> None:
    stream = EngineStream().all_windows()
    records = stream.records
    step, beat = drop(records, Trace, op=BIND), index(records, WorkBeat)
    step = step._replace(cycle=records[beat].cycle + 1)
    later = [record._replace(cycle=record.cycle + 1) for record in records[beat + 1 :]]
    records[beat + 1 :] = [step, *later]
    right_to_the_end(stream)


# -- checks --------------------------------------------------------------------------------------


def asked(stream: EngineStream) -> CheckRequest:
    """A good check of window 0 is taken."""
    request = CheckRequest(OWN, Access.READ, stream.tokens[0], BASE, 8)
    stream.asks(request)
    return request


def test_bound_of_a_verdict() -> None:
    for wait in (5, 6):
        stream = EngineStream().bound()
        request = asked(stream)
        stream.tick(wait)
        stream.judged(stream.decides(request))
        late_board("access")(stream.records)
        fails(stream, "6 is the bound" if wait == 6 else None)


def test_no_verdict() -> None:
    stream, allow = EngineStream().bound(), (*OPEN_END, "verdicts")
    asked(stream)
    right(stream, allow)
    fails(stream, "at the end: no verdict for the check of cycle")
    stream.tick(100)
    stream.doorbell(0)
    fails(stream, "no verdict for the check of cycle", allow)


def test_check_while_the_state_changes() -> None:
    """Refused or not: both can be; but not when the state has been good all the time."""
    for code in (Verdict.REFUSED, Verdict.GRANTED):
        stream = EngineStream().bound()
        request = asked(stream)
        stream.tick(1)
        if code is Verdict.GRANTED:
            result = stream.decides(request)
        stream.plain(codes.Command.FLUSH_QP)
        if code is Verdict.REFUSED:
            result = stream.decides(request)
        assert result.code == code
        stream.judged(result)
        late_board("access")(stream.records)
    step = drop(stream.records, Trace, op=CHECK)
    stream.records.insert(-1, step._replace(cycle=stream.cycle))
    with pytest.raises(Mismatch, match="no check waits for it that its QP's state allows"):
        late_board("access")(stream.records)


def test_refused_check_and_one_that_is_alike() -> None:
    stream = EngineStream().bound()
    stream.plain(codes.Command.FLUSH_QP)
    stream.set_state(OWN, 1)
    first = stream.decides(asked(stream))
    stream.connect(OWN)
    second = stream.decides(asked(stream))
    assert (first.code, second.code) == (Verdict.REFUSED, Verdict.GRANTED)
    stream.judged(first)
    stream.judged(second)
    board = late_board("access")
    board(stream.records)
    assert board.engine_checks.access.codes == {5: 1, 0: 1}


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({}, Verdict.GRANTED),
        ({"kind": Access.WRITE}, Verdict.NO_RIGHT),
        ({"address": BASE + LENGTH - 8}, Verdict.GRANTED),
        ({"address": BASE + LENGTH - 7}, Verdict.BAD_RANGE),
        ({"address": BASE - 1}, Verdict.BAD_RANGE),
        ({"address": (1 << 64) - 1}, Verdict.BAD_RANGE),
        ({"address": 0, "length": 0}, Verdict.GRANTED),
        ({"kind": 0}, Verdict.REFUSED),
        ({"kind": 3}, Verdict.REFUSED),
        ({"qp": 9}, Verdict.REFUSED),
        ({"reserved": 1 << 18}, Verdict.REFUSED),
        ({"reserved": 1 << 160}, Verdict.REFUSED),
        ({"qp": FIRST}, Verdict.WRONG_QP),
    ],
)
def test_codes_of_verdicts(fields: dict[str, int], code: int) -> None:
    stream = EngineStream().bound()
    assert stream.check(stream.tokens[0], **fields) == code
    right(stream)
    other = Verdict.GRANTED if code else Verdict.BAD_KEY
    data = {"data": lambda old: old & 0xFFFF | other << 16}
    change(stream.records, AccessVerdict, -1, to=data)
    fails(stream, "right would be: REFUSED" if code == Verdict.REFUSED else "expected")


def test_refused_access_must_end_the_connection() -> None:
    stream = EngineStream().bound()
    stream.check(stream.tokens[0], kind=Access.WRITE)
    right(stream)
    drop(stream.records, TermRequest)
    drop(stream.records, Trace, op=TraceOp.QP_STATE, operand=2)
    fails(stream, "no change of state for the failure of cycle")
    stream.tick(200)
    stream.doorbell(0)
    fails(stream, "still connected, after the failure of cycle")


def test_error_without_a_failure() -> None:
    stream = EngineStream().bound()
    stream.check(stream.tokens[0])
    stream.posting.qps[OWN].must_fail()
    stream.fails(OWN)
    fails(stream, "in error without a failing report")


def test_step_of_a_check_behind_its_verdict() -> None:
    for code, match in ((0, None), (3, "verdict 0x3 of cycle .*, expected GRANTED")):
        stream = EngineStream().bound()
        stream.check(stream.tokens[0])
        step = drop(stream.records, Trace, op=CHECK)
        stream.add(step._replace(cycle=stream.cycle + 1))
        change(stream.records, AccessVerdict, to={"data": code << 16})
        fails(stream, match)
    stream.records.pop()
    fails(stream, "at the end: no step for the verdict of cycle")


# -- requests ------------------------------------------------------------------------------------


def work_step(stream: EngineStream, gap: int = 0) -> None:
    """The next local request is executed, and its beat taken after ``gap`` cycles."""
    found = stream.posting.indicate(OWN)
    assert found.step is not None
    stream.key_lane(found.step)
    stream.tick(gap)
    stream.beat(OWN, found)


def test_nothing_is_indicated_behind_a_failure() -> None:
    stream = EngineStream().bound()
    stream.post(stream.bind_post(window=1, token=0x1234))
    behind = stream.make(SEND)
    stream.post(behind)
    stream.tick()
    work_step(stream)
    next_beat = WorkBeat(stream.tick(1), OWN, True, 2 << 16, behind.encode())
    spoiled(stream, "DF-15a", lambda r: r.append(next_beat), allow=OPEN_END)
    stream.retire(OWN)
    fails(stream, "no change of state for the failure")


@pytest.mark.parametrize("ahead", [1, 3, 4])
def test_executed_while_beats_are_not_taken(ahead: int) -> None:
    """A local request is behind remote ones whose beats an output register holds."""
    stream = EngineStream().guards()
    for _ in range(ahead):
        stream.post(stream.make(SEND))
    stream.post(stream.bind_post())
    beats = [stream.posting.indicate(OWN) for _ in range(ahead + 1)]
    assert beats[-1].step is not None
    stream.tick()
    stream.key_lane(beats[-1].step)
    for found in beats:
        stream.tick(1)
        stream.beat(OWN, found)
    match = "executed, while 4 beats in front of it are not taken"
    fails(stream, match if ahead == 4 else None)


def test_read_that_fails_to_invalidate() -> None:
    stream = EngineStream().guards()
    stream.allocate(2)
    stream.fast_register(FIRST, 2)
    assert stream.read(stream.keys[2], OWN).status == 4
    assert stream.posting.qps[OWN].state == 5
    right(stream)
    change(stream.records, Trace, op=TraceOp.RETIRE, operand=4, to={"operand": 0})
    fails(stream, "operand 0x0, expected 0x4")


def test_read_that_was_not_executed_invalidates_nothing() -> None:
    stream = EngineStream().bound()
    assert stream.read(stream.tokens[0], OWN, status=7).status == 7
    right(stream)
    assert stream.table.is_valid(stream.tokens[0])


def test_state_before_is_that_behind_the_step_before() -> None:
    """Also of bits that mean nothing in an object that is not valid."""
    stream = EngineStream().bound()
    stream.invalidate(stream.tokens[0])
    stream.bind()
    right(stream)
    change(stream.records, Trace, 1, op=BIND, to={"old": lambda v: v ^ 1 << 67})
    fails(stream, "the state before the step is not that behind the one before it")


# -- messages ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code", [ScatterCode.LENGTH_ERROR, ScatterCode.NOT_READY, ScatterCode.REFUSED]
)
def test_message_that_invalidates_nothing(code: ScatterCode) -> None:
    stream = EngineStream().bound()
    token = stream.tokens[0]
    if code is ScatterCode.LENGTH_ERROR:
        result = stream.message_with(token, OWN, 1000)
    else:
        if code is ScatterCode.REFUSED:
            stream.plain(codes.Command.FLUSH_QP)
        result = stream.message(OWN, 1, invalidate=True, token=token)
    assert result.code is code and stream.table.is_valid(token)
    right(stream)
    state = stream.table.state(token).encode()
    stream.lane(8, INVALIDATE, OWN, 1 << 8, state, state ^ 1 << 32)
    fails(stream, "no taken message waits for it")


def test_completes_ahead_of_its_token() -> None:
    """CQ-03: a completion while the token is valid."""
    stream = EngineStream().bound()
    result = stream.message_with(stream.tokens[0])
    stream.report(OWN, result.tag)
    stream.completes(OWN)
    right(stream)
    for record in (drop(stream.records, Trace, op=INVALIDATE), drop(stream.records, ScatterAnswer)):
        stream.add(record._replace(cycle=stream.cycle))
    with pytest.raises(Mismatch, match="CQ-03"):
        late_board()(stream.records)


def test_step_of_a_token_behind_the_answer() -> None:
    for okay in (True, False):
        stream = EngineStream().bound()
        stream.message_with(stream.tokens[0] if okay else 0x77)
        records = stream.records
        step = drop(records, Trace, op=INVALIDATE)
        at = index(records, ScatterAnswer)
        records.insert(at + 1, step._replace(cycle=records[at].cycle + 1))
        right(stream)
        change(records, ScatterAnswer, to={"user": 4 if okay else 0, "data": 0})
        match = "user 0x4, expected|data 0x0, expected|answer of cycle .* with code 4, expect"
        fails(stream, match)
        records.pop(at + 1)
        stream.tick(200)
        stream.doorbell(0)
        fails(stream, "its token was not invalidated|data 0x0, expected|in error without")


def test_token_left_at_the_end() -> None:
    stream = EngineStream().bound()
    stream.message_with(stream.tokens[0])
    del stream.records[index(stream.records, Trace, op=INVALIDATE) :]
    fails(stream, "token not invalidated of buffer 0", (*OPEN_END, "scatter"))


# -- races ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("peer_first", [False, True])
def test_exactly_one_of_two_invalidations_succeeds(peer_first: bool) -> None:
    """A local Invalidate and a message that invalidates the same key."""
    stream = EngineStream().bound()
    token = stream.tokens[0]
    stream.receive(stream.buffer(OWN))
    stream.post(stream.invalidate_post(token))
    request = RecvRequest(OWN, 1, invalidate=True, token=token)
    stream.arrives(request)
    if peer_first:
        stream.tick(1)
    else:
        work_step(stream, 1)
    stream.answers(request, stream.take(request))
    if peer_first:
        stream.work(OWN)
    stream.report(OWN, 0, int(not peer_first))
    stream.completes(OWN)
    assert (stream.posting.qps[OWN].state, stream.table.invalidated) == (5, 1)
    assert stream.retire(OWN).status == (4 if peer_first else 0)
    right(stream)
    steps = [r.operand for r in stream.records if type(r) is Trace and r.op == INVALIDATE]
    assert [operand & 0xFF for operand in steps] == [0, 4]
    to = {"operand": lambda old: old ^ 4}
    for i, match in ((0, "MW-05: INVALIDATE with operand"), (1, "invalidated a second time")):
        spoiled(stream, match, change, Trace, i, allow=OPEN_END, op=INVALIDATE, to=to)


def test_same_cycle() -> None:
    """Of one cycle a check is decided ahead of an invalidation."""
    stream = EngineStream().bound()
    stream.post(stream.invalidate_post(stream.tokens[0]))
    request = asked(stream)
    stream.tick(1)
    result = stream.decides(request)
    assert result.code == Verdict.GRANTED
    work_step(stream)
    stream.judged(result)
    stream.retire(OWN)
    records = stream.records
    check = drop(records, Trace, op=CHECK)
    two = index(records, Trace, op=INVALIDATE)
    records.insert(two + 1, check)
    right(stream)
    records[two + 1 : two + 3] = [records[two + 2], check._replace(cycle=check.cycle + 1)]
    fails(stream, "MW-10: CHECK with operand 0x10000, expected CHECK 0x10001")


# -- commands ------------------------------------------------------------------------------------


def test_query_while_a_request_executes() -> None:
    """It tells of before or of behind, and of nothing else."""
    stream = EngineStream().guards()
    stream.post(stream.bind_post())
    start = stream.tick()
    before = stream.table.query_window(0)
    stream.work(OWN)
    stream.retire(OWN)
    behind = stream.table.query_window(0)
    neither = (*before[:1], *behind[1:6], behind[6] ^ 1, behind[7])
    end, words = stream.tick(), make_window_args(0).words
    for outs, match in ((before, None), (behind, None), (neither, "QUERY_MW.*outputs")):
        stream.add(Command(end, start, codes.Command.QUERY_MW, words, 0, outs))
        fails(stream, match)
        stream.records.pop()


def test_queue_pair_with_valid_keys_is_not_destroyed() -> None:
    def refused() -> None:
        start, words = stream.tick(), make_qp_args(OWN).words
        result, none = CommandResult.CMD_IN_USE, (0,) * 8
        end = stream.tick(300)
        stream.add(Command(end, start, codes.Command.DESTROY_QP, words, result, none))

    stream = EngineStream().bound()
    refused()
    right(stream)
    stream.key_command(codes.Command.CLOSE_MW)
    stream.tick(300)
    refused()
    fails(stream, "left no step and answered 0x4c")


def test_queue_pair_with_valid_keys_is_destroyed() -> None:
    stream = EngineStream().bound()
    stream.tick(300)
    model = stream.posting.qps[OWN]
    model.see(None)
    start, old = stream.tick(), model.trace_state(3)
    stream.state_step(OWN, old, model._go(QpState.FREE, StateBy.COMMAND))
    words = make_qp_args(OWN).words
    stream.add(Command(stream.tick(), start, codes.Command.DESTROY_QP, words, 0, (0,) * 8))
    fails(stream, "destroyed, although keys are valid on it")


@pytest.mark.parametrize(
    ("code", "number", "result"),
    [
        (codes.Command.CREATE_MW, 0, CommandResult.CMD_EXISTS),
        (codes.Command.CREATE_MW, 4, CommandResult.CMD_BAD_OBJECT),
        (codes.Command.CLOSE_MW, 3, CommandResult.CMD_NO_OBJECT),
        (codes.Command.QUERY_MW, 3, CommandResult.CMD_NO_OBJECT),
        (codes.Command.QUERY_MW, 4, CommandResult.CMD_BAD_OBJECT),
        (codes.Command.ALLOC_MR, 0, CommandResult.CMD_EXISTS),
        (codes.Command.ALLOC_MR, 4, CommandResult.CMD_BAD_OBJECT),
        (codes.Command.DEREGISTER_MR, 3, CommandResult.CMD_NO_OBJECT),
    ],
    ids=shown,
)
def test_results(code: int, number: int, result: CommandResult) -> None:
    stream = EngineStream().bound()
    assert stream.key_command(code, number).result is result
    right(stream)
    change(stream.records, Command, code=int(code), result=int(result), to={"result": 0x46})
    fails(stream, "answered 0x46, right would be: " + result.name)


# -- removal -------------------------------------------------------------------------------------


def test_removal_must_end_connections() -> None:
    stream = EngineStream().bound()
    stream.key_command(codes.Command.REMOVE_DEVICE)
    fails(stream, "at the end: removed, but still connected: QP 0")
    stream.tick(400)
    stream.doorbell(0)
    fails(stream, "MW-09: still connected")
