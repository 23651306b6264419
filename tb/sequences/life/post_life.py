# SPDX-License-Identifier: Apache-2.0
"""Random posts on many queue pairs at once: every request type there is, chains, inline failures,
ends of connections, new lives, with consumers that poll, arm and return at the same time.

As in :mod:`tb.sequences.traffic.mixed_traffic`, Python wakes once per ``chunk`` of cycles and
places what it wants at cycles of the next chunk. What a host knows of its posts steers what comes
next; the scoreboard judges it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, ClassVar

from models.codes import Cause, PostFlag
from models.cq.queue import NdResultEx
from models.post.post import Post
from models.verb import Limits
from models.verbs import VERBS
from tb.env.defs import QpState, Result
from tb.env.host.consumer import Consumer, Habits
from tb.env.host.cq import Eq
from tb.sequences import CarillonSequence
from tb.sequences.bad_posts import FOREIGN_CAUSES, OWN_CAUSES, bad_post
from tb.sequences.life.objects import Life, Posted, answered

_FREE_FLAGS = ~(PostFlag.DEFER | PostFlag.SILENT_SUCCESS | PostFlag.READ_FENCE) & 0xFFFF
_REST = 4  # looks without news that end the traffic


class PostLife(CarillonSequence):
    """Random posts. Ends at rest, with everything consumed."""

    name: ClassVar[str] = "post_life"

    #: Objects; rings have 2^log2_min to 2^log2_max entries.
    qps = 16
    cqs = 8
    eqs = 3
    log2_min = 4
    log2_max = 8
    habits = Habits()
    #: Clock cycles of traffic, and cycles between two looks; posts wanted per cycle.
    duration = 6000
    chunk = 128
    rate = 0.5
    #: Most posts in a row of one QP.
    run_length = 8
    #: Share of chains, and their most posts; of chains that have no end of their own.
    chains = 0.5
    chain_length = 12
    endless = 0.1
    #: Share of posts that are bad for a reason of their own, or name no QP of the page; that do not
    #: mind a full send queue.
    bad = 0.03
    foreign = 0.02
    overrun = 0.03
    silent = 0.15
    fence = 0.1
    #: Share of QPs with a watermark, with an age limit, with a send queue that is not the deepest.
    watermarks = 0.4
    ages = 0.4
    shallow = 0.3
    #: Per look and QP: probability of a command (flush, disconnect, new life, ...).
    actions = 0.0
    #: Per look: probability of a beat that the transport's ports must refuse, of a failing CQ.
    garbage = 0.0
    cq_failures = 0.0
    #: A lost connection is made anew up to so many looks later.
    heal = 4
    #: Share of what is for a QP whose connection is known to be lost, of what chance gives it.
    lost = 1.0

    async def body(self) -> None:
        self._by_context: dict[int, Life] = {}
        self._tasks = self._creating = 0
        self._actions = (
            self._flush,
            self._disconnect,
            self._cut,
            self._disconnected,
            self._recreate,
            self._modify,
            self._modify,
            self._illegal,
        )
        await self._create()
        harness = self.env.harness
        end = harness.cycle + self.duration
        while harness.cycle < end:
            await self._look(self._traffic)
        await self._finish()

    # -- objects -----------------------------------------------------------------------------------

    async def _create(self) -> None:
        host, rng, config = self.env.host, self.rng, self.env.config
        assert config is not None and config.num_qp
        self.config = config
        count = min(self.cqs, config.num_cq)
        eqs: list[Eq] = []
        for _ in range(min(self.eqs, config.num_eq)):
            page = rng.randrange(config.num_pages)
            eqs.append(await host.create_eq(log2=max(1, count.bit_length()), page=page))
        self.consumers: list[Consumer] = []
        for number in range(count):
            self.consumers.append(await self._new_cq(number, rng.choice(eqs)))
        self.lives: list[Life] = []
        for number in range(min(self.qps, config.num_qp)):
            life = await self._new_life(number, rng.choice(self.consumers))
            self.lives.append(life)
            await self._connect(life)

    async def _new_cq(self, number: int, eq: Eq) -> Consumer:
        rng = self.rng
        log2 = min(rng.randint(self.log2_min, self.log2_max), self.config.max_log2)
        cq = await self.env.host.create_cq(
            number, eq=eq, log2=log2, typed=rng.random() < 0.3, rearm_old=rng.random() < 0.3
        )
        return Consumer(cq, self.habits, self._completed)

    def _hold_limits(self) -> tuple[int, int]:
        rng = self.rng
        watermark = rng.randint(1, 10) if rng.random() < self.watermarks else 0
        return watermark, rng.randint(1, 30) if rng.random() < self.ages else 0

    async def _new_life(self, number: int, consumer: Consumer) -> Life:
        rng = self.rng
        most = 1 << self.config.sq_log2
        depth = rng.randint(1, most) if rng.random() < self.shallow else most
        watermark, age = self._hold_limits()
        context = rng.getrandbits(48) << 16 | number
        qp = await self.env.host.create_qp(
            number, cq=consumer.cq, depth=depth, context=context, watermark=watermark, age=age
        )
        return Life(qp)

    async def _connect(self, life: Life) -> None:
        """A new connection; no post is unanswered meanwhile, so that each belongs to one."""
        life.paused = True
        await self._answered(life)
        life.epoch += 1
        life.down = 0
        await life.qp.connect(self.rng.randrange(self.config.num_qp))
        life.paused = False

    async def _answered(self, life: Life) -> None:
        while any(not entry.answer.done for entry in life.unanswered):
            await self.env.harness.cycles(16)

    # -- one look ----------------------------------------------------------------------------------

    async def _look(self, traffic: Callable[[int], None] | None, greedy: bool = False) -> None:
        begin = self.env.harness.cycle + 4
        self._doorbells: list[tuple[int, Callable[[], None]]] = []
        for life in self.lives:
            if Cause.CQ_ERROR in self._news(life):
                self._repair(self._consumer(life))
            if self._ended(life) and not life.busy and self.rng.randrange(self.heal) == 0:
                self._start(life, self._heal(life))
        for consumer in self.consumers:
            self._doorbells += consumer.look(self.rng, begin, self.chunk, greedy)
        if traffic is not None:
            traffic(begin)
        self._doorbells.sort(key=lambda item: item[0])
        for _, ring in self._doorbells:
            ring()
        await self.env.harness.until(begin + self.chunk - 4)

    def _traffic(self, begin: int) -> None:
        rng = self.rng
        if self.env.doorbells.driver.outstanding < 3 * self.chunk:
            self._posts(begin)
        for life in self.lives:
            if rng.random() < self.actions and not life.busy and self._tasks < 4:
                self._start(life, rng.choice(self._actions)(life))
        if rng.random() < self.garbage:
            self._refused_beat()
        if rng.random() < self.cq_failures:
            self.env.mem.fail(cq=rng.choice(self.consumers).cq.number, skip=rng.randrange(4))

    def _news(self, life: Life) -> list[Cause]:
        """Takes the answers that have come; returns their causes."""
        found = []
        for cause, entry in answered(life.unanswered):
            life.down += cause is Cause.NOT_CONNECTED and entry.epoch == life.epoch
            found.append(cause)
        if any(found):
            life.open = deque(entry for entry in life.open if not entry.refused)
        return found

    def _completed(self, _: int, result: NdResultEx) -> None:
        """A completion was polled; what was posted before it has ended, too."""
        waiting = self._by_context[result.request_context].open
        while waiting and waiting.popleft().post.context != result.request_context:
            pass

    # -- posts -------------------------------------------------------------------------------------

    def _posts(self, begin: int) -> None:
        rng = self.rng
        count = round(self.rate * self.chunk)
        cycles = deque(sorted(begin + rng.randrange(self.chunk) for _ in range(count)))
        while cycles:
            life = self._whose()
            for _ in range(min(len(cycles), rng.randint(1, self.run_length))):
                self._post(life, cycles.popleft())

    def _whose(self) -> Life:
        """The QP that the next post or message is for."""
        life = self.rng.choice(self.lives)
        for _ in self.lives if self.lost < 1 else ():
            if not (self._ended(life) or life.paused) or self.rng.random() < self.lost:
                break
            life = self.rng.choice(self.lives)
        return life

    def _ended(self, life: Life) -> bool:
        """Its connection is known to be lost."""
        return life.down > 0

    def _post(self, life: Life, at: int) -> None:
        """One post, good or bad, or none if the send queue looks full."""
        rng = self.rng
        kind = rng.random()
        if kind < self.foreign:
            self._bad_post(life, rng.choice(FOREIGN_CAUSES), at)
        elif kind < self.foreign + self.bad:
            self._bad_post(life, rng.choice(OWN_CAUSES), at)
        elif life.paused:
            return
        else:
            room = life.qp.depth - len(life.open)
            if room > 0 or rng.random() < self.overrun:
                self._good_post(life, at, last=room <= 1 and rng.random() < 0.9)

    def _random_post(self, life: Life, need: int = 0) -> Post:
        verb = self.rng.choice(list(VERBS.values()))
        post = verb.fields(self.rng, Limits(life.qp.number, _FREE_FLAGS, need))
        return replace(post, context=self._context(life))

    def _context(self, life: Life) -> int:
        """A context for a post of this QP that no other post has."""
        context = len(self._by_context) + 1 << 16 | life.qp.number
        self._by_context[context] = life
        return context

    def _good_post(self, life: Life, at: int, last: bool = False) -> None:
        rng = self.rng
        if life.left == 0:
            chained = rng.random() < self.chains
            life.left = rng.randint(2, self.chain_length) if chained else 1
        life.left = 0 if last else life.left - 1
        defer = life.left > 0 or (not last and rng.random() < self.endless)
        flags: int = PostFlag.DEFER if defer else 0
        if not last and rng.random() < self.silent:
            flags |= PostFlag.SILENT_SUCCESS
        if rng.random() < self.fence:
            flags |= PostFlag.READ_FENCE
        self._write(life, self._random_post(life, int(flags)), at, life.qp.page)

    def _bad_post(self, life: Life, cause: Cause, at: int) -> None:
        if cause is Cause.NOT_OWNER and self.config.num_pages < 2:
            return
        post = self._random_post(life, self.rng.choice((0, PostFlag.DEFER)))
        bad = bad_post(self.rng, cause, post, life.qp.page, self.config)
        self._write(life, bad.post, at, bad.page, False, bad.offset, **bad.options)

    def _write(
        self,
        life: Life,
        post: Post,
        at: int,
        page: int,
        legal: bool = True,
        offset: int = 0,
        **options: Any,
    ) -> None:
        epoch, line = life.epoch, post.encode()
        options.setdefault("size", 6)

        def ring() -> None:
            answer = self.env.doorbells.post(page, offset, 0, line=line, at=at, **options)
            life.unanswered.append(Posted(answer, epoch, post))
            if legal:
                life.open.append(life.unanswered[-1])

        self._doorbells.append((at, ring))

    # -- transport ---------------------------------------------------------------------------------

    def _refused_beat(self) -> None:
        """A report or an event that names nothing, or not the next report of its QP (or, while
        commands run, an event that comes at any time).
        """
        rng, env, config = self.rng, self.env, self.config
        number = rng.randrange(config.num_qp)
        kind = rng.randrange(5)
        if kind == 0:
            env.done.send(config.num_qp + rng.randrange(8), 0)
        elif kind == 1:
            env.done.send_raw(number | 1 << rng.randrange(40, 64))
        elif kind == 2:
            env.conn.send(number, event=rng.choice((0, 2, 0xFF)))
        elif kind == 3 and self.actions:
            env.transport.disconnect(number)  # which may be free, or connected
        else:
            # A tag that is not outstanding: it does not exist, or was used long before.
            taken = env.transport.outstanding(number)
            tag = (taken[0].tag if taken else 0) - rng.randint(1000, 2000) & 0xFFFF
            env.done.send(number, tag | (1 << config.idx_w & 0xFFFF), rng.choice((0, 2)))

    # -- commands ----------------------------------------------------------------------------------

    def _start(self, thing: Any, action: Coroutine[Any, Any, Any]) -> None:
        """A task on something, which is busy meanwhile."""

        async def run() -> None:
            await action
            if thing is not None:
                thing.busy = False
            self._tasks -= 1

        if thing is not None:
            thing.busy = True
        self._tasks += 1
        self.spawn(run())

    async def _heal(self, life: Life) -> None:
        await life.qp.reset()
        await self._connect(life)

    async def _flush(self, life: Life) -> None:
        await life.qp.flush()

    async def _disconnect(self, life: Life) -> None:
        if await life.qp.set_state(QpState.DISCONNECT_PENDING) == Result.OK:
            await self.env.harness.cycles(self.rng.randrange(300))
            await self._cut(life)

    async def _cut(self, life: Life) -> None:
        await life.qp.set_state(QpState.DISCONNECTED)

    async def _disconnected(self, life: Life) -> None:
        self.env.transport.disconnect(life.qp.number)

    async def _modify(self, life: Life) -> None:
        watermark, age = self._hold_limits()
        await life.qp.modify(watermark=watermark, age=age)

    async def _illegal(self, life: Life) -> None:
        await life.qp.set_state(self.rng.choice((0, 2, 5, 6, 15)))

    async def _recreate(self, life: Life) -> None:
        await self._destroy(life)
        page = life.qp.page
        choice = [c for c in self.consumers if c.cq.page == page and not c.failed]
        if not choice:
            choice = [self._consumer(life)]
        await self._revive(life, self.rng.choice(choice))

    async def _destroy(self, life: Life) -> None:
        await life.qp.destroy()
        life.paused = True
        await self._answered(life)

    async def _revive(self, old: Life, consumer: Consumer) -> None:
        self._creating += 1
        life = await self._new_life(old.qp.number, consumer)
        self._creating -= 1
        life.busy = old.busy
        self.lives[self.lives.index(old)] = life
        await self._connect(life)
        old.busy = life.busy = False

    def _consumer(self, life: Life) -> Consumer:
        return next(c for c in self.consumers if c.cq is life.qp.cq)

    # -- a CQ that failed --------------------------------------------------------------------------

    def _repair(self, consumer: Consumer) -> None:
        if consumer.failed:
            return
        consumer.failed = True
        self._tasks += 1
        self.spawn(self._replace(consumer))

    def _users(self, consumer: Consumer) -> list[Life]:
        """The QPs with this CQ."""
        return [x for x in self.lives if x.qp.cq is consumer.cq]

    async def _replace(self, consumer: Consumer) -> None:
        """The QPs of the CQ go, the CQ goes, and all come again. A QP with two CQs that fail goes
        with the first of them, and does not keep the other one.
        """
        cycles = self.env.harness.cycles
        homeless: list[Life] = []
        while self._creating or not all(life.gone for life in self._users(consumer)):
            for life in self._users(consumer):
                # Others may have made it anew while one before it went.
                if not life.busy and life in self.lives:
                    life.busy = True
                    await self._destroy(life)
                    life.gone = True
                    homeless.append(life)
            await cycles(32)
        consumer.quiet = True
        while not consumer.check():
            await cycles(16)
        await consumer.cq.destroy()
        new = await self._new_cq(consumer.cq.number, consumer.cq.eq)
        self.consumers[self.consumers.index(consumer)] = new
        for life in homeless:
            await self._revive(life, new)
        self._tasks -= 1

    # -- the end -----------------------------------------------------------------------------------

    def _closers(self, begin: int) -> None:
        """The end of every chain; refused or not, it releases what is held."""
        for life in self.lives:
            if not life.paused and not life.busy:
                self._good_post(life, begin, last=True)

    def _resting(self) -> bool:
        return (
            not self._tasks
            and all(agent.idle for agent in self.env.agents)
            and not any(life.unanswered or life.down for life in self.lives)
        )

    async def _finish(self) -> None:
        """Everything retires, everything is polled, every callback returns."""
        env = self.env
        env.mem.clear_faults()
        closed = rest = news = 0
        for _ in range(5000):
            closing = closed < 3 and self._resting()
            closed += closing
            await self._look(self._closers if closing else None, greedy=True)
            seen = sum(consumer.polled for consumer in self.consumers)
            rest = rest + 1 if self._resting() and not closing and seen == news else 0
            news = seen
            if closed == 3 and rest >= _REST:
                states = [await life.qp.query() for life in self.lives]
                told = all(c.told == c.polled and c.check() for c in self.consumers)
                if told and all(state.retired == state.tail for state in states):
                    break
        else:
            busy = [agent.name for agent in env.agents if not agent.idle]
            states = [await life.qp.query() for life in self.lives if not life.gone]
            raise AssertionError(f"no rest: {self._tasks} tasks, {busy}, {states}")
        # What has retired may still be on its way to memory.
        await env.drain()
        for consumer in self.consumers:
            consumer.poll()
            if consumer.told != consumer.polled:
                await consumer.cq.update_consumer_index()
            await consumer.cq.query()
