# SPDX-License-Identifier: Apache-2.0
"""Bad input of posting: at the portals, from the transport, in the commands. Each is refused with
its cause, counted and logged, and has no other effect (DF-10, DF-14, ISO-01, ISO-02, ISO-03).
"""

from __future__ import annotations

from dataclasses import replace

import pyuvm

from models.post.post import Post, Segment
from models.verb import Verb
from models.verbs import BAD_OPCODES, VERBS
from tb.env.defs import Cause, Cmd, Kind, Opcode, PageReg, PostFlag, QpState, Result
from tb.env.harness.records import Trace
from tb.env.host.qp import Qp
from tb.tests.common.directed import NO_PORTAL
from tb.tests.common.engine import EngineTest
from tb.tests.common.posting import OK, TARGET

BUILD = ["engine", "engine_small"]

GIB2 = 1 << 31
FULL = (1 << 64) - 1
INLINE = int(PostFlag.INLINE)


def lengths_of(verb: Verb) -> tuple[list[list[int]], list[list[int]]]:
    """Lengths of as many segments as a verb takes: legal ones, and illegal ones."""
    most, nbytes = verb.max_segments, verb.exact_length
    if not most:
        return [[]], []
    rest = [0] * (most - 1)
    if nbytes is not None:
        return [[nbytes, *rest]], [[n, *rest] for n in (nbytes - 1, nbytes + 1) if n >= 0]
    good, bad = [[0] * most], []
    for slot in range(most):
        good.append([GIB2 if n == slot else 0 for n in range(most)])
        bad += [[x if n == slot else 0 for n in range(most)] for x in (GIB2 + 1, 0xFFFF_FFFF)]
    if most > 1:
        good.append([GIB2 - 1, 1] + [0] * (most - 2))
        bad += [[GIB2, *[0] * (most - 2), 1], [GIB2] * 2 + [0] * (most - 2)]
        bad += [[0xFFFF_FFFF, 2] + [0] * (most - 2), [0xFFFF_FFFF] * most]
    if most > 2:
        # Sums around 2^33.
        bad += [[0xFFFF_FFFF] * 2 + [last] for last in (0, 1, 2, 3, GIB2)]
    return good, bad


@pyuvm.test()
class FieldsTest(EngineTest):
    """DF-14: every opcode, every flag of every opcode, every number of segments and inline bytes. A
    legal post finds its QP not connected.
    """

    allow = ("no_posts", "no_receives")

    async def scenario(self) -> None:
        qp = await self.idle_qp()
        number, legal = qp.number, Cause.NOT_CONNECTED
        await self.causes(
            qp, [(Post(1, qp=number, reserved=1 << n), Cause.RESERVED_BITS) for n in range(8)]
        )
        await self.causes(qp, [(Post(n, qp=number), Cause.BAD_OPCODE) for n in BAD_OPCODES])
        for verb in VERBS.values():
            cases, allowed, nbytes = [], int(verb.legal_flags), verb.exact_length
            for flags in (*(1 << bit for bit in range(16)), 0x30, allowed & ~INLINE):
                good = not flags & ~allowed and flags & 0x30 != 0x20
                cases.append((verb.least(flags, number), legal if good else Cause.BAD_FLAGS))
            least = verb.least(qp=number)
            for count in range(256):
                # The bytes that the verb needs are in the first slot.
                enough = count >= max(verb.min_segments, least.num_segments)
                cause = legal if enough else Cause.BAD_LENGTH
                cause = cause if count <= verb.max_segments else Cause.TOO_MANY_SEGMENTS
                cases.append((replace(least, num_segments=count), cause))
                if count:
                    cases.append((replace(least, inline_bytes=count), Cause.BAD_LENGTH))
            if verb.max_inline:
                for count in range(256):
                    good = count <= verb.max_inline and nbytes in (None, count)
                    post = replace(verb.least(INLINE, number), inline_bytes=count)
                    cases.append((post, legal if good else Cause.BAD_LENGTH))
                    if count:
                        cause = Cause.TOO_MANY_SEGMENTS
                        cases.append((replace(post, num_segments=count, inline_bytes=0), cause))
            await self.causes(qp, cases)


