# SPDX-License-Identifier: Apache-2.0
"""Shared receive queues as objects: settings, users, reaping (SRQ-17, ISO-01, ISO-02); events of
several that wait, and those of EQs with them (SRQ-16). Sizes, lives and when an event comes are
the subject of test_tour_srq.py.
"""

from __future__ import annotations

from collections import Counter
from functools import partial

import pyuvm

from tb.env.defs import SRQ_DB, ArmType, Cause, Cmd, PageReg, QpState, Result
from tb.env.harness.harness import Channel
from tb.env.harness.records import Interrupt
from tb.env.host.recv import Srq, SrqStatus
from tb.tests.common.engine import EngineTest
from tb.tests.common.posting import CANCELED
from tb.tests.common.receiving import NOT_READY, TAKEN, Want, canceled

BUILD = ["engine", "engine_small"]

FULL = (1 << 64) - 1
REAP = PageReg.SRQ_DB


@pyuvm.test()
class EverySrqTest(EngineTest):
    """SRQ-01, SRQ-17: SRQs of all numbers come and go in any order: after each step queries,
    receive posts and QPs that would use it find every number as it was before, but for one, with
    the settings of its creation, whatever a refused one would set (ISO-01, ISO-02).
    """

    async def scenario(self) -> None:
        host, count, rng = self.env.host, self.config.num_srq, self.rng("order")
        self.cq = await self.queue(reservation=True)
        srqs = [
            await host.create_srq(n, size=n + 1, zone=0xFFFF - n, vector=0xFFF0 + n)
            for n in range(count)
        ]
        for srq in srqs:
            status = await srq.status()
            indices = (0, 0, 0, 0, 0, 0, False, False, 0)
            assert status == SrqStatus(*indices, srq.size, srq.zone, srq.page, srq.vector), status
            await srq.free()
        there: set[Srq] = set()
        await self.probe(srqs, there)
        for srq in rng.sample(srqs, count):
            await srq.create()
            there.add(srq)
            await self.probe(srqs, there)
        for srq in rng.sample(srqs, count):
            await srq.free()
            there.remove(srq)
            await self.probe(srqs, there)
            await srq.create()
            await self.probe(srqs, there | {srq})
            await srq.free()

    async def probe(self, srqs: list[Srq], there: set[Srq]) -> None:
        """Exactly these exist. Buffers stay in those that are posted to."""
        for srq in srqs:
            found = await self.result(Cmd.QUERY_SRQ, srq.number)
            assert found == (Result.OK if srq in there else Result.NO_OBJECT), srq.number
            cause = (await srq.post_recv()).cause
            wanted = {Cause.NONE, Cause.QUEUE_FULL} if srq in there else {Cause.NO_SRQ}
            assert cause in wanted, f"SRQ {srq.number}: {cause}"
            if srq in there:
                qp = await self.env.host.create_qp(cq=self.cq, srq=srq)
                assert (await qp.post_recv()).cause == Cause.BAD_STATE  # no queue of its own
                again = (Cmd.CREATE_SRQ, srq.number, 0xA5A5_0001, 0xEDCB_0000)
                assert await self.result(*again) == Result.EXISTS
                assert (await srq.status()).users == 1
                assert await self.result(Cmd.DESTROY_SRQ, srq.number) == Result.IN_USE
                await qp.destroy()


