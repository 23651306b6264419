# SPDX-License-Identifier: Apache-2.0
"""Random traffic over a whole engine: what must hold whatever happens."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from models.arm.arm import CqConfig, CqModel, Step
from models.codes import ArmType, Cause, Command, CommandResult, CqStatus, Life
from models.cq.core import CompletionCore
from models.cq.entries import Cqe, Eqe
from models.cq.queue import EventReader, Placement, RingReader
from models.host.control import make_args
from models.tests.helpers import SMALL, line, return_bell, ring_bell, small_engine

EQ = 1
CQS = 3
LANES = 1 << SMALL.idx_w


class Traffic:
    """An engine with memory and an honest host; every choice comes from one random generator."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.engine: CompletionCore = small_engine(cqs=0)
        self.memory: dict[int, bytes] = {}
        self.readers = [RingReader(self.read, 0, 1) for _ in range(CQS)]
        self.events = EventReader(self.read, 0x1_0000_1000, 2)
        self.placed: list[list[bytes]] = [[] for _ in range(CQS)]
        self.got: list[list[bytes]] = [[] for _ in range(CQS)]
        self.calls = 0
        self.seen_calls: list[Eqe] = []
        self.running: set[int] = set()
        self.now = 0
        self.bases = 0
        for cq in range(CQS):
            self.create(cq)

    def read(self, addr: int, nbytes: int) -> bytes:
        """Host memory."""
        return self.memory.get(addr, bytes(nbytes))

    def create(self, cq: int) -> None:
        """A queue with random settings in fresh memory."""
        rng, log2 = self.rng, self.rng.randint(1, 3)
        self.bases += 1
        base = self.bases << 12
        config = CqConfig(
            typed=rng.random() < 0.5,
            rearm=rng.random() < 0.5,
            mod_count=rng.choice([0, 2, 3, 0xFFFF]),
            mod_interval=rng.choice([0, 1, 2]),
        )
        args = make_args(
            cq, base=base, log2=log2, page=1, eq=EQ, reservation=rng.random() < 0.6, config=config
        )
        assert self.engine.command(Command.CREATE_CQ, args).result is CommandResult.OK
        self.readers[cq] = RingReader(self.read, base, log2)
        self.placed[cq], self.got[cq] = [], []

    def step(self) -> None:
        """One random thing happens to one random queue; no other queue changes (CQ-01)."""
        cq = self.rng.randrange(CQS)
        before = [self.engine.trace_state(i) for i in range(CQS)]
        engine, rng = self.engine, self.rng
        self.now += rng.randrange(8)
        engine.set_time(cq, self.now)
        touched = {cq}
        move = rng.choice(
            ["complete"] * 10
            + ["write"] * 10
            + ["answer"] * 10
            + [
                "poll",
                "arm",
                "arm",
                "arm",
                "event",
                "event",
                "event",
                "event",
                "return",
                "return",
                "return",
                "return",
            ]
            + ["event write"] * 6
            + ["bad", "resize", "timer", "timer"]
            + (["error"] if rng.random() < 0.1 else [])
            + (["destroy"] if rng.random() < 0.1 else [])
        )
        leaving = engine.cqs[cq].life is Life.DESTROYING or engine.cqs[cq].status is not CqStatus.OK
        if leaving and rng.random() < 0.2:
            move = "destroy"
        result: Step | None = None
        if engine.cqs[cq].life is Life.FREE:
            self.create(cq)
        elif move == "complete":
            result = self.complete(cq)
        elif move == "write":
            if engine.cqs[cq].written in engine.producers[cq].placed:
                entry = engine.memory_write(cq)
                self.memory[entry.address] = entry.data
        elif move == "answer":
            if engine.info[cq].beats:
                result = engine.acknowledge(cq)
        elif move in ("poll", "arm"):
            result = self.poll(cq, rng.choice(list(ArmType)) if move == "arm" else None)
        elif move == "event write":
            self.write_events()
        elif move == "event":
            if engine.eqs[EQ].writing:
                touched = {event.cq for event in engine.eqs[EQ].writing[0]}
                result = engine.event_acknowledge(EQ)
        elif move == "return":
            touched = self.take_event()
        elif move == "bad":
            index = (engine.cqs[cq].written + 1) % LANES
            assert engine.write(*ring_bell(cq, index, ArmType.ANY)).cause is not Cause.OK
            assert engine.write(*ring_bell(cq, 0, ArmType.ANY, page=2)).cause is not Cause.OK
            touched = set()
        elif move == "resize":
            self.resize(cq)
        elif move == "timer":
            result = engine.moderation(cq)
        elif move == "error":
            status = rng.choice([CqStatus.BUFFER_OVERFLOW, CqStatus.INTERNAL_ERROR])
            if engine.cqs[cq].status is CqStatus.OK and status is CqStatus.BUFFER_OVERFLOW:
                result = engine.cq_error(cq, status)
            elif engine.info[cq].beats:
                result = engine.acknowledge(cq, okay=False)
        elif move == "destroy":
            engine.command(Command.DESTROY_CQ, make_args(cq))
        self.calls += len(result.calls) if result else 0
        for other in set(range(CQS)) - touched:
            assert engine.trace_state(other) == before[other]
        self.check_state()

    def complete(self, cq: int) -> Step:
        """A completion arrives, with a credit if it can get one."""
        rng, engine = self.rng, self.engine
        engine.reserve(cq, 1)
        cqe = Cqe(
            rng.getrandbits(64),
            type=rng.choice([1, 2, 0x8001]),
            flags=rng.getrandbits(15),
            status=rng.choice([0, 0, 0, 9]),
        ).pack()
        verdict, step = engine.complete(cq, cqe, silent=rng.random() < 0.1)
        if verdict is Placement.PLACED:
            self.placed[cq].append(cqe)
        return step

    def poll(self, cq: int, arm: ArmType | None) -> Step | None:
        """The consumer polls what is there, up to a limit, and maybe arms."""
        if self.engine.cqs[cq].life is not Life.READY:
            return None
        self.got[cq] += self.readers[cq].poll(self.rng.randrange(4))
        index = self.readers[cq].index % LANES
        step = self.engine.write(*ring_bell(cq, index, arm))
        assert step.cause is Cause.OK
        return step

    def write_events(self) -> None:
        """The engine writes some of the event entries that wait, up to the end of a line."""
        eq, status = self.engine.eqs[EQ], self.engine.status
        cqs = self.rng.sample([*eq.waiting], self.rng.randint(0, len(eq.waiting)))
        if cqs:
            first, _ = eq.expected(cqs, status)[0]
            entries = eq.expected(cqs[: (64 - first % 64) // 16], status)
            self.memory |= entries
            self.engine.eqe_beat(EQ, *line(first, *(entry for _, entry in entries)))

    def take_event(self) -> set[int]:
        """The host reads the next event entry, runs the callback and returns from it."""
        for event in self.events.get_events(1):
            self.seen_calls.append(event)
            step = self.engine.write(*return_bell(event.cq))
            assert step.cause is Cause.OK
            self.calls += len(step.calls)
            return {event.cq}
        return set()

    def resize(self, cq: int) -> None:
        """To a random size, if it is accepted."""
        self.bases += 1
        base, log2 = self.bases << 12, self.rng.randint(1, 3)
        reply = self.engine.command(Command.RESIZE_CQ, make_args(cq, base=base, log2=log2))
        if reply.result is CommandResult.OK:
            self.readers[cq].switch(base, log2, reply.out[0], SMALL.idx_w)

    def check_state(self) -> None:
        """What holds at any time."""
        eq = self.engine.eqs[EQ]
        assert eq.unread <= eq.ring.entries  # an event ring cannot overflow
        for number, cq in enumerate(self.engine.cqs[:CQS]):
            producer = self.engine.producers[number]
            same = [p[:31] for p in self.placed[number][: len(self.got[number])]]
            assert [g[:31] for g in self.got[number]] == same
            if cq.life is Life.FREE:
                continue
            assert cq.cons <= cq.written <= producer.alloc
            assert cq.prod <= cq.written
            assert producer.alloc - cq.cons + producer.credits_held <= producer.ring.entries
            assert not (cq.due and cq.arm is None)
            assert not (cq.due and cq.released and not cq.busy)
            trace_is_enough(cq, self.engine.trace_state(number))


def trace_is_enough(cq: CqModel, state: int) -> None:
    """The trace's wrapped and clamped marks decide what the model decides from its lists."""
    bits = SMALL.idx_w
    prod, cons, mark, solicited = (state >> low & (1 << bits) - 1 for low in (16, 32, 48, 64))

    def ahead(a: int, b: int) -> bool:
        return 0 < (a - b) % (1 << bits) < 1 << bits - 1

    assert ahead(prod, cons) == bool(cq.entries)
    assert ahead(prod, mark) == bool(cq.new)
    assert (solicited != mark) == any(e.solicited for e in cq.new)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1 << 32))
