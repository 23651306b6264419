# SPDX-License-Identifier: Apache-2.0
"""Results of the commands of queues, queue pairs and regions, in their order of precedence (ISO-02,
CQ-17 to CQ-21, SRQ-17); keys and windows have theirs in test_key_life.py.
"""

from __future__ import annotations

from itertools import combinations, product
from typing import NamedTuple

import pyuvm

from models.host.control import USED_BITS
from tb.env.agents.memory import SLVERR as MEM_SLVERR
from tb.env.defs import Cmd, Life, RecvFlag, Result
from tb.env.host.cq import Cq, Eq
from tb.tests.common.directed import DirectedTest

BUILD = ["engine", "default"]

Fields = dict[str, int]
Faults = dict[Result, list[Fields]]

#: Argument register and lowest bit of each field; wide ones go on in the next register.
PLACES = {
    "number": (0, 0),
    # Rings and regions.
    "base": (1, 0),
    "log2": (3, 0),
    "vector": (3, 16),
    "page": (4, 0),
    "eq": (4, 16),
    "moderation": (5, 0),
    "length": (3, 0),
    "rights": (5, 16),
    # QPs.
    "cq": (3, 0),
    "recv_cq": (3, 16),
    "depth": (4, 16),
    "recv_depth": (6, 16),
    "srq": (7, 0),
    "shared": (7, 16),
    "flag": (7, 24),
    # SRQs.
    "size": (1, 0),
    "srq_page": (2, 0),
    **{f"reserved{register}": (register, 0) for register in range(8)},
}
M32 = (1 << 32) - 1
RING = 0x10_0000


def arguments(fields: Fields) -> list[int]:
    """ARG0 to ARG7 with these fields."""
    words = 0
    for name, value in fields.items():
        register, shift = PLACES[name]
        words |= value << 32 * register + shift
    return [words >> 32 * register & M32 for register in range(8)]


def each(name: str, *values: int) -> list[Fields]:
    """One field with each of these values."""
    return [{name: value} for value in values]


def beyond(name: str, count: int, width: int = 16, good: int = 0) -> list[Fields]:
    """Numbers from ``count`` on, each a good one with one more bit: who looks at the bits that are
    stored alone takes them.
    """
    return each(name, count, *(n for n in (good | 1 << bit for bit in range(width)) if n >= count))


class Command(NamedTuple):
    """A command with legal arguments, and what spoils them; results in their order of precedence.
    Of a pair of faults the first one is meant in each list.
    """

    code: Cmd
    good: Fields
    faults: Faults


def new(count: int, there: int) -> Faults:
    """Numbers of which an object can not be created, one being there."""
    return {
        Result.BAD_OBJECT: beyond("number", count, 32),
        Result.EXISTS: each("number", there),
    }


def on_object(number: int, count: int, commands: dict[Cmd, tuple[Fields, Faults]]) -> list[Command]:
    """Commands on an object of this number, of so many; the last one is not there."""
    outside, missing = beyond("number", count, 32, number), each("number", count - 1)
    common = {Result.BAD_OBJECT: outside, Result.NO_OBJECT: missing}
    return [
        Command(
            code,
            {"number": number} | good,
            {r: some for r, some in faults.items() if r is Result.RESERVED} | common | faults,
        )
        for code, (good, faults) in commands.items()
    ]


