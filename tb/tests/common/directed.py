# SPDX-License-Identifier: Apache-2.0
"""What the directed tests share: records kept, states compared, refusals checked in detail."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from models.post.post import Post
from tb.env.agents.control import CommandError
from tb.env.agents.doorbell import PAGE_BYTES
from tb.env.base_test import CarillonTest
from tb.env.defs import EQE, POST, ArmType, Cause, Cmd, PageReg, Result
from tb.env.harness.records import (
    Interrupt,
    MemWrite,
    Record,
    ScatterAnswer,
    TermRequest,
    Trace,
    WorkBeat,
)
from tb.env.host.cq import Cq, Eq
from tb.env.host.driver import LogEntry
from tb.env.host.log_entries import LogOfPages

SLVERR = 2
M64 = (1 << 64) - 1
#: Where a portal could be, and none is.
NO_PORTAL = 0x0C0
#: Lanes of the trace whose steps tell of refused posts, too.
POST_LANES = (3, 6)
PORTALS = (PageReg.SEND, PageReg.RECV, PageReg.SRQ_RECV)
#: Causes of a post that names no object of its page.
NO_STEP = (
    *(Cause.BURST, Cause.BAD_SIZE, Cause.BAD_PAGE, Cause.BAD_OFFSET, Cause.NOT_OWNER),
    *(Cause.BAD_QP, Cause.BAD_SRQ, Cause.NO_QP, Cause.NO_SRQ),
)
EFFECTS = (MemWrite, Interrupt, WorkBeat, TermRequest, ScatterAnswer)
R = TypeVar("R")


class DirectedTest(CarillonTest):
    """Keeps all records; offers checks on what happened and on what did not."""

    def connect_checkers(self) -> None:
        super().connect_checkers()
        self.seen: list[Record] = []
        self.env.add_subscriber(self.seen.extend, "records of the test")

    def of(self, kind: type[R], since: int = 0, queue: Cq | Eq | None = None) -> list[R]:
        """Records of one kind from position ``since`` of all records on; of memory: of a queue."""
        found: list[R] = [r for r in self.seen[since:] if isinstance(r, kind)]
        if queue is None:
            return found
        axi_id = self.id_of(queue)
        return [record for record in found if getattr(record, "axi_id", None) == axi_id]

    def id_of(self, queue: Cq | Eq) -> int:
        """AXI ID of the writes of a queue."""
        return self.env.mem.id_of(**{"eq" if isinstance(queue, Eq) else "cq": queue.number})

    @staticmethod
    def event(write: MemWrite) -> dict[str, int]:
        """Fields of the event entry in a write; ``at``: its address."""
        lane = (write.strb & -write.strb).bit_length() - 1
        fields = EQE.unpack(write.data >> 8 * lane & (1 << EQE.width) - 1)
        return fields | {"at": write.addr + lane}

    async def happens(self, look: Callable[[], object], within: int, step: int = 10) -> bool:
        """Waits until this is so, at most so many cycles."""
        end = self.harness.cycle + within
        while not look() and self.harness.cycle < end:
            await self.harness.cycles(step)
            await self.env.sync()
        return bool(look())

    # -- states ------------------------------------------------------------------------------------

    async def states(self) -> list[tuple[int, tuple[int, ...]]]:
        """The answers to the query of every CQ, EQ, QP, SRQ and region."""
        config, found = self.config, []
        for code, count in (
            *((Cmd.QUERY_CQ, config.num_cq), (Cmd.QUERY_EQ, config.num_eq)),
            *((Cmd.QUERY_QP, config.num_qp), (Cmd.QUERY_SRQ, config.num_srq)),
            (Cmd.QUERY_MR, config.num_mr),
        ):
            for number in range(count):
                answer = await self.env.host.command(code, number)
                found.append((answer.result, answer.outs))
        return found

    @asynccontextmanager
    async def no_effect(self, states: bool = True) -> AsyncIterator[None]:
        """What happens within changes no queue and writes no memory: queries, trace, writes and
        interrupts say so (``states``: also the queries).
        """
        await self.env.drain(32)
        before = await self.states() if states else []
        start = len(self.seen)
        yield
        await self.env.drain(32)
        effects = [r for r in self.seen[start:] if isinstance(r, Trace | MemWrite | Interrupt)]
        assert not effects, f"an effect: {effects[:3]}"
        if states:
            assert await self.states() == before

    @asynccontextmanager
    async def counted(self, **changes: int) -> AsyncIterator[None]:
        """Exactly these counters move by these steps (those of the control port are left out)."""
        await self.env.drain(32)
        before = await self.env.host.counters()
        yield
        await self.env.drain(32)
        after = await self.env.host.counters()
        moved = {n: after[n] - before[n] for n in after if after[n] != before[n]}
        assert moved == {n: step for n, step in changes.items() if step}, moved

    # -- refusals ----------------------------------------------------------------------------------

    @staticmethod
    async def fails_with(result: Result, command: Awaitable[Any]) -> None:
        """The driver's command has this result."""
        try:
            await command
        except CommandError as error:
            assert error.command.result == result, f"{error}, not {result.name}"
        else:
            raise AssertionError(f"accepted, not {result.name}")

    def effects(self, since: int) -> list[Record]:
        """What refusals must not bring about; steps of posts that change nothing are none."""
        found: list[Record] = [r for r in self.seen[since:] if isinstance(r, EFFECTS)]
        return found + [
            t for t in self.of(Trace, since) if t.lane not in POST_LANES or t.old != t.new
        ]

    def post_steps(self, since: int) -> list[tuple[int, int]]:
        """Number and operand of each step of a post or of a receive post."""
        return [(t.cq, t.operand) for t in self.of(Trace, since) if t.lane in POST_LANES]

    @staticmethod
    def step_of_refusal(cause: Cause, offset: int, line: int) -> list[tuple[int, int]]:
        """The step that a refused post leaves, if it names an object of its page."""
        if offset not in PORTALS or cause in NO_STEP:
            return []
        operand = cause | (offset == PageReg.SRQ_RECV) << 8
        if offset == PageReg.SEND:
            operand = cause | POST["opcode"].get(line) << 8 | POST["flags"].get(line) << 16
        return [(POST["qp"].get(line), operand)]

    def log_of_refusal(
        self, cause: Cause, page: int, data: int, offset: int = PageReg.CQ_DB
    ) -> LogEntry:
        """The entry of the error log that a refused write leaves."""
        return LogEntry(*LogOfPages(self.config).write(cause, page * PAGE_BYTES + offset, data))

    async def refused(
        self, cause: Cause, page: int, offset: int, data: int | Post, **options: Any
    ) -> None:
        """A write, a word or a post, is refused with this cause and leaves exactly the traces it
        should (ISO-02).
        """
        host = self.env.host
        known = page < self.config.num_pages
        refusals = (await host.page_status(page))[1] if known else 0
        word = data if isinstance(data, int) else data.encode()
        if not isinstance(data, int):
            options = {"size": 6, "line": word} | options
        await self.env.drain(16)
        await host.read_log()
        start = len(self.seen)
        async with self.counted(DB_REFUSED=1, **{f"CAUSE{int(cause)}": 1}):
            answer = await self.env.doorbells.write(page, offset, word & M64, **options)
            what = f"page {page} offset {offset:#x} word {word:#x} {options}"
            assert answer == (SLVERR, cause), f"{what}: {answer}, expected {cause.name}"
        if known:
            assert await host.page_status(page) == (cause, refusals + 1), what
        assert await host.read_log() == [self.log_of_refusal(cause, page, word, offset)], what
        assert self.effects(start) == [], what
        assert self.post_steps(start) == self.step_of_refusal(cause, offset, word), what

    # -- setting up --------------------------------------------------------------------------------

    async def queue(self, page: int = 0, **options: Any) -> Cq:
        """A CQ without reservation (unless asked for), with an EQ of its page."""
        host = self.env.host
        eq = next((eq for eq in host.eqs.values() if eq.page == page), None)
        if eq is None:
            eq = await host.create_eq(page=page, log2=min(4, self.config.max_log2))
        options.setdefault("reservation", False)
        options.setdefault("log2", min(4, self.config.max_log2))
        return await host.create_cq(eq=eq, **options)

    async def queues(self, count: int, eq: Eq, **options: Any) -> list[Cq]:
        """Several CQs of one EQ."""
        options.setdefault("reservation", False)
        return [await self.env.host.create_cq(eq=eq, **options) for _ in range(count)]

    def send(self, cq: Cq | int, contexts: Iterable[int], **fields: Any) -> None:
        """Completions with these contexts, each in a beat of its own."""
        number = cq if isinstance(cq, int) else cq.number
        for context in contexts:
            self.env.completions.send(number, context=context, **fields)

    # -- consumers ---------------------------------------------------------------------------------

    @staticmethod
    async def armed(cqs: Iterable[Cq], arm: ArmType = ArmType.ANY) -> None:
        """Each is armed."""
        for cq in cqs:
            assert await cq.arm(arm) == (0, 0)

    async def consumed(self, *cqs: Cq) -> list[int]:
        """Everything that is there is polled and told, and a callback in progress returns."""
        found: list[int] = []
        for cq in cqs:
            found += self.polled(cq)
            assert await cq.update_consumer_index() == (0, 0)
            if len(cq.callbacks) > cq.returns:
                assert await cq.callback_return() == (0, 0)
        return found

    async def grants(self, cq: Cq, *requests: tuple[int, bool]) -> None:
        """Each request of so many credits is granted, or is not."""
        answers = [(n, await self.env.credits.reserve(cq.number, n)) for n, _ in requests]
        assert answers == [*requests], f"CQ {cq.number}: {answers}, not {requests}"

    @staticmethod
    def polled(cq: Cq, limit: int = 1 << 16) -> list[int]:
        """Contexts of what is there."""
        return [result.request_context for result in cq.get_cq_results(limit)]

    async def result(self, code: int, *args: int) -> Result:
        """Result of a raw command."""
        return Result((await self.env.host.command(code, *args)).result)