@pyuvm.test()
class LengthTest(EngineTest):
    """Lengths: zero, the largest, one more, sums beyond 32 bits; unused slots do not count."""

    async def scenario(self) -> None:
        qp = await self.qp()
        for verb in VERBS.values():
            good, bad = lengths_of(verb)
            posts = [self.of_lengths(qp, verb, lengths) for lengths in good]
            inline = {0, 1, verb.max_inline} if verb.max_inline else set()
            if verb.exact_length is not None:
                inline &= {verb.exact_length}
            for count in sorted(inline):
                target = TARGET if verb.has_target else None
                posts.append(qp.make(verb.opcode, data=bytes(range(count)), target=target))
            if verb.max_segments and not verb.least().num_segments:
                unused = self.of_lengths(qp, verb, [GIB2 + 1] * verb.max_segments)
                posts.append(replace(unused, num_segments=0))
            for post in posts:
                await self.accept(qp, [post])
                if not verb.local:
                    self.report(qp)
                await self.demand_results(qp, [post], OK)
            if bad:
                lines = [self.of_lengths(qp, verb, lengths) for lengths in bad]
                await self.causes(qp, [(post, Cause.BAD_LENGTH) for post in lines])

    @staticmethod
    def of_lengths(qp: Qp, verb: Verb, lengths: list[int]) -> Post:
        segments = [Segment(FULL, length, 0xFFFF_FFFF) for length in lengths]
        target = TARGET if verb.has_target else None
        return qp.make(verb.opcode, segments=segments, target=target)


@pyuvm.test()
class PrecedenceTest(EngineTest):
    """DF-14: a post with all faults shows them in their order, as they are mended one by one; each
    with all its traces.
    """

    async def scenario(self) -> None:
        first = await self.qp(page=1, depth=1, log2=1)
        other = await self.qp(page=1, share=first)
        worst = Post(0, 255, 0xFFFF, 0xFFFF, 255, 0xFF, FULL, (FULL, FULL, FULL))
        pages = self.config.num_pages
        for cause, page, offset, options in (
            (Cause.BURST, pages, NO_PORTAL, {"size": 3, "length": 1}),
            (Cause.BAD_SIZE, pages, NO_PORTAL, {"size": 3}),
            (Cause.BAD_PAGE, pages, NO_PORTAL, {}),
            (Cause.BAD_OFFSET, 0, NO_PORTAL, {}),
            (Cause.BAD_QP, 0, PageReg.SEND, {}),
        ):
            await self.refused(cause, page, offset, worst, **options)
        worst = replace(worst, qp=self.config.num_qp - 1)
        await self.refused(Cause.NO_QP, 0, PageReg.SEND, worst)
        worst = replace(worst, qp=first.number)
        await self.refused(Cause.NOT_OWNER, 0, PageReg.SEND, worst)
        held = await self.accept(first, [self.write_post(first)])
        held += await self.accept(other, [self.write_post(other)])
        await self.rest()
        for state in (QpState.CONNECTED, QpState.DISCONNECT_PENDING):
            if state != QpState.CONNECTED:
                assert await first.set_state(state) == Result.OK
            post = worst
            for cause, mended in (
                (Cause.RESERVED_BITS, {"reserved": 0}),
                (Cause.BAD_OPCODE, {"opcode": Opcode.SEND}),
                (Cause.BAD_FLAGS, {"flags": 0}),
                (Cause.TOO_MANY_SEGMENTS, {"num_segments": 0}),
                (Cause.BAD_LENGTH, {"inline_bytes": 0}),
            ):
                await self.refused(cause, 1, PageReg.SEND, post)
                post = replace(post, **mended)
            # One request is outstanding, and the CQ has no entry left.
            full = Cause.QUEUE_FULL if state == QpState.CONNECTED else Cause.NOT_CONNECTED
            await self.refused(full, 1, PageReg.SEND, post)
        await self.refused(Cause.NO_CREDIT, 1, PageReg.SEND, replace(post, qp=other.number))
        self.report(first)
        self.report(other)
        await first.wait_retired()
        await other.wait_retired()


