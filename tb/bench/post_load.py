# SPDX-License-Identifier: Apache-2.0
"""Load for the measurements of the full engine: posts at full rate on connected queue pairs, and
consumers that share the doorbell port with them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from random import Random
from typing import NamedTuple

from tb.bench.load import AHEAD, CHUNK, Load, Meter, Window
from tb.env.agents.base import Pending
from tb.env.agents.doorbell import WriteResult
from tb.env.base_test import CarillonTest
from tb.env.defs import Opcode
from tb.env.env import CarillonEnv
from tb.env.harness.harness import Harness
from tb.env.harness.records import Record, WorkBeat
from tb.env.host.cq import Cq
from tb.env.host.qp import Qp, connect_pair

#: Cycles from a work beat to its report.
REPORT_CYCLES = 1
_LEAD = 64
_OK = (0, 0)


class Line(NamedTuple):
    """A post, ready to be written."""

    qp: Qp
    bits: int


class PostLoad:
    """Posts at full rate: a mix-in of tests with :class:`Load`. The harness is the transport."""

    # Of the test.
    env: CarillonEnv
    harness: Harness
    rng: Callable[[str], Random]
    meter: Meter

    async def create_qps(self, count: int, cqs: list[Cq]) -> list[Qp]:
        """So many QPs, spread evenly over the CQs, each connected with its neighbour."""
        create = self.env.host.create_qp
        qps = [await create(cq=cqs[number * len(cqs) // count]) for number in range(count)]
        for first, second in zip(qps[::2], qps[1::2], strict=True):
            await connect_pair(first, second)
        self.indicated: list[tuple[int, int]] = []
        self.env.add_subscriber(self._take, "work beats")
        #: Entries of each CQ of which the engine was told that they are consumed.
        self.told = dict.fromkeys((cq.number for cq in cqs), 0)
        return qps

    def _take(self, records: list[Record]) -> None:
        self.indicated += [(record.cycle, 1) for record in records if type(record) is WorkBeat]

    def lines(
        self, qps: list[Qp], count: int, *, chain: int = 1, silent: bool = False
    ) -> list[Line]:
        """Writes of 8 bytes, each on a random QP. All but every ``chain``-th post of a QP are
        deferred; its last one is not.
        """
        chosen = self.rng("posts").choices(qps, k=count)
        last = {qp.number: turn for turn, qp in enumerate(chosen)}
        made = dict.fromkeys(last, 0)
        found = []
        for turn, qp in enumerate(chosen):
            made[qp.number] += 1
            defer = made[qp.number] % chain != 0 and last[qp.number] != turn
            post = qp.make(Opcode.WRITE, length=8, token=1, defer=defer, silent=silent)
            found.append(Line(qp, post.encode()))
        return found

    async def run_posts(
        self,
        lines: list[Line],
        *,
        every: int = 0,
        before: int = 0,
        doorbell: Callable[[], Pending[WriteResult]] | None = None,
    ) -> Window:
        """Writes the posts, one per cycle, to the end of their completions. One of ``every`` writes
        is what ``doorbell`` queues; ``before`` posts were accepted ahead. Returns the middle half
        of the time of the work beats.
        """
        env, harness = self.env, self.harness
        env.transport.loopback(latency=REPORT_CYCLES)
        start = harness.cycle + _LEAD
        answers: deque[Pending[WriteResult]] = deque()
        todo = deque(lines)
        writes = 0
        while todo:
            while todo and writes < harness.cycle - start + CHUNK + AHEAD:
                writes += 1
                if doorbell is not None and writes % every == 0:
                    answers.append(doorbell())
                else:
                    qp, bits = todo.popleft()
                    answers.append(qp.queue(bits, at=start))
            while answers and answers[0].done:
                answer = answers.popleft().result
                assert answer == _OK, f"refused: {answer}"
            await harness.cycles(CHUNK)
        await env.drain(quiet=600)
        counters = await env.host.counters()
        accepted = counters["POSTS"] - before
        assert accepted == len(lines), f"{accepted} of {len(lines)} accepted"
        assert counters["DB_REFUSED"] == counters["WRITE_ERRORS"] == counters["LOG_LOST"] == 0
        return self.meter.middle(self.indicated)

    def consume(self) -> Pending[WriteResult]:
        """The consumer with most new entries tells its index."""
        written = self.meter.written
        number = max(self.told, key=lambda number: written[number] - self.told[number])
        return self.tell(self.env.host.cqs[number])

    def tell(self, cq: Cq) -> Pending[WriteResult]:
        """A consumer tells the index after the latest entry seen in memory."""
        self.told[cq.number] = index = self.meter.written[cq.number]
        return cq.post_consumer_index(index & 0xFFFF)


class PostLoadTest(PostLoad, Load, CarillonTest):
    """Base of the measurements of posts."""
