# SPDX-License-Identifier: Apache-2.0
"""Completions: fields, flags, reports, length errors, flush, and the end of a connection."""

from __future__ import annotations

import pytest

from models.arm.arm import CqConfig, CqModel
from models.codes import (
    ArmType,
    Command,
    CommandResult,
    LogCause,
    ModelError,
    QpState,
    RecvFlag,
    ResultType,
    ScatterCode,
    StateBy,
)
from models.cq.entries import Cqe
from models.post.qp_control import make_qp_args
from models.receive.receive import pack_rdone
from models.receive.receive_types import RecvRequest
from models.tests.helpers import small_engine
from models.tests.receive.receive_helpers import (
    CONTEXT,
    FIRST,
    OWN,
    SECOND,
    SMALL,
    buffer,
    connect,
    contexts,
    finish,
    post,
    reach,
    reap,
    receiving,
    take,
)

SCATTER, _, LENGTH_ERROR, REFUSED, _ = ScatterCode
SOL, UNSIG = 1, 2

# -- completions -------------------------------------------------------------------------------


@pytest.mark.parametrize("qp", [OWN, FIRST])
@pytest.mark.parametrize("invalidate", [False, True])
@pytest.mark.parametrize("solicited", [False, True])
@pytest.mark.parametrize("status", [0, 1, 2, 3, 255])
def test_fields(qp: int, invalidate: bool, solicited: bool, status: int) -> None:
    model = receiving()
    for context in (0, (1 << 64) - 1, CONTEXT, CONTEXT):
        post(model, buffer(9, 9, context=context), own=qp == OWN)
        token = 0xFEED_F00D if invalidate else 0
        request = RecvRequest(qp, 12, solicited, invalidate, token)
        if model.posting.qps[qp].state is not QpState.CONNECTED:
            return
        beat = model.request_beat(request.encode())
        assert beat.answer is not None
        assert model.done_beat(pack_rdone(qp, beat.answer.tag, status)).log is LogCause.OK
        done = model.complete(qp)
        assert (done.cq, done.status, done.flush) == (3, status, False)
        assert done.srq == (None if qp == OWN else 0)
        assert done.cqe == Cqe(
            request_context=context,
            qp_context=0xC0DE << 48 | qp,
            nbytes=0 if status else 12,
            token=token,
            type=0x8001 if invalidate else 0x0001,
            qp=qp,
            status=status,
            flags=SOL if solicited else 0,
        )
        reap(model, model.srqs[0].completed % 16)


# receive completion flag: flags of the completion after a solicited Send, after another one
MATRIX = {
    RecvFlag.DEFAULT: (SOL, 0),
    RecvFlag.SOLICITED_WAIT: (SOL, UNSIG),
    RecvFlag.UNSIGNALLED: (SOL, 0),
    RecvFlag.EVD_THRESHOLD: (SOL, 0),
}


def test_flag_values() -> None:
    assert {f.name: int(f) for f in RecvFlag} == {
        "DEFAULT": 0x00,
        "SOLICITED_WAIT": 0x02,
        "UNSIGNALLED": 0x04,
        "EVD_THRESHOLD": 0x10,
    }


@pytest.mark.parametrize("solicited", [True, False])
@pytest.mark.parametrize("flag", RecvFlag)
@pytest.mark.parametrize("qp", [OWN, FIRST])
def test_flag_matrix(qp: int, flag: RecvFlag, solicited: bool) -> None:
    """SRQ-07, all eight fields of the matrix, and what each does to an arm of each type."""
    for status in (0, 1, 2):
        model = receiving(flag=flag)
        post(model, buffer(), own=qp == OWN)
        model.request_beat(RecvRequest(qp, solicited=solicited).encode())
        model.rqs[qp].report(0, status)
        cqe = model.complete(qp).cqe
        wanted = MATRIX[flag][0 if solicited else 1]
        assert cqe.flags == (wanted if status == 0 else SOL if solicited else 0)
        for arm in ArmType:
            signals = {
                ArmType.ANY: not wanted & UNSIG or status != 0,
                ArmType.SOLICITED: solicited or status != 0,
                ArmType.ERRORS: False,
            }[arm]
            cq = CqModel()
            cq.create(CqConfig(entries=4))
            cq.doorbell(0, arm)
            cq.wrote(1)
            assert bool(cq.publish([cqe.solicited_class], [cqe.unsignalled]).calls) is signals


