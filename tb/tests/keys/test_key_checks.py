# SPDX-License-Identifier: Apache-2.0
"""The verdict table, line by line, for reads and writes, by the key of a region, of a region by
FastRegister, and of a window: every edge of the range, wraps of the 64-bit address, rights, owners,
states, malformed checks.
"""

from __future__ import annotations

from itertools import product

import pyuvm

from tb.env.defs import CHECK, QpState, Result, Right, Verdict
from tb.env.harness.records import AccessCheck, AccessVerdict
from tb.env.host.driver import LogEntry
from tb.env.host.qp import Qp
from tb.env.host.regions import next_key
from tb.tests.common.engine import (
    ALL,
    BAD_KEY,
    GENERATION,
    GRANTED,
    LOCAL,
    OTHER_ZONE,
    READ,
    REMOTE,
    WINDOW,
    WRITE,
)
from tb.tests.common.key_checking import BAD_RANGE, KINDS, NO_RIGHT, TOP, WRONG_QP, CheckTest
from tb.tests.common.posting import CANCELED

BUILD = ["engine", "engine_small"]

REFUSED = Verdict.REFUSED


@pyuvm.test()
class RangesTest(CheckTest):
    """By the key of a region, and of a window, whose range it is then, not that of its region; of
    ranges that begin at address 0 or end at 2^64, too, where nothing wraps.
    """

    async def scenario(self) -> None:
        qp, window = await self.guarded(), await self.window()
        region = await self.memory(1000)
        await self.ranges(qp, region.key, region.base, 1000)
        region, fast = await self.memory(4096), await self.allocated(1)
        for offset, length in ((100, 1000), (4095, 1)):
            await self.bind(window, qp, region, offset, length)
            await self.ranges(qp, window.key, region.base + offset, length)
            await self.invalidate(qp, window.key)
        for fast.base, fast.length in ((TOP - 64, 64), (TOP - 1, 1), (0, 64), (0, 1)):
            await self.fast_register(fast, qp)
            await self.bind(window, qp, fast)
            for keyed in (fast, window):
                await self.ranges(qp, keyed.key, fast.base, fast.length)
            await self.invalidate(qp, window.key)
            await self.invalidate(qp, fast.key)


@pyuvm.test()
class RightsTest(CheckTest):
    """The right decides, of the window for a window's key, of the region for a region's; all
    combinations of both (MW-02).
    """

    async def scenario(self) -> None:
        qp = await self.guarded()
        window = await self.window()
        allocated = await self.allocated(64)
        for own in range(8):
            if own & Right.REMOTE_WRITE and not own & LOCAL:
                continue
            region = await self.memory(64, rights=own)
            await self.verdicts_of(qp, region.key, region.base, own)
            for given in (0, Right.REMOTE_READ, Right.REMOTE_WRITE, REMOTE):
                if given & Right.REMOTE_WRITE and not own & LOCAL:
                    continue
                await self.bind(window, qp, region, 8, 16, rights=given)
                await self.verdicts_of(qp, window.key, region.base + 8, given)
                # And the other way round: the region's own key knows nothing of the window.
                await self.verdicts_of(qp, region.key, region.base, own)
                await self.invalidate(qp, window.key)
            await region.deregister()
        for own in (0, LOCAL, Right.REMOTE_READ, ALL):
            await self.fast_register(allocated, qp, rights=own)
            await self.verdicts_of(qp, allocated.key, allocated.base, own)
            await self.invalidate(qp, allocated.key)

    async def verdicts_of(self, qp: Qp, key: int, base: int, rights: int) -> None:
        for kind, right in ((READ, Right.REMOTE_READ), (WRITE, Right.REMOTE_WRITE)):
            code = GRANTED if rights & right else NO_RIGHT
            await self.demand_verdict(qp, code, kind, key, base, 8)
            await self.demand_verdict(qp, GRANTED, kind, key, base, 0)
            # A missing right comes before a bad range.
            code = BAD_RANGE if rights & right else NO_RIGHT
            await self.demand_verdict(qp, code, kind, key, base - 1, 1)


