# SPDX-License-Identifier: Apache-2.0
"""Doorbell causes and command results in their order, event entries, checks of the bench's feed."""

from __future__ import annotations

import pytest

from models.arm.arm import CqConfig
from models.arm.events import MAX_ATTEMPTS
from models.codes import (
    CQ_COMMANDS,
    ArmType,
    Cause,
    Command,
    CommandResult,
    CqStatus,
    Life,
    ModelError,
)
from models.cq.core import CompletionCore, doorbell_cause
from models.cq.entries import Cqe, Eqe
from models.cq.queue import Placement
from models.host.control import Args, check_command, make_args
from models.host.doorbell import pack_doorbell
from models.layouts import CB_RETURN
from models.tests.helpers import (
    SMALL,
    beat,
    callback_on,
    line,
    return_bell,
    ring_bell,
    small_engine,
)

C, R = Command, CommandResult
GOOD = ring_bell(0, 0)


def with_all_faults() -> list[tuple[Cause, tuple[int, int, int, int, int]]]:
    """Doorbells with ever fewer faults: each write has its own cause and every later one."""
    word = 0xFFFF_FFFF_FFFF_FFFF
    last = SMALL.num_pages
    addr, _, size, strb, data = beat(0x108 + 8, word, page=last)
    return [
        (Cause.BURST, (addr + 1, 1, 2, strb, data)),
        (Cause.BAD_SIZE, (addr + 1, 0, 2, strb, data)),
        (Cause.BAD_SIZE, (addr, 0, 2, strb, data)),
        (Cause.BAD_SIZE, (addr, 0, 3, strb >> 1, data)),
        (Cause.BAD_PAGE, (addr, 0, size, strb, data)),
        (Cause.BAD_OFFSET, beat(0x110, word)),
        (Cause.RESERVED_BITS, beat(0x100, word)),
        (Cause.BAD_ARM_TYPE, beat(0x100, 1 << 63 | 3 << 48 | 0xFFFF << 32 | 0x3F)),
        (Cause.BAD_CQ, beat(0x100, 1 << 63 | 2 << 48 | 0xFFFF << 32 | 0x3F)),
        (Cause.NO_CQ, ring_bell(3, 0x3F, page=2)),
        (Cause.NOT_OWNER, ring_bell(0, 0x3F, page=2)),
    ]


def test_causes_in_order_of_precedence() -> None:
    """Each refused write changes nothing but the page status and the counters (ISO-02)."""
    engine = small_engine()
    engine.command(C.CREATE_CQ, make_args(2, base=0x8000, log2=2, page=1, eq=1))
    states = [engine.trace_state(cq) for cq in range(4)]
    refused = [0] * SMALL.num_pages
    for cause, write in with_all_faults():
        assert doorbell_cause(*write, engine) is cause
        assert engine.write(*write).cause is cause
        page = write[0] >> 12
        if page < SMALL.num_pages:
            refused[page] += 1
            assert engine.pages[page].word == cause | refused[page] << 32
    assert [engine.trace_state(cq) for cq in range(4)] == states
    assert engine.write(*ring_bell(0, 0x3F)).cause is Cause.BAD_INDEX
    assert engine.write(*return_bell(0)).cause is Cause.NO_CALLBACK
    assert engine.write(*GOOD).cause is Cause.OK
    assert engine.read(0x1140, 0, 3) == (refused[1] + 2) << 32
    assert engine.read(0x1148, 0, 3) is None


def test_destroying_refuses_all_but_the_return() -> None:
    engine = small_engine()
    engine.write(*ring_bell(0, 0, ArmType.ANY))
    engine.reserve(0, 1)
    engine.complete(0, Cqe().pack())
    engine.memory_write(0)
    assert len(engine.acknowledge(0).calls) == 1
    assert engine.command(C.DESTROY_CQ, make_args(0)).result is R.CMD_PENDING
    assert engine.write(*ring_bell(0, 0x3F)).cause is Cause.CQ_DESTROYING
    assert engine.write(*ring_bell(0, 0x3F, page=2)).cause is Cause.NOT_OWNER
    assert engine.write(*return_bell(0)).cause is Cause.OK
    assert engine.write(*return_bell(0)).cause is Cause.NO_CALLBACK
    assert engine.command(C.DESTROY_CQ, make_args(0)).result is R.CMD_PENDING
    engine.eqs[1].write([0])
    engine.event_acknowledge(1)
    assert engine.command(C.DESTROY_EQ, make_args(1)).result is R.CMD_IN_USE
    assert engine.command(C.DESTROY_CQ, make_args(0)).result is R.OK
    assert engine.cqs[0].life is Life.FREE
    assert engine.trace_state(0) == 0
    assert engine.write(*return_bell(0)).cause is Cause.NO_CQ
    assert engine.command(C.DESTROY_CQ, make_args(1)).result is R.OK
    assert engine.command(C.DESTROY_EQ, make_args(1)).result is R.OK


