# SPDX-License-Identifier: Apache-2.0
"""Invalidation by the peer: answers, the race with a local Invalidate, both ways of completion."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from models.codes import By, Command, LogCause, ModelError, QpState, ScatterCode
from models.cq.entries import Cqe
from models.cq.queue import NdResult, NdResultEx, RingReader
from models.keys.window import WindowModel
from models.keys.window_control import make_window_args
from models.post.post import Segment
from models.receive.receive import ReceiveModel, pack_rdone
from models.receive.receive_types import ReceiveCompletion, RecvConfig, RecvRequest
from models.tests.helpers import small_engine
from models.tests.keys.window_helpers import (
    BASE,
    CONTEXT,
    FAST,
    NEXT,
    READ,
    REGION,
    SMALL,
    WINDOW,
    ZONE,
    A,
    B,
    arrive,
    bind_post,
    bound,
    create,
    engine,
    local,
    post_buffer,
    run,
    settle,
    verdict,
)
from models.tests.receive.receive_helpers import reach

SCATTER, NOT_READY, LENGTH_ERROR, REFUSED, BAD_TOKEN = range(5)
INVALID = 4
RECEIVE, BOTH, INVALIDATE = 0x0001, 0x8001, 0x0010
QP_CONTEXT = 0xC0DE << 48 | A


def finish(model: WindowModel, tag: int, status: int = 0) -> ReceiveCompletion:
    """The buffer is reported and completes."""
    assert model.receive.done_beat(pack_rdone(A, tag, status)).log is LogCause.OK
    return model.receive.complete(A)


def given(model: WindowModel, solicited: bool = False, status: int = 0) -> ReceiveCompletion:
    """A window, a buffer with context 7, and the peer's SendAndInvalidate of 8 bytes."""
    key = bound(model)
    post_buffer(model)
    answer = arrive(model, A, key, solicited=solicited)
    assert answer.code is ScatterCode.SCATTER
    return finish(model, answer.tag, status)


# -- answers -------------------------------------------------------------------------------------


def test_codes() -> None:
    assert [(int(c), c.name) for c in ScatterCode] == [
        (0, "SCATTER"),
        (1, "NOT_READY"),
        (2, "LENGTH_ERROR"),
        (3, "REFUSED"),
        (4, "BAD_TOKEN"),
    ]


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("two", [False, True])
def test_a_good_token(shared: bool, two: bool) -> None:
    """It is invalid from the take on, whatever the transport reports later."""
    model = engine(two=two, shared=shared)
    key = bound(model)
    post_buffer(model)
    answer = arrive(model, A, key)
    assert (answer.code, answer.filled, answer.reserved) == (SCATTER, (8,), shared)
    assert answer.key is not None
    assert (answer.key.okay, answer.key.operand, answer.key.qp) == (True, 1 << 8, A)
    assert verdict(model, A, key) == 1
    assert model.table.invalidated == 1
    finish(model, answer.tag, 9)
    assert verdict(model, A, key) == 5  # the connection has ended
    assert not model.table.is_valid(key)


BAD = ["none", "old", "next", "region", "foreign queue pair", "invalid", "busy region"]


@pytest.mark.parametrize("pending", [False, True])
@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize("status", [0, 1, 9])
def test_a_bad_token(what: str, pending: bool, status: int) -> None:
    """MW-12."""
    model = engine()
    token, qp = 0xDEAD_BEEF, B if what == "foreign queue pair" else A
    if what not in ("none", "region", "busy region"):
        token = bound(model, qp)
    if what == "invalid":
        run(model, A, local("Invalidate", token))
    elif what == "busy region":
        run(model, A, local("FastRegister", FAST, Segment(BASE, 9)))
        run(model, A, bind_post(WINDOW, FAST + NEXT, length=1))
        token = FAST + NEXT
    elif what == "region":
        token = REGION
    token += {"old": -NEXT, "next": NEXT}.get(what, 0)
    for _ in range(2):
        post_buffer(model)
    q, rq = model.posting.qps[A], model.receive.rqs[A]
    if pending:
        q.set_state(3)
    before = list(model.table.windows), list(model.table.regions)
    beat = RecvRequest(A, 8, False, True, token).encode()
    got = model.receive.request_beat(beat)
    answer = got.answer
    assert answer is not None
    assert (got.log, int(LogCause.TOKEN_REFUSED)) == (LogCause.TOKEN_REFUSED, 0x37)
    assert (answer.code, answer.tdata, answer.tuser) == (BAD_TOKEN, 0, 4 | answer.tag << 16)
    assert answer.key is not None
    assert answer.key.operand == INVALID | 1 << 8
    assert (model.table.windows, model.table.regions) == before
    assert q.state is (QpState.DISCONNECT_PENDING if pending else QpState.CONNECTED)
    assert rq.length_pending
    step = rq.fail_length()
    assert step is not None
    assert (step.new, step.term) == (QpState.ERROR, True)
    done = finish(model, answer.tag, status)
    assert done.cqes == (Cqe(7, QP_CONTEXT, 0, token, BOTH, A, status=INVALID),)
    assert (done.status, done.given_back) == (INVALID, 0)
    assert rq.flushable


