# SPDX-License-Identifier: Apache-2.0
"""Receives that invalidate: their completions of NDKPI and NetworkDirect 1 in every field and by
both polls, tokens that are bad, messages that are too long or come too early, QPs that are not
guarded, and the entries that are reserved for them, to the last one.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import pyuvm

from models.layouts import CQE_BYTES
from tb.env.defs import (
    CQE,
    ArmType,
    Cause,
    Cmd,
    CqeStatus,
    CqeType,
    QpState,
    RecvFlag,
    Right,
    TraceOp,
)
from tb.env.host.driver import LogEntry
from tb.env.host.recv import ReceiveQueue
from tb.env.host.regions import next_key
from tb.tests.common.engine import (
    BAD_KEY,
    BAD_TOKEN,
    GENERATION,
    INVALID_TOKEN,
    READ,
    WINDOW,
    ZONE,
    EngineTest,
    received,
    result_of,
)
from tb.tests.common.posting import FAILED
from tb.tests.common.receiving import (
    LENGTH_ERROR,
    NOT_READY,
    REFUSED,
    TAKEN,
    TOO_LONG,
    Want,
    canceled,
)

BUILD = ["engine", "engine_small"]

SOLICITED = 1
CONTEXT = 0xFEDC_BA98_7654_3210


class InvalidatingTest(EngineTest):
    """One QP, of NetworkDirect 1 or not, with a receive CQ of its own, a region and a window."""

    async def set_up(
        self, nd1: bool, shared: bool = False, log2: int = 3, depth: int = 4, **options: Any
    ) -> None:
        self.nd1 = nd1
        recv_cq = await self.queue(reservation=True, log2=log2)
        if shared:
            options["srq"] = await self.env.host.create_srq(size=depth, zone=ZONE)
        else:
            options["recv_depth"] = depth
        self.qp_ = await self.guarded(recv_cq=recv_cq, nd1=nd1, **options)
        self.source: ReceiveQueue = self.qp_.srq or self.qp_
        self.target = await self.memory(256)
        self.context = 0 if shared else CONTEXT
        self.win = await self.window(context=self.context)

    async def supplied(self, count: int = 1) -> list[int]:
        """Buffers; returns their cookies."""
        return await self.post_buffers(self.source, self.target, count)

    async def valid_key(self) -> int:
        return await self.bind(self.win, self.qp_, self.target)

    def entries(
        self, cookie: int, key: int, nbytes: int = 1, context: int | None = None
    ) -> list[Want]:
        """Of a message that has invalidated, by default the window."""
        if self.nd1:
            found = self.context if context is None else context
            return [result_of(found, key), Want(cookie, nbytes)]
        return [received(cookie, key, nbytes)]

    def failed(self, cookie: int, token: int, status: int) -> Want:
        """The receive result of a message that has failed."""
        if self.nd1:
            return Want(cookie, status=status)
        return Want(cookie, 0, status, CqeType.RECEIVE_AND_INVALIDATE, token)


@pyuvm.test()
class CompletionTest(InvalidatingTest):
    """NetworkDirect 1: two entries, the invalidate result with the context of the window's
    creation, then the receive result with the solicited mark (MW-07, MW-08). NDKPI: one entry, type
    ReceiveAndInvalidate, with the token (CQ-02, CQ-04, MW-07).
    """

    async def scenario(self) -> None:
        for nd1 in (True, False):
            await self.set_up(nd1)
            # Ex poll: all fields; plain poll: neither type nor token.
            for plain_poll, solicited in product((False, True), repeat=2):
                await self.one(plain_poll, solicited)
            # A region by FastRegister: context 0, whatever unused arguments of ALLOC_MR are.
            fast = await self.allocated(64)
            await fast.deregister()
            words = (fast.number, 0x5555_5555, 0x6666_6666, 0, 0, ZONE)
            (fast.key, *_) = (await self.env.host.command(Cmd.ALLOC_MR, *words)).outs
            key = await self.fast_register(fast, self.qp_)
            (cookie,) = await self.supplied()
            await self.deliver(self.qp_, key, *self.entries(cookie, key, 7, 0), length=7)
            assert not (await fast.query()).valid
            # A plain Receive has one entry, type and token of its own.
            (cookie,) = await self.supplied()
            await self.take(self.qp_, 5)
            self.settle(self.qp_)
            await self.demand(self.qp_, [Want(cookie, 5)])
            # Invalidated, and then the receive fails: the invalidate result still says so.
            key = await self.valid_key()
            cookies = await self.supplied(2)
            wanted = [result_of(CONTEXT, key)] if nd1 else []
            wanted += [self.failed(cookies[0], key, FAILED), *canceled(cookies[1:])]
            await self.deliver(self.qp_, key, *wanted, status=FAILED)
            assert not (await self.win.refresh()).valid
            await self.start_over()
        # A buffer of an SRQ.
        await self.set_up(nd1=True, shared=True)
        await self.one(plain_poll=False, solicited=True)

    async def one(self, plain_poll: bool, solicited: bool) -> None:
        qp, cq = self.qp_, self.qp_.recv_cq
        key = await self.valid_key()
        (cookie,) = await self.supplied()
        mark = self.mark
        await self.answers([self.send_invalidate(qp, key, 9, solicited=solicited)], TAKEN)
        # Invalid from the step that takes the buffer on, long before the completion.
        await self.rest(16)
        assert not (await self.win.query()).valid
        assert cq.present() == 0
        if solicited:
            # What becomes of the window meanwhile changes nothing.
            await self.win.close()
            await self.win.create(0x5555)
        self.settle(qp)
        await self.rest()
        count = 1 + self.nd1
        assert cq.present() == count
        # As memory holds them.
        places = ((cq.consumer_index + n) % (1 << cq.log2) for n in range(count))
        lines = [self.env.memory.read(cq.base + CQE_BYTES * n, CQE_BYTES) for n in places]
        flags = [CQE.unpack(int.from_bytes(line, "little"))["flags"] & SOLICITED for line in lines]
        assert flags == [0] * self.nd1 + [SOLICITED if solicited else 0], flags
        if plain_poll:
            found = cq.get_cq_results()
            got = [(r.status, r.nbytes, r.qp_context, r.request_context) for r in found]
            want = [(0, 0, qp.context, CONTEXT)] if self.nd1 else []
            found_by = self.env.host.window_of(CONTEXT)
            assert not self.nd1 or solicited or found_by is self.win
            assert got == [*want, (0, 9, qp.context, cookie)], got
            assert all(not hasattr(r, "token") and not hasattr(r, "type") for r in found)
            await cq.update_consumer_index()
        else:
            await self.demand(qp, self.entries(cookie, key, 9))
        assert len(self.key_steps(TraceOp.INVALIDATE, mark)) == 1
        if solicited:
            await self.win.close()
            await self.win.create(CONTEXT)


@pyuvm.test()
class BadTokenTest(InvalidatingTest):
    """Every token that is not valid on the QP (MW-12): BAD_TOKEN, one entry, which is the receive
    result with NetworkDirect 1, and the end.
    """

    async def scenario(self) -> None:
        for nd1 in (False, True):
            await self.of_kind(nd1)
            await self.start_over()

    async def of_kind(self, nd1: bool) -> None:
        await self.set_up(nd1)
        qp, win = self.qp_, self.win
        other = await self.guarded(recv_depth=0)
        far, fast = await self.window(), await self.allocated(64)
        old, unregistered = win.key, fast.key
        # By REGISTER_MR, without windows.
        await self.bad(self.target.key)
        live = await self.valid_key()
        await self.bind(far, other, self.target)
        its = await self.fast_register(fast, other)
        for token in (
            far.key,
            its,
            unregistered,
            self.target.key,
            old,
            next_key(live),
            live & 0xFFF,
            WINDOW | 3 | GENERATION,
            0xFFF | GENERATION,
            0x7FF | GENERATION,
            0,
            0xFFFF_FFFF,
        ):
            await self.bad(token)
        await self.invalidate(other, its)
        mine = await self.fast_register(fast, qp)
        await self.invalidate(other, far.key)
        await self.bind(far, other, fast, rights=Right.REMOTE_READ)
        # A region with windows bound to it is not invalidated by a peer either.
        await self.bad(mine)
        assert (await fast.query()).valid and (await win.query()).valid
        await self.invalidate(other, far.key)
        (cookie,) = await self.supplied()
        await self.deliver(qp, mine, *self.entries(cookie, mine, context=0))
        # With a buffer of an SRQ, solicited or not.
        srq = await self.env.host.create_srq(size=4, zone=ZONE)
        user = await self.guarded(srq=srq, nd1=nd1)
        for solicited in (False, True):
            (cookie,) = await self.post_buffers(srq, self.target)
            wanted = self.failed(cookie, 0, INVALID_TOKEN)
            await self.deliver(user, 0, wanted, code=BAD_TOKEN, solicited=solicited)
            await self.revive(user)

    async def bad(self, token: int) -> None:
        """Taken, solicited or not, and the connection ends; reported with any status."""
        qp, host = self.qp_, self.env.host
        for status in (CqeStatus.SUCCESS, FAILED):
            while await host.read_log():
                pass
            mark = self.mark
            cookies = await self.supplied(2)
            solicited = status != CqeStatus.SUCCESS
            message = self.send_invalidate(qp, token, solicited=solicited)
            await self.answers([message], BAD_TOKEN)
            await self.rest()
            assert self.terms(mark) == [(qp.number, int(QpState.ERROR))]
            entries = await host.read_log()
            assert entries == [LogEntry(0x37, 5, qp.number, 0)], entries
            assert await self.code(qp) == REFUSED
            self.settle(qp, status)
            first = self.failed(cookies[0], token, INVALID_TOKEN)
            await self.demand(qp, [first, *canceled(cookies[1:])])
            await self.revive(qp)


@pyuvm.test()
class NothingInvalidatedTest(InvalidatingTest):
    """LENGTH_ERROR comes before BAD_TOKEN, whose log entry it has not; it, NOT_READY and REFUSED
    with a buffer at hand invalidate nothing.
    """

    async def scenario(self) -> None:
        for nd1, shared in product((False, True), repeat=2):
            await self.set_up(nd1, shared)
            qp, key = self.qp_, await self.valid_key()
            mark = self.mark
            for token in (key, 0):
                await self.answers([self.send_invalidate(qp, token)], NOT_READY)
                cookies = await self.supplied(2)
                while await self.env.host.read_log():
                    pass
                await self.answers([self.send_invalidate(qp, token, 33)], TOO_LONG)
                await self.rest()
                entries = await self.env.host.read_log()
                assert not entries, f"logged: {entries}"
                await self.answers([self.send_invalidate(qp, token)], REFUSED)
                assert (await self.win.query()).valid
                self.settle(qp)
                left = [] if shared else canceled(cookies[1:])
                await self.demand(qp, [self.failed(cookies[0], token, LENGTH_ERROR), *left])
                await self.revive(qp)
                if shared:
                    await self.take(qp, 1)
                    self.settle(qp)
                    await self.demand(qp, [Want(cookies[1], 1)])
            assert self.key_steps(TraceOp.INVALIDATE, mark) == []
            assert (await self.win.query()).valid
            # And then it is.
            (cookie,) = await self.supplied()
            await self.deliver(qp, key, *self.entries(cookie, key, 32), length=32)
            await self.demand_verdict(qp, BAD_KEY, READ, key, self.target.base, 8)
            await self.start_over()


@pyuvm.test()
class UnguardedReceiveTest(InvalidatingTest):
    """A QP that is not guarded: the token is carried without being looked at, of two entries with
    the context 0.
    """

    async def scenario(self) -> None:
        for nd1 in (False, True):
            await self.set_up(nd1)
            key = await self.valid_key()
            self.source = qp = await self.qp(zone=ZONE, recv_depth=4, nd1=nd1)
            for token in (key, 0, 0xFFFF_FFFF):
                (cookie,) = await self.supplied()
                # The table has been asked for a window last.
                assert (await self.win.query()).valid
                await self.deliver(qp, token, *self.entries(cookie, token, context=0))
            assert (await self.win.query()).valid
            assert await self.env.host.counter("INVALIDATED") == 0
            await self.start_over()


@pyuvm.test()
class CreditsTest(InvalidatingTest):
    """Two entries of the receive CQ are reserved: at the post to an own queue, when a buffer of an
    SRQ is taken. With one entry free that is refused, a post NO_CREDIT, a message NOT_READY, which
    invalidates nothing. The one not needed comes back at completion, both of a flushed buffer; a CQ
    that is full to the last entry holds them.
    """

    async def scenario(self) -> None:
        for shared in (False, True):
            await self.set_up(True, shared, log2=2)
            await self.trial(shared)
            await self.start_over()

    async def trial(self, shared: bool) -> None:
        qp = self.qp_
        cookies = await self.supplied(4 if shared else 2)
        await self.demand_room(0 if shared else 4, 0)
        # One that needs two entries, one that needs one.
        first = await self.valid_key()
        await self.answers([self.send_invalidate(qp, first)], TAKEN)
        await self.demand_room(2 if shared else 4, 0)
        self.settle(qp)
        await self.rest()
        await self.take(qp, 2)
        await self.demand_room(2, 2)
        second = await self.valid_key()
        await self.no_credit(second)
        self.settle(qp)
        await self.rest()
        # One entry is free: not enough.
        await self.demand_room(0, 3)
        await self.no_credit(second)
        await self.demand(qp, [*self.entries(cookies[0], first), Want(cookies[1], 2)])
        # Full to the last entry.
        cookies = cookies[2:] or await self.supplied(2)
        fast = await self.allocated(64)
        third = await self.fast_register(fast, qp)
        await self.answers([self.send_invalidate(qp, k) for k in (second, third)], TAKEN)
        await self.demand_room(4, 0)
        self.settle(qp, 0, 0)
        await self.rest()
        await self.demand_room(0, 4)
        await self.no_credit(None)
        wanted = self.entries(cookies[0], second) + self.entries(cookies[1], third, context=0)
        await self.demand(qp, wanted)
        if not shared:
            cookies = await self.supplied(2)
            await self.demand_room(4, 0)
            await qp.flush()
            await self.demand(qp, canceled(cookies))
            await self.demand_room(0, 0)

    async def demand_room(self, credits: int, present: int) -> None:
        """Credits of the receive CQ, and entries in it."""
        cq = self.qp_.recv_cq
        assert ((await cq.query()).credits, cq.present()) == (credits, present)

    async def no_credit(self, key: int | None) -> None:
        """A buffer of an own queue, or a message with this key, is refused."""
        if not self.qp_.srq:
            post = await self.source.post_recv([self.target.segment(0, 32)])
            assert post.cause == Cause.NO_CREDIT
        elif key:
            await self.answers([self.send_invalidate(self.qp_, key)], NOT_READY)
            assert (await self.win.query()).valid


@pyuvm.test()
class FlightLimitTest(InvalidatingTest):
    """MW-06, SRQ-10, SRQ-14: buffers are there, but the QP may not have one more in flight: the
    answer is NOT_READY, the key stays valid and no entry of the receive CQ is taken (CQ-17),
    however often the message comes; a report makes room.
    """

    async def scenario(self) -> None:
        config = self.config
        log2 = min(6, config.idx_w - 2)
        await self.flight(shared=True, log2=log2, depth=1 << config.srq_log2)
        # An own queue that holds no more than may be in flight is empty first.
        if config.rq_log2 > config.rx_log2:
            await self.start_over()
            await self.flight(shared=False, log2=log2, depth=self.depth)

    async def flight(self, shared: bool, **options: Any) -> None:
        await self.set_up(True, shared, **options)
        qp, key = self.qp_, await self.valid_key()
        await self.supplied(self.most + 2)
        await self.take(qp, *[1] * self.most)
        for _ in range(3):
            await self.answers([self.send_invalidate(qp, key)], NOT_READY)
        assert (await self.win.query()).valid
        assert await self.check(qp, READ, key, self.target.base, 4) == 0
        assert (await qp.recv_cq.query()).credits == 2 * (self.most if shared else self.most + 2)
        self.settle(qp)
        await self.rest()
        await self.answers([self.send_invalidate(qp, key)], TAKEN)
        self.settle(qp, *[0] * self.most)
        await self.rest()


@pyuvm.test()
class QuietInvalidateTest(InvalidatingTest):
    """SRQ-07, MW-07: a QP with two entries that waits for solicited Sends. Neither entry of one
    that is not solicited calls back; both are there, and the next arm finds them. A solicited one
    calls, an arm for solicited ones with its second entry; so does a receive that fails.
    """

    async def scenario(self) -> None:
        await self.set_up(True, recv_flag=RecvFlag.SOLICITED_WAIT)
        for arm in (ArmType.ANY, ArmType.SOLICITED):
            for solicited in (False, True, False):
                await self.trial(arm, solicited, 0)
        await self.trial(ArmType.ANY, False, FAILED)

    async def trial(self, arm: ArmType, solicited: bool, status: int) -> None:
        qp, cq = self.qp_, self.qp_.recv_cq
        calls = len(cq.callbacks)
        assert await cq.arm(arm) == (0, 0)
        (cookie,) = await self.supplied()
        key = await self.valid_key()
        await self.answers([self.send_invalidate(qp, key, 9, solicited=solicited)], TAKEN)
        self.settle(qp, status)
        await self.rest()
        assert len(cq.callbacks) - calls == (solicited or status != 0)
        if not (solicited or status):
            # Placed, new, and found by an arm for any.
            assert await cq.arm(ArmType.ANY) == (0, 0)
            await cq.wait_callbacks(calls + 1)
        second = Want(cookie, status=status) if status else Want(cookie, 9)
        await self.demand(qp, [result_of(CONTEXT, key), second])
        assert await cq.callback_return() == (0, 0)
