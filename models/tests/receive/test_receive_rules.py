# SPDX-License-Identifier: Apache-2.0
"""One check per rule of receiving: it holds with the rule, and fails without it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from models.arm.arm import CqConfig
from models.codes import (
    ArmType,
    Cause,
    CommandResult,
    LogCause,
    ModelError,
    PostFlag,
    QpState,
    RecvFlag,
    ScatterCode,
)
from models.receive.receive_types import RecvRequest
from models.tests.broken.parts import WHOLE, Parts
from models.tests.broken.receive import BROKEN
from models.tests.post.posting_helpers import request
from models.tests.receive.receive_helpers import (
    CONTEXT,
    FIRST,
    OWN,
    SECOND,
    buffer,
    contexts,
    finish,
    post,
    reach,
    reap,
    receiving,
    take,
)

CHECKS: dict[str, Callable[[Parts], None]] = {}
NOT_READY, REFUSED = ScatterCode.NOT_READY, ScatterCode.REFUSED


def check(rule: str) -> Callable[[Callable[[Parts], None]], Callable[[Parts], None]]:
    """Registers a check of a rule; it takes the classes to check."""

    def register(function: Callable[[Parts], None]) -> Callable[[Parts], None]:
        assert rule not in CHECKS
        CHECKS[rule] = function
        return function

    return register


@pytest.mark.parametrize("rule", BROKEN)
def test_rule_holds(rule: str) -> None:
    CHECKS[rule](WHOLE)


@pytest.mark.parametrize("rule", BROKEN)
def test_check_fails_without_the_rule(rule: str) -> None:
    with pytest.raises((AssertionError, ModelError)):
        CHECKS[rule](BROKEN[rule])


@check("CQ-17")
def _no_credit(parts: Parts) -> None:
    model = receiving(parts)
    assert post(model, buffer(), own=True, credit=False).cause is Cause.NO_CREDIT
    assert post(model, buffer()).cause is Cause.OK
    assert take(model, FIRST, credit=False).code is NOT_READY
    assert model.srqs[0].available == 1


@check("DF-10")
def _a_receive_post_fails_alone(parts: Parts) -> None:
    model = receiving(parts)
    qp = model.posting.qps[OWN]
    qp.post(request(flags=PostFlag.DEFER))
    before = qp.trace_state()
    for own in (True, False):
        assert post(model, buffer(1, key=0), own=own).cause is Cause.BAD_REGION
        assert post(model, buffer(), own=own, page=2).cause is Cause.NOT_OWNER
    assert qp.trace_state() == before


@check("DF-12")
def _receives_complete_in_message_order(parts: Parts) -> None:
    model = receiving(parts)
    for context in range(3):
        post(model, buffer(context=context))
        take(model, FIRST)
    assert contexts(finish(model, FIRST)) == [0, 1, 2]


@check("ISO-01")
def _another_page(parts: Parts) -> None:
    for own in (True, False):
        model = receiving(parts)
        before = model.srqs[0].trace_state(), model.rqs[OWN].trace_state(6)
        assert post(model, buffer(), own=own, page=2).cause is Cause.NOT_OWNER
        assert (model.srqs[0].trace_state(), model.rqs[OWN].trace_state(6)) == before
    assert reap(model, 0, page=2) is Cause.NOT_OWNER


@check("ISO-02")
def _reserved_bits(parts: Parts) -> None:
    model = receiving(parts)
    bad = buffer().encode() | 1
    result = model.write(0x1080, 0, 6, (1 << 64) - 1, bad)
    assert result is not None
    assert result.cause is Cause.RESERVED_BITS
    assert model.reap(0x1110, 0, 3, 0xFF << 16, 1 << 128 + 16) is Cause.RESERVED_BITS


@check("ISO-03")
def _reports_out_of_order(parts: Parts) -> None:
    model = receiving(parts)
    rq = model.rqs[FIRST]
    for _ in range(2):
        post(model, buffer())
    tags = [take(model, FIRST).tag for _ in range(2)]
    assert rq.report(tags[1], 0) == (LogCause.RDONE_UNEXPECTED, None)
    assert not rq.completable
    assert rq.report(tags[0], 0) == (LogCause.OK, None)
    assert rq.report(tags[0], 0) == (LogCause.RDONE_UNEXPECTED, None)


@check("SRQ-01")
def _a_buffer_for_nothing(parts: Parts) -> None:
    model = receiving(parts)
    assert post(model, buffer()).cause is Cause.OK
    assert take(model, FIRST, 0).code is ScatterCode.SCATTER
    assert [c.cqe.nbytes for c in finish(model, FIRST)] == [0]


@check("SRQ-02")
def _any_queue_pair_takes(parts: Parts) -> None:
    model = receiving(parts)
    for _ in range(2):
        post(model, buffer())
    assert take(model, FIRST).code is ScatterCode.SCATTER
    assert take(model, SECOND).code is ScatterCode.SCATTER


@check("SRQ-03")
def _front_segments_first(parts: Parts) -> None:
    for length, filled in ((0, (0, 0, 0)), (4, (4, 0, 0)), (5, (4, 0, 1)), (12, (4, 0, 8))):
        model = receiving(parts)
        post(model, buffer(4, 0, 8))
        assert take(model, FIRST, length).filled == filled


@check("SRQ-04")
def _the_cookie_comes_back(parts: Parts) -> None:
    model = receiving(parts)
    cookies = [CONTEXT, CONTEXT, 0, (1 << 64) - 1]
    for cookie in cookies:
        post(model, buffer(context=cookie))
        take(model, FIRST)
    assert contexts(finish(model, FIRST)) == cookies


@check("SRQ-05")
def _the_receive_cq_of_who_took(parts: Parts) -> None:
    model = receiving(parts)
    post(model, buffer())
    post(model, buffer())
    for qp in (SECOND, FIRST):
        take(model, qp)
        (done,) = finish(model, qp)
        assert (done.cq, done.cqe.qp) == (3, qp)


@check("SRQ-06")
def _every_posted_receive_completes(parts: Parts) -> None:
    model = receiving(parts)
    for context in range(3):
        post(model, buffer(context=context), own=True)
    reach(model, OWN, QpState.ERROR)
    assert contexts(finish(model, OWN)) == [0, 1, 2]


@check("SRQ-07")
def _a_quiet_completion_wakes_nobody(parts: Parts) -> None:
    model = receiving(parts, flag=RecvFlag.SOLICITED_WAIT)
    post(model, buffer())
    take(model, FIRST)
    (done,) = finish(model, FIRST)
    for arm in ArmType:
        cq = parts.cq()
        cq.create(CqConfig(entries=4))
        cq.doorbell(0, arm)
        cq.wrote(1)
        assert cq.publish([done.cqe.solicited_class], [done.cqe.unsignalled]).calls == []
        assert cq.present == 1


@check("SRQ-10")
def _the_flush_waits_for_what_was_taken(parts: Parts) -> None:
    model = receiving(parts)
    for context in range(2):
        post(model, buffer(context=context), own=True)
    tag = take(model, OWN).tag
    reach(model, OWN, QpState.DISCONNECTED)
    rq = model.rqs[OWN]
    assert not rq.flushable
    rq.report(tag, 0)
    assert contexts(finish(model, OWN)) == [0, 1]


@check("SRQ-12")
def _a_post_is_always_valid(parts: Parts) -> None:
    model = receiving(parts)
    assert model.srqs[0].watermark(1).event
    assert post(model, buffer()).cause is Cause.OK


@check("SRQ-13")
def _only_open_connections_take(parts: Parts) -> None:
    for state in (QpState.IDLE, QpState.DISCONNECTED, QpState.ERROR, QpState.DESTROYING):
        model = receiving(parts)
        post(model, buffer())
        reach(model, FIRST, state)
        assert take(model, FIRST).code is REFUSED


@check("SRQ-14")
def _shared_buffers_stay(parts: Parts) -> None:
    model = receiving(parts)
    for context in range(2):
        post(model, buffer(context=context))
    take(model, FIRST)
    reach(model, FIRST, QpState.DISCONNECTED)
    assert contexts(finish(model, FIRST)) == [0]
    assert model.srqs[0].available == 1


@check("SRQ-15")
def _the_first_cause_is_named(parts: Parts) -> None:
    model = receiving(parts)
    # Precedence is that of the table: BAD_REGION (0x1A) comes before QUEUE_FULL (0x14).
    for _ in range(4):
        post(model, buffer())
    assert post(model, buffer(1, key=0)).cause is Cause.BAD_REGION


@check("SRQ-16")
def _one_event(parts: Parts) -> None:
    model = receiving(parts)
    srq = model.srqs[0]
    for _ in range(3):
        post(model, buffer())
    assert not srq.watermark(3).event
    assert [take(model, FIRST).event for _ in range(3)] == [True, False, False]
    assert not srq.armed


@check("SRQ-17")
def _no_resize_below_outstanding(parts: Parts) -> None:
    model = receiving(parts)
    srq = model.srqs[0]
    for _ in range(3):
        post(model, buffer())
    take(model, FIRST)
    finish(model, FIRST)
    assert srq.resize(2) is CommandResult.CMD_TOO_SMALL
    assert srq.config.size == 4
    reap(model, 1)
    assert srq.resize(2) is CommandResult.OK


@check("SRQ-18")
def _too_long(parts: Parts) -> None:
    model = receiving(parts)
    post(model, buffer(4))
    assert take(model, FIRST, 5).code is ScatterCode.LENGTH_ERROR
    step = model.rqs[FIRST].fail_length()
    assert step is not None
    assert step.new is QpState.ERROR
    assert [c.status for c in finish(model, FIRST)] == [3]
    answer = model.rqs[SECOND].take(RecvRequest(SECOND))
    assert (answer.code, answer.buffer) == (NOT_READY, None)


@check("SRQ-19")
def _own_queues_follow_the_same_rules(parts: Parts) -> None:
    for own in (True, False):
        model = receiving(parts)
        assert post(model, buffer(1, key=0x1001), own=own).cause is Cause.BAD_ZONE
        assert post(model, buffer(1, key=0x1002), own=own).cause is Cause.NO_LOCAL_WRITE
        assert post(model, buffer(0x1001), own=own).cause is Cause.BAD_RANGE