@pyuvm.test()
class ReapTest(EngineTest):
    """SRQ_DB: from the present value up to what has completed; all else is refused with its cause
    and changes nothing.
    """

    async def scenario(self) -> None:
        srq = await self.env.host.create_srq(size=4)
        srq.auto_reap = False
        qp = await self.qp(srq=srq, log2=5)
        other = await self.env.host.create_srq(size=2, page=1)
        cookies = await self.supply(srq, 4, 0)
        await self.serve(qp, cookies[:3], [0] * 3)
        # One is available, three are completed.
        for index in (0, 1, 1, 3):
            assert await srq.reap(index) == (0, 0)
            assert (await srq.status()).reaped == index
        for index in (0, 2, 4, self.mask):
            word = SRQ_DB.pack(index=index, srq=srq.number)
            await self.refused(Cause.BAD_INDEX, 0, REAP, word)
        await self.serve(qp, cookies[3:], [0])
        assert await srq.reap(4) == (0, 0)
        assert await srq.query() == (0, 0)
        await self.words(srq, other)
        await self.ends(srq)
        await self.remove(qp)

    async def ends(self, srq: Srq) -> None:
        """SRQ-14, SRQ-17: a connection ends with buffers in flight, and these complete as they are
        reported; meanwhile the SRQ gets another size.
        """
        for flight in (1, 2):
            qp = await self.qp(srq=srq, log2=5)
            cookies = await self.supply(srq, flight, 0)
            await self.answers(self.ask(qp, *[0] * flight), TAKEN)
            await srq.resize(4 - flight)
            self.env.transport.disconnect(qp.number)
            await self.rest()
            self.settle(qp, *[0] * flight)
            await self.demand(qp, [Want(cookie, 0) for cookie in cookies])
            assert await srq.reap() == (0, 0)
            await self.remove(qp)

    async def words(self, srq: Srq, other: Srq) -> None:
        """Lengths, sizes, strobes, pages and every bit of the word; all faults, mended one by one.
        What another QP holds stays held.
        """
        holder = await self.qp(log2=3)
        held = await self.hold(holder, 1)
        before, mark = await self.states(), self.mark
        index, ahead = srq.index, srq.index + 1 & self.mask
        good = SRQ_DB.pack(index=index, srq=srq.number)
        bad = SRQ_DB.pack(index=ahead, srq=srq.number)
        pages = self.config.num_pages
        far = SRQ_DB.pack(index=ahead, srq=0xFFFF)
        strobes = [strb << 16 for strb in (0, 1, 0x7F, 0xFE, 0x0F, 0xF0)]
        beyond = [1 << bit for bit in range(20) if 1 << bit >= pages]
        cases: list[tuple[Cause, int, dict[str, int]]] = [
            *((Cause.BURST, good, {"length": length}) for length in (1, 255)),
            *((Cause.BAD_SIZE, good, {"size": size}) for size in range(3)),
            *((Cause.BAD_SIZE, good, {"strb": n}) for n in (*strobes, FULL, 0xFF << 8, 0xFF << 24)),
            *((Cause.BAD_PAGE, good, {"page": page}) for page in beyond),
            (Cause.NOT_OWNER, good, {"page": 1}),
            # All faults, mended one by one.
            (Cause.BURST, FULL, {"page": pages, "size": 2, "length": 1}),
            (Cause.BAD_SIZE, FULL, {"page": pages, "size": 2}),
            (Cause.BAD_PAGE, FULL, {"page": pages}),
            (Cause.RESERVED_BITS, FULL, {"page": 1}),
            (Cause.BAD_SRQ, far, {"page": 1}),
            (Cause.NOT_OWNER, bad, {"page": 1}),
            (Cause.BAD_INDEX, bad, {}),
        ]
        known = {srq.number: Cause.NONE, other.number: Cause.NOT_OWNER}
        for bit in range(64):
            word = good ^ 1 << bit
            if 16 <= bit < 32 or bit >= 48 or self.config.idx_w <= bit < 16:
                cause = Cause.RESERVED_BITS
            elif bit < 32:
                cause = Cause.BAD_INDEX
            else:
                outside = word >> 32 >= self.config.num_srq
                cause = Cause.BAD_SRQ if outside else known.get(word >> 32, Cause.NO_SRQ)
            cases.append((cause, word, {}))
        for cause, word, options in cases:
            await self.refused(cause, options.pop("page", 0), REAP, word, **options)
        assert await self.states() == before and self.beats(holder, mark) == []
        await holder.flush()
        await self.demand_results(holder, held, CANCELED)
        await other.free()
        await self.refused(Cause.NO_SRQ, 0, REAP, SRQ_DB.pack(index=0, srq=other.number))
        assert await srq.reap() == (0, 0)


@pyuvm.test()
class EveryWatermarkTest(EngineTest):
    """SRQ-09: the event of each SRQ waits for the interrupt port: the query of this one says so,
    its watermark can not be set, and it can not be destroyed; all others can. SRQ-16: one that has
    not fired can be changed, and stays with 0.
    """

    allow = ("no_posts", "no_receives", "no_completions", "no_doorbells")

    async def scenario(self) -> None:
        srqs = [await self.env.host.create_srq() for _ in range(self.config.num_srq)]
        for srq in srqs:
            self.harness.hold(Channel.IRQ)
            await srq.set_lw(1)
            assert await self.result(Cmd.SET_SRQ_WATERMARK, srq.number, 1) == Result.BUSY
            assert await self.result(Cmd.DESTROY_SRQ, srq.number) == Result.BUSY
            await self.waiting(srqs, {srq})
            self.harness.hold(Channel.IRQ, False)
            await srq.wait_events(1)
            await self.rest(16)
            await self.waiting(srqs, set())
            assert await self.result(Cmd.SET_SRQ_WATERMARK, srq.number, 0) == Result.OK
        self.harness.hold(Channel.IRQ)
        for n, srq in enumerate(srqs):
            await srq.set_lw(1)
            await self.waiting(srqs, set(srqs[: n + 1]))
        for _ in srqs:
            self.harness.hold(Channel.IRQ, False)
            await self.harness.cycles(1)
            self.harness.hold(Channel.IRQ)
            await self.rest(16)
            await self.waiting(srqs, {srq for srq in srqs if len(srq.events) == 1})
        self.harness.hold(Channel.IRQ, False)
        for srq in srqs:
            await srq.wait_events(2)
        # A watermark that has not fired is changed; 0 leaves it, armed.
        for _ in range(3):
            assert (await srqs[0].post_recv()).cause == Cause.NONE
        for mark in (1, 2, 0):
            await srqs[0].set_lw(mark)
        status = await srqs[0].status()
        assert (status.armed, status.watermark) == (True, 2)
        await self.waiting(srqs, set())
        for srq in srqs:
            await srq.free()

    async def waiting(self, srqs: list[Srq], wanted: set[Srq]) -> None:
        """Events of exactly these wait."""
        found = {srq for srq in srqs if (await srq.status()).waiting}
        assert found == wanted, f"SRQs {[srq.number for srq in found]}"


