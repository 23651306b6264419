# SPDX-License-Identifier: Apache-2.0
"""Two invalidations of one key meet, at every offset (MW-05): exactly one succeeds, the failure of
the other ends the connection. Checks in every cycle around an invalidation of each kind (CQ-03,
MW-10): none is granted once it is decided.
"""

from __future__ import annotations

import pyuvm

from tb.env.defs import TRC_CHECK, TRC_INVALIDATE, Cmd, QpState, TraceOp, Verdict
from tb.env.harness.records import MemWrite, Trace
from tb.env.host.qp import Qp
from tb.env.host.regions import Region
from tb.env.host.windows import MemoryWindow
from tb.tests.common.key_races import BY_READ, LEAD, LOCAL, PEER, RaceTest
from tb.tests.common.taking import TAKEN
from tb.tests.common.windowing import (
    BAD_KEY,
    BAD_TOKEN,
    GRANTED,
    INVALID_TOKEN,
    READ,
    bad_token,
    received,
)

BUILD = ["engine", "engine_small", "engine_least"]

AROUND = 40


@pyuvm.test()
class RegionRaceTest(RaceTest):
    """A local Invalidate of a region by FastRegister, and an arriving SendAndInvalidate."""

    async def scenario(self) -> None:
        await self.sweep(LOCAL, await self.allocated(64))


@pyuvm.test()
class ReadRaceTest(RaceTest):
    """A Read with RDMA_READ_LOCAL_INVALIDATE that retires, and an arriving SendAndInvalidate."""

    async def scenario(self) -> None:
        await self.sweep(BY_READ, await self.allocated(64))


@pyuvm.test()
class StalledRaceTest(RaceTest):
    """The race while everything stalls now and then."""

    stalls = 0.3

    async def scenario(self) -> None:
        await self.sweep(LOCAL, await self.window())


@pyuvm.test()
class TwoPeersTest(RaceTest):
    """Two messages that invalidate the same key, in cycles next to each other: the second one finds
    it invalid; a third one behind it is refused or finds it invalid, too.
    """

    async def scenario(self) -> None:
        await self.set_up()
        window = await self.window()
        for gap in (*range(1, 13), 1, 1):
            key = await self.make_valid(window)
            cookies = await self.buffers(2)
            mark, at = self.mark, self.harness.cycle + LEAD
            pending = [
                self.send_invalidate(self.qp_, key, at=at + n * gap if gap else at)
                for n in range(2)
            ]
            codes = [(await answer).code for answer in pending]
            assert codes == [TAKEN, BAD_TOKEN], (gap, codes)
            await self.rest()
            steps = self.key_steps(TraceOp.INVALIDATE, mark)
            assert [TRC_INVALIDATE["status"].get(s.operand) for s in steps] == [0, INVALID_TOKEN]
            self.settle(self.qp_, 0, 0)
            wanted = [received(cookies[0], key), bad_token(cookies[1], key)]
            await self.demand_entries(self.qp_, wanted)
            await self.demand_state(self.qp_, QpState.ERROR)


class AroundTest(RaceTest):
    """A check in every cycle around an invalidation."""

    async def around(self, way: str, keyed: MemoryWindow | Region) -> None:
        for shift in range(4):
            key = await self.make_valid(keyed)
            cookies = await self.buffers(1) if way == PEER else []
            if way == BY_READ:
                await self.start_read(key)
            mark, at = self.mark, self.harness.cycle + LEAD + shift
            wait = await self.begin(way, key, at)
            await self.watch(self.qp_, key, at, mark)
            await wait()
            if way == PEER:
                self.settle(self.qp_)
                await self.demand_entries(self.qp_, [received(cookies[0], key)])
            else:
                await self.demand_results(self.qp_, [self.first], 0)

    async def by_command(self, keyed: MemoryWindow | Region) -> None:
        """CLOSE_MW, DEREGISTER_MR."""
        code = Cmd.CLOSE_MW if isinstance(keyed, MemoryWindow) else Cmd.DEREGISTER_MR
        for shift in range(4):
            if isinstance(keyed, MemoryWindow):
                await self.make_valid(keyed)
            else:
                await self.revive(self.qp_)
            mark, at = self.mark, self.harness.cycle + LEAD + shift
            task = self.command_at(at, code, keyed.number)
            await self.watch(self.qp_, keyed.key, at, mark)
            assert (await task).result == 0
            await (keyed.create() if isinstance(keyed, MemoryWindow) else keyed.register())

    async def watch(self, qp: Qp, key: int, at: int, mark: int) -> None:
        """Checks from before to behind; what they see changes once, at the step."""
        pending = [
            self.post_check(qp, READ, key, self.target.base, 8, at=at - 10 if not n else None)
            for n in range(10 + AROUND)
        ]
        codes = [(await answer).code for answer in pending]
        await self.rest()
        changed = [
            t
            for t in self.of(Trace, mark)
            if t.op in (TraceOp.INVALIDATE, TraceOp.KEY_COMMAND) and t.lane == 8
        ]
        assert len(changed) == 1, changed
        checks = self.key_steps(TraceOp.CHECK, mark)
        for step in checks:
            code = TRC_CHECK["code"].get(step.operand)
            # In one cycle the check comes first.
            assert code == (GRANTED if step.cycle <= changed[0].cycle else BAD_KEY), (step, changed)
        granted = codes.count(GRANTED)
        assert 0 < granted < len(codes), codes
        assert codes[:granted] == [GRANTED] * granted, codes
        assert codes[granted] == BAD_KEY and codes[-1] == Verdict.REFUSED, codes
        await self.demand_state(qp, QpState.ERROR)


@pyuvm.test()
class ChecksAroundRequestTest(AroundTest):
    """Around an Invalidate of a window and of a region."""

    async def scenario(self) -> None:
        await self.set_up()
        await self.around(LOCAL, await self.window())
        region = await self.env.host.allocate(
            256, zone=self.qp_.zone, rights=7, base=self.target.base
        )
        await self.around(LOCAL, region)
        await self.around(BY_READ, region)


@pyuvm.test()
class ChecksAroundPeerTest(AroundTest):
    """Around a SendAndInvalidate. The key is invalid before the completion is visible, polled or
    not; a later Invalidate of it fails (CQ-03, CQ-05).
    """

    async def scenario(self) -> None:
        await self.set_up()
        window = await self.window()
        await self.around(PEER, window)
        # Never polled.
        key = await self.make_valid(window)
        await self.buffers(1)
        mark = self.mark
        await self.answers([self.send_invalidate(self.qp_, key)], TAKEN)
        self.settle(self.qp_)
        await self.rest()
        (step,) = self.key_steps(TraceOp.INVALIDATE, mark)
        writes = self.of(MemWrite, mark)
        assert writes and all(write.cycle > step.cycle for write in writes)
        await self.invalidate(self.qp_, key, INVALID_TOKEN)
        await self.revive(self.qp_)
        await self.demand_verdict(self.qp_, BAD_KEY, READ, key, self.target.base, 8)
        assert len(self.qp_.recv_cq.get_cq_results()) == 1


@pyuvm.test()
class ChecksAroundCommandTest(AroundTest):
    """Around CLOSE_MW and DEREGISTER_MR."""

    async def scenario(self) -> None:
        await self.set_up()
        await self.by_command(await self.window())
        await self.by_command(self.target)


@pyuvm.test()
class StalledChecksTest(AroundTest):
    """Around an invalidation while everything stalls now and then."""

    stalls = 0.3

    async def scenario(self) -> None:
        await self.set_up()
        window = await self.window()
        for _ in range(5):
            await self.around(LOCAL, window)
            await self.around(PEER, window)
