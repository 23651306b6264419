# SPDX-License-Identifier: Apache-2.0
"""Shared receive queues: accounting, watermark, sharing, resize, life."""

from __future__ import annotations

import random

import pytest

from models.codes import Cause, Command, CommandResult, ModelError, QpState, ScatterCode
from models.post.qp_control import make_qp_args
from models.receive.receive_control import (
    make_srq_args,
)
from models.receive.receive_types import RecvConfig, RecvRequest, SrqConfig, WatermarkStep
from models.receive.srq import SrqModel
from models.tests.receive.receive_helpers import (
    FIRST,
    OWN,
    PAGE,
    SECOND,
    SMALL,
    ZONE,
    buffer,
    connect,
    contexts,
    create,
    finish,
    post,
    reach,
    reap,
    receiving,
    take,
)

OK = CommandResult.OK


# -- accounting (SRQ-17) -----------------------------------------------------------------------


def test_query_along_one_history() -> None:
    model = receiving()
    srq = model.srqs[0]

    def numbers() -> tuple[int, ...]:
        out = model.command(Command.QUERY_SRQ, make_srq_args(0)).out
        assert out[4:] == (4 | ZONE << 16, PAGE | 9 << 16, 0, 0)
        assert out[3] >> 16 == 2
        return (*(v for word in out[:3] for v in (word & 0xFFFF, word >> 16)), out[3] & 0xFFFF)

    # available, outstanding, tail, reaped, completed, T, armed and waiting
    assert numbers() == (0, 0, 0, 0, 0, 0, 0)
    for _ in range(3):
        post(model, buffer())
    assert numbers() == (3, 3, 3, 0, 0, 0, 0)
    take(model, FIRST)
    take(model, SECOND)
    assert numbers() == (1, 3, 3, 0, 0, 0, 0)
    assert srq.in_flight == 2
    model.rqs[SECOND].report(0, 0)
    assert numbers() == (1, 3, 3, 0, 0, 0, 0)
    model.complete(SECOND)
    assert numbers() == (1, 3, 3, 0, 1, 0, 0)
    assert reap(model, 1) is Cause.OK
    assert numbers() == (1, 2, 3, 1, 1, 0, 0)
    srq.watermark(1)
    assert numbers() == (1, 2, 3, 1, 1, 1, 1)
    take(model, FIRST)
    assert numbers() == (0, 2, 3, 1, 1, 1, 2)
    srq.interrupt()
    assert numbers() == (0, 2, 3, 1, 1, 1, 0)


def test_a_slot_is_free_when_its_completion_was_reaped() -> None:
    model = receiving()
    for _ in range(4):
        assert post(model, buffer()).cause is Cause.OK
    assert post(model, buffer()).cause is Cause.QUEUE_FULL
    take(model, FIRST)
    assert post(model, buffer()).cause is Cause.QUEUE_FULL
    finish(model, FIRST)
    assert post(model, buffer()).cause is Cause.QUEUE_FULL
    assert reap(model, 1) is Cause.OK
    srq = model.srqs[0]
    assert srq.post(buffer(), reaped_seen=0).cause is Cause.QUEUE_FULL
    assert srq.post(buffer(), reaped_seen=1).cause is Cause.OK
    with pytest.raises(ModelError, match="reaped is 0, between 1 and 1"):
        srq.post(buffer(), reaped_seen=0)


def test_resize() -> None:
    model = receiving()
    srq = model.srqs[0]
    for context in range(3):
        post(model, buffer(context=context))
    take(model, FIRST)
    results = {size: srq.check_resize(size).name for size in range(6)}
    small, bad = "CMD_TOO_SMALL", "CMD_BAD_SIZE"
    assert results == {0: bad, 1: small, 2: small, 3: "OK", 4: "OK", 5: bad}
    finish(model, FIRST)
    assert srq.check_resize(2) is CommandResult.CMD_TOO_SMALL
    reap(model, 1)
    assert model.command(Command.RESIZE_SRQ, make_srq_args(0, word=2)).result is OK
    assert post(model, buffer()).cause is Cause.QUEUE_FULL
    assert model.command(Command.RESIZE_SRQ, make_srq_args(0, word=4)).result is OK
    # The watermark's value counts, also when it is no longer armed.
    assert srq.watermark(3).event
    srq.interrupt()
    assert not srq.armed
    assert srq.check_resize(2) is CommandResult.CMD_TOO_SMALL
    assert srq.check_resize(3) is OK
    for number in range(2):
        take(model, SECOND)
        assert contexts(finish(model, SECOND)) == [1 + number]