def test_a_length_error_always_signals() -> None:
    model = receiving(flag=RecvFlag.SOLICITED_WAIT)
    post(model, buffer(1))
    assert take(model, FIRST, 2).code is LENGTH_ERROR
    model.rqs[FIRST].report(0, 0)
    assert model.complete(FIRST).cqe.flags == 0


def test_unsignalled_counts_for_later_arms() -> None:
    for arm in ArmType:
        cq = CqModel()
        cq.create(CqConfig(entries=4))
        cq.wrote(2)
        assert cq.publish([False], [True]).calls == []
        assert len(cq.doorbell(0, arm).calls) == 1
        assert (cq.present, cq.snap) == (1, 1)


def test_unsignalled_hides_nobody_else() -> None:
    """Of two entries of one step one may signal."""
    for quiet in ((True, False), (False, True)):
        cq = CqModel()
        cq.create(CqConfig(entries=4))
        cq.doorbell(0, ArmType.ANY)
        cq.wrote(2)
        assert len(cq.publish([False, False], quiet).calls) == 1
    cq = CqModel()
    cq.create(CqConfig(entries=4))
    cq.doorbell(0, ArmType.SOLICITED)
    cq.wrote(2)
    assert cq.publish([True, True], [True, True]).calls == []


def test_unsignalled_counts_for_moderation() -> None:
    cq = CqModel()
    cq.create(CqConfig(entries=8, mod_count=3, mod_interval=0xFFFF))
    cq.doorbell(0, ArmType.ANY)
    cq.wrote(3)
    assert cq.publish([False]).calls == []
    assert cq.publish([False, False], [True, True]).calls == []
    assert cq.due_count == 3
    assert len(cq.moderation().calls) == 1


def test_unsignalled_through_the_engine() -> None:
    for flags, kind, status, calls in (
        (0, ResultType.RECEIVE, 0, 1),
        (UNSIG, ResultType.RECEIVE, 0, 0),
        (UNSIG, ResultType.RECEIVE_AND_INVALIDATE, 0, 0),
        (UNSIG, ResultType.RECEIVE, 1, 1),
        (UNSIG, ResultType.SEND, 0, 1),
    ):
        engine = small_engine(reservation=False)
        engine.doorbell(0, 0, ArmType.ANY)
        engine.complete(0, Cqe(type=kind, flags=flags, status=status).pack())
        entry = engine.memory_write(0)
        assert Cqe.unpack(entry.data).flags == flags
        assert len(engine.acknowledge(0).calls) == calls
        assert engine.cqs[0].present == 1


# -- reports -----------------------------------------------------------------------------------


def test_refused_reports() -> None:
    model = receiving()
    for _ in range(2):
        post(model, buffer())
        take(model, FIRST)
    for beat in (pack_rdone(SMALL.num_qp, 0), *(1 << bit | FIRST for bit in range(40, 64))):
        assert model.done_beat(beat).log is LogCause.RDONE_BAD
    for tag in (1, 2, 15, 16, 0xFFFF):
        assert model.done_beat(pack_rdone(FIRST, tag)).log is LogCause.RDONE_UNEXPECTED
    for qp in (OWN, SECOND, 3):
        assert model.done_beat(pack_rdone(qp, 0)).log is LogCause.RDONE_UNEXPECTED
    assert (model.done, model.refused) == (0, 25 + 5 + 3)
    assert not model.rqs[FIRST].completable
    with pytest.raises(ModelError, match="unreported"):
        model.complete(FIRST)
    assert model.done_beat(pack_rdone(FIRST, 0)).log is LogCause.OK
    assert model.done_beat(pack_rdone(FIRST, 0)).log is LogCause.RDONE_UNEXPECTED
    with pytest.raises(ModelError, match="nothing is left"):
        model.complete(SECOND)


