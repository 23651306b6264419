# SPDX-License-Identifier: Apache-2.0
"""Checks of remote accesses: every verdict, every byte at the edges, what a refusal ends."""

from __future__ import annotations

import itertools

import pytest

from models.codes import Access, Command, LogCause, ModelError, QpState, StateBy, Verdict
from models.host.control import Args
from models.keys.region import RegionConfig
from models.keys.window import WindowModel
from models.keys.window_control import make_window_args
from models.keys.window_types import CheckRequest
from models.post.post import Segment
from models.receive.receive_control import make_region_args
from models.receive.receive_post import RecvPost
from models.tests.keys.window_helpers import (
    BARE,
    BASE,
    FAST,
    FOREIGN,
    LENGTH,
    NEXT,
    OK,
    OTHER,
    READ,
    REGION,
    SECOND,
    WINDOW,
    WRITE,
    A,
    B,
    bind_post,
    bound,
    connect,
    engine,
    local,
    run,
    settle,
    verdict,
)
from models.tests.receive.receive_helpers import reach

GRANTED, BAD_KEY, WRONG_QP, NO_RIGHT, BAD_RANGE, REFUSED = range(6)
TOP = (1 << 64) - 1

# -- form --------------------------------------------------------------------------------------


def test_encoding() -> None:
    request = CheckRequest(0x1234, 2, 0x89AB_CDEF, 0xFEDC_BA98_7654_3210, 0x5555_AAAA)
    beat = request.encode()
    assert beat == (
        0x1234 | 2 << 16 | 0x89AB_CDEF << 32 | 0xFEDC_BA98_7654_3210 << 64 | 0x5555_AAAA << 128
    )
    assert CheckRequest.decode(beat) == request
    for bit in range(192):
        flipped = CheckRequest.decode(beat ^ 1 << bit)
        assert flipped.encode() == beat ^ 1 << bit
        reserved = 18 <= bit < 32 or bit >= 160
        assert flipped.malformed == (reserved or bit in (16, 17))


def test_malformed_checks_are_refused() -> None:
    """They change nothing, not even the state of the queue pair."""
    for bit in (*range(18, 32), *range(160, 192)):
        model = engine()
        key = bound(model)
        beat = CheckRequest(A, 1, key, BASE, 1).encode()
        assert model.check_beat(beat).code == GRANTED
        result = model.check_beat(beat | 1 << bit)
        assert (result.code, result.log, result.step) == (REFUSED, LogCause.CHECK_REFUSED, None)
        assert result.tdata == A | 5 << 16
        assert model.posting.qps[A].ending is None
        assert (model.checks, model.checks_refused) == (2, 1)
    model = engine()
    key = bound(model)
    assert [verdict(model, A, key, kind=kind) for kind in range(4)] == [5, 0, 0, 5]
    for number in (4, 0xFFFF, 3):  # out of range twice, FREE
        assert verdict(model, number, key) == REFUSED


@pytest.mark.parametrize("state", QpState)
def test_states(state: QpState) -> None:
    model = engine()
    key = bound(model, B if state in (QpState.FREE, QpState.DESTROYING) else A)
    if state is not QpState.CONNECTED:
        reach(model.receive, A, state)
    may = state in (QpState.CONNECTED, QpState.DISCONNECT_PENDING)
    assert verdict(model, A, key) == (GRANTED if may else REFUSED)
    assert verdict(model, A, key ^ NEXT) == (BAD_KEY if may else REFUSED)


def test_not_guarded() -> None:
    """Its checks are refused, whatever they name, and end nothing."""
    model = engine(guarded=False)
    key = bound(model, B)
    for token in (key, WINDOW, REGION, 0):
        result = model.check_beat(CheckRequest(A, Access.READ, token, BASE, 1).encode())
        assert (result.code, result.log, result.step) == (REFUSED, LogCause.CHECK_REFUSED, None)
    assert model.posting.qps[A].ending is None
    assert (model.checks, model.checks_refused) == (4, 4)
    assert verdict(model, B, key) == GRANTED