@pytest.mark.parametrize("offset", [0x100, CB_RETURN])
def test_reserved_bits(offset: int) -> None:
    engine = small_engine()
    allowed = {*range(32, 48)} | ({*range(6), *range(48, 52), 63} if offset == 0x100 else set())
    for bit in range(64):
        cause = engine.write(*beat(offset, 1 << bit)).cause
        assert (cause is Cause.RESERVED_BITS) == (bit not in allowed or 48 <= bit < 52)


def test_two_lane_doorbell_word() -> None:
    """CQ_DB and CB_RETURN take their own byte lanes of the 64-byte beat."""
    engine = small_engine()
    addr, length, size, strb, data = ring_bell(0, 0, ArmType.SOLICITED)
    noise = ~(strb_mask(strb)) & (1 << 512) - 1
    assert engine.write(addr, length, size, strb, data | noise).cause is Cause.OK
    assert engine.cqs[0].arm is ArmType.SOLICITED


def strb_mask(strb: int) -> int:
    """512-bit mask of 64 strobes."""
    return sum(0xFF << 8 * i for i in range(64) if strb >> i & 1)


def run(engine: CompletionCore, code: int, args: Args) -> CommandResult:
    """A command; the check alone says the same."""
    expected = check_command(code, args, engine)
    result = engine.command(code, args).result
    assert result is expected
    return result


def test_command_results() -> None:
    """Each result, with the later faults of the table present as well."""
    engine = small_engine()
    every = Args((0xFFFF_FFFF,) * 8)
    assert run(engine, 0x00, every) is R.CMD_UNKNOWN
    for code in CQ_COMMANDS:
        used_up = code in (C.QUERY_EQ, C.DESTROY_EQ, C.QUERY_CQ, C.DESTROY_CQ)
        result = R.CMD_BAD_OBJECT if used_up else R.CMD_RESERVED
        assert run(engine, code, every) is result
    assert run(engine, C.CREATE_CQ, make_args(4, base=1, log2=0, page=99)) is R.CMD_BAD_OBJECT
    assert run(engine, C.QUERY_EQ, make_args(2)) is R.CMD_BAD_OBJECT
    for code in (C.MODIFY_CQ, C.RESIZE_CQ, C.QUERY_CQ, C.DESTROY_CQ):
        assert run(engine, code, make_args(3)) is R.CMD_NO_OBJECT
    for code in (C.MODIFY_EQ, C.RESIZE_EQ, C.QUERY_EQ, C.DESTROY_EQ):
        assert run(engine, code, make_args(0)) is R.CMD_NO_OBJECT
    bad = CqConfig(mod_count=0xFFFF, mod_interval=0xFFFF)
    for expected, args in [
        (R.CMD_EXISTS, make_args(0, base=1, log2=0, page=99, eq=9, config=bad)),
        (R.CMD_BAD_SIZE, make_args(3, base=1, log2=0, page=99, eq=9, config=bad)),
        (R.CMD_BAD_SIZE, make_args(3, base=1, log2=5, page=99, eq=9, config=bad)),
        (R.CMD_BAD_ALIGN, make_args(3, base=64, log2=2, page=99, eq=9, config=bad)),
        (R.CMD_BAD_PAGE, make_args(3, base=128, log2=2, page=4, eq=9, config=bad)),
        (R.CMD_NO_EQ, make_args(3, base=128, log2=2, page=2, eq=9, config=bad)),
        (R.CMD_NO_EQ, make_args(3, base=128, log2=2, page=2, eq=0, config=bad)),
        (R.CMD_BAD_PAGE, make_args(3, base=128, log2=2, page=2, eq=1, config=bad)),
        (R.CMD_BAD_MODERATION, make_args(3, base=128, log2=2, page=1, eq=1, config=bad)),
        (R.OK, make_args(3, base=128, log2=2, page=1, eq=1)),
        (R.CMD_EXISTS, make_args(3, base=128, log2=2, page=1, eq=1)),
    ]:
        assert run(engine, C.CREATE_CQ, args) is expected
    assert run(engine, C.CREATE_CQ, make_args(2, base=0, log2=2, page=1, eq=1)) is R.OK
    assert run(engine, C.DESTROY_CQ, make_args(2)) is R.OK
    assert run(engine, C.RESIZE_EQ, make_args(1, base=0x40, log2=1)) is R.CMD_EQ_FULL
    assert run(engine, C.RESIZE_EQ, make_args(1, base=0x80, log2=3)) is R.OK
    assert run(engine, C.MODIFY_EQ, make_args(1, vector=9)) is R.OK
    assert engine.command(C.QUERY_EQ, make_args(1)).out[:4] == (1 | 3 << 8 | 9 << 16, 0, 3, 1)
    assert run(engine, C.CREATE_EQ, make_args(0, base=0, log2=2, page=4)) is R.CMD_BAD_PAGE
    assert run(engine, C.CREATE_EQ, make_args(1, base=1, log2=9, page=4)) is R.CMD_EXISTS


