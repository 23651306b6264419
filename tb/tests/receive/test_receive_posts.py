# SPDX-License-Identifier: Apache-2.0
"""Receive posts: what each is answered, on a QP's own queue and on an SRQ (SRQ-01, SRQ-12, SRQ-15,
SRQ-19). Segments and regions are in test_receive_segments.py.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import pyuvm

from models.post.post import Segment
from models.receive.receive_post import RESERVED, RecvPost
from tb.env.defs import Cause, CqStatus, PageReg, QpState, Result, Right
from tb.env.host.qp import Qp
from tb.env.host.recv import ReceiveQueue, Srq, posted
from tb.env.host.regions import Region
from tb.tests.common.posting import OK
from tb.tests.common.receive_posts import ReceivePostTest

BUILD = ["engine", "engine_small"]

FULL = (1 << 64) - 1
ZONE = 0x5A


class Fault(NamedTuple):
    """A fault, what it is answered through the own and the shared portal (None: there is none), and
    the name of its uDAPL result (None: no driver makes it).
    """

    name: str
    own: int | None
    shared: int | None
    result: str | None


#: docs/receive.md, SRQ-15, in order of precedence.
FAULTS = (
    Fault("burst", 0x01, 0x01, None),
    Fault("size", 0x02, 0x02, None),
    Fault("page", 0x03, 0x03, None),
    Fault("number", 0x0D, 0x18, "DAT_INVALID_HANDLE"),
    Fault("missing", 0x0E, 0x19, "DAT_INVALID_HANDLE"),
    Fault("foreign", 0x09, 0x09, "DAT_INVALID_HANDLE"),
    Fault("reserved", 0x05, 0x05, "DAT_INVALID_PARAMETER"),
    Fault("segments", 0x11, 0x11, "DAT_INVALID_PARAMETER"),
    Fault("region", 0x1A, 0x1A, "DAT_PRIVILEGES_VIOLATION"),
    Fault("zone", 0x1B, 0x1B, "DAT_PROTECTION_VIOLATION"),
    Fault("rights", 0x1C, 0x1C, "DAT_PRIVILEGES_VIOLATION"),
    Fault("range", 0x1D, 0x1D, "DAT_INVALID_PARAMETER"),
    Fault("state", 0x1E, None, "DAT_INVALID_STATE"),
    Fault("full", 0x14, 0x14, "DAT_INSUFFICIENT_RESOURCES"),
    Fault("cq", 0x15, None, "DAT_INSUFFICIENT_RESOURCES"),
    Fault("credit", 0x16, None, "DAT_INSUFFICIENT_RESOURCES"),
)
#: Faults that the queue has, not the write.
OF_QUEUE = ("state", "full", "cq", "credit")
#: No write has both.
EXCLUSIVE = ({"number", "missing"}, {"page", "foreign"})
SITUATIONS: tuple[tuple[str, ...], ...] = (
    *((), ("state",), ("full",), ("cq",), ("credit",)),
    *combinations(OF_QUEUE, 2),
)


@pyuvm.test()
class ReturnCodesTest(ReceivePostTest):
    """SRQ-15: each fault alone, and every two of them together; nothing else happens: the QP's
    request that is held stays so (DF-10), and leaves receives alone.
    """

    async def scenario(self) -> None:
        #: By zone and right: good, each wrong, both wrong.
        self.regions = {
            (zone, right): await self.env.host.register(
                64, zone=ZONE ^ zone, rights=Right.REMOTE_READ if right else Right.LOCAL_WRITE
            )
            for zone in (0, 1)
            for right in (0, 1)
        }
        srq = await self.env.host.create_srq(size=1, zone=ZONE)
        await self.matrix(srq, ())
        await self.fill(srq, 1)
        await self.matrix(srq, ("full",))
        for faults in SITUATIONS:
            qp, others = await self.situation(faults)
            await self.matrix(qp, faults)
            if {"state", "full"} <= set(faults):
                self.receiver.report(qp.number)
            await self.rest(32)
            for one in (qp, *others):
                await one.destroy()
            await self.rest(32)
            await qp.cq.destroy()
        # The post that the matrix spoils is a good one.
        qp = await self.qp(log2=2, recv_depth=2, zone=ZONE)
        held, mark = await self.hold(qp, 1), self.mark
        posts = await self.accept_recv(qp, [self.good(qp), self.good(qp)])
        await self.consume(qp, posts, [48, 0])
        assert self.beats(qp, mark) == []
        assert await qp.post(replace(self.write_post(qp), opcode=0)) == Cause.BAD_OPCODE
        await self.rest()
        self.demand_beats(qp, held, mark)
        self.report(qp)
        await self.demand_results(qp, held, OK)
        await self.remove(qp)

    async def situation(self, faults: tuple[str, ...]) -> tuple[Qp, list[Qp]]:
        """A connected QP whose queue has these faults and that holds a request, if it can, and
        others on its CQ.
        """
        # Two entries are gone if there is no credit.
        short = 1 if "credit" in faults else 3
        qp = await self.qp(log2=short, recv_depth=1, depth=1, zone=ZONE)
        other = await self.qp(share=qp, recv_depth=2)
        holds = not {"state", "cq"} & set(faults)
        if holds:
            await self.hold(qp, 1)
        if "full" in faults:
            await self.fill(qp, 1)
            if "state" in faults:
                await self.take(qp)
        else:
            await self.fill(other, 1)
        if "cq" in faults:
            # The entry of this one cannot be written.
            self.env.mem.fail(cq=qp.cq.number)
            await self.harness.cycles(4)
            await self.accept(other, [self.local_post(other)])
            await self.rest(32)
            assert (await qp.cq.query()).status == CqStatus.INTERNAL_ERROR
        elif "credit" in faults and not holds:
            await self.fill(other, 1)
        if "state" in faults:
            await qp.flush()
        return qp, [other]

    def good(self, queue: ReceiveQueue) -> RecvPost:
        """A post with three segments in the good region."""
        region = self.regions[0, 0]
        return queue.make_recv([region.segment(0, 16)] * 3)

    async def matrix(self, queue: ReceiveQueue, of_queue: tuple[str, ...]) -> None:
        """Posts to a queue with these faults of its own."""
        shared = queue.portal == PageReg.SRQ_RECV
        faults = [f for f in FAULTS if (f.shared if shared else f.own) is not None]
        of_write = [f.name for f in faults if f.name not in OF_QUEUE]
        sets: list[tuple[str, ...]] = [(name,) for name in of_write]
        if not of_queue:
            sets += [p for p in combinations(of_write, 2) if set(p) not in EXCLUSIVE]
        else:
            sets.append(())
        before = await self.states()
        mark = self.mark
        for names in sets:
            together = {*names, *of_queue}
            first = next(fault for fault in faults if fault.name in together)
            post, options = self.spoiled(queue, names)
            answer = await queue.queue_recv(post, **options)
            what = f"{queue.portal.name}, {sorted(together)}"
            assert answer == (2, first.shared if shared else first.own), f"{what}: {answer}"
            result = posted(answer).result
            assert (result and result.value) == first.result, f"{what}: {result}"
        await self.rest(32)
        assert self.effects(mark) == []
        assert await self.states() == before

    def spoiled(
        self, queue: ReceiveQueue, names: tuple[str, ...]
    ) -> tuple[RecvPost, dict[str, Any]]:
        """A good post with these faults in its second segment and in the write."""
        region: Region = self.regions["zone" in names, "rights" in names]
        segment = region.segment(64, 1) if "range" in names else region.segment(63, 1)
        if "region" in names:
            segment = segment._replace(key=segment.key + 0x1000)
        post = self.good(queue)
        post = replace(post, slots=(post.slots[0], segment.encode(), post.slots[2]))
        spoilt: dict[str, dict[str, Any]] = {
            "burst": {"length": 1},
            "size": {"strb": FULL ^ 1 << 63},
            "page": {"page": self.config.num_pages},
            "foreign": {"page": 1},
        }
        options = {k: v for name in names for k, v in spoilt.get(name, {}).items()}
        number = post.number
        if "number" in names:
            number |= 0x8000
        if "missing" in names:
            number = (self.config.num_srq if isinstance(queue, Srq) else self.config.num_qp) - 1
        count = 4 if "segments" in names else 3
        reserved = 1 << 63 if "reserved" in names else 0
        return replace(post, number=number, num_segments=count, reserved=reserved), options


@pyuvm.test()
class FieldsTest(ReceivePostTest):
    """Each reserved bit, each number of segments, unused slots with anything; cookies and slots
    come back bit by bit (SRQ-01, SRQ-04).
    """

    async def scenario(self) -> None:
        host = self.env.host
        config = self.config
        srq = await host.create_srq()
        own = await self.qp(recv_depth=1 << config.rq_log2)
        user = await self.qp(srq=srq)
        region = await host.register(1 << 20)
        queues: tuple[tuple[ReceiveQueue, Qp], ...] = ((own, own), (srq, user))
        for queue, qp in queues:
            post = queue.make_recv()
            bits = [bit for bit in range(64) if RESERVED >> bit & 1]
            assert bits == [*range(8), *range(16, 32), *range(48, 64)]
            cases = [(replace(post, reserved=1 << bit), Cause.RESERVED_BITS) for bit in bits]
            many = Cause.TOO_MANY_SEGMENTS
            cases += [(replace(post, num_segments=n), many) for n in range(4, 256)]
            await self.causes(queue, cases)
            junk = (1 << 128) - 1
            for count in range(4):
                for cookie in (0, FULL, FULL, 1, 1 << 63, 0x0123_4567_89AB_CDEF):
                    segments = [region.segment(0x1357 * k + count, 0x40 + k) for k in range(count)]
                    post = queue.make_recv(segments, cookie)
                    slots = (*post.slots[:count], *[junk] * (3 - count))
                    post = replace(post, slots=slots)  # type: ignore[arg-type]
                    await self.accept_recv(queue, [post])
                    assert (await self.filled(qp, post)).srq == (queue is srq)
        # Every bit of a cookie and of a slot's address alone.
        whole = await host.register((1 << 48) - 1, base=0)
        high = await host.register(1 << 47, base=(1 << 64) - (1 << 47))
        for bit in range(64):
            address = 1 << bit
            segment = Segment(address, 1, whole.key) if bit < 48 else high.segment(bit, 1)
            post = own.make_recv([segment], 1 << bit)
            if bit == 47:
                post = own.make_recv([Segment(address - 1, 1 << 31, whole.key)], 1 << bit)
            await self.accept_recv(own, [post])
            await self.filled(own, post)
        await self.remove(own, user)


@pyuvm.test()
class StatesTest(ReceivePostTest):
    """SRQ-19, SRQ-12: a post to a QP in each of its states, and to an SRQ that it uses or not."""

    #: State of the QP: the answer of its own queue, and that of a QP that uses an SRQ.
    TABLE = (
        (QpState.IDLE, Cause.NONE, Cause.BAD_STATE),
        (QpState.CONNECTED, Cause.NONE, Cause.BAD_STATE),
        (QpState.DISCONNECT_PENDING, Cause.NONE, Cause.BAD_STATE),
        (QpState.DISCONNECTED, Cause.BAD_STATE, Cause.BAD_STATE),
        (QpState.ERROR, Cause.BAD_STATE, Cause.BAD_STATE),
        (QpState.DESTROYING, Cause.NO_QP, Cause.NO_QP),
        (QpState.FREE, Cause.NO_QP, Cause.NO_QP),
    )

    async def scenario(self) -> None:
        host = self.env.host
        for state, own, shared in self.TABLE:
            srq = await host.create_srq(size=2)
            for cause, options in ((own, {"recv_depth": 2}), (shared, {"srq": srq})):
                qp = await self.idle_qp(log2=3, **options)
                await self.to_state(qp, state)
                post = qp.make_recv()
                answer = await qp.queue_recv(post)
                assert answer == (2 if cause else 0, cause), f"{state.name}: {answer}"
                # An SRQ takes posts whatever becomes of the QPs that use it.
                assert (await srq.post_recv()).accepted
                await self.leave(qp, state)
            assert (await srq.post_recv()).cause == Cause.QUEUE_FULL
            await srq.free()

    async def to_state(self, qp: Qp, state: QpState) -> None:
        """A fresh QP; DESTROYING leaves a request outstanding."""
        if state == QpState.FREE:
            await qp.destroy()
            return
        if state != QpState.IDLE:
            await qp.connect(qp.number ^ 1)
        match state:
            case QpState.ERROR:
                await qp.flush()
            case QpState.DESTROYING:
                await self.accept(qp, [self.write_post(qp)])
                await self.rest(16)
                assert await qp.destroy(wait=False) == Result.PENDING
            case QpState.DISCONNECT_PENDING | QpState.DISCONNECTED:
                assert await qp.set_state(state) == Result.OK
        assert (await qp.query()).state == state

    async def leave(self, qp: Qp, state: QpState) -> None:
        if state == QpState.DESTROYING:
            self.report(qp)
            await self.rest(16)
        if state != QpState.FREE:
            await qp.destroy()
        await self.rest(16)
        qp.cq.get_cq_results()
        await qp.cq.destroy()


@pyuvm.test()
class ReceiveCreditsTest(ReceivePostTest):
    """CQ-17: a post on a QP's own queue takes one entry of the receive CQ, refused ones none, posts
    to an SRQ none; NO_CREDIT exactly when there is no entry, whoever took them. QUEUE_FULL exactly
    at the depth of an own queue, the least and the largest.
    """

    async def scenario(self) -> None:
        host = self.env.host
        for depth in (0, 1 << self.config.rq_log2):
            qp = await self.qp(recv_depth=depth, log2=5)
            posts = await self.fill(qp, depth)
            assert (await qp.post_recv()).cause == Cause.QUEUE_FULL
            await self.consume(qp, posts)
            await self.remove(qp)
        first = await self.qp(log2=2, recv_depth=4)
        second = await self.qp(share=first, recv_depth=4)
        cq = first.cq
        none = (2, Cause.NO_CREDIT)
        # Back to back, two QPs and two kinds of requests on one CQ.
        sends = [self.write_post(first), self.write_post(first)]
        receives = [first.make_recv(), second.make_recv()]
        answers = [
            first.queue(sends[0]),
            first.queue_recv(receives[0]),
            second.queue_recv(replace(receives[1], reserved=1)),
            second.queue_recv(receives[1]),
            first.queue_recv(replace(receives[0], num_segments=4)),
            first.queue(sends[1]),
            second.queue_recv(second.make_recv()),
            first.queue_recv(first.make_recv()),
            second.queue(self.write_post(second)),
        ]
        reserved, many = (2, Cause.RESERVED_BITS), (2, Cause.TOO_MANY_SEGMENTS)
        wanted = [(0, 0), (0, 0), reserved, (0, 0), many, (0, 0), none, none, none]
        assert [await answer for answer in answers] == wanted
        assert (await cq.query()).credits == 4
        srq = await host.create_srq(size=4)
        await self.fill(srq, 4)
        # An entry comes back when the consumer says that it has polled it.
        await self.take(second)
        self.receiver.report(second.number)
        result = await cq.wait_results(1)
        assert result[0].request_context == receives[1].context
        assert (await second.post_recv()).cause == Cause.NO_CREDIT
        await cq.update_consumer_index()
        extra = [second.make_recv(), second.make_recv()]
        pair = [await answer for answer in second.queue_recv_many(extra)]
        assert pair == [(0, 0), none]
        await self.take(first)
        self.receiver.report(first.number)
        await self.demand_received(first, receives[:1])
        await self.rest()
        self.report(first, 0, 0)
        await self.demand_results(first, sends, OK)
        await self.consume(second, extra[:1])
        assert (await cq.query()).credits == 0
        await self.remove(first, second)
