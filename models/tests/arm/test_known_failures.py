# SPDX-License-Identifier: Apache-2.0
"""Mistakes that notification engines are known to make, each as the sequence that shows it."""

from __future__ import annotations

import itertools

import pytest

from models.arm.arm import Callback, CqConfig, CqModel
from models.codes import ArmType, Cause, CqStatus
from models.tests.helpers import PLAIN, SOL, arm, finish, fresh, poll, put

ANY, ERRORS, SOLICITED = ArmType.ANY, ArmType.ERRORS, ArmType.SOLICITED
OK = CqStatus.OK


def test_arm_types_compared_as_integers() -> None:
    """SOLICITED has the larger code but is weaker than ANY (CQ-12)."""
    cq = fresh()
    arm(cq, ANY)
    arm(cq, SOLICITED)
    assert put(cq, PLAIN) == [Callback(OK, 1)]
    cq = fresh()
    arm(cq, SOLICITED)
    arm(cq, ERRORS)
    assert put(cq, PLAIN) == []
    assert put(cq, SOL) == [Callback(OK, 2)]


@pytest.mark.parametrize("count", [1, 2, 7])
def test_arm_cleared_by_every_completion(count: int) -> None:
    """A completion of another class leaves the arm alone (CQ-08)."""
    cq = fresh()
    arm(cq, SOLICITED)
    for _ in range(count):
        assert put(cq, PLAIN) == []
        assert cq.arm is SOLICITED
    assert len(put(cq, SOL)) == 1


def test_later_weaker_arm_downgrades() -> None:
    """Every pair: the second arm never makes the first one weaker (CQ-12)."""
    for first, second in itertools.product(ArmType, repeat=2):
        cq = fresh()
        arm(cq, first)
        arm(cq, second)
        assert bool(put(cq, PLAIN)) == (ANY in (first, second))
        cq = fresh()
        arm(cq, first)
        arm(cq, second)
        assert bool(put(cq, SOL)) == ((first, second) != (ERRORS, ERRORS))


def test_sticky_flag_on_an_empty_queue() -> None:
    """Completions came after the callback and were polled: nothing to call back for (CQ-10a)."""
    for rearm, typed in itertools.product((False, True), repeat=2):
        cq = fresh(rearm=rearm, typed=typed)
        arm(cq)
        assert len(put(cq, PLAIN)) == 1
        put(cq, PLAIN, SOL)
        finish(cq)
        assert poll(cq, 3) == []
        for arm_type in ArmType:
            assert arm(cq, arm_type) == []
        assert len(put(cq, PLAIN)) == 1


def test_recreated_queue_inherits_state() -> None:
    """CQ-20: arm, snap, indices, error and settings of the predecessor are gone."""
    cq = fresh(rearm=True)
    arm(cq)
    put(cq, SOL, SOL, SOL)
    finish(cq)
    arm(cq, ERRORS)
    cq.cq_error(CqStatus.BUFFER_OVERFLOW)
    finish(cq)
    cq.destroy()
    assert cq.doorbell(0, ANY).cause is Cause.NO_CQ
    cq.create(CqConfig(entries=4))
    assert put(cq, SOL) == []
    assert arm(cq, ERRORS) == [Callback(OK, 1)]
    finish(cq)
    assert arm(cq) == []


def test_poll_empty_then_completion_then_arm() -> None:
    """The race of every consumer: polled empty, a completion lands, then the arm (CQ-09)."""
    for arm_type in ArmType:
        cq = fresh()
        arm(cq)
        put(cq, PLAIN)
        finish(cq)
        poll(cq, 1)
        put(cq, PLAIN)
        assert arm(cq, arm_type) == [Callback(OK, 2)]


def test_the_same_race_inside_the_callback() -> None:
    """CQ-07, CQ-11: the callback that is owed comes when the running one returns."""
    cq = fresh()
    arm(cq)
    put(cq, PLAIN)
    poll(cq, 1)
    put(cq, PLAIN)
    assert arm(cq) == []
    assert finish(cq) == [Callback(OK, 2)]
    assert finish(cq) == []


def test_burst_of_which_only_the_first_notifies() -> None:
    """Two completions acknowledged by one answer: the second one counts, too (CQ-08)."""
    cq = fresh()
    arm(cq, SOLICITED)
    assert put(cq, PLAIN, SOL) == [Callback(OK, 2)]
    finish(cq)
    arm(cq, SOLICITED, polled=2)
    for _ in range(3):
        put(cq, PLAIN)
    assert put(cq, SOL) == [Callback(OK, 6)]


def test_burst_gives_one_callback() -> None:
    """CQ-06: once per arm, however many completions come."""
    cq = fresh()
    arm(cq)
    calls = [call for _ in range(6) for call in put(cq, SOL)]
    assert calls == [Callback(OK, 1)]
    assert finish(cq) == []


def test_repeated_arm_without_polling_across_index_wraps() -> None:
    """CQ-22: legal for ever; the same doorbell word again and again, then across every index."""
    cq = CqModel(index_bits=4)
    cq.create(CqConfig(entries=4))
    for lap in range(100):
        before = cq.cons
        for arm_type in (ANY, SOLICITED, ERRORS, ANY):
            step = cq.doorbell(cq.cons % 16, arm_type)
            assert step.cause is Cause.OK
            assert step.calls == []
        assert put(cq, PLAIN) == [Callback(OK, before + 1)], lap
        for _ in range(3):
            assert arm_no_poll(cq) == []  # old completion present
        assert finish(cq) == []
        poll16(cq, 1)


