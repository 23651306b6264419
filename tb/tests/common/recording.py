# SPDX-License-Identifier: Apache-2.0
"""What all directed tests share: records kept, time that passes, queues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tb.env.env import CarillonEnv, Config
from tb.env.harness.harness import Harness
from tb.env.harness.records import Record
from tb.env.host.cq import Cq, Eq

R = TypeVar("R")


class Recording:
    """Root of the steps of directed tests. A group of steps is a mix-in that derives from this
    class alone, so that a test can take any of them, ahead of ``CarillonTest`` among its bases.
    """

    # Of the test.
    env: CarillonEnv
    harness: Harness
    config: Config

    def connect_checkers(self) -> None:
        super().connect_checkers()  # type: ignore[misc]  # of CarillonTest
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

    async def happens(self, look: Callable[[], object], within: int, step: int = 10) -> bool:
        """Waits until this is so, at most so many cycles."""
        end = self.harness.cycle + within
        while not look() and self.harness.cycle < end:
            await self.harness.cycles(step)
            await self.env.sync()
        return bool(look())

    @property
    def mark(self) -> int:
        """This moment, to look at later records alone (``since``); call ``rest`` before."""
        return len(self.seen)

    async def rest(self, quiet: int = 64) -> None:
        """Waits until nothing happens any more."""
        await self.env.drain(quiet)

    @property
    def mask(self) -> int:
        """Of indices and tags."""
        return (1 << self.config.idx_w) - 1

    async def queue(self, page: int = 0, **options: Any) -> Cq:
        """A CQ without reservation (unless asked for), with an EQ of its page."""
        host = self.env.host
        eq = next((eq for eq in host.eqs.values() if eq.page == page), None)
        if eq is None:
            eq = await host.create_eq(page=page, log2=min(4, self.config.max_log2))
        options.setdefault("reservation", False)
        options.setdefault("log2", min(4, self.config.max_log2))
        return await host.create_cq(eq=eq, **options)
