# SPDX-License-Identifier: Apache-2.0
"""The device is removed: what is refused from then on."""

from __future__ import annotations

from models.post.post import Segment
from models.verbs import VERBS
from tb.env.defs import Cause, Cmd, Result, Verdict
from tb.env.host.qp import Qp
from tb.tests.common.taking import REFUSED
from tb.tests.common.windowing import READ, WindowTest

LEAD = 200
#: Commands that a removed device refuses, and those of cleanup and queries.
REFUSED_COMMANDS = (
    *(Cmd.CREATE_EQ, Cmd.MODIFY_EQ, Cmd.RESIZE_EQ, Cmd.CREATE_CQ, Cmd.MODIFY_CQ, Cmd.RESIZE_CQ),
    *(Cmd.CREATE_QP, Cmd.MODIFY_QP, Cmd.CONNECT_QP, Cmd.CREATE_SRQ, Cmd.RESIZE_SRQ),
    *(Cmd.SET_SRQ_WATERMARK, Cmd.REGISTER_MR, Cmd.ALLOC_MR, Cmd.CREATE_MW, Cmd.REMOVE_DEVICE),
)


REMOVED = Cause.DEVICE_REMOVED


class RemovalTest(WindowTest):
    async def remove_device(self) -> None:
        await self.env.host.remove_device()
        await self.rest(32)

    async def start_over(self) -> None:
        """Reset: the engine has forgotten everything."""
        await self.env.reset()
        self._region = None
        for counts in (self.reports, self.tags, self.early, self.next_tag):
            counts.clear()

    async def refuses(self, qp: Qp) -> None:
        """Commands and posts of every kind, requests, checks."""
        host = self.env.host
        for code in REFUSED_COMMANDS:
            assert await self.result(code, 0, *[0] * 7) == Result.DEVICE_REMOVED, code.name
            # Before all else: reserved bits, numbers out of range.
            args = [0xFFFF_FFFF] * 8
            assert await self.result(code, *args) == Result.DEVICE_REMOVED, code.name
        assert await self.result(0x4B, 0) == Result.UNKNOWN
        for opcode in (*VERBS, 0, 0xFF):
            post = qp.make(opcode, length=8, target=Segment(0, 0, 1))
            assert await qp.post(post) == REMOVED, opcode
        await host.read_log()
        assert (await self.receiver.request(qp.number, 1)).code == REFUSED
        assert await self.check(qp, READ, 0, 0, 8) == Verdict.REFUSED
