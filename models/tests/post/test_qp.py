# SPDX-License-Identifier: Apache-2.0
"""Queue pairs: states, commands, transport input, release by age and watermark, wraps."""

from __future__ import annotations

import random

import pytest

from models.codes import (
    Cause,
    Command,
    CommandResult,
    LogCause,
    ModelError,
    PostFlag,
    QpState,
    StateBy,
)
from models.post.posting import PostingModel, pack_conn, pack_done, pack_term
from models.post.qp import QpConfig, QpModel
from models.post.qp_control import make_qp_args
from models.tests.post.posting_helpers import (
    BAD,
    PEER,
    SMALL,
    connected,
    deferred,
    finish,
    request,
    small_model,
    write,
)
from models.verb import Limits
from models.verbs import VERBS

OK, BAD_STATE, BUSY = CommandResult.OK, CommandResult.CMD_BAD_STATE, CommandResult.CMD_BUSY
NO_OBJECT, PENDING = CommandResult.CMD_NO_OBJECT, CommandResult.CMD_PENDING
FREE, IDLE, CONNECTED, LEAVING, GONE, ERROR, DESTROYING = QpState


def reach(state: QpState, outstanding: bool = False) -> PostingModel:
    """Queue pair 1 in a state; ``outstanding``: with a request that the transport works on."""
    model = small_model()
    qp = model.qps[1]
    if outstanding or state is DESTROYING:
        qp.post(request())
        qp.indicate()
    if state is FREE:
        qp.destroy()
    elif state is IDLE:
        qp.flush()
        qp.set_state(1)
    elif state is LEAVING:
        qp.set_state(3)
    elif state is GONE:
        qp.disconnected()
    elif state is ERROR:
        qp.flush()
    elif state is DESTROYING:
        qp.destroy()
    assert qp.state is state
    return model


# command, argument: result and state afterwards, from each state
MOVES = [
    ("CONNECT_QP", 5, {IDLE: CONNECTED}),
    ("SET_QP_STATE", 1, {GONE: IDLE, ERROR: IDLE}),
    ("SET_QP_STATE", 3, {CONNECTED: LEAVING}),
    ("SET_QP_STATE", 4, {CONNECTED: GONE, LEAVING: GONE}),
    ("FLUSH_QP", 0, {CONNECTED: ERROR, LEAVING: ERROR, ERROR: ERROR, GONE: GONE}),
    *(("SET_QP_STATE", new, {}) for new in (0, 2, *range(5, 16))),
]


@pytest.mark.parametrize(("name", "arg", "moves"), MOVES)
@pytest.mark.parametrize("state", QpState)
def test_state_commands(name: str, arg: int, moves: dict[QpState, QpState], state: QpState) -> None:
    model = reach(state)
    reply = model.command(Command[name], make_qp_args(1, word=arg))
    wanted = OK if state in moves else NO_OBJECT if state is FREE else BAD_STATE
    assert reply.result is wanted
    after = moves.get(state, state)
    assert model.qps[1].state is after
    assert (reply.step is not None) == (after is not state)
    if reply.step is not None:
        ended = after in (GONE, ERROR) and state in (CONNECTED, LEAVING)
        assert reply.step.term is ended
        assert reply.step.by is StateBy.COMMAND


def test_back_to_idle_only_with_nothing_outstanding() -> None:
    for state in (GONE, ERROR):
        model = reach(state, outstanding=True)
        args = make_qp_args(1, word=1)
        assert model.command(Command.SET_QP_STATE, args).result is BUSY
        assert model.done_beat(pack_done(1, 0)).log is LogCause.OK
        assert model.command(Command.SET_QP_STATE, args).result is BUSY
        assert model.retire(1).status == 0
        assert model.command(Command.SET_QP_STATE, args, retired_seen=0).result is BUSY
        assert model.command(Command.SET_QP_STATE, args).result is OK