@pytest.mark.parametrize("state", [QpState.CONNECTED, QpState.DISCONNECT_PENDING, QpState.ERROR])
@pytest.mark.parametrize("status", [0, 1, 2])
def test_a_failing_report_ends_the_connection(state: QpState, status: int) -> None:
    model = receiving()
    post(model, buffer())
    take(model, FIRST)
    if state is not QpState.CONNECTED:
        reach(model, FIRST, state)
    step = model.done_beat(pack_rdone(FIRST, 0, status)).step
    if status == 0 or state is QpState.ERROR:
        assert step is None
        return
    assert step is not None
    assert (step.old, step.new, step.by, step.term) == (state, QpState.ERROR, StateBy.REPORT, True)


def test_an_error_changes_no_later_status() -> None:
    model = receiving()
    for _ in range(3):
        post(model, buffer())
        take(model, FIRST)
    for tag, status in enumerate((7, 0, 1)):
        model.rqs[FIRST].report(tag, status)
    assert [model.complete(FIRST).status for _ in range(3)] == [7, 0, 1]


# -- message longer than the buffer ------------------------------------------------------------


@pytest.mark.parametrize("status", [0, 1, 9])
def test_length_error(status: int) -> None:
    """SRQ-18: its connection ends, the SRQ serves the others."""
    model = receiving()
    for context in range(3):
        post(model, buffer(4, 4, context=context))
    assert take(model, FIRST, 9).code is LENGTH_ERROR
    rq = model.rqs[FIRST]
    assert rq.length_pending
    # A request that was on its way still takes a buffer.
    assert take(model, FIRST, 8).code is SCATTER
    step = rq.fail_length()
    assert step is not None
    assert (step.new, step.term, rq.length_pending) == (QpState.ERROR, True, False)
    assert take(model, FIRST).code is REFUSED
    assert take(model, SECOND, 8).code is SCATTER
    rq.report(0, status)
    rq.report(1, 1)
    first, second = model.complete(FIRST), model.complete(FIRST)
    assert (first.status, first.cqe.nbytes, second.status) == (3, 0, 1)
    assert contexts([first, second, *finish(model, SECOND)]) == [0, 1, 2]
    with pytest.raises(ModelError):
        rq.fail_length()


def test_the_state_may_be_left_before_the_length_error_does_it() -> None:
    model = receiving()
    post(model, buffer())
    take(model, FIRST, 1)
    model.posting.qps[FIRST].disconnected()
    assert not model.rqs[FIRST].length_pending
    assert model.rqs[FIRST].fail_length() is None
    finish(model, FIRST, 1)
    model.posting.qps[FIRST].set_state(1)
    connect(model, FIRST)
    with pytest.raises(ModelError):
        model.rqs[FIRST].fail_length()


def test_a_boundary_is_no_length_error() -> None:
    for lengths, length, code in (((), 0, 0), ((), 1, 2), ((4, 4), 8, 0), ((4, 4), 9, 2)):
        model = receiving()
        post(model, buffer(*lengths))
        assert take(model, FIRST, length).code == code


# -- the end of a connection -------------------------------------------------------------------

ENDS = [QpState.DISCONNECTED, QpState.ERROR, QpState.DESTROYING]


@pytest.mark.parametrize("state", ENDS)
def test_own_queue_is_flushed(state: QpState) -> None:
    """SRQ-14, SRQ-19: what was taken first, as reported; then the rest, in post order."""
    model = receiving()
    for context in range(4):
        post(model, buffer(4, context=context), own=True)
    take(model, OWN, 4)
    take(model, OWN, 3)
    reach(model, OWN, state)
    rq = model.rqs[OWN]
    for tag, status in ((0, 0), (1, 1)):
        assert not rq.flushable
        with pytest.raises(ModelError, match="SRQ-14"):
            rq.flush_take()
        assert rq.report(tag, status)[1] is None
    assert rq.flushable
    flushed = [rq.flush_take(), rq.flush_take()]
    assert [(f.tag, f.code, f.filled) for f in flushed] == [(2, 0, (0,)), (3, 0, (0,))]
    assert rq.report(2, 0)[0] is LogCause.RDONE_UNEXPECTED
    done = [model.complete(OWN) for _ in range(4)]
    assert [(c.status, c.flush, c.cqe.nbytes) for c in done] == [
        (0, False, 4),
        (1, False, 0),
        (1, True, 0),
        (1, True, 0),
    ]
    assert contexts(done) == [0, 1, 2, 3]
    assert [c.cqe for c in done[2:]] == [
        Cqe(context, 0xC0DE << 48 | OWN, 0, 0, 0x0001, OWN, 1, 0) for context in (2, 3)
    ]
    assert not rq.busy
    assert rq.trace_state(7) == 4


