# SPDX-License-Identifier: Apache-2.0
"""Receives that invalidate: their completions of NDKPI and NetworkDirect 1 in every field and by
both polls, tokens that are bad, messages that are too long or come too early, QPs that are not
guarded, and the entries that are reserved for them, to the last one.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyuvm

from models.layouts import CQE_BYTES
from tb.env.defs import (
    CQE,
    ArmType,
    Cause,
    Cmd,
    CqeStatus,
    QpState,
    RecvFlag,
    Result,
    Right,
    TraceOp,
)
from tb.env.host.keyed import next_key
from tb.env.host.qp import Qp
from tb.env.host.windows import MemoryWindow
from tb.tests.common.invalidating import CONTEXT, Entry, InvalidatingTest
from tb.tests.common.posting import FAILED
from tb.tests.common.taking import LENGTH_ERROR, NOT_READY, REFUSED, TAKEN, TOO_LONG
from tb.tests.common.windowing import (
    BAD_KEY,
    BAD_TOKEN,
    GENERATION,
    INVALID_TOKEN,
    READ,
    WINDOW,
    ZONE,
    bad_token,
    plain,
    received,
    result_of,
)

BUILD = ["engine", "engine_small"]

SOLICITED = 1


class CompletionBase(InvalidatingTest):
    nd1 = False

    async def scenario(self) -> None:
        await self.set_up(self.nd1)
        qp = self.qp_
        # Ex poll: all fields; plain poll: neither type nor token.
        for plain_poll in (False, True):
            for solicited in (False, True):
                await self.one(qp, plain_poll, solicited)
        # A region by FastRegister: context 0.
        fast = await self.allocated(64)
        key = await self.fast_register(fast, qp)
        (cookie,) = await self.buffers(1)
        await self.answers([self.send_invalidate(qp, key, 7)], TAKEN)
        self.settle(qp)
        if self.nd1:
            await self.demand_entries(qp, [result_of(0, key), plain(cookie, 7)])
        else:
            await self.demand_entries(qp, [received(cookie, key, 7)])
        assert not (await fast.query()).valid
        # A plain Receive has one entry, type and token of its own.
        (cookie,) = await self.buffers(1)
        await self.take(qp, 5)
        self.settle(qp)
        await self.demand_entries(qp, [plain(cookie, 5)])
        await self.failing(qp)

    async def one(self, qp: Qp, plain_poll: bool, solicited: bool) -> None:
        key = await self.valid_key()
        (cookie,) = await self.buffers(1)
        mark = self.mark
        await self.answers([self.send_invalidate(qp, key, 9, solicited=solicited)], TAKEN)
        # Invalid from the step that takes the buffer on, long before the completion.
        await self.rest(16)
        assert not (await self.win.query()).valid
        assert qp.recv_cq.present() == 0
        self.settle(qp)
        await self.rest()
        count = 2 if self.nd1 else 1
        assert qp.recv_cq.present() == count
        marks = self.marks_of(qp, count)
        assert marks == ([0] if self.nd1 else []) + [SOLICITED if solicited else 0], marks
        if plain_poll:
            found = qp.recv_cq.get_cq_results()
            got = [(r.status, r.nbytes, r.qp_context, r.request_context) for r in found]
            want = [(0, 0, qp.context, CONTEXT)] if self.nd1 else []
            assert got == [*want, (0, 9, qp.context, cookie)], got
            assert all(not hasattr(r, "token") and not hasattr(r, "type") for r in found)
            await qp.recv_cq.update_consumer_index()
        elif self.nd1:
            await self.demand_entries(qp, [result_of(CONTEXT, key), plain(cookie, 9)])
        else:
            await self.demand_entries(qp, [received(cookie, key, 9)])
        assert len(self.key_steps(TraceOp.INVALIDATE, mark)) == 1

    def marks_of(self, qp: Qp, count: int) -> list[int]:
        """Flags of the entries that are next, as memory holds them."""
        cq = qp.recv_cq
        size = 1 << cq.log2
        found = []
        for n in range(count):
            at = cq.base + CQE_BYTES * ((cq.consumer_index + n) % size)
            found.append(self.env.memory.read(at, CQE_BYTES))
        return [self.flags_of(entry) for entry in found]

    @staticmethod
    def flags_of(entry: bytes) -> int:
        return int(CQE.unpack(int.from_bytes(entry, "little"))["flags"]) & SOLICITED

    async def failing(self, qp: Qp) -> None:
        """The key was invalidated, and the receive then fails: the invalidate result still says
        so.
        """
        key = await self.valid_key()
        cookies = await self.buffers(2)
        await self.answers([self.send_invalidate(qp, key)], TAKEN)
        self.settle(qp, FAILED)
        wanted = [result_of(CONTEXT, key)] if self.nd1 else []
        first = plain(cookies[0], 0, FAILED)
        if not self.nd1:
            first = (0x8001, cookies[0], int(FAILED), key, 0)
        await self.demand_entries(qp, [*wanted, first, plain(cookies[1], 0, CqeStatus.CANCELED)])
        assert not (await self.win.refresh()).valid
        await self.revive(qp)


@pyuvm.test()
class NdkpiCompletionTest(CompletionBase):
    """One entry, type ReceiveAndInvalidate, with the token (CQ-02, CQ-04, MW-07)."""


@pyuvm.test()
class Nd1CompletionTest(CompletionBase):
    """Two entries: the invalidate result with the context of the window's creation, then the
    receive result with the solicited mark (MW-07, MW-08).
    """

    nd1 = True


class BadTokenBase(InvalidatingTest):
    nd1 = False

    async def scenario(self) -> None:
        await self.set_up(self.nd1)
        qp, win = self.qp_, self.win
        other = await self.guarded(recv_depth=0)
        far = await self.window()
        fast = await self.allocated(64)
        old = win.key
        live = await self.bind(win, qp, self.target)
        await self.bind(far, other, self.target)
        unregistered = fast.key
        its = await self.fast_register(fast, other)
        tokens = [
            ("of another QP", far.key),
            ("region of another QP", its),
            ("region's old key", unregistered),
            ("by REGISTER_MR", self.target.key),
            ("old key", old),
            ("key to come", next_key(live)),
            ("generation 0", live & 0xFFF),
            ("no object", WINDOW | 3 | GENERATION),
            ("out of range", 0xFFF | GENERATION),
            ("region out of range", 0x7FF | GENERATION),
            ("none", 0),
            ("all ones", 0xFFFF_FFFF),
        ]
        for _, token in tokens:
            await self.bad(qp, token)
        await self.invalidate(other, its)
        mine = await self.fast_register(fast, qp)
        await self.bind_to(far, other, mine)
        # A region with windows bound to it is not invalidated by a peer either.
        await self.bad(qp, mine)
        assert (await fast.query()).valid and (await win.query()).valid
        await self.invalidate(other, far.key)
        (cookie,) = await self.buffers(1)
        await self.answers([self.send_invalidate(qp, mine)], TAKEN)
        self.settle(qp)
        await self.demand_entries(qp, self.entries(self.nd1, cookie, mine, 0))

    async def bind_to(self, far: MemoryWindow, other: Qp, key: int) -> None:
        await self.invalidate(other, far.key)
        region = self.env.host.regions[key & 0x7FF]
        await self.bind(far, other, region, rights=Right.REMOTE_READ)

    async def bad(self, qp: Qp, token: int) -> None:
        """Taken, and the connection ends; reported with any status."""
        for status in (CqeStatus.SUCCESS, FAILED):
            mark = self.mark
            while await self.env.host.read_log():
                pass
            cookies = await self.buffers(2)
            await self.answers([self.send_invalidate(qp, token)], BAD_TOKEN)
            await self.rest()
            assert self.terms(mark) == [(qp.number, int(QpState.ERROR))]
            entries = await self.env.host.read_log()
            assert [(e.cause, e.kind, e.object, e.detail) for e in entries] == [
                (0x37, 5, qp.number, 0)
            ], entries
            await self.refused_code(qp)
            self.settle(qp, status)
            first = (
                plain(cookies[0], 0, INVALID_TOKEN) if self.nd1 else bad_token(cookies[0], token)
            )
            await self.demand_entries(qp, [first, plain(cookies[1], 0, CqeStatus.CANCELED)])
            await self.revive(qp)


@pyuvm.test()
class NdkpiBadTokenTest(BadTokenBase):
    """Every token that is not valid on the QP (MW-12): BAD_TOKEN, one entry, and the end."""


@pyuvm.test()
class Nd1BadTokenTest(BadTokenBase):
    """The same of NetworkDirect 1: one entry, the receive result."""

    nd1 = True


@pyuvm.test()
class NothingInvalidatedTest(InvalidatingTest):
    """LENGTH_ERROR comes before BAD_TOKEN; it, NOT_READY and REFUSED invalidate nothing."""

    async def scenario(self) -> None:
        for nd1 in (False, True):
            await self.set_up(nd1)
            qp, win = self.qp_, self.win
            key = await self.valid_key()
            mark = self.mark
            for token in (key, 0):
                await self.answers([self.send_invalidate(qp, token)], NOT_READY)
                (cookie,) = await self.buffers(1)
                await self.answers([self.send_invalidate(qp, token, 33)], TOO_LONG)
                await self.rest()
                await self.answers([self.send_invalidate(qp, token)], REFUSED)
                self.settle(qp)
                entry = plain(cookie, 0, LENGTH_ERROR)
                if not nd1:
                    entry = (0x8001, cookie, int(LENGTH_ERROR), token, 0)
                await self.demand_entries(qp, [entry])
                await self.revive(qp)
            assert self.key_steps(TraceOp.INVALIDATE, mark) == []
            assert (await win.query()).valid
            # And then it is.
            (cookie,) = await self.buffers(1)
            await self.answers([self.send_invalidate(qp, key, 32)], TAKEN)
            self.settle(qp)
            await self.rest()
            qp.recv_cq.get_cq_results_ex()
            await qp.recv_cq.update_consumer_index()
            await self.demand_verdict(qp, BAD_KEY, READ, key, self.target.base, 8)
            await win.close()
            await self.remove(qp)
            await qp.recv_cq.destroy()
            await self.target.deregister()


@pyuvm.test()
class UnguardedReceiveTest(InvalidatingTest):
    """A QP that is not guarded: the token is carried without being looked at."""

    async def scenario(self) -> None:
        guarded = await self.guarded()
        self.target = await self.memory(256)
        window = await self.window(context=CONTEXT)
        key = await self.bind(window, guarded, self.target)
        qp = await self.qp(zone=ZONE, recv_depth=4)
        self.source = qp
        for token in (key, 0, 0xFFFF_FFFF):
            (cookie,) = await self.buffers(1)
            await self.answers([self.send_invalidate(qp, token)], TAKEN)
            self.settle(qp)
            await self.demand_entries(qp, [received(cookie, token)])
        assert (await window.query()).valid
        assert await self.env.host.counter("INVALIDATED") == 0


@pyuvm.test()
class CreationContextTest(InvalidatingTest):
    """The context is that of the window's latest creation, all its 64 bits; closing the window
    between taking and completion changes nothing (MW-08).
    """

    async def scenario(self) -> None:
        await self.set_up(True)
        qp = self.qp_
        for context in (0, 1, 1 << 63, (1 << 64) - 1, CONTEXT):
            await self.win.close()
            await self.win.create(context)
            key = await self.valid_key()
            (cookie,) = await self.buffers(1)
            await self.answers([self.send_invalidate(qp, key)], TAKEN)
            await self.rest(16)
            await self.win.close()
            await self.win.create(0x5555)
            self.settle(qp)
            await self.demand_entries(qp, [result_of(context, key), plain(cookie)])


class CreditBase(InvalidatingTest):
    async def credits(self) -> int:
        return (await self.qp_.recv_cq.query()).credits

    async def both(self, key: int, cookie: int) -> Sequence[Entry]:
        return [result_of(CONTEXT, key), plain(cookie)]


@pyuvm.test()
class OwnQueueCreditsTest(CreditBase):
    """Own queue: two entries are reserved at the post, and a post that finds one is refused; the
    one not needed comes back at completion; a CQ that is full to the last entry holds them.
    """

    async def scenario(self) -> None:
        await self.set_up(True, log2=2)
        qp = self.qp_
        cq = qp.recv_cq
        assert await self.credits() == 0
        cookies = await self.buffers(2)
        assert await self.credits() == 4
        await self.buffers(1, Cause.NO_CREDIT)
        # One that needs two entries, one that needs one.
        key = await self.valid_key()
        await self.answers([self.send_invalidate(qp, key)], TAKEN)
        self.settle(qp)
        await self.take(qp, 2)
        self.settle(qp)
        await self.rest()
        assert (await self.credits(), cq.present()) == (0, 3)
        # One entry is free: not enough.
        await self.buffers(1, Cause.NO_CREDIT)
        await self.demand_entries(qp, [*await self.both(key, cookies[0]), plain(cookies[1], 2)])
        # Full to the last entry.
        cookies = await self.buffers(2)
        fast = await self.allocated(64)
        keys = [await self.valid_key(), await self.fast_register(fast, qp)]
        await self.answers([self.send_invalidate(qp, k) for k in keys], TAKEN)
        self.settle(qp, 0, 0)
        await self.rest()
        assert (await self.credits(), cq.present()) == (0, 4)
        await self.buffers(1, Cause.NO_CREDIT)
        wanted = [*await self.both(keys[0], cookies[0]), result_of(0, keys[1]), plain(cookies[1])]
        await self.demand_entries(qp, wanted)
        # Flushed ones give both back.
        cookies = await self.buffers(2)
        assert await self.credits() == 4
        await qp.flush()
        await self.demand_entries(qp, [plain(c, 0, CqeStatus.CANCELED) for c in cookies])
        assert await self.credits() == 0
        await self.revive(qp)


@pyuvm.test()
class SharedQueueCreditsTest(CreditBase):
    """SRQ: two entries are reserved when a buffer is taken; with one entry free the answer is
    NOT_READY and nothing is invalidated.
    """

    async def scenario(self) -> None:
        await self.set_up(True, shared=True, log2=2)
        qp = self.qp_
        cq = qp.recv_cq
        cookies = await self.buffers(4)
        assert await self.credits() == 0
        key = await self.valid_key()
        await self.answers([self.send_invalidate(qp, key)], TAKEN)
        assert await self.credits() == 2
        self.settle(qp)
        await self.rest()
        assert (await self.credits(), cq.present()) == (0, 2)
        await self.take(qp, 3)
        assert await self.credits() == 2
        other = await self.valid_key()
        await self.answers([self.send_invalidate(qp, other)], NOT_READY)
        assert (await self.win.query()).valid
        self.settle(qp)
        await self.rest()
        # One entry is free: not enough.
        assert (await self.credits(), cq.present()) == (0, 3)
        await self.answers([self.send_invalidate(qp, other)], NOT_READY)
        assert (await self.win.query()).valid
        await self.demand_entries(qp, [*await self.both(key, cookies[0]), plain(cookies[1], 3)])
        # Exactly full.
        fast = await self.allocated(64)
        its = await self.fast_register(fast, qp)
        pending = [self.send_invalidate(qp, k) for k in (other, its)]
        await self.answers(pending, TAKEN)
        assert await self.credits() == 4
        self.settle(qp, 0, 0)
        await self.rest()
        assert (await self.credits(), cq.present()) == (0, 4)
        wanted = [*await self.both(other, cookies[2]), result_of(0, its), plain(cookies[3])]
        await self.demand_entries(qp, wanted)
        assert await self.result(Cmd.QUERY_MW, self.win.number) == Result.OK


@pyuvm.test()
class QuietInvalidateTest(InvalidatingTest):
    """SRQ-07, MW-07: a QP with two entries that waits for solicited Sends. Neither entry of one
    that is not solicited calls back; both are there, and the next arm finds them. A solicited one
    calls, an arm for solicited ones with its second entry; so does a receive that fails.
    """

    async def scenario(self) -> None:
        recv_cq = await self.queue(reservation=True, log2=3)
        flag = RecvFlag.SOLICITED_WAIT
        self.source = self.qp_ = await self.guarded(
            recv_cq=recv_cq, nd1=True, recv_depth=4, recv_flag=flag
        )
        self.target = await self.memory(256)
        self.win = await self.window(context=CONTEXT)
        for arm in (ArmType.ANY, ArmType.SOLICITED):
            for solicited in (False, True, False):
                await self.trial(arm, solicited, 0)
        await self.trial(ArmType.ANY, False, FAILED)

    async def trial(self, arm: ArmType, solicited: bool, status: int) -> None:
        cq = self.qp_.recv_cq
        calls = len(cq.callbacks)
        assert await cq.arm(arm) == (0, 0)
        (cookie,) = await self.buffers(1)
        key = await self.valid_key()
        await self.answers([self.send_invalidate(self.qp_, key, 9, solicited=solicited)], TAKEN)
        self.settle(self.qp_, status)
        await self.rest()
        assert len(cq.callbacks) - calls == (solicited or status != 0)
        if not (solicited or status):
            # Placed, new, and found by an arm for any.
            assert await cq.arm(ArmType.ANY) == (0, 0)
            await cq.wait_callbacks(calls + 1)
        second = plain(cookie, 0, status) if status else plain(cookie, 9)
        await self.demand_entries(self.qp_, [result_of(CONTEXT, key), second])
        assert await cq.callback_return() == (0, 0)
