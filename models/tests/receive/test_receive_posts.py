# SPDX-License-Identifier: Apache-2.0
"""Receive posts: layout, return codes with their order, portals, regions, the SRQ's doorbell."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.codes import (
    REAP_CAUSES,
    RECEIVE_CAUSES,
    Cause,
    Command,
    CommandResult,
    ModelError,
    QpState,
    Rights,
)
from models.keys.region import RegionConfig
from models.layouts import PAGE_BYTES
from models.post.post import Segment, slots_of
from models.post.qp_control import make_qp_args
from models.receive.dat import DAT_RESULT, DatResult
from models.receive.receive import pack_reap
from models.receive.receive_control import make_region_args
from models.receive.receive_post import RESERVED, RecvPost
from models.tests.receive.receive_helpers import (
    BASE,
    CONTEXT,
    FIRST,
    GOOD_KEY,
    LENGTH,
    OWN,
    PAGE,
    READ_KEY,
    SMALL,
    STROBES,
    ZONE,
    ZONE_KEY,
    buffer,
    connect,
    finish,
    post,
    reach,
    reap,
    receiving,
    take,
)

# -- layout ------------------------------------------------------------------------------------


def test_layout() -> None:
    slots = slots_of([Segment(0x1122, 0x33, 0x44), Segment(0x5566, 0x77, 0x88), Segment(9, 1, 10)])
    word = RecvPost(0x1234, 3, CONTEXT, slots).encode()
    for low, width, value in (
        (0, 8, 0),
        (8, 8, 3),
        (16, 16, 0),
        (32, 16, 0x1234),
        (48, 16, 0),
        (64, 64, CONTEXT),
        (128, 64, 0x1122),
        (192, 32, 0x33),
        (224, 32, 0x44),
        (256, 64, 0x5566),
        (320, 32, 0x77),
        (352, 32, 0x88),
        (384, 64, 9),
        (448, 32, 1),
        (480, 32, 10),
    ):
        assert word >> low & (1 << width) - 1 == value, low
    assert RecvPost.decode(word).length == 0x33 + 0x77 + 1


@given(st.integers(0, (1 << 512) - 1))
@settings(max_examples=100, deadline=None)
def test_every_word_is_a_post(word: int) -> None:
    assert RecvPost.decode(word).encode() == word


@pytest.mark.parametrize(
    "bad",
    [
        RecvPost(1 << 16),
        RecvPost(0, 256),
        RecvPost(0, 0, 1 << 64),
        RecvPost(reserved=1 << 8),
        RecvPost(slots=(0, 0, 1 << 128)),
    ],
)
def test_fields_that_do_not_fit(bad: RecvPost) -> None:
    with pytest.raises(OverflowError):
        bad.encode()


def test_every_reserved_bit() -> None:
    for bit in range(64):
        if RESERVED >> bit & 1:
            for own in (True, False):
                model = receiving()
                bad = RecvPost(reserved=1 << bit)
                assert post(model, bad, own=own).cause is Cause.RESERVED_BITS
    assert bin(RESERVED).count("1") == 8 + 16 + 16


# -- return codes ------------------------------------------------------------------------------

# code, name, portals it exists at, public result
CAUSES = [
    (0x01, "BURST", "own srq", None),
    (0x02, "BAD_SIZE", "own srq", None),
    (0x03, "BAD_PAGE", "own srq", None),
    (0x04, "BAD_OFFSET", "", None),
    (0x0D, "BAD_QP", "own", "INVALID_HANDLE"),
    (0x18, "BAD_SRQ", "srq", "INVALID_HANDLE"),
    (0x0E, "NO_QP", "own", "INVALID_HANDLE"),
    (0x19, "NO_SRQ", "srq", "INVALID_HANDLE"),
    (0x09, "NOT_OWNER", "own srq", "INVALID_HANDLE"),
    (0x17, "DEVICE_REMOVED", "", None),
    (0x05, "RESERVED_BITS", "own srq", "INVALID_PARAMETER"),
    (0x11, "TOO_MANY_SEGMENTS", "own srq", "INVALID_PARAMETER"),
    (0x1A, "BAD_REGION", "own srq", "PRIVILEGES_VIOLATION"),
    (0x1B, "BAD_ZONE", "own srq", "PROTECTION_VIOLATION"),
    (0x1C, "NO_LOCAL_WRITE", "own srq", "PRIVILEGES_VIOLATION"),
    (0x1D, "BAD_RANGE", "own srq", "INVALID_PARAMETER"),
    (0x1E, "BAD_STATE", "own", "INVALID_STATE"),
    (0x14, "QUEUE_FULL", "own srq", "INSUFFICIENT_RESOURCES"),
    (0x15, "CQ_ERROR", "own", "INSUFFICIENT_RESOURCES"),
    (0x16, "NO_CREDIT", "own", "INSUFFICIENT_RESOURCES"),
]
OWN_NAMES = [name for _, name, portals, _ in CAUSES if "own" in portals]
SRQ_NAMES = [name for _, name, portals, _ in CAUSES if "srq" in portals]


def test_cause_codes_and_results() -> None:
    assert [(int(c), c.name) for c in RECEIVE_CAUSES] == [(0, "OK"), *(row[:2] for row in CAUSES)]
    for _, name, _, result in CAUSES:
        assert DAT_RESULT.get(Cause[name]) is (DatResult[result] if result else None)


def provoke(portal: str, *faults: str, zero_first: bool = False) -> Cause:
    """The cause for one write with all of these faults; each segment's fault at one segment."""
    model = receiving()
    model.command(
        Command.REGISTER_MR,
        make_region_args(3, RegionConfig(BASE, LENGTH, ZONE + 1, Rights.REMOTE_READ)),
    )
    own, rq, srq = portal == "own", model.rqs[OWN], model.srqs[0]
    if "QUEUE_FULL" in faults:
        for _ in range(4):
            post(model, buffer(), own=own)
    if "BAD_STATE" in faults:
        reach(model, OWN, QpState.ERROR)
    if "NO_QP" in faults:
        rq.qp.destroy(receiving=rq.busy)  # FREE, or DESTROYING if it is full
    if "NO_SRQ" in faults:
        for number in (FIRST, 2):
            reach(model, number, QpState.FREE)
        srq.destroy()
    zone, rights = "BAD_ZONE" in faults, "NO_LOCAL_WRITE" in faults
    key = 0x1003 if zone and rights else ZONE_KEY if zone else READ_KEY if rights else GOOD_KEY
    key = 0xFFFF_FFFF if "BAD_REGION" in faults else key
    address = BASE + LENGTH if "BAD_RANGE" in faults else BASE
    segments = [Segment(0, 0, 0xDEAD)] if zero_first else []
    segments.append(Segment(address, 1, key))
    bad = "BAD_QP" in faults or "BAD_SRQ" in faults
    data = RecvPost(
        number=(SMALL.num_qp if own else SMALL.num_srq) if bad else 0,
        num_segments=4 if "TOO_MANY_SEGMENTS" in faults else len(segments),
        context=1,
        slots=slots_of(segments),
        reserved=1 << 63 if "RESERVED_BITS" in faults else 0,
    )
    page = SMALL.num_pages if "BAD_PAGE" in faults else 2 if "NOT_OWNER" in faults else PAGE
    posts = model.posts
    result = model.write(
        page * PAGE_BYTES + (0x040 if own else 0x080),
        1 if "BURST" in faults else 0,
        6,
        STROBES >> ("BAD_SIZE" in faults),
        data.encode(),
        credit="NO_CREDIT" not in faults,
        cq_error="CQ_ERROR" in faults,
    )
    assert result is not None
    assert model.posts == posts + (result.cause is Cause.OK)
    assert (result.number is None) == (result.cause is not Cause.OK)
    return result.cause


