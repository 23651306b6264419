# SPDX-License-Identifier: Apache-2.0
"""Requests that change keys, and the faults that they can have."""

from __future__ import annotations

from typing import NamedTuple

from models.post.post import Segment
from tb.env.defs import CqeStatus, Opcode
from tb.env.host.keyed import rights_flags
from tb.env.host.qp import Qp
from tb.env.host.regions import Region
from tb.env.host.windows import MemoryWindow
from tb.tests.common.windowing import WindowTest


class Fault(NamedTuple):
    """A request that fails. ``segment`` None: has none."""

    name: str
    target: int
    segment: Segment | None
    rights: int
    status: CqeStatus


class RequestTest(WindowTest):
    async def demand_fault(
        self,
        qp: Qp,
        opcode: Opcode,
        fault: Fault,
        regions: list[Region],
        windows: list[MemoryWindow],
    ) -> None:
        """Fails with this status and changes nothing."""
        before = await self.look(regions, windows)
        segments = [] if fault.segment is None else [fault.segment]
        post = qp.make(
            opcode, segments=segments, token=fault.target, flags=rights_flags(fault.rights)
        )
        try:
            await self.execute(qp, post, fault.status)
        except AssertionError as error:
            error.add_note(fault.name)
            raise
        assert await self.look(regions, windows) == before, fault.name
        await self.revive(qp)