@pytest.mark.parametrize("state", [s for s in QpState if s not in ENDS])
def test_no_flush_in_other_states(state: QpState) -> None:
    model = receiving()
    if state is not QpState.FREE:
        post(model, buffer(), own=True)
    if state is QpState.DISCONNECT_PENDING:
        reach(model, OWN, state)
    elif state is QpState.IDLE:
        model.posting.qps[OWN].flush()
        finish(model, OWN)
        model.posting.qps[OWN].set_state(1)
        post(model, buffer(), own=True)
    elif state is QpState.FREE:
        reach(model, OWN, state)
    assert not model.rqs[OWN].flushable
    with pytest.raises(ModelError, match="SRQ-14"):
        model.rqs[OWN].flush_take()


@pytest.mark.parametrize("state", ENDS)
def test_disconnect_with_buffers_taken(state: QpState) -> None:
    """SRQ-14: what the queue pair took is reported; what is in the SRQ stays for the others."""
    model = receiving()
    for context in range(4):
        post(model, buffer(4, context=context))
    for _ in range(2):
        take(model, FIRST, 4)
    take(model, SECOND, 4)
    reach(model, FIRST, state)
    rq = model.rqs[FIRST]
    args = make_qp_args(FIRST, word=1)
    pending = CommandResult.CMD_BAD_STATE if state is QpState.DESTROYING else CommandResult.CMD_BUSY
    for tag, status in enumerate((0, 1)):
        assert model.command(Command.SET_QP_STATE, args).result is pending
        rq.report(tag, status)
        assert model.command(Command.SET_QP_STATE, args).result is pending
        done = model.complete(FIRST)
        assert (done.status, done.cqe.nbytes) == (status, 0 if status else 4)
    assert not rq.flushable
    assert model.srqs[0].available == 1
    if state is not QpState.DESTROYING:
        result = model.command(Command.SET_QP_STATE, args, receiving=True).result
        assert result is CommandResult.CMD_BUSY
        assert model.command(Command.SET_QP_STATE, args).result is CommandResult.OK
    gone = model.command(Command.DESTROY_QP, make_qp_args(FIRST))
    assert gone.result is CommandResult.OK
    assert take(model, SECOND, 4).code is SCATTER
    assert contexts(finish(model, SECOND)) == [2, 3]


@pytest.mark.parametrize("qp", [OWN, FIRST])
def test_destroy_waits_for_receives(qp: int) -> None:
    model = receiving()
    post(model, buffer(), own=qp == OWN)
    take(model, qp)
    args = make_qp_args(qp)
    for _ in range(2):
        assert model.command(Command.DESTROY_QP, args).result is CommandResult.CMD_PENDING
    with pytest.raises(ModelError, match="SRQ-14"):
        model.command(Command.DESTROY_QP, args, receiving=False)
    assert len(finish(model, qp, 1)) == 1
    assert model.command(Command.DESTROY_QP, args).result is CommandResult.OK
    # Tags go on over destruction and re-creation.
    assert model.rqs[qp].taken == 1


def test_destroy_flushes_an_idle_queue_pair() -> None:
    model = receiving()
    reach(model, OWN, QpState.IDLE)
    post(model, buffer(context=3), own=True)
    args = make_qp_args(OWN)
    assert model.command(Command.DESTROY_QP, args).result is CommandResult.CMD_PENDING
    assert contexts(finish(model, OWN)) == [3]
    assert model.command(Command.DESTROY_QP, args).result is CommandResult.OK