@pyuvm.test()
class OwnerTest(CheckTest):
    """Windows of another QP, regions of another zone; regions by FastRegister serve every QP of
    their zone. WRONG_QP comes before the right and the range.
    """

    async def scenario(self) -> None:
        first, second = [await self.guarded() for _ in range(2)]
        third = await self.guarded(zone=OTHER_ZONE)
        region, window = await self.memory(64), await self.window()
        fast = await self.allocated(64)
        await self.bind(window, first, region, rights=0)
        await self.fast_register(fast, first)
        for kind, length in product(KINDS, (0, 8, 65)):
            wrong = WRONG_QP if length else GRANTED
            for qp in (second, third):
                await self.demand_verdict(qp, wrong, kind, window.key, region.base, length)
            for keyed in (region, fast):
                code = GRANTED if length <= 64 else BAD_RANGE
                for qp in (first, second):
                    await self.demand_verdict(qp, code, kind, keyed.key, keyed.base, length)
                await self.demand_verdict(third, wrong, kind, keyed.key, keyed.base, length)
        await self.invalidate(first, window.key)
        await self.bind(window, second, region)
        await self.demand_verdict(first, WRONG_QP, READ, window.key, region.base, 8)
        await self.demand_verdict(second, GRANTED, READ, window.key, region.base, 8)
        # In DISCONNECT_PENDING it ends the connection, too, as each other code does.
        narrow = await self.memory(64, rights=0)
        for key, code in ((0, BAD_KEY), (window.key, WRONG_QP), (narrow.key, NO_RIGHT)):
            assert await first.set_state(QpState.DISCONNECT_PENDING) == Result.OK
            await self.demand_verdict(first, code, READ, key, 0, 8)


@pyuvm.test()
class BadKeyTest(CheckTest):
    """Keys that are not valid: nothing else of the check matters then, but that it has a byte."""

    async def scenario(self) -> None:
        qp, other = [await self.guarded() for _ in range(2)]
        region, fast = await self.memory(64), await self.allocated(64)
        window, bound = [await self.window() for _ in range(2)]
        olds = [fast.key, bound.key]
        await self.fast_register(fast, qp)
        await self.bind(bound, qp, region)
        keys = [
            *olds,
            window.key,
            *(next_key(k) for k in (region.key, fast.key, bound.key, window.key)),
            *(k & 0xFFF for k in (region.key, fast.key, bound.key, window.key)),
            *(k | 0xFFFF_F000 for k in (region.key, fast.key, bound.key)),
            *(k ^ WINDOW | 1 << 30 for k in (region.key, bound.key)),
            *(k ^ 1 << 31 for k in (region.key, bound.key)),
            *(k | 0x400 for k in (region.key, bound.key)),
            *(0, 0xFFFF_FFFF, 0x7FF | GENERATION, 0xFFF | GENERATION, 3 | GENERATION),
        ]
        for key, kind, length in product(keys, KINDS, (0, 8, 65)):
            for qp_ in (qp, other):
                code = BAD_KEY if length else GRANTED
                await self.demand_verdict(qp_, code, kind, key, region.base, length)
        for keyed in (bound, fast):
            await self.invalidate(qp, keyed.key)
            await self.demand_verdict(qp, BAD_KEY, READ, keyed.key, region.base, 8)
        old = region.key
        await region.deregister()
        await self.demand_verdict(qp, BAD_KEY, READ, old, region.base, 8)
        await region.register()
        await self.demand_verdict(qp, BAD_KEY, READ, old, region.base, 8)
        await self.demand_verdict(qp, GRANTED, READ, region.key, region.base, 8)


