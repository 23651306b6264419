# SPDX-License-Identifier: Apache-2.0
"""Rings: addresses, phases, bytes, credits, resize, and the readers of both ring kinds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.codes import CqStatus, ModelError, ResultType
from models.cq.entries import Cqe, Eqe
from models.cq.queue import CqProducer, EventReader, Placement, Ring, RingReader


def test_cqe_layout() -> None:
    """Each field at its bits, and nowhere else."""
    layout = {
        "request_context": (0, 64),
        "qp_context": (64, 64),
        "nbytes": (128, 32),
        "token": (160, 32),
        "type": (192, 16),
        "qp": (208, 24),
        "status": (232, 8),
        "flags": (240, 15),
    }
    for name, (low, width) in layout.items():
        value = (1 << width) - 1
        cqe = Cqe(**{"type": 0, name: value})
        assert int.from_bytes(cqe.pack(), "little") == value << low
        assert Cqe.unpack(cqe.pack(1)) == cqe
    assert int.from_bytes(Cqe(type=0).pack(1), "little") == 1 << 255
    with pytest.raises(OverflowError):
        Cqe(flags=1 << 15).pack()


def test_eqe_layout() -> None:
    eqe = Eqe(0x1234, CqStatus.INTERNAL_ERROR, 0xBEEF)
    word = 0x1234 | 1 << 16 | 2 << 24 | 0xBEEF << 32
    assert int.from_bytes(eqe.pack(), "little") == word
    assert int.from_bytes(eqe.pack(1), "little") == word | 1 << 127
    assert Eqe.unpack(eqe.pack(1)) == eqe
    with pytest.raises(ValueError, match="not 0"):
        Eqe.unpack((1 << 64).to_bytes(16, "little"))


@given(log2=st.integers(1, 14), index=st.integers(0, 1 << 20), origin=st.integers(0, 1 << 20))
def test_slot_and_phase(log2: int, index: int, origin: int) -> None:
    """Counting pass by pass gives the same slot and phase; the index may be cut to 16 bits."""
    index += origin
    ring = Ring(0x10_0000, log2, origin)
    passes, slot = divmod(index - origin, ring.entries)
    assert (ring.slot(index), ring.phase(index)) == (slot, (passes + 1) % 2)
    assert ring.address(index) == 0x10_0000 + 32 * slot
    cut = Ring(0x10_0000, log2, origin % 65536)
    assert (cut.slot(index % 65536), cut.phase(index % 65536)) == (slot, (passes + 1) % 2)


def test_alignment() -> None:
    assert Ring(64, 1).aligned
    assert not Ring(32, 1).aligned
    assert not Ring(64, 2).aligned
    assert not Ring(32, 1, 0, 16).aligned
    assert Ring(64, 1, 0, 16).aligned
    assert Ring(192, 2, 0, 16).aligned


def test_credits() -> None:
    """CQ-17: all or nothing, given back by consuming and by silent completions."""
    producer = CqProducer()
    assert not producer.reserve(1, 0)
    producer.start(Ring(0, 2))
    assert producer.judge(0, silent=False) is Placement.NO_CREDIT
    assert producer.judge(0, silent=True) is Placement.NO_CREDIT
    assert producer.reserve(2, 0)
    assert producer.reserve(1, 0)
    assert not producer.reserve(2, 0)
    assert not producer.reserve(0, 0)
    assert not producer.reserve(3, 0)
    assert not producer.reserve(1, 0, CqStatus.BUFFER_OVERFLOW)
    for _ in range(2):
        assert producer.judge(0, silent=False) is Placement.PLACED
        producer.place(Cqe().pack(), 0)
    producer.silent()
    assert producer.credits_held == 0
    assert producer.reserve(2, 0)
    assert not producer.reserve(1, 0)
    assert producer.reserve(1, 1)
    producer.stop()
    assert producer.judge(1, silent=False) is Placement.NO_CQ
    assert not producer.reserve(1, 2)


def test_no_reservation() -> None:
    """Every request granted, nothing held; an overflow overwrites nothing (CQ-17)."""
    producer = CqProducer()
    producer.start(Ring(0, 1), reservation=False)
    assert all(producer.reserve(2, 0) for _ in range(9))
    assert producer.credits_held == 0
    for _ in range(2):
        producer.place(Cqe().pack(), 0)
    assert producer.judge(0, silent=False) is Placement.OVERFLOW
    assert producer.judge(0, silent=True) is Placement.SILENT
    with pytest.raises(ModelError):
        producer.place(Cqe().pack(), 0)
    producer.overflow()
    assert producer.judge(2, silent=False, status=CqStatus.BUFFER_OVERFLOW) is Placement.IN_ERROR
    with pytest.raises(ModelError):
        producer.place(Cqe().pack(), 2)


def test_overflow_with_reservation_is_impossible() -> None:
    producer = CqProducer()
    producer.start(Ring(0, 1))
    with pytest.raises(ModelError):
        producer.overflow()


def test_acknowledgements_in_order() -> None:
    producer = CqProducer()
    producer.start(Ring(0, 2), reservation=False)
    for _ in range(3):
        producer.place(Cqe().pack(), 0)
    with pytest.raises(ModelError):
        producer.acknowledge(1)
    assert [e.index for e in producer.acknowledge(0, 2)] == [0, 1]


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("place"), st.integers(0, 1)),
            st.tuples(st.just("poll"), st.integers(1, 5)),
            st.tuples(st.just("resize"), st.integers(1, 3)),
        ),
        max_size=80,
    )
)
def test_reader_sees_what_was_placed(moves: list[tuple[str, int]]) -> None:
    """CQ-19: order and contents, across wraps of a 5-bit index and any number of resizes."""
    memory: dict[int, bytes] = {}
    producer = CqProducer()
    producer.start(Ring(0x1000, 2), reservation=False)
    reader = RingReader(lambda addr, n: memory.get(addr, bytes(n)), 0x1000, 2)
    placed: list[tuple[int, int]] = []
    seen: list[tuple[int, int]] = []
    base = 0x1000
    for move, value in moves:
        if move == "place":
            if producer.judge(reader.index, silent=False) is Placement.PLACED:
                kind = (ResultType.SEND, ResultType.RECEIVE_AND_INVALIDATE)[value]
                cqe = Cqe(request_context=len(placed), type=kind, token=len(placed) * 7)
                entry = producer.place(cqe.pack(), reader.index)
                memory[entry.address] = entry.data
                placed.append((len(placed), kind))
        elif move == "poll":
            got = reader.get_results_ex(value)
            assert all(r.token == r.request_context * 7 for r in got)
            seen += [(r.request_context, r.type) for r in got]
        elif not producer.too_small(value, reader.index):
            base += 0x1000
            switch = producer.resize(Ring(base, value), reader.index)
            reader.switch(base, value, switch % 32, 5)
    seen += [(r.request_context, r.type) for r in reader.get_results_ex(99)]
    assert seen == placed
    assert reader.get_results(1) == []


def test_event_reader() -> None:
    ring = Ring(0x40, 1, 0, 16)
    memory: dict[int, bytes] = {}
    reader = EventReader(lambda addr, n: memory.get(addr, bytes(n)), 0x40, 1)
    for index in range(7):
        eqe = Eqe(index, CqStatus.OK, index)
        memory[ring.address(index)] = eqe.pack(ring.phase(index))
        assert reader.get_events(9) == [eqe]
