# SPDX-License-Identifier: Apache-2.0
"""One check per rule: it holds with the rule, and fails without it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from models.arm.arm import Callback
from models.codes import ArmType, Cause, CqStatus, ModelError, ResultType
from models.cq.entries import Cqe
from models.cq.queue import NdResult, Ring, RingReader
from models.tests.broken import arm as arm_variants
from models.tests.broken import cq as cq_variants
from models.tests.broken import host as host_variants
from models.tests.broken.parts import WHOLE, Parts
from models.tests.helpers import (
    PLAIN,
    SOL,
    arm,
    beat,
    finish,
    fresh,
    poll,
    put,
    ring_bell,
    small_engine,
)

ANY, ERRORS, SOLICITED = ArmType.ANY, ArmType.ERRORS, ArmType.SOLICITED
BROKEN = {**cq_variants.BROKEN, **arm_variants.BROKEN, **host_variants.BROKEN}
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


def reader_of(cqes: list[Cqe], parts: Parts) -> RingReader:
    ring = Ring(0x1000, 2)
    memory = {ring.address(i): cqe.pack(ring.phase(i)) for i, cqe in enumerate(cqes)}
    return parts.reader(lambda addr, n: memory.get(addr, bytes(n)), ring.base, ring.log2)


@check("CQ-02")
def _plain_poll_returns_receive_and_invalidate(parts: Parts) -> None:
    cqe = Cqe(1, 2, 3, token=4, type=ResultType.RECEIVE_AND_INVALIDATE)
    assert reader_of([cqe], parts).get_results(8) == [NdResult(0, 3, 2, 1)]


@check("CQ-04")
def _only_the_extended_poll_shows_type_and_token(parts: Parts) -> None:
    cqe = Cqe(token=0xFEDC_BA98, type=ResultType.RECEIVE_AND_INVALIDATE)
    (ex,) = reader_of([cqe], parts).get_results_ex(8)
    assert (ex.type, ex.token) == (0x8001, 0xFEDC_BA98)
    (plain,) = reader_of([cqe], parts).get_results(8)
    assert not hasattr(plain, "type")
    assert not hasattr(plain, "token")


@check("CQ-06")
def _no_callback_without_an_arm(parts: Parts) -> None:
    cq = fresh(parts)
    assert put(cq, PLAIN, SOL) == []
    assert len(arm(cq)) == 1
    finish(cq)
    assert put(cq, SOL) == []


@check("CQ-07")
def _an_arm_inside_the_callback_survives_its_return(parts: Parts) -> None:
    cq = fresh(parts)
    arm(cq)
    assert len(put(cq, PLAIN)) == 1
    arm(cq, polled=1)
    assert finish(cq) == []
    assert len(put(cq, PLAIN)) == 1


@check("CQ-08")
def _every_completion_is_judged(parts: Parts) -> None:
    cq = fresh(parts)
    arm(cq, SOLICITED)
    assert put(cq, PLAIN) == []
    assert len(put(cq, SOL)) == 1


@check("CQ-09")
def _a_new_completion_satisfies_at_once(parts: Parts) -> None:
    for arm_type in ArmType:
        cq = fresh(parts)
        put(cq, PLAIN)
        assert arm(cq, arm_type) == [Callback(CqStatus.OK, 1)]


@check("CQ-10")
def _old_completions_satisfy_only_with_the_bit(parts: Parts) -> None:
    for rearm in (False, True):
        cq = fresh(parts, rearm=rearm)
        put(cq, PLAIN)
        arm(cq)
        finish(cq)
        assert bool(arm(cq)) == rearm


@check("CQ-10a")
def _an_arm_of_an_empty_queue_does_nothing(parts: Parts) -> None:
    cq = fresh(parts)
    put(cq, PLAIN)
    assert arm(cq, polled=1) == []


@check("CQ-11")
def _callbacks_do_not_overlap(parts: Parts) -> None:
    cq = fresh(parts)
    arm(cq)
    put(cq, PLAIN)
    assert arm(cq) == []
    assert put(cq, PLAIN) == []


@check("CQ-11a")
def _the_arm_is_set_while_the_callback_waits(parts: Parts) -> None:
    cq = fresh(parts)
    arm(cq)
    put(cq, PLAIN)
    arm(cq)
    put(cq, PLAIN)
    assert cq.due
    assert cq.arm is ANY
    assert put(cq, PLAIN) == []
    assert finish(cq) == [Callback(CqStatus.OK, 3)]
    assert cq.arm is None


@check("CQ-12")
def _arms_merge_to_the_stronger_type(parts: Parts) -> None:
    cq = fresh(parts)
    arm(cq, ANY)
    arm(cq, SOLICITED)
    assert len(put(cq, PLAIN)) == 1


@check("CQ-13")
def _an_arm_starts_from_nothing(parts: Parts) -> None:
    cq = fresh(parts)
    arm(cq, ANY)
    put(cq, PLAIN)
    finish(cq)
    arm(cq, SOLICITED, polled=1)
    assert put(cq, PLAIN) == []


@check("CQ-14")
def _a_merging_arm_is_evaluated(parts: Parts) -> None:
    for typed in (False, True):
        cq = fresh(parts, typed=typed)
        arm(cq, SOLICITED)
        assert put(cq, PLAIN) == []
        assert len(arm(cq, ANY)) == 1


@check("CQ-15")
def _nothing_is_published_before_its_acknowledgement(parts: Parts) -> None:
    engine = small_engine(parts, reservation=False)
    engine.complete(0, Cqe().pack())
    engine.memory_write(0)
    try:
        engine.publish(0, 1)
    except ModelError:
        return
    raise AssertionError("published without an acknowledgement")


@check("CQ-16")
def _a_deferred_callback_is_not_lost(parts: Parts) -> None:
    cq = fresh(parts)
    arm(cq)
    put(cq, PLAIN)
    arm(cq)
    put(cq, PLAIN)
    assert poll(cq, 2) == []
    assert cq.callback_return().calls == []  # the event entry is still under way
    assert cq.event_done().calls == [Callback(CqStatus.OK, 2)]
    assert finish(cq) == []


@check("CQ-17")
def _overflow(parts: Parts) -> None:
    producer = parts.producer()
    producer.start(Ring(0, 1))
    assert [producer.reserve(1, 0) for _ in range(3)] == [True, True, False]
    for arm_type in ArmType:
        cq = fresh(parts)
        arm(cq, arm_type)
        calls = cq.cq_error(CqStatus.BUFFER_OVERFLOW).calls
        assert calls == [Callback(CqStatus.BUFFER_OVERFLOW, 0)]


@check("CQ-18")
def _failed_write(parts: Parts) -> None:
    for arm_type in ArmType:
        cq = fresh(parts)
        arm(cq, arm_type)
        calls = cq.cq_error(CqStatus.INTERNAL_ERROR).calls
        assert calls == [Callback(CqStatus.INTERNAL_ERROR, 0)]
        assert not cq.publishing


@check("CQ-19")
def _too_small_a_ring_is_refused(parts: Parts) -> None:
    producer = parts.producer()
    producer.start(Ring(0, 2), reservation=False)
    for _ in range(3):
        producer.place(Cqe().pack(), 0)
    assert producer.too_small(1, 0)
    assert not producer.too_small(1, 1)


@check("CQ-20")
def _destroy_ends_everything(parts: Parts) -> None:
    cq = fresh(parts)
    arm(cq)
    put(cq, PLAIN)
    arm(cq)
    put(cq, PLAIN)
    cq.destroy()
    assert finish(cq) == []
    cq.destroy()
    cq.create(cq.config)
    assert put(cq, SOL) == []
    assert (cq.prod, cq.cons, cq.snap) == (1, 0, 0)


@check("CQ-21")
def _moderation_delays(parts: Parts) -> None:
    cq = fresh(parts, mod_count=3, mod_interval=0xFFFF)
    arm(cq)
    assert put(cq, PLAIN) == []
    assert put(cq, PLAIN, PLAIN) == [Callback(CqStatus.OK, 3)]


@check("CQ-22")
def _consumer_index(parts: Parts) -> None:
    cq = fresh(parts)
    cq.wrote(1)
    assert cq.doorbell(1, ANY).cause is Cause.OK
    assert cq.publish([SOL]).calls == []
    assert cq.doorbell(2, ANY).cause is Cause.BAD_INDEX
    assert cq.doorbell(0, ANY).cause is Cause.BAD_INDEX


@check("ISO-01")
def _other_pages_are_refused(parts: Parts) -> None:
    engine = small_engine(parts)
    before = engine.trace_state(0)
    assert engine.write(*ring_bell(0, 0, ANY, page=2)).cause is Cause.NOT_OWNER
    assert engine.trace_state(0) == before


@check("ISO-02")
def _reserved_bits_are_refused(parts: Parts) -> None:
    engine = small_engine(parts)
    for bit in (*range(6, 32), *range(52, 63)):
        assert engine.write(*beat(0x100, 1 << bit)).cause is Cause.RESERVED_BITS
    for code in range(1, 16):
        assert engine.write(*beat(0x100, code << 48)).cause is Cause.RESERVED_BITS