@pytest.mark.parametrize("portal", ["own", "srq"])
def test_no_fault(portal: str) -> None:
    assert provoke(portal) is Cause.OK


@pytest.mark.parametrize("name", OWN_NAMES)
def test_each_cause_of_an_own_queue(name: str) -> None:
    assert provoke("own", name) is Cause[name]


@pytest.mark.parametrize("name", SRQ_NAMES)
def test_each_cause_of_an_srq(name: str) -> None:
    assert provoke("srq", name) is Cause[name]


PAIRS = [("own", *pair) for pair in combinations(OWN_NAMES, 2)]
PAIRS += [("srq", *pair) for pair in combinations(SRQ_NAMES, 2)]


@pytest.mark.parametrize(("portal", "first", "second"), PAIRS)
def test_precedence_of_pairs(portal: str, first: str, second: str) -> None:
    assert provoke(portal, first, second) is Cause[first]
    assert provoke(portal, first, second, zero_first=True) is Cause[first]


@pytest.mark.parametrize(("portal", "names"), [("own", OWN_NAMES), ("srq", SRQ_NAMES)])
def test_all_faults_from_each_on(portal: str, names: list[str]) -> None:
    for start, name in enumerate(names):
        assert provoke(portal, *names[start:]) is Cause[name]


@pytest.mark.parametrize("name", ["CQ_ERROR", "NO_CREDIT"])
def test_an_srq_post_needs_no_cq(name: str) -> None:
    """CQ-17: a shared receive reserves when it is taken."""
    assert provoke("srq", name) is Cause.OK


# -- segments ----------------------------------------------------------------------------------

