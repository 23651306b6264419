# SPDX-License-Identifier: Apache-2.0
"""Bad input from the transport to the receive side: requests and reports that are malformed, of
unknown QPs, for nothing outstanding, with wrong tags, before the engine has said that a buffer is
taken (ISO-03).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import pyuvm

from tb.env.defs import Cause, Kind
from tb.env.harness.records import Interrupt, MemWrite, TermRequest, Trace
from tb.env.host.driver import LogEntry
from tb.env.host.qp import Qp
from tb.tests.common.engine import EngineTest
from tb.tests.common.receiving import REFUSED, Want, canceled

BUILD = ["engine_small", "engine"]

LEAD = 150  # cycles from setting a trial up to its centre
RREQ_BAD, RDONE_BAD, UNEXPECTED = Cause.RREQ_BAD, Cause.RDONE_BAD, Cause.RDONE_UNEXPECTED


class TransportInputTest(EngineTest):
    def bad_requests(self, qp: Qp) -> list[int]:
        """Requests for a QP with one bit that must be 0, and for QPs that there cannot be."""
        good = qp.number | 1 << 32
        words = [good | 1 << bit for bit in (*range(18, 32), *range(64, 128))]
        words += [good | 1 << 17 | 1 << bit for bit in (*range(18, 32), *range(96, 128))]
        far = [n for n in (1 << bit for bit in range(16)) if n >= self.config.num_qp]
        return words + [1 << 32 | n for n in (*far, *(n | qp.number for n in far), 0xFFFF)]

    def bad_reports(self, qp: Qp, tag: int) -> list[tuple[int, Cause]]:
        """Reports of a QP whose oldest tag is this, and why each is refused."""
        good = qp.number | tag << 16
        words = [(good | 1 << bit, RDONE_BAD) for bit in range(40, 64)]
        far = [n for n in (1 << bit for bit in range(16)) if n >= self.config.num_qp]
        words += [(good | n, RDONE_BAD) for n in far]
        tags = {(tag + n) & self.mask for n in (-3, -2, -1, 1, 2, 3)}
        tags |= {tag | 1 << bit for bit in range(self.config.idx_w, 16)}
        return words + [(qp.number | wrong << 16, UNEXPECTED) for wrong in sorted(tags - {tag})]

    async def logged(self, cause: Cause, qp: int, detail: int = 0) -> None:
        """The error log holds this entry."""
        found, wanted = await self.env.host.read_log(), LogEntry(cause, Kind.QP, qp, detail)
        assert found == [wanted], f"{found} instead of {wanted}"


@pyuvm.test()
class BadRequestsTest(TransportInputTest):
    """Each malformed request alone: REFUSED, counted, logged; nothing is taken."""

    async def scenario(self) -> None:
        qp = await self.own(2)
        await self.rest()
        mark = self.mark
        for word in self.bad_requests(qp):
            async with self.counted(RECV_REFUSED=1):
                answer = await self.env.rreq.send_raw(word)
            assert (answer.code, answer.tag, answer.nbytes) == (REFUSED, 0, 0), hex(word)
            await self.logged(RREQ_BAD, word & 0xFFFF)
            self.checking.facts.counts["refused_beats"] += 1
        free = self.config.num_qp - 1
        assert (await self.receiver.request(free, 1)).code == REFUSED
        await self.logged(RREQ_BAD, free)
        await self.rest()
        assert [r for r in self.seen[mark:] if isinstance(r, Trace | MemWrite | Interrupt)] == []
        await self.take(qp, 1)
        self.settle(qp)


@pyuvm.test()
class BadReportsTest(TransportInputTest):
    """Each bad report alone, for a QP with a queue of its own and for a user of an SRQ: with
    nothing in flight, buffers available or none, with one and two buffers in flight; a report that
    comes twice, and those of flushed buffers. Class: what is outstanding is known by the tag alone.
    """

    async def scenario(self) -> None:
        srq, (user,) = await self.shared(1, size=4)
        qp, other = await self.own(), await self.own()
        for to, queue in ((qp, qp), (user, srq)):
            for flight, there in ((0, 0), (0, 2), (1, 0), (2, 0), (0, 1)):
                await self.around(to, await self.supply(queue, flight + there), flight, other)
        cookies = await self.supply(qp, 2)
        await qp.flush()
        await self.demand(qp, canceled(cookies))
        tag = self.next_tag[qp.number]
        flushed = [qp.number | (tag + n & self.mask) << 16 for n in (-2, -1, 0, 1)]
        await self.refuse((word, UNEXPECTED) for word in flushed)

    async def around(self, qp: Qp, cookies: list[int], flight: int, other: Qp) -> None:
        """So many of these buffers are in flight; afterwards all complete."""
        if flight:
            await self.take(qp, *[1] * flight)
        await self.rest()
        tag = self.tags[qp.number][0] if flight else self.next_tag[qp.number]
        words = self.bad_reports(qp, tag)
        if not flight:
            words.append((qp.number | tag << 16, UNEXPECTED))
        words.append((other.number | tag << 16, UNEXPECTED))
        await self.refuse(words)
        if left := len(cookies) - flight:
            await self.take(qp, *[1] * left)
        if cookies:
            self.settle(qp, *[0] * len(cookies))
        await self.demand(qp, [Want(cookie, 1) for cookie in cookies])
        # Again, now that they have completed.
        again = [qp.number | (tag + n & self.mask) << 16 for n in range(len(cookies))]
        await self.refuse((word, UNEXPECTED) for word in again)

    async def refuse(self, words: Iterable[tuple[int, Cause]]) -> None:
        await self.rest(32)
        mark = self.mark
        for word, cause in words:
            async with self.counted(RECV_REFUSED=1):
                self.env.rdone.send_raw(word)
            await self.logged(cause, word & 0xFFFF, word >> 16 & 0xFFFF)
            self.checking.facts.counts["refused_beats"] += 1
        kinds = Trace | MemWrite | Interrupt | TermRequest
        assert [r for r in self.seen[mark:] if isinstance(r, kinds)] == []


@pyuvm.test()
class EarlyReportTest(TransportInputTest):
    """ISO-03: a report that comes before the answer that it is for, or for a buffer that is flushed
    at that time: it is refused, or it is the right one; the buffer completes once, as it is.
    """

    async def scenario(self) -> None:
        srq, (user,) = await self.shared(1, size=4)
        own = await self.own(depth=4)
        for queue, qp, ends in ((srq, user, False), (own, own, False), (own, own, True)):
            for offset, status in product(range(-4, 24 if ends else 10), range(1 + ends)):
                cookies = await self.supply(queue, 1 + ends)
                await self.rest()
                at, tag = self.harness.cycle + LEAD, self.next_tag[qp.number]
                if ends:
                    self.env.conn.send(qp.number, at_cycle=at)
                else:
                    self.ask(qp, 11, at=at)
                self.env.rdone.send(qp.number, tag, status, at_cycle=at + offset)
                await self.harness.cycles(LEAD)
                await self.rest()
                if ends:
                    await self.demand(qp, canceled(cookies))
                    await self.reconnect(qp)
                    continue
                if not qp.recv_cq.present():
                    self.settle(qp)
                self.tags[qp.number].clear()
                await self.demand(qp, [Want(cookies[0], 11)])