def test_a_window_outlives_the_connection() -> None:
    """The next peer may use it, unless it is closed first."""
    model = engine()
    key = bound(model)
    q = model.posting.qps[A]
    q.flush()
    assert verdict(model, A, key) == REFUSED
    q.set_state(QpState.IDLE)
    connect(model, A)
    assert verdict(model, A, key) == GRANTED


# -- verdicts ----------------------------------------------------------------------------------


def provoke(kind: str, *faults: str) -> int:
    """The verdict on one access with all of these faults, by a window or by a region."""
    model = engine()
    right = "NO_RIGHT" not in faults
    if kind == "window":
        key = bound(model, A, READ if right else WRITE)
    else:
        rights = 2 if right else 1
        args = make_region_args(2, RegionConfig(BASE, LENGTH, 5, rights))
        model.command(Command.DEREGISTER_MR, make_region_args(2))
        key = model.command(Command.REGISTER_MR, args).out[0]
    qp = A if "WRONG_QP" not in faults else B if kind == "window" else OTHER
    if "REFUSED" in faults:
        model.posting.qps[qp].flush()
    key += NEXT if "BAD_KEY" in faults else 0
    return verdict(model, qp, key, BASE - ("BAD_RANGE" in faults))


@pytest.mark.parametrize("kind", ["window", "region"])
def test_order_of_verdicts(kind: str) -> None:
    names = [v.name for v in Verdict if v]
    assert names == ["REFUSED", "BAD_KEY", "WRONG_QP", "NO_RIGHT", "BAD_RANGE"]
    assert provoke(kind) == GRANTED
    for name in names:
        assert provoke(kind, name) == Verdict[name]
    for first, second in itertools.combinations(names, 2):
        assert provoke(kind, first, second) == Verdict[first]
    for count in range(3, 6):
        for some in itertools.combinations(names, count):
            assert provoke(kind, *some) == Verdict[some[0]]


@pytest.mark.parametrize(
    ("flags", "read", "write"),
    [(0, 3, 3), (READ, 0, 3), (WRITE, 3, 0), (READ | WRITE, 0, 0), (0x10, 3, 3)],
)
def test_the_rights_of_the_window_decide(flags: int, read: int, write: int) -> None:
    """MW-02: region 0 has local write only, region 2 nothing."""
    for region in (REGION, BARE):
        if region == BARE and flags & 0x20:
            continue
        model = engine()
        assert run(model, A, bind_post(key=region, flags=flags)) == [0]
        key = WINDOW + NEXT
        assert verdict(model, A, key, kind=Access.READ) == read
        assert verdict(model, A, key, kind=Access.WRITE) == write
        assert verdict(model, A, region) == NO_RIGHT


@pytest.mark.parametrize(
    ("rights", "read", "write"),
    [(0, 3, 3), (1, 3, 3), (2, 0, 3), (3, 0, 3), (5, 3, 0), (7, 0, 0)],
)
def test_the_rights_of_a_region(rights: int, read: int, write: int) -> None:
    model = engine()
    args = make_region_args(3, RegionConfig(BASE, LENGTH, 5, rights))
    model.command(Command.DEREGISTER_MR, make_region_args(3))
    key = model.command(Command.REGISTER_MR, args).out[0]
    for qp in (A, B):
        assert verdict(model, qp, key, kind=1) == read
        assert verdict(model, qp, key, kind=2) == write
    assert verdict(model, OTHER, key, kind=1) == WRONG_QP
    assert verdict(model, OTHER, FOREIGN, kind=1) == GRANTED


def test_keys_that_are_none() -> None:
    model = engine()
    key = bound(model)
    for bad in (0, WINDOW, SECOND, FAST, key + NEXT, key ^ 1, key ^ 0x800, key ^ 4, 0xFFFF_FFFF):
        assert verdict(model, A, bad) == BAD_KEY
    assert verdict(model, A, key) == GRANTED


# -- ranges ------------------------------------------------------------------------------------


