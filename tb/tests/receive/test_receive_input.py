# SPDX-License-Identifier: Apache-2.0
"""Bad input from the transport to the receive side: requests and reports that are malformed, of
unknown QPs, for nothing outstanding, with wrong tags (ISO-03).
"""

from __future__ import annotations

from collections.abc import Iterable

import pyuvm

from tb.env.defs import Cause
from tb.env.harness.records import Interrupt, MemWrite, TermRequest, Trace
from tb.env.host.qp import Qp
from tb.tests.common.taking import REFUSED, TakingTest, Want, canceled

BUILD = ["engine_small", "engine"]

RREQ_BAD, RDONE_BAD, UNEXPECTED = Cause.RREQ_BAD, Cause.RDONE_BAD, Cause.RDONE_UNEXPECTED


class TransportInputTest(TakingTest):
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

    async def log_is(self, wanted: Iterable[tuple[Cause, int]]) -> None:
        """The error log holds these causes and QPs."""
        found = [(entry.cause, entry.object) for entry in await self.env.host.read_log()]
        assert found == list(wanted), found


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
            await self.log_is([(RREQ_BAD, word & 0xFFFF)])
            self.checking.facts.counts["refused_beats"] += 1
        free = self.config.num_qp - 1
        assert (await self.receiver.request(free, 1)).code == REFUSED
        await self.log_is([(RREQ_BAD, free)])
        await self.rest()
        assert [r for r in self.seen[mark:] if isinstance(r, Trace | MemWrite | Interrupt)] == []
        await self.take(qp, 1)
        self.settle(qp)


@pyuvm.test()
class BadReportsTest(TransportInputTest):
    """Each bad report alone, with nothing in flight, with one and two buffers; a report that comes
    twice, and those of flushed buffers.
    """

    async def scenario(self) -> None:
        qp, other = await self.own(), await self.own()
        for flight in (0, 1, 2):
            cookies = await self.supply(qp, flight)
            if flight:
                await self.take(qp, *[1] * flight)
            await self.rest()
            tag = self.tags[qp.number][0] if flight else self.next_tag[qp.number]
            words = self.bad_reports(qp, tag)
            if not flight:
                words.append((qp.number | tag << 16, UNEXPECTED))
            words.append((other.number | tag << 16, UNEXPECTED))
            await self.refuse(words)
            if flight:
                self.settle(qp, *[0] * flight)
            await self.demand(qp, [Want(cookie, 1) for cookie in cookies])
            # Again, now that they have completed.
            again = [qp.number | (tag + n & self.mask) << 16 for n in range(flight)]
            await self.refuse((word, UNEXPECTED) for word in again)
        cookies = await self.supply(qp, 2)
        await qp.flush()
        await self.demand(qp, canceled(cookies))
        tag = self.next_tag[qp.number]
        flushed = [qp.number | (tag + n & self.mask) << 16 for n in (-2, -1, 0, 1)]
        await self.refuse((word, UNEXPECTED) for word in flushed)

    async def refuse(self, words: Iterable[tuple[int, Cause]]) -> None:
        await self.rest(32)
        mark = self.mark
        for word, cause in words:
            async with self.counted(RECV_REFUSED=1):
                self.env.rdone.send_raw(word)
            await self.log_is([(cause, word & 0xFFFF)])
            self.checking.facts.counts["refused_beats"] += 1
        kinds = Trace | MemWrite | Interrupt | TermRequest
        assert [r for r in self.seen[mark:] if isinstance(r, kinds)] == []