def test_what_comes_first() -> None:
    """REFUSED, NOT_READY and LENGTH_ERROR come before BAD_TOKEN and invalidate nothing."""
    for token_good in (True, False):
        model = engine()
        key = bound(model)
        token = key if token_good else key + NEXT
        assert arrive(model, A, token).code is ScatterCode.NOT_READY
        post_buffer(model)
        answer = arrive(model, A, token, length=17)
        assert (answer.code, answer.key) == (LENGTH_ERROR, None)
        settle(model, A)
        assert arrive(model, A, token).code is ScatterCode.REFUSED
        done = finish(model, answer.tag)
        assert (done.status, done.cqe.type, done.cqe.token) == (3, BOTH, token)
        assert model.table.is_valid(key)
    model = engine(shared=True)
    key = bound(model)
    post_buffer(model)
    answer2 = model.receive.request_beat(RecvRequest(A, 8, False, True, key).encode(), credit=False)
    assert answer2.answer is not None
    assert answer2.answer.code is ScatterCode.NOT_READY
    assert model.table.is_valid(key)
    # A malformed request, and a token without its bit.
    for beat in (1 << 127 | A | 1 << 17 | key << 64, A | key << 64):
        assert model.receive.request_beat(beat).log is LogCause.RREQ_BAD
        assert model.table.is_valid(key)


def test_without_invalidate_nothing_is_invalidated() -> None:
    model = engine()
    key = bound(model)
    post_buffer(model)
    answer = model.receive.request_beat(RecvRequest(A, 8).encode()).answer
    assert answer is not None
    assert (answer.code, answer.key) == (SCATTER, None)
    assert model.table.is_valid(key)


def test_a_region_registered_by_request() -> None:
    for qp, code in ((A, SCATTER), (B, BAD_TOKEN)):
        model = engine(two=True)
        run(model, qp, local("FastRegister", FAST, Segment(BASE, 9), READ))
        post_buffer(model)
        answer = arrive(model, A, FAST + NEXT)
        assert answer.code == code
        assert model.table.is_valid(FAST + NEXT) is (code == BAD_TOKEN)
        if code == SCATTER:
            done = finish(model, answer.tag)
            assert done.first == Cqe(0, QP_CONTEXT, 0, FAST + NEXT, INVALIDATE, A)


# -- MW-05 ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("local_first", [True, False])
@pytest.mark.parametrize("late", [True, False])
def test_race(local_first: bool, late: bool) -> None:
    """MW-05: the second one fails and ends the connection, in both orders."""
    model = engine()
    key = bound(model)
    post_buffer(model)
    q = model.posting.qps[A]
    if not late:
        q.post(local("Invalidate", key))  # posted before the message arrives, or after it
    if not local_first:
        answer = arrive(model, A, key)
    if late:
        q.post(local("Invalidate", key))
    beat = model.posting.indicate(A)
    if local_first:
        answer = arrive(model, A, key)
    assert beat.step is not None
    assert (beat.step.okay, answer.code == SCATTER) == (local_first, not local_first)
    assert model.table.invalidated == 1
    settle(model, A)
    assert q.state is QpState.ERROR
    assert model.posting.retire(A).status == (0 if local_first else INVALID)
    assert finish(model, answer.tag).status == (INVALID if local_first else 0)


def test_a_later_invalidate_fails() -> None:
    """CQ-05, also when the completion was never polled."""
    model = engine()
    done = given(model)
    assert run(model, A, local("Invalidate", done.cqe.token)) == [INVALID]
    assert model.posting.qps[A].state is QpState.ERROR


# -- the two ways of completion --------------------------------------------------------------------


@pytest.mark.parametrize("solicited", [False, True])
def test_one_entry(solicited: bool) -> None:
    """CQ-02, NDKPI."""
    model = engine()
    done = given(model, solicited)
    wanted = Cqe(7, QP_CONTEXT, 8, WINDOW + NEXT, BOTH, A, 0, int(solicited))
    assert (done.cq, done.cqes, done.given_back) == (3, (wanted,), 0)
    assert model.receive.rqs[A].credits == 1


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("solicited", [False, True])
def test_two_entries(solicited: bool, shared: bool) -> None:
    """MW-07, MW-08, NetworkDirect 1: the invalidate result, then the receive result."""
    model = engine(two=True, shared=shared)
    done = given(model, solicited)
    first = Cqe(CONTEXT, QP_CONTEXT, 0, WINDOW + NEXT, INVALIDATE, A)
    second = Cqe(7, QP_CONTEXT, 8, 0, RECEIVE, A, 0, int(solicited))
    assert (done.cq, done.cqes, done.given_back) == (3, (first, second), 0)
    assert (first.solicited_class, second.solicited_class) == (False, solicited)
    assert model.receive.rqs[A].credits == 2