def window_at(base: int, length: int) -> tuple[WindowModel, int]:
    """A window with this range, in a region that is just as large or larger."""
    model = engine()
    start = max(0, base - 64)
    size = min((1 << 64) - start, length + 128)
    args = make_region_args(3, RegionConfig(start, size, 5, 1))
    model.command(Command.DEREGISTER_MR, make_region_args(3))
    region = model.command(Command.REGISTER_MR, args).out[0]
    post = bind_post(WINDOW, region, base, length, READ | WRITE)
    assert run(model, A, post) == [0]
    return model, WINDOW + NEXT


@pytest.mark.parametrize("base", [0, 1, 0xFFFF_FFF8, (1 << 63) - 3, (1 << 64) - 16])
@pytest.mark.parametrize("length", [1, 2, 7, 16])
def test_every_byte(base: int, length: int) -> None:
    """MW-10: an access is granted if each of its bytes is inside, wherever it starts and ends."""
    model, key = window_at(base, length)
    inside = set(range(base, base + length))
    for address in range(base - 3, base + length + 3):
        for nbytes in range(1, length + 4):
            wanted = set(range(address % (1 << 64), address % (1 << 64) + nbytes)) <= inside
            got = verdict(model, A, key, address % (1 << 64), nbytes, Access.WRITE)
            assert got == (GRANTED if wanted else BAD_RANGE)


@pytest.mark.parametrize(
    ("address", "length", "code"),
    [
        (TOP, 1, GRANTED),
        (TOP - 7, 8, GRANTED),
        (TOP, 2, BAD_RANGE),
        (TOP - 7, 9, BAD_RANGE),
        (TOP - 7, 0xFFFF_FFFF, BAD_RANGE),
        (TOP - 8, 9, BAD_RANGE),
        (0, 1, BAD_RANGE),
        (TOP - 7, 0, GRANTED),
        (0, 0, GRANTED),  # no byte, no range
    ],
)
def test_no_access_wraps(address: int, length: int, code: int) -> None:
    model, key = window_at(TOP - 7, 8)
    assert verdict(model, A, key, address, length) == code


@pytest.mark.parametrize("kind", Access)
@pytest.mark.parametrize("address", [0, BASE, (1 << 64) - 1])
@pytest.mark.parametrize("qp", [A, B])
def test_an_access_of_no_byte_needs_nothing(kind: Access, address: int, qp: int) -> None:
    """MW-10: any key, right, owner and address; one byte more is refused."""
    model = engine()
    key = bound(model, A, 0)
    for token in (key, WINDOW, FOREIGN, BARE, FAST, 0, 0xFFFF_FFFF):
        assert verdict(model, qp, token, address, 0, kind) == GRANTED
        assert verdict(model, qp, token, address, 1, kind) not in (GRANTED, REFUSED)
    assert model.posting.qps[qp].state is QpState.CONNECTED


def test_an_access_of_no_byte_is_refused_like_any_other() -> None:
    """MW-10: malformed, queue pair out of range, not connected, not guarded, device removed."""
    model = engine(guarded=False)
    key = bound(model, B)
    model.posting.qps[OTHER].flush()
    for qp in (A, OTHER, 3, 99):
        assert verdict(model, qp, key, BASE, 0) == REFUSED
    assert verdict(model, B, key, BASE, 0, kind=3) == REFUSED
    assert verdict(model, B, key, BASE, 0) == GRANTED
    assert model.command(Command.REMOVE_DEVICE, Args((0,) * 8)).result is OK
    assert verdict(model, B, key, BASE, 0) == REFUSED