@pyuvm.test()
class TransportInputTest(EngineTest):
    """ISO-02, ISO-03: reports and events that are malformed, or for nothing that is there."""

    async def scenario(self) -> None:
        qp, other = await self.qp(), await self.qp()
        idle = await self.idle_qp()
        done = [1 << n | qp.number for n in range(40, 64)]
        far = [n for n in (1 << b for b in range(16)) if n >= self.config.num_qp]
        far += [n | qp.number for n in far] + [0xFFFF]
        done += far
        conn = [e << 16 | qp.number for e in (0, 2, 3, 0x81, 0xFF)]
        conn += [1 << n | 1 << 16 | qp.number for n in range(24, 32)]
        conn += [1 << 16 | n for n in far]
        free = self.config.num_qp - 1
        posts: list[Post] = []
        for waiting in (1, 2, 0):
            if waiting:
                self.env.work.hold()
                posts += await self.accept(qp, [self.write_post(qp)])
                await self.harness.cycles(32)
                # Indicated, and not taken yet.
                tag = self.reports[qp.number] + waiting - 1 & self.mask
                await self.refuse_beats(
                    True, (qp.number | tag << 16, Cause.DONE_UNEXPECTED), detail=tag
                )
                self.env.work.hold(False)
                await self.rest()
            else:
                await self.done(qp, posts)
            first = self.reports[qp.number]
            wrong = [(first + n) & self.mask for n in range(-2, 4) if n or not waiting]
            wrong += [0xFFFF, *((first & self.mask) ^ 1 << bit for bit in range(16))]
            for word in done:
                await self.refuse_beats(True, (word | (first & self.mask) << 16, Cause.DONE_BAD))
            for word in conn:
                await self.refuse_beats(False, (word, Cause.DONE_BAD))
            for tag in wrong:
                for status in (0, 2):
                    word = qp.number | tag << 16 | status << 32
                    await self.refuse_beats(True, (word, Cause.DONE_UNEXPECTED), detail=tag)
            for number in (other.number, idle.number, free):
                await self.refuse_beats(True, (number, Cause.DONE_UNEXPECTED), detail=0)
            await self.refuse_beats(False, (1 << 16 | free, Cause.CONN_NO_QP))
        # Events for a QP that is FREE and malformed ones, in trains, at each distance.
        missed, bad = (1 << 16 | free, Cause.CONN_NO_QP), (2 << 16 | free, Cause.DONE_BAD)
        for distance in range(12):
            for train in ((missed, bad), (bad, missed), (missed, bad, bad), (missed, missed, bad)):
                await self.refuse_beats(False, *train, distance=distance)

    async def refuse_beats(
        self, done: bool, *beats: tuple[int, Cause], distance: int = 0, detail: int | None = None
    ) -> None:
        """Each beat is counted and logged, and has no other effect."""
        host, agent = self.env.host, self.env.done if done else self.env.conn
        refused, taken = await host.counter("DONE_REFUSED"), await host.counter("DONE")
        mark = self.mark
        for word, _ in beats:
            agent.send_raw(word)
            await self.harness.cycles(distance)
        await self.rest(16)
        entries = await host.read_log()
        what = f"{len(beats)} events, {distance} cycles apart: {beats}, {entries}"
        wanted = sorted((cause, Kind.QP, word & 0xFFFF) for word, cause in beats)
        assert sorted((e.cause, e.kind, e.object) for e in entries) == wanted, what
        assert detail is None or entries[0].detail == detail, what
        assert await host.counter("DONE_REFUSED") == refused + len(beats), what
        assert await host.counter("DONE") == taken
        assert self.effects(mark) == [] == self.of(Trace, mark), what
        self.checking.facts.counts["refused_beats"] += len(beats)


