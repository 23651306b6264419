# SPDX-License-Identifier: Apache-2.0
"""Requests: who takes a buffer, what is filled, and when the receiver is not ready."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.codes import LogCause, ModelError, NotReady, QpState, ScatterCode
from models.post.post import Segment
from models.receive.receive_post import RecvPost, fill
from models.receive.receive_types import RecvRequest
from models.tests.receive.receive_helpers import (
    FIRST,
    OWN,
    SECOND,
    SMALL,
    buffer,
    finish,
    post,
    reach,
    receiving,
    take,
)

SCATTER, NOT_READY, LENGTH_ERROR, REFUSED, _ = ScatterCode

# -- segments are filled in order --------------------------------------------------------------

# lengths of the segments, length of the message, bytes of each segment
FILLS = [
    ((), 0, ()),
    ((0,), 0, (0,)),
    ((5,), 0, (0,)),
    ((5,), 1, (1,)),
    ((5,), 5, (5,)),
    ((5, 6, 7), 0, (0, 0, 0)),
    ((5, 6, 7), 4, (4, 0, 0)),
    ((5, 6, 7), 5, (5, 0, 0)),
    ((5, 6, 7), 6, (5, 1, 0)),
    ((5, 6, 7), 11, (5, 6, 0)),
    ((5, 6, 7), 12, (5, 6, 1)),
    ((5, 6, 7), 18, (5, 6, 7)),
    ((5, 0, 7), 5, (5, 0, 0)),
    ((5, 0, 7), 6, (5, 0, 1)),
    ((0, 0, 7), 7, (0, 0, 7)),
    ((0xFFFF_FFFF,) * 3, 0xFFFF_FFFF, (0xFFFF_FFFF, 0, 0)),
    ((1, 0xFFFF_FFFF, 0), 0xFFFF_FFFF, (1, 0xFFFF_FFFE, 0)),
]


@pytest.mark.parametrize(("lengths", "length", "filled"), FILLS)
def test_fill(lengths: tuple[int, ...], length: int, filled: tuple[int, ...]) -> None:
    """SRQ-03: L = 0, on a boundary, the sum, a zero-length segment in the middle."""
    assert tuple(fill([Segment(0, n) for n in lengths], length)) == filled


LISTS = st.lists(st.one_of(st.just(0), st.integers(0, 40), st.just(64)), max_size=3)


@given(LISTS, st.data())
@settings(max_examples=300, deadline=None)
def test_only_the_front_is_written(lengths: list[int], data: st.DataObject) -> None:
    """A transport that follows the answer writes the message, and no byte besides it."""
    total = sum(lengths)
    corners = [0, total, *(sum(lengths[:i]) for i in range(len(lengths)))]
    length = data.draw(st.one_of(st.sampled_from(corners), st.integers(0, total)))
    gaps = data.draw(st.lists(st.integers(1, 9), min_size=4, max_size=4))
    message = random.Random(length).randbytes(length)
    memory = bytearray(b"\xca" * (sum(gaps) + total))
    place = gaps[0]
    segments: list[Segment] = []
    front: list[int] = []
    for size, gap in zip(lengths, gaps[1:], strict=False):
        segments.append(Segment(place, size, 1 + place))
        front += range(place, place + size)
        place += size + gap
    word = RecvPost(0, len(segments), 0, _slots(segments)).scatter(fill(segments, length))
    left = message
    states = []
    for k in range(3):
        slot = Segment.decode(word >> 128 * k & (1 << 128) - 1)
        if k >= len(segments):
            assert slot == Segment()
            continue
        assert (slot.address, slot.key) == (segments[k].address, segments[k].key)
        assert slot.length <= segments[k].length
        memory[slot.address : slot.address + slot.length] = left[: slot.length]
        left = left[slot.length :]
        if segments[k].length:
            full = slot.length == segments[k].length
            states.append(2 if full else 1 if slot.length else 0)
    assert not left
    assert states == sorted(states, reverse=True)
    assert states.count(1) <= 1
    wanted = bytearray(b"\xca" * len(memory))
    for place, byte in zip(front, message, strict=False):
        wanted[place] = byte
    assert memory == wanted


def _slots(segments: list[Segment]) -> tuple[int, int, int]:
    words = [s.encode() for s in segments] + [0] * (3 - len(segments))
    return words[0], words[1], words[2]


@pytest.mark.parametrize("qp", [OWN, FIRST])
def test_the_answer(qp: int) -> None:
    model = receiving()
    posted = buffer(5, 0, 7, number=0)
    post(model, posted, own=qp == OWN)
    answer = take(model, qp, 6)
    slots = [answer.tdata >> 128 * k & (1 << 128) - 1 for k in range(3)]
    given = [Segment.decode(slot) for slot in slots]
    for got, want, nbytes in zip(given, posted.segments, (5, 0, 1), strict=True):
        assert got == Segment(want.address, nbytes, want.key)
    assert answer.tuser == 0 | (qp == FIRST) << 8
    post(model, buffer(3), own=qp == OWN)
    answer = take(model, qp, 3)
    assert answer.tuser == (qp == FIRST) << 8 | 1 << 16
    assert answer.tdata == buffer(3).slots[0]


def test_answers_without_a_list() -> None:
    model = receiving()
    empty = take(model, FIRST)
    assert (empty.tdata, empty.tuser) == (0, 1)
    post(model, buffer(4))
    post(model, buffer(4))
    take(model, FIRST, 4)
    long = take(model, FIRST, 5)
    assert (long.tdata, long.tuser) == (0, 2 | 1 << 8 | 1 << 16)
    reach(model, SECOND, QpState.IDLE)
    refused = take(model, SECOND)
    assert (refused.tdata, refused.tuser) == (0, 3)
    assert (model.takes, model.not_ready, model.refused) == (2, 1, 1)


# -- who may take ------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [OWN, FIRST])
@pytest.mark.parametrize("state", QpState)
def test_every_state(state: QpState, number: int) -> None:
    """SRQ-13, state by state; what is refused takes nothing."""
    model = receiving()
    if number == OWN:
        for _ in range(2):
            post(model, buffer(), own=True)
        # Only a flush makes an own queue empty, so that IDLE and FREE can be reached.
        if state in (QpState.FREE, QpState.IDLE):
            model.posting.qps[OWN].flush()
            finish(model, OWN)
            model.posting.qps[OWN].set_state(1)
            if state is QpState.IDLE:
                post(model, buffer(), own=True)
            else:
                model.posting.qps[OWN].destroy()
    else:
        post(model, buffer())
        reach(model, FIRST, state)
    if number == OWN and state not in (QpState.FREE, QpState.IDLE, QpState.CONNECTED):
        reach(model, OWN, state)
    code = {
        QpState.FREE: REFUSED,
        QpState.IDLE: REFUSED,
        QpState.CONNECTED: SCATTER,
        QpState.DISCONNECT_PENDING: SCATTER,
        QpState.DISCONNECTED: REFUSED,
        QpState.ERROR: REFUSED,
        QpState.DESTROYING: REFUSED,
    }[state]
    left = len(model.rqs[OWN].buffers) if number == OWN else model.srqs[0].available
    beat = model.request_beat(RecvRequest(number).encode())
    assert beat.answer is not None
    assert beat.answer.code is code
    assert beat.log is (LogCause.RREQ_BAD if state is QpState.FREE else LogCause.OK)
    now = len(model.rqs[OWN].buffers) if number == OWN else model.srqs[0].available
    assert now == left - (code is SCATTER)


def test_malformed_requests() -> None:
    model = receiving()
    post(model, buffer())
    good = RecvRequest(FIRST, 0, True, True, 0xFFFF_FFFF).encode()
    bad = [good | 1 << bit for bit in (*range(18, 32), *range(96, 128))]
    bad += [RecvRequest(SMALL.num_qp).encode(), RecvRequest(0xFFFF).encode()]
    bad += [RecvRequest(FIRST, token=1).encode()]
    for count, beat in enumerate(bad, 1):
        got = model.request_beat(beat)
        assert got.log is LogCause.RREQ_BAD
        assert got.answer is not None
        assert got.answer.tuser == 3
        assert model.refused == count
    assert model.srqs[0].available == 1
    assert RecvRequest.decode(good).encode() == good


def test_refused_comes_before_not_ready() -> None:
    model = receiving()
    reach(model, FIRST, QpState.ERROR)
    assert take(model, FIRST, credit=False).code is REFUSED


# -- receiver not ready ------------------------------------------------------------------------


@pytest.mark.parametrize("qp", [OWN, FIRST])
def test_in_flight_limit(qp: int) -> None:
    model = receiving()
    most = 1 << SMALL.rx_log2
    for _ in range(most):
        post(model, buffer(), own=qp == OWN)
        assert take(model, qp).code is SCATTER
    model.srqs[0].resize(4)
    model.srqs[0].buffers.append(model.rqs[qp].flight[0].buffer)
    model.rqs[qp].buffers.append(model.rqs[qp].flight[0].buffer)
    model.srqs[0].tail += 1
    model.rqs[qp].tail += 1
    answer = take(model, qp)
    assert (answer.code, answer.why) == (NOT_READY, NotReady.IN_FLIGHT)
    model.rqs[qp].report(0, 0)
    # The report frees the place, the completion need not have come; a step may not know it yet.
    rq = model.rqs[qp]
    assert rq.take(RecvRequest(qp), reported_seen=0).why is NotReady.IN_FLIGHT
    assert rq.take(RecvRequest(qp), reported_seen=1).code is SCATTER
    with pytest.raises(ModelError, match="reported is 0"):
        rq.take(RecvRequest(qp), reported_seen=0)


def test_credit() -> None:
    """CQ-17: a shared receive reserves when it is taken, one of an own queue at its post."""
    model = receiving()
    post(model, buffer())
    answer = take(model, FIRST, credit=False)
    assert (answer.code, answer.why, answer.reserved) == (NOT_READY, NotReady.NO_CREDIT, False)
    assert model.srqs[0].available == 1
    assert take(model, FIRST).reserved
    assert take(model, FIRST, credit=False).why is NotReady.EMPTY
    post(model, buffer(), own=True)
    post(model, buffer(), own=True)
    answer = take(model, OWN, credit=False)
    assert (answer.code, answer.reserved) == (SCATTER, False)
    # A CQ in error takes from neither.
    post(model, buffer())
    for qp in (OWN, FIRST):
        answer = take(model, qp, cq_error=True)
        assert (answer.code, answer.why) == (NOT_READY, NotReady.NO_CREDIT)


def test_a_post_may_not_have_become_known() -> None:
    model = receiving()
    for qp, queue in ((OWN, model.rqs[OWN]), (FIRST, model.srqs[0])):
        rq = model.rqs[qp]
        post(model, buffer(), own=qp == OWN)
        post(model, buffer(), own=qp == OWN)
        assert rq.take(RecvRequest(qp), tail_seen=0).why is NotReady.EMPTY
        assert rq.take(RecvRequest(qp), tail_seen=1).code is SCATTER
        assert rq.take(RecvRequest(qp), tail_seen=1).why is NotReady.EMPTY
        with pytest.raises(ModelError, match="tail is 0"):
            rq.take(RecvRequest(qp), tail_seen=0)
        assert rq.take(RecvRequest(qp)).code is SCATTER
        with pytest.raises(ModelError):
            rq._pop()
        assert queue.available == 0