@pytest.mark.parametrize("state", QpState)
def test_destroy(state: QpState) -> None:
    model = reach(state)
    reply = model.command(Command.DESTROY_QP, make_qp_args(1))
    assert reply.result is {FREE: NO_OBJECT, DESTROYING: PENDING}.get(state, OK)
    if reply.step is not None:
        assert reply.step.term is (state in (CONNECTED, LEAVING))
        assert pack_term(1, reply.step) == 1 | ERROR << 16
    if state is not DESTROYING:
        assert model.qps[1].state is FREE
        return
    assert model.uses_cq(0)
    assert write(model, request(qp=1)).cause is Cause.NO_QP
    create = make_qp_args(1, QpConfig(page=1, depth=1))
    assert model.command(Command.CREATE_QP, create).result is CommandResult.CMD_EXISTS
    assert model.command(Command.MODIFY_QP, create).result is NO_OBJECT
    model.done_beat(pack_done(1, 0, 9))
    assert model.qps[1].state is DESTROYING
    assert model.retire(1).status == 9
    assert model.command(Command.DESTROY_QP, make_qp_args(1)).result is OK
    # Indices and tags go on in the next life: a report of the former one does not fit.
    assert model.command(Command.CREATE_QP, create).result is OK
    assert model.command(Command.CONNECT_QP, make_qp_args(1)).result is OK
    assert write(model, request(qp=1)).number == 1
    assert model.indicate(1).tag == 1
    assert model.done_beat(pack_done(1, 0)).log is LogCause.DONE_UNEXPECTED
    assert model.done_beat(pack_done(1, 1)).log is LogCause.OK
    assert model.retire(1).status == 0


def test_create_checks() -> None:
    """Each fault alone, and with all that come later in the order."""
    good = {"page": 1, "depth": 8, "send_cq": 2, "recv_cq": 3}
    faults = [
        ({"depth": 9}, CommandResult.CMD_BAD_SIZE),
        ({"send_cq": 4}, CommandResult.CMD_NO_CQ),
        ({"page": 2}, CommandResult.CMD_BAD_PAGE),
    ]
    model = small_model()

    def create(fields: dict[str, int], number: int = 2) -> CommandResult:
        args = make_qp_args(number, QpConfig(**fields))
        return model.command(Command.CREATE_QP, args).result

    for i, (fault, result) in enumerate(faults):
        assert create(good | fault) is result
        merged = dict(good)
        for later, _ in faults[i:]:
            merged |= later
        assert create(merged) is result
        assert create(merged, 1) is CommandResult.CMD_EXISTS
        assert create(merged, SMALL.num_qp) is CommandResult.CMD_BAD_OBJECT
    assert create(good | {"depth": 0}) is CommandResult.CMD_BAD_SIZE
    assert create(good | {"recv_cq": 99}) is CommandResult.CMD_NO_CQ
    assert create(good | {"page": SMALL.num_pages}) is CommandResult.CMD_BAD_PAGE
    assert model.qps[2].state is FREE
    assert create(good) is OK
    assert model.uses_cq(3)
    for code in (0, 0x1F, 0x27, 0x14):
        assert model.command(code, make_qp_args(0)).result is CommandResult.CMD_UNKNOWN
    for command, bit in ((Command.CONNECT_QP, 24), (Command.SET_QP_STATE, 4)):
        args = make_qp_args(SMALL.num_qp, word=1 << bit)
        assert model.command(command, args).result is CommandResult.CMD_RESERVED


def test_query() -> None:
    model = PostingModel(SMALL, lambda _: 1)
    config = QpConfig(0x1_0000_0002, 2, 3, page=1, depth=5, watermark=6, age=7)
    query, number = Command.QUERY_QP, make_qp_args(2)
    assert model.command(query, number).result is NO_OBJECT
    model.command(Command.CREATE_QP, make_qp_args(2, config))
    model.command(Command.CONNECT_QP, make_qp_args(2, word=PEER))
    for post in (request(qp=2), request(qp=2), request(qp=2, flags=PostFlag.DEFER)):
        write(model, post)
    model.indicate(2)
    out = model.command(query, number).out
    assert out == (2 | PEER << 8, 3 | 2 << 16, 1, 2 | 3 << 16, 1 | 5 << 16, 6 | 7 << 16, 0, 0)
    assert model.qps[2].trace_state() == 2 | 3 << 16 | 2 << 32
    args = make_qp_args(2, QpConfig(watermark=9))
    assert model.command(Command.MODIFY_QP, (args)).result is CommandResult.OK
    assert model.command(query, number).out[5] == 9
    model.done_beat(pack_done(2, 0, 3))
    model.retire(2)
    assert model.qps[2].trace_state(4) == 1 | 1 << 16


# -- transport ---------------------------------------------------------------------------------