@pyuvm.test()
class RefusedTest(CheckTest):
    """Malformed checks, QPs that are not there, not guarded, not connected: REFUSED, and nothing
    ends; before every other code.
    """

    async def scenario(self) -> None:
        qp = await self.guarded()
        plain = await self.qp(zone=qp.zone, recv_depth=4)
        idle = await self.idle_qp(zone=qp.zone, guarded=True, recv_depth=4)
        region = await self.memory(64)
        good = CHECK.pack(
            qp=qp.number, kind=int(READ), key=region.key, address=region.base, length=8
        )
        agent = self.env.transport.responder._agent
        mark = self.mark
        words = [good & ~(3 << 16), good | 3 << 16]
        words += [good | 1 << bit for bit in (*range(18, 32), *range(160, 192))]
        words += [word ^ 0xFF << 32 for word in words]
        words += [good & ~0xFFFF | number for number in (plain.number, idle.number)]
        far = [n for n in (1 << bit for bit in range(16)) if n >= self.config.num_qp]
        words += [good & ~0xFFFF | n for n in (*far, *(n | qp.number for n in far), 0xFFFF)]
        words += [word & ~(0xFFFF_FFFF << 128) for word in words]  # of 0 bytes
        answers = [(word, agent.send_raw(word)) for word in words]
        for word, answer in answers:
            judgement = await answer
            assert judgement.code == REFUSED, hex(word)
            assert judgement.qp == word & 0xFFFF
        assert (await agent.send_raw(good)).code == GRANTED
        assert self.terms(mark) == []
        counters = await self.env.host.counters()
        assert counters["CHECKS"] == len(words) + 1
        assert counters["CHECKS_REFUSED"] == len(words)
        await self.env.host.read_log()
        # States.
        ask = READ, region.key, region.base, 8
        await self.demand_verdict(idle, REFUSED, *ask)
        for state, code in (
            (QpState.DISCONNECT_PENDING, GRANTED),
            (QpState.DISCONNECTED, REFUSED),
            (QpState.IDLE, REFUSED),
        ):
            assert await qp.set_state(state) == Result.OK
            await self.demand_verdict(qp, code, *ask)
        await self.revive(qp)
        await self.demand_verdict(qp, GRANTED, *ask)
        for end in (qp.flush, qp.reset):
            await end()
            await self.rest()
            await self.demand_verdict(qp, REFUSED, *ask)
        # Being destroyed.
        await self.revive(qp)
        posts = await self.accept(qp, [self.write_post(qp, defer=n == 1) for n in range(2)])
        assert await qp.destroy(wait=False) == Result.PENDING
        await self.demand_verdict(qp, REFUSED, *ask)
        self.report(qp)
        await self.demand_results(qp, posts, 0, CANCELED, done=False)
        await qp.destroy()
        await self.demand_verdict(qp, REFUSED, *ask)


@pyuvm.test()
class BackToBackTest(CheckTest):
    """A check in every cycle: one answer each, in order, at most 6 cycles later; after the one
    that ends the connection none is granted; the log names code and QP.
    """

    async def scenario(self) -> None:
        qps = [await self.guarded() for _ in range(3)]
        region = await self.memory(4096)
        mark = self.mark
        asked = []
        for n in range(60):
            qp = qps[n % 3]
            asked.append((qp, self.post_check(qp, KINDS[n & 1], region.key, region.base + n, n)))
        for qp, answer in asked:
            judgement = await answer
            assert (judgement.qp, judgement.code) == (qp.number, GRANTED)
        await self.rest()
        checks, verdicts = self.of(AccessCheck, mark), self.of(AccessVerdict, mark)
        assert [c.cycle for c in checks] == list(range(checks[0].cycle, checks[0].cycle + 60))
        assert all(v.cycle - c.cycle <= 6 for c, v in zip(checks, verdicts, strict=True))
        qp, other = qps[:2]
        for before in range(6):
            pending = [
                self.post_check(qp, READ, region.key if n != before else 0, region.base, 8)
                for n in range(20)
            ]
            side = [self.post_check(other, READ, region.key, region.base, 8) for _ in range(4)]
            codes = [(await answer).code for answer in pending]
            # Some after it may have been decided by their keys before the state changed.
            assert codes[: before + 1] == [GRANTED] * before + [BAD_KEY], codes
            assert codes[-1] == REFUSED, codes
            assert [(await answer).code for answer in side] == [GRANTED] * 4
            await self.rest()
            await self.revive(qp)
        while await self.env.host.read_log():
            pass
        qp, region = await self.guarded(), await self.memory(64, rights=0)
        for address in (0, 1 << 63):
            await self.check(qp, READ, region.key, address, 8)
            await self.rest()
            entries = await self.env.host.read_log()
            assert entries == [LogEntry(0x36, 5, qp.number, NO_RIGHT)], entries
            await self.revive(qp)
