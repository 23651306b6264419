# SPDX-License-Identifier: Apache-2.0
"""Completion and event queues as the host sees them (the objects that the driver makes)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import cocotb
from cocotb.triggers import Event

from models.cq.queue import EventReader, NdResult, NdResultEx, RingReader
from tb.env import defs
from tb.env.agents.base import Pending
from tb.env.agents.doorbell import WriteResult
from tb.env.defs import CB_RETURN, CQ_DB, ArmType, Cmd, CqeType, CqStatus, Life, PageReg, Result
from tb.env.host.object import HostObject

CQE_BYTES = 32
_ALL_EVENTS = 1 << 20
_RECEIVES = (CqeType.RECEIVE, CqeType.RECEIVE_AND_INVALIDATE)


def ring_words(base: int, ring: int) -> tuple[int, int, int]:
    """ARG1 to ARG3 of commands that name a ring."""
    return base & 0xFFFFFFFF, base >> 32, ring


class Reaped(Protocol):
    """A queue that is told how many completions of its buffers were polled."""

    def polled(self, count: int) -> None:
        """So many more."""


class Callback(NamedTuple):
    """A callback that the host saw: cycle of the interrupt, and what the event entry says (of an
    entry that was given up: status and producer index of the CQ).
    """

    cycle: int
    cq: int
    status: int
    snap: int


@dataclass(frozen=True)
class EqState:
    """Answer to QUERY_EQ."""

    exists: bool
    log2: int
    vector: int
    producer: int
    attached: int
    page: int

    @classmethod
    def from_outs(cls, outs: tuple[int, ...]) -> EqState:
        """From OUT0 to OUT3."""
        state = defs.EQ_STATE.unpack(outs[0])
        return cls(
            exists=bool(state["exists"]),
            log2=state["log2"],
            vector=state["vector"],
            producer=outs[1],
            attached=outs[2],
            page=outs[3],
        )


@dataclass(frozen=True)
class CqState:
    """Answer to QUERY_CQ."""

    life: Life
    status: CqStatus
    armed: bool
    arm_type: ArmType
    in_callback: bool
    due: bool
    event_under_way: bool
    log2: int
    prod: int
    cons: int
    alloc: int
    credits: int
    moderation: tuple[int, int]

    @classmethod
    def from_outs(cls, outs: tuple[int, ...]) -> CqState:
        """From OUT0 to OUT5."""
        state, moderation = defs.CQ_STATE.unpack(outs[0]), defs.CQ_MODERATION.unpack(outs[5])
        return cls(
            life=Life(state["life"]),
            status=CqStatus(state["status"]),
            armed=bool(state["armed"]),
            arm_type=ArmType(state["arm_type"]),
            in_callback=bool(state["in_callback"]),
            due=bool(state["due"]),
            event_under_way=bool(state["event_pending"]),
            log2=state["log2"],
            prod=outs[1],
            cons=outs[2],
            alloc=outs[3],
            credits=outs[4],
            moderation=(moderation["count"], moderation["interval"]),
        )


@dataclass(eq=False)
class Eq:
    """An event queue."""

    host: Any
    number: int
    page: int
    vector: int
    base: int
    log2: int

    def __post_init__(self) -> None:
        #: All vectors it ever had: an interrupt with an old one may still be under way.
        self.vectors = {self.vector}
        self.reader = EventReader(self.host.env.memory.read, self.base, self.log2)
        #: Callbacks whose entries were given up, by the numbers of these.
        self.given_up: dict[int, Callback] = {}

    def events(self, cycle: int) -> list[Callback]:
        """Takes all callbacks that are there, those whose entries were given up included."""
        found: list[Callback] = []
        while True:
            for event in self.reader.get_events(_ALL_EVENTS):
                found.append(Callback(cycle, event.cq, int(event.status), event.snap))
            # What was given up and is there all the same was read as any other.
            for number in [n for n in self.given_up if n < self.reader.index]:
                del self.given_up[number]
            if self.reader.index not in self.given_up:
                return found
            given_up = self.given_up.pop(self.reader.index)
            self.reader.pass_over(self.host.env.memory.write)
            found.append(given_up._replace(cycle=cycle))

    def number_of(self, index: int) -> int:
        """The entry with this index (modulo 2^idx_w) that is nearest to the next one to be read."""
        half = 1 << self.host.env.config.idx_w - 1
        return self.reader.index + (index - self.reader.index + half) % (2 * half) - half

    def switched(self, base: int, log2: int, index: int) -> None:
        """A resize took place."""
        self.base, self.log2 = base, log2
        self.reader.switch(base, log2, index, self.host.env.config.idx_w)


@dataclass(eq=False)
class Cq(HostObject):
    """A completion queue and its consumer. Doorbells go through the owner's page unless ``page``
    says otherwise.
    """

    kind: ClassVar[str] = "cqs"

    page: int
    eq: Eq
    base: int
    log2: int
    reservation: bool = True

    def __post_init__(self) -> None:
        env = self.host.env
        self.reader = RingReader(env.memory.read, self.base, self.log2)
        #: SRQs of the QPs that receive here, by QP context: who polls a completion reaps it.
        self.shares: dict[int, Reaped] = {}
        #: Callbacks of this queue, in order.
        self.callbacks: list[Callback] = []
        #: Returns from callbacks that were posted.
        self.returns = 0
        #: If set: called for each callback; the driver returns from the callback when it ends.
        self.on_callback: Callable[[Cq, Callback], Awaitable[None]] | None = None
        self._mask = (1 << env.config.idx_w) - 1
        self._called = Event()

    # -- consuming ---------------------------------------------------------------------------------

    @property
    def consumer_index(self) -> int:
        """What was polled, as an index."""
        return self.reader.index & self._mask

    def get_cq_results(self, limit: int = 1 << 16) -> list[NdResult]:
        """NdkGetCqResults: takes up to ``limit`` results from memory; neither type nor token. Of
        the two entries of an ND1 receive the first has the context of the window's creation.
        """
        if self.shares:
            return [
                NdResult(result.status, result.nbytes, result.qp_context, result.request_context)
                for result in self.get_cq_results_ex(limit)
            ]
        return self.reader.get_results(limit)

    def get_cq_results_ex(self, limit: int = 1 << 16) -> list[NdResultEx]:
        """NdkGetCqResultsEx: the same with type and token."""
        found = self.reader.get_results_ex(limit)
        if self.shares:
            self._reap(found)
        return found

    def _reap(self, results: list[NdResultEx]) -> None:
        counts: Counter[Reaped] = Counter()
        for result in results:
            srq = self.shares.get(result.qp_context)
            if srq is not None and result.type in _RECEIVES:
                counts[srq] += 1
        for srq, count in counts.items():
            srq.polled(count)

    def present(self) -> int:
        """Results that are in memory and were not polled."""
        return len(self.reader.again().poll(1 << 16))

    async def wait_results(self, count: int = 1, limit_cycles: int = 20_000) -> list[NdResultEx]:
        """Polls until ``count`` results are there; fails after ``limit_cycles``."""
        found: list[NdResultEx] = []

        def poll() -> int:
            found.extend(self.get_cq_results_ex(count - len(found)))
            return len(found)

        await self.until("results", poll, count, limit_cycles)
        return found

    # -- doorbells ---------------------------------------------------------------------------------

    def post_arm(
        self,
        arm: ArmType | int = ArmType.ANY,
        *,
        index: int | None = None,
        page: int | None = None,
        at: int = 0,
    ) -> Pending[WriteResult]:
        """Queues the doorbell of :meth:`arm` and returns its answer to come."""
        index = self.consumer_index if index is None else index
        word = CQ_DB.pack(cons=index, cq=self.number, arm_type=int(arm), arm=1)
        return self._post(PageReg.CQ_DB, word, page, at)

    async def arm(self, arm: ArmType | int = ArmType.ANY, **options: int) -> WriteResult:
        """NdkArmCq: one doorbell with consumer index and arm."""
        return await self.post_arm(arm, **options)

    def post_consumer_index(
        self, index: int | None = None, *, page: int | None = None, at: int = 0
    ) -> Pending[WriteResult]:
        """Queues a doorbell with the consumer index alone."""
        index = self.consumer_index if index is None else index
        return self._post(PageReg.CQ_DB, CQ_DB.pack(cons=index, cq=self.number), page, at)

    async def update_consumer_index(self, index: int | None = None, **options: int) -> WriteResult:
        """Tells the engine what was polled."""
        return await self.post_consumer_index(index, **options)

    def post_callback_return(self, *, page: int | None = None, at: int = 0) -> Pending[WriteResult]:
        """Queues the doorbell of :meth:`callback_return`."""
        self.returns += 1
        return self._post(PageReg.CB_RETURN, CB_RETURN.pack(cq=self.number), page, at)

    async def callback_return(self, **options: int) -> WriteResult:
        """The consumer's callback has returned."""
        return await self.post_callback_return(**options)

    def _post(self, offset: int, word: int, page: int | None, at: int) -> Pending[WriteResult]:
        return self.host.env.doorbells.post(
            self.page if page is None else page, offset, word, at=at
        )

    # -- callbacks ---------------------------------------------------------------------------------

    def called(self, callback: Callback) -> None:
        """An event entry for this queue was read."""
        self.callbacks.append(callback)
        self._called.set()
        if self.on_callback is not None:
            cocotb.start_soon(self._run_callback(callback))

    async def _run_callback(self, callback: Callback) -> None:
        assert self.on_callback is not None
        await self.on_callback(self, callback)
        await self.callback_return()

    async def wait_callbacks(self, count: int = 1, limit_cycles: int = 20_000) -> list[Callback]:
        """Waits until ``count`` callbacks came since creation; returns all."""
        await self.until("callbacks", lambda: len(self.callbacks), count, limit_cycles)
        return self.callbacks

    async def evd_wait(self, threshold: int = 1) -> int:
        """dat_evd_wait: sleeps, armed, and wakes for each callback until at least ``threshold``
        results are present; returns how many. Returns from its callbacks itself: there must be
        none in progress, and no ``on_callback``.
        """
        env = self.host.env
        end = env.harness.cycle + 20_000
        await env.sync()
        while (there := self.present()) < threshold:
            seen = len(self.callbacks)
            assert await self.arm(ArmType.ANY) == (0, 0)
            await self.wait_callbacks(seen + 1, max(end - env.harness.cycle, 1))
            assert await self.callback_return() == (0, 0)
        return there

    # -- commands ----------------------------------------------------------------------------------

    async def modify(
        self, *, typed: bool = False, rearm_old: bool = False, moderation: tuple[int, int] = (0, 0)
    ) -> None:
        """MODIFY_CQ: options and moderation; all are set."""
        options = defs.CQ_OPTIONS.pack(typed=typed, rearm=rearm_old)
        delays = defs.CQ_MODERATION.pack(count=moderation[0], interval=moderation[1])
        await self.command(Cmd.MODIFY_CQ, 0, 0, options, 0, delays)

    async def resize(self, log2: int, base: int | None = None) -> int:
        """RESIZE_CQ: moves it to a new ring; returns the switch index."""
        base = self.host.ring_memory(CQE_BYTES, log2, base)
        command = await self.command(Cmd.RESIZE_CQ, *ring_words(base, log2))
        self.switched(base, log2, command.outs[0])
        return command.outs[0]

    async def query(self) -> CqState:
        """QUERY_CQ."""
        return CqState.from_outs((await self.command(Cmd.QUERY_CQ)).outs)

    async def destroy(self, wait: bool = True) -> Result:
        """DESTROY_CQ, repeated while it is pending (``wait``); returns the last result."""
        return await self.end(Cmd.DESTROY_CQ, wait)

    def switched(self, base: int, log2: int, index: int) -> None:
        """A resize took place: entries from ``index`` on are in the new ring."""
        self.base, self.log2 = base, log2
        self.reader.switch(base, log2, index, len(bin(self._mask)) - 2)