def test_transport_input() -> None:
    """ISO-03: what is refused is logged and counted and changes nothing."""
    model = small_model()
    for beat in (pack_done(4, 0), pack_done(0, 0) | 1 << 40, pack_done(0, 0) | 1 << 63):
        assert model.done_beat(beat).log is LogCause.DONE_BAD
    for qp in range(4):
        assert model.done_beat(pack_done(qp, 0)).log is LogCause.DONE_UNEXPECTED
    for beat in (pack_conn(4), pack_conn(0, 0), pack_conn(0, 2), pack_conn(0) | 1 << 24):
        assert model.conn_beat(beat).log is LogCause.DONE_BAD
    assert model.conn_beat(pack_conn(2)).log is LogCause.CONN_NO_QP
    assert (model.done, model.done_refused) == (0, 12)
    assert model.qps[0].state is CONNECTED
    taken = model.conn_beat(pack_conn(0))
    assert taken.log is LogCause.OK
    assert taken.step is not None
    assert (taken.step.new, taken.step.by, taken.step.term) == (GONE, StateBy.CONN, True)
    again = model.conn_beat(pack_conn(0))
    assert (again.log, again.step) == (LogCause.OK, None)
    assert model.qps[1].state is CONNECTED


@pytest.mark.parametrize("state", [CONNECTED, LEAVING, GONE, ERROR, DESTROYING])
def test_failing_report(state: QpState) -> None:
    """It ends a connection that is not over yet, once."""
    model = reach(state, outstanding=True)
    taken = model.done_beat(pack_done(1, 0, 2))
    assert taken.log is LogCause.OK
    if state in (CONNECTED, LEAVING):
        assert taken.step is not None
        assert (taken.step.new, taken.step.by, taken.step.term) == (ERROR, StateBy.REPORT, True)
    else:
        assert taken.step is None
        assert model.qps[1].state is state
    assert model.retire(1).status == 2


def test_work_beats() -> None:
    model = small_model()
    for post in (request("Read", qp=1), request("Bind", qp=1), request("Read", qp=1)):
        write(model, post)
    peer = PEER << 32
    beats = [model.indicate(1).tuser for _ in range(3)]
    assert beats == [peer, 1 << 16 | peer | 1 << 56, 1 | 2 << 16 | peer]
    assert model.work_beats == 3


def test_an_offered_beat_stays_offered() -> None:
    qp = connected()
    for _ in range(3):
        qp.post(request())
    qp.indicate()
    qp.flush()
    assert qp.next_indication() is None
    assert qp.indicate(late=True).number == 1
    with pytest.raises(ModelError, match="DF-09"):
        qp.indicate(late=True)
    qp.report(0, 0)
    qp.report(1, 0)
    ends = [qp.retire() for _ in range(3)]
    assert [(end.status, end.skipped) for end in ends] == [(0, False), (0, False), (1, True)]


def test_a_fenced_beat_was_not_offered() -> None:
    qp = connected()
    qp.post(request("Read"))
    qp.post(request("Send", PostFlag.READ_FENCE))
    qp.report(qp.indicate().tag, 0)
    qp.flush()
    qp.retire()
    with pytest.raises(ModelError):
        qp.indicate(late=True)


def test_disconnect_pending_completes_what_was_indicated() -> None:
    qp = connected()
    for _ in range(3):
        qp.post(request())
    qp.post(deferred())
    tags = [qp.indicate().tag for _ in range(2)]
    assert qp.set_state(3)[1] is not None
    assert qp.post(request()).cause is Cause.NOT_CONNECTED
    for tag in tags:
        qp.report(tag, 0)
    assert [qp.retire().status for _ in range(4)] == [0, 0, 1, 1]
    _, step = qp.set_state(4)
    assert step is not None
    assert step.term


# -- watermark and age -------------------------------------------------------------------------


def test_watermark() -> None:
    qp = connected(watermark=2)
    assert not qp.post(deferred()).released
    assert qp.post(deferred()).released == range(2)
    assert not qp.post(deferred()).released
    assert qp.post(request()).released == range(2, 4)
    assert [qp.indicate().last for _ in range(4)] == [False, True, False, True]
    # A setting that is lowered below what is held applies to the next post.
    qp.modify(0, 0)
    for _ in range(3):
        assert not qp.post(deferred()).released
    qp.modify(2, 0)
    assert qp.held == 3
    assert qp.post(deferred()).released == range(4, 8)


