# SPDX-License-Identifier: Apache-2.0
"""The scoreboard of keys in special situations: bounds of time, order, races.
Each is right as it is, and wrong with one change.
"""

from __future__ import annotations

import pytest

from models import codes
from models.codes import Access, TraceOp, Verdict
from models.keys.window_types import CheckRequest
from models.receive.receive_types import RecvRequest
from tb.env.harness.records import AccessVerdict, TermRequest, Trace, WorkBeat
from tb.env.scoreboard.scoreboard import Mismatch
from tb.selftest.engine_streams import BASE, FIRST, LENGTH, OWN, EngineStream
from tb.selftest.mutations import (
    OPEN_END,
    Records,
    change,
    drop,
    index,
    judge_engine,
    late_board,
    right,
    spoiled,
)
from tb.selftest.mutations import fails_open as fails
from tb.selftest.work_streams import SEND

BIND, INVALIDATE, CHECK = TraceOp.BIND, TraceOp.INVALIDATE, TraceOp.CHECK


# -- checks --------------------------------------------------------------------------------------


def test_bound_of_a_verdict() -> None:
    for wait, wrong in ((5, False), (6, True)):
        stream = EngineStream().bound()
        request = CheckRequest(OWN, Access.READ, stream.tokens[0], BASE, 8)
        stream.asks(request)
        stream.tick(wait)
        stream.judged(stream.decides(request))
        late_board("access")(stream.records)
        fails(stream, "6 is the bound") if wrong else right(stream)


def test_no_verdict() -> None:
    stream = EngineStream().bound()
    stream.asks(CheckRequest(OWN, Access.READ, stream.tokens[0], BASE, 8))
    right(stream, (*OPEN_END, "verdicts"))
    fails(stream, "at the end: no verdict for the check of cycle")
    stream.tick(100)
    stream.doorbell(0)
    fails(stream, "no verdict for the check of cycle", (*OPEN_END, "verdicts"))


def test_check_while_the_state_changes() -> None:
    """Refused or not: both can be; but not when the state has been good all the time."""
    for refuse in (True, False):
        stream = EngineStream().bound()
        request = CheckRequest(OWN, Access.READ, stream.tokens[0], BASE, 8)
        stream.asks(request)
        stream.tick(1)
        if not refuse:
            result = stream.decides(request)
        stream.plain(codes.Command.FLUSH_QP)
        if refuse:
            result = stream.decides(request)
        assert result.code == (Verdict.REFUSED if refuse else Verdict.GRANTED)
        stream.judged(result)
        late_board("access")(stream.records)
    late = index(stream.records, Trace, op=CHECK)
    records: Records = stream.records
    records.insert(-1, records.pop(late)._replace(cycle=stream.cycle))
    with pytest.raises(Mismatch, match="no check waits for it that its QP's state allows"):
        late_board("access")(stream.records)


def test_refused_check_and_one_that_is_alike() -> None:
    stream = EngineStream().bound()
    stream.plain(codes.Command.FLUSH_QP)
    stream.set_state(OWN, 1)
    request = CheckRequest(OWN, Access.READ, stream.tokens[0], BASE, 8)
    stream.asks(request)
    first = stream.decides(request)
    stream.connect(OWN)
    stream.asks(request)
    second = stream.decides(request)
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
    records: Records = stream.records
    drop(records, TermRequest)
    drop(records, Trace, op=TraceOp.QP_STATE, operand=2)
    fails(stream, "no change of state for the failure of cycle")
    stream.tick(200)
    stream.doorbell(0)
    fails(stream, "still connected, after the failure of cycle")


def test_error_without_a_failure() -> None:
    stream = EngineStream().bound()
    stream.check(stream.tokens[0])
    model = stream.posting.qps[OWN]
    model.must_fail()
    stream.fails(OWN)
    fails(stream, "in error without a failing report")


# -- requests ------------------------------------------------------------------------------------


def test_nothing_is_indicated_behind_a_failure() -> None:
    stream = EngineStream().bound()
    stream.post(stream.bind_post(window=1, token=0x1234))
    behind = stream.make(SEND)
    stream.post(behind)
    stream.tick()
    found = stream.posting.indicate(OWN)
    assert found.step is not None
    stream.key_lane(found.step)
    stream.add(WorkBeat(stream.cycle, OWN, True, found.tuser, found.post.encode()))
    good = len(stream.records)
    stream.tick(1)
    stream.add(WorkBeat(stream.cycle, OWN, True, 2 << 16, behind.encode()))
    fails(stream, "DF-15a")
    del stream.records[good:]
    stream.retire(OWN)
    fails(stream, "no change of state for the failure")


