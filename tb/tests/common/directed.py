# SPDX-License-Identifier: Apache-2.0
"""What the directed tests share: records kept, states compared, refusals checked in detail."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from tb.env.agents import Cpl
from tb.env.base_test import CarillonTest
from tb.env.defs import CQ_DB, Cause, Cmd, Kind, Result
from tb.env.harness.records import Interrupt, MemWrite, Record, Trace
from tb.env.host.cq import Cq, Eq
from tb.env.host.driver import LogEntry

SLVERR = 2
R = TypeVar("R")


class DirectedTest(CarillonTest):
    """Keeps all records; offers checks on what happened and on what did not."""

    def connect_checkers(self) -> None:
        super().connect_checkers()
        self.seen: list[Record] = []
        self.env.add_subscriber(self.seen.extend, "records of the test")

    def of(self, kind: type[R], since: int = 0) -> list[R]:
        """Records of one kind from position ``since`` of all records on."""
        return [record for record in self.seen[since:] if isinstance(record, kind)]

    # -- states ------------------------------------------------------------------------------------

    async def states(self) -> list[tuple[int, tuple[int, ...]]]:
        """The answers to the query of every CQ and every EQ."""
        command = self.env.host.command
        found = []
        for code, count in ((Cmd.QUERY_CQ, self.config.num_cq), (Cmd.QUERY_EQ, self.config.num_eq)):
            for number in range(count):
                answer = await command(code, number)
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

    def log_of_refusal(self, cause: Cause, page: int, word: int) -> LogEntry:
        """The entry of the error log that a refused doorbell write leaves."""
        if cause <= Cause.RESERVED_BITS:
            return LogEntry(cause, Kind.PAGE, page & 0xFFFF, page & 0xFFFF)
        return LogEntry(cause, Kind.CQ, CQ_DB["cq"].get(word), page & 0xFFFF)

    async def refused(
        self, cause: Cause, page: int, offset: int, word: int, **options: Any
    ) -> None:
        """A write is refused with this cause and leaves exactly the traces it should (ISO-02)."""
        host = self.env.host
        known = page < self.config.num_pages
        refusals = (await host.page_status(page))[1] if known else 0
        assert await host.read_log() == []
        start = len(self.seen)
        async with self.counted(DB_REFUSED=1, **{f"CAUSE{int(cause)}": 1}):
            answer = await self.env.doorbells.write(page, offset, word, **options)
            what = f"page {page} offset {offset:#x} word {word:#x} {options}"
            assert answer == (SLVERR, cause), f"{what}: {answer}, expected {cause.name}"
        if known:
            assert await host.page_status(page) == (cause, refusals + 1), what
        assert await host.read_log() == [self.log_of_refusal(cause, page, word)], what
        effects = [r for r in self.seen[start:] if isinstance(r, Trace | MemWrite | Interrupt)]
        assert not effects, f"{what}: {effects[:3]}"

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

    def send_pairs(self, cq: Cq, contexts: Iterable[int]) -> None:
        """Completions of one CQ two by two."""
        values = list(contexts)
        for first, second in zip(values[::2], values[1::2], strict=True):
            self.env.completions.send_pair(
                Cpl(cq.number, context=first), Cpl(cq.number, context=second)
            )

    @staticmethod
    def polled(cq: Cq, limit: int = 1 << 16) -> list[int]:
        """Contexts of what is there."""
        return [result.request_context for result in cq.get_cq_results(limit)]

    async def result(self, code: int, *args: int) -> Result:
        """Result of a raw command."""
        return Result((await self.env.host.command(code, *args)).result)