# -- watermark (SRQ-16) ------------------------------------------------------------------------


@pytest.mark.parametrize("available", range(5))
@pytest.mark.parametrize("threshold", range(6))
def test_setting(available: int, threshold: int) -> None:
    """Every combination: the event at once, or never in this step."""
    model = receiving()
    for _ in range(available):
        post(model, buffer())
    reply = model.command(Command.SET_SRQ_WATERMARK, make_srq_args(0, word=threshold))
    srq = model.srqs[0]
    if threshold > 4:
        assert reply.result is CommandResult.CMD_BAD_SIZE
        assert (srq.threshold, srq.armed) == (0, False)
        with pytest.raises(ModelError, match="SRQ-16"):
            srq.watermark(threshold)
        return
    assert reply.result is OK
    event = available < threshold
    assert reply.watermark == WatermarkStep(threshold, event)
    assert (srq.threshold, srq.armed, srq.waiting) == (
        threshold,
        threshold > 0 and not event,
        event,
    )


@pytest.mark.parametrize("threshold", range(1, 5))
def test_the_event_comes_once(threshold: int) -> None:
    model = receiving()
    srq = model.srqs[0]
    for _ in range(4):
        post(model, buffer())
    assert not srq.watermark(threshold).event
    events = [take(model, qp).event for qp in (FIRST, SECOND, FIRST, SECOND)]
    assert events == [4 - n < threshold and 5 - n >= threshold for n in range(1, 5)]
    assert (srq.armed, srq.threshold) == (False, threshold)
    # Nothing more until T is set again, whatever is posted and taken.
    srq.interrupt()
    finish(model, FIRST)
    finish(model, SECOND)
    reap(model, 4)
    for _ in range(4):
        post(model, buffer())
        assert not take(model, FIRST).event
    with pytest.raises(ModelError):
        srq.interrupt()
    finish(model, FIRST)
    reap(model, 8)
    post(model, buffer())
    assert srq.watermark(1) == WatermarkStep(1, False)
    assert take(model, FIRST).event


def test_zero_changes_nothing() -> None:
    model = receiving()
    srq = model.srqs[0]
    post(model, buffer())
    post(model, buffer())
    srq.watermark(2)
    assert srq.watermark(0) == WatermarkStep(0, False)
    assert (srq.threshold, srq.armed) == (2, True)
    assert take(model, FIRST).event
    assert srq.watermark(0) == WatermarkStep(0, False)
    assert (srq.threshold, srq.armed, srq.waiting) == (2, False, True)


def test_posts_raise_the_number_available() -> None:
    model = receiving()
    srq = model.srqs[0]
    post(model, buffer())
    post(model, buffer())
    srq.watermark(2)
    post(model, buffer())
    assert not take(model, FIRST).event
    assert take(model, FIRST).event


def test_setting_again_replaces() -> None:
    model = receiving()
    srq = model.srqs[0]
    for _ in range(3):
        post(model, buffer())
    srq.watermark(3)
    srq.watermark(1)
    assert [take(model, FIRST).event for _ in range(3)] == [False, False, True]


def test_an_event_waits_for_the_interrupt_port() -> None:
    model = receiving()
    srq = model.srqs[0]
    assert srq.watermark(1).event
    for threshold, result in (
        (0, OK),
        (1, CommandResult.CMD_BUSY),
        (5, CommandResult.CMD_BAD_SIZE),
    ):
        args = make_srq_args(0, word=threshold)
        assert model.command(Command.SET_SRQ_WATERMARK, args).result is result
    assert srq.check_watermark(1, waiting=False) is OK
    # Posts and takes go on.
    assert post(model, buffer()).cause is Cause.OK
    assert take(model, FIRST).code is ScatterCode.SCATTER
    srq.interrupt()
    args = make_srq_args(0, word=1)
    assert srq.check_watermark(1, waiting=True) is CommandResult.CMD_BUSY
    assert model.command(Command.SET_SRQ_WATERMARK, args).watermark == WatermarkStep(1, True)


