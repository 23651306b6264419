# SPDX-License-Identifier: Apache-2.0
"""Checks of remote accesses, and the verdicts that they must get."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tb.env.defs import CheckKind, Verdict
from tb.env.host.qp import Qp
from tb.tests.common.engine import GRANTED, EngineTest

TOP = 1 << 64
KINDS = tuple(CheckKind)
WRONG_QP, NO_RIGHT, BAD_RANGE = Verdict.WRONG_QP, Verdict.NO_RIGHT, Verdict.BAD_RANGE


def edges(base: int, length: int) -> Iterator[tuple[int, int, bool]]:
    """Addresses and lengths at every edge of a range, and whether all bytes lie inside."""
    end = base + length
    starts = {base - 1, base, base + 1, end - 1, end, end + 1, base + length // 2}
    starts |= {0, 1, TOP - 1, base ^ 1 << 63, base ^ 1 << 48, base ^ 1 << 32}
    for start in sorted(s % TOP for s in starts):
        lengths = {1, 2, length - 1, length, length + 1, (1 << 32) - 1, 1 << 31}
        lengths |= {end - start + more for more in (-1, 0, 1)} | {TOP - start, TOP - start + 1}
        for nbytes in sorted(n for n in lengths if 0 < n < 1 << 32):
            yield start, nbytes, base <= start and start + nbytes <= end


class CheckTest(EngineTest):
    allow = ("no_doorbells",)

    async def ranges(self, qp: Qp, key: int, base: int, length: int) -> None:
        """Every edge, read and written; and length 0, which touches none."""
        granted = []
        for (start, nbytes, inside), kind in product(edges(base, length), KINDS):
            if inside:
                granted.append(self.post_check(qp, kind, key, start, nbytes))
            else:
                await self.demand_verdict(qp, BAD_RANGE, kind, key, start, nbytes)
        for answer in granted:
            assert (await answer).code == GRANTED
        for start, kind in product((base, base - 1, base + length, 0, TOP - 1), KINDS):
            await self.demand_verdict(qp, GRANTED, kind, key, start % TOP, 0)
