# SPDX-License-Identifier: Apache-2.0
"""Commands and queries of regions and windows, and what the trace shows of their steps."""

from __future__ import annotations

import pytest

from models.codes import ModelError
from models.keys import KeyTable
from models.post import Segment
from models.receive_codes import RecvCommand, RecvResult
from models.receive_control import make_region_args
from models.region import RegionConfig
from models.tests.window_helpers import (
    BARE,
    BASE,
    FAST,
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
from models.window import WindowModel
from models.window_codes import (
    WindowCommand,
)
from models.window_control import USED_BITS, make_window_args
from models.window_types import KeyState

LAST = 0xF_FFFF
BUSY, EXISTS = RecvResult.CMD_BUSY, RecvResult.CMD_EXISTS


# -- commands ----------------------------------------------------------------------------------


def test_busy_counts() -> None:
    """MW-11: a region with windows bound to it stays; every end of a binding counts."""
    model = engine()
    number = make_region_args(0)

    def count() -> int:
        out = model.command(RecvCommand.QUERY_MR, number).out[6]
        assert out & 0x3_FFFF == 1 << 16
        return out >> 18

    first, second = bound(model), bound(model, B, READ, SECOND)
    assert count() == 2
    assert model.command(RecvCommand.DEREGISTER_MR, number).result is BUSY
    assert run(model, A, local("Invalidate", first)) == [0]
    assert count() == 1
    assert model.command(RecvCommand.DEREGISTER_MR, number).result is BUSY
    assert model.command(WindowCommand.CLOSE_MW, make_window_args(1)).result is OK
    assert count() == 0
    assert not model.table.is_valid(second)
    assert model.command(RecvCommand.DEREGISTER_MR, number).result is OK
    assert model.command(RecvCommand.QUERY_MR, number).result is RecvResult.CMD_NO_OBJECT


def test_results_of_commands() -> None:
    model = engine()
    unknown = WindowModel(SMALL)
    for code in (0x44, 0x47, 0x4B, 0x4E, 0x50):
        assert unknown.command(code, make_window_args()).result is RecvResult.CMD_UNKNOWN
    none, bad = RecvResult.CMD_NO_OBJECT, RecvResult.CMD_BAD_OBJECT
    for code in (WindowCommand.CLOSE_MW, WindowCommand.QUERY_MW):
        assert model.command(code, make_window_args(3)).result is none
        assert model.command(code, make_window_args(4)).result is bad
    for code in (WindowCommand.CREATE_MW, WindowCommand.ALLOC_MR):
        assert model.command(code, make_window_args(0)).result is EXISTS
        assert model.command(code, make_window_args(0xFFFF_FFFF)).result is bad
    config = RegionConfig(BASE, 1)
    args = make_region_args(3, config)
    assert model.command(RecvCommand.REGISTER_MR, args).result is EXISTS
    model.table.window_serials[0] = LAST  # CMD_EXISTS comes first
    assert model.command(WindowCommand.CREATE_MW, make_window_args(0)).result is EXISTS


@pytest.mark.parametrize("code", WindowCommand)
def test_reserved_bits(code: WindowCommand) -> None:
    model = engine()
    for word, bits in USED_BITS[code].items():
        for bit in range(32):
            words = [0] * 8
            words[word] = 1 << bit
            if not bits >> bit & 1:
                args = type(make_window_args())(tuple(words))
                assert model.command(code, args).result is RecvResult.CMD_RESERVED


def test_query_of_a_window() -> None:
    model = engine()
    query = make_window_args(0)
    out = model.command(WindowCommand.QUERY_MW, query).out
    assert out == (WINDOW, 0, 0, 0, 0, 5, 0, 0)
    assert run(model, B, bind_post(WINDOW, BARE, BASE + 1, 3)) == [0]
    out = model.command(WindowCommand.QUERY_MW, query).out
    assert out == (WINDOW + NEXT, BASE + 1, 0, 3, 0, 0x2_0005, 0x1_0000 | B, 2)


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
    command = model.command(WindowCommand.CLOSE_MW, make_window_args(0)).key
    assert command is not None
    assert (command.op, command.operand, command.qp) == (0x74, 0x49, 0xFFFF)
    assert command.before.encode() == after
    assert command.after.encode() == 0
    assert keys.state(BARE).windows == 0


def test_what_a_state_defines() -> None:
    """Leftovers of an invalid object are nobody's business; all else is compared."""
    state = KeyState(WINDOW, exists=True, qp=3, rights=2, region=1)
    assert state.agrees(1 << 33 | WINDOW)
    assert not state.agrees(1 << 33 | SECOND)
    assert not state.agrees(1 << 32 | 1 << 33 | WINDOW)
    assert not state.agrees(1 << 35 | 1 << 33 | WINDOW)
    assert not state.agrees(1 << 79 | 1 << 33 | WINDOW)
    valid = KeyState(WINDOW, True, True, qp=3, rights=2, region=1)
    for bit in range(96):
        assert not valid.agrees(valid.encode() ^ 1 << bit)
    assert KeyState().agrees(0x1234)
    assert not KeyState().agrees(1 << 33)


def test_impossible_steps() -> None:
    keys = KeyTable(SMALL)
    with pytest.raises(ModelError):
        keys.query_window(0)
    with pytest.raises(ModelError):
        keys.query(0)
    keys.create(0)
    with pytest.raises(ModelError):
        keys.create(0)
