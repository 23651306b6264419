# SPDX-License-Identifier: Apache-2.0
"""Storms of keys: in few cycles everything that may change or look at a region or window meets,
with keys of all ages; sinks stand still meanwhile. The scoreboard compares each step; afterwards
everything has completed once, and all can be cleaned up.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import cocotb

from models.post.post import Segment
from models.verbs import VERBS
from tb.env.defs import Cmd, Opcode, PostFlag, QpState, Result, TraceOp
from tb.env.harness.harness import Channel
from tb.env.harness.records import Trace
from tb.env.host.qp import Qp
from tb.env.host.regions import Region
from tb.env.host.srq import Srq
from tb.env.host.windows import MemoryWindow
from tb.tests.common.removing import RemovalTest
from tb.tests.common.windowing import GENERATION, OTHER_ZONE, ZONE

LEAD = 260
SINKS = (
    *(Channel.WORK, Channel.TERM, Channel.SCATTER, Channel.VERDICT),
    *(Channel.MEM_AW, Channel.MEM_W, Channel.MEM_B, Channel.B),
)
M64 = (1 << 64) - 1


class StormTest(RemovalTest):
    """One trial after the other, each with objects of its own."""

    trials = 12
    removal = 0.0
    failing = 0.0
    unreserved = 0.0
    holding = 0.4
    removing = -1

    allow = ("no_doorbells",)

    async def scenario(self) -> None:
        self.rand: random.Random = self.rng("storm")
        self.total: Counter[str] = Counter()
        for trial in range(self.trials):
            try:
                await self.trial()
            except BaseException as error:
                error.add_note(f"trial {trial}")
                raise
        self.logger.info("%s", dict(self.total))

    # -- objects -----------------------------------------------------------------------------------

    async def objects(self) -> None:
        rng, host, config = self.rand, self.env.host, self.config
        self.reserved = rng.random() >= self.unreserved
        count = min(rng.choice((1, 2, 3, 3, 6)), config.num_cq - 1, config.num_qp)
        self.care = rng.choice((0.5, 0.9, 0.97))
        self.live: list[int] = []
        self.recv_cq = await self.queue(
            reservation=self.reserved, log2=rng.randint(1, min(4, config.max_log2))
        )
        self.srq: Srq | None = None
        if rng.random() < 0.4:
            self.srq = await host.create_srq(size=min(4, 1 << config.srq_log2), zone=ZONE)
        self.qps_: list[Qp] = []
        for n in range(count):
            zone = OTHER_ZONE if rng.random() < 0.15 else ZONE
            cq = await self.queue(reservation=True, log2=min(5, config.max_log2))
            shares = self.srq is not None and rng.random() < 0.7 and zone == ZONE
            self.qps_.append(
                await host.create_qp(
                    cq=cq,
                    recv_cq=self.recv_cq,
                    zone=zone,
                    guarded=n == 0 or rng.random() < 0.85,
                    nd1=rng.random() < 0.5,
                    srq=self.srq if shares else None,
                    recv_depth=0 if shares else min(4, 1 << config.rq_log2),
                    context=0xC0DE << 48 | self.total["trials"] << 16 | n,
                )
            )
        for qp in self.qps_:
            await qp.connect(qp.number ^ 1)
        base = rng.choice((0, 1 << 20, M64 - 0xFFF, (1 << 63) + 5))
        self.base = base
        size = min(4096, (1 << 64) - base)
        self.size = size
        self.regions = [
            await host.register(size, base=base, zone=ZONE, rights=rng.choice((1, 3, 7, 7, 7)))
        ]
        self.regions += [
            await host.allocate(size, base=base, zone=ZONE, rights=7)
            for _ in range(min(2, config.num_mr - 2))
        ]
        self.buffer = await host.register(256, zone=self.qps_[0].zone)
        self.wins = [
            await host.create_window(zone=OTHER_ZONE if n == 3 else ZONE)
            for n in range(min(6, config.num_mw))
        ]
        # Something is valid when the storm begins.
        for n, qp in enumerate(self.qps_):
            if qp.zone != ZONE or not qp.guarded:
                continue
            posts = [
                window.make_bind(
                    qp,
                    self.regions[0],
                    0,
                    64,
                    rng.choice((2, 6, 6)) & ~4
                    | (4 if self.regions[0].rights & 1 and rng.random() < 0.7 else 0),
                )
                for window in self.wins[n * 2 : n * 2 + 2]
                if window.zone == ZONE
            ]
            if n < 2 and rng.random() < 0.7 and len(self.regions) > n + 1:
                posts.append(self.regions[n + 1].make_fast_register(qp))
            for post in posts:
                await self.accept(qp, [post])
                await self.rest(16)
        keyeds: list[Region | MemoryWindow] = [*self.regions, *self.wins]
        for keyed in keyeds:
            if (await keyed.refresh()).valid:
                self.live.append(keyed.key)

    def key(self) -> int:
        """A key of one of the objects, mostly one that is, was or is about to be valid."""
        rng = self.rand
        if self.live and rng.random() < self.care:
            return rng.choice(self.live)
        keyed: Any = rng.choice((*self.regions, *self.wins[:2], *self.wins[:1] * 3, *self.wins))
        step = rng.choice((0, 0, 0, 0, 1, 1, 2, -1))
        key = keyed.key + step * GENERATION & 0xFFFF_FFFF
        if rng.random() < 0.02:
            key ^= 1 << rng.randrange(32)
        return key

    def span(self) -> tuple[int, int]:
        rng, base, size = self.rand, self.base, self.size
        if rng.random() < self.care:
            return rng.choice(((base, 1), (base, 64), (base + 32, 32), (base + 63, 1), (base, 0)))
        return rng.choice(
            (
                *((base, 1), (base, 64), (base + 32, 32), (base + 63, 1), (base + 8, 8)) * 3,
                *((base, 65), (base + size - 1, 1), (base + size - 1, 2), (base - 1 & M64, 2)),
                *((M64, 1), (M64, 2), (base, 0), (M64, 0), (base, 0xFFFF_FFFF), (base, size)),
            )
        )

    # -- actions -----------------------------------------------------------------------------------

    def request(self, at: int) -> None:
        """A post of any kind."""
        rng = self.rand
        qp = rng.choice((*self.qps_, self.qps_[0], self.qps_[0]))
        kind = rng.choice((Opcode.BIND,) * 4 + (Opcode.INVALIDATE,) * 4 + tuple(VERBS))
        flags = 0
        fields: dict[str, Any] = {}
        if kind in (Opcode.BIND, Opcode.FAST_REGISTER):
            flags = rng.choice((0x8, 0x38, 0x38, 0x30, 0x10))
            if kind == Opcode.FAST_REGISTER and rng.random() < 0.2:
                flags |= int(PostFlag.RDMA_READ_SINK)
            address, length = self.span()
            fields["segments"] = [Segment(address & M64, length & 0x7FFF_FFFF, self.key())]
            if rng.random() < 0.7:
                key = rng.choice(self.regions).key
                fields["segments"] = [Segment(self.base, 64, key + rng.choice((0, 4096)))]
            fields["token"] = self.key()
            if rng.random() < 0.8:
                pool: Any = self.wins if kind == Opcode.BIND else self.regions[1:]
                fields["token"] = rng.choice(pool).key + rng.choice((0, 0, 4096, 8192))
            if rng.random() < 0.05:
                fields["segments"] = []
        elif kind == Opcode.INVALIDATE:
            fields["token"] = self.key()
        elif kind == Opcode.READ:
            flags = int(PostFlag.RDMA_READ_LOCAL_INVALIDATE) if rng.random() < 0.8 else 0
            fields["segments"] = [Segment(0, 8, self.key())]
            fields["target"] = Segment(0, 0, 1)
        else:
            verb = VERBS[kind]
            if least := verb.least().segments:
                fields["segments"] = least
            elif verb.max_segments:
                fields["length"] = 8
            if verb.has_target:
                fields["target"] = Segment(0, 0, 1)
        post = qp.make(
            kind,
            flags=flags,
            defer=rng.random() < 0.25,
            silent=rng.random() < 0.25,
            fence=rng.random() < 0.15,
            **fields,
        )
        self.posted.append((qp, post, qp.queue(post, at=at)))

    def message(self, at: int) -> None:
        rng = self.rand
        qp = rng.choice((*self.qps_, self.qps_[0], self.qps_[0]))
        invalidate = rng.random() < (0.8 if self.care < 0.9 else 0.4)
        self.asked.append(
            self.receiver.post_request(
                qp.number,
                rng.choice((0, 1, 8, 8, 8, 8, 8, 9)),
                invalidate=invalidate,
                token=self.key() if invalidate else 0,
                solicited=rng.random() < 0.5,
                at_cycle=at,
            )
        )

    def access(self, at: int) -> None:
        rng = self.rand
        qp = rng.choice((*self.qps_, self.qps_[0], self.qps_[0]))
        address, length = self.span()
        kind = rng.choice((1, 1, 1, 2, 2, 0, 3)) if rng.random() < 0.1 else rng.choice((1, 1, 2))
        self.checks.append(self.post_check(qp, kind, self.key(), address & M64, length, at=at))

    def supply_one(self, at: int) -> None:
        rng = self.rand
        queue: Any = rng.choice((*self.qps_, *([self.srq] * 2 if self.srq else [])))
        key = self.buffer.key if rng.random() < 0.9 else self.key()
        base = self.buffer.base if key == self.buffer.key else self.base
        post = queue.make_recv([Segment(base, 8, key)])
        self.recvs.append((queue, post, queue.queue_recv(post, at=at)))

    def told(self, at: int) -> None:
        """A report of what was indicated before the storm."""
        rng = self.rand
        for qp in self.qps_:
            if self.early_done[qp.number] and rng.random() < 0.5:
                self.early_done[qp.number] -= 1
                self.report(qp, rng.choice((0, 0, 0, 0, 2)), at=at)
                return

    def filled(self, at: int) -> None:
        """A report of what was taken before the storm."""
        rng = self.rand
        for qp in self.qps_:
            if self.tags[qp.number] and rng.random() < 0.5:
                self.settle(qp, rng.choice((0, 0, 0, 1, 2)), at=at)
                return

    def ended(self, at: int) -> None:
        if self.rand.random() < 0.2:
            self.env.conn.send(self.rand.choice(self.qps_).number, at_cycle=at)

    async def commands(self, start: int, spread: int) -> None:
        """Commands, one after the other."""
        rng = self.rand
        cycles = sorted(start + rng.randint(-30, spread) for _ in range(rng.randint(0, 5)))
        for n, at in enumerate(cycles):
            code, args = self.command_args()
            if n == self.removing:
                code, args = Cmd.REMOVE_DEVICE, (0,)
            at = max(at, self.harness.cycle + 8)
            answer = await self.command_at(at, code, *args)
            self.total[f"{code.name}:{Result(answer.result).name}"] += 1
            if answer.result == 0 and code == Cmd.REMOVE_DEVICE:
                self.removed = True
                self.env.host.removed = True
            if answer.result == 0 and code == Cmd.DESTROY_QP:
                self.gone.add(args[0])

    def command_args(self) -> tuple[Cmd, tuple[int, ...]]:
        rng = self.rand
        qp = rng.choice(self.qps_)
        window, region = rng.choice(self.wins), rng.choice(self.regions)
        return rng.choice(
            (
                (Cmd.CLOSE_MW, (window.number,)),
                (Cmd.CLOSE_MW, (self.wins[0].number,)),
                (Cmd.CREATE_MW, (window.number, 1, 2, 0, 0, ZONE)),
                (Cmd.CREATE_MW, (self.wins[0].number, 5, 6, 0, 0, ZONE)),
                (Cmd.DEREGISTER_MR, (region.number,)),
                (Cmd.DEREGISTER_MR, (region.number,)),
                (Cmd.ALLOC_MR, (region.number, 0, 0, 0, 0, ZONE)),
                (Cmd.QUERY_MW, (window.number,)),
                (Cmd.QUERY_MR, (region.number,)),
                (Cmd.FLUSH_QP, (qp.number,)),
                (Cmd.SET_QP_STATE, (qp.number, rng.choice((1, 3, 4)))),
                (Cmd.DESTROY_QP, (qp.number,)),
                (Cmd.DESTROY_QP, (self.qps_[-1].number,)),
                (Cmd.QUERY_QP, (qp.number,)),
            )
        )

    # -- a trial -----------------------------------------------------------------------------------

    async def trial(self) -> None:
        rng = self.rand
        self.total["trials"] += 1
        self.removed = False
        self.removing = rng.randint(0, 1) if rng.random() < self.removal else -1
        self.gone: set[int] = set()
        self.early_done: Counter[int] = Counter()
        self.posted: list[tuple[Qp, Any, Any]] = []
        self.recvs: list[tuple[Any, Any, Any]] = []
        self.asked: list[Any] = []
        self.checks: list[Any] = []
        await self.rest()
        del self.seen[:]
        self.reports_before = Counter(self.reports)
        await self.objects()
        # What is under way when it begins.
        for _ in range(rng.randint(0, 16)):
            self.supply_one(0)
        await self.rest(32)
        for _ in range(rng.randint(0, 4)):
            self.message(0)
        for qp in self.qps_:
            if rng.random() < 0.5 and (await qp.query()).state == QpState.CONNECTED:
                for _ in range(rng.randint(1, min(3, qp.depth))):
                    post = qp.make(
                        Opcode.READ,
                        target=Segment(0, 0, 1),
                        segments=[Segment(0, 8, self.key())],
                        flags=int(PostFlag.RDMA_READ_LOCAL_INVALIDATE),
                    )
                    self.posted.append((qp, post, qp.queue(post)))
        await self.rest(32)
        for qp in self.qps_:
            remote = sum(not b.user >> 56 & 1 for b in self.beats(qp))
            done = self.reports[qp.number] - self.reports_before[qp.number]
            self.early_done[qp.number] = remote - done
        if rng.random() < self.failing:
            self.env.mem.fail(cq=self.recv_cq.number, skip=rng.randint(0, 3))
        await self.storm()
        await self.over()

    async def storm(self) -> None:
        rng = self.rand
        spread = rng.choice((2, 8, 30, 100, 300))
        start = self.harness.cycle + LEAD
        weights: list[tuple[Callable[[int], None], int]] = [
            (self.request, rng.randint(0, 6)),
            (self.message, rng.randint(0, 6)),
            (self.access, rng.randint(0, 8)),
            (self.supply_one, rng.randint(0, 3)),
            (self.told, 2),
            (self.filled, 2),
            (self.ended, 1),
        ]
        many = [action for action, weight in weights for _ in range(weight)]
        cycles = sorted(start + rng.randint(0, spread) for _ in range(rng.randint(5, 60)))
        if rng.random() < 0.3:
            self.env.stall_all(rng.choice((0.2, 0.6)), rng.randrange(1 << 16))
        held = []
        if rng.random() < self.holding:
            held = rng.sample(SINKS, rng.randint(1, 3))
            for channel in held:
                self.harness.hold(channel)
        commands = cocotb.start_soon(self.commands(start, spread))
        for at in cycles:
            rng.choice(many)(at)
        await self.harness.until(start + spread + rng.choice((0, 50, 400, 1500)))
        self.env.release_all()
        await commands

    async def over(self) -> None:
        """Everything that was taken is reported; everything has completed, once; all goes."""
        rng, host = self.rand, self.env.host
        await self.rest()
        self.env.mem.clear_faults()
        for qp in self.qps_:
            if qp.number not in self.gone and rng.random() < 0.5:
                await self.env.host.command(Cmd.FLUSH_QP, qp.number)
        for _ in range(12):
            await self.rest()
            moved = False
            for qp in self.qps_:
                remote = sum(not b.user >> 56 & 1 for b in self.beats(qp))
                done = self.reports[qp.number] - self.reports_before[qp.number]
                if remote > done:
                    moved = True
                    self.report(qp, *[rng.choice((0, 0, 0, 2)) for _ in range(remote - done)])
                while self.tags[qp.number]:
                    moved = True
                    self.settle(qp, rng.choice((0, 0, 1, 2)))
            if not moved:
                break
        else:
            raise AssertionError("it does not come to rest")
        for qp in self.qps_:
            if qp.number not in self.gone:
                await host.command(Cmd.FLUSH_QP, qp.number)
        await self.rest()
        for qp in self.qps_:
            remote = sum(not b.user >> 56 & 1 for b in self.beats(qp))
            done = self.reports[qp.number] - self.reports_before[qp.number]
            if remote > done:
                self.report(qp, *[0] * (remote - done))
            while self.tags[qp.number]:
                self.settle(qp)
        await self.rest()
        assert all(p.done for _, _, p in (*self.posted, *self.recvs))
        assert all(p.done for p in (*self.asked, *self.checks))
        await self.judge()
        await self.clean_up()

    def count(self) -> None:
        """What has happened, for the log."""
        for step in self.of(Trace):
            if step.lane == 8 and step.op != TraceOp.KEY_COMMAND:
                self.total[f"{TraceOp(step.op).name}:{step.operand & 0xFF}"] += 1
            elif step.lane == 9:
                self.total[f"CHECK:{step.operand & 0xF}"] += 1
        for answer in self.asked:
            self.total[f"message:{answer.result.code.name}"] += 1

    async def judge(self) -> None:
        self.count()
        for qp in self.qps_:
            found = Counter(r.request_context for r in qp.cq.get_cq_results_ex())
            for owner, post, answer in self.posted:
                if owner is not qp:
                    continue
                times = found[post.context]
                accepted = answer.result == (0, 0)
                silent = post.flags & 1
                assert times <= accepted, (qp.number, post, times)
                assert times == accepted or silent or (not accepted), (qp.number, post, times)
            await qp.cq.update_consumer_index()
        cookies: Counter[int] = Counter()
        cq = self.recv_cq
        last = None
        for result in cq.get_cq_results_ex():
            if result.type == 0x0010:
                assert last is None, f"two invalidate results in a row: {last}, {result}"
                last = result
                continue
            if last is not None:
                assert last.qp_context == result.qp_context, (last, result)
                assert result.type == 1, result
            last = None
            cookies[result.request_context] += 1
        status = await cq.query()
        self.total["cq errors"] += bool(status.status)
        if not status.status:
            assert last is None, last
            idle = {
                qp.number
                for qp in self.qps_
                if qp.number not in self.gone and (await qp.query()).state == QpState.IDLE
            }
            for queue, post, answer in self.recvs:
                times = cookies[post.context]
                if isinstance(queue, Qp) and queue.number in idle:
                    continue  # what is posted before the connection waits for it
                if answer.result != (0, 0):
                    assert not times
                elif isinstance(queue, Qp):
                    assert times == 1, (queue.number, post, times)
                else:
                    assert times <= 1, (queue.number, post, times)
            assert status.credits == 0 or idle, status
        await cq.update_consumer_index()

    async def clean_up(self) -> None:
        host = self.env.host
        for window in list(host.windows.values()):
            await host.command(Cmd.CLOSE_MW, window.number)
        host.windows.clear()
        for region in list(host.regions.values()):
            answer = await host.command(Cmd.DEREGISTER_MR, region.number)
            assert answer.result in (Result.OK, Result.NO_OBJECT), (region.number, answer)
        host.regions.clear()
        for qp in self.qps_:
            if qp.number in self.gone:
                del host.qps[qp.number]
            else:
                await qp.destroy()
        if self.srq is not None:
            self.srq.auto_reap = False
            answer = await host.command(Cmd.DESTROY_SRQ, self.srq.number)
            assert answer.result == 0, answer
            host.srqs.clear()
        for cq in [*{q.cq.number: q.cq for q in self.qps_}.values(), self.recv_cq]:
            await cq.destroy()
        for eq in list(host.eqs.values()):
            await host.destroy_eq(eq)
        if self.removed:
            await self.rest()
            await self.start_over()