def arm_no_poll(cq: CqModel) -> list[Callback]:
    """The consumer arms with an unchanged index of 4 bits."""
    return cq.doorbell(cq.cons % 16, ANY).calls


def poll16(cq: CqModel, count: int) -> None:
    """The consumer polls with an index of 4 bits."""
    assert cq.doorbell((cq.cons + count) % 16).cause is Cause.OK


def test_entry_consumed_before_its_acknowledgement() -> None:
    """CQ-22: it triggers nothing, and the one after it still does."""
    cq = fresh()
    cq.wrote(2)
    assert arm(cq, ANY, polled=1) == []
    assert cq.publish([SOL]).calls == []
    assert cq.publish([PLAIN]).calls == [Callback(OK, 2)]


def test_error_while_a_callback_runs() -> None:
    """CQ-08, CQ-11: the error callback waits, reports the first status, and is not lost."""
    cq = fresh()
    arm(cq)
    put(cq, PLAIN)
    arm(cq, ERRORS, polled=1)
    assert cq.cq_error(CqStatus.BUFFER_OVERFLOW).calls == []
    assert cq.cq_error(CqStatus.INTERNAL_ERROR).calls == []
    assert finish(cq) == [Callback(CqStatus.BUFFER_OVERFLOW, 1)]


def test_return_before_the_event_is_acknowledged() -> None:
    """The host saw the entry, returned and armed: its next callback waits for the answer."""
    cq = fresh()
    arm(cq)
    put(cq, PLAIN)
    assert cq.callback_return().calls == []
    assert arm(cq, ANY, polled=1) == []
    assert put(cq, PLAIN) == []
    assert cq.event_failed(final=False).calls == []
    assert cq.event_done().calls == [Callback(CqStatus.INTERNAL_ERROR, 2)]


def test_event_given_up_is_returned_by_the_host() -> None:
    """CQ-11, CQ-18: given up, the callback is in progress until the host returns from it; the
    error made the armed callback due.
    """
    cq = fresh()
    arm(cq)
    put(cq, PLAIN)
    arm(cq, ERRORS, polled=1)
    for _ in range(3):
        assert cq.event_failed(final=False).calls == []
        assert cq.running
    assert cq.event_failed(final=True).calls == []
    assert cq.running and not cq.event_open
    assert cq.callback_return().calls == [Callback(CqStatus.INTERNAL_ERROR, 1)]


def test_arm_of_a_queue_in_error() -> None:
    """CQ-10a: an empty queue in error does not call back by itself; a filled one does (CQ-09)."""
    cq = fresh()
    put(cq, PLAIN)
    assert cq.cq_error(CqStatus.INTERNAL_ERROR).calls == []
    assert arm(cq, ERRORS) == [Callback(CqStatus.INTERNAL_ERROR, 1)]
    finish(cq)
    assert arm(cq, ANY, polled=1) == []


def test_moderated_error_and_setting() -> None:
    """CQ-21: an error ends the waiting; so does switching moderation off, at the next look."""
    cq = fresh(mod_count=4, mod_interval=0xFFFF)
    arm(cq)
    assert put(cq, PLAIN) == []
    assert cq.cq_error(CqStatus.BUFFER_OVERFLOW).calls == [Callback(CqStatus.BUFFER_OVERFLOW, 1)]
    cq = fresh(mod_count=4, mod_interval=0xFFFF)
    arm(cq)
    assert put(cq, PLAIN) == []
    cq.modify(typed=False, rearm=False, mod_count=0, mod_interval=0)
    assert cq.moderation().calls == [Callback(OK, 1)]


def test_moderation_interval() -> None:
    """CQ-21: more than i units of 8 cycles after it became due, drained or not."""
    cq = fresh(mod_count=0xFFFF, mod_interval=3)
    cq.now = 100
    arm(cq)
    assert put(cq, PLAIN, PLAIN) == []
    poll(cq, 2)
    cq.now = 124
    assert cq.moderation().calls == []
    cq.now = 125
    assert cq.moderation().calls == [Callback(OK, 2)]
    cq.now = 1000
    assert cq.moderation().calls == []


def test_moderation_judged_while_a_callback_runs() -> None:
    """CQ-21: the waiting is not started anew when the running callback returns."""
    cq = fresh(mod_count=2, mod_interval=0xFFFF)
    arm(cq)
    put(cq, PLAIN, PLAIN)
    arm(cq, ANY, polled=2)
    assert put(cq, PLAIN, PLAIN) == []
    poll(cq, 2)
    assert cq.released
    assert finish(cq) == [Callback(OK, 4)]


def test_what_moderation_counts() -> None:
    """An arm satisfied at once counts the new completions, not the old ones."""
    cq = fresh(mod_count=3, mod_interval=0xFFFF, entries=8)
    put(cq, PLAIN, PLAIN)
    assert arm(cq) == []
    assert cq.due_count == 2
    assert put(cq, PLAIN) == [Callback(OK, 3)]
    finish(cq)
    poll(cq, 2)
    put(cq, PLAIN)
    assert arm(cq) == []
    assert cq.due_count == 1
    cq.wrote(1)
    poll(cq, 3)
    assert cq.publish([PLAIN]).calls == []
    assert cq.due_count == 1  # consumed before its acknowledgement