@pytest.mark.parametrize("status", [1, 2, 9])
def test_two_entries_and_a_failure(status: int) -> None:
    """MW-07a: the invalidate result tells what has happened to the key; it stays invalid."""
    model = engine(two=True)
    done = given(model, True, status)
    first = Cqe(CONTEXT, QP_CONTEXT, 0, WINDOW + NEXT, INVALIDATE, A)
    assert done.cqes == (first, Cqe(7, QP_CONTEXT, 0, 0, RECEIVE, A, status, 1))
    assert (done.status, done.given_back) == (status, 0)
    assert not model.table.is_valid(WINDOW + NEXT)


@pytest.mark.parametrize("status", [0, 1, 9])
@pytest.mark.parametrize("token", [0, WINDOW, 0xDEAD_BEEF, WINDOW + NEXT])
@pytest.mark.parametrize("two", [False, True])
def test_not_guarded(two: bool, token: int, status: int) -> None:
    """Every token is carried, none looked at: the window of another queue pair stays valid."""
    model = engine(two=two, guarded=False)
    key = bound(model, B)
    post_buffer(model)
    answer = arrive(model, A, token, solicited=True)
    assert (answer.code, answer.key) == (SCATTER, None)
    assert not model.receive.rqs[A].length_pending
    done = finish(model, answer.tag, status)
    nbytes = 0 if status else 8
    if two:
        first = Cqe(0, QP_CONTEXT, 0, token, INVALIDATE, A)
        assert done.cqes == (first, Cqe(7, QP_CONTEXT, nbytes, 0, RECEIVE, A, status, 1))
    else:
        assert done.cqes == (Cqe(7, QP_CONTEXT, nbytes, token, BOTH, A, status, 1),)
    assert done.given_back == 0
    assert model.table.is_valid(key)
    assert model.table.invalidated == 0


@pytest.mark.parametrize("two", [False, True])
def test_not_guarded_and_too_long(two: bool) -> None:
    model = engine(two=two, guarded=False)
    post_buffer(model)
    answer = arrive(model, A, 0x1234, length=17)
    assert answer.code == LENGTH_ERROR
    done = finish(model, answer.tag)
    assert (done.status, done.first, done.given_back) == (3, None, int(two))
    assert (done.cqe.type, done.cqe.token) == ((RECEIVE, 0) if two else (BOTH, 0x1234))


def test_other_completions_give_one_credit_back() -> None:
    """One entry with plain messages, bad tokens, messages that are too long, flushed buffers."""
    model = engine(two=True)
    for _ in range(4):
        post_buffer(model)
    plain = model.receive.request_beat(RecvRequest(A, 8).encode()).answer
    bad, long = arrive(model, A, 0x1234), arrive(model, A, 0x1234, length=17)
    settle(model, A)
    assert plain is not None
    got = [finish(model, answer.tag) for answer in (plain, bad, long)]
    model.receive.rqs[A].flush_take()
    got.append(model.receive.complete(A))
    assert [d.status for d in got] == [0, INVALID, 3, 1]
    assert [(d.cqe.type, d.cqe.token, d.first, d.given_back) for d in got] == [
        (RECEIVE, 0, None, 1)
    ] * 4


def test_the_context_is_that_of_the_take() -> None:
    """MW-08: the window may be closed, and its number used again, before the completion."""
    model = engine(two=True)
    key = bound(model)
    post_buffer(model)
    answer = arrive(model, A, key)
    model.command(Command.CLOSE_MW, make_window_args(0))
    model.command(Command.CREATE_MW, make_window_args(0, ZONE, 1))
    done = finish(model, answer.tag)
    assert done.first is not None
    assert (done.first.request_context, done.first.token) == (CONTEXT, key)


def polled(entries: Sequence[Cqe], extended: bool) -> list[NdResult] | list[NdResultEx]:
    """The completions, through an engine with two credits, a memory and a poll."""
    cqs = small_engine(log2=2)
    assert cqs.reserve(0, len(entries))
    memory = bytearray(4096)
    ring = cqs.producers[0].ring
    for cqe in entries:
        cqs.complete(0, cqe.pack())
        entry = cqs.memory_write(0)
        offset = entry.address - ring.base
        memory[offset : offset + 32] = entry.data
        cqs.acknowledge(0)
    reader = RingReader(lambda a, n: bytes(memory[a - ring.base : a - ring.base + n]), ring.base, 2)
    return reader.get_results_ex(4) if extended else reader.get_results(4)