@pyuvm.test()
class CommandInputTest(EngineTest):
    """Results of the commands in their order; a CQ that a QP names stays."""

    allow = ("no_posts", "no_receives", "no_doorbells")

    async def scenario(self) -> None:
        config = self.config
        cq = await self.queue(reservation=True)
        other = await self.queue(page=1, reservation=True)
        deepest = 1 << config.sq_log2
        far, missing = 1 << 12, 3
        good = [0, 0, 0, cq.number * 0x10001, 1 << 16, 0]
        await self.create(Result.BAD_OBJECT, good, {0: config.num_qp})
        await self.create(Result.BAD_OBJECT, good, {0: 0xFFFF, 4: 0})
        for depth in (0, deepest + 1, 0xFFFF):
            await self.create(Result.BAD_SIZE, good, {4: depth << 16 | 0xFFFF, 3: far})
        for cqs in (missing, missing << 16, far, far << 16):
            word = cqs | cq.number * (1 if cqs >> 16 else 0x10000)
            await self.create(Result.NO_CQ, good, {3: word, 4: 1 << 16 | 0xFFFF})
        for page in (1, config.num_pages, 0xFFFF):
            await self.create(Result.BAD_PAGE, good, {4: 1 << 16 | page})
        for cqs in (other.number, other.number << 16):
            await self.create(Result.BAD_PAGE, good, {3: cqs})
        await self.create(Result.OK, good, {4: deepest << 16})
        await self.create(Result.EXISTS, good, {3: far, 4: 0xFFFF})
        for code in range(Cmd.MODIFY_QP, Cmd.DESTROY_QP + 1):
            assert await self.result(Cmd(code), 1, 0, 0, 0, 0, 0) == Result.NO_OBJECT
            assert await self.result(Cmd(code), 0x1_0000, 0, 0, 0, 0, 0) != Result.OK
            assert await self.result(Cmd(code), config.num_qp) == Result.BAD_OBJECT
        # Named as send and as receive CQ: not destroyed until no QP names it.
        receiver = await self.queue(reservation=True)
        await self.create(Result.OK, good, {0: 1, 3: cq.number | receiver.number << 16})
        for one in (cq, receiver):
            assert await self.result(Cmd.DESTROY_CQ, one.number) == Result.IN_USE
        assert await self.result(Cmd.DESTROY_QP, 1) == Result.OK
        assert await self.result(Cmd.DESTROY_CQ, receiver.number) == Result.OK
        assert await self.result(Cmd.DESTROY_CQ, cq.number) == Result.IN_USE
        assert await self.result(Cmd.DESTROY_QP, 0) == Result.OK
        assert await self.result(Cmd.DESTROY_CQ, cq.number) == Result.OK
        await self.create(Result.NO_CQ, good, {})
        await self.reserved()

    async def reserved(self) -> None:
        """Each reserved bit of CONNECT_QP and SET_QP_STATE alone; what is no state to go to; a
        refused CONNECT_QP leaves the peer as it was.
        """
        qp = await self.idle_qp()
        for bit in range(24, 32):
            assert await self.result(Cmd.CONNECT_QP, qp.number, 1 << bit) == Result.RESERVED
        assert await self.result(Cmd.FLUSH_QP, qp.number) == Result.BAD_STATE
        assert (await qp.query()).state == QpState.IDLE
        await qp.connect(qp.number ^ 1)
        for bit in range(4, 32):
            target = QpState.DISCONNECTED | 1 << bit
            assert await self.result(Cmd.SET_QP_STATE, qp.number, target) == Result.RESERVED
        for target in (0, 2, 5, 6, 7, 15):
            assert await self.result(Cmd.SET_QP_STATE, qp.number, target) == Result.BAD_STATE
        assert await self.result(Cmd.CONNECT_QP, qp.number, 0x777) == Result.BAD_STATE
        status = await qp.query()
        assert (status.state, status.peer) == (QpState.CONNECTED, qp.number ^ 1)

    async def create(self, result: Result, good: list[int], changes: dict[int, int]) -> None:
        """CREATE_QP with some other arguments."""
        args = [changes.get(n, value) for n, value in enumerate(good)]
        assert await self.result(Cmd.CREATE_QP, *args) == result, args