@pyuvm.test()
class ResultsTest(DirectedTest):
    """Each result of each command by every fault alone, and each pair in its order; nothing refused
    has an effect.
    """

    allow = ("no_doorbells", "no_posts", "no_receives")

    async def scenario(self) -> None:
        host, c = self.env.host, self.config
        full = await host.create_eq(0, page=1, log2=1)
        free = await host.create_eq(1, page=1, log2=4)
        await self.queues(2, full)
        ready = await host.create_cq(
            eq=free, log2=4, moderation=(8, 0xFFFF), reservation=c.num_qp > 0
        )
        if not c.num_qp:
            self.send(ready, range(7))
            await ready.wait_results(7)
        table = self.of_queues(full, free, ready)
        if c.num_qp:
            table += await self.of_pairs(ready)
        async with self.no_effect():
            for code, good, faults in table:
                for result, fault in ((r, one) for r, some in faults.items() for one in some):
                    got = await self.result(code, *arguments(good | fault))
                    assert got == result, f"{code.name} {fault}: {got.name}, not {result.name}"
                for first, second in combinations(faults, 2):
                    one, two = faults[first][0], faults[second][0]
                    if not one.keys() & two.keys():
                        got = await self.result(code, *arguments(good | one | two))
                        assert got == first, f"{code.name}: {got.name}, not {first.name}/{second}"
            await self.reserved_bits({command.code: command.good for command in table})
        # What was refused for one fault is accepted without it.
        for code, good, _ in table:
            if code.name.startswith(("CREATE", "REGISTER", "MODIFY_EQ", "MODIFY_CQ")):
                assert await self.result(code, *arguments(good)) == Result.OK, code.name
        if not c.num_qp:
            await self.last_ones()

    async def reserved_bits(self, good: dict[Cmd, Fields]) -> None:
        """Reserved bits one by one; registers that a command does not use are ignored."""
        for code, used in USED_BITS.items():
            for register, mask in used.items():
                for bit in (b for b in range(32) if not mask >> b & 1):
                    word = arguments(good[Cmd(code)] | {f"reserved{register}": 1 << bit})
                    assert await self.result(Cmd(code), *word) == Result.RESERVED, (code, bit)
        for number in sorted(set(range(256)) - {*Cmd}):
            assert await self.result(number) == Result.UNKNOWN, number
        for query in (Cmd.QUERY_CQ, Cmd.QUERY_EQ):
            assert await self.result(query, 0, *[M32] * 7) == Result.OK

    def of_queues(self, full: Eq, free: Eq, ready: Cq) -> list[Command]:
        """Commands of EQs and CQs; a CQ more is too many for ``full``."""
        c = self.config
        size = {Result.BAD_SIZE: each("log2", c.max_log2 + 1, 0, 31)}
        spare = {Result.RESERVED: each("reserved3", 1 << 7)}
        pages = beyond("page", c.num_pages, good=1)
        neither = {Result.BAD_MODERATION: each("moderation", M32)}
        ring: Fields = {"base": RING, "log2": 4}
        eq_ring = spare | size | {Result.BAD_ALIGN: each("base", RING + 32, RING + 64)}
        cq_ring = spare | size | {Result.BAD_ALIGN: each("base", RING + 64)}
        create_eq = new(c.num_eq, full.number)
        create_cq = new(c.num_cq, ready.number)
        last = {
            Result.BAD_PAGE: [*pages, {"page": 2}],
            Result.NO_EQ: [*each("eq", c.num_eq - 1), *beyond("eq", c.num_eq, good=1)],
            Result.EQ_FULL: each("eq", full.number),
        }
        new_cq = {"number": c.num_cq - 2, **ring, "page": 1, "eq": free.number}
        return [
            Command(
                Cmd.CREATE_EQ,
                {"number": c.num_eq - 2, **ring, "page": 1},
                spare | create_eq | eq_ring | {Result.BAD_PAGE: pages},
            ),
            Command(Cmd.CREATE_CQ, new_cq, spare | create_cq | cq_ring | last | neither),
            *on_object(
                full.number,
                c.num_eq,
                {
                    Cmd.RESIZE_EQ: (ring, eq_ring),
                    Cmd.MODIFY_EQ: ({"vector": 3}, spare),
                    Cmd.QUERY_EQ: ({}, {}),
                    Cmd.DESTROY_EQ: ({}, {Result.IN_USE: [{}]}),
                },
            ),
            *on_object(
                ready.number,
                c.num_cq,
                {
                    Cmd.MODIFY_CQ: ({}, spare | neither),
                    Cmd.RESIZE_CQ: (ring, cq_ring | {Result.BAD_MODERATION: each("log2", 2)}),
                    Cmd.QUERY_CQ: ({}, {}),
                    Cmd.DESTROY_CQ: ({}, {}),
                },
            ),
        ]

    async def of_pairs(self, ready: Cq) -> list[Command]:
        """Commands of QPs, SRQs and regions."""
        host, c = self.env.host, self.config
        srq = await host.create_srq(0, size=2, page=1)
        await host.create_qp(0, cq=ready, srq=srq)
        await host.register(64, number=0)
        deepest, most = 1 << c.rq_log2, 1 << c.srq_log2
        use = {"shared": 1, "srq": srq.number}
        foreign: list[Fields] = []
        if c.num_srq > 2:
            foreign = [{**use, "srq": (await host.create_srq(1, size=2)).number}]
        bad_flags = [flag for flag in range(32) if flag not in set(RecvFlag)]
        sizes = [*each("size", 0, most + 1, 2 * most, 0xFFFF), *beyond("size", most + 1, good=1)]
        spare = {Result.RESERVED: each("reserved1", *(1 << bit for bit in range(16, 32)))}
        create_qp: Faults = {
            Result.RESERVED: [
                *each("reserved7", *(1 << bit for bit in (*range(19, 24), 29, 30, 31))),
                *each("srq", 1, 0x8000, 0xFFFF),
            ],
            **new(c.num_qp, 0),
            # With an SRQ there is no queue of its own.
            Result.BAD_SIZE: [
                *beyond("recv_depth", deepest + 1, good=1),
                *beyond("depth", (1 << c.sq_log2) + 1, good=1),
                *({**use, "recv_depth": depth} for depth in (1, deepest)),
            ],
            Result.NO_CQ: [
                *beyond("cq", c.num_cq, good=ready.number),
                *beyond("recv_cq", c.num_cq, good=ready.number),
            ],
            Result.NO_SRQ: [
                {**use, **one} for one in (*beyond("srq", c.num_srq), {"srq": c.num_srq - 1})
            ],
            Result.BAD_PAGE: [
                *beyond("page", c.num_pages, good=1),
                *({"page": 0}, *foreign),
            ],
            Result.BAD_FLAG: [{**how, "flag": n} for how, n in product(({}, use), bad_flags)],
        }
        bad_page = {Result.BAD_PAGE: beyond("srq_page", c.num_pages)}
        create_srq = new(c.num_srq, srq.number) | {Result.BAD_SIZE: sizes} | bad_page
        register = {
            Result.RESERVED: [
                *each("reserved4", *(1 << bit for bit in range(16, 32))),
                *each("reserved5", *(1 << bit for bit in range(19, 32))),
            ],
            **new(c.num_mr, 0),
            Result.BAD_FLAG: each("rights", 4, 6),
            Result.BAD_RANGE: each("length", 0),
        }
        plain: tuple[Fields, Faults] = ({}, {})
        new_qp = {"number": 1, "cq": ready.number, "recv_cq": ready.number, "page": 1, "depth": 1}
        marks = {Result.BAD_SIZE: each("size", 3, 0x8000, 0xFFFF)}
        resize = ({"size": 2}, spare | {Result.BAD_SIZE: sizes})
        on_qps = range(Cmd.CREATE_QP + 1, Cmd.DESTROY_QP + 1)
        return [
            Command(Cmd.CREATE_QP, new_qp, create_qp),
            *on_object(0, c.num_qp, {Cmd(code): plain for code in on_qps}),
            Command(Cmd.CREATE_SRQ, {"number": c.num_srq - 1, "size": 1}, create_srq),
            *on_object(
                srq.number,
                c.num_srq,
                {
                    Cmd.RESIZE_SRQ: resize,
                    Cmd.SET_SRQ_WATERMARK: ({"size": 2}, spare | marks),
                    Cmd.QUERY_SRQ: plain,
                    Cmd.DESTROY_SRQ: plain,
                },
            ),
            Command(Cmd.REGISTER_MR, {"number": 1, "length": 8, "rights": 1}, register),
            *on_object(0, c.num_mr, {Cmd.QUERY_MR: plain, Cmd.DEREGISTER_MR: plain}),
        ]

    async def last_ones(self) -> None:
        """EQ_FULL of a resize, CQ_ERROR before TOO_SMALL, results of a dying queue."""
        host, env = self.env.host, self.env
        bigger = await host.create_eq(page=3, log2=3)
        cqs = await self.queues(5, bigger)
        base = env.memory.allocate(1 << 12)
        async with self.no_effect():
            args = arguments({"number": bigger.number, "base": base, "log2": 2})
            assert await self.result(Cmd.RESIZE_EQ, *args) == Result.EQ_FULL
        failing, dying = cqs[:2]
        self.send(failing, range(5))
        await env.drain()
        async with self.no_effect():
            args = arguments({"number": failing.number, "base": base, "log2": 2})
            assert await self.result(Cmd.RESIZE_CQ, *args) == Result.TOO_SMALL
        env.mem.fail(MEM_SLVERR, cq=failing.number)
        self.send(failing, [5])
        await env.drain()
        async with self.no_effect():
            for log2 in (2, 4):
                args = arguments({"number": failing.number, "base": base, "log2": log2})
                assert await self.result(Cmd.RESIZE_CQ, *args) == Result.CQ_ERROR
            args[1] += 64
            assert await self.result(Cmd.RESIZE_CQ, *args) == Result.BAD_ALIGN
        env.mem.hold_cq(dying.number)
        self.send(dying, [1])
        await self.harness.cycles(40)
        assert await dying.destroy(wait=False) == Result.PENDING
        args = arguments({"number": dying.number, "base": base, "log2": 4})
        assert await self.result(Cmd.RESIZE_CQ, *args) == Result.NO_OBJECT
        assert await self.result(Cmd.MODIFY_CQ, dying.number, 0, 0, 0, 0, 0) == Result.NO_OBJECT
        args = arguments({"number": dying.number, "base": base, "log2": 4, "eq": bigger.number})
        args[4] |= 3
        assert await self.result(Cmd.CREATE_CQ, *args) == Result.EXISTS
        assert (await dying.query()).life == Life.DESTROYING
        assert await self.result(Cmd.DESTROY_EQ, bigger.number) == Result.IN_USE
        env.mem.release_cq(dying.number)
        await dying.destroy()
        assert (await host.query_eq(bigger)).attached == 4