def test_plain_and_extended_poll() -> None:
    """CQ-02, CQ-04: the plain poll gets the entry, without type and token; Ex shows both."""
    one = given(engine()).cqes
    assert polled(one, False) == [NdResult(0, 8, QP_CONTEXT, 7)]
    assert polled(one, True) == [NdResultEx(0, 8, QP_CONTEXT, 7, type=0x8001, token=0x2800)]
    two = given(engine(two=True)).cqes
    assert polled(two, False) == [
        NdResult(0, 0, QP_CONTEXT, CONTEXT),
        NdResult(0, 8, QP_CONTEXT, 7),
    ]
    assert polled(two, True) == [
        NdResultEx(0, 0, QP_CONTEXT, CONTEXT, type=0x0010, token=0x2800),
        NdResultEx(0, 8, QP_CONTEXT, 7, type=0x0001, token=0),
    ]


def test_two_credits_or_none() -> None:
    """CQ-17: a ring of four entries has room for two such receives."""
    for two, wanted in ((False, 4), (True, 2)):
        cqs, model = small_engine(log2=2), engine(two=two)
        assert sum(cqs.reserve(0, model.receive.rqs[A].credits) for _ in range(5)) == wanted


@pytest.mark.parametrize("two", [False, True])
@pytest.mark.parametrize("guarded", [False, True])
def test_the_mode_bits(two: bool, guarded: bool) -> None:
    """ARG7[17] and ARG7[18], with windows only; each of them is of one life."""
    config = RecvConfig(ZONE, 4, two=two, guarded=guarded)
    assert config.words == (ZONE | 4 << 16, two << 17 | guarded << 18)
    model = engine()
    create(model, 3, RecvConfig(ZONE, 4, two=not two, guarded=not guarded))
    assert model.command(0x26, make_window_args(3)).result == 0
    create(model, 3, config)
    assert model.receive.rqs[3].config == config
    assert model.posting.qps[3].guarded is guarded
    assert model.command(0x25, make_window_args(3)).out[6:] == config.words
    for bit in range(32):
        words = (0, 0, 0, 0, 0, 0, 0, 1 << bit | 1 << 16)
        reserved = 19 <= bit <= 23 or bit >= 29
        args = type(make_window_args())(words)
        assert model.command(0x20, args).result == (0x41 if reserved else 0x44)
    plain = ReceiveModel(SMALL)
    for bit in (17, 18):
        args = type(make_window_args())((0, 0, 0, 0, 0, 0, 0, 1 << bit))
        assert plain.command(0x20, args).result == 0x41
    with pytest.raises(ModelError):
        plain.rqs[0].create(RecvConfig(guarded=True))


# -- after the take --------------------------------------------------------------------------------


def test_tokens_decided_after_the_take() -> None:
    """A bench that follows the trace: lane 5, then lane 8, then the answer."""
    model = engine()
    key = bound(model)
    rq = model.receive.rqs[A]
    rq.defers = True
    for _ in range(4):
        post_buffer(model)
    answers = [arrive(model, A, key) for _ in range(2)]
    assert [a.code for a in answers] == [SCATTER] * 2
    assert model.table.is_valid(key)
    model.receive.done_beat(pack_rdone(A, answers[0].tag))
    with pytest.raises(ModelError):
        model.receive.complete(A)
    with pytest.raises(ModelError):
        rq.decide(answers[0], model.table.invalidate(B, key, By.PEER))
    step = model.table.invalidate(A, key, By.PEER)
    assert rq.decide(answers[0], step).code == SCATTER
    assert rq.decide(answers[1]).code == BAD_TOKEN
    with pytest.raises(ModelError):
        rq.decide(answers[1], step)
    plain = model.receive.request_beat(RecvRequest(A, 8).encode()).answer
    assert plain is not None
    assert rq.decide(plain) == plain
    assert model.receive.complete(A).status == 0


def test_states() -> None:
    """Only a connection invalidates."""
    for state in QpState:
        model = engine(shared=True)
        key = bound(model, B if state in (QpState.FREE, QpState.DESTROYING) else A)
        post_buffer(model)
        if state is not QpState.CONNECTED:
            reach(model.receive, A, state)
        good = state in (QpState.CONNECTED, QpState.DISCONNECT_PENDING)
        assert arrive(model, A, key).code == (SCATTER if good else REFUSED)
        assert model.table.is_valid(key) is not good
