# SPDX-License-Identifier: Apache-2.0
"""One check per rule of posting: it holds with the rule, and fails without it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from models.codes import Cause, LogCause, ModelError, PostFlag, QpState
from models.tests.broken.parts import WHOLE, Parts
from models.tests.broken.post import BROKEN
from models.tests.post.posting_helpers import (
    BAD,
    connected,
    deferred,
    finish,
    request,
    small_model,
    write,
)

CHECKS: dict[str, Callable[[Parts], None]] = {}


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
    qp = connected(parts)
    assert qp.post(request(), credit=False).cause is Cause.NO_CREDIT
    assert qp.tail == 0


@check("DF-01")
def _watermark_and_age(parts: Parts) -> None:
    qp = connected(parts, watermark=3, age=2)
    for number in range(2):
        assert not qp.post(deferred(), now=number).released
    assert qp.post(deferred()).released == range(3)
    qp.post(deferred(), now=100)
    assert qp.age(100 + 2 * 8 + 1) == range(3, 4)


@check("DF-02")
def _a_failed_post_never_completes(parts: Parts) -> None:
    qp = connected(parts)
    assert qp.post(BAD).number is None
    assert finish(qp) == []


@check("DF-03")
def _exactly_one_completion(parts: Parts) -> None:
    for flags in (0, PostFlag.SILENT_SUCCESS):
        for status in (0, 2):
            qp = connected(parts)
            qp.post(request("Send", flags))
            qp.report(qp.indicate().tag, status)
            assert qp.retire().silent is (bool(flags) and status == 0)
            assert not qp.retirable


@check("DF-04")
def _any_inline_failure_releases(parts: Parts) -> None:
    for flags in (0, PostFlag.DEFER):
        for post, faults in (
            (request("Send", flags | PostFlag.RDMA_READ_SINK), {}),
            (request("Send", flags, reserved=1), {}),
            (request("Send", flags), {"credit": False}),
            (request("Send", flags), {"cq_error": True}),
        ):
            qp = connected(parts)
            qp.post(deferred())
            qp.post(deferred())
            assert qp.post(post, **faults).released == range(2)
            assert qp.held == 0
            assert [qp.indicate().last for _ in range(2)] == [False, True]


@check("DF-06")
def _one_batch(parts: Parts) -> None:
    qp = connected(parts)
    qp.post(deferred())
    qp.post(deferred())
    assert qp.next_indication() is None
    assert qp.post(request()).released == range(3)
    assert [qp.indicate().last for _ in range(3)] == [False, False, True]


@check("DF-07")
def _the_sources_example(parts: Parts) -> None:
    """The example of the source, step by step."""
    qp = connected(parts, depth=8)
    # 1. The first fast register is posted with DEFER and succeeds.
    first = qp.post(deferred("FastRegister"))
    assert first.cause is Cause.OK
    assert qp.next_indication() is None
    # 2. The second one, with DEFER, too, fails inline. The consumer posts no Send.
    second = qp.post(deferred("FastRegister"), credit=False)
    assert second.cause is Cause.NO_CREDIT
    # 3. With that failure everything not indicated before is indicated.
    assert second.released == range(1)
    beat = qp.indicate()
    assert (beat.number, beat.last) == (0, True)
    # 4. The first one succeeded: it completes.
    done = qp.retire()
    assert (done.number, done.status, done.silent, done.cqe.type) == (0, 0, False, 4)
    # 5. The second one failed inline: it does not.
    assert qp.outstanding == 0
    assert qp.next_indication() is None


@check("DF-08")
def _a_full_queue_of_held_requests(parts: Parts) -> None:
    qp = connected(parts, depth=4)
    for _ in range(4):
        assert qp.post(deferred()).cause is Cause.OK
    assert qp.next_indication() is None
    full = qp.post(deferred())
    assert full.cause is Cause.QUEUE_FULL
    assert full.released == range(4)
    assert finish(qp) == [0] * 4


@check("DF-09")
def _post_order_each_once(parts: Parts) -> None:
    qp = connected(parts)
    qp.post(request())
    first = qp.indicate()
    qp.post(deferred())
    qp.post(request())
    beats = [first, qp.indicate(), qp.indicate()]
    assert [beat.number for beat in beats] == [0, 1, 2]
    assert qp.next_indication() is None


@check("DF-10")
def _a_receive_post_fails_alone(parts: Parts) -> None:
    model = small_model(parts)
    assert write(model, deferred()).cause is Cause.OK
    before = model.qps[0].trace_state()
    for offset in (0x40, 0x80):
        assert write(model, request(), offset=offset).cause is Cause.BAD_OFFSET
        assert model.qps[0].trace_state() == before


@check("DF-11")
def _held_requests_are_canceled(parts: Parts) -> None:
    for end in ("flush", "disconnect", "conn", "pending"):
        qp = connected(parts)
        qp.post(deferred())
        qp.post(deferred("Bind", PostFlag.SILENT_SUCCESS))
        if end == "flush":
            qp.flush()
        elif end == "conn":
            qp.disconnected()
        else:
            qp.set_state(QpState.DISCONNECTED if end == "disconnect" else 3)
        assert qp.next_indication() is None
        for _ in range(2):
            done = qp.retire()
            assert (done.status, done.skipped, done.silent) == (1, True, False)
        assert qp.outstanding == 0


@check("DF-12")
def _completions_in_post_order(parts: Parts) -> None:
    qp = connected(parts)
    qp.post(request("Send"))
    qp.post(request("FastRegister"))
    tag = qp.indicate().tag
    qp.indicate()
    try:
        assert qp.retire().number == 0
    except ModelError as error:
        assert "DF-12" in str(error)
    qp.report(tag, 0)
    assert [qp.retire().number for _ in range(2)] == [0, 1]


@check("DF-13")
def _the_fence_waits_for_reads(parts: Parts) -> None:
    for name in ("Send", "FastRegister"):
        qp = connected(parts)
        qp.post(request("Read"))
        qp.post(request(name, PostFlag.READ_FENCE))
        tag = qp.indicate().tag
        assert qp.next_indication() is None
        qp.report(tag, 0)
        assert qp.next_indication() is None
        with pytest.raises(ModelError, match="DF-13"):
            qp.indicate()
        qp.retire()
        assert qp.indicate().number == 1


@check("DF-14")
def _the_first_cause_is_named(parts: Parts) -> None:
    qp = connected(parts)
    # Precedence is that of the table: NOT_OWNER (9) comes before RESERVED_BITS (5).
    assert qp.check(request(reserved=1), 2) is Cause.NOT_OWNER


@check("DF-15")
def _a_failure_ends_the_connection(parts: Parts) -> None:
    qp = connected(parts)
    for _ in range(4):
        qp.post(request())
    tags = [qp.indicate().tag for _ in range(3)]
    qp.report(tags[0], 0)
    log, step = qp.report(tags[1], 7)
    assert log is LogCause.OK
    assert step is not None
    assert (step.new, step.term) == (QpState.ERROR, True)
    assert qp.post(request()).cause is Cause.NOT_CONNECTED
    qp.report(tags[2], 0)
    assert [qp.retire().status for _ in range(4)] == [0, 7, 1, 1]


@check("ISO-01")
def _another_page(parts: Parts) -> None:
    model = small_model(parts)
    write(model, deferred())
    before = model.qps[0].trace_state()
    for post in (request(), deferred(), BAD):
        assert write(model, post, page=2).cause is Cause.NOT_OWNER
        assert model.qps[0].trace_state() == before


@check("ISO-02")
def _reserved_bits(parts: Parts) -> None:
    qp = connected(parts)
    for bit in range(8):
        assert qp.post(request(reserved=1 << bit)).cause is Cause.RESERVED_BITS


@check("ISO-03")
def _reports_out_of_order(parts: Parts) -> None:
    qp = connected(parts)
    assert qp.report(0, 0) == (LogCause.DONE_UNEXPECTED, None)
    qp.post(request())
    qp.post(request())
    tags = [qp.indicate().tag for _ in range(2)]
    assert qp.report(tags[1], 0) == (LogCause.DONE_UNEXPECTED, None)
    assert not qp.retirable
    assert qp.report(tags[0], 0) == (LogCause.OK, None)
    assert qp.report(tags[0], 0) == (LogCause.DONE_UNEXPECTED, None)