def test_event_queue_full() -> None:
    engine = small_engine(cqs=2)
    args = make_args(0, base=0x40, log2=1, page=1)
    assert run(engine, C.CREATE_EQ, args) is R.OK
    for number, expected in ((2, R.OK), (3, R.OK)):
        create = make_args(number, base=0, log2=1, page=1, eq=0)
        assert run(engine, C.CREATE_CQ, create) is expected
    assert run(engine, C.DESTROY_CQ, make_args(0)) is R.OK
    create = make_args(0, base=0, log2=1, page=1, eq=0)
    assert run(engine, C.CREATE_CQ, create) is R.CMD_EQ_FULL


def test_resize_results() -> None:
    """CMD_CQ_ERROR and CMD_TOO_SMALL come last; a resize may not spoil the moderation."""
    engine = small_engine(reservation=False, log2=3)
    keep = CqConfig(mod_count=3, mod_interval=0xFFFF)
    assert run(engine, C.MODIFY_CQ, make_args(0, config=keep)) is R.OK
    for _ in range(5):
        engine.complete(0, Cqe().pack())
    small = make_args(0, base=0x40, log2=1)
    assert run(engine, C.RESIZE_CQ, small) is R.CMD_BAD_MODERATION
    assert run(engine, C.MODIFY_CQ, make_args(0)) is R.OK
    assert run(engine, C.RESIZE_CQ, small) is R.CMD_TOO_SMALL
    big = engine.command(C.RESIZE_CQ, make_args(0, base=0x400, log2=4))
    assert (big.result, big.out[0]) == (R.OK, 5)
    engine.cq_error(0, CqStatus.BUFFER_OVERFLOW)
    assert run(engine, C.RESIZE_CQ, small) is R.CMD_CQ_ERROR
    word = engine.command(C.QUERY_CQ, make_args(0)).out[0]
    assert word == Life.READY | CqStatus.BUFFER_OVERFLOW << 2 | 4 << 16


def test_event_entries_in_any_order_across_queues() -> None:
    engine = small_engine(reservation=False)
    callback_on(engine, 0)
    callback_on(engine, 1)
    engine.eqe_beat(1, *line(0x1_0000_1000, Eqe(1, CqStatus.OK, 1).pack(1)))
    for wrong in (
        line(0x1_0000_1010, Eqe(1, CqStatus.OK, 1).pack(1)),  # called once
        line(0x1_0000_1000, Eqe(0, CqStatus.OK, 1).pack(1)),  # slot used
        line(0x1_0000_1010, Eqe(0, CqStatus.OK, 1).pack(0)),  # phase
        line(0x1_0000_1010, Eqe(0, CqStatus.OK, 2).pack(1)),  # snap
        line(0x1_0000_1010, Eqe(0, CqStatus.BUFFER_OVERFLOW, 1).pack(1)),  # status
    ):
        with pytest.raises(ModelError):
            engine.eqe_beat(1, *wrong)
    engine.eqe_beat(1, *line(0x1_0000_1010, Eqe(0, CqStatus.OK, 1).pack(1)))
    with pytest.raises(ModelError):
        engine.eqs[1].interrupt()
    engine.event_acknowledge(1)
    engine.event_acknowledge(1)
    engine.eqs[1].interrupt()