# A segment's fault: key, address, length
SEGMENTS = {
    "OK": (GOOD_KEY, BASE, LENGTH),
    "BAD_REGION": (GOOD_KEY + 0x1000, BASE, 1),
    "BAD_ZONE": (ZONE_KEY, BASE, 1),
    "NO_LOCAL_WRITE": (READ_KEY, BASE, 1),
    "BAD_RANGE": (GOOD_KEY, BASE + 1, LENGTH),
}


def make(*names: str, empty: bool = False) -> RecvPost:
    segments = []
    for name in names:
        key, address, length = SEGMENTS[name]
        segments.append(Segment(address, 0 if empty else length, key))
    return RecvPost(0, len(segments), 1, slots_of(segments))


@pytest.mark.parametrize("first", SEGMENTS)
@pytest.mark.parametrize("second", SEGMENTS)
@pytest.mark.parametrize("third", SEGMENTS)
def test_the_first_failing_segment_counts(first: str, second: str, third: str) -> None:
    """SRQ-15, all 125 vectors: vector order first, whatever the kind of fault."""
    names = (first, second, third)
    wanted = next((name for name in names if name != "OK"), "OK")
    for own in (True, False):
        assert post(receiving(), make(*names), own=own).cause is Cause[wanted]
        assert post(receiving(), make(*names, empty=True), own=own).cause is Cause.OK


@pytest.mark.parametrize(
    ("address", "length", "good"),
    [
        (BASE, 1, True),
        (BASE, LENGTH, True),
        (BASE + LENGTH - 1, 1, True),
        (BASE - 1, 1, False),
        (BASE - 1, 2, False),
        (BASE + LENGTH, 1, False),
        (BASE + LENGTH - 1, 2, False),
        (BASE, LENGTH + 1, False),
        (BASE, 0xFFFF_FFFF, False),
        ((1 << 64) - 1, 1, False),
        ((1 << 64) - 1, 0xFFFF_FFFF, False),
        (0, 0, True),
        ((1 << 64) - 1, 0, True),
    ],
)
def test_range(address: int, length: int, good: bool) -> None:
    data = RecvPost(0, 1, 0, slots_of([Segment(address, length, GOOD_KEY)]))
    wanted = Cause.OK if good else Cause.BAD_RANGE
    assert post(receiving(), data).cause is wanted


def test_unused_slots_are_ignored() -> None:
    full = (1 << 128) - 1
    assert post(receiving(), RecvPost(slots=(full, full, full))).cause is Cause.OK
    one = RecvPost(0, 1, 0, (buffer(4).slots[0], full, full))
    model = receiving()
    assert post(model, one).cause is Cause.OK
    assert take(model, FIRST, 4).tdata == one.slots[0]


def test_number_of_segments() -> None:
    for count in range(256):
        cause = post(receiving(), RecvPost(0, count)).cause
        assert cause is (Cause.OK if count <= 3 else Cause.TOO_MANY_SEGMENTS)


def test_keys_are_checked_at_the_post_only() -> None:
    model = receiving()
    assert post(model, buffer(8)).cause is Cause.OK
    assert model.command(Command.DEREGISTER_MR, make_region_args(0)).result is CommandResult.OK
    assert take(model, FIRST, 8).code == 0
    assert post(model, buffer(8)).cause is Cause.BAD_REGION


# -- slots of an own queue ---------------------------------------------------------------------


def test_a_slot_of_an_own_queue_is_free_at_the_completion() -> None:
    model = receiving()
    for _ in range(4):
        assert post(model, buffer(), own=True).cause is Cause.OK
    assert post(model, buffer(), own=True).cause is Cause.QUEUE_FULL
    tag = take(model, OWN).tag
    assert post(model, buffer(), own=True).cause is Cause.QUEUE_FULL
    model.rqs[OWN].report(tag, 0)
    assert post(model, buffer(), own=True).cause is Cause.QUEUE_FULL
    model.complete(OWN)
    rq = model.rqs[OWN]
    assert rq.post(buffer(), completed_seen=0).cause is Cause.QUEUE_FULL
    assert rq.post(buffer(), completed_seen=1).cause is Cause.OK
    with pytest.raises(ModelError, match="completed is 0, between 1 and 1"):
        rq.post(buffer(), completed_seen=0)


@pytest.mark.parametrize("state", QpState)
def test_posts_on_an_own_queue_by_state(state: QpState) -> None:
    model = receiving()
    reach(model, OWN, state)
    wanted = {
        QpState.FREE: Cause.NO_QP,
        QpState.IDLE: Cause.OK,
        QpState.CONNECTED: Cause.OK,
        QpState.DISCONNECT_PENDING: Cause.OK,
        QpState.DISCONNECTED: Cause.BAD_STATE,
        QpState.ERROR: Cause.BAD_STATE,
        QpState.DESTROYING: Cause.NO_QP,
    }[state]
    assert post(model, buffer(), own=True).cause is wanted