@pytest.mark.parametrize("ahead", [1, 3, 4])
def test_executed_while_beats_are_not_taken(ahead: int) -> None:
    """A local request is behind remote ones whose beats an output register holds."""
    stream = EngineStream().guards()
    for _ in range(ahead):
        stream.post(stream.make(SEND))
    stream.post(stream.bind_post())
    beats = []
    for _ in range(ahead):
        beats.append(stream.posting.indicate(OWN))
    beats.append(stream.posting.indicate(OWN))
    step = beats[-1].step
    assert step is not None
    stream.tick()
    stream.key_lane(step)
    for found in beats:
        stream.tick(1)
        stream.add(WorkBeat(stream.cycle, OWN, found.last, found.tuser, found.post.encode()))
    if ahead < 4:
        right(stream)
    else:
        fails(stream, "executed, while 4 beats in front of it are not taken")


def test_read_that_fails_to_invalidate() -> None:
    stream = EngineStream().guards()
    stream.allocate(2)
    stream.fast_register(FIRST, 2)
    assert stream.read(stream.keys[2], OWN).status == 4
    assert stream.posting.qps[OWN].state == 5
    right(stream)
    change(stream.records, Trace, op=0x40, operand=4, to={"operand": 0})
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


# -- races ---------------------------------------------------------------------------------------


def racing(peer_first: bool) -> EngineStream:
    """A local Invalidate and a message that invalidates the same key."""
    stream = EngineStream().bound()
    token = stream.tokens[0]
    stream.receive(stream.buffer(OWN))
    stream.post(stream.invalidate_post(token))
    request = RecvRequest(OWN, 1, invalidate=True, token=token)
    if peer_first:
        stream.arrives(request)
        stream.tick(1)
        result = stream.take(request)
        stream.answers(request, result)
        stream.work(OWN)
        stream.report(OWN, 0)
        stream.completes(OWN)
    else:
        stream.arrives(request)
        found = stream.posting.indicate(OWN)
        assert found.step is not None
        stream.key_lane(found.step)
        stream.tick(1)
        stream.add(WorkBeat(stream.cycle, OWN, True, found.tuser, found.post.encode()))
        result = stream.take(request)
        stream.answers(request, result)
        stream.report(OWN, 0, 1)
        stream.completes(OWN)
    return stream


def test_exactly_one_of_two_invalidations_succeeds() -> None:
    for peer_first in (False, True):
        stream = racing(peer_first)
        assert stream.posting.qps[OWN].state == 5
        assert stream.table.invalidated == 1
        end = stream.retire(OWN)
        assert end.status == (4 if peer_first else 0)
        right(stream)
        steps = [r for r in stream.records if type(r) is Trace and r.op == INVALIDATE]
        assert [step.operand & 0xFF for step in steps] == [0, 4]
        for i, wrong in ((0, "MW-05: INVALIDATE with operand"), (1, "invalidated a second time")):
            to = {"operand": lambda old: old ^ 4}
            spoiled(
                stream,
                wrong,
                change,
                Trace,
                i,
                judged=judge_engine,
                allow=OPEN_END,
                op=INVALIDATE,
                to=to,
            )


def test_same_cycle() -> None:
    """Of one cycle a check is decided ahead of an invalidation."""
    stream = EngineStream().bound()
    token = stream.tokens[0]
    stream.post(stream.invalidate_post(token))
    request = CheckRequest(OWN, Access.READ, token, BASE, 8)
    stream.asks(request)
    stream.tick(1)
    result = stream.decides(request)
    assert result.code == Verdict.GRANTED
    found = stream.posting.indicate(OWN)
    assert found.step is not None
    stream.key_lane(found.step)
    stream.add(WorkBeat(stream.cycle, OWN, True, found.tuser, found.post.encode()))
    stream.judged(result)
    stream.retire(OWN)
    one, two = index(stream.records, Trace, op=CHECK), index(stream.records, Trace, op=INVALIDATE)
    records: Records = stream.records
    records[one], records[two] = records[two], records[one]
    right(stream)
    # Positions were exchanged: the check is the later one of the two.
    records[two] = records[two]._replace(cycle=records[two].cycle + 1)
    records.insert(two + 1, records.pop(two))
    fails(stream, "MW-10: CHECK with operand 0x10000, expected CHECK 0x10001")


def test_step_of_a_check_behind_its_verdict() -> None:
    for code, wrong in ((0, None), (3, "verdict 0x3 of cycle .*, expected GRANTED")):
        stream = EngineStream().bound()
        stream.check(stream.tokens[0])
        records = stream.records
        step = drop(records, Trace, op=CHECK)
        records.append(step._replace(cycle=stream.cycle + 1))
        change(records, AccessVerdict, to={"data": code << 16})
        fails(stream, wrong) if wrong else right(stream)
    records.pop()
    fails(stream, "at the end: no step for the verdict of cycle")