def test_age() -> None:
    qp = connected(age=3)
    for now in (None, 1000):
        with pytest.raises(ModelError, match="DF-01"):
            qp.age(now)
    qp.post(deferred(), now=100)
    qp.post(deferred(), now=120)
    with pytest.raises(ModelError, match="DF-01"):
        qp.age(100 + 3 * 8)
    assert qp.age_deadline == 100 + 3 * 8 + 8 + 64 * 4
    assert qp.age(100 + 3 * 8 + 1) == range(2)
    assert qp.age_deadline is None
    qp.modify(0, 0)
    qp.post(deferred(), now=200)
    assert qp.age_deadline is None
    with pytest.raises(ModelError, match="DF-01"):
        qp.age(10_000)
    # A limit that comes later has its own time to be found; the former one counts no more.
    qp.modify(0, 3, now=1000)
    assert qp.age_deadline == 1000 + 8 + 64 * 4
    qp.modify(5, 3, now=2000)
    assert qp.age_deadline == 1000 + 8 + 64 * 4
    qp.modify(0, 200, now=1001)
    assert qp.age_deadline == 200 + 200 * 8 + 8 + 64 * 4
    with pytest.raises(ModelError, match="DF-01"):
        qp.age(1100)
    assert qp.age(1801) == range(2, 3)


def test_late_news_of_retirements() -> None:
    """A post may find the queue full although a request has just retired; never the other way."""
    qp = connected(depth=2)
    qp.post(request())
    qp.post(request())
    finish(qp)
    assert qp.post(request(), retired_seen=0).cause is Cause.QUEUE_FULL
    assert qp.post(request(), retired_seen=1).cause is Cause.OK
    with pytest.raises(ModelError, match="DF-12"):
        qp.post(request(), retired_seen=0)
    with pytest.raises(ModelError, match="DF-12"):
        qp.post(request(), retired_seen=3)


# -- long histories ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_random_history(seed: int) -> None:
    """Every verb, 16-entry indices over many wraps, several lives: each post completes once."""
    rng = random.Random(seed)
    qp = QpModel(1, SMALL)
    accepted: list[int] = []
    completed: list[int] = []
    works = 0
    for now in range(8000):
        if qp.state is FREE:
            mark = rng.choice((0, 0, 2, 3))
            qp.create(QpConfig(depth=rng.randint(1, 8), watermark=mark, age=1))
        elif qp.state is IDLE:
            qp.connect(rng.getrandbits(24))
        what = rng.random()
        if what < 0.4:
            verb = rng.choice(list(VERBS.values()))
            limits = Limits(1, need=rng.choice((0, PostFlag.DEFER)))
            post = BAD if what < 0.02 else verb.fields(rng, limits)
            room = qp.outstanding < qp.config.depth
            result = qp.post(post, now=now)
            good = post is not BAD and qp.state is CONNECTED and room
            assert (result.cause is Cause.OK) is good
            if result.number is not None:
                accepted.append(result.number)
            if result.cause is not Cause.OK or not post.has(PostFlag.DEFER):
                assert qp.held == 0
        elif what < 0.6 and qp.next_indication() is not None:
            beat = qp.indicate()
            works += not beat.local
            assert beat.local or beat.tag == (works - 1) % 16
        elif what < 0.8:
            oldest = next((r for r in qp.requests if r.tag is not None and r.status is None), None)
            if oldest is not None and oldest.tag is not None:
                status = 0 if rng.random() < 0.98 else rng.randint(2, 255)
                assert qp.report(oldest.tag % 16, status)[0] is LogCause.OK
        elif what < 0.98 and qp.retirable:
            completed.append(qp.retire().number)
        elif what > 0.999:
            rng.choice((qp.flush, qp.destroy, qp.disconnected))()
        if qp.state in (GONE, ERROR) and not qp.outstanding:
            qp.set_state(1)
        elif qp.state is DESTROYING and not qp.outstanding:
            qp.destroy()
        assert qp.retired <= qp.indicated <= qp.released <= qp.tail
        assert qp.outstanding <= qp.config.depth
    assert len(accepted) > 500
    assert completed == accepted[: len(completed)]
    assert accepted == list(range(len(accepted)))
    assert len(accepted) - len(completed) == qp.outstanding