def test_random_traffic(seed: int) -> None:
    """Isolation, event ring, indices, marks; and every callback reaches the host once."""
    traffic = Traffic(seed)
    for _ in range(400):
        traffic.step()
    # CQ-16: nothing is lost; what was called arrives once the memory answers.
    engine, eq = traffic.engine, traffic.engine.eqs[EQ]
    for _ in range(20):
        while eq.waiting:
            traffic.write_events()
        while eq.writing:
            traffic.calls += len(engine.event_acknowledge(EQ).calls)
        traffic.take_event()
    assert len(traffic.seen_calls) == traffic.calls
    assert not eq.waiting
    for cq in range(CQS):
        assert not engine.cqs[cq].busy


@given(
    st.lists(st.tuples(st.sampled_from(ArmType), st.booleans()), min_size=1, max_size=6),
    st.booleans(),
)
def test_merged_arms_are_one(arms: list[tuple[ArmType, bool]], solicited: bool) -> None:
    """CQ-12, CQ-06: any sequence of arms on an empty queue acts like the strongest one, once."""
    cq = CqModel()
    cq.create(CqConfig(entries=8))
    for arm, _ in arms:
        assert cq.doorbell(0, arm).calls == []
    cq.wrote(2)
    kinds = {arm for arm, _ in arms}
    fires = ArmType.ANY in kinds or (ArmType.SOLICITED in kinds and solicited)
    assert len(cq.publish([solicited]).calls) == fires
    if fires:
        assert cq.publish([True]).calls == []


@given(st.integers(0, 63), st.integers(0, 63), st.integers(0, 16), st.integers(0, 16))
def test_legal_range(start: int, index: int, unpublished: int, published: int) -> None:
    """CQ-22: the literal rule (c - cons) mod N <= (written - cons) mod N."""
    cq = CqModel(index_bits=6)
    cq.create(CqConfig(entries=16))
    for _ in range(start):
        cq.wrote(1)
        cq.publish([False])
        cq.doorbell(cq.prod % 64)
    cq.wrote(published + unpublished)
    cq.publish([False] * published)
    legal = (index - start) % 64 <= published + unpublished
    assert (cq.doorbell(index).cause is Cause.OK) == legal