def test_event_retries() -> None:
    """CQ-18: up to 3 more writes of the same slot, with the queue's status; then given up."""
    engine = small_engine(reservation=False)
    callback_on(engine, 0)
    address = 0x1_0000_1000
    status = CqStatus.OK
    for attempt in range(1, MAX_ATTEMPTS + 1):
        assert engine.cqs[0].running
        engine.eqe_beat(1, *line(address, Eqe(0, status, 1).pack(1)))
        assert engine.event_acknowledge(1, okay=False).calls == []
        status = CqStatus.INTERNAL_ERROR
        assert engine.cqs[0].running
        assert engine.cqs[0].event_open == (attempt < MAX_ATTEMPTS)
        assert engine.eqs[1].interrupts_allowed == (attempt == MAX_ATTEMPTS)
    with pytest.raises(ModelError):
        engine.eqs[1].expected([0], engine.status)
    assert engine.eqs[1].unread == 1
    assert engine.cb_return(0).cause is Cause.OK
    assert engine.eqs[1].unread == 0
    assert engine.cqs[1].status is CqStatus.OK
    callback_on(engine, 1)
    assert engine.eqs[1].expected([1], engine.status)[0][0] == address + 16


def test_repetition_of_a_slot_that_was_passed() -> None:
    """CQ-18: a later entry may lie in the slot: the repetition has no strobes."""
    engine = small_engine(reservation=False)
    ring = engine.eqs[1].ring
    callback_on(engine, 0)
    first = Eqe(0, CqStatus.OK, 1).pack(1)
    engine.eqe_beat(1, *line(ring.address(0), first))
    engine.event_acknowledge(1, okay=False)
    eq = engine.eqs[1]
    for _ in range(ring.entries):
        assert not eq.passed(eq.retries[0])
        callback_on(engine, 1)
        engine.eqe_beat(1, *line(*eq.expected([1], engine.status)[0]))
        engine.event_acknowledge(1)
        engine.cb_return(1)
    again = Eqe(0, CqStatus.INTERNAL_ERROR, 1).pack(1)
    without = (ring.address(0), again + bytes(48), 0)
    assert engine.eqs[1].prod == ring.entries + 1
    with pytest.raises(ModelError):
        engine.eqe_beat(1, *line(ring.address(0), again))
    engine.eqe_beat(1, *without)
    engine.event_acknowledge(1)


def test_steps_need_their_answers() -> None:
    """CQ-15, CQ-18: no publication, error or event step without its answer."""
    engine = small_engine(reservation=False)
    for _ in range(2):
        engine.complete(0, Cqe().pack())
        engine.memory_write(0)
    with pytest.raises(ModelError):
        engine.publish(0, 1)
    engine.cqe_response(0, okay=False)
    with pytest.raises(ModelError):
        engine.publish(0, 1)
    engine = small_engine(reservation=False)
    callback_on(engine, 0)
    with pytest.raises(ModelError):
        engine.event_done(0)
    engine.eqs[1].write([0])
    engine.eqe_response(1, okay=True)
    with pytest.raises(ModelError):
        engine.event_failed(0, final=False)


def test_completion_beats() -> None:
    """Two neighbours in one beat; wrong order, address, phase or bytes are caught."""
    engine = small_engine(reservation=False)
    first, second = (Cqe(request_context=i) for i in (1, 2))
    engine.place(0, [first.pack(), second.pack()])
    both = (1 << 64) - 1
    good = first.pack(1) + second.pack(1)
    for wrong in (
        (0x4040, good, both),
        (0x4000, first.pack(0) + second.pack(1), both),
        (0x4000, second.pack(1) + first.pack(1), both),
        (0x4000, good, both << 32 & both),
        (0x4000, good, 0xFF),
    ):
        with pytest.raises(ModelError):
            small = small_engine(reservation=False)
            small.place(0, [first.pack(), second.pack()])
            small.cqe_beat(0, *wrong)
    assert engine.cqe_beat(0, 0x4000, good, both) == 2
    engine.write(*ring_bell(0, 2, ArmType.ANY))
    assert engine.acknowledge(0).calls == []
    assert engine.trace_state(0, lane=0) == 2


def test_silent_and_refused_completions() -> None:
    engine = small_engine()
    assert engine.complete(0, Cqe().pack())[0] is Placement.NO_CREDIT
    assert engine.complete(2, Cqe().pack())[0] is Placement.NO_CQ
    assert engine.reserve(0, 2)
    assert engine.complete(0, Cqe().pack(), silent=True)[0] is Placement.SILENT
    assert engine.complete(0, Cqe().pack())[0] is Placement.PLACED
    assert engine.complete(0, Cqe().pack())[0] is Placement.NO_CREDIT
    assert engine.trace_state(0, lane=0) == 1 | 2 << 16
    assert not engine.reserve(99, 1)


def test_pack_doorbell() -> None:
    assert pack_doorbell(5, 9) == 5 << 32 | 9
    assert pack_doorbell(5, 9, ArmType.SOLICITED) == 5 << 32 | 9 | 2 << 48 | 1 << 63
