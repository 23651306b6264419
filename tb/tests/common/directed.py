# SPDX-License-Identifier: Apache-2.0
"""What the directed tests share: states compared, refusals checked in detail."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Iterable
from contextlib import asynccontextmanager
from itertools import chain
from typing import Any

from models.layouts import LINE_BYTES
from models.post.post import Post
from models.receive.receive_post import RecvPost
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
from tb.env.host.qp import Qp
from tb.env.host.recv import ReceiveQueue
from tb.tests.common.recording import Recording

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


class Directed(Recording):
    """Checks on what happened and on what did not."""

    @staticmethod
    def entries_of(write: MemWrite) -> list[dict[str, int]]:
        """Fields of the event entries in a write; ``at``: the address of each."""
        return [
            EQE.unpack(write.data >> 8 * lane & (1 << EQE.width) - 1) | {"at": write.addr + lane}
            for lane in range(0, LINE_BYTES, EQE.width // 8)
            if write.strb >> lane & 1
        ]

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

    async def causes(
        self, queue: Qp | ReceiveQueue, cases: Iterable[tuple[Post | RecvPost, Cause]]
    ) -> None:
        """Many posts or receive posts to a queue that are refused, with these causes: answers,
        steps, counters, log, no effect.
        """
        cases, host = list(cases), self.env.host
        await self.rest(32)
        before, mark = await self.states(), self.mark
        await host.read_log()
        old = await host.counters()
        sends = isinstance(cases[0][0], Post)
        offset = PageReg.SEND if sends else queue.portal
        write: Any = queue.queue if isinstance(queue, Qp) and sends else queue.queue_recv
        answers = [write(post) for post, _ in cases]
        for (post, cause), answer in zip(cases, answers, strict=True):
            got = await answer
            assert got == (SLVERR, cause), f"{post}: {got}, expected {cause.name}"
        await self.rest(32)
        counters = await host.counters()
        moved = Counter({name: counters[name] - old[name] for name in counters})
        lost = moved.pop("LOG_LOST")
        wanted = Counter(f"CAUSE{int(cause)}" for _, cause in cases)
        assert +moved == wanted + Counter(DB_REFUSED=len(cases)), +moved
        assert self.effects(mark) == []
        lines = [(cause, post.encode()) for post, cause in cases]
        steps = [self.step_of_refusal(cause, offset, line) for cause, line in lines]
        assert self.post_steps(mark) == [*chain(*steps)]
        log = [self.log_of_refusal(cause, queue.page, line, offset) for cause, line in lines]
        # The newest ones may have found no room.
        assert await host.read_log() == log[: len(cases) - lost]
        assert await self.states() == before

    # -- setting up --------------------------------------------------------------------------------

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


class DirectedTest(Directed, CarillonTest):
    """Base of the directed tests that need these steps alone."""
