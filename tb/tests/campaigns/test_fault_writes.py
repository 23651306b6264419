# SPDX-License-Identifier: Apache-2.0
"""A host that writes anything anywhere: random writes to all addresses of the doorbell pages that
are not its neighbours', and to the control port, during legal traffic on other pages (ISO-01,
ISO-02).
"""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import cocotb
import pyuvm

from tb.env.agents.base import Pending
from tb.env.agents.doorbell import PAGE_BYTES, WriteResult
from tb.env.defs import Cmd, PageReg, Reg
from tb.sequences import find
from tb.tests.common.directed import SLVERR, DirectedTest
from tb.tests.common.soaking import LONG_SEED

BUILD = ["engine"]

_CHUNK = 256
_OWNERS = 4  # pages from 0 on, of the legal traffic
_REGISTERS = (PageReg.CQ_DB, PageReg.CB_RETURN, PageReg.SRQ_DB, PageReg.PAGE_STATUS)
_PORTALS = (PageReg.SEND, PageReg.RECV, PageReg.SRQ_RECV)
_CODES = {int(code) for code in Cmd}


class _Pages(random.Random):
    """The stream of a sequence that creates its queues on the first pages only."""

    limit = 0

    def randrange(self, *args: Any, **options: Any) -> int:
        if args == (self.limit,) and not options:
            args = (_OWNERS,)
        return super().randrange(*args, **options)


@pyuvm.test()
class RandomWritesTest(DirectedTest):
    """10,000 writes in a short run, 50,000 in a long one (``LONG_SEED``): each is answered, none on
    foreign pages is accepted, and posts, receives and completions of the other pages go on.
    """

    async def scenario(self) -> None:
        env = self.env
        total = 50_000 if env.seed >= LONG_SEED else 10_000
        rng = self.rng("garbage")
        rates = dict.fromkeys(("rate", "recv_rate", "message_rate"), 0.05)
        rates |= dict.fromkeys(("rebirths", "bad_receives", "bad", "foreign", "bad_reaps"), 0.0)
        sequence: Any = find("receive_life")(env, duration=total // 2 + 2000, chunk=_CHUNK, **rates)
        sequence.rng = _Pages(env.seed)
        sequence.rng.limit = self.config.num_pages
        traffic = cocotb.start_soon(sequence.run())
        control = cocotb.start_soon(self.control_writes(total // 20, self.rng("control")))
        await self.pages(total, rng)
        await control
        await traffic
        counters = await env.host.counters()
        assert counters["DB_REFUSED"] >= total
        assert counters["WRITE_ERRORS"] == 0
        self.checking.facts.counts["random_writes"] = total + total // 20

    # -- doorbell pages ----------------------------------------------------------------------------

    async def pages(self, total: int, rng: random.Random) -> None:
        """So many writes, a chunk at a time; each must be refused."""
        waiting: deque[Pending[WriteResult]] = deque()
        for first in range(0, total, _CHUNK):
            for _ in range(min(_CHUNK, total - first)):
                waiting.append(self.write(rng))
            while len(waiting) > 2 * _CHUNK:
                await self.harness.cycles(_CHUNK // 2)
                self.answers(waiting)
        while waiting:
            await self.harness.cycles(_CHUNK)
            self.answers(waiting)
        owners = {cq.page for cq in self.env.host.cqs.values()}
        assert owners <= set(range(_OWNERS)), owners

    @staticmethod
    def answers(waiting: deque[Pending[WriteResult]]) -> None:
        while waiting and waiting[0].done:
            answer = waiting.popleft().result
            assert answer is not None and answer.resp == SLVERR and answer.cause, answer

    def write(self, rng: random.Random) -> Pending[WriteResult]:
        """Any address of any page that has no owner, or after the last page; any size, strobes,
        length and data, most of them close to what would be legal.
        """
        bits, config = rng.getrandbits, self.config
        page = rng.choice((rng.randrange(_OWNERS, config.num_pages), bits(20)))
        page = page if page >= _OWNERS else page + _OWNERS
        kind = rng.random()
        post = self.env.doorbells.post
        if kind < 0.3:
            line = bits(512) if rng.random() < 0.5 else self.near_post(rng)
            size = 6 if rng.random() < 0.9 else bits(3)
            return post(page, rng.choice(_PORTALS), 0, line=line, size=size)
        if kind < 0.6:
            number = rng.choice((rng.randrange(config.num_cq), bits(16)))
            word = number << 32 | bits(rng.choice((0, 4, 16, 32)))
            word |= rng.choice((0, 1 << 63, 1 << 63 | bits(2) << 48, bits(16) << 48))
            return post(page, rng.choice(_REGISTERS), word)
        strb = rng.choice((None, bits(64)))
        length = rng.choice((0, 0, 0, rng.randrange(4)))
        offset = rng.randrange(PAGE_BYTES)
        return post(page, offset, bits(64), size=bits(3), strb=strb, length=length)

    def near_post(self, rng: random.Random) -> int:
        """A post that the QP's owner could have written."""
        qps = self.env.host.qps
        if not qps:
            return rng.getrandbits(512)
        qp = rng.choice(list(qps.values()))
        return qp.make(rng.randint(1, 7), length=8, token=1).encode()

    # -- control -----------------------------------------------------------------------------------

    async def control_writes(self, total: int, rng: random.Random) -> None:
        """Any offset, strobes and data, unless it is a command, or a wrong bit: the port belongs to
        the driver.
        """
        control = self.env.control
        for _ in range(total // 16):
            # Nobody else counts on the arguments meanwhile.
            async with control.mailbox:
                answers = [self.control_write(rng) for _ in range(16)]
                for answer in answers:
                    await answer
            await self.harness.cycles(rng.randrange(60))

    def control_write(self, rng: random.Random) -> Pending[int]:
        bits = rng.getrandbits
        offset = rng.choice((bits(12), rng.randrange(Reg.ARG0, Reg.CMD), Reg.CMD))
        data, strb = bits(32), 0xF if rng.random() < 0.7 else bits(4)
        if offset == Reg.CMD and data < 256 and data in _CODES:
            data |= 1 << 8
        if offset == Reg.LOG_POP:
            data |= 2
        if offset == Reg.MEM_INJECT:
            data |= 1 << 31
        return self.env.control.post_write(offset, data, strb)