def test_a_queue_pair_with_an_srq_has_no_own_queue() -> None:
    for state in (QpState.IDLE, QpState.CONNECTED):
        model = receiving()
        reach(model, FIRST, state)
        assert post(model, buffer(number=FIRST), own=True).cause is Cause.BAD_STATE


def test_an_idle_queue_pair_gets_its_buffers_before_it_connects() -> None:
    model = receiving()
    reach(model, OWN, QpState.IDLE)
    post(model, buffer(4, context=7), own=True)
    assert take(model, OWN, 4).code == 3
    connect(model, OWN)
    assert take(model, OWN, 4).code == 0
    assert [c.cqe.request_context for c in finish(model, OWN)] == [7]


# -- portals and the doorbell ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("offset", "size", "strobes", "cause"),
    [
        (0x040, 6, STROBES, Cause.OK),
        (0x080, 6, STROBES, Cause.OK),
        (0x040, 5, STROBES, Cause.BAD_SIZE),
        (0x080, 3, 0xFF, Cause.BAD_SIZE),
        (0x080, 6, STROBES - 1, Cause.BAD_SIZE),
        (0x000, 6, STROBES, None),
        (0x0C0, 6, STROBES, None),
        (0x048, 3, 0xFF00, None),
        (0x110, 3, 0xFF << 16, None),
    ],
)
def test_portals(offset: int, size: int, strobes: int, cause: Cause | None) -> None:
    """Which writes are receive posts, and their size rule; None: judged by other rules."""
    model = receiving()
    result = model.write(PAGE_BYTES + offset, 0, size, strobes, buffer().encode())
    assert (result and result.cause) is cause


REAP_NAMES = [cause.name for cause in REAP_CAUSES if cause not in (0, Cause.BAD_OFFSET)]


def provoke_reap(*faults: str) -> Cause:
    """The cause for one SRQ_DB write with all of these faults."""
    model = receiving()
    if "NO_SRQ" in faults:
        for number in (FIRST, 2):
            reach(model, number, QpState.FREE)
        model.srqs[0].destroy()
    word = pack_reap(SMALL.num_srq if "BAD_SRQ" in faults else 0, "BAD_INDEX" in faults)
    word |= 1 << 63 if "RESERVED_BITS" in faults else 0
    page = SMALL.num_pages if "BAD_PAGE" in faults else 2 if "NOT_OWNER" in faults else PAGE
    addr = page * PAGE_BYTES + 0x110
    strobes = 0xFF << 16 + ("BAD_SIZE" in faults)
    cause = model.reap(addr, "BURST" in faults, 3, strobes, word << 128)
    assert cause is not None
    return cause


def test_reap_causes() -> None:
    assert [int(c) for c in REAP_CAUSES] == [0, 1, 2, 3, 4, 5, 0x18, 0x19, 9, 0xB]
    assert provoke_reap() is Cause.OK
    for name in REAP_NAMES:
        assert provoke_reap(name) is Cause[name]
    for first, second in combinations(REAP_NAMES, 2):
        assert provoke_reap(first, second) is Cause[first]


def test_every_reserved_bit_of_the_doorbell() -> None:
    for bit in (*range(4, 32), *range(48, 64)):
        addr = PAGE * PAGE_BYTES + 0x110
        cause = receiving().reap(addr, 0, 3, 0xFF << 16, 1 << bit + 128)
        assert cause is Cause.RESERVED_BITS
    assert receiving().reap(PAGE * PAGE_BYTES + 0x100, 0, 3, 0xFF, 0) is None


def test_legal_reaps() -> None:
    model = receiving()
    for _ in range(3):
        post(model, buffer())
        take(model, FIRST)
    finish(model, FIRST)
    assert [reap(model, n) for n in (4, 15)] == [Cause.BAD_INDEX] * 2
    for good in (0, 0, 2, 2, 3):
        assert reap(model, good) is Cause.OK
    assert reap(model, 2) is Cause.BAD_INDEX
    assert model.srqs[0].reap_cause(3, completed=3) is Cause.OK
    # What the check does not know yet may not be reaped yet.
    post(model, buffer())
    take(model, FIRST)
    finish(model, FIRST)
    assert model.srqs[0].reap_cause(4, completed=3) is Cause.BAD_INDEX


def test_failing_posts_leave_the_initiator_side_alone() -> None:
    """DF-10, for every cause that a write can have."""
    for faults in ({"page": 2}, {"credit": False}, {}):
        model = receiving()
        before = [qp.trace_state() for qp in model.posting.qps]
        bad = buffer(1, key=0) if not faults else buffer()
        assert post(model, bad, own=True, **faults).cause is not Cause.OK
        assert [qp.trace_state() for qp in model.posting.qps] == before
    model.command(Command.FLUSH_QP, make_qp_args(OWN))
    assert post(model, buffer(), own=True).cause is Cause.BAD_STATE
