# SPDX-License-Identifier: Apache-2.0
"""Completions that do not signal (UNSIGNALLED), two in one memory write, at the port that offers
raw completions (SRQ-07, CQ-08).
"""

from __future__ import annotations

from itertools import product
from typing import Final

import pyuvm

from tb.env.agents.completion import Cpl
from tb.env.defs import ArmType, CqeFlag, CqeType
from tb.tests.common.steps import ANY, SOLICITED, SOLICITED_RECEIVE, Consumer, Kind, StepTest

RECEIVES: Final = (CqeType.RECEIVE, CqeType.RECEIVE_AND_INVALIDATE)


def kind(type_: int, status: int = 0, solicited: bool = False, quiet: bool = True) -> Kind:
    """Fields of a completion, with UNSIGNALLED or without."""
    flags = int(CqeFlag.UNSIGNALLED) if quiet else 0
    return {"type": int(type_), "status": status, "solicited": solicited, "flags": flags}


def satisfies(arm: ArmType, fields: Kind) -> bool:
    """CQ-08 and SRQ-07: this completion satisfies this arm while it stands."""
    receive, failed = fields["type"] in RECEIVES, fields["status"] != 0
    invalidate = fields["type"] == CqeType.INVALIDATE
    if (receive or invalidate) and not failed and fields["flags"]:
        return False
    return arm is ANY or failed or (receive and bool(fields["solicited"]))


TYPES: Final = (*RECEIVES, CqeType.SEND)
KINDS: Final = [
    *(kind(*fields) for fields in product(TYPES, (0, 5), (False, True), (False, True))),
    kind(CqeType.INVALIDATE),
    # No type has these numbers: what differs from a type in one bit is not that type.
    *(kind(CqeType.INVALIDATE ^ 1 << bit) for bit in (0, 7, 15)),
    *(kind(CqeType.RECEIVE ^ 1 << bit) for bit in (1, 14)),
]
#: What comes with each of them.
OTHERS: Final = (
    kind(CqeType.RECEIVE),
    kind(CqeType.RECEIVE_AND_INVALIDATE, solicited=True),
    kind(CqeType.RECEIVE, quiet=False),
)
FILLER: Final = kind(CqeType.RECEIVE)


class PairTest(StepTest):
    """Every kind with others in both orders against the arms ANY and SOLICITED: one callback with
    both entries if one of the two satisfies the arm, none otherwise, and the arm stands.
    """

    async def scenario(self) -> None:
        q = await self.consumer("pairs", log2=4)
        self.filler = await self.consumer("filler", log2=5)
        for arm, one, other in product((ANY, SOLICITED), KINDS, OTHERS):
            await self.one(q, arm, one, other)
            await self.one(q, arm, other, one)

    async def one(self, q: Consumer, arm: ArmType, first: Kind, second: Kind) -> None:
        await self.align(q)
        await q.arm(arm)
        await self.pair(q, first, second)
        if satisfies(arm, first) or satisfies(arm, second):
            await q.settle(1)
        else:
            await q.settle(0)
            await q.place(SOLICITED_RECEIVE, calls=1)
        await q.callback_returns()
        await q.poll()

    async def align(self, q: Consumer) -> None:
        """The next index is even: it begins a memory line; all entries are polled."""
        if q.placed % 2:
            await q.place(FILLER)
            await q.poll()

    async def pair(self, q: Consumer, first: Kind, second: Kind) -> None:
        """Places both."""
        raise NotImplementedError

    def beat(self, q: Consumer, first: Kind, second: Kind) -> None:
        """Both in one beat."""
        one, two = (Cpl(q.cq.number, q.placed + n, **f) for n, f in enumerate((first, second)))
        self.env.completions.send_pair(one, two)
        q.placed += 2


@pyuvm.test()
class OneBeatTest(PairTest):
    """Both lanes of a beat share a memory write. Class: a lane's mark is lost on the way, or one
    mark is used for both.
    """

    async def pair(self, q: Consumer, first: Kind, second: Kind) -> None:
        self.beat(q, first, second)


@pyuvm.test()
class KeptSecondTest(PairTest):
    """The second lane of a beat and the first one of the next share a memory write. Class: what is
    kept back takes over the mark of the other lane.
    """

    async def align(self, q: Consumer) -> None:
        if not q.placed % 2:
            await q.place(FILLER)
            await q.poll()

    async def pair(self, q: Consumer, first: Kind, second: Kind) -> None:
        # A filler that never signals goes before.
        self.beat(q, FILLER, first)
        q.send(second)