@pyuvm.test()
class MarkBehindEventTest(EngineTest):
    """SRQ-09, SRQ-16: a watermark that is set in any cycle around the one in which the event before
    it comes is set ahead of that event, or refused because the event waits; no event is lost.
    """

    allow = ("no_posts", "no_doorbells")

    async def scenario(self) -> None:
        srq, (qp,) = await self.shared(1)
        found = []
        for n, ahead in enumerate(range(20, 56)):
            await self.supply(srq, 1)
            await srq.set_lw(1)
            self.harness.hold(Channel.IRQ)
            at = self.harness.cycle + 80
            task = self.command_at(at - ahead, Cmd.SET_SRQ_WATERMARK, srq.number, 1)
            await self.answers(self.ask(qp, 1, at=at), TAKEN)
            found.append((await task).result)
            self.harness.hold(Channel.IRQ, False)
            await srq.wait_events(n + 1)
            self.settle(qp)
            await self.rest()
            assert len(srq.events) == n + 1
            assert len(await qp.recv_cq.wait_results(1)) == 1
            await qp.recv_cq.update_consumer_index()
            await srq.reap()
        late = found.count(Result.BUSY)
        assert found == [Result.BUSY] * late + [Result.OK] * (len(found) - late)
        assert 2 <= late <= len(found) - 2, "the watermark was never set on both sides of the event"


@pyuvm.test()
class TurnsWithEqsTest(EngineTest):
    """ISO-04: interrupts of SRQs and of EQs that wait together are sent in turns, whichever of the
    two stands on the port meanwhile.
    """

    async def scenario(self) -> None:
        host = self.env.host
        srqs = [await host.create_srq() for _ in range(min(self.config.num_srq, 3))]
        qps = [await self.qp(page=page) for page in range(2)]
        of_srqs = {srq.vector for srq in srqs}
        for eq_stands in (False, True):
            for qp in qps:
                await self.accept(qp, [self.write_post(qp)])
                assert await qp.cq.arm(ArmType.ANY) == (0, 0)
            await self.rest()
            mark = self.mark
            self.harness.stall(Channel.IRQ, hold=True)
            eqs, others = list(qps), list(srqs)
            if eq_stands:
                self.report(eqs.pop())
            else:
                await others.pop().set_lw(1)
            await self.harness.cycles(100)
            for qp in eqs:
                self.report(qp)
            for srq in others:
                await srq.set_lw(1)
            await self.harness.cycles(100)
            self.harness.stall(Channel.IRQ, hold=False)
            await self.rest()
            sent = [record.vector in of_srqs for record in self.of(Interrupt, mark)]
            left = Counter({True: len(srqs), False: len(qps)})
            for number, srq_sent in enumerate(sent):
                left[srq_sent] -= 1
                if number + 1 < len(sent) and left[not srq_sent]:
                    assert sent[number + 1] != srq_sent, f"the other kind waited: {sent}"
            assert not any(left.values()), f"interrupts of SRQs: {sent}"
            for srq in srqs:
                assert len(srq.events) == 1, f"{len(srq.events)} events of SRQ {srq.number}"
                srq.events.clear()
            for qp in qps:
                await qp.cq.wait_results(1)
                await qp.cq.update_consumer_index()
                assert await qp.cq.callback_return() == (0, 0)


@pyuvm.test()
class OtherQueueTest(EngineTest):
    """SRQ-16: a QP takes from its own queue down to nothing, by messages and a flush, while an SRQ
    is armed: no event, and nothing of that SRQ moves. Class: the watermark of an SRQ is compared
    with a queue that is not its own. SRQ-12, SRQ-19: a user of an SRQ has no own queue, in no
    state.
    """

    async def scenario(self) -> None:
        srq = await self.env.host.create_srq(0, size=4)
        user = await self.qp(srq=srq)
        shared = await self.supply(srq, 4)
        await srq.set_lw(3)
        own = await self.own()
        await self.serve(own, await self.supply(own, self.depth))
        assert await self.code(own) == NOT_READY
        cookies = await self.supply(own, self.depth)
        await own.flush()
        await self.demand(own, canceled(cookies))
        status = await srq.status()
        assert (status.completed, status.available, status.armed) == (0, 4, True), status
        assert srq.events == []
        await self.serve(user, shared[:2])
        assert len(srq.events) == 1 and not (await srq.status()).armed
        pends = partial(user.set_state, QpState.DISCONNECT_PENDING)
        for step in (user.query, pends, user.flush, user.reset):
            await step()
            assert (await user.post_recv()).cause == Cause.BAD_STATE