def test_what_a_step_does_not_know_yet() -> None:
    model = receiving()
    srq = model.srqs[0]
    for _ in range(3):
        post(model, buffer())
    assert not srq.watermark(2, tail_seen=2).event
    answer = model.rqs[FIRST].take(RecvRequest(FIRST), tail_seen=2)
    assert answer.event
    with pytest.raises(ModelError, match="tail is 1"):
        srq.watermark(0, tail_seen=1)


# -- sharing -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_sharing(seed: int) -> None:
    """Random histories: every buffer once, in post order of the takes, per QP in message order."""
    rng = random.Random(seed)
    model = receiving(size=4)
    srq, params = model.srqs[0], model.params
    posted = completed = 0
    taken: dict[int, list[int]] = {FIRST: [], SECOND: []}
    expect = 0
    for _ in range(6000):
        what, qp = rng.random(), rng.choice((FIRST, SECOND))
        rq = model.rqs[qp]
        if what < 0.3:
            good = srq.outstanding < 4
            assert (post(model, buffer(context=posted)).cause is Cause.OK) is good
            posted += good
        elif what < 0.55:
            credit = rng.random() < 0.9
            limit = rq.in_flight < 1 << params.rx_log2
            answer = take(model, qp, credit=credit)
            good = srq.exists and expect < posted and credit and limit
            assert (answer.code is ScatterCode.SCATTER) is good
            if good:
                taken[qp].append(expect)
                expect += 1
        elif what < 0.7 and rq.in_flight:
            rq.report(params.index(rq.reported), 0)
        elif what < 0.9 and rq.completable:
            assert model.complete(qp).cqe.request_context == taken[qp].pop(0)
            completed += 1
        elif what > 0.9:
            reap(model, params.index(srq.completed))
        assert srq.available == posted - expect
        assert srq.in_flight == len(taken[FIRST]) + len(taken[SECOND])
        assert srq.completed == completed
        assert srq.outstanding <= 4
    assert posted > 300


def test_one_queue_pair_may_be_empty_handed() -> None:
    """SRQ-02: whoever asks first takes; a queue pair that fails takes nothing from the others."""
    model = receiving()
    post(model, buffer(context=1))
    post(model, buffer(context=2))
    assert take(model, SECOND).code is ScatterCode.SCATTER
    reach(model, SECOND, QpState.ERROR)
    assert take(model, SECOND).code is ScatterCode.REFUSED
    assert take(model, FIRST).code is ScatterCode.SCATTER
    assert take(model, FIRST).code is ScatterCode.NOT_READY
    assert contexts(finish(model, SECOND, 1)) == [1]
    assert contexts(finish(model, FIRST)) == [2]


# -- life --------------------------------------------------------------------------------------


def test_destroy_gives_back() -> None:
    model = receiving()
    post(model, buffer(context=1))
    post(model, buffer(context=2))
    take(model, FIRST)
    args = make_srq_args(0)
    with pytest.raises(ModelError):
        model.srqs[0].destroy()
    for qp in (FIRST, SECOND):
        for waiting in (False, True):
            reply = model.command(Command.DESTROY_SRQ, args, waiting=waiting)
            assert reply.result is CommandResult.CMD_IN_USE
        finish(model, qp)
        assert model.command(Command.DESTROY_QP, make_qp_args(qp)).result is OK
    reply = model.command(Command.DESTROY_SRQ, args)
    assert reply.result is OK
    assert [b.post.context for b in reply.given_back] == [2]
    assert model.command(Command.DESTROY_SRQ, args).result is CommandResult.CMD_NO_OBJECT
    assert post(model, buffer()).cause is Cause.NO_SRQ
    assert reap(model, 1) is Cause.NO_SRQ


