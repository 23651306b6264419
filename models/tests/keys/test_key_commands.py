# SPDX-License-Identifier: Apache-2.0
"""Commands and queries of regions and windows, and what the trace shows of their steps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from models.codes import WINDOW_COMMANDS, By, Command, CommandResult, ModelError, QpState
from models.keys.keys import KeyTable
from models.keys.region import RegionConfig
from models.keys.window import WindowModel
from models.keys.window_control import USED_BITS, make_window_args
from models.keys.window_types import KeyState
from models.params import Params
from models.post.post import Segment
from models.post.posting import PostingModel
from models.post.qp_control import make_qp_args
from models.receive.receive import ReceiveModel
from models.receive.receive_control import make_region_args
from models.tests.keys.window_helpers import (
    BARE,
    BASE,
    FAST,
    LENGTH,
    NEXT,
    OK,
    READ,
    SECOND,
    SMALL,
    WINDOW,
    A,
    B,
    bind_post,
    bound,
    engine,
    local,
    run,
)

LAST = 0xF_FFFF
BUSY, EXISTS = CommandResult.CMD_BUSY, CommandResult.CMD_EXISTS


# -- commands ----------------------------------------------------------------------------------


def test_busy_counts() -> None:
    """MW-11: a region with windows bound to it stays; every end of a binding counts."""
    model = engine()
    number = make_region_args(0)

    def count() -> int:
        out = model.command(Command.QUERY_MR, number).out[6]
        assert out & 0x3_FFFF == 1 << 16
        return out >> 18

    first, second = bound(model), bound(model, B, READ, SECOND)
    assert count() == 2
    assert model.command(Command.DEREGISTER_MR, number).result is BUSY
    assert run(model, A, local("Invalidate", first)) == [0]
    assert count() == 1
    assert model.command(Command.DEREGISTER_MR, number).result is BUSY
    assert model.command(Command.CLOSE_MW, make_window_args(1)).result is OK
    assert count() == 0
    assert not model.table.is_valid(second)
    assert model.command(Command.DEREGISTER_MR, number).result is OK
    assert model.command(Command.QUERY_MR, number).result is CommandResult.CMD_NO_OBJECT


def test_results_of_commands() -> None:
    model = engine()
    unknown = WindowModel(ReceiveModel(posting=PostingModel(SMALL, keys=KeyTable(SMALL))))
    for code in (0x44, 0x47, 0x4B, 0x4E, 0x50):
        assert unknown.command(code, make_window_args()).result is CommandResult.CMD_UNKNOWN
    none, bad = CommandResult.CMD_NO_OBJECT, CommandResult.CMD_BAD_OBJECT
    for code in (Command.CLOSE_MW, Command.QUERY_MW):
        assert model.command(code, make_window_args(3)).result is none
        assert model.command(code, make_window_args(4)).result is bad
    for code in (Command.CREATE_MW, Command.ALLOC_MR):
        assert model.command(code, make_window_args(0)).result is EXISTS
        assert model.command(code, make_window_args(0xFFFF_FFFF)).result is bad
    config = RegionConfig(BASE, 1)
    args = make_region_args(3, config)
    assert model.command(Command.REGISTER_MR, args).result is EXISTS
    model.table.window_serials[0] = LAST  # CMD_EXISTS comes first
    assert model.command(Command.CREATE_MW, make_window_args(0)).result is EXISTS


@pytest.mark.parametrize("code", WINDOW_COMMANDS)
def test_reserved_bits(code: Command) -> None:
    model = engine()
    for word, bits in USED_BITS[code].items():
        for bit in range(32):
            words = [0] * 8
            words[word] = 1 << bit
            if not bits >> bit & 1:
                args = type(make_window_args())(tuple(words))
                assert model.command(code, args).result is CommandResult.CMD_RESERVED


def test_query_of_a_window() -> None:
    model = engine()
    query = make_window_args(0)
    out = model.command(Command.QUERY_MW, query).out
    assert out == (WINDOW, 0, 0, 0, 0, 5, 0, 0)
    assert run(model, B, bind_post(WINDOW, BARE, BASE + 1, 3)) == [0]
    out = model.command(Command.QUERY_MW, query).out
    assert out == (WINDOW + NEXT, BASE + 1, 0, 3, 0, 0x2_0005, 0x1_0000 | B, 2)


def test_a_queue_pair_in_use() -> None:
    """MW-10c: DESTROY_QP answers CMD_IN_USE, changes nothing, and is good once nothing is valid."""
    destroy, in_use = make_qp_args(A), CommandResult.CMD_IN_USE

    def answer(model: WindowModel, number: int = A) -> CommandResult:
        return model.command(Command.DESTROY_QP, make_qp_args(number)).result

    for how in ("close", "invalidate", "peer"):
        model = engine()
        key = bound(model)
        assert [answer(model, n) for n in (A, B, B, 4)] == [
            in_use,
            OK,
            CommandResult.CMD_NO_OBJECT,
            CommandResult.CMD_BAD_OBJECT,
        ]
        assert model.posting.qps[A].state is QpState.CONNECTED
        if how == "close":
            assert model.command(Command.CLOSE_MW, make_window_args(0)).result is OK
        elif how == "peer":
            model.table.invalidate(A, key, By.PEER)
        else:
            assert run(model, A, local("Invalidate", key)) == [0]
        assert model.command(Command.DESTROY_QP, destroy).result is OK
    model = engine()
    assert run(model, A, local("FastRegister", FAST, Segment(BASE, 8))) == [0]
    assert run(model, B, bind_post(WINDOW, FAST + NEXT, length=8)) == [0]
    assert model.table.keys_on(A) == (FAST + NEXT,)
    assert model.table.keys_on(B) == (WINDOW + NEXT,)
    assert [answer(model, n) for n in (A, B)] == [in_use] * 2
    assert model.command(Command.CLOSE_MW, make_window_args(0)).result is OK
    assert [answer(model, n) for n in (A, B)] == [in_use, OK]
    assert model.command(Command.DEREGISTER_MR, make_region_args(3)).result is OK
    assert answer(model) is OK


def test_a_queue_pair_in_use_by_its_last_request() -> None:
    """A Bind whose beat was offered before the destruction began: DESTROYING, and in use."""
    model = engine()
    q = model.posting.qps[A]
    q.post(bind_post())
    destroy = Command.DESTROY_QP, make_qp_args(A)
    assert model.command(*destroy).result is CommandResult.CMD_PENDING
    model.posting.indicate(A, late=True)
    for _ in range(2):
        assert model.command(*destroy).result is CommandResult.CMD_IN_USE
        assert q.state is QpState.DESTROYING
        if q.retirable:
            assert model.posting.retire(A).status == 0
    assert model.command(Command.CLOSE_MW, make_window_args(0)).result is OK
    assert model.command(*destroy, keyed=True).result is CommandResult.CMD_IN_USE  # did not know
    assert model.command(*destroy).result is OK
    bound(model, B, READ, SECOND)
    with pytest.raises(ModelError, match="MW-10c"):
        model.command(Command.DESTROY_QP, make_qp_args(B), keyed=False)


def test_registered_regions_do_not_hold_a_queue_pair() -> None:
    """REGISTER_MR names no queue pair, not even number 0."""
    model = engine()
    assert model.table.keys_on(0) == ()
    assert model.command(Command.DESTROY_QP, make_qp_args(0)).result is OK


def test_most_windows() -> None:
    """2048 windows of a region of 2048: every number is told apart, and the count has room."""
    params = Params(num_qp=2, num_mr=2048, num_mw=2048)
    keys = KeyTable(params)
    region = keys.register(2047, RegionConfig(BASE, 1, 5))
    assert region == 0x17FF
    for number in range(2048):
        made = keys.create(number, 5)
        assert made == 0x1800 + number
        step = keys.bind(1, 5, made, Segment(BASE, 1, region), 2)
        assert (step.okay, step.operand) == (True, number << 16)
    assert keys.state(region).windows == 2048
    assert keys.state(region).encode() >> 32 & 0xFFFF == 2048 << 3 | 0b011
    assert keys.query(2047)[6] == 2048 << 18 | 1 << 16
    assert keys.query_window(2047)[6:] == (1 << 16 | 1, 2047)
    assert keys.check(1, 5, 1, 0x2FFF, BASE, 1).code == 0
    assert keys.check(1, 5, 1, region, BASE, 1).after.windows == 0  # lane 9
    assert keys.deregister(2047) is BUSY
    for number in range(2048):
        assert keys.invalidate(1, 0x2800 + number).okay
    assert keys.deregister(2047) is OK


# -- trace -------------------------------------------------------------------------------------


def test_trace_states_and_operands() -> None:
    model = engine()
    keys = model.table
    step = keys.bind(B, 5, WINDOW, Segment(BASE, 4, BARE), 2)
    assert (step.op, step.qp, step.operand, step.new_key) == (0x70, B, 0, WINDOW + NEXT)
    assert step.before.encode() == 1 << 33 | WINDOW
    after = (2 << 3 | 2) << 64 | B << 48 | 0b11 << 32 | WINDOW + NEXT
    assert step.after.encode() == after
    assert keys.state(BARE).encode() & 0x1FFF << 35 == 1 << 35
    step = keys.bind(A, 5, 0x1801, None, 0)
    assert step.operand == 6 | 1 << 16
    assert step.before == step.after
    step = keys.bind(A, 5, 0x1FFF, None, 0)
    assert (step.operand, step.after.encode()) == (4 | 0x7FF << 16, 0)
    step = keys.fast_register(B, 5, FAST, Segment(BASE, 4), 7)
    assert (step.op, step.operand, step.new_key) == (0x71, 0, FAST + NEXT)
    assert step.before.encode() == 0b110 << 32 | FAST
    assert step.after.encode() == 7 << 64 | B << 48 | 0b111 << 32 | FAST + NEXT
    step = keys.check(B, 5, 2, FAST + NEXT, BASE, 5)
    assert (step.op, step.operand) == (0x73, 4 | 2 << 16)
    assert step.before == step.after == keys.state(FAST)
    command = model.command(Command.CLOSE_MW, make_window_args(0)).key
    assert command is not None
    assert (command.op, command.operand, command.qp) == (0x74, 0x49, 0xFFFF)
    assert command.before.encode() == after
    assert command.after.encode() == 0
    assert keys.state(BARE).windows == 0


def agrees(state: KeyState, bits: int) -> bool:
    """The bits show the state as far as it is defined."""
    return not (state.encode() ^ bits) & state.defined


def test_what_a_state_defines() -> None:
    """An object that was valid keeps QP and rights; one that never was has none to show."""
    state = KeyState(WINDOW, exists=True, qp=3, rights=2, region=1)
    for bit in range(96):
        ignored = 48 <= bit < 79
        assert agrees(state, state.encode() ^ 1 << bit) is ignored
        kept = replace(state, used=True)
        assert agrees(kept, kept.encode() ^ 1 << bit) is (67 <= bit < 79)
    assert agrees(state, 1 << 33 | WINDOW)
    assert not agrees(state, 1 << 33 | SECOND)
    assert not agrees(state, 1 << 32 | 1 << 33 | WINDOW)
    assert not agrees(state, 1 << 35 | 1 << 33 | WINDOW)
    assert not agrees(state, 1 << 79 | 1 << 33 | WINDOW)
    valid = KeyState(WINDOW, True, True, qp=3, rights=2, region=1)
    for bit in range(96):
        assert not agrees(valid, valid.encode() ^ 1 << bit)
    assert agrees(KeyState(), 0x1234)
    assert not agrees(KeyState(), 1 << 33)


def test_what_an_invalidation_leaves() -> None:
    """Range, rights and QP stay, without effect."""
    model = engine()
    key = bound(model, B, READ)
    step = model.table.invalidate(B, key)
    assert (step.after.valid, step.after.used) == (False, True)
    assert (step.after.qp, step.after.rights) == (B, 2)
    out = model.command(Command.QUERY_MW, make_window_args(0)).out
    assert out[:7] == (key, BASE, 0, LENGTH, 0, 0x2_0005, B)
    assert run(model, B, local("FastRegister", FAST, Segment(BASE, 8), READ)) == [0]
    assert run(model, B, local("Invalidate", FAST + NEXT)) == [0]
    state = model.table.state(FAST)
    assert (state.valid, state.used, state.qp, state.rights) == (False, True, B, 2)
    assert model.table.keys_on(B) == ()
    model = engine()
    assert not model.table.state(WINDOW).used
    assert not model.table.state(FAST).used


def test_impossible_steps() -> None:
    keys = KeyTable(SMALL)
    with pytest.raises(ModelError):
        keys.query_window(0)
    with pytest.raises(ModelError):
        keys.query(0)
    keys.create(0)
    with pytest.raises(ModelError):
        keys.create(0)
