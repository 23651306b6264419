# SPDX-License-Identifier: Apache-2.0
"""Directed tests in the words of the source: a consumer acts one step at a time, and each step
demands exactly the callbacks that the rules give.

::

    q = await self.consumer()
    await q.arm(SOLICITED)
    await q.place(UNSOLICITED)
    await q.arm(ANY, calls=1)
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from typing import Any, Final

from cocotb.triggers import Lock, gather

from tb.env.agents.completion import Cpl
from tb.env.base_test import CarillonTest
from tb.env.defs import CQ_DB, ArmType, Cause, CqeType, CqStatus, PageReg
from tb.env.host.cq import Cq, Eq
from tb.tests.common.directed import Directed

ANY: Final = ArmType.ANY
ERRORS: Final = ArmType.ERRORS
SOLICITED: Final = ArmType.SOLICITED
ARMS: Final = (ANY, ERRORS, SOLICITED)

SEND: Final = 0x0002
ERROR_STATUS: Final = 5

#: Fields of a completion.
Kind = Mapping[str, Any]

UNSOLICITED: Final[Kind] = {"type": CqeType.RECEIVE}
SOLICITED_RECEIVE: Final[Kind] = {"type": CqeType.RECEIVE, "solicited": True}
SOLICITED_INVALIDATE: Final[Kind] = {"type": CqeType.RECEIVE_AND_INVALIDATE, "solicited": True}
FLAG_ON_SEND: Final[Kind] = {"type": SEND, "solicited": True}
ERROR: Final[Kind] = {"type": SEND, "status": ERROR_STATUS}
ERROR_RECEIVE: Final[Kind] = {"type": CqeType.RECEIVE, "status": 0xFF}

KINDS: Final[Mapping[str, Kind]] = {
    "unsolicited": UNSOLICITED,
    "solicited receive": SOLICITED_RECEIVE,
    "solicited receive with invalidation": SOLICITED_INVALIDATE,
    "solicit flag on a send": FLAG_ON_SEND,
    "error": ERROR,
    "error of a receive": ERROR_RECEIVE,
}

#: CQ-08, the completions that satisfy each arm.
SATISFY: Final[Mapping[ArmType, frozenset[str]]] = {
    ANY: frozenset(KINDS),
    SOLICITED: frozenset(KINDS) - {"unsolicited", "solicit flag on a send"},
    ERRORS: frozenset(),
}

#: CQ-12, the table of the source: rows are the first arm, columns the second.
MERGED: Final[Mapping[tuple[ArmType, ArmType], ArmType]] = {
    (ANY, ANY): ANY,
    (ANY, ERRORS): ANY,
    (ANY, SOLICITED): ANY,
    (ERRORS, ANY): ANY,
    (ERRORS, ERRORS): ERRORS,
    (ERRORS, SOLICITED): SOLICITED,
    (SOLICITED, ANY): ANY,
    (SOLICITED, ERRORS): SOLICITED,
    (SOLICITED, SOLICITED): SOLICITED,
}


class Consumer:
    """One CQ. Each step waits until the engine rests and demands that exactly ``calls`` callbacks
    came in it, with this status and with ``snap`` (default: everything placed so far).
    """

    def __init__(self, test: StepTest, cq: Cq, name: str) -> None:
        self.test = test
        self.cq = cq
        self.name = name
        self.placed = 0
        self.polled = 0
        self.expected = 0
        self.running = False

    def __str__(self) -> str:
        return f"CQ {self.cq.number} ({self.name})" if self.name else f"CQ {self.cq.number}"

    def index(self, number: int | None = None) -> int:
        """The index of an entry number, default: after what was polled."""
        return (self.polled if number is None else number) & self.test.mask

    # -- steps -------------------------------------------------------------------------------------

    async def arm(self, arm: ArmType = ANY, calls: int = 0, **options: Any) -> None:
        """ArmCq; tells the index of what was polled."""
        answer = await self.cq.arm(arm, index=self.index())
        assert answer == (0, 0), f"{self}: arm {arm.name} refused: {answer}"
        await self.settle(calls, **options)

    async def place(
        self, *kinds: Kind, calls: int = 0, pairs: bool = False, **options: Any
    ) -> None:
        """These completions are placed, back to back."""
        self.send(*kinds, pairs=pairs)
        await self.settle(calls, **options)

    def send(self, *kinds: Kind, at: int | None = None, pairs: bool = False) -> None:
        """Completions, from a given cycle on; ``pairs``: two in a beat."""
        cpls = [Cpl(self.cq.number, self.placed + n, **kind) for n, kind in enumerate(kinds)]
        width = 2 if pairs else 1
        for first in range(0, len(cpls), width):
            self.test.env.completions.send_beat(cpls[first : first + width], at_cycle=at)
        self.placed += len(cpls)

    def take(self, count: int | None = None) -> None:
        """GetCqResults: takes entries from memory (default: all placed) without telling."""
        count = self.placed - self.polled if count is None else count
        results = self.cq.get_cq_results(count)
        found = [result.request_context for result in results]
        wanted = list(range(self.polled, self.polled + count))
        assert found == wanted, f"{self}: polled {found}, not {wanted}"
        self.polled += count

    async def poll(self, count: int | None = None, calls: int = 0, **options: Any) -> None:
        """Polls and tells the index."""
        self.take(count)
        answer = await self.cq.update_consumer_index(self.index())
        assert answer == (0, 0), f"{self}: index {self.index()} refused: {answer}"
        await self.settle(calls, **options)

    async def callback_returns(self, calls: int = 0, **options: Any) -> None:
        """The callback in progress returns."""
        assert self.running, f"{self}: no callback in progress"
        answer = await self.cq.callback_return()
        assert answer == (0, 0), f"{self}: return refused: {answer}"
        self.running = False
        await self.settle(calls, **options)

    async def refused(self, cause: Cause, *, index: int | None = None, **fields: int) -> None:
        """A CQ_DB write with these fields is refused and changes nothing (CQ-22, ISO-02)."""
        host, page = self.test.env.host, self.cq.page
        before = await self.cq.query()
        word = CQ_DB.pack(cq=self.cq.number, **fields)
        word |= self.index() if index is None else index
        _, count = await host.page_status(page)
        answer = await host.write(page, PageReg.CQ_DB, word)
        assert answer == (2, cause), f"{self}: {word:#x} answered {answer}, not {cause.name}"
        assert await host.page_status(page) == (cause, count + 1)
        await self.settle(0)
        after = await self.cq.query()
        assert before == after, f"{self}: {cause.name} changed {before} to {after}"

    async def settle(self, calls: int = 0, within: int = 0, **options: Any) -> None:
        """Nothing but time passes; ``within``: at most so many cycles until the callbacks."""
        if within:
            await self.cq.wait_callbacks(self.expected + calls, within)
        await self.test.env.drain(self.test.quiet)
        self.demand(calls, **options)

    def demand(self, calls: int, status: CqStatus = CqStatus.OK, snap: int | None = None) -> None:
        """Exactly ``calls`` callbacks came since the latest demand."""
        new = self.cq.callbacks[self.expected :]
        state = self.test.env.tell_cq(self.cq.number)
        text = f"{self}: {len(new)} callbacks instead of {calls}: {new}; {state}"
        assert len(new) == calls, text
        self.expected += calls
        for callback in new:
            wanted = self.index(self.placed if snap is None else snap)
            assert (callback.status, callback.snap) == (status, wanted), (
                f"{self}: {callback}, not status {status!r}, snap {wanted}"
            )
            self.running = True

    async def consumes(self) -> None:
        """Everything is polled and told, and a callback in progress returns."""
        await self.poll()
        if self.running:
            await self.callback_returns()

    async def overflow(
        self, kind: Kind = UNSOLICITED, calls: int = 0, snap: int | None = None
    ) -> None:
        """One completion more than there is room for."""
        self.send(kind)
        self.placed -= 1
        await self.settle(calls, status=CqStatus.BUFFER_OVERFLOW, snap=snap)
        assert (await self.cq.query()).status == CqStatus.BUFFER_OVERFLOW

    async def proves_fit(self) -> None:
        """Whatever came before: a fresh arm of the empty queue waits for exactly one callback."""
        if self.running:
            await self.callback_returns()
        self.take()
        await self.arm(ANY)
        await self.place(UNSOLICITED, calls=1)
        await self.place(SOLICITED_RECEIVE)
        await self.callback_returns()
        await self.poll()


class StepTest(Directed, CarillonTest):
    """Creates consumers on one event queue, and compares the number of callbacks of the whole
    test.
    """

    #: Cycles without any event after which the engine rests.
    quiet = 40

    def connect_checkers(self) -> None:
        super().connect_checkers()
        self.consumers: list[Consumer] = []
        self._eq: Eq | None = None
        self._creating = Lock()

    async def consumer(
        self, name: str = "", *, eq: Eq | None = None, log2: int = 3, **options: Any
    ) -> Consumer:
        """A new CQ. Its completions need no credits unless ``reservation`` is set."""
        if eq is None:
            async with self._creating:
                if self._eq is None:
                    room = min((self.config.num_cq - 1).bit_length(), self.config.max_log2)
                    self._eq = await self.env.host.create_eq(log2=room, page=1)
            eq = self._eq
        options.setdefault("reservation", False)
        cq = await self.env.host.create_cq(eq=eq, log2=log2, **options)
        consumer = Consumer(self, cq, name)
        self.consumers.append(consumer)
        return consumer

    async def together(self, *trials: Coroutine[Any, Any, None]) -> None:
        """Runs trials on different queues at the same time (CQ-01)."""
        await gather(*trials)

    async def fail_write(self, consumer: Consumer, rule: int | None = None) -> None:
        """The next entry write of a queue fails: an error of the CQ (CQ-08, CQ-18)."""
        self.env.mem.fail(cq=consumer.cq.number, rule=rule)
        await self.harness.cycles(4)

    def check_not_vacuous(self) -> None:
        super().check_not_vacuous()
        assert self.consumers, "no queue was tested"
        for consumer in self.consumers:
            consumer.demand(0)
        seen = len(self.env.host.callbacks)
        expected = sum(consumer.expected for consumer in self.consumers)
        assert seen == expected, f"{seen} callbacks in all instead of {expected}"
        assert expected, "no callback was ever expected"