def test_long_windows_and_accesses() -> None:
    """Lengths of 32 bits, and a region above them."""
    model = engine()
    args = make_region_args(3, RegionConfig(0, (1 << 48) - 1, 5, 3))
    model.command(Command.DEREGISTER_MR, make_region_args(3))
    region = model.command(Command.REGISTER_MR, args).out[0]
    assert verdict(model, A, region, 0, 0xFFFF_FFFF) == GRANTED
    assert verdict(model, A, region, (1 << 48) - 1 - 0xFFFF_FFFF, 0xFFFF_FFFF) == GRANTED
    assert verdict(model, A, region, (1 << 48) - 0xFFFF_FFFF, 0xFFFF_FFFF) == BAD_RANGE
    assert run(model, A, bind_post(WINDOW, region, 1 << 40, 1 << 31)) == [0]
    key = WINDOW + NEXT
    assert verdict(model, A, key, 1 << 40, 1 << 31) == GRANTED
    assert verdict(model, A, key, 1 << 40, (1 << 31) + 1) == BAD_RANGE
    assert verdict(model, A, key, (1 << 40) + (1 << 31) - 1) == GRANTED


# -- what a refusal does -------------------------------------------------------------------------


@pytest.mark.parametrize("pending", [False, True])
@pytest.mark.parametrize("code", [BAD_KEY, WRONG_QP, NO_RIGHT, BAD_RANGE])
def test_a_refused_access_ends_the_connection(code: int, pending: bool) -> None:
    model = engine()
    qp = B if code == WRONG_QP else A
    key = bound(model, A, READ)
    q = model.posting.qps[qp]
    if pending:
        q.set_state(3)
    address = BASE - 1 if code == BAD_RANGE else BASE
    kind = Access.WRITE if code == NO_RIGHT else Access.READ
    before = list(model.table.windows), list(model.table.regions)
    result = model.check_beat(
        CheckRequest(qp, kind, key + NEXT * (code == BAD_KEY), address, 1).encode()
    )
    assert (result.code, result.tdata) == (code, qp | code << 16)
    assert result.log is LogCause.CHECK_REFUSED
    assert result.step is not None
    assert result.step.operand == code | kind << 16
    assert result.step.before == result.step.after
    step = q.fail()
    assert step is not None
    assert (step.new, step.by, step.term) == (QpState.ERROR, StateBy.REPORT, True)
    assert (model.table.windows, model.table.regions) == before
    assert verdict(model, qp, key) == REFUSED
    assert model.posting.qps[A + B - qp].state is QpState.CONNECTED


def test_one_end_for_several_refusals() -> None:
    model = engine()
    for _ in range(2):
        bad = CheckRequest(A, Access.READ, length=1).encode()
        assert model.check_beat(bad).code == BAD_KEY  # the state has not changed yet
    q = model.posting.qps[A]
    assert q.fail() is not None
    with pytest.raises(ModelError):
        q.fail()
    model.check_beat(CheckRequest(B, Access.READ, length=1).encode())
    model.posting.qps[B].disconnected()
    assert model.posting.qps[B].fail() is None


def test_invalid_at_once() -> None:
    """CQ-03: a check decided after an invalidation never sees the key valid, polled or not."""
    for how in ("request", "peer", "close"):
        model = engine()
        key = bound(model)
        assert verdict(model, A, key) == GRANTED
        if how == "request":
            model.posting.qps[A].post(local("Invalidate", key))
            model.posting.indicate(A)
        elif how == "peer":
            model.receive.rqs[A].post(RecvPost())
            model.receive.request_beat(A | 1 << 17 | key << 64)
        else:
            model.command(Command.CLOSE_MW, make_window_args(0))
        assert verdict(model, A, key) == BAD_KEY
        settle(model, A)


def test_a_fast_registered_region_is_accessible_with_its_new_key() -> None:
    """MW-11."""
    model = engine()
    for key, code in ((FAST, BAD_KEY), (FAST + NEXT, BAD_KEY)):
        assert verdict(model, B, key) == code
    post = local("FastRegister", FAST, Segment(BASE, 8), READ | WRITE)
    assert run(model, A, post) == [0]
    assert verdict(model, A, FAST) == BAD_KEY
    for kind in Access:
        assert verdict(model, A, FAST + NEXT, BASE, 8, kind) == GRANTED
        assert verdict(model, A, FAST + NEXT, BASE, 9, kind) == BAD_RANGE
    assert run(model, A, local("Invalidate", FAST + NEXT)) == [0]
    assert verdict(model, A, FAST + NEXT) == BAD_KEY
