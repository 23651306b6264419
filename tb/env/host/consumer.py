# SPDX-License-Identifier: Apache-2.0
"""The consumer of one CQ: polls, tells its index, arms, returns from callbacks some time later."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from models.cq.queue import NdResultEx
from tb.env.agents.base import Pending
from tb.env.agents.doorbell import WriteResult
from tb.env.defs import ArmType
from tb.env.host.cq import Cq

_ARMS = (ArmType.ANY, ArmType.SOLICITED, ArmType.ERRORS)


@dataclass(frozen=True)
class Habits:
    """Per look: probability to poll, to tell the index, to arm; most cycles to a return."""

    poll: float = 0.7
    tell: float = 0.5
    arm: float = 0.3
    return_delay: int = 300


class Consumer:
    """Doorbells are handed out as (cycle, function that posts)."""

    def __init__(
        self, cq: Cq, habits: Habits, completed: Callable[[int, NdResultEx], None]
    ) -> None:
        self.cq = cq
        self.habits = habits
        self.polled = 0
        self.told = 0
        #: What the engine knows to be polled.
        self.freed = 0
        #: Only returns from callbacks: the CQ is to be destroyed.
        self.quiet = False
        #: The CQ is in error and being replaced.
        self.failed = False
        self._completed = completed
        self._returned = 0
        self._return_at = 0
        self._answers: deque[tuple[Pending[WriteResult], int]] = deque()

    def poll(self, limit: int = 1 << 16) -> None:
        """Takes what is there."""
        for result in self.cq.get_cq_results_ex(limit):
            self.polled += 1
            self._completed(self.cq.number, result)

    def check(self) -> bool:
        """All answers that have come are OKAY; True if none is missing."""
        while self._answers and self._answers[0][0].done:
            answer, self.freed = self._answers.popleft()
            assert answer.result == (0, 0), f"CQ {self.cq.number}: doorbell: {answer.result}"
        return not self._answers

    def _rung(self, answer: Pending[WriteResult], told: int) -> None:
        self._answers.append((answer, told))

    def look(
        self, rng: random.Random, begin: int, chunk: int, greedy: bool = False
    ) -> Iterator[tuple[int, Callable[[], None]]]:
        """One look; ``greedy``: takes and tells everything."""
        self.check()
        habits = self.habits
        at = begin + rng.randrange(chunk)
        if len(self.cq.callbacks) > self._returned:
            if greedy or self.quiet:
                self._return_at = begin
            elif not self._return_at:
                self._return_at = begin + rng.randint(0, habits.return_delay)
            if self._return_at <= begin:
                self._returned += 1
                self._return_at = 0
                told = self.told
                yield at, lambda: self._rung(self.cq.post_callback_return(at=at), told)
        if self.quiet:
            return
        if greedy or rng.random() < habits.poll:
            self.poll(1 << 16 if greedy else rng.choice((1, 4, 1 << 16)))
        index, polled = self.cq.consumer_index, self.polled
        if not greedy and rng.random() < habits.arm:
            arm = rng.choice(_ARMS)
            self.told = polled
            yield at, lambda: self._rung(self.cq.post_arm(arm, index=index, at=at), polled)
        elif self.told != self.polled and (greedy or rng.random() < habits.tell):
            self.told = polled
            yield at, lambda: self._rung(self.cq.post_consumer_index(index, at=at), polled)