def test_it_is_empty_after_creation() -> None:
    for start in (None, 0, 7, 15):
        model = receiving()
        srq = model.srqs[0]
        post(model, buffer())
        srq.watermark(2)
        for qp in (FIRST, SECOND):
            reach(model, qp, QpState.FREE)
        busy = model.command(Command.DESTROY_SRQ, make_srq_args(0))
        assert busy.result is CommandResult.CMD_BUSY
        with pytest.raises(ModelError, match="SRQ-16"):
            srq.destroy()
        srq.interrupt()
        srq.destroy()
        args = make_srq_args(0, SrqConfig(2, ZONE, PAGE, 9))
        reply = model.command(Command.CREATE_SRQ, args, start=start)
        first = 1 if start is None else start
        assert reply.out[0] == first
        assert srq.query()[:4] == (0, first | first << 16, first, 0)
        create(model, FIRST, RecvConfig(ZONE, 0, 0))
        connect(model, FIRST)
        for number in range(20):
            assert post(model, buffer(context=number)).cause is Cause.OK
            take(model, FIRST)
            assert contexts(finish(model, FIRST)) == [number]
            assert reap(model, (first + number + 1) % 16) is Cause.OK
    with pytest.raises(ModelError):
        srq.create(SrqConfig())
    with pytest.raises(ModelError):
        SrqModel(1, SMALL).create(SrqConfig(), start=16)
    for step in (SrqModel(1).destroy, lambda: SrqModel(1).take(0), lambda: SrqModel(1).resize(1)):
        with pytest.raises(ModelError):
            step()


@pytest.mark.parametrize("what", ["unused", "armed", "waiting", "disarmed", "empty", "used"])
def test_a_post_is_valid_in_every_state(what: str) -> None:
    """SRQ-12."""
    model = receiving()
    srq = model.srqs[0]
    if what == "unused":
        for qp in (FIRST, SECOND):
            reach(model, qp, QpState.FREE)
    elif what == "used":
        post(model, buffer())
    elif what != "empty":
        post(model, buffer())
        srq.watermark(2 if what != "armed" else 1)
        srq.waiting = what == "waiting"
    assert post(model, buffer()).cause is Cause.OK


# -- lives and trace ----------------------------------------------------------------------------


def test_from_an_srq_to_an_own_queue() -> None:
    """Tags go on; the own queue starts where they are."""
    model = receiving()
    post(model, buffer())
    take(model, FIRST)
    finish(model, FIRST)
    reach(model, FIRST, QpState.FREE)
    create(model, FIRST, RecvConfig(ZONE, 4))
    connect(model, FIRST)
    for number in range(20):
        assert post(model, buffer(number=FIRST, context=number), own=True).cause is Cause.OK
        assert take(model, FIRST).tag == (1 + number) % 16
        assert contexts(finish(model, FIRST)) == [number]
    with pytest.raises(ModelError):
        model.rqs[OWN].create(RecvConfig(ZONE, 4, 0))


def test_trace_states() -> None:
    model = receiving()
    for _ in range(3):
        post(model, buffer())
        post(model, buffer(), own=True)
    model.srqs[0].watermark(2, tail_seen=3)
    take(model, FIRST)
    take(model, OWN)
    shared, own, srq = model.rqs[FIRST], model.rqs[OWN], model.srqs[0]
    assert shared.trace_state(5) == 1 | 1 << 16 | 3 << 32 | 2 << 64 | 1 << 80
    assert own.trace_state(5) == 1 | 3 << 32
    assert srq.trace_state(6) == 3 | 4 << 32
    assert own.trace_state(6) == 3 | 4 << 32
    finish(model, FIRST)
    finish(model, OWN)
    take(model, OWN)
    reap(model, 1)
    post(model, buffer())
    post(model, buffer(), own=True)
    assert own.trace_state(5) == 2 | 3 << 32 | 1 << 48
    assert srq.trace_state(6) == 4 | 1 << 16 | 4 << 32
    assert own.trace_state(6) == 4 | 1 << 16 | 4 << 32
    assert (shared.trace_state(7), own.trace_state(7)) == (1, 1)
