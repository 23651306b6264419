# SPDX-License-Identifier: Apache-2.0
"""The scoreboard of keys in special situations: messages, credits, commands, removal, what is left
at the end. Each is right as it is, and wrong with one change.
"""

from __future__ import annotations

import pytest

from models import codes
from models.codes import Cause, CommandResult, QpState, ScatterCode, StateBy, TraceOp
from models.keys.window_control import make_window_args
from models.post.qp_control import make_qp_args
from models.receive.receive_types import RecvRequest
from tb.env.harness.records import Command, ScatterAnswer, Trace
from tb.env.scoreboard.explain import shown
from tb.env.scoreboard.scoreboard import Mismatch
from tb.selftest.engine_streams import FIRST, OWN, EngineStream
from tb.selftest.mutations import OPEN_END, Records, change, drop, index, late_board, right
from tb.selftest.mutations import fails_open as fails

INVALIDATE = TraceOp.INVALIDATE


# -- messages ------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["too long", "not ready", "refused"])
def test_message_that_invalidates_nothing(how: str) -> None:
    stream = EngineStream().bound()
    token = stream.tokens[0]
    if how == "too long":
        result = stream.message_with(token, OWN, 1000)
        assert result.code is ScatterCode.LENGTH_ERROR
    elif how == "not ready":
        result = stream.message(OWN, 1, invalidate=True, token=token)
        assert result.code is ScatterCode.NOT_READY
    else:
        stream.plain(codes.Command.FLUSH_QP)
        result = stream.message(OWN, 1, invalidate=True, token=token)
        assert result.code is ScatterCode.REFUSED
    assert stream.table.is_valid(token)
    right(stream)
    state = stream.table.state(token).encode()
    planted = Trace(stream.cycle, 8, INVALIDATE, OWN, False, 0, 1 << 8, state, state ^ 1 << 32)
    stream.add(planted)
    fails(stream, "no taken message waits for it")


def test_completes_ahead_of_its_token() -> None:
    """CQ-03: a completion while the token is valid."""
    stream = EngineStream().bound()
    result = stream.message_with(stream.tokens[0])
    records: Records = stream.records
    change(records, Trace, op=0x50, to={"cycle": lambda c: c})
    stream.report(OWN, result.tag)
    stream.completes(OWN)
    right(stream)
    step = drop(records, Trace, op=INVALIDATE)
    answer = records.pop(next(i for i, r in enumerate(records)
                              if type(r).__name__ == "ScatterAnswer"))  # fmt: skip
    records += [step._replace(cycle=stream.cycle), answer._replace(cycle=stream.cycle)]
    with pytest.raises(Mismatch, match="CQ-03"):
        late_board()(records)


def narrow(shared: bool, used: int) -> EngineStream:
    """A receive CQ with two entries, and a QP that needs both for each receive."""
    stream = EngineStream()
    stream.ready(1, log2=1)
    stream.register(0)
    stream.create_srq(0)
    for qp, two in ((OWN, True), (FIRST, False)):
        stream.create_receiver(qp, 0 if shared and two else None, 0, 8, two=two, guarded=True)
        stream.connect(qp)
    for _ in range(used):
        stream.receive(stream.buffer(FIRST))
    return stream


def test_two_credits() -> None:
    for shared in (False, True):
        for used in (0, 1):
            for credit in (None, True):
                stream = narrow(shared, used)
                if shared:
                    stream.receive(shared=True)
                    request = RecvRequest(OWN, 1)
                    stream.arrives(request)
                    stream.tick(1)
                    result = stream.take(request, credit)
                    refused = result.code is ScatterCode.NOT_READY
                    stream.answers(request, result)
                else:
                    post = stream.buffer(OWN)
                    stream.wrote_receive(post, False)
                    stream.tick(1)
                    cause = stream.took(post, False, credit=credit)
                    refused = cause is Cause.NO_CREDIT
                    stream.answered(cause)
                assert refused is (used == 1 and credit is None)
                allow = (*OPEN_END, "no_posts")
                if used and credit:
                    wrong = "CQ-17: credit 1" if shared else "cause 0x0, right would be: NO_CREDIT"
                    fails(stream, wrong, allow)
                else:
                    right(stream, allow)


# -- commands ------------------------------------------------------------------------------------


def test_query_while_a_request_executes() -> None:
    for outs, wrong in (("before", None), ("behind", None), ("neither", "QUERY_MW.*outputs")):
        stream = EngineStream().guards()
        stream.post(stream.bind_post())
        start = stream.tick()
        before = stream.table.query_window(0)
        stream.work(OWN)
        stream.retire(OWN)
        behind = stream.table.query_window(0)
        neither = (behind[0], *behind[1:6], behind[6] ^ 1, behind[7])
        told = {"before": before, "behind": behind, "neither": neither}[outs]
        args = make_window_args(0)
        stream.tick()
        stream.add(Command(stream.cycle, start, codes.Command.QUERY_MW, args.words, 0, told))
        fails(stream, wrong) if wrong else right(stream)


def destroys(stream: EngineStream, result: int) -> None:
    start = stream.tick()
    stream.tick(300)
    words = make_qp_args(OWN).words
    stream.add(Command(stream.cycle, start, codes.Command.DESTROY_QP, words, result, (0,) * 8))


def test_queue_pair_with_valid_keys_is_not_destroyed() -> None:
    stream = EngineStream().bound()
    destroys(stream, CommandResult.CMD_IN_USE)
    right(stream)
    stream.key_command(codes.Command.CLOSE_MW)
    stream.tick(300)
    destroys(stream, CommandResult.CMD_IN_USE)
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


def test_state_of_a_removal_is_no_command_s() -> None:
    stream = EngineStream().bound()
    stream.remove()
    right(stream)
    change(stream.records, Trace, op=TraceOp.QP_STATE, operand=2, to={"operand": 0})
    fails(stream, "QP_STATE without a command")


# -- the end -------------------------------------------------------------------------------------


def test_token_left_at_the_end() -> None:
    stream = EngineStream().bound()
    stream.message_with(stream.tokens[0])
    del stream.records[index(stream.records, Trace, op=INVALIDATE) :]
    fails(stream, "token not invalidated of buffer 0", (*OPEN_END, "scatter"))


def test_step_of_a_token_behind_the_answer() -> None:
    for okay in (True, False):
        stream = EngineStream().bound()
        token = stream.tokens[0] if okay else 0x77
        stream.message_with(token)
        records = stream.records
        step = drop(records, Trace, op=INVALIDATE)
        at = index(records, ScatterAnswer)
        records.insert(at + 1, step._replace(cycle=records[at].cycle + 1))
        right(stream)
        change(records, ScatterAnswer, to={"user": 4 if okay else 0, "data": 0})
        fails(
            stream, "user 0x4, expected|data 0x0, expected|answer of cycle .* with code 4, expect"
        )
        records.pop(at + 1)
        stream.tick(200)
        stream.doorbell(0)
        fails(stream, "its token was not invalidated|data 0x0, expected|in error without")
