# SPDX-License-Identifier: Apache-2.0
"""Callbacks get their share of the write port and of the event queue, and none is lost while their
way out is blocked (ISO-04, CQ-16); doorbells are taken in every cycle, but for looks of moderation
and acknowledged events (ISO-04).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import chain, groupby, product

import pyuvm

from tb.env.defs import ArmType, Cause, CqStatus, TraceOp
from tb.env.harness.harness import Channel
from tb.env.harness.records import Completion, DoorbellRequest, MemWrite, Trace
from tb.env.host.cq import Cq
from tb.tests.common.directed import SLVERR, DirectedTest

#: From an arm that is satisfied at once to its event entry, whatever completions do.
BOUND = 24

#: Writes of a failed event after the first one.
REPETITIONS = 3
#: Completion writes before an event write, while both wait.
SHARE = 5
#: Events that have their slots while the port is stalled: on it, the one whose turn it is, a line
#: of four, and two behind it.
SLOTS = 8

#: Channels on the way of an event.
SINKS = (Channel.IRQ, Channel.MEM_AW, Channel.MEM_W, Channel.MEM_B)

COUNT = 2000
QUERIES = 100
WAITING = 3
#: Cycles of a look with doorbells in every cycle: 16 of them go first, then the pipeline.
LOOK = 24
LONGEST = (1000, 10_000)  # entries, ticks


class FairnessTest(DirectedTest):
    """One EQ, on which each queue gets exactly one callback at a time."""

    async def make_eq(self) -> None:
        self.eq = await self.env.host.create_eq(log2=6)

    def events(self, since: int) -> list[tuple[int, int]]:
        """Cycle and CQ number of each event entry, in order."""
        writes = self.of(MemWrite, since, self.eq)
        return [(write.cycle, entry["cq"]) for write in writes for entry in self.entries_of(write)]

    async def armable(self, count: int) -> list[Cq]:
        """Queues with a new entry: an arm for ANY calls back at once."""
        found = await self.queues(count, self.eq)
        for cq in found:
            self.send(cq, [0])
        await self.env.drain()
        return found

    async def storm(self, count: int) -> list[Cq]:
        """Queues whose callbacks become due together as soon as memory answers, and no write is
        taken from then on.
        """
        found = await self.queues(count, self.eq)
        await self.armed(found)
        self.env.mem.hold_responses()
        for cq in found:
            self.send(cq, [1])
        await self.harness.cycles(200)
        self.harness.hold(Channel.MEM_AW)
        await self.harness.cycles(8)
        return found

    async def written(self, count: int) -> tuple[list[Cq], list[MemWrite]]:
        """Queues whose events waited together, behind a stalled memory, and their writes."""
        storm = await self.storm(count)
        since = len(self.seen)
        self.env.mem.release_responses()
        await self.harness.cycles(100)
        self.harness.hold(Channel.MEM_AW, False)
        await self.env.drain(64)
        return storm, self.of(MemWrite, since, self.eq)

    async def finish(self, cqs: list[Cq]) -> None:
        await self.env.drain(64)
        for cq in cqs:
            calls = len(cq.callbacks) - cq.returns
            assert calls == 1, f"CQ {cq.number}: {calls} callbacks instead of 1: {cq.callbacks}"
        await self.consumed(*cqs)


@pyuvm.test()
class EventInStreamTest(FairnessTest):
    """ISO-04, CQ-16: while completions of others use every cycle and memory is ready, the event
    entry of an arm comes within the bound.
    """

    async def scenario(self) -> None:
        await self.make_eq()
        others = await self.queues(8, self.eq, log2=6)
        armed = await self.armable(8)
        since = len(self.seen)
        start = self.harness.cycle + 200
        for number in range(400):
            cq = others[number % len(others)]
            self.env.completions.send(cq.number, context=number, at_cycle=start)
        for answer in [cq.post_arm(at=start + 60 + 30 * turn) for turn, cq in enumerate(armed)]:
            assert await answer == (0, 0)
        await self.env.drain(64)
        stream = [record.cycle for record in self.of(Completion, since)]
        arms = [record.cycle for record in self.of(DoorbellRequest, since)]
        events = self.events(since)
        assert len(stream) == 400 and stream[-1] - stream[0] < 430, "not a stream"
        assert [number for _, number in events] == [cq.number for cq in armed]
        for arm, (cycle, number) in zip(arms, events, strict=True):
            assert stream[0] < arm and arm + BOUND < stream[-1], "not within the stream"
            late = cycle - arm
            assert late <= BOUND, f"CQ {number}: event entry {late} cycles after its arm"
        await self.finish(armed)


@pyuvm.test()
class EventSinkStallsTest(FairnessTest):
    """CQ-16: an event is lost, doubled or early because its way out was blocked: every CQ there is,
    on an EQ with room for no more, has a callback due, by a completion after its arm or by the arm,
    for each place that can stall, for thousands of cycles.
    """

    async def scenario(self) -> None:
        await self.make_eq()
        mem, hold, cqs = self.env.mem, self.harness.hold, await self.queues(1 << 6, self.eq)
        assert len(cqs) == self.config.num_cq
        ways: list[tuple[Callable[[], None], Callable[[], None]]] = [
            *((partial(hold, way), partial(hold, way, False)) for way in SINKS),
            (partial(mem.hold_eq, self.eq.number), partial(mem.release_eq, self.eq.number)),
            (mem.hold_responses, mem.release_responses),
        ]
        for (block, release), due_by_arm in product(ways, (False, True)):
            steps = [self.completed(cqs), self.armed(cqs, ArmType.SOLICITED)]
            first, second = steps if due_by_arm else reversed(steps)
            await first
            block()
            await self.harness.cycles(4)
            await second
            await self.harness.cycles(2000)
            early = [cq.number for cq in cqs if len(cq.callbacks) > cq.returns]
            assert not early, f"{block} holds, and CQs {early} are called"
            release()
            await self.finish(cqs)

    async def completed(self, cqs: list[Cq]) -> None:
        """An entry of each, which satisfies its arm."""
        for cq in cqs:
            self.send(cq, [1], solicited=True)
        await self.harness.cycles(300)


@pyuvm.test()
class CallbackStormTest(FairnessTest):
    """ISO-04, CQ-16: callbacks of publications fill the event queue while memory is stalled, those
    of all other CQs; those of arms that come after them take turns with them, and none is lost.
    """

    async def scenario(self) -> None:
        await self.make_eq()
        armed = await self.armable(4)
        storm = await self.storm(self.config.num_cq - len(armed))
        since = len(self.seen)
        self.env.mem.release_responses()
        await self.harness.cycles(100)
        await self.armed(armed)
        await self.harness.cycles(40)
        assert not self.events(since), "memory was to be stalled"
        self.harness.hold(Channel.MEM_AW, False)
        await self.finish(storm + armed)
        order = [number for _, number in self.events(since)]
        assert len(order) == len(storm) + len(armed)
        for turn, cq in enumerate(armed):
            place = order.index(cq.number)
            late = 2 * turn + SLOTS
            assert place <= late, f"CQ {cq.number}: event entry is number {place}: {order}"


@pyuvm.test()
class WriteTurnsTest(FairnessTest):
    """ISO-04: event entries and completions that wait for a stalled memory leave in turns, as
    long as there are some of both: an event write after five completions.
    """

    async def scenario(self) -> None:
        await self.make_eq()
        others = await self.queues(40, self.eq)
        storm = await self.storm(20)
        since = len(self.seen)
        for cq in others:
            self.send(cq, [1])
        await self.harness.cycles(20)
        self.env.mem.release_responses()
        await self.harness.cycles(200)
        self.harness.hold(Channel.MEM_AW, False)
        await self.env.drain(64)
        events = self.env.mem.id_of(eq=self.eq.number)
        kinds = [write.axi_id == events for write in self.of(MemWrite, since)]
        assert len(self.events(since)) == len(storm) and kinds.count(False) == len(others)
        # The one on offer when both came is not in turn; what is left of one kind at the end.
        runs = [(event, len(list(run))) for event, run in groupby(kinds[1:])]
        turns = [(True, 1), (False, SHARE)] * (len(others) // SHARE)
        assert len(runs) > 8 and runs[:-2] == turns[: len(runs) - 2], f"events: {runs}"
        await self.finish(storm)


@pyuvm.test()
class SharedLineTest(FairnessTest):
    """CQ-16: what waits behind the write on offer and the one whose turn it is shares one, up to
    the end of its line in the ring, wherever in a line it begins; every callback comes once.
    """

    async def scenario(self) -> None:
        await self.make_eq()
        begin = 0
        for count in (6, 3, 7, 4, 7, 5, 6, 8, 6, 6):
            storm, writes = await self.written(count)
            slots = [[(e["at"] - self.eq.base) // 16 for e in self.entries_of(w)] for w in writes]
            whole = list(range(begin, begin + count))
            room = 4 - (begin + 2) % 4
            waited = [whole[:1], whole[1:2], whole[2:][:room]]
            assert slots[:3] == waited, f"{count} from {begin}: {slots}"
            assert list(chain(*slots)) == whole
            await self.finish(storm)
            begin += count


@pyuvm.test()
class SharedFailureTest(FairnessTest):
    """CQ-18: a write of three events fails: each of their CQs is in error, the log names each in
    the order of the slots, each event is repeated alone, and each callback comes once; those before
    them are not concerned. If all repetitions fail, too, the log has the number of each.
    """

    async def scenario(self) -> None:
        await self.make_eq()
        await self.finish((await self.written(3))[0])
        await self.fails(begin=3, writes=1)
        await self.finish((await self.written(3))[0])
        await self.fails(begin=11, writes=1 + 3 * REPETITIONS)

    async def fails(self, begin: int, writes: int) -> None:
        """Of five events from this number on the last three share a write; so many writes fail."""
        host, given_up = self.env.host, writes > 1
        self.env.mem.fail(SLVERR, eq=self.eq.number, skip=2, count=writes)
        counted = await host.counter("WRITE_ERRORS")
        storm, seen = await self.written(5)
        assert await host.counter("WRITE_ERRORS") == counted + writes
        numbers = [[e["cq"] for e in self.entries_of(w)] for w in seen]
        (first,), (second,), failed, *again = numbers
        assert len(failed) == 3 and sorted(again) == sorted(
            [n] for n in failed * (REPETITIONS if given_up else 1)
        ), numbers
        log = await host.read_log()
        holes = [entry for entry in log if entry.cause == Cause.EQ_FAILED]
        assert [(e.cause, e.object) for e in log][:3] == [
            (Cause.EQE_WRITE_ERROR, n) for n in failed
        ]
        told = {entry.object: entry.detail for entry in holes}
        assert told == {n: begin + 2 + k for k, n in enumerate(failed) if given_up}
        for entry in sorted(holes, key=lambda hole: hole.detail):
            assert await host.recover(entry)
        for cq in storm:
            ok = cq.number in (first, second)
            assert (await cq.query()).status == (CqStatus.OK if ok else CqStatus.INTERNAL_ERROR)
            assert len(cq.callbacks) == 1, f"CQ {cq.number}: {cq.callbacks}"


@pyuvm.test()
class AcknowledgedAmidDoorbellsTest(FairnessTest):
    """ISO-04, CQ-11: doorbells in every cycle, and event writes that are acknowledged one after
    another: these have every third step, and the next callbacks come.
    """

    async def scenario(self) -> None:
        await self.make_eq()
        idle = await self.queue(0)
        cqs = await self.armable(20)
        self.env.mem.hold_eq(self.eq.number)
        await self.armed(cqs)
        await self.harness.cycles(200)
        start, since = self.harness.cycle + 100, len(self.seen)
        answers = [idle.post_consumer_index(at=start) for _ in range(400)]
        await self.harness.cycles(200)
        self.env.mem.release_eq(self.eq.number)
        for answer in answers:
            assert await answer == (0, 0)
        await self.env.sync()
        done = [t.cycle for t in self.of(Trace, since) if t.op == TraceOp.EVENT_DONE]
        assert len(done) == len(cqs), f"{len(done)} acknowledged amid doorbells"
        assert done[-1] - done[0] < 3 * len(cqs), f"acknowledged in cycles {done}"
        rung = [record.cycle for record in self.of(DoorbellRequest, since)]
        assert rung[0] < done[0] and done[-1] < rung[-1], f"not amid doorbells: {done}"
        lost = rung[-1] - rung[0] - (len(rung) - 1)
        assert lost <= len(cqs), f"{lost} cycles lost for {len(cqs)} acknowledgements"
        await self.finish(cqs)


class LookedAtTest(DirectedTest):
    async def waiting(self) -> list[Cq]:
        """Queues whose callbacks wait for moderation."""
        found = [await self.queue(1, moderation=LONGEST) for _ in range(WAITING)]
        await self.armed(found)
        for cq in found:
            self.send(cq, [7])
        await self.env.drain(16)
        await self.demand_waiting(found)
        return found

    @staticmethod
    async def demand_waiting(cqs: list[Cq]) -> None:
        for cq in cqs:
            assert (await cq.query()).due


@pyuvm.test()
class DoorbellRateTest(LookedAtTest):
    """One doorbell in each cycle, unless callbacks wait for moderation: then a queue that waits
    takes one cycle in each scan; the scan takes two cycles for each queue, and the looks.
    """

    async def scenario(self) -> None:
        idle = [await self.queue(0) for _ in range(3)]
        assert await self.stalls(idle) == 0
        await self.waiting()
        scans = COUNT // (2 * self.config.num_cq + LOOK * WAITING) + 1
        found = await self.stalls(idle)
        assert 0 < found <= WAITING * scans, f"{found} cycles lost in {scans} scans"

    async def stalls(self, cqs: list[Cq]) -> int:
        """Cycles in which none of many doorbells was taken."""
        mark, start = len(self.seen), self.harness.cycle + 100
        answers = [cqs[n % len(cqs)].post_consumer_index(at=start) for n in range(COUNT)]
        for answer in answers:
            assert await answer == (0, 0)
        await self.env.sync()
        cycles = [record.cycle for record in self.of(DoorbellRequest, mark)]
        assert len(cycles) == COUNT
        return cycles[-1] - cycles[0] - (COUNT - 1)


@pyuvm.test()
class CommandsDuringLooksTest(LookedAtTest):
    """Doorbells in every cycle, commands about a queue at any time, and looks: each gets its turn,
    also where a command and a look have waited equally long.
    """

    async def scenario(self) -> None:
        waiting = await self.waiting()
        idle, asked = await self.queue(1), await self.queue(2)
        rng = self.rng("queries")
        start = self.harness.cycle + 100
        answers = [idle.post_consumer_index(at=start) for _ in range(QUERIES * 200)]
        done = 0
        while not answers[-1].done:
            await self.harness.cycles(rng.randrange(20))
            assert (await asked.query()).cons == 0
            done += 1
        assert done > QUERIES, f"{done} queries during the doorbells"
        for answer in answers:
            assert await answer == (0, 0)
        await self.demand_waiting(waiting)
