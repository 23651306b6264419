# SPDX-License-Identifier: Apache-2.0
"""A full error log: what each source reports then is counted, and the log stays as it is."""

from __future__ import annotations

from collections.abc import Callable

import pyuvm

from tb.env.defs import CheckKind, Reg
from tb.tests.common.directed import DirectedTest

BUILD = ["default", "engine"]

_LOG = 16
#: Reports of each source, one by one.
_EACH = 4


@pyuvm.test()
class LostEntriesTest(DirectedTest):
    """ISO-02: with a full log each source has one place; each further report of it, alone or beside
    those of all others, is counted once, and the entries stay.
    """

    allow = ("no_traffic",)

    async def scenario(self) -> None:
        env, host = self.env, self.env.host
        far = 0xF000
        sources: list[Callable[[], object]] = [
            lambda: env.doorbells.post_read(0, 0xF00),
            lambda: env.doorbells.post(0, 0xF00, 0),
            lambda: env.mem.stray(0),
        ]
        if self.config.num_qp:
            sources += [
                lambda: env.done.send(far, 1, 0),
                lambda: env.conn.send(far),
                lambda: env.rreq.send(far, 8),
                lambda: env.rdone.send(far, 1, 0),
                lambda: env.check.send(far, CheckKind.READ, 0, 0, 8),
            ]
        else:
            sources.append(lambda: env.completions.send(far))
        for _ in range(_LOG):
            sources[0]()
            await env.drain(16)
        oldest = [await env.control.value(reg) for reg in (Reg.LOG0, Reg.LOG1)]
        lost = 0
        for source in sources:
            for turn in range(_EACH):
                source()
                await env.drain(16)
                lost += turn > 0
                await self.demand(lost)
        for source in sources:
            source()
        await env.drain(16)
        await self.demand(lost + len(sources))
        found = [await env.control.value(reg) for reg in (Reg.LOG0, Reg.LOG1)]
        assert found == oldest, f"oldest entry {found}, not {oldest}"
        log = await host.read_log()
        assert len(log) == _LOG + len(sources), log
        await self.demand(lost + len(sources))

    async def demand(self, lost: int) -> None:
        """CNT_LOG_LOST."""
        found = await self.env.host.counter("LOG_LOST")
        assert found == lost, f"{found} reports lost, not {lost}"
